//! Fuzz targets for what an editor sends.

use gen_lsp_types as lsp;

use super::document::Document;
use super::place::Units;
use super::wire::{self, Frame};
use crate::base::limits::ITEM_BYTES;

/// Reading the frames of any stream ends. A message that was read and written is read again as the
/// same message, except that duplicate names become one.
pub(crate) fn frames(mut data: &[u8]) {
    loop {
        let before = data.len();
        match wire::read(&mut data) {
            Ok(Some(Frame::Message(message))) => {
                let mut written = Vec::new();
                assert!(wire::write(&mut written, &message).is_ok());
                let again = wire::read(&mut written.as_slice());
                assert!(matches!(again, Ok(Some(Frame::Message(same))) if same == message));
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return,
        }
        assert!(data.len() < before, "a frame takes something of the stream");
    }
}

/// Changes at any places leave valid UTF-8, and each position in the text is found again.
pub(crate) fn edits(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let units = [Units::Utf8, Units::Utf16, Units::Utf32][usize::from(first % 3)];
    let Ok(changes) = serde_json::from_slice::<serde_json::Value>(rest) else { return };
    let Ok(changes) = serde_json::from_value::<Vec<lsp::TextDocumentContentChangeEvent>>(changes)
    else {
        return;
    };
    let mut document = Document::new("/x".into(), 1, "a\u{e4}漢😀b\r\nz\rw\n".to_owned());
    document.change(2, changes, units);
    let Some(text) = document.text else { return };
    assert!(u64::try_from(text.len()).is_ok_and(|length| length <= ITEM_BYTES));
    let inside = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
    let places = text.char_indices().map(|(at, _)| at).filter(|at| !inside(*at));
    for at in places.take(100) {
        assert_eq!(units.byte(&text, units.place(&text, at)), at, "{text:?}");
    }
}
