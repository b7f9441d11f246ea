//! The dev key (core 5.2): for half a day it signs for you what you change in one project.
//!
//! In `<user>/.ai/config/keys/dev/`: `<project>.pem` is the private half (0600),
//! `<fingerprint>.toml` a record of your own key's that says for which project it signs, and until
//! when. Without that record a dev key is unknown: no key can introduce itself.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::error::{KeyError, TrustError};
use super::own_file::{read_own, write_own};
use super::project::{check_nameable, record_id};
use super::store::TrustStore;
use crate::base::Timestamp;
use crate::base::bytes::write_atomic;
use crate::base::file_lock;
use crate::id::{Fingerprint, ItemId, Kind, Ref, Space};
use crate::signature::{KeyPair, PublicKey};
use crate::space::{ProjectIdentity, Root};

/// How long the record of a dev key that is over is kept, in seconds: what it signed is then told
/// from what a stranger signed.
const DEV_RECORD_SECONDS: u64 = 30 * 86_400;

/// A dev key with less left than this is not begun with, in seconds: its work would end in the
/// middle.
const DEV_KEY_SPARE_SECONDS: i64 = 15 * 60;

/// How long a dev key lives, in seconds: a working day and its evening (core 5.2).
const DEV_KEY_SECONDS: i64 = 12 * 3600;

const FOLDER: &str = "config/keys/dev";

/// The owner that is shown for signatures of a dev key.
pub(crate) const DEV_OWNER: &str = "you (dev key)";

/// The signed record that a dev key signs for you.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delegate {
    pub(crate) key: PublicKey,
    pub(super) project: ProjectIdentity,
    pub(crate) not_after: Timestamp,
    /// Your own key, which wrote the record.
    pub(crate) by: Fingerprint,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    fingerprint: String,
    not_after: String,
    public_key: String,
    project: ProjectIdentity,
}

impl Delegate {
    /// # Errors
    /// A sentence that says what is wrong with the record.
    fn parse(text: &str, by: Fingerprint) -> Result<Self, String> {
        let record: Record = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        let not_after = record.not_after.parse();
        let not_after = not_after.map_err(|()| "`not_after` is not a valid time".to_owned())?;
        let Some(Ok(key)) = PublicKey::from_pem(&record.public_key) else {
            return Err("`public_key` is not a valid Ed25519 public key".into());
        };
        if key.fingerprint().to_string() != record.fingerprint {
            return Err("`fingerprint` is not the fingerprint of `public_key`".into());
        }
        Ok(Self { key, project: record.project, not_after, by })
    }

    fn to_toml(&self) -> Result<String, TrustError> {
        let record = Record {
            fingerprint: self.key.fingerprint().to_string(),
            not_after: self.not_after.to_string(),
            public_key: self.key.to_pem(),
            project: self.project.clone(),
        };
        toml::to_string(&record).map_err(|e| TrustError::NotFound { what: e.to_string() })
    }

    /// Why the key may not sign this item there; `None` if it may. Signing and admitting both ask
    /// this, so neither relies on the other.
    pub(super) fn out_of_scope(
        &self,
        item: &Ref,
        space: Space,
        project: Option<&ProjectIdentity>,
    ) -> Option<&'static str> {
        if item.kind == Kind::Config {
            return Some("a dev key signs no config");
        }
        if item.id.is_reserved() {
            return Some("a dev key signs no id under `rye/`");
        }
        if item.is_hook() {
            return Some("a dev key signs no hook");
        }
        let here = project.is_some_and(|here| self.project.is(here));
        (space != Space::Project || !here)
            .then_some("a dev key signs items of its one project only")
    }
}

impl TrustStore<'_> {
    /// The record about `key`, if you wrote one, also after its time.
    pub(super) fn read_delegate(
        &self,
        key: Fingerprint,
    ) -> Result<Option<Delegate>, Arc<TrustError>> {
        let Some((id, text)) = self.read_about(key, "dev")? else { return Ok(None) };
        let unreadable = |why: String| {
            let path = format!(".ai/config/{id}.toml");
            Arc::new(TrustError::Unreadable { path, why, help: None })
        };
        let by = self
            .active_own_key()?
            .ok_or_else(|| unreadable("you have no key of your own".into()))?;
        match Delegate::parse(&text, by.fingerprint()) {
            Ok(delegate) if delegate.key.fingerprint() == key => Ok(Some(delegate)),
            Ok(_) => Err(unreadable("its name is not its fingerprint".into())),
            Err(why) => Err(unreadable(why)),
        }
    }
}

/// The record of a dev key, for display.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DevRecord {
    pub(crate) project: PathBuf,
    pub(crate) not_after: Timestamp,
    /// The record itself, which holds no secret.
    pub(crate) text: String,
}

impl TrustStore<'_> {
    /// The record about a dev key, if you wrote one, also after its time.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn dev_record(
        &self,
        key: Fingerprint,
    ) -> Result<Option<DevRecord>, Arc<TrustError>> {
        let Some(delegate) = self.read_delegate(key)? else { return Ok(None) };
        let text = delegate.to_toml()?;
        let Delegate { project, not_after, .. } = delegate;
        Ok(Some(DevRecord { project: project.path, not_after, text }))
    }
}

