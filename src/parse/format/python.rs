//! The names at the top of a Python file, where they stand one below the other.

use crate::parse::tool::{NamedText, named_texts};

/// The order of the names that are texts.
const NAMES: [&str; 5] =
    ["__version__", "__tool_type__", "__executor_id__", "__category__", "__tool_description__"];

/// One name on one line: the row, the name, the text as it is written, what follows on the line.
struct Binding<'t> {
    row: usize,
    name: &'t str,
    value: &'t str,
    behind: &'t str,
}

/// The text with each run of neighbouring names in order; for a single name only the spacing
/// changes.
///
/// # Errors
/// A sentence that says why the file cannot be read.
pub(super) fn names(text: &str) -> Result<String, String> {
    let named = named_texts(text).map_err(|fault| fault.why)?;
    let source: Vec<&str> = text.split_inclusive('\n').collect();
    let mut lines: Vec<String> = source.iter().map(|line| (*line).to_owned()).collect();
    let mut starts = vec![0];
    for line in &source {
        starts.push(starts[starts.len() - 1] + line.len());
    }
    let found: Vec<Binding<'_>> =
        named.iter().filter_map(|named| binding(named, text, &starts)).collect();
    // A comment stays above its line.
    let is_told = |row: usize| row > 0 && source[row - 1].starts_with('#');
    let runs = found.chunk_by(|one, next| one.row + 1 == next.row && !is_told(one.row));
    for run in runs {
        let mut sorted: Vec<&Binding<'_>> = run.iter().collect();
        sorted.sort_by_key(|binding| super::rank(&NAMES, binding.name));
        for (place, binding) in run.iter().zip(sorted) {
            let Binding { name, value, behind, .. } = binding;
            let end = if source[place.row].ends_with('\n') { "\n" } else { "" };
            lines[place.row] = format!("{name} = {}{behind}{end}", quoted(value));
        }
    }
    Ok(lines.concat())
}

/// `name = "text"` at the margin, with nothing else but a comment on its line.
fn binding<'t>(named: &NamedText, text: &'t str, starts: &[usize]) -> Option<Binding<'t>> {
    let row = starts.binary_search(&named.statement.start).ok()?;
    let end = *starts.get(row + 1)?;
    if named.statement.end > end || !NAMES.contains(&named.name) {
        return None;
    }
    let behind = text.get(named.value.end..end)?.trim_end();
    let only_comment = behind.is_empty() || behind.trim_start().starts_with('#');
    let value = text.get(named.value.clone())?;
    only_comment.then_some(Binding { row, name: named.name, value, behind })
}

/// Double quotes, where nothing inside is changed by that.
fn quoted(value: &str) -> String {
    let inner = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match inner {
        Some(inner) if !inner.contains(['"', '\\', '\'']) => format!("\"{inner}\""),
        _ => value.to_owned(),
    }
}
