//! A run as it stands in the registry: a thread, or a run in a process of its own.

use std::ops::Deref;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::process_id::{ProcessId, place_from, place_of};
use super::reaper::reap_left;
use super::run_state::RunState;
use super::thread_row::{self, ThreadRow};

/// A run of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunRow {
    pub(crate) id: String,
    /// The thread below which it runs.
    pub(crate) parent: Option<String>,
    pub(crate) item: String,
    /// The folder that holds the `.ai` of its record.
    pub(crate) base: String,
    pub(crate) state: RunState,
    /// Why it failed.
    pub(crate) code: Option<String>,
    pub(crate) asked_at: String,
    pub(crate) started_at: Option<String>,
    pub(crate) ended_at: Option<String>,
    pub(super) process: Option<ProcessId>,
    /// It has a process of its own, which writes its report.
    pub(crate) is_detached: bool,
    /// The request for which the run of a tool waits, or waited.
    pub(crate) request: Option<String>,
    /// The report of a detached run, once it is written; not in a list, which may be long.
    pub(crate) report: Option<String>,
    /// The thread that goes on for one that is continued.
    pub(crate) continued_by: Option<String>,
    /// The node that runs it, as JSON.
    pub(crate) remote: Option<String>,
}

/// A run that is to have a row.
#[derive(Debug)]
pub(crate) struct NewRun<'a> {
    pub(crate) id: &'a str,
    /// `tool` or `directive`.
    pub(crate) kind: &'a str,
    pub(crate) item: &'a str,
    /// The folder that holds the `.ai` of its record.
    pub(crate) base: &'a str,
    pub(crate) asked_at: &'a str,
}

impl NewRun<'_> {
    /// Inserts a run of this process, which begins now if it is `running`. One in a process of its
    /// own has `places`, and one that a node is asked for that `remote`.
    pub(super) fn insert(
        &self,
        step: &Connection,
        state: RunState,
        own: Option<ProcessId>,
        (places, remote): (Option<u64>, Option<&str>),
    ) -> rusqlite::Result<()> {
        let started_at = (state == RunState::Running).then_some(self.asked_at);
        step.execute(
            "INSERT INTO run (id, kind, item, base, state, asked_at, started_at, places, remote,
             pid, start, place) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                self.id,
                self.kind,
                self.item,
                self.base,
                state,
                self.asked_at,
                started_at,
                places,
                remote,
                own.map(|own| own.pid),
                own.map(|own| own.start),
                place_of(own),
            ],
        )
        .map(drop)
    }
}

/// The columns of a run, for [`RunRow::read`].
const COLUMNS: &str = "run.id, run.parent, run.item, run.base, run.state, run.code, \
    run.asked_at, run.started_at, run.ended_at, run.pid, run.start, run.place, \
    run.places IS NOT NULL, run.request, run.continued_by, run.remote";

/// The number of [`COLUMNS`] with the report.
const COUNT: usize = 17;

