//! What the model of a thread may call, and what the tools of a thread may not reach.

mod caps;
mod own_tools;
mod state;
mod streams;
mod told;
mod workspace;

use serde_json::{Value, json};

use crate::world::World;

/// A directive with these permissions, whose model is the script of the user space.
pub fn directive(permissions: &str) -> String {
    format!(
        "# A thread\n\n```xml\n<directive name=\"go\" version=\"1.0.0\">\n<metadata>\
         <description>d</description><category>acme</category><author>a</author>\
         <model provider=\"acme/script\"/><limits turns=\"60\"/>\
         <acknowledge risk=\"unrestricted\">a test</acknowledge>\
         <permissions>{permissions}</permissions></metadata>\n\
         <outputs><output name=\"n\" type=\"integer\">a number</output></outputs>\n\
         </directive>\n```\n\nDo it.\n"
    )
}

/// A provider that says these turns.
pub fn provider(turns: &[Value]) -> String {
    let block = json!({
        "kind": "scripted", "models": {"general": "m"},
        "prices": {"m": {"input": 0, "output": 0}}, "answer_tokens": 100, "turns": turns,
    });
    format!(
        "version: \"1.0.0\"\ntool_type: provider\ncategory: acme\ndescription: d\n\
         provider: {block}\n"
    )
}

/// One turn with one call.
pub fn call(name: &str, arguments: &Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}], "usage": {"input": 10, "output": 5}})
}

/// Makes the directive and its provider, which hands over its output in the end.
pub fn prepared(world: &World, calls: &[Value], permissions: &str) {
    let end = [call("directive_return", &json!({"n": 7}))];
    let turns: Vec<Value> = calls.iter().cloned().chain(end).collect();
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&turns));
    world.signed(".ai/directives/acme/go.md", &directive(permissions));
}

/// Runs the directive, which must succeed, and gives its id.
#[track_caller]
pub fn forked(world: &World) -> String {
    let (status, told) = world.json(&["execute", "directive:acme/go", "--thread", "fork"]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    told["thread_id"].as_str().unwrap().to_owned()
}

/// What the calls of a thread gave, without the one that ended it.
pub fn results(world: &World, id: &str) -> Vec<Value> {
    let (_, told) = world.json(&["thread", "show", id]);
    let events = told["data"]["events"].as_array().unwrap().clone();
    let results = events.iter().filter(|event| event["event"] == "tool_call_result");
    let mut results: Vec<Value> = results
        .map(|event| serde_json::from_str(event["content"].as_str().unwrap()).unwrap())
        .collect();
    results.pop();
    results
}
