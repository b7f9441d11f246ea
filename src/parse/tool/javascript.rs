//! JavaScript and TypeScript headers: `const` declarations read from the syntax tree, or the tags
//! of the first documentation comment.

use serde_json::{Map, Value};
use tree_sitter::Language;

use super::javascript_literal::literal;
use super::javascript_outline::outline;
use super::syntax::{Form, Grammar, Step, header as read};
use crate::base::text::position;
use crate::parse::error::{DUPLICATE_METADATA, Fault};

/// The tags of a documentation comment that are metadata; others are left to other readers.
const TAGS: &[&str] = &["version", "tool_type", "executor_id", "category", "description"];

/// The header of a JavaScript or, with `types`, a TypeScript file.
///
/// # Errors
/// Those of a syntax header; `parse.duplicate_metadata` also for a tag that occurs twice and for
/// a name given both by a tag and by a declaration.
pub(super) fn header(text: &str, types: bool) -> Result<Map<String, Value>, Fault> {
    let mut map = read(text, &grammar(types))?;
    for (tag, words, at) in tags(text) {
        if map.contains_key(tag) {
            let why = format!("`@{tag}` names what is named before or elsewhere");
            let position = position(text.as_bytes(), at);
            return Err(Fault::new(DUPLICATE_METADATA, why).at(position));
        }
        map.insert(tag.into(), Value::String(words));
    }
    Ok(map)
}

pub(super) fn grammar(types: bool) -> Grammar {
    let language: Language = if types {
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()
    } else {
        tree_sitter_javascript::LANGUAGE.into()
    };
    Grammar {
        language,
        outline,
        spelled: &["identifier", "shorthand_property_identifier_pattern", "type_identifier"],
        scope: |kind, field| {
            kind == "class_static_block" || (FUNCTIONS.contains(&kind) && field == Some("body"))
        },
        bracket,
        binding,
        literal,
    }
}

/// The kinds of node whose body has names of its own.
const FUNCTIONS: &[&str] = &[
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "arrow_function",
    "method_definition",
    "class",
    "class_declaration",
    "abstract_class_declaration",
];

/// How the identifier at the end of the path binds its name.
fn binding<'t>(path: &[Step<'t>]) -> Option<Form<'t>> {
    let (name, above) = path.split_last()?;
    if let [program, middle @ .., declarator] = above
        && let [declaration] | [_, declaration] = middle
        && (program.kind, declaration.kind) == ("program", "lexical_declaration")
        && (middle.len() == 1 || middle[0].kind == "export_statement")
        && (declarator.kind, name.field) == ("variable_declarator", Some("name"))
        && declaration.node.child(0).is_some_and(|word| word.kind() == "const")
    {
        return Some(declarator.node.child_by_field_name("value").map_or(Form::Other, Form::Plain));
    }
    let depth = name.holder;
    let (holder, field) = (above.get(depth)?, path[depth + 1].field);
    let bound = match holder.kind {
        "variable_declarator"
        | "function_declaration"
        | "function_signature"
        | "generator_function_declaration"
        | "class_declaration"
        | "abstract_class_declaration"
        | "enum_declaration"
        | "internal_module"
        | "module" => field == Some("name"),
        "assignment_expression" | "augmented_assignment_expression" | "for_in_statement" => {
            field == Some("left")
        }
        "update_expression" => field == Some("argument"),
        "import_specifier" => {
            field == Some("alias") || holder.node.child_by_field_name("alias").is_none()
        }
        "export_specifier" => field == Some("alias"),
        "import_clause" | "namespace_import" | "namespace_export" | "import_require_clause" => true,
        // `import name = other.thing`: only the first identifier is bound.
        "import_alias" => holder.node.named_child(0) == Some(name.node),
        _ => false,
    };
    bound.then_some(Form::Other)
}

/// A pattern around a name; a default inside one is read, its left side is bound.
fn bracket(kind: &str, field: Option<&str>) -> bool {
    match kind {
        "object_pattern"
        | "array_pattern"
        | "rest_pattern"
        | "pair_pattern"
        | "parenthesized_expression"
        | "non_null_expression" => true,
        "assignment_pattern" | "object_assignment_pattern" => field == Some("left"),
        _ => false,
    }
}

/// The metadata tags of the first documentation comment, if it stands before any code, each with
/// its words and its place. Words run to the next tag; line ends and stars become one space.
fn tags(text: &str) -> Vec<(&'static str, String, usize)> {
    let Some((start, comment)) = first_comment(text) else { return Vec::new() };
    let mut found: Vec<(Option<&'static str>, String, usize)> = Vec::new();
    let mut at = start;
    for line in comment.split_inclusive('\n') {
        let bare = line.trim_start_matches([' ', '\t', '*']);
        let words = bare.trim_end();
        if let Some(tag) = bare.strip_prefix('@') {
            let (name, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            let known = TAGS.iter().find(|known| **known == name).copied();
            found.push((known, rest.trim().to_owned(), at + line.len() - bare.len()));
        } else if let Some((_, before, _)) = found.last_mut()
            && !words.is_empty()
        {
            before.push(' ');
            before.push_str(words);
        }
        at += line.len();
    }
    let known = found.into_iter().filter_map(|(tag, words, at)| Some((tag?, words, at)));
    known.map(|(tag, words, at)| (tag, words.trim().to_owned(), at)).collect()
}

/// What stands inside the first `/** … */`, and where, if only white space and other comments
/// stand before it.
fn first_comment(text: &str) -> Option<(usize, &str)> {
    let mut at = if text.starts_with("#!") { text.find('\n')? } else { 0 };
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n')?;
        } else if let Some(body) = rest.strip_prefix("/**").filter(|body| !body.starts_with('/')) {
            return Some((at + 3, &body[..body.find("*/")?]));
        } else if let Some(body) = rest.strip_prefix("/*") {
            at += 2 + body.find("*/")? + 2;
        } else {
            return None;
        }
    }
}

#[cfg(test)]
#[path = "javascript_tests.rs"]
mod tests;
