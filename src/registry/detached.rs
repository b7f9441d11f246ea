//! Runs in processes of their own, and those that wait for a place (remote 1).
//!
//! A run is admitted in one transaction: it takes a place, or it is put behind all that wait. Which
//! of these is next is decided in one transaction too, so none runs twice. They start in order,
//! each once fewer run than it has places. A project lowers that number for its own runs alone, so
//! one that has to wait longer for this reason is overtaken by those with more places. A place is
//! held by the process that runs there: if that is gone, the place is free at the next look.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::alive;
use super::db::{NOW, Registry};
use super::error::RegistryError;
use super::launchers::launchers;
use super::one_env::{OneEnv, new_key};
use super::pending::{Decision, PendingState, decide_in};
use super::process_id::{ProcessId, place_from, place_of};
use super::run_state::RunState;
use crate::base::limits::{DETACHED_KEPT, DETACHED_WAITING};

/// A run that is to have a process of its own.
#[derive(Debug)]
pub(crate) struct NewDetached<'a> {
    pub(crate) id: &'a str,
    /// `tool` or `directive`.
    pub(crate) kind: &'a str,
    pub(crate) item: &'a str,
    /// The folder that holds the `.ai` of its record.
    pub(crate) base: &'a str,
    pub(crate) asked_at: &'a str,
    /// So many run at once.
    pub(crate) places: u64,
    /// The request that its process reads; kept only as long as it waits.
    pub(crate) request: &'a str,
}

/// The result of asking for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// It has a place, which this process holds until it is handed over to the run's own process.
    Runs,
    /// It waits. Its starter is there already.
    Waits,
    /// It waits, and this process is to start the launcher with this id.
    WaitsFor(String),
    /// So many wait already.
    Full(u64),
}

/// A run in a process of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetachedRow {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) item: String,
    pub(crate) base: String,
    pub(crate) state: RunState,
    /// Why it failed.
    pub(crate) code: Option<String>,
    pub(crate) asked_at: String,
    pub(crate) ended_at: Option<String>,
    /// The request for which it waits, or waited.
    pub(crate) pending: Option<String>,
    process: Option<ProcessId>,
    /// Its own process is there, or was started.
    is_claimed: bool,
    /// It is a thread that went on since, in another process.
    pub(crate) is_earlier: bool,
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
    pub(crate) pending: Option<&'a str>,
}

const ROW: &str = "id, kind, item, base, state, code, asked_at, ended_at, pid, start, place, \
                   claimed, is_earlier, pending";

impl<'a> DetachedEnd<'a> {
    fn ended_at(self) -> Option<&'a str> {
        Some(self.at).filter(|_| self.pending.is_none())
    }
}

impl DetachedRow {
    /// The number of the process that runs it.
    pub(crate) fn pid(&self) -> Option<u32> {
        let runs = self.state == RunState::Running && self.is_claimed;
        self.process.filter(|_| runs).map(|process| process.pid)
    }

    /// Its process is still the one that was written down.
    pub(crate) fn has_its_process(&self) -> bool {
        self.process.is_some_and(|process| !process.is_elsewhere() && !process.is_gone())
    }

    /// Its process runs in another namespace of processes, where its state cannot be seen.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.state == RunState::Running && self.process.is_some_and(ProcessId::is_elsewhere)
    }

    /// It waits for a place, or runs.
    pub(crate) fn is_open(&self) -> bool {
        self.state.is_open()
    }
}

impl Registry {
    /// The runs in processes of their own.
    pub(crate) fn detached(&mut self) -> DetachedRuns<'_> {
        DetachedRuns { registry: self }
    }
}

