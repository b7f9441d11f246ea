//! A store in a folder: each object a file, `ab/cdef…`, each ref a file with a digest a line.
//!
//! # Why no object is lost that a ref reaches
//!
//! Writers and collections, of any number of processes, meet at one lock. A put, a look for missing
//! objects and the setting of a ref take it together with others. A collection takes it alone: to
//! read the clock and the refs, and again for each folder in which it removes something. An object
//! is as old as its file's time. The kernel sets that, and that of the lock file, by which a
//! collection reads the clock, so no two clocks are compared. A put of an object that is there and
//! whole writes nothing: it makes it new under the lock, as a look for it does, or finds it gone
//! and writes it.
//!
//! A collection removes what no ref reached when it read them, and what is older than that reading.
//! Take an object that a ref reaches. `set_ref` found it there, made it new and wrote the ref, in
//! one go under the lock. A collection that read the refs later has seen this one. One that read
//! them earlier finds, as it removes the object, a file that is newer than its reading,
//! and leaves it. Had it removed the object before, `set_ref` would have found it missing, set
//! nothing and said so; then the caller puts it again. Which objects a ref reaches is found out
//! before the lock is taken, for what an object names never changes.
//!
//! So the grace period decides nothing here: it is a convenience. Who sets a ref within it never
//! has to put an object again. It also covers a clock that is set back meanwhile.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, FileType, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens, statat, utimensat,
};
use rustix::io::Errno;

use super::error::{At, StoreError};
use super::objects::{Garbage, OBJECT_BYTES, ObjectStore, RefName, reached};
use crate::base::bytes::{Bounded, read_plain, sweep, temporary, write_atomic};
use crate::base::limits::SMALL_TEXT_BYTES;
use crate::base::{Digest, Digesting, file_lock};
use crate::space::{Opened, read_beneath};

/// The folder of the store below a user's `.ai`.
pub(crate) const OBJECTS: &str = "state/objects";

/// Most objects that a ref lists: its file is a small text.
const REF_OBJECTS: usize = 1_000;

const REFS: &str = "refs";
const QUARANTINE: &str = "quarantine";
const LOCK: &str = ".lock";

/// Sets the time of a file to this moment.
const NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};

/// See the module.
#[derive(Debug)]
pub(crate) struct FolderStore {
    folder: PathBuf,
    open: OwnedFd,
}

/// The file of an object, as it is found.
enum Found {
    Object(Vec<u8>),
    Missing,
    /// Other bytes, a link or a folder.
    Altered,
}

impl FolderStore {
    /// The store of the user space whose `.ai` lies in `base`.
    ///
    /// # Errors
    /// `store.io`
    pub(crate) fn of_user(base: &Path) -> Result<Self, StoreError> {
        Self::open(base.join(".ai").join(OBJECTS))
    }

    /// Opens the store in `folder`; makes it if missing.
    ///
    /// # Errors
    /// `store.io`
    pub(crate) fn open(folder: PathBuf) -> Result<Self, StoreError> {
        for inner in [REFS, QUARANTINE] {
            make_folder(&folder.join(inner)).at(&folder)?;
        }
        let open = File::open(&folder).at(&folder)?.into();
        Ok(Self { folder, open })
    }

    /// Holds the store with other writers, or alone for a collection, until the file is dropped.
    fn lock(&self, alone: bool) -> Result<File, StoreError> {
        let path = self.folder.join(LOCK);
        let mut open = File::options();
        open.create(true).truncate(false).write(true).mode(0o600);
        let file = open.open(&path).at(&path)?;
        let lock = if alone { file_lock::lock } else { file_lock::lock_shared };
        // Among ever more writers a collection would never begin: those that come later wait
        // behind it here.
        let turn = File::open(&self.folder).at(&self.folder)?;
        lock(&turn, &self.folder).at(&self.folder)?;
        lock(&file, &path).at(&path)?;
        Ok(file)
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join(relative(digest))
    }

    fn ref_path(&self, name: &RefName) -> PathBuf {
        self.folder.join(REFS).join(name.as_str())
    }

