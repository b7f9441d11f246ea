//! A bundle that is installed in the place of an older one, or taken out: whatever happens in the
//! middle, the one or the other is there, whole, and what a person changed is kept.

use std::fs;

use super::State::{New, Old};
use super::{Case, State, try_all};
use crate::world::{MARKER_SH, World};

const EDITED: &str = "#!/bin/bash\necho mine\n";

/// A world with version 1 of a bundle of two tools, one of them edited since, and version 2 beside
/// it.
fn installed() -> World {
    let world = World::new().at_the_door();
    let say = |args: &[&str]| {
        let said = world.rye(args).ok();
        said.stdout
    };
    fs::write(world.outside().join("own.pem"), say(&["keys", "export"])).unwrap();
    say(&["trust", "add", "../own.pem", "--owner", "me", "--items", "tool:acme/**"]);
    for version in ["1.0.0", "2.0.0"] {
        for name in ["mark", "other"] {
            world.signed(&format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
        }
        let file = format!("../{version}.tar.zst");
        say(&["bundle", "pack", "acme", "tool:acme/**", "--version", version, "-o", &file]);
    }
    fs::remove_dir_all(world.project().join(".ai/tools/acme")).unwrap();
    say(&["bundle", "install", "../1.0.0.tar.zst"]);
    let edited = world.home().join(".ai/bundles/acme/.ai/tools/acme/other.sh");
    assert!(edited.exists());
    fs::write(edited, EDITED).unwrap();
    world
}

/// The version that is there and works; `None` without one. What was edited lies somewhere.
fn version(world: &World) -> Option<String> {
    let bundles = world.home().join(".ai/bundles");
    let lies = walkdir::WalkDir::new(&bundles).into_iter().flatten();
    let is_kept = lies
        .filter(|entry| entry.file_type().is_file())
        .any(|entry| fs::read(entry.path()).unwrap() == EDITED.as_bytes());
    assert!(is_kept, "what was edited is lost");
    let (status, said) = world.json(&["bundle", "list"]);
    assert_eq!(status, 0, "{said}");
    let rows = said["bundles"].as_array().unwrap();
    let version = rows.first().map(|row| row["version"].as_str().expect("a version").to_owned());
    drop(fs::remove_file(world.project().join("marker")));
    let ran = world.rye(&["execute", "tool:acme/mark", "--json"]);
    assert_eq!(ran.status == 0, version.is_some(), "{said}: {ran:?}");
    drop(fs::remove_file(world.project().join("marker")));
    if let Some("2.0.0") = version.as_deref() {
        world.rye(&["bundle", "verify", "acme", "--json"]).ok();
    }
    version
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn c06_a_bundle_takes_the_place_of_another_in_one_step_and_what_was_edited_is_kept() {
    let world = installed();
    assert_eq!(version(&world).as_deref(), Some("1.0.0"), "the fixture works");
    try_all(&Case {
        args: words("bundle install ../2.0.0.tar.zst"),
        states: |world| vec![of(world, Some("1.0.0"), Some("2.0.0"))],
        next: words("bundle install ../2.0.0.tar.zst"),
        next_may_say: &[],
        least: 12,
        world,
    });
}

#[test]
fn c06_a_bundle_is_taken_out_in_one_step_and_what_was_edited_is_kept() {
    let world = installed();
    assert_eq!(version(&world).as_deref(), Some("1.0.0"), "the fixture works");
    try_all(&Case {
        args: words("bundle remove acme"),
        states: |world| vec![of(world, Some("1.0.0"), None)],
        next: words("bundle remove acme"),
        next_may_say: &["bundle.not_found"],
        least: 8,
        world,
    });
}

fn of(world: &World, old: Option<&str>, new: Option<&str>) -> State {
    match version(world).as_deref() {
        now if now == old => Old,
        now if now == new => New,
        other => panic!("{other:?} is neither"),
    }
}
