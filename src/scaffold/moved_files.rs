//! The files that a moving tool lists, put to their new places and taken from the old ones.

use std::fs;
use std::path::Path;

use super::error::AuthorError;
use super::moving::{io, mode};
use crate::base::bytes::{remove_file, write_new};
use crate::diagnostic::Failure;
use crate::rye::FileToMove;
use crate::space::Root;

/// The files, and whether each lies at its new place already: an earlier move came that far.
#[derive(Debug, Default)]
pub(super) struct MovedFiles(Vec<(FileToMove, bool)>);

impl MovedFiles {
    /// # Errors
    /// `author.exists` where another file has the place; those of reading it.
    pub(super) fn new(files: Vec<FileToMove>, root: &Root) -> Result<Self, Failure> {
        let looked = files.into_iter().map(|file| match root.read(&file.to)? {
            Some(there) if *there != *file.bytes => {
                Err(AuthorError::FileExists { place: root.shown(&file.to) }.into())
            }
            there => Ok((file, there.is_some())),
        });
        Ok(Self(looked.collect::<Result<_, Failure>>()?))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FileToMove> {
        self.0.iter().map(|(file, _)| file)
    }

    /// Puts each file to its new place; what is there already is left.
    ///
    /// # Errors
    /// `author.io`, `space.symlink`
    pub(super) fn place(&self, root: &Root) -> Result<(), Failure> {
        for (file, _) in self.0.iter().filter(|(_, is_there)| !is_there) {
            let folder = folder_of(&file.to);
            // Says so if one of the folders on the way is a link.
            root.folder(folder)?;
            let mode = fs::metadata(root.path(&file.from)).map_or(0o644, |stat| mode(&stat));
            let written = fs::create_dir_all(root.path(folder))
                .and_then(|()| write_new(&root.path(&file.to), &file.bytes, mode));
            written.map_err(|source| io(&root.shown(&file.to), source))?;
        }
        Ok(())
    }

    /// Takes what [`Self::place`] wrote away again, where it is still the same.
    pub(super) fn take_back(&self, root: &Root) {
        for (file, _) in self.0.iter().filter(|(_, is_there)| !is_there) {
            let path = root.path(&file.to);
            if fs::read(&path).is_ok_and(|bytes| bytes == file.bytes) {
                // What stays is no file of any tool, which `rye verify` tells.
                let _ = remove_file(&path);
                remove_empty(root, folder_of(&file.to));
            }
        }
    }

    /// Takes the old files away, but for those that another tool lists.
    ///
    /// # Errors
    /// `author.io`: one of them was changed in the meantime, or cannot be removed.
    pub(super) fn remove_old(&self, root: &Root) -> Result<(), Failure> {
        for file in self.iter().filter(|file| file.stays_for.is_none()) {
            remove_if(&root.path(&file.from), &file.bytes)
                .map_err(|source| io(&root.shown(&file.from), source))?;
            remove_empty(root, folder_of(&file.from));
        }
        Ok(())
    }
}

/// Removes a file that is what was read.
pub(super) fn remove_if(path: &Path, was: &[u8]) -> std::io::Result<()> {
    match fs::read(path)? == was {
        true => remove_file(path),
        false => Err(std::io::Error::other("it was changed in the meantime, and stays")),
    }
}

/// Removes a folder below that of a kind and those above it, as far as they are empty.
pub(super) fn remove_empty(root: &Root, folder: &str) {
    let mut folder = folder;
    while folder.contains('/') && fs::remove_dir(root.path(folder)).is_ok() {
        folder = folder_of(folder);
    }
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
