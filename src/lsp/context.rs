//! What a session is given by whoever wires it.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Failure};
use crate::rye::Rye;
use crate::space::ai_folders;

/// What a session is given by whoever wires it.
pub(crate) struct Desk<'a> {
    /// The facade of the project that a folder is.
    pub(crate) project: &'a dyn Fn(&Path) -> Result<Rye, Failure>,
    /// Whether the editor was started by a person: what rye runs must not say yes to itself.
    pub(crate) may_sign: bool,
}

impl Desk<'_> {
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
