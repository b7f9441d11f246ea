//! Why nothing was learned.

use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::Ref;
use crate::plan::NEEDS_OF_A_SERVER;

codes! {
    LEARN_CANNOT_WATCH = "learn.cannot_watch", CannotRun;
    LEARN_NO_PROCESS = "learn.no_process", Usage;
    LEARN_CANNOT_WRITE = "learn.cannot_write", Refused;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LearnError {
    #[error("this process may not watch what its child does ({source})")]
    CannotWatch { source: std::io::Error },
    #[error("`{item}` is not a program that runs here, so there is nothing to watch")]
    NoProcess { item: Ref },
    #[error("`{item}` serves many calls, and only a run that ends is watched")]
    NoEnd { item: Ref },
    #[error("the change cannot be put into `{item}`: {why}")]
    CannotWrite { item: Ref, place: Place, why: String },
}

impl Diagnose for LearnError {
    fn code(&self) -> Code {
        match self {
            Self::CannotWatch { .. } => LEARN_CANNOT_WATCH,
            Self::NoProcess { .. } | Self::NoEnd { .. } => LEARN_NO_PROCESS,
            Self::CannotWrite { .. } => LEARN_CANNOT_WRITE,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::CannotWatch { .. } => "allow `ptrace`: in a container `--cap-add=SYS_PTRACE`, \
                 elsewhere `sysctl kernel.yama.ptrace_scope=1`"
                .into(),
            Self::NoProcess { .. } => {
                "name a tool that runs as a process; `rye show` says how a tool runs".into()
            }
            Self::NoEnd { .. } => NEEDS_OF_A_SERVER.into(),
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
            Self::NoProcess { item } | Self::NoEnd { item } | Self::CannotWrite { item, .. } => {
                Some(item.to_string())
            }
            Self::CannotWatch { .. } => None,
        }
    }
}
