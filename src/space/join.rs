//! Opening a file below a folder, and nowhere else (core 1.5).

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::{Errno, read};

use super::error::SpaceError;
use crate::base::beneath::open_beneath;
use crate::base::bytes::{Bounded, read_at_most};
use crate::diagnostic::Place;

/// The result of opening a path below a root.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A regular file, with the bits of its mode.
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Missing,
    NotAFile,
    TooLarge,
    /// A link stands in the way, or the path would leave the root.
    Link,
}

impl Opened {
    /// The bytes of a regular file, or `None` where nothing is.
    ///
    /// # Errors
    /// `space.not_a_file`, `space.too_large`, `space.symlink`: a file that is there but cannot be
    /// used is an error, never a miss.
    pub(super) fn bytes(
        self,
        place: impl FnOnce() -> Place,
    ) -> Result<Option<Vec<u8>>, SpaceError> {
        match self {
            Self::File { bytes, .. } => Ok(Some(bytes)),
            Self::Missing => Ok(None),
            Self::NotAFile => Err(SpaceError::NotAFile { place: place() }),
            Self::TooLarge => Err(SpaceError::TooLarge { place: place() }),
            Self::Link => Err(SpaceError::Symlink { place: place() }),
        }
    }
}

/// Reads the regular file of at most `most` bytes at the plain relative path `relative` below
/// `root`.
pub(crate) fn read_beneath(root: impl AsFd, relative: &str, most: u64) -> io::Result<Opened> {
    // NONBLOCK: a FIFO without a writer must not hold us; NOCTTY: a terminal must not become ours.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match open_beneath(root, relative, flags) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => return Ok(Opened::Missing),
        Err(Errno::LOOP | Errno::XDEV) => return Ok(Opened::Link),
        // A socket, or a device without a driver.
        Err(Errno::NXIO | Errno::NODEV) => return Ok(Opened::NotAFile),
        Err(other) => return Err(other.into()),
    };
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Opened::NotAFile);
    }
    let mode = stat.st_mode & 0o7777;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > most {
        return Ok(Opened::TooLarge);
    }
    let size = usize::try_from(size).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size + 1);
    // With room for more than there is, one read meets the end too.
    let read = read(&file, spare_capacity(&mut bytes));
    if read == Ok(size) {
        return Ok(Opened::File { bytes, mode });
    }
    let mut file = File::from(file);
    file.rewind()?;
    match read_at_most(&mut file, most, size as u64)? {
        Bounded::All(bytes) => Ok(Opened::File { bytes, mode }),
        Bounded::More => Ok(Opened::TooLarge),
    }
}

#[cfg(test)]
mod tests {
    use super::{Opened, read_beneath};
    use crate::base::beneath::open_by_component;
    use crate::base::limits::ITEM_BYTES;
    use rustix::fs::{Mode, OFlags};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_of_opening_agree() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/x"), "1").unwrap();
        symlink("a", root.join("folder-link")).unwrap();
        symlink("x", root.join("a/b/link")).unwrap();
        let path = root.join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        let fd = fs::File::open(root).unwrap();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let rows = [
            ("a/b/x", "bytes", true),
            ("a/b/y", "missing", false),
            ("a/b/x/y", "missing", false),
            ("a/b", "not a file", true),
            ("fifo", "not a file", true),
            ("folder-link/b/x", "link", false),
            ("a/b/link", "link", false),
            ("../x", "link", false),
        ];
        for (path, want, opens) in rows {
            let got = match read_beneath(&fd, path, ITEM_BYTES).unwrap() {
                Opened::File { .. } => "bytes",
                Opened::Missing => "missing",
                Opened::NotAFile => "not a file",
                Opened::TooLarge => "too large",
                Opened::Link => "link",
            };
            assert_eq!(got, want, "{path}");
            assert_eq!(open_by_component(&fd, path, flags).is_ok(), opens, "{path}");
        }
    }
}
