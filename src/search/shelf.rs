//! The words of one space's files.
//!
//! Names and terms lie in one text each, and places in them are numbers: ten thousand files are read from
//! the cache without an allocation for each.

use std::collections::HashMap;
use std::ops::Range;

use super::words::{each_word, words};
use crate::base::limits::{SEARCH_DOC_WORDS, SEARCH_TEXT_BYTES};
use crate::id::{Kind, Ref, Space};
use crate::parse::Outline;
use crate::space::{Entry, Stamp};

/// What a word in a field counts (code-mode 4).
const NAME: u32 = 3;
const NAMESPACE: u32 = 2;
const TAG: u32 = 2;
const DESCRIPTION: u32 = 1;
const PARAMETER: u32 = 1;
/// How often a word counts in one text: whoever repeats it more wants to be found, not to tell more.
const REPEATED: u32 = 2;

/// The words of one file, each with what it counts, by how often and where it stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doc {
    words: HashMap<String, u32>,
}

impl Doc {
    /// What an item is found by: its id, and what it says of itself if that was read.
    pub(crate) fn of(item: &Ref, outline: Option<&Outline>) -> Self {
        let mut doc = Self::default();
        doc.segment(item.id.name(), NAME);
        item.id.folder().split('/').for_each(|segment| doc.segment(segment, NAMESPACE));
        let Some(outline) = outline else { return doc };
        outline.tags.iter().for_each(|tag| doc.add(tag, TAG));
        outline.title.iter().for_each(|title| doc.add(title, DESCRIPTION));
        outline.description.iter().for_each(|text| doc.add(text, DESCRIPTION));
        outline.parameters.iter().for_each(|name| doc.add(name, PARAMETER));
        doc
    }

    fn add(&mut self, text: &str, weight: u32) {
        let text = &text[..text.floor_char_boundary(SEARCH_TEXT_BYTES)];
        let mut here: HashMap<String, u32> = HashMap::new();
        each_word(text, &mut |word| {
            if let Some(count) = here.get_mut(word) {
                *count = REPEATED.min(*count + 1);
            } else if here.len() < SEARCH_DOC_WORDS {
                here.insert(word.to_owned(), 1);
            }
        });
        for (word, count) in here {
            let more = count * weight;
            if let Some(count) = self.words.get_mut(&word) {
                *count = count.saturating_add(more);
            } else if self.words.len() < SEARCH_DOC_WORDS {
                self.words.insert(word, more);
            }
        }
    }

    /// A segment of an id: its words, and all of them as one, as `filesystem` for `file-system`.
    fn segment(&mut self, segment: &str, weight: u32) {
        self.add(segment, weight);
        let parts = words(segment);
        if parts.len() > 1 {
            self.add(&parts.concat(), weight);
        }
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
    /// Its files, in `files`, by name.
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
    /// Its words, in `counts`.
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
    pub(super) names: String,
    pub(super) folders: Vec<Folder>,
    pub(super) files: Vec<File>,
    pub(super) terms: String,
    /// Where each term ends, and the next one begins.
    pub(super) ends: Vec<u32>,
    /// A term, and what it counts.
    pub(super) counts: Vec<(u32, u32)>,
}

/// A file as a filter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot<'s> {
    pub(crate) space: Space,
    pub(crate) kind: Kind,
    pub(crate) id: &'s str,
    pub(crate) ext: &'s str,
    pub(crate) glance: Glance,
}

impl Spot<'_> {
    /// A document about keys, which is for nobody to find.
    pub(crate) fn is_about_keys(&self) -> bool {
        self.kind == Kind::Config && self.id.starts_with("keys/")
    }

    /// `None` only if what was kept is damaged.
    pub(crate) fn entry(&self) -> Option<Entry> {
        let item = Ref::new(self.kind, self.id.parse().ok()?);
        Some(Entry { item, space: self.space, ext: self.ext.to_owned() })
    }
}

impl Shelf {
    pub(crate) fn space(&self) -> Space {
        self.space
    }

