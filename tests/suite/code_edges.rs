//! Edges of what a snippet finds: text of what is no text, words of errors.

use serde_json::{Value, json};

use crate::code_waits::reads;
use crate::saved_snippets::world;
use crate::world::World;

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

/// Of a hundred calls sixteen run at once; the others are still waiting for their turn when the
/// snippet is at its limit of time.
#[test]
fn a_call_that_was_never_made_says_so_when_its_snippet_is_ended() {
    let world = world();
    let sleeps = reads("echo x >>began; exec sleep 30\n");
    world.signed(".ai/tools/acme/sleeps.sh", &sleeps);
    let code = "await Promise.all(Array.from({length: 100}, (_, i) => tools.acme.sleeps({i})))";
    let args = ["code", "run", "-", "--json", "--timeout", "3s"];
    let told = world.rye_in(&world.project(), &args, code.as_bytes()).json();
    assert_eq!(told["error"]["data"]["limit"], "timeout", "{told}");
    let calls = told["tool_calls"].as_array().unwrap();
    let count = |words: &str| {
        let says = |call: &&Value| call["error"]["message"].as_str().unwrap().contains(words);
        calls.iter().filter(says).count()
    };
    let (made, others) = (count("ended with its snippet"), count("was not made"));
    assert_eq!((calls.len(), made + others), (100, 100), "{told}");
    let began = String::from_utf8(world.read("began")).unwrap().lines().count();
    assert!(made <= 16 && began > 0 && began <= made, "{began} {made} {others}");
    for call in calls {
        assert_eq!(call["error"]["code"], "code.cancelled", "{call}");
        let is_made = !call["error"]["message"].as_str().unwrap().contains("was not made");
        assert!(is_made || call["duration_ms"] == 0, "{call}");
    }
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
