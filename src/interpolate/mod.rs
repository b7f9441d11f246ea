//! Interpolate: a caller's values in a directive's words.
//!
//! Sees `parse`, `id`, `diagnostic`, `base`. Reads no environment and no file.
//!
//! In:  what a directive declares, what a caller gives, and a template.
//! Out: the values by name, checked; the template with the values in it.
//!
//! Invariants
//! - One pass over the template: inserted text is never scanned again.
//! - Nothing fails while rendering; what is no placeholder stays as it is.
//!
//! Start at `inputs.rs`; `placeholder.rs` is the grammar.

mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod inputs;
mod placeholder;
mod render;

pub(crate) use error::CODES;
pub(crate) use inputs::bind;
pub(crate) use placeholder::undeclared;
pub(crate) use render::render;
