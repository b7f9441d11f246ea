//! JavaScript literals as values.

use serde_json::{Map, Number, Value};
use tree_sitter::Node;

use super::syntax::{fault, parts, shown, spelling};
use crate::base::limits::DATA_DEPTH;
use crate::base::text::escape_line;
use crate::parse::data::{decimal, radix, too_deep};
use crate::parse::error::{DUPLICATE_METADATA, Fault, METADATA};

/// The value of a literal: string, template without substitutions, number, `true`, `false`,
/// `null`, array, or an object with plain keys; TypeScript's assertions around it are dropped.
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
    let inside = parts(node);
    match node.kind() {
        "string" | "template_string" => match string(spelled, &inside) {
            Ok(read) => Ok(Value::String(read)),
            Err(why) => refuse(why.into()),
        },
        "number" => match number(spelled) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse(format!("`{}` is no plain number", shown(text, node))),
        },
        "unary_expression" => match negative(text, node) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse(format!("`{}` is no plain number", shown(text, node))),
        },
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        "null" => Ok(Value::Null),
        // A hole (`[1, , 2]`) leaves two commas side by side.
        "array" if has_hole(node) => refuse("a list must have no holes".into()),
        "array" => {
            let items = inside.into_iter().map(|part| value(text, part, depth + 1));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        "object" => object(text, &inside, depth),
        "parenthesized_expression" | "as_expression" | "satisfies_expression" => {
            match inside.first() {
                Some(inner) => value(text, *inner, depth + 1),
                None => refuse("a literal was expected here".into()),
            }
        }
        kind => {
            let what = kind.replace('_', " ");
            refuse(format!("`{}` is no literal but of the form {what}", shown(text, node)))
        }
    }
}

fn object(text: &str, pairs: &[Node<'_>], depth: usize) -> Result<Value, Fault> {
    let mut map = Map::new();
    for pair in pairs {
        let (key, item) = (pair.child_by_field_name("key"), pair.child_by_field_name("value"));
        let ("pair", Some(key), Some(item)) = (pair.kind(), key, item) else {
            return Err(fault(text, *pair, METADATA, "a key and its value were expected here"));
        };
        let name = match key.kind() {
            "property_identifier" if !spelling(text, key).contains('\\') => {
                spelling(text, key).to_owned()
            }
            "string" => match value(text, key, depth + 1)? {
                Value::String(name) => name,
                _ => String::new(),
            },
            _ => return Err(fault(text, key, METADATA, "a key must be a name or a string")),
        };
        // `{__proto__: …}` sets no property but the prototype.
        if name == "__proto__" {
            return Err(fault(text, key, METADATA, "`__proto__` is no plain key"));
        }
        if map.contains_key(&name) {
            let why = format!("the key `{}` occurs twice", escape_line(&name));
            return Err(fault(text, key, DUPLICATE_METADATA, why));
        }
        map.insert(name, value(text, item, depth + 1)?);
    }
    Ok(Value::Object(map))
}

fn has_hole(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let mut before = "[";
    for child in node.children(&mut cursor).filter(|child| !child.is_extra()) {
        if child.kind() == "," && matches!(before, "," | "[") {
            return true;
        }
        before = child.kind();
    }
    false
}

/// A number behind one minus sign.
fn negative(text: &str, node: Node<'_>) -> Option<Number> {
    let argument = node.child_by_field_name("argument")?;
    let is_minus = node.child(0).is_some_and(|sign| sign.kind() == "-");
    if !is_minus || argument.kind() != "number" {
        return None;
    }
    let positive = number(spelling(text, argument))?;
    format!("-{positive}").parse().ok()
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

fn string(spelled: &str, parts: &[Node<'_>]) -> Result<String, &'static str> {
    if parts.iter().any(|part| part.kind() == "template_substitution") {
        return Err("a template with substitutions is no literal");
    }
    let mut inner = spelled.chars();
    let (open, close) = (inner.next(), inner.next_back());
    if open.is_none() || open != close {
        return Err("a string is not closed");
    }
    unescape(&inner.as_str().replace("\r\n", "\n"))
}

/// Resolves backslashes as JavaScript does outside of sloppy mode.
fn unescape(text: &str) -> Result<String, &'static str> {
    const BAD: &str = "a string holds an escape that is no character";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        let sign = behind.chars().next().ok_or("a string ends in a backslash")?;
        rest = &behind[sign.len_utf8()..];
        match sign {
            '\n' => {}
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            '0' if !rest.starts_with(|c: char| c.is_ascii_digit()) => out.push('\0'),
            '0'..='9' => return Err("octal escapes are not supported"),
            'x' => {
                out.push(hex(rest.get(..2)).and_then(char::from_u32).ok_or(BAD)?);
                rest = &rest[2..];
            }
            'u' if rest.starts_with('{') => {
                let end = rest.find('}').ok_or(BAD)?;
                out.push(hex(rest.get(1..end)).and_then(char::from_u32).ok_or(BAD)?);
                rest = &rest[end + 1..];
            }
            'u' => {
                let unit = hex(rest.get(..4)).ok_or(BAD)?;
                rest = &rest[4..];
                let pair = (0xd800..0xdc00).contains(&unit).then(|| rest.strip_prefix("\\u"));
                match pair.flatten().map(|low| hex(low.get(..4))) {
                    Some(Some(low)) if (0xdc00..0xe000).contains(&low) => {
                        let point = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        out.push(char::from_u32(point).ok_or(BAD)?);
                        rest = &rest[6..];
                    }
                    _ => out.push(char::from_u32(unit).ok_or(BAD)?),
                }
            }
            other => out.push(other),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn hex(digits: Option<&str>) -> Option<u32> {
    let digits = digits.filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}
