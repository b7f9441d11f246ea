//! The path of a file that a signed header lists.

use std::fmt;
use std::str::FromStr;

/// Longest path in a tool's `files`, in bytes: it is joined to a private folder's path.
const PART_PATH_BYTES: usize = 1024;

/// A plain path below a folder: no empty segment, no `.` or `..`, no backslash, no control
/// character.
///
/// Invariant: joining it to a folder gives a path below that folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RelPath(Box<str>);

impl RelPath {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RelPath {
    type Err = &'static str;

    /// # Errors
    /// One clause that says what is wrong with the path.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err("is empty");
        }
        if text.starts_with('/') {
            return Err("is absolute");
        }
        if text.len() > PART_PATH_BYTES {
            return Err("is too long");
        }
        if text.chars().any(|c| c == '\\' || c.is_control()) {
            return Err("holds a backslash or a control character");
        }
        if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("has an empty segment, `.` or `..`");
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::RelPath;

    #[test]
    fn paths_table() {
        for good in ["a", "lib/a.py", ".hidden", "a b/c", "ü.json", "a..b"] {
            assert_eq!(good.parse::<RelPath>().map(|p| p.to_string()), Ok(good.to_owned()));
        }
        let long = "x/".repeat(600) + "y";
        for bad in [
            "", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "./a", "a\\b", "a\0b", "a\nb",
            &long,
        ] {
            assert!(bad.parse::<RelPath>().is_err(), "{bad:?}");
        }
    }
}
