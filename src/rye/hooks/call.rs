//! The hooks of one call: asked and told in their order.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::error::HookError;
use super::in_force::{HookLoaders, VerifiedHook};
use crate::base::json::object;
use crate::base::{Digest, Mask, spellings};
use crate::diagnostic::Failure;
use crate::exec_protocol::{HookVerdict, envelope, verdict};
use crate::execute::{ExecuteError, Outcome};
use crate::id::Ref;
use crate::parse::Phase;
use crate::report::HookNote;
use crate::trace::Event;

/// The hooks of one call.
pub(crate) struct CallHooks<'a> {
    loaders: HookLoaders<'a>,
    /// The item that is called.
    call: Ref,
    call_id: String,
    /// In the order in which they are asked.
    armed: Vec<VerifiedHook>,
    notes: RefCell<Vec<HookNote>>,
    /// Values that a hook sees in an answer and must not pass on in its own words.
    hidden: Vec<String>,
}

impl<'a> CallHooks<'a> {
    pub(crate) fn new(
        loaders: HookLoaders<'a>,
        call: Ref,
        call_id: String,
        armed: Vec<VerifiedHook>,
    ) -> Self {
        Self { loaders, call, call_id, armed, notes: RefCell::default(), hidden: Vec::new() }
    }
}

impl CallHooks<'_> {
    /// From here on nothing that a hook says of the call shows one of these values, which the tool
    /// is given of the host. A hook may be shown an answer as JSON, where a value has another
    /// spelling.
    pub(crate) fn hide<'v>(&mut self, values: impl Iterator<Item = &'v str>) {
        self.hidden = values.flat_map(spellings).collect();
    }

    /// In a dry run: who would be asked.
    pub(crate) fn announce(&self) {
        for armed in &self.armed {
            for phase in &armed.hook.phases {
                self.record(armed, *phase, "would_run", "", Duration::ZERO);
            }
        }
    }

    /// The arguments, as those who may replace them leave them.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn replace_args(
        &self,
        mut args: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        for armed in self.at(Phase::BeforeExecution).filter(|armed| armed.hook.replaces) {
            let request = self.request(&args);
            let replaced = self.judge(armed, Phase::BeforeExecution, &[("request", &request)])?;
            match replaced.and_then(|mut replace| replace.shift_remove("args")) {
                None => {}
                Some(Value::Object(other)) => args = other,
                Some(_) => {
                    let reason = "`replace.args` is not an object".to_owned();
                    return Err(self.denied(armed, Phase::BeforeExecution, reason));
                }
            }
        }
        Ok(args)
    }

    /// Asks those that only judge, and tells those that only watch, of the arguments that count.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn before(&self, args: &Map<String, Value>) -> Result<(), Failure> {
        if !self.has_any(Phase::BeforeExecution) {
            return Ok(());
        }
        let request = self.request(args);
        self.pass(Phase::BeforeExecution, &[("request", &request)])
    }

    /// The answer, as those who may replace it leave it; then those that judge it.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn after(
        &self,
        args: &Map<String, Value>,
        outcome: &mut Outcome,
        took: Duration,
    ) -> Result<(), Failure> {
        // Without a hook nothing is copied.
        if !self.has_any(Phase::AfterExecution) {
            return Ok(());
        }
        let shown = match (&outcome.pending, &outcome.failure) {
            (Some(pending), _) => {
                json!({"pending": {"reason": pending.reason, "message": pending.message}})
            }
            (None, Some(failure)) => {
                json!({"error": failure.message, "data": failure.data(&outcome.data)})
            }
            (None, None) => outcome.data.clone(),
        };
        let Some(content) = self.after_content(args, shown, took)? else { return Ok(()) };
        // Nothing of what the tool said beside its data gets past who replaces it.
        if let Some(pending) = &mut outcome.pending {
            pending.reason = "replaced by a hook".into();
            pending.message = plain(&content);
        }
        if let Some(failure) = &mut outcome.failure {
            failure.message = "it failed; what it said was replaced by a hook".into();
            failure.tail.clear();
        }
        if let Some(did) = &mut outcome.snippet {
            did.told.retain(|key, _| key == "limits");
        }
        outcome.data = content;
        Ok(())
    }

    /// Returns true if a hook may withhold or replace the result of the call, so that nothing of it
    /// may be shown before the hook was asked.
    pub(crate) fn may_withhold(&self, phase: Phase) -> bool {
        self.at(phase).any(|armed| armed.hook.filters || armed.hook.replaces)
    }

    /// Lets a run go on by itself on a node, if no hook wants to see its result before others do.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn may_leave(&self) -> Result<(), Failure> {
        let phase = Phase::AfterExecution;
        match self.at(phase).find(|armed| armed.hook.filters || armed.hook.replaces) {
            None => Ok(()),
            Some(armed) => {
                let why = "it judges results, and sees none of a run that goes on at a node by \
                           itself, or waits for a person there";
                Err(self.denied(armed, phase, why.into()))
            }
        }
    }

    /// A call that came to no answer, as those who judge answers leave it: what it says of itself
    /// is theirs to withhold.
    pub(crate) fn after_failure(
        &self,
        args: &Map<String, Value>,
        failure: Failure,
        took: Duration,
    ) -> Failure {
        if failure.interrupted().is_some() || !self.has_any(Phase::AfterExecution) {
            return failure;
        }
        let diagnostic = failure.diagnostic();
        let shown =
            json!({"error": diagnostic.message, "code": diagnostic.code, "data": diagnostic.data});
        match self.after_content(args, shown, took) {
            Ok(None) => failure,
            Ok(Some(_)) => {
                HookError::Withheld { call: self.call.clone(), code: failure.code() }.into()
            }
            Err(denied) => denied,
        }
    }

    /// The result of a tool that is no item, after the hooks that judge answers: its value, or the
    /// report of its failure. `None` if they leave it as it is.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn after_value(
        &self,
        args: &Map<String, Value>,
        shown: impl FnOnce() -> Value,
        took: Duration,
    ) -> Result<Option<Value>, Failure> {
        match self.has_any(Phase::AfterExecution) {
            true => self.after_content(args, shown(), took),
            false => Ok(None),
        }
    }

    /// Shows the result of a call to the hooks; returns the replacement, if a hook replaced it.
    fn after_content(
        &self,
        args: &Map<String, Value>,
        mut content: Value,
        took: Duration,
    ) -> Result<Option<Value>, Failure> {
        let request = self.request(args);
        let phase = Phase::AfterExecution;
        let mut is_replaced = false;
        for armed in self.at(phase).filter(|armed| armed.hook.replaces) {
            let response = self.response(&content, took);
            let parts = [("request", &request), ("response", &response)];
            if let Some(mut replace) = self.judge(armed, phase, &parts)?
                && let Some(other) = replace.shift_remove("content")
            {
                (content, is_replaced) = (other, true);
            }
        }
        let response = self.response(&content, took);
        self.pass(phase, &[("request", &request), ("response", &response)])?;
        Ok(is_replaced.then_some(content))
    }

    pub(crate) fn at(&self, phase: Phase) -> impl Iterator<Item = &VerifiedHook> {
        self.armed.iter().filter(move |armed| armed.hook.phases.contains(&phase))
    }

    pub(crate) fn has_any(&self, phase: Phase) -> bool {
        self.at(phase).next().is_some()
    }

    fn request(&self, args: &Map<String, Value>) -> Map<String, Value> {
        object(json!({"name": self.call.id, "args": args, "call_id": self.call_id}))
    }

    fn response(&self, content: &Value, took: Duration) -> Map<String, Value> {
        let content = plain(content);
        let latency_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        object(json!({
            "name": self.call.id, "call_id": self.call_id, "content": content,
            "latency_ms": latency_ms,
        }))
    }

    /// Those that judge, in their order, to the first that denies; then those that watch.
    pub(crate) fn pass(
        &self,
        phase: Phase,
        parts: &[(&str, &Map<String, Value>)],
    ) -> Result<(), Failure> {
        for armed in self.at(phase).filter(|armed| armed.hook.filters && !armed.hook.replaces) {
            self.judge(armed, phase, parts)?;
        }
        for armed in self.at(phase).filter(|armed| !armed.hook.filters) {
            let start = Instant::now();
            let payload = envelope(&armed.hook, phase, parts);
            let loader = self.loaders.for_space(armed.source.space());
            let hooks = loader.rye.hooks();
            let (verdict, reason) = match hooks.tell(loader, armed, payload, &self.hidden) {
                Ok(()) => ("told", String::new()),
                // Whatever goes wrong with it changes nothing.
                Err(failure) => ("not_told", failure.to_string()),
            };
            self.record(armed, phase, verdict, &reason, start.elapsed());
        }
        Ok(())
    }

    /// Asks one hook; returns its replacement for what it was shown.
    pub(crate) fn judge(
        &self,
        armed: &VerifiedHook,
        phase: Phase,
        parts: &[(&str, &Map<String, Value>)],
    ) -> Result<Option<Map<String, Value>>, Failure> {
        let start = Instant::now();
        let payload = envelope(&armed.hook, phase, parts);
        let loader = self.loaders.for_space(armed.source.space());
        let said = match loader.rye.hooks().ask(loader, armed, payload, &self.hidden) {
            Ok(Ok(outcome)) => match &outcome.failure {
                Some(failure) => Err(failure.message.clone()),
                None => verdict(&outcome.data, &armed.hook),
            },
            Ok(Err(error @ ExecuteError::Interrupted { .. })) => return Err(error.into()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(failure) => Err(failure.to_string()),
        };
        let known = replaceable(phase);
        let odd = |replace: &Map<String, Value>| {
            replace.keys().find(|key| !known.contains(&key.as_str())).cloned()
        };
        let said = match said {
            Ok(HookVerdict::Allow { replace: Some(replace), .. }) if odd(&replace).is_some() => {
                Err(format!("`replace` may hold `{}` alone here", known.join("` and `")))
            }
            other => other,
        };
        let mask = Mask::new(self.hidden.iter().map(String::as_str));
        match said {
            Ok(HookVerdict::Allow { replace, metadata }) => {
                let word = if replace.is_some() { "replace" } else { "allow" };
                self.record(armed, phase, word, "", start.elapsed());
                let shown = parts.last().map(|(_, part)| *part);
                let both = replace.iter().flatten().next().and_then(|(part, is)| {
                    shown.and_then(|shown| shown.get(part)).map(|was| (was, is))
                });
                self.note(armed, phase, mask.value(metadata), both);
                Ok(replace)
            }
            Ok(HookVerdict::Deny { reason, enforced, metadata }) => {
                let (reason, metadata) = (mask.words(&reason), mask.value(metadata));
                self.record(armed, phase, "deny", &reason, start.elapsed());
                Err(self.refusal(armed, phase, reason, enforced, metadata))
            }
            Err(why) => {
                let why = mask.words(&why);
                self.record(armed, phase, "deny", &why, start.elapsed());
                Err(self.denied(armed, phase, why))
            }
        }
    }

    /// Adds the metadata of a hook that allowed, and that it replaced something, to the result of
    /// the call.
    fn note(
        &self,
        armed: &VerifiedHook,
        phase: Phase,
        metadata: Value,
        replaced: Option<(&Value, &Value)>,
    ) {
        let says_nothing = metadata.as_object().is_none_or(Map::is_empty);
        if says_nothing && replaced.is_none() {
            return;
        }
        let digest = |value: &Value| Digest::of(plain(value).as_bytes());
        self.notes.borrow_mut().push(HookNote {
            item_id: armed.item().clone(),
            phase: phase.name(),
            metadata: (!says_nothing).then_some(metadata),
            was_sha256: replaced.map(|(was, _)| digest(was)),
            is_sha256: replaced.map(|(_, is)| digest(is)),
        });
    }

    /// The notes of the hooks, for the result of the call.
    pub(crate) fn into_notes(self) -> Vec<HookNote> {
        self.notes.into_inner()
    }

    pub(crate) fn denied(&self, armed: &VerifiedHook, phase: Phase, reason: String) -> Failure {
        self.refusal(armed, phase, reason, false, json!({}))
    }

    fn refusal(
        &self,
        armed: &VerifiedHook,
        phase: Phase,
        reason: String,
        enforced: bool,
        metadata: Value,
    ) -> Failure {
        HookError::Denied {
            call: self.call.clone(),
            hook: armed.item().clone(),
            space: armed.source.space(),
            phase: phase.name(),
            reason,
            enforced,
            metadata,
        }
        .into()
    }

    fn record(
        &self,
        armed: &VerifiedHook,
        phase: Phase,
        verdict: &'static str,
        reason: &str,
        took: Duration,
    ) {
        self.loaders.sink.record(Event::Hook {
            item_id: armed.item().clone(),
            space: armed.source.space(),
            phase: phase.name(),
            verdict,
            reason: reason.to_owned(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }
}

/// The parts of what a hook is shown that it may replace.
fn replaceable(phase: Phase) -> &'static [&'static str] {
    match phase {
        Phase::BeforeExecution => &["args"],
        Phase::AfterExecution => &["content"],
        Phase::BeforeCall => &["system_prompt", "messages"],
        Phase::AfterCall => &["message"],
        Phase::SessionStart | Phase::SessionUpdate | Phase::SessionEnd => &[],
    }
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
