//! A build without the feature `code`.

use serde_json::json;

use crate::mcp::client::Client;
use crate::pending;
use crate::world::{End, World};

#[test]
fn it_has_neither_the_verb_of_snippets_nor_their_tools() {
    let world = World::new().with_file("a.js", "1");
    let help = world.rye(&["--help"]).stdout;
    assert!(help.contains(" run ") && !help.contains("snippet"), "{help}");
    // As a word that no verb has, it names an item.
    let said = world.rye(&["code", "run", "a.js", "--json"]);
    assert!(said.status != 0 && !said.stdout.contains("code."), "{said:?}");
    world.rye(&["--code-worker", "67108864", "5", "--json"]).fails(2, "cli.usage");
    let mut client = Client::new(&world, &[]);
    for tool in ["rye_code", "rye_run_chain"] {
        let arguments = json!({"name": tool, "arguments": {"code": "1", "steps": []}});
        let said = client.ask("tools/call", &arguments);
        assert!(said["error"].is_object(), "{said}");
    }
    let said = client.ask("tools/list", &json!({})).to_string();
    assert!(said.contains("rye_execute") && !said.contains("rye_code"), "{said}");
}

#[test]
fn it_refuses_a_saved_snippet_by_a_code_that_says_what_it_does_not_know() {
    let world = World::new().with(
        ".ai/tools/acme/one.js",
        "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
         // executor_id = \"rye/core/runtimes/code/snippet\"\n// ///\n1\n",
    );
    for args in [&["run", "acme/one"][..], &["run", "acme/one", "--dry-run"]] {
        let told = world.json(args).fails(5, "chain.unknown_primitive");
        assert!(told["help"].as_str().unwrap().contains("feature `code`"), "{told}");
    }
}

#[test]
fn a_snippet_that_waits_is_shown_and_can_only_be_rejected() {
    let world = pending::world();
    let (_, told) = world.json(&["run", "acme/pay", "amount=5000"]);
    let id = told["pending"]["id"].as_str().unwrap();
    // What a build with snippets keeps: a request without a plan.
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    assert_eq!(db.execute("UPDATE request SET kind = 'snippet'", []).unwrap(), 1);
    assert_eq!(world.json(&["pending", "show", id]).ok()["state"], "waiting");
    let told = world.json(&["pending", "approve", id]).fails(4, "pending.drifted");
    assert!(told["error"].as_str().unwrap().contains("built without snippets"), "{told}");
    assert_eq!(world.json(&["pending", "reject", id]).ok()["state"], "rejected");
    assert_eq!(pending::paid(&world), 0);
}
