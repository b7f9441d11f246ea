//! Canonical JSON (RFC 8785): one document, one text, so that a digest or a signature of the text
//! speaks for the document.
//!
//! The standard is defined on numbers that a double holds: of two integers beyond 2^53, or of `0.1`
//! and `0.10`, both become one text. What is digested here must not lose such a difference, so the
//! only numbers of a document are whole ones that every reader holds exactly; [`write`] refuses the
//! others. Numbers of callers go through [`exact`], which keeps their digits.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::json_reader::{self, JsonFault};
use super::limits::{KEPT_DEPTH, MESSAGE_NODES};

/// Whole numbers up to this are exact in every reader of JSON: 2^53 − 1.
pub(crate) const SAFE: u64 = (1 << 53) - 1;

/// A number that a canonical document cannot hold exactly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{number}` at `{pointer}` is not a whole number between −2^53 and 2^53")]
pub(crate) struct Inexact {
    /// Where it stands, as a JSON pointer.
    pub(crate) pointer: String,
    pub(crate) number: String,
}

/// Why a text is not the canonical text of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotCanonical {
    #[error("{0}")]
    Json(String),
    #[error("it may hold more than {MESSAGE_NODES} values")]
    TooMany,
    #[error("{0}")]
    Inexact(#[from] Inexact),
    #[error("it is not written canonically: other spaces, another order or spelling")]
    Spelling,
}

/// The canonical text of a document.
///
/// # Errors
/// [`Inexact`]
pub(crate) fn write(document: &Value) -> Result<Vec<u8>, Inexact> {
    check(document, &mut String::new())?;
    // Only numbers that no double holds can fail, and there is none left.
    serde_json_canonicalizer::to_vec(document)
        .map_err(|error| Inexact { pointer: String::new(), number: error.to_string() })
}

/// Reads a document from its canonical text; a line feed may stand behind it.
///
/// # Errors
/// [`NotCanonical`] for every other text, so that a document has one text: a key that stands twice
/// is not passed over either.
pub(crate) fn read(text: &[u8]) -> Result<Value, NotCanonical> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let unread = |why: String| NotCanonical::Json(why);
    let plain = std::str::from_utf8(text).map_err(|error| unread(error.to_string()))?;
    let document = json_reader::read(plain, MESSAGE_NODES, KEPT_DEPTH);
    let document = document.map_err(|(fault, _)| match fault {
        JsonFault::TooMany(_) => NotCanonical::TooMany,
        fault => unread(fault.to_string()),
    })?;
    match write(&document)? == text {
        true => Ok(document),
        false => Err(NotCanonical::Spelling),
    }
}

/// A text that keeps every digit of every number, for values of a caller: compact JSON, the keys of
/// every object sorted.
pub(crate) fn exact(value: &Value) -> String {
    let mut out = String::new();
    push(value, &mut out);
    out
}

/// As [`exact`], for an object.
pub(crate) fn exact_object(map: &Map<String, Value>) -> String {
    let mut out = String::new();
    push_object(map, &mut out);
    out
}

fn push(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => push_object(map, out),
        Value::Array(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                push(item, out);
            }
            out.push(']');
        }
        // Writing to a text cannot fail.
        plain => drop(write!(out, "{plain}")),
    }
}

fn push_object(map: &Map<String, Value>, out: &mut String) {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (at, (key, value)) in members.into_iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        push(&Value::from(key.as_str()), out);
        out.push(':');
        push(value, out);
    }
    out.push('}');
}

fn check(value: &Value, pointer: &mut String) -> Result<(), Inexact> {
    let length = pointer.len();
    let mut within = |key: &str, inner: &Value| {
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        check(inner, pointer)?;
        pointer.truncate(length);
        Ok(())
    };
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, inner)| within(key, inner)),
        Value::Array(list) => {
            list.iter().enumerate().try_for_each(|(i, inner)| within(&i.to_string(), inner))
        }
        Value::Number(number) if !is_safe(&number.to_string()) => {
            Err(Inexact { pointer: pointer.clone(), number: number.to_string() })
        }
        _ => Ok(()),
    }
}

/// A whole number in its one spelling, and small enough.
fn is_safe(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let plain = number == "0"
        || (digits.bytes().all(|b| b.is_ascii_digit()) && digits.as_bytes().first() != Some(&b'0'));
    plain && digits.parse().is_ok_and(|n: u64| n <= SAFE)
}

#[cfg(test)]
#[path = "canon_tests.rs"]
mod tests;
