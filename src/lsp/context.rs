//! The data that `cli` gives to a session.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Failure};
use crate::rye::Rye;
use crate::space::ai_folders;

/// The data that `cli` gives to a session.
pub(crate) struct SessionContext<'a> {
    /// Makes the facade of the project in a folder.
    pub(crate) project: &'a dyn Fn(&Path) -> Result<Rye, Failure>,
    /// A person started the editor. A program that rye runs must not approve its own changes.
    pub(crate) may_sign: bool,
}

impl SessionContext<'_> {
    /// The facade of the project that a file lies in.
    pub(super) fn rye(&self, path: &Path) -> Result<Rye, Box<Diagnostic>> {
        let folder = project_of(path).unwrap_or(path);
        (self.project)(folder).map_err(|failure| Box::new(failure.diagnostic()))
    }
}

/// The folder that holds the `.ai` which a path leads through.
pub(super) fn project_of(path: &Path) -> Option<&Path> {
    ai_folders(path).next_back().map(|(folder, _)| folder)
}
