//! Snippets that wait for a person: kept in the registry, and run again from their start once they
//! are decided.
//!
//! An approval is for exactly what was asked: the snippet itself is kept, and each item that it
//! called or asked about must be the same to the byte, and the configuration too.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::tools::RyeTools;
use crate::base::json::object;
use crate::base::limits::THREAD_SNIPPET_RECORDS_BYTES;
use crate::base::sync::unpoisoned;
use crate::base::text::counted;
use crate::base::{Digest, Mask};
use crate::code::{AskedCall, Asks, CodeResult, Executor, OnPrint, PausedSnippet, Verdict};
use crate::diagnostic::Failure;
use crate::id::Query;
use crate::plan::PlanFile;
use crate::registry::{
    Decision, PendingRequest, PendingState, Question, Registry, RegistryError, WaitingSnippet,
    WaitingTool, begin_snippet, unclaim_snippet, verdicts_of,
};
use crate::report::{Report, Warned, masked_report};
use crate::rye::{
    Approvals, CallPolicy, CodePolicy, Failed, KeptSnippet, LockMode, Origin, Request, Rye,
    ThreadParent, WaitedSnippet, approved_run, now, private_in,
};
use crate::trace::{Quiet, Sink};

/// A snippet that waits, as a person is shown it.
pub(crate) struct SnippetRows {
    /// The text of the snippet; `None` for a chain.
    pub(crate) code: Option<String>,
    /// The tool of the call that waits.
    pub(crate) item: String,
    pub(crate) args: Value,
    /// Of further calls of the same tool that the answer holds for.
    pub(crate) other_args: Vec<Value>,
    /// The calls that ran already.
    pub(crate) calls: Vec<Value>,
    pub(crate) sha256: Digest,
}

impl SnippetRows {
    /// Reads the snippet of a request; `None` if it has none.
    ///
    /// # Errors
    /// `pending.drifted`
    pub(crate) fn of(request: &PendingRequest) -> Result<Option<Self>, Failure> {
        let Some(text) = &request.snippet else { return Ok(None) };
        let (kept, paused) = KeptSnippet::read(&request.row.id, text)?;
        let Some(asked) = paused.asked().get(request.row.part) else { return Ok(None) };
        let mask = Mask::new(kept.private.iter().map(String::as_str));
        let masked = |values: Vec<Value>| -> Vec<Value> {
            values.into_iter().map(|value| mask.value(value)).collect()
        };
        Ok(Some(Self {
            code: paused.code().map(|code| mask.words(code)),
            item: asked.asks.item.clone(),
            args: mask.value(asked.args.clone().into()),
            other_args: masked(asked.other_args()),
            calls: masked(paused.calls_so_far()),
            sha256: kept.sha256,
        }))
    }

    /// As JSON.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        object(json!({
            "params": self.args, "other_params": self.other_args, "code": self.code,
            "tool_calls": self.calls, "snippet_sha256": self.sha256,
        }))
    }

    /// The call that waits in a saved snippet, row by row.
    pub(crate) fn call(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("calls", self.item.clone()), ("arguments", self.args.to_string())];
        rows.extend(self.other_args.iter().map(|args| ("also", args.to_string())));
        rows.push(("ran", format!("{} before it", counted(self.calls.len() as u64, "call"))));
        rows
    }

    /// Those rows as JSON.
    pub(crate) fn call_json(&self) -> Value {
        json!({
            "item_id": self.item, "params": self.args, "other_params": self.other_args,
            "tool_calls": self.calls,
        })
    }
}

