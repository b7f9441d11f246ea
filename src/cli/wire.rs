//! Wiring: what the facade is built from, and the only place that knows.

use super::Common;
use super::error::CliError;
use crate::host::Os;
use crate::pipeline::{Rye, RyeBuilder};
use crate::trace::Recorder;

/// The command line's common part, ready to build the facade when a verb needs it.
pub(super) struct Wired {
    pub(super) common: Common,
    pub(super) start: std::time::Instant,
}

impl Wired {
    pub(super) fn new(common: Common) -> Self {
        Self { common, start: std::time::Instant::now() }
    }

    /// # Errors
    /// `space.*`, `verify.trust_unreadable`.
    pub(super) fn rye(&self) -> Result<Rye, CliError> {
        // A process that serves one command may end what its children leave behind.
        self.rye_on(Os::new(true))
    }

    /// For several runs at once: what one leaves behind cannot be told from what another one started.
    ///
    /// # Errors
    /// Those of [`Self::rye`].
    pub(super) fn rye_for_many(&self) -> Result<Rye, CliError> {
        self.rye_on(Os::new(false))
    }

    fn rye_on(&self, host: Os) -> Result<Rye, CliError> {
        Ok(self.builder().host(Box::new(host)).build()?)
    }

    /// A builder that knows where the project is.
    pub(super) fn builder(&self) -> RyeBuilder {
        let builder = RyeBuilder::new();
        match &self.common.project {
            Some(project) => builder.project(project.clone()),
            None => builder,
        }
    }

    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.start)
    }
}
