//! Scaffold: first versions of items, and moving them.
//!
//! Sees the facade and what is below it; knows no other feature.
//!
//! - `template.rs` the texts, one file a language in `templates/` · `create.rs` writes one ·
//!   `ci.rs` writes a workflow · `moving.rs` gives an item another id, `moved_files.rs` moves the
//!   files that it lists.
//!
//! Invariants
//! - A file that is there is never overwritten by a template.
//! - Nothing is signed here; the caller that signs writes a move.

mod ci;
mod create;
mod error;
mod moved_files;
mod moving;
mod template;

pub(crate) use ci::{CiService, Install, Workflow, workflow, workflows_with, workflows_without};
pub(crate) use create::{Made, create};
pub(crate) use error::CODES;
pub(crate) use moving::{LeftReference, Move};
pub(crate) use template::{Lang, languages};
