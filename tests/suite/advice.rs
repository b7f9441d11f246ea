//! What rye says of a tool that failed: where, and what would mend it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use serde_json::Value;

use crate::world::{MARKER_SH, World};

/// A Python tool with lines in its header.
fn python(runtime: &str, header: &str, code: &str) -> String {
    format!(
        "# /// rye\n# version = \"1.0.0\"\n# executor_id = \"rye/core/runtimes/python/{runtime}\"\n\
         # description = \"x\"\n{header}# ///\n{code}"
    )
}

#[test]
fn a_traceback_names_the_files_that_the_author_has() {
    let world = World::new();
    world.write(".ai/tools/stats/lib/words.py", "def count(text):\n    return {}[text]\n");
    let code = "from lib import words\n\ndef execute(params):\n    return words.count('a')\n";
    for (runtime, more) in [("function", ""), ("script", "\nexecute(1)\n")] {
        let text = python(runtime, "# files = [\"lib/*.py\"]\n", &format!("{code}{more}"));
        world.write(".ai/tools/stats/summary.py", text);
        world.rye(&["sign", "tool:stats/summary"]).ok();
        let said = world.rye(&["run", "stats/summary"]);
        assert_eq!(said.status, 1, "{said:?}");
        let lines = said.stderr.lines().filter(|line| line.trim_start().starts_with("File "));
        let trace: Vec<_> = lines.collect();
        let last = trace.last().expect("a traceback");
        assert!(last.contains("File \".ai/tools/stats/lib/words.py\", line 2"), "{said:?}");
        assert!(trace[0].contains("File \".ai/tools/stats/summary.py\", line"), "{said:?}");
        assert!(said.stderr.contains("return {}[text]"), "the lines are shown: {said:?}");
        for own in ["run.py", "/pin/", "/rye/run"] {
            assert!(!trace.iter().any(|line| line.contains(own)), "{own}: {said:?}");
        }
    }
    world.signed(".ai/tools/stats/broken.py", &python("script", "", "import os\nos.nothing()\n"));
    world.rye(&["run", "stats/broken"]).warns("File \".ai/tools/stats/broken.py\", line");
}

#[test]
fn a_trace_of_node_and_of_bash_names_the_files_that_the_author_has() {
    let world = World::new();
    world.write(".ai/tools/stats/lib/words.cjs", "exports.count = () => { throw Error('no') }\n");
    let tools = [
        (
            "sum.js",
            "//",
            "node/node",
            "// files = [\"lib/*.cjs\"]\n",
            "import w from './lib/words.cjs'\nw.count()\n",
        ),
        ("count.sh", "#", "shell/script", "", "nosuchcommand\nexit 3\n"),
    ];
    let wanted = [".ai/tools/stats/lib/words.cjs:1", ".ai/tools/stats/count.sh: line 7: "];
    for ((file, sign, runtime, more, code), want) in tools.into_iter().zip(wanted) {
        let text = format!(
            "{sign} /// rye\n{sign} version = \"1.0.0\"\n{sign} description = \"x\"\n\
             {sign} executor_id = \"rye/core/runtimes/{runtime}\"\n{more}{sign} ///\n{code}"
        );
        world.write(&format!(".ai/tools/stats/{file}"), text);
        let item = format!("stats/{}", file.split('.').next().unwrap());
        world.rye(&["sign", &format!("tool:{item}")]).ok();
        let said = world.rye(&["run", &item]);
        let (_, json) = world.json(&["run", &item]);
        let live = world.rye_in_columns(200, &["run", &item]).stdout;
        for (form, said) in [("text", said.stderr), ("json", json.to_string()), ("live", live)] {
            assert!(said.contains(want), "{form}: {said}");
            assert!(!said.contains("file://") && !said.contains("/tool/"), "{form}: {said}");
        }
    }
}

#[test]
fn the_words_of_a_signature_line_in_a_string_are_written_in_two_parts() {
    let world = World::new();
    let tool = |words: &str| python("script", "", &format!("print('x'.startswith({words}))\n"));
    world.write(".ai/tools/acme/words.py", tool("\"# rye:signed:\""));
    let (_, said) = world.json(&["sign", "tool:acme/words"]);
    let said = said.to_string();
    let parts = "\"# rye:\" \"signed:\"";
    assert!(said.contains("verify.stray_signature_line"), "{said}");
    assert!(said.contains(&parts.replace('"', "\\\"")), "{said}");
    world.signed(".ai/tools/acme/words.py", &tool(parts));
    assert_eq!(world.rye(&["run", "acme/words"]).stdout, "False\n");
}

#[test]
fn whoever_said_no_is_not_told_to_look_for_a_person() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let asks: [&[&str]; 2] = [&["mv", "acme/mark", "acme/sign"], &["mcp", "install", "vscode"]];
    for args in asks {
        let said = world.rye_at_a_terminal("n\n", args);
        assert_eq!(said.code_shown(), "cli.not_confirmed", "{args:?}: {said:?}");
        assert!(
            said.stdout.contains("you did not say yes, so nothing was done"),
            "{args:?}: {said:?}"
        );
        assert!(said.stdout.contains("run it again if you change your mind"), "{said:?}");
        world
            .rye(args)
            .warns("nobody confirmed to ")
            .warns("a person has to run this on a terminal");
    }
}

#[test]
fn a_key_that_cannot_be_imported_is_told_as_what_it_is() {
    let world = World::new();
    let own = world.home().join(".ai/config/keys/signing/public_key.pem");
    let other = World::empty();
    let file = other.project().join("key.pem");
    std::fs::copy(own, &file).unwrap();
    other.rye(&["keys", "import", "key.pem"]).warns("key.pem").warns("a public one");
    std::fs::write(
        &file,
        format!("-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n", "OPENSSH PRIVATE KEY"),
    )
    .unwrap();
    other.rye(&["keys", "import", "key.pem"]).warns("a form of OpenSSH's own");
    std::fs::write(&file, "words\n").unwrap();
    let said = other.rye(&["keys", "import", "key.pem"]);
    let want = "key.pem` is not a valid Ed25519 private key\n";
    assert!(said.stderr.contains(want), "{said:?}");
}

