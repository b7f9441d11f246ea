//! Comparing an item with versions of it that were signed or ran here (core 10).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::listed_files::{Files, ListedFiles, checked, listed_digests, unlike};
use super::load::Loader;
use super::{DIFF_AMBIGUOUS_VERSION, DIFF_NO_BASELINE, DIFF_UNKNOWN_VERSION};
use crate::base::diff::unified;
use crate::base::text::escape_line;
use crate::base::{Digest, Timestamp};
use crate::diagnostic::Failure;
use crate::diagnostic::{Code, Diagnose, Place};
use crate::id::{Fingerprint, Query, Ref};
use crate::lock::Pin;
use crate::resolve::Found;
use crate::signature::{Scan, has_no_line, scan};
use crate::space::Entry;
use crate::trace::Quiet;
use crate::verify::{DevMode, PartFinding, Reason, Source, admit, digest_to_sign};

/// There is no version such as the one that was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VersionError {
    #[error("no verified baseline: no earlier version of `{item}` that verifies is known here")]
    NoBaseline { item: Ref },
    #[error(
        "no verified baseline: the version of `{item}` that the lock lists, sha256 {sha256}, is not known here"
    )]
    NotKept { item: Ref, sha256: Digest },
    #[error("no known version of `{item}` is `{}`", escape_line(.text))]
    Unknown { item: Ref, text: String },
    #[error("more than one known version of `{item}` is `{}`", escape_line(.text))]
    Ambiguous { item: Ref, text: String, among: Vec<Digest> },
}

impl VersionError {
    fn about(&self) -> &Ref {
        match self {
            Self::NoBaseline { item }
            | Self::NotKept { item, .. }
            | Self::Unknown { item, .. }
            | Self::Ambiguous { item, .. } => item,
        }
    }
}

impl Diagnose for VersionError {
    fn code(&self) -> Code {
        match self {
            Self::NoBaseline { .. } | Self::NotKept { .. } => DIFF_NO_BASELINE,
            Self::Unknown { .. } => DIFF_UNKNOWN_VERSION,
            Self::Ambiguous { .. } => DIFF_AMBIGUOUS_VERSION,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NoBaseline { .. } => {
                "a version is remembered when you sign an item or run it; until then, read the file"
                    .into()
            }
            Self::NotKept { .. } => {
                "it was never signed, run or locked on this machine; version control may have it"
                    .into()
            }
            Self::Unknown { item, .. } => {
                format!("the known ones are listed by `rye diff {item} --history`")
            }
            Self::Ambiguous { item, .. } => {
                format!("give more digits; see `rye diff {item} --history`")
            }
        })
    }

    fn item(&self) -> Option<String> {
        Some(self.about().to_string())
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        if let Self::Ambiguous { among, .. } = self {
            data.insert("versions".into(), json!(among));
        }
        data
    }
}

/// The version to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Against {
    /// The version that was signed or ran last.
    Last,
    /// The version that the lock lists.
    Lock,
    /// A version that a person typed: the number of the history, the beginning of a digest, or a
    /// time.
    Named(String),
}

/// The difference from another version.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    /// When the other version was signed.
    pub(crate) since: Option<Timestamp>,
    /// The other version's digest; `None` where no version is known, and all of it is new.
    pub(crate) sha256: Option<Digest>,
    /// Unified, without colours; empty if nothing differs.
    pub(crate) unified: String,
    /// The files beside it that are not as that version lists them.
    pub(crate) files: Vec<FileDifference>,
    /// The signature lines of both texts, each with its short form.
    signatures: Vec<(String, String)>,
}

/// One file beside an item that is not as the version lists it.
#[derive(Debug)]
pub(crate) struct FileDifference {
    pub(crate) path: String,
    pub(crate) finding: PartFinding,
    /// Unified, without colours: from what the version listed, where that was kept, else the whole
    /// file. One sentence of a file that is no text.
    pub(crate) unified: String,
}

/// One known version of an item.
#[derive(Debug)]
pub(crate) struct PastVersion {
    pub(crate) sha256: Digest,
    pub(crate) signed_at: Timestamp,
    pub(crate) signer: Fingerprint,
    pub(crate) owner: Option<String>,
    /// The lock lists it.
    pub(crate) locked: bool,
    /// Its bytes are those on disk.
    pub(crate) on_disk: bool,
}

