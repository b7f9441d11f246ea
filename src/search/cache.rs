//! A shelf as a file, so that the next process need not read every item.
//!
//! `<user>/.ai/state/search/<digest of what it is of>`: for its owner alone, written by rename, without
//! `fsync`. What it says is a rank and nothing else, so a file that somebody else could write, that is
//! damaged, or that is of another rye is as good as none: it is made anew, and nobody is told.
//!
//! Numbers are little-endian: the magic, the digest, a sum of the rest, six lengths, then names, terms,
//! ends, folders, and files and counts as they are in memory (`rows.rs`).

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

use super::rows::{COUNT, FILE, Rows, kind_of, number, read_file, read_stamp, stamp_bytes};
use super::shelf::{Folder, Shelf, Span, span};
use crate::base::Digest;
use crate::base::bytes::{sweep, temporary};
use crate::base::limits::{
    ID_BYTES, SEARCH_CACHE_BYTES, SEARCH_CACHES, SEARCH_TERMS, SEARCH_WORD_BYTES,
};
use crate::id::Space;

/// Its last sign is the version of the format.
const MAGIC: &[u8; 8] = b"ryewords";
const VERSION: u32 = 2;
/// Bytes of the sum, and of all that stands before what it is the sum of: magic, version and digest too.
const SUM: usize = 8;
const HEAD: usize = MAGIC.len() + 4 + 64 + SUM;

/// Longest word in bytes: the small form of its last letter may be several.
const WORD: usize = SEARCH_WORD_BYTES + 16;
/// Longest path of a file below its kind's folder: an id, a dot and an extension.
const NAME_BYTES: usize = 2 * ID_BYTES;

/// Where a shelf is kept.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    key: Digest,
}

impl Cache {
    /// The cache in a user space of what `of` names: a root, and what its files are read by.
    pub(crate) fn of(user_base: &Path, of: &[&[u8]]) -> Self {
        let parts: Vec<Vec<u8>> =
            of.iter().map(|part| Digest::of(part).to_string().into()).collect();
        let key = Digest::of_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
        Self { folder: user_base.join(".ai/state/search"), key }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(self.key.to_string())
    }

    /// The shelf that was kept, and when its files were last looked at.
    pub(crate) fn read(&self, space: Space) -> Option<(Shelf, SystemTime)> {
        // Whatever was put there in its place must not hold us.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(self.path()).ok()?;
        let stat = file.metadata().ok()?;
        let closed = (stat.mode() & 0o077).count_ones() == 0;
        let own = stat.uid() == rustix::process::geteuid().as_raw() && closed;
        let size = usize::try_from(stat.len()).ok().filter(|size| *size <= SEARCH_CACHE_BYTES)?;
        if !stat.is_file() || !own {
            return None;
        }
        let mut bytes = vec![0; size];
        file.read_exact(&mut bytes).ok()?;
        Some((self.decode(bytes, space)?, stat.modified().ok()?))
    }

    /// Keeps a shelf. That it cannot is nobody's concern.
    pub(crate) fn write(&self, shelf: &Shelf) {
        if let Err(error) = self.try_write(shelf) {
            tracing::debug!(%error, "the words of a space are not kept");
        }
    }

    /// The files were looked at again, and are what they were.
    pub(crate) fn touch(&self, at: SystemTime) {
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let opened = OpenOptions::new().write(true).custom_flags(flags).open(self.path());
        let _ = opened.and_then(|file| file.set_modified(at));
    }

    fn try_write(&self, shelf: &Shelf) -> io::Result<()> {
        let bytes = self.encode(shelf);
        if bytes.len() > SEARCH_CACHE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut file = temporary(&self.folder).or_else(|_| {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            temporary(&self.folder)
        })?;
        file.write_all(&bytes)?;
        file.persist(self.path()).map_err(|error| error.error)?;
        sweep(&self.folder);
        self.forget();
        Ok(())
    }

    /// Removes what was used least lately, where there are too many.
    fn forget(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        // Whatever else lies there is not ours to remove.
        let is_ours = |name: &str| name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
        let entries = entries.flatten().filter_map(|entry| {
            entry.file_name().to_str().filter(|name| is_ours(name))?;
            let stat = entry.metadata().ok()?;
            Some((stat.modified().ok()?, entry.path()))
        });
        let mut kept: Vec<(SystemTime, PathBuf)> = entries.collect();
        kept.sort();
        let more = kept.len().saturating_sub(SEARCH_CACHES);
        for (_, path) in kept.into_iter().take(more) {
            let _ = fs::remove_file(path);
        }
    }

    pub(super) fn encode(&self, shelf: &Shelf) -> Vec<u8> {
        let rows = &shelf.rows.bytes[shelf.rows.from..];
        let texts = shelf.names.len() + shelf.terms.len();
        let numbers = 4 * (6 + shelf.ends.len() + 13 * shelf.folders.len());
        let mut bytes = self.head();
        bytes.reserve(texts + numbers + rows.len());
        let lengths = [
            shelf.names.len(),
            shelf.terms.len(),
            shelf.ends.len(),
            shelf.folders.len(),
            shelf.rows.files,
            shelf.rows.counted(),
        ];
        put(&mut bytes, &lengths.map(super::shelf::at));
        bytes.extend_from_slice(shelf.names.as_bytes());
        bytes.extend_from_slice(shelf.terms.as_bytes());
        put(&mut bytes, &shelf.ends);
        for folder in &shelf.folders {
            let (path, files) = (folder.path, folder.files);
            put(&mut bytes, &[number(folder.kind), path.0, path.1, files.0, files.1]);
            bytes.extend_from_slice(&stamp_bytes(folder.stamp));
        }
        bytes.extend_from_slice(rows);
        sealed(bytes)
    }

