//! Runs that the layer above the facade carries out: threads, detached runs and saved snippets.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

#[cfg(feature = "code")]
use super::carry_out::Caller;
#[cfg(feature = "code")]
use super::facade::Rye;
use super::load::Loader;
use super::request::Request;
use crate::chain::Lineage;
use crate::diagnostic::Failure;
#[cfg(feature = "code")]
use crate::execute::{ExecuteError, Outcome, OutputWitness};
use crate::id::Ref;
use crate::parse::RemoteFiles;
use crate::plan::Plan;
#[cfg(feature = "code")]
use crate::plan::SnippetPlan;
use crate::report::{CheckedThread, RemoteReport, Report, Warned};
#[cfg(feature = "code")]
use crate::trace::Sink;
use crate::verify::Source;

/// Carries out the runs that need more than one call. A [`Rye`](super::Rye) is built with one.
pub(crate) trait RunModes: Send + Sync {
    /// Runs a directive as a thread; of a dry run everything but the start is done.
    ///
    /// # Errors
    /// `thread.*`, `provider.*`, `key.*`, `registry.*`
    fn thread(
        &self,
        loader: &Loader<'_>,
        lineage: &Lineage,
        request: &Request,
    ) -> Result<ThreadRun, Failure>;

    /// # Errors
    /// `async.below_a_run`
    fn may_detach(&self, request: &Request) -> Result<(), Failure>;

    /// Gives the run of a tool a process of its own.
    ///
    /// # Errors
    /// `async.*`, `registry.*`, `key.missing`
    fn detached(
        &self,
        loader: &Loader<'_>,
        request: &Request,
        run: VerifiedRun<'_>,
    ) -> Result<Report, Failure>;

    /// Lets a node run an item that was verified.
    ///
    /// # Errors
    /// `remote.*`, `store.*`, `registry.*`, `key.*`
    fn remote(
        &self,
        loader: &Loader<'_>,
        request: &Request,
        run: RemoteRun<'_>,
    ) -> Result<RemoteReport, Failure>;

    /// Runs a saved snippet.
    ///
    /// # Errors
    /// `code.*`, `execute.timeout`
    #[cfg(feature = "code")]
    fn snippet(
        &self,
        rye: &Rye,
        snippet: (&Plan, &SnippetPlan),
        caller: Caller<'_>,
        witness: Option<&OutputWitness>,
        sink: &dyn Sink,
    ) -> Result<Outcome, ExecuteError>;
}

/// The result of running a directive as a thread.
pub(crate) enum ThreadRun {
    Ran(Box<Report>),
    /// It would start.
    Checked(Box<CheckedThread>),
}

/// The run of an item that was verified, and is a node's to carry out.
pub(crate) struct RemoteRun<'a> {
    /// The name of the remote.
    pub(crate) remote: &'a str,
    /// The parameters as they were verified.
    pub(crate) params: Map<String, Value>,
    pub(crate) parts: &'a RemoteParts,
    /// A hook may withhold or replace the answer.
    pub(crate) is_judged: bool,
    /// Asks the hooks of this machine about the answer, before any of it is kept.
    pub(crate) judge: &'a dyn Fn(&mut RemoteReport) -> Result<(), Failure>,
}

/// The parts of an item that go to a node with a run of it.
pub(crate) struct RemoteParts {
    pub(crate) item: Ref,
    /// The links that the item runs through, itself first, with its modules.
    pub(crate) sources: Vec<Source>,
    /// The names of the secrets that it asks for.
    pub(crate) secrets: BTreeSet<String>,
    pub(crate) files: RemoteFiles,
}

/// The run of a tool that was verified, and is to be detached.
pub(crate) struct VerifiedRun<'a> {
    pub(crate) item: Ref,
    /// The parameters as they were verified.
    pub(crate) params: Map<String, Value>,
    pub(crate) plan: &'a Plan,
    pub(crate) for_record: bool,
    pub(crate) warnings: Vec<Warned>,
}
