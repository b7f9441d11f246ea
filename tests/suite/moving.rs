//! `rye mv`: an item gets another id, with what belongs to it and what names it.

use std::fs;

use serde_json::json;

use crate::files::{COUNT, package};
use crate::lock::{put, sh};
use crate::world::{End, MARKER_SH, World, seconds_from_now};

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
    let world = World::new().with(".ai/tools/acme/hello.sh", MARKER_SH);
    world.write(".ai/tools/acme/hello.test.yaml", "cases: [{name: one, dry_run: true}]\n");
    world.signed(".ai/directives/acme/greet.md", DIRECTIVE);
    world.rye(&["lock"]).ok();
    let before = world.snapshot();

    let args = ["mv", "acme/hello", "other/hi"];
    let shown = world.rye(&[&args[..], &["--dry-run"]].concat()).ok();
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
    world.rye(&["verify", "directive:acme/greet"]).ok();
    let lock = world.rye(&["lock", "--check"]);
    assert_eq!(lock.status, 0, "the lock says what is there: {lock:?}");
    let text = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    assert!(text.contains("tool:other/hi") && !text.contains("acme/hello"), "{text}");
}

#[test]
fn a_runtime_and_a_directive_take_their_names_along() {
    let world = World::new().with(".ai/tools/acme/run.yaml", RUNTIME);
    let tool = MARKER_SH.replace("rye/core/runtimes/shell/script", "acme/run");
    world.signed(".ai/tools/acme/hello.sh", &tool);
    // A path is a ref, and so is the one that the file is to have.
    world.rye(&["mv", ".ai/tools/acme/run.yaml", ".ai/tools/base/sh.yaml", "--yes"]).ok();
    assert!(rest(&world, ".ai/tools/base/sh.yaml").contains("category: base\n"));
    assert_eq!(rest(&world, ".ai/tools/acme/hello.sh"), tool.replace("acme/run", "base/sh"));
    world.rye(&["run", "acme/hello", "--dry-run"]).ok();

    world.signed(".ai/directives/acme/greet.md", &DIRECTIVE.replace("acme/hello", "acme/x"));
    let args = ["mv", "directive:acme/greet", "welcome_all.md"];
    let said = world.rye_at_a_terminal("n\n", &args);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    let said = world.rye_at_a_terminal("y\n", &args).ok();
    let asked = "move `directive:acme/greet` to `directive:welcome_all`? [y/N]";
    assert!(said.stdout.contains(asked), "{said:?}");
    let text = rest(&world, ".ai/directives/welcome_all.md");
    assert!(text.contains("<directive name=\"welcome_all\""), "{text}");
    assert!(text.contains("<category></category>"), "{text}");
    world.rye(&["verify", "directive:welcome_all"]).ok();
}

#[test]
fn what_is_not_yours_stays_and_is_named() {
    let world = World::new();
    let other = World::new();
    other.signed(".ai/tools/acme/theirs.sh", MARKER_SH);
    let theirs = other.read(".ai/tools/acme/theirs.sh");
    world.write(".ai/tools/acme/theirs.sh", &theirs);
    let before = world.snapshot();
    world
        .rye(&["mv", "acme/theirs", "acme/mine", "--yes"])
        .fails(4, "author.cannot_move")
        .warns("somebody else signed it");
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
    let said = world.json(&["mv", "acme/hello", "b/hello", "--yes"]).ok();
    let left: Vec<_> = said["left"].as_array().unwrap().iter().map(|left| &left["path"]).collect();
    assert!(left.contains(&&json!(".ai/directives/acme/greet.md")), "{said}");
    assert!(left.contains(&&json!(".ai/tools/hooks/watch.yaml")), "{said}");
    assert_eq!(rest(&world, ".ai/directives/acme/greet.md"), unsigned);

    // What nobody signed moves unsigned.
    world.write(".ai/tools/acme/new.sh", MARKER_SH);
    assert_eq!(world.json(&["mv", "acme/new", "acme/newer", "--yes"]).ok()["signed"], false);
    assert_eq!(String::from_utf8(world.read(".ai/tools/acme/newer.sh")).unwrap(), MARKER_SH);
}

