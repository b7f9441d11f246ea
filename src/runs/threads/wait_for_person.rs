//! A thread that waits for a person: it goes on in whichever process the request is decided, and
//! what was approved is run once, by the thread itself.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Threads;
use super::resume::{AwaitedDecision, GoingOn, resume_as};
#[cfg(feature = "code")]
use super::snippet_tool::{approved_snippet, told_as_kept};
use super::tools::{ThreadCalls, masked, refused, told};
use crate::base::Digest;
use crate::base::json::object;
use crate::base::text::escape_line;
#[cfg(feature = "code")]
use crate::code::Asks;
use crate::diagnostic::{Diagnostic, Failure};
#[cfg(feature = "code")]
use crate::registry::Registry;
use crate::registry::{
    Decision, PENDING_DECIDED, PENDING_DRIFTED, PendingRequest, PendingState, RegistryError,
    RequestKind, RunState,
};
use crate::report::Report;
use crate::runs::requests::CarriedOut;
use crate::rye::{Failed, Origin, Request, Rye, ThreadParent, approved_run, now};
use crate::thread::{
    Awaited, THREAD_CANCELLED, THREAD_KILLED, THREAD_STILL_RUNS, ThreadError, ThreadId,
    ThreadSession, ToolCallFault, ToolCallFaultKind,
};
use crate::trace::{Quiet, Sink};

/// A thread that waits on after what it asked was rejected.
pub(crate) struct WaitsOn {
    thread: String,
    /// Why it does not go on.
    pub(crate) why: Failure,
}

impl WaitsOn {
    /// The next step.
    pub(crate) fn help(&self) -> String {
        let thread = escape_line(&self.thread);
        format!(
            "bring that back and `rye thread resume {thread}`, or end it with `rye thread cancel \
             {thread}`"
        )
    }

    /// As JSON, beside what is told of the request.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        object(json!({
            "thread_id": self.thread, "thread_status": "waiting",
            "failure": self.why.diagnostic().to_json(), "help": self.help(),
        }))
    }
}

/// Threads that wait for a person, who decides.
#[derive(Clone, Copy)]
pub(crate) struct WaitingThreads<'a> {
    rye: &'a Rye,
}

impl<'a> WaitingThreads<'a> {
    pub(crate) fn new(rye: &'a Rye) -> Self {
        Self { rye }
    }
}

impl WaitingThreads<'_> {
    /// Goes on with the thread that waits for a request, and runs what is approved in it.
    ///
    /// # Errors
    /// `pending.drifted` where it is not what was asked for, or its thread does not wait for it;
    /// those of a thread that goes on.
    pub(crate) fn approve(
        self,
        request: &PendingRequest,
        decision: Decision,
        begin: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        self.unchanged(request, &decision)
            .map_err(|failure| Failed::early(failure, &*request.row.item, begin.elapsed()))?;
        self.decided(request, Some(decision), begin, sink)
    }

    fn decided(
        self,
        request: &PendingRequest,
        decision: Option<Decision>,
        begin: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let early = |failure| Failed::early(failure, &*request.row.item, begin.elapsed());
        let decided = AwaitedDecision { pending: request.row.id.clone(), approved: decision };
        let how = GoingOn { decided: Some(decided), ..GoingOn::default() };
        let top = self.top(request).map_err(early)?;
        let threads = Threads::new(self.rye);
        let (asked, resuming) = threads.resuming(&top, how).map_err(early)?;
        threads.go_on(&asked, &resuming, begin, sink)
    }

    /// Rejects a request that a thread waits with, and goes on with the thread, whose model is
    /// told. The request is rejected also where the thread does not go on.
    ///
    /// # Errors
    /// `pending.decided`; those of a thread that went on.
    pub(crate) fn reject(
        self,
        request: &PendingRequest,
        decision: &Decision,
        why: &str,
        begin: Instant,
        sink: &dyn Sink,
    ) -> Result<CarriedOut, Failed> {
        let early = |failure| Failed::early(failure, &*request.row.item, begin.elapsed());
        let mut registry = self.rye.approvals().registry().map_err(early)?;
        if let Some(registry) = &registry {
            let id = &request.row.id;
            registry.reject(id, decision, why).map_err(|error| early(error.into()))?;
        }
        let failed = match self.decided(request, None, begin, sink) {
            Ok(report) => return Ok(CarriedOut::Ran(Box::new(report))),
            Err(failed) => failed,
        };
        let alone = [PENDING_DRIFTED, THREAD_STILL_RUNS, THREAD_CANCELLED, THREAD_KILLED];
        if alone.contains(&failed.failure.reason()) {
            return Ok(CarriedOut::Rejected(None));
        }
        // Where its record or its folder is gone, it waits on for nothing.
        let id = request.row.thread.as_deref().unwrap_or_default();
        let row = registry.as_mut().map(|registry| registry.thread(id)).transpose();
        let row = row.map_err(|error| early(error.into()))?;
        match row.is_some_and(|row| row.is_ok_and(|row| row.state == RunState::Waiting)) {
            true => {
                let (thread, why) = (id.to_owned(), failed.failure);
                Ok(CarriedOut::Rejected(Some(WaitsOn { thread, why })))
            }
            false => Err(failed),
        }
    }

    /// Planned anew, it is what was asked for. Nothing is run.
    fn unchanged(self, request: &PendingRequest, decision: &Decision) -> Result<(), Failure> {
        #[cfg(feature = "code")]
        if let (true, Some(text)) = (request.kind == RequestKind::Snippet, &request.snippet) {
            return self.rye.approvals().unchanged(&request.row.id, text).map(drop);
        }
        let (asked, _) = approved_run(request, decision.clone())?;
        #[cfg(feature = "code")]
        let asked = self.rye.approvals().with_snippet(asked, request, true)?;
        let thread = ThreadParent::that_waits(request);
        let origin = Origin { thread, ..asked.origin.clone() };
        let asked = Request { origin, ..asked.dry_run(true) };
        let planned = self.rye.runs().run(&asked, Instant::now(), &Quiet);
        planned.map(drop).map_err(|failed| failed.failure)
    }

    /// The thread at the top of the one that asked, which waits with it.
    fn top(self, request: &PendingRequest) -> Result<String, Failure> {
        let mut next = request.row.thread.clone();
        let mut top = String::new();
        let Some(mut registry) = self.rye.approvals().registry()? else { return Ok(top) };
        while let Some(id) = next {
            let row = registry.thread(&id)?;
            let row = row.map_err(|near| ThreadError::NotFound { id: id.clone(), near })?;
            (next, top) = (row.run.parent, id);
        }
        Ok(top)
    }
}

