//! Syntax trees: one walk over a program, the same for every grammar.
//!
//! In:  a text, a grammar and the names that carry metadata.
//! Out: a header: for each name that is bound, the literal it is bound to.
//!
//! Invariants
//! - An error in the tree is a fault, unless it lies inside the body of a function or class and the
//!   statement around it says none of the names: the grammar may be older than the language, but
//!   metadata never vanishes in what the grammar does not understand. For the same reason a body
//!   that says none of the names need not be parsed at all (see the two outlines).
//! - A name is bound once, plainly, at top level, or not at all.
//! - The walk is linear in the text, and the parser's work on hopeless text is bounded.

use std::ops::{ControlFlow, Range};

use serde_json::{Map, Value};
use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Point, Tree, TreeCursor};

use crate::base::limits::PROGRAM_BYTES;
use crate::base::text::{escape_line, position};
use crate::diag::Code;
use crate::parse::error::{DUPLICATE_METADATA, Fault, LIMIT, METADATA, SYNTAX};

/// How often the parser may report progress behind the first error: about a second of searching
/// for a way to go on. It reports every hundred steps; a megabyte without errors takes 25 000.
const REPORTS_AFTER_ERROR: usize = 2_000;

/// A name in a program, and the key of the header that it binds.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("__version__", "version"),
    ("__tool_type__", "tool_type"),
    ("__executor_id__", "executor_id"),
    ("__category__", "category"),
    ("__tool_description__", "description"),
    ("CONFIG_SCHEMA", "config_schema"),
    ("ENV_CONFIG", "env_config"),
    ("CONFIG", "config"),
    ("CONFIG_RESOLVE", "config_resolve"),
    ("ANCHOR", "anchor"),
    ("VERIFY_DEPS", "verify_deps"),
    ("FILES", "files"),
    ("SECRETS", "secrets"),
    ("ENV", "env"),
];

/// What the walk needs to know of a language.
pub(super) struct Grammar {
    pub(super) language: Language,
    /// The parts of a text that hold all its metadata, if they can be told apart.
    pub(super) outline: fn(text: &str) -> Option<Vec<Range<usize>>>,
    /// The kinds of node that spell a name.
    pub(super) spelled: &'static [&'static str],
    /// Whether a child with this field of a node of this kind has names of its own.
    pub(super) scope: fn(kind: &str, field: Option<&str>) -> bool,
    /// Whether a node of this kind is only a bracket around its child with this field, so that what
    /// holds the one holds the other.
    pub(super) bracket: fn(kind: &str, field: Option<&str>) -> bool,
    /// How the node at the end of the path binds its name, if it does.
    pub(super) binding: for<'t> fn(path: &[Step<'t>]) -> Option<Form<'t>>,
    /// The value of a literal.
    pub(super) literal: fn(text: &str, node: Node<'_>) -> Result<Value, Fault>,
}

/// One node on the way from the root, and the field it has in its parent.
pub(super) struct Step<'t> {
    pub(super) node: Node<'t>,
    pub(super) kind: &'t str,
    pub(super) field: Option<&'t str>,
    /// Inside a scope of its own, such as a function's body.
    local: bool,
    /// The place in the path of the nearest node above that is no bracket.
    pub(super) holder: usize,
    /// Inside a pattern of a `case`.
    pub(super) in_case: bool,
}

/// How a name is bound.
pub(super) enum Form<'t> {
    /// By one plain assignment at top level, to this node.
    Plain(Node<'t>),
    /// In any other way, in the scope it stands in.
    Other,
    /// In any other way, for the whole program.
    Global,
}

struct Binding<'t> {
    key: &'static str,
    name: Node<'t>,
    value: Option<Node<'t>>,
}

/// The header that a program's names give.
///
/// # Errors
/// `parse.syntax`, `parse.duplicate_metadata` for a name bound twice, `parse.metadata` for one
/// bound in another way than by a plain assignment of a literal.
pub(super) fn header(text: &str, grammar: &Grammar) -> Result<Map<String, Value>, Fault> {
    if text.len() > PROGRAM_BYTES {
        let why = format!("a program has at most {} KiB", PROGRAM_BYTES >> 10);
        return Err(Fault::new(LIMIT, why));
    }
    let tree = tree(text, grammar)?;
    let bindings = bindings(text, &tree, grammar)?;
    for (at, later) in bindings.iter().enumerate() {
        if bindings[..at].iter().any(|earlier| earlier.key == later.key) {
            let why = format!("`{}` is bound a second time here", spelling(text, later.name));
            return Err(fault(text, later.name, DUPLICATE_METADATA, why));
        }
    }
    let mut map = Map::new();
    for Binding { key, name, value } in bindings {
        let Some(value) = value else {
            let why = "must be bound at top level, by one plain assignment of a literal";
            let why = format!("`{}` {why}", spelling(text, name));
            return Err(fault(text, name, METADATA, why));
        };
        map.insert(key.into(), (grammar.literal)(text, value)?);
    }
    Ok(map)
}

/// A fault at a node.
pub(super) fn fault(text: &str, node: Node<'_>, code: Code, why: impl Into<String>) -> Fault {
    Fault::new(code, why).at(position(text.as_bytes(), node.start_byte()))
}

/// The text of a node.
pub(super) fn spelling<'s>(text: &'s str, node: Node<'_>) -> &'s str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node as an error shows it.
pub(super) fn shown(text: &str, node: Node<'_>) -> String {
    escape_line(&spelling(text, node).chars().take(40).collect::<String>())
}

/// The named children of a node that are not remarks.
pub(super) fn parts(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
}

