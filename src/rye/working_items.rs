//! Working items (core 5.2): what the project holds at this moment, and signing it with the dev
//! key.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::call_policy::CallPolicy;
use super::facade::Rye;
use super::listed_files::{Files, ListedFiles, Lists};
use super::load::{Loader, twins};
use super::signing::Unwritten;
use crate::base::Digest;
use crate::base::diff::unified;
use crate::base::text::invisible;
use crate::diagnostic::Failure;
use crate::diagnostic::Place;
use crate::id::{Kind, Ref, Space};
use crate::parse::Item;
use crate::resolve::Found;
use crate::signature::has_no_line;
use crate::space::Entry;
use crate::trace::Quiet;
use crate::verify::{DevKey, PublicKey, Scan, SignWith, Source, brief, digest_to_sign, scan};

/// Whose signature admits an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Author {
    Own,
    Dev,
    /// Another person you trust, by name if you gave one.
    Other(String),
}

/// A file of the project that is an item by its place.
#[derive(Debug)]
pub(crate) struct WorkingItem {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    /// Or why there is no one file.
    pub(crate) work: Result<WorkingText, Failure>,
}

/// The content of such a file at this moment, with the files beside it that its header means.
#[derive(Debug)]
pub(crate) struct WorkingText {
    found: Found,
    files: Files,
    /// SHA-256 of the file without its signature line.
    pub(crate) digest: Digest,
    /// Who answers for it, or why it is not admitted; the lock is not asked.
    pub(crate) verdict: Result<(Author, Item), Failure>,
}

impl WorkingItem {
    /// Returns true if nothing changed: the bytes are the same, or the same thing is wrong.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.work, &other.work) {
            (Ok(one), Ok(two)) => one.found.bytes == two.found.bytes && one.files == two.files,
            (Err(one), Err(two)) => one.to_string() == two.to_string(),
            _ => false,
        }
    }

    /// Returns true if a signature covers the same in both.
    pub(crate) fn covers_same(&self, other: &Self) -> bool {
        match (&self.work, &other.work) {
            (Ok(one), Ok(two)) => one.digest == two.digest && one.files == two.files,
            _ => false,
        }
    }

    /// The person who answers for it, if there is one.
    pub(crate) fn author(&self) -> Option<&Author> {
        self.work.as_ref().ok()?.verdict.as_ref().ok().map(|(author, _)| author)
    }

    /// The item, if it is admitted.
    pub(crate) fn parsed(&self) -> Option<&Item> {
        self.work.as_ref().ok()?.verdict.as_ref().ok().map(|(_, item)| item)
    }

    /// Returns true if the file has no bytes, as one has that an editor is about to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.work.as_ref().is_ok_and(|work| work.found.bytes.is_empty())
    }

    /// The files beside it, as paths below its folder.
    pub(crate) fn file_names(&self) -> Vec<&str> {
        self.work.iter().flat_map(|work| work.files.keys().map(String::as_str)).collect()
    }

    /// The first file beside it that is not as it was `before` and holds invisible characters or is
    /// not text.
    pub(crate) fn hides(&self, before: Option<&Self>) -> Option<&str> {
        let old = before.and_then(|before| before.work.as_ref().ok());
        let mut now = self.work.iter().flat_map(|work| &work.files);
        // A file that is not text cannot be shown.
        let hides =
            |bytes: &[u8]| std::str::from_utf8(bytes).map_or(true, |t| invisible(t).is_some());
        let found = now.find(|(name, bytes)| {
            old.is_none_or(|old| old.files.get(*name) != Some(*bytes)) && hides(bytes)
        });
        found.map(|(name, _)| name.as_str())
    }

    /// How many files differ: its own and those beside it.
    pub(crate) fn differing(&self, before: Option<&Self>) -> usize {
        let Ok(work) = &self.work else { return 1 };
        let Some(Ok(old)) = before.map(|before| &before.work) else { return 1 + work.files.len() };
        let own = usize::from(old.digest != work.digest);
        let names: HashSet<&String> = work.files.keys().chain(old.files.keys()).collect();
        own + names.into_iter().filter(|name| work.files.get(*name) != old.files.get(*name)).count()
    }
}

impl WorkingText {
    /// The key that the signature line names, where it is well-formed; the fault where it is not.
    pub(crate) fn line_key(&self) -> Result<Option<crate::id::Fingerprint>, ()> {
        match scan(&self.found.bytes, &self.found.file_type.comment) {
            Ok(Scan::Line { line, .. }) => Ok(Some(line.key)),
            Ok(Scan::None) => Ok(None),
            Err(_) => Err(()),
        }
    }

