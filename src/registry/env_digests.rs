//! The values that the project's `.env` gave to a run that asked a person, so that the answer is
//! about the same ones. No value is kept: only a digest of each, under a key that is made for the
//! one request. Who may read the registry can still try out what a short value might be.

use std::collections::BTreeMap;
use std::io;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::db::Registry;
use super::error::RegistryError;
use crate::base::random;

/// Names of variables, each with the digest (HMAC-SHA-256, in hex) of the value that `.env` gave.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnvDigests {
    key: String,
    digests: BTreeMap<String, String>,
}

impl Registry {
    /// The digests for a new request, of names and values.
    ///
    /// # Errors
    /// `registry.io` without randomness.
    pub(crate) fn env_digests<'a>(
        &self,
        values: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<EnvDigests, RegistryError> {
        let io = |source| RegistryError::Open { path: self.path.clone(), source };
        EnvDigests::new(values).map_err(io)
    }
}

impl EnvDigests {
    fn new<'a>(values: impl Iterator<Item = (&'a str, &'a str)>) -> io::Result<Self> {
        let mut key = [0; 32];
        random::fill(&mut key)?;
        let digest = |(name, value): (&str, &str)| {
            let digest = keyed(&key, name, value).finalize().into_bytes();
            (name.to_owned(), hex::encode(digest))
        };
        Ok(Self { key: hex::encode(key), digests: values.map(digest).collect() })
    }

    /// Returns true if `.env` gave this value to this variable when the request was kept.
    pub(crate) fn holds(&self, name: &str, value: &str) -> bool {
        let key = hex::decode(&self.key).ok();
        let digest = self.digests.get(name).and_then(|digest| hex::decode(digest).ok());
        key.zip(digest)
            .is_some_and(|(key, digest)| keyed(&key, name, value).verify_slice(&digest).is_ok())
    }

    /// As the registry keeps it.
    pub(super) fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// `None` for what this program did not write; nothing holds then.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The length of the name comes first, so that no other name and value are the same text.
fn keyed(key: &[u8], name: &str, value: &str) -> Hmac<Sha256> {
    let mac = Hmac::new_from_slice(key).expect("HMAC takes a key of any length");
    let length = (name.len() as u64).to_le_bytes();
    mac.chain_update(length).chain_update(name).chain_update(value)
}

impl std::fmt::Debug for EnvDigests {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvDigests").field("names", &self.digests.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::EnvDigests;

    #[test]
    fn just_the_same_names_and_values_hold() {
        let values = [("A", "secret"), ("B", "")];
        let kept = EnvDigests::new(values.into_iter()).unwrap();
        let text = kept.to_text();
        assert!(!text.contains("secret") && !format!("{kept:?}").contains(&kept.key), "{text}");
        let kept = EnvDigests::from_text(&text).unwrap();
        for (name, value, holds) in [
            ("A", "secret", true),
            ("B", "", true),
            ("A", "secret ", false),
            ("A", "", false),
            ("B", "secret", false),
            ("C", "", false),
        ] {
            assert_eq!(kept.holds(name, value), holds, "{name} {value}");
        }
        let other = EnvDigests::new(values.into_iter()).unwrap();
        assert_ne!(other.digests["A"], kept.digests["A"], "each request has a key of its own");
        // What belongs to another name, and what was damaged, holds nothing.
        let mut moved = kept.clone();
        moved.digests.insert("C".into(), kept.digests["A"].clone());
        assert!(!moved.holds("C", "secret"));
        moved.key.pop();
        assert!(!moved.holds("A", "secret"));
        assert_eq!(EnvDigests::from_text("{}"), None);
    }
}
