//! Registry: what several processes of one person share and none may lose, in `SQLite`.
//!
//! Sees `diagnostic`, `base`. Holds no secret and decides no trust: whatever it says
//! to run is planned and verified anew.
//!
//! `db.rs` the file and its versions · `pending.rs` requests that wait for a person ·
//! `snippets.rs` snippets that do ·
//! `threads.rs` threads and what they use ·
//! `approver.rs` who runs one · `env_digests.rs` what `.env` gave to one

mod approver;
mod db;
mod env_digests;
mod error;
mod pending;
mod snippets;
mod threads;

pub(crate) use db::Registry;
pub(crate) use env_digests::EnvDigests;
pub(crate) use error::{CODES, RegistryError};
pub(crate) use pending::{Decision, PendingRequest, PendingRow, PendingState, Postponed};
#[cfg(feature = "code")]
pub(crate) use snippets::{WaitingSnippet, WaitingTool};
pub(crate) use threads::{Amounts, Breach, NewThread, ThreadRow};
