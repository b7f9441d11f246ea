//! How the process ends.

use std::process::ExitCode;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Status(u8),
    /// The process ends by the signal that interrupted the run, as its sender expects.
    Signal(i32),
}

impl Exit {
    pub(super) const DONE: Self = Self::Status(0);

    pub(super) fn end(self) -> ExitCode {
        if let Self::Signal(signal) = self {
            // This returns only if the signal is ignored.
            crate::host::raise(signal);
        }
        ExitCode::from(self.status())
    }

    /// The status of a process that ends without the signal.
    pub(super) fn status(self) -> u8 {
        match self {
            Self::Status(status) => status,
            Self::Signal(_) => 6,
        }
    }
}
