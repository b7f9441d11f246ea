//! Runs in processes of their own, and their places (remote 1).
//!
//! The process of a run registers it, and has its row from then on. In one transaction it takes a
//! place, or waits behind all that wait. Runs start in order, each once fewer run than it has
//! places. A project lowers that number for its own runs alone, so one that has to wait longer for
//! this reason is overtaken by those with more places. If the process is gone, its place is free
//! at the next look.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::process_id::ProcessId;
use super::reaper::{forget_process, mark_killed, reap};
use super::requests::{Decision, PendingState, decide_in};
use super::run_row::{AnyRun, NewRun, RunRow, run_of, runs_of};
use super::run_state::RunState;
use crate::base::limits::DETACHED_WAITING;

/// Runs in processes of their own that are kept with their reports once they ended; the oldest go.
const DETACHED_KEPT: u64 = 4_000;

/// The result of asking for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It has a place.
    Runs,
    /// It waits behind so many.
    Behind(u64),
    /// So many wait already; it is not registered.
    Full(u64),
    /// It was ended meanwhile.
    Over,
}

/// The runs in processes of their own.
pub(crate) struct DetachedRuns<'a> {
    pub(super) registry: &'a mut Registry,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DetachedEnd<'a> {
    pub(crate) state: RunState,
    pub(crate) code: Option<&'a str>,
    pub(crate) at: &'a str,
    pub(crate) report: &'a str,
    /// Receipts that are to be written once this stands there.
    pub(crate) receipts: Option<&'a str>,
    /// The request by which it waits for a person; then it did not end.
    pub(crate) request: Option<&'a str>,
}

impl<'a> DetachedEnd<'a> {
    fn ended_at(self) -> Option<&'a str> {
        Some(self.at).filter(|_| self.request.is_none())
    }
}

impl Registry {
    /// The runs in processes of their own.
    pub(crate) fn detached(&mut self) -> DetachedRuns<'_> {
        DetachedRuns { registry: self }
    }
}

