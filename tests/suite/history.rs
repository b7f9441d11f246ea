//! `rye diff`: against the last version, the locked one, and any other that is known.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::lock::{put, sh};
use crate::world::{End, World, seconds_from_now, sha256};

const TOOL: &str = "tool:acme/mark";
const PATH: &str = ".ai/tools/acme/mark.sh";

/// Three versions that ran here, the last on disk; each was signed at its day.
fn three() -> World {
    let world = World::new();
    for (about, day) in [("one", 1), ("two", 3), ("three", 5)] {
        put(&world, PATH, &sh(about), &format!("2026-01-0{day}T12:00:00Z"));
        world.works(TOOL);
    }
    world
}

/// The description that the difference to a version takes away.
fn minus(world: &World, args: &[&str]) -> String {
    let said = world.json(&[&["diff", TOOL], args].concat()).ok();
    let diff = said["diff"].as_str().unwrap();
    let gone = diff.lines().find_map(|line| line.strip_prefix("-# description = "));
    gone.unwrap_or_default().trim_matches('"').to_owned()
}

#[test]
fn the_history_lists_versions_the_latest_first() {
    let world = three();
    let (_, said) = world.json(&["diff", TOOL, "--history"]);
    let rows = said["versions"].as_array().unwrap();
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<Value>>();
    let days = [5, 3, 1].map(|day| Value::from(format!("2026-01-0{day}T12:00:00Z")));
    assert_eq!(of("signed_at"), days);
    assert_eq!(of("number"), [0, 1, 2].map(Value::from));
    assert_eq!(of("on_disk"), [true, false, false].map(Value::from));
    assert_eq!(of("locked"), [false, false, false].map(Value::from));
    assert_eq!(rows[2]["sha256"], sha256(sh("one").as_bytes()));
    world.rye(&["lock"]).ok();
    put(&world, PATH, &sh("four"), "2026-01-07T12:00:00Z");
    world.works(TOOL);
    let text = world.rye(&["diff", TOOL, "--history"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("(on disk)") && lines[1].ends_with("(locked)"), "{text}");
    // What is shipped is known from the day it was locked.
    let item = "tool:rye/core/runtimes/shell/script";
    let (_, said) = world.json(&["diff", item, "--history"]);
    assert_eq!(said["versions"][0]["locked"], true, "{said}");
}

#[test]
fn a_signature_line_of_a_diff_says_who_when_and_what_in_80_columns() {
    let world = three();
    let by = crate::world::fingerprint(&world.own_key());
    let by = format!("{}…{}", &by[..4], &by[28..]);
    let short = |sign: &str, day: u32, about: &str| {
        let sha256 = &sha256(sh(about).as_bytes())[..12];
        format!("{sign}# rye:signed:v2 2026-01-0{day}T12:00:00Z by {by} sha256 {sha256}…")
    };
    let said = world.rye_in_columns(80, &["diff", TOOL, "--to", "1"]);
    let lines: Vec<&str> = said.stdout.lines().map(|line| line.trim_end_matches('\r')).collect();
    for line in [short("-", 3, "two"), short("+", 5, "three")] {
        assert!(line.chars().count() <= 80 && lines.contains(&line.as_str()), "{line}: {said:?}");
    }
    // JSON has the lines as they are.
    let (_, got) = world.json(&["diff", TOOL, "--to", "1"]);
    assert!(got["diff"].as_str().unwrap().contains(" sig="), "{got}");
    // The longest comment is that of a page; where it is new as a whole, its line is as short.
    world.write(".ai/knowledge/acme/note.md", "---\ntitle: Note\n---\n\nA note.\n");
    world.rye(&["sign", "knowledge:acme/note"]).ok();
    fs::remove_dir_all(world.home().join(".ai/state/items")).unwrap();
    let said = world.rye(&["diff", "knowledge:acme/note"]).stdout;
    let line = said.lines().find(|line| line.starts_with("+<!-- rye:signed:v2 ")).unwrap();
    assert!(line.chars().count() <= 80 && line.ends_with("… -->"), "{line}");
    // What is no sound line, and what reads alike and is not the same, is shown as it is.
    for (from, to) in [(" key=", " kay="), (" ext=sh ", " ext=py ")] {
        world.works(TOOL);
        let signed = String::from_utf8(world.read(PATH)).unwrap();
        world.write(PATH, signed.replacen(from, to, 1));
        let said = world.rye(&["diff", TOOL]).stdout;
        let is_whole = |line: &str| line.starts_with('+') && line.contains(to);
        assert!(said.lines().any(is_whole), "{to}: {said}");
        world.write(PATH, signed);
    }
}

#[test]
fn a_version_is_named_by_number_digest_or_time() {
    let world = three();
    let sha = |about: &str| sha256(sh(about).as_bytes());
    put(&world, PATH, &sh("now"), &seconds_from_now(-5));
    for (name, want) in [
        ("0", "three"),
        ("1", "two"),
        ("2", "one"),
        (&sha("two")[..8], "two"),
        (&sha("one"), "one"),
        ("2026-01-01", "one"),
        ("2026-01-02", "one"),
        ("2026-01-03", "two"),
        ("2026-01-03T11:59:59Z", "one"),
        ("2026-01-03T12:00:00Z", "two"),
        ("2026-12-31", "three"),
    ] {
        assert_eq!(minus(&world, &["--to", name]), want, "{name}");
    }
    for name in ["3", "99", "-1", "2025-12-31", "2025-12-31T00:00:00Z", "zzzz", "", "abcdefg"] {
        world.rye(&["diff", TOOL, &format!("--to={name}")]).fails(3, "diff.unknown_version");
    }
}

#[test]
fn the_beginning_of_two_digests_is_no_name() {
    let world = World::new();
    // Two texts whose digests begin alike, found by trying; the birthday paradox makes it quick.
    let mut seen: HashMap<String, String> = HashMap::new();
    let (one, other) = (0..)
        .find_map(|n: u32| {
            let text = sh(&format!("number {n}"));
            let head = sha256(text.as_bytes())[..4].to_owned();
            seen.insert(head, text.clone()).map(|first| (first, text))
        })
        .unwrap();
    for text in [&one, &other] {
        put(&world, PATH, text, &seconds_from_now(-100));
        world.works(TOOL);
    }
    let (head, whole) = (&sha256(one.as_bytes())[..4], &sha256(one.as_bytes()));
    let (status, said) = world.json(&["diff", TOOL, "--to", head]);
    assert_eq!((status, &said["code"]), (3, &"diff.ambiguous_version".into()), "{said}");
    assert_eq!(said["data"]["versions"].as_array().unwrap().len(), 2);
    world.rye(&["diff", TOOL, "--to", whole]).ok();
}

#[test]
fn diff_lock_compares_with_what_is_locked_however_long_ago() {
    let world = three();
    world.rye(&["lock"]).ok();
    let said = world.rye(&["diff", TOOL, "--lock"]).stdout;
    assert!(said.contains("is what the lock lists"), "{said}");
    // More versions than are kept.
    for n in 0..36 {
        world.write(PATH, sh(&format!("number {n}")));
        world.rye(&["sign", TOOL]).ok();
    }
    let (_, said) = world.json(&["diff", TOOL, "--history"]);
    let versions = said["versions"].as_array().unwrap();
    assert!(versions.len() <= 33, "{}", versions.len());
    assert_eq!(minus(&world, &["--lock"]), "three");
    assert_eq!(minus(&world, &["--to", "1"]), "number 34");
    // A machine that never saw it has nothing to show.
    fs::remove_dir_all(world.home().join(".ai/state/items")).unwrap();
    world.rye(&["diff", TOOL, "--lock"]).fails(3, "diff.no_baseline");
    assert_eq!(world.rye(&["diff", TOOL, "--to", "0"]).code(), "diff.no_baseline");
}

fn kept(world: &World) -> Vec<PathBuf> {
    let folder = world.home().join(".ai/state/items");
    let files = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap());
    files.filter(|entry| entry.file_type().is_file()).map(|e| e.path().to_owned()).collect()
}

