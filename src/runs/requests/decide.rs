//! Deciding a request: the run that was approved is planned anew, compared with what was asked for,
//! claimed and started.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::Value;

use crate::base::durations::{PENDING_LOOK_MS, wait_of};
#[cfg(feature = "code")]
use crate::code::{CodeResult, OnPrint, Verdict};
use crate::diagnostic::Failure;
#[cfg(feature = "code")]
use crate::registry::unclaim_snippet;
use crate::registry::{
    AfterDecision, Decision, PendingRequest, PendingState, Registry, RegistryError, RequestKind,
    decide,
};
use crate::report::{Report, error_json};
use crate::runs::threads::{CarriedOutFor, WaitingThreads, WaitsOn};
use crate::rye::{Approvals, Failed, Origin, PassedValues, Request, ThreadParent, approved_run};
use crate::trace::Sink;

/// The step that follows the decision of a request.
pub(crate) enum DecidedRequest {
    /// These, which were asked at once with it, are open.
    Noted(Vec<PendingRequest>),
    /// The request is carried out as a whole, with this decision.
    Approved(PendingRequest, Decision),
    /// The request is rejected as a whole, with this decision.
    Rejected(PendingRequest, Decision),
}

/// How a request is carried out.
pub(crate) struct CarryOut<'a> {
    pub(crate) start: Instant,
    pub(crate) sink: &'a dyn Sink,
    /// Takes what a snippet prints.
    #[cfg(feature = "code")]
    pub(crate) print: OnPrint<'a>,
}

/// The result of a decision that was carried out.
pub(crate) enum CarriedOut {
    /// A tool, a saved snippet or a thread ran.
    Ran(Box<Report>),
    /// A snippet went on.
    #[cfg(feature = "code")]
    WentOn(Box<CodeResult>),
    /// Nothing runs. The thread may wait on.
    Rejected(Option<WaitsOn>),
    /// These, which were asked at once with it, are open.
    Noted(Vec<PendingRequest>),
}

