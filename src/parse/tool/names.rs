//! Names: the values that the metadata names of a Python program have.
//!
//! In:  each binding of a name, as the reader finds it in the syntax tree.
//! Out: a header: for each name that is bound, the literal it is bound to.
//!
//! Invariant: a name is bound once, plainly, at top level, or not at all.

use std::ops::Range;

use serde_json::{Map, Value};
use strsim::damerau_levenshtein;

use super::tool::KEYS;
use crate::base::text::{escape_line, position};
use crate::diagnostic::Code;
use crate::parse::error::{
    PARSE_DUPLICATE_METADATA, PARSE_LIMIT, PARSE_METADATA, PARSE_SYNTAX, ParseFault,
};

/// Largest program whose header is read from a syntax tree, in bytes: time to read it is in the way
/// of each run.
const PROGRAM_BYTES: usize = 512 << 10;

/// A name in a program, and the key of the header that it binds.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("__version__", "version"),
    ("__tool_type__", "tool_type"),
    ("__executor_id__", "executor_id"),
    ("__category__", "category"),
    ("__tool_description__", "description"),
    ("CONFIG_SCHEMA", "config_schema"),
    ("ENV_CONFIG", "env_config"),
    ("CONFIG", "config"),
    ("CONFIG_RESOLVE", "config_resolve"),
    ("ANCHOR", "anchor"),
    ("VERIFY_DEPS", "verify_deps"),
    ("FILES", "files"),
    ("SECRETS", "secrets"),
    ("ENV", "env"),
];

/// One place where a name of [`NAMES`] is bound.
pub(super) struct Binding<V> {
    name: &'static str,
    key: &'static str,
    at: usize,
    /// The literal, where it is bound by one plain assignment at top level.
    value: Option<V>,
    /// The word as written, if it is not the name itself. If rye would read its value below the
    /// key, it was meant as the name; else it is the program's own.
    slip: Option<String>,
}

impl<V> Binding<V> {
    /// `None` for a name that is not metadata, nor nearly so in a plain assignment.
    pub(super) fn new(name: &str, at: usize, value: Option<V>) -> Option<Self> {
        if let Some((name, key)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Some(Self { name, key, at, value, slip: None });
        }
        value.as_ref()?;
        let slip = Some(name.to_owned());
        let is_meant = |known: &str| is_slip(name, known);
        if let Some((meant, key)) = NAMES.iter().find(|(known, _)| is_meant(known)) {
            return Some(Self { name: meant, key, at, value: None, slip });
        }
        let dunder = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
        if let Some(key) = dunder.and_then(|word| KEYS.iter().find(|key| **key == word)) {
            return Some(Self { name: "", key, at, value: None, slip });
        }
        let key =
            DOUBTFUL.iter().find(|(known, _)| is_doubtful(name, known)).map(|(_, key)| key)?;
        Some(Self { name: "", key, at, value, slip })
    }

    /// The sentence about a name that is not known.
    fn not_known(&self, written: &str) -> String {
        let (written, key) = (escape_line(written), self.key);
        match NAMES.iter().find(|(_, known)| *known == key) {
            Some((name, _)) => format!("`{written}` is not known here; did you mean `{name}`?"),
            None => format!(
                "`{written}` is not read from the code: `{key}` stands in the header block, \
                 behind `/// rye`"
            ),
        }
    }
}

/// Names that a program may well have for itself, and the key that they mean where their value
/// reads as one of that key.
const DOUBTFUL: [(&str, &str); 5] = [
    ("SECRETS", "secrets"),
    ("CONFIG", "config"),
    ("SANDBOX", "sandbox"),
    ("INPUT_SCHEMA", "config_schema"),
    ("PARAMETERS", "config_schema"),
];

/// Returns true if a name is a doubtful one, or a letter off it.
fn is_doubtful(name: &str, known: &str) -> bool {
    name.len().abs_diff(known.len()) <= 1 && damerau_levenshtein(name, known) <= 1
}

