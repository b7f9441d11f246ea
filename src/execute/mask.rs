//! What a tool writes to standard error, and says of its failure, is shown without its secrets.
//!
//! The one rule: the bytes of every value that a link of the chain declared under `secrets` are
//! replaced by `***` in standard error, in the error text and in what a server answered when it
//! failed, before anything is cut, kept or shown. What a tool gives as its data is its own. A secret in another spelling, such
//! as base64, is not known as one.

use serde_json::Value;

/// What stands for a secret.
const MASK: &[u8] = b"***";
/// A line of a secret of many lines is masked alone from this length on, in bytes: logs break texts.
const LINE: usize = 8;

/// The values to be masked. Has no `Debug`.
pub(super) struct Mask {
    /// Longest first, so that one which holds another goes whole.
    secrets: Vec<Vec<u8>>,
}

impl Mask {
    pub(super) fn of<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let parts = secrets.flat_map(|value| {
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= LINE);
            std::iter::once(value.trim()).chain(lines)
        });
        let mut secrets: Vec<Vec<u8>> =
            parts.filter(|part| !part.is_empty()).map(|part| part.as_bytes().to_vec()).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The value without the secrets in its strings, keys and numbers.
    pub(super) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let members = map.into_iter();
                Value::Object(members.map(|(k, v)| (self.text(&k), self.value(v))).collect())
            }
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.text(&text);
                if masked == text { Value::Number(number) } else { masked.into() }
            }
            other => other,
        }
    }

    /// The text without the secrets.
    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes(), false)).into_owned()
    }

    /// The bytes without the secrets; of bytes that were `cut` the end may be part of one.
    pub(super) fn bytes(&self, bytes: &[u8], cut: bool) -> Vec<u8> {
        if self.secrets.is_empty() {
            return bytes.to_vec();
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, behind)) = rest.split_first() {
            match self.secrets.iter().find_map(|secret| rest.strip_prefix(&secret[..])) {
                Some(after) => {
                    out.extend(MASK);
                    rest = after;
                }
                None if cut && self.secrets.iter().any(|secret| secret.starts_with(rest)) => {
                    out.extend(MASK);
                    break;
                }
                None => {
                    out.push(*first);
                    rest = behind;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Mask;

    #[test]
    fn masked_table() {
        let mask = |secrets: &[&str], text: &str| Mask::of(secrets.iter().copied()).text(text);
        let rows: &[(&[&str], &str, &str)] = &[
            (&[], "abc", "abc"),
            (&["abc"], "xabcx abcabc", "x***x ******"),
            (&["abc", "abcdef"], "abcdef abc", "*** ***"),
            (&["abc\n"], "abc.", "***."),
            (&["", " "], "a b", "a b"),
            (&["x"], "xyx", "***y***"),
            (&["first line\nsecond line"], "> first line\n> second line", "> ***\n> ***"),
            (&["first line\nsecond line"], "first line\nsecond line", "***"),
            (&["ab"], "a b", "a b"),
            (&["h\u{e9}"], "h\u{e9}!", "***!"),
        ];
        for (secrets, text, want) in rows {
            assert_eq!(mask(secrets, text), *want, "{secrets:?} {text:?}");
        }
    }

    #[test]
    fn of_what_was_cut_the_end_tells_no_part_of_a_secret() {
        let mask = Mask::of(["token-0123"].into_iter());
        for end in 1..10 {
            let text = format!("is {}", &"token-0123"[..end]);
            assert_eq!(mask.bytes(text.as_bytes(), true), b"is ***", "{text}");
            assert_eq!(mask.bytes(text.as_bytes(), false), text.as_bytes());
        }
        assert_eq!(mask.bytes(b"is not", true), b"is no***", "a first letter is one too");
    }
}
