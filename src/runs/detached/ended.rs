//! How a run ended, as the registry keeps it.

use std::time::Instant;

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::registry::RunState;
use crate::report::{Report, error_json};
use crate::rye::Failed;
use crate::thread::ThreadError;

/// How a run ended, or that it waits for a person.
pub(crate) struct EndedRun {
    pub(crate) state: RunState,
    pub(crate) code: Option<String>,
    pub(crate) report: Value,
    /// The request by which it waits.
    pub(crate) pending: Option<String>,
}

/// How the run with that id ended.
pub(crate) fn ended_run(ran: Result<Report, Failed>, id: &str, start: Instant) -> EndedRun {
    match ran {
        Ok(report) => came(&report, start),
        Err(failed) => failed_end(&told_as_cancelled(failed, id)),
    }
}

/// A run that a verb or a signal stopped was cancelled.
fn told_as_cancelled(failed: Failed, id: &str) -> Failed {
    match failed.failure.interrupted() {
        Some(_) => {
            // Nothing that runs below a thread is detached.
            let cancelled = ThreadError::Cancelled { id: id.into(), is_below: false };
            Failed { failure: cancelled.into(), ..failed }
        }
        None => failed,
    }
}

fn came(report: &Report, start: Instant) -> EndedRun {
    let told = report.to_masked_json(start.elapsed());
    let code = told["code"].as_str().map(str::to_owned);
    // A thread that waits says so itself.
    let pending = report.pending_id().filter(|_| report.is_tool()).map(str::to_owned);
    let state = match (&code, &pending) {
        (Some(_), _) => RunState::Failed,
        (None, Some(_)) => RunState::Waiting,
        (None, None) => RunState::Completed,
    };
    EndedRun { state, code, report: told, pending }
}

fn failed_end(failed: &Failed) -> EndedRun {
    let diagnostic: Diagnostic = failed.failure.diagnostic();
    let (item, chain) = (Some(failed.item.as_str()), &failed.chain);
    let report = error_json(&diagnostic, item, chain, failed.elapsed, None);
    let report = failed.with_warnings(report);
    let is_cancelled = failed.failure.reason() == crate::thread::THREAD_CANCELLED;
    let state = if is_cancelled { RunState::Cancelled } else { RunState::Failed };
    EndedRun { pending: None, state, code: Some(diagnostic.code.name().to_owned()), report }
}
