//! The texts that are open in the editor, bounded.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gen_lsp_types as lsp;

use super::place::Units;
use crate::base::limits::ITEM_BYTES;
use crate::rye::JudgedDraft;

/// How long a text is left unjudged while a person types on, in milliseconds.
#[cfg(feature = "lsp")]
const LSP_LATEST_MS: u64 = 1_000;

/// How long a text is left alone after a change before it is judged, in milliseconds: most letters
/// follow sooner.
#[cfg(feature = "lsp")]
const LSP_DEBOUNCE_MS: u64 = 150;

/// One open file that is an item by its path, or may become one.
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) version: i32,
    /// `None` if the text was too large, or if a change was lost; until the editor sends the whole
    /// text again.
    pub(super) text: Option<String>,
    /// The result of the last check of this text.
    pub(super) draft: Option<JudgedDraft>,
    /// When the text is due to be checked again, and since when that has been put off.
    due: Option<(Instant, Instant)>,
}

impl Document {
    pub(super) fn new(path: PathBuf, version: i32, text: String) -> Self {
        let mut document = Self { path, version, text: None, draft: None, due: None };
        document.replace(text);
        document
    }

    /// Takes a text that was sent whole.
    fn replace(&mut self, text: String) {
        let fits = u64::try_from(text.len()).is_ok_and(|length| length <= ITEM_BYTES);
        self.text = fits.then_some(text);
    }

    /// Applies changes in their order; a change to a part is ignored while the text is not known.
    pub(super) fn change(
        &mut self,
        version: i32,
        changes: Vec<lsp::TextDocumentContentChangeEvent>,
        units: Units,
    ) {
        self.version = version;
        for change in changes {
            match change {
                lsp::TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(
                    whole,
                ) => {
                    self.replace(whole.text);
                }
                lsp::TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let Some(mut text) = self.text.take() else { continue };
                    let start = units.byte(&text, part.range.start);
                    let end = units.byte(&text, part.range.end).max(start);
                    text.replace_range(start..end, &part.text);
                    self.replace(text);
                }
            }
        }
    }

    /// Puts the next check off a little, so that not every letter causes one; but not without end
    /// while a person types.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.draft = None;
        let since = self.due.map_or(now, |(_, since)| since);
        let soon = now + Duration::from_millis(LSP_DEBOUNCE_MS);
        self.due = Some((soon.min(since + Duration::from_millis(LSP_LATEST_MS)), since));
    }

    /// Makes the next check due at once.
    pub(super) fn now_due(&mut self, now: Instant) {
        self.draft = None;
        self.due = Some((now, now));
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due.map(|(due, _)| due)
    }

    pub(super) fn done(&mut self) {
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{Document, Units};
    use crate::base::limits::ITEM_BYTES;
    use gen_lsp_types as lsp;

    fn change(range: Option<[u32; 4]>, text: &str) -> lsp::TextDocumentContentChangeEvent {
        let mut value = serde_json::json!({"text": text});
        if let Some([line, from, end_line, to]) = range {
            value["range"] = serde_json::json!({
                "start": {"line": line, "character": from}, "end": {"line": end_line, "character": to},
            });
        }
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn changes_are_applied_one_after_the_other() {
        let mut document = Document::new("/x".into(), 1, "a😀b\nc\n".into());
        let changes = vec![
            // Behind the emoji, which is two units.
            change(Some([0, 3, 0, 4]), "B"),
            change(Some([1, 0, 2, 0]), ""),
            // An end before its start is empty, and what lies outside is the end.
            change(Some([9, 9, 0, 0]), "!"),
        ];
        document.change(2, changes, Units::Utf16);
        assert_eq!((document.version, document.text.as_deref()), (2, Some("a😀B\n!")));
        document.change(3, vec![change(None, "whole")], Units::Utf16);
        assert_eq!(document.text.as_deref(), Some("whole"));
    }

    #[test]
    fn a_text_that_is_too_large_is_not_kept_until_it_comes_whole_and_smaller() {
        let large = "x".repeat(usize::try_from(ITEM_BYTES).unwrap());
        let mut document = Document::new("/x".into(), 1, large);
        assert!(document.text.is_some(), "the largest item is kept");
        document.change(2, vec![change(Some([0, 0, 0, 0]), "y")], Units::Utf8);
        assert_eq!(document.text, None);
        document.change(3, vec![change(Some([0, 0, 0, 1]), "")], Units::Utf8);
        assert_eq!(document.text, None, "nobody knows what the change was a change of");
        document.change(4, vec![change(None, "small")], Units::Utf8);
        assert_eq!(document.text.as_deref(), Some("small"));
    }
}
