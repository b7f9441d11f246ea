//! TOML, as a file and in a header block; comments stay with their keys.

use std::fmt::Write as _;

use toml_edit::{DocumentMut, Item, Value};

use super::rank;
use crate::base::text::escape_line;

/// A whole file. Comments at its top stay there.
///
/// # Errors
/// One sentence: it is not TOML.
pub(super) fn document(text: &str, order: &[&str]) -> Result<String, String> {
    let is_lead = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let lead: usize = text.split_inclusive('\n').take_while(is_lead).map(str::len).sum();
    let (lead, rest) = text.split_at(lead);
    let document = rest.parse::<DocumentMut>();
    let mut document = document.map_err(|e| escape_line(&e.to_string()))?;
    let root = document.as_table_mut();
    for (mut key, item) in root.iter_mut() {
        let Item::Value(value) = item else { continue };
        // A dotted key is a table that is written on one line.
        if value.as_inline_table().is_some_and(toml_edit::InlineTable::is_dotted) {
            continue;
        }
        key.leaf_decor_mut().set_suffix(" ");
        value.decor_mut().set_prefix(" ");
        requote(value);
    }
    root.sort_values_by(|one, _, other, _| rank(order, one.get()).cmp(&rank(order, other.get())));
    Ok(format!("{lead}{document}"))
}

/// The TOML of a `/// rye` block in comments; a text without one is as it was.
///
/// # Errors
/// As [`document`].
pub(super) fn block(text: &str, comment: &str, order: &[&str]) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = |mark: &str, from: usize| {
        let whole = format!("{comment} {mark}");
        lines[from..].iter().position(|line| line.trim_end() == whole).map(|at| at + from)
    };
    let Some(start) = at("/// rye", 0) else { return Ok(text.to_owned()) };
    let Some(end) = at("///", start + 1) else { return Ok(text.to_owned()) };
    let bare = |line: &&str| {
        let rest = line.trim_end().strip_prefix(comment).unwrap_or_default().to_owned();
        format!("{}\n", rest.strip_prefix(' ').unwrap_or(&rest))
    };
    let inside: String = lines[start + 1..end].iter().map(bare).collect();
    let mut out = lines[..start].concat();
    let _ = writeln!(out, "{comment} /// rye");
    for line in document(&inside, order)?.lines() {
        let space = if line.is_empty() { "" } else { " " };
        let _ = writeln!(out, "{comment}{space}{}", line.trim_end());
    }
    let close = lines[end];
    let _ = write!(out, "{comment} ///{}", if close.ends_with('\n') { "\n" } else { "" });
    out.push_str(&lines[end + 1..].concat());
    Ok(out)
}

/// A text in single quotes gets double ones, where nothing in it would need a backslash.
fn requote(value: &mut Value) {
    let Value::String(text) = value else { return };
    let written = text.as_repr().and_then(|repr| repr.as_raw().as_str()).unwrap_or_default();
    let is_literal = written.starts_with('\'') && !written.starts_with("'''");
    let needs = |c: char| matches!(c, '"' | '\\') || c.is_control();
    if !is_literal || text.value().contains(needs) {
        return;
    }
    let mut plain = Value::from(text.value().as_str());
    *plain.decor_mut() = text.decor().clone();
    *value = plain;
}
