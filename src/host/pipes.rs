//! The three streams of a child, and the one loop over them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::kernel::reap;
use super::persistent::forget;
use super::signals::Signals;
use super::unix::Started;
use crate::base::sync::unpoisoned;

/// Our ends of the streams of a child, and what tells of its end.
#[derive(Debug)]
pub(super) struct Pipes {
    pidfd: OwnedFd,
    stdin: Mutex<Option<OwnedFd>>,
    stdout: Stream,
    stderr: Stream,
    /// Tells which of the output streams had something to read first: `poll` does not.
    order: OwnedFd,
    /// Written to make [`Pipes::round`] return.
    wake: OwnedFd,
    /// The child's input is closed once all is written.
    closes_input: bool,
}

#[derive(Debug)]
struct Stream {
    pipe: OwnedFd,
    /// It is at its end.
    is_closed: AtomicBool,
}

/// The result of one call of [`Pipes::round`].
#[derive(Debug, Default)]
pub(crate) struct IoRound {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Standard error was written to before standard output.
    pub(crate) stderr_first: bool,
    /// Standard output is at its end or the child has ended, so no answer will come.
    pub(crate) is_over: bool,
    pub(crate) has_ended: bool,
    /// A signal that this process got.
    pub(crate) signal: Option<i32>,
}

/// The names of the output streams in [`Pipes::order`].
const STDOUT: u64 = 1;
const STDERR: u64 = 2;

/// A source of events that `poll` reports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ready {
    Stdout,
    Stderr,
    Wake,
    End,
    Signal,
    Room,
}

