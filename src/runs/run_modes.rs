//! The runs that the facade does not carry out itself.

use super::detached::Detaching;
use super::remote::run_on_node;
#[cfg(feature = "code")]
use super::snippets::saved_snippet;
use super::threads::{ThreadStart, Threads};
use crate::chain::Lineage;
use crate::diagnostic::Failure;
#[cfg(feature = "code")]
use crate::execute::{ExecuteError, Outcome, OutputWitness};
#[cfg(feature = "code")]
use crate::plan::{Plan, SnippetPlan};
use crate::report::{RemoteReport, Report};
#[cfg(feature = "code")]
use crate::rye::{Caller, Rye};
use crate::rye::{Loader, RemoteRun, Request, RunModes, ThreadRun, VerifiedRun, max_async};
#[cfg(feature = "code")]
use crate::trace::Sink;

/// Threads, detached and remote runs, and saved snippets.
pub(crate) struct Modes;

impl RunModes for Modes {
    fn thread(
        &self,
        loader: &Loader<'_>,
        lineage: &Lineage,
        request: &Request,
    ) -> Result<ThreadRun, Failure> {
        Threads::new(loader.rye).start(loader, lineage, request, ThreadStart::New)
    }

    fn may_detach(&self, request: &Request) -> Result<(), Failure> {
        Ok(Detaching::check(request)?)
    }

    fn detached(
        &self,
        loader: &Loader<'_>,
        request: &Request,
        run: VerifiedRun<'_>,
    ) -> Result<Report, Failure> {
        let VerifiedRun { item, params, plan, for_record, warnings } = run;
        let (rye, places) = (loader.rye, max_async(loader)?);
        Detaching { rye, request, item, params, places, warnings }.tool(plan, for_record)
    }

    fn remote(
        &self,
        loader: &Loader<'_>,
        request: &Request,
        run: RemoteRun<'_>,
    ) -> Result<RemoteReport, Failure> {
        run_on_node(loader, request, &run)
    }

    #[cfg(feature = "code")]
    fn snippet(
        &self,
        rye: &Rye,
        (plan, snippet): (&Plan, &SnippetPlan),
        caller: Caller<'_>,
        witness: Option<&OutputWitness>,
        sink: &dyn Sink,
    ) -> Result<Outcome, ExecuteError> {
        saved_snippet(rye, (plan, snippet), caller, witness, sink)
    }
}
