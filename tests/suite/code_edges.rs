//! Edges of what a snippet finds: text of what is no text, words of errors.

use serde_json::{Value, json};

use crate::saved_snippets::echo;
use crate::world::World;

fn world() -> World {
    let world = World::new();
    world.signed(".ai/tools/acme/echo.sh", &echo());
    world
}

#[track_caller]
fn run(world: &World, code: &str) -> Value {
    let said = world.rye_in(&world.project(), &["code", "run", "-", "--json"], code.as_bytes());
    said.json()
}

#[test]
fn what_turns_tools_to_text_or_json_calls_nothing_table() {
    let world = world();
    let works = run(&world, "__out = await tools.acme.echo({n: 1})");
    assert_eq!(
        (&works["value"], &works["limits"]["used"]["tool_calls"]),
        (&json!({"n": 1}), &json!(1))
    );
    for (code, want) in [
        ("__out = String(tools.acme.echo)", json!("tools.acme.echo")),
        ("__out = `${tools}`", json!("tools")),
        ("__out = 'a ' + tools.x", json!("a tools.x")),
        ("__out = tools.x.toString()", json!("tools.x")),
        ("__out = tools.x.valueOf()", json!("tools.x")),
        ("__out = [tools.acme, 1].join()", json!("tools.acme,1")),
        ("__out = String(JSON.stringify(tools.acme.echo))", json!("undefined")),
        ("__out = JSON.stringify({a: tools.acme.echo})", json!("{}")),
        ("println(tools.acme); console.error(tools); __out = 1", json!(1)),
        ("__out = isNaN(+tools.x)", json!(true)),
        ("__out = tools.x == 'tools.x'", json!(true)),
        ("__out = typeof (await tools.acme.echo)", json!("function")),
    ] {
        let told = run(&world, code);
        assert_eq!((&told["status"], &told["value"]), (&json!("success"), &want), "{code}: {told}");
        assert_eq!(told["limits"]["used"]["tool_calls"], 0, "{code}: {told}");
        assert_eq!(told["tool_calls"], json!([]), "{code}: {told}");
    }
    // What is printed is not asked for its text.
    let told = run(&world, "println(tools.acme, Object.assign(() => 1, {toString: runTool}), 0.5)");
    assert_eq!(told["stdout"], "[a function] [a function] 0.5\n", "{told}");
    assert_eq!(told["limits"]["used"]["tool_calls"], 0, "{told}");
}

#[test]
fn the_error_of_a_chain_names_its_step_once() {
    let world = world();
    let chain = "[{tool_id: 'acme/echo', args: {a: 1}},\n\
        {tool_id: 'acme/echo', use_previous: true, previous_path: '/b'}]";
    let told = run(&world, &format!("await runChain({chain})"));
    let message = told["error"]["message"].as_str().unwrap();
    assert_eq!(message.matches("step 2").count(), 1, "{message}");
    assert!(message.contains("the step before it gave nothing at `/b`"), "{message}");
    let told = run(&world, "await runChain([{tool_id: 'acme/none'}])");
    let message = told["error"]["message"].as_str().unwrap();
    assert_eq!(message.matches("step 1").count(), 1, "{message}");
}
