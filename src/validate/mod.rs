//! Validate: judge a chain that was built.
//!
//! Sees `chain` and below. Stops at no finding: all are shown together.
//!
//! In:  a `Chain`, the target and thread asked for.
//! Out: a [`ValidChain`], or every [`BrokenRule`].

mod finding;
mod rules;

pub(crate) use finding::CODES;
pub(crate) use rules::{RunTarget, ValidChain};
