//! The private folder that a case works in.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::TestError;
use crate::id::Space;
use crate::space::{RelPath, Root, SpaceError};

/// A folder of one's own (0700) below the system's temporary folder, removed when dropped.
pub(super) struct Workplace {
    folder: tempfile::TempDir,
    /// Its real path.
    path: PathBuf,
}

impl Workplace {
    /// Makes it, with these files in it.
    ///
    /// # Errors
    /// `test.io`
    pub(super) fn with(setup: &[(RelPath, String)]) -> Result<Self, TestError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| TestError::Io { path, source }
        };
        let folder = tempfile::Builder::new().prefix("rye-test-").tempdir();
        let folder = folder.map_err(io(&std::env::temp_dir()))?;
        let path = folder.path().canonicalize().map_err(io(folder.path()))?;
        for (name, content) in setup {
            // No other process has been here, so there is no link on the way.
            let file = path.join(name.as_str());
            let parent = file.parent().unwrap_or(&path);
            fs::create_dir_all(parent).map_err(io(parent))?;
            fs::write(&file, content).map_err(io(&file))?;
        }
        Ok(Self { folder, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of a file, or `None`. What a tool left behind is foreign: no link is followed,
    /// nothing but a regular file of bounded size is read.
    ///
    /// # Errors
    /// `space.*`
    pub(super) fn read(&self, name: &RelPath) -> Result<Option<Cow<'static, [u8]>>, SpaceError> {
        let root = Root::on_disk(Space::Project, self.folder.path().to_owned())?;
        match root.base_folder()? {
            Some(folder) => folder.read(name),
            None => Ok(None),
        }
    }

    /// Returns true if there is a file, folder or link of this name.
    pub(super) fn holds(&self, name: &RelPath) -> bool {
        self.path.join(name.as_str()).symlink_metadata().is_ok()
    }
}
