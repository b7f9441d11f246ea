//! A store in a folder: the battery, and what is its own.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use super::FolderStore;
use crate::base::{Digest, whole_tests};
use crate::store::battery::{battery, gc_beside_writers};
use crate::store::error::StoreError;
use crate::store::objects::{ObjectStore, RefName};

fn store() -> (tempfile::TempDir, FolderStore) {
    let home = tempfile::tempdir().unwrap();
    let store = FolderStore::open(home.path().join("objects")).unwrap();
    (home, store)
}

/// Makes every object older than a moment.
fn age(store: &FolderStore) {
    for (digest, _) in store.list().unwrap() {
        let file = File::options().write(true).open(store.path(digest)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(9)).unwrap();
    }
}

#[test]
fn a_folder_keeps_the_promises_of_a_store() {
    let (_home, store) = store();
    let tamper = |digest, bytes: &[u8]| fs::write(store.path(digest), bytes).unwrap();
    battery(&store, &tamper, &|| age(&store));
}

#[test]
fn a_ref_that_is_set_after_the_refs_were_read_keeps_its_objects() {
    let (_home, store) = store();
    let [held, asked_for, left] = [&b"held"[..], b"asked for", b"left"].map(|bytes| {
        store.put(Digest::of(bytes), &mut &*bytes).unwrap();
        Digest::of(bytes)
    });
    age(&store);
    let (now, roots) = store.now_and_roots().unwrap();
    assert_eq!(roots, []);
    store.set_ref(&"run".parse().unwrap(), &[held]).unwrap();
    let writer = store.lock(false).unwrap();
    let garbage = std::thread::scope(|scope| {
        let sweep = scope.spawn(|| store.sweep(now, &HashSet::new(), false).unwrap());
        // It waits for the writer, however long it is given.
        std::thread::sleep(Duration::from_millis(50));
        assert!(store.renew(asked_for).unwrap());
        drop(writer);
        sweep.join().unwrap()
    });
    assert_eq!((garbage.removed, garbage.kept), (1, 2));
    assert_eq!(store.missing(&[held, asked_for, left]).unwrap(), [left]);
}

#[test]
fn an_object_that_is_there_and_whole_is_made_new_and_not_written_again() {
    let (_home, store) = store();
    let digest = Digest::of(b"x");
    let put = || store.put(digest, &mut &b"x"[..]).unwrap();
    let file = || {
        let stat = fs::metadata(store.path(digest)).unwrap();
        (stat.ino(), stat.modified().unwrap().elapsed().unwrap_or_default().as_secs() < 5)
    };
    put();
    let written = file();
    age(&store);
    assert_eq!(put(), 1);
    assert_eq!(file(), written);
    assert!(matches!(store.put(digest, &mut &b"y"[..]), Err(StoreError::Malformed { .. })));
    fs::write(store.path(digest), "y").unwrap();
    put();
    assert_ne!(file().0, written.0);
    assert_eq!(store.get(digest).unwrap(), b"x");
}

#[test]
fn gc_beside_eight_writers_never_removes_what_a_ref_reaches() {
    let (home, _) = store();
    let open = || {
        let store = FolderStore::open(home.path().join("objects")).unwrap();
        Box::new(store) as Box<dyn ObjectStore>
    };
    gc_beside_writers(&open, if whole_tests() { 500 } else { 20 });
}

#[test]
fn what_is_put_aside_can_be_looked_at_and_no_link_is_followed() {
    let (home, store) = store();
    let digest = Digest::of(b"x");
    let outside = home.path().join("outside");
    fs::write(&outside, b"x").unwrap();
    store.put(digest, &mut &b"x"[..]).unwrap();
    let path = store.path(digest);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&store.folder)), (0o600, 0o700));
    for round in 1..=3 {
        fs::remove_file(&path).unwrap();
        match round {
            1 => symlink(&outside, &path).unwrap(),
            2 => fs::create_dir(&path).unwrap(),
            _ => fs::write(&path, b"y").unwrap(),
        }
        assert!(matches!(store.get(digest), Err(StoreError::Altered { .. })));
        let aside = fs::read_dir(store.folder.join("quarantine")).unwrap();
        assert_eq!(aside.count(), round);
        store.put(digest, &mut &b"x"[..]).unwrap();
    }
    // A put takes the place of a link, and does not write through it.
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    store.put(digest, &mut &b"x"[..]).unwrap();
    assert!(path.symlink_metadata().unwrap().is_file());
    // Nor is a link followed that stands for a folder of objects.
    let shard = path.parent().unwrap();
    let elsewhere = home.path().join("elsewhere");
    fs::rename(shard, &elsewhere).unwrap();
    symlink(&elsewhere, shard).unwrap();
    assert!(matches!(store.get(digest), Err(StoreError::Io { .. })));
    assert!(matches!(store.put(digest, &mut &b"x"[..]), Err(StoreError::Io { .. })));
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn a_ref_of_a_run_has_one_name_and_is_as_old_as_it_was_set() {
    let (_home, store) = store();
    let name = RefName::of_run("served", "acme/x-1");
    assert_eq!(name.as_str(), format!("served-{}", Digest::of(b"acme/x-1")));
    assert_ne!(name, RefName::of_run("served", "acme/y-1"));
    assert_eq!(store.ref_age(&name).unwrap(), None);
    let age = || store.ref_age(&name).unwrap().unwrap().as_secs();
    store.set_ref(&name, &[]).unwrap();
    let file = File::options().write(true).open(store.ref_path(&name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_mins(15)).unwrap();
    assert!(age() >= 900);
    store.set_ref(&name, &[]).unwrap();
    assert!(age() < 900);
}

#[test]
fn a_ref_that_cannot_be_read_stops_a_collection() {
    let (_home, store) = store();
    store.put(Digest::of(b"x"), &mut &b"x"[..]).unwrap();
    for text in [&b"no digest\n"[..], &vec![b'0'; 70_000]] {
        fs::write(store.folder.join("refs/run"), text).unwrap();
        let collected = store.collect(Duration::ZERO, false);
        assert!(matches!(collected, Err(StoreError::Malformed { .. })), "{collected:?}");
    }
    assert_eq!(store.list().unwrap().len(), 1);
}
