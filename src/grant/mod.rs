//! Grant: what a caller may do, as patterns over refs; pure.
//!
//! Sees `id`, `diag`, `base`. A grant never grows.

#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod pattern;

pub(crate) use pattern::Pattern;
