//! Round trips of one server, for `src/bench.rs`.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use super::server::{Asked, Server};
use crate::base::durations::EXEC_IDLE_MS;
use crate::base::limits::OUTPUT_BYTES;
use crate::execute::{ExecuteError, Mask, RunFolders};
use crate::host::{Host, Os, Signals, Spawn};
use crate::id::{ItemId, Kind, Ref};
use crate::parse::ExecMode;
use crate::plan::{ExecOptions, TimeLimit};
use crate::trace::Quiet;

pub(crate) fn round_trips(program: &Path, args: Vec<OsString>, count: usize) -> Vec<Duration> {
    let item = "bench/server".parse().map(|id: ItemId| Ref::new(Kind::Tool, id));
    let item = item.unwrap_or_else(|_| unreachable!("the id is well-formed"));
    let options = ExecOptions {
        mode: ExecMode::Server,
        below_args: true,
        as_it_is: false,
        max_output_bytes: OUTPUT_BYTES,
        max_in_flight: 1,
        idempotent: false,
        idle_ms: EXEC_IDLE_MS,
    };
    let ten_seconds = Duration::from_secs(10);
    let spawn = Spawn { args, ..Spawn::new(program, Path::new("/"), OUTPUT_BYTES, ten_seconds) };
    let (server, host) = (Server::new(item.clone(), options), Os::new(false));
    let start = || {
        let program = program.to_owned();
        let lost = |source| ExecuteError::Spawn { item: item.clone(), program, source };
        Ok((host.start(&spawn).map_err(lost)?, RunFolders::default()))
    };
    let call = || {
        let begin = Instant::now();
        // As each call does.
        let signals = Signals::listen().ok();
        let mask = Mask::new(std::iter::empty());
        let asked = Asked {
            request: "{\"args\":{\"text\":\"a short text\"}}",
            deadline: begin + spawn.timeout,
            limit: &TimeLimit::of_rye(spawn.timeout),
            mask: &mask,
            sink: &Quiet,
            signals: signals.as_ref(),
            start: &start,
        };
        match server.call(&asked) {
            Ok(_) => begin.elapsed(),
            Err(error) => panic!("{error}"),
        }
    };
    call();
    let times = (0..count).map(|_| call()).collect();
    drop(server.let_go());
    times
}
