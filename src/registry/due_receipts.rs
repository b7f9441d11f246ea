//! Receipts of detached runs that are signed, and not written to their places yet.

use rusqlite::OptionalExtension;

use super::error::RegistryError;
use super::queue::DetachedRuns;

impl DetachedRuns<'_> {
    /// The receipts of a run that are to be written still.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn due_receipts(&mut self, id: &str) -> Result<Option<String>, RegistryError> {
        let sql = "SELECT receipts FROM run WHERE id = ?1";
        let found = self.registry.db.query_row(sql, [id], |row| row.get(0)).optional();
        found.map(Option::flatten).map_err(|error| self.registry.fail(error))
    }

    /// The receipts of a run are written.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn receipts_are_written(&mut self, id: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            step.execute("UPDATE run SET receipts = NULL WHERE id = ?1", [id]).map(drop)
        })
    }
}
