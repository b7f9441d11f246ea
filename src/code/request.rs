//! A request to code mode.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::config::{CodeConfig, Faults, fields};
use super::error::CodeError;
use super::tools::SnippetReach;
use crate::base::json_reader::has_private_key;
use crate::base::limits::CODE_BYTES;
use crate::base::time::as_ms;
use crate::id::Grants;

/// One snippet with what it may use: less than what is configured, never more.
///
/// Whatever is put in is judged when it is run, so that every fault is told at once.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct CodeRequest(Value);

/// The fields of a request.
const KEYS: [&str; 7] =
    ["language", "code", "params", "timeout_ms", "engine_ms", "max_tool_calls", "allowed_tools"];

impl CodeRequest {
    /// Runs `code`, in the configured language.
    pub fn new(code: impl Into<String>) -> Self {
        Self(json!({"code": code.into()}))
    }

    /// The request that an object says: `code`, and maybe `language`, `params`, `timeout_ms`,
    /// `engine_ms`, `max_tool_calls` and `allowed_tools`.
    pub fn from_json(value: Value) -> Self {
        Self(value)
    }

    /// Sets the code.
    pub(super) fn with_code(self, code: &str) -> Self {
        self.set("code", code)
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(map) = &mut self.0 {
            map.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Another language than the configured one.
    pub fn language(self, language: impl Into<String>) -> Self {
        self.set("language", language.into())
    }

    /// Sets the value of `params` in the snippet.
    pub fn params(self, params: Map<String, Value>) -> Self {
        self.set("params", params)
    }

    /// Most time, calls of tools included.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set("timeout_ms", as_ms(timeout))
    }

    /// Most time in which the engine itself runs.
    pub fn engine_time(self, time: Duration) -> Self {
        self.set("engine_ms", as_ms(time))
    }

    /// Most calls of tools.
    pub fn max_tool_calls(self, most: u64) -> Self {
        self.set("max_tool_calls", most)
    }

    /// Only tools that one of these patterns matches, such as `tool:acme/**`.
    pub fn allowed_tools(self, patterns: Vec<String>) -> Self {
        self.set("allowed_tools", patterns)
    }
}

/// A request that was judged: what is in force.
#[derive(Debug, Clone)]
pub(super) struct CheckedRequest {
    pub(super) language: String,
    pub(super) code: String,
    pub(super) params: Value,
    pub(super) config: CodeConfig,
    pub(super) reach: SnippetReach,
    /// The limits in the request, as they were written.
    pub(super) requested: Value,
    /// The request itself.
    pub(super) asked_for: Value,
    /// Those of a chain that no snippet is around.
    pub(super) steps: Option<Value>,
}

impl CheckedRequest {
    /// # Errors
    /// `code.configuration`, which lists every fault.
    pub(super) fn judge(
        request: &CodeRequest,
        config: &CodeConfig,
        languages: &[&str],
    ) -> Result<Self, CodeError> {
        let mut faults = Faults::default();
        let empty = Map::new();
        let map = fields(&request.0, &KEYS, &mut faults).unwrap_or(&empty);
        let code = faults.text(map, "code");
        match code.as_deref() {
            None if map.get("code").is_none_or(Value::is_null) => {
                faults.add("code", "there is no code".into());
            }
            Some(text) if text.trim().is_empty() => faults.add("code", "there is no code".into()),
            Some(text) if text.len() > CODE_BYTES => {
                faults.add("code", format!("it has more than {CODE_BYTES} bytes"));
            }
            _ => {}
        }
        let language = faults.text(map, "language").filter(|text| !text.is_empty());
        let field = if language.is_some() { "language" } else { "default_language" };
        let language = language.unwrap_or_else(|| config.default_language.clone());
        if !languages.contains(&language.as_str()) {
            let known = languages.join("`, `");
            faults.add(field, format!("it is not a language that is known: they are `{known}`"));
        }
        let params = match map.get("params") {
            None | Some(Value::Null) => json!({}),
            Some(params) if has_private_key(params) => {
                faults.add("params", "a key of it begins with `$serde_json::private::`".into());
                json!({})
            }
            Some(params @ Value::Object(_)) => params.clone(),
            Some(_) => {
                faults.add("params", "it is not an object".into());
                json!({})
            }
        };
        let mut whole = |key, most| faults.whole(map, key, most).unwrap_or(most);
        let settled = CodeConfig {
            timeout_ms: whole("timeout_ms", config.timeout_ms),
            engine_ms: whole("engine_ms", config.engine_ms),
            max_tool_calls: whole("max_tool_calls", config.max_tool_calls),
            ..config.clone()
        };
        let grants = config.allowed_tools.clone();
        let grants = match (grants, faults.patterns(map, "allowed_tools")) {
            (Some(grants), Some(asked)) => Some(grants.narrowed(asked)),
            (None, Some(asked)) => Some(Grants::new(asked)),
            (grants, None) => grants,
        };
        faults.none()?;
        Ok(Self {
            language,
            code: code.unwrap_or_default(),
            params,
            config: settled,
            reach: SnippetReach(grants),
            requested: requested(map),
            asked_for: request.0.clone(),
            steps: None,
        })
    }
}

fn requested(map: &Map<String, Value>) -> Value {
    let limits = ["timeout_ms", "engine_ms", "max_tool_calls", "allowed_tools"];
    let said = limits.iter().filter_map(|key| Some(((*key).to_owned(), map.get(*key)?.clone())));
    Value::Object(said.collect())
}

/// The limits in a request that was refused, as far as they can be read.
pub(super) fn requested_of(request: &CodeRequest) -> Value {
    request.0.as_object().map_or_else(|| json!({}), requested)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CheckedRequest, CodeConfig, CodeError, CodeRequest};

