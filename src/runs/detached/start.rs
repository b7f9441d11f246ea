//! The caller's side: what was verified gets a process, or waits for a place.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::error::DetachError;
use super::process;
use super::request::{DetachedRequest, RunPlace, VerifiedParts};
use crate::base::limits::DETACHED_REQUEST_BYTES;
use crate::diagnostic::Failure;
use crate::host::is_below_a_run;
use crate::id::{Ref, Space};
use crate::plan::{Plan, PlanFile};
use crate::registry::Registry;
use crate::report::{DetachedReport, Report, Warned};
use crate::rye::{Request, Rye};
use crate::space::Root;
use crate::thread::{ThreadId, new_uuid};
use crate::verify::KeyError;

/// A run that was verified and is to have a process of its own.
pub(crate) struct Detaching<'a> {
    pub(crate) rye: &'a Rye,
    pub(crate) request: &'a Request,
    pub(crate) item: Ref,
    /// The parameters as they were verified.
    pub(crate) params: Map<String, Value>,
    /// So many run at once.
    pub(crate) places: u64,
    pub(crate) warnings: Vec<Warned>,
}

impl Detaching<'_> {
    /// Refuses to detach a run below another run.
    ///
    /// # Errors
    /// `async.below_a_run`
    pub(crate) fn check(request: &Request) -> Result<(), DetachError> {
        let is_for_another = request.origin.thread.is_some() || request.origin.grants.is_some();
        match is_for_another || is_below_a_run() {
            true => Err(DetachError::BelowARun),
            false => Ok(()),
        }
    }

    /// Detaches the run of a tool.
    ///
    /// # Errors
    /// `async.*`, `registry.*`, `key.missing`
    pub(crate) fn tool(self, plan: &Plan, for_record: bool) -> Result<Report, Failure> {
        let text = String::from_utf8(PlanFile::write(plan, false)?);
        let text = text.map_err(|error| DetachError::CannotStart { why: error.to_string() })?;
        let id = self.request.origin.served.clone().map_or_else(new_uuid, Ok);
        let id = id.map_err(|error| DetachError::CannotStart { why: error.to_string() })?;
        self.go(id, VerifiedParts::Plan(text), for_record)
    }

    /// Detaches a thread, of which this was verified.
    ///
    /// # Errors
    /// `async.*`, `registry.*`, `key.missing`
    pub(crate) fn thread(self, id: &ThreadId, verified: Value) -> Result<Report, Failure> {
        self.go(id.to_string(), VerifiedParts::Thread(verified), false)
    }

    fn go(self, id: String, verified: VerifiedParts, for_record: bool) -> Result<Report, Failure> {
        let user = self.rye.spaces().get(Space::User).ok_or(KeyError::Missing)?.base().to_owned();
        let at = self.rye.located();
        let project = at.project.as_ref().map(|project| at.cwd.join(project));
        let (cwd, item) = (at.cwd.clone(), self.item.to_string());
        let (base, places) = (state_base(self.rye), self.places);
        let place = RunPlace { id: id.clone(), user: user.clone(), base, cwd, project, places };
        let params = self.params.clone();
        let told =
            DetachedRequest::new(place, self.request, item.clone(), params, verified, for_record);
        let told = serde_json::to_string(&told);
        let told = told.map_err(|error| DetachError::CannotStart { why: error.to_string() })?;
        if told.len() as u64 > DETACHED_REQUEST_BYTES {
            let why = format!("the request has more than {} MiB", DETACHED_REQUEST_BYTES >> 20);
            return Err(DetachError::CannotStart { why }.into());
        }
        // A fault of the registry has its own code.
        Registry::open(&user)?;
        let pid = process::start(&at.vars, &at.cwd, &told)?;
        let mode = self.request.thread.to_string();
        let (item, warnings) = (self.item, self.warnings);
        let report = DetachedReport { item, thread_id: id, execution_mode: mode, pid, warnings };
        Ok(Report::Detached(Box::new(report)))
    }
}

/// The folder that holds the `.ai` of what a run or a thread writes.
pub(crate) fn state_base(rye: &Rye) -> PathBuf {
    // The folder of what a caller of this node sent goes when the run is over.
    let is_kept = |root: &&Root| root.exists() && !rye.project().is_guest();
    let project = rye.spaces().get(Space::Project).filter(is_kept);
    let root = project.or_else(|| rye.spaces().get(Space::User));
    root.map(|root| root.base().to_owned()).unwrap_or_default()
}
