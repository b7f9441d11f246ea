//! The numbers of requests that were answered, until these are no longer valid; also across a
//! restart.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use crate::registry::RegistryError;

/// So many requests come between two looks for numbers that expired.
const SWEEP_EVERY: u64 = 1_024;

/// The numbers of requests, in a file of their own, which this process alone writes.
pub(super) struct Nonces {
    db: Connection,
    path: PathBuf,
    count: u64,
}

impl Nonces {
    /// # Errors
    /// `registry.io`
    pub(super) fn open(path: &Path) -> Result<Self, RegistryError> {
        let fail = |source| RegistryError::Sql { path: path.to_owned(), source };
        let db = Connection::open(path).map_err(fail)?;
        db.pragma_update(None, "journal_mode", "wal").map_err(fail)?;
        // A killed process loses nothing of it. Where the machine loses its power, a request of
        // the last moment could come twice, if its sender still has it.
        db.pragma_update(None, "synchronous", "normal").map_err(fail)?;
        let table = "CREATE TABLE IF NOT EXISTS nonce (key TEXT, nonce TEXT, expires INTEGER,
                     PRIMARY KEY (key, nonce)) WITHOUT ROWID, STRICT";
        db.execute_batch(table).map_err(fail)?;
        Ok(Self { db, path: path.to_owned(), count: 0 })
    }

    /// Takes note of a request; false if it came before.
    ///
    /// # Errors
    /// `registry.io`
    pub(super) fn is_new(
        &mut self,
        key: &str,
        nonce: &str,
        expires: i64,
        now: i64,
    ) -> Result<bool, RegistryError> {
        let fail = |source| RegistryError::Sql { path: self.path.clone(), source };
        if self.count.is_multiple_of(SWEEP_EVERY) {
            let sql = "DELETE FROM nonce WHERE expires < ?1";
            self.db.execute(sql, [now]).map_err(fail)?;
        }
        self.count += 1;
        let sql = "INSERT OR IGNORE INTO nonce VALUES (?1, ?2, ?3)";
        let added = self.db.execute(sql, params![key, nonce, expires]).map_err(fail)?;
        Ok(added == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Nonces;

    #[test]
    fn a_number_counts_once_for_a_key_also_after_a_restart_and_is_forgotten_when_it_expired() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("nonces.db");
        let mut nonces = Nonces::open(&path).unwrap();
        assert!(nonces.is_new("a", "1", 100, 50).unwrap());
        assert!(nonces.is_new("b", "1", 100, 50).unwrap());
        assert!(!nonces.is_new("a", "1", 100, 51).unwrap());
        drop(nonces);
        let mut nonces = Nonces::open(&path).unwrap();
        assert!(!nonces.is_new("a", "1", 100, 99).unwrap());
        let left = |nonces: &Nonces| -> u64 {
            nonces.db.query_row("SELECT count(*) FROM nonce", [], |row| row.get(0)).unwrap()
        };
        drop(nonces);
        let mut nonces = Nonces::open(&path).unwrap();
        assert!(nonces.is_new("c", "2", 300, 200).unwrap());
        assert_eq!(left(&nonces), 1);
    }
}
