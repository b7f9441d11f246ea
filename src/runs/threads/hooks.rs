//! The hooks of a thread: those that judge calls of its model, and those that are told how it goes;
//! and what is written down of all hooks that something in it met.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::base::json::object;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::id::{Ref, Space};
use crate::parse::Phase;
use crate::rye::{
    CallHooks, CallPolicy, ChosenModel, Guardrail, HookPolicies, Loader, LockMode, Rye,
    ThreadParent, guardrails,
};
use crate::thread::{
    Ended, Message, ReplacedRequest, ShownRequest, THREAD_CANCELLED, ThreadError, ThreadId,
    ThreadOutcome, Turn, Watcher, messages_from_json, turn_from_json,
};
use crate::trace::{Event, Sink};
use crate::verify::Source;

/// Verdicts of hooks that are kept until their call is written down; of more the newest are told.
const THREAD_HOOK_EVENTS: usize = 1_000;

/// Passes events on, and keeps what is said of hooks until it is written down.
pub(super) struct HookLog<'a> {
    inner: &'a dyn Sink,
    said: Mutex<Vec<(&'static str, Value)>>,
}

impl<'a> HookLog<'a> {
    pub(super) fn new(inner: &'a dyn Sink) -> Self {
        Self { inner, said: Mutex::default() }
    }

    /// Keeps one event.
    pub(super) fn keep(&self, event: &'static str, said: Value) {
        let mut all = unpoisoned(self.said.lock());
        // The newest say how it came out.
        if all.len() == THREAD_HOOK_EVENTS {
            all.remove(0);
        }
        all.push((event, said));
    }

    /// Remarks of hooks, and the digests of what they replaced.
    fn keep_notes(&self, hooks: CallHooks<'_>) {
        for note in hooks.into_notes() {
            self.keep("hook", serde_json::to_value(&note).unwrap_or_default());
        }
    }
}

impl Sink for HookLog<'_> {
    fn record(&self, event: Event) {
        if matches!(event, Event::Hook { .. })
            && let Ok(Value::Object(mut fields)) = serde_json::to_value(&event)
        {
            fields.shift_remove("step");
            self.keep("hook", fields.into());
        }
        self.inner.record(event);
    }

    fn has_reader(&self) -> bool {
        self.inner.has_reader()
    }
}

/// The hooks of one thread, found anew for each call, as those of tools are.
pub(super) struct ThreadHooks<'a> {
    pub(super) rye: &'a Rye,
    pub(super) log: &'a HookLog<'a>,
    pub(super) id: ThreadId,
    pub(super) directive: Ref,
    pub(super) space: Space,
    pub(super) provider: Ref,
    pub(super) provider_space: Space,
    pub(super) model: String,
    pub(super) locked: bool,
    pub(super) guardrails: Vec<Guardrail>,
}

impl<'a> ThreadHooks<'a> {
    /// Those of a thread that is to start, of which all can be asked now.
    ///
    /// # Errors
    /// `hook.unusable`, and those of [`guardrails`].
    pub(super) fn checked(
        loader: &Loader<'a>,
        log: &'a HookLog<'a>,
        id: &ThreadId,
        directive: &Source,
        chosen: &ChosenModel,
        locked: bool,
    ) -> Result<Self, Failure> {
        let (item, space) = (directive.item(), directive.space());
        let hooks = Self {
            rye: loader.rye,
            log,
            id: id.clone(),
            directive: item.clone(),
            space,
            provider: chosen.item.clone(),
            provider_space: chosen.space,
            model: chosen.model.clone(),
            locked,
            guardrails: guardrails(loader, item, space)?,
        };
        hooks.check()?;
        Ok(hooks)
    }
}

