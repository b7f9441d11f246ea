//! Calls of a model that permissions do not let through, for the caller of its thread: only a
//! person can permit them. What the model is answered is decided elsewhere.

use std::cell::OnceCell;

use serde_json::Value;

use super::tools::{ThreadCalls, WORKSPACE, is_for_models, listed, own_item, reference};
use crate::chain::Lineage;
use crate::id::{Query, Ref};
use crate::parse::{Item, json};
use crate::rye::{Loader, is_link, to_acknowledge};
use crate::thread::{ModelCall, ThreadTool, ToolCallFaultKind, WorkspaceTool, tool_name};
use crate::trace::{DeniedCall, Quiet};

/// Denied calls of a thread, with the permissions that its directive would need.
pub(super) struct Denials<'a> {
    calls: &'a ThreadCalls<'a>,
    loader: Loader<'a>,
    lineage: &'a Lineage,
    /// The tools of all spaces, once a model called one that it is not told of.
    listed: OnceCell<Vec<Ref>>,
}

impl<'a> Denials<'a> {
    pub(super) fn new(
        calls: &'a ThreadCalls<'a>,
        loader: &Loader<'a>,
        lineage: &'a Lineage,
    ) -> Self {
        // What is looked up here is no part of the run, so it is not traced.
        let loader = Loader { sink: &Quiet, ..*loader };
        Self { calls, loader, lineage, listed: OnceCell::new() }
    }

    /// The remark about a failed call, if permissions are the reason.
    pub(super) fn of(
        &self,
        call: &ModelCall,
        kind: ToolCallFaultKind,
        detail: &Value,
    ) -> Option<DeniedCall> {
        let item_id: Ref = match kind {
            ToolCallFaultKind::PermissionDenied => detail.get("item_id")?.as_str()?.parse().ok()?,
            ToolCallFaultKind::UnknownTool => self.not_told(call)?,
            _ => return None,
        };
        let (directive, tool) = (self.calls.id.directive().to_owned(), call.name.clone());
        let mut denied = DeniedCall { directive, tool, item_id, acknowledge: None };
        let (kind, id) = (denied.item_id.kind, denied.dotted_id());
        let capability = format!("rye.{}.{kind}.{id}", denied.action());
        denied.acknowledge = to_acknowledge(&self.loader, self.lineage, &capability);
        Some(denied)
    }

    /// The item of a call whose tool the model is not told of, as it is not permitted.
    fn not_told(&self, call: &ModelCall) -> Option<Ref> {
        match call.name.as_str() {
            // Nothing of that action is permitted.
            "rye_execute" | "rye_fetch" | "rye_sign" => {
                let args = json(&call.arguments).ok()?;
                let query: Query = args.get("item_id")?.as_str()?.parse().ok()?;
                Some(self.loader.find(&query).ok()?.item)
            }
            name => self.of_rye(name).or_else(|| self.item(name)),
        }
    }

    /// The item by whose name a tool of rye or of the program is permitted.
    fn of_rye(&self, name: &str) -> Option<Ref> {
        let is_code = cfg!(feature = "code") && name == "rye_code";
        if is_code || ["rye_search", "rye_describe"].contains(&name) {
            return own_item(name);
        }
        if WorkspaceTool::ALL.iter().any(|tool| tool.name() == name) {
            return reference(&format!("{WORKSPACE}/{name}"));
        }
        let mut of_program = self.calls.rye.thread_tools.iter();
        of_program.find(|tool| tool.name() == name).and_then(|tool| reference(tool.name()))
    }

    /// The item that would have that name.
    fn item(&self, name: &str) -> Option<Ref> {
        let listed = self.listed.get_or_init(|| listed(self.calls.rye).unwrap_or_default());
        let mut items = listed.iter().filter(|item| tool_name(item.id.as_str()) == name);
        let item = items.find(|item| !is_link(item) && !self.calls.execute.allow(item))?;
        let described = self.calls.rye.items().describe(&Query::from(item.clone())).ok()?;
        match &described.item {
            Item::Tool(tool) if is_for_models(tool) => Some(item.clone()),
            _ => None,
        }
    }
}
