//! The last known bytes of each item.
//!
//! `<user>/.ai/state/items/<digest of base and ref>`: the whole file as it was, its signature line
//! included. A reader verifies that line before believing the bytes.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::base::Digest;
use crate::base::bytes::{Bounded, read_at_most, sweep, temporary};
use crate::base::limits::ITEM_BYTES;
use crate::id::Ref;

/// Remembered versions below one user space.
#[derive(Debug, Clone)]
pub(crate) struct Baselines {
    folder: PathBuf,
}

impl Baselines {
    /// Remembered versions of the user space whose `.ai` lies in `user_base`.
    pub(crate) fn of(user_base: &Path) -> Self {
        Self { folder: user_base.join(".ai/state/items") }
    }

    /// The remembered bytes of the item whose space lies in `base`.
    pub(crate) fn find(&self, base: &Path, item: &Ref) -> Option<Vec<u8>> {
        // Whatever was put there in its place must not hold us.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let path = self.path(base, item);
        let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        file.metadata().ok().filter(fs::Metadata::is_file)?;
        match read_at_most(&mut file, ITEM_BYTES, 0).ok()? {
            Bounded::All(bytes) => Some(bytes),
            Bounded::More => None,
        }
    }

    /// Remembers a version. Written by rename, without `fsync`: after a crash an older version may
    /// stand there, which is still a version that verified.
    ///
    /// # Errors
    /// What the file system says; nothing depends on success.
    pub(crate) fn remember(&self, base: &Path, item: &Ref, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(base, item);
        if self.find(base, item).is_some_and(|old| old == bytes) {
            return Ok(());
        }
        // Beside the folder and not in it: that one grows large, and what is left is swept.
        let beside = self.folder.parent().unwrap_or(&self.folder);
        if !self.folder.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        }
        let mut file = temporary(beside)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|e| e.error)?;
        sweep(beside);
        Ok(())
    }

    fn path(&self, base: &Path, item: &Ref) -> PathBuf {
        let name = Digest::of_parts(&[
            base.as_os_str().as_encoded_bytes(),
            b"\0",
            item.to_string().as_bytes(),
        ]);
        self.folder.join(name.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Baselines;
    use std::path::Path;

    #[test]
    fn the_last_version_is_remembered_for_each_space() {
        let dir = tempfile::tempdir().unwrap();
        let baselines = Baselines::of(dir.path());
        let item = "tool:a/b".parse().unwrap();
        assert_eq!(baselines.find(Path::new("/p"), &item), None);
        baselines.remember(Path::new("/p"), &item, b"1").unwrap();
        baselines.remember(Path::new("/p"), &item, b"2").unwrap();
        assert_eq!(baselines.find(Path::new("/p"), &item).as_deref(), Some(&b"2"[..]));
        assert_eq!(baselines.find(Path::new("/q"), &item), None);
    }
}
