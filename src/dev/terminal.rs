//! The terminal, set to give single keys without an echo.

use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};

/// The key that was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(u8),
    /// The terminal is gone, or the person typed Ctrl-D.
    End,
}

/// A terminal that hands over each key at once. Its settings are restored on drop.
pub(super) struct Terminal {
    file: File,
    before: Termios,
}

impl Terminal {
    /// The terminal of this process, if standard input is one.
    pub(super) fn open() -> Option<Self> {
        if !std::io::stdin().is_terminal() {
            return None;
        }
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open("/dev/tty").ok()?;
        let before = tcgetattr(&file).ok()?;
        let terminal = Self { file, before };
        terminal.ready();
        Some(terminal)
    }

    /// Sets the terminal to single keys without an echo; Ctrl-C stays a signal. This is done again
    /// whenever rye may have been in the background, or a program may have changed the settings.
    pub(super) fn ready(&self) {
        if !tcgetpgrp(&self.file).is_ok_and(|group| group == rustix::process::getpgrp()) {
            return;
        }
        let mut keys = self.before.clone();
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        let _ = tcsetattr(&self.file, OptionalActions::Now, &keys);
    }

    /// Forgets typed keys, so that neither a person nor a program answers a question that was not
    /// shown yet.
    pub(super) fn forget(&self) {
        let _ = tcflush(&self.file, QueueSelector::IFlush);
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The next key, if one was typed.
    pub(super) fn key(&self) -> Option<Key> {
        let mut byte = [0];
        match rustix::io::read(&self.file, &mut byte[..]) {
            Ok(0) | Err(rustix::io::Errno::IO) => Some(Key::End),
            Ok(_) if byte[0] == 4 => Some(Key::End),
            Ok(_) => Some(Key::Char(byte[0])),
            Err(_) => None,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if tcgetpgrp(&self.file).is_ok_and(|group| group == rustix::process::getpgrp()) {
            let _ = tcsetattr(&self.file, OptionalActions::Now, &self.before);
        }
    }
}
