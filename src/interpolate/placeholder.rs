//! The grammar of placeholders (core 6.5).
//!
//! ```text
//! placeholder = "{input:" key ( "}" | "?}" | (":" | "|") default "}" )
//! key         = [A-Za-z_][A-Za-z0-9_-]*
//! default     = any text without "}", also none
//! ```
//!
//! Anything else is text. Every token keeps the text it was read from, so the tokens of a template
//! put one behind the other are the template.

use crate::base::limits::NEAR_NAMES;
use crate::base::text::{PositionFinder, near};
use crate::parse::{Directive, Finding};

const OPEN: &str = "{input:";

/// The text that stands in for a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback<'t> {
    /// The placeholder stays as it is.
    Keep,
    /// These words, up to the brace.
    Default(&'t str),
}

/// One piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Text(&'t str),
    Input { raw: &'t str, name: &'t str, fallback: Fallback<'t> },
}

/// The pieces of a template, in one pass that never looks back.
pub(super) fn tokens(template: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (token, length) = next(rest);
        rest = &rest[length..];
        Some(token)
    })
}

/// The first piece of a text that is not empty, and its length.
fn next(text: &str) -> (Token<'_>, usize) {
    let mut from = 0;
    while let Some(found) = text[from..].find(OPEN) {
        let at = from + found;
        match placeholder(&text[at..]) {
            Found::Input(token, length) if at == 0 => return (token, length),
            Found::Input(..) => return (Token::Text(&text[..at]), at),
            Found::Text => from = at + OPEN.len(),
            // Without a closing brace ahead nothing further can be a placeholder.
            Found::End => break,
        }
    }
    (Token::Text(text), text.len())
}

enum Found<'t> {
    Input(Token<'t>, usize),
    Text,
    End,
}

/// The placeholder at the start of a text that starts with `{input:`.
fn placeholder(text: &str) -> Found<'_> {
    let inside = &text[OPEN.len()..];
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let end = inside.bytes().position(|b| !part(b)).unwrap_or(inside.len());
    let (name, behind) = inside.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Found::Text;
    }
    let (fallback, length) = if behind.starts_with('}') {
        (Fallback::Keep, 1)
    } else if behind.starts_with("?}") {
        (Fallback::Default(""), 2)
    } else if let Some(words) = behind.strip_prefix([':', '|']) {
        let Some(brace) = words.find('}') else { return Found::End };
        (Fallback::Default(&words[..brace]), 1 + brace + 1)
    } else {
        return Found::Text;
    };
    let length = OPEN.len() + end + length;
    Found::Input(Token::Input { raw: &text[..length], name, fallback }, length)
}

/// The inputs that a template names, each with the place of its brace in bytes.
fn placeholders(template: &str) -> Vec<(&str, usize)> {
    let mut at = 0;
    let mut found = Vec::new();
    for token in tokens(template) {
        match token {
            Token::Text(text) => at += text.len(),
            Token::Input { raw, name, .. } => {
                found.push((name, at));
                at += raw.len();
            }
        }
    }
    found
}

