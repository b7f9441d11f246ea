//! The YAML that most pages open with, read without the reader: `key: value`, one a line.
//!
//! In:  front matter.
//! Out: what [`yaml`](super::yaml) reads it as; `None` for whatever may mean more than it shows, for which
//!      the reader is asked.
//!
//! Only for finding: what is run or shown is read by one reader alone.

use serde_json::{Map, Value};

/// Longest text that is read here: too short for any cap of the reader.
const LENGTH: usize = 4 << 10;
/// Longest key: the reader takes a far longer one for something else.
const KEY: usize = 64;
/// Words that are no strings, or are numbers elsewhere.
const OTHERS: [&str; 6] = ["null", "true", "false", "nan", "inf", "infinity"];

/// The mapping that a simple text is.
pub(crate) fn simple(text: &str) -> Option<Map<String, Value>> {
    let is_shown = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    if text.len() > LENGTH || !text.bytes().all(is_shown) {
        return None;
    }
    let (mut map, mut lines) = (Map::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        let (key, value) = line.split_once(':')?;
        let is_key = key.starts_with(|c: char| c.is_ascii_lowercase())
            && key.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
            && key.len() <= KEY
            && !OTHERS.contains(&key);
        // A key that stands here twice is the reader's to refuse.
        if !is_key || map.contains_key(key) {
            return None;
        }
        let value = match value {
            "" => {
                let mut items = Vec::new();
                while let Some(item) = lines.next_if(|line| line.starts_with("  - ")) {
                    items.push(Value::from(string(&item[4..])?));
                }
                if items.is_empty() { Value::Null } else { items.into() }
            }
            " []" => Vec::<Value>::new().into(),
            _ => match value.strip_prefix(" [").and_then(|list| list.strip_suffix(']')) {
                Some(list) => list.split(',').map(item).collect::<Option<_>>()?,
                None => string(value.strip_prefix(' ')?)?.into(),
            },
        };
        map.insert(key.to_owned(), value);
    }
    (!map.is_empty()).then_some(map)
}

/// One of a list in brackets.
fn item(text: &str) -> Option<Value> {
    string(text.trim_matches(' ')).map(Value::from)
}

/// A string in quotes without any sign that means something there, or one that begins with a letter.
fn string(text: &str) -> Option<&str> {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inside) = inside('"').or_else(|| inside('\'')) {
        return (!inside.contains(['"', '\'', '\\', '[', ']', '{', '}'])).then_some(inside);
    }
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && !text.contains([':', '#', '"', '\'', '[', ']', '{', '}'])
        && !OTHERS.iter().any(|other| text.eq_ignore_ascii_case(other));
    is_plain.then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use serde_json::{Value, json};

    use super::simple;
    use crate::parse::data::yaml;

    /// What is read here is what the reader reads.
    #[track_caller]
    fn agrees(text: &str) -> bool {
        let Some(map) = simple(text) else { return false };
        assert_eq!(yaml(text).map_err(|fault| fault.why), Ok(Value::Object(map)), "{text:?}");
        true
    }

    #[test]
    fn simple_table() {
        let rows = [
            ("title: Page 1\n", json!({"title": "Page 1"})),
            ("title: \"a: #b\"\nx: 'c, d'\n", json!({"title": "a: #b", "x": "c, d"})),
            ("tags: [bench, b-c.d, \"e\"]\n", json!({"tags": ["bench", "b-c.d", "e"]})),
            ("tags: []\nx: it's\n", json!(null)),
            ("tags: []\nnone:\n", json!({"tags": [], "none": null})),
            ("tags:\n  - a b\n  - 'c'\nx: y\n", json!({"tags": ["a b", "c"], "x": "y"})),
            (
                "x: a, b (c) - d? e! f = g & h * i @ j % k | l > m ~ n / o \\ p ` q\n",
                json!({
                    "x": "a, b (c) - d? e! f = g & h * i @ j % k | l > m ~ n / o \\ p ` q",
                }),
            ),
        ];
        for (text, want) in rows {
            let got = simple(text).map_or(Value::Null, Value::Object);
            assert_eq!(got, want, "{text:?}");
            assert_eq!(agrees(text), !want.is_null(), "{text:?}");
        }
    }

    #[test]
    fn what_may_mean_more_is_left_to_the_reader() {
        let long_key = format!("{}: a\n", "k".repeat(65));
        let long = "k: a\n".repeat(1_000);
        let rows = [
            "",
            "\n",
            "words\n",
            "a: b\na: c\n",
            "true: a\n",
            "null: a\n",
            "1: a\n",
            "a : b\n",
            "a:b\n",
            "a:  - b\n",
            "a: -\n",
            "a: ~\n",
            "a: Null\n",
            "a: yes: no\n",
            "a: TRUE\n",
            "a: .nan\n",
            "a: inf\n",
            "a: Infinity\n",
            "a: 1\n",
            "a: 0x1f\n",
            "a: 2020-01-01\n",
            "a: b # c\n",
            "a: b \n",
            "a: [b, ]\n",
            "a: [[b]]\n",
            "a: [b: c]\n",
            "a: [b] c\n",
            "a: {b: c}\n",
            "a: &b c\n",
            "a: *b\n",
            "a: !!str b\n",
            "a: |\n  b\n",
            "a: >\n  b\n",
            "a: b\n  c\n",
            "a: b\n- c\n",
            "a:\n- b\n",
            "a:\n   - b\n",
            "a:\n  - b\n    c\n",
            "a:\n  -  1\n",
            "a:\n  b: c\n",
            "a: \"b\\n\"\n",
            "a: 'b''c'\n",
            "a: \"b\" c\n",
            "a: \"b\n  c\"\n",
            "a: b\r\n",
            "a:\tb\n",
            "a: b\u{85}c\n",
            "a: b\u{2028}c\n",
            "a: é\n",
            "<<: a\n",
            "%a: b\n",
            "---\na: b\n",
            "a: b\n...\n",
            "# a\na: b\n",
            "? a\n: b\n",
            &long_key,
            &long,
        ];
        for text in rows {
            assert!(simple(text).is_none(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_here_is_what_the_reader_reads(
            lines in proptest::collection::vec(
                "([a-z]{1,3}|true|tags|1a|~)?(:|: |:  | :)?(\\[|\"|'|- |  - |\\{)?([a-zA-Z0-9 ,.:#&*!|>%@`~?=+/\\\\\"'\\[\\]{}_-]{0,6}|null|inf|1e3|\\.5)?(\\]|\"|'|\\}| )?",
                0..5,
            ),
            feed in "\n|\n\n|\r\n|\n ",
        ) {
            let text: String = lines.iter().map(|line| format!("{line}{feed}")).collect();
            agrees(&text);
        }

        #[test]
        fn whatever_is_read_of_lines_that_look_simple_is_what_the_reader_reads(
            lines in proptest::collection::vec(
                "[a-z]{1,2}:( ?(\\[[a-zA-Z0-9 ,._-]{0,8}\\]|[\"']?[!-~]{0,5}[ -~]{0,5}[!-~]?[\"']?)|(\n  - [!-~]{1,3}[ -~]{0,5}){0,3})",
                1..4,
            ),
        ) {
            agrees(&format!("{}\n", lines.join("\n")));
        }
    }
}
