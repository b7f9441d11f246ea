//! Which projects, and which foreign folders, the person has accepted (core 2.1, 4.3).

use std::path::PathBuf;

use serde::Deserialize;

use super::document::{read_own, write_own};
use super::error::TrustError;
use super::key::{KeyPair, PublicKey};
use crate::base::{Digest, Timestamp};
use crate::id::ItemId;
use crate::space::{ProjectIdentity, Root};

/// A signed record that names one folder by path, device, inode and birth.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    path: PathBuf,
    device: u64,
    inode: u64,
    born_ns: Option<u64>,
}

/// Records of accepted projects.
pub(crate) struct Standing;

/// Records of folders that may be used although others own or can write them.
pub(crate) struct AllowedRoot;

impl Standing {
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
fn id(kind: &str, folder: &ProjectIdentity) -> Result<ItemId, TrustError> {
    let digest = Digest::of(folder.path.as_os_str().as_encoded_bytes()).to_string();
    format!("keys/{kind}/{}", &digest[..32])
        .parse()
        .map_err(|_| TrustError::NotFound { what: "no record can be named".into() })
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
    let record: Record = toml::from_str(&text).map_err(|e| TrustError::Unreadable {
        path: format!(".ai/config/{id}.toml"),
        why: e.message().to_owned(),
    })?;
    let same_birth = record.born_ns.is_none() || record.born_ns == folder.born_ns;
    Ok(record.path == folder.path
        && record.device == folder.device
        && record.inode == folder.inode
        && same_birth)
}

fn write(
    kind: &str,
    user: &Root,
    pair: &KeyPair,
    folder: &ProjectIdentity,
    now: Timestamp,
) -> Result<(), TrustError> {
    let number = |n: u64| {
        i64::try_from(n).map_or_else(|_| toml::Value::String(n.to_string()), toml::Value::Integer)
    };
    let mut table = toml::Table::new();
    let Some(path) = folder.path.to_str() else {
        let what = format!("`{}` is not UTF-8, so no record can name it", folder.path.display());
        return Err(TrustError::NotFound { what });
    };
    table.insert("path".into(), path.into());
    table.insert("device".into(), number(folder.device));
    table.insert("inode".into(), number(folder.inode));
    if let Some(born) = folder.born_ns {
        table.insert("born_ns".into(), number(born));
    }
    let body = toml::to_string(&table).unwrap_or_default();
    write_own(user.base(), &id(kind, folder)?, &body, pair, now).map(|_| ())
}