impl RunRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let process = row.get::<_, Option<u32>>(9)?.zip(row.get(10)?);
        let place = place_from(row.get(11)?);
        Ok(Self {
            id: row.get(0)?,
            parent: row.get(1)?,
            item: row.get(2)?,
            base: row.get(3)?,
            state: row.get(4)?,
            code: row.get(5)?,
            asked_at: row.get(6)?,
            started_at: row.get(7)?,
            ended_at: row.get(8)?,
            process: process.map(|(pid, start)| ProcessId { pid, start, place }),
            is_detached: row.get(12)?,
            request: row.get(13)?,
            continued_by: row.get(14)?,
            remote: row.get(15)?,
            report: row.get(16)?,
        })
    }

    /// It ended, or waits with a request, and its process has yet to write the report.
    pub(crate) fn is_reporting(&self) -> bool {
        let is_over = match self.state {
            RunState::Completed | RunState::Failed | RunState::Cancelled => true,
            // A thread that waits says so in its record.
            RunState::Waiting => self.request.is_some(),
            _ => false,
        };
        is_over && self.is_detached && self.process.is_some()
    }

    /// The process that runs it, or writes its report.
    fn runs_in(&self) -> Option<ProcessId> {
        self.process.filter(|_| self.state == RunState::Running || self.is_reporting())
    }

    /// The number of the process that runs it.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.runs_in().map(|process| process.pid)
    }

    /// Its process is still the one that was written down.
    pub(crate) fn has_its_process(&self) -> bool {
        self.process.is_some_and(|process| !process.is_elsewhere() && !process.is_gone())
    }

    /// Its process runs in another namespace of processes, where its state cannot be seen.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.runs_in().is_some_and(ProcessId::is_elsewhere)
    }

    /// Its process has other work too, such as other calls of a server.
    pub(crate) fn is_shared(&self) -> bool {
        self.runs_in().is_some_and(ProcessId::is_shared)
    }

    /// It runs in the process with this number and start.
    pub(super) fn is_in(&self, (pid, start): (u32, u64)) -> bool {
        let is_it = |process: ProcessId| (process.pid, process.start) == (pid, start);
        self.process.is_some_and(|process| is_it(process) && !process.is_elsewhere())
    }

    /// Its process is gone.
    pub(super) fn is_left(&self, db: &Connection) -> bool {
        self.process.is_some_and(|process| alive::is_gone(db, &self.id, process))
    }
}

/// A run, with what only a thread has if it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most runs of a long list are threads")]
pub(crate) enum AnyRun {
    Thread(ThreadRow),
    /// The run of a tool, or of a directive whose thread did not begin.
    Plain(RunRow),
}

impl AnyRun {
    /// The thread that it is.
    pub(crate) fn thread(&self) -> Option<&ThreadRow> {
        match self {
            Self::Thread(row) => Some(row),
            Self::Plain(_) => None,
        }
    }

    /// All runs, in the order in which they were asked for.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn all(registry: &mut Registry) -> Result<Vec<Self>, RegistryError> {
        reap_left(registry)?;
        let all = runs_of(&registry.db, "ORDER BY asked_at, run.rowid");
        all.map_err(|error| registry.fail(error))
    }

    /// One run, without reading the others.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn find(registry: &mut Registry, id: &str) -> Result<Option<Self>, RegistryError> {
        reap_left(registry)?;
        run_of(&registry.db, id).map_err(|error| registry.fail(error))
    }

    pub(super) fn into_thread(self) -> Option<ThreadRow> {
        match self {
            Self::Thread(row) => Some(row),
            Self::Plain(_) => None,
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let run = RunRow::read(row)?;
        Ok(match row.get::<_, Option<String>>(COUNT)? {
            Some(_) => Self::Thread(ThreadRow::read(row, COUNT, run)?),
            None => Self::Plain(run),
        })
    }
}

impl Deref for AnyRun {
    type Target = RunRow;

    fn deref(&self) -> &RunRow {
        match self {
            Self::Thread(row) => row,
            Self::Plain(row) => row,
        }
    }
}

/// Runs, chosen and ordered by the rest of a query.
pub(super) fn runs_of(db: &Connection, which: &str) -> rusqlite::Result<Vec<AnyRun>> {
    db.prepare(&select("NULL", which))?.query_map([], AnyRun::read)?.collect()
}

/// The run with that id.
pub(super) fn run_of(db: &Connection, id: &str) -> rusqlite::Result<Option<AnyRun>> {
    db.query_row(&select("run.report", "WHERE run.id = ?1"), [id], AnyRun::read).optional()
}

fn select(report: &str, which: &str) -> String {
    let thread = thread_row::COLUMNS;
    format!(
        "SELECT {COLUMNS}, {report}, {thread} FROM run LEFT JOIN thread ON thread.run = run.id {which}"
    )
}
