//! The words of one space's files.
//!
//! Names and terms lie in one text each, files and counts in one run of bytes, as they are kept: ten thousand
//! files are read from the cache without copying one.

use std::collections::hash_map;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::rows::{COUNT, Rows, count_bytes};
use super::words::{each_word, words};
use crate::base::limits::{SEARCH_DOC_WORDS, SEARCH_TERMS, SEARCH_TEXT_BYTES};
use crate::id::{BundleName, Kind, Ref, Space};
use crate::parse::Outline;
use crate::space::{Entry, Stamp};

/// What a word in a field counts (code-mode 4).
const NAME: u32 = 3;
const NAMESPACE: u32 = 2;
const TAG: u32 = 2;
const DESCRIPTION: u32 = 1;
const PARAMETER: u32 = 1;
/// How often a word counts in title and description: whoever repeats it more wants to be found, not to tell
/// more. Elsewhere it counts once.
const REPEATED: u32 = 2;

/// The words of one file, each with what it counts, by how often and where it stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doc {
    words: BTreeMap<String, Told>,
    field: Field,
}

/// The field that is being added.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    /// From 1.
    number: u8,
    /// What a word counts in it, and how often at most.
    weight: u32,
    most: u32,
}

/// What a word of a file counts.
#[derive(Debug, Clone, Copy)]
struct Told {
    counts: u32,
    /// The last field that it stands in, and how often it counts there.
    field: u8,
    times: u32,
}

impl Doc {
    /// What an item is found by: its id, and what it says of itself if that was read.
    pub(crate) fn of(item: &Ref, outline: Option<&Outline>) -> Self {
        let mut doc = Self::default();
        doc.begin(NAME, 1);
        doc.segment(item.id.name());
        doc.begin(NAMESPACE, 1);
        item.id.folder().split('/').for_each(|segment| doc.segment(segment));
        let Some(outline) = outline else { return doc };
        doc.begin(TAG, 1);
        outline.tags.iter().for_each(|tag| doc.text(tag));
        doc.begin(DESCRIPTION, REPEATED);
        outline.title.iter().chain(&outline.description).for_each(|about| doc.text(about));
        doc.begin(PARAMETER, 1);
        outline.parameters.iter().for_each(|name| doc.text(name));
        doc
    }

    fn begin(&mut self, weight: u32, most: u32) {
        self.field = Field { number: self.field.number + 1, weight, most };
    }

    /// A segment of an id, and all its words as one, as `filesystem` for `file-system`.
    fn segment(&mut self, segment: &str) {
        self.text(segment);
        let is_word = segment.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let parts = if is_word { Vec::new() } else { words(segment) };
        if parts.len() > 1 {
            self.text(&parts.concat());
        }
    }

    fn text(&mut self, text: &str) {
        let Field { number: field, weight, most } = self.field;
        let words = &mut self.words;
        each_word(&text[..text.floor_char_boundary(SEARCH_TEXT_BYTES)], &mut |word| {
            let Some(told) = words.get_mut(word) else {
                if words.len() < SEARCH_DOC_WORDS {
                    words.insert(word.to_owned(), Told { counts: weight, field, times: 1 });
                }
                return;
            };
            let times = if told.field == field { told.times } else { 0 };
            if times < most {
                *told = Told { counts: told.counts + weight, field, times: times + 1 };
            }
        });
    }
}

/// What is known of a file beside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Glance {
    pub(crate) stamp: Stamp,
    /// It has no signature line.
    pub(crate) unsigned: bool,
    /// It is a tool that lists files.
    pub(crate) lists: bool,
}

/// A range of a shelf's text or of its counts.
pub(super) type Span = (u32, u32);

/// One folder that was looked into, or would have been, were it there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folder {
    pub(super) kind: Kind,
    /// Its path below `.ai`, in `names`.
    pub(super) path: Span,
    pub(super) stamp: Stamp,
    /// Its files, by their ids and then their extensions; they begin where those of the folder before end.
    pub(super) files: Span,
}

/// One file on a shelf.
#[derive(Debug, Clone, Copy)]
pub(super) struct File {
    pub(super) kind: Kind,
    /// Its path below its kind's folder, in `names`.
    pub(super) path: Span,
    /// The length of its extension.
    pub(super) ext: u8,
    pub(super) glance: Glance,
    /// Its words, in the counts; they begin where those of the file before end.
    pub(super) words: Span,
    /// What its words count together.
    pub(super) length: u32,
}

/// The words of one space's files.
///
/// Invariant: each span lies in what it is of and on characters, and each count names a term.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    pub(super) space: Space,
    /// The bundle of the system space that it is of.
    pub(super) bundle: Option<BundleName>,
    pub(super) names: String,
    pub(super) folders: Vec<Folder>,
    pub(super) terms: String,
    /// Where each term ends, and the next one begins.
    pub(super) ends: Vec<u32>,
    /// Records as they are kept: of the files, and behind them the counts.
    pub(super) rows: Rows,
}

