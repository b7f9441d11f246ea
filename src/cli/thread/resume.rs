//! `rye thread resume`.

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::execute::{limits_of, run_live, show};
use crate::cli::exit::Exit;
use crate::cli::live::Shows;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::runs::threads_from_outside;
use crate::trace::Quiet;

pub(super) fn run(
    id: &str,
    message: Option<String>,
    limits: &[(String, String)],
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let limits = limits_of(limits)?;
    if message.as_ref().is_some_and(|message| message.trim().is_empty()) {
        let message = "the message for the model is empty".into();
        let help = Some("leave it out, or say what the model is to do now".into());
        return Err(CliError::Usage { message, help }.into());
    }
    let rye = context.rye()?;
    let threads = threads_from_outside(&rye)?;
    let shows = if out.is_json() { Shows::Nothing } else { Shows::AsItComes };
    let (result, _) = run_live(&Quiet, shows, out, |sink| {
        threads.resume(id, message, limits, context.start, sink)
    });
    Ok(show(&result?, None, context, out))
}
