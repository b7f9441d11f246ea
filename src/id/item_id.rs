//! Item ids.

use std::fmt;
use std::str::FromStr;

use super::IdError;
use crate::base::limits::{ID_BYTES, ID_SEGMENTS};
use crate::base::text::escape_line;

/// A slash-separated item path such as `acme/deploy`, without kind and extension.
///
/// Invariant: `seg(/seg)*`, `seg = [A-Za-z0-9_][A-Za-z0-9._-]*`, no `.` or `..`, no trailing dot,
/// at most 255 bytes and 16 segments; so it is always a plain relative path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ItemId(Box<str>);

impl ItemId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment: the file's stem.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The folder part, empty at the top.
    pub(crate) fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns true for the id of a runtime or a primitive that rye ships.
    pub(crate) fn is_runtime_part(&self) -> bool {
        ["rye/core/runtimes/", "rye/core/primitives/"].iter().any(|part| self.0.starts_with(part))
    }

    /// Ids under `rye/` belong to the system space (core 2.3).
    pub(crate) fn is_reserved(&self) -> bool {
        self.0.starts_with("rye/")
    }
}

impl FromStr for ItemId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = |why: String| IdError::Malformed { text: text.chars().take(300).collect(), why };
        if text.is_empty() {
            return Err(bad("it is empty".into()));
        }
        if text.len() > ID_BYTES {
            return Err(bad(format!("it is longer than {ID_BYTES} bytes")));
        }
        if text.bytes().filter(|b| *b == b'/').count() >= ID_SEGMENTS {
            return Err(bad(format!("it has more than {ID_SEGMENTS} segments")));
        }
        match text.split('/').find_map(|segment| fault(segment).map(|why| (segment, why))) {
            Some((segment, why)) => Err(bad(format!("segment `{}` {why}", escape_line(segment)))),
            None => Ok(Self(text.into())),
        }
    }
}

/// The fault of a segment.
fn fault(segment: &str) -> Option<String> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    match segment.chars().next() {
        None => return Some("is empty".into()),
        Some(first) if !(first.is_ascii_alphanumeric() || first == '_') => {
            return Some(format!("begins with `{}`", escape_line(&first.to_string())));
        }
        Some(_) => {}
    }
    if let Some(at) = segment.bytes().position(|b| !inner(b)) {
        let c = segment[at..].chars().next().unwrap_or_default();
        return Some(format!("holds `{}` (U+{:04X})", escape_line(&c.to_string()), u32::from(c)));
    }
    if segment.ends_with('.') {
        return Some("ends with a dot".into());
    }
    is_device(segment).then(|| "is a device name on some systems".into())
}

/// Names that Windows gives to devices, with any extension; an item must mean the same anywhere.
fn is_device(segment: &str) -> bool {
    let stem = segment.bytes().position(|b| b == b'.').unwrap_or(segment.len());
    if !matches!(stem, 3 | 4) {
        return false;
    }
    let stem = segment[..stem].to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" => true,
        _ => {
            let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
            numbered.is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
        }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for ItemId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::ItemId;

    #[test]
    fn ids_table() {
        let long = "a".repeat(255);
        for good in [
            "a",
            "acme/deploy",
            "rye/file-system/read",
            "_x/1.2.3",
            "rye/errors/verify.altered",
            &long,
            "A/b",
        ] {
            assert_eq!(good.parse::<ItemId>().map(|id| id.to_string()).as_deref(), Ok(good));
        }
        let (too_long, deep) = ("a".repeat(256), vec!["a"; 17].join("/"));
        for bad in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/./b",
            "a/%2e",
            "a\\b",
            "a b",
            "a/b ",
            "a.",
            "a/.b",
            "-a",
            "a\0",
            "é",
            "аcme",
            "a:b",
            "a@b",
            "con",
            "x/NUL",
            "aux.txt",
            "com1",
            "a\u{200b}",
            &too_long,
            &deep,
        ] {
            assert!(bad.parse::<ItemId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_error_marks_the_segment() {
        let message = "acme/..".parse::<ItemId>().unwrap_err().to_string();
        assert_eq!(message, "`acme/..` is not a valid item id: segment `..` begins with `.`");
    }

    #[test]
    fn parts() {
        let id: ItemId = "rye/core/init".parse().unwrap();
        assert_eq!((id.folder(), id.name(), id.is_reserved()), ("rye/core", "init", true));
        let top: ItemId = "rye".parse().unwrap();
        assert_eq!((top.folder(), top.name(), top.is_reserved()), ("", "rye", false));
    }
}