impl DetachedRuns<'_> {
    /// Gives a run a place, or lets it wait for one. Where the machine loses its power, it is as if
    /// it had not been asked: neither the run nor its launcher goes on.
    ///
    /// # Errors
    /// `registry.io`. That too many wait is an answer; nothing is written then.
    pub(crate) fn admit(
        &mut self,
        new: &NewDetached<'_>,
        env: OneEnv<'_>,
    ) -> Result<Admitted, RegistryError> {
        let name = self.fresh_name()?;
        let key = new_key().map_err(|source| self.no_chance(source))?;
        let path = self.registry.path.clone();
        // Whichever of both it starts; the other lock is given back at once.
        let own = alive::hold_to_start(&path, &lock_of(new.id));
        let starter = alive::hold_to_start(&path, &name);
        let admitted = self.in_one_quick_step(|step| {
            reap(step)?;
            let (running, waiting) =
                (count(step, RunState::Running)?, count(step, RunState::Created)?);
            if running < new.places && !has_next(step, running)? {
                insert(step, new, RunState::Running, own, None)?;
                return Ok(Admitted::Runs);
            }
            if waiting >= DETACHED_WAITING {
                return Ok(Admitted::Full(waiting));
            }
            let known = launchers(step)?.into_iter().find(|known| env.is(&known.key, &known.env));
            let (launcher, is_there) = match known {
                Some(known) => (known.id, true),
                None => {
                    step.execute(
                        "INSERT INTO launcher (id, key, env, pid, start, place)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                        params![
                            name,
                            key,
                            env.digest(&key),
                            starter.map(|own| own.pid),
                            starter.map(|own| own.start),
                            place_of(starter)
                        ],
                    )?;
                    (name.clone(), false)
                }
            };
            insert(step, new, RunState::Created, None, Some(&launcher))?;
            Ok(if is_there { Admitted::Waits } else { Admitted::WaitsFor(launcher) })
        });
        if !matches!(admitted, Ok(Admitted::Runs)) {
            alive::release_to_start(&path, &lock_of(new.id));
        }
        if !matches!(admitted, Ok(Admitted::WaitsFor(_))) {
            alive::release_to_start(&path, &name);
        }
        admitted
    }

    /// The run or the launcher that this process was to start has started, or never will.
    pub(crate) fn note_started(&mut self, id: &str) {
        for name in [id, &lock_of(id)] {
            alive::release_to_start(&self.registry.path, name);
        }
    }

    /// The run or the launcher that this process was to start never will, and that could not be
    /// written down: the next reader takes it for killed.
    pub(crate) fn leave_start(&mut self, id: &str) {
        for name in [id, &lock_of(id)] {
            alive::leave_to_start(&self.registry.path, name);
        }
    }

    /// The process that is to run it is there, and holds its place from now on, so that this one
    /// may end. It is told what to run only then, so the two never wait for each other.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn hand_over(&mut self, id: &str, pid: u32) -> Result<(), RegistryError> {
        // One that is gone leaves the place to this process, with whose end the run was killed.
        let Some(child) = ProcessId::started(pid) else { return Ok(()) };
        self.in_one_quick_step(|step| {
            let sql = "UPDATE detached SET claimed = 2, pid = ?2, start = ?3, place = ?4
                       WHERE id = ?1 AND state = 'running' AND claimed = 0";
            let place = place_of(Some(child));
            step.execute(sql, params![id, child.pid, child.start, place]).map(drop)
        })
    }

    /// This process is the one that runs it; false where it is not to run any more.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn claim(&mut self, id: &str) -> Result<bool, RegistryError> {
        let (own, is_new) = alive::hold_new(&self.registry.path, &lock_of(id));
        let claimed = self.registry.in_one_step(|step| {
            let changed = step.execute(
                "UPDATE detached SET claimed = 1, pid = ?2, start = ?3, place = ?4
                 WHERE id = ?1 AND state = 'running' AND claimed <> 1",
                params![id, own.map(|own| own.pid), own.map(|own| own.start), place_of(own)],
            )?;
            Ok(changed == 1)
        });
        if is_new && !matches!(claimed, Ok(true)) {
            alive::release(&self.registry.path, &lock_of(id));
        }
        claimed
    }

    /// The request of the run that is next, where this launcher starts it and there is a place;
    /// this process holds the place until the run's own one claims it.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn next(
        &mut self,
        launcher: &str,
    ) -> Result<Option<(String, String)>, RegistryError> {
        let path = self.registry.path.clone();
        self.registry.in_one_step(|step| {
            reap(step)?;
            let sql = "SELECT id, launcher, request FROM detached
                       WHERE state = 'created' AND places > ?1 ORDER BY rowid LIMIT 1";
            let first = step.query_row(sql, [count(step, RunState::Running)?], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<String>>(1)?,
                    row.get::<_, Option<String>>(2)?,
                ))
            });
            let Some((id, by, request)) = first.optional()? else { return Ok(None) };
            if by.as_deref() != Some(launcher) {
                return Ok(None);
            }
            let own = alive::hold_to_start(&path, &lock_of(&id));
            step.execute(
                "UPDATE detached SET state = 'running', pid = ?2, start = ?3, place = ?4,
                 request = NULL, launcher = NULL WHERE id = ?1",
                params![id, own.map(|own| own.pid), own.map(|own| own.start), place_of(own)],
            )?;
            Ok(Some((id, request.unwrap_or_default())))
        })
    }

    /// Writes once how a run ended, which waits or runs; false where that stands there already. Its
    /// receipts are kept either way, as it ran.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end(&mut self, id: &str, end: DetachedEnd<'_>) -> Result<bool, RegistryError> {
        self.registry
            .in_one_step(|step| {
                let changed = step.execute(
                    "UPDATE detached SET state = ?2, code = ?3, ended_at = ?4, report = ?5,
                 request = NULL, launcher = NULL, pending = ?6
                 WHERE id = ?1 AND state IN ('created', 'running')",
                    params![id, end.state, end.code, end.ended_at(), end.report, end.pending],
                )?;
                let due = "UPDATE detached SET receipts = ?2 WHERE id = ?1";
                step.execute(due, params![id, end.receipts])?;
                step.execute("DELETE FROM stop WHERE id = ?1", [id])?;
                Ok(changed == 1)
            })
            .inspect(|_| alive::release(&self.registry.path, &lock_of(id)))
    }

    /// Forgets the oldest of those that ended, so that not too many are kept; one whose receipts
    /// are not written yet is kept. Gives the folder and the id of each.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn forget_oldest(&mut self) -> Result<Vec<(String, String)>, RegistryError> {
        self.registry.in_one_step(|step| {
            let mut query = step.prepare(
                "DELETE FROM detached WHERE state NOT IN ('created', 'running', 'waiting')
                 AND receipts IS NULL AND rowid <=
                 (SELECT rowid FROM detached WHERE state NOT IN ('created', 'running', 'waiting')
                  ORDER BY rowid DESC LIMIT 1 OFFSET ?1) RETURNING base, id",
            )?;
            query.query_map([DETACHED_KEPT], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// Writes how a run ended that waits, for its place or for a person, or that it waits for
    /// another request; false where it does not wait any more.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_waiting(
        &mut self,
        id: &str,
        end: DetachedEnd<'_>,
    ) -> Result<bool, RegistryError> {
        self.registry.in_one_step(|step| end_waiting_in(step, id, end))
    }

    /// Rejects the request of a run and ends the run, in one step: a reader sees both or
    /// neither. False if the run does not wait for that any more, or it is decided.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_asking(
        &mut self,
        run: &DetachedRow,
        (decision, why): (&Decision, &str),
        end: DetachedEnd<'_>,
    ) -> Result<bool, RegistryError> {
        let Some(pending) = run.pending.as_deref() else { return Ok(false) };
        self.registry.in_one_step(|step| {
            let has = |sql, params: &[&str]| {
                let found = step.query_row(sql, params_from_iter(params), |_| Ok(()));
                found.optional().map(|found| found.is_some())
            };
            let waits = "SELECT 1 FROM detached WHERE id = ?1 AND pending = ?2
                         AND state = 'waiting'";
            if !has(waits, &[&run.id, pending])? {
                return Ok(false);
            }
            let rejected = decide_in(step, pending, PendingState::Rejected, decision, Some(why))?;
            // A request that is not kept any more cannot be decided.
            match rejected || !has("SELECT 1 FROM pending WHERE id = ?1", &[pending])? {
                true => end_waiting_in(step, &run.id, end),
                false => Ok(false),
            }
        })
    }

    /// The run that waits with a request.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn waiting_with(&self, request: &str) -> Result<Option<String>, RegistryError> {
        let sql = "SELECT id FROM detached WHERE pending = ?1 AND state = 'waiting'";
        let found = self.registry.db.query_row(sql, [request], |row| row.get(0)).optional();
        found.map_err(|error| self.registry.fail(error))
    }

    /// Takes a run back that no process runs, and which never began.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn withdraw(&mut self, id: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            let sql = "DELETE FROM detached WHERE id = ?1 AND claimed <> 1
                       AND state IN ('created', 'running')";
            step.execute(sql, [id]).map(drop)
        })
    }

    /// A process that was to run it is gone, and never claimed it.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn note_never_begun(&mut self, id: &str) -> Result<(), RegistryError> {
        self.registry.in_one_step(|step| {
            let sql = format!("{} WHERE id = ?1 AND claimed = 0 AND state = 'running'", killed());
            step.execute(&sql, [id]).map(drop)
        })
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn all(&mut self) -> Result<Vec<DetachedRow>, RegistryError> {
        let all = |db: &Connection| -> rusqlite::Result<Vec<DetachedRow>> {
            let mut query = db.prepare(&format!("SELECT {ROW} FROM detached ORDER BY rowid"))?;
            query.query_map([], row)?.collect()
        };
        let rows = all(&self.registry.db).map_err(|error| self.registry.fail(error))?;
        if !rows.iter().any(DetachedRow::is_open) {
            return Ok(rows);
        }
        self.registry.in_one_step(|step| {
            reap(step)?;
            all(step)
        })
    }

    /// One of them, with its report once it ended.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn one(
        &mut self,
        id: &str,
    ) -> Result<Option<(DetachedRow, Option<String>)>, RegistryError> {
        let sql = format!("SELECT {ROW}, report FROM detached WHERE id = ?1");
        let one = |db: &Connection| {
            db.query_row(&sql, [id], |all| Ok((row(all)?, all.get(14)?))).optional()
        };
        let found = one(&self.registry.db).map_err(|error| self.registry.fail(error))?;
        match &found {
            Some((found, _)) if found.is_open() => self.registry.in_one_step(|step| {
                reap(step)?;
                one(step)
            }),
            _ => Ok(found),
        }
    }

    /// One step that every other process knows of at once, and which is on the disk only with the
    /// next one: for what means nothing once the machine was started anew.
    fn in_one_quick_step<R>(
        &mut self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> Result<R, RegistryError> {
        let sync = |registry: &Registry, how: &str| {
            let set = registry.db.pragma_update(None, "synchronous", how);
            set.map_err(|error| registry.fail(error))
        };
        sync(self.registry, "normal")?;
        let result = self.registry.in_one_step(act);
        sync(self.registry, "full")?;
        result
    }

    fn fresh_name(&self) -> Result<String, RegistryError> {
        let key = new_key().map_err(|source| self.no_chance(source))?;
        Ok(format!("l-{}", &key[..16]))
    }

    fn no_chance(&self, source: std::io::Error) -> RegistryError {
        RegistryError::Open { path: self.registry.path.clone(), source }
    }
}

