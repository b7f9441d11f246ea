//! Directives as prompts, knowledge as resources.

use std::collections::BTreeSet;

use rmcp::model::{
    GetPromptResult, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource,
    ResourceContents, Role,
};
use serde_json::{Map, Value};

use super::calls::{Call, Refusal};
use crate::base::limits::MCP_PAGE;
use crate::id::{Kind, Query, Ref, Space};
use crate::parse::Item;
use crate::rye::{Described, Request};

const KNOWLEDGE: &str = "rye://knowledge/";

/// One page of a list, and where the next one begins.
pub(super) type Page<T> = (Vec<T>, Option<String>);

impl Call<'_> {
    /// Directives that verify.
    pub(super) fn prompts(&self, cursor: Option<&str>) -> Result<Page<Prompt>, Refusal> {
        let (described, next) = self.page(Kind::Directive, cursor)?;
        Ok((described.iter().map(prompt).collect(), next))
    }

    /// Knowledge that verifies.
    pub(super) fn resources(&self, cursor: Option<&str>) -> Result<Page<Resource>, Refusal> {
        let (described, next) = self.page(Kind::Knowledge, cursor)?;
        Ok((described.iter().map(resource).collect(), next))
    }

    /// The directions, for a client that puts them before its model; `Err` is what `rye_execute`
    /// says.
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

    /// The content of a page of knowledge; `None` for an address that is none of ours.
    pub(super) fn resource(&self, uri: &str) -> Result<Option<ReadResourceResult>, Refusal> {
        let Some(id) = uri.strip_prefix(KNOWLEDGE) else { return Ok(None) };
        let id = id.parse().map_err(crate::diagnostic::Failure::from)?;
        let described =
            self.own()?.items().describe(&Query::from(Ref::new(Kind::Knowledge, id)))?;
        let kind = media(&described);
        let content = ResourceContents::text(described.content, uri).with_mime_type(kind);
        Ok(Some(ReadResourceResult::new(vec![content])))
    }

    /// The items of a kind behind the cursor, by id; those that do not verify are left out.
    fn page(&self, kind: Kind, cursor: Option<&str>) -> Result<Page<Described>, Refusal> {
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

fn resource(described: &Described) -> Resource {
    let id = described.detail.item.id.as_str();
    let resource = Resource::new(format!("{KNOWLEDGE}{id}"), id).with_mime_type(media(described));
    match described.item.description() {
        Some(about) => resource.with_description(about),
        None => resource,
    }
}

fn media(described: &Described) -> &'static str {
    let extension = described.detail.path.rsplit('.').next();
    if extension == Some("md") { "text/markdown" } else { "application/yaml" }
}
