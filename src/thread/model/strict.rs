//! Which schemas of tools a server of chat completions can hold a model to (`strict`).

use serde_json::{Map, Value};

/// Levels of a schema, which is as many as such servers take.
const LEVELS: usize = 10;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

const FORMATS: [&str; 9] =
    ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

/// Keywords that hold no schema, whose value is not checked.
const PLAIN: [&str; 13] = [
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "title",
];

/// Returns true if the schema is one that `strict` asks for: an object, in which each object names
/// all of its properties as required and lets no other in, of words that such servers know. Any
/// other schema is sent without `strict`.
pub(super) fn fits_strict(schema: &Value) -> bool {
    schema["type"] == "object" && is_strict(schema, LEVELS)
}

fn is_strict(schema: &Value, levels: usize) -> bool {
    let (Some(schema), Some(below)) = (schema.as_object(), levels.checked_sub(1)) else {
        return false;
    };
    let parts = |list: &Value| {
        list.as_array().is_some_and(|list| list.iter().all(|part| is_strict(part, below)))
    };
    let is_known = schema.iter().all(|(word, said)| match word.as_str() {
        "type" => is_type(said),
        "anyOf" => parts(said),
        "items" => is_strict(said, below),
        "properties" => {
            said.as_object().is_some_and(|parts| parts.values().all(|part| is_strict(part, below)))
        }
        "additionalProperties" => *said == false,
        "format" => said.as_str().is_some_and(|format| FORMATS.contains(&format)),
        word => PLAIN.contains(&word),
    });
    let says_what = schema.contains_key("type") || schema.contains_key("anyOf");
    is_known && says_what && (!is_of_objects(schema) || is_closed(schema))
}

fn is_type(said: &Value) -> bool {
    let is_one = |said: &Value| said.as_str().is_some_and(|name| TYPES.contains(&name));
    is_one(said) || said.as_array().is_some_and(|all| all.iter().all(is_one))
}

fn is_of_objects(schema: &Map<String, Value>) -> bool {
    let said = schema.get("type").unwrap_or(&Value::Null);
    *said == "object"
        || said.as_array().is_some_and(|all| all.iter().any(|one| one == "object"))
        || schema.contains_key("properties")
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| {
        required.is_some_and(|required| required.iter().any(|one| one.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties").is_some_and(|said| *said == false)
        && properties.is_none_or(|properties| properties.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use super::fits_strict;
    use serde_json::{Value, json};

    fn of(properties: &Value, required: &Value) -> Value {
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    }

    #[test]
    fn a_schema_is_strict_where_all_of_it_is_said_and_known_table() {
        let text = || json!({"type": "string"});
        let with = |word: &str, said: Value| {
            let mut part = text();
            part[word] = said;
            of(&json!({"a": part}), &json!(["a"]))
        };
        let inner = of(&json!({"b": text()}), &json!(["b"]));
        let mut deep = text();
        for _ in 0..9 {
            deep = of(&json!({"a": deep}), &json!(["a"]));
        }
        let deeper = of(&json!({"a": deep}), &json!(["a"]));
        let rows = [
            (of(&json!({}), &json!([])), true),
            (of(&json!({"a": text()}), &json!(["a"])), true),
            (of(&json!({"a": text(), "b": text()}), &json!(["a"])), false),
            (json!({"type": "object", "properties": {}}), false),
            (json!({"type": "object", "additionalProperties": true}), false),
            (json!({"type": "object", "additionalProperties": {}}), false),
            (json!({}), false),
            (json!(true), false),
            (text(), false),
            // A property may have any name.
            (of(&json!({"additionalProperties": text()}), &json!(["additionalProperties"])), true),
            (of(&json!({"oneOf": text()}), &json!(["oneOf"])), true),
            (of(&json!({"a": inner}), &json!(["a"])), true),
            (of(&json!({"a": {"type": "object"}}), &json!(["a"])), false),
            (of(&json!({"a": {"type": "array", "items": inner}}), &json!(["a"])), true),
            (of(&json!({"a": {"type": "array", "items": {}}}), &json!(["a"])), false),
            (of(&json!({"a": {"anyOf": [text(), {"type": "null"}]}}), &json!(["a"])), true),
            (of(&json!({"a": {"type": ["string", "null"]}}), &json!(["a"])), true),
            (of(&json!({"a": {"type": ["object", "null"]}}), &json!(["a"])), false),
            (of(&json!({"a": {"type": "text"}}), &json!(["a"])), false),
            (of(&json!({"a": {"enum": [1]}}), &json!(["a"])), false),
            (with("enum", json!(["x"])), true),
            (with("format", json!("date")), true),
            (with("format", json!("regex")), false),
            (with("default", json!("x")), false),
            (with("oneOf", json!([text()])), false),
            (with("$ref", json!("#")), false),
            (deep, true),
            (deeper, false),
        ];
        for (schema, want) in rows {
            assert_eq!(fits_strict(&schema), want, "{schema}");
        }
    }
}
