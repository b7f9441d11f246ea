//! A tool that runs detached and asks a person: its run waits until that is decided, and ends as
//! what was approved does, wherever that ran.

use std::time::Duration;

use serde_json::Value;

use super::Threads;
use super::known_runs::{KnownRun, is_asked_to_stop};
use crate::diagnostic::{Diagnostic, Failure};
use crate::host::StopWatch;
use crate::parse::kept_json;
use crate::registry::{DetachedEnd, PendingState, Registry, RegistryError, RunRow, RunState};
use crate::report::error_json;
use crate::rye::{Failed, Rye, moment};
use crate::thread::{THREAD_CANCELLED, ThreadError};

/// How it is with a run that waited for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettleResult {
    /// As it was read: it waits, or does not.
    AsBefore,
    /// Its request was approved, and runs in the process that approved it.
    Approved,
    /// The registry has its end now, or another request that it waits for.
    Anew,
}

/// Takes note of how a run ended that waited, where its request is decided.
///
/// # Errors
/// `registry.*`
pub(super) fn settle(registry: &mut Registry, run: &RunRow) -> Result<SettleResult, Failure> {
    let Some(pending) = run.request.as_deref().filter(|_| run.state == RunState::Waiting) else {
        return Ok(SettleResult::AsBefore);
    };
    let (failure, report) = match registry.request(pending) {
        Ok(request) => {
            let (id, result) = (pending.to_owned(), request.result.unwrap_or_default());
            match request.row.state {
                PendingState::Waiting => return Ok(SettleResult::AsBefore),
                PendingState::Approved => return Ok(SettleResult::Approved),
                PendingState::Done => (None, kept_json(result.as_bytes()).unwrap_or_default()),
                PendingState::Rejected => {
                    (Some(RegistryError::Rejected { id, why: result }), Value::Null)
                }
                PendingState::Lost => (Some(RegistryError::Lost { id }), Value::Null),
            }
        }
        // It was decided so long ago that it is not kept.
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
    // A snippet may ask again, and its run waits for that.
    let again = report["pending"]["id"].as_str().filter(|_| report["status"] == "pending");
    let state = match code {
        _ if again.is_some() => RunState::Waiting,
        None => RunState::Completed,
        Some(code) if code == THREAD_CANCELLED.name() => RunState::Cancelled,
        Some(_) => RunState::Failed,
    };
    let (at, text) = (moment(), report.to_string());
    let end = DetachedEnd { state, code, at: &at, report: &text, receipts: None, request: again };
    registry.detached().end_waiting(&run.id, Some(pending), end)?;
    Ok(SettleResult::Anew)
}

/// The detached run that waits with a request which is carried out here.
pub(crate) struct CarriedOutFor {
    pub(crate) run: String,
    /// Without a watch it is carried out all the same.
    watch: Option<StopWatch>,
}

impl CarriedOutFor {
    /// From here on a cancel of the run ends this thread; `None` if no run waits with the request.
    ///
    /// # Errors
    /// `registry.*`
    pub(crate) fn watched(rye: &Rye, request: &str) -> Result<Option<Self>, Failure> {
        let Some(mut registry) = rye.approvals().registry()? else { return Ok(None) };
        let Some(run) = registry.detached().waiting_with(request)? else { return Ok(None) };
        let is_asked = is_asked_to_stop(rye.spaces().user()?.base(), &run);
        Ok(Some(Self { run, watch: StopWatch::start(is_asked).ok() }))
    }

    /// The failure: a run that was asked to stop was cancelled.
    pub(crate) fn told(self, failed: Failed) -> Failed {
        let is_stopped = self.watch.is_some_and(|watch| watch.is_stopped());
        match is_stopped && failed.failure.interrupted().is_some() {
            true => {
                let cancelled = ThreadError::Cancelled { id: self.run, is_below: false };
                Failed { failure: cancelled.into(), ..failed }
            }
            false => failed,
        }
    }
}

/// Withdraws the request of a run and ends the run, in one step, so that a reader in between does
/// not take it for rejected by a person; false where it does not wait for that, or
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
    let Some(mut registry) = threads.registry()? else { return Ok(false) };
    let (decision, why) = (threads.rye.approvals().decision(), why.to_string());
    Ok(registry.detached().end_asking(&known.row, (&decision, &why), end)?)
}
