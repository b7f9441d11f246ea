//! The host that is the real machine.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::host::{ChildEvent, ChildResult, Host, ResolvedPath, Spawn};
use super::look;
use super::net::{HttpAnswer, HttpCall, NetFault};
use super::persistent::{PersistentChild, forget, start_known, sweep_others};
use super::policy::{CannotConfine, Confinement, Ladder, Policy};
use super::unix::{Signals, Started, reap, reset_sigchld};
use super::watch::Watch;
use crate::base::limits::{DRAIN_MS, TERM_GRACE_MS};
use crate::base::{Digest, Digesting};

/// The machine this process runs on.
///
/// A process that serves only rye (the command line) may adopt and kill the orphans of its
/// children. Inside another program that could kill that program's own processes.
pub(crate) struct Os {
    adopts_orphans: bool,
}

impl Os {
    pub(crate) fn new(adopts_orphans: bool) -> Self {
        Self { adopts_orphans }
    }
}

impl Host for Os {
    fn real_file(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok().filter(|real| real.is_file())
    }

    fn digest_file(&self, path: &Path) -> io::Result<Digest> {
        let mut file = std::fs::File::open(path)?;
        let mut digesting = Digesting::default();
        let mut buffer = vec![0; 256 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(digesting.digest()),
                read => digesting.take(&buffer[..read]),
            }
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    #[cfg(feature = "http")]
    fn call(&self, call: &HttpCall) -> Result<HttpAnswer, NetFault> {
        super::exchange::exchange(call)
    }

    #[cfg(not(feature = "http"))]
    fn call(&self, _call: &HttpCall) -> Result<HttpAnswer, NetFault> {
        Err(NetFault::NoNetwork)
    }

    fn confine(&self, _policy: Policy, _ladder: Ladder) -> Result<Confinement, CannotConfine> {
        Err(CannotConfine::Unavailable(Vec::new()))
    }

    fn sleep(&self, time: Duration) -> io::Result<Option<i32>> {
        super::net::sleep(time)
    }

    fn real_folder(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok().filter(|real| real.is_dir())
    }

    fn look(&self, path: &Path) -> Option<ResolvedPath> {
        look::look(path)
    }

    fn read(&self, path: &Path, cap: u64) -> Option<Vec<u8>> {
        look::read(path, cap)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        look::names(folder)
    }

    fn start(&self, spawn: &Spawn) -> io::Result<PersistentChild> {
        unconfined(spawn)?;
        if spawn.watched {
            let why = "a program that serves many calls cannot be watched";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        PersistentChild::start(spawn, self.adopt())
    }

    fn run(&self, spawn: &Spawn, hears: &mut dyn FnMut(ChildEvent<'_>)) -> io::Result<ChildResult> {
        unconfined(spawn)?;
        let start = Instant::now();
        let preexisting = self.adopt();
        let signals = Signals::listen()?;
        let (child, watch) = match spawn.watched {
            false => (start_known(spawn)?, None),
            true => Watch::start(spawn).map(|(child, watch)| (child, Some(watch)))?,
        };
        let running = Running::new(child, spawn, start)?;
        hears(ChildEvent::Started(running.pid.as_raw_nonzero().get().cast_unsigned()));
        let ended = running.run_out(&signals, hears);
        if let Some(preexisting) = preexisting {
            sweep_others(&preexisting);
        }
        let accesses = watch.filter(|_| ended.is_ok()).map(Watch::end).unwrap_or_default();
        ended.map(|ended| ChildResult { accesses, ..ended })
    }
}

/// Refuses a child that should be confined: this host cannot do that.
fn unconfined(spawn: &Spawn) -> io::Result<()> {
    match &spawn.cell {
        None => Ok(()),
        Some(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "this host confines nothing")),
    }
}

impl Os {
    /// Makes this process adopt orphans of its children, if it may. Returns the children that exist
    /// already: they are not rye's, because a shell may have replaced itself by this process.
    fn adopt(&self) -> Option<Vec<Pid>> {
        self.adopts_orphans.then(|| {
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            reset_sigchld();
            children()
        })
    }
}

/// A child with its pipes. Dropping it kills the group.
struct Running<'a> {
    pid: Pid,
    /// Our ends of the pipes; `None` once closed.
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    input: &'a [u8],
    cap: usize,
    stderr_end: Option<usize>,
    stops_at_cap: bool,
    holds_another: bool,
    start: Instant,
    deadline: Instant,
    ended: ChildResult,
    reaped: bool,
}

/// What the loop waits for next.
enum Phase {
    Running,
    /// The group was asked to end; it is killed at this moment.
    Ending(Instant),
    /// The child ended; output is read until this moment.
    Draining(Instant),
}

impl<'a> Running<'a> {
    fn new(child: Started, spawn: &'a Spawn, start: Instant) -> io::Result<Self> {
        let pid = Pid::from_raw(child.pid);
        let running = Self {
            pid: pid.ok_or_else(|| io::Error::other("the child has no process id"))?,
            stdin: Some(child.stdin),
            stdout: Some(child.stdout),
            stderr: Some(child.stderr),
            input: &spawn.stdin,
            cap: spawn.output_cap,
            stderr_end: spawn.stderr_end,
            stops_at_cap: spawn.stops_at_cap,
            holds_another: spawn.holds_another,
            start,
            deadline: start + spawn.timeout,
            ended: ChildResult {
                stdout_digest: spawn.digests_output.then(Digesting::default),
                stderr_digest: spawn.digests_output.then(Digesting::default),
                ..ChildResult::default()
            },
            reaped: false,
        };
        for fd in [&running.stdin, &running.stdout, &running.stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(running)
    }

    /// One loop hears the child, its three pipes and our signals.
    fn run_out(
        mut self,
        signals: &Signals,
        hears: &mut dyn FnMut(ChildEvent<'_>),
    ) -> io::Result<ChildResult> {
        let pidfd = pidfd_open(self.pid, PidfdFlags::empty())?;
        let mut phase = Phase::Running;
        loop {
            self.write_stdin();
            let silent = self.stdout.is_none() && self.stderr.is_none();
            if silent && matches!(phase, Phase::Draining(_)) {
                break;
            }
            let until = match phase {
                Phase::Running => self.deadline,
                Phase::Ending(at) | Phase::Draining(at) => at,
            };
            let left = until.saturating_duration_since(Instant::now());
            let ready = self.wait(&pidfd, signals, left, matches!(phase, Phase::Draining(_)))?;
            // Ask the clock: `poll` does not time out during a flood of output.
            let timed_out = Instant::now() >= until;
            if ready.signal
                && let Some(signal) = signals.take()
            {
                self.ended.interrupted.get_or_insert(signal);
                phase = match phase {
                    // The tool gets the same signal, so that it can tell Ctrl-C from others.
                    Phase::Running => self.ask_to_end(signal),
                    // Somebody asks again: no more time.
                    Phase::Ending(_) => Phase::Ending(Instant::now()),
                    Phase::Draining(until) => Phase::Draining(until),
                };
                continue;
            }
            self.read_outputs(hears);
            phase = match phase {
                Phase::Running | Phase::Ending(_) if ready.exited => drain(),
                Phase::Running if timed_out => {
                    self.ended.timed_out = true;
                    self.ask_to_end(Signal::TERM.as_raw())
                }
                Phase::Ending(_) if timed_out => {
                    let _ = kill_process_group(self.pid, Signal::KILL);
                    drain()
                }
                Phase::Draining(_) if timed_out => break,
                Phase::Running if self.stops_at_cap && self.ended.stdout_truncated => {
                    let _ = kill_process_group(self.pid, Signal::KILL);
                    drain()
                }
                same => same,
            };
        }
        self.finish()
    }

    fn ask_to_end(&self, signal: i32) -> Phase {
        let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
        match self.holds_another {
            false => drop(kill_process_group(self.pid, signal)),
            // `bwrap` would end at once, and the tool with it.
            true => ask_below(self.pid, signal),
        }
        Phase::Ending(Instant::now() + Duration::from_millis(TERM_GRACE_MS))
    }

    fn wait(
        &self,
        pidfd: &impl AsFd,
        signals: &Signals,
        left: Duration,
        drain: bool,
    ) -> io::Result<Ready> {
        let mut fds = Vec::with_capacity(5);
        fds.push(PollFd::new(signals.fd(), PollFlags::IN));
        if !drain {
            fds.push(PollFd::new(pidfd, PollFlags::IN));
        }
        if let Some(stdin) = &self.stdin {
            fds.push(PollFd::new(stdin, PollFlags::OUT));
        }
        if let Some(stdout) = &self.stdout {
            fds.push(PollFd::new(stdout, PollFlags::IN));
        }
        if let Some(stderr) = &self.stderr {
            fds.push(PollFd::new(stderr, PollFlags::IN));
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&left)) {
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            other => other?,
        };
        let heard = |i: usize| fds.get(i).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
        Ok(Ready { signal: heard(0), exited: !drain && heard(1) })
    }

    /// Writes what the pipe takes now; closes it when all is written or the child reads no more.
    fn write_stdin(&mut self) {
        while let Some(stdin) = &self.stdin {
            if self.input.is_empty() {
                self.stdin = None;
                return;
            }
            match rustix::io::write(stdin, self.input) {
                Ok(written) => self.input = &self.input[written..],
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => self.stdin = None,
            }
        }
    }

    fn read_outputs(&mut self, hears: &mut dyn FnMut(ChildEvent<'_>)) {
        let ChildResult { stdout, stdout_truncated, stdout_digest, .. } = &mut self.ended;
        if let Some(pipe) = &self.stdout
            && drained(pipe, stdout, Kept::First(self.cap), stdout_truncated, stdout_digest)
        {
            self.stdout = None;
        }
        let ChildResult { stderr, stderr_truncated, stderr_digest, .. } = &mut self.ended;
        let kept = self.stderr_end.map_or(Kept::First(self.cap), Kept::Last);
        let heard = stderr.len();
        if let Some(pipe) = &self.stderr
            && drained(pipe, stderr, kept, stderr_truncated, stderr_digest)
        {
            self.stderr = None;
        }
        if self.stderr_end.is_none() && stderr.len() > heard {
            hears(ChildEvent::Said(&stderr[heard..]));
        }
    }

    /// Kills the rest of the group, then reaps the child, after which the group's id could be
    /// reused.
    fn finish(mut self) -> io::Result<ChildResult> {
        let _ = kill_process_group(self.pid, Signal::KILL);
        let status = reap(self.pid.as_raw_nonzero().get());
        forget(self.pid);
        let status = status?;
        self.reaped = true;
        let mut ended =
            ChildResult { duration: self.start.elapsed(), ..std::mem::take(&mut self.ended) };
        if let Some(end) = self.stderr_end {
            let over = ended.stderr.len().saturating_sub(end);
            ended.stderr.drain(..over);
            ended.stderr_truncated |= over > 0;
        }
        let Some(status) = status else {
            tracing::warn!(pid = %self.pid, "a child that may not be killed still runs");
            return Ok(ended);
        };
        Ok(ChildResult {
            exit_code: status.exit_code,
            signal: status.signal,
            max_rss_kib: status.max_rss_kib,
            ..ended
        })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = reap(self.pid.as_raw_nonzero().get());
            forget(self.pid);
        }
    }
}

#[derive(Default)]
struct Ready {
    signal: bool,
    exited: bool,
}

/// Output is read a moment longer.
fn drain() -> Phase {
    Phase::Draining(Instant::now() + Duration::from_millis(DRAIN_MS))
}

/// Which bytes of a stream are kept.
#[derive(Clone, Copy)]
enum Kept {
    First(usize),
    /// Up to twice as many are held for a while, so that not every read moves all of them.
    Last(usize),
}

/// Reads what is there; true at the end of the pipe.
fn drained(
    pipe: impl AsFd,
    into: &mut Vec<u8>,
    kept: Kept,
    truncated: &mut bool,
    digest: &mut Option<Digesting>,
) -> bool {
    let mut buffer = [0; 16 << 10];
    // Bounded, so that a flood on one pipe does not starve the others.
    for _ in 0..64 {
        match rustix::io::read(&pipe, &mut buffer[..]) {
            Ok(0) => return true,
            Ok(read) => {
                let keep = match kept {
                    Kept::First(cap) => read.min(cap - into.len()),
                    Kept::Last(_) => read,
                };
                into.extend_from_slice(&buffer[..keep]);
                *truncated |= keep < read;
                if let Kept::Last(cap) = kept
                    && into.len() > 2 * cap
                {
                    into.drain(..into.len() - cap);
                    *truncated = true;
                }
                if let Some(digest) = digest {
                    digest.take(&buffer[..read]);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return false,
            Err(_) => return true,
        }
    }
    false
}

/// Sends the signal to each process below `holder` that is in its group.
pub(super) fn ask_below(holder: Pid, signal: Signal) {
    let mut left = children_of(holder);
    let mut seen = 0;
    while let Some(pid) = left.pop() {
        if rustix::process::getpgid(Some(pid)).is_ok_and(|group| group == holder) {
            let _ = kill_process(pid, signal);
        }
        seen += 1;
        if seen < MOST_ASKED {
            left.extend(children_of(pid));
        }
    }
}

/// Processes that are asked one by one to end; all of them are killed when that time is over.
const MOST_ASKED: usize = 10_000;

fn children_of(pid: Pid) -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return Vec::new();
    };
    let lists = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("children")));
    lists.flatten().flat_map(|list| pids(&list)).collect()
}

fn pids(list: &str) -> Vec<Pid> {
    list.split_whitespace().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect()
}

/// The processes whose parent this process is.
fn children() -> Vec<Pid> {
    // The common case by one call, where the list takes the kernel longer than all that is asked of
    // it otherwise. All kinds of children: the list names those as well.
    let all = WaitIdOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT | all;
    if waitid(WaitId::All, options).is_err_and(|error| error == rustix::io::Errno::CHILD) {
        return Vec::new();
    }
    let own = rustix::process::getpid().as_raw_nonzero();
    let listed = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    pids(&listed.unwrap_or_default())
}

/// Kills adopted processes that left their group, except those for which `stays` is true. Up to
/// three rounds, because processes that are killed may leave orphans again.
pub(super) fn sweep(stays: &dyn Fn(Pid) -> bool) {
    for _ in 0..3 {
        let mut left = children();
        left.retain(|pid| !stays(*pid));
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = kill_process(pid, Signal::KILL);
            let _ = reap(pid.as_raw_nonzero().get());
        }
    }
}
