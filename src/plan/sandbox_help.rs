//! The next step where a tool failed in its sandbox.

use super::act::{Act, McpServer};
use super::plan::Plan;
use crate::parse::ExecMode;

/// The next step for a program that serves many calls, whose end no watcher sees.
pub(crate) const NEEDS_OF_A_SERVER: &str = "name what its program needs in the `sandbox` of the \
     item and sign it again (`rye fetch knowledge:rye/sandbox`); import an MCP server again, with \
     `--force` and `--write FOLDER/` or `--net HOSTS`";

impl Plan {
    /// Returns how to find out what a tool that failed lacks of its sandbox; `None` without one.
    pub(crate) fn sandbox_help(&self) -> Option<String> {
        let held = self.confinement()?;
        let level = held.level.as_str();
        let is_part = |missing: &&String| missing.starts_with("write all of ");
        if let Some(lost) = held.missing.iter().find(is_part) {
            return Some(format!(
                "{level} cannot hold all that it declares (`{lost}` is missing); the level `bwrap` \
                 can: see `rye doctor`"
            ));
        }
        let next = match self.serves_many_calls() {
            true => NEEDS_OF_A_SERVER.to_owned(),
            false => format!(
                "let `rye learn {}`, with the same inputs, propose what it needs",
                self.item()
            ),
        };
        Some(format!("if its sandbox ({level}) is why, {next}"))
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
