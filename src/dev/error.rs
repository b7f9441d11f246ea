//! Why the project cannot be watched.

use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    DEV_NO_PROJECT = "dev.no_project", Refused;
    DEV_WATCH = "dev.watch", CannotRun;
}

/// Why a session cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DevError {
    #[error("there is no project here that you have accepted, so there is nothing to watch")]
    NoProject,
    #[error("the project cannot be watched: {why}")]
    Watch { why: String },
}

impl Diagnose for DevError {
    fn code(&self) -> Code {
        match self {
            Self::NoProject => DEV_NO_PROJECT,
            Self::Watch { .. } => DEV_WATCH,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NoProject => {
                "make one with `rye init`; for somebody else's project see first what it brings, with `rye trust review`".into()
            }
            Self::Watch { .. } => "see `rye explain dev.watch`".into(),
        })
    }
}

impl From<std::io::Error> for DevError {
    fn from(error: std::io::Error) -> Self {
        Self::Watch { why: error.to_string() }
    }
}
