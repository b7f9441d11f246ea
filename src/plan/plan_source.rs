//! The seam: what a plan takes from the spaces beyond the links of its chain.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::diagnostic::Failure;
use crate::id::{Ref, Space};
use crate::space::{Folder, SpaceError};
use crate::verify::{Integrity, PartsRoot, Source, TrustStore};

/// One admitted copy of a config item.
pub(crate) struct ConfigCopy {
    pub(crate) space: Space,
    pub(crate) source: Source,
    pub(crate) value: Map<String, Value>,
}

impl ConfigCopy {
    /// Returns true if your own key signed it; dev mode does not stand for it.
    pub(crate) fn is_signed_by_you(&self, trust: &TrustStore<'_>) -> bool {
        self.source.integrity() == Integrity::Verified
            && self.source.signer().is_some_and(|signer| trust.is_yours(signer.key))
    }
}

/// Gives files that lie beside items, each admitted like an item or listed by one.
pub(crate) trait PlanSource {
    /// The folder that a root means for an item, and the item's path below it; `None` where the
    /// item may not use that root.
    ///
    /// # Errors
    /// `space.*`
    fn parts_folder<'s>(
        &'s self,
        source: &Source,
        root: PartsRoot,
    ) -> Result<Option<(Folder<'s>, String)>, SpaceError>;

    /// The item whose file lies at `path` below the folder that holds `.ai`, from the same space as
    /// `beside`; `None` if no item can lie there.
    ///
    /// # Errors
    /// Whatever the file is refused with.
    fn admit_beside(&self, beside: &Source, path: &str) -> Result<Option<Source>, Failure>;

    /// Every copy of a config item, the lowest space first. Those of a project that is not accepted
    /// are left out.
    ///
    /// # Errors
    /// Whatever a copy is refused with.
    fn configs(&self, item: &Ref) -> Result<Vec<ConfigCopy>, Failure>;

    /// The project's `.env`; `None` if there is none, or the project is not accepted.
    ///
    /// # Errors
    /// `space.*`
    fn dotenv(&self) -> Result<Option<Cow<'static, [u8]>>, Failure>;
}
