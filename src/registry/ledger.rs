//! Threads of a person, what each may use and what it has used (threads 2 and 7).
//!
//! Whatever a thread uses counts for every thread above it too, in one transaction, and is held
//! before it is used: so a thread and all those below it never use more than it may. What a process
//! held that is gone is given back at the next look.

use rusqlite::{Connection, Row, params};

use super::alive;
use super::db::{NOW, Registry, write_step};
use super::error::RegistryError;
use super::process_id::{ProcessId, place_of};
use super::reaper::{reap, reap_left};
use super::run_state::RunState;
use super::thread_row::{ThreadRow, row_of, rows_of, with_those_above};
use super::waiting_threads::withdraw;
use crate::base::limits::{LEDGER_MOST, NEAR_NAMES};
use crate::base::text::near;

/// A thread that begins.
#[derive(Debug)]
pub(crate) struct NewThread<'a> {
    pub(crate) id: &'a str,
    /// The thread below which it runs.
    pub(crate) parent: Option<&'a str>,
    pub(crate) item: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    /// The folder that holds the `.ai` of its record.
    pub(crate) base: &'a str,
    pub(crate) started_at: &'a str,
    pub(crate) most: Amounts,
    /// How many threads may stand below it, one under the other.
    pub(crate) depth: u64,
    /// The items that it may reach, for [`super::ThreadAbove`].
    pub(crate) grants: &'a str,
    /// The start of its record, which is kept until that is signed.
    pub(crate) began: &'a str,
}

/// An amount for each limit that is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    /// In millionths of a US dollar.
    pub(crate) spend: u64,
    pub(crate) spawns: u64,
}

/// A limit that something would go beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) limit: &'static str,
    /// The amount that is used, or would be.
    pub(crate) current: u64,
    pub(crate) max: u64,
    /// It was not used: a call of the model could have come to it, and was not made.
    pub(crate) is_ahead: bool,
}

impl Breach {
    /// A limit that was gone beyond.
    pub(crate) fn used(limit: &'static str, current: u64, max: u64) -> Self {
        Self { limit, current, max, is_ahead: false }
    }

    /// A limit that something would have gone beyond that was not begun.
    pub(crate) fn ahead(limit: &'static str, current: u64, max: u64) -> Self {
        Self { limit, current, max, is_ahead: true }
    }
}

