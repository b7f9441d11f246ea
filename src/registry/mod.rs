//! Registry: what several processes of one person share and none may lose, in `SQLite`.
//!
//! Sees `diagnostic`, `base`. Holds no secret and decides no trust: whatever it says
//! to run is planned and verified anew.
//!
//! `db.rs` the file and its versions · `requests.rs` requests that wait for a person ·
//! `snippets.rs` snippets that do ·
//! `ledger.rs` threads and what they use, `thread_row.rs` one as it stands ·
//! `waiting_threads.rs` those that wait for a person ·
//! `run_row.rs` a run as it stands, `run_state.rs` its state ·
//! `queue.rs` runs in processes of their own · `served.rs` runs for and on other machines ·
//! `reaper.rs` runs whose process is gone ·
//! `continued.rs` one in whose place another goes on ·
//! `threads_above.rs` which of them stand above a process ·
//! `stops.rs` who was asked to stop ·
//! `process_id.rs` the process that runs one · `env_digests.rs` what `.env` gave to one

mod alive;
mod continued;
mod db;
mod due_receipts;
mod env_digests;
mod error;
#[cfg(test)]
mod fixtures;
mod ledger;
#[cfg(test)]
mod ledger_tests;
mod pool;
mod process_id;
mod questions;
mod queue;
#[cfg(test)]
mod queue_tests;
mod reaper;
mod requests;
mod run_row;
mod run_state;
mod served;
mod snippets;
mod stops;
mod thread_row;
mod threads_above;
mod waiting_threads;

pub(crate) use continued::Continuations;
pub(crate) use db::{Registry, moved_aside};
pub(crate) use env_digests::EnvDigests;
pub(crate) use error::{CODES, PENDING_DECIDED, PENDING_DRIFTED, REGISTRY_NEWER, RegistryError};
pub(crate) use ledger::{Amounts, Breach, NewThread, leave_thread};
pub(crate) use pool::{PooledRegistry, RegistryPool};
pub(crate) use process_id::process_is_alone;
pub(crate) use questions::{AfterDecision, decide};
pub(crate) use queue::{Admission, DetachedEnd};
pub(crate) use requests::{
    Decision, NewRequest, PendingRequest, PendingRow, PendingState, RequestKind,
};
pub(crate) use run_row::{AnyRun, NewRun, RunRow};
pub(crate) use run_state::RunState;
pub(crate) use served::{Served, ServedClaim, ServedRuns};
#[cfg(feature = "code")]
pub(crate) use snippets::{
    Question, WaitingSnippet, WaitingTool, begin_snippet, unclaim_snippet, verdicts_of,
};
pub(crate) use thread_row::ThreadRow;
pub(crate) use threads_above::ThreadAbove;
pub(crate) use waiting_threads::ThreadWaits;
