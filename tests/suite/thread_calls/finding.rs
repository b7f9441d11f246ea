//! `rye_search` and `rye_describe` in a thread show what the thread reaches.

use serde_json::{Value, json};

use super::{prepared, tool, turn};
use crate::threads::{events, fork};
use crate::world::{End, World};

fn gave(world: &World, calls: &[(&'static str, Value)], permissions: &str) -> Vec<Value> {
    let turns: Vec<Value> = calls.iter().map(|call| turn(std::slice::from_ref(call))).collect();
    prepared(world, &turns, permissions);
    let told = fork(world, &[]).ok();
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

#[test]
fn of_an_item_that_is_not_there_a_model_is_told_the_near_names_that_it_reaches_and_no_other_table()
{
    let world = World::new();
    for name in ["count", "hidden"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool("", "cat\n"));
    }
    world.signed(".ai/directives/acme/count.md", &crate::threads::directive("count", "", ""));
    for name in ["styles", "secrets"] {
        world.signed(&format!(".ai/knowledge/acme/{name}.md"), "# A page\n\nText.\n");
    }
    let (none, mine) = (json!([]), json!(["tool:acme/count"]));
    let item = |id: &str| json!({"item_id": id});
    let rows = [
        ("rye_execute", item("tool:acme/hiden"), &none),
        ("rye_execute", item("tool:acme/coun"), &mine),
        // A directive of that name is out of its reach.
        ("rye_execute", item("acme/count"), &mine),
        ("rye_describe", item("tool:acme/hiden"), &none),
        ("rye_describe", item("tool:acme/coun"), &mine),
        ("rye_describe", item("knowledge:acme/secret"), &none),
        ("rye_fetch", item("knowledge:acme/secret"), &none),
        ("rye_fetch", item("knowledge:acme/style"), &json!(["knowledge:acme/styles"])),
        ("rye_sign", item("tool:acme/hiden"), &none),
        ("rye_sign", item("tool:acme/coun"), &mine),
    ];
    let calls: Vec<_> = rows.iter().map(|(name, args, _)| (*name, args.clone())).collect();
    let permissions = "<execute><tool>rye.describe</tool><tool>rye.code</tool>\
         <tool>acme.count</tool></execute><fetch><knowledge>acme.styles</knowledge></fetch>\
         <sign><tool>acme.count</tool></sign>";
    for ((name, args, near), told) in rows.iter().zip(gave(&world, &calls, permissions)) {
        let detail = &told["detail"];
        assert_eq!(detail["code"], "resolve.not_found", "{name} {args}: {told}");
        assert_eq!(&detail["data"]["near"], *near, "{name} {args}: {told}");
        assert!(!told.to_string().contains("hidden"), "{told}");
        assert!(!told.to_string().contains("directive:"), "{told}");
    }
    #[cfg(feature = "code")]
    for code in ["await runTool('acme/hiden', {})", "await describeTool('acme/hiden')"] {
        let told = gave(&world, &[("rye_code", json!({"code": code}))], permissions).remove(0);
        assert!(told.to_string().contains("resolve.not_found"), "{code}: {told}");
        assert!(!told.to_string().contains("hidden"), "{code}: {told}");
    }
    // Whoever is no thread is told all of them.
    let (_, told) = world.json(&["execute", "tool:acme/hiden"]);
    assert_eq!(told["data"]["near"], json!(["tool:acme/hidden"]), "{told}");
}
