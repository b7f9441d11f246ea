//! Why a word was not one of ours.

use super::{Kind, Space};
use crate::base::text::{escape_line, near};
use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    ID_MALFORMED = "id.malformed", NotFound;
    ID_UNKNOWN_KIND = "id.unknown_kind", NotFound;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum IdError {
    #[error("`{}` is not a valid item id: {}", escape_line(.text), .why)]
    Malformed { text: String, why: String },
    #[error("`{}` is not an item kind", escape_line(.kind))]
    UnknownKind { kind: String },
    #[error("`{}` is not a valid key fingerprint: one has 32 lower-case hex digits, of which the first 16 are enough", escape_line(.text))]
    Fingerprint { text: String },
    #[error("`@{}` names no space", escape_line(.text))]
    UnknownSpace { text: String },
    #[error("`{}` is not a valid bundle name", escape_line(.text))]
    NotABundle { text: String },
}

impl Diagnose for IdError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownKind { .. } => ID_UNKNOWN_KIND,
            _ => ID_MALFORMED,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => {
                "an id is a path such as `acme/deploy`: letters, digits, `_`, `-`, `.`, parted by `/`".into()
            }
            Self::UnknownKind { kind } => {
                let kinds: Vec<_> = Kind::ALL.iter().map(|k| format!("`{k}`")).collect();
                let near = did_you_mean(kind, &Kind::ALL.map(Kind::as_str), "");
                format!("{near}the kinds are {}", kinds.join(", "))
            }
            Self::Fingerprint { .. } => "see the known keys with `rye trust list`".into(),
            Self::NotABundle { .. } => {
                "a name is small letters, digits, `-`, `_` and `.`, and begins with a letter or digit; see `rye bundle list`".into()
            }
            Self::UnknownSpace { text } => {
                let near = did_you_mean(text, &Space::NEAREST_FIRST.map(Space::as_str), "@");
                format!("{near}the spaces are `@project`, `@user` and `@system`")
            }
        })
    }
}

/// A question, if a word is nearly one that is known.
fn did_you_mean(word: &str, known: &[&str], before: &str) -> String {
    match near(word, known.iter().copied(), 1).pop() {
        Some(near) if !word.is_empty() => format!("did you mean `{before}{near}`? "),
        _ => String::new(),
    }
}
