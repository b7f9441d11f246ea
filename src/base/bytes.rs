//! Reading at most so much, and writing all or nothing.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Bytes read under a cap, or the fact that there were more.
#[derive(Debug)]
pub(crate) enum Bounded {
    All(Vec<u8>),
    /// The source holds more than the cap; nothing was kept.
    More,
}

/// Reads at most `cap` bytes.
pub(crate) fn read_at_most(from: &mut impl Read, cap: u64, hint: u64) -> io::Result<Bounded> {
    let mut bytes = Vec::with_capacity(usize::try_from(hint.min(cap)).unwrap_or(0) + 1);
    from.take(cap + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > cap) {
        return Ok(Bounded::More);
    }
    Ok(Bounded::All(bytes))
}

/// Replaces or makes `path` so that any crash leaves the old file or the whole of the other one.
///
/// A temporary file with an unpredictable name in the same folder (`O_EXCL`), `fsync`, rename,
/// `fsync` of the folder. Mode and owner of an existing file are kept; another gets `mode`.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::Builder::new().prefix(".rye-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    if let Some(old) = &old {
        let own = file.as_file().metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
        }
    }
    let mode = old.map_or(mode, |old| old.mode() & 0o777);
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{Bounded, read_at_most, write_atomic};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn reading_stops_at_the_cap() {
        assert!(
            matches!(read_at_most(&mut &b"abc"[..], 3, 0).unwrap(), Bounded::All(b) if b == b"abc")
        );
        assert!(matches!(
            read_at_most(&mut std::io::repeat(0), 3, 1 << 40).unwrap(),
            Bounded::More
        ));
    }

    #[test]
    fn an_existing_mode_is_kept_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write_atomic(&path, b"1", 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        write_atomic(&path, b"2", 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
