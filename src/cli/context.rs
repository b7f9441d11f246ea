//! Builds the facade from the command line; no other file does.

use std::cell::Cell;
use std::path::PathBuf;

use super::out::note;
use super::{Common, Verb, short};
use crate::diagnostic::Failure;
use crate::host::{Os, Vars};
use crate::rye::{Rye, RyeBuilder, located};
use crate::space::Where;
use crate::trace::Recorder;

/// The environment and the working directory of a command line.
#[derive(Clone)]
pub(super) enum Surroundings {
    /// Those of this process, which serves this command line alone.
    Process,
    /// Those that the caller of the library names.
    Named { vars: Vars, cwd: PathBuf },
}

/// The command line's common part, ready to build the facade when a verb needs it.
pub(super) struct Context {
    pub(super) common: Common,
    pub(super) start: std::time::Instant,
    surroundings: Surroundings,
    /// The verb of the line, as long as it was not said that an item has its name.
    unsaid: Cell<Option<&'static str>>,
}

impl Context {
    pub(super) fn new(
        common: Common,
        verb: Option<&'static Verb>,
        surroundings: Surroundings,
    ) -> Self {
        // Who types `rye execute` names the item behind it.
        let verb = verb.map(|verb| verb.name).filter(|name| *name != "execute");
        let start = std::time::Instant::now();
        Self { common, start, surroundings, unsaid: Cell::new(verb) }
    }

    /// # Errors
    /// `space.*`, `verify.trust_unreadable`.
    pub(super) fn rye(&self) -> Result<Rye, Failure> {
        self.build()
    }

    /// Builds the facade without a user space, for a check by keys that the caller names.
    ///
    /// # Errors
    /// `space.*`
    pub(super) fn rye_to_judge(&self) -> Result<Rye, Failure> {
        self.builder().judging().host(Box::new(self.host())).build()
    }

    /// Builds the facade without the project, for what is the person's own: it works whatever is
    /// wrong with the project.
    ///
    /// # Errors
    /// `space.untrusted_root`, `space.symlink`, `space.io`
    pub(super) fn rye_of_user(&self) -> Result<Rye, Failure> {
        self.builder().without_project().host(Box::new(self.host())).build()
    }

    /// As [`Self::rye`], for the project in another folder.
    ///
    /// # Errors
    /// Those of [`Self::rye`].
    pub(super) fn rye_in(&self, project: PathBuf) -> Result<Rye, Failure> {
        self.builder().project(project).host(Box::new(self.host())).build()
    }

    /// As [`Self::rye`], for a caller that builds it more than once.
    pub(super) fn build(&self) -> Result<Rye, Failure> {
        if matches!(self.surroundings, Surroundings::Process) && std::env::current_dir().is_err() {
            note("note: the working folder was removed, so no project is looked for");
        }
        let rye = self.builder().host(Box::new(self.host())).build()?;
        if let Some(verb) = self.unsaid.take()
            && let Some(item) = short::same_name(verb, &rye)
        {
            note(&format!("note: `{verb}` is a verb of rye; `{item}` runs with `rye run {verb}`"));
        }
        Ok(rye)
    }

    /// As [`Self::rye`], with one more bundle of the system space, to judge it.
    ///
    /// # Errors
    /// Those of [`Self::rye`].
    pub(super) fn rye_with_bundle(
        &self,
        name: crate::id::BundleName,
        folder: PathBuf,
    ) -> Result<Rye, Failure> {
        // Dev mode is for items that a person works on, and not for bundles.
        self.builder().strict().bundle(name, folder).build()
    }

    /// A builder that knows where the project is.
    pub(super) fn builder(&self) -> RyeBuilder {
        let builder = match &self.surroundings {
            Surroundings::Process => RyeBuilder::new(),
            Surroundings::Named { vars, cwd } => RyeBuilder::from_vars(vars.clone()).cwd(cwd),
        };
        match &self.common.project {
            Some(project) => builder.project(project.clone()),
            None => builder,
        }
    }

    /// Where the command line was typed, for the verb that works where no facade can be built.
    pub(super) fn located(&self) -> Where {
        let project = self.common.project.clone();
        match &self.surroundings {
            Surroundings::Process => located(project),
            Surroundings::Named { vars, cwd } => {
                Where { vars: vars.clone(), cwd: cwd.clone(), project }
            }
        }
    }

    fn host(&self) -> Os {
        // A process that serves one command may kill what its children leave behind.
        Os::new(matches!(self.surroundings, Surroundings::Process))
    }

    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.start)
    }
}
