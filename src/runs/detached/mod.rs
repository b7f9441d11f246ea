//! Runs in processes of their own (remote 1): rye, started once more.
//!
//! Everything is verified before: a refusal is told to the caller, and leaves nothing.
//! The new process is told the request by a pipe and verifies it anew; of a tool it runs exactly
//! the plan that was verified. It leads a session of its own, so that neither the end of the caller
//! nor of a terminal ends it, and writes its report into the registry, once.
//!
//! If all places are taken the run waits. No environment is written down for that: a launcher,
//! which is rye too, has the environment of the caller as its own, and starts the runs that wait in
//! it.
//! Callers with the same environment and the same program file share a launcher. A launcher that no
//! run waits for ends.
//!
//! `start.rs` the caller's side · `request.rs` what is told · `child.rs` the run's own process ·
//! `launcher.rs` what starts those that wait · `log.rs` what its tool writes ·
//! `process.rs` starting either · `retry.rs` a registry that is out of reach for a while

mod child;
mod error;
mod launcher;
mod log;
mod process;
mod request;
mod retry;
mod start;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use crate::host::{DETACHED_LAUNCHER, DETACHED_RUN};
use crate::registry::process_is_alone;

pub(crate) use error::CODES;
pub(super) use start::{Detaching, state_base};

/// Handles the command lines of the processes that rye starts for detached runs; `None` for any
/// other command line.
pub(crate) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    process::IS_RYE.store(true, Ordering::Relaxed);
    process_is_alone(true);
    let first = argv.get(1).filter(|_| argv.len() == 2)?;
    match first.to_str()? {
        DETACHED_RUN => Some(child::main()),
        DETACHED_LAUNCHER => Some(launcher::main()),
        _ => None,
    }
}
