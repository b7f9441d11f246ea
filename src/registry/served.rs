//! Runs whose other half is on another machine: those that a node serves to a caller, and those
//! that a caller asked a node for (remote 3, 4).

use rusqlite::{OptionalExtension, Row, params};

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::queue::{DetachedEnd, in_one_quick_step, write_end};
use super::run_row::{NewRun, run_of};
use super::run_state::RunState;

/// Served runs of tools that are kept with their reports once they ended; the oldest go.
const SERVED_KEPT: u64 = 4_000;

/// So many runs end between two looks for those to forget.
const FORGET_EVERY: i64 = 256;

/// The result of a caller's claim of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServedClaim {
    /// Its run may begin.
    New,
    /// The caller asked for this run before.
    Known,
    /// Another caller's run, or a run of this machine, has the id.
    Taken,
}

/// A run that a caller asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) caller: String,
    /// The rest of its request, beside the item, as JSON.
    pub(crate) asked: String,
    /// The outputs and the receipt of the run, as JSON.
    pub(crate) made: Option<String>,
}

/// Runs whose other half is on another machine.
pub(crate) struct ServedRuns<'a> {
    registry: &'a mut Registry,
}

impl<'a> ServedRuns<'a> {
    pub(crate) fn new(registry: &'a mut Registry) -> Self {
        Self { registry }
    }
}

