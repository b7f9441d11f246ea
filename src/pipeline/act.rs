//! The one place that chooses what carries out a plan: its act says which.

use std::path::Path;

use serde_json::Value;

use super::rye::Rye;
use crate::exec::Servers;
use crate::execute::{ExecuteError, Outcome, OutputWitness, RunContext, http_request, subprocess};
use crate::host::PrivateDir;
use crate::mcp_client::Sessions;
use crate::plan::{Act, Plan};
use crate::trace::Sink;

/// The programs and MCP servers that serve many calls. Several facades may share it; what it keeps
/// ends when it is dropped.
#[derive(Default)]
pub(crate) struct KeptServers {
    exec: Servers,
    mcp: Sessions,
}

impl Rye {
    /// Carries out a plan.
    ///
    /// # Errors
    /// `execute.*`, `protocol.*`, `mcp.*`
    pub(super) fn execute(
        &self,
        plan: &Plan,
        witness: Option<&OutputWitness>,
        approval: Option<&Value>,
        sink: &dyn Sink,
    ) -> Result<Outcome, ExecuteError> {
        let fallback = self.user_base().map(PrivateDir::home);
        let running = self.running(fallback.as_deref(), witness, approval, sink);
        match plan.act() {
            Act::Process(process) => subprocess(plan, process, &running),
            Act::Exec(process, spoken) => self.servers.exec.call(plan, process, spoken, &running),
            Act::Http(http) => http_request(plan, &http.request, &running),
            Act::Mcp(server, tool) => self.servers.mcp.call(plan, server, tool, &running),
        }
    }

    /// What an act may use.
    pub(super) fn running<'a>(
        &'a self,
        pin_fallback: Option<&'a Path>,
        witness: Option<&'a OutputWitness>,
        approval: Option<&'a Value>,
        sink: &'a dyn Sink,
    ) -> RunContext<'a> {
        let (vars, runtime) = (&self.at.vars, self.runtime_folder());
        RunContext { host: self.host(), vars, runtime, pin_fallback, sink, approval, witness }
    }
}
