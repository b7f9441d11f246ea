//! The seam: how a chain gets its links.

use std::sync::Arc;

use crate::diag::{Code, Diagnose, Place};
use crate::id::{Ref, Space};
use crate::parse::{Item, ParseError};
use crate::resolve::ResolveError;
use crate::verify::{Refused, Source};

/// Gets items, resolved, verified and parsed.
pub(crate) trait Fetch {
    /// The item, from the space `from` downwards; `None` if it is in none of them.
    fn fetch(&self, item: &Ref, from: Space) -> Result<Option<(Source, Item)>, FetchError>;

    /// The nearest space above `from` that holds the item; nothing of it is read as an item.
    fn find_above(&self, item: &Ref, from: Space) -> Option<Space>;

    /// Names near to the item's.
    fn near(&self, item: &Ref) -> Vec<String>;
}

/// Why an item could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Refused(#[from] Box<Refused>),
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A rule that chains know nothing of, such as the lock's.
    #[error("{0}")]
    Rule(Arc<dyn Diagnose + Send + Sync>),
}

impl FetchError {
    fn inner(&self) -> &dyn Diagnose {
        match self {
            Self::Resolve(inner) => inner,
            Self::Refused(inner) => inner.as_ref(),
            Self::Parse(inner) => inner,
            Self::Rule(inner) => inner.as_ref(),
        }
    }
}

impl Diagnose for FetchError {
    fn code(&self) -> Code {
        self.inner().code()
    }

    fn help(&self) -> Option<String> {
        self.inner().help()
    }

    fn place(&self) -> Option<Place> {
        self.inner().place()
    }

    fn item(&self) -> Option<String> {
        self.inner().item()
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        self.inner().data()
    }
}