    fn text(&self) -> Vec<u8> {
        brief(&self.found.bytes, &self.found.file_type.comment)
    }
}

/// The changes in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    /// Unified, without colours; empty for a file that is no text.
    pub(crate) unified: String,
}

/// An item that passed every rule of signing and is signed in memory.
pub(crate) struct Prepared {
    unwritten: Unwritten,
    expected: Vec<u8>,
    /// The files that its header lists are those that were seen.
    pub(crate) is_current: bool,
}

impl Prepared {
    /// The item that was prepared.
    pub(crate) fn item(&self) -> &Item {
        &self.unwritten.item
    }

    /// The digest that the signature covers.
    pub(super) fn digest(&self) -> Digest {
        self.unwritten.source().digest()
    }
}

/// The items of the project as they are at this moment, and signing them with the dev key.
#[derive(Clone, Copy)]
pub(crate) struct WorkingItems<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// The items of the project as they are at this moment, and signing them with the dev key.
    pub(crate) fn working_items(&self) -> WorkingItems<'_> {
        WorkingItems { rye: self }
    }
}

impl WorkingItems<'_> {
    /// The dev key of this project.
    ///
    /// # Errors
    /// `key.*`, `space.no_project`, `trust.io`, `verify.project_not_accepted`,
    /// `verify.trust_unreadable`.
    pub(crate) fn dev_key(self) -> Result<DevKey, Failure> {
        let own = self.rye.signing().own_pair()?;
        let here = self.rye.project().must_be_accepted()?;
        Ok(DevKey::open(self.rye.spaces.user()?, &own, here, self.rye.trust().now())?)
    }

    /// Every item of the project as it is now. What is the same as `before` is taken from there, so
    /// that a look at many files costs little more than reading them.
    ///
    /// # Errors
    /// `space.*`, `verify.trust_unreadable`.
    pub(crate) fn all(
        self,
        before: &BTreeMap<Entry, Arc<WorkingItem>>,
    ) -> Result<BTreeMap<Entry, Arc<WorkingItem>>, Failure> {
        self.rye.sound_types()?;
        let Some(root) = self.rye.spaces.get(Space::Project) else { return Ok(BTreeMap::new()) };
        let mut entries = Vec::new();
        for kind in Kind::ALL {
            entries.extend(root.list(kind, &self.rye.types)?.entries);
        }
        let twins = twins(&entries);
        let policy = CallPolicy::plain(self.rye);
        let loader = policy.loader(&Quiet);
        let mut all = BTreeMap::new();
        let (mut lists, mut bare) = (Lists::default(), HashSet::new());
        for entry in entries {
            if entry.item.is_about_keys() || self.rye.items().is_system_copy(&entry) {
                continue;
            }
            let is_twin = twins.contains(&(entry.space, entry.item.clone()));
            let known = before.get(&entry);
            let Some(now) = look(loader, &entry, is_twin, known) else { continue };
            if let Ok(work) = &now.work {
                if has_no_line(&work.found.bytes, &work.found.file_type.comment) {
                    bare.insert(entry.clone());
                }
                if let Some(listed) = ListedFiles::from_found(self.rye, &work.found) {
                    lists.insert(entry.clone(), listed, work.verdict.is_ok());
                }
            }
            all.insert(entry, now);
        }
        // A file of a tool is shown and signed with the tool.
        all.retain(|entry, _| !bare.contains(entry) || lists.tool_of(entry).is_none());
        Ok(all)
    }

    /// One item as it is now; `None` if it is gone.
    pub(crate) fn one(self, entry: &Entry) -> Option<Arc<WorkingItem>> {
        let policy = CallPolicy::plain(self.rye);
        look(policy.loader(&Quiet), entry, false, None)
    }

    /// Signs what was seen in memory, by every rule of signing; nothing is written.
    ///
    /// # Errors
    /// `sign.*`, `parse.*`; whatever is wrong with the file.
    pub(crate) fn prepare(self, work: &WorkingText, dev: &DevKey) -> Result<Prepared, Failure> {
        self.prepare_by(&work.found, &work.files, SignWith::Dev(dev))
    }

    /// Signs a file in memory, as it was seen with the files beside it; nothing is written.
    ///
    /// # Errors
    /// `sign.*`, `parse.*`; whatever is wrong with the file.
    pub(super) fn prepare_by(
        self,
        found: &Found,
        files: &Files,
        by: SignWith<'_>,
    ) -> Result<Prepared, Failure> {
        let policy = CallPolicy::plain(self.rye);
        let loader = policy.loader(&Quiet);
        let unwritten = self.rye.signing().in_memory(found.clone(), by, loader)?;
        let is_current = match &unwritten.item {
            Item::Tool(tool) => tool.files.as_ref().is_none_or(|listed| {
                listed.digests.len() == files.len()
                    && listed.digests.iter().all(|(path, digest)| {
                        let seen = files.get(path.as_str());
                        seen.map(|bytes| Digest::of(bytes)) == *digest
                    })
            }),
            _ => true,
        };
        Ok(Prepared { unwritten, expected: found.bytes.to_vec(), is_current })
    }

    /// Writes what was prepared; false if the file is another by now, which is left as it is.
    ///
    /// # Errors
    /// `sign.io`
    pub(crate) fn finish(self, prepared: &Prepared) -> Result<bool, Failure> {
        let policy = CallPolicy::plain(self.rye);
        self.rye.signing().write(&prepared.unwritten, &prepared.expected, policy.loader(&Quiet))
    }

    /// The changes from `old`; without one, from the last version that is known and verifies, or
    /// from nothing: then each file beside it that this version does not list just so is there
    /// whole.
    pub(crate) fn changes(self, old: Option<&WorkingItem>, now: &WorkingItem) -> Vec<FileChange> {
        let Ok(work) = &now.work else { return Vec::new() };
        let before = old.and_then(|old| old.work.as_ref().ok());
        let policy = CallPolicy::plain(self.rye);
        let loader = policy.loader(&Quiet);
        let last = if before.is_none() { loader.versions(&work.found).next() } else { None };
        let text = |last: &Source| brief(last.text().as_bytes(), &work.found.file_type.comment);
        let known = || last.as_ref().map(text).unwrap_or_default();
        let was = before.map_or_else(known, WorkingText::text);
        let own = change(&now.place.path, &was, &work.text());
        let Some(before) = before else {
            let files = loader.file_differences(&work.found, &work.files, last.as_ref());
            let files = files.into_iter().map(|f| FileChange { path: f.path, unified: f.unified });
            return own.into_iter().chain(files).collect();
        };
        let mut names: Vec<&String> = before.files.keys().chain(work.files.keys()).collect();
        names.sort();
        names.dedup();
        let files = names.into_iter().filter_map(|name| {
            let bytes = |files: &Files| files.get(name).map(|b| b.to_vec()).unwrap_or_default();
            change(name, &bytes(&before.files), &bytes(&work.files))
        });
        own.into_iter().chain(files).collect()
    }
}

