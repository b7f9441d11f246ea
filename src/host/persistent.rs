//! A child that runs on while others talk with it.

use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::host::{ChildResult, Spawn};
use super::os::{ask_below, sweep};
use super::unix::{
    Signals, Started, block_all_signals, forget_group, kill_group_on_signal, reap, start,
};
use crate::base::limits::{EXEC_CLOSE_MS, TERM_GRACE_MS};
use crate::base::sync::unpoisoned;

/// A child with its three streams, in its own process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct PersistentChild {
    pid: Pid,
    pidfd: OwnedFd,
    stdin: Mutex<Option<OwnedFd>>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    /// Standard error is at its end.
    stderr_closed: AtomicBool,
    /// Written to make [`PersistentChild::turn`] return.
    wake: OwnedFd,
    program: PathBuf,
    holds_another: bool,
    is_reaped: bool,
    /// Children of this process that existed before. Set if orphans of the child are to be killed
    /// with it; these are not among them.
    preexisting: Option<Vec<Pid>>,
    /// Something that must exist as long as the child runs.
    keeps: Option<Box<dyn Any + Send + Sync>>,
    /// Dropped last, because the child ends with this thread.
    _spawn_thread: SpawnThread,
}

/// The result of one call of [`PersistentChild::turn`].
#[derive(Debug, Default)]
pub(crate) struct IoRound {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Standard output is at its end or the child has ended, so no answer will come.
    pub(crate) is_over: bool,
    /// A signal that this process got.
    pub(crate) signal: Option<i32>,
}

