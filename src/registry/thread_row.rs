//! A thread as it stands in the registry: its row, read and taken over.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::process_id::{ProcessId, place_from, place_of};
use super::run_state::RunState;
use super::thread_waits::withdraw;
use super::threads::{Amounts, note_checkpoint};
use crate::base::limits::THREAD_DEPTH;

/// A thread of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadRow {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) item: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) base: String,
    pub(crate) status: RunState,
    /// Why it failed.
    pub(crate) code: Option<String>,
    pub(crate) started_at: String,
    pub(crate) ended_at: Option<String>,
    pub(crate) most: Amounts,
    pub(crate) used: Amounts,
    pub(super) held: Amounts,
    depth: u64,
    /// The digest of its newest checkpoint.
    pub(crate) checkpoint: Option<String>,
    process: Option<ProcessId>,
    /// The start of its record, until that is signed.
    pub(crate) began: Option<String>,
    /// The thread that goes on for one that is continued.
    pub(crate) continued_by: Option<String>,
}

const ROW: &str = "id, parent, item, provider, model, base, status, code, started_at, ended_at, \
                   most_turns, most_tokens, most_spend, most_spawns, turns, tokens, spend, spawns, \
                   held_turns, held_tokens, held_spend, depth, checkpoint, pid, start, \
                   place, began, continued_by";

impl ThreadRow {
    /// How many threads may stand below it, one under the other.
    pub(crate) fn depth(&self) -> u64 {
        self.depth
    }

    /// The number of the process that runs it.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.filter(|_| self.status == RunState::Running).map(|process| process.pid)
    }

    /// Its process is still the one that was written down.
    pub(crate) fn has_its_process(&self) -> bool {
        self.process.is_some_and(|process| !process.is_elsewhere() && !process.is_gone())
    }

    /// Its process runs in another namespace of processes, where its state cannot be seen.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.status == RunState::Running && self.process.is_some_and(ProcessId::is_elsewhere)
    }

    /// Its process has other work too, such as other calls of a server.
    pub(crate) fn is_shared(&self) -> bool {
        self.status == RunState::Running && self.process.is_some_and(ProcessId::is_shared)
    }

    /// Takes a thread that stopped for this process, if it is still as it was seen; of several that
    /// ask at once, one gets it. What it waits for is the request with that id: whatever else was
    /// asked for it is withdrawn. Where limits are given, they hold from here on, and so does the
    /// folder of its record. `newest` is the last checkpoint there: the registry may have been out
    /// of reach when it was signed.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn claim(
        &self,
        registry: &mut Registry,
        waits_for: Option<&str>,
        limits: Option<(Amounts, u64)>,
        newest: Option<&str>,
    ) -> Result<bool, RegistryError> {
        let (own, is_new) = alive::hold_new(&registry.path, &self.id);
        let claimed = registry.in_one_step(|step| {
            let claimed = step.execute(
                "UPDATE thread SET status = 'running', code = NULL, ended_at = NULL, pid = ?2, \
                 start = ?3, place = ?8, base = ?9 WHERE id = ?1 AND status = ?4 AND status <> 'running' \
                 AND checkpoint IS ?5 AND pid IS ?6 AND start IS ?7",
                params![
                    self.id,
                    own.map(|process| process.pid),
                    own.map(|process| process.start),
                    self.status,
                    self.checkpoint,
                    self.process.map(|process| process.pid),
                    self.process.map(|process| process.start),
                    place_of(own),
                    self.base,
                ],
            )?;
            if claimed == 1 {
                if let Some(newest) = newest {
                    note_checkpoint(step, &self.id, newest)?;
                }
                if let Some((most, depth)) = limits {
                    let Amounts { turns, tokens, spend, spawns } = most;
                    step.execute(
                        "UPDATE thread SET most_turns = ?2, most_tokens = ?3, most_spend = ?4, \
                         most_spawns = ?5, depth = ?6 WHERE id = ?1",
                        params![self.id, turns, tokens, spend, spawns, depth],
                    )?;
                }
                // What was asked of it before, and the report of its process before, are of then;
                // also where that process, which is another one, has yet to write its report.
                step.execute("DELETE FROM stop WHERE id = ?1", [&self.id])?;
                step.execute(
                    "UPDATE detached SET is_earlier = 1
                     WHERE id = ?1 AND (state NOT IN ('created', 'running')
                     OR (state = 'running' AND (pid IS NOT ?2 OR start IS NOT ?3)))",
                    params![
                        self.id,
                        own.map(|process| process.pid),
                        own.map(|process| process.start),
                    ],
                )?;
                withdraw(step, &self.id, waits_for)?;
            }
            Ok(claimed == 1)
        });
        // The lock may be of another thread of this process, which got it.
        if is_new && !matches!(claimed, Ok(true)) {
            alive::release(&registry.path, &self.id);
        }
        claimed
    }

    /// How much a thread that begins below one may use: what each thread above it has left, without
    /// the one that it counts for itself; and how many threads may stand below it, one under the
    /// other.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn left_below(
        registry: &Registry,
        parent: &str,
    ) -> Result<(Amounts, u64), RegistryError> {
        let above = with_those_above(&registry.db, parent).map_err(|error| registry.fail(error))?;
        let depth = above.first().map_or(0, |parent| parent.depth.saturating_sub(1));
        let lower = |one: Amounts, other: Amounts| Amounts {
            turns: one.turns.min(other.turns),
            tokens: one.tokens.min(other.tokens),
            spend: one.spend.min(other.spend),
            spawns: one.spawns.min(other.spawns),
        };
        let left = above.iter().map(ThreadRow::left).reduce(lower).unwrap_or_default();
        Ok((Amounts { spawns: left.spawns.saturating_sub(1), ..left }, depth))
    }

    /// The amounts that are neither used nor held.
    fn left(&self) -> Amounts {
        let left = |most: u64, used: u64, held: u64| most.saturating_sub(used).saturating_sub(held);
        Amounts {
            turns: left(self.most.turns, self.used.turns, self.held.turns),
            tokens: left(self.most.tokens, self.used.tokens, self.held.tokens),
            spend: left(self.most.spend, self.used.spend, self.held.spend),
            spawns: left(self.most.spawns, self.used.spawns, self.held.spawns),
        }
    }

    /// It runs in that process.
    pub(super) fn runs_in(&self, (pid, start): (u32, u64)) -> bool {
        let is_it = |process: ProcessId| (process.pid, process.start) == (pid, start);
        self.process.is_some_and(|process| is_it(process) && !process.is_elsewhere())
    }

    /// It runs no more, and its process did not say so.
    pub(super) fn is_left(&self, db: &Connection) -> bool {
        let is_gone = |process| alive::is_gone(db, &self.id, process);
        self.status == RunState::Running && self.process.is_some_and(is_gone)
    }
}