    /// The time since a ref was set; `None` if there is no such ref.
    ///
    /// # Errors
    /// `store.io`
    pub(crate) fn ref_age(&self, name: &RefName) -> Result<Option<Duration>, StoreError> {
        let path = self.ref_path(name);
        match path.symlink_metadata().and_then(|stat| stat.modified()) {
            Ok(at) => Ok(Some(SystemTime::now().duration_since(at).unwrap_or_default())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at(&path),
        }
    }

    fn read(&self, digest: Digest) -> Result<Found, StoreError> {
        let read = read_beneath(&self.open, &relative(digest), OBJECT_BYTES);
        Ok(match read.at(&self.path(digest))? {
            Opened::File { bytes, .. } if Digest::of(&bytes) == digest => Found::Object(bytes),
            Opened::Missing => Found::Missing,
            _ => Found::Altered,
        })
    }

    /// The folder of an object, made where it is not there. A link is never one.
    fn shard(&self, digest: Digest) -> Result<PathBuf, StoreError> {
        let path = self.path(digest);
        let shard = path.parent().unwrap_or(&self.folder);
        let made = make_folder(shard).and_then(|()| match shard.symlink_metadata()?.is_dir() {
            true => Ok(shard.to_owned()),
            false => Err(io::ErrorKind::NotADirectory.into()),
        });
        made.at(shard)
    }

    /// Puts what stands where the object should be into the quarantine.
    fn quarantine(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        let _lock = self.lock(true)?;
        // Another process may have put the object again since it was read.
        match self.read(digest)? {
            Found::Object(bytes) => return Ok(bytes),
            Found::Missing => {}
            Found::Altered => {
                self.shard(digest)?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let aside = format!("{QUARANTINE}/{digest}-{}", now.as_nanos());
                fs::rename(self.path(digest), self.folder.join(aside)).at(&self.path(digest))?;
            }
        }
        Err(StoreError::altered(digest))
    }

    /// Makes the object new, if it is there and whole.
    fn renew_whole(&self, digest: Digest) -> Result<bool, StoreError> {
        // What cannot be read is written anew.
        if !matches!(self.read(digest), Ok(Found::Object(_))) {
            return Ok(false);
        }
        let _lock = self.lock(false)?;
        // A collection may have removed it since.
        self.renew(digest)
    }

    /// Makes the object new, if it is there. The store is locked.
    fn renew(&self, digest: Digest) -> Result<bool, StoreError> {
        let path = relative(digest);
        let is_there = || {
            let stat = statat(&self.open, &path, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Ok(false);
            }
            utimensat(&self.open, &path, &NOW, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(true)
        };
        match is_there() {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            other => other.at(&self.path(digest)),
        }
    }

    /// The time of the files' clock, and the objects that refs hold then.
    fn now_and_roots(&self) -> Result<(SystemTime, Vec<Digest>), StoreError> {
        let lock = self.lock(true)?;
        let now = || {
            futimens(&lock, &NOW)?;
            lock.metadata()?.modified()
        };
        let now = now().at(&self.folder.join(LOCK))?;
        Ok((now, self.refs()?.into_values().flatten().collect()))
    }

    fn sweep(
        &self,
        before: SystemTime,
        marked: &HashSet<Digest>,
        is_dry_run: bool,
    ) -> Result<Garbage, StoreError> {
        let is_garbage = |(digest, _, stat): &(Digest, PathBuf, fs::Metadata)| {
            let is_new = stat.modified().is_ok_and(|at| at >= before);
            !stat.is_dir() && !is_new && !marked.contains(digest)
        };
        let mut garbage = Garbage::default();
        for shard in self.shards()? {
            // Writers wait only for folders with garbage, which is looked for again then.
            let takes = !is_dry_run && objects_in(&shard)?.iter().any(is_garbage);
            let _lock = takes.then(|| self.lock(true)).transpose()?;
            let all = objects_in(&shard)?.into_iter();
            let (removed, kept): (Vec<_>, Vec<_>) = all.partition(is_garbage);
            for (_, path, _) in removed.iter().filter(|_| takes) {
                fs::remove_file(path).at(path)?;
            }
            garbage.kept += kept.len() as u64;
            garbage.removed += removed.len() as u64;
            garbage.removed_bytes += removed.iter().map(|(.., stat)| stat.len()).sum::<u64>();
        }
        Ok(garbage)
    }

    /// The folders of objects.
    fn shards(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut shards = Vec::new();
        for entry in fs::read_dir(&self.folder).at(&self.folder)? {
            let entry = entry.at(&self.folder)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            shards.extend((is_folder && entry.file_name().len() == 2).then(|| entry.path()));
        }
        Ok(shards)
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The number of bytes that came for an object.
///
/// # Errors
/// `store.malformed` for other bytes, or too many.
fn checked(digest: Digest, came: &Digesting) -> Result<u64, StoreError> {
    if came.bytes() > OBJECT_BYTES {
        let why = format!("has more than {} MiB", OBJECT_BYTES >> 20);
        return Err(StoreError::malformed(&digest, why));
    }
    match came.digest() == digest {
        true => Ok(came.bytes()),
        false => Err(StoreError::malformed(&digest, "is not the digest of the bytes that came")),
    }
}

/// Copies all bytes, or some more than an object may have.
fn copy(from: &mut dyn Read, to: &mut impl Write) -> io::Result<Digesting> {
    let (mut digesting, mut buffer) = (Digesting::default(), vec![0; 64 << 10]);
    while digesting.bytes() <= OBJECT_BYTES {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                digesting.take(&buffer[..read]);
                to.write_all(&buffer[..read])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(digesting)
}

/// The path of an object below the folder of the store.
fn relative(digest: Digest) -> String {
    let name = digest.to_string();
    format!("{}/{}", &name[..2], &name[2..])
}

/// The objects in one of the folders, each with its path and what the file system says of it.
fn objects_in(shard: &Path) -> Result<Vec<(Digest, PathBuf, fs::Metadata)>, StoreError> {
    let begins = shard.file_name().unwrap_or_default().to_string_lossy();
    let mut objects = Vec::new();
    for entry in fs::read_dir(shard).at(shard)? {
        let entry = entry.at(shard)?;
        let digest = format!("{begins}{}", entry.file_name().to_string_lossy()).parse();
        // One may be gone by now.
        if let (Ok(digest), Ok(stat)) = (digest, entry.metadata()) {
            objects.push((digest, entry.path(), stat));
        }
    }
    Ok(objects)
}

impl ObjectStore for FolderStore {
    fn put(&self, digest: Digest, bytes: &mut dyn Read) -> Result<u64, StoreError> {
        let path = self.path(digest);
        if self.renew_whole(digest)? {
            return checked(digest, &copy(bytes, &mut io::sink()).at(&path)?);
        }
        let shard = self.shard(digest)?;
        let file = temporary(&shard).at(&path)?;
        let size = checked(digest, &copy(bytes, &mut file.as_file()).at(&path)?)?;
        file.as_file().sync_all().at(&path)?;
        let lock = self.lock(false)?;
        futimens(file.as_file(), &NOW).at(&path)?;
        file.persist(&path).at(&path)?;
        drop(lock);
        File::open(&shard).and_then(|shard| shard.sync_all()).at(&path)?;
        sweep(&shard);
        Ok(size)
    }

    fn get(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        match self.read(digest)? {
            Found::Object(bytes) => Ok(bytes),
            Found::Missing => Err(StoreError::NotFound { digest }),
            Found::Altered => self.quarantine(digest),
        }
    }

    fn missing(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        let _lock = self.lock(false)?;
        let mut missing = Vec::new();
        for digest in digests {
            if !self.renew(*digest)? {
                missing.push(*digest);
            }
        }
        Ok(missing)
    }

    fn set_ref(&self, name: &RefName, objects: &[Digest]) -> Result<(), StoreError> {
        if objects.len() > REF_OBJECTS {
            let why = format!("may hold {REF_OBJECTS} objects, each of which may name others");
            return Err(StoreError::malformed(&name.as_str(), why));
        }
        let all = reached(self, objects.iter().copied(), &mut |_, error| Err(error))?;
        let lines: String = objects.iter().map(|digest| format!("{digest}\n")).collect();
        let path = self.ref_path(name);
        let _lock = self.lock(false)?;
        for digest in all {
            if !self.renew(digest)? {
                return Err(StoreError::NotFound { digest });
            }
        }
        write_atomic(&path, lines.as_bytes(), 0o600).at(&path)
    }

    fn remove_ref(&self, name: &RefName) -> Result<(), StoreError> {
        let path = self.ref_path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.at(&path),
        }
    }

    fn refs(&self) -> Result<BTreeMap<RefName, Vec<Digest>>, StoreError> {
        let folder = self.folder.join(REFS);
        let mut refs = BTreeMap::new();
        for entry in fs::read_dir(&folder).at(&folder)? {
            let entry = entry.at(&folder)?;
            // Others are of writers that were killed.
            let Some(name) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let path = entry.path();
            let digests = match read_plain(&path, SMALL_TEXT_BYTES) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => match read.at(&path)? {
                    Bounded::All(text) => {
                        let text = String::from_utf8_lossy(&text);
                        text.lines().map(|line| line.parse().ok()).collect()
                    }
                    Bounded::More => None,
                },
            };
            let malformed = || StoreError::malformed(&path.display(), "is not a list of digests");
            refs.insert(name, digests.ok_or_else(malformed)?);
        }
        Ok(refs)
    }

    fn list(&self) -> Result<Vec<(Digest, u64)>, StoreError> {
        let mut all = Vec::new();
        for shard in self.shards()? {
            all.extend(
                objects_in(&shard)?.into_iter().map(|(digest, _, stat)| (digest, stat.len())),
            );
        }
        all.sort_unstable();
        Ok(all)
    }

    fn collect(&self, grace: Duration, is_dry_run: bool) -> Result<Garbage, StoreError> {
        let (now, roots) = self.now_and_roots()?;
        let mut lost = Vec::new();
        let marked = reached(self, roots, &mut |digest, error| match error {
            // It may be a disk that does not answer for a moment.
            StoreError::Io { .. } => Err(error),
            _ => {
                lost.push(digest);
                Ok(())
            }
        })?;
        let before = now.checked_sub(grace).unwrap_or(UNIX_EPOCH);
        Ok(Garbage { lost, ..self.sweep(before, &marked, is_dry_run)? })
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
