//! The border between rye and the worker of a snippet: one line of JSON for each message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A message of rye to the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToWorker<'l> {
    /// The snippet, as JavaScript. The first line, and there once.
    #[serde(borrow)]
    Run(Run<'l>),
    /// The value that a call returns.
    #[serde(borrow)]
    Given(Given<'l>),
    /// The error that a call throws.
    #[serde(borrow)]
    Throws(Throws<'l>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run<'l> {
    pub(super) code: String,
    #[serde(borrow)]
    pub(super) params: &'l RawValue,
    /// The time of the clocks, in milliseconds since 1970.
    pub(super) now_ms: u64,
    /// The seed of random numbers.
    pub(super) seed: [u32; 4],
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Given<'l> {
    pub(super) call: u64,
    pub(super) now_ms: u64,
    #[serde(borrow)]
    pub(super) value: &'l RawValue,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Throws<'l> {
    pub(super) call: u64,
    pub(super) now_ms: u64,
    pub(super) name: String,
    pub(super) message: String,
    pub(super) code: String,
    pub(super) tool: Option<String>,
    #[serde(borrow)]
    pub(super) data: &'l RawValue,
}

/// A message of the worker to rye. None of it is believed: it says what a snippet wants, and a
/// snippet may have taken its worker over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromWorker {
    /// It is held, and has read the snippet.
    Ready,
    /// The snippet calls a function.
    Call { call: u64, function: String, args: Vec<Value> },
    /// The snippet printed.
    Print { error: bool, text: String },
    /// Nothing runs until a call is answered; so many answers were taken by now.
    Idle { taken: u64 },
    /// The snippet came to its end.
    Done { value: Value, warnings: Vec<String> },
    /// The result is not a JSON value.
    NotJson { path: String, why: String },
    /// An error that nothing caught.
    Failed(WorkerFault),
    /// The snippet waits, and nothing is under way that it could wait for.
    Stuck,
}

/// An error as the engine has it, with places in its own units.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WorkerFault {
    pub(super) name: String,
    pub(super) message: String,
    /// It was found before the snippet ran.
    pub(super) is_syntax: bool,
    /// The calls that led there, the innermost first.
    pub(super) frames: Vec<Frame>,
}

/// A place in the snippet.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Frame {
    pub(super) function: String,
    /// From 1.
    pub(super) line: u32,
    /// From 1, in bytes.
    pub(super) column: u32,
}
