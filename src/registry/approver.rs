//! The process that runs what was approved: named so that others can tell whether it still does.

use crate::base::ProcessStat;

/// A number may be used again, and the time of the start tells the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Approver {
    pub(super) pid: u32,
    /// In ticks since the machine was started.
    pub(super) start: u64,
}

impl Approver {
    /// This process; `None` where processes cannot be looked at.
    pub(super) fn own() -> Option<Self> {
        let pid = std::process::id();
        Some(Self { pid, start: start_of(pid)? })
    }

    /// It runs no more. Where processes cannot be looked at, nobody knows that.
    pub(super) fn is_gone(self) -> bool {
        Self::own().is_some() && start_of(self.pid) != Some(self.start)
    }
}

fn start_of(pid: u32) -> Option<u64> {
    ProcessStat::read(pid).map(|stat| stat.start)
}

#[cfg(test)]
mod tests {
    use super::Approver;

    #[test]
    fn a_process_is_gone_when_it_ended_or_its_number_is_anothers() {
        let own = Approver::own().unwrap();
        assert!(!own.is_gone());
        assert!(Approver { start: own.start + 1, ..own }.is_gone());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let start = super::start_of(child.id()).unwrap_or_default();
        let child_was = Approver { pid: child.id(), start };
        child.wait().unwrap();
        assert!(child_was.is_gone());
    }
}
