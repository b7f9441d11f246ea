//! The place of a regular expression that is not valid: the engine tells none, and the parser does
//! not look into one. So another worker is asked which of those in the text it refuses.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::place::place;
use super::{session, syntax};
use crate::code::engine::{
    CallAnswer, PrintStream, Snippet, SnippetCall, SnippetFault, Stop, Surroundings,
};

/// How long a worker has to say which regular expression of a snippet is not valid, in
/// milliseconds: reading one takes microseconds, and the error is told without its place else.
#[cfg(feature = "code")]
const EXPRESSIONS_MS: u64 = 500;

/// Gives the index of the first text that is not a regular expression, or -1.
const FIRST_WRONG: &str = "params.findIndex((text) => {
    const end = text.lastIndexOf('/');
    try { new RegExp(text.slice(1, end), text.slice(end + 1)); return false } catch { return true }
})";

/// Returns true if the error may be that of a regular expression: a syntax error without a place.
pub(super) fn may_be_why(fault: &SnippetFault) -> bool {
    fault.name == "SyntaxError" && fault.line == 0 && fault.stack.is_empty()
}

/// The error with the place of the first regular expression that is not valid, if there is one.
pub(super) fn placed(
    fault: SnippetFault,
    program: &Path,
    snippet: &Snippet<'_>,
    script: &str,
    stop: &Stop,
) -> SnippetFault {
    let starts = syntax::expressions(script);
    if starts.is_empty() {
        return fault;
    }
    let texts: Value = starts.iter().map(|span| &script[span.clone()]).collect();
    let most = Duration::from_millis(EXPRESSIONS_MS);
    let asked = Snippet {
        code: FIRST_WRONG,
        params: &texts,
        engine_time: most.min(snippet.engine_time),
        deadline: snippet.deadline.min(Instant::now() + most),
        ..*snippet
    };
    let found = session::run(program, &asked, FIRST_WRONG, &Nothing, stop).ok();
    let index = found.and_then(|found| usize::try_from(found.value.as_u64()?).ok());
    match index.and_then(|index| starts.get(index)) {
        Some(span) => {
            let (line, column) = place(snippet.code, span.start);
            SnippetFault { line, column, ..fault }
        }
        None => fault,
    }
}

/// The surroundings of a snippet of rye's own, which neither calls nor prints.
struct Nothing;

impl Surroundings for Nothing {
    fn call(&self, _call: SnippetCall, _answer: CallAnswer) {}

    fn print(&self, _stream: PrintStream, _text: &str) {}
}
