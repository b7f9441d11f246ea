//! The report of a run that a node carried out.

use serde_json::{Map, Value, json};

use super::report::Warned;
use super::text::{Text, data_text};
use super::thread::handed_over_text;
use crate::execute::{Outcome, ToolFailure};
use crate::id::{Fingerprint, Ref};

/// A run that a node carried out, or goes on with.
#[derive(Debug)]
pub(crate) struct RemoteReport {
    pub(crate) item: Ref,
    /// Its id, there and here.
    pub(crate) run: String,
    pub(crate) remote: String,
    pub(crate) node: Fingerprint,
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
        let text = |key: &str| self.report.get(key).and_then(Value::as_str).unwrap_or_default();
        let failure = self.has_failed().then(|| ToolFailure {
            message: text("error").to_owned(),
            tail: String::new(),
            of: "stderr_tail",
        });
        Outcome::of_answer(self.report.get("data").cloned().unwrap_or_default(), failure)
    }

    /// Takes over what those who judge the outcome made of it.
    pub(crate) fn replace(&mut self, outcome: Outcome) {
        if let Some(data) = self.report.get_mut("data") {
            *data = outcome.data;
        }
        if let Some(failure) = outcome.failure {
            self.report.insert("error".into(), failure.message.into());
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
        out
    }
}
