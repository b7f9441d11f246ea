//! The JSON form of every verb has one shape (core 11).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::world;
use crate::world::GREET_MD;

/// Verbs that give no answer of their own: they speak a protocol, or write an event a line.
const SPEAKERS: [&str; 3] = ["dev", "lsp", "mcp"];

/// Each `item_id` is a full ref, and each time in milliseconds is whole.
#[track_caller]
fn check(value: &Value, call: &[&str]) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("item_id", Value::String(item)) => {
                        let kind = item.split_once(':').map(|(kind, _)| kind);
                        let kinds = ["tool", "directive", "knowledge", "config"];
                        assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{call:?}: {item}");
                    }
                    ("duration_ms", value) => assert!(value.is_u64(), "{call:?}: {value}"),
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

#[test]
fn every_verb_answers_with_a_status_full_refs_and_whole_milliseconds() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/tools/acme/unsigned.sh", "echo\n");
    let spec = "cases:\n  - {name: a, expect: {result: {}}}\n";
    world.write(".ai/tools/acme/echo.test.yaml", spec);
    assert_eq!(world.rye(&["run", "acme/echo", "--receipt", "r.json"]).status, 0);
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
        &["hooks", "list"],
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
        &["fmt", "--check"],
        &["graph", "acme/echo"],
        &["init"],
        &["test"],
        &["eval", "run", "tool:acme/echo", "--content", "x"],
        &["git", "status"],
        &["doctor"],
        &["explain", "verify.altered"],
        &["completions", "bash"],
        &["man"],
    ];
    let known = ["success", "error", "validation_passed", "pending"];
    let mut seen: BTreeSet<&str> = SPEAKERS.into();
    for call in calls {
        let (_, answer) = world.json(call);
        let status = answer["status"].as_str().unwrap_or_default();
        assert!(known.contains(&status), "{call:?}: {answer}");
        if status == "error" {
            // A batch says why of each of its items.
            let has_rows = ["items", "rows", "cases", "copies", "checks"];
            let rows = has_rows.iter().any(|key| answer[key].is_array());
            assert!(rows || answer["code"].is_string(), "{call:?}: {answer}");
        }
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