impl Threads<'_> {
    /// Checks that a thread may go on: its request is decided, or is approved now.
    ///
    /// # Errors
    /// `thread.waits`, `pending.drifted`
    pub(super) fn is_decided(
        self,
        id: &ThreadId,
        awaited: Option<&Awaited>,
        decided: Option<&AwaitedDecision>,
    ) -> Result<(), Failure> {
        let drifted = |id: &str, why: &str| -> Result<(), Failure> {
            Err(RegistryError::Drifted { id: id.to_owned(), why: why.to_owned() }.into())
        };
        let pending = match (awaited, decided) {
            (None, None) => return Ok(()),
            (Some(awaited), None) => &awaited.pending_id,
            (Some(awaited), Some(decided)) if awaited.pending_id == decided.pending => {
                &awaited.pending_id
            }
            (_, Some(decided)) => {
                return drifted(&decided.pending, "its thread does not wait for it any more");
            }
        };
        let kept = kept(self.rye, pending)?;
        let is_waiting = |kept: &PendingRequest| kept.row.state == PendingState::Waiting;
        let waits = kept.as_ref().is_some_and(is_waiting);
        match (awaited.zip(kept.as_ref()), decided.is_some_and(|it| it.approved.is_some())) {
            (Some((awaited, kept)), true) if digest_of(kept) != awaited.request_sha256 => {
                drifted(pending, "what is kept of it is not what its thread asked")
            }
            (_, false) if waits => {
                Err(ThreadError::Waits { id: id.clone(), pending: pending.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Goes on with a thread that waits, where the request was decided before it did; `None` where
    /// it waits, or goes on elsewhere.
    pub(super) fn went_on(
        self,
        id: &ThreadId,
        awaited: &Awaited,
        is_top: bool,
        begin: Instant,
        sink: &dyn Sink,
    ) -> Result<Option<Report>, Failure> {
        let kept = kept(self.rye, &awaited.pending_id)?;
        let waits = kept.is_some_and(|kept| kept.row.state == PendingState::Waiting);
        if !is_top || waits {
            return Ok(None);
        }
        let how = GoingOn { from_wait: true, ..GoingOn::default() };
        match resume_as(self, id.as_str(), how, begin, sink) {
            Ok(report) => Ok(Some(report)),
            Err(failed) if failed.failure.reason() == THREAD_STILL_RUNS => Ok(None),
            Err(failed) => Err(failed.failure),
        }
    }
}

impl ThreadCalls<'_> {
    /// A call that asked a person: the thread waits with it, unless it cannot.
    pub(super) fn waits(&self, report: &Report) -> ToolCallFault {
        let shown = masked(report, std::time::Duration::ZERO);
        let text = |key: &str| shown["pending"][key].as_str().unwrap_or_default().to_owned();
        let (pending_id, message) = (text("id"), text("message"));
        if !self.can_wait {
            return cannot_wait(self, &pending_id, shown["item_id"].as_str().unwrap_or_default());
        }
        let detail = json!({"pending_id": pending_id});
        let fault = ToolCallFault::of(ToolCallFaultKind::Pending, message.clone(), detail);
        let request_sha256 = match self.asked(&pending_id) {
            Ok(request) => digest_of(&request),
            Err(failure) => return refused(failure),
        };
        let (item_id, thread_id) = match report {
            Report::Thread(thread) => (text("item_id"), Some(thread.thread_id.clone())),
            _ => (shown["item_id"].as_str().unwrap_or_default().to_owned(), None),
        };
        let (call_id, reason) = (String::new(), text("reason"));
        fault.waits_for(Some(Awaited {
            call_id,
            pending_id,
            item_id,
            reason,
            message,
            request_sha256,
            thread_id,
        }))
    }

    fn asked(&self, pending: &str) -> Result<PendingRequest, Failure> {
        let missing = || RegistryError::NotFound { id: pending.to_owned(), near: Vec::new() };
        let registry = self.rye.approvals().registry()?.ok_or_else(|| Failure::from(missing()))?;
        Ok(registry.request(pending)?)
    }

    /// Goes on with a call that asked a person, who decided since.
    pub(super) fn go_on(
        &self,
        awaited: &Awaited,
        session: &ThreadSession<'_>,
    ) -> Result<Value, ToolCallFault> {
        if let Some(thread) = &awaited.thread_id {
            return self.go_on_below(thread, awaited, session);
        }
        let Ok(request) = self.asked(&awaited.pending_id) else { return Err(interrupted()) };
        match request.row.state {
            PendingState::Waiting => match &self.decision {
                Some(decision) => self.run_approved(&request, decision, awaited, session),
                None => Err(waiting(awaited)),
            },
            PendingState::Rejected => {
                let why = format!("rejected: {}", request.result.unwrap_or_default());
                let detail = json!({"pending_id": awaited.pending_id});
                Err(ToolCallFault::of(ToolCallFaultKind::PermissionDenied, why, detail))
            }
            // It ran in a process that was killed before its thread was told.
            PendingState::Done => {
                let result = request.result.unwrap_or_default();
                let result = crate::parse::kept_json(result.as_bytes()).unwrap_or_default();
                #[cfg(feature = "code")]
                if request.kind == RequestKind::Snippet {
                    return told_as_kept(result);
                }
                told(result)
            }
            PendingState::Approved | PendingState::Lost => Err(interrupted()),
        }
    }

    /// The thread below goes on, as part of this call.
    fn go_on_below(
        &self,
        thread: &str,
        awaited: &Awaited,
        session: &ThreadSession<'_>,
    ) -> Result<Value, ToolCallFault> {
        let threads = Threads::new(self.rye);
        let (pending, approved) = (awaited.pending_id.clone(), self.decision.clone());
        let decided = approved.is_some().then_some(AwaitedDecision { pending, approved });
        let above = Some(self.id.to_string());
        let how = GoingOn { above, decided, from_wait: true, ..GoingOn::default() };
        let (request, resuming) = threads.resuming(thread, how).map_err(refused)?;
        let begin = Instant::now();
        match threads.go_on(&self.below(request, session), &resuming, begin, self.outer) {
            Ok(report) => self.gave(&report, begin),
            Err(failed) => Err(refused(failed.failure)),
        }
    }

    /// Runs what was approved, which the run itself claims: once, and only as it was asked for.
    fn run_approved(
        &self,
        request: &PendingRequest,
        decision: &Decision,
        awaited: &Awaited,
        session: &ThreadSession<'_>,
    ) -> Result<Value, ToolCallFault> {
        if digest_of(request) != awaited.request_sha256 {
            return Err(waiting(awaited));
        }
        #[cfg(feature = "code")]
        if request.kind == RequestKind::Snippet {
            return match approved_snippet(self, request, decision) {
                Ok(came) => came,
                Err(failure) => self.not_started(failure, request, decision, awaited, session),
            };
        }
        let (asked, claimed) = approved_run(request, decision.clone()).map_err(refused)?;
        let locked = self.locked;
        #[cfg(feature = "code")]
        let asked = self.rye.approvals().with_snippet(asked, request, true).map_err(refused)?;
        let asked = Request { locked: locked || asked.locked, ..self.below(asked, session) };
        let begin = Instant::now();
        let came = self.rye.runs().run(&asked, begin, self.sink);
        let is_claimed = claimed.load(std::sync::atomic::Ordering::Relaxed);
        let kept = match &came {
            Ok(report) => masked(report, begin.elapsed()),
            Err(failed) => failed_json(failed),
        };
        if is_claimed {
            self.finish(&request.row.id, &kept).map_err(refused)?;
        }
        match came {
            Ok(report) => self.gave(&report, begin),
            Err(failed) if is_claimed => Err(refused(failed.failure)),
            Err(failed) => self.not_started(failed.failure, request, decision, awaited, session),
        }
    }

    /// Answers for an approved call that was not started.
    fn not_started(
        &self,
        failure: Failure,
        request: &PendingRequest,
        decision: &Decision,
        awaited: &Awaited,
        session: &ThreadSession<'_>,
    ) -> Result<Value, ToolCallFault> {
        match failure.reason() {
            code if code == PENDING_DRIFTED => Err(waiting(awaited)),
            code if code == PENDING_DECIDED => self.go_on(awaited, session),
            _ => {
                let why = failure.to_string();
                self.withdraw(&request.row.id, decision, &why).map_err(refused)?;
                Err(refused(failure))
            }
        }
    }

    fn finish(&self, pending: &str, told: &Value) -> Result<(), Failure> {
        match self.rye.approvals().registry()? {
            Some(registry) => Ok(registry.finish(pending, &told.to_string())?),
            None => Ok(()),
        }
    }

    fn withdraw(&self, pending: &str, decision: &Decision, why: &str) -> Result<(), Failure> {
        let Some(registry) = self.rye.approvals().registry()? else { return Ok(()) };
        Ok(registry.reject(pending, decision, why)?)
    }
}

/// A person was asked, and the thread cannot wait: what was asked is withdrawn, with what was to
/// be decided with it, so that it is not carried out without the thread, whose grants it would
/// lack.
fn cannot_wait(calls: &ThreadCalls<'_>, pending: &str, item: &str) -> ToolCallFault {
    let (id, item) = (calls.id.clone(), item.to_owned());
    let failure = Failure::from(ThreadError::CannotWait { id, item });
    let decision = Decision { by: "rye".into(), at: now().to_string() };
    match calls.withdraw(pending, &decision, &failure.to_string()) {
        Ok(()) => refused(failure),
        Err(lost) => refused(lost),
    }
}

/// A snippet that asked a person, by the request with that id: the thread waits with it, unless
/// it cannot.
#[cfg(feature = "code")]
pub(super) fn waits_with(
    calls: &ThreadCalls<'_>,
    fault: ToolCallFault,
    id: &str,
    asks: Asks,
) -> ToolCallFault {
    if !calls.can_wait {
        return cannot_wait(calls, id, &asks.item);
    }
    let keep = || -> Result<PendingRequest, Failure> {
        Ok(Registry::open(calls.rye.spaces().user()?.base())?.request(id)?)
    };
    let request_sha256 = match keep() {
        Ok(request) => digest_of(&request),
        Err(failure) => return refused(failure),
    };
    fault.waits_for(Some(Awaited {
        call_id: String::new(),
        pending_id: id.to_owned(),
        item_id: asks.item,
        reason: asks.reason,
        message: asks.message,
        request_sha256,
        thread_id: None,
    }))
}

/// A request; `None` where it is not kept any more.
fn kept(rye: &Rye, pending: &str) -> Result<Option<PendingRequest>, Failure> {
    let Some(registry) = rye.approvals().registry()? else { return Ok(None) };
    match registry.request(pending) {
        Ok(request) => Ok(Some(request)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// It waits on.
fn waiting(awaited: &Awaited) -> ToolCallFault {
    let detail = json!({"pending_id": awaited.pending_id});
    let fault = ToolCallFault::of(ToolCallFaultKind::Pending, awaited.message.clone(), detail);
    fault.waits_for(Some(awaited.clone()))
}

fn interrupted() -> ToolCallFault {
    ToolCallFault::new("the call was interrupted, and may have been carried out in part")
}

/// The digest of a kept request: its plan with the parameters, and a saved snippet's text.
fn digest_of(request: &PendingRequest) -> Digest {
    let snippet = request.snippet.as_deref().unwrap_or_default().as_bytes();
    Digest::of_parts(&[&request.payload, b"\0", snippet])
}

fn failed_json(failed: &Failed) -> Value {
    let diagnostic: Diagnostic = failed.failure.diagnostic();
    let (item, chain) = (Some(failed.item.as_str()), &failed.chain);
    crate::report::error_json(&diagnostic, item, chain, failed.elapsed, None)
}
