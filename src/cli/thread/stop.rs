//! `rye thread cancel` and `rye thread kill`.

use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::rye::{KnownRun, Threads};

pub(super) fn cancel(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let known = Threads::new(&context.rye()?).cancel(id)?;
    Ok(told(&known, out))
}

pub(super) fn kill(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let known = Threads::new(&context.rye()?).kill(id)?;
    Ok(told(&known, out))
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
