//! The descriptions that a pack gives of its tools and evals.

use serde_json::Value;

use super::doc::{Doc, Fields, Spot};
use super::error::IMPORT_MISSING;
use crate::base::text::escape_line;

/// A tool as its pack describes it.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) description: Option<String>,
    pub(super) schema: Option<Value>,
}

/// A pack, as far as it is of use.
pub(super) struct Pack<'d> {
    tools: Option<Fields<'d>>,
    evals: Vec<&'d Value>,
}

impl<'d> Pack<'d> {
    /// `None` for what is no pack; it has its fault.
    pub(super) fn read(
        doc: &'d Doc<'d>,
        value: &'d Value,
        remarks: &mut Vec<String>,
    ) -> Option<Self> {
        let top = Spot::top(doc).map(value)?;
        if !top.has("tools") && !top.has("prompts") {
            top.spot
                .fault(IMPORT_MISSING, "has neither `tools` nor `prompts`, so it is not a pack");
            return None;
        }
        let tools = top.map("tools");
        if tools.is_none() && top.has("tools") {
            return None;
        }
        let prompts = top.get("prompts").and_then(Value::as_object);
        remarks.extend(prompts.into_iter().flat_map(serde_json::Map::keys).map(|name| {
            let name = escape_line(name);
            format!("the prompt `{name}` of the pack is left out: write it as a directive")
        }));
        let prompts = prompts.into_iter().flat_map(serde_json::Map::values);
        let all = std::iter::once(value).chain(prompts);
        let evals = all.filter_map(|holder| holder.get("evals")?.as_array()).flatten().collect();
        Some(Self { tools, evals })
    }

    /// The tools that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'d str> {
        self.tools.iter().flat_map(Fields::entries).map(|(name, _)| name.as_str())
    }

    /// A tool; `None` if the pack does not name it.
    pub(super) fn tool(&self, name: &str) -> Option<Described> {
        let tools = self.tools.as_ref().filter(|tools| tools.has(name))?;
        let Some(tool) = tools.map(name) else { return Some(Described::default()) };
        let schema = tool.map("parameters").and(tool.get("parameters")).cloned();
        Some(Described { description: tool.readable("description"), schema })
    }

    /// The description and parameters of the pack's one eval of a type; several may differ, and
    /// then the caller decides.
    pub(super) fn eval(&self, name: &str) -> (Option<String>, Option<Value>) {
        let is = |eval: &&&Value| eval.get("type").and_then(Value::as_str) == Some(name);
        let mut found = self.evals.iter().filter(is);
        let (Some(eval), None) = (found.next(), found.next()) else { return (None, None) };
        let description = eval.get("description").and_then(Value::as_str).map(str::to_owned);
        (description, eval.get("params").filter(|params| params.is_object()).cloned())
    }
}
