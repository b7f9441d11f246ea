//! Engine: runs one snippet, and is all that knows its language.
//!
//! In:  a [`Snippet`], with its limits of time and memory, and its [`Surroundings`].
//! Out: the value it produced, or the [`EngineError`] that ended it.
//!
//! Invariants
//! - An engine believes nothing that the snippet says about itself. What a snippet may call, how
//!   often, and what is recorded is decided by its surroundings.
//! - A limit ends the snippet, whatever it catches. Nothing of it runs when [`Engine::run`] has
//!   returned.
//! - Only JSON values cross the border, numbers digit for digit.

mod javascript;
mod stop;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::Value;

pub use javascript::JavaScript;
pub use stop::{OnStop, Stop};

/// Runs snippets of some languages.
///
/// An engine is used by several threads at once.
pub trait Engine: Send + Sync {
    /// The languages that this engine runs, as they are written in a request.
    fn languages(&self) -> &'static [&'static str];

    /// Runs one snippet to its end and gives what it produced. Blocks until then; nothing of the
    /// snippet runs afterwards, and answers to its calls are ignored.
    ///
    /// # Errors
    /// Why the snippet produced nothing.
    fn run(
        &self,
        snippet: &Snippet<'_>,
        around: &dyn Surroundings,
        stop: &Stop,
    ) -> Result<Produced, EngineError>;
}

/// One snippet and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Snippet<'a> {
    /// One of [`Engine::languages`].
    pub language: &'a str,
    /// Its text.
    pub code: &'a str,
    /// The value of `params` in the snippet.
    pub params: &'a Value,
    /// Most memory that its values may take, in bytes.
    pub memory_bytes: u64,
    /// Most time in which the engine itself runs; waiting for calls does not count.
    pub engine_time: Duration,
    /// When it is ended, calls included.
    pub deadline: Instant,
    /// The time of its clocks at the start, in milliseconds since 1970. The clocks stand still
    /// while it computes, and are set by each answer, so that a run can be repeated.
    pub now_ms: u64,
    /// The seed of its random numbers.
    pub seed: [u32; 4],
}

/// The calls and prints of a snippet while it runs. Neither function may block: the snippet's
/// clocks are read by the thread that calls them.
pub trait Surroundings: Sync {
    /// The snippet called a function of the border: `runTool`, `runChain`, `searchTools`,
    /// `listNamespaces`, `describeTool` or `listToolExamples`. Any text and any arguments may come,
    /// since the snippet chooses both.
    fn call(&self, call: SnippetCall, answer: CallAnswer);

    /// The snippet printed a text, which holds its own line break.
    fn print(&self, stream: PrintStream, text: &str);

    /// The snippet took so many answers, and does nothing until it is given another one. An engine
    /// says so whenever that is the case: a snippet that waits for a person ends then.
    fn idle(&self, _taken: u64) {}

    /// When the snippet is ended, where that is before [`Snippet::deadline`] by now. It may change
    /// when an answer is given.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// How much longer the engine itself may run that ran so long by now, where that is less than
    /// [`Snippet::engine_time`] leaves. The engine asks whenever it looks at its clock, and at its
    /// end, so that this also tells what it took.
    fn engine_left(&self, _ran: Duration) -> Option<Duration> {
        None
    }
}

/// Where a snippet printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintStream {
    /// `println` and `console.log`.
    Stdout,
    /// `console.error` and `console.warn`.
    Stderr,
}

/// A call of the snippet, as the snippet wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct SnippetCall {
    /// The name of the function.
    pub function: String,
    /// Its arguments; the ones that were left out at the end are not there.
    pub args: Vec<Value>,
}

/// Tells the snippet what a call gave, once, from any thread. Dropping it leaves the call open.
pub struct CallAnswer(Box<dyn FnOnce(Result<Value, Thrown>, u64) + Send>);

