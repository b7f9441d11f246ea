//! Versions of each item that were signed or ran here.
//!
//! `<user>/.ai/state/items/<digest of base and ref>/<order>-<signed at>-<key>-<sha256>`: the whole
//! file as it was, its signature line included. The name repeats what that line says, so that
//! nothing has to be read to know what is there; a reader verifies the line before believing the
//! bytes. One file a content: a version that is signed again, or runs again, moves to the end.
//!
//! `…/files/<sha256>` beside them: the files that such versions list, as long as there is room.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::base::bytes::{Bounded, read_at_most, sweep, temporary};
use crate::base::limits::ITEM_BYTES;
use crate::base::{Digest, Timestamp};
use crate::id::{Fingerprint, Ref};

/// Most bytes of the remembered versions of one item: two of the largest, or many usual ones.
const VERSIONS_BYTES: u64 = 2 * ITEM_BYTES;

/// Most remembered versions of one item: more than a person looks back through.
const VERSIONS_KEPT: usize = 32;

/// The folder of listed files in that of an item's versions.
const FILES: &str = "files";

/// Remembered versions below one user space.
#[derive(Debug, Clone)]
pub(crate) struct Baselines {
    folder: PathBuf,
}

/// The content of a version's signature line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// SHA-256 of the file without its signature line.
    pub(crate) sha256: Digest,
    pub(crate) signed_at: Timestamp,
    pub(crate) key: Fingerprint,
}

/// One remembered version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) stamp: Stamp,
    order: u64,
    path: PathBuf,
}

impl Version {
    /// The bytes of a version; `None` if they are gone.
    pub(crate) fn read(&self) -> Option<Vec<u8>> {
        read(&self.path)
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    // Whatever was put there in its place must not hold us.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    match read_at_most(&mut file, ITEM_BYTES, 0).ok()? {
        Bounded::All(bytes) => Some(bytes),
        Bounded::More => None,
    }
}

impl Baselines {
    /// Remembered versions of the user space whose `.ai` lies in `user_base`.
    pub(crate) fn new(user_base: &Path) -> Self {
        Self { folder: user_base.join(".ai/state/items") }
    }

    /// The remembered versions of the item whose space lies in `base`, the latest first; unread.
    pub(crate) fn versions(&self, base: &Path, item: &Ref) -> Vec<Version> {
        let Ok(entries) = fs::read_dir(self.path(base, item)) else { return Vec::new() };
        let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
        // Another process may have filled the folder; a person looks through no more than these.
        let mut versions: Vec<_> = names.take(VERSIONS_KEPT * 8).filter_map(version).collect();
        versions.sort_by_key(|version| std::cmp::Reverse(version.order));
        versions
    }

    /// Returns true if any version is remembered.
    pub(crate) fn knows(&self, base: &Path, item: &Ref) -> bool {
        !self.versions(base, item).is_empty()
    }

    /// A file that a remembered version of the item lists; `None` if it was not kept.
    pub(crate) fn file(&self, base: &Path, item: &Ref, digest: Digest) -> Option<Vec<u8>> {
        let bytes = read(&self.path(base, item).join(FILES).join(digest.to_string()))?;
        (Digest::of(&bytes) == digest).then_some(bytes)
    }

    /// Remembers a version as the latest, with the `files` that it lists, and forgets the oldest
    /// beyond [`VERSIONS_KEPT`] and [`VERSIONS_BYTES`]; one with the digest `keep` is never
    /// forgotten. Written by rename, without `fsync`: a crash may lose it, and what is there is
    /// still only believed if it verifies.
    ///
    /// # Errors
    /// An error of the file system; nothing depends on success.
    pub(crate) fn remember(
        &self,
        base: &Path,
        item: &Ref,
        (stamp, bytes): (Stamp, &[u8]),
        files: &[(Digest, &[u8])],
        keep: Option<Digest>,
    ) -> io::Result<()> {
        let known = self.versions(base, item);
        if known.first().is_some_and(|latest| latest.stamp == stamp) {
            return Ok(());
        }
        let folder = self.path(base, item);
        let mut file = temporary(&folder).or_else(|_| {
            // In an earlier layout the one version stood where the folder belongs.
            if fs::symlink_metadata(&folder).is_ok_and(|stat| !stat.is_dir()) {
                fs::remove_file(&folder)?;
            }
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            temporary(&folder)
        })?;
        file.write_all(bytes)?;
        let order = known.first().map_or(0, |latest| latest.order.saturating_add(1));
        let Stamp { sha256, signed_at, key } = stamp;
        let name = format!("{order:010}-{}-{key}-{sha256}", signed_at.as_second());
        file.persist(folder.join(name)).map_err(|e| e.error)?;
        sweep(&folder);
        let (same, others): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|version| version.stamp.sha256 == sha256);
        for version in same {
            fs::remove_file(version.path)?;
        }
        forget(others, bytes.len(), keep)?;
        keep_files(&folder.join(FILES), files)
    }

    fn path(&self, base: &Path, item: &Ref) -> PathBuf {
        let name = Digest::of_parts(&[
            base.as_os_str().as_encoded_bytes(),
            b"\0",
            item.to_string().as_bytes(),
        ]);
        self.folder.join(name.to_string())
    }
}

