//! Format: the header of an item in one shape, and nothing else of it.
//!
//! In:  a file as it was found, signed or not; admitted or not, for only text comes back.
//! Out: the text with its header's keys in order, and spaced and quoted in one way.
//!
//! Invariants
//! - What the file says is the same before and after: both are parsed, and compared.
//! - The rest of the file keeps its bytes, and so does the signature line.
//! - Formatting again changes nothing.
//! - A file for which this cannot be promised is left as it is, with the reason.
//!
//! Start at `format.rs`; one file a form. `rename.rs` changes one name, for `rye mv`, with the same
//! check.

mod directive;
#[expect(clippy::module_inception, reason = "the folder is the forms, the file the promise")]
mod format;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod python;
mod rename;
mod toml;
mod yaml;

pub(crate) use format::{FormattedHeader, formatted};
pub(crate) use rename::{Naming, places, renamed, replaced_where};

/// The order of the keys of front matter.
const KNOWLEDGE_KEYS: &[&str] = &["title", "description", "tags"];

/// A key's place in an order; unknown ones share the last.
fn rank(order: &[&str], key: &str) -> usize {
    order.iter().position(|known| *known == key).unwrap_or(order.len())
}
