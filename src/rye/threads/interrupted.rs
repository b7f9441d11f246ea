//! A thread that ended because somebody stopped it, or its process.

use serde_json::{Map, Value};

use crate::diagnostic::{Code, Diagnose, Failure};
use crate::thread::{ThreadError, ThreadId};

/// What a signal interrupted in a thread, which can go on.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
struct InterruptedThread {
    id: ThreadId,
    failure: Failure,
}

impl Diagnose for InterruptedThread {
    fn code(&self) -> Code {
        self.failure.reason()
    }

    fn help(&self) -> Option<String> {
        let help = self.failure.help().map(|help| format!("{help}; ")).unwrap_or_default();
        Some(format!("{help}go on with `rye thread resume {}`", self.id))
    }

    fn item(&self) -> Option<String> {
        self.failure.inner().item()
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = self.failure.inner().data();
        data.insert("thread_id".into(), self.id.as_str().into());
        data
    }

    fn signal(&self) -> Option<i32> {
        self.failure.interrupted()
    }
}

/// Whoever was interrupted because somebody stopped the thread was cancelled; else whoever can go
/// on with it is told how.
pub(super) fn told_as_cancelled(
    failure: Failure,
    is_stopped: bool,
    is_top: bool,
    id: &ThreadId,
) -> Failure {
    match failure.interrupted() {
        Some(_) if is_stopped => ThreadError::Cancelled { id: id.to_string() }.into(),
        Some(_) if is_top => InterruptedThread { id: id.clone(), failure }.into(),
        _ => failure,
    }
}