/// Returns true if rye reads such a value below the key.
fn reads_as(key: &str, value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    match (key, value) {
        ("secrets", Value::Array(names)) => {
            let is_part = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
            let is_name = |it: &Value| it.as_str().is_some_and(|it| it.bytes().all(is_part));
            !names.is_empty() && names.iter().all(is_name)
        }
        ("config", _) => ["command", "args", "cwd", "timeout", "timeout_ms"].into_iter().any(has),
        ("sandbox", _) => ["fs", "net", "limits", "items", "git"].into_iter().any(has),
        ("config_schema", Value::Object(_)) => has("properties") || has("required"),
        ("config_schema", Value::Array(list)) => {
            !list.is_empty() && list.iter().all(|it| it.get("name").is_some_and(Value::is_string))
        }
        _ => false,
    }
}

/// Returns true if a name is so near to a known one that it cannot be a name of the program's own.
/// The short known ones, such as `ENV`, have neighbours that programs use.
fn is_slip(name: &str, known: &str) -> bool {
    let is_long = known.starts_with("__") || known.contains('_');
    is_long && name.len().abs_diff(known.len()) <= 2 && damerau_levenshtein(name, known) <= 2
}

/// The header that these bindings give.
///
/// # Errors
/// `parse.duplicate_metadata` for a name that is bound twice, `parse.metadata` for one that is
/// bound in another way than by a plain assignment of a literal, or is misspelt.
pub(super) fn header<V>(
    text: &str,
    mut bindings: Vec<Binding<V>>,
    literal: impl Fn(&str, V) -> Result<Value, ParseFault>,
) -> Result<Map<String, Value>, ParseFault> {
    bindings.sort_by_key(|binding| binding.at);
    let fault = |at: usize, code, why| Err(fault(text, at, code, why));
    let (doubtful, bindings): (Vec<_>, Vec<_>) =
        bindings.into_iter().partition(|it| it.slip.is_some() && it.value.is_some());
    for mut binding in doubtful {
        let value = binding.value.take().and_then(|value| literal(binding.key, value).ok());
        if let Some(written) =
            binding.slip.as_ref().filter(|_| value.is_some_and(|it| reads_as(binding.key, &it)))
        {
            return fault(binding.at, PARSE_METADATA, binding.not_known(written));
        }
    }
    for (place, binding) in bindings.iter().enumerate() {
        let Binding { name, key, at, slip, .. } = binding;
        if let Some(written) = slip {
            return fault(*at, PARSE_METADATA, binding.not_known(written));
        }
        if bindings[..place].iter().any(|earlier| earlier.key == *key) {
            return fault(
                *at,
                PARSE_DUPLICATE_METADATA,
                format!("`{name}` is bound a second time here"),
            );
        }
    }
    let mut map = Map::new();
    for Binding { name, key, at, value, .. } in bindings {
        let Some(value) = value else {
            let why = "must be bound at top level, by one plain assignment of a literal";
            return fault(at, PARSE_METADATA, format!("`{name}` {why}"));
        };
        map.insert(key.into(), literal(key, value)?);
    }
    Ok(map)
}

/// Refuses a program that is too large for a syntax tree.
pub(super) fn fits(text: &str) -> Result<(), ParseFault> {
    if text.len() > PROGRAM_BYTES {
        let why = format!("a program has at most {} KiB", PROGRAM_BYTES >> 10);
        return Err(ParseFault::new(PARSE_LIMIT, why));
    }
    Ok(())
}

/// A fault at a place of the text.
pub(super) fn fault(text: &str, at: usize, code: Code, why: impl Into<String>) -> ParseFault {
    ParseFault::new(code, why).at(position(text.as_bytes(), at.min(text.len())))
}

/// A text that its language's parser refuses, in the parser's words.
pub(super) fn broken(text: &str, at: usize, why: &str) -> ParseFault {
    fault(text, at, PARSE_SYNTAX, format!("it does not parse: {}", escape_line(why)))
}

/// A part of the text as an error shows it.
pub(super) fn shown(text: &str, range: Range<usize>) -> String {
    let part = text.get(range).unwrap_or_default();
    escape_line(&part.chars().take(40).collect::<String>())
}
