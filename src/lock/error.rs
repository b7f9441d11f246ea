//! Why the lock refuses, and what can be wrong with the file.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::file::LOCK_FILE;
use super::pin::{Broken, FoundItem, Pin};
use crate::base::Timestamp;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::{Fingerprint, Ref, Space};
use crate::space::SpaceError;
use crate::verify::{TrustError, VERIFY_ROLLED_BACK};

codes! {
    VERIFY_SIGNER_CHANGED = "verify.signer_changed", Refused;
    VERIFY_SPACE_CHANGED = "verify.space_changed", Refused;
    LOCK_DIFFERS = "lock.differs", Refused;
    LOCK_NOT_LISTED = "lock.not_listed", Refused;
    LOCK_GONE = "lock.gone", NotFound;
    LOCK_MALFORMED = "lock.malformed", Refused;
    LOCK_VERSION = "lock.version", Refused;
    LOCK_IO = "lock.io", Refused;
}

/// Returns true if the lock answers `code`: that of an item that a row does not allow, or of the
/// file itself.
pub(crate) fn refuses_with(code: Code) -> bool {
    code == VERIFY_ROLLED_BACK || CODES.contains(&code)
}

/// An item that breaks a rule of the row that lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drift {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    pub(crate) rule: Broken,
    pub(crate) locked: Pin,
    pub(crate) found: FoundItem,
    /// The item lies in the binary: another version of it comes with another rye.
    pub(crate) embedded: bool,
}

/// A refusal of the lock, or a fault in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LockError {
    #[error("{}", told(.0))]
    Drift(Box<Drift>),
    #[error("{}", unlisted(item, *.any))]
    NotListed {
        item: Ref,
        place: Option<Place>,
        /// The lock lists something.
        any: bool,
    },
    #[error("`{item}` is locked by this project, and no space has it any more")]
    Gone { item: Ref },
    #[error("the lock cannot be used: {}", escape_line(.why))]
    Malformed { place: Place, why: String },
    #[error("the lock holds the marks of a merge that was not finished")]
    Conflict { place: Place },
    #[error("the lock is of version {found}, and this rye reads version 1")]
    Version { place: Place, found: u64 },
    #[error("`{}`: {source}", escape_line(&.path.display().to_string()))]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error(transparent)]
    Trust(#[from] Arc<TrustError>),
}

fn unlisted(item: &Ref, any: bool) -> String {
    match any {
        true => format!("`{item}` is not listed in `.ai/{LOCK_FILE}`"),
        false => format!("`{item}` is not locked: this project has locked nothing"),
    }
}

fn told(drift: &Drift) -> String {
    let (item, locked, found) = (&drift.item, &drift.locked, &drift.found);
    let short = |key: Option<Fingerprint>| key.map_or_else(|| "nobody".into(), |k| k.short());
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    match &drift.rule {
        Broken::Signer => format!(
            "`{item}` is signed by `{}`, and the lock lists the signer `{}`",
            short(found.signer),
            short(Some(locked.signer))
        ),
        Broken::Space => format!(
            "`{item}` comes from the {} space, and the lock lists it in the {} space",
            found.space, locked.space
        ),
        Broken::Older => format!(
            "`{item}` was signed at {}, before the version that the lock lists, of {}",
            time(found.signed_at),
            locked.signed_at
        ),
        Broken::SameTime => format!(
            "`{item}` says that it was signed at {}, like the version that the lock lists, but its bytes differ",
            time(found.signed_at)
        ),
        Broken::Differs(fields) => {
            format!("`{item}` is not what the lock lists: it differs in {}", fields.join(", "))
        }
    }
}

impl Diagnose for LockError {
    fn code(&self) -> Code {
        match self {
            Self::Drift(drift) => match drift.rule {
                Broken::Signer => VERIFY_SIGNER_CHANGED,
                Broken::Space => VERIFY_SPACE_CHANGED,
                Broken::Older | Broken::SameTime => VERIFY_ROLLED_BACK,
                Broken::Differs(_) => LOCK_DIFFERS,
            },
            Self::NotListed { .. } => LOCK_NOT_LISTED,
            Self::Gone { .. } => LOCK_GONE,
            Self::Malformed { .. } | Self::Conflict { .. } => LOCK_MALFORMED,
            Self::Version { .. } => LOCK_VERSION,
            Self::Io { .. } => LOCK_IO,
            Self::Space(inner) => inner.code(),
            Self::Trust(inner) => inner.code(),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Drift(drift) if drift.embedded => {
                let item = &drift.item;
                format!(
                    "the item came with another rye: use that one, or see `rye diff {item} --lock` and run `rye lock --update {item}`"
                )
            }
            Self::Drift(drift) => {
                let item = &drift.item;
                format!(
                    "see what changed with `rye diff {item} --lock`; if you want it, run `rye lock --update {item}`"
                )
            }
            Self::NotListed { item, .. } => {
                format!("read it; if you want it, run `rye lock {item}`")
            }
            Self::Gone { item } => format!(
                "bring its file back from version control, or take its row out with `rye lock --remove {item}`"
            ),
            Self::Malformed { .. } => format!(
                "put `.ai/{LOCK_FILE}` back from version control, or mend the line; see `rye explain lock.malformed`"
            ),
            Self::Conflict { .. } => format!(
                "take one side (`git checkout --ours -- .ai/{LOCK_FILE}`), see what it lacks with \
                 `rye lock --check`, and take what you want with `rye lock --update`"
            ),
            Self::Version { .. } => "use the rye that wrote it, or a later one".into(),
            Self::Io { .. } => "see that the folder can be written and has room".into(),
            Self::Space(inner) => return inner.help(),
            Self::Trust(inner) => return inner.help(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Drift(drift) => Some(drift.place.clone()),
            Self::NotListed { place, .. } => place.clone(),
            Self::Gone { .. } => Some(Place {
                space: Some(Space::Project.to_string()),
                path: format!(".ai/{LOCK_FILE}"),
                ..Place::default()
            }),
            Self::Malformed { place, .. }
            | Self::Conflict { place }
            | Self::Version { place, .. } => Some(place.clone()),
            Self::Io { path, .. } => {
                Some(Place { path: path.display().to_string(), ..Place::default() })
            }
            Self::Space(inner) => inner.place(),
            Self::Trust(inner) => inner.place(),
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Drift(drift) => Some(drift.item.to_string()),
            Self::NotListed { item, .. } | Self::Gone { item } => Some(item.to_string()),
            _ => None,
        }
    }

    fn data(&self) -> Map<String, Value> {
        let Self::Drift(drift) = self else { return Map::new() };
        let mut data = Map::new();
        data.insert("locked".into(), json!(drift.locked));
        data.insert("found".into(), json!(drift.found));
        if let Broken::Differs(fields) = &drift.rule {
            data.insert("differs_in".into(), json!(fields));
        }
        data
    }
}
