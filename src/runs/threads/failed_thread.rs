//! Why a thread failed, for its caller.

use serde_json::{Map, Value};

use crate::diagnostic::{Code, Diagnose, Failure, Place};
use crate::thread::{ThreadError, ThreadId};

/// Why a thread failed that had begun, with its id.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
struct FailedThread {
    id: ThreadId,
    failure: Failure,
    /// A signal interrupted it, and one can go on with it.
    is_interrupted: bool,
}

impl Diagnose for FailedThread {
    fn code(&self) -> Code {
        self.failure.reason()
    }

    fn help(&self) -> Option<String> {
        let help = self.failure.help();
        if !self.is_interrupted {
            return help;
        }
        let help = help.map(|help| format!("{help}; ")).unwrap_or_default();
        Some(format!("{help}go on with `rye thread resume {}`", self.id))
    }

    fn place(&self) -> Option<Place> {
        self.failure.inner().place()
    }

    fn item(&self) -> Option<String> {
        self.failure.inner().item()
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = self.failure.inner().data();
        data.entry("thread_id").or_insert_with(|| self.id.as_str().into());
        data
    }

    fn chain(&self) -> Vec<String> {
        self.failure.chain()
    }

    fn signal(&self) -> Option<i32> {
        self.failure.interrupted()
    }
}

/// The failure of a thread that had begun: one that was stopped was cancelled; for another one the
/// help says how to go on.
pub(super) fn told_as_of(
    id: &ThreadId,
    failure: Failure,
    is_stopped: bool,
    is_top: bool,
) -> Failure {
    let is_interrupted = failure.interrupted().is_some();
    if is_interrupted && is_stopped {
        return ThreadError::Cancelled { id: id.to_string(), is_below: !is_top }.into();
    }
    FailedThread { id: id.clone(), failure, is_interrupted: is_interrupted && is_top }.into()
}
