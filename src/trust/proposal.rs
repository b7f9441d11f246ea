//! The keys that a project proposes to trust (core 4.3), read and not believed.

use super::document::TrustDocument;
use crate::id::Kind;
use crate::signature::fit_text;
use crate::space::{FileTypes, Root};

/// A trust document that lies in a project: a proposal, nothing more (core 4.3).
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) path: String,
    /// The document, or why it cannot be used.
    pub(crate) document: Result<TrustDocument, String>,
}

/// The proposals of a project.
pub(crate) fn proposals(project: &Root) -> Vec<Proposal> {
    let types = FileTypes::default();
    let listing = project.list(Kind::Config, &types).unwrap_or_default();
    let documents = listing.entries.into_iter().filter(crate::space::Entry::is_proposal);
    documents
        .map(|entry| {
            let relative = format!("config/{}.toml", entry.item.id);
            let document = read_proposal(project, &relative, entry.item.id.name());
            Proposal { path: format!(".ai/{relative}"), document }
        })
        .collect()
}

fn read_proposal(project: &Root, relative: &str, name: &str) -> Result<TrustDocument, String> {
    let bytes = project.read(relative).map_err(|e| e.to_string())?.ok_or("it is gone")?;
    let text = fit_text(&bytes).map_err(|fault| fault.to_string())?;
    let document = TrustDocument::parse(text).map_err(|e| e.to_string())?;
    if document.fingerprint.to_string() != name {
        return Err("its name is not its fingerprint".into());
    }
    Ok(document)
}
