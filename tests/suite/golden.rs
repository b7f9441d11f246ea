//! Texts that must not change by accident: the help of every verb, and the names on the wire.
//!
//! `INSTA_UPDATE=always cargo test golden` rewrites them; read the difference before you commit it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::world::{GREET_MD, MARKER_SH, World};

fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn golden_help_of_every_verb() {
    let world = World::empty();
    let top = world.rye(&["--help"]).stdout;
    let verbs: Vec<String> = top
        .lines()
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next().map(str::to_owned))
        .filter(|word| !word.is_empty())
        .collect();
    assert!(verbs.len() >= 15, "{verbs:?}");
    check("help", &top);
    for verb in verbs {
        let said = world.rye(&[&verb, "--help"]).ok();
        check(&format!("help_{verb}"), &said.stdout);
    }
}

/// Every key of a value, as paths; a list counts as its elements.
fn keys(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}/{key}");
                keys(value, &path, into);
                into.insert(path);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, path, into)),
        _ => {}
    }
}

#[test]
fn golden_names_on_the_wire() {
    let world = World::new()
        .with(".ai/tools/acme/mark.sh", MARKER_SH)
        .with(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/tools/acme/bad.sh", MARKER_SH);
    let spec = "cases:\n  - {name: a, expect: {result: {}}}\n";
    world.write(".ai/tools/acme/mark.test.yaml", spec);
    world.write(".ai/tools/acme/bad.test.yaml", "{}");
    let calls: [(&str, &[&str]); 19] = [
        ("execute tool", &["execute", "acme/mark", "--chain-details", "--trace"]),
        ("execute tool, dry run", &["execute", "acme/mark", "--dry-run"]),
        ("execute tool, refused", &["execute", "acme/bad"]),
        ("execute directive", &["execute", "acme/greet"]),
        ("execute directive, dry run", &["execute", "acme/greet", "--dry-run"]),
        ("execute directive, inputs missing", &["execute", "rye/core/create_tool"]),
        ("sign", &["sign", "acme/mark"]),
        ("verify", &["verify", "tool:acme/*"]),
        ("show", &["show", "acme/mark"]),
        ("why", &["why", "acme/mark"]),
        ("list", &["list", "--long"]),
        ("lock", &["lock", "acme/mark"]),
        ("why, locked", &["why", "acme/mark"]),
        ("diff", &["diff", "acme/mark", "--lock"]),
        ("diff, history", &["diff", "acme/mark", "--history"]),
        ("trust review", &["trust", "review"]),
        ("graph", &["graph", "acme/mark", "acme/bad"]),
        ("new", &["new", "tool", "acme/made", "--sign"]),
        ("test", &["test"]),
    ];
    let mut text = String::new();
    for (name, args) in calls {
        let (_, value) = world.json(args);
        let mut found = BTreeSet::new();
        keys(&value, "", &mut found);
        text.push_str(&format!("{name}\n"));
        for key in found {
            text.push_str(&format!("  {key}\n"));
        }
    }
    check("wire", &text);
}
