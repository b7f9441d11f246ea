//! What is said of one project counts in it and nowhere else.

use super::{FILE, ITEM};
use crate::keys::others::{clone_world, document, put, stranger, trusted};
use crate::world::{MARKER_SH, World, fingerprint, line};

/// An item of the user space that a stranger signed.
fn put_home(world: &World, number: u8, path: &str, item: &str) {
    let line = line(&stranger(number), item, "sh", "2025-01-01T00:00:00Z", MARKER_SH.as_bytes());
    world.write_home(path, MARKER_SH.replacen('\n', &format!("\n# {line}\n"), 1));
}

#[test]
fn what_a_key_may_sign_in_a_project_says_nothing_of_the_user_space() {
    let world = clone_world();
    let key = fingerprint(&stranger(1));
    put(&world, &stranger(1), FILE, MARKER_SH);
    world.write(&trusted(&stranger(1)), document(&stranger(1), "Ann", ""));
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    put_home(&world, 1, ".ai/tools/hooks/mine.sh", "tool:hooks/mine");
    put_home(&world, 1, ".ai/tools/acme/own.sh", "tool:acme/own");
    let may = |item: &str| world.rye(&["verify", item]).status == 0;
    let over = ["--everywhere", "--not-after", "2020-01-01T00:00:00Z"];
    assert_eq!(world.rye(&[&["trust", "accept", &key], &over[..]].concat()).status, 0);
    assert!(!may(ITEM) && !may("tool:acme/own"), "its time is over");
    // Here it may sign hooks, and its time is not over.
    let here = ["--items", "tool:hooks/**", "--items", "tool:acme/**", "--not-after"];
    let here = [&["trust", "accept", &key], &here[..], &["2099-01-01T00:00:00Z"]].concat();
    let said = world.rye(&here);
    assert_eq!(said.status, 0, "{said:?}");
    assert!(may(ITEM) && may("tool:hooks/watch"), "{said:?}");
    assert!(!may("tool:hooks/mine") && !may("tool:acme/own"), "{said:?}");
    let (_, got) = world.json(&["verify", "tool:acme/own"]);
    assert_eq!(got["items"][0]["code"], "verify.expired", "{got}");
}
