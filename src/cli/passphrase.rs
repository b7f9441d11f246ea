//! A passphrase: of a person at the terminal, without echo, or of a file that a person named.
//!
//! Never an argument, which every process of the machine can read, and never a variable, which a
//! project's files can set.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};
use zeroize::Zeroizing;

use super::confirm::can_ask;
use super::error::CliError;
use crate::base::bytes::open_named;
use crate::diagnostic::Failure;
use crate::host::{Signals, raise};
use crate::verify::KeyError;

/// Longest passphrase, in bytes; a vector of this size never grows, so no copy of it is left.
const MOST: usize = 1024;
/// Shortest one that a key is put under, in characters.
const LEAST: usize = 8;

/// The bytes of keys on a terminal that only hands them on.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: u8 = 8;
const KILL: u8 = 21;
const DELETE: u8 = 127;

/// The passphrase for a new file: typed twice, or as the file holds it.
///
/// # Errors
/// `key.passphrase` for a short one, or two that differ; those of [`read`].
pub(super) fn read_new(file: Option<&PathBuf>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let first = read(file, "Passphrase for the key: ")?;
    let signs = String::from_utf8_lossy(&first).chars().count();
    if signs < LEAST {
        let why = "it has fewer than 8 characters";
        return Err(KeyError::Passphrase { why }.into());
    }
    if file.is_none() && *read(None, "The same again: ")? != *first {
        return Err(KeyError::Passphrase { why: "the two that were typed differ" }.into());
    }
    Ok(first)
}

/// The passphrase: the first line of the file, or else what a person types.
///
/// # Errors
/// `cli.usage` if there is no terminal; `cli.input_file`; `key.permissions` for a file that others
/// may read; `key.passphrase` for none.
pub(super) fn read(file: Option<&PathBuf>, question: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // A process that is ended by a signal would else leave the passphrase in a file. Where the
    // system refuses that, it is no worse than before.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let passphrase = match file {
        Some(path) => of_file(path)?,
        None if can_ask() => typed(question).map_err(|source| {
            Failure::from(CliError::InputFile { path: "/dev/tty".to_owned(), source })
        })?,
        None => {
            let message = "a passphrase is asked for, and nobody is at a terminal".to_owned();
            let help = "give `--passphrase-file FILE`, whose first line it is; a descriptor is \
                        `/dev/fd/3`";
            return Err(CliError::Usage { message, help: Some(help.to_owned()) }.into());
        }
    };
    match passphrase.is_empty() {
        true => Err(KeyError::Passphrase { why: "it is empty" }.into()),
        false => Ok(passphrase),
    }
}

fn of_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |source| CliError::InputFile { path: path.display().to_string(), source };
    let file = open_named(path).map_err(failed)?;
    let stat = file.metadata().map_err(failed)?;
    if stat.is_file() && stat.mode() & 0o077 != 0 {
        return Err(KeyError::Permissions { path: path.to_owned() }.into());
    }
    first_line(file).map_err(|error| failed(error).into())
}

/// The first line, byte by byte: no buffer keeps a part of it.
fn first_line(mut from: File) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(MOST));
    let mut byte = Zeroizing::new([0]);
    while from.read(byte.as_mut())? > 0 && byte[0] != b'\n' {
        if line.len() == MOST {
            return Err(too_long());
        }
        line.push(byte[0]);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(line)
}

/// The terminal as it was, once this is dropped.
struct Quieted<'t> {
    terminal: &'t File,
    before: Termios,
}

impl<'t> Quieted<'t> {
    /// Without echo, and without signals by keys: Ctrl-C is told as what it is.
    fn new(terminal: &'t File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ISIG | LocalModes::ICANON;
        tcsetattr(terminal, OptionalActions::Now, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quieted<'_> {
    fn drop(&mut self) {
        // The error could not be reported any more.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

/// The end of the typing.
enum Typed {
    Line(Zeroizing<Vec<u8>>),
    /// A signal asks this process to end.
    Signal(i32),
}

fn typed(question: &str) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    // A process that ended here by a signal would leave the terminal without echo.
    let signals = Signals::listen()?;
    let quieted = Quieted::new(&terminal)?;
    // Keys that were typed before the question do not answer it.
    tcflush(&terminal, QueueSelector::IFlush)?;
    (&terminal).write_all(question.as_bytes())?;
    let typed = keys(&terminal, &signals);
    if !matches!(typed, Ok(Typed::Line(_))) {
        // What was not taken may be the rest of a passphrase, which no shell should get. A terminal
        // that is gone holds nothing.
        let _ = tcflush(&terminal, QueueSelector::IFlush);
    }
    // In this order: what a signal ends here ends with the terminal as it was.
    drop((quieted, signals));
    let ended = terminal.write_all(b"\n");
    match typed? {
        Typed::Line(line) => ended.map(|()| line),
        Typed::Signal(signal) => {
            raise(signal);
            // This is reached only if the signal is ignored by now.
            Err(interrupted())
        }
    }
}

/// The keys up to Return, as a line editor takes them.
fn keys(mut terminal: &File, signals: &Signals) -> io::Result<Typed> {
    let mut line = Zeroizing::new(Vec::with_capacity(MOST));
    let mut byte = Zeroizing::new([0]);
    loop {
        let mut both =
            [PollFd::new(signals.fd(), PollFlags::IN), PollFd::new(terminal, PollFlags::IN)];
        match poll(&mut both, None) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if let Some(signal) = signals.take() {
            return Ok(Typed::Signal(signal));
        }
        if both[1].revents().is_empty() {
            continue;
        }
        if terminal.read(byte.as_mut())? == 0 {
            return Ok(Typed::Line(line));
        }
        match byte[0] {
            b'\r' | b'\n' | END => return Ok(Typed::Line(line)),
            INTERRUPT => return Err(interrupted()),
            KILL => line.clear(),
            DELETE | BACKSPACE => {
                // One character, of however many bytes.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            byte if line.len() < MOST => line.push(byte),
            _ => return Err(too_long()),
        }
    }
}

fn interrupted() -> io::Error {
    io::Error::other("it was interrupted")
}

fn too_long() -> io::Error {
    io::Error::other(format!("a passphrase has {MOST} bytes at the most"))
}
