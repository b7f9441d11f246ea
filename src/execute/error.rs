//! Why a plan did not come to its end.

use std::io;
use std::path::PathBuf;

use super::mcp_fault::McpFault;
use super::new_repositories::{Aftermath, new_repositories_text};
use super::protocol_fault::ProtocolFault;
use crate::base::text::escape_line;
use crate::base::time::time_text;
use crate::diagnostic::{Code, Diagnose, codes};
#[cfg(feature = "code")]
use crate::diagnostic::{Failure, Place};
use crate::host::{NetFault, PrivateDirError, SANDBOX_FAILED};
use crate::id::Ref;
use crate::plan::{EXECUTE_TIMEOUT, TimeLimit};

codes! {
    EXECUTE_TOOL_FAILED = "execute.tool_failed", ToolFailed;
    EXECUTE_INTERRUPTED = "execute.interrupted", CannotRun;
    EXECUTE_SPAWN = "execute.spawn", CannotRun;
    EXECUTE_HTTP = "execute.http", CannotRun;
    EXECUTE_PIN = "execute.pin", CannotRun;
    MCP_BAD_ANSWER = "mcp.bad_answer", PeerFailed;
    MCP_OUTPUT_SCHEMA = "mcp.output_schema", PeerFailed;
    MCP_SERVER_FAILED = "mcp.server_failed", PeerFailed;
    MCP_TOOL_CHANGED = "mcp.tool_changed", Refused;
    MCP_UNAUTHORIZED = "mcp.unauthorized", PeerFailed;
    PROTOCOL_BAD_RESPONSE = "protocol.bad_response", PeerFailed;
    PROTOCOL_BAD_SCORE = "protocol.bad_score", PeerFailed;
    PROTOCOL_EMPTY_RESPONSE = "protocol.empty_response", PeerFailed;
    PROTOCOL_OUTPUT_TOO_LARGE = "protocol.output_too_large", PeerFailed;
    PROTOCOL_PENDING_AGAIN = "protocol.pending_again", PeerFailed;
    PROTOCOL_REQUEST_TOO_LARGE = "protocol.request_too_large", PeerFailed;
    PROTOCOL_SERVER_EXITED = "protocol.server_exited", PeerFailed;
    PROTOCOL_SERVER_UNSTABLE = "protocol.server_unstable", PeerFailed;
    PROTOCOL_TIMEOUT = "protocol.timeout", PeerFailed;
}

/// The system's error for a file that it cannot start: a script without a first line that names its
/// interpreter.
const NO_FORMAT: i32 = rustix::io::Errno::NOEXEC.raw_os_error();

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ExecuteError {
    #[error("`{item}` did not end within {} and was stopped", time_text(.limit.time()))]
    Timeout { item: Ref, limit: TimeLimit, stderr_tail: String, after: Box<Aftermath> },
    #[error("`{item}` was stopped by signal {signal}")]
    Interrupted { item: Ref, signal: i32 },
    #[error("`{}` could not be started for `{item}`: {source}", .program.display())]
    Spawn { item: Ref, program: PathBuf, source: io::Error },
    #[error("`{item}`: {source}")]
    PrivateDir { item: Ref, source: PrivateDirError },
    #[error("`{item}`: `{}` {fault}", escape_line(.origin))]
    Http { item: Ref, origin: String, fault: HttpFault },
    #[error("`{item}` {fault}")]
    Protocol {
        item: Ref,
        fault: ProtocolFault,
        /// The last of what the program said on standard error.
        stderr_tail: String,
        after: Box<Aftermath>,
    },
    #[error("`{item}` {fault}")]
    Mcp { item: Ref, fault: McpFault, stderr_tail: String },
    #[error("`{item}` was not started: its sandbox could not be made: {}", escape_line(.why))]
    Sandbox { item: Ref, why: String },
    #[error("what `{item}` made is not taken over: {}", escape_line(&.source.to_string()))]
    NewItems { item: Ref, source: io::Error },
    /// A snippet that is a tool gave nothing.
    #[cfg(feature = "code")]
    #[error("{0}")]
    Snippet(Failure),
    #[error("the git index of `{item}` is not taken over: {}", escape_line(&.source.to_string()))]
    GitIndex { item: Ref, source: io::Error },
}

/// Why a request came to no answer; to stand behind the server's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFault {
    #[error("{}", .0.clause())]
    Net(NetFault),
    #[error("redirects to `{}`, another server, which is not followed: the request carries what is meant for this one", escape_line(.to))]
    ForeignRedirect { to: String },
    #[error("redirects to `{}`, which is not encrypted", escape_line(.to))]
    WeakerRedirect { to: String },
    #[error("redirects to something that is not a valid `http` or `https` URL")]
    BadRedirect,
    #[error("redirects more often than the tool allows")]
    TooManyRedirects,
}

fn http_help(fault: &HttpFault) -> &'static str {
    match fault {
        HttpFault::Net(NetFault::NoNetwork) => {
            "use a rye that was built with the feature `http`, which is the default"
        }
        HttpFault::Net(NetFault::Certificates(_)) => {
            "install the machine's root certificates (`ca-certificates`), or set SSL_CERT_FILE"
        }
        HttpFault::Net(NetFault::Tls(_)) => {
            "if the server is right, give its issuer's certificate in SSL_CERT_FILE"
        }
        HttpFault::Net(NetFault::Proxy(_)) => {
            "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY in your environment"
        }
        HttpFault::Net(_) => "see whether the server is there and this machine may reach it",
        _ => "if that is where it is now, change `config.url` in the tool and sign it",
    }
}

