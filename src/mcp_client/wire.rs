//! Messages of MCP, and what a server says of a tool.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::exec_protocol::{Answer, message};
use crate::execute::{McpFault, ToolChange};
use crate::plan::McpTool;

/// The protocol that is asked for, and those that are understood.
pub(super) const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The protocol without sessions, which is asked for where a server begins none.
pub(super) const STATELESS: &str = "2026-07-28";

/// The fields of a tool: their names here and in `tools/list`.
const FIELDS: [(&str, &str); 6] = [
    ("title", "title"),
    ("description", "description"),
    ("input_schema", "inputSchema"),
    ("output_schema", "outputSchema"),
    ("annotations", "annotations"),
    ("icons", "icons"),
];

/// Differences of one tool that are told, and how deep they are looked for.
const CHANGES: usize = 20;
const DEPTH: usize = 16;

pub(super) fn bad(why: impl Into<String>) -> McpFault {
    McpFault::BadAnswer { why: why.into() }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The parameters of a request without a session, which say who asks and how.
pub(super) fn stateless(mut params: Value) -> Value {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    params["_meta"] = json!({
        key("protocolVersion"): STATELESS, key("clientInfo"): client(),
        key("clientCapabilities"): {},
    });
    params
}

/// The name and version that rye gives to servers.
pub(super) fn client() -> Value {
    json!({"name": "rye", "version": env!("CARGO_PKG_VERSION")})
}

/// The headers that carry those arguments of a call whose schema says so (`x-mcp-header`).
pub(super) fn argument_headers(schema: Option<&Value>, arguments: &Value) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let Some(value) = arguments.get(name) else { continue };
        headers.extend(argument_headers(Some(schema), value));
        let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) else { continue };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => continue,
        };
        headers.push((format!("mcp-param-{}", header.to_ascii_lowercase()), header_value(&text)));
    }
    headers
}

/// Why an argument cannot be sent as the header that its schema names, by the rules of the
/// protocol; `known` are the names so far.
fn bad_header(schema: &Value, known: &mut BTreeSet<String>) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().find_map(|(argument, schema)| {
        let Some(header) = schema.get("x-mcp-header") else { return bad_header(schema, known) };
        let name = header.as_str().unwrap_or_default().to_ascii_lowercase();
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        let why = if name.is_empty() || !name.bytes().all(is_plain) {
            "has no name of a header at `x-mcp-header`"
        } else if !["string", "integer", "boolean"].contains(&kind) {
            "is of a type that no header can hold"
        } else if !known.insert(name) {
            "names a header twice"
        } else {
            return None;
        };
        Some(format!("its argument `{argument}` {why}"))
    })
}

/// A text as a header may hold it.
pub(super) fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match is_plain && text.trim() == text && !text.starts_with("=?base64?") {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    }
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The meaning of a message of a server for the call that waits for an answer.
pub(super) enum Heard {
    Answer(Map<String, Value>),
    /// The list of tools is another one.
    ListChanged,
    /// A request of the server, and what is answered.
    Asked(Value),
    Nothing,
}

/// # Errors
/// `mcp.bad_answer`
pub(super) fn heard(text: &str, id: u64) -> Result<Heard, McpFault> {
    let message = message(text).map_err(bad)?;
    let Value::Object(mut map) = message else { return Err(bad("it is not a JSON object")) };
    let method = map.get("method").and_then(Value::as_str);
    match (method, map.get("id").filter(|id| !id.is_null())) {
        (Some("notifications/tools/list_changed"), None) => Ok(Heard::ListChanged),
        (Some(_), None) => Ok(Heard::Nothing),
        (Some("ping"), Some(of)) => {
            Ok(Heard::Asked(json!({"jsonrpc": "2.0", "id": of, "result": {}})))
        }
        (Some(_), Some(of)) => {
            let error = json!({"code": -32601, "message": "this client offers nothing"});
            Ok(Heard::Asked(json!({"jsonrpc": "2.0", "id": of, "error": error})))
        }
        (None, Some(of)) if is_id(of, id) => {
            map.remove("jsonrpc");
            Ok(Heard::Answer(map))
        }
        (None, _) => Ok(Heard::Nothing),
    }
}

/// Some servers give a number back as text, or as a fraction.
fn is_id(said: &Value, id: u64) -> bool {
    let text = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
    text.strip_suffix(".0").unwrap_or(&text) == id.to_string()
}

