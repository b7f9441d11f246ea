//! `rye thread resume`.

use crate::cli::context::Context;
use crate::cli::execute::show;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::rye::Threads;
use crate::trace::Quiet;

pub(super) fn run(
    id: &str,
    message: Option<String>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let report = Threads::new(&rye).resume(id, message, context.start, &Quiet)?;
    Ok(show(&report, None, context, out))
}
