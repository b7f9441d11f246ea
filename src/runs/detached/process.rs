//! Starting rye once more, as a process that goes on when this one ends.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use super::error::DetachError;
use crate::base::durations::REGISTRY_WAIT_MS;
use crate::base::limits::DETACHED_REQUEST_BYTES;
use crate::host::{DETACHED_RUN, Vars, end_apart, hold_signals, start_apart};

/// How long the process of a detached run may take to register, in milliseconds: it may wait for
/// others that write the registry before.
const DETACHED_READY_MS: u64 = 2 * REGISTRY_WAIT_MS + 10_000;

/// This program is rye, so that it can be started once more. A test program is not.
pub(super) static IS_RYE: AtomicBool = AtomicBool::new(false);

/// The longest answer, in bytes.
const ANSWER_BYTES: u64 = 1 << 16;

/// The answer of the process of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It has a place.
    Runs,
    /// It waits for a place.
    Waits,
    /// So many wait already.
    Full(u64),
    /// It cannot be registered, for this reason.
    Failed(String),
}

/// Starts rye as the process of a run, tells it the request, and gives its answer. The number of
/// the process is there if it runs; it is on its own from then on.
///
/// # Errors
/// `async.cannot_start`, `async.full`; it is ended then.
pub(super) fn start(vars: &Vars, cwd: &Path, told: &str) -> Result<Option<u32>, DetachError> {
    let child = tell(start_untold(vars, cwd)?, told)?;
    answered(child)
}

fn start_untold(vars: &Vars, cwd: &Path) -> Result<Child, DetachError> {
    if !IS_RYE.load(Ordering::Relaxed) {
        let why = "this program is not rye, but uses it as a library".into();
        return Err(DetachError::CannotStart { why });
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0("rye").arg(DETACHED_RUN).env_clear().envs(vars.pairs()).current_dir(cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = start_apart(&mut command);
    started.map_err(|error| DetachError::CannotStart { why: error.to_string() })
}

fn tell(mut child: Child, told: &str) -> Result<Child, DetachError> {
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(told.as_bytes()));
    match written {
        Ok(()) => Ok(child),
        Err(error) => {
            end(child);
            Err(DetachError::CannotStart { why: error.to_string() })
        }
    }
}

fn answered(mut child: Child) -> Result<Option<u32>, DetachError> {
    let until = Instant::now() + Duration::from_millis(DETACHED_READY_MS);
    let said = child.stdout.take().filter(|stdout| waits_for(stdout, until));
    let mut line = String::new();
    let read = said.map(|said| BufReader::new(said.take(ANSWER_BYTES)).read_line(&mut line));
    let answer = read.and_then(|_| serde_json::from_str(&line).ok());
    let pid = match answer {
        Some(Answer::Runs) => Ok(Some(child.id())),
        Some(Answer::Waits) => Ok(None),
        Some(Answer::Full(waiting)) => Err(DetachError::Full { waiting }),
        Some(Answer::Failed(why)) => Err(DetachError::CannotStart { why }),
        None => Err(DetachError::CannotStart { why: "it ended, or said nothing in time".into() }),
    };
    if pid.is_err() {
        end(child);
        return pid;
    }
    // Where this process goes on, its end is taken note of. It is no failure where that is not
    // possible: then it stands in the list of processes until this one ends.
    let _held = hold_signals();
    let _ =
        std::thread::Builder::new().name("detached".into()).spawn(move || end_apart(&mut child));
    pid
}

/// Answers the process that started this one.
///
/// # Errors
/// That process is gone.
pub(super) fn say(answer: &Answer) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{}", serde_json::to_string(answer)?)?;
    out.flush()
}

/// All that this process is told.
///
/// # Errors
/// It is too long, or not text.
pub(super) fn told() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().take(DETACHED_REQUEST_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > DETACHED_REQUEST_BYTES {
        true => Err(io::ErrorKind::InvalidData.into()),
        false => Ok(text),
    }
}

fn end(mut child: Child) {
    let _ = child.kill();
    end_apart(&mut child);
}

fn waits_for(stdout: &ChildStdout, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(time) = Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&time)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
