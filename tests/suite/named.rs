//! What a word names, for each verb that takes one: a ref, a glob, or the path of a file or folder
//! (core 11).

use std::fs;

use serde_json::json;

use crate::keys::others::{document, files, stranger, trusted};
use crate::world::{End, GREET_MD, MARKER_SH, World, fingerprint};

const FILE: &str = ".ai/tools/acme/mark.sh";
const SPEC: &str = "cases:\n  - {name: one, expect: {text: x}}\n";

/// Verbs that take several items, and what stands behind them.
const SEVERAL: &[(&[&str], &[&str])] = &[
    (&["sign"], &["--check"]),
    (&["verify"], &[]),
    (&["lock"], &["--check"]),
    (&["graph"], &[]),
    (&["test"], &["--list"]),
    (&["list"], &[]),
    (&["bundle", "pack", "tools"], &["--version", "1.0.0"]),
];

/// Verbs that take one item.
const ONE: &[(&[&str], &[&str])] = &[
    (&["execute"], &[]),
    (&["run"], &["--dry-run"]),
    (&["plan"], &[]),
    (&["show"], &[]),
    (&["describe"], &[]),
    (&["fetch"], &[]),
    (&["why"], &[]),
    (&["learn"], &[]),
    (&["dev"], &[]),
    (&["mv"], &["acme/other"]),
    (&["eval", "run"], &["--content", "x"]),
    (&["hooks", "test"], &[]),
    (&["export", "skill"], &[]),
    // Without an option it shows what changed, of as many as are named.
    (&["diff"], &["--history"]),
];

/// Verbs that take no item.
const NONE: &[&str] = &[
    "init",
    "new",
    "code",
    "doctor",
    "search",
    "git",
    "receipt",
    "pending",
    "thread",
    "trust",
    "keys",
    "store",
    "remote",
    "serve",
    "node",
    "mcp",
    "lsp",
    "import",
    "explain",
    "completions",
    "man",
];

fn line<'a>((verb, more): (&[&'a str], &[&'a str]), word: &'a str) -> Vec<&'a str> {
    [verb, &[word], more, &["--json"]].concat()
}

/// A tool and a directive, signed, each with its test spec.
fn world() -> World {
    let world = World::new().with(FILE, MARKER_SH).with(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/tools/acme/mark.test.yaml", SPEC);
    world.write(".ai/directives/acme/greet.test.yaml", SPEC);
    world
}

#[test]
fn each_verb_is_one_of_these() {
    let help = World::empty().rye(&["--help"]).stdout;
    let verbs = help.split("\nOptions:\n").next().unwrap().lines();
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next());
    let verbs: Vec<&str> = verbs.filter(|verb| !verb.is_empty()).collect();
    assert!(verbs.len() > 20, "{help}");
    let of = |table: &[(&'static [&'static str], &[&str])]| -> Vec<&'static str> {
        table.iter().map(|(verb, _)| verb[0]).collect()
    };
    let known = [of(SEVERAL), of(ONE), NONE.to_vec()].concat();
    for verb in verbs {
        assert!(known.contains(&verb), "what does `rye {verb}` take?");
    }
}

#[test]
fn a_verb_of_several_items_takes_refs_globs_files_and_folders() {
    let (tool, greet) = ("tool:acme/mark", "directive:acme/greet");
    let rows: &[(&str, &[&str], &[&str])] = &[
        (".", &[tool, greet], &[]),
        (".ai", &[tool, greet], &[]),
        (".ai/tools/acme", &[tool], &[greet]),
        ("./.ai/directives/", &[greet], &[tool]),
        (FILE, &[tool], &[greet]),
        ("tool:acme/*", &[tool], &[greet]),
        ("acme/*", &[tool, greet], &[]),
        (tool, &[tool], &[greet]),
    ];
    for (word, named, not_named) in rows {
        let world = world();
        for (verb, more) in SEVERAL {
            let said = world.rye(&line((verb, more), word));
            let is_open = said.status == 4 && *verb == ["lock"];
            assert!(said.status == 0 || is_open, "{verb:?} {word}: {said:?}");
            for item in *named {
                assert!(said.stdout.contains(item), "{verb:?} {word}: {said:?}");
            }
            for item in *not_named {
                assert!(!said.stdout.contains(item), "{verb:?} {word}: {said:?}");
            }
        }
    }
    // Each once, whatever names it.
    let world = world();
    let (_, got) = world.json(&["graph", ".", tool, "tool:acme/*", FILE]);
    assert_eq!(got["items"].as_array().map(Vec::len), Some(3), "the file names its space: {got}");
    let (status, got) = world.json(&["lock", ".", "acme/*", tool]);
    let rows = got["rows"].as_array().unwrap().iter();
    let own = rows.filter(|row| row["item_id"].as_str().unwrap().contains(":acme/"));
    assert_eq!((status, own.count()), (0, 2), "{got}");
}

