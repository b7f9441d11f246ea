//! The description that a file gives of itself, signed or not. It is used for searching and for
//! nothing else.

use serde_json::Value;

use super::item::{Item, parse};
use crate::id::Kind;
use crate::space::HeaderStyle;

/// The words that a file is found by. They are neither shown nor trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) tags: Vec<String>,
    /// Names of parameters or inputs.
    pub(crate) parameters: Vec<String>,
    /// True for a tool that lists files; these are then not items of their own.
    pub(crate) lists_files: bool,
}

/// The outline of a file; `None` where it does not parse.
pub(crate) fn outline(kind: Kind, text: &str, style: &HeaderStyle) -> Option<Outline> {
    let item = parse(kind, style, text, String::new);
    Some(match item.ok()? {
        Item::Tool(tool) => {
            let properties = tool.schema.as_ref().and_then(|s| s.get("properties")?.as_object());
            Outline {
                title: None,
                parameters: properties
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| name.clone())
                    .collect(),
                lists_files: tool.files.is_some(),
                tags: tool.tags,
                description: tool.description,
            }
        }
        Item::Directive(directive) => Outline {
            title: directive.title,
            description: directive.description,
            tags: directive.tags,
            parameters: directive.inputs.into_iter().map(|input| input.name).collect(),
            lists_files: false,
        },
        Item::Knowledge(page) => Outline {
            title: page.title,
            description: page.description,
            tags: page.tags,
            ..Outline::default()
        },
        Item::Config(_) => Outline::default(),
    })
}

/// The texts of a list; any other value is for other readers.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