#[test]
fn only_versions_that_verify_are_offered() {
    let world = three();
    let count = || {
        let (_, said) = world.json(&["diff", TOOL, "--history"]);
        said["versions"].as_array().unwrap().len()
    };
    assert_eq!((count(), kept(&world).len()), (3, 3));
    let two = sha256(sh("two").as_bytes());
    let file = kept(&world).into_iter().find(|p| p.to_str().unwrap().ends_with(&two)).unwrap();
    let good = fs::read(&file).unwrap();
    fs::write(&file, [&good[..], b"echo planted\n"].concat()).unwrap();
    assert_eq!(count(), 2);
    let said = world.rye(&["diff", TOOL, "--to", &two[..8]]);
    assert_eq!(said.code(), "diff.unknown_version");
    // A name that lies is of no use: the bytes say what they are.
    let three = sha256(sh("three").as_bytes());
    fs::write(&file, fs::read(world.project().join(PATH)).unwrap()).unwrap();
    assert_eq!(minus(&world, &["--to", "2026-01-04"]), "one");
    assert_eq!(world.rye(&["diff", TOOL, "--to", &two[..8]]).code(), "diff.unknown_version");
    assert_eq!(world.rye(&["diff", TOOL, "--to", &three[..8]]).code(), "diff.ambiguous_version");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(world.project().join(PATH), &file).unwrap();
    assert_eq!(count(), 2);
    fs::remove_file(&file).unwrap();
    fs::write(&file, good).unwrap();
    assert_eq!(count(), 3);
    // A key that is revoked speaks for none of them.
    let own = crate::world::fingerprint(&world.own_key());
    world.rye(&["trust", "revoke", &own, "--yes"]).ok();
    assert_eq!(count(), 0);
    world.rye(&["diff", TOOL, "--color", "never"]).ok().shows("+# description = \"three\"");
}

#[test]
fn a_version_that_runs_again_is_the_last_one_again() {
    let world = three();
    put(&world, PATH, &sh("one"), "2026-01-01T12:00:00Z");
    world.works(TOOL);
    let (_, said) = world.json(&["diff", TOOL, "--history"]);
    let at = |n: usize| said["versions"][n]["signed_at"].as_str().unwrap()[..10].to_owned();
    assert_eq!([at(0), at(1), at(2)], ["2026-01-01", "2026-01-05", "2026-01-03"]);
    assert_eq!(kept(&world).len(), 3);
}
