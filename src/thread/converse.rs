//! The loop: a model is asked, its calls are carried out, until it hands over what was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::backend::SandboxBackend;
use super::continuation::{Continued, fills_window, hand_over};
use super::dispatch::{CallEnd, Place, Understood, failed, interrupted, together, understood};
use super::error::{THREAD_CANCELLED, ThreadError};
use super::limits::ThreadLimits;
use super::model::{LanguageModel, Message, ModelCall, Turn};
use super::record::{Record, THREAD_ENDED};
use super::replay::{Replay, finished_turn};
use super::result::serialised;
use super::table::{NamedTool, ToolTable, outputs_of};
use super::thread_id::ThreadId;
use super::tool::ToolCallFaultKind;
use super::waits::{Awaited, cancelled};
use super::watch::Watcher;
use crate::base::Digest;
use crate::base::canon::SAFE;
use crate::base::limits::{THREAD_ASKS, THREAD_CALLS};
use crate::base::money::cost;
use crate::diagnostic::Failure;
use crate::id::Ref;
use crate::parse::{DirectiveOutput, Phase, Prices, TokenCounts, json as read_json};
use crate::registry::{Breach, Registry, RunState, leave_thread};
use crate::trace::{DeniedCall, Event, Sink};

/// Everything that a thread needs to run, decided before it starts.
pub(crate) struct Conversation<'a> {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) outputs: &'a [DirectiveOutput],
    pub(crate) table: &'a ToolTable<'a>,
    pub(crate) watcher: &'a dyn Watcher,
    /// The sandbox of the thread, which ends with it.
    pub(crate) backend: &'a dyn SandboxBackend,
    pub(crate) model: Box<dyn LanguageModel + 'a>,
    /// Hears what the model says while it says it, and when its provider fails; without secrets.
    pub(crate) listener: &'a dyn Sink,
    pub(crate) prices: Prices,
    /// Longest answer of one turn.
    pub(crate) answer_tokens: u64,
    /// How many tokens the model takes at once; `None` if that is not known.
    pub(crate) context_window: Option<u64>,
    /// Begins the thread that goes on for this one, which is over then.
    pub(crate) continue_by: &'a ContinueBy<'a>,
    pub(crate) denied_by: &'a DeniedBy<'a>,
    pub(crate) limits: ThreadLimits,
    /// It runs below another thread, so it cannot be resumed alone.
    pub(crate) is_below: bool,
    pub(crate) begin: Instant,
    /// Set if it was asked to stop.
    pub(crate) is_stopped: Arc<AtomicBool>,
    /// How far it came before, where it goes on.
    pub(crate) resumed: Option<Resumed>,
}

/// Registers the thread that replaces one which ends with that, and gives its id.
pub(crate) type ContinueBy<'a> =
    dyn Fn(&mut Registry, &Continued) -> Result<ThreadId, Failure> + 'a;

/// The denied call to report for a call that failed so, if permissions are the cause.
pub(crate) type DeniedBy<'a> =
    dyn Fn(&ModelCall, ToolCallFaultKind, &Value) -> Option<DeniedCall> + 'a;

/// A thread that goes on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resumed {
    pub(crate) replayed: Replay,
    /// The message of a person to the model.
    pub(crate) message: Option<String>,
    /// How long it ran before.
    pub(crate) before: Duration,
}

impl Resumed {
    /// A thread that goes on for another one, and said nothing yet.
    pub(crate) fn of(continued: &Continued) -> Self {
        let replayed = Replay::of_continued(continued);
        Self { replayed, message: None, before: continued.took }
    }
}

/// How far a thread came in this process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ThreadOutcome {
    Ended(Ended),
    /// It waits for a person.
    Waits(Box<Awaited>),
    /// Another thread goes on with its task, and is registered.
    Continues {
        by: ThreadId,
        continued: Box<Continued>,
    },
}

