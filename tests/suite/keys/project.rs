//! Which projects a person has accepted, and what runs in one that they have not (core 4.3).

use std::fs;

use serde_json::json;

use super::others::{
    clone_world, document, put, refused_and_unchanged, standing, stranger, trusted,
};
use crate::world::{MARKER_SH, World, fingerprint};

const FILE: &str = ".ai/tools/acme/mark.sh";
const ITEM: &str = "tool:acme/mark";

#[test]
fn a_project_is_accepted_by_init_a_signature_and_two_verbs_of_trust() {
    let proposed = stranger(1);
    let fp = fingerprint(&proposed);
    let ways: &[&[&str]] = &[
        &["init"],
        &["sign", "tool:acme/other"],
        &["trust", "accept", &fp],
        &["trust", "project"],
    ];
    for way in ways {
        let world = clone_world();
        put(&world, &world.own_key(), FILE, MARKER_SH);
        world.write(".ai/tools/acme/other.sh", MARKER_SH);
        world.write(&trusted(&proposed), document(&proposed, "they say", ""));
        refused_and_unchanged(&world, ITEM, "verify.project_not_accepted");
        // The first two show what is here and ask.
        let said = world.rye_at_a_terminal("y\n", way);
        assert_eq!(said.status, 0, "{way:?}: {said:?}");
        world.works(ITEM);
        let (_, review) = world.json(&["trust", "review"]);
        assert_eq!(review["accepted"], true, "{way:?}");
    }
}

#[test]
fn init_makes_what_is_used_whatever_the_umask_and_says_how_a_folder_below_becomes_a_project() {
    let world = World::empty();
    let said = world.shell("umask 000; rye init && rye new tool x --sign && rye run x name=Ada");
    assert!(said.contains("hello, Ada"), "{said}");
    world.write("sub/a", "");
    let below = world.project().join("sub");
    let said = world.rye_in(&below, &["init"], b"").ok();
    said.shows("to make this folder a project of its own: `rye init -p .`");
    let said = world.rye_in(&below, &["init", "-p", "."], b"").ok();
    assert!(below.join(".ai/tools").is_dir() && !said.stdout.contains("of its own"), "{said:?}");
}

#[test]
fn nothing_else_accepts_a_project() {
    let world = clone_world();
    put(&world, &world.own_key(), FILE, MARKER_SH);
    world.write(".ai/tools/acme/bad.sh", MARKER_SH.replace("category = \"acme\"", "category = 7"));
    world.write_home(".ai/tools/acme/mine.sh", MARKER_SH);
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "they say", ""));
    let (fp, before) = (fingerprint(&key), standing(&world));
    let verbs: &[&[&str]] = &[
        &["sign", "--check", ITEM],
        &["sign", "--check", "--all"],
        &["sign", "tool:acme/bad"],
        &["sign", "tool:acme/mine", "--space", "user"],
        &["verify"],
        &["list"],
        &["trust", "review"],
        &["trust", "list"],
        &["why", ITEM],
        &["doctor"],
        &["execute", ITEM],
        &["execute", ITEM, "--dry-run"],
    ];
    for verb in verbs {
        drop(world.rye(verb));
        assert_eq!(standing(&world), before, "{verb:?}");
        refused_and_unchanged(&world, ITEM, "verify.project_not_accepted");
    }
    // Trusting a key is not accepting the project that proposes it.
    world.rye(&["trust", "add", &fp]).ok();
    refused_and_unchanged(&world, ITEM, "verify.project_not_accepted");
}

#[test]
fn the_project_is_known_by_its_real_path() {
    let world = World::new().with(FILE, MARKER_SH);
    world.works(ITEM);
    let link = world.outside().join("link");
    std::os::unix::fs::symlink(world.project(), &link).unwrap();
    world.rye_in(&link, &["execute", ITEM], b"").ok();
    let inner = world.project().join("deep/er");
    fs::create_dir_all(&inner).unwrap();
    world.rye_in(&inner, &["execute", ITEM], b"").ok();
}

#[test]
fn a_key_that_is_accepted_through_a_link_is_accepted_for_the_real_project() {
    let world = clone_world();
    let key = stranger(1);
    put(&world, &key, FILE, MARKER_SH);
    world.write(&trusted(&key), document(&key, "they say", ""));
    std::os::unix::fs::symlink(world.project(), world.outside().join("link")).unwrap();
    world.rye(&["trust", "accept", &fingerprint(&key), "-p", "../link"]).ok();
    world.works(ITEM);
}

#[test]
fn your_user_space_is_no_project_that_could_be_accepted() {
    let Some(world) = clone_world().at_home() else { return };
    let before = standing(&world);
    let refused = [(&["init"][..], "cli.usage", 2), (&["trust", "project"], "space.no_project", 4)];
    for (verb, code, status) in refused {
        let said = world.rye_in(&world.home(), &[verb, &["--json"][..]].concat(), b"");
        assert_eq!((said.code().as_str(), said.status), (code, status), "{verb:?} {said:?}");
        assert_eq!(standing(&world), before, "{verb:?}");
    }
}

#[test]
fn a_folder_whose_path_is_no_text_is_not_written_down_as_another() {
    use std::os::unix::ffi::OsStrExt;
    let world = clone_world();
    fs::write(world.outside().join("key.pem"), super::others::pem(&stranger(1))).unwrap();
    for name in [&b"p\xff"[..], "p\u{202e}q".as_bytes(), "p\u{200b}q".as_bytes()] {
        let odd = world.outside().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir_all(odd.join(".ai")).unwrap();
        let before = standing(&world);
        for verb in
            [&["init"][..], &["trust", "project"], &["trust", "add", "../key.pem", "--in", "."]]
        {
            let said = world.rye_in(&odd, verb, b"");
            assert_ne!(said.status, 0, "{verb:?} {said:?}");
            assert_eq!(standing(&world), before, "{verb:?}");
        }
        let said = world.rye_in(&odd, &["trust", "review", "--json"], b"");
        assert_eq!((said.status, &said.json()["accepted"]), (0, &json!(false)), "{said:?}");
    }
}

#[test]
fn without_a_home_only_the_systems_items_run() {
    let world = World::new().with(FILE, MARKER_SH);
    world.works(ITEM);
    let home = [("HOME", "")];
    let run = |args: &[&str]| world.rye_env(&world.project(), args, b"", &home);
    let said = run(&["execute", ITEM, "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("verify.project_not_accepted", 4));
    run(&["execute", "tool:rye/bash", "--dry-run", "-i", "command=true"]).ok();
    for verb in [&["keys", "generate"][..], &["trust", "project"], &["init"]] {
        let said = run(&[verb, &["--json"][..]].concat());
        assert_eq!((said.code().as_str(), said.status), ("space.no_user_space", 4), "{verb:?}");
    }
}