    pub(crate) fn empty(space: Space) -> Self {
        Self {
            space,
            names: String::new(),
            folders: Vec::new(),
            files: Vec::new(),
            terms: String::new(),
            ends: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// The files, in the order of the shelf.
    pub(crate) fn spots(&self) -> impl Iterator<Item = Spot<'_>> {
        self.files.iter().map(|file| self.spot(file))
    }

    pub(super) fn spot(&self, file: &File) -> Spot<'_> {
        let path = self.name(file.path);
        let ext = path.len().saturating_sub(usize::from(file.ext));
        let id = path.get(..ext.saturating_sub(1)).unwrap_or_default();
        let ext = path.get(ext..).unwrap_or_default();
        Spot { space: self.space, kind: file.kind, id, ext, glance: file.glance }
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
    pub(crate) fn inside(&self, folder: usize) -> impl Iterator<Item = (usize, &str, Stamp)> {
        let folder = self.folders.get(folder);
        let below = folder.map(|folder| self.name(folder.path));
        let below = below.and_then(|path| path.split_once('/')).map_or(0, |(_, b)| b.len() + 1);
        let range = folder.map_or(0..0, |folder| span(folder.files));
        let files = self.files.get(range.clone()).unwrap_or_default();
        range.zip(files).map(move |(at, file)| {
            let path = self.name(file.path);
            (at, path.get(below..).unwrap_or(path), file.glance.stamp)
        })
    }

    /// Whether a file answers to the kind and id.
    pub(crate) fn holds(&self, kind: Kind, id: &str) -> bool {
        let folder = match id.rsplit_once('/') {
            Some((folder, _)) => format!("{}/{folder}", kind.folder()),
            None => kind.folder().to_owned(),
        };
        let found = self.folders.iter().find(|one| self.name(one.path) == folder);
        let files = found.and_then(|folder| self.files.get(span(folder.files)));
        files.into_iter().flatten().any(|file| self.spot(file).id == id)
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
    pub(super) fn at<'s>(&'s self, places: &'s [u32]) -> impl Iterator<Item = &'s File> {
        places.iter().filter_map(|place| self.files.get(*place as usize))
    }

    pub(super) fn counts(&self, file: &File) -> &[(u32, u32)] {
        self.counts.get(span(file.words)).unwrap_or_default()
    }
}

pub(super) fn span((from, to): Span) -> Range<usize> {
    from as usize..to as usize
}

pub(super) fn at(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// A shelf that is being filled: folders in the order they are looked into, each followed by its files.
pub(crate) struct Filling<'o> {
    shelf: Shelf,
    known: HashMap<String, u32>,
    old: &'o Shelf,
    /// The term here of each term there; `u32::MAX` where it was not needed yet.
    moved: Vec<u32>,
    old_terms: Vec<&'o str>,
}

impl<'o> Filling<'o> {
    /// Begins beside an older shelf, whose files may be kept.
    pub(crate) fn beside(old: &'o Shelf) -> Self {
        let (moved, old_terms) = (vec![u32::MAX; old.ends.len()], old.terms().collect());
        Self { shelf: Shelf::empty(old.space), known: HashMap::new(), old, moved, old_terms }
    }

    pub(crate) fn folder(&mut self, kind: Kind, path: &str, stamp: Stamp) {
        let (path, here) = (self.named(path), at(self.shelf.files.len()));
        self.shelf.folders.push(Folder { kind, path, stamp, files: (here, here) });
    }

    /// A file whose path below its kind's folder ends in a dot and its extension.
    pub(crate) fn file(&mut self, kind: Kind, path: &str, glance: Glance, doc: &Doc) {
        let from = at(self.shelf.counts.len());
        for (word, count) in &doc.words {
            let term = self.term(word);
            self.shelf.counts.push((term, *count));
        }
        self.put(kind, path, glance, from);
    }

    /// A file of the older shelf, as it was.
    pub(crate) fn keep(&mut self, place: usize) {
        let Some(file) = self.old.files.get(place) else { return };
        let from = at(self.shelf.counts.len());
        for (term, count) in self.old.counts(file) {
            let place = *term as usize;
            let term = match self.moved[place] {
                u32::MAX => self.term(self.old_terms[place]),
                known => known,
            };
            self.moved[place] = term;
            self.shelf.counts.push((term, *count));
        }
        self.put(file.kind, self.old.name(file.path), file.glance, from);
    }

    pub(crate) fn done(self) -> Shelf {
        self.shelf
    }

    fn put(&mut self, kind: Kind, path: &str, glance: Glance, from: u32) {
        let ext = path.rsplit_once('.').map_or(0, |(_, ext)| ext.len());
        let ext = u8::try_from(ext).unwrap_or(u8::MAX);
        let path = self.named(path);
        let words = (from, at(self.shelf.counts.len()));
        let counts = self.shelf.counts.get(span(words)).unwrap_or_default();
        let length = counts.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        self.shelf.files.push(File { kind, path, ext, glance, words, length });
        let here = at(self.shelf.files.len());
        if let Some(folder) = self.shelf.folders.last_mut() {
            folder.files.1 = here;
        }
    }

    fn named(&mut self, name: &str) -> Span {
        let from = at(self.shelf.names.len());
        self.shelf.names.push_str(name);
        (from, at(self.shelf.names.len()))
    }

    fn term(&mut self, word: &str) -> u32 {
        if let Some(term) = self.known.get(word) {
            return *term;
        }
        let term = at(self.shelf.ends.len());
        self.shelf.terms.push_str(word);
        self.shelf.ends.push(at(self.shelf.terms.len()));
        self.known.insert(word.to_owned(), term);
        term
    }
}
