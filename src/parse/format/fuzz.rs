//! Fuzz target: tidying keeps what a file says, and what of it is no header.

use super::format::{checked, read};
use crate::base::fuzz::item_text;
use crate::id::Kind;
use crate::space::HeaderStyle;

/// The forms that have a shape.
fn form(number: u8) -> (Kind, HeaderStyle) {
    let block = |comment: &str| HeaderStyle::Block { comment: comment.to_owned() };
    match number % 8 {
        0 => (Kind::Tool, HeaderStyle::Yaml),
        1 => (Kind::Tool, HeaderStyle::Toml),
        2 => (Kind::Tool, HeaderStyle::Python),
        3 => (Kind::Tool, HeaderStyle::JavaScript),
        4 => (Kind::Tool, block("#")),
        5 => (Kind::Tool, block("--")),
        6 => (Kind::Directive, HeaderStyle::Markdown),
        _ => (Kind::Knowledge, HeaderStyle::Markdown),
    }
}

/// The first byte is the form. What can be read says the same afterwards, no letter of it comes or
/// goes, and tidying again changes nothing.
pub(crate) fn tidy(data: &[u8]) {
    let Some((number, data)) = data.split_first() else { return };
    let Some(text) = item_text(data) else { return };
    let (kind, style) = form(*number);
    // Like any file that ends in CR LF, it would be left alone before this.
    if text.contains('\r') {
        return;
    }
    let Ok(before) = read(kind, &style, text) else { return };
    let Ok(Some(tidy)) = checked(kind, &style, text) else { return };
    assert!(read(kind, &style, &tidy).is_ok_and(|after| after == before), "{tidy:?}");
    assert_eq!(checked(kind, &style, &tidy), Ok(None), "{tidy:?}");
    let letters = |text: &str| {
        let mut all: Vec<char> =
            text.chars().filter(|c| !c.is_whitespace() && !"\"'".contains(*c)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(letters(&tidy), letters(text), "no letter comes or goes: {tidy:?}");
}
