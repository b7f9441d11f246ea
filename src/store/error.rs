//! Why the store did not take or give an object, or a tree.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::base::Digest;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    STORE_ALTERED = "store.altered", Refused;
    STORE_NOT_FOUND = "store.not_found", NotFound;
    STORE_MALFORMED = "store.malformed", Refused;
    STORE_NEVER_TRAVELS = "store.never_travels", Refused;
    STORE_IO = "store.io", CannotRun;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum StoreError {
    /// They were moved into the quarantine.
    #[error("what the store held as {} is something else by now", names(.digests))]
    Altered { digests: Vec<Digest> },
    #[error("the store has no object `{digest}`")]
    NotFound { digest: Digest },
    #[error("`{}` is not there, and an item asks for it by name", escape_line(.path))]
    NoInput { path: String },
    #[error("`{}` {}", escape_line(.what), escape_line(.why))]
    Malformed { what: String, why: String },
    #[error("`{}` does not leave this machine: {why}", escape_line(.path))]
    NeverTravels { path: String, why: &'static str },
    #[error("`{}`: {source}", escape_line(&.path.display().to_string()))]
    Io { path: PathBuf, source: io::Error },
}

fn names(digests: &[Digest]) -> String {
    let names: Vec<_> = digests.iter().map(|digest| format!("`{digest}`")).collect();
    names.join(", ")
}

impl StoreError {
    pub(super) fn altered(digest: Digest) -> Self {
        Self::Altered { digests: vec![digest] }
    }

    /// `why` is a clause whose subject is `what`.
    pub(super) fn malformed(what: &impl ToString, why: impl Into<String>) -> Self {
        Self::Malformed { what: what.to_string(), why: why.into() }
    }
}

/// Names the path at which an operation of the file system failed.
pub(super) trait At<T> {
    /// # Errors
    /// `store.io`
    fn at(self, path: &Path) -> Result<T, StoreError>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { path: path.to_owned(), source: source.into() })
    }
}

impl Diagnose for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::Altered { .. } => STORE_ALTERED,
            Self::NotFound { .. } | Self::NoInput { .. } => STORE_NOT_FOUND,
            Self::Malformed { .. } => STORE_MALFORMED,
            Self::NeverTravels { .. } => STORE_NEVER_TRAVELS,
            Self::Io { .. } => STORE_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Altered { .. } => {
                "it was put aside and given to no run; check the disk, then put it again: \
                 `rye store put <file>`"
                    .into()
            }
            Self::NotFound { .. } => {
                "put it again from where it came: `rye store put <file>`; what no run holds is removed"
                    .into()
            }
            Self::NoInput { .. } => {
                "make the file, or name it in the item's `remote` inputs by a pattern".into()
            }
            Self::Malformed { .. } => {
                "nothing was taken from it; see `rye explain store.malformed`".into()
            }
            Self::NeverTravels { .. } => {
                "take it out of the item's `remote` inputs; the node uses secrets of its own".into()
            }
            Self::Io { .. } => {
                "mend the cause and try again; an object is there whole or not at all".into()
            }
        })
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        if let Self::Altered { digests } = self {
            let digests: Vec<_> = digests.iter().map(ToString::to_string).collect();
            data.insert("altered".into(), digests.into());
        }
        data
    }
}
