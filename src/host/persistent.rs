//! A child that goes on running while others talk with it.

use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::host::{Ended, Spawn};
use super::os::{ask_below, sweep};
use super::unix::{
    Signals, Started, block_all_signals, forget_group, kill_group_on_signal, reap, start,
};
use crate::base::limits::{EXEC_CLOSE_MS, TERM_GRACE_MS};

/// A child with its three streams, in a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct PersistentChild {
    pid: Pid,
    pidfd: OwnedFd,
    stdin: Mutex<Option<OwnedFd>>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    /// Nothing more comes on standard error.
    stderr_closed: AtomicBool,
    /// Somebody wants whoever waits in [`PersistentChild::turn`] to look up.
    wake: OwnedFd,
    program: PathBuf,
    holds_another: bool,
    is_reaped: bool,
    /// The children of this process that were there before, where what a child leaves behind is ended
    /// with it.
    preexisting: Option<Vec<Pid>>,
    /// What must be there as long as it runs.
    keeps: Option<Box<dyn Any + Send + Sync>>,
    /// Goes last.
    _spawn_thread: SpawnThread,
}

/// What one turn brought.
#[derive(Debug, Default)]
pub(crate) struct IoRound {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Standard output is at its end, or the child is: nothing more will be answered.
    pub(crate) is_over: bool,
    /// The signal that this process was sent.
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

    /// The same with something that must be there as long as it runs.
    pub(crate) fn keeping(mut self, keeps: Box<dyn Any + Send + Sync>) -> Self {
        self.keeps = Some(keeps);
        self
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Writes what the child takes of `out` and reads what it said, at most until `until`; ends when
    /// something was read or somebody calls [`PersistentChild::wake`]. `signals` are heard too.
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
            let stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(stdin) = stdin.as_ref()
                && *written < out.len()
            {
                *written += write_some(stdin, &out[*written..]);
            }
            let mut fds = Vec::with_capacity(6);
            fds.push(PollFd::new(&self.stdout, PollFlags::IN));
            let deaf = PollFlags::empty();
            let stderr_closed = self.stderr_closed.load(Ordering::Relaxed);
            // The end of a stream is always heard, so it stands for the other one then.
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
            // All that a child said lies in its pipes when it ends; a grandchild may hold them for ever.
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
            // By the clock too: a child that goes on taking what is written is never silent.
            let is_time = Instant::now() >= until;
            if is_word || turn.is_over || heard[2] || turn.signal.is_some() || is_time {
                return Ok(turn);
            }
        }
    }

    /// The child reads the end of its input.
    pub(crate) fn close_input(&self) {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits for the child's own end, at most until then; true if it came. For one whose answer is not
    /// waited for.
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

    /// Lets whoever is in [`PersistentChild::turn`] come back.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Kills the group; whoever holds the child last takes its status.
    pub(crate) fn end_group(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Kills the group, and says how the child ended.
    pub(crate) fn kill(mut self) -> Ended {
        self.end_now()
    }

    /// Asks each to end by the end of its input, then by a signal, then kills it; all at once. A signal
    /// that this process is sent cuts it short, and stays for whoever is to end by it.
    pub(crate) fn end_all(all: Vec<Self>, signals: Option<&Signals>) {
        let close = Duration::from_millis(EXEC_CLOSE_MS);
        for child in &all {
            child.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
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
                // What is to end by a signal has no time to give.
                if signals.is_some_and(Signals::is_waiting) || Instant::now() >= until {
                    break;
                }
                wait_for_any(&left, until, signals);
            }
            // All of them before any is waited for.
            for child in &left {
                match signal {
                    // It would end at the word, and all that it holds with it.
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

    fn end_now(&mut self) -> Ended {
        self.is_reaped = true;
        // A moment for one that is ending by itself, so that its own status is told.
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
        Ended {
            exit_code: status.as_ref().and_then(|status| status.exit_code),
            signal: status.as_ref().and_then(|status| status.signal),
            max_rss_kib: status.as_ref().map_or(0, |status| status.max_rss_kib),
            stderr: last,
            ..Ended::default()
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
    /// Whether a signal arrived; it stays for whoever takes it, or who listened before.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut fds = [PollFd::new(self.fd(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

/// Starts a child that is known from its birth on: nobody takes it for one that was left behind.
pub(super) fn start_known(spawn: &Spawn) -> io::Result<Started> {
    let mut all = all();
    let started = start(spawn)?;
    all.insert(started.pid);
    Ok(started)
}

/// The thread that started a child. A child ends with it, so it waits until nobody holds this.
#[derive(Debug)]
struct SpawnThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Bytes of its stack: it starts one child.
const SPAWN_STACK: usize = 256 << 10;

impl SpawnThread {
    fn start(spawn: &Spawn) -> io::Result<(Self, Started)> {
        let (stop, still) = mpsc::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let spawn = spawn.clone();
        let tend = move || {
            block_all_signals();
            if answer.send(start_known(&spawn)).is_ok() {
                // Nothing is ever sent: it waits for the other end to go.
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

/// Its status was taken, or it is none of ours any more.
pub(super) fn forget(pid: Pid) {
    all().remove(&pid.as_raw_nonzero().get());
}

/// Ends what was left behind, while nobody starts another child: but for the preexisting children and those that run.
pub(super) fn sweep_others(preexisting: &[Pid]) {
    let all = all();
    sweep(&|pid| preexisting.contains(&pid) || all.contains(&pid.as_raw_nonzero().get()));
}

/// The ids of all children that run now.
fn all() -> MutexGuard<'static, BTreeSet<i32>> {
    static ALL: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until one of them ended, a signal came, or the time is over.
fn wait_for_any(children: &[PersistentChild], until: Instant, signals: Option<&Signals>) {
    let mut fds: Vec<PollFd<'_>> =
        children.iter().map(|child| PollFd::new(&child.pidfd, PollFlags::IN)).collect();
    fds.extend(signals.map(|signals| PollFd::new(signals.fd(), PollFlags::IN)));
    let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
    let _ = poll(&mut fds, left.as_ref().ok());
}

/// Writes what the child takes now, and says how much that was.
fn write_some(stdin: &OwnedFd, out: &[u8]) -> usize {
    let mut written = 0;
    while written < out.len() {
        match rustix::io::write(stdin, &out[written..]) {
            Ok(more) => written += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => break,
            // It reads no more; its end, or its silence, tells the rest.
            Err(_) => written = out.len(),
        }
    }
    written
}

/// Read in one turn, in pieces of a buffer: what a pipe holds. More would be a flood whose lines keep
/// the call from looking at the clock.
const PIECES: usize = 4;
/// Read when the child is no more: it may have asked for the largest pipe there is.
const LAST_PIECES: usize = 64;

/// Reads what is there, at most so many pieces; true at the end.
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
