//! What items are found by, gathered from their files and kept between searches.
//!
//! In:  the folders of a space, and the shelf of its words as it was.
//! Out: the shelf as it is: folders that changed are listed again, files that changed are read again.
//!
//! Invariants
//! - What is kept is for finding alone: nothing of it is shown or believed.
//! - Of a project that is not accepted no file is read, and nothing is kept (core 4.3).
//! - A stamp so young that a change might have left it as it is counts as none.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::parts::has_no_line;
use super::rye::Rye;
use super::sign::parallel;
use crate::base::limits::{LISTED_FILES, SEARCH_LOOK_MS, WALK_DEPTH};
use crate::id::{ItemId, Kind, Ref, Space};
use crate::parse::outline;
use crate::search::{Cache, Copied, Doc, Filling, Glance, Shelf};
use crate::space::{EMBEDDED_DIGEST, Entry, Root, Stamp, is_test_spec};

/// From so many files on they are looked at on all cores, so many at a time: a thread costs as much as these.
const TOGETHER: usize = 64;
/// How far the clock of a file system may lag, in nanoseconds: two ticks of a slow kernel; or, where it
/// counts whole seconds, two of these.
const LAG: i64 = 50_000_000;
const COARSE_LAG: i64 = 2_000_000_000;

/// The words of each root by its folder, as they were last seen.
#[derive(Default)]
pub(super) struct Shelves(Mutex<HashMap<PathBuf, Kept>>);

#[derive(Clone)]
struct Kept {
    shelf: Arc<Shelf>,
    /// When its files were last looked at.
    looked: SystemTime,
}

/// A folder that was looked into.
struct Looked {
    kind: Kind,
    /// Below `.ai`.
    path: String,
    stamp: Stamp,
    /// Names that may be items, sorted, each with its stamp; without one where nothing is known that it could
    /// be compared with.
    files: Vec<(String, Option<Stamp>)>,
    folders: Vec<String>,
}

/// Files of a folder that stand side by side.
struct Slice<'l> {
    /// Which folder of those that were looked into.
    at: usize,
    folder: &'l Looked,
    /// Names, stamps, and the places on the older shelf of those that are as they were.
    files: Vec<(&'l str, Option<Stamp>, Option<u32>)>,
}

/// What a slice came to.
struct Part {
    at: usize,
    /// For each file its place on the older shelf; without one it is the next on this one.
    files: Vec<Option<u32>>,
    shelf: Shelf,
}

impl Rye {
    /// The words of the items of a root; `None` where it is not there.
    pub(super) fn words_of(&self, root: &Root) -> Option<Arc<Shelf>> {
        let space = Some(root).filter(|root| root.exists())?.space();
        if space == Space::Project && !self.accepts_project() {
            return Some(Arc::new(self.names_alone(root)));
        }
        let kept = {
            let memory = self.shelves.0.lock().unwrap_or_else(PoisonError::into_inner);
            memory.get(root.base()).cloned()
        };
        let cache = self.cache(root);
        let kept = kept.or_else(|| {
            let (shelf, looked) = cache.as_ref()?.read(space)?;
            Some(Kept { shelf: Arc::new(shelf.of_bundle(root.bundle())), looked })
        });
        if let Some(kept) = kept.as_ref().filter(|kept| is_as_it_was(root, kept)) {
            self.keep(root, kept.clone());
            return Some(Arc::clone(&kept.shelf));
        }
        let started = SystemTime::now();
        let empty = || Arc::new(Shelf::empty(space).of_bundle(root.bundle()));
        let old = kept.map_or_else(empty, |kept| kept.shelf);
        let looked = match root.is_embedded() {
            true => self.look_at_embedded(root),
            false => self.look_at(root, &old),
        };
        let shelf = if is_same(&old, &looked) {
            if let Some(cache) = cache {
                cache.touch(started);
            }
            old
        } else {
            let shelf = Arc::new(self.fill(root, &old, &looked, nanoseconds(started)));
            if let Some(cache) = cache {
                cache.write(&shelf);
            }
            shelf
        };
        self.keep(root, Kept { shelf: Arc::clone(&shelf), looked: started });
        Some(shelf)
    }

    fn keep(&self, root: &Root, kept: Kept) {
        let mut memory = self.shelves.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(root.base().to_owned(), kept);
    }

