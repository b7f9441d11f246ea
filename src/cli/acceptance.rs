//! A project that you have not accepted is looked at before anything of it is signed (core 4.3).

use super::confirm::{ask, can_ask};
use super::error::CliError;
use super::out::Out;
use crate::base::Digest;
use crate::base::text::{escape, escape_line};
use crate::diag::Style;
use crate::id::Ref;
use crate::pipeline::{Failure, Review, Rye, ToSign};
use crate::verify::{Reason, Refused};

/// Shows what the project holds, with the texts that are about to be signed, and asks; asks nobody where
/// the project is accepted, or holds nothing but `own`, which you were shown or made just now. `--yes` is
/// no answer: it was typed before anything was shown.
///
/// # Errors
/// `verify.project_not_accepted` where nobody can be asked; `cli.not_confirmed`.
pub(super) fn accept_first(
    rye: &Rye,
    files: &[ToSign],
    own: &[Ref],
    out: &mut Out,
) -> Result<(), CliError> {
    let Some(review) = rye.review_unaccepted(own)? else { return Ok(()) };
    if can_ask() && !out.is_json() {
        super::trust::show_review(&review, rye, out);
        show_texts(rye, files, out);
        out.flush();
        let question = "Accept this project, and go on? What you sign may run in it. [y/N] ";
        match ask(question) {
            Some(true) => return Ok(()),
            Some(false) => {
                let what = format!("accepting `{}`", review.project);
                return Err(CliError::NotConfirmed { what });
            }
            None => {}
        }
    }
    Err(not_accepted(&review, files))
}

/// The whole of what would be signed, with the files that each signature covers.
fn show_texts(rye: &Rye, files: &[ToSign], out: &mut Out) {
    for file in files {
        let item = &file.found.item;
        show_text(&format!("{item} would be signed:"), &file.found.bytes, out);
        let header = String::from_utf8_lossy(&file.found.bytes);
        for (name, bytes) in rye.files_beside(&file.found) {
            let is_covered = header.contains(&Digest::of(&bytes).to_string());
            let how = if is_covered { "covered by it" } else { "changed since it was read" };
            show_text(&format!("`{}` of {item}, {how}:", escape_line(&name)), &bytes, out);
        }
    }
}

/// A text; of bytes that are not one, their digest.
fn show_text(head: &str, bytes: &[u8], out: &mut Out) {
    let head = out.paint().style(Style::Strong, head);
    out.line(&head);
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            text.split('\n').for_each(|line| out.line(&format!("  {}", escape(line))));
        }
        Err(_) => out.line(&format!("  is not text: sha256 {}", Digest::of(bytes))),
    }
    out.line("");
}

fn not_accepted(review: &Review, files: &[ToSign]) -> CliError {
    let named = files.first().map(|file| (file.found.item.clone(), file.found.place.clone()));
    let held = review.items.first().map(|item| (item.item.clone(), item.place.clone()));
    match named.or(held) {
        Some((item, place)) => {
            let reason = Reason::ProjectNotAccepted;
            let refused = Refused { item, place, claim: None, reason, baseline: false };
            CliError::Failure(Failure::from(Box::new(refused)))
        }
        None => CliError::NotConfirmed { what: format!("accepting `{}`", review.project) },
    }
}
