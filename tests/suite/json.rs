//! The JSON form of every verb has one shape (core 11).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cli::world;
use crate::world::{End, GREET_MD, MARKER_SH};

/// Verbs that give no answer of their own: they speak a protocol, or write an event a line.
const SPEAKERS: [&str; 4] = ["dev", "lsp", "mcp", "serve"];

/// Each `item_id` and each link of a chain is a full ref, and each time in milliseconds is whole.
#[track_caller]
fn check(value: &Value, call: &[&str]) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("item_id", Value::String(item)) => is_full_ref(item, call),
                    ("chain", Value::Array(links)) => {
                        for link in links.iter().filter_map(Value::as_str) {
                            assert!(!link.contains(':'), "{call:?}: a plain id: {link}");
                        }
                    }
                    (key, value) if key.ends_with("_ms") => {
                        assert!(value.is_u64(), "{call:?}: {key}: {value}");
                    }
                    (key, _) => assert_ne!(key, "ref", "{call:?}"),
                }
                // What a tool gives, or a plan file says, is its own.
                if !["data", "plan", "receipt"].contains(&key.as_str()) {
                    check(value, call);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| check(value, call)),
        _ => {}
    }
}

#[track_caller]
fn is_full_ref(item: &str, call: &[&str]) {
    let kind = item.split_once(':').map(|(kind, _)| kind);
    let kinds = ["tool", "directive", "knowledge", "config"];
    assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{call:?}: {item}");
}

/// The status says how the process ended, and a failure says at its top what it is of.
#[track_caller]
fn check_status(status: i32, answer: &Value, call: &[&str]) {
    let word = match status {
        0 if answer["status"] == "validation_passed" => "validation_passed",
        0 => "success",
        8 => "pending",
        _ => "error",
    };
    assert_eq!(answer["status"], word, "{call:?} ended with {status}: {answer}");
    if word == "error" {
        for key in ["code", "error", "help"] {
            let is_told = answer[key].as_str().is_some_and(|text| !text.is_empty());
            assert!(is_told, "{call:?} has no `{key}` at its top: {answer}");
        }
    }
}

#[test]
fn every_verb_answers_with_a_status_full_refs_and_whole_milliseconds() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/tools/acme/unsigned.sh", "echo\n");
    let spec = "cases:\n  - {name: a, expect: {result: {}}}\n";
    world.write(".ai/tools/acme/echo.test.yaml", spec);
    world.rye(&["run", "acme/echo", "--receipt", "r.json"]).ok();
    let calls: &[&[&str]] = &[
        &[],
        &["execute", "acme/echo", "--chain-details", "--trace"],
        &["execute", "acme/echo", "--dry-run"],
        &["execute", "acme/unsigned"],
        &["execute", "acme/greet"],
        &["learn", "knowledge:rye/overview"],
        &["plan", "acme/echo"],
        &["plan", "acme/echo", "--out", "plan.json"],
        &["receipt", "verify", "r.json"],
        &["pending", "list"],
        &["thread", "list"],
        &["hooks", "list"],
        &["store", "stat"],
        &["remote", "list"],
        &["remote", "plan", "acme/echo"],
        &["node", "list"],
        &["sign", "acme/echo"],
        &["sign", "--all", "--check"],
        &["verify"],
        &["verify", "acme/echo"],
        &["verify", "acme/unsigned"],
        &["list", "--long"],
        &["search", "greet"],
        &["show", "acme/echo"],
        &["describe", "acme/echo"],
        &["fetch", "acme/greet"],
        &["why", "acme/echo"],
        &["why", "acme/unsigned"],
        &["diff", "acme/echo"],
        &["diff", "acme/echo", "--history"],
        &["lock"],
        &["keys", "show"],
        &["keys", "list"],
        &["trust", "list"],
        &["trust", "review"],
        &["new", "tool", "acme/made"],
        &["mv", "acme/made", "acme/moved", "--yes"],
        &["mv", "acme/moved", "acme/echo", "--yes"],
        &["import", "skill", "./none"],
        &["export", "skill", "acme/greet"],
        &["bundle", "list"],
        &["graph", "acme/echo"],
        &["init"],
        &["code", "check", "./none.js"],
        &["test"],
        &["eval", "run", "tool:acme/echo", "--content", "x"],
        &["git", "status"],
        &["doctor"],
        &["explain", "verify.altered"],
        &["completions", "bash"],
        &["man"],
    ];
    let mut seen: BTreeSet<&str> = SPEAKERS.into();
    for call in calls {
        let (status, answer) = world.json(call);
        check_status(status, &answer, call);
        check(&answer, call);
        seen.extend(call.first());
    }
    let help = world.rye(&["--help"]).stdout;
    let verbs = help.split("\nOptions:\n").next().unwrap().lines();
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next());
    for verb in verbs.filter(|verb| !verb.is_empty()) {
        assert!(seen.contains(verb), "`rye {verb}` has no row here");
    }
}

