//! The tools that a server offers: for an import, before there is an item.

use std::time::{Duration, Instant};

use super::http::{HttpCarrier, Remote};
use super::kept_sessions::{end, masked};
use super::session::{Carrier, Lost, Session, Talk};
use super::stdio::StdioCarrier;
use crate::base::durations::MCP_IMPORT_MS;
use crate::execute::{Mask, McpFault, RunFolders};
use crate::host::{Host, Signals, Spawn, Vars};
use crate::id::Ref;
use crate::plan::McpTool;

/// Where a server is.
pub(crate) enum McpAddress {
    Program(Box<Spawn>),
    Url(Remote),
}

/// The name and the tools of a server.
#[derive(Debug)]
pub(crate) struct McpOffer {
    /// Its name and version, without secrets.
    pub(crate) server: String,
    /// Sorted by name, each as it was said.
    pub(crate) tools: Vec<McpTool>,
    /// Tools that cannot be called, by name, and why not.
    pub(crate) left_out: Vec<(String, String)>,
    /// Lines of its standard output that are no messages, without secrets.
    pub(crate) passed_over: Vec<String>,
}

/// Asks a server for its tools, and ends it. `item` stands for it in the log.
///
/// # Errors
/// Why not, and the end of what it said on standard error, both without secrets.
pub(crate) fn offer(
    at: &McpAddress,
    host: &dyn Host,
    vars: &Vars,
    secrets: &[String],
    item: &Ref,
) -> Result<McpOffer, (McpFault, String)> {
    let failed = |why: String| (McpFault::ServerFailed { why }, String::new());
    let mask = Mask::new(secrets.iter().map(String::as_str));
    let signals = Signals::listen().map_err(|error| failed(error.to_string()))?;
    let time = Duration::from_millis(MCP_IMPORT_MS);
    let talk =
        Talk { host, vars, item, mask: &mask, until: Instant::now() + time, signals: &signals };
    let carrier: Box<dyn Carrier> = match at {
        McpAddress::Url(remote) => Box::new(HttpCarrier::new(remote.clone())),
        McpAddress::Program(spawn) => {
            let child = host.start(spawn).map_err(|error| {
                failed(format!("`{}` could not be started: {error}", spawn.program.display()))
            })?;
            Box::new(StdioCarrier::new(child, RunFolders::default()))
        }
    };
    let mut session = Session::new(carrier);
    let listed = session.greet(&talk).and_then(|()| {
        let listed = session.tools(&talk)?;
        let tools = listed.tools.values().cloned().collect();
        let left_out = listed.left_out.iter().map(|(name, why)| (mask.words(name), why.clone()));
        let left_out = left_out.collect();
        let passed_over = session.carrier.passed_over(&talk);
        Ok(McpOffer { server: mask.text(&session.server), tools, left_out, passed_over })
    });
    let tail = session.carrier.tail(&talk);
    end(vec![session]);
    listed.map_err(|lost| match lost {
        Lost::Fault(fault) | Lost::Refused(fault) => (masked(fault, &mask), tail),
        Lost::TimedOut => (McpFault::TimedOut { after: time }, tail),
        Lost::Interrupted(signal) => {
            (McpFault::ServerFailed { why: format!("signal {signal} came") }, tail)
        }
        Lost::Forgotten => (McpFault::ServerFailed { why: "it forgets its sessions".into() }, tail),
        Lost::NotStarted(error) => (McpFault::ServerFailed { why: error.to_string() }, tail),
    })
}
