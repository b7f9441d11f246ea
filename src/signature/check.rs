//! The one rule for every signed text (core 3.6): what may stand in it, its line, its place, its
//! digest, its key, its signature and the clock, in that order.
//!
//! Items, trust documents, records and what a review shows are all judged here. They differ only in
//! whose key may have signed, which the caller says.

use std::ops::Range;

use super::key::PublicKey;
use super::line::{Scan, SigFault, SigLine, scan};
use crate::base::text::{ForbiddenChar, Position, lone_return, position, unfit};
use crate::base::{Digest, Timestamp};
use crate::id::Ref;
use crate::space::Comment;

/// How far ahead of the clock a signature may be made, in seconds: clocks of two machines differ.
const CLOCK_SKEW_SECONDS: i64 = 300;

/// A fault of a signed text, whatever key signed it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TextFault {
    #[error("it is not UTF-8")]
    NotUtf8 { at: Position },
    #[error("it holds a control or invisible character")]
    Text { unfit: ForbiddenChar, at: Position },
    #[error("it carries no signature line")]
    Unsigned,
    #[error("it carries a signature line of the older form")]
    Legacy,
    #[error("its signature line is malformed: {why}")]
    Malformed { why: &'static str },
    #[error("it has a signature line where none belongs, on line {line}")]
    Stray { line: usize },
    #[error("it was signed for another place")]
    Moved { says: String, is: String },
    #[error("it was changed after it was signed")]
    Altered,
    #[error("it holds a carriage return that is not before a line feed")]
    LoneReturn { at: Position },
    #[error("its signature is forged")]
    Forged,
    #[error("it was signed at {at}, which is in the future")]
    NotYet { at: Timestamp },
}

/// Bytes, and the place for which they must have been signed.
pub(crate) struct SignedText<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) item: &'a Ref,
    /// The extension without its dot.
    pub(crate) ext: &'a str,
    pub(crate) comment: &'a Comment,
}

/// A text that was judged.
#[derive(Debug)]
pub(crate) struct CheckedText<'a, S> {
    pub(crate) text: &'a str,
    /// The signature line and where it stands; `None` if a missing line was forgiven.
    pub(crate) line: Option<(Box<SigLine>, Range<usize>)>,
    /// SHA-256 over everything but the signature line.
    pub(crate) digest: Digest,
    /// The signer, as the caller knows the key; `None` if an unknown key was forgiven.
    pub(crate) signer: Option<S>,
}

/// The result of a check. The text is given only to a caller who says what it forgives.
#[derive(Debug)]
pub(crate) struct TextVerdict<'a, S, F> {
    checked: CheckedText<'a, S>,
    /// Everything that is wrong, in the order of core 3.6.
    faults: Vec<F>,
}

impl<'a, S, F> TextVerdict<'a, S, F> {
    /// The signature line that stands in its place, whatever is wrong with it.
    pub(crate) fn line(&self) -> Option<&SigLine> {
        self.checked.line.as_ref().map(|(line, _)| line.as_ref())
    }

    /// The signer, as the caller knows the key, whatever is wrong with the text.
    pub(crate) fn signer(&self) -> Option<&S> {
        self.checked.signer.as_ref()
    }

    /// Everything that is wrong, in the order of core 3.6.
    pub(crate) fn faults(&self) -> &[F] {
        &self.faults
    }

    /// The text, if nothing is wrong with it.
    ///
    /// # Errors
    /// The first fault.
    pub(crate) fn strictly(self) -> Result<CheckedText<'a, S>, F> {
        self.forgiving(|_| false).map(|(checked, _)| checked)
    }

    /// The text with its forgiven faults, if all of its faults are forgiven.
    ///
    /// # Errors
    /// The first fault that is not forgiven.
    pub(crate) fn forgiving(
        mut self,
        forgives: impl Fn(&F) -> bool,
    ) -> Result<(CheckedText<'a, S>, Vec<F>), F> {
        match self.faults.iter().position(|fault| !forgives(fault)) {
            Some(first) => Err(self.faults.swap_remove(first)),
            None => Ok((self.checked, self.faults)),
        }
    }

    fn and(mut self, fault: impl Into<F>) -> Self {
        self.faults.push(fault.into());
        self
    }
}

