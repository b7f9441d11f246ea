//! The faults of tests.

use std::io;
use std::path::PathBuf;

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::Ref;

codes! {
    TEST_MALFORMED = "test.malformed", Malformed;
    TEST_UNKNOWN_KEY = "test.unknown_key", Malformed;
    TEST_NO_SPEC = "test.no_spec", NotFound;
    TEST_NO_ITEM = "test.no_item", NotFound;
    TEST_FAILED = "test.failed", ToolFailed;
    TEST_IO = "test.io", CannotRun;
}

/// Why a spec is not tried, or what became of those that were.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    #[error("the test spec cannot be used: {}{why}", at(.pointer))]
    Malformed { place: Place, pointer: String, why: String },
    #[error("the test spec holds `{}`, which is not a known key {}", escape_line(.key), within(.pointer))]
    UnknownKey {
        place: Place,
        pointer: String,
        key: String,
        near: Vec<String>,
        known: &'static [&'static str],
    },
    #[error("no test spec lies beside `{}`", escape_line(.asked))]
    NoSpec { asked: String, near: Vec<String> },
    #[error("there is a test spec here, but there is no `{item}`")]
    NoItem { place: Place, item: Ref },
    #[error("{failed} of {cases} cases failed: {}", of_items(.items))]
    Failed {
        failed: usize,
        cases: usize,
        /// The refs of the items whose cases these are.
        items: Vec<String>,
    },
    #[error("`{}` cannot be used: {source}", escape_line(&.path.display().to_string()))]
    Io { path: PathBuf, source: io::Error },
}

fn of_items(items: &[String]) -> String {
    items.iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!("`{}` ", escape_line(pointer)) }
}

fn within(pointer: &str) -> String {
    if pointer.is_empty() { "at its top".into() } else { format!("in `{}`", escape_line(pointer)) }
}

fn did_you_mean(near: &[String]) -> Option<String> {
    (!near.is_empty()).then(|| format!("did you mean `{}`?", near.join("` or `")))
}

impl Diagnose for TestError {
    fn code(&self) -> Code {
        match self {
            Self::Malformed { .. } => TEST_MALFORMED,
            Self::UnknownKey { .. } => TEST_UNKNOWN_KEY,
            Self::NoSpec { .. } => TEST_NO_SPEC,
            Self::NoItem { .. } => TEST_NO_ITEM,
            Self::Failed { .. } => TEST_FAILED,
            Self::Io { .. } => TEST_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => "see `rye fetch knowledge:rye/testing`".into(),
            Self::UnknownKey { near, known, .. } => did_you_mean(near)
                .unwrap_or_else(|| format!("the known keys are {}", known.join(", "))),
            Self::NoSpec { near, .. } => {
                did_you_mean(near).unwrap_or_else(|| "`rye test --list` shows what there is".into())
            }
            Self::NoItem { .. } => "name the spec as the item is named, with `.test.yaml`".into(),
            Self::Failed { items, .. } => {
                format!("try these alone with `rye test {}`", items.join(" "))
            }
            Self::Io { .. } => "mend what is in the way and try again".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Malformed { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::NoItem { place, .. } => Some(place.clone()),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::NoItem { item, .. } => Some(item.to_string()),
            _ => None,
        }
    }
}
