//! Data: strict readers from YAML, TOML and JSON to one kind of value.
//!
//! In:  a text.
//! Out: a `serde_json::Value`, or a [`ParseFault`] with its position in that text.
//!
//! Invariants
//! - A duplicate key is an error; so is a key that is not a string.
//! - Nothing nests deeper than `DATA_DEPTH`, nor what rye keeps than `KEPT_DEPTH`; nothing grows
//!   beyond its file by aliases.
//! - Numbers keep the digits they were written with; NaN and infinities are refused.

#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod json;
mod number;
mod position;
mod toml;
mod yaml;

use serde_json::Value;

use super::error::{PARSE_LIMIT, ParseFault};
use crate::base::limits::{DATA_DEPTH, DATA_SIGNS};
use crate::base::text::unfit;
use crate::verify::{PARSE_CONTROL_TEXT, PARSE_INVISIBLE_TEXT};

pub(crate) use json::{json, json_of, kept_json};
pub(crate) use number::{decimal, radix};
pub(crate) use position::yaml_position;
pub(crate) use toml::toml;
pub(crate) use yaml::yaml;

/// The fault of a text that nests deeper than a reader may recurse.
pub(crate) fn too_deep() -> ParseFault {
    ParseFault::new(PARSE_LIMIT, format!("it nests deeper than {DATA_DEPTH} levels"))
}

/// The fault of a text that may hold more values than a reader may make.
pub(crate) fn too_dense() -> ParseFault {
    ParseFault::new(PARSE_LIMIT, format!("it may hold more than {DATA_SIGNS} keys and values"))
}

/// The kind of a value in words, with its article.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Refuses values with invisible characters. Written as escapes, they would pass the check of the
/// file itself.
pub(crate) fn plain(value: &Value) -> Result<(), ParseFault> {
    match value {
        Value::String(text) => plain_text(text),
        Value::Array(items) => items.iter().try_for_each(plain),
        Value::Object(map) => {
            map.iter().try_for_each(|(key, value)| plain_text(key).and_then(|()| plain(value)))
        }
        _ => Ok(()),
    }
}

/// As [`plain`], but for one text.
pub(crate) fn plain_text(text: &str) -> Result<(), ParseFault> {
    let Some(found) = unfit(text) else { return Ok(()) };
    let code = if found.invisible { PARSE_INVISIBLE_TEXT } else { PARSE_CONTROL_TEXT };
    Err(ParseFault::new(
        code,
        format!("a value holds the character U+{:04X}", u32::from(found.char)),
    ))
}
