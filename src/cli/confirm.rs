//! Asking a person (core 4.6): signing and trusting from inside a run of rye needs one.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, IsTerminal, Write};

use rustix::termios::QueueSelector;

use super::context::Context;
use super::error::CliError;
use super::out::{Out, folded};
use crate::base::text::escape_line;
use crate::diagnostic::Failure;

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
    if !is_below_a_run() {
        return Ok(());
    }
    let (what, digest) = (escape_line(what), escape_line(digest));
    if context.common.yes {
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

/// Asks before `what`, whoever typed the command.
///
/// # Errors
/// `cli.not_confirmed`, also where nobody can be asked
pub(super) fn confirm_always(
    what: &str,
    digest: &str,
    context: &Context,
    out: &mut Out,
) -> Result<(), Failure> {
    if is_below_a_run() || context.common.yes {
        return confirm(what, digest, context, out);
    }
    // Whoever asks for JSON is not shown what the question is about.
    let said = if out.is_json() { None } else { ask(&format!("{}? [y/N] ", escape_line(what))) };
    match said {
        Some(true) => Ok(()),
        Some(false) => Err(CliError::Declined.into()),
        None => Err(CliError::NotConfirmed { what: what.to_owned() }.into()),
    }
}

/// The person's answer to a question; `None` if nobody is at a terminal.
pub(super) fn ask(question: &str) -> Option<bool> {
    can_ask().then(|| answer(question).ok()).flatten()
}

/// Whether somebody is at a terminal.
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

/// Whether this process, or one above it, was started by a run of rye. A program can hide this by
/// detaching from its parents; the threat model says so.
pub(super) fn is_below_a_run() -> bool {
    if std::env::var_os("RYE_RUN_ID").is_some() {
        return true;
    }
    let mut pid = std::os::unix::process::parent_id();
    // No chain of parents is deeper, and a reused process id must not lead in a circle.
    for _ in 0..64 {
        if pid <= 1 {
            break;
        }
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environ.split(|&b| b == 0).any(|pair| pair.starts_with(b"RYE_RUN_ID=")) {
            return true;
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in brackets, may hold anything; the parent is the second field behind it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        pid = parent.and_then(|parent| parent.parse().ok()).unwrap_or(0);
    }
    false
}