    /// What says whose it is, with room for the sum of the rest.
    fn head(&self) -> Vec<u8> {
        let (version, key) = (VERSION.to_le_bytes(), self.key.to_string());
        [MAGIC, &version[..], key.as_bytes(), &[0; SUM]].concat()
    }

    /// The body behind what says whose it is.
    #[cfg(any(test, feature = "fuzz"))]
    pub(super) fn with_head(&self, body: &[u8]) -> Vec<u8> {
        sealed([&self.head(), body].concat())
    }

    /// The shelf in the bytes, if they are one in every part. A file that somebody made up must not cost
    /// more than one of ours, so spans follow each other and terms have the length of words.
    pub(super) fn decode(&self, bytes: Vec<u8>, space: Space) -> Option<Shelf> {
        let mut from = Bytes(&bytes);
        let is_ours = from.take(MAGIC.len())? == MAGIC
            && from.number()? == VERSION
            && from.take(64)? == self.key.to_string().as_bytes();
        if !is_ours || from.long()? != sum(from.0) {
            return None;
        }
        let [names, terms, ends, folders, files, counts] = from.array()?.map(|len| len as usize);
        let names = std::str::from_utf8(from.take(names)?).ok()?.to_owned();
        let terms = std::str::from_utf8(from.take(terms)?).ok()?.to_owned();
        let ends = from.numbers(ends)?;
        let named = |at: Span| names.get(span(at)).is_some_and(|name| name.len() <= NAME_BYTES);
        // It is looked at by this path.
        let plain = |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let mut shelf = Shelf { ends, ..Shelf::empty(space) };
        let mut before = 0;
        for _ in 0..folders {
            let [kind, path0, path1, first, last] = from.array()?;
            let (path, inside) = ((path0, path1), (first, last));
            let stamp = read_stamp(from.take(32)?.try_into().ok()?);
            let is_plain = names.get(span(path)).is_some_and(plain);
            (named(path) && is_plain && first == before && first <= last).then_some(())?;
            before = last;
            shelf.folders.push(Folder { kind: kind_of(kind)?, path, stamp, files: inside });
        }
        let all_inside = before as usize == files;
        let wanted = files.checked_mul(FILE)?.checked_add(counts.checked_mul(COUNT)?)?;
        let (records, counted) = from.0.split_at_checked(files * FILE)?;
        let mut before = 0;
        for record in records.chunks_exact(FILE) {
            let file = read_file(record)?;
            let (first, last) = file.words;
            (named(file.path) && first == before && first <= last).then_some(())?;
            before = last;
        }
        let all_counted = before as usize == counts && wanted == from.0.len();
        let terms_are_short = shelf.ends.len() <= SEARCH_TERMS && are_words(&terms, &shelf.ends);
        let known = shelf.ends.len();
        let (counted, _) = counted.as_chunks::<COUNT>();
        let all_known =
            counted.iter().all(|&[a, b, c, _]| (u32::from_le_bytes([a, b, c, 0]) as usize) < known);
        (all_inside && all_counted && terms_are_short && all_known).then_some(())?;
        let rows = Rows { from: bytes.len() - wanted, bytes, files };
        Some(Shelf { names, terms, rows, ..shelf })
    }
}

/// Whether the ends part a text into what may be words, to its end.
fn are_words(terms: &str, ends: &[u32]) -> bool {
    let mut before = 0;
    let rising = ends.iter().all(|end| {
        let (from, end) = (before, *end as usize);
        before = end;
        from <= end && end - from <= WORD && terms.is_char_boundary(end)
    });
    rising && before == terms.len()
}

fn put(to: &mut Vec<u8>, numbers: &[u32]) {
    for number in numbers {
        to.extend_from_slice(&number.to_le_bytes());
    }
}

/// The same with the sum of what stands behind the head.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let (head, body) = bytes.split_at_mut(HEAD);
    head[HEAD - SUM..].copy_from_slice(&sum(body).to_le_bytes());
    bytes
}

/// A sum that tells damage, not malice: four at once, each of every fourth number.
fn sum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x0517_cc1b_7272_20a9);
    let mut sums = [0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64; 4];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (sum, word) in sums.iter_mut().zip(block.as_chunks().0) {
            *sum = mix(*sum, u64::from_le_bytes(*word));
        }
    }
    let rest = rest.iter().fold(0, |sum, byte| mix(sum, (*byte).into()));
    sums.into_iter().fold(rest, mix)
}

/// Bytes that are read from the front.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<u32>> {
        let (numbers, _) = self.take(count.checked_mul(4)?)?.as_chunks();
        Some(numbers.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}
