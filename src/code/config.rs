//! The configured limits of snippets.

use std::time::Duration;

use serde_json::{Map, Value};

use super::error::{CodeError, ConfigFault};
use super::tools::SnippetReach;
use crate::base::limits::{CODE_CHAIN, CODE_PATTERNS};
use crate::base::text::{brief_line, near};
use crate::base::time::{as_ms, time_text, time_with_unit};
use crate::id::{Grants, Pattern};

/// Time in milliseconds in which the engine of a snippet itself runs, unless it is configured
/// otherwise.
#[cfg(feature = "code")]
const CODE_ENGINE_MS: u64 = 5_000;

#[cfg(feature = "code")]
const CODE_TIMEOUT_MAX_MS: u64 = 600_000;

/// Time for a snippet with its calls in milliseconds, unless it is configured otherwise, and the
/// most that can be (code-mode 1).
#[cfg(feature = "code")]
const CODE_TIMEOUT_MS: u64 = 120_000;

#[cfg(feature = "code")]
const CODE_OUTPUT_MAX_BYTES: u64 = 8 << 20;

#[cfg(feature = "code")]
const CODE_MEMORY_MAX_MIB: u64 = 1_024;

#[cfg(feature = "code")]
const CODE_CHAIN_MAX: u64 = 1_000;

/// The most of them that can be configured: each call is held in memory until the end.
#[cfg(feature = "code")]
const CODE_CALLS_MAX: u64 = 10_000;

/// Most bytes that a snippet prints and gives, unless it is configured otherwise: a model reads it.
#[cfg(feature = "code")]
const CODE_OUTPUT_BYTES: u64 = 256 << 10;

#[cfg(feature = "code")]
const CODE_MEMORY_MIB: u64 = 64;

/// Calls of tools of one snippet, steps of one chain, and mebibytes of its values, unless it is
/// configured otherwise (code-mode 1).
#[cfg(feature = "code")]
const CODE_CALLS: u64 = 100;

/// The limits of code mode and what a snippet may reach, all of them set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeConfig {
    pub(super) timeout_ms: u64,
    pub(super) engine_ms: u64,
    pub(super) default_language: String,
    pub(super) max_tool_calls: u64,
    pub(super) max_chain_steps: u64,
    pub(super) max_memory_mb: u64,
    pub(super) max_output_bytes: u64,
    /// `None` is whatever the caller may reach.
    pub(super) allowed_tools: Option<Grants>,
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            timeout_ms: CODE_TIMEOUT_MS,
            engine_ms: CODE_ENGINE_MS,
            default_language: "javascript".into(),
            max_tool_calls: CODE_CALLS,
            max_chain_steps: CODE_CHAIN,
            max_memory_mb: CODE_MEMORY_MIB,
            max_output_bytes: CODE_OUTPUT_BYTES,
            allowed_tools: None,
        }
    }
}

/// The fields of a configuration.
const KEYS: [&str; 8] = [
    "timeout",
    "engine_ms",
    "default_language",
    "max_tool_calls",
    "max_chain_steps",
    "max_memory_mb",
    "max_output_bytes",
    "allowed_tools",
];

impl CodeConfig {
    /// Reads a configuration: an object in which a field that is missing or zero has its default.
    /// `timeout` is a number of seconds or a text such as `500ms` or `2m`, `engine_ms` is in
    /// milliseconds, `max_memory_mb` in mebibytes; `allowed_tools` is a list of patterns such as
    /// `tool:acme/**`.
    ///
    /// # Errors
    /// `code.configuration`, which lists every fault.
    pub fn from_json(value: &Value) -> Result<Self, crate::Failure> {
        let mut faults = Faults::default();
        let config = Self::read(value, &mut faults);
        faults.none()?;
        Ok(config)
    }

    /// The same, where what another configuration says may only make it stricter.
    ///
    /// # Errors
    /// `code.configuration`, which lists every fault of the other one.
    pub(crate) fn lowered(mut self, value: &Value) -> Result<Self, crate::Failure> {
        let mut faults = Faults::default();
        let other = Self::read(value, &mut faults);
        faults.none()?;
        let says = |key: &str| {
            value.get(key).is_some_and(|said| !said.is_null() && said.as_f64() != Some(0.0))
        };
        let lower = |key, own: &mut u64, other: u64| {
            if says(key) {
                *own = other.min(*own);
            }
        };
        lower("timeout", &mut self.timeout_ms, other.timeout_ms);
        lower("engine_ms", &mut self.engine_ms, other.engine_ms);
        lower("max_tool_calls", &mut self.max_tool_calls, other.max_tool_calls);
        lower("max_chain_steps", &mut self.max_chain_steps, other.max_chain_steps);
        lower("max_memory_mb", &mut self.max_memory_mb, other.max_memory_mb);
        lower("max_output_bytes", &mut self.max_output_bytes, other.max_output_bytes);
        self.allowed_tools = match (self.allowed_tools, other.allowed_tools) {
            (Some(own), Some(other)) => Some(own.and(other)),
            (own, other) => own.or(other),
        };
        Ok(self)
    }

