//! Kinds of items.

use std::fmt;
use std::str::FromStr;

use super::IdError;

/// The kind of an item; decides its folder below `.ai/` and how it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Tool,
    Directive,
    Knowledge,
    Config,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Tool, Self::Directive, Self::Knowledge, Self::Config];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Directive => "directive",
            Self::Knowledge => "knowledge",
            Self::Config => "config",
        }
    }

    /// The folder below `.ai/`.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Directive => "directives",
            Self::Knowledge => "knowledge",
            Self::Config => "config",
        }
    }
}

impl FromStr for Kind {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| IdError::UnknownKind { kind: text.chars().take(80).collect() })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}
