//! Why nothing was learned.

use crate::diag::{Code, Diagnose, Place};
use crate::id::Ref;
use crate::pipeline::{Failed, Failure};

pub(crate) const CODES: &[Code] =
    &[Code("learn.cannot_watch"), Code("learn.no_process"), Code("learn.cannot_write")];

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LearnError {
    #[error("this process may not watch what a child of its does ({source})")]
    CannotWatch { source: std::io::Error },
    #[error("`{item}` is no program that runs here, so there is nothing to watch")]
    NoProcess { item: Ref },
    #[error("the change cannot be put into `{item}`: {why}")]
    CannotWrite { item: Ref, place: Place, why: String },
}

impl Diagnose for LearnError {
    fn code(&self) -> Code {
        Code(match self {
            Self::CannotWatch { .. } => "learn.cannot_watch",
            Self::NoProcess { .. } => "learn.no_process",
            Self::CannotWrite { .. } => "learn.cannot_write",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::CannotWatch { .. } => "allow `ptrace`: in a container `--cap-add=SYS_PTRACE`, \
                 elsewhere `sysctl kernel.yama.ptrace_scope=1`"
                .into(),
            Self::NoProcess { .. } => {
                "name a tool that is a process; what it is, `rye show` says".into()
            }
            Self::CannotWrite { item, .. } => {
                format!("write the `sandbox` block by hand, and sign it with `rye sign {item}`")
            }
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::CannotWrite { place, .. } => Some(place.clone()),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::NoProcess { item } | Self::CannotWrite { item, .. } => Some(item.to_string()),
            Self::CannotWatch { .. } => None,
        }
    }
}

/// Why nothing was learned: a rule of this module, or what stopped the run.
#[derive(Debug)]
pub(crate) enum NotLearned {
    Rule(LearnError),
    Run(Box<Failed>),
    Failure(Failure),
}

impl From<LearnError> for NotLearned {
    fn from(error: LearnError) -> Self {
        Self::Rule(error)
    }
}

impl From<Failed> for NotLearned {
    fn from(failed: Failed) -> Self {
        Self::Run(Box::new(failed))
    }
}

impl From<Failure> for NotLearned {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}