#[test]
fn a_verb_of_one_item_says_that_a_folder_is_several_and_names_the_next_step() {
    let world = world();
    for (verb, more) in ONE {
        for (word, what) in [
            (".", "folder"),
            (".ai/tools/acme", "folder"),
            ("acme/*", "glob"),
            ("tool:acme/**", "glob"),
        ] {
            let said = world.rye(&line((verb, more), word));
            let found = (said.code(), said.status);
            assert_eq!(found, ("cli.not_an_item".into(), 3), "{verb:?} {word}: {said:?}");
            let said = said.stdout + &said.stderr;
            let why = format!("it is a {what}, and one item is asked for");
            for part in [why.as_str(), "name one of them, such as `", "`rye list "] {
                assert!(said.contains(part), "{verb:?} {word} {part}: {said}");
            }
        }
    }
    let said = world.rye(&["show", "tool:acme/*"]);
    let next = "such as `tool:acme/mark`: `rye list 'tool:acme/*'`";
    assert!(said.stderr.contains(next), "{said:?}");
}

#[test]
fn a_file_that_is_not_there_is_answered_with_the_one_of_its_name() {
    let world = world();
    let meant = format!("did you mean `{FILE}`, which is `tool:acme/mark`?");
    for word in [
        "t/mark.sh",
        "mark.sh",
        "tools/acme/mark.sh",
        ".ai/tool/mark.sh",
        "./mark.sh",
        "../mark.sh",
    ] {
        for verb in ["run", "show", "verify", "lock", "sign"] {
            let said = world.rye(&[verb, word]);
            assert!(said.status == 3 && said.stderr.contains(&meant), "{verb} {word}: {said:?}");
        }
    }
    let (_, got) = world.json(&["run", "t/mark.sh"]);
    assert_eq!(got["code"], "resolve.not_found", "{got}");
    assert!(got.to_string().contains("\"near\":[\"tool:acme/mark\"]"), "{got}");
    // Of two nobody knows which is meant, and another name is another file.
    world.signed(".ai/tools/other/mark.sh", &MARKER_SH.replace("\"acme\"", "\"other\""));
    for word in ["t/mark.sh", "mark.py", "./mark.sh"] {
        let said = world.rye(&["run", word]);
        assert!(said.status == 3 && !said.stderr.contains("which is"), "{word}: {said:?}");
    }
}

#[test]
fn where_nothing_is_every_verb_says_so_alike() {
    let verbs = || SEVERAL.iter().filter(|(verb, _)| *verb != ["list"]);
    let world = World::empty();
    for (verb, more) in SEVERAL {
        let said = world.rye(&line((verb, more), "."));
        let found = (said.code(), said.status);
        assert_eq!(found, ("space.no_project".into(), 4), "{verb:?}: {said:?}");
    }
    let world = World::new();
    for word in [".", ".ai/tools"] {
        let nothing = format!("nothing is here: `{word}` holds no item");
        for (verb, more) in verbs().filter(|(verb, _)| *verb != ["test"]) {
            let said = world.rye(&line((verb, more), word));
            assert_eq!((said.code(), said.status), ("cli.usage".into(), 2), "{verb:?}: {said:?}");
            let got = said.json();
            assert_eq!(got["error"], nothing, "{verb:?}");
            assert!(got["help"].as_str().unwrap().contains("rye new tool"), "{verb:?}: {got}");
        }
        let said = world.rye(&["list", word]);
        assert_eq!((said.status, said.stdout), (0, format!("{nothing}\n")));
        world.rye(&["test", word]).fails(3, "test.no_spec");
    }
    // Without a word it is a count, and no silence.
    let said = world.rye(&["sign", "--all"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, "0 signed, 0 up to date, 0 failed\n"));
}

