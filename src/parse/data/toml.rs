//! TOML, strictly.
//!
//! The reader refuses duplicate keys and bounds nesting and dotted keys by itself. Numbers are
//! taken from their text, dates become strings.

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{decimal, radix, too_deep, too_dense};
use crate::base::limits::{DATA_DEPTH, DATA_SIGNS};
use crate::base::text::position;
use crate::base::value_count::has_more_signs;
use crate::parse::error::{PARSE_TOML, ParseFault};

/// Reads a TOML document; the value is always a mapping.
///
/// # Errors
/// `parse.toml` for text that is not TOML and for NaN and infinities; `parse.limit` for nesting
/// deeper than `DATA_DEPTH`, and for more than `DATA_SIGNS` values.
pub(crate) fn toml(text: &str) -> Result<Value, ParseFault> {
    if has_more_signs(text, DATA_SIGNS) {
        return Err(too_dense());
    }
    let at = |byte| position(text.as_bytes(), byte);
    let table = DeTable::parse(text).map_err(|error| {
        // The library's bound on recursion lies above ours, and its error has no kind of its own.
        let deep = error.message().contains("recurs");
        let why = format!("it is not TOML: {}", error.message());
        let fault = if deep { too_deep() } else { ParseFault::new(PARSE_TOML, why) };
        match error.span() {
            Some(span) => fault.at(at(span.start)),
            None => fault,
        }
    })?;
    mapping(table.get_ref(), 1).map_err(|(fault, byte)| fault.at(at(byte)))
}

type Misplaced = (ParseFault, usize);

fn mapping(table: &DeTable<'_>, depth: usize) -> Result<Value, Misplaced> {
    let mut map = Map::new();
    for (key, item) in table {
        map.insert(key.get_ref().to_string(), value(item, depth + 1)?);
    }
    Ok(Value::Object(map))
}

fn value(item: &Spanned<DeValue<'_>>, depth: usize) -> Result<Value, Misplaced> {
    let byte = item.span().start;
    let number = |number: Option<serde_json::Number>| match number {
        Some(number) => Ok(Value::Number(number)),
        None => Err((
            ParseFault::new(PARSE_TOML, "a number must be finite, and of a sane length"),
            byte,
        )),
    };
    match item.get_ref() {
        DeValue::Array(_) | DeValue::Table(_) if depth > DATA_DEPTH => Err((too_deep(), byte)),
        DeValue::Array(list) => list
            .iter()
            .map(|item| value(item, depth + 1))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        DeValue::Table(table) => mapping(table, depth),
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Boolean(truth) => Ok(Value::Bool(*truth)),
        DeValue::Datetime(moment) => Ok(Value::String(moment.to_string())),
        DeValue::Float(float) => number(decimal(float.as_str())),
        DeValue::Integer(integer) if integer.radix() == 10 => number(decimal(integer.as_str())),
        DeValue::Integer(integer) => number(radix(integer.as_str(), integer.radix(), false)),
    }
}

#[cfg(test)]
mod tests {
    use super::toml;
    use crate::base::text::Position;
    use serde_json::json;

    #[test]
    fn values_table() {
        let rows = [
            ("", "{}"),
            ("a = 1_000", r#"{"a":1000}"#),
            ("a = 0xff", r#"{"a":255}"#),
            ("a = 0o17\nb = 0b11", r#"{"a":15,"b":3}"#),
            ("a = +1.50", r#"{"a":1.50}"#),
            ("a = 123456789012345678901234567890", r#"{"a":123456789012345678901234567890}"#),
            ("a = 2026-11-20T08:09:10Z", r#"{"a":"2026-11-20T08:09:10Z"}"#),
            ("a = 07:32:00", r#"{"a":"07:32:00"}"#),
            ("[a.b]\nc = [1, {d = true}]", r#"{"a":{"b":{"c":[1,{"d":true}]}}}"#),
            ("a = '''x\ny'''", r#"{"a":"x\ny"}"#),
        ];
        for (text, want) in rows {
            assert_eq!(toml(text).map(|v| v.to_string()).as_deref(), Ok(want), "{text:?}");
        }
        assert_eq!(toml("a.b = 1\na.c = 2").unwrap(), json!({"a": {"b": 1, "c": 2}}));
    }

    #[test]
    fn what_is_refused() {
        let dots = format!("{} = 1", vec!["a"; 10_000].join("."));
        let header = format!("[{}]", vec!["a"; 10_000].join("."));
        let rows = [
            ("a = 1\na = 2", "parse.toml"),
            ("[a]\n[a]", "parse.toml"),
            ("a = {b = 1, b = 2}", "parse.toml"),
            ("a = nan", "parse.toml"),
            ("a = -inf", "parse.toml"),
            ("a = 01", "parse.toml"),
            ("a = ", "parse.toml"),
            ("a", "parse.toml"),
            (&format!("a = {}{}", "[".repeat(63), "]".repeat(63)), "ok"),
            (&format!("a = {}{}", "[".repeat(64), "]".repeat(64)), "parse.limit"),
            (&format!("a = {}", "[".repeat(10_000)), "parse.limit"),
            (&format!("a = {}", "{a=".repeat(10_000)), "parse.limit"),
            (&dots, "parse.limit"),
            (&header, "parse.limit"),
        ];
        for (text, code) in rows {
            assert_eq!(toml(text).map_or_else(|f| f.code.name(), |_| "ok"), code, "{text:.60}");
        }
    }

    #[test]
    fn a_fault_has_its_place() {
        let fault = toml("a = 1\nb = nan").unwrap_err();
        assert_eq!(fault.position, Some(Position { line: 2, column: 5 }));
    }
}
