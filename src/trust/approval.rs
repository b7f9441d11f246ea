//! The state of a project when the person accepted it: a signed record for a later audit. Nothing
//! is decided by it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::TrustError;
use super::own_file::{OwnFile, write_own};
use super::project::{check_nameable, record_id};
use super::store::TrustStore;
use crate::base::{Digest, Timestamp};
use crate::id::{Fingerprint, ItemId, Ref};
use crate::signature::KeyPair;
use crate::space::{ProjectIdentity, Root};

/// Most items that the record of an approval names; its digest is over all of them. Each takes some
/// 170 bytes of a file that a person may read.
const APPROVED_ITEMS: usize = 500;

/// The folder of the records, below `config/keys`.
const APPROVALS: &str = "approvals";

/// One approval of a project; a later one takes the place of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProjectApproval {
    /// The real path of the project.
    pub(crate) path: PathBuf,
    pub(crate) first_at: String,
    /// When it was accepted last.
    pub(crate) at: String,
    /// The rye by which it was.
    pub(crate) rye: String,
    /// How many items were admitted in it.
    pub(crate) count: usize,
    /// SHA-256 over a line `<item> <sha256> <key>` for each of them, in order.
    pub(crate) sha256: Digest,
    /// The first of them, by their refs.
    #[serde(default)]
    pub(crate) items: Vec<ApprovedItem>,
}

/// One item as it was admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApprovedItem {
    #[serde(deserialize_with = "parsed")]
    pub(crate) item: Ref,
    /// SHA-256 of the file without its signature line.
    pub(crate) sha256: Digest,
    #[serde(deserialize_with = "parsed")]
    pub(crate) key: Fingerprint,
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr>(from: D) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(|_| D::Error::custom("is not a valid name"))
}

/// Your record of the approval of the project at that path.
///
/// # Errors
/// `verify.trust_unreadable`
pub(crate) fn approval(
    store: &TrustStore<'_>,
    path: &Path,
) -> Result<Option<ProjectApproval>, Arc<TrustError>> {
    record_id(APPROVALS, path).map_or(Ok(None), |id| store.record(&id))
}

/// When your document with that id was signed last; `None` where it is not there or not yours.
pub(crate) fn signed_at(store: &TrustStore<'_>, id: &ItemId) -> Option<Timestamp> {
    let file = OwnFile::find(store.user()?, id, "toml").ok()??;
    file.signed_at(store.active_own_key().ok()?, store.now())
}

/// Writes the record of an approval that was given now, over these items.
///
/// # Errors
/// `trust.io`, `trust.not_found` for a path that is not UTF-8.
pub(crate) fn approve(
    store: &TrustStore<'_>,
    user: &Root,
    pair: &KeyPair,
    project: &ProjectIdentity,
    mut items: Vec<ApprovedItem>,
    now: Timestamp,
) -> Result<(), TrustError> {
    check_nameable(&project.path)?;
    items.sort_by(|a, b| a.item.cmp(&b.item));
    let lines = items.iter().map(|row| format!("{} {} {}\n", row.item, row.sha256, row.key));
    let sha256 = Digest::of(lines.collect::<String>().as_bytes());
    let count = items.len();
    items.truncate(APPROVED_ITEMS);
    // A record that cannot be used, such as one of a key that is gone, tells nothing.
    let before = approval(store, &project.path).ok().flatten();
    let at = now.to_string();
    let approval = ProjectApproval {
        path: project.path.clone(),
        first_at: before.map_or_else(|| at.clone(), |before| before.first_at),
        at,
        rye: env!("CARGO_PKG_VERSION").to_owned(),
        count,
        sha256,
        items,
    };
    let id = record_id(APPROVALS, &project.path);
    let id = id.ok_or_else(|| TrustError::NotFound { what: "no record can be named".into() })?;
    let body =
        toml::to_string(&approval).map_err(|e| TrustError::NotFound { what: e.to_string() })?;
    write_own(user, &id, &body, pair, now).map(|_| ())
}
