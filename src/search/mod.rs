//! Search: which items may be meant by a few words. Ranks, and decides nothing.
//!
//! Layer 12. Sees `parse` (outlines), `space`, `id`, `diag`, `base`.
//!
//! In:  the files of each space with what they say of themselves, signed or not; words.
//! Out: a page of [`Hit`]s, the best first, and a cursor to the next page.
//!
//! Invariants
//! - Nothing here is trusted or shown: a hit is the place of a file and a number. Whoever shows one
//!   verifies the file first and shows what the verified file says.
//! - A cursor holds the numbers that its ranking was made with, so that what else comes, changes or
//!   goes moves no other item from one page to another.
//!
//! Why not `SQLite`'s FTS5, which is at hand: ten thousand items have some hundred thousand words, which
//! are looked through in less than a millisecond without any index of postings. FTS5 knows no
//! tolerance of slips, its ranking cannot be frozen in a cursor, and opening its file costs more than
//! reading ours.
//!
//! Start at `rank.rs`; `words.rs` splits texts, `shelf.rs` holds a space's words in the records of
//! `rows.rs`, `cache.rs` keeps them in a file, `cursor.rs` pages.

mod cache;
mod cursor;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod rank;
mod rows;
mod shelf;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use cache::Cache;
pub(crate) use error::{CODES, SearchError};
pub(crate) use rank::{Hit, Wanted, search};
pub(crate) use shelf::{Copied, Doc, Filling, Glance, Shelf, Spot};