impl Registry {
    /// Begins a thread, and counts it for every thread above.
    ///
    /// # Errors
    /// `registry.not_running` where a thread above is over, `registry.io`. A limit that it would go
    /// beyond is an answer; nothing is written then.
    pub(crate) fn begin_thread(
        &mut self,
        new: &NewThread<'_>,
    ) -> Result<Option<Breach>, RegistryError> {
        let (process, is_new) = alive::hold(&self.path, new.id);
        let begun = self.in_one_step(|step| {
            let above =
                new.parent.map_or(Ok(Vec::new()), |parent| with_those_above(step, parent))?;
            if let Some(over) = above.iter().find(|row| row.state != RunState::Running) {
                return Ok(Err(over.id.clone()));
            }
            if let Some(parent) = above.first().filter(|parent| parent.depth() <= new.depth) {
                let current = new.depth.saturating_add(1);
                return Ok(Ok(Some(Breach::ahead("depth", current, parent.depth()))));
            }
            for row in &above {
                let current = row.used.spawns + 1;
                if current > row.most.spawns {
                    let breach = Breach::ahead("spawns", current, row.most.spawns);
                    return Ok(Ok(Some(breach)));
                }
            }
            // One that is detached has its row already, and may have been stopped since.
            let begun = step.execute(
                "INSERT INTO run (id, parent, kind, item, base, state, asked_at, started_at, pid,
                 start, place) VALUES (?1, ?2, 'directive', ?3, ?4, 'running', ?5, ?5, ?6, ?7, ?8)
                 ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at
                 WHERE state = 'running' AND pid IS excluded.pid AND start IS excluded.start",
                params![
                    new.id,
                    new.parent,
                    new.item,
                    new.base,
                    new.started_at,
                    process.map(|process| process.pid),
                    process.map(|process| process.start),
                    place_of(process),
                ],
            )?;
            if begun == 0 {
                return Ok(Err(new.id.to_owned()));
            }
            step.execute(
                "INSERT INTO thread (run, provider, model, most_turns, most_tokens, most_spend,
                 most_spawns, depth, began, grants)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    new.id,
                    new.provider,
                    new.model,
                    new.most.turns,
                    new.most.tokens,
                    new.most.spend,
                    new.most.spawns,
                    new.depth,
                    new.began,
                    new.grants,
                ],
            )?;
            for row in above {
                step.execute("UPDATE thread SET spawns = spawns + 1 WHERE run = ?1", [&row.id])?;
            }
            Ok(Ok(None))
        });
        if is_new && !matches!(begun, Ok(Ok(None))) {
            alive::release(&self.path, new.id);
        }
        begun?.map_err(|id| RegistryError::NotRunning { id })
    }

    /// Holds what the next turn of a thread takes at most, for it and for every thread above it.
    ///
    /// # Errors
    /// `registry.not_running`, `registry.io`. A limit that it would go beyond is an answer; nothing
    /// is held then.
    pub(crate) fn hold(
        &mut self,
        id: &str,
        tokens: u64,
        spend: u64,
    ) -> Result<Option<Breach>, RegistryError> {
        let held = self.in_one_step(|step| {
            let first = hold(step, id, tokens, spend)?;
            // A process that is gone may still hold what is missing.
            match first {
                HoldResult::Breached(_) if reap(step)? => hold(step, id, tokens, spend),
                first => Ok(first),
            }
        })?;
        match held {
            HoldResult::Done => Ok(None),
            HoldResult::Breached(breach) => Ok(Some(breach)),
            HoldResult::NotRunning => Err(RegistryError::NotRunning { id: id.to_owned() }),
        }
    }

    /// Gives back what was held for one turn, and counts what it took; `None` is nothing.
    ///
    /// # Errors
    /// `registry.io`. A limit that it went beyond is an answer; it is counted all the same.
    pub(crate) fn book(
        &mut self,
        id: &str,
        held: (u64, u64),
        took: Option<(u64, u64)>,
    ) -> Result<Option<Breach>, RegistryError> {
        let (turns, (tokens, spend)) = (u64::from(took.is_some()), took.unwrap_or_default());
        // What a server says it took is any number; sums of these stay whole numbers of the table.
        let (tokens, spend) = (tokens.min(LEDGER_MOST), spend.min(LEDGER_MOST));
        self.in_one_step(|step| {
            let mut breach = None;
            let rows = with_those_above(step, id)?;
            // What was taken for dead holds nothing any more, also where another process went on
            // with it since; what it took counts.
            let holds = rows.first().is_some_and(|row| {
                let Amounts { turns, tokens, spend, .. } = row.held;
                row.state == RunState::Running && turns >= 1 && tokens >= held.0 && spend >= held.1
            });
            let (one, held) = if holds { (1, held) } else { (0, (0, 0)) };
            for row in rows {
                step.execute(
                    "UPDATE thread SET held_turns = held_turns - ?7, \
                     held_tokens = held_tokens - ?2, held_spend = held_spend - ?3, \
                     turns = turns + ?4, tokens = tokens + ?5, spend = spend + ?6 WHERE run = ?1",
                    params![row.id, held.0, held.1, turns, tokens, spend, one],
                )?;
                for (limit, used, more, max) in [
                    ("tokens", row.used.tokens, tokens, row.most.tokens),
                    ("spend", row.used.spend, spend, row.most.spend),
                ] {
                    let current = used.saturating_add(more);
                    if current > max {
                        breach = breach.or(Some(Breach::used(limit, current, max)));
                    }
                }
            }
            Ok(breach)
        })
    }

    /// Says which checkpoint of a thread is the newest.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn note_checkpoint(&mut self, id: &str, digest: &str) -> Result<(), RegistryError> {
        self.in_one_step(|step| note_checkpoint(step, id, digest))
    }

    /// Ends a thread that runs, gives back what it still holds for itself, and withdraws what it
    /// asked a person. `last` is the final checkpoint of its record, where there is one: both
    /// are known here at once.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_thread(
        &mut self,
        id: &str,
        state: RunState,
        code: Option<&str>,
        last: Option<&str>,
    ) -> Result<(), RegistryError> {
        let own = ProcessId::own();
        let is_over = self.in_one_step(|step| {
            if let Some(last) = last {
                note_checkpoint(step, id, last)?;
            }
            let ended = step.execute(
                &format!(
                    "UPDATE run SET state = ?2, code = ?3, ended_at = {NOW}
                     WHERE id = ?1 AND state = 'running' AND pid IS ?4 AND start IS ?5"
                ),
                params![id, state, code, own.map(|own| own.pid), own.map(|own| own.start)],
            )?;
            // It may have been given up, and go on in another process.
            if ended == 0 {
                let reports = "SELECT EXISTS (SELECT 1 FROM run WHERE id = ?1
                               AND places IS NOT NULL AND pid IS ?2 AND start IS ?3)";
                let own = params![id, own.map(|own| own.pid), own.map(|own| own.start)];
                return step
                    .query_row(reports, own, |row| row.get(0))
                    .map(|reports: bool| !reports);
            }
            give_back(step, id)?;
            withdraw(step, id, None)?;
            leave_process(step, id)
        })?;
        if is_over {
            alive::release(&self.path, id);
        }
        Ok(())
    }

    /// All threads, the oldest first.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn threads(&mut self) -> Result<Vec<ThreadRow>, RegistryError> {
        reap_left(self)?;
        let rows = rows_of(&self.db, "ORDER BY started_at, run.rowid");
        rows.map_err(|error| self.fail(error))
    }

    /// One thread, without reading the others; `Err` within has the ids that are like it.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn thread(
        &mut self,
        id: &str,
    ) -> Result<Result<ThreadRow, Vec<String>>, RegistryError> {
        reap_left(self)?;
        match row_of(&self.db, id).map_err(|error| self.fail(error))? {
            Some(row) => Ok(Ok(row)),
            None => {
                let rows = self.threads()?;
                Ok(Err(near(id, rows.iter().map(|row| row.id.as_str()), NEAR_NAMES)))
            }
        }
    }

    pub(super) fn in_one_step<R>(
        &mut self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> Result<R, RegistryError> {
        let path = self.path.clone();
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let step = write_step(self).map_err(fail)?;
        let result = act(&step).map_err(fail)?;
        step.commit().map_err(fail)?;
        Ok(result)
    }
}

