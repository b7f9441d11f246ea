//! Errors of a server, and of requests to it.

use std::path::PathBuf;

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};
use crate::host::PoolError;
use crate::id::Ref;

codes! {
    MCP_ARGUMENTS = "mcp.arguments", Usage;
    MCP_BUSY = "mcp.busy", PeerFailed;
    MCP_DEV_MODE = "mcp.dev_mode", Refused;
    MCP_IO = "mcp.io", PeerFailed;
    MCP_LISTEN = "mcp.listen", PeerFailed;
    MCP_NAME_TAKEN = "mcp.name_taken", Refused;
    MCP_OUTSIDE_ROOTS = "mcp.outside_roots", Refused;
    MCP_SIGN_REFUSED = "mcp.sign_refused", Refused;
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum McpError {
    #[error("the arguments are not what `{tool}` takes: {}", escape_line(.why))]
    Arguments { tool: String, why: String },
    #[error("too many calls wait already: {waiting}")]
    Busy { waiting: usize },
    #[error("`{}` is not a cursor that a page has given", escape_line(.cursor))]
    Cursor { cursor: String },
    #[error("dev mode is on, and an HTTP server would let others use it")]
    DevMode,
    #[error("the connection to the client failed: {source}")]
    Io { source: std::io::Error },
    #[error("cannot listen on `{}`: {}", escape_line(.at), escape_line(.why))]
    Listen { at: String, why: String },
    #[error("two tools would be called `{name}`: `{first}` and {second}")]
    NameTaken { name: String, first: Ref, second: String },
    #[error("`{}` lies outside the folders that this server was started for", escape_line(&.path.to_string_lossy()))]
    OutsideRoots { path: PathBuf, roots: Vec<PathBuf> },
    #[error("nothing was signed: {why}")]
    SignRefused { why: &'static str, help: &'static str },
}

impl From<std::io::Error> for McpError {
    fn from(source: std::io::Error) -> Self {
        Self::Io { source }
    }
}

impl From<PoolError> for McpError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Busy { waiting } => Self::Busy { waiting },
            PoolError::Thread { source } => Self::Io { source },
        }
    }
}

impl Diagnose for McpError {
    fn code(&self) -> Code {
        match self {
            Self::Arguments { .. } | Self::Cursor { .. } => MCP_ARGUMENTS,
            Self::Busy { .. } => MCP_BUSY,
            Self::DevMode => MCP_DEV_MODE,
            Self::Io { .. } => MCP_IO,
            Self::Listen { .. } => MCP_LISTEN,
            Self::NameTaken { .. } => MCP_NAME_TAKEN,
            Self::OutsideRoots { .. } => MCP_OUTSIDE_ROOTS,
            Self::SignRefused { .. } => MCP_SIGN_REFUSED,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Arguments { tool, .. } => {
                format!("give what the input schema of `{tool}` in `tools/list` says")
            }
            Self::Cursor { .. } => "begin again without a cursor".into(),
            Self::Busy { .. } => "wait for an answer, or cancel a call, and ask again".into(),
            Self::DevMode => {
                "unset RYE_DEV_MODE, or let the client start `rye mcp` itself, without `--http`"
                    .into()
            }
            Self::Io { .. } => "start the server again from the client".into(),
            Self::Listen { .. } => {
                "give a free loopback address, such as `--http 127.0.0.1:8701`".into()
            }
            Self::NameTaken { .. } => {
                "expose one of them, with a narrower pattern after `--expose`".into()
            }
            Self::OutsideRoots { roots, .. } => {
                let roots: Vec<_> =
                    roots.iter().map(|root| escape_line(&root.to_string_lossy())).collect();
                format!(
                    "name a folder within {}; a person can start the server with another `--root`",
                    roots.join(", ")
                )
            }
            Self::SignRefused { help, .. } => (*help).into(),
        })
    }
}
