//! Signing what a person was shown, and nothing else (core 3.6, 4.3).

use super::diff::{Against, unified};
use super::failure::Failure;
use super::rye::Rye;
use super::sign::{SignOptions, Signed};
use crate::base::Digest;
use crate::base::text::escape;
use crate::id::{Query, Ref, Space};
use crate::resolve::Found;
use crate::space::Entry;
use crate::verify::{Reason, Refused, digest_to_sign};

/// A file as it was shown to a person who is asked for a signature.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) entry: Entry,
    pub(crate) item: Ref,
    /// Where the file lies.
    pub(crate) path: std::path::PathBuf,
    /// What the signature would cover.
    pub(crate) digest: Digest,
    /// What changed since the last verified version; the whole file where none is known.
    pub(crate) diff: String,
    /// There is a verified version to compare with.
    pub(crate) has_baseline: bool,
}

/// What became of an offer that was accepted.
#[derive(Debug)]
pub(crate) enum Taken {
    Signed,
    /// The file is not what was shown; nothing was signed.
    Changed,
}

impl Rye {
    /// Reads the file that a signature is asked for, and what changed in it.
    ///
    /// # Errors
    /// `verify.project_not_accepted`: an editor is no place to accept a project. Those of finding the
    /// file.
    pub(crate) fn offer(&self, entry: &Entry) -> Result<Offer, Failure> {
        let found = self.offered(entry)?;
        let query = Query { space: Some(entry.space), ..Query::from(entry.item.clone()) };
        let (diff, has_baseline) = match self.diff(&query, &Against::Last) {
            Ok(difference) => {
                let files = difference.files.iter().map(|file| format!("{file}\n"));
                (format!("{}{}", difference.unified, files.collect::<String>()), true)
            }
            Err(_) => {
                let text = String::from_utf8_lossy(&found.bytes);
                (unified("", &text, &found.place.path, "no verified version is known"), false)
            }
        };
        let diff = escape(&diff).into_owned();
        let digest = digest_to_sign(&found);
        let Found { item, path, .. } = found;
        Ok(Offer { entry: entry.clone(), item, path, digest, diff, has_baseline })
    }

    /// Signs what was shown with your own key, if the file still holds it.
    ///
    /// # Errors
    /// Those of [`Rye::offer`], of your own key, and of signing.
    pub(crate) fn take(&self, offer: &Offer) -> Result<Taken, Failure> {
        let found = self.offered(&offer.entry)?;
        if digest_to_sign(&found) != offer.digest {
            return Ok(Taken::Changed);
        }
        let pair = self.own_pair()?;
        let options = SignOptions { check: false, again: true, progress: &|| () };
        match self.sign_all(vec![found], &pair, options).pop().map(|report| report.signed) {
            Some(Signed::Failed(failure)) => Err(failure),
            _ => Ok(Taken::Signed),
        }
    }

    fn offered(&self, entry: &Entry) -> Result<Found, Failure> {
        let query = Query { space: Some(entry.space), ..Query::from(entry.item.clone()) };
        let found = self.find_to_sign(&query, Some(entry.space))?;
        let identity = self.spaces().project_identity();
        let accepted =
            identity.is_some_and(|identity| self.trust().accepts(identity).unwrap_or(false));
        if entry.space == Space::Project && !accepted {
            let (item, place) = (found.item, found.place);
            let reason = Reason::ProjectNotAccepted;
            return Err(
                Box::new(Refused { item, place, claim: None, reason, baseline: false }).into()
            );
        }
        Ok(found)
    }
}
