//! Why the registry cannot do what is asked.

use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::pending::PendingState;
use crate::base::text::escape_line;
use crate::diag::{Code, Diagnose};

pub(crate) const CODES: &[Code] = &[
    Code("registry.io"),
    Code("registry.newer"),
    Code("pending.not_found"),
    Code("pending.decided"),
    Code("pending.full"),
    Code("pending.drifted"),
    Code("pending.rejected"),
    Code("pending.lost"),
];

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RegistryError {
    #[error("the registry `{}` cannot be opened: {source}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("the registry `{}` cannot be used: {source}", .path.display())]
    Sql { path: PathBuf, source: rusqlite::Error },
    #[error("the registry `{}` is of a later rye: version {version}", .path.display())]
    Newer { path: PathBuf, version: usize },
    #[error("no request has the id `{}`", escape_line(.id))]
    NotFound { id: String, near: Vec<String> },
    #[error("`{id}` was decided already: it is {state}")]
    Decided { id: String, state: PendingState },
    #[error("{count} requests wait for a person already, with plans of {bytes} bytes")]
    Full { count: usize, bytes: u64 },
    /// With what differs, a line each.
    #[error("`{id}` is not what was asked for any more: {why}")]
    Drifted { id: String, why: String },
    #[error("rejected: {}", escape_line(.why))]
    Rejected { id: String, why: String },
    #[error("`{id}` was approved; its end is not known, since what ran it is gone")]
    Lost { id: String },
}

impl Diagnose for RegistryError {
    fn code(&self) -> Code {
        Code(match self {
            Self::Open { .. } | Self::Sql { .. } => "registry.io",
            Self::Newer { .. } => "registry.newer",
            Self::NotFound { .. } => "pending.not_found",
            Self::Decided { .. } => "pending.decided",
            Self::Full { .. } => "pending.full",
            Self::Drifted { .. } => "pending.drifted",
            Self::Rejected { .. } => "pending.rejected",
            Self::Lost { .. } => "pending.lost",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Open { .. } | Self::Sql { .. } => {
                "see whether the disk is full and the file is yours; what it held is kept".into()
            }
            Self::Newer { .. } => "use that rye, or set USER_SPACE to another home".into(),
            Self::NotFound { near, .. } => match near.as_slice() {
                [] => "`rye pending list` shows what waits".into(),
                near => format!("did you mean `{}`?", near.join("` or `")),
            },
            Self::Decided { id, .. } => format!("see what came of it with `rye pending show {id}`"),
            Self::Full { .. } => "decide some first: `rye pending list`".into(),
            Self::Drifted { id, .. } => {
                format!(
                    "read what changed, reject it with `rye pending reject {id}`, and run it again"
                )
            }
            Self::Lost { id } => format!(
                "see with `rye pending show {id}` what ran, and how far it came, before you run it again"
            ),
            Self::Rejected { id, .. } => {
                format!("`rye pending show {id}` says who decided and when")
            }
        })
    }

    fn data(&self) -> Map<String, Value> {
        let (Self::NotFound { id, .. }
        | Self::Decided { id, .. }
        | Self::Drifted { id, .. }
        | Self::Rejected { id, .. }
        | Self::Lost { id }) = self
        else {
            return Map::new();
        };
        [("id".to_owned(), json!(id))].into_iter().collect()
    }
}
