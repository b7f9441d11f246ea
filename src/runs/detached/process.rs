//! Starting rye once more, as a process that goes on when this one ends.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::DetachError;
use crate::base::durations::DETACHED_READY_MS;
use crate::base::limits::DETACHED_REQUEST_BYTES;
use crate::host::{Vars, end_apart, hold_signals, start_apart};

/// This program is rye, so that it can be started once more. A test program is not.
pub(super) static IS_RYE: AtomicBool = AtomicBool::new(false);

/// The word of a process that is ready.
const READY: u8 = b'+';

/// Starts rye with this entry, environment and folder, and tells it `told`.
///
/// # Errors
/// `async.cannot_start`
pub(super) fn start(
    entry: &str,
    vars: &Vars,
    cwd: &Path,
    told: &str,
) -> Result<Child, DetachError> {
    tell(start_untold(entry, vars, cwd)?, told)
}

/// Starts rye, which waits until it is told.
///
/// # Errors
/// `async.cannot_start`
pub(super) fn start_untold(entry: &str, vars: &Vars, cwd: &Path) -> Result<Child, DetachError> {
    if !IS_RYE.load(Ordering::Relaxed) {
        let why = "this program is not rye, but uses it as a library".into();
        return Err(DetachError::CannotStart { why });
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0("rye").arg(entry).env_clear().envs(vars.pairs()).current_dir(cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = start_apart(&mut command);
    started.map_err(|error| DetachError::CannotStart { why: error.to_string() })
}

/// Tells a process what it is to do.
///
/// # Errors
/// `async.cannot_start`; it is ended then.
pub(super) fn tell(mut child: Child, told: &str) -> Result<Child, DetachError> {
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(told.as_bytes()));
    match written {
        Ok(()) => Ok(child),
        Err(error) => {
            end(child);
            Err(DetachError::CannotStart { why: error.to_string() })
        }
    }
}

/// Waits until a process says that it is what it was started for; from then on it is on its own.
///
/// # Errors
/// `async.cannot_start`; it is ended then.
pub(super) fn is_ready(mut child: Child) -> Result<u32, DetachError> {
    let until = Instant::now() + Duration::from_millis(DETACHED_READY_MS);
    let said = child.stdout.take().is_some_and(|mut stdout| {
        let mut said = [0];
        waits_for(&stdout, until) && stdout.read_exact(&mut said).is_ok() && said[0] == READY
    });
    if !said {
        end(child);
        let why = "it ended, or said nothing in time".into();
        return Err(DetachError::CannotStart { why });
    }
    let pid = child.id();
    // Where this process goes on, its end is taken note of. It is no failure where that is not
    // possible: then it stands in the list of processes until this one ends.
    let _held = hold_signals();
    let _ =
        std::thread::Builder::new().name("detached".into()).spawn(move || end_apart(&mut child));
    Ok(pid)
}

/// Says that this process is what it was started for.
///
/// # Errors
/// The process that started it is gone.
pub(super) fn say_ready() -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(&[READY])?;
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

pub(super) fn end(mut child: Child) {
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
