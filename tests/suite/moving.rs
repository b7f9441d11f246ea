//! `rye mv`: an item gets another id, with what belongs to it and what names it.

use std::fs;

use serde_json::json;

use crate::world::{MARKER_SH, World};

const RUNTIME: &str = "version: 1.0.0\ntool_type: runtime\n\
    executor_id: rye/core/primitives/execute\ndescription: x\ncategory: acme\n\
    env_config: {}\nconfig: {command: sh, args: ['{tool_path}']}\n";

const DIRECTIVE: &str = "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">\n\
    <metadata><description>x</description><author>a</author><category>acme</category></metadata>\n\
    <process><execute item_type=\"tool\" item_id=\"acme/hello\"/></process>\n</directive>\n```\n\n\
    Call acme/hello.\n";

/// What a file of the project holds without its signature line.
fn rest(world: &World, path: &str) -> String {
    let text = String::from_utf8(world.read(path)).unwrap();
    let lines = text.lines().filter(|line| !line.contains("rye:signed:"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn is_there(world: &World, path: &str) -> bool {
    world.project().join(path).exists()
}

#[test]
fn what_is_yours_moves_with_its_spec_its_lock_row_and_its_references() {
    let world = World::new();
    world.signed(".ai/tools/acme/hello.sh", MARKER_SH);
    world.write(".ai/tools/acme/hello.test.yaml", "cases: [{name: one, dry_run: true}]\n");
    world.signed(".ai/directives/acme/greet.md", DIRECTIVE);
    assert_eq!(world.rye(&["lock"]).status, 0);
    let before = world.snapshot();

    let args = ["mv", "acme/hello", "other/hi"];
    let shown = world.rye(&[&args[..], &["--dry-run"]].concat());
    assert_eq!(shown.status, 0, "{shown:?}");
    for want in [
        "tool:acme/hello to tool:other/hi",
        ".ai/tools/acme/hello.test.yaml to .ai/tools/other/hi.test.yaml",
        "directive:acme/greet, which names it",
        "2 rows of .ai/rye.lock",
        ".ai/directives/acme/greet.md:11: it has these words in its text",
    ] {
        assert!(shown.stdout.contains(want), "{want}: {shown:?}");
    }
    let asked = world.rye(&args);
    assert_eq!(asked.code(), "cli.not_confirmed", "nobody is at a terminal: {asked:?}");
    assert_eq!(world.snapshot(), before, "nothing was written by either");

    let (status, said) = world.json(&[&args[..], &["--yes"]].concat());
    assert_eq!(status, 0, "{said}");
    assert_eq!(said["item_id"], "tool:other/hi", "{said}");
    assert_eq!((&said["signed"], &said["lock_rows"]), (&json!(true), &json!(2)), "{said}");
    for gone in [".ai/tools/acme/hello.sh", ".ai/tools/acme/hello.test.yaml"] {
        assert!(!is_there(&world, gone), "{gone}");
    }
    let moved = MARKER_SH.replace("category = \"acme\"", "category = \"other\"");
    assert_eq!(rest(&world, ".ai/tools/other/hi.sh"), moved);
    world.works("tool:other/hi");
    assert!(is_there(&world, ".ai/tools/other/hi.test.yaml"));
    let greet = rest(&world, ".ai/directives/acme/greet.md");
    assert!(
        greet.contains("item_id=\"other/hi\"") && greet.contains("Call acme/hello."),
        "{greet}"
    );
    assert_eq!(world.rye(&["verify", "directive:acme/greet"]).status, 0);
    let lock = world.rye(&["lock", "--check"]);
    assert_eq!(lock.status, 0, "the lock says what is there: {lock:?}");
    let text = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    assert!(text.contains("tool:other/hi") && !text.contains("acme/hello"), "{text}");
}

#[test]
fn a_runtime_and_a_directive_take_their_names_along() {
    let world = World::new();
    world.signed(".ai/tools/acme/run.yaml", RUNTIME);
    let tool = MARKER_SH.replace("rye/core/runtimes/shell/script", "acme/run");
    world.signed(".ai/tools/acme/hello.sh", &tool);
    // A path is a ref, and so is the one that the file is to have.
    let said = world.rye(&["mv", ".ai/tools/acme/run.yaml", ".ai/tools/base/sh.yaml", "--yes"]);
    assert_eq!(said.status, 0, "{said:?}");
    assert!(rest(&world, ".ai/tools/base/sh.yaml").contains("category: base\n"));
    assert_eq!(rest(&world, ".ai/tools/acme/hello.sh"), tool.replace("acme/run", "base/sh"));
    let said = world.rye(&["run", "acme/hello", "--dry-run"]);
    assert_eq!(said.status, 0, "{said:?}");

    world.signed(".ai/directives/acme/greet.md", &DIRECTIVE.replace("acme/hello", "acme/x"));
    let args = ["mv", "directive:acme/greet", "welcome_all.md"];
    let said = world.rye_at_a_terminal("n\n", &args);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    let said = world.rye_at_a_terminal("y\n", &args);
    assert_eq!(said.status, 0, "{said:?}");
    let asked = "move `directive:acme/greet` to `directive:welcome_all`? [y/N]";
    assert!(said.stdout.contains(asked), "{said:?}");
    let text = rest(&world, ".ai/directives/welcome_all.md");
    assert!(text.contains("<directive name=\"welcome_all\""), "{text}");
    assert!(text.contains("<category></category>"), "{text}");
    assert_eq!(world.rye(&["verify", "directive:welcome_all"]).status, 0);
}

#[test]
fn what_is_not_yours_stays_and_is_named() {
    let world = World::new();
    let other = World::new();
    other.signed(".ai/tools/acme/theirs.sh", MARKER_SH);
    let theirs = other.read(".ai/tools/acme/theirs.sh");
    world.write(".ai/tools/acme/theirs.sh", &theirs);
    let before = world.snapshot();
    let said = world.rye(&["mv", "acme/theirs", "acme/mine", "--yes"]);
    assert_eq!((said.status, said.code().as_str()), (4, "author.cannot_move"), "{said:?}");
    assert!(said.stderr.contains("somebody else signed it"), "{said:?}");
    assert_eq!(world.snapshot(), before);

    // What names the item and is not yours is left, and a hook that would no longer watch it too.
    world.signed(".ai/tools/acme/hello.sh", MARKER_SH);
    let unsigned = DIRECTIVE.replace("# Greet", "# Unsigned");
    world.write(".ai/directives/acme/greet.md", &unsigned);
    let hook = "version: 1.0.0\ntool_type: hook\n\
                executor_id: rye/core/runtimes/exec/oneshot\ndescription: x\nhook: tool\n\
                phases: [before_execution]\nmatch: ['tool:acme/**']\n\
                exec: {command: ./ask.sh, files: [ask.sh]}\n";
    world.write(".ai/tools/hooks/watch.yaml", hook);
    let (status, said) = world.json(&["mv", "acme/hello", "b/hello", "--yes"]);
    assert_eq!(status, 0, "{said}");
    let left: Vec<_> = said["left"].as_array().unwrap().iter().map(|left| &left["path"]).collect();
    assert!(left.contains(&&json!(".ai/directives/acme/greet.md")), "{said}");
    assert!(left.contains(&&json!(".ai/tools/hooks/watch.yaml")), "{said}");
    assert_eq!(rest(&world, ".ai/directives/acme/greet.md"), unsigned);

    // What nobody signed moves unsigned.
    world.write(".ai/tools/acme/new.sh", MARKER_SH);
    let (status, said) = world.json(&["mv", "acme/new", "acme/newer", "--yes"]);
    assert_eq!((status, &said["signed"]), (0, &json!(false)), "{said}");
    assert_eq!(String::from_utf8(world.read(".ai/tools/acme/newer.sh")).unwrap(), MARKER_SH);
}

#[test]
fn a_place_that_is_taken_of_another_kind_or_of_rye_is_refused() {
    let world = World::new();
    world.signed(".ai/tools/acme/hello.sh", MARKER_SH);
    world.signed(".ai/tools/acme/taken.sh", &MARKER_SH.replace("echo", "echo other;"));
    let changed = world.signed(".ai/tools/acme/changed.sh", MARKER_SH);
    fs::write(&changed, [fs::read(&changed).unwrap(), b"# more\n".to_vec()].concat()).unwrap();
    world.write(".ai/tools/acme/lib/x.sh", "echo x\n");
    let listing = MARKER_SH.replace("# ///\n", "# files = [\"lib/*.sh\"]\n# ///\n");
    world.write(".ai/tools/acme/listing.sh", listing);
    assert_eq!(world.rye(&["sign", "acme/listing"]).status, 0);
    let before = world.snapshot();
    let rows: [(&str, &str, &str); 10] = [
        ("acme/hello", "acme/taken", "author.exists"),
        ("acme/hello", "directive:acme/hi", "cli.usage"),
        ("acme/hello", "tool:acme/hi@user", "cli.usage"),
        ("acme/hello", ".ai/tools/acme/hi.py", "cli.usage"),
        ("acme/hello", "../elsewhere.sh", "cli.usage"),
        ("acme/hello", "rye/hello", "sign.reserved"),
        ("acme/hello", "acme/hello", "author.cannot_move"),
        ("rye/bash", "acme/bash", "sign.embedded"),
        ("acme/changed", "acme/hi", "author.cannot_move"),
        ("acme/nobody", "acme/hi", "resolve.not_found"),
    ];
    for (from, to, code) in rows {
        let said = world.rye(&["mv", from, to, "--yes"]);
        assert_eq!(said.code(), code, "{from} to {to}: {said:?}");
    }
    let said = world.rye(&["mv", "acme/listing", "b/listing", "--yes"]);
    assert_eq!(said.code(), "author.cannot_move", "{said:?}");
    assert_eq!(world.snapshot(), before, "nothing was written");
    let said = world.rye(&["mv", "acme/listing", "acme/lists", "--yes"]);
    assert_eq!(said.status, 0, "in its folder it finds its files: {said:?}");
    assert_eq!(world.rye(&["verify", "acme/lists"]).status, 0);
}

#[test]
fn a_move_that_was_cut_off_loses_nothing_and_is_finished_by_the_same_words() {
    let world = World::new();
    world.signed(".ai/tools/acme/hello.sh", MARKER_SH);
    world.write(".ai/tools/acme/hello.test.yaml", "cases: [{name: one, dry_run: true}]\n");
    assert_eq!(world.rye(&["lock"]).status, 0);
    let old = world.read(".ai/tools/acme/hello.sh");
    let lock = world.read(".ai/rye.lock");
    // As if killed when the new file was placed, when it was signed, and before the old one went.
    let unsigned = MARKER_SH.as_bytes().to_vec();
    let said = world.rye(&["mv", "acme/hello", "acme/hi", "--yes"]);
    assert_eq!(said.status, 0, "{said:?}");
    let signed = world.read(".ai/tools/acme/hi.sh");
    let after = world.read(".ai/rye.lock");
    for (new, lock) in [(unsigned, &lock), (signed.clone(), &lock), (signed, &after)] {
        world.write(".ai/tools/acme/hello.sh", &old);
        world.write(".ai/tools/acme/hello.test.yaml", "cases: [{name: one, dry_run: true}]\n");
        world.write(".ai/tools/acme/hi.sh", &new);
        world.write(".ai/rye.lock", lock);
        world.works("tool:acme/hello");
        let said = world.rye(&["lock", "--check"]);
        let told = [said.stdout.as_str(), &said.stderr].concat();
        assert!(told.contains("tool:acme/h"), "the lock tells of it: {said:?}");
        let said = world.rye(&["mv", "acme/hello", "acme/hi", "--yes"]);
        assert_eq!(said.status, 0, "{said:?}");
        assert!(!is_there(&world, ".ai/tools/acme/hello.sh"));
        assert!(!is_there(&world, ".ai/tools/acme/hello.test.yaml"));
        world.works("tool:acme/hi");
        assert_eq!(world.rye(&["lock", "--check"]).status, 0);
    }
}