impl ThreadHooks<'_> {
    fn check(&self) -> Result<(), Failure> {
        let (policy, hooks) = (self.policy(None), self.rye.hooks());
        hooks.of_model(&policy, self.log, &self.provider, self.provider_space)?;
        hooks.of_session(&policy, self.log, &self.directive, self.space).map(drop)
    }

    fn policy(&self, until: Option<Instant>) -> HookPolicies<'_> {
        let policy = CallPolicy::new(self.rye, LockMode::from_flag(self.locked));
        policy.in_thread(Some(self.id.clone())).until(until).for_hooks()
    }

    /// Those that were told in the thread, which is over, end soon where it was cut off. Else they
    /// go on, for the thread that goes on for it or the one above.
    pub(super) fn let_go(
        &self,
        came: &Result<ThreadOutcome, Failure>,
        parent: Option<&ThreadParent>,
    ) {
        let (observers, id) = (&self.rye.observers, self.id.as_str());
        match (came, parent) {
            (Err(failure), _) if is_cut_off(failure) => observers.end_soon(Some(id)),
            (Ok(ThreadOutcome::Continues { by, .. }), _) => observers.pass_on(id, by.as_str()),
            (_, Some(parent)) => observers.pass_on(id, parent.id.as_str()),
            (_, None) => {}
        }
    }

    fn request(&self, shown: &ShownRequest<'_>) -> Map<String, Value> {
        let messages: Value = shown.messages.iter().map(Message::to_json).collect();
        object(json!({
            "provider_id": self.provider.id, "model": self.model, "messages": messages,
            "system_prompt": shown.system, "round": shown.round,
        }))
    }
}

/// Returns true for a thread that was stopped, or whose time was over.
fn is_cut_off(failure: &Failure) -> bool {
    let is_late = match failure.downcast_ref::<ThreadError>() {
        Some(ThreadError::LimitExceeded { breach, .. }) => breach.limit == "duration_seconds",
        _ => false,
    };
    is_late || failure.interrupted().is_some() || failure.reason() == THREAD_CANCELLED
}

impl Watcher for ThreadHooks<'_> {
    fn before_call(&self, shown: &ShownRequest<'_>) -> Result<ReplacedRequest, Failure> {
        let policy = self.policy(Some(shown.until));
        let hooks =
            self.rye.hooks().of_model(&policy, self.log, &self.provider, self.provider_space)?;
        let may_withhold = hooks.may_withhold(Phase::AfterCall)
            || self.guardrails.iter().any(Guardrail::may_replace);
        let mut replaced = ReplacedRequest { may_withhold, ..ReplacedRequest::default() };
        hooks.before_model(|| self.request(shown), &mut |part, value| {
            if part == "messages" {
                replaced.messages = Some(messages_from_json(value, shown.messages)?);
            } else {
                let text = value.as_str().ok_or("`replace.system_prompt` is not text")?;
                replaced.system = Some(text.to_owned());
            }
            Ok(())
        })?;
        self.log.keep_notes(hooks);
        Ok(replaced)
    }

    fn after_call(
        &self,
        shown: &ShownRequest<'_>,
        turn: &Turn,
        took: Duration,
    ) -> Result<Option<Turn>, Failure> {
        let policy = self.policy(Some(shown.until));
        let hooks =
            self.rye.hooks().of_model(&policy, self.log, &self.provider, self.provider_space)?;
        let mut replaced = None;
        hooks.after_model(|| self.request(shown), turn.to_json(), took, &mut |_, value| {
            replaced = Some(turn_from_json(value, turn)?);
            Ok(())
        })?;
        self.log.keep_notes(hooks);
        Ok(replaced)
    }

    fn tell(&self, phase: Phase, messages: &[Message], turn_index: u64) {
        let policy = self.policy(None);
        let hooks = self.rye.hooks().of_session(&policy, self.log, &self.directive, self.space);
        // One that cannot be asked is told of where it would decide.
        let Ok(hooks) = hooks else { return };
        hooks.tell_session(phase, || {
            let messages: Value = messages.iter().map(Message::to_json).collect();
            object(json!({
                "session_id": self.id.as_str(), "conversation_id": self.id.as_str(),
                "messages": messages, "turn_index": turn_index,
            }))
        });
    }

    fn after_output(
        &self,
        ended: &mut Ended,
        messages: &[Message],
        turns: u64,
        time: Duration,
    ) -> Result<(), Failure> {
        self.judge_output(ended, messages, turns, time)
    }

    fn take_said(&self) -> Vec<(&'static str, Value)> {
        std::mem::take(&mut *unpoisoned(self.log.said.lock()))
    }
}
