//! How the process ends.

use std::process::ExitCode;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Status(u8),
    /// By the signal that interrupted the run, as whoever sent it expects.
    Signal(i32),
}

impl Exit {
    pub(super) const DONE: Self = Self::Status(0);

    pub(super) fn end(self) -> ExitCode {
        match self {
            Self::Status(status) => ExitCode::from(status),
            Self::Signal(signal) => {
                crate::host::raise(signal);
                // Only where the signal is ignored.
                ExitCode::from(6)
            }
        }
    }
}
