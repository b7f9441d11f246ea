//! A folder of a root, from which the files beside an item are read.

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use walkdir::WalkDir;

use super::embedded::EMBEDDED;
use super::error::SpaceError;
use super::join::read_beneath;
use super::rel_path::RelPath;
use super::root::{Root, RootPlace, embedded};
use crate::base::beneath::open_beneath;
use crate::base::limits::{ITEM_BYTES, PARTS_BYTES, PARTS_WALKED};
use crate::diagnostic;

/// One folder, held open: what is read through it lies below it.
#[derive(Debug)]
pub(crate) struct Folder<'a> {
    root: &'a Root,
    /// The path below `.ai` with its last slash, or nothing; for the project's own folder unused.
    prefix: String,
    /// `None` for the embedded space.
    open: Option<OwnedFd>,
    path: PathBuf,
    /// The folder is the one that holds `.ai`.
    is_base: bool,
}

/// A file that a walk found below a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Walked {
    /// The path below the folder; may not be a [`RelPath`].
    pub(crate) path: String,
    /// A regular file, and not a link or a device.
    pub(crate) is_file: bool,
}

impl Root {
    /// The folder at the plain path `relative` below `.ai`; `None` if there is none.
    ///
    /// # Errors
    /// `space.symlink`, `space.io`
    pub(crate) fn folder(&self, relative: &str) -> Result<Option<Folder<'_>>, SpaceError> {
        let prefix = if relative.is_empty() { String::new() } else { format!("{relative}/") };
        let path = self.path(relative);
        let open = match self.place() {
            RootPlace::Embedded => None,
            RootPlace::Disk(None) => return Ok(None),
            RootPlace::Disk(Some(ai)) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let name = if relative.is_empty() { "." } else { relative };
                match open_beneath(ai, name, flags) {
                    Ok(folder) => Some(folder),
                    Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                    Err(Errno::LOOP | Errno::XDEV) => {
                        return Err(SpaceError::Symlink { place: self.shown(relative) });
                    }
                    Err(error) => {
                        let place = self.shown(relative);
                        return Err(SpaceError::Io { place, source: error.into() });
                    }
                }
            }
        };
        Ok(Some(Folder { root: self, prefix, open, path, is_base: false }))
    }

    /// The folder that holds `.ai`; `None` for the embedded space.
    ///
    /// # Errors
    /// `space.io`
    pub(crate) fn base_folder(&self) -> Result<Option<Folder<'_>>, SpaceError> {
        if self.is_embedded() {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = self.base().to_owned();
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(open) => {
                let prefix = String::new();
                Ok(Some(Folder { root: self, prefix, open: Some(open), path, is_base: true }))
            }
            Err(error) => {
                let place =
                    diagnostic::Place { path: path.display().to_string(), ..Default::default() };
                Err(SpaceError::Io { place, source: error.into() })
            }
        }
    }
}

impl Folder<'_> {
    /// A file of the folder as people are shown it.
    pub(crate) fn shown(&self, relative: &str) -> diagnostic::Place {
        match self.is_base {
            true => diagnostic::Place {
                space: Some(self.root.space().to_string()),
                path: relative.to_owned(),
                ..diagnostic::Place::default()
            },
            false => self.root.shown(&format!("{}{relative}", self.prefix)),
        }
    }

    /// The bytes of a regular file, or `None`.
    ///
    /// # Errors
    /// `space.not_a_file`, `space.too_large`, `space.symlink`, `space.io`
    pub(crate) fn read(&self, path: &RelPath) -> Result<Option<Cow<'static, [u8]>>, SpaceError> {
        self.read_up_to(path, ITEM_BYTES)
    }

    /// Reads a file that an item lists. It may be a program, as large as all listed files together.
    ///
    /// # Errors
    /// `space.not_a_file`, `space.too_large`, `space.symlink`, `space.io`
    pub(crate) fn read_part(
        &self,
        path: &RelPath,
    ) -> Result<Option<Cow<'static, [u8]>>, SpaceError> {
        self.read_up_to(path, PARTS_BYTES as u64)
    }

    fn read_up_to(
        &self,
        path: &RelPath,
        most: u64,
    ) -> Result<Option<Cow<'static, [u8]>>, SpaceError> {
        let Some(open) = &self.open else {
            return Ok(embedded(&format!("{}{path}", self.prefix)).map(Cow::Borrowed));
        };
        let place = || self.shown(path.as_str());
        let opened = read_beneath(open, path.as_str(), most)
            .map_err(|source| SpaceError::Io { place: place(), source })?;
        let bytes = opened.bytes(place)?.map(Cow::Owned);
        // A copy would lose the bits, and with them what its author meant.
        if bytes.is_some() && self.is_set_id(path) {
            return Err(SpaceError::NotAFile { place: place() });
        }
        Ok(bytes)
    }

    fn is_set_id(&self, path: &RelPath) -> bool {
        let stat = self.path.join(path.as_str()).symlink_metadata();
        stat.is_ok_and(|stat| stat.mode() & 0o6000 != 0)
    }

    /// Returns true if there is a file, folder or link of this name.
    pub(crate) fn holds(&self, path: &RelPath) -> bool {
        match &self.open {
            Some(_) => self.path.join(path.as_str()).symlink_metadata().is_ok(),
            None => {
                let whole = format!("{}{path}", self.prefix);
                EMBEDDED.iter().any(|f| f.path == whole || f.path.starts_with(&format!("{whole}/")))
            }
        }
    }

    /// Everything below the plain path `within` (nothing: the folder itself) that is no folder,
    /// sorted, with its path below this folder. Folders that `enter` refuses by their path are
    /// passed over. `None` if there is more than a tool can have.
    pub(crate) fn walk(&self, within: &str, enter: &dyn Fn(&str) -> bool) -> Option<Vec<Walked>> {
        let mut found = Vec::new();
        if self.open.is_none() {
            let prefix = if within.is_empty() { String::new() } else { format!("{within}/") };
            let below = EMBEDDED.iter().filter_map(|file| file.path.strip_prefix(&self.prefix));
            let entered = below.filter(|path| {
                let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
                path.starts_with(&prefix) && folders.all(|f| f.len() <= within.len() || enter(f))
            });
            found.extend(entered.map(|path| Walked { path: path.to_owned(), is_file: true }));
            return Some(found);
        }
        let relative = |path: &Path| {
            path.strip_prefix(&self.path).unwrap_or(path).to_string_lossy().into_owned()
        };
        let top = self.path.join(within);
        match top.symlink_metadata() {
            Ok(stat) if stat.is_dir() => {}
            // If a link lies there instead of the folder, it is named and not followed.
            Ok(_) => return Some(vec![Walked { path: within.to_owned(), is_file: false }]),
            Err(_) => return Some(found),
        }
        let walk = WalkDir::new(&top).min_depth(1).follow_links(false);
        let entered = |entry: &walkdir::DirEntry| {
            !entry.file_type().is_dir() || entry.depth() == 0 || enter(&relative(entry.path()))
        };
        for (count, entry) in walk.into_iter().filter_entry(entered).enumerate() {
            if count >= PARTS_WALKED {
                return None;
            }
            // What cannot be looked at is not silently left out.
            let Ok(entry) = entry else { return None };
            if !entry.file_type().is_dir() {
                let is_file = entry.file_type().is_file();
                found.push(Walked { path: relative(entry.path()), is_file });
            }
        }
        found.sort();
        Some(found)
    }
}
