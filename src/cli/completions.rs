//! `rye completions`: the script that teaches a shell to complete rye's words.

use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::wire::Wired;

/// Print the completion script for a shell
///
/// For bash: `source <(rye completions bash)`. The script asks rye itself, so refs and input names
/// are completed too.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub(super) fn run(args: &Args, _: &Wired, out: &mut Out) -> Result<Exit, CliError> {
    let shells = clap_complete::env::Shells::builtins();
    let mut script = Vec::new();
    if let Some(shell) = shells.completer(&args.shell) {
        let written = shell.write_registration("COMPLETE", "rye", "rye", "rye", &mut script);
        written.map_err(|source| CliError::InputFile { path: args.shell.clone(), source })?;
    }
    out.text(&String::from_utf8_lossy(&script));
    Ok(Exit::DONE)
}