#[test]
fn a_place_that_is_taken_of_another_kind_or_of_rye_is_refused() {
    let world = World::new()
        .with(".ai/tools/acme/hello.sh", MARKER_SH)
        .with(".ai/tools/acme/taken.sh", &MARKER_SH.replace("echo", "echo other;"));
    let changed = world.signed(".ai/tools/acme/changed.sh", MARKER_SH);
    fs::write(&changed, [fs::read(&changed).unwrap(), b"# more\n".to_vec()].concat()).unwrap();
    world.write(".ai/tools/acme/lib/x.sh", "echo x\n");
    let listing = MARKER_SH.replace("# ///\n", "# files = [\"lib/*.sh\"]\n# ///\n");
    world.write(".ai/tools/acme/listing.sh", listing);
    world.rye(&["sign", "acme/listing"]).ok();
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
    assert_eq!(world.snapshot(), before, "nothing was written");
    let said = world.rye(&["mv", "acme/listing", "acme/lists", "--yes"]);
    assert_eq!(said.status, 0, "in its folder it finds its files: {said:?}");
    world.rye(&["verify", "acme/lists"]).ok();
}

#[test]
fn a_move_that_was_cut_off_loses_nothing_and_is_finished_by_the_same_words() {
    let world = World::new().with(".ai/tools/acme/hello.sh", MARKER_SH);
    world.write(".ai/tools/acme/hello.test.yaml", "cases: [{name: one, dry_run: true}]\n");
    world.rye(&["lock"]).ok();
    let old = world.read(".ai/tools/acme/hello.sh");
    let lock = world.read(".ai/rye.lock");
    // As if killed when the new file was placed, when it was signed, and before the old one went.
    let unsigned = MARKER_SH.as_bytes().to_vec();
    world.rye(&["mv", "acme/hello", "acme/hi", "--yes"]).ok();
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
        world.rye(&["mv", "acme/hello", "acme/hi", "--yes"]).ok();
        assert!(!is_there(&world, ".ai/tools/acme/hello.sh"));
        assert!(!is_there(&world, ".ai/tools/acme/hello.test.yaml"));
        world.works("tool:acme/hi");
        world.rye(&["lock", "--check"]).ok();
    }
}

/// A tool that lists one of the files of [`package`] too.
const OTHER: &str = "#!/bin/sh\n# /// rye\n# version = \"1.0.0\"\n\
    # executor_id = \"rye/core/runtimes/shell/script\"\n# description = \"x\"\n\
    # files = [\"data/stop.json\"]\n# ///\ncat \"$(dirname \"$0\")/data/stop.json\"\n";

/// The files of [`package`] below the tool's folder.
const FILES: [&str; 5] = [
    "lib/__init__.py",
    "lib/words.py",
    "lib/deep/__init__.py",
    "lib/deep/more.py",
    "data/stop.json",
];

#[track_caller]
fn counts_as(world: &World, item: &str) {
    let (status, got) = world.json(&["run", item, "text=the big world"]);
    assert_eq!((status, &got["data"]["count"], &got["data"]["loud"]), (0, &json!(2), &json!("X1")));
    world.rye(&["verify", "--all", "--ci"]).ok();
    world.rye(&["lock", "--check"]).ok();
}