/// How a thread came out that did what it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    /// The last words of the model.
    pub(crate) result: String,
    pub(crate) outputs: Map<String, Value>,
    /// The guardrail that replaced both.
    pub(crate) replaced_by: Option<Ref>,
}

/// The answer to a call that hands over outputs; see [`serialised`].
const HANDED_OVER: &str = "{\"ok\":true}";

/// The result of one turn.
enum After {
    Next,
    Done(ThreadOutcome),
}

/// Runs a thread that is registered already, to its end or until it waits for a person, and writes
/// that down.
///
/// # Errors
/// `thread.limit_exceeded`, `thread.missing_outputs`, `thread.record_io`, `provider.*`,
/// `registry.io`; what a call was interrupted with.
pub(crate) fn converse(
    conversation: Conversation<'_>,
    record: &mut Record,
    ledger: &mut Registry,
) -> Result<ThreadOutcome, Failure> {
    let mut conversation = conversation;
    let Resumed { replayed, message, before } = conversation.resumed.take().unwrap_or_default();
    let mut thread = Running {
        tokens: replayed.tokens,
        spent: replayed.spent,
        turns: replayed.turns,
        earlier_answers: replayed.continued.as_ref().map_or(0, |continued| continued.answers),
        summary_asks: replayed.summary_asks,
        conversation,
        messages: Vec::new(),
        record,
        ledger,
        before,
        asks: 0,
        broken_off_by: None,
        awaited: None,
        unnoted: None,
    };
    let mut closing = Closing(Some(thread.conversation.backend));
    let came = match thread.go(replayed, message) {
        Ok(ThreadOutcome::Ended(ended)) => judged(&mut thread, ended).map(ThreadOutcome::Ended),
        other => other,
    };
    if !matches!(came, Ok(ThreadOutcome::Waits(..))) {
        thread.tell(Phase::SessionEnd);
    }
    let by = match &came {
        Ok(ThreadOutcome::Continues { by, .. }) => {
            // Its sandbox is the other thread's from here on.
            closing.0 = None;
            Some(by.clone())
        }
        _ => None,
    };
    drop(closing);
    let came = match came {
        Ok(ThreadOutcome::Waits(awaited)) => match thread.wait(&awaited) {
            Ok(()) => return Ok(ThreadOutcome::Waits(awaited)),
            Err(failure) => Err(failure),
        },
        other => other,
    };
    let stopped = came.as_ref().err().and_then(|failure| as_cancelled(failure, &thread));
    let (status, failure) = match &came {
        Ok(ThreadOutcome::Continues { .. }) => (RunState::Continued, None),
        Ok(_) => (RunState::Completed, None),
        Err(_) if stopped.is_some() => (RunState::Cancelled, stopped.as_ref()),
        Err(failure) => (RunState::Failed, Some(failure)),
    };
    let ended = if let Ok(ThreadOutcome::Ended(ended)) = &came { Some(ended) } else { None };
    let written = thread.end(status, failure, ended, by.as_ref());
    if written.is_err() {
        leave_thread(thread.ledger, thread.record.id().as_str());
    }
    if let (Err(failure), Some(by)) = (&written, &by) {
        let (id, code) = (by.as_str(), Some(failure.code()));
        // It does not begin; that this cannot be written down changes nothing of it.
        let _ = thread.ledger.end_thread(id, RunState::Failed, code, None);
    }
    let came = came?;
    written.map(|()| came)
}

/// The error of a cancelled thread, if a verb or a signal asked it to stop.
fn as_cancelled(failure: &Failure, thread: &Running<'_>) -> Option<Failure> {
    let is_cancelled = failure.interrupted().is_some() || failure.reason() == THREAD_CANCELLED;
    is_cancelled.then(|| cancelled(thread).into())
}

/// Closes the sandbox of a thread once, whatever ends the thread.
struct Closing<'a>(Option<&'a dyn SandboxBackend>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if let Some(backend) = self.0 {
            backend.close();
        }
    }
}

