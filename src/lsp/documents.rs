//! The open texts: keeps them, checks them when they are due, and publishes their diagnostics.

use std::time::Instant;

use gen_lsp_types as lsp;

use super::context::project_of;
use super::diagnostics;
use super::document::Document;
use super::error::{LSP_MALFORMED, LspError};
use super::place::Units;
use super::session::Session;
use super::uri::path_of;
use crate::diagnostic::Diagnostic;

/// Most bytes of all open texts: eight of the largest, or thousands of usual ones.
#[cfg(feature = "lsp")]
const LSP_OPEN_BYTES: usize = 32 << 20;

impl Session<'_> {
    pub(super) fn open(&mut self, item: lsp::TextDocumentItem) {
        let Some(path) = path_of(&item.uri.0) else { return };
        // A file that does not lie below `.ai` is not an item and is not kept.
        if project_of(&path).is_none() {
            return;
        }
        let mut document = Document::new(path, item.version, item.text);
        document.now_due(Instant::now());
        self.documents.insert(item.uri.0.clone(), document);
        self.bound(&item.uri.0);
    }

    /// Drops the text that came last if all texts together are too large.
    fn bound(&mut self, last: &str) {
        let kept = self.documents.values().filter_map(|document| document.text.as_ref());
        if kept.map(String::len).sum::<usize>() > LSP_OPEN_BYTES
            && let Some(document) = self.documents.get_mut(last)
        {
            document.text = None;
        }
    }

    pub(super) fn change(&mut self, params: lsp::DidChangeTextDocumentParams) {
        let (version, uri) = {
            let of = params.text_document;
            (of.version, of.text_document_identifier.uri.0)
        };
        let Some(document) = self.documents.get_mut(&uri) else { return };
        document.change(version, params.content_changes, self.client.units);
        document.put_off(Instant::now());
        self.bound(&uri);
    }

    pub(super) fn judge_all_again(&mut self) {
        let now = Instant::now();
        self.documents.values_mut().for_each(|document| document.now_due(now));
    }

    pub(super) fn publish_due(&mut self) -> Result<(), LspError> {
        let now = Instant::now();
        let due = self.documents.iter().filter(|(_, d)| d.due().is_some_and(|due| due <= now));
        let uris: Vec<String> = due.map(|(uri, _)| uri.clone()).collect();
        for uri in uris {
            let found = self.judge(&uri).map(|(units, document)| {
                match (document.text.as_ref(), document.draft.as_ref()) {
                    (Some(text), Some(draft)) => diagnostics::diagnostics(draft, text, units),
                    (None, _) => vec![diagnostics::too_large()],
                    (Some(_), None) => Vec::new(),
                }
            });
            let diagnostics = found.unwrap_or_else(|failure| vec![diagnostics::nowhere(&failure)]);
            let Some(document) = self.documents.get_mut(&uri) else { continue };
            document.done();
            let version = document.version;
            self.publish(&uri, Some(version), diagnostics)?;
        }
        Ok(())
    }

    /// The text as it is now, and the result of checking exactly this text.
    pub(super) fn judge(&mut self, uri: &str) -> Result<(Units, &Document), Box<Diagnostic>> {
        let units = self.client.units;
        let document = self.documents.get_mut(uri).ok_or_else(|| {
            Box::new(Diagnostic {
                code: LSP_MALFORMED,
                message: "the text is not open, or it is not an item".to_owned(),
                help: None,
                place: None,
                item: None,
                data: serde_json::Map::new(),
            })
        })?;
        if let (None, Some(text)) = (&document.draft, &document.text) {
            let rye = self.context.rye(&document.path)?;
            let entry = rye.drafts().entry_at(&document.path);
            document.draft = entry.and_then(|entry| rye.drafts().judge(&entry, text));
        }
        Ok((units, document))
    }
}