impl Approvals<'_> {
    /// Takes what a person says of a request; `why` is the reason of one that they reject. Of a
    /// snippet that asked several questions at once nothing runs before all are decided.
    ///
    /// # Errors
    /// `pending.decided`, `pending.held`, `pending.drifted`, `registry.io`
    pub(crate) fn decide(
        self,
        request: PendingRequest,
        decision: Decision,
        why: Option<&str>,
    ) -> Result<DecidedRequest, Failure> {
        let registry = self.registry()?.filter(|_| request.snippet.is_some());
        let Some(registry) = registry else {
            return Ok(match why {
                None => DecidedRequest::Approved(request, decision),
                Some(_) => DecidedRequest::Rejected(request, decision),
            });
        };
        #[cfg(feature = "code")]
        if let (None, Some(text)) = (why, &request.snippet) {
            self.unchanged(&request.row.id, text)?;
        }
        match decide(&registry, &request.row, &decision, why)? {
            AfterDecision::Noted(ids) => {
                let open = ids.iter().map(|id| registry.request(id)).collect::<Result<_, _>>()?;
                Ok(DecidedRequest::Noted(open))
            }
            AfterDecision::Last(decision, state) => {
                let whole = registry.request(request.row.whole())?;
                Ok(match state {
                    PendingState::Approved => DecidedRequest::Approved(whole, decision),
                    _ => DecidedRequest::Rejected(whole, decision),
                })
            }
        }
    }

    /// Carries out what was decided, by the kind of the request; `why` is the reason of one that
    /// was rejected. A run is planned anew, compared with what was asked for, claimed and started.
    /// In another project than the one that it was asked in, a rejection runs nothing.
    pub(crate) fn carry_out(
        self,
        decided: DecidedRequest,
        why: &str,
        how: &CarryOut<'_>,
    ) -> Result<CarriedOut, Failed> {
        let (request, decision, is_approved) = match decided {
            DecidedRequest::Noted(open) => return Ok(CarriedOut::Noted(open)),
            DecidedRequest::Approved(request, decision) => (request, decision, true),
            DecidedRequest::Rejected(request, decision) => (request, decision, false),
        };
        let early =
            |failure: Failure| Failed::early(failure, &*request.row.item, how.start.elapsed());
        let (start, sink) = (how.start, how.sink);
        // It goes on only there: its folder may be gone.
        #[cfg(feature = "code")]
        let goes_on = is_approved || self.rye.spaces().project_path() == request.row.project;
        if request.row.thread.is_some() && !is_approved {
            return WaitingThreads::new(self.rye).reject(&request, &decision, why, start, sink);
        }
        match request.kind {
            #[cfg(feature = "code")]
            RequestKind::Snippet if request.row.thread.is_none() && goes_on => {
                let rejected = || Verdict::Rejected(why.to_owned());
                let verdict = if is_approved { Verdict::Approved } else { rejected() };
                let result = self.decide_snippet(&request, &decision, &verdict, how.print, sink);
                result.map(Box::new).map(CarriedOut::WentOn).map_err(early)
            }
            #[cfg(feature = "code")]
            RequestKind::SavedSnippet if !is_approved && goes_on => {
                let report = self.reject_saved(&request, &decision, why, start, sink)?;
                Ok(CarriedOut::Ran(Box::new(report)))
            }
            _ if is_approved => {
                let report =
                    self.approve_in((None, Vec::new()), &request, decision, start, sink)?;
                Ok(CarriedOut::Ran(Box::new(report)))
            }
            _ => {
                let registry = Registry::open(
                    self.rye.spaces().user().map_err(|error| early(error.into()))?.base(),
                );
                let rejected =
                    registry.and_then(|registry| registry.reject(&request.row.id, &decision, why));
                rejected.map_err(|error| early(error.into()))?;
                Ok(CarriedOut::Rejected(None))
            }
        }
    }

    /// Runs a kept request that was approved, in a thread that does not wait for it, or for a
    /// snippet that was given these private values.
    pub(crate) fn approve_in(
        self,
        (parent, private): (Option<ThreadParent>, Vec<String>),
        request: &PendingRequest,
        decision: Decision,
        start: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let early = |failure| Failed::early(failure, &*request.row.item, start.elapsed());
        if request.row.state != PendingState::Waiting {
            let (id, state) = (request.row.id.clone(), request.row.state);
            return Err(early(RegistryError::Decided { id, state }.into()));
        }
        if request.row.thread.is_some() {
            // The call is the thread's: it is made there, and the thread goes on.
            return WaitingThreads::new(self.rye).approve(request, decision, start, sink);
        }
        let (asked, claimed) = approved_run(request, decision).map_err(early)?;
        #[cfg(feature = "code")]
        let asked = self.with_snippet(asked, request, true).map_err(early)?;
        let private = PassedValues(private);
        let thread = parent.or(asked.origin.thread.clone());
        let waits = CarriedOutFor::watched(self.rye, &request.row.id).map_err(early)?;
        // If it asks again, its run waits for that.
        let run = waits.as_ref().map(|waits| waits.run.clone());
        let origin = Origin { private, thread, run, ..asked.origin };
        let asked = Request { origin, ..asked };
        let result = self.rye.runs().run(&asked, start, sink);
        let result = match (result, waits) {
            (Err(failed), Some(waits)) => Err(waits.told(failed)),
            (result, _) => result,
        };
        if !claimed.load(Ordering::Relaxed) {
            // Nothing was started, or another process runs it.
            return result;
        }
        #[cfg(feature = "code")]
        if let Err(failed) = &result
            && failed.failure.interrupted().is_some()
            && self.waits_again(request).map_err(early)?
        {
            return result;
        }
        let told = match &result {
            // A later reader does not know the values, so they are masked here.
            Ok(report) => report.to_masked_json(start.elapsed()),
            Err(failed) => {
                let (item, chain) = (Some(failed.item.as_str()), &failed.chain);
                error_json(&failed.failure.diagnostic(), item, chain, failed.elapsed, None)
            }
        };
        let kept = self.registry().and_then(|registry| match registry {
            Some(registry) => Ok(registry.finish(&request.row.id, &told.to_string())?),
            None => Ok(()),
        });
        match (result, kept) {
            (Ok(_), Err(lost)) => Err(early(lost)),
            (result, _) => result,
        }
    }

    /// A saved snippet that was asked to end before anything new of it ran may be decided again.
    #[cfg(feature = "code")]
    fn waits_again(self, request: &PendingRequest) -> Result<bool, Failure> {
        let registry = self.registry()?;
        let again = registry.map(|registry| unclaim_snippet(&registry, &request.row.id));
        Ok(again.transpose()?.unwrap_or(false))
    }

    /// Waits until a request is decided, and gives the report of the run as JSON.
    ///
    /// # Errors
    /// `pending.rejected`, `pending.lost`, `pending.not_found`, `registry.io`; the signal that
    /// ended the wait.
    pub(crate) fn wait_for(self, id: &str) -> Result<Result<Value, i32>, Failure> {
        let registry = Registry::open(self.rye.spaces().user()?.base())?;
        loop {
            // Before it is read, so that nothing written in between is missed.
            let version = registry.version()?;
            let request = registry.request(id)?;
            let result = request.result.unwrap_or_default();
            match request.row.state {
                PendingState::Rejected => {
                    return Err(RegistryError::Rejected { id: id.to_owned(), why: result }.into());
                }
                PendingState::Done => {
                    return Ok(Ok(crate::parse::kept_json(result.as_bytes()).unwrap_or_default()));
                }
                PendingState::Lost => {
                    return Err(RegistryError::Lost { id: id.to_owned() }.into());
                }
                PendingState::Waiting | PendingState::Approved => {}
            }
            // Its plan may be large: it is read again when there may be something else to read.
            loop {
                if let Ok(Some(signal)) = self.rye.host().sleep(wait_of(PENDING_LOOK_MS)) {
                    return Ok(Err(signal));
                }
                if request.row.is_left() || registry.version()? != version {
                    break;
                }
            }
        }
    }
}