impl PersistentChild {
    pub(super) fn start(spawn: &Spawn, preexisting: Option<Vec<Pid>>) -> io::Result<Self> {
        let (spawn_thread, Started { pid, stdin, stdout, stderr }) = SpawnThread::start(spawn)?;
        let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("the child has no id"))?;
        let ready = || {
            for fd in [&stdin, &stdout, &stderr] {
                rustix::io::ioctl_fionbio(fd, true)?;
            }
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            Ok((pidfd_open(pid, PidfdFlags::empty())?, wake))
        };
        let ready: io::Result<_> = ready();
        let (pidfd, wake) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = reap(pid.as_raw_nonzero().get());
                forget(pid);
                return Err(error);
            }
        };
        let stdin = Mutex::new(Some(stdin));
        let program = spawn.program.clone();
        if preexisting.is_some() {
            kill_group_on_signal(pid.as_raw_nonzero().get());
        }
        let stderr_closed = AtomicBool::new(false);
        let is_reaped = false;
        Ok(Self {
            pid,
            pidfd,
            stdin,
            stdout,
            stderr,
            stderr_closed,
            wake,
            program,
            holds_another: spawn.holds_another,
            is_reaped,
            preexisting,
            keeps: None,
            _spawn_thread: spawn_thread,
        })
    }

    /// Keeps something until the child has ended.
    pub(crate) fn keeping(mut self, keeps: Box<dyn Any + Send + Sync>) -> Self {
        self.keeps = Some(keeps);
        self
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Writes `out` as far as the child takes it, and reads its output. Returns when something was
    /// read, a signal came, [`PersistentChild::wake`] was called or the time is over.
    pub(crate) fn turn(
        &self,
        out: &mut Vec<u8>,
        until: Instant,
        signals: Option<&Signals>,
    ) -> io::Result<IoRound> {
        let mut written = 0;
        let turn = self.turn_of(out, &mut written, until, signals);
        out.drain(..written);
        turn
    }

    fn turn_of(
        &self,
        out: &[u8],
        written: &mut usize,
        until: Instant,
        signals: Option<&Signals>,
    ) -> io::Result<IoRound> {
        let mut turn = IoRound::default();
        loop {
            let stdin = unpoisoned(self.stdin.lock());
            if let Some(stdin) = stdin.as_ref()
                && *written < out.len()
            {
                *written += write_some(stdin, &out[*written..]);
            }
            let mut fds = Vec::with_capacity(6);
            fds.push(PollFd::new(&self.stdout, PollFlags::IN));
            let deaf = PollFlags::empty();
            let stderr_closed = self.stderr_closed.load(Ordering::Relaxed);
            // `poll` always reports a closed stream, so another descriptor stands in for it.
            let second = if stderr_closed { &self.wake } else { &self.stderr };
            fds.push(PollFd::new(second, if stderr_closed { deaf } else { PollFlags::IN }));
            fds.push(PollFd::new(&self.wake, PollFlags::IN));
            fds.push(PollFd::new(&self.pidfd, PollFlags::IN));
            fds.extend(signals.map(|signals| PollFd::new(signals.fd(), PollFlags::IN)));
            if let (Some(stdin), true) = (stdin.as_ref(), *written < out.len()) {
                fds.push(PollFd::new(stdin, PollFlags::OUT));
            }
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut fds, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(0) => return Ok(turn),
                other => other?,
            };
            let heard: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            drop(stdin);
            // When the child has ended, all of its output is in the pipes. Their end may never
            // come: a grandchild may hold them open.
            let has_ended = heard[3];
            let pieces = if has_ended { LAST_PIECES } else { PIECES };
            if heard[0] || has_ended {
                let is_at_end = read_some(&self.stdout, &mut turn.stdout, pieces);
                turn.is_over = is_at_end || has_ended;
            }
            if heard[1] && read_some(&self.stderr, &mut turn.stderr, pieces) {
                self.stderr_closed.store(true, Ordering::Relaxed);
            }
            if heard[2] {
                let _ = rustix::io::read(&self.wake, &mut [0_u8; 8][..]);
            }
            turn.signal = signals.and_then(Signals::take);
            let is_word = !turn.stdout.is_empty() || !turn.stderr.is_empty();
            // `poll` does not time out as long as the child takes what is written, so ask the clock
            // as well.
            let is_time = Instant::now() >= until;
            if is_word || turn.is_over || heard[2] || turn.signal.is_some() || is_time {
                return Ok(turn);
            }
        }
    }

    /// Closes the child's standard input.
    pub(crate) fn close_input(&self) {
        unpoisoned(self.stdin.lock()).take();
    }

    /// Waits until the child ends by itself, at most until then; true if it did. For a child that
    /// gives no answer.
    pub(crate) fn linger(&self, until: Instant, stderr: &mut Vec<u8>) -> bool {
        let stderr_closed = self.stderr_closed.load(Ordering::Relaxed);
        let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        fds.extend((!stderr_closed).then(|| PollFd::new(&self.stderr, PollFlags::IN)));
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
        let _ = poll(&mut fds, left.as_ref().ok());
        if !stderr_closed && read_some(&self.stderr, stderr, PIECES) {
            self.stderr_closed.store(true, Ordering::Relaxed);
        }
        self.has_ended()
    }

    /// Makes a running [`PersistentChild::turn`] return.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
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
        let close = Duration::from_millis(EXEC_CLOSE_MS);
        for child in &all {
            unpoisoned(child.stdin.lock()).take();
        }
        let mut left: Vec<Self> = all;
        for (time, signal) in
            [(close, Some(Signal::TERM)), (Duration::from_millis(TERM_GRACE_MS), None)]
        {
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
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    fn end_now(&mut self) -> ChildResult {
        self.is_reaped = true;
        // Wait a moment, so that a child that is ending by itself has its own status.
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let _ = poll(&mut fds, Some(&moment));
        let _ = kill_process_group(self.pid, Signal::KILL);
        forget_group(self.pid.as_raw_nonzero().get());
        let status = reap(self.pid.as_raw_nonzero().get()).ok().flatten();
        if status.is_none() {
            tracing::warn!(program = %self.program.display(), "a server that may not be killed still runs");
        }
        forget(self.pid);
        if let Some(preexisting) = &self.preexisting {
            sweep_others(preexisting);
        }
        let mut last = Vec::new();
        read_some(&self.stderr, &mut last, LAST_PIECES);
        ChildResult {
            exit_code: status.as_ref().and_then(|status| status.exit_code),
            signal: status.as_ref().and_then(|status| status.signal),
            max_rss_kib: status.as_ref().map_or(0, |status| status.max_rss_kib),
            stderr: last,
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

impl Signals {
    /// Whether a signal is pending. It stays pending.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut fds = [PollFd::new(self.fd(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

/// Starts a child and registers it, so that no sweep takes it for an orphan.
pub(super) fn start_known(spawn: &Spawn) -> io::Result<Started> {
    let mut all = all();
    let started = start(spawn)?;
    all.insert(started.pid);
    Ok(started)
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
    all().remove(&pid.as_raw_nonzero().get());
}

/// Kills orphans that this process adopted: all its children but the preexisting ones and those in
/// the register. No child is started meanwhile.
pub(super) fn sweep_others(preexisting: &[Pid]) {
    let all = all();
    sweep(&|pid| preexisting.contains(&pid) || all.contains(&pid.as_raw_nonzero().get()));
}

/// The register: ids of all children that run now.
fn all() -> MutexGuard<'static, BTreeSet<i32>> {
    static ALL: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
    unpoisoned(ALL.lock())
}

/// Waits until one of them ended, a signal came, or the time is over.
fn wait_for_any(children: &[PersistentChild], until: Instant, signals: Option<&Signals>) {
    let mut fds: Vec<PollFd<'_>> =
        children.iter().map(|child| PollFd::new(&child.pidfd, PollFlags::IN)).collect();
    fds.extend(signals.map(|signals| PollFd::new(signals.fd(), PollFlags::IN)));
    let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
    let _ = poll(&mut fds, left.as_ref().ok());
}

/// Writes as much as the child takes now, and returns the number of bytes.
fn write_some(stdin: &OwnedFd, out: &[u8]) -> usize {
    let mut written = 0;
    while written < out.len() {
        match rustix::io::write(stdin, &out[written..]) {
            Ok(more) => written += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => break,
            // It closed its input. That its answer is missing shows later.
            Err(_) => written = out.len(),
        }
    }
    written
}

/// The most that is read in one turn, in buffers: what a pipe holds by default. With more, a flood
/// of output would keep the caller from looking at the clock.
const PIECES: usize = 4;
/// The most that is read when the child has ended: it may have made its pipe as large as it can be.
const LAST_PIECES: usize = 64;

/// Reads what is there, at most so many buffers; true at the end of the stream.
fn read_some(pipe: impl AsFd, into: &mut Vec<u8>, pieces: usize) -> bool {
    let mut buffer = [0; 16 << 10];
    for _ in 0..pieces {
        match rustix::io::read(&pipe, &mut buffer[..]) {
            Ok(0) => return true,
            Ok(read) => {
                into.extend_from_slice(&buffer[..read]);
                if read < buffer.len() {
                    return false;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return false,
            Err(_) => return true,
        }
    }
    false
}
