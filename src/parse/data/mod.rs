//! Data: strict readers from YAML, TOML and JSON to one kind of value.
//!
//! In:  a text.
//! Out: a `serde_json::Value`, or a [`Fault`] with its position in that text.
//!
//! Invariants
//! - A duplicate key is an error; so is a key that is not a string.
//! - Nothing nests deeper than `DATA_DEPTH`; nothing grows beyond its file by aliases.
//! - Numbers keep the digits they were written with; NaN and infinities are refused.

mod json;
mod number;
mod toml;
mod yaml;

use serde_json::Value;

use super::error::{Fault, LIMIT};
use crate::base::limits::DATA_DEPTH;

pub(crate) use json::json;
pub(crate) use number::{decimal, radix};
pub(crate) use toml::toml;
pub(crate) use yaml::yaml;

/// The fault of a text that nests deeper than a reader may recurse.
pub(crate) fn too_deep() -> Fault {
    Fault::new(LIMIT, format!("it nests deeper than {DATA_DEPTH} levels"))
}

/// What a value is, as people say it, with its article.
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
