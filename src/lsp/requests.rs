//! Answers to requests about one place of a text; an answer is empty if nothing is known.

use gen_lsp_types as lsp;
use serde_json::{Value, json};

use super::outgoing::{Answer, read};
use super::session::Session;
use super::{action, complete, hover};

impl Session<'_> {
    pub(super) fn hover(&mut self, params: Value) -> Answer {
        let at = read::<lsp::HoverParams>(params)?.text_document_position_params;
        let Ok((units, document)) = self.judge(&at.text_document.uri.0) else {
            return Ok(Value::Null);
        };
        let (Some(text), Some(draft)) = (&document.text, &document.draft) else {
            return Ok(Value::Null);
        };
        let Some((markdown, bytes)) = hover::hover(draft, text, units.byte(text, at.position))
        else {
            return Ok(Value::Null);
        };
        let contents = lsp::MarkupContent::new(lsp::MarkupKind::Markdown, markdown);
        Ok(json!(lsp::Hover::new(contents.into(), Some(units.range(text, bytes)))))
    }

    pub(super) fn complete(&mut self, params: Value) -> Answer {
        let at = read::<lsp::CompletionParams>(params)?.text_document_position_params;
        let context = self.context;
        let Ok((units, document)) = self.judge(&at.text_document.uri.0) else {
            return Ok(Value::Null);
        };
        let (Some(text), Some(draft)) = (&document.text, &document.draft) else {
            return Ok(Value::Null);
        };
        let Ok(rye) = context.rye(&document.path) else { return Ok(Value::Null) };
        let byte = units.byte(text, at.position);
        let Some((bytes, rows)) = complete::complete(&rye, draft, text, byte) else {
            return Ok(Value::Null);
        };
        let range = units.range(text, bytes);
        let items = rows.into_iter().map(|(label, about)| lsp::CompletionItem {
            text_edit: Some(lsp::TextEdit::new(range, label.clone()).into()),
            detail: (!about.is_empty()).then_some(about),
            kind: Some(lsp::CompletionItemKind::Reference),
            label,
            ..Default::default()
        });
        Ok(json!(items.collect::<Vec<_>>()))
    }

    pub(super) fn actions(&mut self, params: Value) -> Answer {
        let lsp::CodeActionParams { text_document, range, .. } = read(params)?;
        let takes_actions = self.client.takes_actions;
        let Ok((units, document)) = self.judge(&text_document.uri.0) else { return Ok(json!([])) };
        let (Some(text), Some(draft)) = (&document.text, &document.draft) else {
            return Ok(json!([]));
        };
        let bytes = units.byte(text, range.start)..units.byte(text, range.end);
        let actions = action::actions(draft, text, bytes, &text_document.uri, units);
        if takes_actions {
            return Ok(json!(actions));
        }
        Ok(json!(actions.into_iter().filter_map(|action| action.command).collect::<Vec<_>>()))
    }
}
