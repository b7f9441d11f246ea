//! Fuzz targets for the headers of tools.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::names::NAMES;
use super::tool::Tool;
use super::write_files::write_files;
use super::{block, header, python};
use crate::base::Digest;
use crate::base::fuzz::{is_message, is_within, item_text};
use crate::parse::error::{PARSE_METADATA, ParseFault};
use crate::parse::fuzz::{is_bounded, is_fault};
use crate::space::HeaderStyle;

type Header = Result<Map<String, Value>, ParseFault>;

/// Each declaration of a Python file is written in it, once and in plain sight.
pub(crate) fn python(data: &[u8]) {
    let Some(text) = item_text(data) else { return };
    is_said(text, &python::header(text));
    is_tool(text, &HeaderStyle::Python);
}

/// As [`python()`], but for JavaScript, or for TypeScript if the first byte is a `t`: it is parsed
/// on a stack that holds it, or refused.
#[cfg(feature = "code")]
pub(crate) fn javascript(data: &[u8]) {
    use oxc_span::SourceType;
    let Some((choice, data)) = data.split_first() else { return };
    let Some(text) = item_text(data) else { return };
    let types = *choice == b't';
    let form = if types { SourceType::ts() } else { SourceType::unambiguous() };
    let parse = || {
        let allocator = oxc_allocator::Allocator::default();
        oxc_parser::Parser::new(&allocator, text, form).parse().diagnostics.is_empty()
    };
    if let Err(why) = super::with_room_for_javascript(text, types, parse) {
        is_message(&why);
    }
}

/// No key comes from nowhere: the name that binds it stands in the text.
fn is_said(text: &str, header: &Header) {
    assert!(text.len() < 1 << 20);
    match header {
        Ok(map) => {
            for (key, value) in map {
                let said = NAMES.iter().any(|(name, of)| of == key && text.contains(name));
                // A name may be written with escapes, or with letters that Python takes for others.
                assert!(said || text.contains('\\') || !text.is_ascii(), "{key}");
                is_bounded(value, text.len());
            }
        }
        Err(fault) => is_fault(text, fault),
    }
}

/// The block's TOML is what stands behind the comment openers, and nothing of it is lost. The first
/// byte chooses the comment style.
pub(crate) fn header_block(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let Some(text) = item_text(data) else { return };
    let comment = match choice {
        b'-' => "--",
        b'/' => "//",
        _ => "#",
    };
    let opener = format!("{comment} /// rye");
    let opens = text.split('\n').filter(|line| line.trim_end() == opener).count();
    match block::header(text, comment) {
        Ok(map) => {
            assert!(opens == 1 || (opens == 0 && map.is_empty()), "{opens} blocks, {map:?}");
            is_bounded(&Value::Object(map.clone()), 2 * text.len() + 1);
            assert_eq!(Ok(map), by_lines(text, comment), "{text:?}");
        }
        Err(fault) => {
            assert!(opens > 0, "no block is not a fault");
            is_fault(text, &fault);
        }
    }
    is_tool(text, &HeaderStyle::Block { comment: comment.into() });
}

/// The block's table, read in the simplest way.
fn by_lines(text: &str, comment: &str) -> Result<Map<String, Value>, ParseFault> {
    let is = |line: &str, mark: &str| line.trim_end() == format!("{comment} {mark}");
    let lines = text.split('\n').skip_while(|line| !is(line, "/// rye")).skip(1);
    let mut inside = String::new();
    for line in lines.take_while(|line| !is(line, "///")) {
        let behind = line.strip_prefix(comment).unwrap_or_default();
        let behind = if behind.trim().is_empty() { "" } else { &behind[1..] };
        inside.push_str(&format!("{behind}\n"));
    }
    match crate::parse::data::toml(&inside)? {
        Value::Object(map) => Ok(map),
        _ => Err(ParseFault::new(PARSE_METADATA, "no table")),
    }
}

/// A tool in YAML or, where the first byte is a `t`, in TOML.
pub(crate) fn tool_header(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let Some(text) = item_text(data) else { return };
    is_tool(text, if *choice == b't' { &HeaderStyle::Toml } else { &HeaderStyle::Yaml });
}

/// A declared tool is well-formed, or the fault can be shown.
fn is_tool(text: &str, style: &HeaderStyle) {
    let parsed = header::parse(text, style);
    assert_eq!(parsed, header::parse(text, style), "twice the same");
    let tool = match parsed {
        Ok(tool) => tool,
        Err(fault) => return is_fault(text, &fault),
    };
    let names = tool.env.iter().map(|(name, _)| name);
    for name in names.chain(&tool.env_names).chain(&tool.secrets) {
        let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        assert!(name.bytes().all(part) && !name.is_empty(), "{name:?}");
        assert!(!name.starts_with(|c: char| c.is_ascii_digit()), "{name:?}");
    }
    assert!(tool.env.iter().all(|(_, value)| !value.contains('\0')));
    assert!(tool.schema.as_ref().is_none_or(Value::is_object));
    for ports in [&tool.inputs, &tool.outputs].into_iter().flatten() {
        let names: HashSet<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names.len(), ports.len());
    }
    for finding in crate::parse::item_rules::of_tool(&tool, text) {
        is_message(&finding.message);
        if let Some(place) = finding.position {
            is_within(text, place);
        }
    }
}

/// Filling in the digests of a tool's files changes nothing else, and once is as good as twice. The
/// first byte chooses the header's style.
pub(crate) fn files(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let Some(text) = item_text(data) else { return };
    let style = match choice {
        b't' => HeaderStyle::Toml,
        b'#' => HeaderStyle::Block { comment: "#".into() },
        b'-' => HeaderStyle::Block { comment: "--".into() },
        b'p' => HeaderStyle::Python,
        _ => HeaderStyle::Yaml,
    };
    let Ok(tool) = header::parse(text, &style) else { return };
    let Some(listed) = &tool.files else { return };
    let digest = Digest::of(data);
    let paths = ["lib/a.py", "b: {c}.py", "'\"ü # %.txt"].map(str::parse).into_iter().flatten();
    let digests = paths.map(|path| (path, digest)).collect();
    let filled = match write_files(text, &style, listed, &digests) {
        Ok(filled) => filled,
        Err(why) => return is_message(&why),
    };
    let again = match header::parse(&filled, &style) {
        Ok(again) => again,
        Err(fault) => panic!("{fault:?} in {filled:?}"),
    };
    let Some(listed) = &again.files else { panic!("no files in {filled:?}") };
    assert_eq!(listed.digests.len(), digests.len());
    assert!(listed.digests.values().all(|found| *found == Some(digest)));
    assert_eq!(Tool { files: None, ..again.clone() }, Tool { files: None, ..tool });
    assert_eq!(write_files(&filled, &style, listed, &digests).as_ref(), Ok(&filled), "{text:?}");
    if !matches!(style, HeaderStyle::Toml) {
        // What stands before the header and behind it is what is run.
        let key = if style == HeaderStyle::Yaml { "files:" } else { "/// rye" };
        let before = |text: &str| text.find(key).map(|at| text[..at].to_owned());
        assert_eq!(before(&filled), before(text));
        let behind = |text: &str| text.rsplit(" ///").next().map(str::to_owned);
        assert!(style == HeaderStyle::Yaml || behind(&filled) == behind(text), "{filled:?}");
    }
}
