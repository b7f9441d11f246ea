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
        match self {
            Self::Status(status) => ExitCode::from(status),
            Self::Signal(signal) => {
                crate::host::raise(signal);
                // This is reached only if the signal is ignored.
                ExitCode::from(6)
            }
        }
    }
}
