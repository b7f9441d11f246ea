//! `rye thread cancel` and `rye thread kill`.

use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::rye::{KnownRun, Rye, WaitingThreads, threads_from_outside};

pub(super) fn cancel(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let known = threads_from_outside(&rye_of(id, context)?)?.cancel(id)?;
    Ok(told(&known, out))
}

pub(super) fn kill(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let known = threads_from_outside(&rye_of(id, context)?)?.kill(id)?;
    Ok(told(&known, out))
}

/// Where the thread waits for a person, the one above it may go on, where they were started.
fn rye_of(id: &str, context: &Context) -> Result<Rye, Failure> {
    let rye = context.rye()?;
    threads_from_outside(&rye)?;
    let asked_in = WaitingThreads::new(&rye).asked_in(id)?;
    asked_in.map_or(Ok(rye), |folder| context.rye_in(folder))
}

fn told(known: &KnownRun, out: &mut Out) -> Exit {
    if out.is_json() {
        out.success(known.to_json().into());
    } else if known.is_open() {
        out.line(&format!("{}  still {}, asked to stop", escape_line(known.id()), known.state()));
    } else {
        out.line(&format!("{}  {}", escape_line(known.id()), known.state()));
    }
    Exit::DONE
}
