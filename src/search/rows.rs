//! Records of files and of counts as bytes, as they are kept: numbers of four bytes, little-endian.
//!
//! A file is [`FILE`] bytes: kind and marks, path, words, length, stamp. A count is [`COUNT`] bytes: a term,
//! and what it counts in the last one. What does not fit reads as nothing, so that no byte is out of reach.

use super::shelf::{File, Glance, Span};
use crate::id::Kind;
use crate::space::Stamp;

/// Bytes of a file's record.
pub(super) const FILE: usize = 56;
/// Bytes of a count.
pub(super) const COUNT: usize = 4;
/// Where the stamp begins in a file's record.
const STAMP: usize = 24;

/// The records of all files, and behind them all counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) bytes: Vec<u8>,
    /// Where they begin: what was read is left where it was.
    pub(super) from: usize,
    /// How many records are of files.
    pub(super) files: usize,
}

impl Rows {
    /// The file at a place; one without a name and words where there is none.
    #[inline]
    pub(super) fn file(&self, place: u32) -> File {
        let from = self.from + place as usize * FILE;
        let record = self.bytes.get(from..from + FILE).filter(|_| (place as usize) < self.files);
        record.and_then(read_file).unwrap_or(File {
            kind: Kind::Config,
            path: (0, 0),
            ext: 0,
            glance: Glance::default(),
            words: (0, 0),
            length: 0,
        })
    }

    /// Terms and what they count, between two places among the counts.
    #[inline]
    pub(super) fn counts(&self, (from, to): Span) -> impl Iterator<Item = (u32, u32)> {
        let begin = self.from + self.files * FILE;
        let range = begin + from as usize * COUNT..begin + to as usize * COUNT;
        let counts = self.bytes.get(range).unwrap_or_default().as_chunks::<COUNT>().0;
        counts.iter().map(|bytes| {
            let both = u32::from_le_bytes(*bytes);
            (both & 0x00ff_ffff, both >> 24)
        })
    }

    /// How many counts there are.
    pub(super) fn counted(&self) -> usize {
        self.bytes.len().saturating_sub(self.from + self.files * FILE) / COUNT
    }

    /// Puts a file behind the others; counts come when all are there.
    pub(super) fn push(&mut self, file: &File) {
        let Glance { stamp, unsigned, lists } = file.glance;
        let marks = number(file.kind) | u32::from(unsigned) << 8 | u32::from(lists) << 9;
        let marks = marks | u32::from(file.ext) << 16;
        let (path, words) = (file.path, file.words);
        for number in [marks, path.0, path.1, words.0, words.1, file.length] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes.extend_from_slice(&stamp_bytes(stamp));
        self.files += 1;
    }
}

/// The file of a record, if it is one.
#[inline]
pub(super) fn read_file(record: &[u8]) -> Option<File> {
    let record: &[u8; FILE] = record.try_into().ok()?;
    let number = |at: usize| {
        u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
    };
    let marks = number(0);
    let [kind, flags, ext, more] = marks.to_le_bytes();
    let kind = kind_of(kind.into()).filter(|_| flags < 4 && more == 0)?;
    let stamp = read_stamp(record[STAMP..].try_into().ok()?);
    let glance = Glance { stamp, unsigned: flags & 1 != 0, lists: flags & 2 != 0 };
    let (path, words) = ((number(4), number(8)), (number(12), number(16)));
    Some(File { kind, path, ext, glance, words, length: number(20) })
}

/// A term and what it counts: a few fields, each a few times.
pub(super) fn count_bytes(term: u32, count: u32) -> [u8; COUNT] {
    (term & 0x00ff_ffff | count.min(0xff) << 24).to_le_bytes()
}

pub(super) fn stamp_bytes(stamp: Stamp) -> [u8; 32] {
    let Stamp { size, modified, changed, inode } = stamp;
    let mut bytes = [0; 32];
    let numbers = [size, modified.cast_unsigned(), changed.cast_unsigned(), inode];
    for (to, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
        *to = number.to_le_bytes();
    }
    bytes
}

#[inline]
pub(super) fn read_stamp(bytes: &[u8; 32]) -> Stamp {
    let (numbers, _) = bytes.as_chunks();
    let number = |at: usize| numbers.get(at).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Stamp {
        size: number(0),
        modified: number(1).cast_signed(),
        changed: number(2).cast_signed(),
        inode: number(3),
    }
}

pub(super) fn number(kind: Kind) -> u32 {
    match kind {
        Kind::Tool => 0,
        Kind::Directive => 1,
        Kind::Knowledge => 2,
        Kind::Config => 3,
    }
}

#[inline]
pub(super) fn kind_of(number: u32) -> Option<Kind> {
    Some(match number {
        0 => Kind::Tool,
        1 => Kind::Directive,
        2 => Kind::Knowledge,
        3 => Kind::Config,
        _ => return None,
    })
}
