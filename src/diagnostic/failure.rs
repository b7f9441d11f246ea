//! Any layer's error, as one type.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{Code, Diagnose, Diagnostic};

/// Why a call stopped: some layer's error, which says everything of itself.
///
/// Whatever is [`Diagnose`] becomes one by `?` or `into`, and nothing else does.
#[derive(Debug, Clone)]
pub struct Failure(Arc<dyn Diagnose + Send + Sync>);

impl<E: Diagnose + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl Failure {
    /// The stable code, such as `verify.altered`.
    pub fn code(&self) -> &'static str {
        self.reason().name()
    }

    /// The next step.
    pub fn help(&self) -> Option<String> {
        self.0.help()
    }

    /// The row of the table of codes.
    pub(crate) fn reason(&self) -> Code {
        self.0.code()
    }

    pub(crate) fn diagnostic(&self) -> Diagnostic {
        Diagnostic::from(self.0.as_ref())
    }

    /// The refs of the links that the chain had when it stopped.
    pub(crate) fn chain(&self) -> Vec<String> {
        self.0.chain()
    }

    /// The signal that interrupted the run, so that the process can end by it.
    pub(crate) fn interrupted(&self) -> Option<i32> {
        self.0.signal()
    }

    /// The layer's own words.
    pub(crate) fn inner(&self) -> &dyn Diagnose {
        self.0.as_ref()
    }

    /// The error itself, if it is an `E`.
    pub(crate) fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        let error: &(dyn Error + 'static) = self.0.as_ref();
        error.downcast_ref()
    }
}
