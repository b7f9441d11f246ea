//! Round trips of a server of the exec protocol, without the loading and planning before a call.
//!
//! `tests/bench/server.rs` is the one caller; nothing else compiles this.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long each of `count` calls of a server took, from the parameters to the answer: the program
/// is started and asked once before.
///
/// # Panics
/// If a call has no answer: there is nothing to measure then.
pub fn round_trips(program: &Path, args: Vec<OsString>, count: usize) -> Vec<Duration> {
    crate::exec_protocol::bench::round_trips(program, args, count)
}