/// Judges a signed text. `may_sign` answers for the key that its line names: the key itself and
/// what is known of it, or why it may not sign here. Every check that is still possible is made, so
/// a caller who forgives one fault knows the others.
pub(crate) fn check<'a, S, F: From<TextFault>>(
    signed: &SignedText<'a>,
    now: Timestamp,
    may_sign: impl FnOnce(&SigLine) -> Result<(PublicKey, S), F>,
) -> TextVerdict<'a, S, F> {
    let bytes = signed.bytes;
    let checked = CheckedText { text: "", line: None, digest: Digest::of(&[]), signer: None };
    let mut verdict = TextVerdict { checked, faults: Vec::new() };
    match reviewed_text(bytes) {
        Ok(text) => verdict.checked.text = text,
        Err(fault) => return verdict.and(fault),
    }
    let without_line = match scan(bytes, signed.comment) {
        Ok(Scan::Line { line, range }) => {
            verdict.checked.digest =
                Digest::of_parts(&[&bytes[..range.start], &bytes[range.end..]]);
            verdict.checked.line = Some((line, range));
            None
        }
        Ok(Scan::None) => Some(TextFault::Unsigned),
        Err(SigFault::Legacy { .. }) => Some(TextFault::Legacy),
        Err(SigFault::Malformed { why, .. }) => return verdict.and(TextFault::Malformed { why }),
        Err(SigFault::Stray { line }) => return verdict.and(TextFault::Stray { line }),
    };
    let Some((line, _)) = &verdict.checked.line else {
        verdict.checked.digest = Digest::of(bytes);
        verdict.faults.extend(without_line.map(F::from));
        verdict.faults.extend(lone_return_in(bytes).map(F::from));
        return verdict;
    };
    let faults = &mut verdict.faults;
    if line.item != *signed.item || line.ext != signed.ext {
        let says = format!("{}.{}", line.item, line.ext);
        let is = format!("{}.{}", signed.item, signed.ext);
        faults.push(TextFault::Moved { says, is }.into());
    }
    if verdict.checked.digest != line.sha256 {
        faults.push(TextFault::Altered.into());
    }
    // This comes after the digest, because line ends that an editor changed are best reported as a
    // change.
    faults.extend(lone_return_in(bytes).map(F::from));
    match may_sign(line) {
        Ok((key, signer)) => {
            if !key.verifies(line.statement.as_bytes(), &line.sig) {
                faults.push(TextFault::Forged.into());
            }
            verdict.checked.signer = Some(signer);
        }
        Err(why) => faults.push(why),
    }
    if line.at.as_second() > now.as_second().saturating_add(CLOCK_SKEW_SECONDS) {
        faults.push(TextFault::NotYet { at: line.at }.into());
    }
    verdict
}

/// The bytes as text, without anything that a reviewer could not see (core 1.5).
fn reviewed_text(bytes: &[u8]) -> Result<&str, TextFault> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| TextFault::NotUtf8 { at: position(bytes, e.valid_up_to()) })?;
    match unfit(text) {
        Some(unfit) => Err(TextFault::Text { unfit, at: position(bytes, unfit.at) }),
        None => Ok(text),
    }
}

fn lone_return_in(bytes: &[u8]) -> Option<TextFault> {
    lone_return(bytes).map(|at| TextFault::LoneReturn { at: position(bytes, at) })
}

/// The bytes as text that may be signed: the text rules of [`check`], all of them.
///
/// # Errors
/// The first rule that the text breaks.
pub(crate) fn fit_text(bytes: &[u8]) -> Result<&str, TextFault> {
    let text = reviewed_text(bytes)?;
    match lone_return_in(bytes) {
        Some(fault) => Err(fault),
        None => Ok(text),
    }
}