/// A thread that runs; see `ask.rs` for how a model is asked.
pub(super) struct Running<'a> {
    pub(super) conversation: Conversation<'a>,
    pub(super) messages: Vec<Message>,
    pub(super) record: &'a mut Record,
    pub(super) ledger: &'a mut Registry,
    pub(super) tokens: TokenCounts,
    pub(super) spent: u64,
    pub(super) turns: u64,
    /// How many answers the threads gave that it goes on for.
    pub(super) earlier_answers: usize,
    /// How often the model was asked for a summary.
    pub(super) summary_asks: usize,
    /// How long it ran in processes before this one.
    before: Duration,
    /// How often outputs were asked for again.
    asks: usize,
    /// Why the last answer was cut or withheld.
    pub(super) broken_off_by: Option<String>,
    /// The request that the next call waited for, which is decided since.
    pub(super) awaited: Option<Awaited>,
    /// The newest checkpoint, where the registry does not know it yet.
    unnoted: Option<Digest>,
}

/// The result of a thread, with the changes of evals.
fn judged(thread: &mut Running<'_>, mut ended: Ended) -> Result<Ended, Failure> {
    let time = thread.time_left()?;
    let watcher = thread.conversation.watcher;
    let judged = watcher.after_output(&mut ended, &thread.messages, thread.turns, time);
    thread.note_hooks()?;
    // An eval that was ended with the time of the thread says nothing of what it judged.
    judged.map(|()| ended).or_else(|failure| thread.time_left().and(Err(failure)))
}

