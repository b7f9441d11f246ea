//! Temporary names: made anew, never foreseen, never followed (attack row c07).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use super::Tree;
use super::calls::Call;
use super::tracer::{Fault, trace};
use crate::keys::others::{pem, stranger};
use crate::world::{MARKER_SH, World};

const ITEM: &str = "tool:acme/mark";
const FILE: &str = ".ai/tools/acme/mark.sh";

fn world() -> World {
    let world = World::new().at_the_door();
    world.signed_by_rye(FILE, MARKER_SH);
    fs::write(world.outside().join("other.pem"), pem(&stranger(1))).unwrap();
    fs::write(world.outside().join("victim"), "untouched").unwrap();
    world
}

/// Every verb that writes, with its words.
const WRITERS: &[&[&str]] = &[
    &["sign", ITEM],
    &["sign", "--all"],
    &["trust", "add", "../other.pem"],
    &["lock", "--update"],
    &["plan", ITEM, "--out", "../plan.json"],
    &["execute", ITEM, "--receipt", "../receipt.json"],
    &["keys", "rotate"],
];

fn makes_a_file(call: &Call) -> bool {
    matches!(call.name, "open" | "openat" | "creat")
}

#[test]
fn c07_a_file_is_made_anew_under_a_name_that_no_two_calls_share() {
    let world = world();
    let mut names = BTreeSet::new();
    for args in WRITERS.iter().chain(WRITERS) {
        // What runs is edited, so that each call has something to write.
        let text = String::from_utf8(world.read(FILE)).unwrap();
        world.write(FILE, if args[0] == "sign" { format!("{text}#\n") } else { text });
        let traced = trace(&mut world.command(args), world.outside(), None);
        assert_eq!(traced.status, Some(0), "{args:?}: {traced:?}");
        let mut made: Vec<_> = traced.calls.iter().filter(|call| makes_a_file(call)).collect();
        // Where the folder is missing it is made, and the same file tried again.
        made.dedup_by(|a, b| a.path == b.path && a.path.to_string_lossy().contains("state/pin/"));
        assert!(!made.is_empty(), "{args:?} writes nothing: {traced:?}");
        for call in made {
            let anew = libc::O_CREAT | libc::O_EXCL;
            assert_eq!(call.flags & anew, anew, "{args:?}: {call:?}");
            assert!(names.insert(call.path.clone()), "{args:?}: a second time {call:?}");
        }
    }
    assert!(names.len() > 20, "{names:#?}");
}

#[test]
fn c07_a_link_at_the_temporary_path_is_not_followed() {
    for args in WRITERS {
        let world = world();
        if args[0] == "sign" {
            let text = String::from_utf8(world.read(FILE)).unwrap();
            world.write(FILE, format!("{text}#\n"));
        }
        let before = Tree::of(world.outside());
        let clean = trace(&mut world.command(args), world.outside(), None);
        assert_eq!(clean.status, Some(0), "the untouched call works: {clean:?}");
        let mut met = 0;
        let opens = clean.calls.iter().enumerate().filter(|(_, call)| makes_a_file(call));
        for (index, _) in opens {
            before.restore();
            let planted = Some((index, Fault::LinkPlanted));
            let traced = trace(&mut world.command(args), world.outside(), planted);
            let Some(hit) = traced.hit.clone() else { continue };
            met += 1;
            assert_eq!(fs::read(world.outside().join("victim")).unwrap(), b"untouched", "{hit:?}");
            // A version that is not remembered is no failure of what was asked for.
            let remembers = hit.path.to_string_lossy().contains("/.ai/state/items/");
            assert_eq!(traced.status == Some(0), remembers, "{args:?}: {traced:?}");
            assert!(hit.path.is_symlink() || traced.status != Some(0), "{hit:?}");
        }
        assert!(met > 0, "{args:?}: no link was planted");
    }
}

#[test]
fn c07_links_that_look_like_temporary_files_are_neither_followed_nor_removed() {
    let world = world();
    let folders = [".ai/tools/acme", ".ai/tools"].map(|folder| world.project().join(folder));
    let state = world.home().join(".ai/state");
    let mut planted = Vec::new();
    for folder in folders.iter().chain([&state]) {
        for number in 0..100_u64 {
            let link = folder.join(format!(".rye-{number:016x}.tmp"));
            symlink(world.outside().join("victim"), &link).unwrap();
            planted.push(link);
        }
    }
    world.write(FILE, MARKER_SH.replace("marker", "./marker"));
    world.rye(&["sign", ITEM]).ok();
    world.works(ITEM);
    assert_eq!(fs::read(world.outside().join("victim")).unwrap(), b"untouched");
    assert!(planted.iter().all(|link| link.is_symlink()));
}

#[test]
fn c07_a_link_in_the_place_of_what_is_written_is_replaced_and_not_followed() {
    let world = world();
    let victim = world.outside().join("victim");
    let public = world.home().join(".ai/config/keys/signing/public_key.pem");
    fs::remove_file(&public).unwrap();
    symlink(&victim, &public).unwrap();
    // No key is read through a link, and none is written through one.
    world.rye(&["keys", "rotate"]).fails(4, "space.symlink");
    fs::remove_file(&public).unwrap();
    world.rye(&["keys", "rotate"]).ok();
    let items = walkdir::WalkDir::new(world.home().join(".ai/state/items"));
    let kept: Vec<_> = items.into_iter().map(|kept| kept.unwrap().into_path()).collect();
    let kept: Vec<_> = kept.into_iter().filter(|kept| kept.is_file()).collect();
    assert!(!kept.is_empty(), "the fixture remembers a version");
    for kept in kept {
        fs::remove_file(&kept).unwrap();
        symlink(&victim, &kept).unwrap();
    }
    world.rye(&["sign", ITEM]).ok();
    world.works(ITEM);
    assert_eq!(fs::read(&victim).unwrap(), b"untouched");
}
