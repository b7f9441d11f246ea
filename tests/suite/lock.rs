//! The lock of a project: writing it, reading it strictly, and what `--locked` asks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::world::items::native;
use crate::world::{Attempt, End, GREET_MD, MARKER_SH, World, item_of, line, seconds_from_now};

const TOOL: &str = "tool:acme/mark";
const PATH: &str = ".ai/tools/acme/mark.sh";

/// The tool that leaves a marker, with another description.
pub fn sh(about: &str) -> String {
    MARKER_SH.replace("Leaves a marker", about)
}

/// Writes a file of the project, signed with the own key at a time; gives its bytes. The line is
/// made here and not by rye, so that the time can be chosen; then it is remembered as rye does: by
/// use.
pub fn put(world: &World, path: &str, text: &str, at: &str) -> Vec<u8> {
    let (item, ext) = (item_of(path), path.rsplit('.').next().unwrap());
    let line = line(&world.own_key(), &item, ext, at, text.as_bytes());
    let signed = match ext {
        "md" => format!("<!-- {line} -->\n{text}"),
        "sh" => text.replacen('\n', &format!("\n# {line}\n"), 1),
        _ => format!("# {line}\n{text}"),
    };
    world.write(path, &signed);
    signed.into_bytes()
}

fn lock_path(world: &World) -> PathBuf {
    world.project().join(".ai/rye.lock")
}

fn lock_text(world: &World) -> String {
    fs::read_to_string(lock_path(world)).unwrap()
}

/// A project with one tool, locked.
fn locked() -> World {
    let world = World::new();
    put(&world, PATH, &sh("one"), &seconds_from_now(-500));
    world.rye(&["lock"]).ok();
    world.works(TOOL);
    world
}

#[test]
fn a_lock_lists_every_link_and_every_parent_sorted_one_table_a_ref() {
    let world = World::new().with(PATH, MARKER_SH);
    let base = GREET_MD.replace("name=\"greet\"", "name=\"base\"");
    world.signed(".ai/directives/acme/base.md", &base);
    let leaf = GREET_MD.replace("name=\"greet\"", "name=\"greet\" extends=\"acme/base\"");
    world.signed(".ai/directives/acme/greet.md", &leaf);
    world.rye(&["lock", "acme/greet", TOOL]).ok();
    let text = lock_text(&world);
    let tables: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    let want = [
        "[\"config:execution/execution@system\"]",
        "[\"directive:acme/base\"]",
        "[\"directive:acme/greet\"]",
        "[\"tool:acme/mark\"]",
        "[\"tool:rye/core/primitives/execute\"]",
        "[\"tool:rye/core/runtimes/shell/script\"]",
    ];
    assert_eq!(tables, want);
    assert!(text.lines().any(|line| line == "version = 1"), "{text}");
    let (_, details) = world.json(&["execute", TOOL, "--chain-details"]);
    for detail in details["chain_details"].as_array().unwrap() {
        let head = format!("[{}]", detail["item_id"]);
        let rows = text.split(&head).nth(1).unwrap().split("\n\n").next().unwrap();
        for (name, key) in [("sha256", "digest"), ("signer", "signer"), ("space", "space")] {
            assert!(rows.contains(&format!("{name} = {}", detail[key])), "{name}: {rows}");
        }
        assert!(rows.contains("signed_at = \"20"), "{rows}");
    }
    // Written again it is the same to the byte, and everything runs with it.
    let said = world.rye(&["lock"]);
    assert_eq!((said.status, lock_text(&world)), (0, text), "{said:?}");
    for call in [&["execute", TOOL, "--locked"][..], &["verify", "acme/greet", "--locked"]] {
        world.rye(call).ok();
    }
}

#[test]
fn rows_that_two_people_add_merge_line_by_line() {
    let world = World::new();
    for name in ["a", "m", "z"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
    }
    let lock = |refs: &[&str]| {
        let _ = fs::remove_file(lock_path(&world));
        world.rye(&[&["lock"], refs].concat()).ok();
        lock_text(&world)
    };
    let both = lock(&["acme/a", "acme/m", "acme/z"]);
    for (name, text) in [
        ("base", lock(&["acme/m"])),
        ("ours", lock(&["acme/a", "acme/m"])),
        ("theirs", lock(&["acme/m", "acme/z"])),
    ] {
        fs::write(world.outside().join(name), text).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "--stdout", "ours", "base", "theirs"])
        .current_dir(world.outside())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), both);
}