impl CallAnswer {
    /// An answer that is handed to `give`, with what the snippet's clocks say from then on, in
    /// milliseconds since 1970. `give` must not wait, nor call the surroundings.
    pub fn new(give: impl FnOnce(Result<Value, Thrown>, u64) + Send + 'static) -> Self {
        Self(Box::new(give))
    }

    /// The call gave a value, or the snippet is to be thrown an error.
    pub fn give(self, result: Result<Value, Thrown>, now_ms: u64) {
        (self.0)(result, now_ms);
    }
}

impl fmt::Debug for CallAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallAnswer")
    }
}

/// An error that a snippet is thrown by a call, and can catch.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thrown {
    /// The `name` of the error: `ToolError` or `TypeError`.
    pub name: Cow<'static, str>,
    /// The message, as a sentence.
    pub message: String,
    /// The code of what failed.
    pub code: String,
    /// The id of the tool, if one was called.
    pub tool: Option<String>,
    /// Further details.
    pub data: Value,
}

/// The result of a snippet that ended by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Produced {
    /// The value that it assigned to `__out`, or that of its last expression; null if there is
    /// none.
    pub value: Value,
    /// Notes about the value or about how the snippet was held, as sentences.
    pub warnings: Vec<String>,
}

/// Why a snippet produced nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// It is not valid, or threw an error that nothing caught.
    #[error("{0}")]
    Failed(SnippetFault),
    /// Its result is not a JSON value.
    #[error("the result{} is not a JSON value: {why}", at(.path))]
    NotSerialisable {
        /// Where in the result, as a JSON pointer; empty for the result itself.
        path: String,
        /// The kind of value that is there instead.
        why: String,
    },
    /// It reached a limit.
    #[error("{0}")]
    Limit(EngineLimit),
    /// It was ended by [`Stop`].
    #[error("the snippet was stopped")]
    Stopped,
    /// The engine itself failed, or ended without a word.
    #[error("the engine failed: {why}")]
    Worker {
        /// The cause, as far as it is known.
        why: String,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at {path}") }
}

/// A limit that the engine itself watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EngineLimit {
    /// Time, calls included.
    #[error("the snippet reached its limit of time")]
    Timeout,
    /// Time in which the engine itself ran.
    #[error("the snippet reached its limit of computing time")]
    Engine,
    /// Memory of its values.
    #[error("the snippet reached its limit of memory")]
    Memory,
}

/// An error of the snippet. All of it is for display only: a snippet may write what it wants into
/// its errors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnippetFault {
    /// The `name` of the error, such as `TypeError`.
    pub name: String,
    /// The message.
    pub message: String,
    /// The line in the snippet, from 1; 0 if it is not known.
    pub line: u32,
    /// The column in characters, from 1; 0 if it is not known.
    pub column: u32,
    /// The calls that led there, the innermost first, each as the engine writes it.
    pub stack: Vec<String>,
    /// The next step, if it is known.
    pub help: Option<&'static str>,
}

impl fmt::Display for SnippetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => f.write_str(&self.message),
            name => write!(f, "{name}: {}", self.message),
        }
    }
}

/// The calls in a snippet's text, without running it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CheckedSnippet {
    /// The tools that it calls by an id that stands in its text, in the order of the text.
    pub(crate) calls: Vec<CalledTool>,
    /// It also calls tools by ids that it makes while it runs.
    pub(crate) calls_others: bool,
}

/// A tool that a snippet calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CalledTool {
    /// Its id, as the snippet has it.
    pub(crate) id: String,
    /// Where it is called, from 1; the column counts characters.
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Reads a snippet of one of the languages that rye itself knows, and says what it calls. Nothing
/// of it runs.
///
/// # Errors
/// The first error of its syntax.
pub(crate) fn check(language: &str, code: &str) -> Result<CheckedSnippet, EngineError> {
    javascript::check(language, code)
}

/// Handles the command line of a worker of an engine; `None` for any other command line. rye must
/// call this before anything else.
pub(crate) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    javascript::enter(argv)
}
