//! Rye: the facade, where the steps stand in their order, once.
//!
//! Sees every step. Holds the logic of none.
//!
//! Start at `run.rs`, which is the way from a reference to a report; `load.rs` fetches one item by
//! the `call_policy.rs` of a call. `facade.rs` lists the services; each answers one question, in
//! the file that is named after it. Some take several files:
//!
//! - items: `items.rs` lists, `describe.rs` describes, `why.rs` explains, `reach.rs` looks at all
//!   that is in reach, `risk.rs` works out tiers, `listed_files.rs` knows the files that tools
//!   list, `moved_files.rs` where they go with a tool;
//! - signing: `signing.rs` judges, `batch.rs` signs many, `offer.rs` signs what a person was shown,
//!   `sign_requests.rs` what a model asked for;
//! - threads: `threads/mod.rs` lists and checks them, `threads/fork.rs` starts one;
//! - runs: `run.rs`, `carry_out.rs` chooses what carries out a plan, `receipts.rs`, `eval.rs` reads
//!   the score of one.

mod approvals;
mod batch;
mod builder;
mod call_policy;
mod carry_out;
mod checks;
#[cfg(feature = "code")]
mod code;
#[cfg(feature = "code")]
mod code_policy;
mod describe;
mod detached;
#[cfg(feature = "lsp")]
mod drafts;
mod eval;
mod facade;
mod failed;
mod grants;
mod history;
mod hooks;
mod items;
mod listed_files;
mod load;
mod locks;
mod moved_files;
mod offer;
#[cfg(feature = "code")]
mod paused;
mod plan_source;
#[cfg(feature = "code")]
mod private_values;
mod projects;
mod reach;
mod receipts;
mod risk;
mod run;
#[cfg(feature = "code")]
mod saved_snippet;
mod search;
mod sign_requests;
mod signing;
mod threads;
mod why;
mod working_items;

use crate::diagnostic::codes;

pub use builder::RyeBuilder;
#[cfg(feature = "code")]
pub use code::RyeTools;
pub use facade::Rye;
pub use run::Request;
pub use search::SearchRequest;

// Failures that belong to no single step.
codes! {
    SIGN_INVALID = "sign.invalid", Refused;
    DIFF_NO_BASELINE = "diff.no_baseline", NotFound;
    DIFF_UNKNOWN_VERSION = "diff.unknown_version", NotFound;
    DIFF_AMBIGUOUS_VERSION = "diff.ambiguous_version", NotFound;
    CODE_APPROVAL_NEEDED = "code.approval_needed", Refused;
    GRANT_DENIED = "grant.denied", Refused;
    HOOK_DENIED = "hook.denied", Refused;
    HOOK_NOT_A_HOOK = "hook.not_a_hook", Usage;
    HOOK_UNUSABLE = "hook.unusable", Refused;
}

pub(crate) use approvals::{Decided, RequestRows};
pub(crate) use batch::{NotSigned, OtherSigner, SignReport, SignScope, Signed, StagedRow, ToSign};
pub(crate) use builder::located;
pub(crate) use call_policy::LockMode;
#[cfg(feature = "mcp")]
pub(crate) use carry_out::KeptServers;
pub(crate) use checks::{CheckedItem, ItemVerdict, refused_row, verified_row};
#[cfg(feature = "code")]
pub(crate) use code_policy::{CallApproval, CodePolicy};
pub(crate) use describe::DetailLevel;
pub(crate) use detached::{CODES as DETACHED_CODES, enter as enter_detached};
#[cfg(feature = "lsp")]
pub(crate) use drafts::{JudgedDraft, Remark, Spot};
pub(crate) use eval::Scored;
pub(crate) use facade::now;
pub(crate) use failed::Failed;
pub(crate) use history::{Against, Difference, PastVersion};
pub(crate) use hooks::{BELOW as HOOKS_BELOW, CannotAsk, FoundHook, HookFailure};
pub(crate) use items::{Described, read_item, variables_of};
pub(crate) use locks::{Change, LockReport, LockRow};
pub(crate) use moved_files::{CannotMoveFiles, FileToMove};
#[cfg(feature = "lsp")]
pub(crate) use offer::Offer;
#[cfg(any(feature = "lsp", feature = "mcp"))]
pub(crate) use offer::OfferOutcome;
#[cfg(feature = "code")]
pub(crate) use paused::SnippetRows;
pub(crate) use projects::{Review, ReviewedItem, SignerIs};
pub(crate) use reach::{Reach, ReachedItem, SignedBy};
pub(crate) use receipts::{CheckedReceipt, ExpectedRun};
pub(crate) use risk::{risk, risks};
pub(crate) use search::{SearchHit, SearchPage};
pub(crate) use sign_requests::SignRequest;
#[cfg(feature = "mcp")]
pub(crate) use sign_requests::for_a_person;
pub(crate) use signing::SignatureState;
pub(crate) use threads::{
    ExportedThread, KnownRun, RejectedInThread, TailEnd, Threads, VerifiedThread, WaitingThreads,
    WaitsOn, full_run_id, listed_runs, threads_from_outside, waiting_above,
};
pub(crate) use why::{ItemCopy, WhyReport};
pub(crate) use working_items::{Author, FileChange, Prepared, WorkingItem, WorkingText};
