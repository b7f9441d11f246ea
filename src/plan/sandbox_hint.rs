//! The next step after a tool failed with words of a refusal in its sandbox.
//!
//! Programs choose these words, so this is help and never a decision.

use super::act::{Act, McpServer};
use super::plan::Plan;
use crate::host::Net;
use crate::parse::ExecMode;

/// Words of a refused write, a path or a program that is not shown, and a refused call.
const REFUSED: [&str; 11] = [
    "Read-only file system",
    "EROFS",
    "Permission denied",
    "EACCES",
    "Operation not permitted",
    "EPERM",
    "No such file or directory",
    "ENOENT",
    "Directory nonexistent",
    ": not found",
    "command not found",
];

/// Words of a connection that did not come about.
const NET: [&str; 9] = [
    "Network is unreachable",
    "ENETUNREACH",
    "Connection refused",
    "ECONNREFUSED",
    "ailed to connect",
    "name resolution",
    "EAI_AGAIN",
    "ould not resolve host",
    "getaddrinfo",
];

/// The next step for a program that serves many calls, whose end no watcher sees.
pub(crate) const NEEDS_OF_A_SERVER: &str = "name what its program needs in the `sandbox` of the \
     item and sign it again (`rye fetch knowledge:rye/sandbox`); import an MCP server again, with \
     `--force` and `--write FOLDER/` or `--net HOSTS`";

impl Plan {
    /// The next step where a tool that failed used words of a refusal.
    pub(crate) fn sandbox_hint(&self, said: &str) -> Option<String> {
        let held = self.confinement()?;
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if !says(&REFUSED) && (held.policy.net == Net::Any || !says(&NET)) {
            return None;
        }
        let level = held.level.as_str();
        let is_part = |missing: &&String| missing.starts_with("write all of ");
        if let Some(lost) = held.missing.iter().find(is_part) {
            return Some(format!(
                "{level} cannot hold all that it declares (`{lost}` is missing); the level `bwrap` \
                 can: see `rye doctor`"
            ));
        }
        Some(match self.serves_many_calls() {
            true => format!("its sandbox ({level}) may be why: {NEEDS_OF_A_SERVER}"),
            false => format!(
                "its sandbox ({level}) may be why: let `rye learn {}`, with the same inputs, \
                 propose what it needs",
                self.item()
            ),
        })
    }

    /// Returns true if its program is kept and serves many calls.
    pub(crate) fn serves_many_calls(&self) -> bool {
        match &self.act {
            Act::Mcp(McpServer::Program(_), _) => true,
            Act::Exec(_, options) => options.mode == ExecMode::Server,
            _ => false,
        }
    }
}
