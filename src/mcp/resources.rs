//! Knowledge as resources.

use rmcp::model::{ReadResourceResult, Resource, ResourceContents};

use super::calls::{Call, Refusal};
use super::prompts::Page;
use crate::id::{ItemId, Kind, Query, Ref};
use crate::rye::{Described, read_item};

/// How the address of a page begins; its id follows.
pub(super) const KNOWLEDGE: &str = "rye://knowledge/";

/// The template of the address of a page.
pub(super) const TEMPLATE: &str = "rye://knowledge/{+id}";

impl Call<'_> {
    /// The knowledge that verifies, a page of it.
    pub(super) fn resources(&self, cursor: Option<&str>) -> Result<Page<Resource>, Refusal> {
        let (described, next) = self.page(Kind::Knowledge, cursor)?;
        Ok((described.iter().map(resource).collect(), next))
    }

    /// The content of a page of knowledge; `None` for an address that is none of ours.
    pub(super) fn resource(&self, uri: &str) -> Result<Option<ReadResourceResult>, Refusal> {
        let Some(id) = uri.strip_prefix(KNOWLEDGE) else { return Ok(None) };
        let id = id.parse().map_err(crate::diagnostic::Failure::from)?;
        let described = read_item(self.own()?, &Query::from(Ref::new(Kind::Knowledge, id)))?;
        let kind = media(&described);
        let content = ResourceContents::text(described.content, uri).with_mime_type(kind);
        Ok(Some(ReadResourceResult::new(vec![content])))
    }
}

/// Returns true if an address is that of a page, even of a missing one.
pub(super) fn is_page(uri: &str) -> bool {
    uri.strip_prefix(KNOWLEDGE).is_some_and(|id| id.parse::<ItemId>().is_ok())
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
