//! Lock: what a project has agreed to run, a row a ref, and the rules while a ref is listed (core
//! 10).
//!
//! Sees `chain`, `verify`, `space`, `id`, `diagnostic`, `base`. Admits nothing: a source was
//! admitted by `verify` before it is looked at here.
//!
//! In:  `.ai/rye.lock` of an accepted project, and an admitted source.
//! Out: nothing, or the rule that the source breaks.
//!
//! Invariants
//! - A lock that cannot be read strictly is an error, never an empty lock.
//! - The file is written whole or not at all, sorted, in one spelling.
//!
//! Start at `pin.rs`, which holds the rules; `file.rs` is the file, `form.rs` its spelling,
//! `merge.rs` what comes of two branches.

mod error;
mod file;
mod form;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod merge;
mod pin;

pub(crate) use error::{CODES, LOCK_DIFFERS, LOCK_MALFORMED, LockError, refuses_with};
pub(crate) use file::{LOCK_FILE, Lock};
pub(crate) use merge::{LaterRow, MergedLock};
pub(crate) use pin::{Broken, FoundItem, Pin};