    fn judged(value: Value) -> Result<CheckedRequest, Vec<String>> {
        let config = CodeConfig::from_json(&json!({"max_tool_calls": 10, "timeout": 60}));
        let request = CodeRequest::from_json(value);
        CheckedRequest::judge(&request, &config.unwrap(), &["javascript"]).map_err(|error| {
            match error {
                CodeError::Configuration { faults } => {
                    faults.into_iter().map(|f| f.field).collect()
                }
                other => vec![other.to_string()],
            }
        })
    }

    #[test]
    fn a_request_may_lower_a_limit_and_never_raise_it() {
        let settled = judged(json!({"code": "1", "max_tool_calls": 3, "timeout_ms": 50})).unwrap();
        assert_eq!((settled.config.max_tool_calls, settled.config.timeout_ms), (3, 50));
        assert_eq!(settled.requested, json!({"max_tool_calls": 3, "timeout_ms": 50}));
        let settled = judged(json!({"code": "1", "max_tool_calls": 0})).unwrap();
        assert_eq!((settled.config.max_tool_calls, settled.config.timeout_ms), (10, 60_000));
        assert_eq!(
            judged(json!({"code": "1", "max_tool_calls": 11, "timeout_ms": 60_001})).unwrap_err(),
            ["timeout_ms", "max_tool_calls"]
        );
    }

    #[test]
    fn every_fault_of_a_request_is_told_at_once_table() {
        for (value, want) in [
            (json!({}), vec!["code"]),
            (json!(null), vec!["code"]),
            (json!([]), vec!["", "code"]),
            (json!({"code": ""}), vec!["code"]),
            (json!({"code": " \n"}), vec!["code"]),
            (json!({"code": 5}), vec!["code"]),
            (json!({"code": "1", "language": "cobol"}), vec!["language"]),
            (json!({"code": "1", "language": 5}), vec!["language"]),
            (json!({"code": "1", "params": []}), vec!["params"]),
            (json!({"code": "1", "timeout_ms": -1}), vec!["timeout_ms"]),
            (
                json!({"language": "x", "max_tool_calls": -1, "params": 1, "y": 2}),
                vec!["y", "code", "language", "params", "max_tool_calls"],
            ),
        ] {
            assert_eq!(judged(value.clone()).unwrap_err(), want, "{value}");
        }
    }

    #[test]
    fn what_is_in_reach_is_what_the_configuration_and_the_request_both_let_in() {
        let config = CodeConfig::from_json(&json!({"allowed_tools": ["tool:a/*", "tool:b/x"]}));
        let asked = CodeRequest::new("1").allowed_tools(vec!["tool:a/x".into(), "tool:c/x".into()]);
        let reach = CheckedRequest::judge(&asked, &config.unwrap(), &["javascript"]).unwrap().reach;
        for (id, want) in [("a/x", true), ("a/y", false), ("b/x", false), ("c/x", false)] {
            assert_eq!(reach.allows(id), want, "{id}");
        }
    }
}