impl DetachedRuns<'_> {
    /// Registers the run of this process, which takes one of so many places or waits for it. Where
    /// the machine loses its power, it is as if it had not been asked.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn admit(
        &mut self,
        new: &NewRun<'_>,
        places: u64,
    ) -> Result<Admission, RegistryError> {
        let path = self.registry.path.clone();
        let own = alive::hold(&path, new.id).0;
        let admitted = in_one_quick_step(self.registry, |step| {
            reap(step)?;
            let (running, waiting) = (running(step)?, waiting(step, i64::MAX)?);
            let is_free = running < places && !has_next(step, running, i64::MAX)?;
            if !is_free && waiting >= DETACHED_WAITING {
                return Ok(Admission::Full(waiting));
            }
            let state = if is_free { RunState::Running } else { RunState::Created };
            new.insert(step, state, own, (Some(places), None))?;
            Ok(if is_free { Admission::Runs } else { Admission::Behind(waiting) })
        });
        if !matches!(admitted, Ok(Admission::Runs | Admission::Behind(_))) {
            alive::release(&path, new.id);
        }
        admitted
    }

    /// Takes a place for a run of this process that waits, if it is its turn.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn take_place(&mut self, id: &str, at: &str) -> Result<Admission, RegistryError> {
        // Most looks find nothing, and keep no writer waiting.
        let look = |db: &Connection| -> rusqlite::Result<Admission> {
            let own = "SELECT rowid, places FROM run WHERE id = ?1 AND state = 'created'";
            let own = db.query_row(own, [id], |row| Ok((row.get(0)?, row.get::<_, u64>(1)?)));
            let Some((row, places)) = own.optional()? else { return Ok(Admission::Over) };
            let (running, before) = (running(db)?, waiting(db, row)?);
            match running < places && !has_next(db, running, row)? {
                true => Ok(Admission::Runs),
                false => Ok(Admission::Behind(before)),
            }
        };
        let place = look(&self.registry.db).map_err(|error| self.registry.fail(error))?;
        // A run that is gone writes nothing. The first that waits looks for all of them, and the
        // others look for the first.
        let may_begin = match place {
            Admission::Runs | Admission::Behind(0) => true,
            Admission::Behind(_) => {
                let first = "WHERE state = 'created' AND places IS NOT NULL
                             ORDER BY run.rowid LIMIT 1";
                let first = runs_of(&self.registry.db, first);
                let first = first.map_err(|error| self.registry.fail(error))?;
                first.iter().any(|row| row.is_left(&self.registry.db))
            }
            Admission::Full(_) | Admission::Over => false,
        };
        match may_begin {
            true => self.registry.in_one_step(|step| {
                reap(step)?;
                let place = look(step)?;
                if place == Admission::Runs {
                    let sql = "UPDATE run SET state = 'running', started_at = ?2 WHERE id = ?1";
                    step.execute(sql, [id, at])?;
                }
                Ok(place)
            }),
            false => Ok(place),
        }
        .inspect(|place| {
            if *place == Admission::Over {
                alive::release(&self.registry.path, id);
            }
        })
    }

    /// Writes how the run of this process ended, once: of a thread its report, beside the end that
    /// the thread wrote itself. Returns false if it ended already, or goes on in another process.
    /// Its receipts are kept either way, as it ran.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end(&mut self, id: &str, end: DetachedEnd<'_>) -> Result<bool, RegistryError> {
        let own = ProcessId::own().map(|own| (own.pid, own.start));
        self.registry
            .in_one_step(|step| {
                let found = run_of(step, id)?.filter(|row| row.is_detached);
                let is_own =
                    |row: &AnyRun| row.process.map(|process| (process.pid, process.start)) == own;
                let found = found.filter(|row| is_own(row) && row.state != RunState::Killed);
                match &found {
                    Some(AnyRun::Thread(row)) => {
                        if row.state == RunState::Running {
                            // Its end could not be written, so that it may be resumed.
                            mark_killed(step, [id.to_owned()].into())?;
                        }
                        let sql = "UPDATE run SET report = ?2 WHERE id = ?1";
                        step.execute(sql, [id, end.report])?;
                        forget_process(step, id)?;
                    }
                    // The process that was approved may have asked again since.
                    Some(AnyRun::Plain(row)) => {
                        write_end(step, id, end)?;
                        let sql = "UPDATE run SET request = coalesce(?2, request) WHERE id = ?1";
                        step.execute(sql, params![id, row.request])?;
                    }
                    None => {}
                }
                let due = "UPDATE run SET receipts = ?2 WHERE id = ?1";
                step.execute(due, params![id, end.receipts])?;
                Ok(found.is_some())
            })
            .inspect(|_| alive::release(&self.registry.path, id))
    }

    /// Forgets the oldest of those that ended, so that not too many are kept, and the reports of
    /// threads; one whose receipts are not written yet is kept. Gives the folder and the id of
    /// each.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn forget_oldest(&mut self) -> Result<Vec<(String, String)>, RegistryError> {
        const OLD: &str = "places IS NOT NULL AND receipts IS NULL AND pid IS NULL
            AND state NOT IN ('created', 'running', 'waiting') AND rowid <=
            (SELECT rowid FROM run WHERE places IS NOT NULL
             AND state NOT IN ('created', 'running', 'waiting')
             ORDER BY rowid DESC LIMIT 1 OFFSET ?1)";
        self.registry.in_one_step(|step| {
            let threads = "id IN (SELECT run FROM thread)";
            let sql = format!(
                "UPDATE run SET report = NULL WHERE report IS NOT NULL AND {OLD} AND {threads}"
            );
            step.execute(&sql, [DETACHED_KEPT])?;
            let sql = format!("DELETE FROM run WHERE {OLD} AND NOT {threads} RETURNING base, id");
            let mut query = step.prepare(&sql)?;
            query.query_map([DETACHED_KEPT], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// Writes how a run ended that waits, for its place or with this request, or that it waits for
    /// another request; false where it does not wait so any more.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_waiting(
        &mut self,
        id: &str,
        request: Option<&str>,
        end: DetachedEnd<'_>,
    ) -> Result<bool, RegistryError> {
        self.registry.in_one_step(|step| end_waiting_in(step, id, request, end))
    }

    /// Rejects the request of a run and ends the run, in one step: a reader sees both or
    /// neither. False if the run does not wait for that any more, or it is decided.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_asking(
        &mut self,
        run: &RunRow,
        (decision, why): (&Decision, &str),
        end: DetachedEnd<'_>,
    ) -> Result<bool, RegistryError> {
        let Some(request) = run.request.as_deref() else { return Ok(false) };
        self.registry.in_one_step(|step| {
            let has = |sql, params: &[&str]| {
                let found = step.query_row(sql, params_from_iter(params), |_| Ok(()));
                found.optional().map(|found| found.is_some())
            };
            let waits = "SELECT 1 FROM run WHERE id = ?1 AND request = ?2 AND state = 'waiting'";
            if !has(waits, &[&run.id, request])? {
                return Ok(false);
            }
            let rejected = decide_in(step, request, PendingState::Rejected, decision, Some(why))?;
            // A request that is not kept any more cannot be decided.
            match rejected || !has("SELECT 1 FROM request WHERE id = ?1", &[request])? {
                true => end_waiting_in(step, &run.id, Some(request), end),
                false => Ok(false),
            }
        })
    }

    /// The run that waits with a request.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn waiting_with(&self, request: &str) -> Result<Option<String>, RegistryError> {
        let sql = "SELECT id FROM run WHERE request = ?1 AND state = 'waiting'";
        let found = self.registry.db.query_row(sql, [request], |row| row.get(0)).optional();
        found.map_err(|error| self.registry.fail(error))
    }
}

