//! JSON as it is shown: what could steer a terminal or hide in a text is written as `\u…`, which
//! any reader of JSON reads as the same text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value};

use super::text::hiding;

/// Writes the value on one line.
///
/// # Errors
/// Those of `to`.
pub(crate) fn write(to: &mut impl Write, value: &Value) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(to, Shown);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// The value on one line.
pub(crate) fn text(value: &Value) -> String {
    let mut line = Vec::new();
    write(&mut line, value).expect("a JSON value is JSON");
    String::from_utf8_lossy(&line).into_owned()
}

/// The fields of an object; anything else has none.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

struct Shown;

impl Formatter for Shown {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        // Of the ASCII characters that hide, all but this one are escaped already.
        if fragment.is_ascii() && !fragment.contains('\u{7f}') {
            return writer.write_all(fragment.as_bytes());
        }
        let mut done = 0;
        for found in hiding(fragment) {
            writer.write_all(&fragment.as_bytes()[done..found.at])?;
            for unit in found.char.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            done = found.at + found.char.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[done..])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::write;

    #[test]
    fn what_hides_or_steers_is_written_out_and_read_as_it_was() {
        let value = json!({"a\u{202e}": ["\u{9b}2J", "\u{7f}", "\u{2028}", "\u{e0041}", "é ❤\u{fe0f} \"\\\n"]});
        let mut out = Vec::new();
        write(&mut out, &value).unwrap();
        let text = String::from_utf8(out).unwrap();
        let want = r#"{"a\u202e":["\u009b2J","\u007f","\u2028","\udb40\udc41","é ❤️ \"\\\n"]}"#;
        assert_eq!(text, want);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
