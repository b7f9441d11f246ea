//! What the signed links say about running, merged key by key: tool over runtime over primitive.

use serde_json::{Map, Value};

use super::error::PlanError;
use crate::base::limits::TIMEOUT_MAX_MS;
use crate::chain::Chain;

/// The execution keys of a chain's `config` blocks. They come from signed items only; parameters
/// have another type and never meet them.
pub(super) struct Execution {
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) cwd: String,
    pub(super) input_data: Value,
    pub(super) timeout_ms: u64,
}

impl Execution {
    /// Every template, as text.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let input = strings(&self.input_data);
        let fixed = self.args.iter().chain([&self.cwd]).chain(&self.command);
        fixed.map(String::as_str).chain(input)
    }

    /// # Errors
    /// `plan.bad_config`
    pub(super) fn of(chain: &Chain, default_timeout_ms: u64) -> Result<Self, PlanError> {
        let mut merged: Map<String, Value> = Map::new();
        for link in chain.links().iter().rev() {
            for (key, value) in &link.tool.config {
                merged.insert(key.clone(), value.clone());
            }
        }
        Self::read(&merged, default_timeout_ms).map_err(|(pointer, why)| PlanError::BadConfig {
            item: chain.tool().item().clone(),
            pointer,
            why: why.to_owned(),
        })
    }

    /// The keys of one map; a pointer and a sentence for what is wrong.
    pub(super) fn read(
        merged: &Map<String, Value>,
        default_timeout_ms: u64,
    ) -> Result<Self, (&'static str, &'static str)> {
        let bad = |pointer, why| (pointer, why);
        let text = |key: &str, pointer: &'static str| match merged.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad(pointer, "is no text")),
        };
        let args = match merged.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) => args
                .iter()
                .map(|arg| match arg {
                    Value::String(text) => Ok(text.clone()),
                    Value::Number(number) => Ok(number.to_string()),
                    _ => Err(bad("/config/args", "holds something that is no text")),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(bad("/config/args", "is no list")),
        };
        let timeout_ms = match merged.get("timeout_ms") {
            None | Some(Value::Null) => default_timeout_ms,
            Some(value) => match value.as_u64() {
                Some(ms) if (1..=TIMEOUT_MAX_MS).contains(&ms) => ms,
                _ => {
                    return Err(bad(
                        "/config/timeout_ms",
                        "is no number of milliseconds up to a day",
                    ));
                }
            },
        };
        Ok(Self {
            command: text("command", "/config/command")?,
            args,
            cwd: text("cwd", "/config/cwd")?.unwrap_or_else(|| "{project_path}".into()),
            input_data: merged.get("input_data").cloned().unwrap_or_else(|| "{params_json}".into()),
            timeout_ms,
        })
    }
}

/// The strings of a value, at any depth; keys are no templates.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
