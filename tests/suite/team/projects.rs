//! What is said of one project counts in it and nowhere else.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{FILE, ITEM};

use crate::keys::others::{clone_world, document, pem, put, stranger, trusted};
use crate::world::{MARKER_SH, World, fingerprint, line, whole};

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
    world.rye(&[&["trust", "accept", &key], &over[..]].concat()).ok();
    assert!(!may(ITEM) && !may("tool:acme/own"), "its time is over");
    // Here it may sign hooks, and its time is not over.
    let here = ["--items", "tool:hooks/**", "--items", "tool:acme/**", "--not-after"];
    let here = [&["trust", "accept", &key], &here[..], &["2099-01-01T00:00:00Z"]].concat();
    let said = world.rye(&here).ok();
    assert!(may(ITEM) && may("tool:hooks/watch"), "{said:?}");
    assert!(!may("tool:hooks/mine") && !may("tool:acme/own"), "{said:?}");
    let (_, got) = world.json(&["verify", "tool:acme/own"]);
    assert_eq!(got["items"][0]["code"], "verify.expired", "{got}");
}

#[test]
fn what_is_said_later_of_a_key_widens_nothing_that_was_said_before() {
    let world = clone_world();
    let key = fingerprint(&stranger(1));
    put(&world, &stranger(1), FILE, MARKER_SH);
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    put(&world, &stranger(1), ".ai/tools/other/tool.sh", MARKER_SH);
    world.write(&trusted(&stranger(1)), document(&stranger(1), "Ann", ""));
    let folders = ["second", "third"].map(|name| world.outside().join(name));
    for folder in &folders {
        let at = folder.to_str().unwrap();
        world.shell(&format!("mkdir -p {at} && cp -r .ai {at}"));
    }
    let [second, third] = &folders;
    let first = &world.project();
    let may = |place: &Path, item: &str| world.rye_in(place, &["verify", item], b"").status == 0;
    let trust = |place: &Path, args: &[&str]| {
        let said = world.rye_in(place, &[&["trust"], args].concat(), b"");
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
    };
    let (hook, other) = ("tool:hooks/watch", "tool:other/tool");
    trust(first, &["accept", &key, "--only", hook]);
    assert!(may(first, hook) && !may(first, other) && !may(first, ITEM));
    // Another time, another name, another project, and everywhere.
    trust(first, &["add", &key, "--not-after", "2099-01-01T00:00:00Z"]);
    assert!(may(first, hook) && !may(first, other), "it stays as narrow as it was");
    std::fs::write(world.outside().join("ann.pem"), pem(&stranger(1))).unwrap();
    trust(first, &["add", "../ann.pem", "--owner", "Ann B"]);
    assert!(may(first, hook) && !may(first, other));
    trust(second, &["project"]);
    trust(first, &["add", &key, "--items", ITEM, "--in", second.to_str().unwrap()]);
    assert!(
        may(second, ITEM) && !may(second, hook),
        "a hook is of the project that it was let into"
    );
    assert!(may(first, hook) && !may(first, ITEM), "the first project is still named");
    trust(third, &["accept", &key, "--everywhere"]);
    assert!(may(third, ITEM) && may(third, other) && !may(third, hook));
    assert!(may(first, hook) && !may(first, other), "it keeps what was said of it");
    assert!(may(second, ITEM) && !may(second, hook));
}

#[test]
fn a_project_without_a_proposal_gives_a_key_no_more_time_than_it_had() {
    let world = clone_world();
    let key = fingerprint(&stranger(1));
    put(&world, &stranger(1), FILE, MARKER_SH);
    let second = world.outside().join("second");
    let at = second.to_str().unwrap();
    world.shell(&format!("mkdir -p {at} && cp -r .ai {at}"));
    world.write(&trusted(&stranger(1)), document(&stranger(1), "Ann", ""));
    let over = ["trust", "accept", &key, "--not-after", "2020-01-01T00:00:00Z"];
    world.rye(&over).ok();
    for more in [&[][..], &["--items", ITEM], &["--everywhere"]] {
        let said =
            world.rye_in(&second, &[&["trust", "accept", &key, "--json"], more].concat(), b"");
        assert_eq!((said.status, &said.json()["not_after"]), (0, &over[4].into()), "{said:?}");
        let said = world.rye_in(&second, &["verify", ITEM, "--json"], b"").json();
        assert_eq!(said["items"][0]["code"], "verify.expired", "{more:?}: {said}");
    }
    // Another end is given by name.
    let later = ["trust", "accept", &key, "--not-after", "2099-01-01T00:00:00Z"];
    assert_eq!(world.rye_in(&second, &later, b"").status, 0);
    assert_eq!(world.rye_in(&second, &["verify", ITEM], b"").status, 0);
}

