//! Values as YAML that people like to read.

use std::fmt::Write as _;

use serde_json::Value;

use crate::base::text::unfit;
use crate::parse::yaml;

/// A text on one line: as it is where YAML reads it as the same, else in quotes as in JSON.
pub(super) fn scalar(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(word);
    match is_word && yaml(text).is_ok_and(|read| read.as_str() == Some(text)) {
        true => text.to_owned(),
        false => quoted(&Value::from(text)),
    }
}

/// A value as JSON, with invisible characters escaped: as they are, YAML would refuse some of them,
/// and a person would miss the rest.
fn quoted(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match unfit(c.encode_utf8(&mut [0; 4])) {
            Some(_) => drop(write!(out, "\\U{:08X}", u32::from(c))),
            None => out.push(c),
        }
    }
    out
}

/// A list of texts on one line.
pub(super) fn list(texts: impl Iterator<Item = String>) -> String {
    format!("[{}]", texts.map(|text| scalar(&text)).collect::<Vec<_>>().join(", "))
}

/// A key and its value below `indent` spaces. Mappings take a line a key; all else is JSON, which
/// is YAML too.
pub(super) fn entry(out: &mut String, indent: usize, key: &str, value: &Value) {
    let _ = write!(out, "{:indent$}{}:", "", scalar(key));
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            map.iter().for_each(|(key, value)| entry(out, indent + 2, key, value));
        }
        Value::String(text) => {
            let _ = writeln!(out, " {}", scalar(text));
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let texts = items.iter().filter_map(Value::as_str).map(str::to_owned);
            let _ = writeln!(out, " {}", list(texts));
        }
        other => {
            let _ = writeln!(out, " {}", quoted(other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::entry;
    use crate::parse::yaml;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_as_the_same() {
        let value = json!({
            "type": "object", "a b": ["x", "no", "true", "1", "~", "null", "é", "a: b", "- c", ""],
            "y": {"n": {"on": "off", "0x1f": 0, "1e3": 1.5}, "": [], "#": {}}, "null": null,
            "several": "a\nb\t\"'", "deep": [{"a": [1, [true]]}, "{", "a,b", "😀", "\u{7f}", {"\u{202e}": "\u{85}\u{feff}\u{e0041}"}],
            "\u{200b}": "\u{7f}",
            "NaN": ".nan", "inf": "-.inf", "date": "2026-01-01", "path": "a/b.c", "tag": "!x", "<": "&a",
        });
        let mut out = String::new();
        entry(&mut out, 0, "schema", &value);
        assert_eq!(yaml(&out).map(|read| read["schema"].clone()), Ok(value), "{out}");
        assert!(out.contains("\n  type: object\n"), "{out}");
    }
}
