//! The host that is the real machine.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::apart::ProgramFile;
use super::confinement::{CannotConfine, Confinement, Ladder, Policy};
use super::file_lookup;
use super::host::{ChildEvent, ChildResult, Host, OutputStream, PlaceKind, ResolvedPath, Spawn};
use super::kernel::{reap, reset_sigchld};
use super::named_below::{NamedBelow, named_below};
use super::net::{AnswerPart, HttpAnswer, HttpCall, NetFault};
use super::observe::Watch;
use super::persistent::{
    Adopting, PersistentChild, forget, known_children, note_adopting, start_known,
};
use super::pipes::{IoRound, Pipes};
use super::signals::Signals;
use super::unix::Started;
use crate::base::durations::{TERM_GRACE_MS, wait_of};
use crate::base::{Digest, Digesting};

/// How long output is still read after the child itself ended, in milliseconds: a grandchild that
/// holds the pipe must not hold the answer.
const DRAIN_MS: u64 = 100;

/// The machine this process runs on.
///
/// A process that serves only rye (the command line, `rye mcp`) may adopt and kill the orphans of
/// its children. Inside another program that could kill that program's own processes.
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

    fn own_program(&self) -> Option<PathBuf> {
        std::env::current_exe().ok()
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

    #[cfg(feature = "http")]
    fn stream(
        &self,
        call: &HttpCall,
        take: &mut dyn FnMut(AnswerPart<'_>) -> ControlFlow<()>,
    ) -> Result<(), NetFault> {
        super::answer_stream::stream(call, take)
    }

    #[cfg(not(feature = "http"))]
    fn stream(
        &self,
        _call: &HttpCall,
        _take: &mut dyn FnMut(AnswerPart<'_>) -> ControlFlow<()>,
    ) -> Result<(), NetFault> {
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
        file_lookup::look(path)
    }

    fn read(&self, path: &Path, cap: u64) -> Option<Vec<u8>> {
        file_lookup::read(path, cap)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        file_lookup::names(folder)
    }

    fn kind(&self, path: &Path) -> Option<PlaceKind> {
        let kind = path.symlink_metadata().ok()?.file_type();
        Some(match (kind.is_dir(), kind.is_symlink()) {
            (true, _) => PlaceKind::Folder,
            (_, true) => PlaceKind::Link,
            _ => PlaceKind::Other,
        })
    }

    fn named_below(&self, folder: &Path, name: &str, most: usize) -> NamedBelow {
        named_below(folder, name, most)
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
        let adopting = self.adopt().map(Adopting::begin);
        let signals = Signals::listen()?;
        let (child, watch) = match spawn.watched {
            false => (start_known(spawn)?, None),
            true => Watch::start(spawn).map(|(child, watch)| (child, Some(watch)))?,
        };
        let running = Running::new(child, spawn, start)?;
        hears(ChildEvent::Started(running.pid.as_raw_nonzero().get().cast_unsigned()));
        let ended = running.run_out(&signals, hears);
        drop(adopting);
        let accesses = watch.filter(|_| ended.is_ok()).map(Watch::end).unwrap_or_default();
        ended.map(|ended| ChildResult { accesses, ..ended })
    }
}

/// Refuses a child that should be confined: this host cannot do that.
fn unconfined(spawn: &Spawn) -> io::Result<()> {
    match &spawn.sandbox {
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
            note_adopting();
            own_children()
        })
    }
}

/// A child that is read to its end. Dropping it kills the group.
struct Running<'a> {
    pid: Pid,
    pipes: Pipes,
    spawn: &'a Spawn,
    start: Instant,
    ended: ChildResult,
    reaped: bool,
}

/// The event that the loop waits for next.
enum Phase {
    Running,
    /// The group was asked to end; it is killed at this moment.
    Ending(Instant),
    /// The child ended; output is read until this moment.
    Draining(Instant),
}

impl<'a> Running<'a> {
    fn new(child: Started, spawn: &'a Spawn, start: Instant) -> io::Result<Self> {
        let (pid, pipes) = Pipes::new(child, true)?;
        let ended = ChildResult {
            stdout_digest: spawn.digests_output.then(Digesting::default),
            stderr_digest: spawn.digests_output.then(Digesting::default),
            ..ChildResult::default()
        };
        Ok(Self { pid, pipes, spawn, start, ended, reaped: false })
    }

