//! The faults of an eval.

use serde_json::{Map, Value};

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};
use crate::id::Ref;

codes! {
    EVAL_ERROR = "eval.error", PeerFailed;
    EVAL_FAILED = "eval.failed", ToolFailed;
    EVAL_NOT_AN_EVAL = "eval.not_an_eval", Usage;
}

/// Why there is no score, or what is the matter with it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvalError {
    #[error("`{item}` is not an eval: {why}")]
    NotAnEval { item: Ref, why: &'static str },
    #[error("`{item}` gave no score: {}", escape_line(.message))]
    Errored {
        item: Ref,
        message: String,
        /// The last of what it said on standard error, without secrets.
        stderr_tail: String,
    },
    #[error("`{item}` scored {score}, which {miss}")]
    Failed { item: Ref, score: String, miss: String },
}

impl Diagnose for EvalError {
    fn code(&self) -> Code {
        match self {
            Self::NotAnEval { .. } => EVAL_NOT_AN_EVAL,
            Self::Errored { .. } => EVAL_ERROR,
            Self::Failed { .. } => EVAL_FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotAnEval { .. } => {
                "an eval says `tool_type: eval` and has an `exec` block".into()
            }
            Self::Errored { .. } => {
                "the eval itself failed, which is not a low score: read its `data.stderr_tail`, then correct the eval".into()
            }
            Self::Failed { .. } => "read the text that was judged, and the eval's `detail`".into(),
        })
    }

    fn item(&self) -> Option<String> {
        let (Self::NotAnEval { item, .. } | Self::Errored { item, .. } | Self::Failed { item, .. }) =
            self;
        Some(item.to_string())
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        if let Self::Errored { stderr_tail, .. } = self {
            data.insert("stderr_tail".into(), stderr_tail.clone().into());
        }
        data
    }
}
