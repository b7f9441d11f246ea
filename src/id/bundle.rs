//! Names of bundles.

use std::fmt;
use std::str::FromStr;

use super::IdError;

/// Longest name of a bundle in bytes: it is one part of a path and of what people type.
const LONGEST: usize = 64;

/// The name of an installed bundle: one plain part of a path, in small letters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BundleName(Box<str>);

impl BundleName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BundleName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let first = text.bytes().next().is_some_and(plain);
        let rest = text.bytes().all(|b| plain(b) || matches!(b, b'-' | b'_' | b'.'));
        match first && rest && text.len() <= LONGEST {
            true => Ok(Self(text.into())),
            false => Err(IdError::NotABundle { text: text.chars().take(80).collect() }),
        }
    }
}

impl fmt::Display for BundleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl serde::Serialize for BundleName {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for BundleName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::BundleName;

    #[test]
    fn names_table() {
        for good in ["acme", "a", "0-b_c.d", &"a".repeat(64)] {
            assert_eq!(good.parse::<BundleName>().map(|n| n.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", ".a", "-a", "A", "a/b", "..", "a b", "ä", &"a".repeat(65)] {
            assert!(bad.parse::<BundleName>().is_err(), "{bad:?}");
        }
    }
}
