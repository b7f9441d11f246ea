//! Ranking: BM25 over weighted fields, with prefixes of words and typing slips.
//!
//! A word of the query counts in a file by the best matching term: the word itself, a term that
//! begins with it, or, if no file has either, a term of which it is a slip. The score of a file is
//! the sum over the words, times the share of the words that it has. So a file with all of the
//! words comes before a file that repeats one of them.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::cursor::{Cursor, Frozen, WordStats};
use super::error::SearchError;
use super::segment::{IndexedDoc, Segment};
use super::tokenize::{letters, words};
use crate::base::limits::{SEARCH_BYTES, SEARCH_WORDS};
use crate::id::Kind;
use crate::space::Entry;

/// The weight of a word in a field (code-mode 4).
pub(super) const NAME: u32 = 3;
pub(super) const NAMESPACE: u32 = 2;
pub(super) const TAG: u32 = 2;
pub(super) const DESCRIPTION: u32 = 1;
pub(super) const PARAMETER: u32 = 1;
/// How often a word counts in title and description: an author who repeats it more wants to be
/// found, and does not tell more. In the other fields it counts once.
pub(super) const REPEATED: u32 = 2;

/// How soon a repeated word stops to count more (BM25's `k1`).
const K1: f32 = 1.2;
/// How much less a long text counts (BM25's `b`).
const B: f32 = 0.5;
/// The factor of a term that begins with the word, and of one that the word is a slip of.
const BEGINS: f32 = 0.6;
const SLIP: f32 = 0.3;
/// A score is given in thousandths, as a whole number.
const UNIT: f32 = 1000.0;

/// The criteria of a search.
pub(crate) struct Criteria<'a> {
    pub(crate) text: &'a str,
    /// Whatever else decides what is found, as text: a cursor belongs to one search.
    pub(crate) filters: &'a str,
    /// Returns true if a file takes part in the ranking; called for each file.
    pub(crate) takes: &'a dyn Fn(&IndexedDoc) -> bool,
    /// Returns true if a file that has a word is a hit; called for those files alone.
    pub(crate) is_hit: &'a dyn Fn(&IndexedDoc) -> bool,
    pub(crate) limit: usize,
    pub(crate) cursor: Option<&'a str>,
}

/// One file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) entry: Entry,
    /// In thousandths; 0 if the query is empty.
    pub(crate) score: u32,
}

/// Some of what was found, the best first.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) hits: Vec<Hit>,
    /// How many were found, on all pages.
    pub(crate) total: usize,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<String>,
}

/// How files are ordered: by score, the best first; then by id.
type Order<'a> = (Reverse<u32>, &'a str, Kind);

/// Finds the files that the words may mean, in any order of the words; an empty query finds all.
///
/// # Errors
/// `search.query`, `search.cursor`
pub(crate) fn search(segments: &[&Segment], criteria: &Criteria<'_>) -> Result<Page, SearchError> {
    if criteria.text.len() > SEARCH_BYTES {
        return Err(SearchError::TooMuch);
    }
    let mut asked = words(criteria.text);
    asked.sort();
    asked.dedup();
    if asked.len() > SEARCH_WORDS {
        return Err(SearchError::TooMuch);
    }
    if asked.is_empty() && !criteria.text.trim().is_empty() {
        // A text of signs alone holds no word, but it is not an empty query either.
        return Ok(Page { hits: Vec::new(), total: 0, next: None });
    }
    let cursor = match criteria.cursor {
        Some(text) => Some(Cursor::read(text, &asked, criteria.filters)?),
        None => None,
    };
    let takes = |file: &&IndexedDoc| (criteria.takes)(file);
    let taking_part: Vec<Vec<&IndexedDoc>> =
        segments.iter().map(|segment| segment.files().iter().filter(takes).collect()).collect();
    let matched = Matched::new(segments, &taking_part, &asked, cursor.as_ref().map(|c| &c.frozen));
    let mut found = matched.scored(segments);
    found.retain(|(_, file)| (criteria.is_hit)(file));
    let total = found.len();
    if let Some(cursor) = &cursor {
        let last = (Reverse(cursor.score), cursor.item.id.as_str(), cursor.item.kind);
        found.retain(|found| order(found) > last);
    }
    let left = found.len();
    let limit = criteria.limit.max(1);
    if left > limit {
        found.select_nth_unstable_by(limit, |a, b| order(a).cmp(&order(b)));
        found.truncate(limit);
    }
    found.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
    let hit = |(score, file): &(u32, &IndexedDoc)| Hit { entry: file.entry.clone(), score: *score };
    let hits: Vec<Hit> = found.iter().map(hit).collect();
    let next = hits.last().filter(|_| left > limit).map(|last| {
        let (item, frozen) = (last.entry.item.clone(), matched.frozen.clone());
        Cursor { frozen, score: last.score, item }.write(&asked, criteria.filters)
    });
    Ok(Page { hits, total, next })
}

