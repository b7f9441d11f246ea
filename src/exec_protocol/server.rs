//! One server: its process and its session (exec-protocol 3).
//!
//! No thread reads the pipes while no call waits: of the calls that wait for an answer one reads
//! for all, and hands over when it has its own. So a call costs no change of threads, and a flood
//! is bounded by the pipe. Before a call is sent, what came in between is read and thrown away.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::session::{Heard, Reply, Session};
use super::stderr::StderrLog;
use super::wire::Answer;
use crate::base::durations::EXEC_BACKOFF_MAX_MS;
use crate::base::limits::{EXEC_LINE_BYTES, NOTE_LINES};
use crate::base::lines::{FramedLine, Framer};
use crate::base::sync::unpoisoned;
use crate::execute::{ExecuteError, Mask, ProtocolFault, RunFolders, status_text};
use crate::host::{IoRound, PersistentChild, Signals, Traffic};
use crate::id::Ref;
use crate::plan::{ExecOptions, TimeLimit};
use crate::trace::{Event, Sink};

/// In which span the ends of a server count together, in milliseconds.
const EXEC_DEATHS_MS: u64 = 60_000;

/// How long an unstable server is left alone before it is started again, in milliseconds.
const EXEC_LEFT_ALONE_MS: u64 = 30_000;

/// First wait before a server that ended is started again, in milliseconds; twice as long each time
/// (exec-protocol 3.4).
const EXEC_BACKOFF_MS: u64 = 100;

/// Timeouts in a row after which a server of several calls at once is replaced.
const EXEC_TIMEOUTS: usize = 3;

/// So many ends within a minute, and a server is left alone for half a minute.
const EXEC_DEATHS: usize = 5;

/// The parts of one call.
pub(super) struct Asked<'a> {
    /// The request, an object as text.
    pub(super) request: &'a str,
    pub(super) deadline: Instant,
    /// The time that the call has, for the message that it was over.
    pub(super) limit: &'a TimeLimit,
    pub(super) mask: &'a Mask,
    pub(super) sink: &'a dyn Sink,
    pub(super) signals: Option<&'a Signals>,
    /// Takes what went through rye's proxy since another call was answered.
    pub(super) traffic: &'a Cell<Option<Traffic>>,
    /// Starts the process.
    pub(super) start: &'a dyn Fn() -> Result<(PersistentChild, RunFolders), ExecuteError>,
}

/// One server of one binding.
pub(super) struct Server {
    item: Ref,
    options: ExecOptions,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    session: Session,
    live: Option<Live>,
    /// Rises with each process, so that the words of one are not taken for another's.
    generation: u64,
    /// One of the waiting calls reads for all.
    is_led: bool,
    stderr_log: StderrLog,
    /// Lines since the last call began that belong to no call.
    skipped: usize,
    deaths: Vec<Instant>,
    /// Ends in a row without an answer between them.
    failures: u32,
    not_before: Option<Instant>,
    timeouts: usize,
    used: Instant,
}

struct Live {
    child: Arc<PersistentChild>,
    framer: Framer,
    /// Bytes that are still to be written.
    out: Vec<u8>,
    folders: RunFolders,
}

/// Looks at what came between two calls, each at what a pipe holds.
const DRAIN_TURNS: usize = 4;

impl Server {
    pub(super) fn new(item: Ref, options: ExecOptions) -> Self {
        let state = State {
            session: Session::default(),
            live: None,
            generation: 0,
            is_led: false,
            stderr_log: StderrLog::default(),
            skipped: 0,
            deaths: Vec::new(),
            failures: 0,
            not_before: None,
            timeouts: 0,
            used: Instant::now(),
        };
        Self { item, options, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        unpoisoned(self.state.lock())
    }

    /// The state, unless a call is at work with it.
    fn at_rest(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// With the last of what was said on standard error.
    fn lost(&self, fault: ProtocolFault, stderr_tail: String) -> ExecuteError {
        let (item, after) = (self.item.clone(), Box::default());
        ExecuteError::Protocol { item, fault, stderr_tail, after }
    }

    /// Until something changed, at most until then.
    fn wait<'s>(&self, state: MutexGuard<'s, State>, until: Instant) -> MutexGuard<'s, State> {
        let left = until.saturating_duration_since(Instant::now());
        unpoisoned(self.changed.wait_timeout(state, left)).0
    }

    /// One call, to its reply.
    pub(super) fn call(&self, asked: &Asked<'_>) -> Result<Answer, ExecuteError> {
        let mut again = self.options.idempotent;
        loop {
            match self.call_once(asked) {
                Err(ExecuteError::Protocol {
                    fault: ProtocolFault::ServerExited { .. }, ..
                }) if again => {
                    again = false;
                }
                other => return other,
            }
        }
    }