impl Approvals<'_> {
    /// Decides a snippet that waits as a whole, and runs it again: from its start to where it was
    /// by what it was told before, and then on. This is the project that it was asked in.
    ///
    /// The process that decides claims the request first, so of two one wins. If it dies, or is
    /// asked to end, while the snippet is run again up to where it was, the request waits as
    /// before. From then on it is never run again: where this process dies before the end, the
    /// request is lost.
    ///
    /// A request that is rejected stays so, also where the snippet is not what it was: then it is
    /// not run again, and the result says `pending.drifted`. Neither is one that was called in a
    /// thread, and the result says `pending.rejected`.
    ///
    /// # Errors
    /// `pending.decided`, `pending.drifted`, `code.configuration`, `registry.io`
    pub(crate) fn decide_snippet(
        self,
        request: &PendingRequest,
        decision: &Decision,
        verdict: &Verdict,
        print: OnPrint<'_>,
        sink: &dyn Sink,
    ) -> Result<CodeResult, Failure> {
        let id = &request.row.id;
        let text = request.snippet.as_deref().unwrap_or_default();
        if request.row.state != PendingState::Waiting {
            let (id, state) = (id.clone(), request.row.state);
            return Err(RegistryError::Decided { id, state }.into());
        }
        let none = || RegistryError::NotFound { id: id.clone(), near: Vec::new() };
        let registry = self.registry()?.ok_or_else(|| Failure::from(none()))?;
        let ready = self.ready(id, text, *verdict == Verdict::Approved, sink);
        if let Verdict::Rejected(why) = verdict {
            registry.reject(id, decision, why)?;
            let kept = KeptSnippet::read(id, text).ok();
            if kept.is_some_and(|(kept, _)| kept.thread.is_some()) {
                return Ok(CodeResult::not_run(&rejected_in_thread(id, why)));
            }
            return Ok(match ready {
                Ok((executor, paused, tools)) => executor.resume(&paused, &tools, print),
                Err(failure) => CodeResult::not_run(&failure),
            });
        }
        run_again(&registry, request, decision, &ready?, print)
    }

    /// Runs a snippet again that a person approved while its thread waited with it: as part of that
    /// thread, which goes on. It is not written down what dev mode let through.
    ///
    /// # Errors
    /// As [`Approvals::decide_snippet`].
    pub(crate) fn approve_snippet_in(
        self,
        thread: ThreadParent,
        request: &PendingRequest,
        decision: &Decision,
        sink: &dyn Sink,
    ) -> Result<(CodeResult, Vec<Warned>), Failure> {
        let id = &request.row.id;
        let text = request.snippet.as_deref().unwrap_or_default();
        let registry = Registry::open(self.rye.spaces().user()?.base())?;
        let (executor, paused, tools) = self.ready(id, text, true, sink)?;
        let executor = executor.records_bytes(THREAD_SNIPPET_RECORDS_BYTES);
        let ready = (executor, paused, tools.in_thread(Some(thread)));
        let result = run_again(&registry, request, decision, &ready, &|_, _| ())?;
        Ok((result, ready.2.warned()))
    }

    /// All that the snippet is run again with, if it is what it was.
    fn ready<'s>(
        &'s self,
        id: &str,
        text: &str,
        is_approved: bool,
        sink: &'s dyn Sink,
    ) -> Result<(Executor, PausedSnippet, RyeTools<'s>), Failure> {
        let (kept, paused, policy) = self.unchanged(id, text)?;
        let tools = RyeTools::again(self.rye, sink, id, (&kept, &paused), is_approved);
        Ok((Executor::with_languages(policy.config), paused, tools))
    }

    /// Reads the snippet of a request, if everything that it called is unchanged.
    ///
    /// # Errors
    /// `pending.drifted`, `code.configuration`
    pub(crate) fn unchanged(
        &self,
        id: &str,
        text: &str,
    ) -> Result<(KeptSnippet, PausedSnippet, CodePolicy), Failure> {
        let (kept, paused) = KeptSnippet::read(id, text)?;
        let policy = CodePolicy::of(self.rye)?;
        let drifted = |why: String| RegistryError::Drifted { id: id.to_owned(), why };
        if policy.digest() != kept.policy {
            return Err(drifted("the configuration of snippets is another one now".into()).into());
        }
        for (item, then) in &kept.called {
            if digest_of(self.rye, item).ok() != Some(*then) {
                return Err(drifted(format!("`{item}` is not what it was")).into());
            }
        }
        Ok((kept, paused, policy))
    }

    /// The run of a saved snippet that waited goes on where it was.
    ///
    /// # Errors
    /// `pending.drifted`, `code.configuration`
    pub(crate) fn with_snippet(
        &self,
        asked: Request,
        request: &PendingRequest,
        is_approved: bool,
    ) -> Result<Request, Failure> {
        let Some(text) = &request.snippet else { return Ok(asked) };
        let (kept, paused, _) = self.unchanged(&request.row.id, text)?;
        let (locked, thread) = (kept.locked, kept.parent());
        let id = request.row.id.clone();
        let waited = Arc::new(WaitedSnippet { id, kept, paused, is_approved });
        let approval = asked.origin.approval.map(|approval| approval.goes_on(waited));
        let origin = Origin { approval, thread, ..asked.origin };
        Ok(Request { locked, origin, ..asked })
    }

    /// Rejects a saved snippet that waits, and runs it again: the call throws, and it goes on.
    ///
    /// It stays rejected, also where it is not what it was: then it is not run again.
    ///
    /// # Errors
    /// `pending.decided`, `pending.held`, `pending.drifted`, `registry.io`; those of a run.
    pub(crate) fn reject_saved(
        self,
        request: &PendingRequest,
        decision: &Decision,
        why: &str,
        start: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let asked = self.rejected(request, decision, why);
        let asked =
            asked.map_err(|failure| Failed::early(failure, &*request.row.item, start.elapsed()))?;
        self.rye.runs().run(&asked, start, sink)
    }

    fn rejected(
        &self,
        request: &PendingRequest,
        decision: &Decision,
        why: &str,
    ) -> Result<Request, Failure> {
        let id = &request.row.id;
        let none = || RegistryError::NotFound { id: id.clone(), near: Vec::new() };
        let registry = self.registry()?.ok_or_else(|| Failure::from(none()))?;
        registry.reject(id, decision, why)?;
        let text = request.snippet.as_deref().unwrap_or_default();
        let (kept, _) = KeptSnippet::read(id, text)?;
        if kept.thread.is_some() {
            return Err(rejected_in_thread(id, why));
        }
        let (asked, _) = approved_run(request, decision.clone())?;
        self.with_snippet(asked, request, false)
    }
}

