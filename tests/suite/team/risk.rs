//! How much harm an item could do, told wherever a person decides about it.

use serde_json::{Value, json};

use super::{FILE, ITEM};
use crate::keys::others::{clone_world, document, put, stranger, trusted};
use crate::world::{MARKER_SH, World, fingerprint, line};

/// The marker tool with these lines in its header.
fn with(lines: &str) -> String {
    MARKER_SH.replace("# ///\n:", &format!("{lines}# ///\n:"))
}

const SENDS: &str = "# secrets = [\"TOKEN\"]\n# [sandbox]\n# net = \"any\"\n";

/// The text of a file as the key signs it a month later.
fn pulled(key: &ed25519_dalek::SigningKey, item: &str, ext: &str, text: &str) -> String {
    let line = line(key, item, ext, "2026-02-01T00:00:00Z", text.as_bytes());
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") => format!("{first}\n# {line}\n{rest}"),
        _ => format!("# {line}\n{text}"),
    }
}

fn reviewed(world: &World, item: &str) -> Value {
    let (_, review) = world.json(&["trust", "review"]);
    let items = review["items"].as_array().unwrap().clone();
    items.into_iter().find(|row| row["item_id"] == item).unwrap()
}

#[test]
fn the_risk_of_an_item_stands_wherever_a_person_decides_about_it() {
    let world = clone_world();
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "Ann", ""));
    put(&world, &key, FILE, &with(SENDS));
    put(&world, &key, ".ai/knowledge/acme/page.md", "# Page\n");
    let because = "it is given variables of the host and may send them anywhere";
    let want = json!({"tier": "L3", "name": "destructive", "because": because});
    world.rye(&["trust", "review"]).shows("  L3 destructive");
    assert_eq!(reviewed(&world, ITEM)["risk"], want);
    assert_eq!(reviewed(&world, "knowledge:acme/page")["risk"]["tier"], "L0");
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    for verb in [&["show", ITEM][..], &["describe", ITEM]] {
        assert_eq!(world.json(verb).1["risk"], want, "{verb:?}");
        world.rye(verb).shows("L3 destructive: it is given");
    }
    let (_, list) = world.json(&["list", "acme", "--long"]);
    assert_eq!(list["items"][0]["risk"], want, "{list}");
    world
        .rye_in_columns(80, &["list", "acme", "--long"])
        .shows("tool:acme/mark  L3  Leaves a marker");
    assert_eq!(world.json(&["graph", ITEM]).1["nodes"][0]["risk"], want);
    let (_, inventory) = world.json(&["list", "--cyclonedx"]);
    let components = inventory["cyclonedx"]["components"].as_array().unwrap();
    let tool = components.iter().find(|it| it["name"] == ITEM).unwrap();
    let has = |name: &str, value: &str| {
        tool["properties"].as_array().unwrap().contains(&json!({"name": name, "value": value}))
    };
    assert!(has("rye:risk-tier", "L3") && has("rye:risk-because", because), "{tool:#}");
    // What others run through is not run by itself.
    let runtime = world.json(&["show", "tool:rye/core/runtimes/shell/script"]).1;
    assert_eq!(runtime["risk"], Value::Null, "{runtime}");
}

#[test]
fn a_pull_that_raises_the_tier_is_told_in_review_also_where_only_a_runtime_changed() {
    let world = clone_world();
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "Ann", ""));
    put(&world, &key, FILE, MARKER_SH);
    let runtime = "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
                   category: acme\ndescription: Runs\nconfig: {command: cat}\n";
    put(&world, &key, ".ai/tools/acme/runs.yaml", runtime);
    let through = "version: 1.0.0\ntool_type: tool\nexecutor_id: acme/runs\ncategory: acme\n\
                   description: Runs through another\n";
    put(&world, &key, ".ai/tools/acme/through.yaml", through);
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    for item in [ITEM, "tool:acme/through"] {
        let row = reviewed(&world, item);
        assert_eq!((&row["risk"]["tier"], &row["tier_before"]), (&json!("L1"), &Value::Null));
    }
    // The pull: later signatures by the same key.
    world.write(FILE, pulled(&key, ITEM, "sh", &with(SENDS)));
    let more = format!("{runtime}sandbox: {{fs: {{write: [/srv/acme]}}}}\n");
    world.write(".ai/tools/acme/runs.yaml", pulled(&key, "tool:acme/runs", "yaml", &more));
    for item in [ITEM, "tool:acme/through"] {
        let row = reviewed(&world, item);
        assert_eq!((&row["risk"]["tier"], &row["tier_before"]), (&json!("L3"), &json!("L1")));
    }
    world
        .rye(&["trust", "review"])
        .shows("risk raised from L1 low to L3 destructive: it")
        .shows("the risk of 2 of them is higher than before");
    // Accepted anew, it is what there was; and less than before is not told.
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    assert_eq!(reviewed(&world, ITEM)["tier_before"], Value::Null);
    put(&world, &key, FILE, MARKER_SH);
    assert_eq!(reviewed(&world, ITEM)["tier_before"], Value::Null);
}

#[test]
fn without_a_sandbox_the_tier_is_the_highest_and_it_is_said_why() {
    let world = World::new().with(FILE, MARKER_SH);
    let risk = |world: &World| world.json(&["show", ITEM]).1["risk"].clone();
    assert_eq!(risk(&world)["tier"], "L3");
    assert_eq!(risk(&world)["because"], "your policy lets it run without a sandbox");
    assert_eq!(risk(&world.held())["tier"], "L1");
}