impl Pipes {
    /// The streams of a child, which is killed if they cannot be used.
    pub(super) fn new(started: Started, closes_input: bool) -> io::Result<(Pid, Self)> {
        let Started { pid, stdin, stdout, stderr } = started;
        let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("the child has no id"))?;
        let ready = || {
            for fd in [&stdin, &stdout, &stderr] {
                rustix::io::ioctl_fionbio(fd, true)?;
            }
            let order = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            for (fd, name) in [(&stdout, STDOUT), (&stderr, STDERR)] {
                let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
                epoll::add(&order, fd, epoll::EventData::new_u64(name), flags)?;
            }
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            Ok((pidfd_open(pid, PidfdFlags::empty())?, order, wake))
        };
        let ready: io::Result<_> = ready();
        let (pidfd, order, wake) = ready.inspect_err(|_| {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = reap(pid.as_raw_nonzero().get());
            forget(pid);
        })?;
        let stream = |pipe| Stream { pipe, is_closed: AtomicBool::new(false) };
        let (stdout, stderr) = (stream(stdout), stream(stderr));
        Ok((
            pid,
            Self {
                pidfd,
                stdin: Mutex::new(Some(stdin)),
                stdout,
                stderr,
                order,
                wake,
                closes_input,
            },
        ))
    }

    /// Returns true if standard error was written to first since the last call of this. The kernel
    /// forgets what it reported, so this is called whenever something is read.
    fn is_stderr_first(&self) -> bool {
        let mut events = [const { MaybeUninit::uninit() }; 2];
        let now = Timespec::default();
        let told = epoll::wait(&self.order, &mut events, Some(&now));
        told.is_ok_and(|(told, _)| told.first().is_some_and(|first| first.data.u64() == STDERR))
    }

    /// Writes `out` from `written` on as far as the child takes it, and reads its output. Returns
    /// when something was read, a stream or the child ended, a signal came, [`Pipes::wake`] was
    /// called or the time is over. Where it is known that the child has ended, `hears_end` is
    /// false.
    pub(super) fn round(
        &self,
        out: &[u8],
        written: &mut usize,
        until: Instant,
        signals: Option<&Signals>,
        hears_end: bool,
    ) -> io::Result<IoRound> {
        let mut round = IoRound::default();
        loop {
            let mut stdin = unpoisoned(self.stdin.lock());
            if let Some(pipe) = stdin.as_ref() {
                *written += write_some(pipe, &out[*written..]);
            }
            if self.closes_input && *written == out.len() {
                *stdin = None;
            }
            let room = stdin.as_ref().filter(|_| *written < out.len());
            let (asked, mut fds): (Vec<Ready>, Vec<PollFd<'_>>) = [
                self.stdout.open().map(|pipe| (Ready::Stdout, PollFd::new(pipe, PollFlags::IN))),
                self.stderr.open().map(|pipe| (Ready::Stderr, PollFd::new(pipe, PollFlags::IN))),
                Some((Ready::Wake, PollFd::new(&self.wake, PollFlags::IN))),
                hears_end.then(|| (Ready::End, PollFd::new(&self.pidfd, PollFlags::IN))),
                signals.map(|it| (Ready::Signal, PollFd::new(it.fd(), PollFlags::IN))),
                room.map(|stdin| (Ready::Room, PollFd::new(stdin, PollFlags::OUT))),
            ]
            .into_iter()
            .flatten()
            .unzip();
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let ready = match poll(&mut fds, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let heard = asked.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
            let heard: Vec<Ready> = heard.map(|(what, _)| what).collect();
            drop(fds);
            drop(stdin);
            // When the child has ended, all of its output is in the pipes. Their end may never
            // come: a grandchild may hold them open.
            round.has_ended = heard.contains(&Ready::End);
            round.stderr_first = self.is_stderr_first();
            let pieces = if round.has_ended { LAST_PIECES } else { PIECES };
            let mut has_closed = false;
            // Both at once, or the order in which they were written to would be forgotten.
            let is_output = heard.contains(&Ready::Stdout) || heard.contains(&Ready::Stderr);
            if is_output || round.has_ended {
                has_closed |= self.stdout.read(&mut round.stdout, pieces);
            }
            if is_output {
                has_closed |= self.stderr.read(&mut round.stderr, pieces);
            }
            round.is_over = round.has_ended || self.stdout.open().is_none();
            let is_woken = heard.contains(&Ready::Wake);
            if is_woken {
                let _ = rustix::io::read(&self.wake, &mut [0_u8; 8][..]);
            }
            round.signal = signals.and_then(Signals::take);
            let is_word = !round.stdout.is_empty() || !round.stderr.is_empty();
            // `poll` does not time out as long as the child takes what is written, so ask the clock
            // as well.
            let is_time = ready == 0 || Instant::now() >= until;
            let is_end = has_closed || round.has_ended;
            if is_word || is_end || is_woken || round.signal.is_some() || is_time {
                return Ok(round);
            }
        }
    }

    /// Returns true if both output streams are at their end.
    pub(super) fn are_read(&self) -> bool {
        self.stdout.open().is_none() && self.stderr.open().is_none()
    }

    /// The rest of standard error that is there now.
    pub(super) fn last_words(&self) -> Vec<u8> {
        let mut last = Vec::new();
        self.stderr.read(&mut last, LAST_PIECES);
        last
    }

    /// Closes the child's standard input.
    pub(super) fn close_input(&self) {
        unpoisoned(self.stdin.lock()).take();
    }

    /// Makes a running [`Pipes::round`] return.
    pub(super) fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Readable once the child has ended.
    pub(super) fn end(&self) -> &OwnedFd {
        &self.pidfd
    }
}

impl Stream {
    /// The stream, unless it is at its end, which `poll` would tell of again and again.
    fn open(&self) -> Option<&OwnedFd> {
        (!self.is_closed.load(Ordering::Relaxed)).then_some(&self.pipe)
    }

    /// Reads what is there, at most so many buffers; true at the end of the stream.
    fn read(&self, into: &mut Vec<u8>, pieces: usize) -> bool {
        let is_at_end = self.open().is_some_and(|pipe| read_some(pipe, into, pieces));
        if is_at_end {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        is_at_end
    }
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

/// The most that is read in one round, in buffers: what a pipe holds by default. With more, a flood
/// of output would keep the caller from looking at the clock.
const PIECES: usize = 4;
/// The most that is read when the child has ended: it may have made its pipe as large as it can be.
const LAST_PIECES: usize = 64;

/// Reads what is there, at most so many buffers; true at the end of the stream.
fn read_some(pipe: &OwnedFd, into: &mut Vec<u8>, pieces: usize) -> bool {
    let mut buffer = [0; 16 << 10];
    for _ in 0..pieces {
        match rustix::io::read(pipe, &mut buffer[..]) {
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