    /// Where the words of a root are kept: by its place, by how files are read, and by this rye. Those of
    /// embedded files are kept by what the files are.
    fn cache(&self, root: &Root) -> Option<Cache> {
        let place = match root.is_embedded() {
            true => EMBEDDED_DIGEST.into(),
            false => root.base().as_os_str().as_encoded_bytes().to_vec(),
        };
        let types: Vec<&str> = self.types.extensions(Kind::Tool).collect();
        let comments = types.iter().filter_map(|ext| self.types.find(Kind::Tool, ext));
        let read_by = format!("{types:?} {:?}", comments.collect::<Vec<_>>());
        let version = env!("RYE_VERSION").as_bytes();
        Some(Cache::of(self.user_base()?, &[&place, read_by.as_bytes(), version]))
    }

    /// The items of a project that nobody accepted, by their ids.
    fn names_alone(&self, root: &Root) -> Shelf {
        let mut folders = Vec::new();
        for kind in Kind::ALL {
            let listed = root.list(kind, &self.types).unwrap_or_default();
            for (folder, entries) in in_folders(kind, listed.entries) {
                let path = |entry: &Entry| format!("{}.{}", entry.item.id, entry.ext);
                let files = entries.iter().map(|entry| (path(entry), Doc::of(&entry.item, None)));
                folders.push((kind, folder, files.collect::<Vec<_>>()));
            }
        }
        let mut filling = Filling::new(root.space());
        for (kind, folder, files) in &folders {
            filling.folder(*kind, folder, Stamp::default());
            for (path, doc) in files {
                filling.file(*kind, path, Glance::default(), doc);
            }
        }
        filling.done()
    }

    /// The embedded files, each of which is as old as the binary.
    fn look_at_embedded(&self, root: &Root) -> Vec<Looked> {
        let looked = Kind::ALL.into_iter().flat_map(|kind| {
            let listed = root.list(kind, &self.types).unwrap_or_default();
            let is_item = |entry: &Entry| {
                // Every shipped item is signed; what is not is a file of one.
                let bytes = root.read(&entry.relative()).ok().flatten();
                let file_type = self.types.find(kind, &entry.ext);
                bytes
                    .zip(file_type)
                    .is_some_and(|(bytes, file_type)| !has_no_line(&bytes, &file_type))
            };
            let items = listed.entries.into_iter().filter(is_item).collect();
            in_folders(kind, items).into_iter().map(move |(path, entries)| {
                let name = |entry: Entry| format!("{}.{}", entry.item.id.name(), entry.ext);
                let files = entries.into_iter().map(|entry| (name(entry), Some(Stamp::default())));
                let (files, folders) = (files.collect(), Vec::new());
                Looked { kind, path, stamp: Stamp::default(), files, folders }
            })
        });
        looked.collect()
    }

    /// Looks into every folder, level by level; files are looked at and not read.
    fn look_at(&self, root: &Root, old: &Shelf) -> Vec<Looked> {
        let known = old.folder_at();
        let mut below: HashMap<&str, Vec<&str>> = HashMap::new();
        for (_, path, _) in old.folders() {
            if let Some((above, name)) = path.rsplit_once('/') {
                below.entry(above).or_default().push(name);
            }
        }
        let mut all: Vec<Looked> = Vec::new();
        let mut level: Vec<(Kind, String)> =
            Kind::ALL.into_iter().map(|kind| (kind, kind.folder().to_owned())).collect();
        for _ in 0..WALK_DEPTH {
            let files: usize = all.iter().map(|looked| looked.files.len()).sum();
            if level.is_empty() || files > LISTED_FILES {
                break;
            }
            let look = |(kind, path): (Kind, String)| {
                let Some(held) = root.hold(&path) else {
                    return Looked {
                        kind,
                        path,
                        stamp: Stamp::default(),
                        files: Vec::new(),
                        folders: Vec::new(),
                    };
                };
                let mut stamp = held.stamp().unwrap_or_default();
                let before = known.get(path.as_str()).filter(|(_, was)| *was == stamp);
                let (files, folders): (Vec<String>, Vec<String>) = match before {
                    Some((at, _)) => {
                        let folders = below.get(path.as_str()).into_iter().flatten();
                        let files = old.inside(*at).map(|(_, name, _)| name.to_owned());
                        (files.collect(), folders.map(|name| (*name).to_owned()).collect())
                    }
                    None => {
                        // One that cannot be listed is looked at next time.
                        let (mut files, folders) = held.names().unwrap_or_else(|| {
                            stamp = Stamp::default();
                            Default::default()
                        });
                        files.retain(|name| self.may_be_item(kind, &path, name));
                        // Files of one id side by side.
                        files.sort_by(|a, b| a.rsplit_once('.').cmp(&b.rsplit_once('.')));
                        (files, folders)
                    }
                };
                // What was not there before is looked at when it is read.
                let is_known = known.contains_key(path.as_str());
                let files = files.into_iter().filter_map(|name| match is_known {
                    true => held.file(&name).map(|stamp| (name, Some(stamp))),
                    false => Some((name, None)),
                });
                Looked { kind, files: files.collect(), path, stamp, folders }
            };
            let looked: Vec<Looked> = match level.len() > TOGETHER / 8 {
                true => parallel(level, look),
                false => level.into_iter().map(look).collect(),
            };
            let inside = |looked: &Looked| -> Vec<(Kind, String)> {
                let path = |name: &String| (looked.kind, format!("{}/{name}", looked.path));
                looked.folders.iter().map(path).collect()
            };
            level = looked.iter().flat_map(inside).collect();
            all.extend(looked);
        }
        all
    }

