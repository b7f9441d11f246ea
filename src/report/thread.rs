//! The report of a thread.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::report::{Warned, metadata};
use super::text::{Text, waits_text};
use crate::base::json::{self, object};
use crate::base::text::escape;
use crate::diagnostic::Paint;
use crate::id::Ref;
use crate::thread::Awaited;

/// A directive that ran as a thread and did what it was asked for, or waits for a person.
#[derive(Debug)]
pub(crate) struct ThreadReport {
    pub(crate) item: Ref,
    pub(crate) thread_id: String,
    /// The last words of the model.
    pub(crate) result: String,
    pub(crate) outputs: Map<String, Value>,
    /// The guardrail that replaced both.
    pub(crate) replaced_by: Option<Ref>,
    /// Its use, that of the threads below it included.
    pub(crate) cost: Map<String, Value>,
    pub(crate) warnings: Vec<Warned>,
    /// Further messages for the caller that started it, about it and the threads below it, as
    /// sentences.
    pub(crate) told: Vec<String>,
    /// The request or the run that it waits for.
    pub(crate) awaited: Option<Box<Awaited>>,
}

impl ThreadReport {
    /// As threads 1 says; the ids are plain there.
    pub(super) fn to_json(&self, elapsed: Duration) -> Map<String, Value> {
        let directive = self.item.id.as_str();
        if let Some(awaited) = &self.awaited {
            return object(json!({
                "status": "pending", "type": "directive", "item_id": directive,
                "thread_id": self.thread_id, "directive": directive,
                "pending": awaited.to_json(), "cost": self.cost, "metadata": metadata(elapsed),
            }));
        }
        let mut told = object(json!({
            "status": "success", "type": "directive", "item_id": directive,
            "thread_id": self.thread_id, "directive": directive, "result": self.result,
            "outputs": self.outputs, "cost": self.cost, "metadata": metadata(elapsed),
        }));
        if let Some(eval) = &self.replaced_by {
            told.insert("replaced_by".into(), eval.to_string().into());
        }
        told
    }

    /// The outputs as JSON, or without any the last words.
    pub(super) fn to_text(&self, paint: Paint) -> Text {
        if let Some(awaited) = &self.awaited {
            let Awaited { item_id, pending_id, reason, message, .. } = &**awaited;
            let stdout = waits_text(item_id, pending_id, reason, message, paint);
            return Text { stdout, stderr: String::new() };
        }
        let stdout = handed_over_text(&self.outputs.clone().into(), &self.result);
        Text { stdout, stderr: String::new() }
    }
}

/// The result of a thread: its outputs as JSON, or its last words if it has none. Control
/// characters are escaped, since a terminal may show it.
pub(crate) fn handed_over_text(outputs: &Value, words: &str) -> String {
    let text = match outputs.as_object().is_some_and(|outputs| !outputs.is_empty()) {
        true => json::text(outputs),
        false => escape(words).into_owned(),
    };
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}
