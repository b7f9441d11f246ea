//! Why a snippet gave nothing, and why a call of one did not.

use std::fmt;

use serde_json::{Map, Value, json};

use super::engine::{EngineError, EngineLimit, SnippetFault, Thrown};
use super::journal::PausedSnippet;
use crate::base::Mask;
use crate::base::json::object;
use crate::base::limits::{CODE_NESTED, CODE_NESTED_AT_ONCE, CODE_OPEN_BYTES};
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Diagnostic, Place, codes};

codes! {
    CODE_BUSY = "code.busy", CannotRun;
    CODE_CALL_PENDING = "code.call_pending", Refused;
    CODE_CANCELLED = "code.cancelled", CannotRun;
    CODE_CHAIN = "code.chain", Usage;
    CODE_CONFIGURATION = "code.configuration", Usage;
    CODE_FAILED = "code.failed", ToolFailed;
    CODE_INTERRUPTED = "code.interrupted", CannotRun;
    CODE_LIMIT_EXCEEDED = "code.limit_exceeded", Refused;
    CODE_NESTED_TOO_DEEP = "code.nested_too_deep", Refused;
    CODE_REPLAY_DIVERGED = "code.replay_diverged", Refused;
    CODE_RESULT_NOT_SERIALISABLE = "code.result_not_serialisable", ToolFailed;
    CODE_WORKER = "code.worker", CannotRun;
}

/// One thing that is wrong with a configuration or a request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct ConfigFault {
    /// Empty for the whole.
    pub(crate) field: String,
    pub(crate) why: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.why),
            field => write!(f, "`{}`: {}", escape_line(field), escape_line(&self.why)),
        }
    }
}

/// A limit of a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeLimit {
    Timeout,
    Engine,
    ToolCalls,
    ChainSteps,
    Memory,
    Output,
    /// The answers to a snippet, which are kept while it waits.
    Journal,
}

impl CodeLimit {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Engine => "engine",
            Self::ToolCalls => "tool_calls",
            Self::ChainSteps => "chain_steps",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Journal => "journal",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Timeout => "ms, calls included",
            Self::Engine => "ms of the engine itself",
            Self::ToolCalls => "calls of tools",
            Self::ChainSteps => "steps of a chain",
            Self::Memory => "MiB of its values",
            Self::Output => "bytes of output",
            Self::Journal => "bytes of answers to keep while it waits for a person",
        }
    }

    /// The field that sets it.
    pub(crate) fn field(self) -> Option<&'static str> {
        Some(match self {
            Self::Timeout => "timeout",
            Self::Engine => "engine_ms",
            Self::ToolCalls => "max_tool_calls",
            Self::ChainSteps => "max_chain_steps",
            Self::Memory => "max_memory_mb",
            Self::Output => "max_output_bytes",
            Self::Journal => return None,
        })
    }
}

impl From<EngineLimit> for CodeLimit {
    fn from(limit: EngineLimit) -> Self {
        match limit {
            EngineLimit::Timeout => Self::Timeout,
            EngineLimit::Engine => Self::Engine,
            EngineLimit::Memory => Self::Memory,
        }
    }
}