/// The tree of the text's outline or, where there is none or it does not parse, of all of it.
pub(super) fn tree(text: &str, grammar: &Grammar) -> Result<Tree, Fault> {
    if let Some(parts) = (grammar.outline)(text)
        && let Ok(tree) = tree_of(text, &grammar.language, &ranges(text, &parts))
        && !tree.root_node().has_error()
    {
        return Ok(tree);
    }
    tree_of(text, &grammar.language, &[])
}

/// Byte ranges, which are in order, with their rows and columns.
fn ranges(text: &str, parts: &[Range<usize>]) -> Vec<tree_sitter::Range> {
    let (mut row, mut line, mut done) = (0, 0, 0);
    let mut point = |at: usize| {
        for (feed, _) in text[done..at].match_indices('\n') {
            (row, line) = (row + 1, done + feed + 1);
        }
        done = at;
        Point { row, column: at - line }
    };
    let range = |part: &Range<usize>| tree_sitter::Range {
        start_point: point(part.start),
        end_point: point(part.end),
        start_byte: part.start,
        end_byte: part.end,
    };
    parts.iter().map(range).collect()
}

/// The tree of these parts of the text; of all of it where there are none.
fn tree_of(text: &str, language: &Language, parts: &[tree_sitter::Range]) -> Result<Tree, Fault> {
    let broken = |why: &str, at| Fault::new(SYNTAX, why).at(position(text.as_bytes(), at));
    let mut parser = Parser::new();
    parser.set_language(language).map_err(|_| broken("this build cannot read its language", 0))?;
    parser.set_included_ranges(parts).map_err(|_| broken("its parts are out of order", 0))?;
    let (mut reports, mut reached) = (0, 0);
    let mut progress = |state: &ParseState| {
        reports += usize::from(state.has_error());
        reached = state.current_byte_offset();
        if reports > REPORTS_AFTER_ERROR {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.ok_or_else(|| broken("too much of it does not parse, about here", reached))
}

/// Every binding of a name, in the order of the text.
fn bindings<'t>(text: &str, tree: &'t Tree, grammar: &Grammar) -> Result<Vec<Binding<'t>>, Fault> {
    let mut found = Vec::new();
    let mut path: Vec<Step<'t>> = Vec::new();
    let mut cursor = tree.walk();
    let mut names = Names { text, around: None };
    loop {
        path.push(step(&cursor, &path, grammar));
        no_error(&path, text, &mut names)?;
        if let Some(binding) = binding(&path, text, grammar) {
            found.push(binding);
        }
        if cursor.goto_first_child() {
            continue;
        }
        loop {
            path.pop();
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return Ok(found);
            }
        }
    }
}

fn step<'t>(cursor: &TreeCursor<'t>, path: &[Step<'t>], grammar: &Grammar) -> Step<'t> {
    let (node, field) = (cursor.node(), cursor.field_name());
    let (kind, parent) = (node.kind(), path.last());
    let local = parent.is_some_and(|p| p.local || (grammar.scope)(p.kind, field));
    let bracket = parent.filter(|p| (grammar.bracket)(p.kind, field));
    let holder = bracket.map_or(path.len().saturating_sub(1), |bracket| bracket.holder);
    let in_case = parent.is_some_and(|p| p.in_case) || kind == "case_pattern";
    Step { node, kind, field, local, holder, in_case }
}

/// Whether statements at top level say any of the names, each looked through once.
struct Names<'t> {
    text: &'t str,
    around: Option<(Range<usize>, bool)>,
}

impl Names<'_> {
    fn in_range(&mut self, range: Range<usize>) -> bool {
        match &self.around {
            Some((known, says)) if *known == range => *says,
            _ => {
                let says = names_any(self.text.get(range.clone()).unwrap_or_default());
                self.around = Some((range, says));
                says
            }
        }
    }
}

/// A fault if the last node of the path is an error that cannot be passed over.
fn no_error(path: &[Step<'_>], text: &str, names: &mut Names<'_>) -> Result<(), Fault> {
    let Some(step) = path.last() else { return Ok(()) };
    if !step.node.is_error() && !step.node.is_missing() {
        return Ok(());
    }
    let around = path.get(1).map_or(0..text.len(), |top| top.node.byte_range());
    if step.local && !names.in_range(around) {
        return Ok(());
    }
    Err(fault(text, step.node, SYNTAX, complaint(text, step.node)))
}

/// What the last node of the path binds.
fn binding<'t>(path: &[Step<'t>], text: &str, grammar: &Grammar) -> Option<Binding<'t>> {
    let step = path.last()?;
    let node = step.node;
    if !grammar.spelled.contains(&step.kind) {
        return None;
    }
    let spelled = spelling(text, node);
    let (_, key) = NAMES.iter().find(|(name, _)| *name == spelled)?;
    let value = match (grammar.binding)(path)? {
        Form::Plain(value) => Some(value),
        Form::Other if !step.local => None,
        Form::Global => None,
        Form::Other => return None,
    };
    Some(Binding { key, name: node, value })
}

/// Whether a bracket closes the one that was opened.
pub(super) fn closes(open: u8, close: u8) -> bool {
    matches!((open, close), (b'(', b')') | (b'[', b']') | (b'{', b'}'))
}

/// Whether a text holds any of the names as a word.
pub(super) fn names_any(text: &str) -> bool {
    NAMES.iter().any(|(name, _)| says(text, name))
}

/// Whether a text begins with one of the names as a word.
pub(super) fn begins_with_any(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let word = &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())];
    NAMES.iter().any(|(name, _)| *name == word)
}

fn says(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

fn complaint(text: &str, node: Node<'_>) -> String {
    if node.is_missing() {
        return format!("it does not parse: `{}` is missing here", escape_line(node.kind()));
    }
    let start: String = spelling(text, node).chars().take(20).collect();
    format!("it does not parse: unexpected `{}`", escape_line(start.trim_end()))
}
