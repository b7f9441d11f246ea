//! Asking a person (core 4.6): signing and trusting from inside a run of rye needs one.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};

use super::error::CliError;
use super::out::Out;
use super::wire::Wired;
use crate::base::text::escape_line;

/// Asks before `what` if this process runs below a child of rye; elsewhere the person who typed the
/// command has said what they want.
///
/// # Errors
/// `cli.not_confirmed`
pub(super) fn confirm(
    what: &str,
    digest: &str,
    wired: &Wired,
    out: &mut Out,
) -> Result<(), CliError> {
    if std::env::var_os("RYE_RUN_ID").is_none() {
        return Ok(());
    }
    let what = escape_line(what);
    if wired.common.yes {
        out.note(&format!("confirmed by --yes: {what}  {digest}"));
        return Ok(());
    }
    let refused = || CliError::NotConfirmed { what: format!("{what} ({digest})") };
    // The terminal itself, since standard input belongs to whoever started us.
    let mut terminal =
        OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(|_| refused())?;
    let question = format!("A program that rye runs asks to: {what}\n  {digest}\nDo it? [y/N] ");
    terminal.write_all(question.as_bytes()).map_err(|_| refused())?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer).map_err(|_| refused())?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refused()) }
}