/// How many saved snippets there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NestedLimit {
    #[error("{CODE_NESTED} saved snippets run within each other already, which is the most")]
    Depth,
    #[error("{CODE_NESTED_AT_ONCE} saved snippets run below one already, which is the most")]
    AtOnce,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum CodeError {
    #[error("what is asked of code mode is not valid: {}", sentences(.faults))]
    Configuration { faults: Vec<ConfigFault> },
    #[error("the snippet failed: {}", escape_line(&one_line(&.0.to_string())))]
    Failed(SnippetFault),
    #[error("the snippet's result is not JSON{}: {}", pointed(.path), escape_line(.why))]
    NotSerialisable { path: String, why: String },
    #[error("the snippet came to its limit `{}`: {most} {}", .limit.as_str(), .limit.unit())]
    Limit { limit: CodeLimit, most: u64 },
    #[error("the snippet was ended by signal {signal}")]
    Interrupted { signal: i32 },
    #[error("the engine of the snippet failed: {}", escape_line(.why))]
    Worker { why: String },
    #[error("the call was ended with its snippet")]
    Cancelled,
    /// Its turn did not come.
    #[error("the call was not made, since its snippet ended before")]
    NotMade,
    #[error("too many calls of the snippet wait already: {waiting}")]
    Busy { waiting: usize },
    #[error("the open calls of the snippet have more than {} MiB of arguments", CODE_OPEN_BYTES >> 20)]
    BusyBytes,
    #[error("the chain is not valid: {}", escape_line(.why))]
    Chain { why: String },
    /// The answer of a tool holds a key that no snippet is given.
    #[error("what the call gave has a key that begins with `$serde_json::private::`")]
    PrivateKey,
    /// Of a chain that no snippet is around.
    #[error("the chain failed: {}", escape_line(&.0.message))]
    ChainFailed(Box<Thrown>),
    /// Saved snippets that run within each other, or below one.
    #[error("the snippet was not started: {}", .0)]
    Nested(NestedLimit),
    #[error("`{}` asks a person first: {}", escape_line(.tool), escape_line(.message))]
    CallPending { tool: String, id: Option<String>, message: String },
    #[error("the snippet was run again and did not call what it had called before")]
    ReplayDiverged,
    /// A snippet that waits could not be kept, or what was kept is not run.
    #[error("{}", .0.message)]
    NotKept(Box<Diagnostic>),
    /// It did not fail: it waits for a person.
    #[error("the snippet waits for a person")]
    Waits(Box<PausedSnippet>),
}

/// The lines of a message in one, such as those that say what of an argument does not fit.
fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