#[test]
fn the_files_of_a_tool_move_with_it_and_those_of_others_stay() {
    let world = World::new();
    package(&world);
    world.write(".ai/tools/acme/words/other.sh", OTHER);
    world.write(".ai/tools/acme/words/lib/deep/more.py.bak", "x");
    world.rye(&["sign", "tool:acme/**"]).ok();
    world.shell("chmod 755 .ai/tools/acme/words/lib/words.py");
    world.rye(&["lock"]).ok();
    let before = world.snapshot();
    let shown = world.rye(&["mv", COUNT, "b/deep/tally", "--dry-run"]);
    for want in [
        ".ai/tools/acme/words/lib/deep/more.py to .ai/tools/b/deep/lib/deep/more.py\n",
        "copy      .ai/tools/acme/words/data/stop.json to .ai/tools/b/deep/data/stop.json: \
         it stays for `tool:acme/words/other`, which lists it too",
    ] {
        assert!(shown.stdout.contains(want), "{want}: {shown:?}");
    }
    assert_eq!(world.snapshot(), before);
    let (status, said) = world.json(&["mv", COUNT, "b/deep/tally", "--yes"]);
    assert_eq!((status, said["files"].as_array().map(Vec::len)), (0, Some(5)), "{said}");
    counts_as(&world, "b/deep/tally");
    for file in FILES {
        assert!(is_there(&world, &format!(".ai/tools/b/deep/{file}")), "{file}");
        let stays = is_there(&world, &format!(".ai/tools/acme/words/{file}"));
        assert_eq!(stays, file == "data/stop.json", "{file}");
    }
    assert!(is_there(&world, ".ai/tools/acme/words/lib/deep/more.py.bak"), "nobody listed it");
    let mode = world.shell("stat -c %a .ai/tools/b/deep/lib/words.py");
    assert_eq!(mode.trim(), "755");
    world.rye(&["run", "acme/words/other"]).ok();
    // The other one finds its file there already, and nobody needs the old one then.
    world.rye(&["mv", "acme/words/other", "b/deep/other", "--yes"]).ok();
    assert!(!is_there(&world, ".ai/tools/acme/words/data"), "with its folder");
    counts_as(&world, "b/deep/tally");

    // What nobody signed takes its files along, too.
    let clone = World::new();
    package(&clone);
    assert_eq!(clone.json(&["mv", COUNT, "b/tally", "--yes"]).ok()["signed"], false);
    assert!(is_there(&clone, ".ai/tools/b/data/stop.json"));
    assert!(!is_there(&clone, ".ai/tools/acme"), "nothing is left there");
}

#[test]
fn a_tool_whose_files_cannot_go_with_it_stays_and_says_which_and_why() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    world.write(".ai/tools/b/lib/stray.py", "x = 1\n");
    world.write(".ai/tools/c/data/stop.json", "[]");
    world.write(".ai/tools/own/part.sh", MARKER_SH);
    let own = OTHER.replace("data/stop.json", "part.sh");
    world.write(".ai/tools/own/lists.sh", own);
    world.rye(&["sign", "own/part"]).ok();
    world.rye(&["sign", "own/lists"]).ok();
    let wide = OTHER.replace("data/stop.json", "**/*.sh");
    world.write(".ai/tools/wide/all.sh", wide);
    world.write(".ai/tools/wide/one.sh", "");
    world.rye(&["sign", "wide/all"]).ok();
    let elsewhere = world.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir(world.project().join(".ai/tools/link")).unwrap();
    let link = world.project().join(".ai/tools/link/lib");
    std::os::unix::fs::symlink(&elsewhere, link).unwrap();
    let before = world.snapshot();
    let rows = [
        (COUNT, "b/count", "author.cannot_move", ".ai/tools/b/lib/stray.py` too"),
        (COUNT, "c/count", "author.exists", ".ai/tools/c/data/stop.json"),
        (COUNT, "link/count", "space.symlink", ".ai/tools/link/lib"),
        ("own/lists", "d/lists", "author.cannot_move", "which is `tool:own/part`"),
        ("wide/all", "wide/rest", "author.cannot_move", ".ai/tools/wide/all.sh` too"),
        ("wide/all", "wide/deep/all", "author.cannot_move", ".ai/tools/wide/deep/all.sh` too"),
        (".ai/tools/acme/words/lib/words.py", "acme/x", "author.cannot_move", COUNT),
    ];
    for (from, to, code, why) in rows {
        let said = world.rye(&["mv", from, to, "--yes"]);
        assert_eq!(said.code(), code, "{from} to {to}: {said:?}");
        assert!(said.stderr.contains(why), "{from} to {to}: {said:?}");
        assert_eq!(world.snapshot(), before, "{from} to {to}: nothing was written");
    }
    // A file that is not what was signed is nobody's to sign by the way.
    world.write(".ai/tools/acme/words/data/stop.json", "[\"a\"]\n");
    world.rye(&["mv", COUNT, "e/count", "--yes"]).fails_with("author.cannot_move");
}

