//! A tool that runs detached and asks a person: its run waits until that is decided, and ends as
//! what was approved does, wherever that ran.

use std::time::Duration;

use serde_json::Value;

use super::Threads;
use super::life::KnownRun;
use crate::diagnostic::{Diagnostic, Failure};
use crate::registry::{DetachedEnd, DetachedRow, PendingState, Registry, RegistryError};
use crate::report::error_json;
use crate::rye::facade::moment;
#[cfg(feature = "code")]
use crate::rye::paused::reject_held;
use crate::thread::ThreadError;

/// Takes note of how a run ended that waited, where its request is decided. Says whether it was.
///
/// # Errors
/// `registry.*`
pub(super) fn settle(registry: &mut Registry, run: &DetachedRow) -> Result<bool, Failure> {
    let Some(pending) = run.pending.as_deref().filter(|_| run.state == "waiting") else {
        return Ok(false);
    };
    let (failure, report) = match registry.request(pending) {
        Ok(request) => {
            let (id, result) = (pending.to_owned(), request.result.unwrap_or_default());
            match request.row.state {
                PendingState::Waiting | PendingState::Approved => return Ok(false),
                PendingState::Done => (None, crate::parse::json(&result).unwrap_or_default()),
                PendingState::Rejected => {
                    (Some(RegistryError::Rejected { id, why: result }), Value::Null)
                }
                PendingState::Lost => (Some(RegistryError::Lost { id }), Value::Null),
            }
        }
        // It was decided so long ago that nobody keeps it.
        Err(error @ RegistryError::NotFound { .. }) => (Some(error), Value::Null),
        Err(error) => return Err(error.into()),
    };
    let report = match failure {
        Some(failure) => {
            let (diagnostic, item) = (Diagnostic::from(&failure), Some(&*run.item));
            error_json(&diagnostic, item, &[], Duration::ZERO, None)
        }
        None => report,
    };
    let code = report["code"].as_str();
    let state = if code.is_some() { "failed" } else { "completed" };
    let (at, text) = (moment(), report.to_string());
    let end = DetachedEnd { state, code, at: &at, report: &text, receipts: None, pending: None };
    Ok(registry.detached().end_waiting(&run.id, end)?)
}

/// Withdraws what a run asked a person and ends the run, in one step, so that whoever looks in
/// between does not take it for rejected by a person; false where it does not wait for that, or
/// what it asked is decided already.
///
/// # Errors
/// `registry.*`
pub(super) fn withdrawn(
    threads: Threads<'_>,
    known: &KnownRun,
    why: &ThreadError,
    end: DetachedEnd<'_>,
) -> Result<bool, Failure> {
    let run = known.detached.as_ref().filter(|run| run.state == "waiting");
    let (Some(run), Some(mut registry)) = (run, threads.registry()?) else { return Ok(false) };
    let (decision, why) = (threads.rye.approvals().decision(), why.to_string());
    #[cfg(feature = "code")]
    let request = run.pending.as_deref().and_then(|pending| registry.request(pending).ok());
    let is_ended = registry.detached().end_asking(run, (&decision, &why), end)?;
    #[cfg(feature = "code")]
    if let Some(request) = request.filter(|_| is_ended) {
        reject_held(&registry, &request, &decision, &why)?;
    }
    Ok(is_ended)
}
