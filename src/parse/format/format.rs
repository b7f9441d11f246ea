//! The promise: the same meaning, the same bytes outside of the header, and the same again.

use super::{KNOWLEDGE_KEYS, directive, python, toml, yaml};
use crate::base::text::{lone_return, unfit};
use crate::id::Kind;
use crate::parse::directive::Directive;
use crate::parse::error::{ParseError, ParseFault};
use crate::parse::item::{Item, parse};
use crate::parse::tool::{KEYS, header};
use crate::resolve::Found;
use crate::space::HeaderStyle;
use crate::verify::{Scan, scan};

/// The result of formatting a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FormattedHeader {
    Same,
    /// The whole file, its signature line where it was.
    Changed(String),
    /// Left as it is, and why.
    Left(String),
}

/// Formats the header of a file.
///
/// # Errors
/// `parse.*`: it cannot be read as an item.
pub(crate) fn formatted(found: &Found) -> Result<FormattedHeader, ParseError> {
    let left = |why: &str| Ok(FormattedHeader::Left(why.to_owned()));
    let Ok(text) = std::str::from_utf8(&found.bytes) else { return left("it is not UTF-8") };
    if unfit(text).is_some() || lone_return(&found.bytes).is_some() {
        return left("it holds a character that has no place in an item; `rye sign` says where");
    }
    if text.contains('\r') {
        return left("its lines end in CR LF, which are kept as they are");
    }
    let signed = match scan(&found.bytes, &found.file_type.comment) {
        Ok(Scan::None) => 0..0,
        Ok(Scan::Line { range, .. }) => range,
        _ => return left("its signature line is not as it should be; `rye verify` says how"),
    };
    let rest = format!("{}{}", &text[..signed.start], &text[signed.end..]);
    let (kind, style) = (found.item.kind, &found.file_type.header);
    let broken = |fault| ParseError::new(found.item.clone(), found.place.clone(), fault);
    // The file as it is on disk is read, so that positions of faults are those that an editor
    // shows.
    read(kind, style, text).map_err(broken)?;
    match checked(kind, style, &rest) {
        Ok(Some(rest)) => {
            let line = &text[signed.clone()];
            let (before, behind) = rest.split_at(signed.start);
            Ok(FormattedHeader::Changed(format!("{before}{line}{behind}")))
        }
        Ok(None) => Ok(FormattedHeader::Same),
        Err(why) => Ok(FormattedHeader::Left(why)),
    }
}

/// The text with its header formatted, if that changes it.
///
/// # Errors
/// One sentence: why the text is left as it is.
pub(super) fn checked(
    kind: Kind,
    style: &HeaderStyle,
    text: &str,
) -> Result<Option<String>, String> {
    let tidy = reshaped(kind, style, text)?;
    if tidy == text {
        return Ok(None);
    }
    let meaning = |text: &str| read(kind, style, text).map_err(|fault| fault.why);
    if meaning(text)? != meaning(&tidy)? {
        return Err("its header cannot be tidied without changing what it says".into());
    }
    if letters(&tidy) != letters(text) {
        return Err("its header cannot be tidied without losing something".into());
    }
    if reshaped(kind, style, &tidy)? != tidy {
        return Err("its header has no shape that stays".into());
    }
    Ok(Some(tidy))
}

/// How often each character stands in a text, without white space and quotes; moving text does not
/// change this.
fn letters(text: &str) -> std::collections::BTreeMap<char, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for sign in text.chars().filter(|c| !c.is_whitespace() && !"\"'".contains(*c)) {
        *counts.entry(sign).or_default() += 1;
    }
    counts
}

/// The content of a file, without positions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meaning {
    pub(super) item: Item,
    pub(super) header: Option<serde_json::Map<String, serde_json::Value>>,
    unknown: Vec<String>,
}

pub(super) fn read(kind: Kind, style: &HeaderStyle, text: &str) -> Result<Meaning, ParseFault> {
    let item = parse(kind, style, text, || text.to_owned())?;
    // Unknown keys mean something to other readers, so they count too.
    let header = (kind == Kind::Tool).then(|| header(text, style)).transpose()?;
    let mut unknown = Vec::new();
    let item = match item {
        Item::Directive(directive) => {
            unknown = directive.unknown.iter().map(|(name, _)| name.clone()).collect();
            let nowhere = crate::base::text::Position { line: 1, column: 1 };
            Item::Directive(Box::new(Directive {
                unknown: Vec::new(),
                fence: nowhere,
                root: nowhere,
                body_start: 0,
                ..*directive
            }))
        }
        other => other,
    };
    unknown.sort();
    Ok(Meaning { item, header, unknown })
}

fn reshaped(kind: Kind, style: &HeaderStyle, text: &str) -> Result<String, String> {
    match (kind, style) {
        (Kind::Tool, HeaderStyle::Yaml) => yaml::mapping(text, KEYS),
        (Kind::Tool, HeaderStyle::Toml) => toml::document(text, KEYS),
        (Kind::Tool, HeaderStyle::Python) => toml::block(&python::names(text)?, "#", KEYS),
        (Kind::Tool, HeaderStyle::JavaScript | HeaderStyle::TypeScript) => {
            toml::block(text, "//", KEYS)
        }
        (Kind::Tool, HeaderStyle::Block { comment }) => toml::block(text, comment.trim(), KEYS),
        (Kind::Directive, _) => directive::fence(text),
        (Kind::Knowledge, HeaderStyle::Markdown) => yaml::front_matter(text, KNOWLEDGE_KEYS),
        // Files of other forms have no header, so all of them is content.
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
