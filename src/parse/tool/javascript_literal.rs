//! JavaScript literals as values.

use oxc_ast::ast::{
    ArrayExpressionElement, Expression, ObjectExpression, ObjectPropertyKind, PropertyKey,
    PropertyKind, UnaryOperator,
};
use oxc_span::{GetSpan, Span};
use serde_json::{Map, Number, Value};

use super::names::{fault, shown};
use crate::base::limits::DATA_DEPTH;
use crate::base::text::escape_line;
use crate::parse::data::{decimal, radix, too_deep};
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_METADATA, ParseFault};

/// The value of a literal: string, template without substitutions, number, `true`, `false`,
/// `null`, array, or an object with plain keys; TypeScript's assertions around it are dropped.
///
/// # Errors
/// `parse.metadata` for anything else, `parse.duplicate_metadata` for a key that occurs twice,
/// `parse.limit` for nesting deeper than `DATA_DEPTH`.
pub(super) fn literal(text: &str, expr: &Expression<'_>) -> Result<Value, ParseFault> {
    value(text, expr, 0)
}

/// A place of the parser's, which counts in 32 bits.
pub(super) fn place(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn value(text: &str, expr: &Expression<'_>, depth: usize) -> Result<Value, ParseFault> {
    if depth > DATA_DEPTH {
        return Err(too_deep());
    }
    let span = expr.span();
    let spelled = said(text, span);
    let refuse = |why: &str| {
        let shown = shown(text, place(span.start)..place(span.end));
        Err(fault(text, place(span.start), PARSE_METADATA, format!("`{shown}` {why}")))
    };
    let string = |read: &str, lone: bool| match (lone, holds_octal(spelled)) {
        (true, _) => refuse("holds an escape that is not a character"),
        (_, true) => refuse("holds an octal escape"),
        _ => Ok(Value::String(read.to_owned())),
    };
    match expr {
        Expression::StringLiteral(read) => string(read.value.as_str(), read.lone_surrogates),
        Expression::TemplateLiteral(template) => match template.quasis.as_slice() {
            [only] if template.expressions.is_empty() => match &only.value.cooked {
                Some(read) => string(read.as_str(), only.lone_surrogates),
                None => refuse("holds an escape that is not a character"),
            },
            _ => refuse("is a template with substitutions"),
        },
        Expression::NumericLiteral(_) => match number(spelled) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse("is not a plain number"),
        },
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => {
            let positive = match &unary.argument {
                Expression::NumericLiteral(argument) => number(said(text, argument.span)),
                _ => None,
            };
            match positive.and_then(|number| format!("-{number}").parse().ok()) {
                Some(number) => Ok(Value::Number(number)),
                None => refuse("is not a plain number"),
            }
        }
        Expression::BooleanLiteral(truth) => Ok(Value::Bool(truth.value)),
        Expression::NullLiteral(_) => Ok(Value::Null),
        Expression::ArrayExpression(array) => {
            let items = array.elements.iter().map(|element| match element {
                ArrayExpressionElement::Elision(_) => refuse("has a hole"),
                element => match element.as_expression() {
                    Some(item) => value(text, item, depth + 1),
                    None => refuse("is not a literal"),
                },
            });
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        Expression::ObjectExpression(read) => object(text, read, depth),
        Expression::ParenthesizedExpression(inner) => value(text, &inner.expression, depth + 1),
        Expression::TSAsExpression(inner) => value(text, &inner.expression, depth + 1),
        Expression::TSSatisfiesExpression(inner) => value(text, &inner.expression, depth + 1),
        _ => refuse("is not a literal"),
    }
}

fn object(text: &str, object: &ObjectExpression<'_>, depth: usize) -> Result<Value, ParseFault> {
    let mut map = Map::new();
    for property in &object.properties {
        let refuse = |span: Span, why: &str| {
            Err(fault(text, place(span.start), PARSE_METADATA, why.to_owned()))
        };
        let ObjectPropertyKind::ObjectProperty(pair) = property else {
            return refuse(property.span(), "a key and its value were expected here");
        };
        if pair.kind != PropertyKind::Init || pair.method || pair.shorthand {
            return refuse(pair.span, "a key and its value were expected here");
        }
        let key = pair.key.span();
        let name = match &pair.key {
            PropertyKey::StaticIdentifier(name)
                if !pair.computed && !said(text, key).contains('\\') =>
            {
                name.name.to_string()
            }
            PropertyKey::StringLiteral(name) if !pair.computed => {
                if name.lone_surrogates || holds_octal(said(text, key)) {
                    return refuse(key, "a key holds an escape that is not a character");
                }
                name.value.to_string()
            }
            _ => return refuse(key, "a key must be a name or a string"),
        };
        // `{__proto__: …}` sets no property but the prototype.
        if name == "__proto__" {
            return refuse(key, "`__proto__` is not a plain key");
        }
        if map.contains_key(&name) {
            let why = format!("the key `{}` occurs twice", escape_line(&name));
            return Err(fault(text, place(key.start), PARSE_DUPLICATE_METADATA, why));
        }
        map.insert(name, value(text, &pair.value, depth + 1)?);
    }
    Ok(Value::Object(map))
}

fn said(text: &str, span: Span) -> &str {
    text.get(place(span.start)..place(span.end)).unwrap_or_default()
}

fn number(spelled: &str) -> Option<Number> {
    let plain = spelled.replace('_', "").to_ascii_lowercase();
    let base = match plain.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        // `010` is octal in old scripts and an error in modules.
        Some(start) if start.starts_with('0') && start.as_bytes()[1].is_ascii_digit() => {
            return None;
        }
        _ => return decimal(&plain),
    };
    radix(&plain[2..], base, false)
}

/// Whether a string holds an escape with digits alone, which means one thing in old scripts and is
/// an error elsewhere; `\0` for NUL is the same everywhere.
fn holds_octal(spelled: &str) -> bool {
    let mut rest = spelled;
    while let Some((_, behind)) = rest.split_once('\\') {
        let mut signs = behind.chars();
        match signs.next() {
            Some('1'..='9') => return true,
            Some('0') if signs.as_str().starts_with(|c: char| c.is_ascii_digit()) => return true,
            _ => rest = signs.as_str(),
        }
    }
    false
}
