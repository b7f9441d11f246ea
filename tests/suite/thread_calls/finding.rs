//! `rye_search` and `rye_describe` in a thread show what the thread reaches.

use serde_json::{Value, json};

use super::{prepared, tool, turn};
use crate::threads::{events, fork};
use crate::world::World;

fn gave(world: &World, calls: &[(&'static str, Value)], permissions: &str) -> Vec<Value> {
    let turns: Vec<Value> = calls.iter().map(|call| turn(std::slice::from_ref(call))).collect();
    prepared(world, &turns, permissions);
    let (status, told) = fork(world, &[]);
    assert_eq!(status, 0, "{told}");
    let gave = events(world, told["thread_id"].as_str().unwrap(), "tool_call_result");
    gave[..calls.len()]
        .iter()
        .map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap())
        .collect()
}

#[test]
fn a_model_finds_and_reads_about_what_its_thread_reaches_and_nothing_else() {
    let world = World::new();
    for name in ["zebra_count", "zebra_feed"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool("", "cat\n"));
    }
    world.signed(".ai/knowledge/acme/zebras.md", "# Zebras\n\nHow zebras are kept.\n");
    world.signed(".ai/knowledge/acme/secret_zebras.md", "# Zebras\n\nWhere zebras are.\n");
    let find = |more: Value| {
        let mut args = json!({"query": "zebra"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("rye_search", args)
    };
    let describe = |item: &str| ("rye_describe", json!({"item_id": item, "level": "full"}));
    let calls = [
        find(json!({})),
        find(json!({"kind": "knowledge"})),
        find(json!({"limit": 1})),
        find(json!({"kind": "config"})),
        describe("tool:acme/zebra_count"),
        describe("knowledge:acme/zebras"),
        describe("tool:acme/zebra_feed"),
        describe("knowledge:acme/secret_zebras"),
        describe("tool:acme/none"),
    ];
    let permissions = "<execute><tool>rye.search</tool><tool>rye.describe</tool>\
         <tool>acme.zebra_count</tool></execute><fetch><knowledge>acme.zebras</knowledge></fetch>";
    let got = gave(&world, &calls, permissions);
    let ids = |told: &Value| -> Vec<Value> {
        told["hits"].as_array().unwrap().iter().map(|hit| hit["item_id"].clone()).collect()
    };
    assert_eq!(ids(&got[0]), [json!("tool:acme/zebra_count")], "{}", got[0]);
    assert_eq!(ids(&got[1]), [json!("knowledge:acme/zebras")], "{}", got[1]);
    assert_eq!(got[2]["total"], 1, "{}", got[2]);
    assert_eq!(got[3]["error_kind"], "invalid_tool_arguments", "{}", got[3]);
    assert_eq!(got[4]["item_id"], "tool:acme/zebra_count", "{}", got[4]);
    assert!(got[4].get("schema").is_some() && got[4].get("path").is_none(), "{}", got[4]);
    assert_eq!(got[5]["item_id"], "knowledge:acme/zebras", "{}", got[5]);
    for told in &got[6..8] {
        assert_eq!(told["error_kind"], "permission_denied", "{told}");
    }
    assert_eq!(got[8]["detail"]["code"], "resolve.not_found", "{}", got[8]);
    let without = "<execute><tool>acme.zebra_count</tool></execute>";
    for told in gave(&world, &calls[3..5], without) {
        assert_eq!(told["error_kind"], "unknown_tool", "{told}");
    }
}
