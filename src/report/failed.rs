//! A failure of any step as text and JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::report::{metadata, plain_ids};
use crate::diagnostic::{Diagnostic, Paint};
use crate::id::Query;
use crate::trace::Recorded;

/// The JSON form of core 7.12.
pub(crate) fn error_json(
    diagnostic: &Diagnostic,
    item: Option<&str>,
    chain: &[String],
    elapsed: Duration,
    trace: Option<&[Recorded]>,
) -> Value {
    let mut out = Map::new();
    out.insert("status".into(), "error".into());
    out.extend(diagnostic.to_json());
    match item.map(|item| (item, item.parse::<Query>().is_ok_and(|query| query.kind.is_some()))) {
        None => {}
        Some((item, true)) => {
            out.insert("item_id".into(), item.into());
        }
        // What was typed and answers nothing is not a ref.
        Some((item, false)) => {
            let data = out.entry("data").or_insert_with(|| json!({}));
            if let Some(data) = data.as_object_mut() {
                data.insert("asked".into(), item.into());
            }
        }
    }
    // Inputs that were declared stand at the top, where an agent looks for them.
    let declared = out
        .get_mut("data")
        .and_then(Value::as_object_mut)
        .and_then(|d| d.remove("declared_inputs"));
    if let Some(declared) = declared {
        out.insert("declared_inputs".into(), declared);
        if out.get("data").and_then(Value::as_object).is_some_and(Map::is_empty) {
            out.remove("data");
        }
    }
    out.insert("chain".into(), plain_ids(chain).into());
    out.insert("metadata".into(), metadata(elapsed).into());
    if let Some(trace) = trace {
        out.insert("trace".into(), json!(trace));
    }
    Value::Object(out)
}

/// The text form.
pub(crate) fn error_text(diagnostic: &Diagnostic, paint: Paint) -> String {
    diagnostic.to_text(paint)
}