#[test]
fn a_move_with_files_that_was_cut_off_is_finished_by_the_same_words() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    world.rye(&["lock"]).ok();
    let lock = world.read(".ai/rye.lock");
    world.shell("cp -r .ai/tools ../old");
    world.rye(&["mv", COUNT, "b/tally", "--yes"]).ok();
    let after = world.read(".ai/rye.lock");
    world.shell("cp -r .ai/tools ../new");
    // As if killed when some files were placed, all with the tool unsigned, the tool signed, the
    // lock written, and some of the old files gone.
    let steps = [
        ("cp -r ../old/. .ai/tools && mkdir .ai/tools/b && cp -r ../new/b/lib .ai/tools/b", &lock),
        ("cp -r ../old/. ../new/. .ai/tools && sed -i /rye:signed/d .ai/tools/b/tally.py", &lock),
        ("cp -r ../old/. ../new/. .ai/tools", &lock),
        ("cp -r ../old/. ../new/. .ai/tools", &after),
        ("cp -r ../old/. ../new/. .ai/tools && rm -r .ai/tools/acme/words/lib", &after),
        ("cp -r ../old/. ../new/. .ai/tools && rm -r .ai/tools/acme/words/[ld]*", &after),
    ];
    for (step, lock) in steps {
        world.shell(&format!("rm -rf .ai/tools && mkdir -p .ai/tools && {step}"));
        world.write(".ai/rye.lock", lock);
        let said = world.rye(&["mv", COUNT, "b/tally", "--yes"]);
        assert_eq!(said.status, 0, "{step}: {said:?}");
        counts_as(&world, "b/tally");
        assert!(!is_there(&world, ".ai/tools/acme"), "{step}");
    }
    world.rye(&["mv", COUNT, "b/tally", "--yes"]).fails_with("resolve.not_found");
}

#[test]
fn an_old_version_that_came_back_is_not_made_new_by_a_move() {
    let world = World::new();
    let path = ".ai/tools/acme/hello.sh";
    let old = put(&world, path, &sh("one"), &seconds_from_now(-500));
    put(&world, path, &sh("two"), &seconds_from_now(-400));
    let runs = ".ai/directives/acme/greet.md";
    let names = put(&world, runs, DIRECTIVE, &seconds_from_now(-500));
    put(&world, runs, &format!("{DIRECTIVE}\nMore.\n"), &seconds_from_now(-400));
    world.rye(&["lock"]).ok();
    let mv = ["mv", "acme/hello", "acme/hi", "--yes"];
    let dry = |world: &World| world.json(&[&mv[..], &["--dry-run"]].concat()).1.to_string();
    assert!(dry(&world).contains("\"signed\":true"), "the fixture is good: {}", dry(&world));

    // Of what names it: left, and said.
    world.write(runs, &names);
    let said = world.rye(&mv[..3]);
    assert!(!said.stdout.contains("greet, which names it"), "{said:?}");
    assert!(said.stdout.contains("the lock lists another") || said.stdout.contains("did not sign"));
    // Of the item itself: refused.
    world.write(path, &old);
    let before = world.snapshot();
    let said = world.rye(&mv).fails(4, "author.cannot_move");
    assert_eq!(world.snapshot(), before, "{said:?}");
    assert_eq!(world.run("tool:acme/hello"), (4, "verify.rolled_back".into()));
    // One that is newer than the lock is no old one; all the same its row is not taken over.
    put(&world, path, &sh("three"), &seconds_from_now(-300));
    world.works("tool:acme/hello");
    world.rye(&mv).warns("`rye lock --update tool:acme/hello`");
    world.rye(&["lock", "--update", "tool:acme/hello"]).ok();
    world.rye(&mv).ok();
    world.rye(&["run", "acme/hi", "--locked"]).ok();
}

