//! Killing a process with all that it started.

use std::collections::HashMap;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Kills a process and everything below it, if `is_meant` still returns true once no other process
/// can get its number. What detached itself from its parents before is not found.
///
/// # Errors
/// An error of the system, except for a process that is gone.
pub(crate) fn kill_tree(pid: u32, is_meant: &dyn Fn() -> bool) -> io::Result<()> {
    let Some(of) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let held = match pidfd_open(of, PidfdFlags::empty()) {
        Ok(held) => held,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !is_meant() {
        return Ok(());
    }
    // Stopped, it starts nothing while it is looked at.
    let _ = pidfd_send_signal(&held, Signal::STOP);
    let below = below(pid);
    let killed = pidfd_send_signal(&held, Signal::KILL);
    for process in below {
        let same = Pid::from_raw(process.cast_signed())
            .and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
        if let Some(same) = same
            && process != std::process::id()
        {
            let _ = pidfd_send_signal(&same, Signal::KILL);
        }
    }
    match killed {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// All processes below one, by their numbers.
fn below(pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in brackets, may hold anything; the parent is the second field behind it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let Some(parent) = parent.and_then(|parent| parent.parse().ok()) {
            children.entry(parent).or_default().push(child);
        }
    }
    let (mut all, mut next) = (Vec::new(), vec![pid]);
    while let Some(parent) = next.pop() {
        let more = children.remove(&parent).unwrap_or_default();
        all.extend(&more);
        next.extend(more);
    }
    all
}
