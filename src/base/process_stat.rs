//! The state of a process in `/proc/<pid>/stat` (`proc_pid_stat(5)`).

use std::fs::read_to_string;

/// A process that runs. Its number may be used again, and the time of its start tells the two
/// apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) parent: u32,
    /// In ticks since the machine was started.
    pub(crate) start: u64,
}

impl ProcessStat {
    /// `None` if it is gone, or has ended and waits to be taken note of.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in brackets, may hold anything; behind it come the third field and the others.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        Some(Self { parent, start: fields.nth(17)?.parse().ok()? })
    }
}
