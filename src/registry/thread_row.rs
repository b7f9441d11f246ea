//! A thread as it stands in the registry: its row, read and taken over.

use std::ops::Deref;

use rusqlite::{Connection, Row, params};

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::ledger::{Amounts, note_checkpoint};
use super::process_id::place_of;
use super::run_row::{AnyRun, RunRow, run_of, runs_of};
use super::waiting_threads::withdraw;
use crate::base::limits::THREAD_DEPTH;

/// A thread of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadRow {
    pub(crate) run: RunRow,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) most: Amounts,
    pub(crate) used: Amounts,
    pub(super) held: Amounts,
    depth: u64,
    /// The digest of its newest checkpoint.
    pub(crate) checkpoint: Option<String>,
    /// The start of its record, until that is signed.
    pub(crate) began: Option<String>,
}

/// The columns that only a thread has, for [`ThreadRow::read`].
pub(super) const COLUMNS: &str = "provider, model, most_turns, most_tokens, most_spend, \
    most_spawns, turns, tokens, spend, spawns, held_turns, held_tokens, held_spend, depth, \
    checkpoint, began";

impl Deref for ThreadRow {
    type Target = RunRow;

    fn deref(&self) -> &RunRow {
        &self.run
    }
}

impl ThreadRow {
    /// Reads the columns from that one on.
    pub(super) fn read(row: &Row<'_>, at: usize, run: RunRow) -> rusqlite::Result<Self> {
        let amount = |column: usize| row.get::<_, u64>(at + column);
        let amounts = |first: usize| -> rusqlite::Result<Amounts> {
            let (turns, tokens, spend) = (amount(first)?, amount(first + 1)?, amount(first + 2)?);
            Ok(Amounts { turns, tokens, spend, spawns: 0 })
        };
        Ok(Self {
            run,
            provider: row.get(at)?,
            model: row.get(at + 1)?,
            most: Amounts { spawns: amount(5)?, ..amounts(2)? },
            used: Amounts { spawns: amount(9)?, ..amounts(6)? },
            held: amounts(10)?,
            depth: amount(13)?,
            checkpoint: row.get(at + 14)?,
            began: row.get(at + 15)?,
        })
    }

    /// How many threads may stand below it, one under the other.
    pub(crate) fn depth(&self) -> u64 {
        self.depth
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
        let (own, is_new) = alive::hold(&registry.path, &self.id);
        let claimed = registry.in_one_step(|step| {
            // The report of its process before is of then, also where that has yet to write it.
            let claimed = step.execute(
                "UPDATE run SET state = 'running', code = NULL, ended_at = NULL, base = ?9,
                 stop_asked_at = NULL, report = NULL, pid = ?2, start = ?3, place = ?8,
                 places = iif(pid IS ?2 AND start IS ?3, places, NULL)
                 WHERE id = ?1 AND state = ?4 AND state <> 'running'
                 AND (pid IS NULL OR pid IS ?6 AND start IS ?7)
                 AND (SELECT checkpoint FROM thread WHERE run = id) IS ?5",
                params![
                    self.id,
                    own.map(|process| process.pid),
                    own.map(|process| process.start),
                    self.state,
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
                         most_spawns = ?5, depth = ?6 WHERE run = ?1",
                        params![self.id, turns, tokens, spend, spawns, depth],
                    )?;
                }
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
}

/// Threads, chosen and ordered by the rest of a query.
pub(super) fn rows_of(db: &Connection, which: &str) -> rusqlite::Result<Vec<ThreadRow>> {
    let rows = runs_of(db, &format!("WHERE thread.run IS NOT NULL {which}"))?;
    Ok(rows.into_iter().filter_map(AnyRun::into_thread).collect())
}

/// The thread with that id.
pub(super) fn row_of(db: &Connection, id: &str) -> rusqlite::Result<Option<ThreadRow>> {
    Ok(run_of(db, id)?.and_then(AnyRun::into_thread))
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
