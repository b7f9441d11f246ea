//! A rotation's documents while they wait for the key that signed them.
//!
//! Every document of yours is signed by the new key and stored below
//! `<user>/.ai/state/rotation/<its fingerprint>/` before that key becomes your own. Replacing the
//! private key is the one step that decides: before it nothing has happened, and after it readers
//! look here first. So an interrupted rotation is either done or not begun. `rye keys rotate`, `rye
//! doctor` and every writer of a document move the waiting documents into their places; readers
//! write nothing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::{KeyError, TrustError};
use super::own_file::{read_staged, write_document};
use super::own_keys::OwnKeys;
use crate::base::file_lock;
use crate::id::{Fingerprint, Kind, Space};
use crate::signature::PublicKey;
use crate::space::{FileTypes, Root, SpaceError};

const FOLDER: &str = "state/rotation";

/// The documents that wait. A lock allows one rotation of a user space at a time.
pub(super) struct Rotation {
    base: PathBuf,
    _held: File,
}

impl Rotation {
    /// Creates an empty folder for the documents that `current` signs instead of `old`. Remains of
    /// earlier rotations are removed.
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
        let own = OwnKeys::new(user).find_pair()?.map(|pair| pair.public().fingerprint());
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

    /// The folder that stands for the user space's own while the documents wait.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// Gives the rotation up.
    pub(super) fn discard(self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// A document that waits for a key to become your own, and the fingerprint of that key. Readers
/// look here and in the document's place.
///
/// # Errors
/// `space.*`
pub(super) fn waiting(
    user: &Root,
    relative: &str,
) -> Result<Option<(Fingerprint, Vec<u8>)>, SpaceError> {
    // Usually nothing waits.
    let Ok(entries) = fs::read_dir(user.path(FOLDER)) else { return Ok(None) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(key) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // If the folder is gone, its documents are in their places.
        let Ok(staged) = Root::on_disk(Space::User, entry.path()) else { continue };
        if let Some(bytes) = staged.read(relative)? {
            return Ok(Some((key, bytes.into_owned())));
        }
    }
    Ok(None)
}

/// Puts the documents that wait for `own` into their places; false if none wait.
///
/// # Errors
/// `trust.io`, `key.io`: the documents keep waiting.
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
            // The reader of the document's place refuses a wrong file by itself.
            Err(error) => tracing::warn!(%id, %error, "a document of a rotation is passed over"),
        }
    }
    // The folder is moved away as a whole first, so that no later document is overwritten by half
    // of it.
    let done = folder.join(format!("done-{}", own.fingerprint()));
    fs::rename(&base, &done).map_err(io)?;
    let _ = fs::remove_dir_all(&done);
    Ok(true)
}

/// Takes the folder's lock.
fn hold(folder: &Path) -> io::Result<File> {
    let held = File::open(folder)?;
    file_lock::lock(&held, folder)?;
    Ok(held)
}
