//! The primitive `rye/core/primitives/execute`: a subprocess (core 7.11).

use std::path::PathBuf;

use super::error::ExecuteError;
use super::outcome::Outcome;
use super::primitive::{Primitive, Running};
use crate::base::limits::STDERR_TAIL;
use crate::host::{Pin, PinError};
use crate::plan::Plan;
use crate::trace::Event;

/// See the module.
pub(crate) struct Subprocess;

impl Primitive for Subprocess {
    fn id(&self) -> &'static str {
        "rye/core/primitives/execute"
    }

    fn run(&self, plan: &Plan, running: &Running<'_>) -> Result<Outcome, ExecuteError> {
        let item = || plan.item().clone();
        let pin_error = |source: PinError| ExecuteError::Pin { item: item(), source };
        // Held until the child ended: dropping it removes the folder.
        let mut pin = None;
        let mut tool_path = PathBuf::new();
        if !plan.pinned().is_empty() {
            let folder = Pin::new(running.vars, running.pin_fallback).map_err(pin_error)?;
            for file in plan.pinned().iter().rev() {
                let written = folder.write(&file.name, &file.bytes);
                let at = || PathBuf::from(&file.name);
                // The tool stands first, so it is written last.
                tool_path = written.map_err(|source| pin_error(PinError { at: at(), source }))?;
            }
            running.sink.record(Event::Pin { files: plan.pinned().len() });
            pin = Some(folder);
        }
        let spawn = plan.spawn(&tool_path);
        let sink = running.sink;
        tracing::debug!(program = %spawn.program.display(), cwd = %spawn.cwd.display(), "starting");
        let ended = running.host.run(&spawn, &mut |pid| sink.record(Event::Spawn { pid }));
        let program = spawn.program.clone();
        let ended =
            ended.map_err(|source| ExecuteError::Spawn { item: item(), program, source })?;
        drop(pin);
        sink.record(Event::Exit {
            exit_code: ended.exit_code,
            signal: ended.signal,
            timed_out: ended.timed_out,
        });
        if let Some(signal) = ended.interrupted {
            return Err(ExecuteError::Interrupted { item: item(), signal });
        }
        if ended.timed_out {
            let from = ended.stderr.len().saturating_sub(STDERR_TAIL);
            let stderr_tail = String::from_utf8_lossy(&ended.stderr[from..]).into_owned();
            return Err(ExecuteError::Timeout { item: item(), after: plan.timeout(), stderr_tail });
        }
        Ok(Outcome::of(&ended))
    }
}
