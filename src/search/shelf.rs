//! The words of one space's files.

use std::collections::HashMap;

use super::words::{each_word, letters};
use crate::id::Ref;
use crate::parse::Outline;
use crate::space::Entry;

/// What a word in a field counts (code-mode 4).
const NAME: u32 = 3;
const NAMESPACE: u32 = 2;
const TAG: u32 = 2;
const DESCRIPTION: u32 = 1;
const PARAMETER: u32 = 1;

/// The words of one file, each with what it counts, by how often and where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
        each_word(text, &mut |word| match self.words.get_mut(word) {
            Some(count) => *count += weight,
            None => drop(self.words.insert(word.to_owned(), weight)),
        });
    }

    /// A segment of an id: its words, and all of them as one, as `filesystem` for `file-system`.
    fn segment(&mut self, segment: &str, weight: u32) {
        self.add(segment, weight);
        let parts = super::words::words(segment);
        if parts.len() > 1 {
            self.add(&parts.concat(), weight);
        }
    }
}

/// One file on a shelf.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) entry: Entry,
    /// Its words are `counts[from..to]` of the shelf.
    pub(super) from: u32,
    pub(super) to: u32,
    /// What its words count together.
    pub(super) length: u32,
}

/// The words of one space's files.
///
/// Invariant: each place's range lies in `counts`, and each count names a term.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// Each with the letters that it has.
    pub(super) terms: Vec<(String, u64)>,
    known: HashMap<String, u32>,
    pub(super) places: Vec<Place>,
    /// A term, and what it counts.
    pub(super) counts: Vec<(u32, u32)>,
}

impl Shelf {
    /// Puts a file's words on the shelf.
    pub(crate) fn put(&mut self, entry: Entry, doc: &Doc) {
        let at = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let from = at(self.counts.len());
        for (word, count) in &doc.words {
            let term = match self.known.get(word) {
                Some(term) => *term,
                None => {
                    let term = at(self.terms.len());
                    self.terms.push((word.clone(), letters(word)));
                    self.known.insert(word.clone(), term);
                    term
                }
            };
            self.counts.push((term, *count));
        }
        let (to, length) = (at(self.counts.len()), doc.words.values().sum());
        self.places.push(Place { entry, from, to, length });
    }

    /// The files on the shelf.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().map(|place| &place.entry)
    }

    pub(super) fn counts(&self, place: &Place) -> &[(u32, u32)] {
        self.counts.get(place.from as usize..place.to as usize).unwrap_or_default()
    }
}
