//! The report of a run that goes on in a process of its own.

use serde_json::{Map, Value, json};

use super::report::Warned;
use super::text::Text;
use crate::base::json::object;
use crate::id::{Kind, Ref};

/// A run in a process of its own, which runs or waits for a place.
#[derive(Debug)]
pub(crate) struct DetachedReport {
    pub(crate) item: Ref,
    pub(crate) thread_id: String,
    /// `inline` or `fork`.
    pub(crate) execution_mode: String,
    /// The number of its process; `None` where it waits.
    pub(crate) pid: Option<u32>,
    pub(crate) warnings: Vec<Warned>,
}

impl DetachedReport {
    /// As remote 1 says; of a thread as threads 1 says, where the ids are plain.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let state = if self.pid.is_some() { "running" } else { "created" };
        let is_thread = self.item.kind == Kind::Directive;
        let mut out = object(json!({
            "status": if is_thread { state } else { "success" }, "async": true,
            "thread_id": self.thread_id, "type": self.item.kind, "item_id": self.item,
            "execution_mode": self.execution_mode, "state": state, "pid": self.pid,
        }));
        if is_thread {
            out.insert("item_id".into(), self.item.id.as_str().into());
            out.insert("directive".into(), self.item.id.as_str().into());
        }
        out
    }

    /// The id alone, so that a script can go on with it.
    pub(super) fn to_text(&self) -> Text {
        let stdout = format!("{}\n", self.thread_id);
        let stderr = match self.pid {
            Some(_) => "it runs",
            None => "it waits for a place",
        };
        let stderr = format!("{stderr}; wait for it with `rye thread wait {}`\n", self.thread_id);
        Text { stdout, stderr }
    }
}
