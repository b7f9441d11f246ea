//! The files that a command or an argument names.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::limits::PARTS_BYTES;
use crate::diagnostic::Failure;
use crate::id::Space;
use crate::space::{Glob, RelPath, Root, Walked};

/// The file behind a text that may be a path.
pub(super) enum Named {
    /// A file of the configuration's folder.
    File(CopiedFile),
    /// Something is there, and why it is not copied.
    Left(String),
    Nothing,
}

/// A file that was read to be copied.
#[derive(Debug, Clone)]
pub(crate) struct CopiedFile {
    /// Below the configuration's folder.
    pub(crate) path: RelPath,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

/// The folder that relative paths of a configuration begin at.
pub(super) struct Folder {
    root: Root,
    path: PathBuf,
}

impl Folder {
    /// # Errors
    /// `space.*`
    pub(super) fn open(config: &Path) -> Result<Self, Failure> {
        let parent = config.parent().filter(|parent| !parent.as_os_str().is_empty());
        let path = parent.unwrap_or(Path::new(".")).to_owned();
        Ok(Self { root: Root::on_disk(Space::Project, path.clone())?, path })
    }

    /// Finds the file that `text` names. Each file is read through the folder, and through no link.
    ///
    /// # Errors
    /// `space.io`
    pub(super) fn find(&self, text: &str) -> Result<Named, Failure> {
        let mut path = text;
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        let is_there = || !text.is_empty() && self.path.join(path).symlink_metadata().is_ok();
        let left = |why: String| if is_there() { Named::Left(why) } else { Named::Nothing };
        let relative = match path.parse::<RelPath>() {
            Ok(relative) => relative,
            Err(why) => return Ok(left(why.to_owned())),
        };
        if is_hidden(path) {
            // Such as `.env`: its content is not for an import.
            return Ok(left("is hidden".into()));
        }
        if Glob::is_one(path) {
            return Ok(left("has a name that would be read as a pattern".into()));
        }
        let Some(folder) = self.root.base_folder()? else { return Ok(Named::Nothing) };
        Ok(match folder.read_part(&relative) {
            Ok(Some(bytes)) => {
                let mode = self.path.join(path).symlink_metadata().map(|m| m.permissions().mode());
                let is_program = mode.is_ok_and(|mode| mode & 0o111 != 0);
                Named::File(CopiedFile { path: relative, bytes: bytes.into_owned(), is_program })
            }
            Ok(None) => left("cannot be reached".into()),
            // The name stands in the caller's sentence already.
            Err(error) => match self.path.join(path).symlink_metadata() {
                Ok(stat) if stat.is_dir() => Named::Left("is a folder".into()),
                Ok(stat) if stat.is_file() => Named::Left(match self.is_straight(path) {
                    true => {
                        format!("is larger than {} MiB, or may not be copied", PARTS_BYTES >> 20)
                    }
                    false => "lies behind a link".into(),
                }),
                Ok(stat) if stat.is_symlink() => Named::Left("is a link".into()),
                Ok(_) => Named::Left("is not a regular file".into()),
                Err(_) => Named::Left(error.to_string()),
            },
        })
    }

    /// Returns true if a plain path is a folder in it, through no link.
    pub(super) fn is_folder(&self, path: &str) -> bool {
        let is_there = self.path.join(path).symlink_metadata().is_ok_and(|stat| stat.is_dir());
        is_there && path.parse::<RelPath>().is_ok() && self.is_straight(path)
    }

    /// The files below a folder in it, but for what is hidden or made anew by each run; `None` if
    /// there are more than a tool can have.
    ///
    /// # Errors
    /// `space.io`
    pub(super) fn below(&self, folder: &str) -> Result<Option<Vec<String>>, Failure> {
        let Some(root) = self.root.base_folder()? else { return Ok(Some(Vec::new())) };
        let walked = root.walk(folder, &|path| !is_hidden(path));
        let paths = |walked: Vec<Walked>| walked.into_iter().map(|it| it.path);
        Ok(walked.map(|walked| paths(walked).filter(|path| !is_hidden(path)).collect()))
    }

    /// Returns true if no folder on the way is a link.
    fn is_straight(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        let is_link =
            |folder: &str| self.path.join(folder).symlink_metadata().is_ok_and(|m| m.is_symlink());
        !folders.into_iter().any(is_link)
    }
}

/// Returns true if any part of a path is hidden, or made anew by each run: no import copies such a
/// file.
pub(super) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.') || part == "__pycache__")
}
