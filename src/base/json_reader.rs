//! JSON, strictly: what others wrote is read by this reader, or by one that [`may_hold_more`] keeps
//! from it.
//!
//! A reader of our own: the usual one takes the last of two equal keys, and with exact numbers it
//! reads an object with a certain private key as a number, or as whatever JSON the text of its
//! value holds. Strings and numbers are still read by it, one token at a time.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::text::escape_line;
use super::value_count::has_more_values;

/// The keys of which `serde_json` makes something else than an object.
pub(crate) const PRIVATE: &str = "$serde_json::private::";

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonFault {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it nests deeper than {0} levels")]
    TooDeep(usize),
    #[error("it has more than {0} values")]
    TooMany(usize),
}

/// Reads one value of at most so many values, and of at most so many levels; nothing but white
/// space may follow.
///
/// # Errors
/// The fault, and the byte where it is; a key that stands twice in an object is one.
pub(crate) fn read(text: &str, most: usize, deepest: usize) -> Result<Value, (JsonFault, usize)> {
    let mut reader = Reader { text, at: 0, nodes: 0, most, deepest };
    let value = reader.value(0).and_then(|value| {
        reader.space();
        let rest = reader.at < text.len();
        if rest { Err(fault("there is text behind the value")) } else { Ok(value) }
    });
    value.map_err(|fault| (fault, reader.at))
}

/// A type from a value that others wrote.
///
/// # Errors
/// The part that does not fit; also a private key of the library, which would make another value
/// of it.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    if has_private_key(&value) {
        let why = format!("a key begins with `{PRIVATE}`");
        return Err(serde::de::Error::custom(why));
    }
    serde_json::from_value(value)
}

/// Says if a value holds a key of which the library makes something else.
pub(crate) fn has_private_key(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_private_key),
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.starts_with(PRIVATE) || has_private_key(value))
        }
        _ => false,
    }
}

/// Says if the library may make more than `most` values of a text, or of a string in it.
pub(crate) fn may_hold_more(text: &[u8], most: usize) -> bool {
    has_more_values(text, most) || mentions_private_key(text)
}

fn mentions_private_key(text: &[u8]) -> bool {
    // As long as such a key is where each letter of it is escaped.
    let longest = 6 * (PRIVATE.len() + "RawValue".len());
    let (mut start, mut is_escaped) = (None, false);
    let mut keys = text.iter().enumerate().filter_map(|(at, byte)| {
        let Some(begin) = start else {
            start = (*byte == b'"').then_some(at);
            return None;
        };
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => {
                start = None;
                return Some(&text[begin..=at]);
            }
            _ => {}
        }
        None
    });
    keys.any(|key: &[u8]| {
        key.len() <= longest + 2
            && serde_json::from_slice::<String>(key).is_ok_and(|key| key.starts_with(PRIVATE))
    })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Values begun so far.
    nodes: usize,
    most: usize,
    deepest: usize,
}

fn fault(why: &str) -> JsonFault {
    JsonFault::NotJson(why.to_owned())
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, sign: u8) -> bool {
        self.space();
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonFault> {
        self.space();
        self.nodes += 1;
        if self.nodes > self.most {
            return Err(JsonFault::TooMany(self.most));
        }
        match self.peek() {
            Some(b'{') if depth < self.deepest => self.object(depth + 1),
            Some(b'[') if depth < self.deepest => self.array(depth + 1),
            Some(b'{' | b'[') => Err(JsonFault::TooDeep(self.deepest)),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(fault("a value was expected here")),
            None => Err(fault("it ends where a value was expected")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonFault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(fault("a value was expected here"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonFault> {
        let token = self.token(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let number = token.parse().map_err(|_| fault("this is not a number"))?;
        self.at += token.len();
        Ok(Value::Number(number))
    }

    fn token(&self, part: impl Fn(u8) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        &rest[..rest.bytes().position(|b| !part(b)).unwrap_or(rest.len())]
    }

    fn string(&mut self) -> Result<String, JsonFault> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut end = 1;
        while let Some(byte) = rest.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let Some(token) = self.text.get(self.at..=self.at + end) else {
            return Err(fault("a string is not closed"));
        };
        let read = serde_json::from_str(token).map_err(|_| {
            fault("this string holds a control character, a bad escape or a lone surrogate")
        })?;
        self.at += token.len();
        Ok(read)
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonFault> {
        self.at += 1;
        let mut list = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(list));
        }
        loop {
            list.push(self.value(depth)?);
            if self.take(b']') {
                return Ok(Value::Array(list));
            }
            if !self.take(b',') {
                return Err(fault("`,` or `]` was expected here"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonFault> {
        self.at += 1;
        let mut map = Map::new();
        if self.take(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(fault("a key in double quotes was expected here"));
            }
            let key = self.string()?;
            if map.contains_key(&key) {
                self.at = start;
                return Err(fault(&format!("the key `{}` occurs twice", escape_line(&key))));
            }
            if !self.take(b':') {
                return Err(fault("`:` was expected here"));
            }
            let value = self.value(depth)?;
            map.insert(key, value);
            if self.take(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.take(b',') {
                return Err(fault("`,` or `}` was expected here"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{may_hold_more, read, typed};

    #[test]
    fn a_private_key_of_the_library_is_a_key_here_and_refused_where_the_library_reads() {
        for (text, is_private) in [
            (r#"{"$serde_json::private::RawValue":"[1,1,1]"}"#, true),
            (r#"[{"a":{"$serde_json::private::Number":"7"}}]"#, true),
            (r#"{"\u0024serde_json\u003a:private::RawValue":"[1]"}"#, true),
            (r#"{"a":"$serde_json","b":"serde_json::private::Number"}"#, false),
        ] {
            assert_eq!(may_hold_more(text.as_bytes(), 100), is_private, "{text}");
            let value = read(text, 100, 10).unwrap();
            assert!(value.is_array() || value.is_object(), "{text}");
            assert_eq!(typed::<Value>(value).is_err(), is_private, "{text}");
        }
        assert!(may_hold_more(b"[1,2,3]", 2));
        assert_eq!(typed::<Vec<u8>>(json!([1, 2])).unwrap(), [1, 2]);
    }
}
