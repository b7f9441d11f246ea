//! The checks of every fuzz target of a reader, and the target for knowledge.

use serde_json::Value;

use super::error::{CODES, ParseFault};
use super::knowledge::Knowledge;
use crate::base::fuzz::{is_message, is_within, item_text};
use crate::base::limits::DATA_DEPTH;
use crate::id;

pub(crate) use super::data::fuzz::{json, toml, yaml};
pub(crate) use super::directive::fuzz::directive;
#[cfg(feature = "code")]
pub(crate) use super::tool::fuzz::javascript;
pub(crate) use super::tool::fuzz::{files, header_block, python, tool_header};

/// A fault has a code of ours, a sentence that can be shown, and a place that the text has.
pub(crate) fn is_fault(text: &str, fault: &ParseFault) {
    let known = CODES.contains(&fault.code) || id::CODES.contains(&fault.code);
    assert!(known, "{:?}", fault.code);
    assert!(!fault.why.is_empty());
    is_message(&fault.why);
    if let Some(place) = fault.position {
        is_within(text, place);
    }
}

/// A value is no deeper and no larger than a text of this length can say.
pub(crate) fn is_bounded(value: &Value, most: usize) {
    let mut nodes = 0_usize;
    let mut open = vec![(value, 0_usize)];
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        assert!(depth <= DATA_DEPTH, "it nests {depth} deep");
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    assert!(nodes <= most, "{nodes} nodes from {most} bytes");
}

/// The body is the end of the file; front matter that is broken is refused with its place.
pub(crate) fn knowledge(data: &[u8]) {
    let Some(text) = item_text(data) else { return };
    let read = Knowledge::markdown(text);
    assert_eq!(read, Knowledge::markdown(text), "twice the same");
    match read {
        Ok(knowledge) => {
            let start = text.len() - knowledge.body.len();
            assert!(text.ends_with(&knowledge.body));
            // What is left out is the signature line and front matter between two rules.
            let before: Vec<&str> = text[..start].lines().collect();
            let signed = before.first().is_some_and(|line| line.starts_with("<!-- rye:signed:"));
            let front = &before[usize::from(signed)..];
            let rule = |line: Option<&&str>| line.is_none_or(|line| line.trim_end() == "---");
            assert!(rule(front.first()) && rule(front.last()) && front.len() != 1, "{before:?}");
        }
        Err(fault) => is_fault(text, &fault),
    }
}
