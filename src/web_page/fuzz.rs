//! The target for pages: whatever an answer holds, there is a text that steers nothing.

use super::fetch::Form;
use super::foreign::{Frame, shown, title_line};
use super::{html, letters};
use crate::base::Address;
use crate::base::limits::{PAGE_STACK_BYTES, PAGE_TITLE_CHARS};
use crate::base::text::unfit;

/// The first byte chooses what the server says of the letters.
pub(crate) fn page(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let named = ["", "utf-8", "iso-8859-1", "shift_jis", "utf-16le", "gb18030", "iso-2022-jp"];
    let named = named.get(usize::from(*first)).filter(|name| !name.is_empty()).copied();
    let decoded = letters::decode(bytes, named, Form::Html);
    let Ok(address) = Address::parse("https://a.example/x") else { return };
    let read = move || {
        let words = html::words(&decoded, &address);
        for text in [html::plain(&words.markdown), words.markdown] {
            let text = shown(&text);
            assert_eq!(unfit(&text), None, "{text:?}");
            let frame = Frame::around(&text, "https://a.example").expect("random bytes");
            assert_eq!(frame.text(&text).lines().count(), text.split('\n').count() + 2);
        }
        let title = title_line(&words.title.unwrap_or_default());
        assert!(title.chars().count() <= PAGE_TITLE_CHARS && !title.contains(['\n', '\t']));
        assert_eq!(unfit(&title), None, "{title:?}");
    };
    // As much room as the program gives itself.
    let thread = std::thread::Builder::new().stack_size(PAGE_STACK_BYTES).spawn(read);
    assert!(thread.expect("a thread").join().is_ok(), "it was read");
}
