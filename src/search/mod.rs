//! Search: which items may be meant by a few words. Ranks, and decides nothing.
//!
//! Sees `parse` (outlines), `signature` (whether a text has a line), `space`, `id`, `diagnostic`,
//! `base`.
//!
//! In:  the files of each root with what they say of themselves, signed or not; words.
//! Out: a page of [`Hit`]s, the best first, and a cursor to the next page.
//!
//! Invariants
//! - Nothing here is trusted or shown: a hit is the place of a file and a number. The code that
//!   shows one verifies the file first and shows the verified content.
//! - A cursor holds the numbers that its ranking was made with. So an item that did not change
//!   stays on its page, whatever other items come, change or go.
//!
//! Why not the FTS5 of `SQLite`, which is at hand: ten thousand items have some hundred thousand
//! words, and all of them are looked through in less than a millisecond. FTS5 knows no tolerance of
//! slips, and its ranking cannot be frozen in a cursor.
//!
//! Start at `rank.rs`; `index.rs` reads the files of a root, `tokenize.rs` splits texts,
//! `segment.rs` holds the words of a root, `cursor.rs` pages.

mod cursor;
mod error;
mod index;
mod rank;
mod segment;
#[cfg(test)]
mod tests;
mod tokenize;

pub(crate) use error::CODES;
pub(crate) use index::SearchIndex;
pub(crate) use rank::{Criteria, Hit, search};
pub(crate) use segment::{IndexedDoc, Segment};
