//! Snippets: `tools.rs` is what one may call, `saved.rs` runs one that is kept as a tool,
//! `wait_for_person.rs` keeps one that asked a person and goes on with it once that is decided.

mod private_values;
mod saved;
mod tools;
mod wait_for_person;

pub(super) use saved::saved_snippet;
pub use tools::RyeTools;
pub(crate) use wait_for_person::SnippetRows;
