//! Which projects, and which foreign folders, the person has accepted (core 2.1, 4.3): signed
//! records that name one folder by path, device, inode and birth.

use std::path::Path;

use super::error::TrustError;
use super::own_file::{read_own, write_own};
use super::store::TrustStore;
use crate::base::text::unfit;
use crate::base::{Digest, Timestamp};
use crate::id::ItemId;
use crate::signature::{KeyPair, PublicKey};
use crate::space::{ProjectIdentity, Root};

/// Records of accepted projects.
pub(crate) struct AcceptedProject;

/// Records of folders that may be used although others own or can write them, and of a home that
/// the user database does not name.
pub(crate) struct AllowedRoot;

impl AcceptedProject {
    /// # Errors
    /// `verify.trust_unreadable`
    pub(super) fn accepts(
        user: &Root,
        own: Option<&PublicKey>,
        project: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<bool, TrustError> {
        matches("projects", user, own, project, now)
    }

    /// # Errors
    /// `trust.io`
    pub(crate) fn accept(
        user: &Root,
        pair: &KeyPair,
        project: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<(), TrustError> {
        write("projects", user, pair, project, now)
    }
}

impl AllowedRoot {
    pub(crate) fn allows(
        user: &Root,
        own: Option<&PublicKey>,
        folder: &ProjectIdentity,
        now: Timestamp,
    ) -> bool {
        matches("roots", user, own, folder, now).unwrap_or(false)
    }

    /// Returns true if the record names the folder that holds it, with each of its numbers.
    pub(crate) fn is_home(trust: &TrustStore<'_>, home: &ProjectIdentity) -> bool {
        let id = record_id("roots", &home.path);
        let record = id.and_then(|id| trust.record(&id).ok().flatten());
        record.as_ref() == Some(home)
    }

    /// # Errors
    /// `trust.io`
    pub(crate) fn allow(
        user: &Root,
        pair: &KeyPair,
        folder: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<(), TrustError> {
        write("roots", user, pair, folder, now)
    }
}

/// The record's id: the first half of the digest of the path, since a path is no id.
pub(crate) fn record_id(kind: &str, path: &Path) -> Option<ItemId> {
    let digest = Digest::of(path.as_os_str().as_encoded_bytes()).to_string();
    format!("keys/{kind}/{}", &digest[..32]).parse().ok()
}

/// Checks that a record can name the path, because a record must be readable after it is written.
///
/// # Errors
/// `trust.not_found`
pub(super) fn check_nameable(path: &Path) -> Result<(), TrustError> {
    let why = match path.to_str() {
        None => "is not UTF-8",
        Some(text) if unfit(text).is_some() => "holds a character that nobody sees",
        Some(_) => return Ok(()),
    };
    let what = format!("`{}` {why}, so no record can name it", path.display());
    Err(TrustError::NotFound { what })
}

fn id(kind: &str, folder: &ProjectIdentity) -> Result<ItemId, TrustError> {
    record_id(kind, &folder.path)
        .ok_or_else(|| TrustError::NotFound { what: "no record can be named".into() })
}

fn matches(
    kind: &str,
    user: &Root,
    own: Option<&PublicKey>,
    folder: &ProjectIdentity,
    now: Timestamp,
) -> Result<bool, TrustError> {
    let id = id(kind, folder)?;
    let Some(text) = read_own(user, &id, "toml", own, now)? else { return Ok(false) };
    let record: ProjectIdentity = toml::from_str(&text).map_err(|e| TrustError::Unreadable {
        path: format!(".ai/config/{id}.toml"),
        why: e.message().to_owned(),
        help: None,
    })?;
    Ok(record.is(folder))
}

fn write(
    kind: &str,
    user: &Root,
    pair: &KeyPair,
    folder: &ProjectIdentity,
    now: Timestamp,
) -> Result<(), TrustError> {
    check_nameable(&folder.path)?;
    let body = toml::to_string(folder).map_err(|e| TrustError::NotFound { what: e.to_string() })?;
    write_own(user, &id(kind, folder)?, &body, pair, now).map(|_| ())
}
