//! The tools that a snippet may reach.

use serde_json::{Map, Value};

use super::error::CodeError;
use super::journal::{AskedCall, Asks, PausedSnippet, Verdict};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::{Grants, Kind, Query, Ref};

/// The functions by which a snippet finds, reads about and runs tools.
///
/// Several threads call it at once. What runs is ended by a signal to its own thread when the
/// snippet ends, as rye ends it when it is asked to end.
pub trait Tools: Sync {
    /// Runs a tool and waits for what it gives.
    ///
    /// # Errors
    /// The error that is thrown in the snippet: above all that the tool is not among `call.reach`.
    fn run_tool(&self, call: ToolCall<'_>) -> Result<ToolAnswer, ToolFault>;

    /// The tools that are found by words, at most `limit`, all of them in reach.
    ///
    /// # Errors
    /// The error that is thrown in the snippet.
    fn search_tools(
        &self,
        query: &str,
        limit: Option<usize>,
        reach: &SnippetReach,
    ) -> Result<Value, ToolFault>;

    /// The first segments of the ids in reach, with how many tools each has.
    ///
    /// # Errors
    /// The error that is thrown in the snippet.
    fn list_namespaces(&self, reach: &SnippetReach) -> Result<Value, ToolFault>;

    /// Describes a tool in reach; `level` is `summary`, `schema` or `full`.
    ///
    /// # Errors
    /// The error that is thrown in the snippet.
    fn describe_tool(
        &self,
        id: &str,
        level: &str,
        reach: &SnippetReach,
    ) -> Result<Value, ToolFault>;

    /// At most `most` examples of a tool in reach.
    ///
    /// # Errors
    /// The error that is thrown in the snippet.
    fn list_tool_examples(
        &self,
        id: &str,
        most: Option<usize>,
        reach: &SnippetReach,
    ) -> Result<Value, ToolFault>;

    /// Keeps a snippet of which calls wait for a person, and gives the ids under which these are
    /// decided, in their order. Here no person can be asked.
    ///
    /// # Errors
    /// The error that the snippet fails with.
    fn pause(&self, paused: &PausedSnippet) -> Result<Vec<String>, Failure> {
        let AskedCall { tool, asks, .. } = &paused.asked()[0];
        let (tool, message) = (tool.clone(), asks.message.clone());
        Err(CodeError::CallPending { tool, id: asks.request.clone(), message }.into())
    }

    /// A snippet ends although tools asked a person, with these ids: these questions are withdrawn.
    fn withdraw(&self, _requests: &[&str]) {}

    /// A snippet that waited for a person and was run again is where it was: gives what was decided
    /// of each call that waited, in their order. It is called once, before the first call that was
    /// not answered then.
    ///
    /// # Errors
    /// The error that the snippet fails with; nothing new of it runs.
    fn goes_on(&self) -> Result<Vec<Verdict>, Failure> {
        Ok(Vec::new())
    }

    /// Keeps a result that is too long for an answer, and says where; `None` where nothing is kept.
    fn keep(&self, _result: &[u8]) -> Option<String> {
        None
    }
}

/// One call of a tool.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The tool, as the snippet wrote it.
    pub id: &'a str,
    /// The parameters.
    pub args: Map<String, Value>,
    /// The number of the call in its snippet, from 1.
    pub number: u64,
    /// The tools that the snippet may reach.
    pub reach: &'a SnippetReach,
    /// The question about this very call that a person approved.
    pub approved: Option<&'a Asks>,
}

/// The result of a call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// The value that the snippet gets.
    pub value: Value,
    /// The backend that carried it out.
    pub backend: Backend,
}

/// The kind of program that carries out a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// A program that was started for the call, or rye itself.
    #[default]
    Local,
    /// A program that speaks the exec protocol.
    Exec,
    /// A server of the model context protocol.
    Mcp,
    /// An HTTP request.
    Http,
    /// Another machine.
    Remote,
}

impl Backend {
    /// The word for it in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Exec => "exec",
            Self::Mcp => "mcp",
            Self::Http => "http",
            Self::Remote => "remote",
        }
    }
}

/// Why a call gave nothing; the snippet is thrown it as a `ToolError`, and may catch it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolFault {
    /// The stable code, such as `grant.denied`.
    pub code: String,
    /// The message, as a sentence.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
    /// Further details.
    pub data: Value,
    /// The backend that carried the call out, as far as it came.
    pub backend: Backend,
    /// The signal that ended the call, where one asked this process to end.
    pub signal: Option<i32>,
    /// The call is not made, or not done, until a person approves it: the snippet waits.
    pub asks: Option<Asks>,
}

impl From<Failure> for ToolFault {
    fn from(failure: Failure) -> Self {
        Self { signal: failure.interrupted(), ..Self::from(failure.diagnostic()) }
    }
}

impl From<Diagnostic> for ToolFault {
    fn from(told: Diagnostic) -> Self {
        let data = if told.data.is_empty() { Value::Null } else { told.data.into() };
        Self {
            code: told.code.name().to_owned(),
            message: told.message,
            help: told.help,
            data,
            ..Self::default()
        }
    }
}

/// The tools that a snippet may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetReach(pub(crate) Option<Grants>);

impl SnippetReach {
    /// Returns true if a tool with this id is in reach. An id that is not valid is not.
    pub fn allows(&self, id: &str) -> bool {
        let Ok(query) = id.parse::<Query>() else { return false };
        let item = Ref::new(query.kind.unwrap_or(Kind::Tool), query.id);
        self.grants().is_none_or(|grants| grants.allow(&item))
    }

    /// `None` is everything.
    pub(crate) fn grants(&self) -> Option<&Grants> {
        self.0.as_ref()
    }
}