/// The result of a request that must not fail.
///
/// # Errors
/// `mcp.server_failed`, `mcp.bad_answer`
pub(super) fn result(
    mut answer: Map<String, Value>,
    method: &str,
) -> Result<Map<String, Value>, McpFault> {
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let said = error.get("message").and_then(Value::as_str).unwrap_or("without a word");
        let why = format!("it answers `{method}` with an error: {said}");
        return Err(McpFault::ServerFailed { why });
    }
    match answer.remove("result") {
        Some(Value::Object(result)) => Ok(result),
        _ => Err(bad(format!("its answer to `{method}` has no `result`"))),
    }
}

/// One tool as the list has it.
///
/// # Errors
/// The name of one that cannot be called, and why not.
pub(super) fn tool(listed: &Value) -> Result<McpTool, (String, String)> {
    let name = listed.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ("?".to_owned(), "it has no name".to_owned()))?;
    let odd = |why: String| Err((name.to_owned(), why));
    let field = |(ours, theirs): (&str, &str)| {
        let mut value = listed.get(theirs).filter(|value| !value.is_null())?.clone();
        // Some languages write a member that is not there as null.
        if let (true, Some(schema)) = (ours.ends_with("_schema"), value.as_object_mut()) {
            schema.retain(|name, value| !value.is_null() || name == "const");
        }
        Some((ours.to_owned(), value))
    };
    let pins: Map<String, Value> = FIELDS.into_iter().filter_map(field).collect();
    let Some(schema) = pins.get("input_schema").filter(|schema| schema.is_object()) else {
        return odd("it has no input schema".into());
    };
    if let Some(why) = bad_header(schema, &mut BTreeSet::new()) {
        return odd(why);
    }
    for text in ["title", "description"] {
        if pins.get(text).is_some_and(|value| !value.is_string()) {
            return odd(format!("its {text} is not text"));
        }
    }
    Ok(McpTool { name: name.to_owned(), pins })
}

/// The differences between the tool that was signed and the one that is there.
pub(super) fn changes(signed: &McpTool, now: Option<&McpTool>) -> Vec<ToolChange> {
    let Some(now) = now else {
        let old = Some(signed.name.as_str().into());
        return vec![ToolChange { field: "name".into(), old, new: None }];
    };
    let mut found = Vec::new();
    let (old, new) = (&signed.pins, &now.pins);
    for (field, _) in FIELDS {
        differ(field.to_owned(), old.get(field), new.get(field), DEPTH, &mut found);
    }
    found
}

fn differ(
    field: String,
    old: Option<&Value>,
    new: Option<&Value>,
    depth: usize,
    found: &mut Vec<ToolChange>,
) {
    if old == new || found.len() >= CHANGES {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new)), 1..) = (old, new, depth) {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let name = key.replace('~', "~0").replace('/', "~1");
            differ(format!("{field}/{name}"), old.get(key), new.get(key), depth - 1, found);
        }
        return;
    }
    found.push(ToolChange { field, old: old.cloned(), new: new.cloned() });
}