#[test]
fn a_lock_that_is_not_one_stops_everything_that_runs() {
    let world = locked();
    let good = lock_text(&world);
    let sha = good.split("sha256 = \"").nth(1).unwrap()[..64].to_owned();
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", b"".to_vec(), "lock.malformed"),
        ("not TOML", b"version = 1\n[".to_vec(), "lock.malformed"),
        ("not UTF-8", [good.as_bytes(), b"# \xff\n"].concat(), "lock.malformed"),
        ("no version", good.replace("version = 1\n", "").into(), "lock.malformed"),
        ("a later version", good.replace("version = 1\n", "version = 2\n").into(), "lock.version"),
        ("a later form", b"version = 2\n[items]\nx = 1\n".to_vec(), "lock.version"),
        ("another key at the head", format!("more = 1\n{good}").into(), "lock.malformed"),
        ("another key in a row", format!("{good}skip = true\n").into(), "lock.malformed"),
        (
            "a table that is not a valid ref",
            format!("{good}\n[policy]\nx = 1\n").into(),
            "lock.malformed",
        ),
        ("a ref that leaves", good.replace("acme/mark", "../mark").into(), "lock.malformed"),
        ("a short digest", good.replace(&sha, &sha[1..]).into(), "lock.malformed"),
        ("a digest in capitals", good.replace(&sha, &sha.to_uppercase()).into(), "lock.malformed"),
        ("a space that is none", good.replace("\"project\"", "\"mars\"").into(), "lock.malformed"),
        ("a row without a signer", strip(&good, "signer = "), "lock.malformed"),
        ("a row twice", format!("{good}\n[\"{TOOL}\"]\n").into(), "lock.malformed"),
        ("a conflict", format!("<<<<<<< ours\n{good}").into(), "lock.malformed"),
        ("what nobody sees", format!("{good}# \u{202e}\n").into(), "lock.malformed"),
        ("over 4 MiB", vec![b'#'; (4 << 20) + 1], "space.too_large"),
    ];
    world.refuses_each(TOOL, &lock_path(&world), &rows);
    // What is shipped too, and what is not in the lock; a verb that mends goes on.
    fs::write(lock_path(&world), "version = 1\n[").unwrap();
    assert_eq!(world.run("directive:rye/core/init"), (4, "lock.malformed".into()));
    assert_eq!(world.rye(&["lock"]).code(), "lock.malformed");
    assert_eq!(world.rye(&["lock", "--remove", TOOL]).code(), "lock.malformed");
    let said = world.rye(&["doctor"]);
    assert!(said.status == 4 && said.stdout.contains("bad   lock"), "{said:?}");
    assert!(said.stderr.is_empty(), "{said:?}");
    world.rye(&["sign", TOOL]).ok();
    // The place is said.
    let (_, said) = world.json(&["execute", TOOL]);
    assert_eq!(
        (&said["place"]["path"], &said["place"]["line"]),
        (&".ai/rye.lock".into(), &2.into())
    );
}

#[test]
fn a_lock_that_cannot_be_read_is_one_finding_for_a_person_however_many_items_there_are() {
    let world = locked();
    for name in ["one", "two", "three"] {
        put(&world, &format!(".ai/tools/acme/{name}.sh"), &sh("more"), &seconds_from_now(-400));
    }
    fs::write(lock_path(&world), "version = 1\n[").unwrap();
    let said = world.rye(&["verify"]);
    assert_eq!(said.status, 4, "{said:?}");
    assert_eq!(said.stderr.matches("error[lock.malformed]").count(), 1, "{said:?}");
    assert!(said.stderr.contains("  the same goes for "), "{said:?}");
    let (_, said) = world.json(&["verify"]);
    let refused = said["items"].as_array().unwrap().iter().filter(|row| row["status"] == "refused");
    assert!(refused.count() >= 4, "a script is told of each: {said}");
}

fn strip(text: &str, begins: &str) -> Vec<u8> {
    let first = text.lines().position(|line| line.starts_with(begins)).unwrap();
    let lines = text.lines().enumerate().filter(|(number, _)| *number != first);
    lines.map(|(_, line)| format!("{line}\n")).collect::<String>().into_bytes()
}

