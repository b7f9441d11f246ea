//! Patterns over refs.

use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

use crate::id::{Kind, Ref};

/// A pattern such as `tool:acme/*`: `*` matches within a segment, `**` across segments.
///
/// Invariant: no other sign has a meaning; what globs elsewhere call classes and alternatives is
/// refused, so a pattern never means more than it looks like.
#[derive(Clone)]
pub(crate) struct Pattern {
    text: String,
    /// `None` is any kind.
    kind: Option<Kind>,
    id: Ids,
}

/// Which ids a pattern means. The plain forms need no library, which takes longer than all of a run's
/// other decisions to make ready.
#[derive(Clone)]
enum Ids {
    One(String),
    /// All, as `**` says.
    All,
    /// What lies below, with its slash, as `acme/**` says.
    Below(String),
    Glob(GlobMatcher),
}

impl Ids {
    fn of(id: &str) -> Result<Self, String> {
        let plain = |text: &str| !text.contains('*');
        Ok(match id.strip_suffix("**") {
            Some("") => Self::All,
            Some(above) if plain(above) => Self::Below(above.to_owned()),
            None if plain(id) => Self::One(id.to_owned()),
            _ => {
                let glob = GlobBuilder::new(id).literal_separator(true).build();
                Self::Glob(glob.map_err(|e| e.kind().to_string())?.compile_matcher())
            }
        })
    }

    fn hold(&self, id: &str) -> bool {
        match self {
            Self::One(one) => one == id,
            Self::All => true,
            Self::Below(above) => id.strip_prefix(above.as_str()).is_some_and(|r| !r.is_empty()),
            Self::Glob(glob) => glob.is_match(id),
        }
    }
}

impl Pattern {
    pub(crate) fn matches(&self, item: &Ref) -> bool {
        self.kind.is_none_or(|kind| kind == item.kind) && self.id.hold(item.id.as_str())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-./:*".contains(c);
        if let Some(c) = text.chars().find(|&c| !allowed(c)) {
            return Err(format!("a pattern cannot hold `{}`", c.escape_default()));
        }
        if text.len() > 512 {
            return Err("a pattern has at most 512 bytes".into());
        }
        let (kind, id) = text.split_once(':').unwrap_or(("", text));
        let kind = match kind {
            "*" => None,
            kind => Some(kind.parse::<Kind>().map_err(|_| {
                String::from("a pattern begins with a kind, such as `tool:`, or with `*:`")
            })?),
        };
        // The glob library gives a slash at an end a meaning of its own: `**/` would match anything.
        if id.split('/').any(str::is_empty) {
            return Err("a pattern has no empty segments, as in `tool:acme/*`".into());
        }
        if id.split('/').any(|segment| segment.contains("**") && segment != "**") {
            return Err("`**` stands for whole segments, as in `tool:acme/**`".into());
        }
        Ok(Self { text: text.to_owned(), kind, id: Ids::of(id)? })
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_table() {
        let rows = [
            ("tool:acme/*", "tool:acme/x", true),
            ("tool:acme/*", "tool:acme/x/y", false),
            ("tool:acme/**", "tool:acme/x/y", true),
            ("tool:acme/**", "tool:acmex/y", false),
            ("tool:acme/**", "directive:acme/x", false),
            ("*:acme/*", "directive:acme/x", true),
            ("tool:**", "tool:a/b/c", true),
            ("tool:a", "tool:a", true),
            ("tool:a*", "tool:abc", true),
            ("tool:*/x", "tool:a/x", true),
        ];
        for (pattern, item, want) in rows {
            let got = pattern.parse::<Pattern>().unwrap().matches(&item.parse().unwrap());
            assert_eq!(got, want, "{pattern} {item}");
        }
        for bad in [
            "acme/*",
            "tool:{a,b}",
            "tool:[a]",
            "tool:?",
            "tool:\\*",
            "tool:***",
            "zap:a",
            "tool:a b",
            "tool:",
            "tool:**/",
            "tool:a/**/",
            "tool:/a",
            "tool:a//b",
        ] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad}");
        }
    }
}
