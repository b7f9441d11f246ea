//! The files of this project that name a key which is not to be used any more.

use crate::id::{Fingerprint, Space};
use crate::rye::Rye;
use crate::scaffold::workflows_with;
use crate::verify::{Proposal, proposals};

/// Places that name a key. A file that cannot be read is for those who use it to say.
pub(super) struct StillNamed {
    /// Rows of `.ai/rye.lock`.
    pub(super) lock_rows: usize,
    /// Files that propose the key to others.
    pub(super) proposals: Vec<String>,
    /// Workflows of CI that trust it.
    pub(super) workflows: Vec<String>,
}

impl StillNamed {
    pub(super) fn new(key: Fingerprint, rye: &Rye) -> Self {
        let proposed = rye.spaces().get(Space::Project).map(proposals).unwrap_or_default();
        let names_it = |proposal: &Proposal| {
            proposal.document.as_ref().is_ok_and(|document| document.fingerprint == key)
        };
        Self {
            lock_rows: rye.locks().signed_by(key).unwrap_or_default(),
            proposals: proposed.into_iter().filter(names_it).map(|found| found.path).collect(),
            workflows: workflows_with(key, rye),
        }
    }
}
