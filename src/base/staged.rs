//! A file that is certain to have a place before its content is known.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::bytes::{sweep, temporary};

/// A temporary file beside `path`, which becomes `path` once it is written; dropped before that, it
/// is removed and `path` is as it was.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Takes the place: the folder is there and can be written, and `path` is a regular file or
    /// nothing. A link at `path` is not followed; it will be replaced.
    ///
    /// # Errors
    /// An error of the file system.
    pub(crate) fn at(path: &Path, mode: u32) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|stat| !stat.is_file() && !stat.is_symlink()) {
            return Err(io::Error::other("something that is not a regular file is there"));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let file = temporary(folder)?;
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        // Absolute, so that nothing that happens in between leads elsewhere.
        Ok(Self { file, path: std::path::absolute(path)? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the content and puts the file in its place, whole or not at all.
    ///
    /// # Errors
    /// An error of the file system.
    pub(crate) fn finish(self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_file().write_all(bytes)?;
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|e| e.error)?;
        let Some(folder) = self.path.parent() else { return Ok(()) };
        File::open(folder)?.sync_all()?;
        sweep(folder);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::AtomicFile;
    use std::fs;

    #[test]
    fn a_place_is_taken_before_and_filled_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        assert!(AtomicFile::at(&dir.path().join("no/x"), 0o644).is_err());
        assert!(AtomicFile::at(dir.path(), 0o644).is_err());
        fs::write(&path, b"old").unwrap();
        drop(AtomicFile::at(&path, 0o644).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let target = dir.path().join("target");
        fs::write(&target, b"kept").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        AtomicFile::at(&path, 0o644).unwrap().finish(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(&target).unwrap(), b"kept", "the link was not followed");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
