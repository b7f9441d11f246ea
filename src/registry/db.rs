//! The file `<user>/.ai/state/registry.db` and its versions.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::error::RegistryError;
use crate::base::limits::REGISTRY_WAIT_MS;

/// One step from each version of the tables to the next; a step that was released is never changed.
const STEPS: &[&str] = &["
    CREATE TABLE pending (
        id TEXT PRIMARY KEY,
        asked_at TEXT NOT NULL,
        item TEXT NOT NULL,
        project TEXT NOT NULL,
        plan BLOB NOT NULL,
        for_record INTEGER NOT NULL,
        reason TEXT NOT NULL,
        message TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'done', 'rejected', 'lost')),
        decided_by TEXT,
        decided_at TEXT,
        approver_pid INTEGER,
        approver_start INTEGER,
        result TEXT
    ) STRICT;
    CREATE INDEX pending_state ON pending (state);
"];

/// The registry of one person.
pub(crate) struct Registry {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
}

impl Registry {
    /// Opens the registry of a user space, and makes it if it is not there: for its owner alone.
    ///
    /// # Errors
    /// `registry.io`, `registry.newer`
    pub(crate) fn open(user_base: &Path) -> Result<Self, RegistryError> {
        let path = Self::path(user_base);
        let io = |source| RegistryError::Open { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
        }
        // SQLite gives its files beside this one the same mode.
        let mut made = OpenOptions::new();
        made.read(true).write(true).create(true).truncate(false).mode(0o600);
        drop(made.open(&path).map_err(io)?);
        Self::at(path)
    }

    /// The registry of a user space, if it has one.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub(crate) fn find(user_base: &Path) -> Result<Option<Self>, RegistryError> {
        let path = Self::path(user_base);
        if path.exists() { Self::at(path).map(Some) } else { Ok(None) }
    }

    fn path(user_base: &Path) -> PathBuf {
        user_base.join(".ai/state/registry.db")
    }

    fn at(path: PathBuf) -> Result<Self, RegistryError> {
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let mut db = Connection::open(&path).map_err(fail)?;
        db.busy_timeout(Duration::from_millis(REGISTRY_WAIT_MS)).map_err(fail)?;
        // A reader and a writer do not wait for each other; a write is on the disk when it is done.
        db.pragma_update(None, "journal_mode", "wal").map_err(fail)?;
        db.pragma_update(None, "synchronous", "full").map_err(fail)?;
        let newer = |version| RegistryError::Newer { path: path.clone(), version };
        let step = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        let version: usize =
            step.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        let left = STEPS.get(version..).ok_or_else(|| newer(version))?;
        for sql in left {
            step.execute_batch(sql).map_err(fail)?;
        }
        if !left.is_empty() {
            step.pragma_update(None, "user_version", STEPS.len()).map_err(fail)?;
        }
        step.commit().map_err(fail)?;
        Ok(Self { db, path })
    }

    pub(super) fn fail(&self, source: rusqlite::Error) -> RegistryError {
        RegistryError::Sql { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::{Registry, STEPS};
    use crate::diag::Diagnose;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_is_for_its_owner_alone_and_opening_it_again_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert!(Registry::find(home.path()).unwrap().is_none());
        let registry = Registry::open(home.path()).unwrap();
        let folder = registry.path.parent().unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(registry);
        let again = Registry::find(home.path()).unwrap().unwrap();
        let version: usize =
            again.db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, STEPS.len());
    }

    #[test]
    fn a_registry_of_a_later_rye_is_refused_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let registry = Registry::open(home.path()).unwrap();
        registry.db.pragma_update(None, "user_version", STEPS.len() + 1).unwrap();
        drop(registry);
        let error = Registry::open(home.path()).err().unwrap();
        assert_eq!(error.code().0, "registry.newer");
    }
}
