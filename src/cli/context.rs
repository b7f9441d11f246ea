//! Builds the facade from the command line; no other file does.

use std::cell::Cell;

use super::out::note;
use super::{Common, Verb, short};
use crate::diagnostic::Failure;
use crate::host::Os;
use crate::rye::{Rye, RyeBuilder};
use crate::trace::Recorder;

/// The command line's common part, ready to build the facade when a verb needs it.
pub(super) struct Context {
    pub(super) common: Common,
    pub(super) start: std::time::Instant,
    /// The verb of the line, as long as it was not said that an item has its name.
    unsaid: Cell<Option<&'static str>>,
}

impl Context {
    pub(super) fn new(common: Common, verb: Option<&'static Verb>) -> Self {
        // Who types `rye execute` names the item behind it.
        let verb = verb.map(|verb| verb.name).filter(|name| *name != "execute");
        Self { common, start: std::time::Instant::now(), unsaid: Cell::new(verb) }
    }

    /// # Errors
    /// `space.*`, `verify.trust_unreadable`.
    pub(super) fn rye(&self) -> Result<Rye, Failure> {
        self.build()
    }

    /// The same for the project in another folder.
    ///
    /// # Errors
    /// Those of [`Self::rye`].
    pub(super) fn rye_in(&self, project: std::path::PathBuf) -> Result<Rye, Failure> {
        self.builder().project(project).host(Box::new(Os::new(true))).build()
    }

    /// The same for a caller that builds it more than once.
    pub(super) fn build(&self) -> Result<Rye, Failure> {
        // A process that serves one command may kill what its children leave behind.
        let rye = self.builder().host(Box::new(Os::new(true))).build()?;
        if let Some(verb) = self.unsaid.take()
            && let Some(item) = short::same_name(verb, &rye)
        {
            note(&format!("note: `{verb}` is a verb of rye; `{item}` runs with `rye run {verb}`"));
        }
        Ok(rye)
    }

    /// The same with one more bundle of the system space, to judge it.
    ///
    /// # Errors
    /// Those of [`Self::rye`].
    pub(super) fn rye_with_bundle(
        &self,
        name: crate::id::BundleName,
        folder: std::path::PathBuf,
    ) -> Result<Rye, Failure> {
        // Dev mode is for items that somebody works on, and not for bundles.
        self.builder().strict().bundle(name, folder).build()
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
