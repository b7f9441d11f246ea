//! What an item says of itself, as data for people and agents.

use serde_json::{Map, Value, json};

use super::directive::InputType;
use super::item::Item;
use super::tool::Tool;

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

    /// What the item declares.
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

    /// The inputs: name, help, and the values it may have if they are few.
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

impl Tool {
    fn to_json(&self) -> Map<String, Value> {
        object(json!({
            "tool_type": self.tool_type, "executor_id": self.executor, "category": self.category,
            "description": self.description, "schema": self.schema, "examples": self.examples,
            "env_names": self.env_names, "secrets": self.secrets,
            "env": self.env.iter().map(|(name, _)| name).collect::<Vec<_>>(), "config": self.config,
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

/// A value as it is typed; lists and objects are not.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