#[test]
fn every_failure_has_its_code_and_its_help_at_the_top() {
    let world = world();
    world.shell("git init -q .");
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    world.write(".ai/tools/acme/untidy.sh", MARKER_SH.replace("version = ", "version   =  "));
    world.signed(".ai/tools/acme/altered.sh", MARKER_SH);
    world.shell("echo '# more' >> .ai/tools/acme/altered.sh");
    world.write(".ai/tools/acme/echo.test.yaml", "cases:\n  - {name: a, expect: {result: 1}}\n");
    world.write(".ai/tools/acme/altered.test.yaml", "cases: 7\n");
    world.write(".ai/tools/acme/odd name.sh", "echo\n");
    world.shell("git add .");
    let all = "--all";
    let rows: &[(&[&str], &str)] = &[
        (&["run", "acme/unsigned"], "verify.unsigned"),
        (&["run", "acme/echo", "--bogus"], "cli.usage"),
        (&["run", "acme/none"], "resolve.not_found"),
        (&["plan", "acme/altered"], "verify.altered"),
        (&["verify"], "verify.altered"),
        (&["verify", "--ci"], "verify.altered"),
        (&["verify", "acme/altered"], "verify.altered"),
        (&["verify", "acme/*"], "verify.altered"),
        (&["verify", "--locked"], "verify.altered"),
        (&["why", "acme/altered"], "verify.altered"),
        (&["lock", "--check"], "verify.altered"),
        (&["lock", "--check", "acme/echo"], "lock.differs"),
        (&["lock"], "verify.altered"),
        (&["sign", all, "--check"], "cli.would_change"),
        (&["sign", "acme/none"], "resolve.not_found"),
        (&["test"], "test.malformed"),
        (&["test", "acme/echo"], "test.failed"),
        (&["test", "--list"], "test.malformed"),
        (&["git", "check"], "git.refused"),
        (&["show", "acme/none"], "resolve.not_found"),
        (&["fetch", "acme/altered"], "verify.altered"),
        (&["graph", "acme/none"], "resolve.not_found"),
        (&["learn", "acme/altered"], "verify.altered"),
        (&["diff", "acme/none"], "resolve.not_found"),
        (&["mv", "acme/none", "acme/other"], "resolve.not_found"),
        (&["new", "tool", "acme/echo"], "author.exists"),
        (&["import", "skill", "./none"], "import.nothing"),
        (&["export", "skill", "acme/none"], "resolve.not_found"),
        (&["bundle", "install", "none.tar.zst"], "bundle.io"),
        (&["bundle", "pack", "b", "acme/altered", "--version", "1.0.0"], "verify.altered"),
        (&["eval", "run", "acme/altered", "--content", "x"], "verify.altered"),
        (&["receipt", "verify", "none.json"], "cli.input_file"),
        (&["pending", "show", "none"], "pending.not_found"),
        (&["thread", "show", "none"], "thread.not_found"),
        (&["keys", "export", "--document"], "cli.usage"),
        (&["trust", "show", "00"], "id.malformed"),
        (&["explain", "none"], "cli.unknown_code"),
        (&["mcp", "install", "none"], "cli.usage"),
    ];
    let mut others = Vec::new();
    for (call, code) in rows {
        let (status, answer) = world.json(call);
        check_status(status, &answer, call);
        check(&answer, call);
        if answer["code"] != *code {
            others.push((call, answer["code"].clone()));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
    // Only what cannot be an item is wrong.
    world.shell("rm .ai/tools/acme/*.test.yaml .ai/tools/acme/[ua]*.sh");
    let (status, answer) = world.json(&["verify", "--ci"]);
    check_status(status, &answer, &["verify", "--ci"]);
    assert_eq!((status, &answer["code"]), (4, &"space.odd_file".into()), "{answer}");
    world.write_home(".ai/config/rye/file-types.yaml", "not: signed\n");
    let (status, answer) = world.json(&["doctor"]);
    check_status(status, &answer, &["doctor"]);
    assert_eq!((status, &answer["code"]), (4, &"cli.set_up".into()), "{answer}");
}

/// The keys of a row that says what was verified, or why it was not.
fn keys(row: &Value) -> BTreeSet<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn every_answer_of_verify_has_rows_of_one_shape() {
    let world = world();
    world.shell("git init -q .");
    world.rye(&["lock", "acme/echo"]).ok();
    let calls: &[&[&str]] = &[
        &["verify"],
        &["verify", "acme/echo"],
        &["verify", "acme/*"],
        &["verify", "acme/echo", "--locked"],
    ];
    let rows: Vec<Value> = calls
        .iter()
        .map(|call| {
            let answer = world.json(call).ok();
            let rows = answer["items"].as_array().unwrap().iter();
            rows.clone().find(|row| row["item_id"] == "tool:acme/echo").unwrap().clone()
        })
        .collect();
    for (row, call) in rows.iter().zip(calls) {
        assert_eq!(keys(row), keys(&rows[0]), "{call:?}");
        assert_eq!(row["chain_details"][0]["item_id"], "tool:acme/echo", "{call:?}");
        for key in ["status", "space", "path", "digest", "signer", "owner", "integrity"] {
            assert_eq!(row[key], rows[0][key], "{call:?}: {key}");
        }
    }
}

#[test]
fn every_refused_row_of_verify_says_the_space_and_the_path_of_its_file_or_null() {
    let world = world();
    let runtime = "version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
         category: acme\ndescription: x\nconfig: {command: 'true'}\n";
    world.signed(".ai/tools/acme/rt.yaml", runtime);
    let user = runtime.replace("tool_type: runtime", "tool_type: tool");
    world.signed(
        ".ai/tools/acme/links.yaml",
        &user.replace("rye/core/primitives/execute", "acme/rt"),
    );
    world.signed_home(".ai/tools/acme/mine.yaml", &user);
    world.write_home(".ai/tools/acme/mine.yaml", user.replace("true", "false"));
    world.write(".ai/tools/acme/rt.yaml", runtime.replace("true", "false"));
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    world.signed(".ai/tools/acme/altered.sh", MARKER_SH);
    world.shell("echo '# more' >> .ai/tools/acme/altered.sh");
    world.write(".ai/tools/acme/huge.sh", vec![b'#'; 5 << 20]);
    let project = |name: &str| (json!("project"), json!(format!(".ai/tools/acme/{name}")));
    let null = || (Value::Null, Value::Null);
    let rows = [
        ("acme/altered", "verify.altered", project("altered.sh")),
        ("tool:acme/unsigned", "verify.unsigned", project("unsigned.sh")),
        // What refuses it is one of its links; the row is about the item.
        ("acme/links", "verify.unsigned", project("links.yaml")),
        ("acme/mine", "verify.unsigned", (json!("user"), Value::Null)),
        ("tool:acme/huge", "space.too_large", project("huge.sh")),
        ("acme/none", "resolve.not_found", null()),
        ("tool:acme/none", "resolve.not_found", null()),
    ];
    for (item, code, place) in rows {
        let (_, answer) = world.json(&["verify", item]);
        let row = &answer["items"][0];
        assert_eq!((&row["status"], &row["code"]), (&"refused".into(), &code.into()), "{answer}");
        assert!(keys(row).is_superset(&BTreeSet::from(["space", "path"])), "{item}: {row}");
        assert_eq!(row["space"], place.0, "{item}: {row}");
        match (place.0.as_str(), row["path"].as_str()) {
            (Some("user"), Some(path)) => assert!(path.ends_with("/acme/mine.yaml"), "{row}"),
            _ => assert_eq!(row["path"], place.1, "{item}: {row}"),
        }
    }
    for call in [&["verify"][..], &["verify", "tool:acme/*"], &["verify", "--ci"]] {
        let (_, answer) = world.json(call);
        let rows = answer["items"].as_array().unwrap().iter();
        let refused: Vec<_> = rows.filter(|row| row["status"] == "refused").collect();
        assert!(refused.len() >= 4, "{call:?}: {answer}");
        for row in refused {
            assert!(row["space"].is_string() && row["path"].is_string(), "{call:?}: {row}");
        }
    }
}

#[test]
fn what_answers_nothing_is_told_as_it_was_typed_and_is_no_item_id() {
    let world = world();
    for call in [&["run", "nope"][..], &["show", "nope"], &["verify", "nope"]] {
        let (status, answer) = world.json(call);
        assert_eq!((status, &answer["data"]["asked"]), (3, &"nope".into()), "{call:?}: {answer}");
        assert!(answer.get("item_id").is_none(), "{call:?}: {answer}");
        check(&answer, call);
    }
    let (_, answer) = world.json(&["show", "tool:nope"]);
    assert_eq!(answer["item_id"], "tool:nope");
}
