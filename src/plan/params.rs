//! The caller's parameters, checked against the tool's schema (core 7.2).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::error::{NearWord, PlanError};
use super::http::{Bad, HTTP_REQUEST};
use super::mcp::MCP_TOOL;
use super::schema::Schema;
use crate::base::canon::exact_object;
use crate::base::limits::{NEAR_NAMES, PARAMS_NODES};
use crate::base::text::near;
use crate::chain::Primitive;
use crate::id::{ItemId, Ref};
use crate::parse::SNIPPET;

/// Parameters that fit the tool's schema, defaults applied. Kept once: a clone is the same object.
///
/// Invariant: one JSON object; made by [`Params::check`], or empty. There is no way from here into
/// a command, an environment or a limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Params(Arc<Map<String, Value>>);

impl Params {
    /// Checks what a caller gave, in at most `time` where one is set.
    ///
    /// # Errors
    /// `plan.invalid_parameters` with every violation; `plan.invalid_schema`; `parse.limit` for
    /// more values, or a check of more steps, than there may be; `execute.timeout`.
    pub(crate) fn check(
        item: &Ref,
        schema: Option<&Value>,
        mut given: Map<String, Value>,
        time: Option<Duration>,
    ) -> Result<Self, PlanError> {
        if too_many(&given) {
            return Err(PlanError::TooManyValues { item: item.clone() });
        }
        let Some(schema) = schema else { return Ok(Self::new(given)) };
        let no_schema = |why| PlanError::InvalidSchema { item: item.clone(), why };
        let compiled = Schema::compile(schema).map_err(no_schema)?;
        apply_defaults(schema, &mut given);
        let value = Value::Object(given);
        let violations = compiled.violations(&value, time);
        let violations =
            violations.map_err(|stop| PlanError::CheckStopped { item: item.clone(), stop })?;
        let Value::Object(given) = value else { return Ok(Self::none()) };
        if violations.is_empty() {
            return Ok(Self::new(given));
        }
        let near = nearest_name(schema, &given).or_else(|| nearest_value(schema, &given));
        let form = wanted_form(schema, &given);
        Err(PlanError::InvalidParameters { item: item.clone(), violations, near, form })
    }

    /// Adds the value that rye itself resolved for the tool.
    pub(super) fn with_config(mut self, config: Value) -> Self {
        Arc::make_mut(&mut self.0).insert("resolved_config".into(), config);
        self
    }

    /// No parameters, where none are looked at.
    pub(crate) fn none() -> Self {
        Self::new(Map::new())
    }

    pub(super) fn new(given: Map<String, Value>) -> Self {
        Self(Arc::new(given))
    }

    pub(crate) fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Compact JSON, in the order in which they were given.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self.as_map()).expect("a map of JSON values is JSON")
    }

    /// The one text of these parameters: keys sorted, every digit of every number kept.
    pub(crate) fn text(&self) -> String {
        exact_object(&self.0)
    }
}

