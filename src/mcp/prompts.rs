//! Directives as prompts, and the pages of a list.

use std::collections::BTreeSet;

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

use super::calls::{Call, Refusal};
use crate::base::limits::MCP_PAGE;
use crate::id::{Kind, Query, Ref, Space};
use crate::parse::Item;
use crate::rye::{Described, Request};

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

    /// The items of a kind after the cursor, sorted by id; those that do not verify are left out.
    pub(super) fn page(
        &self,
        kind: Kind,
        cursor: Option<&str>,
    ) -> Result<Page<Described>, Refusal> {
        let rye = self.own()?;
        let mut items = BTreeSet::new();
        for space in Space::NEAREST_FIRST {
            let entries = rye.items().list(space, kind)?.into_iter().map(|entry| entry.item);
            items.extend(entries.filter(|item| cursor.is_none_or(|last| item.id.as_str() > last)));
        }
        let page: Vec<Ref> = items.iter().take(MCP_PAGE).cloned().collect();
        let next = page.last().filter(|_| items.len() > MCP_PAGE).map(|item| item.id.to_string());
        let queries = page.into_iter().map(Query::from).collect();
        Ok((rye.items().describe_all(queries).into_iter().filter_map(Result::ok).collect(), next))
    }
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
