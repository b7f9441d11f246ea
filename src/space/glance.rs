//! Looking at folders and their files: what is there, and whether it is what was there before.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

use super::join::{Opened, open_beneath, read_beneath};
use super::root::{Place, Root};
use crate::base::limits::LISTED_FILES;

/// What tells a file or a folder from what it was before: size, times and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) changed: i64,
    pub(crate) inode: u64,
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        // Times that no clock has told are compared all the same.
        let nanoseconds =
            |seconds: i64, more: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(more);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanoseconds(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: nanoseconds(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
            inode: stat.st_ino,
        }
    }
}

/// A folder below a root, held open.
#[derive(Debug)]
pub(crate) struct Held(OwnedFd);

impl Root {
    /// The folder at a plain relative path below `.ai`; `None` where there is none, where a link stands in
    /// the way, and in the embedded space.
    pub(crate) fn hold(&self, relative: &str) -> Option<Held> {
        let Place::Disk(Some(ai)) = self.place() else { return None };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        open_beneath(ai, relative, flags).ok().map(Held)
    }

    /// The stamp of the folder at a plain relative path below `.ai`, at the price of one look.
    pub(crate) fn folder_stamp(&self, relative: &str) -> Option<Stamp> {
        let Place::Disk(Some(ai)) = self.place() else { return None };
        let stat = statat(ai, relative, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        is_folder.then(|| Stamp::of(&stat))
    }
}

impl Held {
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        fstat(&self.0).ok().map(|stat| Stamp::of(&stat))
    }

    /// The names of regular files and of folders in it, hidden ones left out; sorted. `None` where they
    /// cannot be had.
    pub(crate) fn names(&self) -> Option<(Vec<String>, Vec<String>)> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let entries = Dir::read_from(&self.0).ok()?;
        for entry in entries.take(LISTED_FILES).flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            match kind {
                FileType::RegularFile => files.push(name.to_owned()),
                FileType::Directory => folders.push(name.to_owned()),
                _ => {}
            }
        }
        files.sort();
        folders.sort();
        Some((files, folders))
    }

    /// The stamp of a regular file in it.
    pub(crate) fn file(&self, name: &str) -> Option<Stamp> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then(|| Stamp::of(&stat))
    }

    /// The stamp that a regular file in it has before it is read, and its bytes; none where they cannot be
    /// read. One that could not be opened for want of something that passes has a stamp that no file has.
    pub(crate) fn read(&self, name: &str) -> Option<(Stamp, Option<Vec<u8>>)> {
        match read_beneath(&self.0, name) {
            Ok(Opened::Bytes(bytes, stat)) => Some((Stamp::of(&stat), Some(bytes))),
            Err(error) if passes(&error) => Some((Stamp::default(), None)),
            _ => self.file(name).map(|stamp| (stamp, None)),
        }
    }
}

/// Whether an opening that failed may do later: there were too many open files, or no memory.
fn passes(error: &std::io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}