/// Claims a snippet that waited and was approved, and runs it again.
fn run_again(
    registry: &Registry,
    request: &PendingRequest,
    decision: &Decision,
    (executor, paused, tools): &(Executor, PausedSnippet, RyeTools<'_>),
    print: OnPrint<'_>,
) -> Result<CodeResult, Failure> {
    let id = &request.row.id;
    registry.claim(id, decision)?;
    let result = executor.resume(paused, tools, print);
    if result.signal().is_some() && unclaim_snippet(registry, id)? {
        // It was asked to end before anything new ran, so the person may decide it again.
        return Ok(result);
    }
    // A later reader does not know the values, so they are masked here.
    let told = masked_report(result.to_json(), &tools.private.mask());
    registry.finish(id, &told.to_string())?;
    Ok(result)
}

/// A snippet that was called in a thread that does not wait with it is not run again where it is
/// rejected: its thread was told that it waits, and hears nothing more of it.
fn rejected_in_thread(id: &str, why: &str) -> Failure {
    RegistryError::Rejected { id: id.to_owned(), why: why.to_owned() }.into()
}

impl RyeTools<'_> {
    /// The text that is kept of the snippet.
    ///
    /// # Errors
    /// `registry.io`, which does not happen: it is JSON.
    fn kept_text(&self, paused: &PausedSnippet) -> Result<String, Failure> {
        let unwritten =
            |error: serde_json::Error| RegistryError::Unwritten { why: error.to_string() };
        let paused = paused.to_json().map_err(unwritten)?;
        let text = paused.to_string();
        let kept = self.kept(KeptSnippet::FORMAT, paused, &text)?;
        Ok(serde_json::to_string(&kept).map_err(unwritten)?)
    }

    /// The item that a person was asked about, with the bytes that it had then.
    pub(super) fn as_asked(&self, asks: &Asks) -> Option<(String, Digest)> {
        let (_, asked) = self.waited.as_ref()?;
        let (_, digest) = asked.iter().find(|(other, _)| other.item == asks.item)?;
        digest.map(|digest| (asks.item.clone(), digest))
    }

    /// Keeps the snippet; gives the id of each question.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    pub(super) fn keep_waiting(&self, paused: &PausedSnippet) -> Result<Vec<String>, Failure> {
        let kept = self.kept_text(paused)?;
        let mut registry = Registry::open(self.rye.spaces().user()?.base())?;
        let (asked_at, mask) = (now().to_string(), self.private.mask());
        let question = |asked: &AskedCall| {
            let (asks, saved) = (&asked.asks, self.saved.as_ref());
            Question {
                item: saved
                    .map_or_else(|| asks.item.clone(), |saved| saved.plan.item().to_string()),
                reason: mask.words(&asks.reason),
                message: saved
                    .map_or_else(|| mask.words(&asks.message), |saved| saved.asks(asked, &mask)),
                request: asks.request.clone(),
            }
        };
        let questions: Vec<_> = paused.asked().iter().map(question).collect();
        let waiting = WaitingSnippet {
            asked_at: &asked_at,
            project: self.rye.spaces().project_path(),
            questions: &questions,
            kept: &kept,
            tool: None,
            thread: self.waiting_thread.as_deref(),
            run: self.saved.and_then(|saved| saved.run),
        };
        let Some(saved) = &self.saved else { return Ok(registry.pause(&waiting)?) };
        let plan = PlanFile::write(saved.plan, true)?;
        let env = registry.env_digests(saved.plan.of_env_file())?;
        let (for_record, private) = (saved.for_record, private_in(saved.plan, &plan)?);
        let tool = WaitingTool { plan: &plan, for_record, env: &env, private: &private };
        Ok(registry.pause(&WaitingSnippet { tool: Some(tool), ..waiting })?)
    }

    /// Withdraws these questions.
    pub(super) fn withdraw_asked(&self, requests: &[&str]) {
        let decision = Decision { by: "rye".into(), at: now().to_string() };
        for request in requests {
            if let Ok(Some(registry)) = self.rye.approvals().registry() {
                // A request that no longer waits needs no decision.
                let _ = registry.reject(request, &decision, "its snippet ended without it");
            }
        }
    }

    /// The decision of each question; from here on the snippet runs what is new.
    ///
    /// # Errors
    /// `pending.decided`, `registry.io`
    pub(super) fn decided(&self) -> Result<Vec<Verdict>, Failure> {
        let Some((id, asked)) = &self.waited else { return Ok(Vec::new()) };
        let registry = Registry::open(self.rye.spaces().user()?.base())?;
        let said = match self.is_claimed {
            true => begin_snippet(&registry, id)?,
            false => verdicts_of(&registry, id)?,
        };
        let approved = asked.iter().zip(&said).filter(|(_, why)| why.is_none());
        let approved = approved.filter(|((asks, _), _)| asks.is_for_all);
        let approved = approved.filter_map(|((asks, _), _)| self.as_asked(asks));
        unpoisoned(self.approved.lock()).extend(approved);
        let verdict = |why: Option<String>| why.map_or(Verdict::Approved, Verdict::Rejected);
        Ok(said.into_iter().map(verdict).collect())
    }
}

/// The bytes of an item as it is now.
fn digest_of(rye: &Rye, item: &str) -> Result<Digest, Failure> {
    let policy = CallPolicy::new(rye, LockMode::Listed);
    let loader = policy.loader(&Quiet);
    let (source, _) = loader.admit(loader.find(&item.parse::<Query>()?)?)?;
    Ok(source.digest())
}