/// The result of a call of a tool; `schema` is the signed schema of its output.
///
/// # Errors
/// `mcp.bad_answer`, `mcp.output_schema`
pub(super) fn called(
    mut answer: Map<String, Value>,
    schema: Option<&Value>,
) -> Result<Answer, McpFault> {
    if let Some(error) = answer.remove("error").filter(|error| !error.is_null()) {
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Ok(Answer::Error(message, json!({"error": error})));
    }
    let Some(Value::Object(mut result)) = answer.remove("result") else {
        return Err(bad("its answer to `tools/call` has no `result`"));
    };
    let content = result.get("content").and_then(Value::as_array);
    let text = || {
        let texts = content.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    // From 2026-07-28 on a server may answer with a question.
    if result.get("resultType").is_some_and(|kind| kind == "input_required") {
        return Err(bad("it asks for more input, which this client does not give"));
    }
    match result.get("isError") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(Value::Bool(true)) => return Ok(Answer::Error(text(), Value::Object(result))),
        Some(_) => return Err(bad("its `isError` is neither true nor false")),
    }
    let structured = result.remove("structuredContent").filter(|value| !value.is_null());
    match (structured, schema) {
        (Some(data), Some(schema)) => {
            let misfits = crate::plan::misfits(schema, &data);
            let misfits = misfits.unwrap_or_else(|why| vec![format!("the schema itself: {why}")]);
            match misfits.first() {
                None => Ok(Answer::Result(data)),
                Some(why) => Err(McpFault::OutputSchema { why: why.clone() }),
            }
        }
        (Some(data), None) => Ok(Answer::Result(data)),
        (None, Some(_)) => {
            Err(McpFault::OutputSchema { why: "there is no `structuredContent`".into() })
        }
        (None, None) => {
            // One block may stand without its list, and an empty list is null in some languages.
            let content = match result.remove("content") {
                Some(list @ Value::Array(_)) => list,
                Some(Value::Null) => json!([]),
                Some(Value::String(text)) => json!([{"type": "text", "text": text}]),
                Some(block @ Value::Object(_)) => json!([block]),
                _ => return Err(bad("its answer to `tools/call` has no `content`")),
            };
            Ok(Answer::Result(json!({"content": content})))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{called, changes, heard, tool};
    use crate::exec_protocol::Answer;
    use crate::execute::McpFault;
    use serde_json::{Value, json};

    fn listed() -> Value {
        json!({
            "name": "t", "title": "T", "description": "d", "icons": [{"src": "x"}],
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
            "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        })
    }

    #[test]
    fn every_field_that_differs_is_named_with_what_it_was_and_is() {
        let signed = tool(&listed()).unwrap();
        assert_eq!(changes(&signed, Some(&signed.clone())), [], "the fixture itself is the same");
        for (pointer, value, want) in [
            ("/title", json!("U"), "title"),
            ("/description", json!("d "), "description"),
            ("/icons/0/src", json!("y"), "icons"),
            ("/inputSchema/properties/a/type", json!("integer"), "input_schema/properties/a/type"),
            ("/outputSchema/type", json!("array"), "output_schema/type"),
            ("/annotations/readOnlyHint", json!(false), "annotations/readOnlyHint"),
        ] {
            let mut now = listed();
            let old = std::mem::replace(now.pointer_mut(pointer).unwrap(), value.clone());
            let found = changes(&signed, Some(&tool(&now).unwrap()));
            assert_eq!((found.len(), found[0].field.as_str()), (1, want), "{pointer}");
            if want != "icons" {
                assert_eq!((&found[0].old, &found[0].new), (&Some(old), &Some(value)));
            }
        }
        for key in ["title", "description", "icons", "outputSchema", "annotations"] {
            let mut now = listed();
            now.as_object_mut().unwrap().remove(key);
            let less = tool(&now).unwrap();
            assert_eq!(changes(&signed, Some(&less))[0].new, None, "{key} is gone");
            assert_eq!(changes(&less, Some(&signed))[0].old, None, "{key} came");
        }
        assert_eq!(changes(&signed, None)[0].field, "name");
        assert_eq!(
            McpFault::ToolChanged { tool: "t".into(), changes: changes(&signed, None) }.to_string(),
            "was not called: its server's tool `t` is another one than was signed: `name` was \"t\" and is nothing"
        );
    }

    #[test]
    fn a_result_is_data_or_a_failure_or_no_answer() {
        let text = json!([{"type": "text", "text": "no"}]);
        let schema = json!({"type": "object", "required": ["a"]});
        let of = |result: Value, schema: Option<&Value>| {
            let answer = json!({"id": 1, "result": result});
            called(answer.as_object().unwrap().clone(), schema).map_err(|fault| fault.code().name())
        };
        assert_eq!(
            of(json!({"content": text}), None),
            Ok(Answer::Result(json!({"content": text})))
        );
        let both = json!({"content": [], "structuredContent": {"a": 1}});
        assert_eq!(of(both.clone(), None), Ok(Answer::Result(json!({"a": 1}))));
        assert_eq!(of(both, Some(&schema)), Ok(Answer::Result(json!({"a": 1}))));
        let other = json!({"content": [], "structuredContent": {"b": 1}});
        assert_eq!(of(other, Some(&schema)), Err("mcp.output_schema"));
        assert_eq!(of(json!({"content": []}), Some(&schema)), Err("mcp.output_schema"));
        let failed = json!({"content": text, "isError": true});
        assert_eq!(of(failed.clone(), Some(&schema)), Ok(Answer::Error("no".into(), failed)));
        for none in
            [json!(1), json!({}), json!({"content": 1}), json!({"content": [], "isError": 1})]
        {
            assert_eq!(of(none.clone(), None), Err("mcp.bad_answer"), "{none}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused_and_a_foreign_one_is_nobodys() {
        use super::Heard;
        for text in ["x", "[]", "{\"id\":1,\"id\":1}", "1"] {
            assert!(heard(text, 1).is_err(), "{text}");
        }
        for text in ["{\"id\":2,\"result\":{}}", "{\"method\":\"x\"}", "{\"id\":\"a\"}", "{}"] {
            assert!(matches!(heard(text, 1), Ok(Heard::Nothing)), "{text}");
        }
        assert!(matches!(heard("{\"id\":1,\"result\":{}}", 1), Ok(Heard::Answer(_))));
        assert!(matches!(heard("{\"id\":1,\"method\":\"ping\"}", 1), Ok(Heard::Asked(_))));
    }
}
