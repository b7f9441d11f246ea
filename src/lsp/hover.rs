//! The hover text: who signed the item, what it runs through, and the inputs that it names.

use std::fmt::Write as _;

use super::diagnostics;
use crate::base::text::escape_line;
use crate::diagnostic::Code;
use crate::parse::Item;
use crate::report::Detail;
use crate::rye::JudgedDraft;

/// Markdown for a place, and the bytes that it is about.
///
/// On an input's name its declaration; where a remark stands, the page of its code; anywhere else
/// in the head of the text, its chain.
pub(super) fn hover(
    draft: &JudgedDraft,
    text: &str,
    byte: usize,
) -> Option<(String, std::ops::Range<usize>)> {
    if let Some((name, range)) = input_at(text, byte)
        && let Some(declared) = draft.item.as_ref().and_then(|item| declaration(item, name))
    {
        return Some((declared, range));
    }
    if let Some(remark) = diagnostics::at(draft, text, byte).first()
        && let Some(code) = remark.code
    {
        let range = diagnostics::bytes_of(&remark.spot, text);
        // On the signature line the hover shows the remark and the chain.
        let chain = if range.start == 0 { chain(draft) } else { String::new() };
        return Some((format!("{chain}{}", page(code)), range));
    }
    let head = head_end(draft, text);
    (byte < head).then(|| {
        let refused = draft.verdict.as_ref().err();
        let why = refused.map(|refused| page(refused.code)).unwrap_or_default();
        let line = text[..byte].rfind('\n').map_or(0, |feed| feed + 1);
        let end = text[line..].find('\n').map_or(text.len(), |feed| line + feed);
        (format!("{}{why}", chain(draft)), line..end)
    })
}

/// Where the head of an item ends: a directive's fence, a tool's header. A text that is one body
/// has its first line.
fn head_end(draft: &JudgedDraft, text: &str) -> usize {
    let first = text.find('\n').map_or(text.len(), |feed| feed + 1);
    match &draft.item {
        Some(Item::Directive(_)) => text.find("</directive>").unwrap_or(first),
        Some(Item::Tool(tool)) => {
            let executor = tool.executor.as_ref().and_then(|id| text.find(id.as_str()));
            let line = executor.map(|at| text[at..].find('\n').map_or(text.len(), |f| at + f + 1));
            line.unwrap_or(first)
        }
        _ => first,
    }
}

/// The chain as a list, the text itself first.
fn chain(draft: &JudgedDraft) -> String {
    let item = &draft.entry.item;
    let verdict = match &draft.verdict {
        Ok(detail) => format!("verified, {}", signer(detail)),
        Err(refused) => format!("**{}**: {}", refused.code, plain(&refused.message)),
    };
    let mut out = format!(
        "**`{item}`** {}\n\n1. `{item}` · {} · {verdict}\n",
        kind(draft),
        draft.entry.space
    );
    for (at, link) in draft.links.iter().enumerate() {
        let _ = writeln!(
            out,
            "{}. `{}` · {} · verified, {}",
            at + 2,
            link.item,
            link.space,
            signer(link)
        );
    }
    let stopped = draft.remarks.iter().find(|remark| {
        remark.code.is_some_and(|code| {
            !code.name().starts_with("sign.") && !code.name().starts_with("parse.")
        })
    });
    if let Some(stopped) = stopped {
        let code = stopped.code.map(|code| code.to_string()).unwrap_or_default();
        let _ = writeln!(out, "\n**{code}**: {}", plain(&stopped.message));
    }
    out.push('\n');
    out
}

fn kind(draft: &JudgedDraft) -> String {
    match draft.item.as_ref().and_then(Item::description) {
        Some(about) => plain(about),
        None => String::new(),
    }
}

fn signer(detail: &Detail) -> String {
    let key = detail.signer.map(|key| key.short()).unwrap_or_default();
    match &detail.owner {
        Some(owner) => format!("signed by {} `{key}`", plain(owner)),
        None => format!("signed by `{key}`"),
    }
}

/// Foreign text on one line, with every character that means something in Markdown escaped.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in escape_line(text).chars() {
        if c.is_ascii_punctuation() && !matches!(c, ',' | '.' | ':' | '/' | '\'' | '"' | '`') {
            out.push('\\');
        }
        // A backtick is replaced by another character, because nothing can be escaped inside code.
        out.push(if c == '`' { '\'' } else { c });
    }
    out
}

/// The name of the placeholder around a place, or of the declared input that stands there.
fn input_at(text: &str, byte: usize) -> Option<(&str, std::ops::Range<usize>)> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let start = text[..byte].rfind(|c| !part(c)).map_or(0, |at| at + 1);
    let end = text[byte..].find(|c| !part(c)).map_or(text.len(), |at| byte + at);
    let marks = text[..start].ends_with("{input:")
        || text[..start].ends_with("name=\"")
        || text[..start].ends_with('{') && text[end..].starts_with('}');
    (marks && start < end).then(|| (&text[start..end], start..end))
}

fn declaration(item: &Item, name: &str) -> Option<String> {
    let data = item.to_json();
    if let Item::Directive(directive) = item {
        let input = directive.inputs.iter().find(|input| input.name == name)?;
        let need = if input.required { "required" } else { "optional" };
        let default =
            input.default.as_ref().map(|d| format!(", default {}", plain(&d.to_string())));
        return Some(format!(
            "input `{name}`: {}, {need}{}\n\n{}",
            input.ty.as_str(),
            default.unwrap_or_default(),
            plain(&input.description)
        ));
    }
    let property = data.get("schema")?.get("properties")?.get(name)?;
    let text = |key: &str| {
        property.get(key).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
    };
    let ty = text("type").unwrap_or_else(|| "any".to_owned());
    let default = text("default").map(|d| format!(", default {}", plain(&d))).unwrap_or_default();
    let about = text("description").unwrap_or_default();
    Some(format!("parameter `{name}`: {}{default}\n\n{}", plain(&ty), plain(&about)))
}

/// The page of a code, below a rule.
fn page(code: Code) -> String {
    format!("---\n\n{}", code.page())
}