/// Keeps the files of the version that is the latest now, and of earlier ones what
/// [`VERSIONS_BYTES`] leaves room for. What alone is larger is not kept.
fn keep_files(folder: &Path, files: &[(Digest, &[u8])]) -> io::Result<()> {
    let size = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let mut total: u64 = files.iter().map(|(_, bytes)| size(bytes.len())).sum();
    if files.is_empty() || total > VERSIONS_BYTES {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for (digest, bytes) in files {
        let path = folder.join(digest.to_string());
        let mut file = temporary(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|e| e.error)?;
    }
    sweep(folder);
    let mut others = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_str().and_then(|name| name.parse::<Digest>().ok());
        let is_latest = name.is_some_and(|name| files.iter().any(|(digest, _)| *digest == name));
        if let Some(stat) = entry.metadata().ok().filter(|_| !is_latest) {
            others.push((stat.modified().ok(), stat.len(), entry.path()));
        }
    }
    others.sort();
    for (count, (_, length, path)) in others.into_iter().rev().enumerate() {
        total = total.saturating_add(length);
        if total > VERSIONS_BYTES || count >= VERSIONS_KEPT * 8 {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Removes what is over the caps; `versions` are the latest first, beside one of `bytes`.
fn forget(versions: Vec<Version>, bytes: usize, keep: Option<Digest>) -> io::Result<()> {
    let (mut count, mut total) = (1, u64::try_from(bytes).unwrap_or(u64::MAX));
    for version in versions {
        let size = fs::symlink_metadata(&version.path).map_or(0, |stat| stat.len());
        let fits = count < VERSIONS_KEPT && total.saturating_add(size) <= VERSIONS_BYTES;
        if fits || keep == Some(version.stamp.sha256) {
            count += 1;
            total = total.saturating_add(size);
        } else {
            fs::remove_file(version.path)?;
        }
    }
    Ok(())
}

/// Reads a file's name; `None` for files that are no versions.
fn version(path: PathBuf) -> Option<Version> {
    let mut fields = path.file_name()?.to_str()?.split('-');
    let mut next = || fields.next();
    let order = next()?.parse().ok()?;
    let signed_at = Timestamp::from_second(next()?.parse().ok()?);
    let (key, sha256) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let stamp = Stamp { sha256, signed_at, key };
    fields.next().is_none().then_some(Version { stamp, order, path })
}

#[cfg(test)]
mod tests {
    use super::{Baselines, Stamp};
    use super::{VERSIONS_BYTES, VERSIONS_KEPT};
    use crate::base::{Digest, Timestamp};
    use crate::id::Ref;
    use std::path::Path;

    struct Kept {
        folder: tempfile::TempDir,
        item: Ref,
    }

    impl Kept {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), item: "tool:a/b".parse().unwrap() }
        }

        fn baselines(&self) -> Baselines {
            Baselines::new(self.folder.path())
        }

        fn remember(&self, bytes: &[u8], keep: Option<Digest>) {
            let stamp = Stamp {
                sha256: Digest::of(bytes),
                signed_at: Timestamp::from_second(1_800_000_000),
                key: "78f7dae3a0d000131c0889808c8c822d".parse().unwrap(),
            };
            let baselines = self.baselines();
            baselines.remember(Path::new("/p"), &self.item, (stamp, bytes), &[], keep).unwrap();
        }

        fn all(&self) -> Vec<Vec<u8>> {
            let baselines = self.baselines();
            let versions = baselines.versions(Path::new("/p"), &self.item);
            versions.iter().map(|version| version.read().unwrap()).collect()
        }
    }

    #[test]
    fn versions_come_latest_first_and_each_content_once() {
        let kept = Kept::new();
        assert!(kept.all().is_empty());
        for bytes in [b"1", b"2", b"2", b"3", b"1"] {
            kept.remember(bytes, None);
        }
        assert_eq!(kept.all(), [b"1", b"3", b"2"]);
        assert!(kept.baselines().versions(Path::new("/q"), &kept.item).is_empty());
    }

    #[test]
    fn the_oldest_are_forgotten_but_not_the_one_to_keep() {
        let kept = Kept::new();
        let keep = Some(Digest::of(b"0"));
        for n in 0..VERSIONS_KEPT + 5 {
            kept.remember(n.to_string().as_bytes(), keep);
        }
        let all = kept.all();
        assert_eq!(all.len(), VERSIONS_KEPT + 1);
        assert_eq!(all.last().unwrap(), b"0");
        assert_eq!(all[0], (VERSIONS_KEPT + 4).to_string().as_bytes());
    }

    #[test]
    fn versions_of_one_item_stay_below_the_cap_in_bytes() {
        let kept = Kept::new();
        let size = usize::try_from(VERSIONS_BYTES / 2).unwrap();
        for n in 0..4 {
            kept.remember(&vec![n; size], None);
        }
        let all = kept.all();
        assert_eq!(all.iter().map(|bytes| bytes[0]).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn a_file_of_the_earlier_layout_makes_room() {
        let kept = Kept::new();
        let path = kept.baselines().path(Path::new("/p"), &kept.item);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "1").unwrap();
        assert!(kept.all().is_empty());
        kept.remember(b"2", None);
        assert_eq!(kept.all(), [b"2"]);
    }
}
