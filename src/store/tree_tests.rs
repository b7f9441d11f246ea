//! Trees of files on their way: which travel, and what is written where.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{CollectedTree, GivenFile, collect, materialise};
use crate::base::Digest;
use crate::space::Glob;
use crate::store::FolderStore;
use crate::store::error::StoreError;
use crate::store::manifest::{FileMode, TreeFile, TreeManifest};
use crate::store::objects::ObjectStore;
use crate::store::outputs::{Room, collect_outputs, collect_within, write_outputs};
use crate::store::tree::RefusedPath;

/// A folder with these files; a path that ends with `*` is a program.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let file = folder.join(path.trim_end_matches('*'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let mode = if path.ends_with('*') { 0o755 } else { 0o644 };
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().map(|text| Glob::new(text).unwrap()).collect()
}

/// The paths of a manifest, a program's with `*` behind it, in one line.
fn paths(manifest: &TreeManifest) -> String {
    let shown = manifest.files().iter().map(|(path, file)| match file.mode {
        FileMode::Program => format!("{path}*"),
        FileMode::Data => path.to_string(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn refused(told: &[RefusedPath]) -> String {
    let mut paths: Vec<&str> = told.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    paths.join(" ")
}

fn store(home: &tempfile::TempDir) -> FolderStore {
    FolderStore::open(home.path().join("objects")).unwrap()
}

fn push(tree: &CollectedTree, store: &FolderStore) {
    for file in tree.manifest.files().values() {
        store.put(file.sha256, &mut tree.bytes(file.sha256).unwrap().as_slice()).unwrap();
    }
}

const KEY: &str = concat!("-----BEGIN EC PRIVATE", " KEY-----\n");

#[test]
fn h04_what_a_project_sends_is_what_it_names_and_may_travel_table() {
    let project = folder(&[
        ("data/a.csv", "a"),
        ("data/run*", "b"),
        ("data/deep/c.csv", "c"),
        ("data/.env", "SECRET=1"),
        ("data/odd.txt", KEY),
        (".git/config", "g"),
        ("web/node_modules/m.js", "m"),
        (".ai/config/keys/signing/k", "k"),
    ]);
    symlink("a.csv", project.path().join("data/link.csv")).unwrap();
    symlink("data", project.path().join("linked")).unwrap();
    let all = ".ai/config .git data/.env data/link.csv data/odd.txt linked web/node_modules";
    let rows: [(&[&str], &str, &str); 7] = [
        (&[], "", ""),
        (&["data/a.csv"], "data/a.csv", ""),
        (&["data/*.csv"], "data/a.csv", "data/link.csv"),
        (&["data/r*", "data/a.csv", "none/*"], "data/a.csv data/run*", ""),
        (&["data/*/*"], "data/deep/c.csv", ""),
        (&["**"], "data/a.csv data/deep/c.csv data/run*", all),
        (&["linked/*"], "", ""),
    ];
    for (asked, want, left_out) in rows {
        let tree = collect(project.path(), &globs(asked), Vec::new()).unwrap();
        assert_eq!((&*paths(&tree.manifest), &*refused(&tree.left_out)), (want, left_out));
    }
    for (asked, code) in [
        ("data/.env", "store.never_travels"),
        ("data/odd.txt", "store.never_travels"),
        ("data/link.csv", "store.never_travels"),
        ("linked/a.csv", "store.never_travels"),
        ("data", "store.never_travels"),
        (".git/config", "store.never_travels"),
        ("data/none.csv", "store.not_found"),
    ] {
        let error = collect(project.path(), &globs(&[asked]), Vec::new()).unwrap_err();
        assert_eq!(crate::diagnostic::Diagnose::code(&error).name(), code, "{asked}");
        assert!(error.to_string().contains(asked), "{error}");
    }
}

#[test]
fn given_files_travel_under_the_same_rules_and_a_change_after_the_look_is_found() {
    let project = folder(&[("a", "project's"), ("b", "b")]);
    let given = |path: &str, text: &str| {
        let (path, bytes) = (path.parse().unwrap(), text.as_bytes().to_vec());
        vec![GivenFile { path, bytes, mode: FileMode::Program }]
    };
    let tree = collect(project.path(), &globs(&["*"]), given("a", "given")).unwrap();
    assert_eq!(paths(&tree.manifest), "a* b");
    assert_eq!(tree.bytes(Digest::of(b"given")).unwrap(), b"given");
    assert_eq!(tree.bytes(Digest::of(b"b")).unwrap(), b"b");
    write(project.path(), &[("b", "B")]);
    assert!(matches!(tree.bytes(Digest::of(b"b")), Err(StoreError::Malformed { .. })));
    for (path, text) in [(".ai/rye.lock", ""), ("x", KEY)] {
        let error = collect(project.path(), &[], given(path, text)).unwrap_err();
        assert!(matches!(error, StoreError::NeverTravels { .. }), "{error}");
    }
}

#[test]
fn a_workspace_is_the_tree_and_nothing_is_written_where_something_is() {
    let (home, project) = (tempfile::tempdir().unwrap(), folder(&[("d/a", "a"), ("run*", "r")]));
    let store = store(&home);
    let tree = collect(project.path(), &globs(&["**"]), Vec::new()).unwrap();
    let into = home.path().join("work");
    assert!(matches!(materialise(&store, &tree.manifest, &into), Err(StoreError::NotFound { .. })));
    fs::remove_dir_all(&into).unwrap();
    push(&tree, &store);
    materialise(&store, &tree.manifest, &into).unwrap();
    assert_eq!(fs::metadata(&into).unwrap().permissions().mode() & 0o777, 0o700);
    let again = collect(&into, &globs(&["**"]), Vec::new()).unwrap();
    assert_eq!(again.manifest, tree.manifest);
    assert!(matches!(materialise(&store, &tree.manifest, &into), Err(StoreError::Io { .. })));
    store.put(Digest::of(KEY.as_bytes()), &mut KEY.as_bytes()).unwrap();
    let of = |path: &str, bytes: &[u8], more: u64| {
        let mut file = TreeFile::of(bytes, FileMode::Data);
        file.size += more;
        TreeManifest::new(BTreeMap::from([(path.parse().unwrap(), file)])).unwrap()
    };
    for (tree, code) in [
        (of(".ai/tools/hooks/x", b"a", 0), "store.never_travels"),
        (of("notes", KEY.as_bytes(), 0), "store.never_travels"),
        (of("a", b"a", 1), "store.malformed"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let error = materialise(&store, &tree, &home.path().join("work")).unwrap_err();
        assert_eq!(crate::diagnostic::Diagnose::code(&error).name(), code);
    }
}

#[test]
fn outputs_are_what_was_declared_and_changed() {
    let home = tempfile::tempdir().unwrap();
    let work = folder(&[("in.csv", "1"), ("same.csv", "2"), ("lib/notes", "n"), ("lib/kept", "k")]);
    let store = store(&home);
    let pushed = collect(work.path(), &globs(&["**"]), Vec::new()).unwrap().manifest;
    write(work.path(), &[("in.csv", "changed"), ("lib/notes", "changed"), ("out/new*", "new")]);
    write(work.path(), &[("junk", "j"), ("out/.env", "x"), ("out/k", KEY), ("out/deep/x", "x")]);
    write(work.path(), &[(".ai/made.csv", "x"), ("out/.ai/x", "x"), ("cache/x", "x")]);
    symlink("new", work.path().join("out/link")).unwrap();
    let fifo = work.path().join("out/fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    for (declared, want, left_out) in [
        (
            &["*.csv", "out/*"][..],
            "in.csv out/new*",
            "junk lib/notes out/.env out/fifo out/k out/link",
        ),
        (
            &["**"],
            "cache/x in.csv junk lib/notes out/deep/x out/new*",
            "out/.ai out/.env out/fifo out/k out/link",
        ),
    ] {
        let outputs = collect_outputs(&store, work.path(), &pushed, &globs(declared)).unwrap();
        assert_eq!(paths(&outputs.manifest), want);
        assert_eq!(refused(&outputs.left_out), left_out);
        let files = outputs.manifest.files().values();
        let digests: Vec<Digest> = files.map(|file| file.sha256).collect();
        assert_eq!(store.missing(&digests).unwrap(), []);
    }
}

#[test]
fn outputs_that_have_no_room_are_told_and_the_others_taken_table() {
    let home = tempfile::tempdir().unwrap();
    let work = folder(&[("a", "1"), ("b", "22"), ("c", "333"), ("junk/x", "x"), ("kept", "k")]);
    let store = store(&home);
    let pushed = collect(work.path(), &globs(&["kept"]), Vec::new()).unwrap().manifest;
    for (room, want, left_out) in [
        (Room::WHOLE, 3, ""),
        (Room { files: 2, ..Room::WHOLE }, 2, "c"),
        (Room { bytes: 5, ..Room::WHOLE }, 2, "c"),
        (Room { bytes: 0, ..Room::WHOLE }, 0, "a b c"),
        (Room { text: 220, ..Room::WHOLE }, 2, "c"),
        (Room { names: 4, ..Room::WHOLE }, 3, ""),
    ] {
        let made = collect_within(&store, work.path(), &pushed, &globs(&["*"]), room).unwrap();
        assert_eq!(made.manifest.files().len(), want, "{made:?}");
        assert_eq!(refused(&made.left_out), left_out);
    }
    let room = Room { names: 2, ..Room::WHOLE };
    let made = collect_within(&store, work.path(), &pushed, &globs(&["*"]), room).unwrap();
    assert!(made.manifest.files().len() <= 2 && refused(&made.left_out) == "…", "{made:?}");
}

#[test]
fn h04_outputs_are_written_over_nothing_but_what_was_pushed_table() {
    let home = tempfile::tempdir().unwrap();
    let store = store(&home);
    let project = folder(&[("pushed", "1"), ("edited", "1"), ("gone", "1"), ("run*", "1")]);
    let pushed = collect(project.path(), &globs(&["*"]), Vec::new()).unwrap().manifest;
    fs::remove_file(project.path().join("gone")).unwrap();
    write(project.path(), &[("edited", "mine"), ("there", "mine"), ("equal", "2"), ("file", "f")]);
    symlink(home.path(), project.path().join("link")).unwrap();
    symlink("pushed", project.path().join("alias")).unwrap();
    let paths = "pushed edited gone run there equal new/deep undeclared link/x alias file/x .env \
                 .ai/tools/acme/x.py sub/.AI/x lost";
    let two = store.put(Digest::of(b"2"), &mut &b"2"[..]).map(|_| Digest::of(b"2")).unwrap();
    let rows = paths.split_whitespace().map(|path| {
        let sha256 = if path == "lost" { Digest::of(b"lost") } else { two };
        let size = if path == "lost" { 4 } else { 1 };
        (path.parse().unwrap(), TreeFile { mode: FileMode::Data, sha256, size })
    });
    let outputs = TreeManifest::new(rows.collect()).unwrap();
    let declared = paths.split_whitespace().filter(|path| *path != "undeclared");
    let declared = globs(&declared.collect::<Vec<_>>());
    let write = || write_outputs(&store, &outputs, project.path(), &pushed, &declared);
    // What cannot be had holds up nothing, and is tried again.
    assert!(matches!(write(), Err(StoreError::NotFound { .. })));
    store.put(Digest::of(b"lost"), &mut &b"lost"[..]).unwrap();
    let done = write().unwrap();
    let line = |paths: &[crate::space::RelPath]| {
        paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(&done.written), "lost");
    assert_eq!(line(&done.unchanged), "equal gone new/deep pushed run");
    assert_eq!(
        refused(&done.refused),
        ".ai/tools/acme/x.py .env alias edited file/x link/x sub/.AI/x there undeclared"
    );
    let read = |path: &str| fs::read_to_string(project.path().join(path)).unwrap();
    assert_eq!(["pushed", "gone", "new/deep", "run"].map(read), ["2"; 4]);
    assert_eq!(["edited", "there"].map(read), ["mine"; 2]);
    let mode = fs::metadata(project.path().join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "a person's file keeps its mode");
    assert!(!home.path().join("x").exists());
    assert!(!project.path().join(".ai").exists() && !project.path().join("sub").exists());
}
