//! A child that runs on while others talk with it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use rustix::process::{kill_process, kill_process_group};

use super::apart::goes_on_by_itself;
use super::egress::Traffic;
use super::host::{ChildResult, Spawn};
use super::kernel::{reap, wait};
use super::os::{ask_below, own_children};
use super::pipes::{IoRound, Pipes};
use super::signals::{Signals, block_all_signals, forget_group, kill_group_on_signal};
use super::unix::{Started, start};
use crate::base::durations::{TERM_GRACE_MS, wait_of};
use crate::base::sync::unpoisoned;

/// How long a server may take to end once its input is closed, in milliseconds (exec-protocol 3.5).
const EXEC_CLOSE_MS: u64 = 2_000;

/// How often what a call left behind is looked for: so deep may that stand below one another.
const SWEEP_ROUNDS: usize = 100;

/// Something that must exist as long as a child runs.
pub(crate) trait KeptByChild: std::fmt::Debug + Send + Sync {
    /// The traffic through the child's way out since the last call of this, if there is a way out.
    fn take_traffic(&self) -> Option<Traffic>;
}

/// A child with its three streams, in its own process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct PersistentChild {
    pid: Pid,
    pipes: Pipes,
    program: PathBuf,
    holds_another: bool,
    is_reaped: bool,
    /// Children of this process that existed before. Set if orphans of the child are to be killed
    /// with it; these are not among them.
    preexisting: Option<Vec<Pid>>,
    /// Something that must exist as long as the child runs.
    keeps: Option<Box<dyn KeptByChild>>,
    /// Dropped last, because the child ends with this thread.
    _spawn_thread: SpawnThread,
}

impl PersistentChild {
    pub(super) fn start(spawn: &Spawn, preexisting: Option<Vec<Pid>>) -> io::Result<Self> {
        let (spawn_thread, started) = SpawnThread::start(spawn)?;
        let (pid, pipes) = Pipes::new(started, false)?;
        if preexisting.is_some() {
            kill_group_on_signal(pid.as_raw_nonzero().get());
        }
        Ok(Self {
            pid,
            pipes,
            program: spawn.program.clone(),
            holds_another: spawn.holds_another,
            is_reaped: false,
            preexisting,
            keeps: None,
            _spawn_thread: spawn_thread,
        })
    }

    /// Keeps something until the child has ended.
    pub(crate) fn keeping(mut self, keeps: Box<dyn KeptByChild>) -> Self {
        self.keeps = Some(keeps);
        self
    }

