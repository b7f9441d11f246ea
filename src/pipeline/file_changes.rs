//! What changed in the files beside an item since a version of it that verifies (core 7.8, 10).

use super::diff::unified;
use super::line::Line;
use super::parts::{Files, listed_digests, unlike};
use crate::base::Digest;
use crate::resolve::Found;
use crate::verify::{PartFinding, Source};

/// One file beside an item that is not as the version lists it.
#[derive(Debug)]
pub(crate) struct FileDifference {
    pub(crate) path: String,
    pub(crate) finding: PartFinding,
    /// Unified, without colours: from what the version listed, where that was kept, else the whole
    /// file. One sentence of a file that is no text.
    pub(crate) unified: String,
}

impl Line<'_> {
    /// The files that differ from what `last` lists; all of them where no version is known.
    pub(super) fn file_differences(
        &self,
        found: &Found,
        files: &Files,
        last: Option<&Source>,
    ) -> Vec<FileDifference> {
        let known = last.map(|last| listed_digests(found, last)).unwrap_or_default();
        let baselines = self.rye.baselines();
        let kept = |path: &str| {
            let (_, digest) = known.iter().find(|(known, _)| known.as_str() == path)?;
            baselines.as_ref()?.file(&found.base, &found.item, (*digest)?)
        };
        let rows = unlike(found, files, last).into_iter().filter_map(|finding| {
            let (path, old) = match &finding {
                PartFinding::Changed(path) | PartFinding::Missing(path) => (path, kept(path)),
                PartFinding::Extra(path) => (path, None),
                _ => return None,
            };
            let was = match (&finding, &old) {
                (_, Some(_)) => "last verified",
                (PartFinding::Extra(_), None) => "no version lists it",
                (_, None) => "what it was is not kept; this is the whole file",
            };
            let unified = differing(&old.unwrap_or_default(), files.get(path), path, was);
            Some(FileDifference { path: path.clone(), unified, finding })
        });
        rows.collect()
    }
}

fn differing(
    old: &[u8],
    new: Option<&std::borrow::Cow<'static, [u8]>>,
    path: &str,
    was: &str,
) -> String {
    let new = new.map(AsRef::as_ref).unwrap_or_default();
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) => unified(old, new, path, was),
        _ => format!("`{path}` is not text: sha256 {}\n", Digest::of(new)),
    }
}
