//! One argument of a program that an item starts.

use serde_json::Value;

/// An argument, its template not yet expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) text: String,
    /// The signer says that the argument is data: no program runs what it names, so it is not
    /// treated as the path of a file.
    pub(crate) is_data: bool,
}

impl Argument {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_data: false }
    }

    /// A string, or `{data: string}`; `None` for anything else.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::text(text)),
            Value::Object(map) if map.len() == 1 => {
                Some(Self { text: map.get("data")?.as_str()?.to_owned(), is_data: true })
            }
            _ => None,
        }
    }
}