pub(super) fn process(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<ProcessId>> {
    let both = row.get::<_, Option<u32>>(at)?.zip(row.get(at + 1)?);
    let place = place_from(row.get(at + 2)?);
    Ok(both.map(|(pid, start)| ProcessId { pid, start, place }))
}

/// Ends a run that waits, as part of a step; false where it does not.
fn end_waiting_in(step: &Connection, id: &str, end: DetachedEnd<'_>) -> rusqlite::Result<bool> {
    let changed = step.execute(
        "UPDATE detached SET state = ?2, code = ?3, ended_at = ?4, report = ?5,
         request = NULL, launcher = NULL, pending = coalesce(?6, pending)
         WHERE id = ?1 AND state IN ('created', 'waiting')",
        params![id, end.state, end.code, end.ended_at(), end.report, end.pending],
    )?;
    if changed == 1 {
        step.execute("DELETE FROM stop WHERE id = ?1", [id])?;
    }
    Ok(changed == 1)
}

/// The name of the lock of a run; a thread that runs in it has one of its own.
fn lock_of(id: &str) -> String {
    format!("run {id}")
}

fn count(db: &Connection, state: RunState) -> rusqlite::Result<u64> {
    let mut query = db.prepare("SELECT count(*) FROM detached WHERE state = ?1")?;
    query.query_row([state], |row| row.get(0))
}

/// Returns true if one that waits has a place while so many run.
fn has_next(db: &Connection, running: u64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM detached WHERE state = 'created' AND places > ?1)";
    db.query_row(sql, [running], |row| row.get(0))
}

