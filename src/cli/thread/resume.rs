//! `rye thread resume`.

use crate::cli::context::Context;
use crate::cli::execute::{limits_of, show};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::rye::threads_from_outside;
use crate::trace::Quiet;

pub(super) fn run(
    id: &str,
    message: Option<String>,
    limits: &[(String, String)],
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let limits = limits_of(limits)?;
    let rye = context.rye()?;
    let report = threads_from_outside(&rye)?.resume(id, message, limits, context.start, &Quiet)?;
    Ok(show(&report, None, context, out))
}
