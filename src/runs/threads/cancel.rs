//! Ending a thread or a detached run, from whichever process asks: by the registry alone.

use std::time::Duration;

use super::Threads;
use super::cancel_waiting::WaitingEnd;
use super::detached_waits::withdrawn;
use super::known_runs::{KnownRun, ask_node, newest_of, remote_row};
use crate::diagnostic::{Diagnostic, Failure};
use crate::host::kill_tree;
use crate::registry::{DetachedEnd, RunState, ServedRuns, ThreadRow};
use crate::report::error_json;
use crate::rye::moment;
use crate::thread::{THREAD_KILLED, THREAD_NOT_RUNNING, ThreadError};

/// How often one is stopped that begins to wait, or is continued, in the middle of it.
const STOP_TRIES: usize = 4;

impl Threads<'_> {
    /// Asks one, or the thread that goes on for it, to stop at its next safe point, and waits a
    /// moment until it did.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.not_running`, `registry.*`
    pub(crate) fn cancel(self, id: &str) -> Result<KnownRun, Failure> {
        if let (Some(remote), Some(mut registry)) = (remote_row(&self.run(id)?), self.registry()?) {
            // Then the node may not know it yet, and may be out of reach.
            let is_being_asked = ServedRuns::new(&mut registry).is_being_asked(id);
            let look = || match ask_node(self, id, Duration::ZERO) {
                Err(_) if is_being_asked => Ok(()),
                looked => looked,
            };
            look()?;
            let known = self.run(id)?;
            if known.is_over() {
                let (id, state) = (id.to_owned(), known.state());
                return Err(ThreadError::NotRunning { id, state }.into());
            }
            remote.cancel(self.rye, &mut registry, id)?;
            look()?;
            return self.run(id);
        }
        until_stopped(self, id, ask_to_stop)
    }

    /// Kills the process that runs one, or the thread that goes on for it, with all that it
    /// started. One that runs elsewhere is asked to stop, and is taken for dead where it does not
    /// answer. One whose process has other work too, or that a node runs, is asked to stop, and no
    /// more.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.not_running`, `thread.not_alone`, `registry.*`
    pub(crate) fn kill(self, id: &str) -> Result<KnownRun, Failure> {
        match remote_row(&self.run(id)?) {
            Some(_) => self.cancel(id),
            None => until_stopped(self, id, kill_one),
        }
    }

    /// Ends one that waits for its place or for a person; `None` where it does not.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.not_running`, `thread.record_io`, `registry.*`
    fn end_waiting(
        self,
        id: &str,
        state: RunState,
        why: &ThreadError,
    ) -> Result<Option<KnownRun>, Failure> {
        if let Some(ended) = WaitingEnd::new(self, state, why).end(id)? {
            return Ok(Some(ended));
        }
        let mut known = self.run(id)?;
        let diagnostic = match known.state() {
            RunState::Created => {
                Diagnostic::from(&ThreadError::NotBegun { id: id.to_owned(), how: state })
            }
            _ => Diagnostic::from(why),
        };
        let (item, none) = (Some(&*known.row.item), Duration::ZERO);
        let report = error_json(&diagnostic, item, &[], none, None).to_string();
        let (code, at) = (Some(diagnostic.code.name()), moment());
        let end =
            DetachedEnd { state, code, at: &at, report: &report, receipts: None, request: None };
        if known.waits_for().is_some() {
            let is_ended = withdrawn(self, &known, why, end)?;
            known = self.run(id)?;
            if is_ended {
                return Ok(Some(known));
            }
        }
        if known.thread().is_some() && known.state() == RunState::Waiting {
            // It began to wait since.
            return Ok(None);
        }
        if !known.is_open() {
            let (id, state) = (id.to_owned(), known.state());
            return Err(ThreadError::NotRunning { id, state }.into());
        }
        let Some(mut registry) = self.registry()? else { return Ok(None) };
        match known.state() == RunState::Created
            && registry.detached().end_waiting(id, None, end)?
        {
            true => self.run(id).map(Some),
            false => Ok(None),
        }
    }
}