fn sentences(faults: &[ConfigFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn pointed(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{}`", escape_line(path)) }
}

impl CodeError {
    /// One fault of a configuration.
    pub(crate) fn configuration(field: &str, why: String) -> Self {
        Self::Configuration { faults: vec![ConfigFault { field: field.to_owned(), why }] }
    }

    /// Why an engine gave nothing; `most` is what is in force of a limit.
    pub(crate) fn of_engine(error: EngineError, most: impl Fn(CodeLimit) -> u64) -> Self {
        match error {
            EngineError::Failed(fault) => Self::Failed(fault),
            EngineError::NotSerialisable { path, why } => Self::NotSerialisable { path, why },
            EngineError::Limit(limit) => {
                let limit = CodeLimit::from(limit);
                Self::Limit { limit, most: most(limit) }
            }
            EngineError::Stopped => Self::Cancelled,
            EngineError::Worker { why } => Self::Worker { why },
        }
    }

    /// The error with masked values in the words of a snippet or of a tool.
    pub(crate) fn masked(self, mask: &Mask) -> Self {
        match self {
            Self::Failed(fault) => Self::Failed(SnippetFault {
                name: mask.words(&fault.name),
                message: mask.words(&fault.message),
                stack: fault.stack.iter().map(|call| mask.words(call)).collect(),
                ..fault
            }),
            Self::NotSerialisable { path, why } => {
                Self::NotSerialisable { path: mask.words(&path), why: mask.words(&why) }
            }
            Self::NotKept(mut told) => {
                told.message = mask.words(&told.message);
                told.data = object(mask.value(std::mem::take(&mut told.data).into()));
                told.help = told.help.take().map(|help| mask.words(&help));
                Self::NotKept(told)
            }
            Self::CallPending { tool, id, message } => {
                Self::CallPending { tool, id, message: mask.words(&message) }
            }
            Self::Worker { why } => Self::Worker { why: mask.words(&why) },
            Self::Chain { why } => Self::Chain { why: mask.words(&why) },
            other => other,
        }
    }

    /// Where in the snippet it is: line and column from 1, 0 where that is not known.
    pub(crate) fn spot(&self) -> (u32, u32) {
        match self {
            Self::Failed(fault) => (fault.line, fault.column),
            _ => (0, 0),
        }
    }

    pub(crate) fn stack(&self) -> &[String] {
        match self {
            Self::Failed(fault) => &fault.stack,
            _ => &[],
        }
    }
}

impl Diagnose for CodeError {
    fn code(&self) -> Code {
        match self {
            Self::Configuration { .. } => CODE_CONFIGURATION,
            Self::Failed(_) | Self::ChainFailed(_) => CODE_FAILED,
            Self::NotSerialisable { .. } => CODE_RESULT_NOT_SERIALISABLE,
            Self::Limit { .. } => CODE_LIMIT_EXCEEDED,
            Self::Interrupted { .. } => CODE_INTERRUPTED,
            Self::Worker { .. } => CODE_WORKER,
            Self::Cancelled | Self::NotMade => CODE_CANCELLED,
            Self::Busy { .. } | Self::BusyBytes => CODE_BUSY,
            Self::Chain { .. } => CODE_CHAIN,
            Self::PrivateKey => CODE_RESULT_NOT_SERIALISABLE,
            Self::CallPending { .. } | Self::Waits(_) => CODE_CALL_PENDING,
            Self::Nested(_) => CODE_NESTED_TOO_DEEP,
            Self::ReplayDiverged => CODE_REPLAY_DIVERGED,
            Self::NotKept(told) => told.code,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Configuration { .. } => {
                "mend each of them; `rye fetch knowledge:rye/code` lists the fields and limits"
                    .into()
            }
            Self::Failed(fault) => fault
                .help
                .unwrap_or("mend the snippet there; `--json` has what it called and printed before")
                .into(),
            Self::ChainFailed(thrown) => match thrown.data["help"].as_str() {
                Some(help) => help.to_owned(),
                None => format!("`rye explain {}` says what can be the matter", thrown.code),
            },
            Self::NotSerialisable { path, why } if path.is_empty() && why == "a function" => {
                "call the function that it ends with: `await (async () => { … })()`".into()
            }
            Self::NotSerialisable { .. } => {
                "assign plain values to `__out`: objects, lists, texts, numbers".into()
            }
            Self::Limit { limit, .. } => match limit.field() {
                Some(field) => format!(
                    "do less in one snippet, or set `{field}` in `config:execution/code` of your \
                     user space"
                ),
                None => "call what changes something earlier, or in a snippet of its own".into(),
            },
            Self::ReplayDiverged => {
                "nothing more of it ran; `tool_calls` says what did, so go on from there in a new \
                 snippet"
                    .into()
            }
            Self::NotKept(told) => return told.help.clone(),
            Self::Waits(_) => "a person decides it with `rye pending`".into(),
            Self::Interrupted { .. } => "nothing of it is left running".into(),
            Self::Worker { .. } => {
                "run it again; if it fails each time, `rye doctor` says what works here".into()
            }
            Self::Cancelled | Self::NotMade => {
                "the error of the result says what ended the snippet".into()
            }
            Self::Busy { .. } | Self::BusyBytes => {
                "await some of the calls before making more".into()
            }
            Self::Nested(NestedLimit::Depth) => {
                "see which of them calls itself by way of the others, and let it call less".into()
            }
            Self::Nested(NestedLimit::AtOnce) => {
                "await some of the calls before making more".into()
            }
            Self::PrivateKey => "let the tool name that key otherwise".into(),
            Self::Chain { .. } => {
                "each step is `{tool_id, args, use_previous, previous_as, previous_path}`".into()
            }
            Self::CallPending { id, .. } => match id {
                Some(id) => format!(
                    "run the tool by itself; what it asks now is shown by `rye pending show {}`",
                    escape_line(id)
                ),
                None => "run the tool by itself".into(),
            },
        })
    }

    fn place(&self) -> Option<Place> {
        let (line, column) = self.spot();
        (line > 0).then(|| Place {
            path: "snippet".into(),
            line: usize::try_from(line).ok(),
            column: usize::try_from(column).ok().filter(|column| *column > 0),
            ..Place::default()
        })
    }

    fn data(&self) -> Map<String, Value> {
        object(match self {
            Self::Configuration { faults } => json!({"faults": faults}),
            Self::Limit { limit, most } => json!({"limit": limit.as_str(), "most": most}),
            Self::NotSerialisable { path, .. } => json!({"path": path}),
            Self::CallPending { id, .. } => json!({"pending_id": id}),
            Self::NotKept(told) => told.data.clone().into(),
            Self::ChainFailed(thrown) => {
                json!({"code": thrown.code, "tool_id": thrown.tool, "data": thrown.data})
            }
            _ => Value::Null,
        })
    }

    fn signal(&self) -> Option<i32> {
        match self {
            Self::Interrupted { signal } => Some(*signal),
            _ => None,
        }
    }
}
