//! Chain: from a tool, by executor ids, to a primitive; and from a directive to its parents.
//!
//! Sees `parse`, `verify`, `resolve`, `space`, `trace`, `id`, `diagnostic`, `base`. Judges nothing.
//!
//! In:  the first item and the seam [`Fetch`].
//! Out: a [`Chain`] of links, each resolved, verified and parsed the same way.
//!
//! Start at `build.rs`.

mod build;
mod error;
mod extends;
mod fetch;
mod link;
mod primitive;

#[cfg(feature = "lsp")]
pub(crate) use build::may_be_executor;
pub(crate) use build::{Chain, executors};
pub(crate) use error::{CODES, VALIDATE_SPACE_ORDER};
pub(crate) use extends::{Lineage, lineage};
pub(crate) use fetch::Fetch;
pub(crate) use link::{Link, Role};
pub(crate) use primitive::Primitive;
