//! Why a run does not get a process of its own.

use crate::base::limits::DETACHED_WAITING;
use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    ASYNC_BELOW_A_RUN = "async.below_a_run", Refused;
    ASYNC_CANNOT_START = "async.cannot_start", CannotRun;
    ASYNC_FULL = "async.full", Refused;
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DetachError {
    #[error("a detached run is not started from inside of a run, which it would outlive")]
    BelowARun,
    #[error("the process of the run cannot be started: {why}")]
    CannotStart { why: String },
    #[error("{waiting} runs wait for a place already")]
    Full { waiting: u64 },
}

impl Diagnose for DetachError {
    fn code(&self) -> Code {
        match self {
            Self::BelowARun => ASYNC_BELOW_A_RUN,
            Self::CannotStart { .. } => ASYNC_CANNOT_START,
            Self::Full { .. } => ASYNC_FULL,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::BelowARun => "run it without `--async`, or start it in a terminal".into(),
            Self::CannotStart { .. } => {
                "run it without `--async`; `rye doctor` says what this machine lacks".into()
            }
            Self::Full { .. } => format!(
                "wait until some of the {DETACHED_WAITING} are done: `rye thread list` shows them"
            ),
        })
    }
}