/// `None` if nothing differs.
fn change(path: &str, was: &[u8], is: &[u8]) -> Option<FileChange> {
    if was == is {
        return None;
    }
    let unified = match (std::str::from_utf8(was), std::str::from_utf8(is)) {
        (Ok(was), Ok(is)) => unified(path, ("last signed", was), ("on disk", is)),
        _ => String::new(),
    };
    Some(FileChange { path: path.to_owned(), unified })
}

fn look(
    loader: Loader<'_>,
    entry: &Entry,
    is_twin: bool,
    before: Option<&Arc<WorkingItem>>,
) -> Option<Arc<WorkingItem>> {
    let root = loader.rye.spaces.get(Space::Project)?;
    let place = root.shown(&entry.relative());
    let work = match loader.file_of(entry, is_twin) {
        Ok(None) => return None,
        Err(failure) => Err(failure),
        Ok(Some(found)) => {
            let files = loader.rye.items().files_beside(&found);
            let same = |b: &&Arc<WorkingItem>| {
                b.work
                    .as_ref()
                    .is_ok_and(|old| old.found.bytes == found.bytes && old.files == files)
            };
            if let Some(known) = before.filter(same) {
                return Some(Arc::clone(known));
            }
            let digest = digest_to_sign(&found);
            // By the key, since anybody may be called `you`.
            let own = loader.trust.own().ok().flatten().map(PublicKey::fingerprint);
            let verdict = loader.admit_alone(found.clone()).map(|(source, item)| {
                let author = match source.signer() {
                    Some(signer) if signer.dev_for.is_some() => Author::Dev,
                    Some(signer) if Some(signer.key) == own => Author::Own,
                    Some(signer) => {
                        let name = signer.owner.clone();
                        Author::Other(name.unwrap_or_else(|| signer.key.short()))
                    }
                    None => Author::Other(String::new()),
                };
                (author, item)
            });
            Ok(WorkingText { found, files, digest, verdict })
        }
    };
    Some(Arc::new(WorkingItem { item: entry.item.clone(), place, work }))
}