    fn call_once(&self, asked: &Asked<'_>) -> Result<Answer, ExecuteError> {
        let mut state = self.admitted(asked)?;
        let generation = state.generation;
        let (id, line) = state.session.begin(asked.request);
        if let Some(live) = &mut state.live {
            live.out.extend_from_slice(line.as_bytes());
        }
        loop {
            if let Some(reply) = state.session.take(id) {
                return self.replied(state, reply, asked);
            }
            if Instant::now() >= asked.deadline {
                return Err(self.timed_out(state, id, generation, asked));
            }
            let is_led = state.is_led;
            let Some(live) = state.live.as_mut().filter(|_| !is_led) else {
                // The call that reads is told that there is more to write.
                if let Some(live) = state.live.as_ref().filter(|live| !live.out.is_empty()) {
                    live.child.wake();
                }
                state = self.wait(state, asked.deadline);
                continue;
            };
            let (child, mut out) = (live.child.clone(), std::mem::take(&mut live.out));
            state.is_led = true;
            let reads = state.generation;
            drop(state);
            let turn = child.turn(&mut out, asked.deadline, asked.signals);
            drop(child);
            state = self.lock();
            state.is_led = false;
            let turn = turn.unwrap_or_else(|_| over());
            let signal = self.led(&mut state, reads, out, &turn, asked);
            self.changed.notify_all();
            if let Some(signal) = signal {
                state.session.give_up(id);
                return Err(ExecuteError::Interrupted { item: self.item.clone(), signal });
            }
        }
    }

    /// Takes in what a turn brought with the process of this generation, and what of `out` it did
    /// not take; gives the signal that ends the call.
    fn led(
        &self,
        state: &mut State,
        generation: u64,
        mut out: Vec<u8>,
        turn: &IoRound,
        asked: &Asked<'_>,
    ) -> Option<i32> {
        let is_same = generation == state.generation;
        let Some(live) = state.live.as_mut().filter(|_| is_same) else { return turn.signal };
        out.append(&mut live.out);
        live.out = out;
        self.take(state, turn, asked);
        if turn.signal.is_some() {
            self.end(state, "it was interrupted", None, asked);
        }
        turn.signal
    }

    /// Waits until a call may be sent: there is a process, it is not at its bound, and nothing of
    /// before is left in its pipe.
    fn admitted(&self, asked: &Asked<'_>) -> Result<MutexGuard<'_, State>, ExecuteError> {
        let mut state = self.lock();
        // One that never stops talking is asked all the same.
        let mut looks = DRAIN_TURNS;
        loop {
            let now = Instant::now();
            state.used = now;
            if now >= asked.deadline {
                let fault = ProtocolFault::NeverAsked { limit: asked.limit.clone() };
                return Err(self.lost(fault, String::new()));
            }
            if state.live.is_none() {
                let wait = state.not_before.map(|at| at.saturating_duration_since(now));
                if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
                    if state.deaths.len() >= EXEC_DEATHS {
                        let deaths = state.deaths.len();
                        let fault = ProtocolFault::ServerUnstable { deaths, wait };
                        let tail = state.stderr_log.tail(&self.item, asked.mask, false);
                        return Err(self.lost(fault, tail));
                    }
                    asked.sink.record(Event::Wait {
                        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    });
                    state = self.wait(state, (now + wait).min(asked.deadline));
                    continue;
                }
                self.start(&mut state, asked)?;
            }
            if state.session.waiting() >= self.options.max_in_flight {
                state = self.wait(state, asked.deadline);
                continue;
            }
            if state.session.waiting() == 0 && !state.is_led && looks > 0 {
                looks -= 1;
                // Reads what came without a call, and sees if the process still lives.
                let Some(live) = &state.live else { continue };
                let turn = live.child.turn(&mut Vec::new(), now, None).unwrap_or_else(|_| over());
                let is_silent = turn.stdout.is_empty() && turn.stderr.is_empty() && !turn.is_over;
                self.take(&mut state, &turn, asked);
                if !is_silent {
                    continue;
                }
            }
            state.stderr_log.begin_call();
            state.skipped = 0;
            return Ok(state);
        }
    }

