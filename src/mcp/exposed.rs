//! Items that are shown as tools of their own (`--expose`).

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::error::McpError;
use super::server::Setup;
use super::tools::is_own;
use crate::base::json::object;
use crate::diagnostic::Failure;
use crate::id::{Kind, Query, Ref};
use crate::parse::Item;
use crate::rye::Described;

/// The exposed tools. Each was verified when it was read; a call verifies it again.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ExposedTools(Vec<(Ref, Tool)>);

impl ExposedTools {
    /// Reads the items in the first root that the patterns match. Items that do not verify are left
    /// out, and reported.
    ///
    /// # Errors
    /// `mcp.name_taken`; those of finding the project.
    pub(super) fn read(setup: &Setup) -> Result<Self, Failure> {
        if setup.expose.is_empty() {
            return Ok(Self::default());
        }
        let rye = (setup.project)(&setup.roots[0])?;
        let mut items = BTreeSet::new();
        for space in crate::id::Space::NEAREST_FIRST {
            let entries = rye.items().list(space, Kind::Tool)?.into_iter().map(|entry| entry.item);
            items.extend(entries.filter(|item| setup.expose.iter().any(|p| p.matches(item))));
        }
        let queries = items.iter().cloned().map(Query::from).collect();
        let mut tools: Vec<(Ref, Tool)> = Vec::new();
        for (item, described) in items.iter().zip(rye.items().describe_all(queries)) {
            let described = match described {
                Ok(described) => described,
                Err(failure) => {
                    let code = failure.code();
                    (setup.note)(&format!("`{item}` is not shown as a tool: {code}"));
                    continue;
                }
            };
            let Some(tool) = tool(item, &described) else { continue };
            let name = tool.name.to_string();
            if is_own(&name) {
                let second = "a tool of rye itself".into();
                return Err(McpError::NameTaken { name, first: item.clone(), second }.into());
            }
            if let Some((first, _)) = tools.iter().find(|(_, known)| known.name == tool.name) {
                let second = format!("`{item}`");
                return Err(McpError::NameTaken { name, first: first.clone(), second }.into());
            }
            tools.push((item.clone(), tool));
        }
        Ok(Self(tools))
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.0.iter().map(|(_, tool)| tool)
    }

    /// The item behind a name.
    pub(super) fn item(&self, name: &str) -> Option<Ref> {
        self.0.iter().find(|(_, tool)| tool.name == name).map(|(item, _)| item.clone())
    }
}

/// The tool name of an item: clients accept only names of these characters.
fn name(item: &Ref) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    item.id.as_str().chars().map(plain).collect()
}

/// A tool as it is listed to clients; `None` for an item that is not run by itself.
fn tool(item: &Ref, described: &Described) -> Option<Tool> {
    let Item::Tool(parsed) = &described.item else { return None };
    if parsed.is_link() || parsed.executor.is_none() || parsed.hook.is_some() {
        return None;
    }
    let mut input = match &parsed.schema {
        Some(Value::Object(schema)) => schema.clone(),
        _ => Map::new(),
    };
    // A schema without a type takes an object, here as everywhere.
    if input.entry("type").or_insert_with(|| json!("object")) != "object" {
        return None;
    }
    // Some clients read it without asking whether it is there.
    input.entry("properties").or_insert_with(|| json!({}));
    let about = parsed.description.clone().unwrap_or_default();
    let mut annotations = ToolAnnotations::with_title(item.id.as_str());
    if let Some(effects) = parsed.effects.as_deref() {
        annotations.read_only_hint = Some(effects == "read");
        annotations.destructive_hint = (effects != "read").then_some(true);
    }
    let tool = Tool::new(name(item), about, Arc::new(input)).annotate(annotations);
    // Another place would have references lead elsewhere; a failure has a `status`.
    let own = described.item.output_schema().filter(|schema| {
        schema.get("type").is_some_and(|it| it == "object") && !schema.to_string().contains("$ref")
    });
    Some(match own {
        None => tool,
        Some(own) => {
            let other = json!({"type": "object", "required": ["status"]});
            let either = object(json!({"type": "object", "anyOf": [own, other]}));
            tool.with_raw_output_schema(Arc::new(either))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_are_made_of_letters_that_every_client_takes() {
        for (item, want) in [
            ("tool:acme/deploy", "acme_deploy"),
            ("tool:a-b/c.d", "a-b_c_d"),
            ("tool:plain", "plain"),
        ] {
            assert_eq!(name(&item.parse().unwrap()), want);
        }
    }
}