/// A file as a filter sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'s> {
    shelf: &'s Shelf,
    pub(crate) kind: Kind,
    pub(crate) id: &'s str,
    pub(crate) ext: &'s str,
    pub(crate) unsigned: bool,
    pub(crate) lists: bool,
}

impl<'s> Spot<'s> {
    /// Where it stands.
    pub(crate) fn shelf(&self) -> &'s Shelf {
        self.shelf
    }

    /// A document about keys, which is for nobody to find.
    pub(crate) fn is_about_keys(&self) -> bool {
        self.kind == Kind::Config && self.id.starts_with("keys/")
    }

    /// `None` only if what was kept is damaged.
    pub(crate) fn entry(&self) -> Option<Entry> {
        let item = Ref::new(self.kind, self.id.parse().ok()?);
        let (space, bundle) = (self.shelf.space, self.shelf.bundle.clone());
        Some(Entry { item, space, bundle, ext: self.ext.to_owned() })
    }
}

impl Shelf {
    pub(crate) fn empty(space: Space) -> Self {
        Self {
            space,
            bundle: None,
            names: String::new(),
            folders: Vec::new(),
            terms: String::new(),
            ends: Vec::new(),
            rows: Rows::default(),
        }
    }

    /// The same as one of a bundle.
    pub(crate) fn of_bundle(self, bundle: Option<&BundleName>) -> Self {
        Self { bundle: bundle.cloned(), ..self }
    }

    /// The files, in the order of the shelf.
    pub(crate) fn spots(&self) -> impl Iterator<Item = Spot<'_>> {
        self.places().map(|place| self.spot(&self.file(place)))
    }

    /// Where its files are, in their order.
    pub(crate) fn places(&self) -> Range<u32> {
        0..at(self.rows.files)
    }

    pub(super) fn file(&self, place: u32) -> File {
        self.rows.file(place)
    }

    pub(super) fn spot(&self, file: &File) -> Spot<'_> {
        let path = self.name(file.path);
        let ext = path.len().saturating_sub(usize::from(file.ext));
        let id = path.get(..ext.saturating_sub(1)).unwrap_or_default();
        let ext = path.get(ext..).unwrap_or_default();
        let Glance { unsigned, lists, .. } = file.glance;
        Spot { shelf: self, kind: file.kind, id, ext, unsigned, lists }
    }

    /// The folders: kind, path below `.ai`, stamp.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (Kind, &str, Stamp)> {
        self.folders.iter().map(|folder| (folder.kind, self.name(folder.path), folder.stamp))
    }

    /// The place and the stamp of each folder, by its path below `.ai`.
    pub(crate) fn folder_at(&self) -> HashMap<&str, (usize, Stamp)> {
        let folders = self.folders.iter().enumerate();
        folders.map(|(at, folder)| (self.name(folder.path), (at, folder.stamp))).collect()
    }

    /// The files of a folder: the place of each, its path from there, and its stamp.
    pub(crate) fn inside(&self, folder: usize) -> impl Iterator<Item = (u32, &str, Stamp)> {
        let folder = self.folders.get(folder);
        let below = folder.map(|folder| self.name(folder.path));
        let below = below.and_then(|path| path.split_once('/')).map_or(0, |(_, b)| b.len() + 1);
        let (first, last) = folder.map_or((0, 0), |folder| folder.files);
        (first..last).map(move |place| {
            let file = self.file(place);
            let path = self.name(file.path);
            (place, path.get(below..).unwrap_or(path), file.glance.stamp)
        })
    }

    /// How many different words it has.
    pub(crate) fn words(&self) -> usize {
        self.ends.len()
    }

    /// Whether a file answers to the kind and id.
    pub(crate) fn holds(&self, kind: Kind, id: &str) -> bool {
        let folder = id.rsplit_once('/').map_or("", |(folder, _)| folder);
        // A folder's path is its kind's, a slash and its own, or its kind's alone.
        let is_it = |path: &str| path.split_once('/').map_or("", |(_, below)| below) == folder;
        let found = self.folders.iter().find(|one| one.kind == kind && is_it(self.name(one.path)));
        let (first, last) = found.map_or((0, 0), |folder| folder.files);
        (first..last).any(|place| self.spot(&self.file(place)).id == id)
    }

    fn name(&self, at: Span) -> &str {
        self.names.get(span(at)).unwrap_or_default()
    }

    /// The terms, in their order.
    pub(super) fn terms(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(from, to)| self.terms.get(span((*from, *to))).unwrap_or_default())
    }

    /// The files at these places.
    pub(super) fn at(&self, places: &[u32]) -> impl Iterator<Item = File> {
        places.iter().map(|place| self.file(*place))
    }

    /// The terms of a file, each with what it counts.
    pub(super) fn counts(&self, file: &File) -> impl Iterator<Item = (u32, u32)> {
        self.rows.counts(file.words)
    }
}

