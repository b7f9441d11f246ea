//! The seam: how a program that speaks the exec protocol is called.

use super::primitive::Running;
use super::{ExecuteError, Outcome};
use std::path::PathBuf;

use crate::base::text::brief_line;
use crate::host::{Ended, Heard, Level, Pin, PinError, Spawn};
use crate::plan::{Pinned, Plan, Spoken};
use crate::trace::Event;

/// One call of a program that speaks the exec protocol. Its plan's standard input holds the parameters
/// as JSON and nothing around them.
pub(crate) struct Call<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) spoken: &'a Spoken,
    pub(crate) running: &'a Running<'a>,
}

/// The private folder of a run and its mark: there as long as the program runs.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    _pin: Option<Pin>,
    /// Where a confined program may write whatever it likes.
    _tmp: Option<Pin>,
    _mark: Option<Pin>,
}

/// Speaks with programs over the exec protocol, and keeps those that serve many calls.
pub(crate) trait Driver: Send + Sync {
    /// # Errors
    /// `protocol.*`, `execute.*`
    fn call(&self, call: Call<'_>) -> Result<Outcome, ExecuteError>;

    /// Calls the tool of an MCP server that a plan is for. A driver that does not say how knows none.
    ///
    /// # Errors
    /// `mcp.*`, `execute.*`
    fn mcp(&self, plan: &Plan, _running: &Running<'_>) -> Result<Outcome, ExecuteError> {
        Err(ExecuteError::OtherPlan { item: plan.item().clone() })
    }
}

/// One that several facades share, so that what it keeps outlives each of them.
impl<D: Driver + ?Sized> Driver for std::sync::Arc<D> {
    fn call(&self, call: Call<'_>) -> Result<Outcome, ExecuteError> {
        self.as_ref().call(call)
    }

    fn mcp(&self, plan: &Plan, running: &Running<'_>) -> Result<Outcome, ExecuteError> {
        self.as_ref().mcp(plan, running)
    }
}

/// Writes the verified bytes to a private folder, and says what to start there.
///
/// # Errors
/// `execute.pin`, `execute.spawn`
pub(crate) fn prepare(plan: &Plan, running: &Running<'_>) -> Result<(Spawn, Kept), ExecuteError> {
    let item = || plan.item().clone();
    let pin_error = |source: PinError| ExecuteError::Pin { item: item(), source };
    let pin = match plan.pinned() {
        [] => None,
        files => Some(pinned(files, running).map_err(pin_error)?),
    };
    let held = plan.confinement().filter(|held| !held.has_own_tmp());
    let tmp = held.map(|_| Pin::new(running.runtime, running.pin_fallback)).transpose();
    let tmp = tmp.map_err(pin_error)?;
    let spawn = plan.spawn(pin.as_ref().map(Pin::path), tmp.as_ref().map(Pin::path));
    let mut spawn = spawn.ok_or_else(|| ExecuteError::OtherPlan { item: item() })?;
    spawn.digests_output = running.witness.is_some();
    Ok((spawn, Kept { _pin: pin, _tmp: tmp, _mark: running.pin_fallback.and_then(Pin::mark) }))
}

/// What `bwrap` says where it could not make the sandbox, in which nothing was started then.
fn not_set_up(spawn: &Spawn, ended: &Ended) -> Option<String> {
    let cell = spawn.cell.as_ref().filter(|cell| cell.confinement.level == Level::Bwrap);
    let is_one = cell.is_some() && ended.exit_code == Some(1) && ended.stdout.is_empty();
    let said = std::str::from_utf8(&ended.stderr).ok().filter(|_| is_one)?;
    Some(brief_line(said.strip_prefix("bwrap: ")?.trim()))
}

/// The private folder with these files.
fn pinned(files: &[Pinned], running: &Running<'_>) -> Result<Pin, PinError> {
    let pin = Pin::new(running.runtime, running.pin_fallback)?;
    for file in files {
        let written = pin.write(&file.path, &file.bytes, file.is_program);
        written.map_err(|source| PinError { at: file.path.clone().into(), source })?;
    }
    running.sink.record(Event::Pin { files: files.len() });
    Ok(pin)
}

/// Starts a process, waits for its end and tells of both.
///
/// # Errors
/// `execute.spawn`, `execute.interrupted`
pub(crate) fn run_once(
    plan: &Plan,
    spawn: &Spawn,
    kept: Kept,
    running: &Running<'_>,
    says: &mut dyn FnMut(&[u8]),
) -> Result<Ended, ExecuteError> {
    let item = || plan.item().clone();
    let sink = running.sink;
    tracing::debug!(program = %spawn.program.display(), cwd = %spawn.cwd.display(), "starting");
    // The private folders of a run are no part of what its program needs.
    let own = spawn.cell.iter().filter(|_| spawn.watched);
    let own = own.flat_map(|cell| cell.pin.iter().chain(&cell.tmp));
    let real = |path: &PathBuf| running.host.real_folder(path);
    let own: Vec<_> = own.flat_map(|path| [Some(path.clone()), real(path)]).flatten().collect();
    let ended = running.host.run(spawn, &mut |heard| match heard {
        Heard::Started(pid) => sink.record(Event::Spawn { pid }),
        Heard::Said(bytes) => says(bytes),
    });
    let program = spawn.program.clone();
    let ended = ended.map_err(|source| ExecuteError::Spawn { item: item(), program, source })?;
    drop(kept);
    if let Some(why) = not_set_up(spawn, &ended) {
        return Err(ExecuteError::Sandbox { item: item(), why });
    }
    let ended = Ended { deeds: ended.deeds.outside(&own), ..ended };
    sink.record(Event::Exit {
        exit_code: ended.exit_code,
        signal: ended.signal,
        timed_out: ended.timed_out,
    });
    if let Some(witness) = running.witness {
        witness.saw(&ended);
    }
    match ended.interrupted {
        Some(signal) => Err(ExecuteError::Interrupted { item: item(), signal }),
        None => Ok(ended),
    }
}
