//! The primitive `rye/core/primitives/execute`: a subprocess (core 7.11).

use super::error::ExecuteError;
use super::mask::Mask;
use super::outcome::{Outcome, stderr_tail};
use super::primitive::{Primitive, Running};
use crate::host::{Pin, PinError};
use crate::plan::{Pinned, Plan};
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
        let pin = match plan.pinned() {
            [] => None,
            files => Some(pinned(files, running).map_err(pin_error)?),
        };
        let mark = running.pin_fallback.and_then(Pin::mark);
        let spawn = plan.spawn(pin.as_ref().map(Pin::path));
        let mut spawn = spawn.ok_or_else(|| ExecuteError::OtherPlan { item: item() })?;
        spawn.digests_output = running.witness.is_some();
        let sink = running.sink;
        tracing::debug!(program = %spawn.program.display(), cwd = %spawn.cwd.display(), "starting");
        let ended = running.host.run(&spawn, &mut |pid| sink.record(Event::Spawn { pid }));
        let program = spawn.program.clone();
        let ended =
            ended.map_err(|source| ExecuteError::Spawn { item: item(), program, source })?;
        drop((pin, mark));
        sink.record(Event::Exit {
            exit_code: ended.exit_code,
            signal: ended.signal,
            timed_out: ended.timed_out,
        });
        if let Some(witness) = running.witness {
            witness.saw(&ended);
        }
        if let Some(signal) = ended.interrupted {
            return Err(ExecuteError::Interrupted { item: item(), signal });
        }
        let mask = Mask::of(plan.secrets());
        if ended.timed_out {
            let stderr_tail = stderr_tail(&ended, &mask);
            return Err(ExecuteError::Timeout { item: item(), after: plan.timeout(), stderr_tail });
        }
        Ok(Outcome::of(&ended, &mask))
    }
}

/// The private folder with these files.
fn pinned(files: &[Pinned], running: &Running<'_>) -> Result<Pin, PinError> {
    let pin = Pin::new(running.vars, running.pin_fallback)?;
    for file in files {
        let written = pin.write(&file.path, &file.bytes, file.is_program);
        written.map_err(|source| PinError { at: file.path.clone().into(), source })?;
    }
    running.sink.record(Event::Pin { files: files.len() });
    Ok(pin)
}