    /// The traffic through its way out since the last call of this; `None` if it has none.
    pub(crate) fn take_traffic(&self) -> Option<Traffic> {
        self.keeps.as_ref()?.take_traffic()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Writes `out` as far as the child takes it, and reads its output. Returns when something was
    /// read, a stream or the child ended, a signal came, [`PersistentChild::wake`] was called or
    /// the time is over.
    pub(crate) fn turn(
        &self,
        out: &mut Vec<u8>,
        until: Instant,
        signals: Option<&Signals>,
    ) -> io::Result<IoRound> {
        let mut written = 0;
        let round = self.pipes.round(out, &mut written, until, signals, true);
        out.drain(..written);
        round
    }

    /// Closes the child's standard input.
    pub(crate) fn close_input(&self) {
        self.pipes.close_input();
    }

    /// Makes a running [`PersistentChild::turn`] return.
    pub(crate) fn wake(&self) {
        self.pipes.wake();
    }

    /// Kills the group. The child is reaped when it is dropped.
    pub(crate) fn end_group(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Kills the group, and says how the child ended.
    pub(crate) fn kill(mut self) -> ChildResult {
        self.end_now()
    }

    /// Ends all children at once: closes their input, then sends `SIGTERM`, then kills them. A
    /// signal to this process cuts the waiting short; the signal stays pending.
    pub(crate) fn end_all(all: Vec<Self>, signals: Option<&Signals>) {
        let close = wait_of(EXEC_CLOSE_MS);
        for child in &all {
            child.close_input();
        }
        let mut left: Vec<Self> = all;
        for (time, signal) in [(close, Some(Signal::TERM)), (wait_of(TERM_GRACE_MS), None)] {
            let until = Instant::now() + time;
            loop {
                left.retain(|child| !child.has_ended());
                if left.is_empty() {
                    return;
                }
                // This process is to end, so it does not wait.
                if signals.is_some_and(Signals::is_waiting) || Instant::now() >= until {
                    break;
                }
                wait_for_any(&left, until, signals);
            }
            // Signal all of them before waiting for any.
            for child in &left {
                match signal {
                    // `bwrap` would end at once, and the tool with it.
                    Some(signal) if child.holds_another => ask_below(child.pid, signal),
                    _ => drop(kill_process_group(child.pid, signal.unwrap_or(Signal::KILL))),
                }
            }
        }
    }

    fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(self.pipes.end(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    fn end_now(&mut self) -> ChildResult {
        self.is_reaped = true;
        // Wait a moment, so that a child that is ending by itself has its own status.
        let mut fds = [PollFd::new(self.pipes.end(), PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let _ = poll(&mut fds, Some(&moment));
        let _ = kill_process_group(self.pid, Signal::KILL);
        forget_group(self.pid.as_raw_nonzero().get());
        let status = reap(self.pid.as_raw_nonzero().get()).ok().flatten();
        if status.is_none() {
            tracing::warn!(program = %self.program.display(), "a server that may not be killed still runs");
        }
        forget(self.pid);
        if let Some(preexisting) = self.preexisting.take() {
            children().sweep_unless_runs(preexisting);
        }
        ChildResult {
            exit_code: status.as_ref().and_then(|status| status.exit_code),
            signal: status.as_ref().and_then(|status| status.signal),
            max_rss_kib: status.as_ref().map_or(0, |status| status.max_rss_kib),
            stderr: self.pipes.last_words(),
            ..ChildResult::default()
        }
    }
}

impl Drop for PersistentChild {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.end_now();
        }
    }
}

/// Starts a child and registers it, so that no sweep takes it for an orphan.
pub(super) fn start_known(spawn: &Spawn) -> io::Result<Started> {
    let mut children = children();
    let started = start(spawn)?;
    children.known.insert(started.pid);
    Ok(started)
}

/// Starts a child that goes on when this process ends, and registers it, so that no sweep takes it
/// for an orphan.
///
/// # Errors
/// An error of the system.
pub(crate) fn start_apart(command: &mut Command) -> io::Result<Child> {
    let mut children = children();
    let child = command.spawn()?;
    children.known.insert(child.id().cast_signed());
    Ok(child)
}

/// Waits until such a child has ended. What it started and left may go on by itself too.
pub(crate) fn end_apart(child: &mut Child) {
    if child.wait().is_ok() {
        let mut children = children();
        children.known.remove(&child.id().cast_signed());
        if children.adopts {
            children.orphans();
        }
    }
}

/// The thread that started a child. The child ends with it, so the thread waits until this is
/// dropped.
#[derive(Debug)]
struct SpawnThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The stack size of such a thread, in bytes.
const SPAWN_STACK: usize = 256 << 10;

impl SpawnThread {
    fn start(spawn: &Spawn) -> io::Result<(Self, Started)> {
        let (stop, still) = mpsc::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let spawn = spawn.clone();
        let tend = move || {
            block_all_signals();
            if answer.send(start_known(&spawn)).is_ok() {
                // Nothing is ever sent; this returns when the other end is dropped.
                let _ = still.recv();
            }
        };
        let thread = std::thread::Builder::new().name("rye-spawn".into()).stack_size(SPAWN_STACK);
        let spawn_thread = Self { stop: Some(stop), thread: Some(thread.spawn(tend)?) };
        let gone = |_| io::Error::other("the thread that starts a child is gone");
        let started = answered.recv().map_err(gone)??;
        Ok((spawn_thread, started))
    }
}

impl Drop for SpawnThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes a reaped child out of the register.
pub(super) fn forget(pid: Pid) {
    children().known.remove(&pid.as_raw_nonzero().get());
}

/// From here on this process adopts orphans of its children.
pub(super) fn note_adopting() {
    children().adopts = true;
}

/// As long as it exists, no orphan is killed: for a child that is started without the register.
pub(crate) fn unswept() -> impl Sized {
    children()
}

/// A run of a child whose orphans this process adopts. It cannot be known to which of several runs
/// an orphan belongs, so all are killed when the last of the runs that overlap has ended.
pub(super) struct Adopting {
    /// Children of this process that existed before.
    preexisting: Vec<Pid>,
}

impl Adopting {
    pub(super) fn begin(preexisting: Vec<Pid>) -> Self {
        children().runs += 1;
        Self { preexisting }
    }
}

impl Drop for Adopting {
    fn drop(&mut self) {
        let mut children = children();
        children.runs -= 1;
        children.sweep_unless_runs(std::mem::take(&mut self.preexisting));
    }
}

/// The register of the children of this process.
struct Children {
    /// Those of which something waits for the end: what it started, and what goes on by itself.
    known: BTreeSet<i32>,
    /// Orphans of its children become its own.
    adopts: bool,
    /// How many [`Adopting`] there are.
    runs: usize,
    /// Set while there are some: what existed before each of those that ended meanwhile.
    preexisting: Option<Vec<Pid>>,
}

impl Children {
    /// Kills orphans that this process adopted, but for the preexisting ones and those that go on
    /// by themselves. While something runs that may have left them, it is put off. No child is
    /// started meanwhile.
    fn sweep_unless_runs(&mut self, mut preexisting: Vec<Pid>) {
        if let Some(earlier) = self.preexisting.take() {
            preexisting.retain(|pid| earlier.contains(pid));
        }
        if self.runs > 0 {
            self.preexisting = Some(preexisting);
            return;
        }
        // What is killed may leave orphans again, and one that may not be killed is tried once.
        let mut tried = BTreeSet::new();
        for _ in 0..SWEEP_ROUNDS {
            let mut left = self.orphans();
            left.retain(|pid| !preexisting.contains(pid) && tried.insert(pid.as_raw_nonzero()));
            if left.is_empty() {
                return;
            }
            for pid in left {
                let _ = kill_process(pid, Signal::KILL);
                let _ = reap(pid.as_raw_nonzero().get());
            }
        }
    }

    /// The children that run and of which nothing waits for the end. Those that ended are taken
    /// note of, and those that go on by themselves get something that waits.
    fn orphans(&mut self) -> Vec<Pid> {
        let mut left = own_children();
        left.retain(|pid| !self.known.contains(&pid.as_raw_nonzero().get()));
        left.retain(|pid| !has_ended(*pid));
        let (apart, left): (Vec<Pid>, _) =
            left.into_iter().partition(|pid| goes_on_by_itself(*pid));
        for pid in apart {
            self.wait_for(pid);
        }
        left
    }

    /// Starts a thread that waits for the end of a child.
    fn wait_for(&mut self, pid: Pid) {
        let thread = std::thread::Builder::new().name("detached".into()).stack_size(SPAWN_STACK);
        let waits = thread.spawn(move || {
            block_all_signals();
            let _ = wait(pid.as_raw_nonzero().get());
            forget(pid);
        });
        // Without a thread, the next search for orphans tries again.
        if waits.is_ok() {
            self.known.insert(pid.as_raw_nonzero().get());
        }
    }
}

/// Returns true if a child has ended that no other thread waits for; it is then reaped.
fn has_ended(pid: Pid) -> bool {
    let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    !matches!(ended, Ok(None))
}

/// The children that rye started.
pub(super) fn known_children() -> Vec<Pid> {
    children().known.iter().filter_map(|pid| Pid::from_raw(*pid)).collect()
}

fn children() -> MutexGuard<'static, Children> {
    static CHILDREN: Mutex<Children> =
        Mutex::new(Children { known: BTreeSet::new(), adopts: false, runs: 0, preexisting: None });
    unpoisoned(CHILDREN.lock())
}

/// Waits until one of them ended, a signal came, or the time is over.
fn wait_for_any(children: &[PersistentChild], until: Instant, signals: Option<&Signals>) {
    let mut fds: Vec<PollFd<'_>> =
        children.iter().map(|child| PollFd::new(child.pipes.end(), PollFlags::IN)).collect();
    fds.extend(signals.map(|signals| PollFd::new(signals.fd(), PollFlags::IN)));
    let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
    let _ = poll(&mut fds, left.as_ref().ok());
}
