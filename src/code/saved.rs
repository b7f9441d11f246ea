//! Saved snippets: why one that is a tool's file gave nothing.

use std::fmt;

use serde_json::{Map, Value};

use super::config::CodeConfig;
use super::engine::check;
use super::error::CodeError;
use crate::base::limits::CODE_BYTES;
use crate::diagnostic::{Code, Diagnose, Failure, Place};
use crate::id::Ref;

/// The failure of a saved snippet, with its place in the tool's file.
#[derive(Debug)]
pub(crate) struct SavedSnippetError {
    pub(crate) item: Ref,
    /// The tool's file.
    pub(crate) place: Place,
    pub(crate) error: Failure,
    /// The next step, if it is another one than for every snippet.
    pub(crate) help: Option<String>,
    /// The report of the snippet until then.
    pub(crate) told: Map<String, Value>,
}

impl fmt::Display for SavedSnippetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.inner().item() {
            Some(_) => self.error.fmt(f),
            None => write!(f, "`{}`: {}", self.item, self.error),
        }
    }
}

impl std::error::Error for SavedSnippetError {}

impl Diagnose for SavedSnippetError {
    fn code(&self) -> Code {
        self.error.reason()
    }

    fn help(&self) -> Option<String> {
        self.help.clone().or_else(|| self.error.help())
    }

    fn place(&self) -> Option<Place> {
        let at = self.error.inner().place()?;
        Some(Place { line: at.line, column: at.column, ..self.place.clone() })
    }

    fn item(&self) -> Option<String> {
        Some(self.item.to_string())
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = self.error.inner().data();
        data.extend(self.told.clone());
        data
    }

    fn signal(&self) -> Option<i32> {
        self.error.interrupted()
    }
}

/// Reads a snippet without running it.
///
/// # Errors
/// `code.configuration` for one that is too long, `code.failed` for the first error of its syntax.
pub(crate) fn check_syntax(language: &str, code: &str) -> Result<(), CodeError> {
    if code.len() > CODE_BYTES {
        let why = format!("it has more than {CODE_BYTES} bytes");
        return Err(CodeError::configuration("code", why));
    }
    check(language, code).map(drop).map_err(|error| CodeError::of_engine(error, |_| 0))
}

impl CodeConfig {
    /// The most time of a snippet, calls included.
    pub(crate) fn timeout(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.timeout_ms)
    }
}
