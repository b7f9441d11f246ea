//! Pipeline: the facade, the nine steps in order, once.
//!
//! Sees every step. Holds the logic of none.
//!
//! Start at `run.rs`, which is the line from a reference to a report; `line.rs` fetches one item by
//! the `rules.rs` of a call. Each service of [`Rye`] answers one question, in the file that is named
//! after it; some are told in several:
//!
//! - items: `items.rs` lists, `describe.rs` describes, `why.rs` explains, `reach.rs` looks at all
//!   that is in reach, `parts.rs` knows the files that tools list;
//! - signing: `sign.rs` judges, `batch.rs` signs many, `offer.rs` signs what a person was shown;
//! - runs: `run.rs`, `act.rs` chooses what carries out a plan, `receipt.rs`, `eval.rs` reads the score of one.

mod act;
mod batch;
mod builder;
mod checks;
mod describe;
mod diff;
#[cfg(feature = "lsp")]
mod draft;
mod eval;
mod failure;
mod hooks;
mod items;
mod line;
mod lock;
#[cfg(any(feature = "lsp", feature = "mcp"))]
mod offer;
mod parts;
mod pending;
mod reach;
mod receipt;
mod review;
mod rules;
mod run;
mod rye;
mod search;
mod shelf;
mod sign;
mod why;
mod work;

use crate::diagnostic::codes;

pub use builder::RyeBuilder;
pub use run::Request;
pub use rye::Rye;
pub use search::SearchRequest;

// Failures that belong to no single step.
codes! {
    SIGN_INVALID = "sign.invalid", Refused;
    DIFF_NO_BASELINE = "diff.no_baseline", NotFound;
    DIFF_UNKNOWN_VERSION = "diff.unknown_version", NotFound;
    DIFF_AMBIGUOUS_VERSION = "diff.ambiguous_version", NotFound;
    HOOK_DENIED = "hook.denied", Refused;
    HOOK_NOT_A_HOOK = "hook.not_a_hook", Usage;
    HOOK_UNUSABLE = "hook.unusable", Refused;
}

#[cfg(feature = "mcp")]
pub(crate) use act::KeptServers;
pub(crate) use batch::{Other, PassedOver, SignReport, Signed, StagedRow, ToSign, Which};
pub(crate) use builder::located;
pub(crate) use checks::{Checked, Verdict};
pub(crate) use describe::Level;
pub(crate) use diff::{Against, PastVersion};
#[cfg(feature = "lsp")]
pub(crate) use draft::{Draft, Remark, Spot};
pub(crate) use eval::Scored;
pub(crate) use failure::Failed;
pub(crate) use hooks::{BELOW as HOOKS_BELOW, Standing as HookStanding};
pub(crate) use items::Described;
pub(crate) use lock::{Change, LockReport, LockRow};
#[cfg(any(feature = "lsp", feature = "mcp"))]
pub(crate) use offer::{Offer, Taken};
pub(crate) use reach::{By, Reach, Reached};
pub(crate) use receipt::{Attested, Wanted};
pub(crate) use review::{Review, SignerIs};
pub(crate) use rules::Hold;
pub(crate) use rye::now;
pub(crate) use search::{SearchHit, SearchPage};
pub(crate) use sign::Carried;
pub(crate) use why::{Copy, Why};
pub(crate) use work::{Author, FileChange, InHand, Prepared, Work};