/// The versions of items that were signed or ran here, and what differs from them.
#[derive(Clone, Copy)]
pub(crate) struct History<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// The versions of items that were signed or ran here, and what differs from them.
    pub(crate) fn history(&self) -> History<'_> {
        History { rye: self }
    }
}

impl History<'_> {
    /// The difference from another version that verifies.
    ///
    /// # Errors
    /// `diff.*`; `lock.*` where the lock is asked for; those of finding the item.
    pub(crate) fn diff(self, query: &Query, against: &Against) -> Result<Difference, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let found = loader.find(query)?;
        let item = found.item.clone();
        let (old, name) = match against {
            Against::Last => match loader.versions(&found).next() {
                Some(last) => (last, None),
                None => return Ok(loader.all_new(&found)),
            },
            Against::Lock => {
                let lock = policy.lock()?;
                let listed = lock.find(&item, found.space).cloned();
                let unlisted = || lock.not_listed(item, Some(found.place.clone()));
                let pin = listed.ok_or_else(unlisted)?;
                return Ok(loader.diff_locked(&found, &pin)?);
            }
            Against::Named(text) => (named_version(loader, &found, text)?, Some("")),
        };
        Ok(loader.difference(&old, &found, name))
    }

    /// The differences of these files from the versions that were verified last, and why others
    /// cannot be looked at. A file without a known version is new as a whole. Unchanged files and
    /// files of a tool are left out.
    pub(crate) fn changed(self, entries: &[Entry]) -> (Vec<Difference>, Vec<Failure>) {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let (mut changed, mut failed) = (Vec::new(), Vec::new());
        for entry in entries {
            let found = match loader.file_of(entry, false) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(failure) => {
                    failed.push(failure);
                    continue;
                }
            };
            let is_bare = has_no_line(&found.bytes, &found.file_type.comment);
            let difference = match loader.versions(&found).next() {
                Some(last) => loader.difference(&last, &found, None),
                None if is_bare && policy.tool_that_lists(entry).is_some() => continue,
                None => loader.all_new(&found),
            };
            if difference.is_any() {
                changed.push(difference);
            }
        }
        (changed, failed)
    }

    /// The known versions of an item, the latest first; only those that verify.
    ///
    /// # Errors
    /// Those of finding the item. A lock that cannot be used marks nothing.
    pub(crate) fn versions(self, query: &Query) -> Result<(Ref, Vec<PastVersion>), Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let found = loader.find(query)?;
        let (locked, on_disk) =
            (policy.locked_digest(&found.item, found.space), digest_to_sign(&found));
        let versions = loader.versions(&found).filter_map(|source| {
            let signer = source.signer()?;
            Some(PastVersion {
                sha256: source.digest(),
                signed_at: signer.at,
                signer: signer.key,
                owner: signer.owner.clone(),
                locked: locked == Some(source.digest()),
                on_disk: on_disk == source.digest(),
            })
        });
        let versions = versions.collect();
        Ok((found.item, versions))
    }
}

impl Difference {
    fn between(old: &Source, found: &Found, name: Option<&str>) -> Self {
        let since = old.signer().map(|signer| signer.at);
        let short = &old.digest().to_string()[..12];
        let at = since.map(|at| at.to_string()).unwrap_or_default();
        let was = match name {
            None => "last verified".to_owned(),
            Some("") => format!("signed {at}, sha256 {short}"),
            Some(name) => format!("{name}, signed {at}, sha256 {short}"),
        };
        let now = String::from_utf8_lossy(&found.bytes);
        let unified = unified(&found.place.path, (&was, old.text()), ("on disk", &now));
        let (item, place, sha256) = (found.item.clone(), found.place.clone(), Some(old.digest()));
        let signatures = signatures(&[old.text().as_bytes(), &found.bytes], found);
        Self { item, place, since, sha256, unified, files: Vec::new(), signatures }
    }

    /// Returns true if anything differs.
    pub(crate) fn is_any(&self) -> bool {
        !self.unified.is_empty() || !self.files.is_empty()
    }

    /// The file and those beside it, as one unified diff.
    pub(crate) fn whole(&self) -> String {
        let files = self.files.iter().map(|file| file.unified.as_str());
        std::iter::once(self.unified.as_str()).chain(files).collect()
    }