/// A warning for each input that a directive's body names and its metadata does not declare
/// (core 6.6); `text` is the directive's file.
pub(crate) fn undeclared(directive: &Directive, text: &str) -> Vec<Finding> {
    let declared = |name: &str| directive.inputs.iter().any(|input| input.name == name);
    // One finding a name, at its first place.
    let mut seen = std::collections::HashSet::new();
    let unknown = placeholders(&directive.body)
        .into_iter()
        .filter(|(name, _)| !declared(name) && seen.insert(*name));
    let mut places = PositionFinder::new(text.as_bytes());
    let finding = |(name, at): (&str, usize)| {
        let place = places.find(directive.body_start + at);
        let inputs = directive.inputs.iter().map(|input| input.name.as_str());
        Finding::warning(format!("the body names `{name}`, which is not a declared input"))
            .at(Some(place))
            .meant(name, near(name, inputs, NEAR_NAMES))
    };
    unknown.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::{Fallback, Token, placeholders, tokens, undeclared};
    use crate::base::text::Position;
    use crate::parse::{Directive, Severity};
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn tokens_table() {
        fn input<'t>(raw: &'t str, name: &'t str, fallback: Fallback<'t>) -> Token<'t> {
            Token::Input { raw, name, fallback }
        }
        let text = Token::Text;
        let rows = [
            ("", vec![]),
            ("words", vec![text("words")]),
            ("{input:a}", vec![input("{input:a}", "a", Fallback::Keep)]),
            ("{input:a?}", vec![input("{input:a?}", "a", Fallback::Default(""))]),
            ("{input:a:b c}", vec![input("{input:a:b c}", "a", Fallback::Default("b c"))]),
            ("{input:a|b:c}", vec![input("{input:a|b:c}", "a", Fallback::Default("b:c"))]),
            ("{input:a:b|c}", vec![input("{input:a:b|c}", "a", Fallback::Default("b|c"))]),
            ("{input:a:}", vec![input("{input:a:}", "a", Fallback::Default(""))]),
            ("{input:a:x\ny{}", vec![input("{input:a:x\ny{}", "a", Fallback::Default("x\ny{"))]),
            (
                "{input:a:{input:b}}",
                vec![input("{input:a:{input:b}", "a", Fallback::Default("{input:b")), text("}")],
            ),
            (
                "x{input:_A-9}y",
                vec![text("x"), input("{input:_A-9}", "_A-9", Fallback::Keep), text("y")],
            ),
            ("{{input:a}}", vec![text("{"), input("{input:a}", "a", Fallback::Keep), text("}")]),
            ("{input:{input:a}", vec![text("{input:"), input("{input:a}", "a", Fallback::Keep)]),
            (
                "{input:1}{input:a}",
                vec![text("{input:1}"), input("{input:a}", "a", Fallback::Keep)],
            ),
            ("{input:}", vec![text("{input:}")]),
            ("{input: a}", vec![text("{input: a}")]),
            ("{input:a }", vec![text("{input:a }")]),
            ("{input:a?b}", vec![text("{input:a?b}")]),
            ("{input:a??}", vec![text("{input:a??}")]),
            ("{input:é}", vec![text("{input:é}")]),
            ("{input:-a}", vec![text("{input:-a}")]),
            ("{INPUT:a}", vec![text("{INPUT:a}")]),
            ("{input:a", vec![text("{input:a")]),
            ("{input:a:b", vec![text("{input:a:b")]),
        ];
        for (template, want) in rows {
            assert_eq!(tokens(template).collect::<Vec<_>>(), want, "{template:?}");
        }
    }

    #[test]
    fn hostile_templates_take_linear_time() {
        let open = "{input:a:".repeat(400_000);
        assert_eq!(tokens(&open).count(), 1);
        let half = "{input:a".repeat(400_000);
        assert_eq!(tokens(&half).count(), 1);
        let many = "{input:a}".repeat(400_000);
        assert_eq!(tokens(&many).count(), 400_000);
    }

    #[test]
    fn places_are_those_of_the_file() {
        assert_eq!(
            placeholders("é{input:a} {input:b?}{input:a:x}"),
            [("a", 2), ("b", 12), ("a", 22)]
        );
        let text = "```xml\n<directive><inputs><input name='a'/></inputs></directive>\n```\n\n\
            Use {input:a}\nand {input:b:x}.\n";
        let found = undeclared(&Directive::parse(text).unwrap(), text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].position, Some(Position { line: 6, column: 5 }));
        assert_eq!(found[0].message, "the body names `b`, which is not a declared input");
    }

    #[test]
    fn many_undeclared_names_take_linear_time() {
        let names: String = (0..50_000).map(|at| format!("{{input:a{at}}}\n")).collect();
        let text = format!("```xml\n<directive/>\n```\n{names}");
        let found = undeclared(&Directive::parse(&text).unwrap(), &text);
        assert_eq!(found.len(), 50_000);
        assert_eq!(found[49_999].position, Some(Position { line: 50_003, column: 1 }));
    }

    proptest! {
        #[test]
        fn the_tokens_of_a_template_are_the_template(
            template in "(\\{input:|[a-b]|[-_?:|}{1 é]){0,40}"
        ) {
            let printed: String = tokens(&template).map(|token| match token {
                Token::Text(text) => text,
                Token::Input { raw, .. } => raw,
            }).collect();
            prop_assert_eq!(printed, template);
        }
    }
}
