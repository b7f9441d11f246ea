//! Where a page ends, and the numbers that it was ranked with.
//!
//! A score depends on the file's own words and on a few numbers about all files. The cursor keeps
//! these numbers, so that a file that did not change has the same score on the next page, whatever
//! else changed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::SearchError;
use crate::base::Digest;
use crate::base::limits::SEARCH_BYTES;
use crate::id::Ref;

/// The numbers about all files that a ranking was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frozen {
    pub(super) files: u32,
    /// The average weight of a file, that of all its words together; at least 1.
    pub(super) length: u32,
    /// One entry for each word of the query.
    pub(super) words: Vec<WordStats>,
}

/// The numbers about one word of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordStats {
    /// How many files have it.
    pub(super) having: u32,
    /// No file has the word itself, so it may be a slip.
    pub(super) slips: bool,
}

/// The last hit of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) frozen: Frozen,
    pub(super) score: u32,
    pub(super) item: Ref,
}

/// The version, which is the first sign of a cursor.
const VERSION: &str = "1";

impl Cursor {
    /// The cursor as a text that is opaque to clients.
    pub(super) fn write(&self, words: &[String], filters: &str) -> String {
        let Frozen { files, length, words: stats } = &self.frozen;
        let stats = stats.iter().map(|word| format!("{}{}", word.having, tilde(word.slips)));
        let stats = stats.collect::<Vec<_>>().join(",");
        let Self { score, item, .. } = self;
        let asked = asked(words, filters);
        let text = format!("{VERSION} {asked} {files} {length} {stats} {score} {item}");
        URL_SAFE_NO_PAD.encode(text)
    }

    /// The cursor of a search for `words`.
    ///
    /// # Errors
    /// `search.cursor`
    pub(super) fn read(text: &str, words: &[String], filters: &str) -> Result<Self, SearchError> {
        let read = || {
            if text.len() > 2 * SEARCH_BYTES {
                return None;
            }
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
            let parts: Vec<&str> = text.split(' ').collect();
            let [version, of, files, length, stats, score, item] = parts[..] else { return None };
            if version != VERSION || of != asked(words, filters) {
                return None;
            }
            let stats = stats.split(',').filter(|stats| !stats.is_empty()).map(|stats| {
                let slips = stats.ends_with('~');
                let having = stats.trim_end_matches('~').parse().ok()?;
                Some(WordStats { having, slips })
            });
            let stats: Vec<WordStats> = stats.collect::<Option<_>>()?;
            let length = length.parse().ok().filter(|length| *length > 0)?;
            let frozen = Frozen { files: files.parse().ok()?, length, words: stats };
            let cursor = Self { frozen, score: score.parse().ok()?, item: item.parse().ok()? };
            (cursor.frozen.words.len() == words.len()).then_some(cursor)
        };
        read().ok_or(SearchError::Cursor)
    }
}

fn tilde(slips: bool) -> &'static str {
    if slips { "~" } else { "" }
}

/// A digest of the search that a cursor belongs to.
fn asked(words: &[String], filters: &str) -> String {
    let words = words.join(" ");
    let parts = [words.as_bytes(), b"\n", filters.as_bytes()];
    Digest::of_parts(&parts).to_string()[..16].to_owned()
}
