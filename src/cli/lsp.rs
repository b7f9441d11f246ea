//! `rye lsp`: what an editor starts.

use super::confirm::is_below;
use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::diagnostic::Failure;
use crate::lsp::{LspEnd, SessionContext, serve};
use crate::rye::RyeBuilder;

/// Serve an editor over standard input and output, as the language server protocol says
///
/// Editors start this; see `rye fetch knowledge:rye/editors`. It shows what is unsigned, altered or
/// malformed, also in what is not saved yet, and runs nothing.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Accepted for editors that know several transports
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(super) fn run(_: &Args, context: &Context, _: &mut Out) -> Result<Exit, Failure> {
    let project = |folder: &std::path::Path| RyeBuilder::new().cwd(folder).build();
    let session = SessionContext { project: &project, may_sign: !is_below(context) };
    let ended = serve(std::io::stdin(), &mut std::io::stdout(), &session)?;
    Ok(Exit::Status(match ended {
        LspEnd::Done => 0,
        // The protocol asks for this status.
        LspEnd::Abandoned => 1,
    }))
}
