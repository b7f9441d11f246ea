//! One wait for everything: hints, keys, signals, and time.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::hints::Watch;
use super::terminal::{Key, Terminal};
use crate::host::Signals;

/// The event that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollEvent {
    /// A file may have changed.
    Hint,
    Key(Key),
    /// A signal asks this process to end.
    Signal(i32),
    /// The time is over.
    Nothing,
}

/// The signals and the terminal that a session waits for.
pub(super) struct Poll {
    signals: Signals,
    terminal: Option<Terminal>,
}

impl Poll {
    /// From here on signals are blocked and read here; threads that start later inherit that.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { signals: Signals::listen()?, terminal: Terminal::open() })
    }

    pub(super) fn terminal(&self) -> Option<&Terminal> {
        self.terminal.as_ref()
    }

    /// Waits for the next thing, at most until `until`.
    pub(super) fn wait(&self, watch: &Watch, until: Option<Instant>) -> io::Result<PollEvent> {
        if let Some(terminal) = &self.terminal {
            terminal.ready();
        }
        let mut fds = vec![
            PollFd::new(self.signals.fd(), PollFlags::IN),
            PollFd::new(watch.wakes(), PollFlags::IN),
        ];
        if let Some(terminal) = &self.terminal {
            fds.push(PollFd::from_borrowed_fd(terminal.fd(), PollFlags::IN));
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // The time is rounded up to a millisecond, so that a wait is not cut into many short ones.
        let left = left.map(|left| left + Duration::from_millis(1));
        let left =
            left.map(|left| Timespec::try_from(left).map_err(io::Error::other)).transpose()?;
        match poll(&mut fds, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(PollEvent::Nothing),
            other => other?,
        };
        let heard = |i: usize| fds.get(i).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
        if heard(0)
            && let Some(signal) = self.signals.take()
        {
            return Ok(PollEvent::Signal(signal));
        }
        if heard(2)
            && let Some(key) = self.terminal.as_ref().and_then(Terminal::key)
        {
            return Ok(PollEvent::Key(key));
        }
        if heard(1) {
            watch.take();
            return Ok(PollEvent::Hint);
        }
        Ok(PollEvent::Nothing)
    }
}
