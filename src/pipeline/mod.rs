//! Pipeline: the facade, the nine steps in order, once.
//!
//! Layer 13. Sees every step. Holds the logic of none.
//!
//! Start at `run.rs`, which is the line from a reference to a report; `line.rs` fetches one item,
//! `sign.rs` is the mirror, `inspect.rs` looks without running.

mod builder;
mod failure;
mod inspect;
mod line;
mod parts;
mod review;
mod run;
mod rye;
mod shelf;
mod sign;

pub use builder::RyeBuilder;
pub use failure::Failure;
pub use run::Request;
pub use rye::Rye;

/// Failures that belong to no single step.
pub(crate) const CODES: &[crate::diag::Code] =
    &[crate::diag::Code("sign.invalid"), crate::diag::Code("diff.no_baseline")];

pub(crate) use builder::located;
pub(crate) use failure::Failed;
pub(crate) use inspect::{Checked, Copy, Described, Verdict, Why};
pub(crate) use review::{Review, SignerIs};
pub(crate) use rye::now;
pub(crate) use sign::{SignOptions, SignReport, Signed};
