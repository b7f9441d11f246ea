//! The promises of every store, checked on each backend alike.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use super::error::StoreError;
use super::kinds::{Snapshot, load, save};
use super::manifest::{FileMode, TreeFile, TreeManifest};
use super::objects::{GRACE, OBJECT_BYTES, ObjectStore, verify};
use crate::base::Digest;

/// Half a second is older than this.
const NO_GRACE: Duration = Duration::from_nanos(1);

/// Checks an empty store. `tamper` writes bytes where an object lies, behind the store's back, and
/// `age` makes all that is there older than a moment.
pub(crate) fn battery(store: &dyn ObjectStore, tamper: &dyn Fn(Digest, &[u8]), age: &dyn Fn()) {
    objects(store, tamper);
    refs(store, age);
}

fn put(store: &dyn ObjectStore, bytes: &[u8]) -> Digest {
    let digest = Digest::of(bytes);
    assert_eq!(store.put(digest, &mut &*bytes).unwrap(), bytes.len() as u64);
    digest
}

fn objects(store: &dyn ObjectStore, tamper: &dyn Fn(Digest, &[u8])) {
    let (one, other) = (put(store, b"one"), put(store, b"other"));
    assert_eq!(put(store, b"one"), one);
    let none = Digest::of(b"none");
    assert_eq!(store.missing(&[one, none, other]).unwrap(), [none]);
    assert_eq!(store.get(one).unwrap(), b"one");
    assert!(matches!(store.get(none), Err(StoreError::NotFound { .. })));
    // Other bytes than the digest says, too few, too many, and a line that breaks.
    for bytes in [&b"nonE"[..], b"non", b"none\n"] {
        assert!(matches!(store.put(none, &mut &*bytes), Err(StoreError::Malformed { .. })));
    }
    let mut large = std::io::Read::take(std::io::repeat(0), OBJECT_BYTES + 1);
    assert!(matches!(store.put(none, &mut large), Err(StoreError::Malformed { .. })));
    let mut broken = std::io::Read::chain(&b"none"[..], Broken);
    assert!(matches!(store.put(none, &mut broken), Err(StoreError::Io { .. })));
    assert_eq!(store.missing(&[none]).unwrap(), [none]);
    assert_eq!(verify(store).unwrap(), (2, 8));
    // A flipped bit, a short write, another object.
    for bytes in [&b"onf"[..], b"on", b"", b"other"] {
        tamper(one, bytes);
        assert!(matches!(verify(store), Err(StoreError::Altered { digests }) if digests == [one]));
        assert_eq!(store.missing(&[one]).unwrap(), [one], "it was put aside");
        put(store, b"one");
        tamper(one, bytes);
        assert!(matches!(store.get(one), Err(StoreError::Altered { .. })));
        assert!(matches!(store.get(one), Err(StoreError::NotFound { .. })));
        put(store, b"one");
        tamper(one, bytes);
        // Put again it is right, whatever lay there.
        put(store, b"one");
        assert_eq!(store.get(one).unwrap(), b"one");
    }
    assert_eq!(store.list().unwrap().len(), 2);
}

struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::ConnectionReset.into())
    }
}

fn refs(store: &dyn ObjectStore, age: &dyn Fn()) {
    let [mine, theirs] = ["run-1", "run-2"].map(|name| name.parse().unwrap());
    let (snapshot, manifest, blobs) = tree(store, &[b"a", b"b"]);
    let left = put(store, b"left alone");
    let held = [&[snapshot, manifest], &blobs[..]].concat();
    let lives = |all: &[Digest]| assert_eq!(store.missing(all).unwrap(), [], "it was collected");
    assert!(matches!(
        store.set_ref(&mine, &[Digest::of(b"none")]),
        Err(StoreError::NotFound { .. })
    ));
    assert!(store.refs().unwrap().is_empty());
    store.set_ref(&mine, &[snapshot]).unwrap();
    store.set_ref(&theirs, &[manifest, left]).unwrap();
    let want = [(mine.clone(), vec![snapshot]), (theirs.clone(), vec![manifest, left])];
    assert_eq!(store.refs().unwrap(), BTreeMap::from(want));
    age();
    assert_eq!(store.collect(NO_GRACE, true).unwrap().removed, 2, "those of the first part");
    assert_eq!(store.collect(GRACE, false).unwrap().removed, 0);
    assert_eq!(store.collect(NO_GRACE, false).unwrap().removed, 2);
    lives(&held);
    // A ref that is set anew lets the old objects go, but not what another one reaches.
    store.set_ref(&theirs, &[blobs[0]]).unwrap();
    age();
    assert_eq!(store.collect(NO_GRACE, false).unwrap().removed_bytes, 10);
    lives(&held);
    store.remove_ref(&mine).unwrap();
    store.remove_ref(&mine).unwrap();
    lives(&blobs[1..]);
    // Who asked for an object may still need it.
    assert_eq!(store.collect(GRACE, false).unwrap().removed, 0);
    age();
    assert_eq!(store.collect(NO_GRACE, false).unwrap().removed, 3);
    assert_eq!(store.missing(&held).unwrap().len(), 3);
    assert_eq!(store.get(blobs[0]).unwrap(), b"a");
    // What is missing below an object is found before a ref is set.
    let files = BTreeMap::from([file("a", &blobs[1], 1)]);
    let lacking = save(store, &TreeManifest::new(files).unwrap()).unwrap();
    assert!(matches!(store.set_ref(&mine, &[lacking]), Err(StoreError::NotFound { .. })));
    assert_eq!(store.refs().unwrap().len(), 1);
}