#[test]
fn of_two_programs_that_speak_of_one_key_at_once_none_is_lost_without_a_word() {
    let world = clone_world();
    let key = fingerprint(&stranger(1));
    put(&world, &stranger(1), FILE, MARKER_SH);
    world.write(&trusted(&stranger(1)), document(&stranger(1), "Ann", ""));
    world.rye(&["trust", "accept", &key]).ok();
    let ids: Vec<String> = (0..8).map(|number| format!("tool:other/t{number}")).collect();
    let ends: Vec<_> = std::thread::scope(|scope| {
        let calls = ids.iter().map(|id| {
            let (world, key) = (&world, &key);
            scope.spawn(move || (id, world.rye(&["trust", "accept", key, "--items", id])))
        });
        calls.collect::<Vec<_>>().into_iter().map(|call| call.join().unwrap()).collect()
    });
    let (_, shown) = world.json(&["trust", "show", &key]);
    let shown = shown.to_string();
    for (id, said) in ends {
        let is_there = shown.contains(&format!("{id}\"")) || shown.contains(&format!("{id},"));
        let is_refused = said.status != 0 && said.stderr.contains("run the same again");
        assert!(is_refused != (said.status == 0), "{said:?}");
        assert_eq!(is_there, said.status == 0, "{id}: {said:?} in {shown}");
    }
}

#[test]
fn the_default_scope_that_is_put_back_stays_in_its_projects() {
    let world = clone_world();
    let key = fingerprint(&stranger(1));
    put(&world, &stranger(1), FILE, MARKER_SH);
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    world.write(&trusted(&stranger(1)), document(&stranger(1), "Ann", ""));
    let second = world.outside().join("second");
    let at = second.to_str().unwrap();
    world.shell(&format!("mkdir -p {at} && cp -r .ai {at}"));
    let only = ["trust", "accept", &key, "--only", "tool:hooks/watch"];
    world.rye(&only).ok();
    assert_eq!(world.rye_in(&second, &["trust", "project"], b"").status, 0);
    let said = world.rye(&["trust", "add", &key, "--default"]).ok();
    let may = |place: &Path, item: &str| world.rye_in(place, &["verify", item], b"").status == 0;
    assert!(may(&world.project(), ITEM) && !may(&world.project(), "tool:hooks/watch"));
    assert!(!may(&second, ITEM), "{said:?}");
}

#[test]
fn another_folder_at_the_path_of_a_project_has_no_more_than_the_answer_for_that_project() {
    let world = clone_world();
    let key = fingerprint(&stranger(1));
    put(&world, &stranger(1), FILE, MARKER_SH);
    put(&world, &stranger(1), ".ai/tools/hooks/watch.sh", MARKER_SH);
    put(&world, &stranger(1), ".ai/tools/other/tool.sh", MARKER_SH);
    world.write(&trusted(&stranger(1)), document(&stranger(1), "Ann", ""));
    let (hook, other) = ("tool:hooks/watch", "tool:other/tool");
    let may = |item: &str| world.rye(&["verify", item]).status == 0;
    let anew = || {
        world.shell("cp -r . ../copy && mv ../project ../old && mv ../copy ../project");
        std::fs::remove_dir_all(world.outside().join("old")).unwrap();
        world.rye(&["trust", "project"]).ok()
    };
    world.rye(&["trust", "accept", &key, "--everywhere"]).ok();
    // Narrower here than elsewhere.
    world.rye(&["trust", "accept", &key, "--only", other]).ok();
    assert!(may(other) && !may(ITEM) && !may(hook));
    let said = anew();
    assert!(may(other) && !may(ITEM) && !may(hook), "{said:?}");
    said.shows("another folder lay here before").shows(&key);
    world.rye(&["trust", "list"]).shows("another folder lies there now");
    // Said anew without a word of items it stays so, and is of this folder.
    world.rye(&["trust", "accept", &key]).ok().shows("it was narrowed to that before");
    assert!(may(other) && !may(ITEM) && !may(hook));
    assert!(!world.rye(&["trust", "list"]).stdout.contains("another folder"));
    // Wider here than elsewhere: the other folder has what holds everywhere.
    world.rye(&["trust", "accept", &key, "--default"]).ok();
    world.rye(&["trust", "accept", &key, "--items", hook]).ok();
    assert!(may(other) && may(hook));
    anew();
    assert!(may(other) && may(ITEM) && !may(hook));
    world.rye(&["trust", "accept", &key, "--default", "--not-after", "2020-01-01T00:00:00Z"]).ok();
    assert!(!may(ITEM));
    anew();
    assert!(!may(ITEM), "an end counts as well");
}

/// A hundred times, of which about one meets a moment between two looks; the whole is a thousand.
#[test]
fn a_clone_that_changes_places_with_an_accepted_project_is_never_read_for_it() {
    let world = World::new();
    world.signed(FILE, &MARKER_SH.replace("marker", "of_the_clone"));
    let (_, theirs) = world.json(&["verify", ITEM]);
    let theirs = &theirs["items"][0]["digest"];
    let (here, clone) = (world.project(), world.outside().join("clone"));
    world.shell("cp -r . ../clone");
    world.signed(FILE, MARKER_SH);
    let is_over = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &here, CWD, &clone, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let times = if whole() { 1_000 } else { 100 };
        let answers: Vec<_> = (0..times).map(|_| world.json(&["verify", ITEM])).collect();
        is_over.store(true, Ordering::Relaxed);
        answers
    });
    let mut seen = [0; 2];
    for (status, got) in answers {
        assert_ne!(&got["items"][0]["digest"], theirs, "{got}");
        seen[usize::from(status != 0)] += 1;
    }
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
}
