//! What one signature covers, for whoever takes items elsewhere.

use super::rye::Rye;
use crate::diagnostic::Failure;
use crate::resolve::Found;
use crate::trace::Quiet;

/// A file that an item's signature covers.
#[derive(Debug)]
pub(crate) struct Covered {
    /// Below the folder that holds `.ai`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl Rye {
    /// The item's own file and those that its header lists, all of them verified; a warning of dev
    /// mode is a refusal here.
    ///
    /// # Errors
    /// Those of verifying and parsing it.
    pub(crate) fn covered(&self, found: Found) -> Result<Vec<Covered>, Failure> {
        let rules = self.strict_rules();
        let line = self.line(&rules, &Quiet);
        let bytes = found.bytes.to_vec();
        let (source, _) = line.admit(found)?;
        let own = Covered { path: source.path_below_base(), bytes, is_program: false };
        let beside = source.parts().iter().map(|part| {
            let origin = source.parts_origin(&part.path);
            let path = origin.strip_prefix(source.base()).unwrap_or(&origin);
            Covered {
                path: path.display().to_string(),
                bytes: part.bytes.to_vec(),
                is_program: part.is_program,
            }
        });
        Ok([own].into_iter().chain(beside).collect())
    }
}