    fn start(&self, state: &mut State, asked: &Asked<'_>) -> Result<(), ExecuteError> {
        let (child, folders) = (asked.start)()?;
        asked.sink.record(Event::ServerStarted { item_id: self.item.clone(), pid: child.pid() });
        state.generation += 1;
        state.timeouts = 0;
        state.stderr_log = StderrLog::new(folders.authors_paths());
        state.live = Some(Live {
            child: Arc::new(child),
            framer: Framer::new(EXEC_LINE_BYTES.min(self.options.max_output_bytes)),
            out: Vec::new(),
            folders,
        });
        Ok(())
    }

    /// Takes in what the process said.
    fn take(&self, state: &mut State, turn: &IoRound, asked: &Asked<'_>) {
        state.stderr_log.take(&self.item, &turn.stderr, asked.mask);
        let Some(live) = &mut state.live else { return };
        live.framer.push(&turn.stdout);
        let mut broken = None;
        while let Some(line) = live.framer.next_line() {
            let heard = match line {
                FramedLine::Whole(line) => state.session.hear(line, asked.mask),
                FramedLine::TooLong => {
                    let cap = EXEC_LINE_BYTES.min(self.options.max_output_bytes);
                    Heard::Broken(ProtocolFault::OutputTooLarge { cap })
                }
            };
            match heard {
                Heard::Answered => (state.failures, state.timeouts) = (0, 0),
                Heard::Skipped(what) => {
                    state.skipped += 1;
                    if state.skipped <= NOTE_LINES {
                        tracing::info!(item = %self.item, "skipped: {what}");
                    }
                }
                Heard::Broken(fault) => {
                    broken = Some(fault);
                    break;
                }
            }
        }
        match broken {
            Some(fault) => {
                let why = fault.to_string();
                self.end(state, &why, Some(fault), asked);
            }
            None if turn.is_over => self.end(state, "", None, asked),
            None => {}
        }
    }

    /// Ends the process, or finds that it ended. Calls that wait get `fault`, or that it is gone.
    fn end(&self, state: &mut State, why: &str, fault: Option<ProtocolFault>, asked: &Asked<'_>) {
        told_traffic(state, asked);
        let Some(live) = state.live.take() else { return };
        let how = match Arc::try_unwrap(live.child) {
            Ok(child) => {
                let ended = child.kill();
                state.stderr_log.take(&self.item, &ended.stderr, asked.mask);
                status_text(&ended)
            }
            // Who reads from it is told by its end.
            Err(child) => {
                child.end_group();
                "it was ended".into()
            }
        };
        let now = Instant::now();
        state.deaths.retain(|at| now.duration_since(*at) < Duration::from_millis(EXEC_DEATHS_MS));
        state.deaths.push(now);
        let wait = match state.deaths.len() >= EXEC_DEATHS {
            true => Duration::from_millis(EXEC_LEFT_ALONE_MS),
            false => {
                let ms = EXEC_BACKOFF_MS << state.failures.min(10);
                Duration::from_millis(ms.min(EXEC_BACKOFF_MAX_MS))
            }
        };
        state.failures += 1;
        state.not_before = Some(now + wait);
        let why = if why.is_empty() { how.clone() } else { why.to_owned() };
        asked.sink.record(Event::ServerEnded {
            item_id: self.item.clone(),
            why,
            restart_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        });
        state.session.fail(&fault.unwrap_or(ProtocolFault::ServerExited { how }));
    }

    fn replied(
        &self,
        mut state: MutexGuard<'_, State>,
        reply: Reply,
        asked: &Asked<'_>,
    ) -> Result<Answer, ExecuteError> {
        state.used = Instant::now();
        told_traffic(&state, asked);
        let tail = match &reply {
            Ok(_) => String::new(),
            Err(_) => {
                let may_go_on = state.live.is_some();
                state.stderr_log.tail(&self.item, asked.mask, may_go_on)
            }
        };
        drop(state);
        self.changed.notify_all();
        reply.map_err(|fault| self.lost(fault, tail))
    }

    /// One call at a time: the process may still answer, so it is replaced. With several the others
    /// go on, until too many in a row got none.
    fn timed_out(
        &self,
        mut state: MutexGuard<'_, State>,
        id: u64,
        generation: u64,
        asked: &Asked<'_>,
    ) -> ExecuteError {
        state.session.give_up(id);
        let tail = state.stderr_log.tail(&self.item, asked.mask, true);
        let limit = || asked.limit.clone();
        let mut fault = ProtocolFault::Timeout { limit: limit() };
        if state.generation == generation {
            state.timeouts += 1;
            if self.options.max_in_flight == 1 || state.timeouts >= EXEC_TIMEOUTS {
                self.replace(&mut state, asked);
            } else {
                told_traffic(&state, asked);
                fault = ProtocolFault::TimeoutOfOne { limit: limit() };
            }
        }
        drop(state);
        self.changed.notify_all();
        self.lost(fault, tail)
    }

