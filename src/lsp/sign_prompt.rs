//! The way to a signature: the change is shown, a person answers, and what was shown is signed.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::rye::Offer;

/// Longest change that a question holds, in bytes: about two screens.
#[cfg(feature = "lsp")]
const LSP_QUESTION_BYTES: usize = 8 << 10;

/// The answer that signs; every other one does not.
pub(super) const YES: &str = "Sign";
pub(super) const NO: &str = "Cancel";

/// The purpose of an awaited answer of the editor.
pub(super) enum Awaited {
    /// The editor was asked to show the change; the question comes next.
    Shown(Box<Offer>),
    /// A person was asked.
    Answered(Box<Offer>),
    /// The answer is not used.
    Nothing,
}

/// A private folder with the shown changes; it lasts as long as the session.
#[derive(Default)]
pub(super) struct Shown(Option<tempfile::TempDir>);

impl Shown {
    /// Writes a change to a file that an editor can open.
    pub(super) fn write(&mut self, offer: &Offer) -> std::io::Result<PathBuf> {
        let folder = match &self.0 {
            Some(folder) => folder,
            None => self.0.insert(tempfile::tempdir()?),
        };
        // The digest is part of the name, so that the editor does not show an older change.
        let name = offer.item.to_string().replace([':', '/'], "-");
        let digest = &offer.digest.to_string()[..12];
        let path = folder.path().join(format!("{name}-{digest}.diff"));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(offer.diff.as_bytes())?;
        Ok(path)
    }
}

/// The question, with the change in it unless the change is shown in a file.
///
/// `None` if the change is too long for a question, so that no person could read it.
pub(super) fn question(offer: &Offer, is_shown: bool) -> Option<String> {
    let (item, digest) = (&offer.item, &offer.digest.to_string()[..12]);
    let what = match offer.has_baseline {
        true => "what changed since it was last verified",
        false => "the whole file, since no verified version of it is known",
    };
    if is_shown {
        return Some(format!("Sign `{item}`, sha256 {digest}…? You are shown {what}."));
    }
    let fits = offer.diff.len() <= LSP_QUESTION_BYTES;
    fits.then(|| format!("Sign `{item}`, sha256 {digest}…? This is {what}:\n\n{}", offer.diff))
}