    fn run_out(
        mut self,
        signals: &Signals,
        hears: &mut dyn FnMut(ChildEvent<'_>),
    ) -> io::Result<ChildResult> {
        let mut phase = Phase::Running;
        let mut written = 0;
        loop {
            let is_draining = matches!(phase, Phase::Draining(_));
            if is_draining && self.pipes.are_read() {
                break;
            }
            let until = self.until(&phase, signals);
            let input = &self.spawn.stdin;
            let round =
                self.pipes.round(input, &mut written, until, Some(signals), !is_draining)?;
            self.take(&round, hears);
            // Ask the clock: there is something to read at every look during a flood of output.
            let timed_out = Instant::now() >= self.until(&phase, signals);
            if let Some(signal) = round.signal {
                self.ended.interrupted.get_or_insert(signal);
                phase = match phase {
                    // The tool gets the same signal, so that it can tell Ctrl-C from others.
                    Phase::Running => self.ask_to_end(signal),
                    // A second request to end: no more time.
                    Phase::Ending(_) => Phase::Ending(Instant::now()),
                    Phase::Draining(until) => Phase::Draining(until),
                };
                continue;
            }
            phase = match phase {
                Phase::Running | Phase::Ending(_) if round.has_ended => drain(),
                Phase::Running if timed_out => {
                    self.ended.timed_out = true;
                    self.ask_to_end(Signal::TERM.as_raw())
                }
                Phase::Ending(_) if timed_out => {
                    let _ = kill_process_group(self.pid, Signal::KILL);
                    drain()
                }
                Phase::Draining(_) if timed_out => break,
                Phase::Running if self.spawn.stops_at_cap && self.ended.stdout_truncated => {
                    let _ = kill_process_group(self.pid, Signal::KILL);
                    drain()
                }
                same => same,
            };
        }
        self.finish()
    }

    fn until(&self, phase: &Phase, signals: &Signals) -> Instant {
        match phase {
            // While it was stopped it did not run.
            Phase::Running => self.start + self.spawn.timeout + signals.stopped(),
            Phase::Ending(at) | Phase::Draining(at) => *at,
        }
    }

    fn ask_to_end(&self, signal: i32) -> Phase {
        let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
        match self.spawn.holds_another {
            false => drop(kill_process_group(self.pid, signal)),
            // `bwrap` would end at once, and the tool with it.
            true => ask_below(self.pid, signal),
        }
        Phase::Ending(Instant::now() + wait_of(TERM_GRACE_MS))
    }

    /// Keeps of the output what is asked for.
    fn take(&mut self, round: &IoRound, hears: &mut dyn FnMut(ChildEvent<'_>)) {
        let ended = &mut self.ended;
        ended.stdout_bytes += round.stdout.len() as u64;
        ended.stderr_bytes += round.stderr.len() as u64;
        let first = Kept::First(self.spawn.output_cap);
        let (cut, digest) = (&mut ended.stdout_truncated, &mut ended.stdout_digest);
        let of_stdout = keep(&round.stdout, &mut ended.stdout, first, cut, digest);
        let kept = self.spawn.stderr_end.map_or(first, Kept::Last);
        let (cut, digest) = (&mut ended.stderr_truncated, &mut ended.stderr_digest);
        let of_stderr = keep(&round.stderr, &mut ended.stderr, kept, cut, digest);
        if self.spawn.stderr_end.is_some() {
            return;
        }
        let mut wrote = [
            (OutputStream::Stdout, &round.stdout, of_stdout),
            (OutputStream::Stderr, &round.stderr, of_stderr),
        ];
        if round.stderr_first {
            wrote.reverse();
        }
        for (stream, bytes, kept) in wrote.into_iter().filter(|(_, bytes, _)| !bytes.is_empty()) {
            hears(ChildEvent::Wrote { stream, bytes, kept });
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
        if let Some(end) = self.spawn.stderr_end {
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

/// Keeps of a piece what is to be kept, and gives how many of its first bytes were.
fn keep(
    bytes: &[u8],
    into: &mut Vec<u8>,
    kept: Kept,
    truncated: &mut bool,
    digest: &mut Option<Digesting>,
) -> usize {
    if let Some(digest) = digest {
        digest.take(bytes);
    }
    let keep = match kept {
        Kept::First(cap) => bytes.len().min(cap - into.len()),
        Kept::Last(_) => bytes.len(),
    };
    into.extend_from_slice(&bytes[..keep]);
    *truncated |= keep < bytes.len();
    if let Kept::Last(cap) = kept
        && into.len() > 2 * cap
    {
        into.drain(..into.len() - cap);
        *truncated = true;
    }
    keep
}

/// Sends the signal to each process below `holder` that is in its group. Where `bwrap` has not come
/// to the tool yet there is nothing to ask, and the tool is not to start any more: all are killed.
pub(super) fn ask_below(holder: Pid, signal: Signal) {
    let file = |pid: Pid| ProgramFile::of(pid).ok();
    let (own, holding) = (ProgramFile::own().ok(), file(holder));
    // The first process of namespaces that rye made shows nothing of itself, and the tool is there.
    let mut has_tool = holding.is_none() || holding == own;
    let mut left = children_of(holder);
    let mut seen = 0;
    while let Some(pid) = left.pop() {
        let program = file(pid);
        has_tool |= program.is_some() && program != own && program != holding;
        if rustix::process::getpgid(Some(pid)).is_ok_and(|group| group == holder) {
            let _ = kill_process(pid, signal);
        }
        seen += 1;
        if seen < MOST_ASKED {
            left.extend(children_of(pid));
        }
    }
    if !has_tool {
        let _ = kill_process_group(holder, Signal::KILL);
    }
}

/// Sends the signal to each child that rye started, and to all below it, whatever group it made
/// for itself.
pub(super) fn signal_below(signal: Signal) {
    let mut left = known_children();
    let mut seen = 0;
    while let Some(pid) = left.pop() {
        // One that is stopped starts no other.
        let _ = kill_process(pid, signal);
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
pub(super) fn own_children() -> Vec<Pid> {
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