    fn may_be_item(&self, kind: Kind, folder: &str, name: &str) -> bool {
        let Some((stem, ext)) = name.rsplit_once('.') else { return false };
        let id = match folder.split_once('/') {
            Some((_, folder)) => [folder, "/", stem].concat(),
            None => stem.to_owned(),
        };
        !is_test_spec(kind, &id, ext)
            && self.types.extensions(kind).any(|known| known == ext)
            && id.parse::<ItemId>().is_ok()
    }

    /// The shelf of what was looked at: what is as it was is kept, the rest is read.
    fn fill(&self, root: &Root, old: &Shelf, looked: &[Looked], now: i64) -> Shelf {
        let slices = slices(old, looked);
        let files = slices.iter().flat_map(|slice| &slice.files);
        let unread = files.filter(|(_, _, kept)| kept.is_none()).count();
        let read = |slice: Slice<'_>| self.read_slice(root, &slice, now);
        let parts: Vec<Part> = match unread > TOGETHER {
            true => parallel(slices, read),
            false => slices.into_iter().map(read).collect(),
        };
        let (mut filling, mut kept) = (Filling::new(root.space()), Copied::of(old));
        filling.expect_words(parts.iter().map(|part| part.shelf.words()).sum());
        let mut parts = parts.iter().peekable();
        for (at, folder) in looked.iter().enumerate() {
            let stamp = match folder.stamp == Stamp::default() {
                true => folder.stamp,
                false => settled(folder.stamp, now),
            };
            filling.folder(folder.kind, &folder.path, stamp);
            while let Some(part) = parts.next_if(|part| part.at == at) {
                let (mut read, mut places) = (Copied::of(&part.shelf), part.shelf.places());
                for file in &part.files {
                    match (file, places.start) {
                        (Some(place), _) => filling.copy(&mut kept, *place),
                        (None, place) => {
                            filling.copy(&mut read, place);
                            places.start += 1;
                        }
                    }
                }
            }
        }
        filling.done().of_bundle(root.bundle())
    }

    /// Reads of a slice what is not as it was.
    fn read_slice(&self, root: &Root, slice: &Slice<'_>, now: i64) -> Part {
        let (kind, folder) = (slice.folder.kind, slice.folder.path.as_str());
        let below = folder.split_once('/').map(|(_, below)| format!("{below}/"));
        let below = below.unwrap_or_default();
        let is_unread = slice.files.iter().any(|(_, _, kept)| kept.is_none());
        let held = if is_unread { root.hold(folder) } else { None };
        let (mut files, mut found) = (Vec::new(), Vec::new());
        for (name, stamp, kept) in &slice.files {
            if kept.is_none() {
                let read = match &held {
                    Some(held) if kind == Kind::Config => {
                        held.file(name).map(|stamp| (stamp, None))
                    }
                    Some(held) => held.read(name),
                    // In the binary; or the folder could not be opened again, and is looked at next time.
                    None => match root.read(&format!("{folder}/{name}")) {
                        Ok(bytes) => Some((stamp.unwrap_or_default(), bytes.map(Cow::into_owned))),
                        Err(_) => Some((Stamp::default(), None)),
                    },
                };
                let Some((stamp, bytes)) = read else { continue };
                let (path, stamp) = (format!("{below}{name}"), settled(stamp, now));
                let Some((doc, glance)) = self.found_by(kind, &path, stamp, bytes) else {
                    continue;
                };
                found.push((path, glance, doc));
            }
            files.push(*kept);
        }
        let mut filling = Filling::new(root.space());
        for (path, glance, doc) in &found {
            filling.file(kind, path, *glance, doc);
        }
        Part { at: slice.at, files, shelf: filling.done() }
    }

