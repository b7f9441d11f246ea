//! The hooks of one call of a model, and of one conversation.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::call::CallHooks;
use crate::base::json::object;
use crate::diagnostic::Failure;
use crate::parse::Phase;

/// Reads the replacement of a hook for a part, by the name of the part; the error is a clause that
/// says why it is none.
pub(crate) type ReadReplaced<'r> = &'r mut dyn FnMut(&str, &Value) -> Result<(), String>;

impl CallHooks<'_> {
    /// Asks of what a model is to be asked: first those who may replace parts of it.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn before_model(
        &self,
        request: impl FnOnce() -> Map<String, Value>,
        read: ReadReplaced<'_>,
    ) -> Result<(), Failure> {
        let phase = Phase::BeforeCall;
        if !self.has_any(phase) {
            return Ok(());
        }
        let mut request = request();
        for armed in self.at(phase).filter(|armed| armed.hook.replaces) {
            let replaced = self.judge(armed, phase, &[("request", &request)])?;
            for (part, value) in replaced.unwrap_or_default() {
                read(&part, &value).map_err(|why| self.denied(armed, phase, why))?;
                request.insert(part, value);
            }
        }
        self.pass(phase, &[("request", &request)])
    }

    /// Asks of what it answered.
    ///
    /// # Errors
    /// `hook.denied`
    pub(crate) fn after_model(
        &self,
        request: impl FnOnce() -> Map<String, Value>,
        mut message: Value,
        took: Duration,
        read: ReadReplaced<'_>,
    ) -> Result<(), Failure> {
        let phase = Phase::AfterCall;
        if !self.has_any(phase) {
            return Ok(());
        }
        let request = request();
        let latency_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let response = |message: &Value| {
            object(json!({
                "provider_id": request.get("provider_id"), "model": request.get("model"),
                "message": message, "latency_ms": latency_ms,
            }))
        };
        for armed in self.at(phase).filter(|armed| armed.hook.replaces) {
            let shown = response(&message);
            let parts = [("request", &request), ("response", &shown)];
            for (part, value) in self.judge(armed, phase, &parts)?.unwrap_or_default() {
                read(&part, &value).map_err(|why| self.denied(armed, phase, why))?;
                message = value;
            }
        }
        self.pass(phase, &[("request", &request), ("response", &response(&message))])
    }

    /// Tells of a conversation.
    pub(crate) fn tell_session(&self, phase: Phase, event: impl FnOnce() -> Map<String, Value>) {
        if self.has_any(phase) {
            // Those of a conversation only watch, and nothing that goes wrong with one counts.
            let _ = self.pass(phase, &[("event", &event())]);
        }
    }
}