#[test]
fn a_lock_that_is_no_regular_file_is_refused_and_never_blocks() {
    let world = locked();
    let good = lock_text(&world);
    let path = lock_path(&world);
    let kept = world.outside().join("kept");
    fs::write(&kept, &good).unwrap();
    let refuses = |code: &str| {
        assert_eq!(world.attempt(TOOL), Attempt::refused(code));
        let got = world.attempt_by(&["lock", "--json"]);
        assert_eq!(got, Attempt::refused(code), "rye lock");
    };
    fs::remove_file(&path).unwrap();
    symlink(&kept, &path).unwrap();
    refuses("space.symlink");
    fs::remove_file(&path).unwrap();
    let status = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(status.success());
    refuses("space.not_a_file");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refuses("space.not_a_file");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, good).unwrap();
    world.works(TOOL);
}

#[test]
fn the_lock_of_a_project_that_is_not_accepted_is_not_read() {
    let world = World::new();
    let clone = world.outside().join("clone");
    fs::create_dir_all(clone.join(".ai")).unwrap();
    fs::write(clone.join(".ai/rye.lock"), "not a lock").unwrap();
    let run = |args: &[&str]| world.rye_in(&clone, args, b"");
    run(&["execute", "directive:rye/core/init", "--json"]).ok();
    run(&["lock", "tool:rye/bash"]).fails(4, "verify.project_not_accepted");
    // What is not read lists nothing.
    run(&["execute", "directive:rye/core/init", "--locked", "--json"]).fails(4, "lock.not_listed");
    // As soon as it is accepted, it counts.
    assert_eq!(run(&["trust", "project"]).status, 0);
    run(&["execute", "directive:rye/core/init", "--json"]).fails(4, "lock.malformed");
}

#[test]
fn a_row_admits_nothing() {
    let world = locked();
    let text = sh("not signed");
    let digest = crate::world::sha256(text.as_bytes());
    let good = lock_text(&world);
    let sha = good.split("acme/mark\"]\nsha256 = \"").nth(1).unwrap()[..64].to_owned();
    let signed = world.read(PATH);
    world.write(PATH, &text);
    fs::write(lock_path(&world), good.replace(&sha, &digest)).unwrap();
    assert_eq!(world.attempt(TOOL), Attempt::refused("verify.unsigned"));
    world.write(PATH, signed);
    fs::write(lock_path(&world), good).unwrap();
    world.works(TOOL);
}

#[test]
fn with_locked_any_difference_is_refused_and_so_is_what_is_not_listed() {
    let world = locked();
    let strictly = |item: &str| {
        let said = world.rye(&["execute", item, "--locked", "--json"]);
        (said.status, said.code(), world.rye(&["verify", item, "--locked"]).status)
    };
    assert_eq!(strictly(TOOL), (0, String::new(), 0));
    // A newer version by the same key runs, but not with `--locked`.
    put(&world, PATH, &sh("two"), &seconds_from_now(-100));
    world.works(TOOL);
    assert_eq!(strictly(TOOL), (4, "lock.differs".into(), 4));
    let (_, said) = world.json(&["execute", TOOL, "--locked"]);
    assert_eq!(said["data"]["differs_in"], serde_json::json!(["sha256", "signed_at"]));
    // The same bytes, signed again later, are a difference too.
    put(&world, PATH, &sh("one"), &seconds_from_now(-90));
    assert_eq!(strictly(TOOL), (4, "lock.differs".into(), 4));
    world.signed(".ai/tools/acme/other.sh", MARKER_SH);
    world.works("tool:acme/other");
    assert_eq!(strictly("tool:acme/other"), (4, "lock.not_listed".into(), 4));
    // Every link must be listed.
    world.rye(&["lock", "--update", TOOL]).ok();
    assert_eq!(strictly(TOOL), (0, String::new(), 0));
    let runtime = "tool:rye/core/runtimes/shell/script";
    world.rye(&["lock", "--remove", runtime]).ok();
    world.works(TOOL);
    assert_eq!(strictly(TOOL), (4, "lock.not_listed".into(), 4));
    let (_, said) = world.json(&["execute", TOOL, "--locked"]);
    assert!(said["error"].as_str().unwrap().contains(runtime), "{said}");
    world.rye(&["lock"]).ok();
    assert_eq!(strictly(TOOL), (0, String::new(), 0));
    // And without a lock nothing is.
    fs::remove_file(lock_path(&world)).unwrap();
    world.works(TOOL);
    assert_eq!(strictly(TOOL), (4, "lock.not_listed".into(), 4));
    for args in [&["execute", TOOL, "--locked"][..], &["diff", TOOL, "--lock"]] {
        let (_, said) = world.json(args);
        assert!(said["error"].as_str().unwrap().contains("has locked nothing"), "{said}");
    }
    let (status, said) = world.json(&["lock", "--check"]);
    assert_eq!(
        (status, said["error"].as_str().unwrap().contains("says something else")),
        (4, false)
    );
}