impl Running<'_> {
    fn go(&mut self, replayed: Replay, message: Option<String>) -> Result<ThreadOutcome, Failure> {
        if let After::Done(came) = self.begin(replayed, message)? {
            return Ok(came);
        }
        self.checkpoint("running", false)?;
        self.tell(Phase::SessionStart);
        loop {
            if fills_window(&self.messages, self.conversation.context_window) {
                return hand_over(self, None);
            }
            let turn = self.ask()?;
            // What it asks for is proven before anything of it is carried out.
            self.checkpoint("running", false)?;
            let after = self.act(turn)?;
            if !matches!(after, After::Done(ThreadOutcome::Waits(..))) {
                self.tell(Phase::SessionUpdate);
            }
            if let After::Done(came) = after {
                return Ok(came);
            }
        }
    }

    /// Tells the model what it is to do, or goes on where a process before this one stopped.
    fn begin(&mut self, replayed: Replay, message: Option<String>) -> Result<After, Failure> {
        let Replay { messages, unanswered, awaited, .. } = replayed;
        self.messages = messages;
        if self.messages.is_empty() {
            let (system, user) = (&self.conversation.system, &self.conversation.user);
            self.record.event("cognition_in", json!({"system": system, "user": user}))?;
            self.messages.push(Message::User(user.clone()));
        }
        if self.summary_asks > 0 {
            if matches!(self.messages.last(), Some(Message::Result { .. })) {
                unanswered.iter().try_for_each(|call| self.answer(call, interrupted()))?;
            }
            return hand_over(self, message).map(After::Done);
        }
        let unanswered = match awaited {
            Some(awaited) => match self.go_on(awaited, &unanswered)? {
                Some(awaited) => return Ok(After::Done(ThreadOutcome::Waits(awaited))),
                None => Vec::new(),
            },
            None => unanswered,
        };
        unanswered.iter().try_for_each(|call| self.answer(call, interrupted()))?;
        if let Some(message) = message {
            self.record.event("cognition_in", json!({"user": message, "from": "person"}))?;
            self.messages.push(Message::User(message));
            return Ok(After::Next);
        }
        let Some((turn, results)) = finished_turn(&self.messages) else { return Ok(After::Next) };
        let handed_over = turn.calls.iter().zip(&results).rev().find_map(|(call, result)| {
            let tool = self.conversation.table.find(&call.name)?;
            let is_taken = matches!(tool, NamedTool::Return) && result == HANDED_OVER;
            let args = read_json(&call.arguments).ok().filter(|_| is_taken)?;
            outputs_of(args.as_object()?, self.conversation.outputs).ok()
        });
        self.after(turn.text.clone(), turn.goes_on(), handed_over)
    }

    /// Writes down what hooks and evals said.
    pub(super) fn note_hooks(&mut self) -> Result<(), Failure> {
        for (event, said) in self.conversation.watcher.take_said() {
            self.record.event(event, said)?;
        }
        Ok(())
    }

    fn tell(&mut self, phase: Phase) {
        self.conversation.watcher.tell(phase, &self.messages, self.turns);
        // It changes nothing of the thread, which ends where nothing can be written any more.
        let _ = self.note_hooks();
    }

    /// Carries out the calls of a turn.
    fn act(&mut self, turn: Turn) -> Result<After, Failure> {
        let (text, wanted, goes_on) = (turn.text.clone(), turn.calls.clone(), turn.goes_on());
        self.messages.push(Message::Model(turn));
        let mut handed_over = None;
        match self.call_each(&wanted, 0, &mut handed_over)? {
            Some(awaited) => Ok(After::Done(ThreadOutcome::Waits(awaited))),
            None => self.after(text, goes_on, handed_over),
        }
    }

    /// Carries out calls in their order, before which so many stand in their turn; what only reads,
    /// at once. What stands behind one that hands over is not run. Gives what the thread is to wait
    /// for.
    pub(super) fn call_each(
        &mut self,
        calls: &[ModelCall],
        before: usize,
        handed_over: &mut Option<Map<String, Value>>,
    ) -> Result<Option<Box<Awaited>>, Failure> {
        let most = THREAD_CALLS.saturating_sub(before);
        let (mut left, beyond) = calls.split_at(calls.len().min(most));
        while !left.is_empty() && handed_over.is_none() {
            let (now, later) = left.split_at(together(self.conversation.table, left));
            for (call, came) in now.iter().zip(self.begin_calls(now)?) {
                let called = match came {
                    Some(called) => called,
                    None => self.carry_out(call, handed_over)?,
                };
                if let CallEnd::Waits(awaited) = called {
                    return Ok(Some(awaited));
                }
                self.answer(call, called)?;
                // What was carried out is never carried out again.
                self.checkpoint("running", false)?;
            }
            left = later;
        }
        let too_many = format!("a turn has at most {THREAD_CALLS} calls");
        let behind = "it was not run: `directive_return` before it ended the work".to_owned();
        let too_late = left.iter().map(|call| (call, ToolCallFaultKind::Exception, &behind));
        let wrong = ToolCallFaultKind::InvalidArguments;
        let not_run = too_late.chain(beyond.iter().map(|call| (call, wrong, &too_many)));
        for (call, kind, why) in not_run {
            self.record.event("tool_call_start", call.to_json())?;
            self.answer(call, failed(kind, why.clone(), Value::Null))?;
            self.checkpoint("running", false)?;
        }
        Ok(None)
    }

    /// Writes down that calls begin. Several are carried out here; one is left to be.
    fn begin_calls(&mut self, calls: &[ModelCall]) -> Result<Vec<Option<CallEnd>>, Failure> {
        for call in calls {
            self.record.event("tool_call_start", call.to_json())?;
        }
        let [_, _, ..] = calls else { return Ok(vec![None]) };
        let time = self.time_left()?;
        Ok(self.place().carry_out_at_once(self.conversation.table, calls, time))
    }

    fn place(&self) -> Place<'_> {
        let backend = self.conversation.backend;
        Place { thread_id: self.record.id().as_str(), backend, awaited: None }
    }

    /// Writes down what a call gave, and tells the model.
    pub(super) fn answer(&mut self, call: &ModelCall, called: CallEnd) -> Result<(), Failure> {
        self.note_hooks()?;
        let value = match called {
            CallEnd::Gave(value) => value,
            CallEnd::Failed { kind, message, detail } => {
                if let Some(denied) = (self.conversation.denied_by)(call, kind, &detail) {
                    self.conversation.listener.record(Event::CallDenied(denied));
                }
                let kind = kind.as_str();
                json!({"ok": false, "error_kind": kind, "message": message, "detail": detail})
            }
            CallEnd::Stopped(failure) => return Err(failure),
            // Nothing is told before it is decided.
            CallEnd::Waits(_) => return Ok(()),
        };
        let (mut lost, mut blob) = (None, None);
        let result = serialised(&value, |whole| match self.record.keep(whole.as_bytes()) {
            Ok(digest) => {
                blob = Some(digest.to_string());
                digest.to_string()
            }
            Err(error) => {
                lost = Some(error);
                String::new()
            }
        });
        lost.map_or(Ok(()), Err)?;
        let mut told = json!({"id": call.id, "name": call.name, "content": result.text});
        if let Some(blob) = blob {
            told["blob"] = blob.into();
        }
        self.record.event("tool_call_result", told)?;
        self.messages.push(Message::Result { call_id: call.id.clone(), content: result.text });
        Ok(())
    }

    fn done(result: String, outputs: Map<String, Value>) -> After {
        After::Done(ThreadOutcome::Ended(Ended { result, outputs, replaced_by: None }))
    }

    /// Decides how a thread goes on after a turn whose calls have their results.
    fn after(
        &mut self,
        text: String,
        goes_on: bool,
        handed_over: Option<Map<String, Value>>,
    ) -> Result<After, Failure> {
        if let Some(outputs) = handed_over {
            return Ok(Self::done(text, outputs));
        }
        if goes_on {
            return Ok(After::Next);
        }
        let required = self.conversation.outputs.iter().filter(|output| output.required);
        let names: Vec<String> = required.map(|output| output.name.clone()).collect();
        if names.is_empty() {
            return Ok(Self::done(text, Map::new()));
        }
        if self.asks == THREAD_ASKS {
            let (id, broken_off_by) = (self.record.id().clone(), self.broken_off_by.take());
            return Err(ThreadError::MissingOutputs { id, names, broken_off_by }.into());
        }
        self.asks += 1;
        let names = names.join("`, `");
        let again = format!("Hand over `{names}` with `directive_return` before you end.");
        self.record.event("cognition_in", json!({"user": again}))?;
        self.messages.push(Message::User(again));
        Ok(After::Next)
    }

    pub(super) fn carry_out(
        &mut self,
        call: &ModelCall,
        handed_over: &mut Option<Map<String, Value>>,
    ) -> Result<CallEnd, Failure> {
        Ok(match understood(self.conversation.table, call) {
            Understood::Answered(called) => called,
            Understood::Tool(tool, args) => {
                let awaited = self.awaited.take();
                let place = Place { awaited: awaited.as_ref(), ..self.place() };
                place.carry_out(tool, call, args, self.time_left()?)
            }
            Understood::Return(args) => match outputs_of(&args, self.conversation.outputs) {
                Ok(outputs) => {
                    *handed_over = Some(outputs);
                    CallEnd::Gave(true.into())
                }
                Err(wrong) => {
                    let message = "the outputs are not what was asked for".into();
                    failed(ToolCallFaultKind::InvalidArguments, message, json!(wrong))
                }
            },
        })
    }

    /// # Errors
    /// `thread.limit_exceeded`, `thread.cancelled`
    pub(super) fn time_left(&self) -> Result<Duration, Failure> {
        if self.conversation.is_stopped.load(Ordering::Relaxed) {
            return Err(cancelled(self).into());
        }
        let max = self.conversation.limits.duration_seconds;
        let took = self.took();
        match Duration::from_secs(max).checked_sub(took).filter(|left| !left.is_zero()) {
            Some(left) => Ok(left),
            None => Err(self.beyond(Breach::used("duration_seconds", took.as_secs(), max))),
        }
    }

    /// How long it ran, in this process and in those before.
    pub(super) fn took(&self) -> Duration {
        self.before.saturating_add(self.conversation.begin.elapsed())
    }

    pub(super) fn beyond(&self, breach: Breach) -> Failure {
        let (id, is_below) = (self.record.id().clone(), self.conversation.is_below);
        ThreadError::LimitExceeded { id, breach, is_below }.into()
    }

    pub(super) fn checkpoint(&mut self, status: &str, is_final: bool) -> Result<(), Failure> {
        note(self)?;
        sign(self, status, is_final)?;
        note(self)
    }

    fn end(
        &mut self,
        status: RunState,
        failure: Option<&Failure>,
        ended: Option<&Ended>,
        by: Option<&ThreadId>,
    ) -> Result<(), Failure> {
        let outputs = ended.map(|ended| &ended.outputs);
        let code = failure.map(Failure::code);
        let mut told = json!({"status": status, "code": code, "outputs": outputs});
        if let Some(failure) = failure {
            told["failure"] = failure.diagnostic().to_json().into();
        }
        // A replacement of the last words is recorded too, for a later reader.
        if let Some((ended, eval)) = ended.and_then(|it| it.replaced_by.as_ref().map(|by| (it, by)))
        {
            told["result"] = ended.result.as_str().into();
            told["replaced_by"] = eval.to_string().into();
        }
        if let Some(by) = by {
            told["continued_by"] = by.as_str().into();
        }
        // Where the registry is out of reach still, the thread is taken for killed.
        note(self)?;
        let written = self.record.event(THREAD_ENDED, told).map_err(Failure::from);
        // Without its last checkpoint it is one that was killed, which can be resumed.
        written.and_then(|()| sign(self, status.as_str(), true))?;
        let last = self.unnoted.map(|digest| digest.to_string());
        Ok(self.ledger.end_thread(self.record.id().as_str(), status, code, last.as_deref())?)
    }
}