#[test]
fn what_was_made_without_a_folder_moves_into_one_and_back() {
    let world = World::new();
    let made = [("python", "py"), ("bash", "sh"), ("js", "mjs"), ("yaml", "yaml")];
    for (lang, ext) in made {
        let name = format!("of_{lang}");
        world.rye(&["new", "tool", &name, "--lang", lang]).ok();
        world.rye(&["sign", &name]).ok();
        let (first, other) = (format!(".ai/tools/{name}.{ext}"), format!("acme/{name}"));
        let before = rest(&world, &first);
        assert!(before.contains("\"\""), "it says that it is in no folder: {before}");
        let said = world.rye(&["mv", &name, &other, "--yes"]);
        assert_eq!(said.status, 0, "{lang}: {said:?}");
        let now = rest(&world, &format!(".ai/tools/{other}.{ext}"));
        assert!(now.contains("\"acme\""), "{lang}: {now}");
        let said = world.rye(&["mv", &other, &name, "--yes"]);
        assert_eq!(said.status, 0, "{lang}: {said:?}");
        assert_eq!(rest(&world, &first), before, "{lang}");
    }
    world.rye(&["new", "directive", "greet"]).ok();
    world.rye(&["sign", "directive:greet"]).ok();
    world.rye(&["mv", "directive:greet", "acme/greet", "--yes"]).ok();
    assert!(rest(&world, ".ai/directives/acme/greet.md").contains("<category>acme</category>"));
}

/// Names in a file's words, and those that rye reads, and if the latter are renamed.
#[test]
fn the_names_in_a_file_are_renamed_among_its_words_or_the_file_is_left_table() {
    let (spec, directive) = (".ai/tools/acme/other.test.yaml", ".ai/directives/acme/greet.md");
    for (words, names, is_renamed) in
        [(0, 300, true), (1, 16, true), (30, 40, true), (1, 100, false)]
    {
        let world = World::new().with(".ai/tools/acme/hello.sh", MARKER_SH);
        let case = "- {name: acme/hello, dry_run: true}\n".repeat(words);
        let scored = "- {name: x, dry_run: true, evals: [{eval: acme/hello, min: 1}]}\n";
        world.write(spec, format!("cases:\n{case}{}", scored.repeat(names)));
        let action = "<execute item_type=\"tool\" item_id=\"acme/hello\"/>";
        let text = DIRECTIVE.replace(action, &action.repeat(names));
        let words_of = "Call acme/hello. ".repeat(words);
        world.signed(directive, &text.replace("Call acme/hello.", &words_of));
        let said = world.json(&["mv", "acme/hello", "b/hi", "--yes"]).ok();
        let left: Vec<_> = said["left"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
        for path in [spec, directive] {
            let now = rest(&world, path);
            let counts = ["b/hi", "acme/hello"].map(|name| now.matches(name).count());
            let want = if is_renamed { [names, words] } else { [0, names + words] };
            assert_eq!(counts, want, "{words} {names} {path}: {said}");
            let is_left = if path == spec { !is_renamed } else { words > 0 };
            assert_eq!(left.contains(&&json!(path)), is_left, "{words} {names} {path}: {said}");
        }
    }
}
