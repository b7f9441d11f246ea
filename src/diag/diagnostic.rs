//! One failure, described.

use serde_json::{Map, Value};

use super::Code;
use crate::base::text::Position;

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

/// What every layer's error can say of itself; `Display` is the sentence.
pub(crate) trait Diagnose: std::error::Error {
    /// The stable name of the failure.
    fn code(&self) -> Code;

    /// What to do next; a command where possible.
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
}

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
            message: error.to_string(),
            help: error.help(),
            place: error.place(),
            item: error.item(),
            data: error.data(),
        }
    }
}

impl Diagnostic {
    /// The JSON form: `code`, `error`, `help`, `place`, `item_id`, `data`, absent ones left out.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut out = Map::new();
        out.insert("code".into(), self.code.0.into());
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
