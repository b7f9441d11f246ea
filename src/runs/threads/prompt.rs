//! The first message to the model of a thread.

use serde_json::{Map, Value};

use crate::chain::{Fetch, Lineage};
use crate::diagnostic::Failure;
use crate::id::{ItemId, Kind, Ref};
use crate::interpolate::render;
use crate::parse::{DirectiveContext, Item};
use crate::rye::Loader;
use crate::thread::{Continued, Prompt};

/// The body and the knowledge around it, verified, with the inputs filled in.
pub(super) fn prompt(
    loader: &Loader<'_>,
    lineage: &Lineage,
    inputs: &Map<String, Value>,
    continued: Option<&Continued>,
) -> Result<Prompt, Failure> {
    let contexts: Vec<_> = lineage.directives().map(|directive| &directive.context).collect();
    let context = DirectiveContext::compose(&contexts);
    let suppressed = |id: &&ItemId| !context.suppress.contains(id);
    let texts = |ids: &[ItemId]| {
        let ids = ids.iter().filter(suppressed);
        ids.map(|id| knowledge(loader, lineage, id)).collect::<Result<Vec<_>, Failure>>()
    };
    Ok(Prompt {
        system: texts(&context.system)?,
        before: texts(&context.before)?,
        body: render(&lineage.directive.body, inputs),
        after: texts(&context.after)?,
        continued: continued.map(Continued::told),
    })
}

/// The text of a page, without its signature and its front matter.
fn knowledge(loader: &Loader<'_>, lineage: &Lineage, id: &ItemId) -> Result<String, Failure> {
    let item = Ref::new(Kind::Knowledge, id.clone());
    match loader.fetch(&item, lineage.source.space())? {
        Some((_, Item::Knowledge(page))) => Ok(page.body),
        _ => {
            // The resolver says what is near.
            let (source, _) = loader.admit(loader.find(&item.into())?)?;
            Ok(source.raw())
        }
    }
}
