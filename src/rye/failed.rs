//! A run that failed.

use std::time::Duration;

use serde_json::Value;

use crate::diagnostic::{Failure, diagnose_as};
use crate::report::{Warned, add_warnings};
use crate::trace::Recorded;

/// A failure with what was known of the run by then.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// The item that was asked for, as it was typed or as it was resolved.
    pub(crate) item: String,
    /// The refs of the links that were there by then.
    pub(crate) chain: Vec<String>,
    pub(crate) elapsed: Duration,
    /// Faults that dev mode let through before.
    pub(crate) warnings: Vec<Warned>,
    /// Earlier messages for the caller that started a thread, as sentences.
    pub(crate) told: Vec<String>,
    /// The trace, where one was asked for.
    pub(crate) trace: Option<Vec<Recorded>>,
}

impl Failed {
    /// A failure before anything of the run was known but the item.
    pub(crate) fn early(failure: Failure, item: impl Into<String>, elapsed: Duration) -> Self {
        Self {
            failure,
            item: item.into(),
            chain: Vec::new(),
            elapsed,
            warnings: Vec::new(),
            told: Vec::new(),
            trace: None,
        }
    }

    /// The failure as JSON, with what was warned of before.
    pub(crate) fn with_warnings(&self, mut shown: Value) -> Value {
        if let Some(out) = shown.as_object_mut() {
            add_warnings(out, &self.item, &self.warnings, &self.told);
        }
        shown
    }
}

diagnose_as!(failed => failed.failure.inner(), Failed);
