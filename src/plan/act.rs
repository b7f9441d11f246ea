//! The act that a plan asks for.

use serde_json::{Map, Value};

use super::exec::ExecOptions;
use super::http::HttpPlan;
use super::mcp::McpTool;
use super::process::Process;
#[cfg(feature = "code")]
use super::snippet::SnippetPlan;
use super::template_context::TemplateContext;

/// The act at the end of a chain, with the data that only this act has.
pub(crate) enum Act {
    /// A process that is started, and read to its end.
    Process(Process),
    /// A program that speaks the exec protocol, and how.
    Exec(Process, ExecOptions),
    Http(HttpPlan),
    /// One tool of an MCP server.
    Mcp(McpServer, McpTool),
    /// A snippet that calls tools.
    #[cfg(feature = "code")]
    Code(SnippetPlan),
}

/// How an MCP server is reached.
pub(crate) enum McpServer {
    Program(Process),
    Url(HttpPlan),
}

impl Act {
    /// The process that is started, if one is.
    pub(super) fn process(&self) -> Option<&Process> {
        match self {
            Self::Process(process)
            | Self::Exec(process, _)
            | Self::Mcp(McpServer::Program(process), _) => Some(process),
            Self::Http(_) | Self::Mcp(McpServer::Url(_), _) => None,
            #[cfg(feature = "code")]
            Self::Code(_) => None,
        }
    }

    /// This act's part of the plan as data.
    pub(super) fn document(&self, context: &TemplateContext) -> Map<String, Value> {
        let mut out = match self {
            Self::Process(process)
            | Self::Exec(process, _)
            | Self::Mcp(McpServer::Program(process), _) => process.document(context),
            Self::Http(http) | Self::Mcp(McpServer::Url(http), _) => http.to_json(),
            #[cfg(feature = "code")]
            Self::Code(snippet) => snippet.document(),
        };
        match self {
            Self::Exec(_, options) => drop(out.insert("exec".into(), options.to_json())),
            Self::Mcp(_, tool) => drop(out.insert("mcp".into(), tool.to_json())),
            Self::Process(_) | Self::Http(_) => {}
            #[cfg(feature = "code")]
            Self::Code(_) => {}
        }
        out
    }
}
