//! Code mode: a snippet of a model finds, reads about and runs tools, instead of one turn of the
//! model a call.
//!
//! Sees the engines, and what a snippet may reach as [`Tools`]; what runs a tool stands above it.
//!
//! In:  a [`CodeRequest`], within what a [`CodeConfig`] allows.
//! Out: a [`CodeResult`], with every call that was made, however the snippet ended.
//!
//! Invariants
//! - Counters, limits and records are kept here, and nothing that a snippet says changes them.
//! - When [`Executor::run`] returns, nothing of the snippet or of its calls runs any more.
//!
//! - `executor.rs` the entry point · `border.rs` every call of a snippet · `chain.rs` steps that
//!   take what the one before gave · `records.rs` what became of each call ·
//!   `open_calls.rs` what those hold that are not answered ·
//!   `faults.rs` why one failed · `pause.rs` waiting for a person · `journal.rs` what is kept
//!   meanwhile, and given again · `engine_time.rs` what an engine computed, over a wait too
//! - `config.rs` `request.rs` what a snippet may use · `tools.rs` what it may reach
//! - `saved.rs` snippets that are tools
//! - `stubs.rs` tools as declarations of TypeScript
//! - `engine` runs one snippet: the languages, the worker that holds it, and its limits of time and
//!   memory

mod border;
mod chain;
mod config;
mod engine;
mod engine_time;
mod error;
mod executor;
mod faults;
mod journal;
mod open_calls;
mod pause;
mod records;
mod request;
mod saved;
mod stubs;
#[cfg(test)]
mod tests;
mod tools;
#[cfg(test)]
mod waits_tests;

pub use config::CodeConfig;
pub use engine::{
    CallAnswer, Engine, EngineError, EngineLimit, JavaScript, OnStop, PrintStream, Produced,
    Snippet, SnippetCall, SnippetFault, Stop, Surroundings, Thrown,
};
pub use executor::{CodeResult, Executor, OnPrint};
pub use journal::{Asks, PausedSnippet, Verdict};
pub use request::CodeRequest;
pub use tools::{Backend, SnippetReach, ToolAnswer, ToolCall, ToolFault, Tools};

pub(crate) use engine::{CheckedSnippet, check, enter};
pub(crate) use error::{CODES, CodeError, CodeLimit, NestedLimit};
pub(crate) use journal::AskedCall;
pub(crate) use saved::{SavedSnippetError, check_syntax};
pub(crate) use stubs::{DeclaredTool, declarations};
