//! The names at the top of a Python file, where they stand one below the other.

use tree_sitter::Node;

use crate::parse::tool::python_tree;

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

/// The text with each run of neighbouring names in order; what stands alone is only spaced.
///
/// # Errors
/// One sentence: it cannot be read.
pub(super) fn names(text: &str) -> Result<String, String> {
    let tree = python_tree(text).map_err(|fault| fault.why)?;
    let root = tree.root_node();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let source: Vec<&str> = text.split_inclusive('\n').collect();
    let mut cursor = root.walk();
    let found: Vec<Binding<'_>> =
        root.children(&mut cursor).filter_map(|node| binding(node, text, &source)).collect();
    // What a comment stands above stays below it.
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
fn binding<'t>(statement: Node<'_>, text: &'t str, lines: &[&'t str]) -> Option<Binding<'t>> {
    let row = statement.start_position().row;
    let assignment = statement.named_child(0).filter(|_| statement.named_child_count() == 1)?;
    let one_line = statement.end_position().row == row && statement.start_position().column == 0;
    if assignment.kind() != "assignment" || !one_line {
        return None;
    }
    let (left, right) =
        (assignment.child_by_field_name("left")?, assignment.child_by_field_name("right")?);
    let name = text.get(left.byte_range())?;
    let typed = assignment.child_by_field_name("type").is_some();
    if typed || !NAMES.contains(&name) || right.kind() != "string" {
        return None;
    }
    let line = lines.get(row)?.trim_end();
    let behind = line.get(right.end_position().column..)?;
    let only_comment = behind.is_empty() || behind.trim_start().starts_with('#');
    only_comment.then_some(Binding { row, name, value: text.get(right.byte_range())?, behind })
}

/// Double quotes, where nothing inside is changed by that.
fn quoted(value: &str) -> String {
    let inner = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match inner {
        Some(inner) if !inner.contains(['"', '\\', '\'']) => format!("\"{inner}\""),
        _ => value.to_owned(),
    }
}
