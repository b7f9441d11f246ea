//! How JSON spells a text, and the text that such a spelling stands for.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// A value as JSON spells it within its quotes, and as JSON in JSON does, whether or not its writer
/// keeps to ASCII, as Python's does unless it is told otherwise; and the value itself. All of them
/// are to be masked where texts hold JSON.
pub(crate) fn spellings(value: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([value.to_owned()]);
    for _level in 0..2 {
        let spelled: Vec<String> =
            all.iter().flat_map(|one| [spelled_as_json(one), ascii_json(one)]).collect();
        all.extend(spelled);
    }
    all
}

/// How JSON spells a value within its quotes.
fn spelled_as_json(value: &str) -> String {
    let mut spelled = Value::from(value).to_string();
    spelled.pop();
    spelled.remove(0);
    spelled
}

fn ascii_json(value: &str) -> String {
    let mut spelled = String::new();
    for sign in spelled_as_json(value).chars() {
        if sign.is_ascii() {
            spelled.push(sign);
        } else {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                let _ = write!(spelled, "\\u{unit:04x}");
            }
        }
    }
    spelled
}

/// The text with each escape of JSON replaced by its sign, whether or not the text is JSON.
pub(super) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        plain.push_str(before);
        let (sign, length) = escaped(behind);
        match sign {
            Some(sign) => plain.push(sign),
            None => plain.push('\\'),
        }
        rest = &behind[length..];
    }
    plain + rest
}

/// The sign that an escape stands for, and the length of the escape behind its backslash.
fn escaped(behind: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let text = behind.get(at..at + 5)?;
        let digits = text.strip_prefix('u')?;
        // The sign of a number is not a digit.
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let sign = match behind.bytes().next() {
        Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => {
            let Some(first) = unit(0) else { return (None, 0) };
            let second = behind.get(5..6).filter(|next| *next == "\\").and_then(|_| unit(6));
            let pair = second.map(|second| [first, second]);
            let pair = pair.and_then(|pair| char::decode_utf16(pair).next()?.ok());
            return match (char::from_u32(first.into()), pair) {
                (Some(sign), _) => (Some(sign), 5),
                (None, Some(sign)) => (Some(sign), 11),
                (None, None) => (None, 0),
            };
        }
        _ => return (None, 0),
    };
    (Some(sign), 1)
}

#[cfg(test)]
mod tests {
    use super::{ascii_json, spelled_as_json, spellings, without_escapes};

    #[test]
    fn a_text_is_found_behind_each_escape_and_what_is_not_one_stays_table() {
        for (spelled, want) in [
            ("", ""),
            ("a b", "a b"),
            (r#"\u0061\/\\\""#, "a/\\\""),
            (r"\n\t\r\b\f", "\n\t\r\u{8}\u{c}"),
            (r"\u00e9\ud83d\ude00!", "\u{e9}\u{1f600}!"),
            (r"\uD83D\u0041", "\\uD83DA"),
            (r"\ud83d", r"\ud83d"),
            (r"\ud83d\", r"\ud83d\"),
            (r"\u+041 \u00g1 \u12", r"\u+041 \u00g1 \u12"),
            ("\\u12\u{e9}4 \\\u{e9}", "\\u12\u{e9}4 \\\u{e9}"),
            (r"\x \", r"\x \"),
        ] {
            assert_eq!(without_escapes(spelled), want, "{spelled}");
        }
    }

    #[test]
    fn whatever_json_spells_is_found_again() {
        for text in ["", "a\"b\\c/d\u{1}\n", "h\u{e9} \u{1f600}", "<&>"] {
            assert_eq!(without_escapes(&spelled_as_json(text)), text);
            let ascii = ascii_json(text);
            assert!(ascii.is_ascii());
            assert_eq!(without_escapes(&ascii), text);
        }
    }

    #[test]
    fn a_plain_value_has_one_spelling_and_an_odd_one_that_of_each_level() {
        assert_eq!(spellings("token-0123").len(), 1);
        let all = spellings("\u{e9}\"");
        let want = [
            "\u{e9}\"",
            "\u{e9}\\\"",
            "\\u00e9\\\"",
            "\u{e9}\\\\\\\"",
            "\\u00e9\\\\\\\"",
            "\\\\u00e9\\\\\\\"",
        ];
        assert_eq!(all, want.map(str::to_owned).into());
    }
}
