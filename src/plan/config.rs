//! The `config` of the signed links, merged key by key: tool over runtime over primitive.

use serde_json::{Map, Value};

use super::error::PlanError;
use crate::base::durations::TIMEOUT_MAX_MS;
use crate::base::time::{TimeKey, as_ms};
use crate::chain::Chain;
use crate::parse::Argument;

/// The execution keys of a chain's `config` blocks. They come from signed items only; parameters
/// have another type and never meet them.
pub(super) struct Execution {
    pub(super) command: Option<String>,
    pub(super) args: Vec<Argument>,
    pub(super) cwd: String,
    pub(super) input_data: Value,
    /// `None` where no link says.
    pub(super) timeout_ms: Option<u64>,
    /// The name of the folders of packages that the tool's code may load from, where you allow it.
    pub(super) packages: Option<String>,
}

impl Execution {
    /// Every template, as text.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let input = strings(&self.input_data);
        let fixed = self.arguments().chain([&self.cwd]).chain(&self.command);
        fixed.map(String::as_str).chain(input)
    }

    /// The templates of the arguments.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &String> {
        self.args.iter().map(|argument| &argument.text)
    }

    /// # Errors
    /// `plan.bad_config`
    pub(super) fn from_config(
        chain: &Chain,
        config: &Map<String, Value>,
    ) -> Result<Self, PlanError> {
        Self::read(config).map_err(|(pointer, why)| PlanError::BadConfig {
            item: chain.tool().item().clone(),
            pointer,
            why,
        })
    }

    /// The keys of one map; a pointer and a sentence for what is wrong.
    pub(super) fn read(merged: &Map<String, Value>) -> Result<Self, Bad> {
        let bad = |pointer, why: &str| (pointer, why.to_owned());
        let text = |key: &str, pointer: &'static str| match merged.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad(pointer, "is not text")),
        };
        let args = match merged.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) => args
                .iter()
                .map(|arg| match arg {
                    Value::Number(number) => Ok(Argument::text(number.to_string())),
                    other => Argument::read(other).ok_or_else(|| {
                        bad(
                            "/config/args",
                            "holds something that is neither text nor `{data: text}`",
                        )
                    }),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(bad("/config/args", "is not a list")),
        };
        Ok(Self {
            command: text("command", "/config/command")?,
            args,
            cwd: text("cwd", "/config/cwd")?.unwrap_or_else(|| "{project_path}".into()),
            input_data: merged.get("input_data").cloned().unwrap_or_else(|| "{params_json}".into()),
            timeout_ms: timeout_ms(merged)?,
            packages: packages(merged)?,
        })
    }
}

/// The `config` blocks of a chain, key by key; the nearest link wins.
pub(super) fn merged(chain: &Chain) -> Map<String, Value> {
    let mut merged = Map::new();
    for link in chain.links().iter().rev() {
        for (key, value) in &link.tool.config {
            // Two ways to write one thing: the nearer link's word counts. That both stand in one
            // link is told where they are read.
            let other = other_spelling(key).filter(|other| !link.tool.config.contains_key(*other));
            drop(other.and_then(|other| merged.remove(other)));
            merged.insert(key.clone(), value.clone());
        }
    }
    merged
}

/// The key that says the same in the other way.
fn other_spelling(key: &str) -> Option<&'static str> {
    Some(match key {
        "timeout" => "timeout_ms",
        "timeout_ms" => "timeout",
        "connect_timeout" => "connect_timeout_ms",
        "connect_timeout_ms" => "connect_timeout",
        _ => return None,
    })
}

const TIMEOUT: TimeKey = TimeKey::of_ms("/config/timeout", "/config/timeout_ms", TIMEOUT_MAX_MS);

/// The time that the links give in milliseconds; `None` where none says.
pub(super) fn timeout_ms(merged: &Map<String, Value>) -> Result<Option<u64>, Bad> {
    TIMEOUT.read(|key| merged.get(key)).map(|time| time.map(as_ms))
}

/// A pointer into the config, and a sentence for what is wrong there.
type Bad = (&'static str, String);

fn packages(merged: &Map<String, Value>) -> Result<Option<String>, Bad> {
    match merged.get("packages") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if name == "node_modules" => Ok(Some(name.clone())),
        Some(_) => Err(("/config/packages", "must be `node_modules`".into())),
    }
}

/// The strings of a value, at any depth; keys are no templates.
pub(super) fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