/// Threads, chosen and ordered by the rest of a query.
pub(super) fn rows_of(db: &Connection, which: &str) -> rusqlite::Result<Vec<ThreadRow>> {
    let mut query = db.prepare(&format!("SELECT {ROW} FROM thread {which}"))?;
    query.query_map([], row)?.collect()
}

/// The thread with that id.
pub(super) fn row_of(db: &Connection, id: &str) -> rusqlite::Result<Option<ThreadRow>> {
    let sql = format!("SELECT {ROW} FROM thread WHERE id = ?1");
    db.query_row(&sql, [id], row).optional()
}

/// A thread and those above it, itself first.
pub(super) fn with_those_above(db: &Connection, id: &str) -> rusqlite::Result<Vec<ThreadRow>> {
    let mut rows: Vec<ThreadRow> = Vec::new();
    let mut next = Some(id.to_owned());
    while let Some(id) = next.take() {
        // No thread is deeper, so a circle ends here.
        if rows.len() as u64 > THREAD_DEPTH {
            break;
        }
        let found = row_of(db, &id)?;
        let found = found.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        next.clone_from(&found.parent);
        rows.push(found);
    }
    Ok(rows)
}

fn row(row: &Row<'_>) -> rusqlite::Result<ThreadRow> {
    let process = row.get::<_, Option<u32>>(23)?.zip(row.get(24)?);
    let place = place_from(row.get(25)?);
    Ok(ThreadRow {
        id: row.get(0)?,
        parent: row.get(1)?,
        item: row.get(2)?,
        provider: row.get(3)?,
        model: row.get(4)?,
        base: row.get(5)?,
        status: row.get(6)?,
        code: row.get(7)?,
        started_at: row.get(8)?,
        ended_at: row.get(9)?,
        most: Amounts {
            turns: row.get(10)?,
            tokens: row.get(11)?,
            spend: row.get(12)?,
            spawns: row.get(13)?,
        },
        used: Amounts {
            turns: row.get(14)?,
            tokens: row.get(15)?,
            spend: row.get(16)?,
            spawns: row.get(17)?,
        },
        held: Amounts { turns: row.get(18)?, tokens: row.get(19)?, spend: row.get(20)?, spawns: 0 },
        depth: row.get(21)?,
        checkpoint: row.get(22)?,
        process: process.map(|(pid, start)| ProcessId { pid, start, place }),
        began: row.get(26)?,
        continued_by: row.get(27)?,
    })
}
