//! Names of keys.

use std::fmt;
use std::str::FromStr;

use super::IdError;
use crate::base::Digest;

/// The first 16 bytes of SHA-256 over the raw 32-byte Ed25519 public key (core 3.5): a key's only
/// name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint([u8; 16]);

impl Fingerprint {
    pub(crate) fn from_public_key(public_key: &[u8; 32]) -> Self {
        let mut first = [0; 16];
        first.copy_from_slice(&Digest::of(public_key).as_bytes()[..16]);
        Self(first)
    }

    pub(crate) const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// First and last four digits, for people who compare by eye with the full form at hand.
    pub(crate) fn short(&self) -> String {
        let text = self.to_string();
        format!("{}…{}", &text[..4], &text[28..])
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Fingerprint {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut bytes = [0; 16];
        let lower = !text.bytes().any(|b| b.is_ascii_uppercase());
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) if lower => Ok(Self(bytes)),
            _ => Err(IdError::Fingerprint { text: text.chars().take(80).collect() }),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl serde::Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