    /// Ends the process; a time-out is no death, so the next call starts another at once.
    fn replace(&self, state: &mut State, asked: &Asked<'_>) {
        let (deaths, failures) = (state.deaths.clone(), state.failures);
        self.end(state, "it did not answer in time", None, asked);
        (state.deaths, state.failures, state.not_before) = (deaths, failures, None);
    }

    /// The process, if no call waits and it was not used for so long; the caller ends it. Never
    /// waits: a server that is at work is used.
    pub(super) fn let_go_unused(&self, time: Duration) -> Option<(PersistentChild, RunFolders)> {
        let state = self.at_rest()?;
        let is_unused = state.session.waiting() == 0 && state.used.elapsed() >= time;
        if is_unused { self.without(state) } else { None }
    }

    /// As [`Self::let_go_unused`], for the time that the item gives.
    pub(super) fn let_go_idle(&self) -> Option<(PersistentChild, RunFolders)> {
        self.let_go_unused(Duration::from_millis(self.options.idle_ms))
    }

    /// The process, whatever it does; it is the caller's to end.
    pub(super) fn let_go(&self) -> Option<(PersistentChild, RunFolders)> {
        self.without(self.lock())
    }

    fn without(&self, mut state: MutexGuard<'_, State>) -> Option<(PersistentChild, RunFolders)> {
        let live = state.live.take()?;
        let how = "rye ended it".to_owned();
        state.session.fail(&ProtocolFault::ServerExited { how });
        self.changed.notify_all();
        Some((Arc::into_inner(live.child)?, live.folders))
    }

    /// When it may have been idle long enough, and is looked at again; `None` while it does not
    /// run. Never waits: a server that is at work is not idle.
    pub(super) fn idle_at(&self) -> Option<Instant> {
        let idle = Duration::from_millis(self.options.idle_ms);
        let Some(state) = self.at_rest() else { return Some(Instant::now() + idle) };
        state.live.as_ref()?;
        Some(if state.session.waiting() > 0 { Instant::now() } else { state.used } + idle)
    }

    /// When it was used last, if it runs and no call waits.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        let state = self.at_rest()?;
        let is_unused = state.live.is_some() && state.session.waiting() == 0;
        is_unused.then_some(state.used)
    }

    /// Returns true if a process of it runs or may be about to.
    pub(super) fn is_running(&self) -> bool {
        self.at_rest().is_none_or(|state| state.live.is_some())
    }
}

/// A pipe that cannot be read is at its end.
fn over() -> IoRound {
    IoRound { is_over: true, ..IoRound::default() }
}

/// Tells a call what went through the way out of the process since this was last asked. Of a
/// process that is gone it was told when that ended.
fn told_traffic(state: &State, asked: &Asked<'_>) {
    let seen = state.live.as_ref().and_then(|live| live.child.take_traffic());
    let before = asked.traffic.take();
    asked.traffic.set(seen.or(before));
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::{Asked, Server};
    use crate::execute::{ExecuteError, Mask};
    use crate::host::IoRound;
    use crate::plan::{ExecOptions, TimeLimit};
    use crate::trace::Quiet;

    #[test]
    fn a_signal_that_came_with_the_last_words_of_a_replaced_process_ends_the_call() {
        let item: crate::id::Ref = "tool:acme/x".parse().unwrap();
        let options = ExecOptions {
            mode: crate::parse::ExecMode::Server,
            below_args: true,
            as_it_is: false,
            max_output_bytes: 1,
            max_in_flight: 2,
            idempotent: false,
            idle_ms: 1,
        };
        let mask = Mask::new(std::iter::empty());
        let start = || {
            let (program, source) = (PathBuf::new(), std::io::Error::other("no process"));
            Err(ExecuteError::Spawn { item: item.clone(), program, source })
        };
        let asked = Asked {
            request: "{}",
            deadline: Instant::now(),
            limit: &TimeLimit::of_rye(Duration::ZERO),
            mask: &mask,
            sink: &Quiet,
            signals: None,
            traffic: &std::cell::Cell::default(),
            start: &start,
        };
        let server = Server::new(item.clone(), options);
        let mut state = server.lock();
        state.generation = 2;
        for signal in [Some(15), None] {
            let turn = IoRound { is_over: true, signal, ..IoRound::default() };
            assert_eq!(server.led(&mut state, 1, Vec::new(), &turn, &asked), signal);
        }
    }
}
