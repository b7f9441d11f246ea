//! A rotation's documents while they wait for the key that signed them.
//!
//! Every document of yours is signed by the other key and laid down below
//! `<user>/.ai/state/rotation/<its fingerprint>/` before that key becomes your own. Replacing the
//! private key is the one step that decides: before it nothing has happened, after it whoever reads
//! a document looks here first. So a rotation that is cut short is done or not begun. `rye keys
//! rotate`, `rye doctor` and whoever writes a document put what waits into its place; reading
//! writes nothing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::document::{read_staged, write_document};
use super::error::{KeyError, TrustError};
use super::own_keys::OwnKeys;
use crate::id::{Fingerprint, Kind, Space};
use crate::signature::PublicKey;
use crate::space::{FileTypes, Root, SpaceError};

const FOLDER: &str = "state/rotation";

/// Documents that wait. One rotation of a user space at a time: the others wait for it.
pub(super) struct Rotation {
    base: PathBuf,
    _held: File,
}

impl Rotation {
    /// An empty place for what `current` signs in the place of `old`; what earlier rotations left
    /// behind is removed.
    ///
    /// # Errors
    /// `key.exists` if another rotation was sooner, `key.io`.
    pub(super) fn begin(
        user: &Root,
        old: Fingerprint,
        current: Fingerprint,
    ) -> Result<Self, KeyError> {
        let folder = user.path(FOLDER);
        let io = |source| KeyError::Io { path: folder.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(io)?;
        let held = hold(&folder).map_err(io)?;
        let own = OwnKeys::of(user).find_pair()?.map(|pair| pair.public().fingerprint());
        if let Some(fingerprint) = own.filter(|own| *own != old) {
            return Err(KeyError::Exists { fingerprint });
        }
        for left in fs::read_dir(&folder).map_err(io)? {
            left.and_then(|left| fs::remove_dir_all(left.path())).map_err(io)?;
        }
        let base = folder.join(current.to_string());
        fs::DirBuilder::new().mode(0o700).create(&base).map_err(io)?;
        Ok(Self { base, _held: held })
    }

    /// What stands for the user space's folder while the documents wait.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// Nothing came of it.
    pub(super) fn discard(self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// A document that waits for a key to be your own, and for which. Readers look here beside its
/// place.
///
/// # Errors
/// `space.*`
pub(super) fn waiting(
    user: &Root,
    relative: &str,
) -> Result<Option<(Fingerprint, Vec<u8>)>, SpaceError> {
    // Hardly ever is there anything.
    let Ok(entries) = fs::read_dir(user.path(FOLDER)) else { return Ok(None) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(key) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A folder that is gone by now was emptied into the places.
        let Ok(staged) = Root::on_disk(Space::User, entry.path()) else { continue };
        if let Some(bytes) = staged.read(relative)? {
            return Ok(Some((key, bytes.into_owned())));
        }
    }
    Ok(None)
}

/// Puts the documents that wait for `own` in their places; false if there are none.
///
/// # Errors
/// `trust.io`, `key.io`: they wait on.
pub(super) fn finish(user: &Root, own: &PublicKey) -> Result<bool, TrustError> {
    let folder = user.path(FOLDER);
    let base = folder.join(own.fingerprint().to_string());
    let waits = || fs::symlink_metadata(&base).is_ok_and(|stat| stat.is_dir());
    if !waits() {
        return Ok(false);
    }
    let io = |source| TrustError::Io { path: base.clone(), source };
    let _held = hold(&folder).map_err(io)?;
    if !waits() {
        return Ok(false);
    }
    let space = |error: SpaceError| TrustError::Key(KeyError::Space(error));
    let staged = Root::on_disk(Space::User, base.clone()).map_err(space)?;
    for entry in staged.list(Kind::Config, &FileTypes::default()).map_err(space)?.entries {
        let id = &entry.item.id;
        match read_staged(&staged, id, &entry.ext, own) {
            Ok(Some(text)) => {
                write_document(user.base(), id, &entry.ext, text.as_bytes())?;
            }
            Ok(None) => {}
            // What stands in its place fails closed by itself.
            Err(error) => tracing::warn!(%id, %error, "a document of a rotation is passed over"),
        }
    }
    // First out of the way, whole: half of it must not be put over what is written later.
    let done = folder.join(format!("done-{}", own.fingerprint()));
    fs::rename(&base, &done).map_err(io)?;
    let _ = fs::remove_dir_all(&done);
    Ok(true)
}

/// Waits for whoever holds the folder; a file system without locks has nobody wait.
fn hold(folder: &Path) -> io::Result<File> {
    let held = File::open(folder)?;
    let _ = flock(&held, FlockOperation::LockExclusive);
    Ok(held)
}
