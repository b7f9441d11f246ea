//! Pipeline: the facade, the nine steps in order, once.
//!
//! Layer 13. Sees every step. Holds the logic of none.
//!
//! Start at `run.rs`, which is the line from a reference to a report; `line.rs` fetches one item,
//! `rules.rs` is what a call goes by, `sign.rs` the mirror, `inspect.rs` looks without running,
//! `reach.rs` at all that is in reach, `lock.rs` writes the lock, `diff.rs` compares versions.

mod builder;
mod diff;
mod failure;
mod inspect;
mod line;
mod lock;
mod parts;
mod reach;
mod receipt;
mod review;
mod rules;
mod run;
mod rye;
mod shelf;
mod sign;

use crate::diag::Code;

pub use builder::RyeBuilder;
pub use failure::Failure;
pub use run::Request;
pub use rye::Rye;

/// Failures that belong to no single step.
pub(crate) const CODES: &[Code] = &[
    Code("sign.invalid"),
    Code("diff.no_baseline"),
    Code("diff.unknown_version"),
    Code("diff.ambiguous_version"),
];

pub(crate) use builder::located;
pub(crate) use diff::{Against, PastVersion};
pub(crate) use failure::Failed;
pub(crate) use inspect::{Checked, Copy, Described, Verdict, Why};
pub(crate) use lock::{Change, LockReport, LockRow};
pub(crate) use reach::{By, Reach, Reached};
pub(crate) use receipt::{Attested, Wanted};
pub(crate) use review::{Review, SignerIs};
pub(crate) use rules::Hold;
pub(crate) use rye::now;
pub(crate) use sign::{Carried, SignOptions, SignReport, Signed};
