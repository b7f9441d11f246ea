//! Signing what a person was shown, and nothing else (core 3.6, 4.3).

use std::collections::BTreeMap;

use super::call_policy::{CallPolicy, LockMode};
use super::listed_files::Files;
use super::signing::Signing;
use crate::base::Digest;
use crate::base::diff::unified;
use crate::base::text::escape;
use crate::diagnostic::Failure;
use crate::id::{Query, Ref, Space};
use crate::resolve::Found;
use crate::space::Entry;
use crate::trace::Quiet;
use crate::verify::{Reason, Refused, SignWith, digest_to_sign};

/// A file as it was shown to a person who is asked for a signature.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) entry: Entry,
    pub(crate) item: Ref,
    /// Where the file lies.
    pub(crate) path: std::path::PathBuf,
    /// The digest that the signature would cover: of the header as signing writes it, with the
    /// digests of the files that it lists.
    pub(crate) digest: Digest,
    /// The changes since the last verified version; the whole file if none is known. So for each
    /// file beside it, which stands there whole if its earlier bytes were not kept.
    pub(crate) diff: String,
    /// There is a verified version to compare with.
    #[cfg_attr(
        not(any(feature = "lsp", feature = "mcp")),
        expect(dead_code, reason = "only who asks a person tells it")
    )]
    pub(crate) has_baseline: bool,
    /// The bytes of the file, and of those beside it, as they were shown.
    seen: (Digest, BTreeMap<String, Digest>),
}

/// The result of accepting an offer.
#[derive(Debug)]
pub(crate) enum OfferOutcome {
    Signed,
    /// The file, or one beside it, is not what was shown; nothing was signed.
    Changed,
}

impl Signing<'_> {
    /// Reads the file that a signature is asked for, and what changed in it.
    ///
    /// # Errors
    /// `verify.project_not_accepted`: an editor is no place to accept a project. Those of finding
    /// the file.
    pub(crate) fn offer(self, entry: &Entry) -> Result<Offer, Failure> {
        let (found, files) = self.offered(entry)?;
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let last = loader.versions(&found).next();
        let text = String::from_utf8_lossy(&found.bytes);
        let path = &found.place.path;
        let mut diff = match &last {
            Some(last) => unified(path, ("last verified", last.text()), ("on disk", &text)),
            None => unified(path, ("no verified version is known", ""), ("on disk", &text)),
        };
        for file in loader.file_differences(&found, &files, last.as_ref()) {
            diff.push_str(&format!("{}\n{}", file.finding, file.unified));
        }
        let diff = escape(&diff).into_owned();
        // What cannot be signed is refused when it is to be.
        let prepared = self.own_pair().and_then(|pair| {
            let prepared =
                self.rye.working_items().prepare_by(&found, &files, SignWith::Own(&pair))?;
            Ok(prepared.digest())
        });
        let digest = prepared.unwrap_or_else(|_| digest_to_sign(&found));
        let (has_baseline, seen) = (last.is_some(), seen(&found, &files));
        let Found { item, path, .. } = found;
        Ok(Offer { entry: entry.clone(), item, path, digest, diff, has_baseline, seen })
    }

    /// Signs what was shown with your own key, if the file and those beside it are still that.
    ///
    /// # Errors
    /// Those of [`Signing::offer`], of your own key, and of signing.
    pub(crate) fn take(self, offer: &Offer) -> Result<OfferOutcome, Failure> {
        let (found, files) = self.offered(&offer.entry)?;
        if seen(&found, &files) != offer.seen || found.path != offer.path {
            return Ok(OfferOutcome::Changed);
        }
        let prepared = self.rye.working_items().prepare_by(
            &found,
            &files,
            SignWith::Own(&self.own_pair()?),
        )?;
        let is_shown = prepared.is_current && prepared.digest() == offer.digest;
        if is_shown && self.rye.working_items().finish(&prepared)? {
            Ok(OfferOutcome::Signed)
        } else {
            Ok(OfferOutcome::Changed)
        }
    }

    /// The file as it is now, and those beside it that its header means.
    fn offered(self, entry: &Entry) -> Result<(Found, Files), Failure> {
        let query = Query { space: Some(entry.space), ..Query::from(entry.item.clone()) };
        let found = self.find(&query, Some(entry.space))?;
        if entry.space == Space::Project && !self.rye.project().is_accepted() {
            let (item, place) = (found.item, found.place);
            let reason = Reason::ProjectNotAccepted;
            return Err(Box::new(Refused::new(item, place, reason)).into());
        }
        let files = self.rye.items().files_beside(&found);
        Ok((found, files))
    }
}

/// The digests that tell whether anything has changed.
fn seen(found: &Found, files: &Files) -> (Digest, BTreeMap<String, Digest>) {
    let files = files.iter().map(|(name, bytes)| (name.clone(), Digest::of(bytes)));
    (Digest::of(&found.bytes), files.collect())
}
