//! Before anything of a project is signed that you have not accepted, its content is shown to you
//! (core 4.3).

use super::confirm::{ask, can_ask};
use super::error::CliError;
use super::out::Out;
use crate::base::Digest;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Failure, Style};
use crate::id::Ref;
use crate::rye::{Review, Rye, StagedRow};
use crate::verify::{Reason, Refused};

/// Shows what the project holds, with the very bytes that were staged to be signed, and asks. There
/// is no question if the project is accepted, or holds nothing but `own`, which you were shown or
/// have just made. `--yes` does not answer it, because it was typed before anything was shown.
///
/// # Errors
/// `verify.project_not_accepted` if no person can be asked; `cli.not_confirmed`; `sign.io` if a
/// file has changed since it was staged.
pub(super) fn accept_first(
    rye: &Rye,
    staged: &[StagedRow],
    own: &[Ref],
    out: &mut Out,
) -> Result<(), Failure> {
    let Some(review) = rye.project().review_unaccepted(own)? else { return Ok(()) };
    if can_ask() && !out.is_json() {
        super::trust::show_review(&review, rye, out);
        show_texts(rye, staged, out)?;
        out.flush();
        let question = "Accept this project, and go on? What you sign may run in it. [y/N] ";
        match ask(question) {
            Some(true) => return Ok(()),
            Some(false) => return Err(CliError::Declined.into()),
            None => {}
        }
    }
    Err(not_accepted(&review, staged))
}

/// The whole of what would be signed: each file, and the files that its signature covers.
fn show_texts(rye: &Rye, staged: &[StagedRow], out: &mut Out) -> Result<(), Failure> {
    for row in staged {
        let Some(source) = rye.signing().staged_source(row)? else { continue };
        let item = source.item();
        show_text(&format!("{item} would be signed:"), source.raw().as_bytes(), out);
        for part in source.parts() {
            let path = escape_line(part.path.as_str());
            show_text(&format!("`{path}`, which {item} covers:"), &part.bytes, out);
        }
    }
    Ok(())
}

/// A text, escaped; the digest of bytes that are not text.
pub(super) fn show_text(head: &str, bytes: &[u8], out: &mut Out) {
    let head = out.paint().style(Style::Strong, head);
    out.line(&head);
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let lines = text.split_terminator('\n');
            lines.for_each(|line| out.exact(&format!("  {}\n", escape(line))));
        }
        Err(_) => out.line(&format!("  it is not text: sha256 {}", Digest::of(bytes))),
    }
    out.line("");
}

fn not_accepted(review: &Review, staged: &[StagedRow]) -> Failure {
    let named = staged.first().map(|row| (row.item.clone(), row.place.clone()));
    let held = review.items.first().map(|item| (item.item.clone(), item.place.clone()));
    match named.or(held) {
        Some((item, place)) => {
            let reason = Reason::ProjectNotAccepted;
            Refused::new(item, place, reason).into()
        }
        None => CliError::NotConfirmed { what: format!("accept `{}`", review.project) }.into(),
    }
}
