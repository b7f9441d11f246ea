//! Promises that were broken once, each with the way it was broken.

use std::fs;

use serde_json::json;

use crate::world::{MARKER_SH, World, program};

#[test]
fn signing_never_takes_code_away() {
    let world = World::new();
    let code =
        "import os  # rye:signed: reviewed\n__executor_id__ = 'rye/core/runtimes/python/script'\n";
    world.write(".ai/tools/acme/x.py", code);
    world.rye(&["sign", "acme/x"]).fails(4, "verify.malformed");
    assert_eq!(world.read(".ai/tools/acme/x.py"), code.as_bytes());
}

#[test]
fn the_file_tools_keep_off_signing_keys_wherever_they_lie() {
    let Some(world) = World::new().at_home() else { return };
    // The folder above holds the project and the home with its keys.
    let above = world.outside().to_owned();
    let read = |tool: &str, name: &str, value: &str| {
        let input = format!("{name}={value}");
        let item = format!("tool:rye/file-system/{tool}");
        world.rye_in(&above, &["execute", &item, "-i", &input, "--json"], b"")
    };
    fs::write(above.join("plain.txt"), "PRIVATE").unwrap();
    assert_eq!(read("read", "path", "plain.txt").json()["status"], "success");
    let key = "home/.ai/config/keys/signing/private_key.pem";
    assert!(above.join(key).is_file());
    for path in [key, "home/.AI/config/KEYS/signing/private_key.pem", "home/.ai/config/keys"] {
        let said = read("read", "path", path);
        assert_eq!(said.status, 1, "{said:?}");
        assert!(!said.stdout.contains("BEGIN"), "{said:?}");
    }
    let found = read("grep", "pattern", "PRIVATE").json();
    let paths: Vec<_> =
        found["data"]["matches"].as_array().unwrap().iter().map(|m| &m["path"]).collect();
    assert_eq!(paths, [&json!("plain.txt")]);
    let found = read("glob", "pattern", "**/*.pem").json();
    assert_eq!(found["data"]["paths"], json!([]));
}

#[test]
fn a_folder_that_is_not_there_is_told_by_the_dry_run() {
    let world = World::new();
    let config = "{command: pwd, cwd: sub}";
    let tool = format!(
        "version: 1.0.0\nexecutor_id: rye/core/runtimes/native/program\nconfig: {config}\n"
    );
    world.signed(".ai/tools/where.yaml", &tool);
    world.rye(&["execute", "where", "--dry-run"]).fails(6, "plan.bad_config");
    fs::create_dir(world.project().join("sub")).unwrap();
    let project = world.project().display().to_string();
    // From elsewhere too: a relative folder is the project's.
    let said = world.rye_in(world.outside(), &["-p", &project, "execute", "where"], b"");
    assert_eq!(said.stdout.trim_end(), format!("{project}/sub"), "{said:?}");
}

#[test]
fn a_process_that_was_there_before_is_not_swept_away() {
    let world = World::new();
    let got =
        world.shell("sleep 60 > /dev/null 2>&1 & echo $! > ../pid; exec rye execute rye/bash -i command='echo hi'");
    assert_eq!(got, "hi\n");
    let pid = fs::read_to_string(world.outside().join("pid")).unwrap().trim().to_owned();
    let alive =
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains("sleep"));
    assert!(alive, "the sleep that the shell started is gone");
    world.shell(&format!("kill {pid}"));
}

#[test]
fn one_file_that_cannot_be_used_does_not_stop_a_batch() {
    let world = World::new();
    for path in ["a.sh", "twin.sh", "twin.rb", "z.sh"] {
        world.write(&format!(".ai/tools/acme/{path}"), MARKER_SH);
    }
    let (status, got) = world.json(&["sign", "tool:acme/*"]);
    assert_eq!((status, &got["changed"], &got["failed"]), (3, &json!(2), &json!(1)), "{got}");
    world.works("tool:acme/a");
    world.works("tool:acme/z");
}

#[test]
fn a_run_is_remembered_although_a_child_forgets_its_name() {
    let world = World::new().with_file(".ai/tools/acme/other.sh", MARKER_SH);
    let rye = program();
    let script = MARKER_SH
        .replace(": > marker", &format!("env -u RYE_RUN_ID setsid {rye} sign tool:acme/other"));
    world.signed(".ai/tools/acme/sly.sh", &script);
    world.rye(&["execute", "acme/sly"]);
    assert_eq!(
        world.read(".ai/tools/acme/other.sh"),
        MARKER_SH.as_bytes(),
        "it was signed unasked"
    );
}

#[test]
fn an_answer_that_is_lost_is_no_success() {
    let world = World::new();
    let got = world.shell("rye list > /dev/full; echo $?");
    assert!(got.contains("error[cli.output]") && got.ends_with("2\n"), "{got}");
    assert_eq!(
        world.shell(
            "rye fetch knowledge:rye/overview | head -n 1 > /dev/null; echo ${PIPESTATUS[0]}"
        ),
        "0\n"
    );
}

#[test]
fn a_page_is_there_where_the_folder_is_refused() {
    let world = World::empty();
    world.write(".ai", "no folder");
    assert_eq!(world.rye(&["list"]).code(), "space.not_a_file");
    world.rye(&["explain", "space.not_a_file"]).ok().shows("## What to do");
}