    /// The language of a snippet that names none.
    pub(crate) fn language(&self) -> &str {
        &self.default_language
    }

    /// The reach of a snippet whose request asks for nothing less.
    pub(crate) fn reach(&self) -> SnippetReach {
        SnippetReach(self.allowed_tools.clone())
    }

    pub(super) fn read(value: &Value, faults: &mut Faults) -> Self {
        let usual = Self::default();
        let Some(map) = fields(value, &KEYS, faults) else { return usual };
        let mut whole =
            |key, most, usual| faults.whole(map, key, most).filter(|n| *n > 0).unwrap_or(usual);
        Self {
            engine_ms: whole("engine_ms", CODE_TIMEOUT_MAX_MS, usual.engine_ms),
            max_tool_calls: whole("max_tool_calls", CODE_CALLS_MAX, usual.max_tool_calls),
            max_chain_steps: whole("max_chain_steps", CODE_CHAIN_MAX, usual.max_chain_steps),
            max_memory_mb: whole("max_memory_mb", CODE_MEMORY_MAX_MIB, usual.max_memory_mb),
            max_output_bytes: whole(
                "max_output_bytes",
                CODE_OUTPUT_MAX_BYTES,
                usual.max_output_bytes,
            ),
            timeout_ms: faults
                .time(map, "timeout", CODE_TIMEOUT_MAX_MS)
                .unwrap_or(usual.timeout_ms),
            default_language: faults
                .text(map, "default_language")
                .filter(|text| !text.is_empty())
                .unwrap_or(usual.default_language),
            allowed_tools: faults.patterns(map, "allowed_tools").map(Grants::new),
        }
    }
}

/// The fields of an object, of which unknown ones are faults; `None` for null, which has none.
pub(super) fn fields<'v>(
    value: &'v Value,
    known: &[&str],
    faults: &mut Faults,
) -> Option<&'v Map<String, Value>> {
    let map = match value {
        Value::Null => return None,
        Value::Object(map) => map,
        _ => {
            faults.add("", "it is not an object".into());
            return None;
        }
    };
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        let meant = match near(key, known.iter().copied(), 1).pop() {
            Some(meant) => format!("it is not a field; did you mean `{meant}`?"),
            None => format!("it is not a field: they are `{}`", known.join("`, `")),
        };
        faults.add(&brief_line(key), meant);
    }
    Some(map)
}

/// Everything that is wrong with a configuration or a request.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<ConfigFault>);

impl Faults {
    pub(super) fn add(&mut self, field: &str, why: String) {
        // A bounded number of faults is reported.
        if self.0.len() < CODE_PATTERNS {
            self.0.push(ConfigFault { field: field.to_owned(), why });
        }
    }