/// A dev key, ready to sign.
pub(crate) struct DevKey {
    pair: KeyPair,
    delegate: Delegate,
}

impl DevKey {
    /// The dev key of a project on this machine. A new one is made if there is none, or if its time
    /// is over or nearly over. Two processes that start at once get the same key.
    ///
    /// # Errors
    /// `key.permissions` for a private half that others can read, `key.io`, `trust.io`.
    pub(crate) fn open(
        user: &Root,
        own: &KeyPair,
        project: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<Self, TrustError> {
        let path = private_path(user, project)?;
        let io = |source| TrustError::from(KeyError::Io { path: path.clone(), source });
        let _held = hold(&user.path(FOLDER)).map_err(io)?;
        if let Some(known) = find(user, &path, own, project, now)? {
            return Ok(known);
        }
        let pair = KeyPair::generate().map_err(io)?;
        let not_after = Timestamp::from_second(now.as_second() + DEV_KEY_SECONDS);
        let (key, project) = (pair.public(), project.clone());
        let delegate = Delegate { key, project, not_after, by: own.public().fingerprint() };
        // The record is written first: a record without a key does no harm, but a key without a
        // record is unknown.
        let id = record(pair.public().fingerprint())?;
        write_own(user, &id, &delegate.to_toml()?, own, now)?;
        write_atomic(&path, pair.to_pem().as_bytes(), 0o600).map_err(io)?;
        sweep(&user.path(FOLDER));
        Ok(Self { pair, delegate })
    }

    pub(crate) fn pair(&self) -> &KeyPair {
        &self.pair
    }

    /// Your own key, for which this one signs.
    pub(crate) fn signs_for(&self) -> Fingerprint {
        self.delegate.by
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.delegate.key.fingerprint()
    }

    pub(crate) fn not_after(&self) -> Timestamp {
        self.delegate.not_after
    }

    /// Returns true if it is time for another dev key.
    pub(crate) fn is_nearly_over(&self, now: Timestamp) -> bool {
        now.as_second() + DEV_KEY_SPARE_SECONDS > self.delegate.not_after.as_second()
    }

    /// The number of seconds until another dev key is due.
    pub(crate) fn fresh_for(&self, now: Timestamp) -> u64 {
        let last = self.delegate.not_after.as_second() - DEV_KEY_SPARE_SECONDS;
        u64::try_from(last - now.as_second()).unwrap_or(0)
    }

    /// Why this key may not sign the item; `None` if it may.
    pub(crate) fn out_of_scope(&self, item: &Ref, space: Space) -> Option<&'static str> {
        self.delegate.out_of_scope(item, space, Some(&self.delegate.project))
    }
}

fn record(key: Fingerprint) -> Result<ItemId, TrustError> {
    let id = format!("keys/dev/{key}");
    id.parse().map_err(|_| TrustError::NotFound { what: format!("`{id}` is not a valid id") })
}

fn private_path(user: &Root, project: &ProjectIdentity) -> Result<PathBuf, TrustError> {
    check_nameable(&project.path)?;
    let named = record_id("dev", &project.path);
    let id = named.ok_or(TrustError::NotFound { what: "no record can be named".into() })?;
    Ok(user.path(&format!("config/{id}.pem")))
}

/// The key on disk, if it can still be used.
fn find(
    user: &Root,
    path: &Path,
    own: &KeyPair,
    project: &ProjectIdentity,
    now: Timestamp,
) -> Result<Option<DevKey>, TrustError> {
    let relative = path.strip_prefix(user.path("")).unwrap_or(path).to_string_lossy().into_owned();
    let Some(bytes) = user.read(&relative).map_err(KeyError::Space)? else { return Ok(None) };
    let bytes = Zeroizing::new(bytes.into_owned());
    let mode = fs::symlink_metadata(path).map_or(0o777, |stat| stat.mode());
    if mode & 0o077 != 0 {
        return Err(KeyError::Permissions { path: path.to_owned() }.into());
    }
    let Some(pair) = std::str::from_utf8(&bytes).ok().and_then(KeyPair::from_pem) else {
        return Ok(None);
    };
    let own = own.public();
    let id = record(pair.public().fingerprint())?;
    // If the record is gone, or was signed by a key that was rotated since, a new dev key is made.
    let Ok(Some(text)) = read_own(user, &id, "toml", Some(&own), now) else { return Ok(None) };
    let revoked = TrustStore::new(Some(user), now).is_revoked(pair.public().fingerprint());
    if revoked.unwrap_or(true) {
        return Ok(None);
    }
    let delegate = Delegate::parse(&text, own.fingerprint()).ok();
    let fits = |d: &Delegate| d.key == pair.public() && d.project.is(project);
    let key = delegate.filter(fits).map(|delegate| DevKey { pair, delegate });
    Ok(key.filter(|key| !key.is_nearly_over(now)))
}

/// Makes the folder, which only you may read, and takes its lock.
fn hold(folder: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    let held = File::open(folder)?;
    file_lock::lock(&held, folder)?;
    Ok(held)
}

/// Removes records of dev keys that expired long ago. They are kept for a while, so that signatures
/// of an expired dev key can be told from those of an unknown key.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().ok().and_then(|stat| stat.modified().ok()?.elapsed().ok());
        if age > Some(Duration::from_secs(DEV_RECORD_SECONDS)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
