//! Locks which tell that what is registered still runs. The number of a process does not tell that
//! in another namespace of processes of the same machine (threads 2), nor where the process lives
//! and runs it no more.
//!
//! A process that registers a run of its own holds the lock of that until it ends,
//! and the system frees the lock with the process. A file without a lock is left by one that is
//! gone; without a file it is not known.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::Connection;
use rustix::fs::OFlags;

use super::process_id::ProcessId;
use crate::base::Digest;
use crate::base::sync::unpoisoned;

/// Between two tries to lock what this process registers, in milliseconds.
const LOCK_PAUSE_MS: u64 = 5;

/// How often a process tries to lock what it registers: a process that looks has it for a moment.
const LOCK_TRIES: u32 = 40;

/// Those that this process holds.
static HELD: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// The file of what is registered under that name, beside the registry.
fn place(registry: &Path, id: &str) -> PathBuf {
    registry.with_file_name("alive").join(Digest::of(id.as_bytes()).to_string())
}

fn open(path: &Path, make: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut how = OpenOptions::new();
    let file =
        how.read(true).write(true).create(make).mode(0o600).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// This process, which runs what it registers from now on; and true if it did not have the lock
/// before. Without a lock its state cannot be seen from other containers, and the row says so.
pub(super) fn hold(registry: &Path, id: &str) -> (Option<ProcessId>, bool) {
    let path = place(registry, id);
    if let Some(folder) = path.parent() {
        let _ = DirBuilder::new().mode(0o700).create(folder);
    }
    let mut held = unpoisoned(HELD.lock());
    let (is_held, is_new) = match held.entry(path) {
        Entry::Occupied(_) => (true, false),
        Entry::Vacant(free) => match open(free.key(), true).ok().filter(is_locked) {
            Some(file) => {
                free.insert(file);
                (true, true)
            }
            None => (false, false),
        },
    };
    (ProcessId::own_locked(is_held), is_new)
}

/// Returns true while this process, or another one that runs, holds the lock.
pub(super) fn is_held(registry: &Path, id: &str) -> bool {
    let path = place(registry, id);
    unpoisoned(HELD.lock()).contains_key(&path)
        || open(&path, false).is_ok_and(|file| file.try_lock_shared().is_err())
}

/// Locks it, if it is free. A process that had it before, or looks at it, frees it soon.
fn is_locked(file: &File) -> bool {
    (0..LOCK_TRIES).any(|at| {
        if at > 0 {
            std::thread::sleep(Duration::from_millis(LOCK_PAUSE_MS));
        }
        file.try_lock().is_ok()
    })
}

/// It runs no more in this process, or it was taken for dead.
pub(super) fn release(registry: &Path, id: &str) {
    let path = &place(registry, id);
    let mut held = unpoisoned(HELD.lock());
    // One that another process holds is not taken away under it.
    let other = || open(path, false).ok().filter(|file| file.try_lock().is_ok());
    let file = held.remove(path).or_else(other);
    if file.is_some() {
        let _ = fs::remove_file(path);
    }
}

/// Its process was killed. Its threads end one by one, and the last of them frees the lock.
pub(super) fn release_killed(registry: &Path, id: &str) {
    let path = place(registry, id);
    let is_held = unpoisoned(HELD.lock()).contains_key(&path);
    let Ok(file) = open(&path, false) else { return };
    if !is_held && is_locked(&file) {
        let _ = fs::remove_file(&path);
    }
}

/// It runs no more in this process, which lives, and that could not be written down: the lock is
/// free and its file is left, so that the next reader takes it for dead.
pub(super) fn leave(registry: &Path, id: &str) {
    if let Some(file) = unpoisoned(HELD.lock()).remove(&place(registry, id)) {
        // A program that is just being started has a copy of it until it is executed, which would
        // keep the lock of a file that is only closed.
        let _ = file.unlock();
    }
}

/// Returns true if a registered process is gone, by its number, or if the lock is free that it
/// held.
pub(super) fn is_gone(db: &Connection, id: &str, process: ProcessId) -> bool {
    if process.is_gone() {
        return true;
    }
    let Some(registry) = db.path().filter(|_| process.has_lock()) else { return false };
    let path = place(Path::new(registry), id);
    // Without the file it is not known.
    !unpoisoned(HELD.lock()).contains_key(&path)
        && open(&path, false).is_ok_and(|file| file.try_lock_shared().is_ok())
}
