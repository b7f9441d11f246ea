//! The one place that chooses what carries out a plan: its act says which.

use std::path::{Path, PathBuf};

use super::approvals::Approval;
use super::facade::Rye;
use super::request::Request;
use super::run::Runs;
use crate::exec_protocol::Servers;
use crate::execute::{
    ExecuteError, Outcome, OutputWitness, RunContext, ToolFailure, http_request, subprocess,
};
use crate::host::PrivateDir;
use crate::id::Space;
use crate::mcp_client::Sessions;
use crate::plan::{Act, Plan, misfits};
use crate::trace::Sink;

/// The programs and MCP servers that serve many calls. Several facades may share it; what it keeps
/// ends when it is dropped.
#[derive(Default)]
pub(crate) struct KeptServers {
    exec: Servers,
    mcp: Sessions,
}

/// Whose run it is.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) request: &'a Request,
    pub(crate) run_id: &'a str,
    /// The plan was made for the record.
    #[cfg_attr(not(feature = "code"), expect(dead_code, reason = "only snippets need it"))]
    pub(crate) for_record: bool,
    /// A person may be asked in its midst; it is run again then, once they decided.
    #[cfg_attr(not(feature = "code"), expect(dead_code, reason = "only snippets need it"))]
    pub(crate) can_wait: bool,
}

impl Runs<'_> {
    /// Carries out a plan.
    ///
    /// # Errors
    /// `execute.*`, `protocol.*`, `mcp.*`, `code.*`
    pub(super) fn execute(
        self,
        plan: &Plan,
        caller: Caller<'_>,
        witness: Option<&OutputWitness>,
        sink: &dyn Sink,
    ) -> Result<Outcome, ExecuteError> {
        let approval = caller.request.origin.approval.as_ref().map(Approval::to_json);
        let approval = approval.as_ref();
        let (fallback, servers) = (pin_fallback(self.rye), &self.rye.servers);
        let running = run_context(self.rye, fallback.as_deref(), sink);
        let running = RunContext { approval, witness, ..running };
        let mut outcome = match plan.act() {
            Act::Process(process) => subprocess(plan, process, &running),
            Act::Exec(process, options) => servers.exec.call(plan, process, options, &running),
            Act::Http(http) => http_request(plan, &http.request, &running),
            Act::Mcp(server, tool) => servers.mcp.call(plan, server, tool, &running),
            #[cfg(feature = "code")]
            Act::Code(snippet) => {
                self.rye.modes.snippet(self.rye, (plan, snippet), caller, witness, sink)
            }
        }?;
        if outcome.failure.is_none()
            && outcome.pending.is_none()
            && let Some(schema) = &plan.output_schema
            && let Some(why) =
                misfits(schema, &outcome.data).map_or_else(Some, |all| all.into_iter().next())
        {
            let message = format!("what it gave does not fit its `output_schema`: {why}");
            let (tail, of) = (String::new(), "stderr_tail");
            outcome.failure = Some(ToolFailure { message, tail, of });
        }
        Ok(outcome)
    }
}

/// Where the private folder of a run goes where the session has none.
pub(crate) fn pin_fallback(rye: &Rye) -> Option<PathBuf> {
    rye.spaces.get(Space::User).map(|user| PrivateDir::home(user.base()))
}

/// The context of an act.
pub(crate) fn run_context<'a>(
    rye: &'a Rye,
    pin_fallback: Option<&'a Path>,
    sink: &'a dyn Sink,
) -> RunContext<'a> {
    RunContext {
        host: rye.host(),
        vars: &rye.at.vars,
        runtime: rye.runtime.as_deref(),
        pin_fallback,
        sink,
        approval: None,
        witness: None,
    }
}
