//! Python literals as values: what the language's own reader would make of them.

use serde_json::{Map, Number, Value};
use tree_sitter::Node;

use super::syntax::{fault, parts, shown, spelling};
use crate::base::limits::DATA_DEPTH;
use crate::base::text::escape_line;
use crate::parse::data::{decimal, radix, too_deep};
use crate::parse::error::{DUPLICATE_METADATA, Fault, METADATA};

/// The value of a literal: string, number, `True`, `False`, `None`, list, tuple, or a dictionary
/// with string keys.
///
/// # Errors
/// `parse.metadata` for anything else, `parse.duplicate_metadata` for a key that occurs twice,
/// `parse.limit` for nesting deeper than `DATA_DEPTH`.
pub(super) fn literal(text: &str, node: Node<'_>) -> Result<Value, Fault> {
    value(text, node, 0)
}

fn value(text: &str, node: Node<'_>, depth: usize) -> Result<Value, Fault> {
    if depth > DATA_DEPTH {
        return Err(too_deep());
    }
    let spelled = spelling(text, node);
    let refuse = |why: String| Err(fault(text, node, METADATA, why));
    match node.kind() {
        "string" => match string(spelled) {
            Ok(read) => Ok(Value::String(read)),
            Err(why) => refuse(why),
        },
        "integer" | "float" => match number(spelled) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse(format!("`{}` is no plain number", shown(text, node))),
        },
        "unary_operator" => match negative(text, node) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse(format!("`{}` is no plain number", shown(text, node))),
        },
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        "none" => Ok(Value::Null),
        "list" | "tuple" => {
            let items = parts(node).into_iter().map(|part| value(text, part, depth + 1));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        "dictionary" => dictionary(text, node, depth),
        "parenthesized_expression" => match parts(node).as_slice() {
            [inner] => value(text, *inner, depth + 1),
            _ => refuse("a literal was expected here".into()),
        },
        kind => {
            let what = kind.replace('_', " ");
            refuse(format!("`{}` is no literal but a {what}", shown(text, node)))
        }
    }
}

fn dictionary(text: &str, node: Node<'_>, depth: usize) -> Result<Value, Fault> {
    let mut map = Map::new();
    for pair in parts(node) {
        let (key, item) = (pair.child_by_field_name("key"), pair.child_by_field_name("value"));
        let ("pair", Some(key), Some(item)) = (pair.kind(), key, item) else {
            return Err(fault(text, pair, METADATA, "a key and its value were expected here"));
        };
        let Value::String(name) = value(text, key, depth + 1)? else {
            return Err(fault(text, key, METADATA, "a key must be a string"));
        };
        if map.contains_key(&name) {
            let why = format!("the key `{}` occurs twice", escape_line(&name));
            return Err(fault(text, key, DUPLICATE_METADATA, why));
        }
        map.insert(name, value(text, item, depth + 1)?);
    }
    Ok(Value::Object(map))
}

/// A number behind one minus sign.
fn negative(text: &str, node: Node<'_>) -> Option<Number> {
    let argument = node.child_by_field_name("argument")?;
    let is_minus = node.child(0).is_some_and(|sign| sign.kind() == "-");
    if !is_minus || !matches!(argument.kind(), "integer" | "float") {
        return None;
    }
    let positive = number(spelling(text, argument))?;
    format!("-{positive}").parse().ok()
}

fn number(spelled: &str) -> Option<Number> {
    // Python allows an underscore between digits and behind a base's prefix.
    let fits = !spelled.ends_with('_') && !spelled.starts_with('_') && !spelled.contains("__");
    let plain = spelled.replace('_', "").to_ascii_lowercase();
    let base = match plain.get(..2) {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    let digits = plain.bytes().all(|b| b.is_ascii_digit());
    let zero_led = digits && plain.starts_with('0') && plain.bytes().any(|b| b != b'0');
    let number = match base {
        Some(base) => radix(&plain[2..], base, false),
        None if zero_led => None,
        None => decimal(&plain),
    };
    number.filter(|_| fits)
}

/// The text that a string literal stands for.
fn string(spelled: &str) -> Result<String, String> {
    let quote = spelled.find(['"', '\'']).unwrap_or(spelled.len());
    let (prefix, rest) = spelled.split_at(quote);
    let raw = match prefix.to_ascii_lowercase().as_str() {
        "" | "u" => false,
        "r" => true,
        "b" | "rb" | "br" => return Err("bytes are no text: drop the `b`".into()),
        other => return Err(format!("a string with the prefix `{other}` is no plain literal")),
    };
    let fences = ["\"\"\"", "'''", "\"", "'"];
    let inner = fences.iter().find_map(|fence| rest.strip_prefix(fence)?.strip_suffix(fence));
    let inner = inner.ok_or("a string is not closed")?.replace("\r\n", "\n");
    if raw { Ok(inner) } else { unescape(&inner) }
}

/// Resolves backslashes as Python does; an unknown one stays as it is.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        let sign = behind.chars().next().ok_or("a string ends in a backslash")?;
        rest = &behind[sign.len_utf8()..];
        match sign {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(sign),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            '0'..='7' => {
                let more = rest.bytes().take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
                out.push(code_point(&behind[..=more], 8)?);
                rest = &rest[more..];
            }
            'x' | 'u' | 'U' => {
                let length = match sign {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                out.push(code_point(rest.get(..length).unwrap_or_default(), 16)?);
                rest = &rest[length..];
            }
            'N' => return Err("`\\N{…}` is not supported: write the character".into()),
            other => out.extend(['\\', other]),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn code_point(digits: &str, base: u32) -> Result<char, String> {
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    let number = plain.then(|| u32::from_str_radix(digits, base).ok()).flatten();
    let found = number.and_then(char::from_u32);
    found.ok_or_else(|| "a string holds an escape that is no character".into())
}
