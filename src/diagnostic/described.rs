//! One failure, described.

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Code;
use crate::base::text::Position;

/// Longest message of an error, and longest help, in bytes: a thousand findings fit, and whatever
/// an error quotes, a terminal and a log are not filled by it.
const DIAGNOSTIC_BYTES: usize = 64 << 10;

/// Where a failure is: a file as a person names it, and what is known of the spot.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Place {
    /// `project`, `user` or `system`, where the file lies in a space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) space: Option<String>,
    /// The path as shown: relative to the folder that holds `.ai` where it lies in a space.
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// A short remark behind the place: who signed, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Place {
    pub(crate) fn at(self, position: Position) -> Self {
        Self { line: Some(position.line), column: Some(position.column), ..self }
    }

    pub(crate) fn line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

/// The description that every layer's error can give of itself; `Display` is the sentence.
pub(crate) trait Diagnose: std::error::Error {
    /// The stable name of the failure.
    fn code(&self) -> Code;

    /// The next step; a command where possible.
    fn help(&self) -> Option<String>;

    fn place(&self) -> Option<Place> {
        None
    }

    /// The ref of the item that the failure is about.
    fn item(&self) -> Option<String> {
        None
    }

    /// The failure's values for programs; keys are `snake_case` and never renamed.
    fn data(&self) -> Map<String, Value> {
        Map::new()
    }

    /// The refs of the links that the chain had when it stopped.
    fn chain(&self) -> Vec<String> {
        Vec::new()
    }

    /// The signal that interrupted the run, so that the process can end by it.
    fn signal(&self) -> Option<i32> {
        None
    }
}

/// An error that says of itself what another one says that it holds.
macro_rules! diagnose_as {
    ($own:ident => $held:expr, $type:ty $(, $error:ident)?) => {
        impl$(<$error: $crate::diagnostic::Diagnose>)? $crate::diagnostic::Diagnose for $type {
            fn code(&self) -> $crate::diagnostic::Code {
                let $own = self;
                $held.code()
            }

            fn help(&self) -> Option<String> {
                let $own = self;
                $held.help()
            }

            fn place(&self) -> Option<$crate::diagnostic::Place> {
                let $own = self;
                $held.place()
            }

            fn item(&self) -> Option<String> {
                let $own = self;
                $held.item()
            }

            fn data(&self) -> serde_json::Map<String, serde_json::Value> {
                let $own = self;
                $held.data()
            }

            fn chain(&self) -> Vec<String> {
                let $own = self;
                $held.chain()
            }

            fn signal(&self) -> Option<i32> {
                let $own = self;
                $held.signal()
            }
        }
    };
}

pub(crate) use diagnose_as;

diagnose_as!(own => (**own), Arc<E>, E);
diagnose_as!(own => (**own), Box<E>, E);

/// A failure with everything that people and programs are told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Diagnostic {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) place: Option<Place>,
    pub(crate) item: Option<String>,
    pub(crate) data: Map<String, Value>,
}

impl<E: Diagnose + ?Sized> From<&E> for Diagnostic {
    fn from(error: &E) -> Self {
        Self {
            code: error.code(),
            message: cut(error),
            help: error.help().map(cut),
            place: error.place(),
            item: error.item(),
            data: error.data(),
        }
    }
}

/// The text, at most [`DIAGNOSTIC_BYTES`] long: an error may quote what a stranger wrote, of any
/// length.
fn cut(text: impl Display) -> String {
    let mut out = Cut(String::new());
    match write!(out, "{text}") {
        Ok(()) => out.0,
        Err(_) => out.0 + "…",
    }
}

/// Takes no more than [`DIAGNOSTIC_BYTES`], and ends the writing there.
struct Cut(String);

impl std::fmt::Write for Cut {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        let room = DIAGNOSTIC_BYTES - self.0.len();
        let end = piece.floor_char_boundary(room);
        self.0.push_str(&piece[..end]);
        if end < piece.len() { Err(std::fmt::Error) } else { Ok(()) }
    }
}

impl Diagnostic {
    /// The first of those that end with the greatest exit status: what a batch failed of.
    pub(crate) fn worst(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let status = |one: &Self| one.code.exit_status();
        all.into_iter().reduce(|worst, one| if status(&one) > status(&worst) { one } else { worst })
    }

    /// The JSON form: `code`, `error`, `help`, `place`, `item_id`, `data`, absent ones left out.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut out = Map::new();
        out.insert("code".into(), self.code.name().into());
        out.insert("error".into(), self.message.clone().into());
        if let Some(help) = &self.help {
            out.insert("help".into(), help.clone().into());
        }
        if let Some(item) = &self.item {
            out.insert("item_id".into(), item.clone().into());
        }
        if let Some(place) = self.place.as_ref().and_then(|p| serde_json::to_value(p).ok()) {
            out.insert("place".into(), place);
        }
        if !self.data.is_empty() {
            out.insert("data".into(), self.data.clone().into());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::DIAGNOSTIC_BYTES;
    use super::{Code, Diagnose, Diagnostic};
    use crate::diagnostic::ExitStatus;

    #[derive(Debug, thiserror::Error)]
    #[error("it quotes {0}, and more")]
    struct Quotes(String);

    impl Diagnose for Quotes {
        fn code(&self) -> Code {
            Code::new("test.quotes", ExitStatus::Usage, "")
        }

        fn help(&self) -> Option<String> {
            Some(self.0.clone())
        }
    }

    #[test]
    fn no_message_is_longer_than_its_bound_and_a_usual_one_is_whole() {
        let usual = Diagnostic::from(&Quotes("ä".into()));
        assert_eq!(
            (usual.message.as_str(), usual.help.as_deref()),
            ("it quotes ä, and more", Some("ä"))
        );
        let long = Diagnostic::from(&Quotes("ä".repeat(DIAGNOSTIC_BYTES)));
        for text in [long.message, long.help.unwrap()] {
            assert!(text.len() <= DIAGNOSTIC_BYTES + "…".len() && text.ends_with("ä…"));
        }
    }
}