/// A value that was typed as text, as the schema says: where it declares another type than text and
/// the text is JSON of that type, it is that; otherwise it stays text and the schema judges it.
pub(crate) fn typed(schema: Option<&Value>, name: &str, text: &str) -> Value {
    let as_text = || Value::String(text.to_owned());
    let declared = schema
        .and_then(|schema| schema.get("properties")?.get(name)?.get("type"))
        .cloned()
        .unwrap_or(Value::Null);
    let listed =
        schema.and_then(|schema| schema.get("properties")?.get(name)?.get("enum")?.as_array());
    if let (Value::Null, Some(listed), Ok(value)) = (&declared, listed, crate::parse::json(text))
        && !listed.contains(&as_text())
        && listed.contains(&value)
    {
        return value;
    }
    let types: Vec<&str> = match &declared {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if types.is_empty() || types.contains(&"string") {
        return as_text();
    }
    let Ok(value) = crate::parse::json(text) else { return as_text() };
    let fits = |ty: &&str| match *ty {
        "integer" | "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    };
    if types.iter().any(fits) { value } else { as_text() }
}

/// Checks a tool's own `config`, before anything is known of its chain.
///
/// # Errors
/// A pointer and a sentence.
pub(crate) fn check_config(
    executor: Option<&ItemId>,
    config: &Map<String, Value>,
) -> Result<(), Bad> {
    if executor.is_some_and(is_http) {
        return super::http::check(config);
    }
    if executor.is_some_and(|id| id.as_str() == SNIPPET) {
        return check_snippet_config(config);
    }
    let is_mcp =
        |id: &ItemId| id.as_str() == MCP_TOOL || Primitive::from_id(id) == Some(Primitive::Mcp);
    if executor.is_some_and(is_mcp) {
        return super::mcp::check(config);
    }
    super::config::Execution::read(config).map(|_| ())
}

/// The limits of a saved snippet. A build without code mode knows its time alone.
fn check_snippet_config(config: &Map<String, Value>) -> Result<(), Bad> {
    super::config::timeout_ms(config)?;
    #[cfg(feature = "code")]
    {
        let mut limits = config.clone();
        limits.retain(|key, _| key != "timeout" && key != "timeout_ms");
        crate::code::CodeConfig::from_json(&limits.into())
            .map_err(|failure| ("/config", format!("is not valid: {failure}")))?;
    }
    Ok(())
}

/// Returns true if a tool with this executor is one HTTP request.
fn is_http(executor: &ItemId) -> bool {
    executor.as_str() == HTTP_REQUEST || Primitive::from_id(executor) == Some(Primitive::HttpClient)
}

/// The names in a request's body that stand for something besides parameters.
pub(super) const BODY_NAMES: [&str; 5] =
    ["item_dir", "project_path", "user_space", "system_space", "params_json"];

/// The names in the body of a tool that is one HTTP request that stand for nothing, each once with
/// the parameters that may have been meant; for signing. Without a schema anything may be given.
pub(crate) fn unknown_names(
    executor: Option<&ItemId>,
    schema: Option<&Value>,
    config: &Map<String, Value>,
) -> Vec<(String, Vec<String>)> {
    let is_request = executor.is_some_and(is_http);
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let (Some(body), Some(properties), true) = (config.get("body"), properties, is_request) else {
        return Vec::new();
    };
    let known = || properties.keys().map(String::as_str).chain(BODY_NAMES);
    let mut unknown = Vec::new();
    for text in super::config::strings(body) {
        for name in super::template::names(text) {
            let named = known().any(|known| known == name);
            if !named && !unknown.iter().any(|(other, _)| other == name) {
                unknown.push((name.to_owned(), near(name, known(), NEAR_NAMES)));
            }
        }
    }
    unknown
}

/// Checks that the schema can be used at all; for signing.
///
/// # Errors
/// One sentence.
pub(crate) fn check_schema(schema: &Value) -> Result<(), String> {
    Schema::compile(schema).map(drop).map_err(|why| why.to_string())
}

/// The faults of a schema's examples; for signing.
pub(crate) fn check_examples(schema: &Value, examples: &[Value]) -> Vec<String> {
    let Ok(schema) = Schema::compile(schema) else { return Vec::new() };
    let mut faults = Vec::new();
    for (i, example) in examples.iter().enumerate() {
        match schema.violations(example, None) {
            Ok(found) => faults.extend(
                found.iter().map(|v| format!("example {}: {}: {}", i + 1, v.pointer, v.message)),
            ),
            Err(stop) => return vec![format!("example {}: checking it {stop}", i + 1)],
        }
    }
    faults
}

/// The misfits of a value to a schema, one sentence each.
///
/// # Errors
/// One sentence, for a schema that cannot be used.
pub(crate) fn misfits(schema: &Value, value: &Value) -> Result<Vec<String>, String> {
    let schema = Schema::compile(schema).map_err(|why| why.to_string())?;
    let found = schema.violations(value, None).map_err(|stop| format!("checking it {stop}"))?;
    Ok(found.into_iter().map(|it| format!("`{}`: {}", it.pointer, it.message)).collect())
}

/// Returns true if these are more values than parameters may have.
fn too_many(given: &Map<String, Value>) -> bool {
    fn count(value: &Value, left: &mut usize) -> bool {
        match left.checked_sub(1) {
            None => return false,
            Some(less) => *left = less,
        }
        match value {
            Value::Array(items) => items.iter().all(|item| count(item, left)),
            Value::Object(map) => map.values().all(|value| count(value, left)),
            _ => true,
        }
    }
    let mut left = PARAMS_NODES;
    !given.values().all(|value| count(value, &mut left))
}

/// Fills in `default`s of absent properties, also inside objects that are there.
fn apply_defaults(schema: &Value, object: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        match object.get_mut(name) {
            Some(Value::Object(inner)) => apply_defaults(property, inner),
            Some(_) => {}
            None => {
                if let Some(default) = property.get("default") {
                    object.insert(name.clone(), default.clone());
                }
            }
        }
    }
}

/// The declared name nearest to one that was given and is not declared.
fn nearest_name(schema: &Value, given: &Map<String, Value>) -> Option<NearWord> {
    let declared = schema.get("properties").and_then(Value::as_object)?;
    given.keys().filter(|name| !declared.contains_key(*name)).find_map(|unknown| {
        let known = near(unknown, declared.keys().map(String::as_str), 1).pop()?;
        Some(NearWord { given: unknown.clone(), known })
    })
}

/// A parameter that was given as text and is not one, and what such a value looks like.
fn wanted_form(schema: &Value, given: &Map<String, Value>) -> Option<(String, &'static str)> {
    let declared = schema.get("properties").and_then(Value::as_object)?;
    given.iter().filter(|(_, value)| value.is_string()).find_map(|(name, _)| {
        let form = match declared.get(name)?.get("type")?.as_str()? {
            "array" => "a list in JSON, such as `[\"a\", \"b\"]`",
            "object" => "an object in JSON, such as `{\"a\": 1}`",
            "boolean" => "`true` or `false`",
            "integer" => "a whole number, such as `3`",
            "number" => "a number, such as `1.5`",
            _ => return None,
        };
        Some((name.clone(), form))
    })
}

/// The listed value nearest to one that was given and is none of them, also in lists.
fn nearest_value(schema: &Value, given: &Map<String, Value>) -> Option<NearWord> {
    let declared = schema.get("properties").and_then(Value::as_object)?;
    given.iter().find_map(|(name, value)| {
        let property = declared.get(name)?;
        match value {
            Value::String(text) => nearest_of(property, text),
            Value::Array(items) => {
                let property = property.get("items")?;
                items.iter().filter_map(Value::as_str).find_map(|text| nearest_of(property, text))
            }
            Value::Object(inner) => nearest_value(property, inner),
            _ => None,
        }
    })
}

fn nearest_of(property: &Value, text: &str) -> Option<NearWord> {
    let listed: Vec<&str> = match property.get("enum").and_then(Value::as_array) {
        Some(listed) => listed.iter().filter_map(Value::as_str).collect(),
        None if property.get("type").is_some_and(|ty| ty == "boolean") => vec!["true", "false"],
        None => return None,
    };
    if listed.contains(&text) {
        return None;
    }
    let known = near(text, listed.into_iter(), 1).pop()?;
    Some(NearWord { given: text.to_owned(), known })
}

#[cfg(test)]
mod tests {
    use super::Params;
    use serde_json::{Value, json};

    fn check(schema: &Value, given: Value) -> Result<Value, String> {
        let Value::Object(given) = given else { panic!("an object") };
        let item = "tool:a/b".parse().unwrap();
        let params = Params::check(&item, Some(schema), given, None).map_err(|e| e.to_string())?;
        Ok(Value::Object(params.as_map().clone()))
    }

    #[test]
    fn defaults_are_applied_and_every_violation_is_listed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer", "default": 3},
                "o": {"type": "object", "properties": {"x": {"default": "y"}}},
            },
            "required": ["p"],
            "additionalProperties": false,
        });
        let error = check(&schema, json!({"n": "x", "q": 1})).unwrap_err();
        assert!(error.contains("/n: "), "{error}");
        assert!(error.contains("\"p\""), "{error}");
        assert!(error.contains("'q'"), "{error}");
        let open = json!({"properties": schema["properties"].clone()});
        let got = check(&open, json!({"o": {}})).unwrap();
        assert_eq!(got, json!({"o": {"x": "y"}, "n": 3}));
    }

    #[test]
    fn typed_text_table() {
        let schema = json!({"properties": {
            "i": {"type": "integer"}, "b": {"type": "boolean"}, "s": {"type": "string"},
            "e": {"enum": [1, "2"]}, "a": {"type": "array"}, "u": {"type": ["null", "string"]}, "n": {"type": ["null", "number"]},
        }});
        let rows = [
            ("i", "7", json!(7)),
            ("i", "x", json!("x")),
            ("i", "true", json!("true")),
            ("b", "true", json!(true)),
            ("s", "7", json!("7")),
            ("a", "[1]", json!([1])),
            ("u", "null", json!("null")),
            ("n", "null", json!(null)),
            ("n", "1e2", json!("1e2")),
            ("other", "7", json!("7")),
            ("e", "1", json!(1)),
            ("e", "2", json!("2")),
            ("e", "3", json!("3")),
        ];
        for (name, text, want) in rows {
            let got = super::typed(Some(&schema), name, text);
            if (name, text) == ("n", "1e2") {
                assert!(got.is_number());
            } else {
                assert_eq!(got, want, "{name}={text}");
            }
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let given: Value =
            serde_json::from_str(r#"{"a": 12345678901234567890123, "b": 1e999, "c": 0.10}"#)
                .unwrap();
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        let got = check(&schema, given).unwrap().to_string();
        assert_eq!(
            got,
            r#"{"a":12345678901234567890123,"b":1e+999,"c":0.10}"#
                .replace("e+", if got.contains("e+") { "e+" } else { "e" })
        );
    }

    #[test]
    fn a_schema_that_reaches_outside_is_refused() {
        for reference in ["file:///etc/passwd", "http://localhost/x.json", "other.json"] {
            let error = check(&json!({"$ref": reference}), json!({})).unwrap_err();
            assert!(error.contains("rye does not fetch"), "{reference}: {error}");
        }
        assert!(check(&json!({"type": 7}), json!({})).unwrap_err().contains("not a JSON Schema"));
    }
}
