//! Runs in processes of their own (remote 1): rye, started once more.
//!
//! Everything is verified before: a refusal is told to the caller, and leaves nothing.
//! The new process is told the request by a pipe and verifies it anew; of a tool it runs exactly
//! the plan that was verified. It leads a session of its own, so that neither the end of the caller
//! nor of a terminal ends it, and writes its report into the registry, once.
//!
//! If all places are taken, the new process waits for one. So neither the environment nor the
//! parameters of a run that waits are written down.
//!
//! `start.rs` the caller's side · `ended.rs` how one ended · `request.rs` what is told ·
//! `child.rs` the run's own process ·
//! `log.rs` what its tool writes · `process.rs` starting it ·
//! `retry.rs` a registry that is out of reach for a while

mod child;
mod ended;
mod error;
mod log;
mod process;
mod request;
mod retry;
mod start;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use crate::host::DETACHED_RUN;
use crate::registry::process_is_alone;

pub(crate) use ended::{EndedRun, ended_run};
pub(crate) use error::CODES;
pub(super) use start::{Detaching, state_base};

/// Runs the process of a detached run; `None` for any other command line.
pub(crate) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    process::IS_RYE.store(true, Ordering::Relaxed);
    process_is_alone(true);
    let first = argv.get(1).filter(|_| argv.len() == 2)?;
    (first.to_str()? == DETACHED_RUN).then(child::main)
}
