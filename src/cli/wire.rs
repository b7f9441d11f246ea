//! Wiring: what the facade is built from, and the only place that knows.

use super::Common;
use super::error::CliError;
use crate::host::Os;
use crate::pipeline::{Failure, Rye, RyeBuilder};
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
        Ok(self.build()?)
    }

    /// The same for whoever needs it more than once.
    pub(super) fn build(&self) -> Result<Rye, Failure> {
        // A process that serves one command may end what its children leave behind.
        let builder = RyeBuilder::new().host(Box::new(Os::new(true)));
        let builder = match &self.common.project {
            Some(project) => builder.project(project.clone()),
            None => builder,
        };
        builder.build()
    }

    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.start)
    }
}
