//! The report of a run that a node carried out.

use serde_json::{Map, Value, json};

use super::report::Warned;
use super::text::{Text, data_text};
use super::thread::handed_over_text;
use crate::execute::{Outcome, Pending, ToolFailure};
use crate::id::{Fingerprint, Ref};

/// A run that a node carried out, or goes on with.
#[derive(Debug)]
pub(crate) struct RemoteReport {
    pub(crate) item: Ref,
    /// Its id, there and here.
    pub(crate) run: String,
    pub(crate) remote: String,
    pub(crate) node: Fingerprint,
    /// Paths that the item's `inputs` match, and that did not go, each with why.
    pub(crate) left_out: Vec<Value>,
    /// The node's own report, as JSON.
    pub(crate) report: Map<String, Value>,
    pub(crate) warnings: Vec<Warned>,
}

impl RemoteReport {
    /// Returns true if it failed there.
    pub(crate) fn has_failed(&self) -> bool {
        self.report.get("status").is_some_and(|status| status == "error")
    }

    /// The request for which it waits there.
    pub(crate) fn pending_id(&self) -> Option<&str> {
        self.report.get("pending")?.get("id")?.as_str()
    }

    /// The outcome of a tool, for those who judge it.
    pub(crate) fn outcome(&self) -> Outcome {
        const OF: &str = "stderr_tail";
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let data = self.report.get("data");
        let failure = self.has_failed().then(|| ToolFailure {
            message: text(self.report.get("error")),
            tail: text(data.and_then(|data| data.get(OF))),
            of: OF,
        });
        let pending = self.report.get("pending").map(|pending| Pending {
            reason: text(pending.get("reason")),
            message: text(pending.get("message")),
            kept_as: None,
        });
        Outcome { pending, ..Outcome::of_answer(data.cloned().unwrap_or_default(), failure) }
    }

    /// Takes over what those who judge the outcome made of it.
    pub(crate) fn replace(&mut self, outcome: Outcome) {
        let Outcome { data, failure, pending, .. } = outcome;
        if let Some(known) = self.report.get_mut("data") {
            *known = match &failure {
                Some(failure) => failure.data(&data).into(),
                None => data,
            };
        }
        if let Some(failure) = failure {
            self.report.insert("error".into(), failure.message.into());
        }
        if let (Some(known), Some(pending)) = (self.report.get_mut("pending"), pending) {
            (known["reason"], known["message"]) = (pending.reason.into(), pending.message.into());
        }
    }

    /// The output of its tool, the result of its thread, or the id of a run that goes on.
    pub(crate) fn to_text(&self) -> Text {
        let part = |key: &str| self.report.get(key).unwrap_or(&Value::Null);
        if part("async") == &Value::Bool(true) {
            let wait = format!("it runs; wait for it with `rye thread wait {}`\n", self.run);
            return Text { stdout: format!("{}\n", self.run), stderr: wait };
        }
        if self.report.contains_key("outputs") {
            let words = part("result").as_str().unwrap_or_default();
            return Text { stdout: handed_over_text(part("outputs"), words), ..Text::default() };
        }
        data_text(part("data"))
    }

    /// The node's report, with where it ran.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut out = self.report.clone();
        out.insert("item_id".into(), json!(self.item));
        out.insert("thread_id".into(), self.run.clone().into());
        out.insert("remote".into(), json!({"name": self.remote, "node": self.node}));
        if !self.left_out.is_empty() {
            out.insert("inputs_left_out".into(), self.left_out.clone().into());
        }
        out
    }
}
