//! The content of a revocation (core 4.5).

use serde::Deserialize;

use super::own_file::OwnFile;
use super::store::TrustStore;
use crate::base::Timestamp;
use crate::id::Fingerprint;

/// The statement that a key is no longer trusted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revocation {
    pub(crate) fingerprint: String,
    #[serde(default)]
    pub(crate) reason: String,
}

impl Revocation {
    pub(crate) fn to_toml(&self) -> String {
        let mut table = toml::Table::new();
        table.insert("fingerprint".into(), self.fingerprint.clone().into());
        table.insert("reason".into(), self.reason.clone().into());
        toml::to_string(&table).expect("a table of TOML values is TOML")
    }
}

/// The time of your last revocation of a key; `None` if there is none, or its time cannot be known.
pub(crate) fn revoked_at(store: &TrustStore<'_>, key: Fingerprint) -> Option<Timestamp> {
    let id = format!("keys/revoked/{key}").parse().ok()?;
    let file = OwnFile::find(store.user()?, &id, "toml").ok()??;
    file.signed_at(store.own().ok()?, store.now())
}