#[test]
fn a_glob_is_of_the_project_for_the_lock_and_takes_rows_out_whose_items_are_gone() {
    let world = world();
    world.signed_home(".ai/tools/mine/own.sh", &MARKER_SH.replace("\"acme\"", "\"mine\""));
    let said = world.rye(&["lock", "**", "--json"]).ok();
    assert!(!said.stdout.contains("tool:mine/own") && !said.stdout.contains("tool:rye/bash"));
    world.rye(&["lock", "mine/*", "--json"]).fails(2, "cli.usage");
    fs::remove_file(world.project().join(FILE)).unwrap();
    let (status, got) = world.json(&["lock", "--remove", "tool:acme/*"]);
    assert_eq!((status, &got["gone"], &got["written"]), (0, &json!(1), &json!(true)), "{got}");
    assert_eq!(world.json(&["lock", "--remove", ".ai/directives"]).ok()["gone"], 1);
    world.rye(&["lock", "--remove", "acme/*", "--json"]).fails(2, "cli.usage");
}

#[test]
fn a_folder_of_your_own_space_names_the_specs_that_lie_there() {
    let world = world();
    world.signed_home(".ai/tools/mine/own.sh", &MARKER_SH.replace("\"acme\"", "\"mine\""));
    world.write_home(".ai/tools/mine/own.test.yaml", SPEC);
    let folder = world.home().join(".ai/tools");
    let said = world.rye(&["test", "--list", folder.to_str().unwrap(), "--json"]);
    assert!(said.status == 0 && said.stdout.contains("tool:mine/own"), "{said:?}");
    assert!(!said.stdout.contains("tool:acme/mark"), "{said:?}");
    world.rye(&["test", "--list", folder.to_str().unwrap(), ".", "--json"]).fails(2, "cli.usage");
}

#[test]
fn the_path_of_a_spec_names_its_item_for_the_verb_that_tries_it() {
    let world = world();
    let said = world.rye(&["test", "--list", ".ai/tools/acme/mark.test.yaml", "--json"]);
    assert!(said.status == 0 && said.stdout.contains("tool:acme/mark"), "{said:?}");
    assert!(!said.stdout.contains("directive:acme/greet"), "{said:?}");
    world.rye(&["test", ".ai/tools/acme/none.test.yaml"]).fails(3, "test.no_spec");
    let said = world.rye(&["run", ".ai/tools/acme/mark.test.yaml"]);
    assert!(said.status == 3 && said.stderr.contains("which `rye test` tries"), "{said:?}");
}

#[test]
fn a_proposed_key_is_no_item_whichever_way_it_is_named() {
    let world = world();
    let theirs = stranger(1);
    let path = trusted(&theirs);
    world.write(&path, document(&theirs, "Bob", ""));
    let item = format!("config:keys/trusted/{}", fingerprint(&theirs));
    let in_project = format!("{item}@project");
    let before = files(&world);
    let mut rows: Vec<_> = [SEVERAL, ONE].concat();
    rows.push((&["lock", "--remove"], &[]));
    rows.push((&["verify", "tool:acme/mark"], &[]));
    rows.push((&["verify", "acme/*"], &["--ci"]));
    for (verb, more) in rows {
        for word in [&path, &item, &in_project] {
            if verb == ["list"] && *word != path {
                continue;
            }
            let said = world.rye(&line((verb, more), word));
            let found = (said.code(), said.status);
            assert_eq!(found, ("resolve.proposal".into(), 3), "{verb:?} {word}: {said:?}");
            let said = said.stdout + &said.stderr;
            let why = format!("`{path}` proposes a key, and is not an item");
            assert!(said.contains(&why) && said.contains("rye trust review"), "{verb:?}: {said}");
            assert!(!said.contains("verify."), "it is not judged: {said}");
        }
    }
    assert_eq!(files(&world), before);
    // What you wrote about the key is another file, and is judged.
    world.rye(&["trust", "accept", &fingerprint(&theirs)]).ok();
    let own = format!("{item}@user");
    world.rye(&["verify", &own]).ok();
}
