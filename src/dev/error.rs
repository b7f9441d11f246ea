//! Why the project cannot be watched.

use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    DEV_WATCH = "dev.watch", CannotRun;
}

/// Why a session cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DevError {
    #[error("the project cannot be watched: {why}")]
    Watch { why: String },
}

impl Diagnose for DevError {
    fn code(&self) -> Code {
        match self {
            Self::Watch { .. } => DEV_WATCH,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Watch { .. } => "see `rye explain dev.watch`".into(),
        })
    }
}

impl From<std::io::Error> for DevError {
    fn from(error: std::io::Error) -> Self {
        Self::Watch { why: error.to_string() }
    }
}
