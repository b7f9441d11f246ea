//! A shelf as a file, so that the next process need not read every item.
//!
//! `<user>/.ai/state/search/<digest of what it is of>`: for its owner alone, written by rename, without
//! `fsync`. What it says is a rank and nothing else, so a file that somebody else could write, that is
//! damaged, or that is of another rye is as good as none: it is made anew, and nobody is told.
//!
//! Numbers are little-endian: the magic, the digest, a sum of the rest, six lengths, then names, terms,
//! ends, folders, files and counts.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

use super::shelf::{File, Folder, Glance, Shelf, Span, span};
use crate::base::Digest;
use crate::base::bytes::{sweep, temporary};
use crate::base::limits::{ID_BYTES, SEARCH_CACHE_BYTES, SEARCH_CACHES, SEARCH_TERMS};
use crate::id::{Kind, Space};
use crate::space::Stamp;

/// Its last sign is the version of the format.
const MAGIC: &[u8; 8] = b"ryewords";
const VERSION: u32 = 1;

/// A word in bytes, about; its last letter may become several.
const WORD: u32 = 64;
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
        Some((self.decode(&bytes, space)?, stat.modified().ok()?))
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
        let entries = entries.flatten().filter_map(|entry| {
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
        let mut body = Vec::new();
        let lengths = [
            shelf.names.len(),
            shelf.terms.len(),
            shelf.ends.len(),
            shelf.folders.len(),
            shelf.files.len(),
            shelf.counts.len(),
        ];
        put(&mut body, &lengths.map(super::shelf::at));
        body.extend(shelf.names.as_bytes());
        body.extend(shelf.terms.as_bytes());
        put(&mut body, &shelf.ends);
        for folder in &shelf.folders {
            let (path, files) = (folder.path, folder.files);
            put(&mut body, &[number(folder.kind), path.0, path.1, files.0, files.1]);
            put_stamp(&mut body, folder.stamp);
        }
        for file in &shelf.files {
            let Glance { stamp, unsigned, lists } = file.glance;
            let flags = u32::from(unsigned) | u32::from(lists) << 1 | u32::from(file.ext) << 8;
            let (path, words) = (file.path, file.words);
            let kind = number(file.kind);
            put(&mut body, &[kind, flags, path.0, path.1, words.0, words.1, file.length]);
            put_stamp(&mut body, stamp);
        }
        shelf.counts.iter().for_each(|(term, count)| put(&mut body, &[*term, *count]));
        self.with_head(&body)
    }

    /// The body behind what says whose it is.
    pub(super) fn with_head(&self, body: &[u8]) -> Vec<u8> {
        let (version, key) = (VERSION.to_le_bytes(), self.key.to_string());
        [MAGIC, &version[..], key.as_bytes(), &sum(body).to_le_bytes(), body].concat()
    }

    /// The shelf in the bytes, if they are one in every part.
    pub(super) fn decode(&self, bytes: &[u8], space: Space) -> Option<Shelf> {
        let mut from = Bytes(bytes);
        let is_ours = from.take(MAGIC.len())? == MAGIC
            && from.number()? == VERSION
            && from.take(64)? == self.key.to_string().as_bytes();
        if !is_ours || from.long()? != sum(from.0) {
            return None;
        }
        let mut lengths = [0_usize; 6];
        for length in &mut lengths {
            *length = from.number()? as usize;
        }
        let [names, terms, ends, folders, files, counts] = lengths;
        let names = std::str::from_utf8(from.take(names)?).ok()?.to_owned();
        let terms = std::str::from_utf8(from.take(terms)?).ok()?.to_owned();
        let ends = from.numbers(ends)?;
        // A file that somebody made up must not cost more than one of ours.
        let short = ends.len() <= SEARCH_TERMS;
        let rising = ends
            .first()
            .is_none_or(|first| *first <= 4 * WORD && terms.is_char_boundary(*first as usize))
            && ends
                .windows(2)
                .all(|pair| pair[0] <= pair[1] && terms.is_char_boundary(pair[1] as usize));
        let whole = ends.last().is_none_or(|last| *last as usize == terms.len());
        let named = |at: Span| names.get(span(at)).is_some_and(|name| name.len() <= NAME_BYTES);
        let within = |at: Span, len: usize| at.0 <= at.1 && at.1 as usize <= len;
        let mut shelf = Shelf { ends, ..Shelf::empty(space) };
        // Never more than the bytes that are left may hold.
        shelf.files.reserve(files.min(from.0.len() / 60));
        for _ in 0..folders {
            let [kind, path0, path1, first, last] = from.array()?;
            let (path, inside) = ((path0, path1), (first, last));
            let stamp = from.stamp()?;
            let folder = Folder { kind: kind_of(kind)?, path, stamp, files: inside };
            // It is looked at by this path.
            let plain = |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            let is_plain = names.get(span(path)).is_some_and(plain);
            (named(path) && is_plain && within(inside, files)).then_some(())?;
            shelf.folders.push(folder);
        }
        for _ in 0..files {
            let [kind, flags, path0, path1, first, last, length] = from.array()?;
            let (path, words, stamp) = ((path0, path1), (first, last), from.stamp()?);
            let glance = Glance { stamp, unsigned: flags & 1 != 0, lists: flags & 2 != 0 };
            let ext = u8::try_from(flags >> 8).ok().filter(|_| flags & 0xfc == 0)?;
            (named(path) && within(words, counts)).then_some(())?;
            shelf.files.push(File { kind: kind_of(kind)?, path, ext, glance, words, length });
        }
        shelf.counts = from.pairs(counts)?;
        let known = shelf.counts.iter().all(|(term, _)| (*term as usize) < shelf.ends.len());
        let is_whole = short && rising && whole && known && from.0.is_empty();
        is_whole.then_some(Shelf { names, terms, ..shelf })
    }
}

fn put(to: &mut Vec<u8>, numbers: &[u32]) {
    to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put_stamp(to: &mut Vec<u8>, stamp: Stamp) {
    to.extend(stamp.size.to_le_bytes());
    to.extend(stamp.modified.to_le_bytes());
    to.extend(stamp.changed.to_le_bytes());
    to.extend(stamp.inode.to_le_bytes());
}

fn number(kind: Kind) -> u32 {
    match kind {
        Kind::Tool => 0,
        Kind::Directive => 1,
        Kind::Knowledge => 2,
        Kind::Config => 3,
    }
}

fn kind_of(number: u32) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| self::number(*kind) == number)
}

/// A sum that tells damage, not malice.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let mut mix = |word: u64| sum = (sum.rotate_left(5) ^ word).wrapping_mul(0x0517_cc1b_7272_20a9);
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    for word in words {
        mix(u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    for byte in rest {
        mix(u64::from(*byte));
    }
    sum
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
        let bytes = self.take(count.checked_mul(4)?)?;
        let words = bytes.chunks_exact(4);
        Some(words.map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default())).collect())
    }

    fn pairs(&mut self, count: usize) -> Option<Vec<(u32, u32)>> {
        let bytes = self.take(count.checked_mul(8)?)?;
        let pair = |bytes: &[u8]| {
            let both = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            // The first is the lower half.
            #[expect(clippy::cast_possible_truncation, reason = "the two halves of it")]
            let halves = (both as u32, (both >> 32) as u32);
            halves
        };
        Some(bytes.chunks_exact(8).map(pair).collect())
    }

    fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            size: self.long()?,
            modified: self.long()?.cast_signed(),
            changed: self.long()?.cast_signed(),
            inode: self.long()?,
        })
    }
}