/// Tells the registry of the newest checkpoint, if it does not know it. Nothing more is signed
/// before it does: so a record that is whole has at most one that the registry does not know.
fn note(thread: &mut Running<'_>) -> Result<(), Failure> {
    if let Some(digest) = thread.unnoted {
        thread.ledger.note_checkpoint(thread.record.id().as_str(), &digest.to_string())?;
        thread.unnoted = None;
    }
    Ok(())
}

/// Signs everything so far.
fn sign(thread: &mut Running<'_>, status: &str, is_final: bool) -> Result<(), Failure> {
    // What a server says it took is any number, and a checkpoint holds those that are exact.
    let ledger = json!({
        "turns": thread.turns, "tokens": total(thread.tokens).min(SAFE),
        "spend_micros": thread.spent.min(SAFE),
        "elapsed_ms": u64::try_from(thread.took().as_millis()).unwrap_or(u64::MAX),
    });
    let before = thread.record.newest();
    let signed = thread.record.checkpoint(status, ledger, is_final);
    // It may stand there though the disk did not say so.
    if thread.record.newest() != before {
        thread.unnoted = thread.record.newest();
    }
    Ok(signed.map(drop)?)
}

pub(super) fn total(usage: TokenCounts) -> u64 {
    let TokenCounts { input, output, cache_read, cache_write } = usage;
    input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write)
}

pub(super) fn price(usage: TokenCounts, prices: Prices) -> u64 {
    let parts = [
        (usage.input, prices.input),
        (usage.output, prices.output),
        (usage.cache_read, prices.cache_read),
        (usage.cache_write, prices.cache_write),
    ];
    parts.into_iter().fold(0, |sum: u64, (tokens, price)| sum.saturating_add(cost(tokens, price)))
}

/// Tokens as they are shown.
pub(super) fn counts(tokens: TokenCounts) -> Value {
    json!({
        "input_tokens": tokens.input, "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write,
    })
}