    /// What a file is found by; what cannot be read or does not parse, by its id.
    fn found_by(
        &self,
        kind: Kind,
        path: &str,
        stamp: Stamp,
        bytes: Option<Vec<u8>>,
    ) -> Option<(Doc, Glance)> {
        let (id, ext) = path.rsplit_once('.')?;
        let item = Ref::new(kind, id.parse().ok()?);
        let file_type = self.types.find(kind, ext).filter(|_| kind != Kind::Config);
        let (Some(bytes), Some(file_type)) = (bytes, file_type) else {
            return Some((Doc::of(&item, None), Glance { stamp, ..Glance::default() }));
        };
        let unsigned = has_no_line(&bytes, &file_type);
        let text = std::str::from_utf8(&bytes).ok();
        let outline = text.and_then(|text| outline(kind, text, &file_type.header));
        let lists = outline.as_ref().is_some_and(|outline| outline.lists_files);
        Some((Doc::of(&item, outline.as_ref()), Glance { stamp, unsigned, lists }))
    }
}

/// The files that were looked at, so many at a time, each with its place on the older shelf if it is as it
/// was there.
fn slices<'l>(old: &Shelf, looked: &'l [Looked]) -> Vec<Slice<'l>> {
    let (known, mut slices) = (old.folder_at(), Vec::new());
    for (at, folder) in looked.iter().enumerate() {
        let before = known.get(folder.path.as_str()).into_iter();
        let before = before.flat_map(|(at, _)| old.inside(*at));
        let before: HashMap<&str, (u32, Stamp)> =
            before.map(|(place, name, stamp)| (name, (place, stamp))).collect();
        for files in folder.files.chunks(TOGETHER) {
            let files = files.iter().map(|(name, stamp)| {
                let was = before.get(name.as_str()).filter(|(_, was)| Some(*was) == *stamp);
                (name.as_str(), *stamp, was.map(|(place, _)| *place))
            });
            slices.push(Slice { at, folder, files: files.collect() });
        }
    }
    slices
}

/// Entries by the folders that they lie in, each with its path below `.ai`; sorted as they were.
fn in_folders(kind: Kind, entries: Vec<Entry>) -> BTreeMap<String, Vec<Entry>> {
    let mut folders: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let path = match entry.item.id.folder() {
            "" => kind.folder().to_owned(),
            folder => format!("{}/{folder}", kind.folder()),
        };
        folders.entry(path).or_default().push(entry);
    }
    folders
}

/// Whether the files were looked at a moment ago, and no folder changed since; of embedded files nothing
/// ever does.
fn is_as_it_was(root: &Root, kept: &Kept) -> bool {
    let recent = kept.looked.elapsed().is_ok_and(|age| age < Duration::from_millis(SEARCH_LOOK_MS));
    let stamp = |path: &str| root.folder_stamp(path).unwrap_or_default();
    let is_same = || kept.shelf.folders().all(|(_, path, was)| stamp(path) == was);
    root.is_embedded() || recent && is_same()
}

/// Whether what was looked at is what the shelf is of.
fn is_same(old: &Shelf, looked: &[Looked]) -> bool {
    old.folders().count() == looked.len()
        && old.folders().zip(looked).enumerate().all(|(at, ((kind, path, stamp), looked))| {
            let now = looked.files.iter().map(|(name, stamp)| (name.as_str(), *stamp));
            (kind, path, stamp) == (looked.kind, &looked.path, looked.stamp)
                && old.inside(at).map(|(_, name, stamp)| (name, Some(stamp))).eq(now)
        })
}

/// A stamp that can be relied on, or one that nothing has: of a file that was changed a moment ago the
/// next change might leave the same times and size.
fn settled(stamp: Stamp, now: i64) -> Stamp {
    let coarse = stamp.changed % 1_000_000_000 == 0 && stamp.modified % 1_000_000_000 == 0;
    let lag = if coarse { COARSE_LAG } else { LAG };
    // An embedded file has no times.
    let old = stamp.changed == 0 || stamp.changed.max(stamp.modified).saturating_add(lag) < now;
    if old { stamp } else { Stamp { changed: i64::MIN, inode: u64::MAX, ..stamp } }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
