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
//! - signing: `signing.rs` judges, `batch.rs` signs many, `offer.rs` signs what a person was shown;
//! - runs: `request.rs` is what is asked for, `run.rs` runs it, `carry_out.rs` chooses what carries
//!   out a plan, `run_modes.rs` is what the layer above carries out, `receipts.rs`, `eval.rs` reads
//!   the score of one;
//! - threads, of which the layer above is the rest: `thread_settings/` are their limits, models and
//!   permissions, `below_a_thread.rs` says what a rye reaches that one started;
//! - requests to a person: `approvals.rs` keeps and claims them, `kept_snippet.rs` is a snippet
//!   that waits with one.

mod approvals;
mod batch;
mod below_a_thread;
mod builder;
mod call_policy;
mod carry_out;
mod checks;
#[cfg(feature = "code")]
mod code_policy;
mod describe;
#[cfg(feature = "lsp")]
mod drafts;
mod eval;
mod facade;
mod failed;
pub(crate) mod grants;
mod history;
mod hooks;
mod items;
#[cfg(feature = "code")]
mod kept_snippet;
mod listed_files;
mod load;
mod locks;
mod moved_files;
#[cfg(feature = "code")]
mod nesting;
mod offer;
mod plan_source;
mod projects;
mod reach;
mod receipts;
mod request;
mod risk;
mod run;
mod run_modes;
mod run_remote;
mod search;
mod signing;
mod thread_settings;
mod why;
mod working_items;

use crate::diagnostic::codes;

pub use builder::RyeBuilder;
pub use facade::Rye;
pub use request::Request;
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

#[cfg(feature = "code")]
pub(crate) use approvals::private_in;
pub(crate) use approvals::{Approvals, approved_run};
pub(crate) use batch::{NotSigned, OtherSigner, SignReport, SignScope, Signed, StagedRow, ToSign};
pub(crate) use below_a_thread::ThreadGrants;
pub(crate) use builder::located;
pub(crate) use call_policy::{CallPolicy, HookPolicies, LockMode};
#[cfg(feature = "code")]
pub(crate) use carry_out::Caller;
pub(crate) use carry_out::{KeptServers, pin_fallback};
pub(crate) use checks::{CheckedItem, ItemVerdict, refused_row, verified_row};
#[cfg(feature = "code")]
pub(crate) use code_policy::{CallApproval, CodePolicy};
pub(crate) use describe::DetailLevel;
#[cfg(feature = "lsp")]
pub(crate) use drafts::{JudgedDraft, Remark, Spot};
pub(crate) use eval::Scored;
pub(crate) use facade::{moment, now};
pub(crate) use failed::Failed;
pub(crate) use history::{Against, Difference, PastVersion};
pub(crate) use hooks::{BELOW as HOOKS_BELOW, CallHooks, CannotAsk, FoundHook, HookFailure};
pub(crate) use items::{Described, read_item, variables_of};
#[cfg(feature = "code")]
pub(crate) use kept_snippet::{ItemDigests, KeptSnippet, WaitedSnippet};
pub(crate) use load::Loader;
pub(crate) use locks::{Change, LockReport, LockRow};
pub(crate) use moved_files::{CannotMoveFiles, FileToMove};
#[cfg(feature = "code")]
pub(crate) use nesting::Nesting;
pub(crate) use offer::{Offer, OfferOutcome};
pub(crate) use projects::{Review, ReviewedItem, SignerIs};
pub(crate) use reach::{Reach, ReachedItem, SignedBy};
pub(crate) use receipts::{CheckedReceipt, DueReceipts, ExpectedRun, HeldReceipts, ReceiptPlace};
pub(crate) use request::{Origin, PassedValues, ThreadOptions, ThreadParent};
pub(crate) use risk::{risk, risks};
pub(crate) use run::run_id;
pub(crate) use run_modes::{RemoteParts, RemoteRun, RunModes, ThreadRun, VerifiedRun};
pub(crate) use run_remote::remotes_of;
pub(crate) use search::{SearchHit, SearchPage, is_link};
pub(crate) use signing::SignatureState;
pub(crate) use thread_settings::{
    ChosenModel, GuardMode, Guardrail, SaidLimits, SandboxServer, acknowledged, guardrails, limits,
    max_async, model, narrowed, patterns, project_provider, sandbox_server, to_acknowledge,
};
pub(crate) use why::{ItemCopy, WhyReport};
pub(crate) use working_items::{Author, FileChange, Prepared, WorkingItem, WorkingText};
