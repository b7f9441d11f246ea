//! Registry: what several processes of one person share and none may lose, in `SQLite`.
//!
//! Sees `diagnostic`, `base`. Holds no secret and decides no trust: whatever it says
//! to run is planned and verified anew.
//!
//! `db.rs` the file and its versions · `pending.rs` requests that wait for a person ·
//! `snippets.rs` snippets that do ·
//! `threads.rs` threads and what they use, `thread_row.rs` one as it stands ·
//! `thread_waits.rs` those that wait for a person ·
//! `run_row.rs` a run as it stands, `run_state.rs` its state ·
//! `detached.rs` runs in processes of their own · `reaper.rs` runs whose process is gone ·
//! `continued.rs` one in whose place another goes on ·
//! `threads_above.rs` which of them stand above a process ·
//! `stops.rs` who was asked to stop ·
//! `process_id.rs` the process that runs one · `env_digests.rs` what `.env` gave to one

mod alive;
mod continued;
mod db;
mod detached;
#[cfg(test)]
mod detached_tests;
mod due_receipts;
mod env_digests;
mod error;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod ledger_tests;
mod pending;
mod process_id;
mod questions;
mod reaper;
mod run_row;
mod run_state;
mod snippets;
mod stops;
mod thread_row;
mod thread_waits;
mod threads;
mod threads_above;

pub(crate) use continued::Continuations;
pub(crate) use db::{Registry, moved_aside};
pub(crate) use detached::{Admission, DetachedEnd, NewDetached};
pub(crate) use env_digests::EnvDigests;
pub(crate) use error::{CODES, PENDING_DECIDED, PENDING_DRIFTED, REGISTRY_NEWER, RegistryError};
pub(crate) use pending::{
    Decision, PendingRequest, PendingRow, PendingState, Postponed, RequestKind,
};
pub(crate) use process_id::process_is_alone;
pub(crate) use questions::{AfterDecision, decide};
pub(crate) use run_row::{AnyRun, RunRow};
pub(crate) use run_state::RunState;
#[cfg(feature = "code")]
pub(crate) use snippets::{
    Question, WaitingSnippet, WaitingTool, begin_snippet, unclaim_snippet, verdicts_of,
};
pub(crate) use thread_row::ThreadRow;
pub(crate) use thread_waits::ThreadWaits;
pub(crate) use threads::{Amounts, Breach, NewThread, leave_thread};
pub(crate) use threads_above::ThreadAbove;