/// The next step, with the repositories that the program made.
fn with(help: String, after: &Aftermath) -> String {
    match new_repositories_text(&after.new_repositories) {
        Some(made) => format!("{help}; {made}"),
        None => help,
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl ExecuteError {
    /// The item that ran; not of an error that names it by itself.
    #[cfg_attr(
        not(feature = "code"),
        expect(clippy::unnecessary_wraps, reason = "as with snippets")
    )]
    fn own_item(&self) -> Option<&Ref> {
        match self {
            Self::Timeout { item, .. }
            | Self::Interrupted { item, .. }
            | Self::Spawn { item, .. }
            | Self::Http { item, .. }
            | Self::Protocol { item, .. }
            | Self::Mcp { item, .. }
            | Self::Sandbox { item, .. }
            | Self::NewItems { item, .. }
            | Self::GitIndex { item, .. }
            | Self::PrivateDir { item, .. } => Some(item),
            #[cfg(feature = "code")]
            Self::Snippet(_) => None,
        }
    }
}

impl Diagnose for ExecuteError {
    fn code(&self) -> Code {
        match self {
            Self::Timeout { .. } => EXECUTE_TIMEOUT,
            Self::Interrupted { .. } => EXECUTE_INTERRUPTED,
            Self::Spawn { .. } => EXECUTE_SPAWN,
            Self::PrivateDir { .. } => EXECUTE_PIN,
            Self::Http { .. } => EXECUTE_HTTP,
            Self::Protocol { fault, .. } => fault.code(),
            Self::Mcp { fault, .. } => fault.code(),
            Self::Sandbox { .. } => SANDBOX_FAILED,
            Self::NewItems { .. } | Self::GitIndex { .. } => EXECUTE_TOOL_FAILED,
            #[cfg(feature = "code")]
            Self::Snippet(failure) => failure.reason(),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            #[cfg(feature = "code")]
            Self::Snippet(failure) => return failure.help(),
            Self::Timeout { limit, after, .. } => with(limit.help("config.timeout"), after),
            Self::Http { fault, .. } => http_help(fault).into(),
            Self::Protocol { fault, after, .. } => with(fault.help(), after),
            Self::Mcp { fault, .. } => fault.help().into(),
            Self::NewItems { .. } => {
                "a tool makes regular files that are not there yet, in the folder that \
                 `RYE_NEW_ITEMS` names; see `rye fetch knowledge:rye/sandbox`"
                    .into()
            }
            Self::GitIndex { .. } => {
                "the index is as it was before the run, and what the tool committed stays \
                 committed: see `git log`; if the branch moved, `git reset` brings the index to it \
                 and leaves your files as they are"
                    .into()
            }
            Self::Sandbox { .. } => {
                "see what works here with `rye doctor`; `--sandbox landlock` takes the other level"
                    .into()
            }
            Self::Interrupted { .. } => "nothing of it is left running".into(),
            Self::Spawn { source, .. } if source.raw_os_error() == Some(NO_FORMAT) => {
                "its first line must name what reads it, such as `#!/bin/sh`; mend it and sign the tool"
                    .into()
            }
            Self::Spawn { .. } => {
                "see whether the program runs by itself; `rye doctor` lists the usual ones".into()
            }
            Self::PrivateDir { source, .. } if is_full(&source.source) => {
                "make room there, or set XDG_RUNTIME_DIR to a folder of yours that has some and is closed to others".into()
            }
            Self::PrivateDir { .. } => {
                "set XDG_RUNTIME_DIR, or HOME, to a folder of yours that is closed to others".into()
            }
        })
    }

    fn item(&self) -> Option<String> {
        #[cfg(feature = "code")]
        if let Self::Snippet(failure) = self {
            return failure.inner().item();
        }
        self.own_item().map(ToString::to_string)
    }

    #[cfg(feature = "code")]
    fn place(&self) -> Option<Place> {
        match self {
            Self::Snippet(failure) => failure.inner().place(),
            _ => None,
        }
    }

    fn signal(&self) -> Option<i32> {
        match self {
            Self::Interrupted { signal, .. } => Some(*signal),
            #[cfg(feature = "code")]
            Self::Snippet(failure) => failure.interrupted(),
            _ => None,
        }
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        #[cfg(feature = "code")]
        if let Self::Snippet(failure) = self {
            return failure.inner().data();
        }
        let mut data = serde_json::Map::new();
        if let Self::Timeout { stderr_tail, .. }
        | Self::Protocol { stderr_tail, .. }
        | Self::Mcp { stderr_tail, .. } = self
        {
            data.insert("stderr_tail".into(), stderr_tail.clone().into());
        }
        let limit = match self {
            Self::Timeout { limit, .. } => Some(limit),
            Self::Protocol { fault, .. } => fault.limit(),
            _ => None,
        };
        if let Self::Timeout { after, .. } | Self::Protocol { after, .. } = self {
            data.extend(after.to_json());
        }
        data.extend(limit.map(|limit| ("limit".to_owned(), limit.to_json())));
        if let Self::Mcp { fault, .. } = self {
            data.extend(fault.data().map(|changes| ("changes".to_owned(), changes)));
        }
        data
    }
}
