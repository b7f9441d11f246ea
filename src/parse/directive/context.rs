//! The knowledge that a thread reads besides the body.

use serde_json::{Value, json};

use super::element::Element;
use crate::base::text::escape_line;
use crate::diagnostic::Diagnose;
use crate::id::{IdError, ItemId};
use crate::parse::error::ParseFault;

/// Knowledge by where it goes in the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DirectiveContext {
    pub(crate) system: Vec<ItemId>,
    pub(crate) before: Vec<ItemId>,
    pub(crate) after: Vec<ItemId>,
    /// Knowledge that a parent directive adds and this one removes.
    pub(crate) suppress: Vec<ItemId>,
}

impl DirectiveContext {
    /// The contexts of a directive and its parents as one: `leaf_first` as `extends` leads from
    /// one to the next, the lists root first, each id once.
    pub(crate) fn compose(leaf_first: &[&Self]) -> Self {
        let list = |of: fn(&Self) -> &Vec<ItemId>| {
            let mut list: Vec<ItemId> = Vec::new();
            for id in leaf_first.iter().rev().flat_map(|context| of(context)) {
                if !list.contains(id) {
                    list.push(id.clone());
                }
            }
            list
        };
        Self {
            system: list(|context| &context.system),
            before: list(|context| &context.before),
            after: list(|context| &context.after),
            suppress: list(|context| &context.suppress),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "system": self.system,
            "before": self.before,
            "after": self.after,
            "suppress": self.suppress,
        })
    }
}

/// The context that `<context>` lists; one id an element, with or without `knowledge:`.
pub(super) fn context(element: Element<'_>) -> Result<DirectiveContext, ParseFault> {
    let mut context = DirectiveContext::default();
    for child in element.children() {
        let list = match child.name() {
            "system" => &mut context.system,
            "before" => &mut context.before,
            "after" => &mut context.after,
            "suppress" => &mut context.suppress,
            other => {
                let known = ["system", "before", "after", "suppress"];
                return Err(element.unknown(other, &known, "not a part of"));
            }
        };
        let text = child.text()?;
        let id = text.strip_prefix("knowledge:").unwrap_or(&text).parse();
        let fault = |error: IdError| ParseFault {
            code: error.code(),
            ..child.fault(format!("`<{}>`: {error}", child.name()))
        };
        let id = id.map_err(fault)?;
        if list.contains(&id) {
            let id = escape_line(id.as_str());
            return Err(child.fault(format!("`{id}` is listed twice in `<{}>`", child.name())));
        }
        list.push(id);
    }
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::DirectiveContext;
    use serde_json::json;

    #[test]
    fn contexts_compose_root_first() {
        let ids = |list: &[&str]| list.iter().map(|id| id.parse().unwrap()).collect();
        let leaf = DirectiveContext {
            system: ids(&["b", "c"]),
            suppress: ids(&["x"]),
            ..DirectiveContext::default()
        };
        let root = DirectiveContext {
            system: ids(&["a", "b"]),
            suppress: ids(&["y", "x"]),
            ..DirectiveContext::default()
        };
        let want =
            json!({"system": ["a", "b", "c"], "before": [], "after": [], "suppress": ["y", "x"]});
        assert_eq!(DirectiveContext::compose(&[&leaf, &root]).to_json(), want);
        assert_eq!(DirectiveContext::compose(&[]), DirectiveContext::default());
    }
}
