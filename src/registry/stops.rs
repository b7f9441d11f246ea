//! Threads and runs that are asked to stop; the process that runs one looks here.

use rusqlite::OptionalExtension;

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::reaper::give_up;
use super::waiting_threads::withdraw;
use crate::diagnostic::Code;

/// Threads and runs that are asked to stop.
pub(crate) struct Stops<'a> {
    registry: &'a mut Registry,
}

impl Registry {
    /// The threads and runs that are asked to stop.
    pub(crate) fn stops(&mut self) -> Stops<'_> {
        Stops { registry: self }
    }
}

impl Stops<'_> {
    /// Asks a thread or a run to stop at its next safe point. A thread that waits for a person has
    /// none, and is not asked.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn ask(&mut self, id: &str, at: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            let sql = "UPDATE run SET stop_asked_at = coalesce(stop_asked_at, ?2) WHERE id = ?1
                       AND (state <> 'waiting' OR id NOT IN (SELECT run FROM thread))";
            step.execute(sql, [id, at]).map(drop)
        })
    }

    /// Returns true for a thread or run that was asked to stop, or was taken for dead.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn is_asked(&self, id: &str) -> Result<bool, RegistryError> {
        let sql = "SELECT 1 FROM run WHERE id = ?1
                   AND (stop_asked_at IS NOT NULL OR state = 'killed')";
        let found = self.registry.db.query_row(sql, [id], |_| Ok(())).optional();
        found.map(|found| found.is_some()).map_err(|error| self.registry.fail(error))
    }

    /// Takes a thread or a run for dead whose process cannot be seen from here.
    /// Where it does, it stops once it sees that, and uses nothing any more.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn give_up(&mut self, id: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| give_up(step, id))
    }

    /// A person killed the process of a thread, with all that it asked.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_killed(&mut self, id: &str, code: Code) -> Result<(), RegistryError> {
        alive::release_killed(&self.registry.path, id);
        self.registry.in_one_step(|step| {
            let sql = "UPDATE run SET code = ?2 WHERE id = ?1 AND state = 'killed'
                       AND id IN (SELECT run FROM thread)";
            match step.execute(sql, [id, code.name()])? {
                1 => withdraw(step, id, None),
                _ => Ok(()),
            }
        })
    }

    /// Forgets that it was asked to stop.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn forget(&mut self, id: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            step.execute("UPDATE run SET stop_asked_at = NULL WHERE id = ?1", [id]).map(drop)
        })
    }
}
