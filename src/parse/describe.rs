//! The description of an item, as data for people and agents.

use serde_json::{Map, Value, json};

use super::directive::InputType;
use super::item::Item;
use super::reach::DeclaredReach;
use super::tool::Tool;
use crate::base::json::object;

impl Item {
    /// One line on what the item is for.
    pub(crate) fn description(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => tool.description.as_deref(),
            Self::Directive(directive) => {
                directive.description.as_deref().or(directive.title.as_deref())
            }
            Self::Knowledge(k) => k.description.as_deref().or(k.title.as_deref()),
            Self::Config(_) => None,
        }
    }

    /// The declarations of the item.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        match self {
            Self::Tool(tool) => tool.to_json(),
            Self::Directive(directive) => directive.to_json(&str::to_owned),
            Self::Knowledge(k) => object(json!({
                "title": k.title, "description": k.description, "tags": k.tags,
            })),
            Self::Config(config) => object(json!({"value": config.value})),
        }
    }

    /// The parameters of the item, for callers.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Tool(tool) => tool.parameters(),
            Self::Directive(directive) => {
                let inputs = directive.inputs.iter();
                inputs
                    .map(|input| Parameter {
                        name: input.name.clone(),
                        ty: input.ty.as_str().into(),
                        required: input.required,
                        default: input.default.clone(),
                        description: Some(input.description.clone()).filter(|d| !d.is_empty()),
                        values: None,
                    })
                    .collect()
            }
            Self::Knowledge(_) | Self::Config(_) => Vec::new(),
        }
    }

    /// The JSON Schema of what a tool gives, where it declares one: its own, or that of the tool of
    /// an MCP server that it stands for.
    pub(crate) fn output_schema(&self) -> Option<&Value> {
        let Self::Tool(tool) = self else { return None };
        let of_mcp = || tool.config.get("mcp")?.get("output_schema");
        tool.output_schema.as_ref().or_else(of_mcp)
    }

    /// The parameters as one JSON Schema: a tool's own; `None` if nothing is declared.
    pub(crate) fn input_schema(&self) -> Option<Value> {
        match self {
            Self::Tool(tool) => tool.schema.clone(),
            Self::Directive(_) => {
                let (mut properties, mut required) = (Map::new(), Vec::new());
                for parameter in self.parameters() {
                    if parameter.required {
                        required.push(parameter.name.clone());
                    }
                    let mut property = object(json!({"type": parameter.ty}));
                    property.extend(parameter.default.map(|d| ("default".to_owned(), d)));
                    let description = parameter.description.map(Value::from);
                    property.extend(description.map(|d| ("description".to_owned(), d)));
                    properties.insert(parameter.name, property.into());
                }
                Some(json!({
                    "type": "object", "properties": properties, "required": required,
                    "additionalProperties": false,
                }))
            }
            Self::Knowledge(_) | Self::Config(_) => None,
        }
    }

    /// Notes for use; for a directive the text before its directions.
    pub(crate) fn notes(&self) -> Option<&str> {
        let notes = match self {
            Self::Tool(tool) => tool.notes.as_deref(),
            Self::Directive(directive) => Some(directive.preamble.as_str()),
            Self::Knowledge(_) | Self::Config(_) => None,
        };
        notes.filter(|notes| !notes.is_empty())
    }

    /// References: those that a tool names, or the items that a directive calls.
    pub(crate) fn references(&self) -> Vec<String> {
        match self {
            Self::Tool(tool) => tool.references.clone(),
            Self::Directive(directive) => {
                let extends = directive.extends.iter().map(|id| format!("directive:{id}"));
                let mut all: Vec<String> = extends.collect();
                let actions = directive.actions.iter().flat_map(|action| &action.attributes);
                let items = actions.filter(|(name, _)| name == "item_id" || name == "item");
                for (_, item) in items {
                    if !all.contains(item) {
                        all.push(item.clone());
                    }
                }
                all
            }
            Self::Knowledge(_) | Self::Config(_) => Vec::new(),
        }
    }

    /// Examples of parameters.
    pub(crate) fn examples(&self) -> &[Value] {
        match self {
            Self::Tool(tool) => &tool.examples,
            _ => &[],
        }
    }

    /// The inputs for completion: name, help, and the values if they are few.
    pub(crate) fn declared(&self) -> Vec<(String, String, Vec<String>)> {
        match self {
            Self::Tool(tool) => tool.declared(),
            Self::Directive(directive) => {
                let inputs = directive.inputs.iter();
                let values = |ty| match ty {
                    InputType::Boolean => vec!["true".to_owned(), "false".to_owned()],
                    _ => Vec::new(),
                };
                inputs.map(|i| (i.name.clone(), i.description.clone(), values(i.ty))).collect()
            }
            Self::Knowledge(_) | Self::Config(_) => Vec::new(),
        }
    }
}

/// One parameter of an item.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// As JSON Schema says it: a name, a list of names, or null where anything goes.
    #[serde(rename = "type")]
    pub(crate) ty: Value,
    pub(crate) required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The values that it may have, if they are listed.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Value>,
}

impl Tool {
    fn parameters(&self) -> Vec<Parameter> {
        let of_schema = |key: &str| self.schema.as_ref().and_then(|schema| schema.get(key));
        let required = of_schema("required").and_then(Value::as_array);
        let required = |name: &str| required.is_some_and(|list| list.iter().any(|r| r == name));
        let properties = of_schema("properties").and_then(Value::as_object);
        let row = |(name, property): (&String, &Value)| Parameter {
            name: name.clone(),
            ty: property.get("type").cloned().unwrap_or_default(),
            required: required(name),
            default: property.get("default").cloned(),
            description: property.get("description").and_then(Value::as_str).map(str::to_owned),
            values: property.get("enum").cloned(),
        };
        properties.into_iter().flatten().map(row).collect()
    }

    fn to_json(&self) -> Map<String, Value> {
        object(json!({
            "tool_type": self.tool_type, "executor_id": self.executor, "category": self.category,
            "description": self.description, "schema": self.schema, "examples": self.examples,
            "tags": self.tags, "notes": self.notes, "references": self.references,
            "effects": self.effects, "env_names": self.env_names, "secrets": self.secrets,
            "env": self.env.iter().map(|(name, _)| name).collect::<Vec<_>>(), "config": self.config,
            "reach": DeclaredReach::of_tool(self),
        }))
    }

    fn declared(&self) -> Vec<(String, String, Vec<String>)> {
        let properties =
            self.schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        let row = |(name, property): (&String, &Value)| {
            let help = property.get("description").and_then(Value::as_str).unwrap_or_default();
            let mut values: Vec<String> = match property.get("enum").and_then(Value::as_array) {
                Some(values) => values.iter().filter_map(scalar).collect(),
                None => Vec::new(),
            };
            if property.get("type").is_some_and(|ty| ty == "boolean") {
                values = vec!["true".into(), "false".into()];
            }
            (name.clone(), help.to_owned(), values)
        };
        properties.into_iter().flatten().map(row).collect()
    }
}

/// A value as a person types it; `None` for lists and objects.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}