fn file(path: &str, sha256: &Digest, size: u64) -> (crate::space::RelPath, TreeFile) {
    (path.parse().unwrap(), TreeFile { mode: FileMode::Data, sha256: *sha256, size })
}

/// Puts a snapshot of files; gives it, its manifest and the digests of the files.
fn tree(store: &dyn ObjectStore, files: &[&[u8]]) -> (Digest, Digest, Vec<Digest>) {
    let blobs: Vec<Digest> = files.iter().map(|bytes| put(store, bytes)).collect();
    let rows = files.iter().zip(&blobs);
    let rows = rows.map(|(bytes, digest)| file(&digest.to_string(), digest, bytes.len() as u64));
    let manifest = save(store, &TreeManifest::new(rows.collect()).unwrap()).unwrap();
    let (source, time) = ("test".to_owned(), "2026-12-01T00:00:00Z".parse().unwrap());
    (save(store, &Snapshot { manifest, source, time }).unwrap(), manifest, blobs)
}

/// Collects without a grace period beside eight writers that put, hold, read and let go. They share
/// most of their files, so that what one lets go another one is about to need.
pub(crate) fn gc_beside_writers(open: &(dyn Fn() -> Box<dyn ObjectStore> + Sync), rounds: u32) {
    let (is_over, removed) = (AtomicBool::new(false), AtomicU64::new(0));
    let writes = |writer: u32| {
        let store = open();
        let is_enough = |round| round >= rounds && removed.load(Relaxed) >= rounds.into();
        // At some time it has to be enough.
        let rounds = (0..100 * rounds).take_while(|round| !is_enough(*round));
        rounds.for_each(|round| write(&*store, writer, round));
    };
    let collects = || {
        let store = open();
        while !is_over.load(Relaxed) {
            let garbage = store.collect(NO_GRACE, false).unwrap();
            assert_eq!(garbage.lost, []);
            removed.fetch_add(garbage.removed, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let collector = scope.spawn(collects);
        let writes = &writes;
        let writers = [0, 1, 2, 3, 4, 5, 6, 7].map(|of| scope.spawn(move || writes(of)));
        let ended = writers.map(std::thread::ScopedJoinHandle::join);
        is_over.store(true, Relaxed);
        assert!(ended.iter().all(Result::is_ok));
        collector.join().unwrap();
    });
    assert!(removed.into_inner() >= rounds.into(), "hardly anything was removed");
}

fn write(store: &dyn ObjectStore, writer: u32, round: u32) {
    let name = format!("writer-{writer}").parse().unwrap();
    let files = [0, 1, 2].map(|at| format!("file {}", (writer + round * (at + 1)) % 5));
    let files = files.each_ref().map(String::as_bytes);
    // Without a grace period an object may be gone before the ref is set; then it is said.
    let snapshot = loop {
        let (snapshot, ..) = tree(store, &files);
        match store.set_ref(&name, &[snapshot]) {
            Ok(()) => break snapshot,
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    for _ in 0..3 {
        let read: Snapshot = load(store, snapshot).unwrap();
        let read: TreeManifest = load(store, read.manifest).unwrap();
        for file in read.files().values() {
            assert!(store.get(file.sha256).is_ok(), "an object that a ref reaches is missing");
        }
    }
    if round.is_multiple_of(3) {
        store.remove_ref(&name).unwrap();
    }
}
