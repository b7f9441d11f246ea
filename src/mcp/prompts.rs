//! Directives as prompts, and the pages of a list.

use std::collections::BTreeSet;

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

use super::calls::{Call, Refusal};
use super::error::McpError;
use crate::id::{ItemId, Kind, Query, Ref, Space};
use crate::parse::Item;
use crate::rye::{Described, Request, read_item};

/// Most prompts or resources on one page of a list.
#[cfg(feature = "mcp")]
const MCP_PAGE: usize = 100;

/// One page of a list, and where the next one begins.
pub(super) type Page<T> = (Vec<T>, Option<String>);

impl Call<'_> {
    /// The directives that verify, a page of them.
    pub(super) fn prompts(&self, cursor: Option<&str>) -> Result<Page<Prompt>, Refusal> {
        let (described, next) = self.page(Kind::Directive, cursor)?;
        Ok((described.iter().map(prompt).collect(), next))
    }

    /// The directions of a directive, for a client's model; `Err` is the answer of `rye_execute`.
    pub(super) fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Result<GetPromptResult, Map<String, Value>>, Refusal> {
        let id = name.parse().map_err(crate::diagnostic::Failure::from)?;
        let mut request = Request::new(Ref::new(Kind::Directive, id).to_string());
        request.params = arguments;
        let answer = self.run(self.own()?, &request, false);
        let Some(directions) = answer.structured.get("your_directions").and_then(Value::as_str)
        else {
            return Ok(Err(answer.structured));
        };
        let message = PromptMessage::new_text(Role::User, directions);
        Ok(Ok(GetPromptResult::new(vec![message])))
    }

    /// The items of a kind after the cursor, those of the nearest space first and each space sorted
    /// by id; those that do not verify are left out.
    ///
    /// # Errors
    /// `mcp.arguments` for a cursor that no page has given.
    pub(super) fn page(
        &self,
        kind: Kind,
        cursor: Option<&str>,
    ) -> Result<Page<Described>, Refusal> {
        let last = cursor.map(after).transpose()?;
        let mut items = self.items(kind)?;
        items.retain(|item| last.as_ref().is_none_or(|last| item > last));
        let next = items.get(MCP_PAGE.saturating_sub(1)).filter(|_| items.len() > MCP_PAGE);
        let next = next.map(|(rank, id)| format!("{rank}:{id}"));
        let page = items.into_iter().take(MCP_PAGE);
        let queries = page.map(|(_, id)| Query::from(Ref::new(kind, id))).collect();
        let rye = self.own()?;
        Ok((rye.items().describe_all(queries).into_iter().filter_map(Result::ok).collect(), next))
    }

    /// The items of a kind, each once, with how far its nearest space is; sorted.
    fn items(&self, kind: Kind) -> Result<Vec<(usize, ItemId)>, Refusal> {
        let (rye, mut known, mut items) = (self.own()?, BTreeSet::new(), Vec::new());
        for (rank, space) in Space::NEAREST_FIRST.into_iter().enumerate() {
            let entries = rye.items().list(space, kind)?.into_iter().map(|entry| entry.item.id);
            let new: BTreeSet<ItemId> = entries.filter(|id| known.insert(id.clone())).collect();
            items.extend(new.into_iter().map(|id| (rank, id)));
        }
        Ok(items)
    }

    /// The values that an argument of a prompt may have and that begin so.
    ///
    /// # Errors
    /// Those of finding the directive.
    pub(super) fn values(
        &self,
        prompt: &str,
        argument: &str,
        start: &str,
    ) -> Result<Vec<String>, Refusal> {
        let id = prompt.parse().map_err(crate::diagnostic::Failure::from)?;
        let directive = Query::from(Ref::new(Kind::Directive, id));
        let described = read_item(self.own()?, &directive)?;
        let declared = described.item.declared().into_iter();
        let values = declared.filter(|(name, ..)| name == argument).flat_map(|(_, _, all)| all);
        Ok(values.filter(|value| value.starts_with(start)).collect())
    }

    /// The ids of pages that begin so.
    ///
    /// # Errors
    /// Those of finding the project.
    pub(super) fn page_ids(&self, start: &str) -> Result<Vec<String>, Refusal> {
        let ids = self.items(Kind::Knowledge)?.into_iter().map(|(_, id)| id.to_string());
        Ok(ids.filter(|id| id.starts_with(start)).collect())
    }
}

/// The item behind which a page begins.
///
/// # Errors
/// `mcp.arguments`
fn after(cursor: &str) -> Result<(usize, ItemId), McpError> {
    let read = cursor.split_once(':').and_then(|(rank, id)| {
        let rank = rank.parse().ok().filter(|rank| *rank < Space::NEAREST_FIRST.len())?;
        Some((rank, id.parse().ok()?))
    });
    read.ok_or_else(|| McpError::Cursor { cursor: cursor.to_owned() })
}

fn prompt(described: &Described) -> Prompt {
    let inputs = match &described.item {
        Item::Directive(directive) => directive.inputs.as_slice(),
        _ => &[],
    };
    let arguments = inputs.iter().map(|input| {
        PromptArgument::new(input.name.clone())
            .with_description(input.description.clone())
            .with_required(input.required)
    });
    let about = described.item.description();
    Prompt::new(described.detail.item.id.as_str(), about, Some(arguments.collect()))
}
