//! Code mode: a snippet of a model finds, reads about and runs tools, instead of one turn of the
//! model a call.
//!
//! - `engine` runs one snippet: the languages, the worker that holds it, and its limits of time and
//!   memory

mod engine;

pub use engine::{
    Answer, Engine, EngineError, EngineLimit, JavaScript, OnStop, PrintStream, Produced, Snippet,
    SnippetCall, SnippetFault, Stop, Surroundings, Thrown,
};

pub(crate) use engine::enter;
