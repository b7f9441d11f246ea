//! Tools as declarations of TypeScript: what a snippet calls as `tools.acme.deploy({…})`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A tool that is declared.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredTool {
    pub(crate) id: String,
    /// One line on what it is for.
    pub(crate) summary: String,
    /// The JSON schema of its parameters.
    pub(crate) schema: Value,
    /// The JSON schema of what it gives, if it says so.
    pub(crate) output: Option<Value>,
}

#[derive(Default)]
struct Names<'t> {
    tool: Option<&'t DeclaredTool>,
    below: BTreeMap<&'t str, Names<'t>>,
}

/// Deepest type that is written out; what lies deeper is `unknown`.
const DEPTH: usize = 6;

/// The declaration of `tools`, with one function a tool.
pub(crate) fn declarations(tools: &[DeclaredTool]) -> String {
    let mut all = Names::default();
    for tool in tools {
        let mut at = &mut all;
        for segment in tool.id.split('/') {
            at = at.below.entry(segment).or_default();
        }
        at.tool = Some(tool);
    }
    let mut out = String::from("declare const tools: {\n");
    all.write(&mut out, 1);
    out.push_str("};\n");
    out
}

impl Names<'_> {
    fn write(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        for (name, names) in &self.below {
            if let Some(tool) = names.tool.filter(|tool| !tool.summary.is_empty()) {
                // What a tool says of itself must not end the comment.
                let summary = tool.summary.replace("*/", "* /");
                out.push_str(&format!("{indent}/** {summary} */\n"));
            }
            let name = property(name);
            match (names.tool, names.below.is_empty()) {
                (Some(tool), true) => {
                    let (args, gives) = (args(tool), gives(tool));
                    out.push_str(&format!("{indent}{name}({args}): Promise<{gives}>;\n"));
                }
                (tool, _) => {
                    let function = tool
                        .map(|tool| format!("(({}) => Promise<{}>) & ", args(tool), gives(tool)));
                    out.push_str(&format!("{indent}{name}: {}{{\n", function.unwrap_or_default()));
                    names.write(out, depth + 1);
                    out.push_str(&format!("{indent}}};\n"));
                }
            }
        }
    }
}

fn args(tool: &DeclaredTool) -> String {
    let takes = object(&tool.schema, DEPTH);
    let optional = required(&tool.schema).next().is_none();
    format!("args{}: {takes}", if optional { "?" } else { "" })
}

fn gives(tool: &DeclaredTool) -> String {
    tool.output.as_ref().map_or_else(|| "any".into(), |schema| kind(schema, DEPTH))
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn object(schema: &Value, depth: usize) -> String {
    let empty = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut parts: Vec<String> = fields
        .iter()
        .map(|(name, of)| {
            let mark = if required(schema).any(|it| it == name) { "" } else { "?" };
            format!("{}{mark}: {}", property(name), kind(of, depth))
        })
        .collect();
    if fields.is_empty() || schema.get("additionalProperties").is_some_and(|it| it != false) {
        parts.push("[name: string]: any".into());
    }
    format!("{{ {} }}", parts.join("; "))
}

fn kind(schema: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "unknown".into() };
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(literal).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(any) = schema.get(key).and_then(Value::as_array) {
            return any.iter().map(|one| kind(one, depth)).collect::<Vec<_>>().join(" | ");
        }
    }
    let one = |name: &str| match name {
        "string" => "string".to_owned(),
        "number" | "integer" => "number".into(),
        "boolean" => "boolean".into(),
        "null" => "null".into(),
        "array" => {
            let items = schema.get("items").map_or_else(|| "any".into(), |of| kind(of, depth));
            format!("Array<{items}>")
        }
        "object" => object(schema, depth),
        _ => "any".into(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            names.map(one).collect::<Vec<_>>().join(" | ")
        }
        _ => "any".into(),
    }
}

/// A value as a type; a text is written as JSON, which TypeScript reads.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => "any".into(),
        plain => plain.to_string(),
    }
}

/// A name as it stands in an object, in quotes where it has to.
fn property(name: &str) -> String {
    let mut signs = name.chars();
    let is_word = signs.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && signs.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_word { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{DeclaredTool, declarations};

    fn tool(id: &str, summary: &str, schema: serde_json::Value) -> DeclaredTool {
        DeclaredTool { id: id.into(), summary: summary.into(), schema, output: None }
    }

    #[test]
    fn a_tool_is_a_function_where_its_id_says_and_takes_what_its_schema_says() {
        let count = json!({"type": "object", "required": ["n"], "additionalProperties": false,
            "properties": {"n": {"type": "integer"}}});
        let said = declarations(&[
            DeclaredTool { output: Some(count), ..tool("y", "", json!({})) },
            tool(
                "acme/deploy",
                "Deploys */ it.",
                json!({
                    "type": "object", "required": ["to"],
                    "properties": {
                        "to": {"enum": ["a", "b"]}, "dry-run": {"type": "boolean"},
                        "tags": {"type": "array", "items": {"type": ["string", "null"]}},
                        "o": {"type": "object", "properties": {"n": {"type": "integer"}},
                              "additionalProperties": false},
                    },
                    "additionalProperties": false,
                }),
            ),
            tool("acme/deploy/log", "", json!({})),
            tool("x", "", json!({"type": "object"})),
        ]);
        let want = "declare const tools: {\n  acme: {\n    /** Deploys * / it. */\n    \
            deploy: ((args: { to: \"a\" | \"b\"; \"dry-run\"?: boolean; tags?: Array<string | null>; \
            o?: { n?: number } }) => Promise<any>) & {\n      \
            log(args?: { [name: string]: any }): Promise<any>;\n    };\n  };\n  \
            x(args?: { [name: string]: any }): Promise<any>;\n  \
            y(args?: { [name: string]: any }): Promise<{ n: number }>;\n};\n";
        assert_eq!(said, want);
    }
}