pub(super) fn note_checkpoint(step: &Connection, id: &str, digest: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE thread SET checkpoint = ?2, began = NULL WHERE run = ?1";
    step.execute(sql, [id, digest]).map(drop)
}

/// A run that waits or is over has no process, unless that is a process of its own, which has yet
/// to write its report. Returns true if it has none.
pub(super) fn leave_process(step: &Connection, id: &str) -> rusqlite::Result<bool> {
    let sql = "UPDATE run SET pid = NULL, start = NULL, place = NULL
               WHERE id = ?1 AND places IS NULL";
    step.execute(sql, [id]).map(|changed| changed == 1)
}

/// This process runs a thread no more, and cannot write down how it ended: the next reader takes
/// it for killed. A detached one is marked so with its report.
pub(crate) fn leave_thread(registry: &Registry, id: &str) {
    let sql = "SELECT places IS NOT NULL FROM run WHERE id = ?1";
    if !matches!(registry.db.query_row(sql, [id], |row| row.get(0)), Ok(true)) {
        alive::leave(&registry.path, id);
    }
}

/// The result of holding an amount.
enum HoldResult {
    Done,
    Breached(Breach),
    /// It ended, or was taken for dead.
    NotRunning,
}

fn hold(step: &Connection, id: &str, tokens: u64, spend: u64) -> rusqlite::Result<HoldResult> {
    let rows = with_those_above(step, id)?;
    // What runs on below a thread that is over uses nothing of it any more.
    if rows.is_empty() || rows.iter().any(|row| row.state != RunState::Running) {
        return Ok(HoldResult::NotRunning);
    }
    for row in &rows {
        let Amounts { turns: held_turns, tokens: held_tokens, spend: held_spend, .. } = row.held;
        for (limit, used, held, more, max) in [
            ("turns", row.used.turns, held_turns, 1, row.most.turns),
            ("tokens", row.used.tokens, held_tokens, tokens, row.most.tokens),
            ("spend", row.used.spend, held_spend, spend, row.most.spend),
        ] {
            let current = used.saturating_add(held).saturating_add(more);
            if current > max {
                return Ok(HoldResult::Breached(match limit {
                    // A turn is one more, as everybody knows, so what is used says enough.
                    "turns" => Breach::used(limit, used.saturating_add(held), max),
                    _ if used > max => Breach::used(limit, used, max),
                    _ => Breach::ahead(limit, current, max),
                }));
            }
        }
    }
    for row in rows {
        step.execute(
            "UPDATE thread SET held_turns = held_turns + 1, held_tokens = held_tokens + ?2, \
             held_spend = held_spend + ?3 WHERE run = ?1",
            params![row.id, tokens, spend],
        )?;
    }
    Ok(HoldResult::Done)
}

