//! Why a new item was not written.

use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::{Kind, Ref};

codes! {
    AUTHOR_CANNOT_MOVE = "author.cannot_move", Refused;
    AUTHOR_EXISTS = "author.exists", Refused;
    AUTHOR_IO = "author.io", CannotRun;
    AUTHOR_LANGUAGE = "author.language", Usage;
    AUTHOR_NO_SIGNER = "author.no_signer", Refused;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AuthorError {
    #[error("`{item}` is there already, and is not overwritten")]
    Exists { item: Ref, place: Place },
    #[error("`{item}` cannot be moved: {why}")]
    CannotMove { item: Ref, place: Place, why: String, help: String },
    #[error("`{}` is there already, and is not overwritten", .place.path)]
    FileExists { place: Place },
    #[error("`{}` is there already, and is not overwritten", .place.path)]
    WorkflowExists { place: Place, trust: String },
    #[error("nobody you trust signs anything here, so the workflow would name no key")]
    NoSigner,
    #[error("there is no template for a {kind} in {lang}")]
    Language { kind: Kind, lang: &'static str, known: Vec<&'static str> },
    #[error("cannot write `{}`: {source}", .place.path)]
    Io { place: Place, source: std::io::Error },
}

impl Diagnose for AuthorError {
    fn code(&self) -> Code {
        match self {
            Self::Exists { .. } | Self::FileExists { .. } | Self::WorkflowExists { .. } => {
                AUTHOR_EXISTS
            }
            Self::CannotMove { .. } => AUTHOR_CANNOT_MOVE,
            Self::NoSigner => AUTHOR_NO_SIGNER,
            Self::Language { .. } => AUTHOR_LANGUAGE,
            Self::Io { .. } => AUTHOR_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Exists { item, .. } => {
                format!("see what it is with `rye show {item}`, or take another id")
            }
            Self::CannotMove { help, .. } => help.clone(),
            Self::FileExists { place } => {
                format!("read it; move `{}` away to have another one written", place.path)
            }
            Self::WorkflowExists { place, trust } => format!(
                "to name other keys, change each `rye verify --ci` in `{}` by hand: now it would \
                 be `{trust}`",
                place.path
            ),
            Self::NoSigner => {
                "make a key with `rye keys generate`, or see who signs here with `rye trust review`"
                    .into()
            }
            Self::Language { known, .. } => {
                let known: Vec<_> = known.iter().map(|lang| format!("`--lang {lang}`")).collect();
                format!("give {}", known.join(" or "))
            }
            Self::Io { .. } => "nothing was written; mend the cause and try again".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Exists { place, .. }
            | Self::CannotMove { place, .. }
            | Self::FileExists { place }
            | Self::WorkflowExists { place, .. }
            | Self::Io { place, .. } => Some(place.clone()),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Exists { item, .. } | Self::CannotMove { item, .. } => Some(item.to_string()),
            _ => None,
        }
    }
}
