//! Resolve: from an item reference to the one file that answers it.
//!
//! Sees `space`, `trace`, `id`, `diagnostic`, `base`. Knows no keys, parsers or chains.
//!
//! In:  a `Ref` and the spaces.
//! Out: a [`Found`]: path, bytes, space, and every copy it shadows.
//!
//! Invariants
//! - The nearest space wins: project, user, system.
//! - Two files of one space that give the same id are an error, never a choice.
//! - A candidate that cannot be read is an error, not a miss.
//! - One read per `Found`: the bytes that are hashed are the bytes that are parsed and run.
//!
//! Start at `resolve`; `suggest.rs` finds near names for what was not found.

mod error;
#[expect(clippy::module_inception, reason = "the step's own file, named as the design names it")]
mod resolve;
mod suggest;

pub(crate) use error::{CODES, RESOLVE_AMBIGUOUS_FILE, RESOLVE_NOT_FOUND, ResolveError};
pub(crate) use resolve::{Found, Resolver};
