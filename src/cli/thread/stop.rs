//! `rye thread cancel` and `rye thread kill`.

use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::registry::RunState;
use crate::runs::{KnownRun, Threads, threads_from_outside, waiting_above};

pub(super) fn cancel(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let threads = threads_from_outside(&rye)?;
    let known = threads.cancel(id)?;
    told(threads, &known, out)
}

pub(super) fn kill(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let threads = threads_from_outside(&rye)?;
    let known = threads.kill(id)?;
    told(threads, &known, out)
}

/// How it stands now, and which thread above waited with it and goes on nowhere by itself.
fn told(threads: Threads<'_>, known: &KnownRun, out: &mut Out) -> Result<Exit, Failure> {
    let above = waiting_above(threads, known)?;
    if out.is_json() {
        let mut told = known.to_json();
        if let Some(above) = above {
            told.insert("waits_above".into(), above.into());
        }
        out.success(told.into());
        return Ok(Exit::DONE);
    }
    if known.is_open() {
        let how = if known.state() == RunState::Created { "waits for a place" } else { "runs" };
        out.line(&format!("{}  still {how}, asked to stop", escape_line(known.id())));
    } else {
        out.line(&format!("{}  {}", escape_line(known.id()), known.state()));
    }
    if let Some(above) = above {
        let above = escape_line(&above);
        out.note(&format!("`{above}` waited with it; go on with `rye thread resume {above}`"));
    }
    Ok(Exit::DONE)
}
