//! JSON, strictly; see `base/json_reader.rs`.

use serde_json::Value;

use crate::base::json_reader::{JsonFault, read};
use crate::base::limits::{DATA_DEPTH, JSON_NODES, KEPT_DEPTH};
use crate::base::text::position;
use crate::parse::error::{PARSE_JSON, PARSE_LIMIT, ParseFault};

/// Most values of JSON that rye wrote: what it was given stands beside its own.
const KEPT_NODES: usize = 2 * JSON_NODES;

/// Reads one JSON value; nothing but white space may follow.
///
/// # Errors
/// `parse.json` for text that is not JSON, a duplicate key or a lone surrogate; `parse.limit` for
/// nesting deeper than `DATA_DEPTH` or more than `JSON_NODES` values, of which none is built beyond
/// that.
pub(crate) fn json(text: &str) -> Result<Value, ParseFault> {
    json_of(text, JSON_NODES)
}

/// As [`json`], but with another bound on the number of values.
///
/// # Errors
/// As [`json`].
pub(crate) fn json_of(text: &str, most: usize) -> Result<Value, ParseFault> {
    read(text, most, DATA_DEPTH).map_err(|(fault, at)| {
        let code = if matches!(fault, JsonFault::NotJson(_)) { PARSE_JSON } else { PARSE_LIMIT };
        ParseFault::new(code, fault.to_string()).at(position(text.as_bytes(), at))
    })
}

/// Reads a line of a record, or another text that rye keeps: what [`json`] read stands in it some
/// levels deeper, and beside others. `None` for what is not JSON, as for a line that is half
/// written.
pub(crate) fn kept_json(text: &[u8]) -> Option<Value> {
    read(std::str::from_utf8(text).ok()?, KEPT_NODES, KEPT_DEPTH).ok()
}

#[cfg(test)]
mod tests {
    use super::{DATA_DEPTH, JSON_NODES, json, kept_json};
    use crate::base::text::Position;
    use serde_json::Value;

    #[test]
    fn values_come_back_digit_for_digit() {
        for text in [
            "null",
            "[]",
            "{}",
            r#"{"b":1,"a":[true,false,null,"é\n"]}"#,
            "18446744073709551617",
            "123456789012345678901234567890",
            "0.10000000000000000555",
            "-0",
            "1.50",
            r#"{"$serde_json::private::Number":"1"}"#,
        ] {
            assert_eq!(json(text).map(|v| v.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(json("1e999").unwrap().to_string(), "1e+999");
        assert_eq!(json(" [ 1 , 2 ]\r\n").unwrap(), serde_json::json!([1, 2]));
        assert_eq!(json(r#""😀""#).unwrap(), Value::from("😀"));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(json(&deep(64)).is_ok());
        let rows = [
            ("", "parse.json"),
            ("{} {}", "parse.json"),
            ("nul", "parse.json"),
            ("nulls", "parse.json"),
            ("NaN", "parse.json"),
            ("-Infinity", "parse.json"),
            ("01", "parse.json"),
            ("1.", "parse.json"),
            (".5", "parse.json"),
            ("+1", "parse.json"),
            ("1e", "parse.json"),
            ("[1,]", "parse.json"),
            ("[1 2]", "parse.json"),
            ("{a:1}", "parse.json"),
            ("{'a':1}", "parse.json"),
            (r#"{"a":1,}"#, "parse.json"),
            (r#"{"a":1,"a":1}"#, "parse.json"),
            (r#"{"a":1,"\u0061":1}"#, "parse.json"),
            (r#"{"x":{"a":1,"b":[],"a":1}}"#, "parse.json"),
            (r#""\ud800""#, "parse.json"),
            (r#""\udc00\ud800""#, "parse.json"),
            (r#""\x""#, "parse.json"),
            ("\"a\nb\"", "parse.json"),
            ("\"open", "parse.json"),
            ("\"open\\", "parse.json"),
            ("\"open\\é", "parse.json"),
            ("// c\n1", "parse.json"),
            ("\u{a0}1", "parse.json"),
            (&deep(65), "parse.limit"),
            (&deep(10_000), "parse.limit"),
            (&"{\"a\":".repeat(10_000), "parse.limit"),
        ];
        for (text, code) in rows {
            assert_eq!(json(text).map_err(|f| f.code.name()), Err(code), "{text:.60}");
        }
    }

    #[test]
    fn there_is_an_end_to_the_values_of_a_text() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 1));
        let read = json(&list(JSON_NODES - 1)).unwrap();
        assert_eq!(read.as_array().map(Vec::len), Some(JSON_NODES - 1), "with the list itself");
        let fault = json(&list(JSON_NODES)).unwrap_err();
        assert_eq!(fault.code.name(), "parse.limit");
        // Reading stopped at the first value beyond the bound.
        let column = "[".len() + 2 * (JSON_NODES - 1) + 1;
        assert_eq!(fault.position, Some(Position { line: 1, column }));
    }

    #[test]
    fn what_was_read_is_read_back_from_where_rye_keeps_it_whatever_its_keys_are() {
        let deep = "[".repeat(DATA_DEPTH) + &"]".repeat(DATA_DEPTH);
        let wide = format!("[{}0]", "0,".repeat(JSON_NODES - 2));
        for text in [
            r#"{"$serde_json::private::Number":"17"}"#,
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"$serde_json::private::RawValue":"nonsense"}"#,
            &deep,
            &wide,
        ] {
            let value = json(text).unwrap();
            let line = serde_json::json!({"event": "x", "outputs": {"o": value}}).to_string();
            let read = kept_json(format!("{line}\n").as_bytes()).unwrap();
            assert_eq!(read["outputs"]["o"], value, "{text:.60}");
            assert_eq!(kept_json(&line.as_bytes()[..line.len() - 1]), None, "it is half written");
        }
        let deeper = "[".repeat(3 * DATA_DEPTH) + &"]".repeat(3 * DATA_DEPTH);
        for text in [b"".as_slice(), b"\n", b"\"\xff\"", deeper.as_bytes()] {
            assert_eq!(kept_json(text), None);
        }
    }

    #[test]
    fn a_fault_has_its_place() {
        let fault = json("{\"a\": 1,\n \"é\": 2, \"a\": 3}").unwrap_err();
        assert_eq!(fault.position, Some(Position { line: 2, column: 10 }));
    }
}