fn order<'s>((score, file): &(u32, &'s IndexedDoc)) -> Order<'s> {
    let item = &file.entry.item;
    (Reverse(*score), item.id.as_str(), item.kind)
}

/// The factor of each term of each segment for one word; 0 if the word does not mean it.
type Meant = Vec<Vec<f32>>;

/// The words of a query, matched with the terms.
struct Matched<'s> {
    words: Vec<Meant>,
    /// The files of each segment that have any of the words; all files if the query is empty.
    files: Vec<Vec<&'s IndexedDoc>>,
    frozen: Frozen,
}

impl<'s> Matched<'s> {
    /// Matches the words, with the numbers of an earlier page if there is one.
    fn new(
        segments: &[&'s Segment],
        taking_part: &[Vec<&'s IndexedDoc>],
        asked: &[String],
        frozen: Option<&Frozen>,
    ) -> Self {
        let on_segments = |word: &str, slips: bool| -> Meant {
            segments.iter().map(|segment| meant(segment, word, slips)).collect()
        };
        let slips = |at: usize| frozen.is_some_and(|frozen| frozen.words[at].slips);
        let words = asked.iter().enumerate().map(|(at, word)| on_segments(word, slips(at)));
        let mut words: Vec<Meant> = words.collect();
        let (mut having, mut files) = having(segments, taking_part, &words);
        if let Some(frozen) = frozen {
            return Self { words, files, frozen: frozen.clone() };
        }
        let slips: Vec<bool> = having.iter().map(|count| *count == 0).collect();
        if slips.contains(&true) {
            for (at, word) in asked.iter().enumerate().filter(|(at, _)| slips[*at]) {
                words[at] = on_segments(word, true);
            }
            (having, files) = self::having(segments, taking_part, &words);
        }
        let all: usize = taking_part.iter().map(Vec::len).sum();
        let lengths = taking_part.iter().flatten().map(|file| file.length as usize);
        let length = saturated(lengths.sum::<usize>() / all.max(1)).max(1);
        let stats = having.into_iter().zip(slips);
        let stats = stats.map(|(having, slips)| WordStats { having: saturated(having), slips });
        let frozen = Frozen { files: saturated(all), length, words: stats.collect() };
        Self { words, files, frozen }
    }

    /// The score of each file. Two files of one id are one item, which no caller can use: it has
    /// the better score of the two.
    fn scored(&self, segments: &[&'s Segment]) -> Vec<(u32, &'s IndexedDoc)> {
        let mut found: Vec<(u32, &IndexedDoc)> = Vec::new();
        let rarity: Vec<f32> = self.frozen.words.iter().map(|word| self.rarity(word)).collect();
        let mut best = vec![0.0_f32; self.words.len()];
        for (number, (segment, files)) in segments.iter().zip(&self.files).enumerate() {
            let first = found.len();
            for file in files {
                let score = self.score(number, segment, file, &rarity, &mut best);
                // The files of one id are neighbours in their segment.
                match found[first..].last_mut() {
                    Some((of_twin, twin)) if twin.entry.item == file.entry.item => {
                        *of_twin = score.max(*of_twin);
                        // A file with a signature line is an item, whichever tool lists the other.
                        if twin.is_unsigned {
                            *twin = file;
                        }
                    }
                    _ => found.push((score, file)),
                }
            }
        }
        found
    }

    /// The score of one file of the segment with that number; 0 if the query is empty.
    fn score(
        &self,
        number: usize,
        segment: &Segment,
        file: &IndexedDoc,
        rarity: &[f32],
        best: &mut [f32],
    ) -> u32 {
        if self.words.is_empty() {
            return 0;
        }
        best.fill(0.0);
        let long = K1 * (1.0 - B + B * to_f32(file.length) / to_f32(self.frozen.length));
        for posting in segment.postings(file) {
            for (best, word) in best.iter_mut().zip(&self.words) {
                let means = word[number][posting.term];
                if means > 0.0 {
                    let times = to_f32(posting.counts);
                    *best = best.max(means * times * (K1 + 1.0) / (times + long));
                }
            }
        }
        let had = best.iter().filter(|best| **best > 0.0).count();
        let sum: f32 = best.iter().zip(rarity).map(|(best, rare)| best * rare).sum();
        let share = to_f32(saturated(had)) / to_f32(saturated(best.len()));
        in_units(sum * share).max(1)
    }

    /// How much a word weighs: the fewer files have it, the more.
    fn rarity(&self, word: &WordStats) -> f32 {
        let (files, having) = (to_f32(self.frozen.files), to_f32(word.having));
        ((files - having + 0.5).max(0.5) / (having + 0.5)).ln_1p()
    }
}

/// The factor of each term of the segment for a word.
fn meant<'s>(segment: &'s Segment, word: &str, slips: bool) -> Vec<f32> {
    let (own, length) = (letters(word), word.chars().count());
    let allowed = match length {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    let allowed_slips = allowed as usize;
    let near = |text: &str| strsim::osa_distance(word, text) <= allowed_slips;
    // Many terms begin alike, so a beginning is compared once.
    let mut near_beginnings: HashMap<&str, bool> = HashMap::new();
    let mut is_slip = |term: &'s str| {
        // Each letter that only the word has takes a slip of its own.
        if (own & !letters(term)).count_ones() > allowed {
            return false;
        }
        let end = term.char_indices().nth(length).map_or(term.len(), |(at, _)| at);
        let (beginning, rest) = term.split_at(end);
        *near_beginnings.entry(beginning).or_insert_with(|| near(beginning))
            || (1..=allowed_slips).contains(&rest.chars().count()) && near(term)
    };
    let terms = segment.terms().iter().map(|term| match term.strip_prefix(word) {
        Some("") => 1.0,
        Some(_) if length > 1 => BEGINS,
        _ if slips && allowed > 0 && is_slip(term) => SLIP,
        _ => 0.0,
    });
    terms.collect()
}

/// How many files have each word, and which files have any; all files if the query is empty.
fn having<'s>(
    segments: &[&Segment],
    taking_part: &[Vec<&'s IndexedDoc>],
    words: &[Meant],
) -> (Vec<usize>, Vec<Vec<&'s IndexedDoc>>) {
    if words.is_empty() {
        return (Vec::new(), taking_part.to_vec());
    }
    let mut having = vec![0; words.len()];
    let mut all = Vec::new();
    let mut has = vec![false; words.len()];
    for (number, (segment, files)) in segments.iter().zip(taking_part).enumerate() {
        let terms = 0..segment.terms().len();
        let any: Vec<bool> =
            terms.map(|term| words.iter().any(|word| word[number][term] > 0.0)).collect();
        let mut with_any = Vec::new();
        for file in files {
            has.fill(false);
            for posting in segment.postings(file).iter().filter(|posting| any[posting.term]) {
                for (has, word) in has.iter_mut().zip(words) {
                    *has |= word[number][posting.term] > 0.0;
                }
            }
            having.iter_mut().zip(&has).for_each(|(count, has)| *count += usize::from(*has));
            if has.contains(&true) {
                with_any.push(*file);
            }
        }
        all.push(with_any);
    }
    (having, all)
}

fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a rank of counts far below 2^24")]
fn to_f32(count: u32) -> f32 {
    count as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no score is negative, and one above the range is at its end"
)]
fn in_units(score: f32) -> u32 {
    (score * UNIT) as u32
}
