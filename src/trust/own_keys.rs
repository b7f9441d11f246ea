//! The user's own key pair on disk (core 4.1).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::error::{KeyError, TrustError};
use super::unfinished_rotation::finish;
use crate::base::Digest;
use crate::base::bytes::write_atomic;
use crate::host::{is_own_private_group, own_uid};
use crate::signature::{KeyPair, PublicKey, public_half};
use crate::space::Root;

const FOLDER: &str = "config/keys/signing";
const KEYS: &str = "config/keys";

/// The folder with the user's own keys.
#[derive(Clone, Copy)]
pub(crate) struct OwnKeys<'a> {
    user: &'a Root,
}

impl<'a> OwnKeys<'a> {
    pub(crate) fn new(user: &'a Root) -> Self {
        Self { user }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.user.path(FOLDER)
    }

    pub(super) fn private_path(&self) -> PathBuf {
        self.folder().join("private_key.pem")
    }

    /// The pair, to sign with. Reading it writes nothing.
    ///
    /// # Errors
    /// `key.missing`, `key.permissions`, `key.malformed`, `key.io`
    pub(crate) fn pair(&self) -> Result<KeyPair, KeyError> {
        self.find_pair()?.ok_or(KeyError::Missing)
    }

    /// Finishes what an interrupted call left undone: the documents of a rotation, and the public
    /// half. True if there was anything to do.
    ///
    /// # Errors
    /// `key.permissions`, `key.malformed`, `key.io`, `trust.io`
    pub(crate) fn finish_rotation(&self) -> Result<bool, TrustError> {
        let Some(pair) = self.find_pair()? else { return Ok(false) };
        let finished = finish(self.user, &pair.public())?;
        let public = pair.public().to_pem();
        let is_there = self.read("public_key.pem")?.is_some_and(|bytes| bytes == public.as_bytes());
        if !is_there {
            self.write_public(&pair)?;
        }
        Ok(finished || !is_there)
    }

    /// The public half, computed from the private key. A machine that only verifies has no private
    /// key; there it is read from `public_key.pem`.
    pub(crate) fn find_public(&self) -> Result<Option<PublicKey>, KeyError> {
        if let Some(bytes) = self.private_bytes()? {
            let public = || parsed(&bytes).map(|pair| pair.public());
            return public_half(&Digest::of(&bytes), public).map(Some);
        }
        let Some(bytes) = self.read("public_key.pem")? else { return Ok(None) };
        let malformed =
            || KeyError::Malformed { name: "public_key.pem".into(), what: "public key" };
        let text = std::str::from_utf8(&bytes).map_err(|_| malformed())?;
        match PublicKey::from_pem(text) {
            Some(Ok(key)) => Ok(Some(key)),
            _ => Err(malformed()),
        }
    }

    fn public_path(&self) -> PathBuf {
        self.folder().join("public_key.pem")
    }

    pub(super) fn find_pair(&self) -> Result<Option<KeyPair>, KeyError> {
        self.private_bytes()?.map(|bytes| parsed(&bytes)).transpose()
    }

    /// The content of the private key's file, if no other user may read it.
    fn private_bytes(&self) -> Result<Option<Zeroizing<Vec<u8>>>, KeyError> {
        let Some(bytes) = self.read("private_key.pem")?.map(Zeroizing::new) else {
            return Ok(None);
        };
        let path = self.private_path();
        let mode = fs::symlink_metadata(&path)
            .map_err(|source| KeyError::Io { path: path.clone(), source })?
            .mode();
        if mode & 0o077 != 0 {
            return Err(KeyError::Permissions { path });
        }
        Ok(Some(bytes))
    }

    /// Reads through the root, so that links, FIFOs and huge files are refused like everywhere.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, KeyError> {
        let bytes = self.user.read(&format!("{FOLDER}/{name}"))?;
        if bytes.is_some() {
            self.closed(name)?;
        }
        Ok(bytes.map(std::borrow::Cow::into_owned))
    }

    /// Checks that no other user can read the folders of keys or replace this key: everything from
    /// the file `name` up to `.ai` must belong to the caller (core 4.1).
    fn closed(&self, name: &str) -> Result<(), KeyError> {
        let file = format!("{FOLDER}/{name}");
        for relative in [&file, FOLDER, KEYS, "config", ""] {
            let path = self.user.path(relative);
            let path = path.components().collect::<PathBuf>();
            let stat = fs::metadata(&path)
                .map_err(|source| KeyError::Io { path: path.clone(), source })?;
            if stat.uid() != own_uid() {
                return Err(KeyError::Owner { path });
            }
            let mode = stat.mode();
            if [FOLDER, KEYS].contains(&relative) {
                if mode & 0o077 != 0 {
                    return Err(KeyError::OpenFolder { path });
                }
            } else if mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_own_private_group(stat.gid()))
            {
                return Err(KeyError::Writable { path });
            }
        }
        Ok(())
    }

    /// Writes the first pair.
    ///
    /// # Errors
    /// `key.exists`: a pair is never overwritten.
    pub(crate) fn store(&self, pair: &KeyPair) -> Result<(), KeyError> {
        if let Some(public) = self.find_public()? {
            return Err(KeyError::Exists { fingerprint: public.fingerprint() });
        }
        self.replace(pair)
    }

    /// Makes `pair` your own, in one step; the public half follows.
    ///
    /// # Errors
    /// `key.io`
    pub(super) fn replace(&self, pair: &KeyPair) -> Result<(), KeyError> {
        let folder = self.folder();
        let io = |source| KeyError::Io { path: folder.clone(), source };
        make_private(&folder).map_err(io)?;
        make_private(&self.user.path(KEYS)).map_err(io)?;
        write_atomic(&self.private_path(), pair.to_pem().as_bytes(), 0o600).map_err(io)?;
        self.write_public(pair)
    }

    pub(super) fn write_public(&self, pair: &KeyPair) -> Result<(), KeyError> {
        let path = self.public_path();
        write_atomic(&path, pair.public().to_pem().as_bytes(), 0o644)
            .map_err(|source| KeyError::Io { path, source })
    }
}

/// Makes the folder and its missing parents; only you may read it.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn parsed(private: &[u8]) -> Result<KeyPair, KeyError> {
    let pair = std::str::from_utf8(private).ok().and_then(KeyPair::from_pem);
    pair.ok_or(KeyError::Malformed { name: "private_key.pem".into(), what: "private key" })
}
