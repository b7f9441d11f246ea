//! Why the registry cannot do what is asked.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;
use serde_json::{Map, Value, json};

use super::requests::PendingState;
use crate::base::durations::REGISTRY_WAIT_MS;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    REGISTRY_IO = "registry.io", CannotRun;
    REGISTRY_NEWER = "registry.newer", CannotRun;
    REGISTRY_NOT_RUNNING = "registry.not_running", Refused;
    PENDING_NOT_FOUND = "pending.not_found", NotFound;
    PENDING_DECIDED = "pending.decided", Refused;
    PENDING_HELD = "pending.held", Refused;
    PENDING_FULL = "pending.full", Refused;
    PENDING_DRIFTED = "pending.drifted", Refused;
    PENDING_REJECTED = "pending.rejected", Refused;
    PENDING_LOST = "pending.lost", Refused;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RegistryError {
    #[error("the registry `{}` cannot be opened: {source}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("the registry `{}` cannot be used: {source}", .path.display())]
    Sql { path: PathBuf, source: rusqlite::Error },
    #[error("the registry `{}` was written by a later rye: version {version}", .path.display())]
    Newer { path: PathBuf, version: usize },
    #[error("what waits cannot be written: {why}")]
    Unwritten { why: String },
    #[error("the registry does not know that `{}` runs", escape_line(.id))]
    NotRunning { id: String },
    #[error("no request has the id `{}`", escape_line(.id))]
    NotFound { id: String, near: Vec<String> },
    #[error("`{id}` was decided already: it is {state}")]
    Decided { id: String, state: PendingState },
    #[error("`{id}` is decided with the snippet that waits as `{by}`")]
    Held { id: String, by: String },
    #[error("{count} requests wait for a person already, with plans of {bytes} bytes")]
    Full { count: usize, bytes: u64 },
    /// With what differs, a line each.
    #[error("the request `{id}` is not what was asked for any more: {why}")]
    Drifted { id: String, why: String },
    #[error("rejected: {}", escape_line(.why))]
    Rejected { id: String, why: String },
    #[error("`{id}` was approved, but how it ended is not known: the process that ran it is gone")]
    Lost { id: String },
}

/// Others hold a lock of the file.
fn is_locked(source: &rusqlite::Error) -> bool {
    let code = source.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The file holds something else than what rye wrote.
fn is_broken(source: &rusqlite::Error) -> bool {
    let code = source.sqlite_error_code();
    matches!(code, Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

impl RegistryError {
    /// Returns true for a failure that may pass: others hold the registry, or its disk is full or
    /// fails.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Sql { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::DiskFull
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::CannotOpen
                        | ErrorCode::ReadOnly
                        | ErrorCode::OutOfMemory
                )
            ),
            Self::Open { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}

impl Diagnose for RegistryError {
    fn code(&self) -> Code {
        match self {
            Self::Open { .. } | Self::Sql { .. } | Self::Unwritten { .. } => REGISTRY_IO,
            Self::Newer { .. } => REGISTRY_NEWER,
            Self::NotRunning { .. } => REGISTRY_NOT_RUNNING,
            Self::NotFound { .. } => PENDING_NOT_FOUND,
            Self::Decided { .. } => PENDING_DECIDED,
            Self::Held { .. } => PENDING_HELD,
            Self::Full { .. } => PENDING_FULL,
            Self::Drifted { .. } => PENDING_DRIFTED,
            Self::Rejected { .. } => PENDING_REJECTED,
            Self::Lost { .. } => PENDING_LOST,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Sql { source, .. } if is_locked(source) => format!(
                "others have kept it busy for {} seconds and longer; try again once they are done, \
                 or end a program that holds it",
                REGISTRY_WAIT_MS / 1000
            ),
            Self::Sql { source, .. } if is_broken(source) => {
                "the file is not as rye wrote it: bring it back from a backup, and read `rye explain \
                 registry.io` before you move it away"
                    .into()
            }
            Self::Open { .. } | Self::Sql { .. } | Self::Unwritten { .. } => {
                "see whether the disk is full and the file is yours; what it held is kept".into()
            }
            Self::Newer { .. } => "use that rye, or set USER_SPACE to another home".into(),
            Self::NotRunning { id } => {
                format!("it was taken for dead or ended; see `rye thread show {id}`")
            }
            Self::NotFound { near, .. } => match near.as_slice() {
                [] => "`rye pending list` shows what waits".into(),
                near => format!("did you mean `{}`?", near.join("` or `")),
            },
            Self::Decided { id, .. } => format!("see what came of it with `rye pending show {id}`"),
            Self::Held { by, .. } => {
                format!("read it with `rye pending show {by}`, and approve or reject that one")
            }
            Self::Full { .. } => "decide some of them first; `rye pending list` shows them".into(),
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
        | Self::Held { id, .. }
        | Self::Drifted { id, .. }
        | Self::Rejected { id, .. }
        | Self::Lost { id }) = self
        else {
            return Map::new();
        };
        [("id".to_owned(), json!(id))].into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::RegistryError;
    use crate::diagnostic::Diagnose;

    #[test]
    fn a_file_that_others_keep_busy_is_not_taken_for_a_full_disk() {
        for (code, said) in [(5, "kept it busy"), (6, "kept it busy"), (13, "disk is full")] {
            let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let error = RegistryError::Sql { path: "/r".into(), source };
            assert!(error.help().unwrap().contains(said), "{code}: {:?}", error.help());
        }
    }
}
