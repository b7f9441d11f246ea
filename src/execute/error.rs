//! Why a plan did not come to its end.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::diag::{Code, Diagnose};
use crate::host::PinError;
use crate::id::Ref;

pub(crate) const CODES: &[Code] = &[
    Code("execute.tool_failed"),
    Code("execute.timeout"),
    Code("execute.interrupted"),
    Code("execute.spawn"),
    Code("execute.pin"),
];

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ExecuteError {
    #[error("`{item}` did not end within {} and was stopped", seconds(*.after))]
    Timeout { item: Ref, after: Duration, stderr_tail: String },
    #[error("`{item}` was stopped by signal {signal}")]
    Interrupted { item: Ref, signal: i32 },
    #[error("`{}` could not be started for `{item}`: {source}", .program.display())]
    Spawn { item: Ref, program: PathBuf, source: io::Error },
    #[error("`{item}`: {source}")]
    Pin { item: Ref, source: PinError },
}

fn seconds(duration: Duration) -> String {
    match duration.as_secs_f64() {
        whole if whole.fract() == 0.0 => format!("{whole:.0} s"),
        part => format!("{part:.1} s"),
    }
}

impl Diagnose for ExecuteError {
    fn code(&self) -> Code {
        Code(match self {
            Self::Timeout { .. } => "execute.timeout",
            Self::Interrupted { .. } => "execute.interrupted",
            Self::Spawn { .. } => "execute.spawn",
            Self::Pin { .. } => "execute.pin",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Timeout { .. } => {
                "if it needs longer, set `timeout_ms` in the tool's own signed `config`".into()
            }
            Self::Interrupted { .. } => "nothing of it is left running".into(),
            Self::Spawn { .. } => {
                "see whether the program runs by itself; `rye doctor` lists the usual ones".into()
            }
            Self::Pin { .. } => {
                "set XDG_RUNTIME_DIR, or HOME, to a folder of yours that is closed to others".into()
            }
        })
    }

    fn item(&self) -> Option<String> {
        let (Self::Timeout { item, .. }
        | Self::Interrupted { item, .. }
        | Self::Spawn { item, .. }
        | Self::Pin { item, .. }) = self;
        Some(item.to_string())
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut data = serde_json::Map::new();
        if let Self::Timeout { stderr_tail, .. } = self {
            data.insert("stderr_tail".into(), stderr_tail.clone().into());
        }
        data
    }
}
