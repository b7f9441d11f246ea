//! Changes that `rye dev` showed and no person approved: `rye sign --all` leaves them alone.
//!
//! `<user>/.ai/state/held/<digest of the project's folder>/<digest of an item's place>`: an empty
//! file for each item. One file a fact, so that two sessions of one project do not write over each
//! other, and one that is killed leaves what it held back. An item that carries your own signature
//! is not held back, whatever lies here.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::base::Digest;
use crate::id::Ref;

/// The items of one project that wait for a person.
#[derive(Debug, Clone)]
pub(crate) struct HeldBack {
    folder: PathBuf,
}

impl HeldBack {
    /// Those of the project whose `.ai` lies in `base`, kept in the user space of `user_base`.
    pub(crate) fn new(user_base: &Path, base: &Path) -> Self {
        let name = Digest::of(base.as_os_str().as_encoded_bytes()).to_string();
        Self { folder: user_base.join(".ai/state/held").join(name) }
    }

    /// Returns true if the item waits. An item that cannot be looked at counts as waiting.
    pub(crate) fn holds(&self, item: &Ref, ext: &str) -> bool {
        match fs::symlink_metadata(self.path(item, ext)) {
            Ok(_) => true,
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// # Errors
    /// An error of the file system.
    pub(crate) fn add(&self, item: &Ref, ext: &str) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        fs::write(self.path(item, ext), b"")
    }

    /// A person looked, or the item is gone.
    pub(crate) fn remove(&self, item: &Ref, ext: &str) {
        // What stays by mistake is only named once more.
        let _ = fs::remove_file(self.path(item, ext));
    }

    fn path(&self, item: &Ref, ext: &str) -> PathBuf {
        self.folder.join(Digest::of(format!("{item}.{ext}").as_bytes()).to_string())
    }
}
