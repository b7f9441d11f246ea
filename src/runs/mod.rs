//! Runs that take more than one call of the facade: threads, detached and remote runs, and
//! snippets; the requests to a person that each of them waits for.
//!
//! The facade runs items here and now. It is given [`Modes`] for what it does not carry out itself,
//! and knows no file of this folder.

mod builder;
mod detached;
mod remote;
mod requests;
mod run_modes;
#[cfg(feature = "code")]
mod snippets;
mod threads;

pub(crate) use detached::{CODES as DETACHED_CODES, enter as enter_detached};
#[cfg(feature = "node")]
pub(crate) use detached::{EndedRun, ended_run};
pub(crate) use remote::{Node, RemotePlan, refused_json};
#[cfg(feature = "mcp")]
pub(crate) use requests::for_a_person;
pub(crate) use requests::{CarriedOut, CarryOut, RequestRows, SignRequest};
#[cfg(feature = "code")]
pub use snippets::RyeTools;
#[cfg(feature = "code")]
pub(crate) use snippets::SnippetRows;
pub(crate) use threads::{
    ExportedThread, KnownRun, TailEnd, Threads, VerifiedThread, WaitsOn, ask_node, full_run_id,
    listed_runs, newest_run, threads_from_outside, waiting_above,
};