/// Gives back what a thread holds beside those below it.
pub(super) fn give_back(step: &Connection, id: &str) -> rusqlite::Result<()> {
    let sql = "SELECT held_turns, held_tokens, held_spend FROM thread WHERE run = ?1";
    let below = "SELECT coalesce(sum(held_turns), 0), coalesce(sum(held_tokens), 0),
                 coalesce(sum(held_spend), 0) FROM thread JOIN run ON run.id = thread.run
                 WHERE parent = ?1";
    let sums = |row: &Row<'_>| Ok([row.get::<_, u64>(0)?, row.get(1)?, row.get(2)?]);
    let (all, below) = (step.query_row(sql, [id], sums)?, step.query_row(below, [id], sums)?);
    let own: Vec<u64> = all.iter().zip(below).map(|(all, of)| all.saturating_sub(of)).collect();
    if own == [0, 0, 0] {
        return Ok(());
    }
    for row in with_those_above(step, id)? {
        step.execute(
            "UPDATE thread SET held_turns = held_turns - ?2, held_tokens = held_tokens - ?3, \
             held_spend = held_spend - ?4 WHERE run = ?1",
            params![row.id, own[0], own[1], own[2]],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Amounts, Breach};
    use crate::registry::RunState;
    use crate::registry::fixtures::new;
    use crate::registry::{Registry, ThreadRow};

    const MOST: Amounts = Amounts { turns: 10, tokens: 1_000, spend: 1_000, spawns: 2 };

    fn used(registry: &mut Registry, id: &str) -> (u64, u64, u64, u64) {
        let row = registry.thread(id).unwrap().unwrap();
        assert_eq!(
            (row.held.turns, row.held.tokens, row.held.spend),
            (0, 0, 0),
            "all is given back"
        );
        (row.used.turns, row.used.tokens, row.used.spend, row.used.spawns)
    }

    #[test]
    fn what_a_child_uses_counts_above_and_neither_goes_beyond_what_the_root_may() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        assert_eq!(registry.begin_thread(&new("root", None, MOST, 2)).unwrap(), None);
        let left = ThreadRow::left_below(&registry, "root").unwrap();
        assert_eq!(left, (Amounts { spawns: 1, ..MOST }, 1));
        // A child that asks for more than its parent may.
        let more = Amounts { tokens: 9_000, ..MOST };
        assert_eq!(registry.begin_thread(&new("child", Some("root"), more, 1)).unwrap(), None);
        assert_eq!(registry.hold("child", 900, 10).unwrap(), None);
        let left = Amounts { turns: 9, tokens: 100, spend: 990, spawns: 0 };
        assert_eq!(
            ThreadRow::left_below(&registry, "child").unwrap(),
            (left, 0),
            "what is held is not left"
        );
        let breach = Breach::ahead("tokens", 1_001, 1_000);
        assert_eq!(registry.hold("root", 101, 0).unwrap(), Some(breach), "what is held counts");
        assert_eq!(registry.book("child", (900, 10), Some((600, 5))).unwrap(), None);
        assert_eq!(registry.hold("child", 401, 0).unwrap(), Some(breach));
        assert_eq!(registry.hold("child", 400, 0).unwrap(), None);
        assert_eq!(registry.book("child", (400, 0), None).unwrap(), None);
        assert_eq!(used(&mut registry, "child"), (1, 600, 5, 0));
        assert_eq!(used(&mut registry, "root"), (1, 600, 5, 1));
        // What was really taken is counted even where it is more.
        assert_eq!(registry.hold("child", 1, 1).unwrap(), None);
        let breach = Breach::used("tokens", 1_100, 1_000);
        assert_eq!(registry.book("child", (1, 1), Some((500, 1))).unwrap(), Some(breach));
        assert_eq!(used(&mut registry, "root"), (2, 1_100, 6, 1));
    }

    #[test]
    fn turns_spawns_and_depth_stop_at_their_limits() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        assert_eq!(registry.begin_thread(&new("root", None, MOST, 1)).unwrap(), None);
        for child in ["one", "two"] {
            assert_eq!(registry.begin_thread(&new(child, Some("root"), MOST, 0)).unwrap(), None);
        }
        let breach = Breach::ahead("spawns", 3, 2);
        assert_eq!(
            registry.begin_thread(&new("three", Some("root"), MOST, 0)).unwrap(),
            Some(breach)
        );
        let breach = Breach::ahead("depth", 1, 0);
        assert_eq!(
            registry.begin_thread(&new("below", Some("one"), MOST, 0)).unwrap(),
            Some(breach)
        );
        assert_eq!(registry.threads().unwrap().len(), 3, "what is refused is not written");
        for _ in 0..10 {
            assert_eq!(registry.hold("root", 1, 1).unwrap(), None);
            assert_eq!(registry.book("root", (1, 1), Some((1, 1))).unwrap(), None);
        }
        let breach = Breach::used("turns", 10, 10);
        assert_eq!(registry.hold("two", 1, 1).unwrap(), Some(breach), "the turns of the root");
    }

    #[test]
    fn a_thread_whose_process_is_gone_was_killed_and_holds_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("one", None, MOST, 1)).unwrap();
        registry.begin_thread(&new("two", None, MOST, 1)).unwrap();
        registry.hold("one", 100, 100).unwrap();
        assert_eq!(registry.thread("one").unwrap().unwrap().state, RunState::Running);
        registry.db.execute("UPDATE run SET start = start + 1 WHERE id = 'one'", []).unwrap();
        assert_eq!(registry.thread("one").unwrap().unwrap().state, RunState::Killed);
        assert_eq!(used(&mut registry, "one"), (1, 100, 100, 0), "what was under way counts");
        assert_eq!(registry.thread("two").unwrap().unwrap().state, RunState::Running);
        // It ended once, and how stays said.
        registry.end_thread("one", RunState::Completed, None, None).unwrap();
        assert_eq!(registry.thread("one").unwrap().unwrap().state, RunState::Killed);
        assert_eq!(registry.thread("tow").unwrap(), Err(vec!["two".to_owned()]));
    }

    #[test]
    fn what_runs_on_below_a_thread_that_is_over_holds_nothing_and_what_it_took_counts() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("root", None, MOST, 2)).unwrap();
        registry.begin_thread(&new("child", Some("root"), MOST, 1)).unwrap();
        registry.begin_thread(&new("below", Some("child"), MOST, 0)).unwrap();
        assert_eq!(registry.hold("below", 100, 10).unwrap(), None);
        registry.end_thread("root", RunState::Cancelled, None, None).unwrap();
        for id in ["below", "child"] {
            let error = registry.hold(id, 1, 1).unwrap_err();
            assert!(matches!(error, crate::registry::RegistryError::NotRunning { .. }), "{error}");
        }
        assert!(registry.begin_thread(&new("late", Some("child"), MOST, 0)).is_err());
        registry.book("below", (100, 10), Some((60, 6))).unwrap();
        assert_eq!(used(&mut registry, "root"), (1, 60, 6, 2));
        assert_eq!(used(&mut registry, "below"), (1, 60, 6, 0));
    }

    #[test]
    fn one_thread_is_found_without_reading_the_others() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("acme/go/go-17", None, MOST, 1)).unwrap();
        let near = registry.thread("acme/go/go-17x").unwrap().unwrap_err();
        assert_eq!(near, ["acme/go/go-17"]);
        // One that cannot be read.
        registry.begin_thread(&new("broken", None, MOST, 1)).unwrap();
        registry.end_thread("broken", RunState::Completed, None, None).unwrap();
        let broken = "UPDATE thread SET depth = -1 WHERE run = 'broken'";
        registry.db.execute(broken, []).unwrap();
        assert!(registry.threads().is_err());
        assert_eq!(registry.thread("acme/go/go-17").unwrap().unwrap().state, RunState::Running);
    }

    #[test]
    fn many_processes_that_hold_and_book_at_once_never_go_beyond_the_limit() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let most = Amounts { turns: 1_000, ..MOST };
        registry.begin_thread(&new("root", None, most, 1)).unwrap();
        let booked: u64 = std::thread::scope(|scope| {
            let workers: Vec<_> = (1..5_u64)
                .map(|worker| {
                    let home = home.path();
                    scope.spawn(move || {
                        let mut registry = Registry::open(home).unwrap();
                        let mut booked = 0;
                        for round in 0..40 {
                            let asked = worker * 7 + round % 5;
                            if registry.hold("root", asked, 0).unwrap().is_none() {
                                let took = asked - round % 3;
                                registry.book("root", (asked, 0), Some((took, 0))).unwrap();
                                booked += took;
                            }
                        }
                        booked
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert!((900..=1_000).contains(&booked), "{booked}");
        assert_eq!(used(&mut registry, "root").1, booked);
    }
}
