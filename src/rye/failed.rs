//! A run that failed.

use std::time::Duration;

use crate::diagnostic::{Failure, diagnose_as};
use crate::report::Warned;
use crate::trace::Recorded;

/// A failure with what was known of the run by then.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// What was asked for, as it was typed or as it was resolved.
    pub(crate) item: String,
    /// The refs of the links that were there by then.
    pub(crate) chain: Vec<String>,
    pub(crate) elapsed: Duration,
    /// What dev mode let through before.
    pub(crate) warnings: Vec<Warned>,
    /// The trace, where one was asked for.
    pub(crate) trace: Option<Vec<Recorded>>,
}

diagnose_as!(failed => failed.failure.inner(), Failed);
