//! The faults of a tool of an MCP server.

use serde_json::{Value, json};

use super::error::{
    MCP_BAD_ANSWER, MCP_OUTPUT_SCHEMA, MCP_SERVER_FAILED, MCP_TOOL_CHANGED, MCP_UNAUTHORIZED,
};
use crate::base::text::brief_line;
use crate::base::time::time_text;
use crate::diagnostic::Code;
use crate::plan::EXECUTE_TIMEOUT;

/// One field of a tool that is another one than was signed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolChange {
    /// A pointer, such as `input_schema/properties/zone`.
    pub(crate) field: String,
    /// `None` where it was not there.
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
}

impl ToolChange {
    fn side(value: Option<&Value>) -> String {
        match value {
            None => "nothing".into(),
            Some(Value::String(text)) => format!("\"{}\"", brief_line(text)),
            Some(other) => brief_line(&other.to_string()),
        }
    }

    fn sentence(&self) -> String {
        let (old, new) = (Self::side(self.old.as_ref()), Self::side(self.new.as_ref()));
        format!("`{}` was {old} and is {new}", brief_line(&self.field))
    }

    fn to_json(&self) -> Value {
        json!({"field": self.field, "old": self.old, "new": self.new})
    }
}

/// Why an MCP server's tool was not called, or gave nothing; a clause to stand behind a name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum McpFault {
    #[error("was not called: its server's tool `{}` is another one than was signed: {}", brief_line(.tool), sentences(.changes))]
    ToolChanged { tool: String, changes: Vec<ToolChange> },
    #[error("cannot be asked at its MCP server: {}", brief_line(.why))]
    ServerFailed { why: String },
    /// `oauth` is where the server says what its OAuth is like, if it does.
    #[error("cannot be asked at its MCP server: {}", unauthorized(.origin, *.has_token, .oauth.as_deref()))]
    Unauthorized { origin: String, has_token: bool, oauth: Option<String> },
    #[error("got something that is not a valid answer of an MCP server: {}", brief_line(.why))]
    BadAnswer { why: String },
    #[error("was answered what its output schema does not allow: {}", brief_line(.why))]
    OutputSchema { why: String },
    #[error("did not answer within {}", time_text(*.after))]
    TimedOut { after: std::time::Duration },
    /// A failure after the call was sent.
    #[error("{0}; the call was sent, and may have been carried out")]
    AfterCall(Box<Self>),
}

/// The first of them; all are in the data.
fn sentences(changes: &[ToolChange]) -> String {
    let mut said: Vec<String> = changes.iter().take(3).map(ToolChange::sentence).collect();
    if changes.len() > said.len() {
        said.push(format!("and {} more", changes.len() - said.len()));
    }
    said.join("; ")
}

fn unauthorized(origin: &str, has_token: bool, oauth: Option<&str>) -> String {
    let asks = match oauth {
        Some(place) => {
            format!(
                "{origin} asks for OAuth (`{}`), for which rye has no log-in",
                brief_line(place)
            )
        }
        None => format!("{origin} asks for a token (status 401)"),
    };
    match has_token {
        true => format!("{asks}; it does not take the token that it was sent"),
        false => format!("{asks}; it was sent none"),
    }
}

impl McpFault {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::ToolChanged { .. } => MCP_TOOL_CHANGED,
            Self::ServerFailed { .. } => MCP_SERVER_FAILED,
            Self::Unauthorized { .. } => MCP_UNAUTHORIZED,
            Self::BadAnswer { .. } => MCP_BAD_ANSWER,
            Self::OutputSchema { .. } => MCP_OUTPUT_SCHEMA,
            Self::TimedOut { .. } => EXECUTE_TIMEOUT,
            Self::AfterCall(fault) => fault.code(),
        }
    }

    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::ToolChanged { .. } => {
                "read what changed; if you want it, import it again with `rye import mcp --force`"
            }
            Self::ServerFailed { .. } => {
                "see what it said last, or run it by hand; what it may touch is in the item's `sandbox`; where its certificate is not believed, give its issuer's in SSL_CERT_FILE"
            }
            Self::Unauthorized { .. } => {
                "get a token from whoever runs the server and put it into a variable, say MCP_TOKEN; in the item write `secrets: [MCP_TOKEN]`, and below `config` `auth: {type: bearer, secret: MCP_TOKEN}`; `rye import mcp --secret MCP_TOKEN` writes both"
            }
            Self::BadAnswer { .. } => {
                "see whether it is an MCP server that speaks over this transport, and tell its makers"
            }
            Self::OutputSchema { .. } => "tell the makers of the server; the call itself was made",
            Self::TimedOut { .. } => {
                "if it needs longer, set `timeout` in the tool's own signed `config`"
            }
            Self::AfterCall(_) => {
                "see what the call did before you make it again, and what the server said last"
            }
        }
    }

    /// Every change, whole.
    pub(super) fn data(&self) -> Option<Value> {
        let Self::ToolChanged { changes, .. } = self else { return None };
        Some(changes.iter().map(ToolChange::to_json).collect())
    }
}