    /// # Errors
    /// `code.configuration`, where there is one.
    pub(super) fn none(self) -> Result<(), CodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(CodeError::Configuration { faults: self.0 }) }
    }

    /// A whole number from 0 to `most`; zero and a missing one are both `None`, the default.
    pub(super) fn whole(&mut self, map: &Map<String, Value>, key: &str, most: u64) -> Option<u64> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let why = match (value.as_u64(), value.as_number()) {
            (Some(0), _) => return None,
            (Some(number), _) if number <= most => return Some(number),
            (Some(_), _) => format!("it is more than {most}, which is the most"),
            (None, Some(number)) if number.to_string().starts_with('-') => {
                "it is negative".to_owned()
            }
            (None, Some(_)) => format!("it is not a whole number from 0 to {most}"),
            (None, None) => "it is not a number".to_owned(),
        };
        self.add(key, why);
        None
    }

    /// A time in milliseconds: a number of seconds or a text with its unit.
    pub(super) fn time(
        &mut self,
        map: &Map<String, Value>,
        key: &str,
        most_ms: u64,
    ) -> Option<u64> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let time = match value {
            Value::Number(number) => {
                let seconds = number.as_f64().unwrap_or(f64::INFINITY);
                if seconds == 0.0 {
                    return None;
                }
                Duration::try_from_secs_f64(seconds).ok()
            }
            Value::String(text) => time_with_unit(text),
            _ => None,
        };
        let ms = time.map(as_ms).filter(|ms| *ms > 0);
        match ms {
            Some(ms) if ms <= most_ms => return Some(ms),
            Some(_) => self
                .add(key, format!("it is more than {}", time_text(Duration::from_millis(most_ms)))),
            None => self.add(key, "it is not a time that can pass, such as `10`, `2m`".into()),
        }
        None
    }

    pub(super) fn text(&mut self, map: &Map<String, Value>, key: &str) -> Option<String> {
        match map.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => {
                self.add(key, "it is not a text".into());
                None
            }
        }
    }

    /// Patterns; an empty list is one that lets nothing in.
    pub(super) fn patterns(&mut self, map: &Map<String, Value>, key: &str) -> Option<Vec<Pattern>> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let Some(list) = value.as_array().filter(|list| list.len() <= CODE_PATTERNS) else {
            self.add(key, format!("it is not a list of at most {CODE_PATTERNS} patterns"));
            return None;
        };
        let mut patterns = Vec::new();
        for one in list {
            match one.as_str().map(str::parse::<Pattern>) {
                Some(Ok(pattern)) => patterns.push(pattern),
                Some(Err(why)) => {
                    let shown = brief_line(one.as_str().unwrap_or_default());
                    self.add(key, format!("`{shown}`: {why}"));
                }
                None => self.add(key, "one of its patterns is not a text".into()),
            }
        }
        Some(patterns)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CodeConfig;
    use crate::diagnostic::Failure;

    fn told(value: &Value) -> Result<CodeConfig, Vec<String>> {
        CodeConfig::from_json(value).map_err(|failure: Failure| {
            assert_eq!((failure.code(), failure.reason().exit_status()), ("code.configuration", 2));
            let faults = failure.diagnostic().data["faults"].clone();
            let faults = faults.as_array().unwrap().iter();
            faults.map(|fault| fault["field"].as_str().unwrap().to_owned()).collect()
        })
    }

    #[test]
    fn what_is_missing_or_zero_has_its_default() {
        let usual = CodeConfig::default();
        assert_eq!((usual.timeout_ms, usual.engine_ms), (120_000, 5_000));
        assert_eq!((usual.max_tool_calls, usual.max_chain_steps), (100, 20));
        assert_eq!((usual.max_memory_mb, usual.max_output_bytes), (64, 256 << 10));
        for same in [
            json!(null),
            json!({}),
            json!({"timeout": 0, "engine_ms": 0, "max_tool_calls": 0, "max_chain_steps": 0}),
            json!({"max_memory_mb": 0, "max_output_bytes": 0, "default_language": "", "allowed_tools": null}),
        ] {
            assert_eq!(told(&same), Ok(usual.clone()), "{same}");
        }
    }

    #[test]
    fn what_is_set_counts() {
        let set = told(&json!({
            "timeout": "2m", "engine_ms": 7, "max_tool_calls": 3, "max_chain_steps": 2,
            "max_memory_mb": 16, "max_output_bytes": 1024, "default_language": "typescript",
            "allowed_tools": ["tool:acme/*"],
        }));
        let set = set.unwrap();
        assert_eq!((set.timeout_ms, set.engine_ms, set.max_tool_calls), (120_000, 7, 3));
        assert_eq!(set.allowed_tools.unwrap().to_texts(), [["tool:acme/*"]]);
        assert_eq!(told(&json!({"timeout": 1.5})).unwrap().timeout_ms, 1500);
        let nothing = told(&json!({"allowed_tools": []})).unwrap().allowed_tools.unwrap();
        assert_eq!(nothing.to_texts(), [[""; 0]]);
    }

    #[test]
    fn another_configuration_only_makes_it_stricter() {
        let own = || told(&json!({"max_tool_calls": 50, "allowed_tools": ["tool:a/*"]})).unwrap();
        let lowered = |value: Value| own().lowered(&value).unwrap();
        assert_eq!(lowered(json!({"max_tool_calls": 10})).max_tool_calls, 10);
        assert_eq!(lowered(json!({"timeout": "5s"})).timeout_ms, 5_000);
        for same in [
            json!({"max_tool_calls": 90, "timeout": "9m"}),
            json!({}),
            json!({"max_tool_calls": 0}),
        ] {
            assert_eq!(lowered(same.clone()), own(), "{same}");
        }
        let both = lowered(json!({"allowed_tools": ["tool:**"]})).allowed_tools.unwrap();
        assert_eq!(both.to_texts(), [["tool:a/*"], ["tool:**"]]);
        assert!(own().lowered(&json!({"max_tool_calls": -1})).is_err());
    }

    #[test]
    fn every_fault_is_told_at_once_table() {
        let rows = [
            (json!([]), vec![""]),
            (json!("x"), vec![""]),
            (json!({"timeot": 1}), vec!["timeot"]),
            (json!({"timeout": -1}), vec!["timeout"]),
            (json!({"timeout": "0"}), vec!["timeout"]),
            (json!({"timeout": "11m"}), vec!["timeout"]),
            (json!({"timeout": 1e300}), vec!["timeout"]),
            (json!({"timeout": true}), vec!["timeout"]),
            (json!({"engine_ms": 1.5}), vec!["engine_ms"]),
            (json!({"engine_ms": -0.5, "max_tool_calls": -1}), vec!["engine_ms", "max_tool_calls"]),
            (json!({"max_tool_calls": "5"}), vec!["max_tool_calls"]),
            (json!({"max_tool_calls": 18_446_744_073_709_551_615_u64}), vec!["max_tool_calls"]),
            (json!({"max_memory_mb": 1e9}), vec!["max_memory_mb"]),
            (json!({"max_output_bytes": [], "x": 1}), vec!["x", "max_output_bytes"]),
            (json!({"default_language": 5}), vec!["default_language"]),
            (json!({"allowed_tools": "tool:a"}), vec!["allowed_tools"]),
            (
                json!({"allowed_tools": [1, "a b", "tool:x"]}),
                vec!["allowed_tools", "allowed_tools"],
            ),
        ];
        for (value, want) in rows {
            assert_eq!(told(&value).unwrap_err(), want, "{value}");
        }
    }
}