    /// The difference in the file alone, for people: a signature line says who signed what and
    /// when.
    pub(crate) fn brief(&self) -> String {
        let lines = self.unified.split_inclusive('\n').map(|line| {
            let text = line.trim_end().get(1..).unwrap_or_default();
            let known = self.signatures.iter().find(|(known, _)| text == known);
            known.map_or_else(|| line.to_owned(), |(_, short)| format!("{}{short}\n", &line[..1]))
        });
        lines.collect()
    }

    /// As [`Self::brief`], with the files beside it.
    pub(crate) fn brief_whole(&self) -> String {
        let files = self.files.iter().map(|file| file.unified.as_str());
        std::iter::once(self.brief().as_str()).chain(files).collect()
    }

    /// The file is what the lock lists.
    fn none(found: &Found, pin: &Pin) -> Self {
        let (item, place) = (found.item.clone(), found.place.clone());
        let (since, sha256) = (Some(pin.signed_at), Some(pin.sha256));
        let (unified, files, signatures) = (String::new(), Vec::new(), Vec::new());
        Self { item, place, since, sha256, unified, files, signatures }
    }
}

impl Loader<'_> {
    /// The difference from a version: of the file, and of those beside it that its header means.
    fn difference(&self, old: &Source, found: &Found, name: Option<&str>) -> Difference {
        let rye = self.rye;
        // Where the header cannot be read any more, those that the version listed.
        let before =
            || ListedFiles::new(&rye.types, found.space, &found.item, &found.ext, old.text());
        let listing = ListedFiles::from_found(rye, found).or_else(before);
        let root = rye.spaces.home(found.space, found.bundle.as_ref());
        let files = root.zip(listing).map(|(root, l)| l.now(root, &found.item, &found.ext));
        let mut files = self.file_differences(found, &files.unwrap_or_default(), Some(old));
        // What is there and cannot be read is not missing.
        if let Err(Reason::Dependency { findings }) =
            checked(old.clone(), &rye.spaces).map_err(|refused| refused.reason)
        {
            for finding in findings {
                match &finding {
                    PartFinding::Unusable(path) => {
                        let row = files.iter_mut().find(|file| file.path == *path);
                        let Some(row) = row else { continue };
                        row.finding = finding;
                    }
                    PartFinding::TooMany | PartFinding::NoFolder => {
                        files.push(FileDifference {
                            path: String::new(),
                            finding,
                            unified: String::new(),
                        });
                    }
                    _ => {}
                }
            }
        }
        Difference { files, ..Difference::between(old, found, name) }
    }

    /// The files that differ from what `last` lists; all of them where no version is known.
    pub(super) fn file_differences(
        &self,
        found: &Found,
        files: &Files,
        last: Option<&Source>,
    ) -> Vec<FileDifference> {
        let known = last.map(|last| listed_digests(found, last)).unwrap_or_default();
        let baselines = self.baselines();
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

    /// The whole of an item of which no version is known, and of the files beside it.
    fn all_new(&self, found: &Found) -> Difference {
        let text = String::from_utf8_lossy(&found.bytes);
        let unified = unified(
            &found.place.path,
            ("no version that verifies is known", ""),
            ("on disk", &text),
        );
        let files = self.file_differences(found, &self.rye.items().files_beside(found), None);
        let (item, place) = (found.item.clone(), found.place.clone());
        let signatures = signatures(&[&found.bytes], found);
        Difference { item, place, since: None, sha256: None, unified, files, signatures }
    }

    /// The remembered versions of a file that verify now, the latest first.
    pub(super) fn versions(&self, found: &Found) -> impl Iterator<Item = Source> {
        let baselines = self.baselines();
        let known = baselines.map(|b| b.versions(&found.base, &found.item));
        let bare = Found { bytes: Cow::Borrowed(b""), ..found.clone() };
        let identity = self.rye.spaces.project_identity();
        known.unwrap_or_default().into_iter().filter_map(move |version| {
            let bytes = Cow::Owned(version.read()?);
            let old = Found { bytes, ..bare.clone() };
            admit(old, self.trust, identity, DevMode(false), &Quiet).ok()
        })
    }

    /// The difference from the version that a row of the lock lists.
    ///
    /// # Errors
    /// `diff.no_baseline`
    pub(super) fn diff_locked(&self, found: &Found, pin: &Pin) -> Result<Difference, VersionError> {
        let mut there = found.clone();
        // Another copy may answer now; the versions of the locked one are kept by where it lay.
        if let Some(root) = self.rye.spaces.get(pin.space).filter(|_| pin.space != found.space) {
            there.space = pin.space;
            root.base().clone_into(&mut there.base);
            there.embedded = root.is_embedded();
        }
        if let Some(old) = self.versions(&there).find(|source| source.digest() == pin.sha256) {
            return Ok(self.difference(&old, found, Some("locked")));
        }
        if digest_to_sign(found) == pin.sha256 {
            return Ok(Difference::none(found, pin));
        }
        Err(VersionError::NotKept { item: found.item.clone(), sha256: pin.sha256 })
    }
}

