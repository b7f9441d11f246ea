//! The words of one root's files, in memory.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::rank::{DESCRIPTION, NAME, NAMESPACE, PARAMETER, REPEATED, TAG};
use super::tokenize::{each_word, words};
use crate::id::{Kind, Ref};
use crate::parse::Outline;
use crate::space::Entry;

/// Most different words of a search index: more than a language has.
const SEARCH_TERMS: usize = 1_000_000;

/// Most different words of one item: a page of text.
const SEARCH_DOC_WORDS: usize = 512;

/// The bytes of one text about an item that are read to find it: the beginning says what it is for.
const SEARCH_TEXT_BYTES: usize = 8 << 10;

/// One file, with the words that it is found by.
#[derive(Debug)]
pub(crate) struct Doc {
    entry: Entry,
    /// It has no signature line.
    pub(crate) is_unsigned: bool,
    /// It is a tool that lists files.
    lists_files: bool,
    words: Words,
}

impl Doc {
    /// It is found by its id, and by what it says of itself if that was read.
    pub(crate) fn new(entry: Entry, outline: Option<&Outline>, is_unsigned: bool) -> Self {
        let words = Words::new(&entry.item, outline);
        let lists_files = outline.is_some_and(|outline| outline.lists_files);
        Self { entry, is_unsigned, lists_files, words }
    }
}

/// The words of one file, each with what it counts, by how often and where it stands.
#[derive(Debug, Default)]
struct Words {
    words: BTreeMap<String, WordCount>,
    field: Field,
}

/// The field that is being added.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    /// Fields are numbered from 1.
    number: u8,
    /// The weight of a word in this field each time, and how often it counts at most.
    weight: u32,
    most: u32,
}

/// The weight of a word of a file.
#[derive(Debug, Clone, Copy)]
struct WordCount {
    counts: u32,
    /// The last field in which the word stands, and how often it counts there.
    field: u8,
    times: u32,
}

impl Words {
    fn new(item: &Ref, outline: Option<&Outline>) -> Self {
        let mut words = Self::default();
        words.begin(NAME, 1);
        words.segment(item.id.name());
        words.begin(NAMESPACE, 1);
        item.id.folder().split('/').for_each(|segment| words.segment(segment));
        let Some(outline) = outline else { return words };
        words.begin(TAG, 1);
        outline.tags.iter().for_each(|tag| words.text(tag));
        words.begin(DESCRIPTION, REPEATED);
        outline.title.iter().chain(&outline.description).for_each(|about| words.text(about));
        words.begin(PARAMETER, 1);
        outline.parameters.iter().for_each(|name| words.text(name));
        words
    }

    fn begin(&mut self, weight: u32, most: u32) {
        self.field = Field { number: self.field.number + 1, weight, most };
    }

    /// Adds a segment of an id, and all its words as one: `filesystem` for `file-system`.
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
            let Some(known) = words.get_mut(word) else {
                if words.len() < SEARCH_DOC_WORDS {
                    words.insert(word.to_owned(), WordCount { counts: weight, field, times: 1 });
                }
                return;
            };
            let times = if known.field == field { known.times } else { 0 };
            if times < most {
                *known = WordCount { counts: known.counts + weight, field, times: times + 1 };
            }
        });
    }
}

/// One file of a segment.
#[derive(Debug, Clone)]
pub(crate) struct IndexedDoc {
    pub(crate) entry: Entry,
    /// It has no signature line.
    pub(crate) is_unsigned: bool,
    /// It is a tool that lists files.
    pub(crate) lists_files: bool,
    /// Its postings in the segment.
    postings: Range<usize>,
    /// The weight of its words together.
    pub(super) length: u32,
}

impl IndexedDoc {
    pub(crate) fn is_in_root_of(&self, other: &Self) -> bool {
        let root = |file: &Self| (file.entry.space, file.entry.bundle.clone());
        root(self) == root(other)
    }

    /// It is a document about keys, which no search may find.
    pub(crate) fn is_about_keys(&self) -> bool {
        self.entry.item.kind == Kind::Config && self.entry.item.id.as_str().starts_with("keys/")
    }
}

/// A word of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    /// Its place among the terms of the segment.
    pub(super) term: usize,
    /// Its weight in the file.
    pub(super) counts: u32,
}

/// The words of one root's files.
///
/// Invariants: files are sorted by their entries, and each posting names a term.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segment {
    files: Vec<IndexedDoc>,
    /// All different words.
    terms: Vec<String>,
    postings: Vec<Posting>,
}

impl Segment {
    /// The files, sorted by their entries.
    pub(crate) fn files(&self) -> &[IndexedDoc] {
        &self.files
    }

    /// A file that answers to the ref.
    pub(crate) fn find(&self, item: &Ref) -> Option<&IndexedDoc> {
        let at = self.files.binary_search_by(|file| file.entry.item.cmp(item)).ok()?;
        self.files.get(at)
    }

    pub(super) fn terms(&self) -> &[String] {
        &self.terms
    }

    pub(super) fn postings(&self, file: &IndexedDoc) -> &[Posting] {
        &self.postings[file.postings.clone()]
    }
}

/// A segment that is being built.
#[derive(Default)]
pub(crate) struct SegmentBuilder {
    segment: Segment,
    known: HashMap<String, usize>,
}

impl SegmentBuilder {
    pub(crate) fn add(&mut self, doc: Doc) {
        let Doc { entry, is_unsigned, lists_files, words } = doc;
        let Segment { files, terms, postings } = &mut self.segment;
        let (from, mut length) = (postings.len(), 0_u32);
        for (word, WordCount { counts, .. }) in words.words {
            let next = terms.len();
            let term = match self.known.get(&word) {
                Some(term) => *term,
                None if next < SEARCH_TERMS => {
                    terms.push(word.clone());
                    self.known.insert(word, next);
                    next
                }
                None => continue,
            };
            postings.push(Posting { term, counts });
            length = length.saturating_add(counts);
        }
        let postings = from..postings.len();
        files.push(IndexedDoc { entry, is_unsigned, lists_files, postings, length });
    }

    pub(crate) fn done(mut self) -> Segment {
        self.segment.files.sort_by(|a, b| a.entry.cmp(&b.entry));
        self.segment
    }
}
