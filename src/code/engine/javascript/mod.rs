//! JavaScript and TypeScript on `QuickJS`, each snippet in a worker process of its own.
//!
//! - `session.rs` rye's side of a running snippet: the clocks, and what crosses the border ·
//!   `worker.rs` the other side · `border.rs` the messages between them · `values.rs` values as
//!   JSON · `prelude.js` what a snippet finds · `place.rs` places in its text · `syntax.rs` what it
//!   says without being run · `erase.rs` TypeScript as JavaScript · `expression.rs` which regular
//!   expression is not valid
//!
//! Invariants
//! - Whatever becomes of a run, its worker is killed and reaped when it ends.
//! - The worker says what the snippet wants. What time it is, what it may have and which calls are
//!   open, rye knows by itself.

mod border;
mod erase;
#[cfg(debug_build)]
mod escapes;
mod expression;
mod fence;
mod place;
mod session;
mod syntax;
mod thrown;
mod values;
mod worker;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{CheckedSnippet, Engine, EngineError, Produced, Snippet, Stop, Surroundings};

/// The language whose types are erased.
const TYPESCRIPT: &str = "typescript";

/// True if this program is rye, which can be started as a worker.
static IS_RYE: AtomicBool = AtomicBool::new(false);

/// JavaScript and TypeScript. Each snippet runs in a process of its own, which is the rye program
/// once more, held to computing.
#[derive(Debug, Clone, Default)]
pub struct JavaScript {
    program: Option<PathBuf>,
}

impl JavaScript {
    /// An engine for a program that is rye: whose `main` is [`crate::run`].
    pub fn new() -> Self {
        Self::default()
    }

    /// An engine for another program: workers are the rye program at this path.
    pub fn with_program(program: impl Into<PathBuf>) -> Self {
        Self { program: Some(program.into()) }
    }

    fn program(&self) -> Result<PathBuf, EngineError> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None if IS_RYE.load(Ordering::Relaxed) => Ok("/proc/self/exe".into()),
            None => Err(EngineError::Worker {
                why: "this program is not rye, so the engine must be told where rye is".into(),
            }),
        }
    }
}

impl Engine for JavaScript {
    fn languages(&self) -> &'static [&'static str] {
        &["javascript", TYPESCRIPT]
    }

    fn run(
        &self,
        snippet: &Snippet<'_>,
        around: &dyn Surroundings,
        stop: &Stop,
    ) -> Result<Produced, EngineError> {
        let (code, is_typescript) = fence::unfenced(snippet.code);
        let snippet = &Snippet { code: &code, ..*snippet };
        let failed = |fault: syntax::SyntaxFault| EngineError::Failed(fault.in_text(snippet.code));
        let script = match is_typescript || snippet.language == TYPESCRIPT {
            true => Cow::Owned(erase::erase(snippet.code).map_err(failed)?),
            false => Cow::Borrowed(snippet.code),
        };
        let program = self.program()?;
        let ended = session::run(&program, snippet, &script, around, stop);
        match ended {
            Err(EngineError::Failed(fault)) if expression::may_be_why(&fault) => Err(
                EngineError::Failed(expression::placed(fault, &program, snippet, &script, stop)),
            ),
            ended => ended,
        }
    }
}

/// The calls in a snippet's text, without running it.
pub(super) fn check(language: &str, code: &str) -> Result<CheckedSnippet, EngineError> {
    let (code, is_typescript) = fence::unfenced(code);
    syntax::check(&code, is_typescript || language == TYPESCRIPT)
}

/// Handles the command line of a worker; `None` for any other command line.
pub(super) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    IS_RYE.store(true, Ordering::Relaxed);
    let args = argv.get(1..).filter(|args| args.first().is_some_and(|arg| arg == worker::ENTRY))?;
    Some(worker::main(&args[1..]))
}
