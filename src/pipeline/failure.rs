//! The union of what can go wrong on the line.

use std::sync::Arc;
use std::time::Duration;

use super::hooks::HookError;
use crate::chain::{ChainError, FetchError};
use crate::diag::{Diagnose, Diagnostic};
use crate::eval::EvalError;
use crate::execute::ExecuteError;
use crate::id::IdError;
use crate::interpolate::InterpolateError;
use crate::lock::LockError;
use crate::parse::ParseError;
use crate::plan::{MatrixError, PlanError};
use crate::registry::RegistryError;
use crate::report::{ReceiptError, Warned};
use crate::resolve::ResolveError;
use crate::search::SearchError;
use crate::space::SpaceError;
use crate::trace::Recorded;
use crate::validate::Invalid;
use crate::verify::{KeyError, Refused, SignError, TrustError};

/// Why a step stopped. Each variant is one layer's own error; codes and help lines are theirs.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub struct Failure(Box<Step>);

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum Step {
    Id(#[from] IdError),
    Space(#[from] SpaceError),
    Resolve(#[from] ResolveError),
    Refused(#[from] Box<Refused>),
    Parse(#[from] ParseError),
    Interpolate(#[from] InterpolateError),
    Chain(#[from] ChainError),
    Invalid(#[from] Invalid),
    Plan(#[from] PlanError),
    Matrix(#[from] MatrixError),
    Execute(#[from] ExecuteError),
    Sign(#[from] SignError),
    Key(#[from] KeyError),
    KeyShared(#[from] Arc<KeyError>),
    Trust(#[from] TrustError),
    TrustShared(#[from] Arc<TrustError>),
    Lock(#[from] LockError),
    /// A rule of another layer that was met behind the seam of chains.
    #[error("{0}")]
    Rule(Arc<dyn Diagnose + Send + Sync>),
    Unsignable(#[from] super::sign::Unsignable),
    Versions(#[from] super::diff::VersionError),
    Receipt(#[from] ReceiptError),
    Registry(#[from] RegistryError),
    Eval(#[from] EvalError),
    Hook(#[from] HookError),
    Search(#[from] SearchError),
}

macro_rules! failure_from {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self(Box::new(error.into()))
            }
        })*
    };
}

failure_from!(
    IdError,
    SpaceError,
    ResolveError,
    Box<Refused>,
    ParseError,
    InterpolateError,
    ChainError,
    Invalid,
    PlanError,
    MatrixError,
    ExecuteError,
    SignError,
    KeyError,
    Arc<KeyError>,
    TrustError,
    Arc<TrustError>,
    LockError,
    super::sign::Unsignable,
    super::diff::VersionError,
    ReceiptError,
    RegistryError,
    EvalError,
    HookError,
    SearchError,
);

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self(Box::new(match error {
            FetchError::Resolve(inner) => Step::Resolve(inner),
            FetchError::Refused(inner) => Step::Refused(inner),
            FetchError::Parse(inner) => Step::Parse(inner),
            FetchError::Rule(inner) => Step::Rule(inner),
        }))
    }
}

impl Failure {
    /// A rule's refusal that is shared with others.
    pub(super) fn of_rule(rule: Arc<dyn Diagnose + Send + Sync>) -> Self {
        Self(Box::new(Step::Rule(rule)))
    }

    fn inner(&self) -> &dyn Diagnose {
        match self.0.as_ref() {
            Step::Id(e) => e,
            Step::Space(e) => e,
            Step::Resolve(e) => e,
            Step::Refused(e) => e.as_ref(),
            Step::Parse(e) => e,
            Step::Interpolate(e) => e,
            Step::Chain(e) => e,
            Step::Invalid(e) => e,
            Step::Plan(e) => e,
            Step::Matrix(e) => e,
            Step::Execute(e) => e,
            Step::Sign(e) => e,
            Step::Key(e) => e,
            Step::KeyShared(e) => e.as_ref(),
            Step::Trust(e) => e,
            Step::TrustShared(e) => e.as_ref(),
            Step::Unsignable(e) => e,
            Step::Lock(e) => e,
            Step::Rule(e) => e.as_ref(),
            Step::Versions(e) => e,
            Step::Receipt(e) => e,
            Step::Registry(e) => e,
            Step::Eval(e) => e,
            Step::Hook(e) => e,
            Step::Search(e) => e,
        }
    }

    /// The stable code, such as `verify.altered`.
    pub fn code(&self) -> &'static str {
        self.inner().code().0
    }

    /// What to do next.
    pub fn help(&self) -> Option<String> {
        self.inner().help()
    }

    pub(crate) fn diagnostic(&self) -> Diagnostic {
        Diagnostic::from(self.inner())
    }

    /// The links that the chain had when it stopped.
    pub(crate) fn chain(&self) -> Vec<String> {
        let ids = match self.0.as_ref() {
            Step::Chain(error) => &error.links,
            Step::Invalid(error) => &error.links,
            _ => return Vec::new(),
        };
        ids.iter().map(ToString::to_string).collect()
    }

    /// The signal that interrupted the run, so that the process can end by it.
    pub(crate) fn interrupted(&self) -> Option<i32> {
        match self.0.as_ref() {
            Step::Execute(ExecuteError::Interrupted { signal, .. }) => Some(*signal),
            _ => None,
        }
    }
}

/// A failure with what was known of the run by then.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// What was asked for, as it was typed or as it was resolved.
    pub(crate) item: String,
    /// Plain ids of the links that were there by then.
    pub(crate) chain: Vec<String>,
    pub(crate) elapsed: Duration,
    /// What dev mode let through before.
    pub(crate) warnings: Vec<Warned>,
    /// The trace, where one was asked for.
    pub(crate) trace: Option<Vec<Recorded>>,
}