/// Stops the thread that goes on for one, and again where it began to wait, or yet another one
/// went on for it, before it saw that it was to stop.
fn until_stopped(
    threads: Threads<'_>,
    id: &str,
    stop: fn(Threads<'_>, &str) -> Result<KnownRun, Failure>,
) -> Result<KnownRun, Failure> {
    let mut known = stop(threads, &newest_of(threads, id)?)?;
    for _ in 1..STOP_TRIES {
        if !matches!(known.state(), RunState::Waiting | RunState::Continued) {
            break;
        }
        let newest = newest_of(threads, known.id())?;
        known = threads.run(&newest)?;
        if known.is_open() || known.state() == RunState::Waiting {
            known = match stop(threads, &newest) {
                // It ended by itself.
                Err(failure) if failure.reason() == THREAD_NOT_RUNNING => threads.run(&newest)?,
                known => known?,
            };
        }
    }
    Ok(known)
}

fn ask_to_stop(threads: Threads<'_>, id: &str) -> Result<KnownRun, Failure> {
    let is_below = threads.run(id)?.row.parent.is_some();
    let cancelled = ThreadError::Cancelled { id: id.to_owned(), is_below };
    if let Some(ended) = threads.end_waiting(id, RunState::Cancelled, &cancelled)? {
        return Ok(ended);
    }
    if let Some(mut registry) = threads.registry()? {
        registry.stops().ask(id, &moment())?;
    }
    threads.soon_ended(id)
}

fn kill_one(threads: Threads<'_>, id: &str) -> Result<KnownRun, Failure> {
    let is_below = threads.run(id)?.row.parent.is_some();
    let killed = ThreadError::Killed { id: id.to_owned(), is_below };
    if let Some(ended) = threads.end_waiting(id, RunState::Killed, &killed)? {
        return Ok(ended);
    }
    let known = threads.run(id)?;
    if known.row.is_elsewhere() {
        if let Some(mut registry) = threads.registry()? {
            registry.stops().ask(id, &moment())?;
            if threads.soon_ended(id)?.is_open() {
                registry.stops().give_up(id)?;
            }
        }
        return threads.run(id);
    }
    if known.is_shared() {
        if let Some(mut registry) = threads.registry()? {
            registry.stops().ask(id, &moment())?;
        }
        return threads.soon_ended(id);
    }
    let own = known.row.pid();
    let in_process = |row: &ThreadRow| own.is_some() && row.pid() == own;
    if let Some(top) = top_above(threads, &known, in_process)? {
        return Err(ThreadError::NotAlone { id: id.to_owned(), top }.into());
    }
    if let Some(pid) = known.row.pid() {
        let is_meant = || known.row.has_its_process();
        let failed = |source| ThreadError::NotKilled { id: id.to_owned(), source };
        kill_tree(pid, &is_meant).map_err(failed)?;
    }
    let ended = threads.soon_ended(id)?;
    if let (false, Some(mut registry)) = (ended.is_open(), threads.registry()?) {
        // No decision that comes later wakes it.
        registry.stops().end_killed(id, THREAD_KILLED)?;
    }
    threads.run(id)
}

/// The thread at the top of those above one that wait for a person.
///
/// # Errors
/// `registry.*`
pub(crate) fn waiting_above(
    threads: Threads<'_>,
    known: &KnownRun,
) -> Result<Option<String>, Failure> {
    top_above(threads, known, |row| row.state == RunState::Waiting)
}

/// The highest thread above one, of those of which this holds without a gap.
fn top_above(
    threads: Threads<'_>,
    known: &KnownRun,
    holds: impl Fn(&ThreadRow) -> bool,
) -> Result<Option<String>, Failure> {
    let Some(mut registry) = threads.registry()? else { return Ok(None) };
    let mut next = known.row.parent.clone();
    let mut top = None;
    while let Some(id) = next {
        let above = registry.thread(&id)?.ok().filter(&holds);
        next = above.as_ref().and_then(|row| row.parent.clone());
        top = above.map(|row| row.run.id).or(top);
    }
    Ok(top)
}
