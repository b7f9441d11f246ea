//! New items of a tool that may make some (`items: write`).
//!
//! The tool puts them into a private folder. When it is done, what is not there yet is taken over
//! into the project; the items that are there are never open to it, at any level.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

use crate::base::bytes::{Bounded, read_at_most, write_new};
use crate::base::limits::{ID_SEGMENTS, ITEM_BYTES, NEW_ITEMS, NEW_ITEMS_BYTES};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Makes the folder of each kind in the private one; `kinds` are those of the project.
///
/// # Errors
/// What the file system says.
pub(super) fn make(private: &Path, kinds: &[PathBuf]) -> io::Result<()> {
    let mut names = kinds.iter().filter_map(|kind| kind.file_name());
    names.try_for_each(|name| DirBuilder::new().mode(0o700).create(private.join(name)))
}

/// Puts each file of the private folder into its place in the project. Hidden files stay behind.
///
/// # Errors
/// Nothing is taken over where one of them is there already, is not a regular file or is too large.
/// Else what the file system says; those before it are in their places then.
pub(super) fn take_over(private: &Path, kinds: &[PathBuf]) -> io::Result<()> {
    let mut items = Vec::new();
    for kind in kinds {
        let Some(name) = kind.file_name() else { continue };
        let folder = openat(CWD, private.join(name), FOLDER, Mode::empty())?;
        collect(&folder, kind, &PathBuf::new(), &mut items)?;
    }
    for item in &items {
        if std::fs::symlink_metadata(item.kind.join(&item.path)).is_ok() {
            return Err(item.told("is there already, and a tool makes new items only"));
        }
    }
    items.iter().try_for_each(Item::place)
}

struct Item<'a> {
    /// The project's folder of its kind.
    kind: &'a Path,
    /// Below that.
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Item<'_> {
    fn told(&self, why: &str) -> io::Error {
        let path = self.kind.join(&self.path);
        io::Error::other(format!("`{}` {why}", path.display()))
    }

    /// No step follows a link, wherever it leads.
    fn place(&self) -> io::Result<()> {
        let root = self.kind.parent().ok_or(io::ErrorKind::InvalidInput)?;
        // Where the space lies may be a link of the person's own (core 1.5).
        let mut folder = openat(CWD, root, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
        let below = self.kind.file_name().map(Path::new).into_iter().chain(self.path.parent());
        for name in below.flat_map(Path::components) {
            let name = name.as_os_str();
            match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(self.told(&io::Error::from(error).to_string())),
            }
            let next = openat(&folder, name, FOLDER, Mode::empty());
            folder = next.map_err(|error| self.told(&io::Error::from(error).to_string()))?;
        }
        let name = self.path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        write_new(&path, &self.bytes, 0o644).map_err(|error| self.told(&error.to_string()))
    }
}

/// Adds what lies in the folder, which is `below` in its kind's.
fn collect<'a>(
    folder: &OwnedFd,
    kind: &'a Path,
    below: &Path,
    items: &mut Vec<Item<'a>>,
) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes().starts_with(b".") {
            continue;
        }
        let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name.to_bytes());
        let mut item = Item { kind, path: below.join(name), bytes: Vec::new() };
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
        let flags = if is_folder { FOLDER } else { OFlags::NOFOLLOW | OFlags::NONBLOCK };
        let opened = openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty());
        let opened = opened.map_err(|_| item.told("is not a regular file"))?;
        if is_folder {
            if item.path.components().count() >= ID_SEGMENTS {
                return Err(item.told("lies too deep for an item"));
            }
            collect(&opened, kind, &item.path, items)?;
            continue;
        }
        if !FileType::from_raw_mode(fstat(&opened)?.st_mode).is_file() {
            return Err(item.told("is not a regular file"));
        }
        match read_at_most(&mut std::fs::File::from(opened), ITEM_BYTES, 0)? {
            Bounded::All(bytes) => item.bytes = bytes,
            Bounded::More => return Err(item.told("is too large for an item")),
        }
        items.push(item);
        let bytes: usize = items.iter().map(|item| item.bytes.len()).sum();
        if items.len() > NEW_ITEMS || bytes > NEW_ITEMS_BYTES {
            return Err(io::Error::other("it made more items than one run may"));
        }
    }
    Ok(())
}