/// The key that the last remembered version of a file names, believed or not by now.
pub(super) fn last_signer(loader: Loader<'_>, found: &Found) -> Option<Fingerprint> {
    let version = loader.baselines()?.versions(&found.base, &found.item).into_iter().next()?;
    match scan(&version.read()?, &found.file_type.comment) {
        Ok(Scan::Line { line, .. }) => Some(line.key),
        _ => None,
    }
}

/// The one known version that a person means.
fn named_version(loader: Loader<'_>, found: &Found, text: &str) -> Result<Source, VersionError> {
    let item = found.item.clone();
    let mut known: Vec<Source> = loader.versions(found).collect();
    if known.is_empty() {
        return Err(VersionError::NoBaseline { item });
    }
    let unknown = || VersionError::Unknown { item: item.clone(), text: text.to_owned() };
    if let Some(latest) = moment(text) {
        let at = |source: &Source| source.signer().map(|signer| signer.at);
        known.retain(|source| at(source).is_some_and(|at| at <= latest));
        return known.into_iter().max_by_key(at).ok_or_else(unknown);
    }
    // A digest is named by at least four digits, so that short numbers count back.
    if text.len() < 4 {
        let back = text.parse::<usize>().ok().filter(|back| *back < known.len());
        return back.map(|back| known.swap_remove(back)).ok_or_else(unknown);
    }
    known.retain(|source| source.digest().to_string().starts_with(text));
    match known.len() {
        0 => Err(unknown()),
        1 => Ok(known.swap_remove(0)),
        _ => {
            let among = known.iter().map(Source::digest).collect();
            Err(VersionError::Ambiguous { item, text: text.to_owned(), among })
        }
    }
}

/// A time as people write it: a moment, or a day, which is its last second.
fn moment(text: &str) -> Option<Timestamp> {
    let whole = || format!("{text}T23:59:59Z").parse().ok();
    text.parse().ok().or_else(whole)
}

/// The signature lines of versions of a file, each with a short form. There is none of what is not
/// a sound signature line, and none of two that would read alike: those are shown in full.
fn signatures(versions: &[&[u8]], found: &Found) -> Vec<(String, String)> {
    let comment = &found.file_type.comment;
    let mut lines = Vec::<(String, String)>::new();
    for bytes in versions {
        let Ok(Scan::Line { line, range }) = scan(bytes, comment) else { continue };
        let text = String::from_utf8_lossy(&bytes[range]).trim_end().to_owned();
        let (by, sha256) = (line.key.short(), &line.sha256.to_string()[..12]);
        let said = format!("rye:signed:v2 {} by {by} sha256 {sha256}…", line.at);
        lines.push((text, format!("{}{said}{}", comment.open, comment.close)));
    }
    match lines.as_slice() {
        [old, new] if old.1 == new.1 && old.0 != new.0 => Vec::new(),
        _ => lines,
    }
}

fn differing(old: &[u8], new: Option<&Cow<'static, [u8]>>, path: &str, was: &str) -> String {
    let new = new.map(AsRef::as_ref).unwrap_or_default();
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) => unified(path, (was, old), ("on disk", new)),
        _ => format!("`{path}` is not text: sha256 {}\n", Digest::of(new)),
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_day_is_its_last_second() {
        assert_eq!(moment("2026-11-21").unwrap().to_string(), "2026-11-21T23:59:59Z");
        assert_eq!(moment("2026-11-21T10:00:00Z").unwrap().to_string(), "2026-11-21T10:00:00Z");
        for text in ["", "1", "2026", "2026-11", "2026-13-01", "20261121", "abcd"] {
            assert_eq!(moment(text), None, "{text:?}");
        }
    }
}
