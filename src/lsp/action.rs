//! The actions that an editor may offer at a place: edits for typing errors, and the command that
//! leads to a signature.

use std::collections::HashMap;

use gen_lsp_types as lsp;
use serde_json::json;

use super::diagnostics;
use super::place::Units;
use crate::rye::JudgedDraft;

/// Asks a person, with the change before them, whether to sign.
pub(super) const SIGN: &str = "rye.sign";
/// Shows what changed since the last verified version.
pub(super) const SHOW_DIFF: &str = "rye.showDiff";

/// The actions for a range of bytes; `uri` is the editor's name for the text.
pub(super) fn actions(
    draft: &JudgedDraft,
    text: &str,
    range: std::ops::Range<usize>,
    uri: &lsp::Uri,
    units: Units,
) -> Vec<lsp::CodeAction> {
    let mut actions = Vec::new();
    for remark in diagnostics::at(draft, text, range.start.min(text.len())) {
        let bytes = diagnostics::bytes_of(&remark.spot, text);
        for (at, word) in remark.meant.iter().enumerate() {
            let edit = lsp::TextEdit::new(units.range(text, bytes.clone()), word.clone());
            let changes = HashMap::from([(uri.clone(), vec![edit])]);
            actions.push(lsp::CodeAction {
                title: format!("Change to `{word}`"),
                kind: Some(lsp::CodeActionKind::QuickFix),
                is_preferred: Some(at == 0),
                edit: Some(lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() }),
                ..Default::default()
            });
        }
    }
    if draft.saved && diagnostics::refusal(draft).is_some() {
        let item = &draft.entry.item;
        for (title, command) in [
            (format!("Sign `{item}` …"), SIGN),
            (format!("Show what changed in `{item}`"), SHOW_DIFF),
        ] {
            let arguments = Some(vec![json!(uri)]);
            let command = lsp::Command {
                title: title.clone(),
                tooltip: None,
                command: command.into(),
                arguments,
            };
            actions.push(lsp::CodeAction {
                title,
                kind: Some(lsp::CodeActionKind::QuickFix),
                command: Some(command),
                ..Default::default()
            });
        }
    }
    actions
}
