//! Python literals as the values that Python would give them.

use ruff_python_ast::{Expr, ExprDict, UnaryOp};
use ruff_python_parser::parse_expression;
use ruff_text_size::Ranged;
use serde_json::{Map, Number, Value};

use super::names::{fault, shown};
use crate::base::limits::DATA_DEPTH;
use crate::base::text::escape_line;
use crate::parse::data::{decimal, radix, too_deep};
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_METADATA, ParseFault};

/// The value of a literal: string, number, `True`, `False`, `None`, list, tuple, or a dictionary
/// with string keys.
///
/// # Errors
/// `parse.metadata` for anything else, `parse.duplicate_metadata` for a key that occurs twice,
/// `parse.limit` for nesting deeper than `DATA_DEPTH`.
pub(super) fn literal(text: &str, expr: &Expr) -> Result<Value, ParseFault> {
    value(text, expr, 0)
}

fn value(text: &str, expr: &Expr, depth: usize) -> Result<Value, ParseFault> {
    if depth > DATA_DEPTH {
        return Err(too_deep());
    }
    let range = expr.range().to_std_range();
    let spelled = text.get(range.clone()).unwrap_or_default();
    let refuse = |why: &str| {
        let why = format!("`{}` {why}", shown(text, range.clone()));
        Err(fault(text, range.start, PARSE_METADATA, why))
    };
    let list = |items: &[Expr]| {
        let items = items.iter().map(|item| value(text, item, depth + 1));
        items.collect::<Result<_, _>>().map(Value::Array)
    };
    match expr {
        // Strings that stand side by side are one.
        Expr::StringLiteral(string) => {
            let parts = string.value.iter().map(|part| {
                let spelled = text.get(part.range().to_std_range()).unwrap_or_default();
                self::string(spelled, &part.value)
            });
            match parts.collect::<Option<String>>() {
                Some(read) => Ok(Value::String(read)),
                None => refuse("holds an escape that is not a character"),
            }
        }
        Expr::NumberLiteral(_) => match number(spelled) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse("is not a plain number"),
        },
        Expr::UnaryOp(negated) if negated.op == UnaryOp::USub => {
            let operand = negated.operand.range().to_std_range();
            let positive = match &*negated.operand {
                Expr::NumberLiteral(_) => number(text.get(operand).unwrap_or_default()),
                _ => None,
            };
            match positive.and_then(|number| format!("-{number}").parse().ok()) {
                Some(number) => Ok(Value::Number(number)),
                None => refuse("is not a plain number"),
            }
        }
        Expr::BooleanLiteral(truth) => Ok(Value::Bool(truth.value)),
        Expr::NoneLiteral(_) => Ok(Value::Null),
        Expr::List(items) => list(&items.elts),
        Expr::Tuple(items) if items.parenthesized => list(&items.elts),
        Expr::Dict(dict) => dictionary(text, dict, depth),
        _ => refuse("is not a literal"),
    }
}

fn dictionary(text: &str, dict: &ExprDict, depth: usize) -> Result<Value, ParseFault> {
    let mut map = Map::new();
    for item in &dict.items {
        let Some(key) = &item.key else {
            let why = "a key and its value were expected here";
            return Err(fault(text, item.value.start().to_usize(), PARSE_METADATA, why));
        };
        let at = key.start().to_usize();
        let Value::String(name) = value(text, key, depth + 1)? else {
            return Err(fault(text, at, PARSE_METADATA, "a key must be a string"));
        };
        if map.contains_key(&name) {
            let why = format!("the key `{}` occurs twice", escape_line(&name));
            return Err(fault(text, at, PARSE_DUPLICATE_METADATA, why));
        }
        map.insert(name, value(text, &item.value, depth + 1)?);
    }
    Ok(Value::Object(map))
}

/// The value of one string; `None` for an escape that is not a character.
fn string(spelled: &str, read: &str) -> Option<String> {
    if holds_surrogate(spelled, read) {
        return None;
    }
    // Python ends every line with a line feed, whatever the file does.
    if spelled.contains('\r')
        && let Ok(again) = parse_expression(&spelled.replace("\r\n", "\n"))
        && let Expr::StringLiteral(string) = again.expr()
    {
        return Some(string.value.to_str().to_owned());
    }
    Some(read.to_owned())
}

fn number(spelled: &str) -> Option<Number> {
    let plain = spelled.replace('_', "").to_ascii_lowercase();
    let base = match plain.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => return decimal(&plain),
    };
    radix(&plain[2..], base, false)
}

/// Returns true if a string was written with half of a surrogate pair: the parser replaces it by
/// U+FFFD, and Python could not print it.
fn holds_surrogate(spelled: &str, read: &str) -> bool {
    const REPLACED: char = '\u{fffd}';
    let said = spelled.to_ascii_lowercase();
    let said = said.matches(REPLACED).count()
        + said.matches("\\ufffd").count()
        + said.matches("\\u0000fffd").count()
        + said.matches("\\n{replacement character}").count();
    read.matches(REPLACED).count() > said
}
