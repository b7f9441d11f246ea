//! Python headers: module-level names bound to literals, read from the syntax tree.

use serde_json::{Map, Value};

use super::python_literal::literal;
use super::python_outline::{declarations, outline};
use super::syntax::{Form, Grammar, NAMES, Step, header as read, tree};
use crate::base::limits::LONE_BACKSLASHES;
use crate::base::text::Position;
use crate::parse::error::{ENCODING, Fault, LIMIT};

/// The header of a Python file.
///
/// # Errors
/// `parse.encoding` for a coding line other than UTF-8, `parse.limit` for too many lone backslashes;
/// else those of a syntax header.
pub(super) fn header(text: &str) -> Result<Map<String, Value>, Fault> {
    coding(text)?;
    continuations(text)?;
    read(text, &grammar())
}

/// The same of the declarations alone: for finding a file, and for nothing else.
pub(super) fn declared(text: &str) -> Result<Map<String, Value>, Fault> {
    let Some(lines) = declarations(text) else { return header(text) };
    let (mut map, mut others) = (Map::new(), String::new());
    for line in &lines {
        match plain(line) {
            Some((key, value)) if !map.contains_key(key) => {
                map.insert(key.into(), value.into());
            }
            _ => others.push_str(line),
        }
    }
    if !others.is_empty() {
        continuations(&others)?;
        for (key, value) in read(&others, &grammar())? {
            if map.insert(key, value).is_some() {
                // A name that is bound twice is told as it is everywhere.
                return read(&lines.concat(), &grammar());
            }
        }
    }
    Ok(map)
}

/// The keys and texts of a file that declares nothing but texts, each once: for finding it.
pub(super) fn texts(text: &str) -> Option<Vec<(&'static str, &str)>> {
    let texts: Vec<_> = declarations(text)?.into_iter().map(plain).collect::<Option<_>>()?;
    let is_first = |at: usize| texts[..at].iter().all(|(key, _)| *key != texts[at].0);
    (0..texts.len()).all(is_first).then_some(texts)
}

/// What a line binds to a text without quotes and escapes, which is read without a grammar.
fn plain(line: &str) -> Option<(&'static str, &str)> {
    let (name, rest) = line.split_once(' ')?;
    let (_, key) = NAMES.iter().find(|(known, _)| *known == name)?;
    let value = rest.strip_prefix("= \"")?.trim_end_matches(['\r', '\n']).strip_suffix('"')?;
    (!value.contains(['"', '\\', '\r', '\n'])).then_some((key, value))
}

/// The syntax tree of a file that has a header; bodies of functions may be left out of it.
///
/// # Errors
/// As [`header`].
pub(crate) fn python_tree(text: &str) -> Result<tree_sitter::Tree, Fault> {
    header(text)?;
    tree(text, &grammar())
}

/// Refuses many lines that only carry on the one before: no program needs them, and the parser would
/// take minutes for a few thousand.
fn continuations(text: &str) -> Result<(), Fault> {
    let mut lone = text.lines().enumerate().filter(|(_, line)| line.trim() == "\\");
    match lone.nth(LONE_BACKSLASHES) {
        Some((at, _)) => {
            let why = format!("more than {LONE_BACKSLASHES} lines hold a backslash alone");
            Err(Fault::new(LIMIT, why).at(Position { line: at + 1, column: 1 }))
        }
        None => Ok(()),
    }
}

pub(super) fn grammar() -> Grammar {
    Grammar {
        language: tree_sitter_python::LANGUAGE.into(),
        outline,
        spelled: &["identifier"],
        scope: |kind, field| {
            let definition = matches!(kind, "function_definition" | "class_definition" | "lambda");
            definition && field == Some("body")
        },
        bracket,
        binding,
        literal,
    }
}

/// Refuses a coding line that is not UTF-8: Python would run other text than was read here.
///
/// Python looks at two lines; the signature line may have pushed the second one down.
fn coding(text: &str) -> Result<(), Fault> {
    for (at, line) in text.lines().take(3).enumerate() {
        let Some(remark) = line.trim_start_matches([' ', '\t', '\u{c}']).strip_prefix('#') else {
            continue;
        };
        let Some(name) = remark.match_indices("coding").find_map(|(at, word)| {
            let rest = remark[at + word.len()..].strip_prefix([':', '='])?;
            let rest = rest.trim_start_matches([' ', '\t']);
            let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let name = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
            (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
        }) else {
            continue;
        };
        if name != "utf-8" && name != "utf8" {
            let why = format!("its coding line says `{name}`; only UTF-8 is read");
            return Err(Fault::new(ENCODING, why).at(Position { line: at + 1, column: 1 }));
        }
    }
    Ok(())
}

/// How the identifier at the end of the path binds its name.
fn binding<'t>(path: &[Step<'t>]) -> Option<Form<'t>> {
    let (name, above) = path.split_last()?;
    if let [module, statement, assignment] = above
        && (module.kind, statement.kind) == ("module", "expression_statement")
        && (assignment.kind, name.field) == ("assignment", Some("left"))
    {
        // A bare annotation (`name: str`) has no value and so is no plain binding.
        return Some(assignment.node.child_by_field_name("right").map_or(Form::Other, Form::Plain));
    }
    let depth = name.holder;
    let (holder, field) = (above.get(depth)?, path[depth + 1].field);
    let bound = match holder.kind {
        "assignment" | "augmented_assignment" | "for_statement" | "type_alias_statement" => {
            field == Some("left")
        }
        "function_definition" | "class_definition" | "named_expression" => field == Some("name"),
        "as_pattern" | "aliased_import" => field == Some("alias"),
        "delete_statement" => true,
        "global_statement" => return Some(Form::Global),
        _ => false,
    };
    let above = &above[..depth];
    let first_of_dotted = holder.kind == "dotted_name" && holder.node.child(0) == Some(name.node);
    let imported = first_of_dotted
        && holder.field == Some("name")
        && above.last().is_some_and(|step| step.kind.starts_with("import_"));
    // `type x = …`: the name stands inside a `type` node.
    let alias = holder.kind == "type"
        && holder.field == Some("left")
        && above.last().is_some_and(|step| step.kind == "type_alias_statement");
    // Any name in a `case` pattern may capture; the ones that do not are not worth telling apart.
    (bound || imported || alias || holder.in_case).then_some(Form::Other)
}

/// A target may hold the name inside further brackets and stars.
fn bracket(kind: &str, _: Option<&str>) -> bool {
    matches!(
        kind,
        "pattern_list"
            | "tuple_pattern"
            | "list_pattern"
            | "list_splat_pattern"
            | "parenthesized_expression"
            | "expression_list"
            | "tuple"
            | "list"
            | "as_pattern_target"
    )
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
