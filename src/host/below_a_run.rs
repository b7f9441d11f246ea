//! Tells whether rye was started by a process that rye runs.

use std::sync::OnceLock;

use crate::base::ProcessStat;

/// The name of the run for which a child was started.
pub(crate) const RUN_VAR: &str = "RYE_RUN_ID";
/// The thread for which a child was started.
pub(crate) const THREAD_VAR: &str = "RYE_THREAD";

/// No useful chain of parents is deeper. Behind a deeper one anything may stand, so it counts as a
/// run.
const DEEPEST: usize = 10_000;

/// The processes above this one. A program can hide one by detaching from its parents; the threat
/// model says so.
#[derive(Debug)]
pub(crate) struct ProcessesAbove {
    /// The number and the start of each, this process first.
    pub(crate) processes: Vec<(u32, u64)>,
    /// This process, or one above it, was started by a run of rye.
    is_below_a_run: bool,
    /// The threads that this process, or one above it, was started for. Each is a name from an
    /// environment, which anybody can write: it only ever makes stricter.
    pub(crate) threads: Vec<String>,
}

impl ProcessesAbove {
    /// As it was when it was first asked for: parents that are gone since then still count.
    pub(crate) fn this() -> &'static Self {
        static ABOVE: OnceLock<ProcessesAbove> = OnceLock::new();
        ABOVE.get_or_init(|| Self::look(DEEPEST))
    }

    fn look(deepest: usize) -> Self {
        // Its own environment counts too where `/proc` shows nothing, as in a container.
        let thread = std::env::var_os(THREAD_VAR).map(|id| id.to_string_lossy().into_owned());
        let mut above = Self {
            processes: Vec::new(),
            is_below_a_run: std::env::var_os(RUN_VAR).is_some(),
            threads: thread.into_iter().collect(),
        };
        let mut pid = std::process::id();
        while pid > 1 {
            above.note_environment(pid);
            let Some(stat) = ProcessStat::read(pid) else { break };
            // A number that was used again is not a parent, which would be older.
            if above.processes.last().is_some_and(|(_, start)| stat.start > *start) {
                break;
            }
            above.processes.push((pid, stat.start));
            if above.processes.len() == deepest {
                above.is_below_a_run = true;
                break;
            }
            pid = stat.parent;
        }
        above
    }

    fn note_environment(&mut self, pid: u32) {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        for pair in environ.split(|&b| b == 0) {
            let value_of = |name: &str| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
            if value_of(RUN_VAR).is_some() {
                self.is_below_a_run = true;
            } else if let Some(id) = value_of(THREAD_VAR) {
                let id = String::from_utf8_lossy(id).into_owned();
                if !self.threads.contains(&id) {
                    self.threads.push(id);
                }
            }
        }
    }
}

/// Returns true if this process, or one above it, was started by a run of rye.
pub(crate) fn is_below_a_run() -> bool {
    ProcessesAbove::this().is_below_a_run
}

#[cfg(test)]
mod tests {
    use super::ProcessesAbove;

    #[test]
    fn behind_more_parents_than_are_looked_at_a_process_is_below_a_run() {
        assert!(!ProcessesAbove::look(super::DEEPEST).is_below_a_run);
        assert!(ProcessesAbove::look(1).is_below_a_run);
    }
}