pub(super) fn span((from, to): Span) -> Range<usize> {
    from as usize..to as usize
}

pub(super) fn at(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// A shelf whose files are copied to another one.
pub(crate) struct Copied<'o> {
    shelf: &'o Shelf,
    terms: Vec<&'o str>,
    /// The term of the other shelf for each; `u32::MAX` where none was needed yet.
    moved: Vec<u32>,
}

impl<'o> Copied<'o> {
    pub(crate) fn of(shelf: &'o Shelf) -> Self {
        Self { shelf, terms: shelf.terms().collect(), moved: vec![u32::MAX; shelf.ends.len()] }
    }
}

/// A shelf that is being filled: folders in the order they are looked into, each followed by its files.
pub(crate) struct Filling<'w> {
    shelf: Shelf,
    /// Behind the files once there is no more of them.
    counts: Vec<u8>,
    known: HashMap<&'w str, u32>,
}

impl<'w> Filling<'w> {
    pub(crate) fn new(space: Space) -> Self {
        Self { shelf: Shelf::empty(space), counts: Vec::new(), known: HashMap::new() }
    }

    /// Makes room for so many words.
    pub(crate) fn expect_words(&mut self, count: usize) {
        self.known.reserve(count.min(SEARCH_TERMS));
    }

    pub(crate) fn folder(&mut self, kind: Kind, path: &str, stamp: Stamp) {
        let (path, here) = (self.named(path), at(self.shelf.rows.files));
        self.shelf.folders.push(Folder { kind, path, stamp, files: (here, here) });
    }

    /// A file whose path below its kind's folder ends in a dot and its extension.
    pub(crate) fn file(&mut self, kind: Kind, path: &str, glance: Glance, doc: &'w Doc) {
        let (from, mut length) = (self.counts.len(), 0_u32);
        for (word, told) in &doc.words {
            if let Some(term) = self.term(word) {
                length = self.count(term, told.counts).saturating_add(length);
            }
        }
        self.put(kind, path, glance, from, length);
    }

    /// A file of another shelf, as it is there.
    pub(crate) fn copy(&mut self, from: &mut Copied<'w>, place: u32) {
        let file = from.shelf.file(place);
        let (begin, mut length) = (self.counts.len(), 0_u32);
        for (term, count) in from.shelf.counts(&file) {
            let place = term as usize;
            let term = match from.moved[place] {
                u32::MAX => self.term(from.terms[place]),
                known => Some(known),
            };
            let Some(term) = term else { continue };
            from.moved[place] = term;
            length = self.count(term, count).saturating_add(length);
        }
        self.put(file.kind, from.shelf.name(file.path), file.glance, begin, length);
    }

    pub(crate) fn done(self) -> Shelf {
        let mut shelf = self.shelf;
        shelf.rows.bytes.extend(self.counts);
        shelf
    }

    /// Puts a term and what it counts behind the others.
    fn count(&mut self, term: u32, count: u32) -> u32 {
        self.counts.extend_from_slice(&count_bytes(term, count));
        count
    }

    /// Puts a file behind the others, whose counts begin there.
    fn put(&mut self, kind: Kind, path: &str, glance: Glance, from: usize, length: u32) {
        let ext = path.rsplit_once('.').map_or(0, |(_, ext)| ext.len());
        let ext = u8::try_from(ext).unwrap_or(u8::MAX);
        let path = self.named(path);
        let words = (at(from / COUNT), at(self.counts.len() / COUNT));
        self.shelf.rows.push(&File { kind, path, ext, glance, words, length });
        let here = at(self.shelf.rows.files);
        if let Some(folder) = self.shelf.folders.last_mut() {
            folder.files.1 = here;
        }
    }

    fn named(&mut self, name: &str) -> Span {
        let from = at(self.shelf.names.len());
        self.shelf.names.push_str(name);
        (from, at(self.shelf.names.len()))
    }

    /// `None` where there are too many.
    fn term(&mut self, word: &'w str) -> Option<u32> {
        let unknown = match self.known.entry(word) {
            hash_map::Entry::Occupied(known) => return Some(*known.get()),
            hash_map::Entry::Vacant(unknown) => unknown,
        };
        let term = self.shelf.ends.len();
        if term >= SEARCH_TERMS {
            return None;
        }
        self.shelf.terms.push_str(word);
        self.shelf.ends.push(at(self.shelf.terms.len()));
        Some(*unknown.insert(at(term)))
    }
}
