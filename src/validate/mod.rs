//! Validate: judge a chain that was built.
//!
//! Sees `chain` and below. Stops at no finding: all are shown together.
//!
//! In:  a `Chain`, the target and thread asked for.
//! Out: a [`ValidChain`], or every [`BrokenRule`].

mod broken_rule;
mod chain_rules;

pub(crate) use broken_rule::CODES;
pub(crate) use chain_rules::{RunTarget, ValidChain};
