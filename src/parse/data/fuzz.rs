//! Fuzz targets for YAML, TOML and JSON: each reader against the library's own.

use serde_json::Value;

use super::{json as read_json, toml as read_toml, yaml as read_yaml};
use crate::base::fuzz::item_text;
use crate::base::limits::{DATA_DEPTH, YAML_NODES};
use crate::parse::error::{PARSE_LIMIT, ParseFault};
use crate::parse::fuzz::{is_bounded, is_fault};

/// A value that is read prints and reads again as the same value, digit for digit; the library
/// reads the same, but for texts that are refused here on purpose.
pub(crate) fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let theirs = serde_json::from_str::<Value>(text);
    match twice(text, read_json) {
        Ok(value) => {
            is_bounded(&value, text.len());
            let printed = value.to_string();
            let again = read_json(&printed);
            assert_eq!(again.as_ref(), Ok(&value), "{printed}");
            assert_eq!(again.map(|value| value.to_string()).ok(), Some(printed));
            // With exact numbers the library takes an object with a key of its own for a number.
            if !text.contains("$serde_json") && !text.contains('\\') {
                assert_eq!(theirs.ok(), Some(value));
            }
        }
        Err(fault) => {
            is_fault(text, &fault);
            assert!(fault.position.is_some(), "{fault:?}");
            let why = &fault.why;
            let on_purpose =
                fault.code == PARSE_LIMIT || why.contains("twice") || why.ends_with('…');
            assert!(theirs.is_err() || on_purpose, "{fault:?}");
        }
    }
}

/// The value is what the library's own table says, but with every digit; only numbers that it
/// cannot hold and nesting are judged differently.
pub(crate) fn toml(data: &[u8]) {
    let Some(text) = item_text(data) else { return };
    let theirs = text.parse::<::toml::Table>();
    match twice(text, read_toml) {
        Ok(value) => {
            is_bounded(&value, 2 * text.len() + 1);
            assert!(value.is_object());
            match theirs {
                Ok(theirs) => is_toml(&value, &::toml::Value::Table(theirs)),
                Err(error) => {
                    let says = |word| error.message().contains(word);
                    let range = ["float", "integer", "number", "too large"].into_iter().any(says);
                    assert!(range, "{error}");
                }
            }
        }
        Err(fault) => {
            is_fault(text, &fault);
            let on_purpose = fault.code == PARSE_LIMIT || fault.why.contains("a number must be");
            assert!(theirs.is_err() || on_purpose, "{fault:?}");
        }
    }
}

fn is_toml(ours: &Value, theirs: &::toml::Value) {
    use ::toml::Value as Toml;
    match (ours, theirs) {
        (Value::String(text), Toml::String(other)) => assert_eq!(text, other),
        (Value::String(text), Toml::Datetime(moment)) => assert_eq!(*text, moment.to_string()),
        (Value::Bool(truth), Toml::Boolean(other)) => assert_eq!(truth, other),
        (Value::Number(number), Toml::Integer(other)) => {
            // `-0` keeps its sign here.
            assert_eq!(number.to_string().parse::<i64>(), Ok(*other));
        }
        (Value::Number(number), Toml::Float(other)) => is_float(number, *other),
        (Value::Array(items), Toml::Array(others)) => {
            assert_eq!(items.len(), others.len());
            items.iter().zip(others).for_each(|(item, other)| is_toml(item, other));
        }
        (Value::Object(map), Toml::Table(others)) => {
            assert_eq!(map.len(), others.len());
            for (key, other) in others {
                is_toml(map.get(key).unwrap_or(&Value::Null), other);
            }
        }
        _ => panic!("{ours} is not {theirs}"),
    }
}

fn is_float(number: &serde_json::Number, other: f64) {
    let ours: f64 = number.as_str().parse().unwrap_or(f64::NAN);
    assert!(ours.to_bits() == other.to_bits() || (ours == 0.0 && other == 0.0), "{number} {other}");
}

/// Bounded in nodes and depth, and the library's value but for tags and numbers of any length; a
/// text that says something is never nothing.
pub(crate) fn yaml(data: &[u8]) {
    let Some(text) = item_text(data) else { return };
    match twice(text, read_yaml) {
        Ok(value) => {
            is_bounded(&value, YAML_NODES);
            if value.is_null() {
                says_nothing(text);
            }
            // Tags mean less to the library, and it takes what is left of a number for a string.
            if !text.contains('!')
                && let Ok(theirs) = serde_yaml::from_str::<serde_yaml::Value>(text)
            {
                is_yaml(&value, &theirs);
            }
        }
        Err(fault) => is_fault(text, &fault),
    }
}

/// Blank lines, remarks, document marks, and the words for nothing.
fn says_nothing(text: &str) {
    const WORDS: [&str; 10] =
        ["", "~", "null", "Null", "NULL", "---", "...", "!!null", "!!str", "|"];
    let without_remark = |line: &'_ str| {
        let at = line.match_indices('#').map(|(at, _)| at);
        let mut starts = at.filter(|&at| at == 0 || line[..at].ends_with([' ', '\t', '\u{feff}']));
        starts.next().map_or(line.to_owned(), |at| line[..at].to_owned())
    };
    for line in text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).map(without_remark) {
        for word in line.split([' ', '\t', '\u{feff}']) {
            let word = word.trim_start_matches("---").trim_end_matches("...");
            assert!(WORDS.contains(&word) || word.starts_with('&'), "`{word}` was passed over");
        }
    }
}

fn is_yaml(ours: &Value, theirs: &serde_yaml::Value) {
    use serde_yaml::Value as Yaml;
    match (ours, theirs) {
        (Value::Null, Yaml::Null) => {}
        (Value::Bool(truth), Yaml::Bool(other)) => assert_eq!(truth, other),
        (Value::String(text), Yaml::String(other)) => assert_eq!(text, other),
        // A number beyond the library's range.
        (Value::Number(number), Yaml::String(other)) => {
            assert_eq!(super::decimal(other).as_ref(), Some(number));
        }
        (Value::Number(number), Yaml::Number(other)) => match other.as_i64() {
            Some(whole) => assert_eq!(number.to_string(), whole.to_string()),
            None if other.is_u64() => assert_eq!(number.to_string(), other.to_string()),
            None => is_float(number, other.as_f64().unwrap_or(f64::NAN)),
        },
        (Value::Array(items), Yaml::Sequence(others)) => {
            assert_eq!(items.len(), others.len());
            items.iter().zip(others).for_each(|(item, other)| is_yaml(item, other));
        }
        (Value::Object(map), Yaml::Mapping(others)) => {
            assert_eq!(map.len(), others.len());
            for (key, other) in others {
                let key = key.as_str().unwrap_or_default();
                is_yaml(map.get(key).unwrap_or(&Value::Null), other);
            }
        }
        _ => panic!("{ours} is not {theirs:?}"),
    }
}

/// Reads the text twice, and returns the result, which is the same both times.
fn twice(text: &str, read: fn(&str) -> Result<Value, ParseFault>) -> Result<Value, ParseFault> {
    let first = read(text);
    assert_eq!(first, read(text), "twice the same");
    first
}

/// How deep values may nest is said once.
const _: () = assert!(DATA_DEPTH < 128, "the library's own readers stop at 128");
