//! Why nothing can be watched.

use serde_json::Map;

use crate::diag::{Code, Diagnostic};
use crate::pipeline::Failure;

pub(crate) const CODES: &[Code] = &[Code("dev.no_project"), Code("dev.watch")];

/// Why a session cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DevError {
    #[error("there is no project here that you have accepted, so there is nothing to watch")]
    NoProject,
    #[error("the project cannot be watched: {why}")]
    Watch { why: String },
    #[error(transparent)]
    Failure(#[from] Failure),
}

impl DevError {
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let (code, help) = match self {
            Self::Failure(failure) => return failure.diagnostic(),
            Self::NoProject => (
                "dev.no_project",
                "make one with `rye init`; of somebody else's see first what it brings, with `rye trust review`",
            ),
            Self::Watch { .. } => ("dev.watch", "see `rye explain dev.watch`"),
        };
        Diagnostic {
            code: Code(code),
            message: self.to_string(),
            help: Some(help.into()),
            place: None,
            item: None,
            data: Map::new(),
        }
    }
}

impl From<std::io::Error> for DevError {
    fn from(error: std::io::Error) -> Self {
        Self::Watch { why: error.to_string() }
    }
}
