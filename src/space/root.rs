//! One root: a folder `.ai`, or the table in the binary.

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use walkdir::WalkDir;

use super::embedded::EMBEDDED;
use super::error::SpaceError;
use super::join::read_beneath;
use crate::base::beneath::open_beneath;
use crate::base::limits::ITEM_BYTES;
use crate::diagnostic;
use crate::id::{BundleName, Ref, Space};

/// Where a root's files are.
#[derive(Debug)]
pub(crate) enum RootPlace {
    /// The folder `.ai`, held open; `None` while there is none.
    Disk(Option<OwnedFd>),
    /// The system space in the binary.
    Embedded,
}

const FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// One space's files.
///
/// Invariant: `base` is the folder that holds `.ai`; every read stays below `.ai`.
#[derive(Debug)]
pub(crate) struct Root {
    space: Space,
    /// The bundle of the system space that it is.
    bundle: Option<BundleName>,
    base: PathBuf,
    place: RootPlace,
}

impl Root {
    /// The root on disk whose `.ai` lies in `base`; there need be none yet.
    ///
    /// # Errors
    /// `space.not_a_file` for an `.ai` that is no folder; opening it never blocks.
    pub(crate) fn on_disk(space: Space, base: PathBuf) -> Result<Self, SpaceError> {
        let opened = openat(CWD, base.join(".ai"), FOLDER, Mode::empty());
        root_of(space, base, opened)
    }

    /// The root of an installed bundle, whose `.ai` lies in `base`.
    ///
    /// # Errors
    /// Those of [`Self::on_disk`].
    pub(crate) fn of_bundle(name: BundleName, base: PathBuf) -> Result<Self, SpaceError> {
        Ok(Self { bundle: Some(name), ..Self::on_disk(Space::System, base)? })
    }

    pub(super) fn embedded() -> Self {
        Self {
            space: Space::System,
            bundle: None,
            base: PathBuf::new(),
            place: RootPlace::Embedded,
        }
    }

    pub(crate) fn space(&self) -> Space {
        self.space
    }

    pub(crate) fn bundle(&self) -> Option<&BundleName> {
        self.bundle.as_ref()
    }

    /// The folder that holds `.ai`; empty for the embedded space.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.place, RootPlace::Embedded)
    }

    /// Returns true if there is anything to read: a root on disk may have no `.ai` yet.
    pub(crate) fn exists(&self) -> bool {
        !matches!(self.place, RootPlace::Disk(None))
    }

    pub(super) fn place(&self) -> &RootPlace {
        &self.place
    }

    /// The path of a file of this root; the embedded space's begin at `.ai`.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.base.join(".ai").join(relative)
    }

    /// The path as people are shown it, with the space beside it.
    pub(crate) fn shown(&self, relative: &str) -> diagnostic::Place {
        let space = Some(match &self.bundle {
            Some(bundle) => format!("{}:{bundle}", self.space),
            None => self.space.to_string(),
        });
        diagnostic::Place { space, path: format!(".ai/{relative}"), ..diagnostic::Place::default() }
    }

    /// False if there is no folder at the plain relative path below `.ai`, so no file in it either.
    pub(crate) fn may_hold(&self, folder: &str) -> bool {
        let RootPlace::Disk(ai) = &self.place else { return true };
        let Some(ai) = ai else { return false };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        !matches!(open_beneath(ai, folder.trim_end_matches('/'), flags), Err(Errno::NOENT))
    }

    /// The first thing below the folder at a plain relative path, or the folder itself, that cannot
    /// be looked into or leads elsewhere, with why; for a folder in which nothing may be
    /// overlooked. A folder that is not there hides nothing.
    pub(crate) fn overlooked(&self, relative: &str) -> Option<String> {
        if self.is_embedded() {
            return None;
        }
        let ends = relative.match_indices('/').map(|(at, _)| at).chain([relative.len()]);
        for end in ends {
            let folder = self.path(&relative[..end]);
            let why = match folder.symlink_metadata() {
                Ok(stat) if stat.is_dir() => continue,
                Ok(stat) if stat.is_symlink() => "is a link",
                Ok(_) => "is not a folder",
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
                Err(_) => "cannot be read",
            };
            return Some(format!("`{}` {why}", folder.display()));
        }
        let top = self.path(relative);
        WalkDir::new(&top).follow_links(false).into_iter().find_map(|found| match found {
            Ok(found) if found.path_is_symlink() => {
                Some(format!("`{}` is a link", found.path().display()))
            }
            Ok(_) => None,
            Err(error) => {
                let path = error.path().unwrap_or(&top).display().to_string();
                Some(format!("`{path}` cannot be read"))
            }
        })
    }

    /// The bytes of the regular file at the plain relative path below `.ai`, or `None`.
    ///
    /// # Errors
    /// `space.not_a_file`, `space.too_large`, `space.symlink`, `space.io`: a file that is there but
    /// cannot be used is an error, never a miss.
    pub(crate) fn read(&self, relative: &str) -> Result<Option<Cow<'static, [u8]>>, SpaceError> {
        let folder = match &self.place {
            RootPlace::Embedded => return Ok(embedded(relative).map(Cow::Borrowed)),
            RootPlace::Disk(None) => return Ok(None),
            RootPlace::Disk(Some(folder)) => folder,
        };
        let place = || self.shown(relative);
        let opened = read_beneath(folder, relative, ITEM_BYTES)
            .map_err(|source| SpaceError::Io { place: place(), source })?;
        Ok(opened.bytes(place)?.map(Cow::Owned))
    }
}

/// The root whose `.ai` lies in the open `folder`, whatever lies at the path `base` by now.
///
/// # Errors
/// Those of [`Root::on_disk`].
pub(super) fn root_below(
    space: Space,
    base: PathBuf,
    folder: &OwnedFd,
) -> Result<Root, SpaceError> {
    root_of(space, base, openat(folder, ".ai", FOLDER, Mode::empty()))
}

fn root_of(
    space: Space,
    base: PathBuf,
    opened: Result<OwnedFd, Errno>,
) -> Result<Root, SpaceError> {
    let folder = match opened {
        Ok(folder) => Some(folder),
        Err(Errno::NOENT) => None,
        Err(error) => {
            let path = base.join(".ai").display().to_string();
            let place = diagnostic::Place {
                space: Some(space.to_string()),
                path,
                ..diagnostic::Place::default()
            };
            return Err(match error {
                Errno::NOTDIR => SpaceError::NotAFolder { place },
                other => SpaceError::Io { place, source: other.into() },
            });
        }
    };
    Ok(Root { space, bundle: None, base, place: RootPlace::Disk(folder) })
}

/// The extension and the bytes of the item that this rye brings under an id.
pub(crate) fn shipped(item: &Ref) -> Option<(&'static str, &'static [u8])> {
    let prefix = format!("{}/{}.", item.kind.folder(), item.id);
    let from = EMBEDDED.partition_point(|file| *file.path < *prefix);
    let named =
        EMBEDDED[from..].iter().map_while(|file| Some((file, file.path.strip_prefix(&prefix)?)));
    let mut named = named.filter(|(_, ext)| !ext.contains(['.', '/']));
    named.next().map(|(file, ext)| (ext, file.bytes))
}

pub(super) fn embedded(relative: &str) -> Option<&'static [u8]> {
    let at = EMBEDDED.binary_search_by(|file| file.path.cmp(relative)).ok()?;
    Some(EMBEDDED[at].bytes)
}
