//! Spaces.

use std::fmt;
use std::str::FromStr;

use super::IdError;

/// One of the three places where items lie. The order is the precedence: `Project` is greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Space {
    System,
    User,
    Project,
}

impl Space {
    /// Nearest first, the order of resolution.
    pub(crate) const NEAREST_FIRST: [Self; 3] = [Self::Project, Self::User, Self::System];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

impl FromStr for Space {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let found = Self::NEAREST_FIRST.into_iter().find(|space| space.as_str() == text);
        found.ok_or_else(|| IdError::UnknownSpace { text: text.chars().take(80).collect() })
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad`, so that listings can align it.
        f.pad(self.as_str())
    }
}

impl serde::Serialize for Space {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}
