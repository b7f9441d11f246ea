//! Patterns over paths of files.

use super::rel_path::RelPath;
use crate::id::covers;

/// Longest of them in bytes.
const PATTERN_BYTES: usize = 256;

/// A pattern over paths: `*` within a segment, `**` across segments. No other sign has a meaning:
/// `[slug].txt` is a file of that name. A text and nothing made of it: who signed nothing may list
/// thousands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob(String);

impl Glob {
    /// # Errors
    /// One clause that says what is wrong.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.len() > PATTERN_BYTES {
            return Err(format!("is longer than {PATTERN_BYTES} bytes"));
        }
        // A pattern must keep the rules of a path.
        text.trim_end_matches("/**").parse::<RelPath>().map_err(str::to_owned)?;
        if text.split('/').any(|segment| segment.contains("**") && segment != "**") {
            return Err("has `**` in a name: it stands for whole folders, as in `lib/**`".into());
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns true if a text is a pattern and not a plain path.
    pub(crate) fn is_one(text: &str) -> bool {
        text.contains('*')
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The folders before the first segment that holds a wildcard.
    pub(crate) fn prefix(&self) -> &str {
        let folder = &self.0[..self.0.rfind('/').unwrap_or(0)];
        let mut end = 0;
        for (at, part) in folder.split('/').scan(0, |at, part| {
            *at += part.len() + 1;
            Some((*at - 1, part))
        }) {
            if Self::is_one(part) {
                break;
            }
            end = at;
        }
        &folder[..end]
    }

    /// Returns true if something deeper than `depth` folders below the prefix can match.
    pub(crate) fn reaches(&self, depth: usize) -> bool {
        let rest = self.0[self.prefix().len()..].trim_start_matches('/');
        rest.contains("**") || rest.split('/').count() > depth
    }

    /// Returns true if something in the folder at this path can match.
    pub(crate) fn reaches_into(&self, folder: &str) -> bool {
        let mut wanted = self.0.split('/');
        for name in folder.split('/') {
            match wanted.next() {
                Some("**") => return true,
                Some(part) if covers(part, name) => {}
                _ => return false,
            }
        }
        wanted.next().is_some()
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        covers(&self.0, path)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn a_glob_reaches_into_the_folders_that_can_hold_a_match_table() {
        for (glob, folder, want) in [
            ("data/*.csv", "data", true),
            ("data/*.csv", "data/old", false),
            ("data/*.csv", "dat", false),
            ("*.csv", "data", false),
            ("*/a", "data", true),
            ("**/a", "data/old", true),
            ("a/**/b", "a/x/y", true),
            ("a/**/b", "b", false),
        ] {
            assert_eq!(Glob::new(glob).unwrap().reaches_into(folder), want, "{glob} {folder}");
        }
    }
}
