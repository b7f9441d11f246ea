//! The actions that a directive's metadata spells out, and the text that an agent follows.

use serde_json::{Map, Value, json};

use super::element::Element;
use crate::parse::error::ParseFault;

/// One `<execute>`, `<fetch>` or `<sign>` that stands neither in metadata nor in inputs or outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) params: Vec<(String, String)>,
}

impl Action {
    /// The action with `render` applied to every attribute and parameter.
    pub(crate) fn to_json(&self, render: &dyn Fn(&str) -> String) -> Value {
        let rendered = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, text)| (name.clone(), Value::from(render(text)))).collect()
        };
        let (attributes, params): (Map<_, _>, Map<_, _>) =
            (rendered(&self.attributes), rendered(&self.params));
        json!({"name": self.name, "attributes": attributes, "params": params})
    }
}

/// The actions below the root, in the order of the text.
pub(super) fn actions(root: Element<'_>) -> Result<Vec<Action>, ParseFault> {
    let mut actions = Vec::new();
    for element in root.descendants() {
        let is_action = matches!(element.name(), "execute" | "fetch" | "sign");
        if !is_action || element.is_inside(&["metadata", "permissions", "inputs", "outputs"]) {
            continue;
        }
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        actions.push(Action {
            name: element.name().to_owned(),
            attributes: element.attributes().map(owned).collect(),
            params: params(element)?,
        });
    }
    Ok(actions)
}

/// `<param name="…" value="…"/>` or `<param name="…">…</param>`.
fn params(action: Element<'_>) -> Result<Vec<(String, String)>, ParseFault> {
    let mut params: Vec<(String, String)> = Vec::new();
    for param in action.children().filter(|child| child.name() == "param") {
        let Some(name) = param.attribute("name") else {
            return Err(param.fault("a `<param>` has no `name`"));
        };
        if params.iter().any(|(before, _)| before == name) {
            return Err(param.fault(format!("the parameter `{name}` is given twice")));
        }
        let value = match param.attribute("value") {
            Some(value) => value.to_owned(),
            None => param.text()?,
        };
        params.push((name.to_owned(), value));
    }
    Ok(params)
}

/// A part of the text without leading blank lines and trailing white space, and where it begins.
pub(super) fn trimmed(part: &str) -> (usize, &str) {
    let blank: usize =
        part.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    (blank, part[blank..].trim_end())
}
