//! Typed fields out of a header: each getter takes a key and says by pointer what is wrong.

use serde_json::{Map, Value};

use crate::base::text::{escape_line, near};
use crate::parse::data::kind;
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// The fault of a field that should be `wanted`.
pub(super) fn wrong(pointer: &str, wanted: &str, got: &Value) -> ParseFault {
    let hint = match (wanted, got) {
        ("a string", Value::Number(_) | Value::Bool(_)) => ": put it in quotes",
        _ => "",
    };
    let pointer = escape_line(pointer);
    ParseFault::new(
        PARSE_METADATA,
        format!("`{pointer}` must be {wanted}, not {}{hint}", kind(got)),
    )
}

/// A mapping of a header, and the pointer to it.
pub(super) struct Fields<'m> {
    map: &'m Map<String, Value>,
    pointer: String,
}

impl<'m> Fields<'m> {
    /// The header itself.
    pub(super) fn new(map: &'m Map<String, Value>) -> Self {
        Self { map, pointer: String::new() }
    }

    /// The mapping `value`, which lies at `pointer`.
    pub(super) fn from_value(value: &'m Value, pointer: String) -> Result<Self, ParseFault> {
        match value.as_object() {
            Some(map) => Ok(Self { map, pointer }),
            None => Err(wrong(&pointer, "a mapping", value)),
        }
    }

    pub(super) fn pointer(&self, key: &str) -> String {
        if key.contains(['~', '/']) {
            // RFC 6901.
            return format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"));
        }
        [&self.pointer, "/", key].concat()
    }

    /// A field's value; null counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&'m Value> {
        // Comparing a few keys costs less than hashing one.
        let value = match self.map.len() <= 16 {
            true => self.map.iter().find_map(|(known, value)| (known == key).then_some(value)),
            false => self.map.get(key),
        };
        value.filter(|value| !value.is_null())
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<String>, ParseFault> {
        let read = |value: &Value| match value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(wrong(&self.pointer(key), "a string", value)),
        };
        self.get(key).map(read).transpose()
    }

    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, ParseFault> {
        let read = |value: &Value| {
            value.as_bool().ok_or_else(|| wrong(&self.pointer(key), "a boolean", value))
        };
        self.get(key).map(read).transpose()
    }

    pub(super) fn list(&self, key: &str) -> Result<Option<&'m Vec<Value>>, ParseFault> {
        let read = |value: &'m Value| {
            value.as_array().ok_or_else(|| wrong(&self.pointer(key), "a list", value))
        };
        self.get(key).map(read).transpose()
    }

    /// A list of strings.
    pub(super) fn strings(&self, key: &str) -> Result<Option<Vec<String>>, ParseFault> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let pointer = self.pointer(key);
        let items = list.iter().enumerate();
        items
            .map(|(at, item)| string(item, &format!("{pointer}/{at}")))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(super) fn fields(&self, key: &str) -> Result<Option<Self>, ParseFault> {
        self.get(key).map(|value| Self::from_value(value, self.pointer(key))).transpose()
    }

    /// A list of names of environment variables.
    pub(super) fn env_names(&self, key: &str) -> Result<Vec<String>, ParseFault> {
        let names = self.strings(key)?.unwrap_or_default();
        for (at, name) in names.iter().enumerate() {
            env_name(name, &format!("{}/{at}", self.pointer(key)))?;
        }
        Ok(names)
    }

    /// A mapping from names of environment variables to scalars, as text, in the order written.
    pub(super) fn env(&self, key: &str) -> Result<Vec<(String, String)>, ParseFault> {
        let mut env = Vec::new();
        let Some(fields) = self.fields(key)? else { return Ok(env) };
        for (name, value) in fields.map {
            let pointer = fields.pointer(name);
            env_name(name, &pointer)?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                other => return Err(wrong(&pointer, "a string, a number or a boolean", other)),
            };
            if text.contains('\0') {
                return Err(ParseFault::new(
                    PARSE_METADATA,
                    format!("`{pointer}` holds a NUL character"),
                ));
            }
            env.push((name.clone(), text));
        }
        Ok(env)
    }

    /// Refuses unknown keys, because a typing error must not switch a check off.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ParseFault> {
        let unknown = self.map.keys().find(|key| !known.contains(&key.as_str()));
        unknown.map_or(Ok(()), |key| Err(self.unknown(key, known)))
    }

    /// The same, where keys that begin with `x-` are free.
    pub(super) fn only_or_x(&self, known: &[&str]) -> Result<(), ParseFault> {
        let is_free = |key: &str| known.contains(&key) || key.starts_with("x-");
        let unknown = self.map.keys().find(|key| !is_free(key.as_str()));
        unknown.map_or(Ok(()), |key| Err(self.unknown(key, known)))
    }

    /// The fault of an unknown key, with the nearest of the known ones.
    pub(super) fn unknown(&self, key: &str, known: &[&str]) -> ParseFault {
        let near = near(key, known.iter().copied(), 1).pop();
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let pointer = escape_line(&self.pointer(key));
        ParseFault::new(PARSE_METADATA, format!("`{pointer}` is not known here{near}"))
    }

    /// Checks that a key of the mapping can name an environment variable.
    pub(super) fn is_env_name(&self, key: &str) -> Result<(), ParseFault> {
        env_name(key, &self.pointer(key))
    }

    pub(super) fn map(&self) -> &'m Map<String, Value> {
        self.map
    }
}

/// The fault of an unknown word, with the known ones.
pub(super) fn unknown_word(pointer: &str, word: &str, known: &[&str]) -> ParseFault {
    let near = near(word, known.iter().copied(), 1).pop();
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let (pointer, word, known) = (escape_line(pointer), escape_line(word), known.join("`, `"));
    ParseFault::new(
        PARSE_METADATA,
        format!("`{pointer}` is `{word}`, and not one of `{known}`{near}"),
    )
}

pub(super) fn string(value: &Value, pointer: &str) -> Result<String, ParseFault> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(wrong(pointer, "a string", other)),
    }
}

fn env_name(name: &str, pointer: &str) -> Result<(), ParseFault> {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(());
    }
    let name = escape_line(name);
    let why = format!("`{}`: `{name}` cannot name an environment variable", escape_line(pointer));
    Err(ParseFault::new(PARSE_METADATA, why))
}