#[test]
fn a_file_of_a_group_that_is_not_mine_can_be_signed() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/hello.sh", MARKER_SH);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
    // Whoever may give no file away is in the place of somebody who is not in the group.
    let held = ["setpriv", "--bounding-set=-chown"];
    let can = Command::new(held[0]).args([held[1], "true"]).output();
    let is_given = std::os::unix::fs::chown(&path, None, Some(4242)).is_ok();
    if !is_given || !can.is_ok_and(|output| output.status.success()) {
        eprintln!("not root: a file of a foreign group is not tried");
        return;
    }
    world.rye_under(&held, &["sign", "acme/hello"]).ok();
    let stat = std::fs::metadata(&path).unwrap();
    assert_eq!(stat.mode() & 0o777, 0o604, "the owner's own group gets nothing by it");
    world.works("tool:acme/hello");
}

#[test]
fn doctor_says_that_nothing_can_be_kept_in_a_home_that_cannot_be_written() {
    let world = World::new();
    world.rye(&["doctor"]).ok();
    let held = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    let can = Command::new(held[0]).args([held[1], "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("not root: a home that cannot be written is not tried");
        return;
    }
    let folder = world.home().join(".ai");
    let close = |mode| std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).unwrap();
    close(0o555);
    let said = world.rye_under(&held, &["doctor"]);
    close(0o755);
    assert!(said.stdout.contains("cannot be written") && said.status != 0, "{said:?}");
    // Nor in one that is to be made where nothing can be made.
    let world = World::empty();
    let close = |mode| {
        std::fs::set_permissions(world.home(), PermissionsExt::from_mode(mode)).unwrap();
    };
    close(0o555);
    let said = world.rye_under(&held, &["doctor"]);
    close(0o755);
    assert!(said.stdout.contains("cannot be made") && said.status == 4, "{said:?}");
}

#[test]
fn doctor_names_the_items_that_a_missing_program_keeps_from_running() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let empty = world.outside().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let path = empty.display().to_string();
    let doctor = || {
        let args = ["doctor", "--json"];
        let said = world.rye_env(&world.project(), &args, b"", &[("PATH", &path)]);
        let checks = said.json()["checks"].as_array().unwrap().clone();
        let rows = checks.into_iter().filter(|check| check["name"] == "program");
        let row = |check: Value| {
            let text = |key: &str| check[key].as_str().unwrap().to_owned();
            (text("state"), text("text"))
        };
        (said.status, rows.map(row).collect::<Vec<_>>())
    };
    let (status, rows) = doctor();
    let about = |program: &str| rows.iter().find(|row| row.1.starts_with(program)).unwrap();
    assert_eq!((status, rows.len()), (4, 3), "{rows:?}");
    let (state, text) = about("bash");
    assert_eq!(state, "bad");
    assert_eq!(text, "bash is not on PATH, and tool:acme/mark cannot run without it");
    let (state, text) = about("python3");
    assert!(state == "bad" && text.contains("tool:rye/file-system/"), "{text}");
    assert_eq!(about("node"), &("note".to_owned(), "node is not on PATH".to_owned()));
    // What nothing needs is worth a note; what something needs is not.
    world.rye(&["new", "tool", "acme/plain.mjs"]).ok();
    world.rye(&["sign", "acme/plain"]).ok();
    let (_, rows) = doctor();
    assert!(rows.iter().any(|(state, text)| state == "bad" && text.contains("tool:acme/plain")));
}

#[test]
fn doctor_says_that_colleagues_do_not_find_a_key_that_the_project_does_not_propose() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let says = || world.rye(&["doctor"]).stdout.contains("`rye trust propose`");
    assert!(says());
    world.rye(&["trust", "propose", "--owner", "Ann"]).ok();
    assert!(!says());
}

#[test]
fn typescript_on_a_node_that_is_too_old_is_told_in_a_line_and_not_in_a_stack() {
    let Some(node) = find("node") else {
        eprintln!("no `node` here: TypeScript on an older one is not tried");
        return;
    };
    let world = World::new();
    world.rye(&["new", "tool", "acme/typed.ts"]).ok();
    world.rye(&["sign", "acme/typed"]).ok();
    let bin = world.outside().join("old");
    std::fs::create_dir_all(&bin).unwrap();
    // A newer Node.js is told to leave the types in; an older one knows no such word.
    let word = "--no-experimental-strip-types";
    let knows = Command::new(&node).args([word, "--version"]).output().unwrap().status.success();
    let word = if knows { word } else { "" };
    let old = format!("#!/bin/sh\nexec '{node}' {word} \"$@\"\n");
    std::fs::write(bin.join("node"), old).unwrap();
    std::fs::set_permissions(bin.join("node"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = |args: &[&str]| world.rye_env(&world.project(), args, b"", &[("PATH", &path)]);
    let said = run(&["execute", "acme/typed", "name=Ada"]);
    assert_eq!(said.status, 1, "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert!(lines[0].starts_with("TypeScript takes Node.js 22.18 or later; this is v"), "{said:?}");
    assert_eq!(lines.len(), 3, "no stack: {said:?}");
    assert!(lines[1].starts_with("error[execute.tool_failed]: `tool:acme/typed`"), "{said:?}");
}

/// The path of a program, by the shell's own search.
fn find(program: &str) -> Option<String> {
    let output = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim().to_owned())
}