/// One step that every other process knows of at once, and which is on the disk only with the
/// next one: for what means nothing once the machine was started anew.
pub(super) fn in_one_quick_step<R>(
    registry: &mut Registry,
    act: impl FnOnce(&Connection) -> rusqlite::Result<R>,
) -> Result<R, RegistryError> {
    let sync = |registry: &Registry, how: &str| {
        let set = registry.db.pragma_update(None, "synchronous", how);
        set.map_err(|error| registry.fail(error))
    };
    sync(registry, "normal")?;
    let result = registry.in_one_step(act);
    sync(registry, "full")?;
    result
}

/// Ends a run that waits, as part of a step; false where it does not.
fn end_waiting_in(
    step: &Connection,
    id: &str,
    request: Option<&str>,
    end: DetachedEnd<'_>,
) -> rusqlite::Result<bool> {
    let waits = "SELECT EXISTS (SELECT 1 FROM run WHERE id = ?1 AND request IS ?2
                 AND state IN ('created', 'waiting'))";
    let waits = step.query_row(waits, params![id, request], |row| row.get(0))?;
    if waits {
        write_end(step, id, end)?;
    }
    Ok(waits)
}

pub(super) fn write_end(step: &Connection, id: &str, end: DetachedEnd<'_>) -> rusqlite::Result<()> {
    step.execute(
        "UPDATE run SET state = ?2, code = ?3, ended_at = ?4, report = ?5, stop_asked_at = NULL,
         request = coalesce(?6, request), pid = NULL, start = NULL, place = NULL WHERE id = ?1",
        params![id, end.state, end.code, end.ended_at(), end.report, end.request],
    )
    .map(drop)
}

/// The number of places that are taken.
fn running(db: &Connection) -> rusqlite::Result<u64> {
    // One that ended keeps its place until its report is written.
    let sql = "SELECT count(*) FROM run WHERE places IS NOT NULL
               AND (state = 'running' OR pid IS NOT NULL AND state <> 'created')";
    db.query_row(sql, [], |row| row.get(0))
}

/// The number of those that wait for a place before that row; others wait on a node.
fn waiting(db: &Connection, before: i64) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM run WHERE state = 'created' AND places IS NOT NULL
               AND rowid < ?1";
    db.query_row(sql, [before], |row| row.get(0))
}

/// Returns true if one that waits before that row has a place while so many run.
fn has_next(db: &Connection, running: u64, before: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM run WHERE state = 'created' AND rowid < ?2
               AND places > ?1)";
    db.query_row(sql, params![running, before], |row| row.get(0))
}