#[test]
fn verify_locked_without_refs_checks_what_the_project_can_run() {
    let world = locked();
    world.rye(&["verify", "--locked"]).ok();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.rye(&["verify"]).ok();
    let (status, said) = world.json(&["verify", "--locked"]);
    let codes: Vec<&Value> = said["items"].as_array().unwrap().iter().map(|i| &i["code"]).collect();
    assert_eq!((status, codes), (4, vec![&Value::Null, &"lock.not_listed".into()]));
    world.rye(&["verify", "--locked", "directive:acme/*"]).fails(4, "lock.not_listed");
}

#[test]
fn lock_adds_rows_and_changes_none_without_update() {
    let world = locked();
    let before = lock_text(&world);
    put(&world, PATH, &sh("two"), &seconds_from_now(-100));
    world.signed(".ai/tools/acme/other.sh", MARKER_SH);
    let (status, said) = world.json(&["lock"]);
    assert_eq!((status, &said["code"]), (4, &"lock.differs".into()), "{said}");
    assert_eq!(
        (&said["added"], &said["changed"], &said["written"]),
        (&1.into(), &1.into(), &true.into())
    );
    let after = lock_text(&world);
    assert!(after.contains("tool:acme/other"), "{after}");
    let row = |text: &str| text.split("acme/mark\"]").nth(1).unwrap()[..200].to_owned();
    assert_eq!(row(&before), row(&after));
    let said = world.rye(&["lock", "--update", TOOL]).ok();
    assert_ne!(row(&before), row(&lock_text(&world)));
    // What changed is shown before it is written.
    for part in ["changed  tool:acme/mark", "-# description = \"one\"", "+# description = \"two\""]
    {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    // Who signed and when is told; nobody reads a signature.
    assert!(said.stdout.contains("\n-# rye:signed:v2 2"), "{said:?}");
    assert!(!said.stdout.contains("sig="), "{said:?}");
    world.rye(&["execute", TOOL, "--locked"]).ok();
}

#[test]
fn check_writes_nothing_and_says_what_would_change() {
    let world = locked();
    let check = |want: (i32, &str)| {
        let before = world.snapshot();
        let (status, said) = world.json(&["lock", "--check"]);
        let rows = said["rows"].as_array().unwrap().iter();
        let mut kinds: Vec<_> = rows.map(|row| row["change"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!((status, kinds.join(" ").as_str()), want, "{said}");
        assert_eq!(before, world.snapshot());
    };
    check((0, "same"));
    world.signed(".ai/tools/acme/other.sh", MARKER_SH);
    check((4, "added same"));
    world.rye(&["lock"]).ok();
    put(&world, PATH, &sh("two"), &seconds_from_now(-100));
    check((4, "changed same"));
    world.rye(&["lock", "--update"]).ok();
    fs::remove_file(world.project().join(".ai/tools/acme/other.sh")).unwrap();
    check((4, "gone same"));
    world.rye(&["lock", "--update"]).ok();
    check((0, "same"));
    assert!(!lock_text(&world).contains("acme/other"));
}

#[test]
fn update_and_remove_ask_a_person_when_they_run_below_a_run() {
    let world = locked();
    let before = lock_text(&world);
    put(&world, PATH, &sh("two"), &seconds_from_now(-100));
    for call in [&["lock", "--update", TOOL][..], &["lock", "--remove", TOOL]] {
        world.rye_below_a_run(call).fails(2, "cli.not_confirmed");
        assert_eq!(lock_text(&world), before);
        let said = world.rye_below_a_run_at_a_terminal("n\n", call);
        assert_eq!((said.status, lock_text(&world)), (2, before.clone()), "{said:?}");
    }
    world
        .rye_below_a_run_at_a_terminal("y\n", &["lock", "--update", TOOL])
        .ok()
        .shows("+# description = \"two\"");
    let updated = lock_text(&world);
    assert_ne!(updated, before);
    world.rye_below_a_run(&["lock", "--remove", TOOL, "--yes"]).ok();
    assert!(!lock_text(&world).contains("acme/mark"));
}

#[test]
fn remove_takes_a_row_out_and_names_what_is_not_there() {
    let world = locked();
    world.rye(&["lock", "--remove", "acme/mark"]).ok();
    let text = lock_text(&world);
    assert!(!text.contains("acme/mark") && text.contains("rye/core/primitives"), "{text}");
    world.rye(&["lock", "--remove", "acme/mark"]).fails(4, "lock.not_listed");
    assert_eq!(world.rye(&["diff", TOOL, "--lock"]).code(), "lock.not_listed");
}

#[test]
fn what_is_refused_is_not_locked_and_the_rest_is() {
    let world = World::new().env("RYE_DEV_MODE", "1");
    world.signed(PATH, MARKER_SH);
    world.write(".ai/tools/acme/plain.sh", MARKER_SH);
    world.works("tool:acme/plain");
    world.rye(&["lock"]).fails(4, "verify.unsigned");
    let text = lock_text(&world);
    assert!(text.contains("acme/mark") && !text.contains("acme/plain"), "{text}");
}

#[test]
fn doctor_and_why_tell_of_the_lock() {
    let world = locked();
    let said = world.rye(&["doctor"]).stdout;
    assert!(said.contains("ok    lock        4 items are locked"), "{said}");
    let said = world.rye(&["why", TOOL]).stdout;
    assert!(said.contains("  lock project 1.0.0  sha256 ") && said.contains(": holds"), "{said}");
    let (_, why) = world.json(&["why", TOOL]);
    assert_eq!(
        (&why["lock"]["holds"], &why["lock"]["row"]["space"]),
        (&true.into(), &"project".into())
    );
    let (_, why) = world.json(&["why", "tool:rye/bash"]);
    assert_eq!(why["lock"], Value::Null);
    fs::remove_file(world.project().join(PATH)).unwrap();
    let said = world.rye(&["doctor"]).stdout;
    for part in
        ["note  lock", "not there any more: tool:acme/mark", "rye lock --remove tool:acme/mark"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_lock_that_cannot_be_written_is_left_as_it_was() {
    let world = locked();
    let before = lock_text(&world);
    world.signed(".ai/tools/acme/other.sh", MARKER_SH);
    // No file may grow: what a full disk does, without filling one.
    let got = world.shell("trap '' XFSZ; ulimit -f 0; rye lock --json");
    assert!(got.contains("\"code\":\"lock.io\""), "{got}");
    assert_eq!(lock_text(&world), before);
    let names = fs::read_dir(world.project().join(".ai")).unwrap();
    let odd = names
        .filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().starts_with(".rye-"));
    assert_eq!(odd.count(), 0, "a temporary file is left");
    world.rye(&["lock"]).ok();
}

#[test]
fn calls_that_lock_at_once_lose_no_row() {
    let world = locked();
    for n in 1..=8 {
        world.signed(&format!(".ai/tools/acme/t{n}.sh"), MARKER_SH);
    }
    world.shell("for n in 1 2 3 4 5 6 7 8; do rye lock tool:acme/t$n & done; wait");
    let text = lock_text(&world);
    let lost: Vec<_> = (1..=8).filter(|n| !text.contains(&format!("acme/t{n}\"]"))).collect();
    assert_eq!(lost, [0; 0], "{text}");
}

const API: &str = ".ai/config/acme/api.yaml";

/// A locked project whose tool takes config of its own space and the system's.
fn with_config() -> (World, Vec<u8>) {
    let world = World::new();
    let tool = &native("config: {command: cat}\nconfig_resolve: {path: acme/api}\n");
    world.signed(".ai/tools/acme/api.yaml", tool);
    let old = put(&world, API, "url: old\n", &seconds_from_now(-1000));
    world.works("tool:acme/api");
    put(&world, API, "url: new\n", &seconds_from_now(-500));
    world.rye(&["lock"]).ok();
    world.works("tool:acme/api");
    (world, old)
}

#[test]
fn config_that_a_tool_takes_is_locked_with_it() {
    let (world, old) = with_config();
    let text = lock_text(&world);
    for row in ["[\"config:acme/api@project\"]", "[\"config:execution/execution@system\"]"] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let strict = ["execute", "tool:acme/api", "--locked"];
    world.rye(&strict).ok();
    world.write(API, &old);
    for call in [&strict[..], &strict[..2], &["execute", "tool:acme/api", "--dry-run"]] {
        let got = world.attempt_by(&[call, &["--json"]].concat());
        assert_eq!(got, Attempt::refused("verify.rolled_back"), "{call:?}");
    }
    put(&world, API, "url: newer\n", &seconds_from_now(-100));
    world.works("tool:acme/api");
    for call in [&strict[..], &["verify", "tool:acme/api", "--locked"]] {
        world.rye(call).fails(4, "lock.differs");
    }
    let said = world.rye(&["lock", "--update", "tool:acme/api"]);
    let shown = ["-url: new\n", "+url: newer\n"].map(|part| said.stdout.contains(part));
    assert_eq!(shown, [true, true], "{said:?}");
    world.rye(&strict).ok();
    world.rye(&["lock", "--remove", "config:acme/api"]).ok();
    assert_eq!(world.rye(&strict).code(), "lock.not_listed");
}

#[test]
fn config_of_your_own_space_is_not_the_projects_to_lock() {
    let (world, _) = with_config();
    let strict = ["execute", "tool:acme/api", "--locked", "--json"];
    let before = lock_text(&world);
    world.signed_home(API, "more: 1\n");
    let said = world.rye(&strict);
    assert_eq!(said.json()["data"]["resolved_config"]["more"], 1, "{said:?}");
    let said = world.rye(&["lock"]);
    assert_eq!((said.status, lock_text(&world)), (0, before), "{said:?}");
}

#[test]
fn modules_with_a_line_of_their_own_are_locked_with_the_tool() {
    let world = World::new();
    let head = "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
                # executor_id = \"rye/core/runtimes/shell/script\"\n# description = \"x\"\n";
    let deps = "# [verify_deps]\n# enabled = true\n# extensions = [\".sh\"]\n";
    world.signed(".ai/tools/pack/main.sh", &format!("{head}{deps}# ///\necho 1\n"));
    let module = |n: u8| format!("{head}# ///\necho {n}\n");
    let old = put(&world, ".ai/tools/pack/part.sh", &module(1), &seconds_from_now(-1000));
    world.works("tool:pack/main");
    put(&world, ".ai/tools/pack/part.sh", &module(2), &seconds_from_now(-500));
    world.rye(&["lock", "tool:pack/main"]).ok();
    assert!(lock_text(&world).contains("[\"tool:pack/part\"]"));
    world.works("tool:pack/main");
    world.write(".ai/tools/pack/part.sh", old);
    assert_eq!(world.attempt("tool:pack/main"), Attempt::refused("verify.rolled_back"));
}

#[test]
fn a_locked_hook_or_config_that_is_gone_refuses_each_locked_run() {
    let config = ".ai/config/execution/execution.yaml";
    let hook = ".ai/tools/hooks/guard.yaml";
    let world = World::new().with(PATH, MARKER_SH).with(config, "defaults: {timeout: 5}\n");
    world.write(".ai/tools/hooks/it.sh", "#!/bin/sh\necho '{\"allow\":true}'\n");
    let text = "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: hooks\ndescription: x\nhook: tool\nphases: [before_execution]\n\
                exec:\n  command: ./it.sh\n  files: [it.sh]\n";
    world.signed(hook, text);
    world.rye(&["lock"]).ok();
    let run = ["execute", TOOL, "--locked"];
    world.json(&run).ok();
    for (path, item) in [(config, "config:execution/execution"), (hook, "tool:hooks/guard")] {
        let bytes = world.read(path);
        fs::remove_file(world.project().join(path)).unwrap();
        drop(fs::remove_file(world.project().join("marker")));
        let said = world.json(&run).fails(3, "lock.gone");
        assert!(said["error"].as_str().unwrap().contains(item), "{said}");
        assert!(!world.project().join("marker").exists());
        world.json(&["verify", "--locked", TOOL]).fails(3, "lock.gone");
        // A copy elsewhere is not the one that was locked.
        if path == hook {
            world.write_home(".ai/tools/hooks/it.sh", world.read(".ai/tools/hooks/it.sh"));
            world.write_home(path, &bytes);
            world.json(&run).fails(3, "lock.gone");
        }
        // Without the lock it is gone, and a program that no hook lists goes on denying.
        match path == hook {
            true => world.refused(TOOL, "hook.unusable", 4),
            false => world.works(TOOL),
        }
        world.write(path, bytes);
    }
    world.json(&run).ok();
}