impl ServedRuns<'_> {
    /// Gives an id to a caller, once, with what it asked for beside the item; registers the run if
    /// this process carries it out. Where the machine loses its power, it is as if it had not been
    /// asked.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn claim(
        &mut self,
        id: &str,
        (caller, asked): (&str, &str),
        run: Option<&NewRun<'_>>,
    ) -> Result<ServedClaim, RegistryError> {
        let held = run.map(|_| alive::hold(&self.registry.path, id));
        let own = held.and_then(|(own, _)| own);
        let claimed = in_one_quick_step(self.registry, |step| {
            let owner = "SELECT caller FROM served WHERE run = ?1";
            let owner = step.query_row(owner, [id], |row| row.get::<_, String>(0)).optional()?;
            if let Some(owner) = owner {
                return Ok(if owner == caller { ServedClaim::Known } else { ServedClaim::Taken });
            }
            let known = step.query_row("SELECT 1 FROM run WHERE id = ?1", [id], |_| Ok(()));
            if known.optional()?.is_some() {
                return Ok(ServedClaim::Taken);
            }
            let sql = "INSERT INTO served (run, caller, asked) VALUES (?1, ?2, ?3)";
            step.execute(sql, [id, caller, asked])?;
            if let Some(new) = run {
                new.insert(step, RunState::Running, own, (None, None))?;
            }
            Ok(ServedClaim::New)
        });
        let is_new = held.is_some_and(|(_, is_new)| is_new);
        if is_new && !matches!(claimed, Ok(ServedClaim::New)) {
            alive::release(&self.registry.path, id);
        }
        claimed
    }

    /// Gives an id back whose run did not begin, with the run.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn withdraw(&mut self, id: &str) -> Result<(), RegistryError> {
        in_one_quick_step(self.registry, |step| {
            step.execute("DELETE FROM run WHERE id = ?1 AND places IS NULL", [id])?;
            step.execute("DELETE FROM served WHERE run = ?1", [id]).map(drop)
        })
        .inspect(|()| alive::release(&self.registry.path, id))
        .inspect_err(|_| alive::leave(&self.registry.path, id))
    }

    /// The ids of all runs that callers asked for.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn ids(&self) -> Result<Vec<String>, RegistryError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut query = self.registry.db.prepare("SELECT run FROM served")?;
            query.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.registry.fail(error))
    }

    /// The caller whose run it is, what it asked for beside the item, and what came of that once
    /// it is written.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn find(&self, id: &str) -> Result<Option<Served>, RegistryError> {
        let sql = "SELECT caller, asked, made FROM served WHERE run = ?1";
        let read = |row: &Row<'_>| {
            Ok(Served { caller: row.get(0)?, asked: row.get(1)?, made: row.get(2)? })
        };
        let found = self.registry.db.query_row(sql, [id], read).optional();
        found.map_err(|error| self.registry.fail(error))
    }

    /// Writes what came of a run beside its report, once.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn made(&mut self, id: &str, made: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            step.execute("UPDATE served SET made = ?2 WHERE run = ?1 AND made IS NULL", [id, made])
                .map(drop)
        })
    }

    /// The newest runs of a caller, at most so many; the oldest of them first.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn ids_of(&self, caller: &str, most: u64) -> Result<Vec<String>, RegistryError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT run FROM served JOIN run ON run.id = served.run WHERE caller = ?1
                       ORDER BY run.rowid DESC LIMIT ?2";
            let mut query = self.registry.db.prepare(sql)?;
            query.query_map(params![caller, most], |row| row.get(0))?.collect()
        };
        let mut ids = read().map_err(|error| self.registry.fail(error))?;
        ids.reverse();
        Ok(ids)
    }

    /// Writes how such a run ended, or that it waits for a person; also of one that was never
    /// registered.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end(
        &mut self,
        new: &NewRun<'_>,
        end: DetachedEnd<'_>,
    ) -> Result<(), RegistryError> {
        let id = new.id;
        in_one_quick_step(self.registry, |step| {
            if run_of(step, id)?.is_none() {
                new.insert(step, RunState::Created, None, (None, None))?;
            }
            write_end(step, id, end)?;
            let row = "SELECT rowid FROM run WHERE id = ?1";
            let row = step.query_row(row, [id], |row| row.get::<_, i64>(0)).optional()?;
            if row.is_none_or(|row| row % FORGET_EVERY != 0) {
                return Ok(());
            }
            step.execute(
                "DELETE FROM run WHERE places IS NULL AND pid IS NULL AND receipts IS NULL
                     AND state NOT IN ('created', 'running', 'waiting')
                     AND id IN (SELECT run FROM served) AND id NOT IN (SELECT run FROM thread)
                     AND rowid <= (SELECT max(rowid) FROM run) - ?1",
                [SERVED_KEPT],
            )?;
            let sql = "DELETE FROM served WHERE run NOT IN (SELECT id FROM run)
                           AND rowid <= (SELECT max(rowid) FROM served) - ?1";
            step.execute(sql, [SERVED_KEPT]).map(drop)
        })
        .inspect(|()| alive::release(&self.registry.path, id))
        .inspect_err(|_| alive::leave(&self.registry.path, id))
    }

    /// Registers a run that this process asks a node for, until [`ServedRuns::was_asked`];
    /// `remote` is the node, as JSON. The oldest of those that ended are forgotten.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn ask(&mut self, new: &NewRun<'_>, remote: &str) -> Result<(), RegistryError> {
        alive::hold(&self.registry.path, new.id);
        self.registry
            .in_one_step(|step| {
                new.insert(step, RunState::Created, None, (None, Some(remote)))?;
                step.execute(
                    "DELETE FROM run WHERE remote IS NOT NULL
                     AND state NOT IN ('created', 'running', 'waiting')
                     AND rowid <= (SELECT max(rowid) FROM run) - ?1",
                    [SERVED_KEPT],
                )
                .map(drop)
            })
            .inspect_err(|_| alive::release(&self.registry.path, new.id))
    }

    /// The node answered, or did not.
    pub(crate) fn was_asked(&self, id: &str) {
        alive::release(&self.registry.path, id);
    }

    /// Returns true while a process asks a node for the run.
    pub(crate) fn is_being_asked(&self, id: &str) -> bool {
        alive::is_held(&self.registry.path, id)
    }

    /// Writes the state of such a run. One that ended stays as it is, unless its report says that
    /// its files were not fetched.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn said(
        &mut self,
        id: &str,
        state: RunState,
        code: Option<&str>,
        ended_at: Option<&str>,
        report: Option<&str>,
    ) -> Result<(), RegistryError> {
        self.registry
            .in_one_step(|step| {
                step.execute(
                "UPDATE run SET state = ?2, code = ?3, ended_at = ?4, report = coalesce(?5, report),
                 started_at = CASE WHEN ?2 IN ('created', 'cancelled', 'killed') THEN started_at
                              ELSE coalesce(started_at, asked_at) END
                 WHERE id = ?1 AND remote IS NOT NULL
                 AND (state IN ('created', 'running', 'waiting')
                      OR ?5 IS NOT NULL AND (json_type(report, '$.outputs_made') IS NOT NULL
                                             OR json_type(report, '$.receipt') IS NOT NULL))",
                params![id, state, code, ended_at, report],
            )
            .map(drop)
            })
            .inspect(|()| {
                // A process that was killed leaves its file.
                if !state.is_open() && state != RunState::Waiting {
                    alive::release(&self.registry.path, id);
                }
            })
    }

    /// Forgets a run that the node refused.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn refused(&mut self, id: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            let sql = "DELETE FROM run WHERE id = ?1 AND remote IS NOT NULL AND report IS NULL
                       AND state IN ('created', 'running')";
            step.execute(sql, [id]).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ServedClaim, ServedRuns};
    use crate::registry::{AnyRun, DetachedEnd, NewRun, Registry, RunState};

    fn new(id: &str) -> NewRun<'_> {
        NewRun { id, kind: "tool", item: "tool:a/b", base: "/", asked_at: "x" }
    }

    const END: DetachedEnd<'static> = DetachedEnd {
        state: RunState::Completed,
        code: None,
        at: "y",
        report: "{}",
        receipts: None,
        request: None,
    };

    #[test]
    fn an_id_is_one_callers_alone_and_begins_once() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let mut claim = |id: &str, caller: &str| {
            ServedRuns::new(&mut registry).claim(id, (caller, "{}"), Some(&new(id))).unwrap()
        };
        assert_eq!(claim("one", "a"), ServedClaim::New);
        assert_eq!(claim("one", "a"), ServedClaim::Known);
        assert_eq!(claim("one", "b"), ServedClaim::Taken);
        let row = AnyRun::find(&mut registry, "one").unwrap().unwrap();
        assert_eq!(row.state, RunState::Running, "it runs on after the second claim");
        ServedRuns::new(&mut registry).end(&new("one"), END).unwrap();
        let row = AnyRun::find(&mut registry, "one").unwrap().unwrap();
        assert_eq!((row.state, row.report.as_deref()), (RunState::Completed, Some("{}")));
        // A run of this machine keeps its id.
        ServedRuns::new(&mut registry).ask(&new("own"), "{}").unwrap();
        assert_eq!(
            ServedRuns::new(&mut registry).claim("own", ("a", "{}"), None).unwrap(),
            ServedClaim::Taken
        );
        // One that did not begin leaves nothing.
        assert_eq!(
            ServedRuns::new(&mut registry).claim("two", ("a", "{}"), None).unwrap(),
            ServedClaim::New
        );
        ServedRuns::new(&mut registry).withdraw("two").unwrap();
        assert_eq!(ServedRuns::new(&mut registry).find("two").unwrap(), None);
        assert_eq!(ServedRuns::new(&mut registry).ids_of("a", 9).unwrap(), ["one"]);
    }

    #[test]
    fn the_word_of_a_node_changes_no_run_that_ended_and_none_of_this_machine() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        ServedRuns::new(&mut registry).ask(&new("far"), "{}").unwrap();
        ServedRuns::new(&mut registry).claim("near", ("a", "{}"), Some(&new("near"))).unwrap();
        let state =
            |registry: &mut Registry, id: &str| AnyRun::find(registry, id).unwrap().unwrap().state;
        for id in ["far", "near"] {
            ServedRuns::new(&mut registry)
                .said(id, RunState::Completed, None, Some("y"), Some("{}"))
                .unwrap();
        }
        assert_eq!(state(&mut registry, "far"), RunState::Completed);
        assert_eq!(state(&mut registry, "near"), RunState::Running);
        ServedRuns::new(&mut registry).said("far", RunState::Running, None, None, None).unwrap();
        assert_eq!(state(&mut registry, "far"), RunState::Completed);
    }
}