fn insert(
    db: &Connection,
    new: &NewDetached<'_>,
    state: RunState,
    process: Option<ProcessId>,
    launcher: Option<&str>,
) -> rusqlite::Result<()> {
    // What starts at once is told by a pipe.
    let request = launcher.map(|_| new.request);
    db.execute(
        "INSERT INTO detached (id, kind, item, base, state, asked_at, places, pid, start, launcher,
         request, place) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            new.id,
            new.kind,
            new.item,
            new.base,
            state,
            new.asked_at,
            new.places,
            process.map(|process| process.pid),
            process.map(|process| process.start),
            launcher,
            request,
            place_of(process),
        ],
    )
    .map(drop)
}

/// The update that marks runs as killed; its condition follows.
fn killed() -> String {
    format!(
        "UPDATE detached SET state = 'killed', request = NULL, launcher = NULL, ended_at = {NOW}"
    )
}

/// A run is taken for dead, whatever its process does; that stops once it sees it.
pub(super) fn give_up_run(step: &Connection, id: &str) -> rusqlite::Result<()> {
    let sql = format!("{} WHERE id = ?1 AND state = 'running'", killed());
    step.execute(&sql, [id]).map(drop)
}

/// Marks runs as killed whose process is gone, and those that wait for a launcher that is gone.
fn reap(step: &Connection) -> rusqlite::Result<()> {
    let killed = format!("{} WHERE state = ?1 AND", killed());
    let mut query = step.prepare(&format!(
        "SELECT {ROW} FROM detached INDEXED BY detached_state WHERE state = 'running'"
    ))?;
    let running: Vec<DetachedRow> = query.query_map([], row)?.collect::<Result<_, _>>()?;
    let is_gone = |id: &str, process: Option<ProcessId>| {
        process.is_some_and(|process| alive::is_gone(step, id, process))
    };
    let release = |id: &str| {
        step.path().into_iter().for_each(|registry| alive::release(Path::new(registry), id));
    };
    for left in running.iter().filter(|row| is_gone(&lock_of(&row.id), row.process)) {
        step.execute(&format!("{killed} id = ?2"), params![RunState::Running, left.id])?;
        release(&lock_of(&left.id));
    }
    for left in launchers(step)?.iter().filter(|one| is_gone(&one.id, one.process)) {
        step.execute(&format!("{killed} launcher = ?2"), params![RunState::Created, left.id])?;
        step.execute("DELETE FROM launcher WHERE id = ?1", [&left.id])?;
        release(&left.id);
    }
    // A registry that is damaged may have lost the launcher.
    let lost = "launcher IS NULL OR launcher NOT IN (SELECT id FROM launcher)";
    step.execute(&format!("{killed} ({lost})"), [RunState::Created]).map(drop)
}

fn row(row: &Row<'_>) -> rusqlite::Result<DetachedRow> {
    Ok(DetachedRow {
        id: row.get(0)?,
        kind: row.get(1)?,
        item: row.get(2)?,
        base: row.get(3)?,
        state: row.get(4)?,
        code: row.get(5)?,
        asked_at: row.get(6)?,
        ended_at: row.get(7)?,
        process: process(row, 8)?,
        is_claimed: row.get(11)?,
        is_earlier: row.get(12)?,
        pending: row.get(13)?,
    })
}
