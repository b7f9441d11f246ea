//! Asking a person (core 4.6): signing and trusting from inside a run of rye needs one.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, IsTerminal, Write};

use rustix::termios::QueueSelector;

use super::context::Context;
use super::error::CliError;
use super::out::{Out, folded};
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::host::{ProcessesAbove, is_below_a_run};

/// Returns true if something that rye runs started this process, or one above it.
pub(super) fn is_below(context: &Context) -> bool {
    is_below_a_run() || is_below_a_thread(context)
}

/// Returns true if a thread started this process, or one above it. If not even the spaces are
/// found, its variable alone tells.
fn is_below_a_thread(context: &Context) -> bool {
    let named = || !ProcessesAbove::this().threads.is_empty();
    context.rye().map_or_else(|_| named(), |rye| rye.above().has_thread())
}

/// Asks before `what` if this process runs below a child of rye. Otherwise a person typed the
/// command, so there is no question.
///
/// # Errors
/// `cli.not_confirmed`
pub(super) fn confirm(
    what: &str,
    digest: &str,
    context: &Context,
    out: &mut Out,
) -> Result<(), Failure> {
    if !is_below(context) {
        return Ok(());
    }
    let (what, digest) = (escape_line(what), escape_line(digest));
    // Within a thread a model may have written the `--yes`.
    if context.common.yes && !is_below_a_thread(context) {
        out.note(&format!("confirmed by --yes: {what}  {digest}"));
        return Ok(());
    }
    let shown = if digest.is_empty() { what.clone() } else { format!("{what} ({digest})") };
    // The question uses the terminal itself, because standard input belongs to the program that
    // started rye.
    let question = format!("A program that rye runs asks to: {what}\n  {digest}\nDo it? [y/N] ");
    match answer(&question) {
        Ok(true) => Ok(()),
        Ok(false) => Err(CliError::Declined.into()),
        Err(_) => Err(CliError::NotConfirmed { what: shown }.into()),
    }
}

/// Asks before `what`, even if a person typed the command.
///
/// # Errors
/// `cli.not_confirmed`, also if no person can be asked
pub(super) fn confirm_always(
    what: &str,
    digest: &str,
    context: &Context,
    out: &mut Out,
) -> Result<(), Failure> {
    if is_below(context) || context.common.yes {
        return confirm(what, digest, context, out);
    }
    // With JSON as output, the subject of the question is not shown.
    let said = if out.is_json() { None } else { ask(&format!("{}? [y/N] ", escape_line(what))) };
    match said {
        Some(true) => Ok(()),
        Some(false) => Err(CliError::Declined.into()),
        None => Err(CliError::NotConfirmed { what: what.to_owned() }.into()),
    }
}

/// The person's answer to a question; `None` if there is no terminal.
pub(super) fn ask(question: &str) -> Option<bool> {
    can_ask().then(|| answer(question).ok()).flatten()
}

/// Returns true if standard input is a terminal.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

fn answer(question: &str) -> std::io::Result<bool> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    // Keys that were typed before the question do not answer it.
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    terminal.write_all(folded(question, &terminal).as_bytes())?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
