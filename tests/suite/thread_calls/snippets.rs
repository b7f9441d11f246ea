//! `rye_code` in a thread: a snippet can do what its thread may, and nothing else.

use std::fs;

use serde_json::{Value, json};

use super::{prepared, tool, turn};
use crate::hooks::hook;
use crate::threads::{events, fork, provider, rows};
use crate::world::{World, program};

pub const READS: &str = "# effects = \"read\"\n";
/// Leaves a line, and gives back what it was given.
const ECHO: &str = "echo x >> ran\ncat\n";
const CODE: &str = "<execute><tool>rye.code</tool><tool>acme.echo</tool></execute>";

pub fn code(text: &str) -> (&'static str, Value) {
    ("rye_code", json!({"code": text}))
}

/// A project with tools that read, `acme/echo` and `acme/other`, and one that does not say so.
pub fn world() -> World {
    World::new()
        .with(".ai/tools/acme/echo.sh", &tool(READS, ECHO))
        .with(".ai/tools/acme/other.sh", &tool(READS, ECHO))
        .with(".ai/tools/acme/write.sh", &tool("", ECHO))
}

/// What each of these calls, one turn each, gave.
fn gave(world: &World, calls: &[(&'static str, Value)], permissions: &str) -> Vec<Value> {
    let turns: Vec<Value> = calls.iter().map(|call| turn(std::slice::from_ref(call))).collect();
    prepared(world, &turns, permissions);
    let (status, told) = fork(world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let gave = events(world, told["thread_id"].as_str().unwrap(), "tool_call_result");
    let gave = gave.iter().map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap());
    let mut gave: Vec<Value> = gave.collect();
    gave.pop();
    assert_eq!(gave.len(), calls.len());
    gave
}

pub fn times(world: &World) -> usize {
    fs::read_to_string(world.project().join("ran")).unwrap_or_default().lines().count()
}

#[test]
fn a_snippet_calls_the_tools_of_its_thread_and_its_model_is_told_what_it_made_of_them() {
    let world = world();
    let text = "const all = await Promise.all([1, 2, 3].map((n) => runTool('acme/echo', {n})));\n\
                println('done'); __out = all.map((it) => it.n * 10);";
    let told = &gave(&world, &[code(text)], CODE)[0];
    assert_eq!(
        (&told["value"], &told["stdout"]),
        (&json!([10, 20, 30]), &json!("done\n")),
        "{told}"
    );
    assert_eq!(told["tool_calls"].as_array().unwrap().len(), 3);
    assert_eq!((times(&world), told.get("limits"), told.get("stderr")), (3, None, None));
}

#[test]
fn a_snippet_is_not_there_without_its_own_permission_nor_below_a_thread_without_it() {
    let world = world();
    let only = "<execute><tool>acme.echo</tool></execute>";
    let told = gave(&world, &[code("__out = 1")], only);
    assert_eq!(told[0]["error_kind"], "unknown_tool", "{}", told[0]);
    assert_eq!(gave(&world, &[code("__out = 1")], CODE)[0]["value"], 1);
    // A child that asks for it has it only where its parent has.
    let below = ("rye_execute", json!({"item_id": "directive:acme/child", "thread": "fork"}));
    for (parent, want) in [("rye.code", Value::Null), ("acme.echo", json!("unknown_tool"))] {
        let end = ("directive_return", json!({"n": 1}));
        let turns = json!([turn(&[code("__out = 1")]), turn(&[end])]);
        world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&turns));
        let child = crate::threads::directive("child", "turns=\"5\"", CODE);
        let child = child.replace("acme/script", "acme/child_script");
        world.signed(".ai/directives/acme/child.md", &child);
        let permissions =
            format!("<execute><tool>{parent}</tool><directive>acme.child</directive></execute>");
        assert!(gave(&world, std::slice::from_ref(&below), &permissions)[0].get("ok").is_none());
        let id = rows(&world).last().unwrap()["thread_id"].as_str().unwrap().to_owned();
        let first = &events(&world, &id, "tool_call_result")[0];
        let first: Value = serde_json::from_str(first["content"].as_str().unwrap()).unwrap();
        assert_eq!(first["error_kind"], want, "{parent}: {first}");
    }
}

#[test]
fn a_snippet_cannot_call_what_its_thread_may_not_however_it_asks() {
    let world = world();
    let tries = [
        "await runTool('acme/other', {})",
        "await runTool('tool:acme/other@project', {})",
        "await tools.acme.other({})",
        "await runChain([{tool_id: 'acme/echo', args: {}}, {tool_id: 'acme/other'}])",
        "await Promise.all([runTool('acme/echo', {}), runTool('acme/other', {})])",
        "await Promise.allSettled(Array(8).fill(0).map(() => runTool('acme/other', {})))\
         .then((all) => { throw all[7].reason })",
        "await runTool('directive:acme/go', {})",
        "await runTool('rye/code', {code: '1'})",
        "await runTool('rye/bash', {command: 'echo x >> ran'})",
    ];
    let calls: Vec<_> = tries
        .iter()
        .map(|text| {
            code(&format!("try {{ {text}; __out = 'it ran' }} catch (e) {{ __out = e.code }}"))
        })
        .collect();
    for (text, told) in tries.iter().zip(gave(&world, &calls, CODE)) {
        let refused = ["grant.denied", "plan.not_a_tool", "resolve.not_found"];
        let got = told["value"].as_str().unwrap_or_default().to_owned();
        assert!(refused.contains(&got.as_str()), "{text}: {told}");
    }
    assert_eq!(times(&world), 2, "only what the thread may call");
    let looks = "__out = [await listNamespaces(), await searchTools('other', 9), \
                 await describeTool('acme/echo', 'full').then(Object.keys)]";
    let hidden = "await describeTool('acme/other', 'summary')";
    let gave = gave(&world, &[code(looks), code(hidden)], CODE);
    assert_eq!(gave[0]["value"][0], json!([{"name": "acme", "tools": 1}]), "{}", gave[0]);
    assert_eq!(gave[0]["value"][1]["total"], 0, "{}", gave[0]);
    let keys = gave[0]["value"][2].to_string();
    assert!(keys.contains("schema") && !keys.contains("\"path\""), "{keys}");
    let refused = &gave[1]["detail"]["tool_calls"][0]["error"]["code"];
    assert_eq!((refused, &gave[1]["ok"]), (&json!("grant.denied"), &json!(false)), "{}", gave[1]);
}

#[test]
fn f07_hooks_judge_a_snippet_of_a_thread_and_each_of_its_calls() {
    let world = world();
    let call = [code("__out = await runTool('acme/echo', {n: 1}).catch((e) => e.code)")];
    assert_eq!(gave(&world, &call, CODE)[0]["value"]["n"], 1, "the fixture works untouched");
    let denies = "echo '{\"allow\":false,\"reason\":\"not now\"}'";
    let about = |item: &str| format!("phases: [before_execution]\nmatch: [\"{item}\"]\n");
    hook(&world, "guard", &about("tool:acme/echo"), denies);
    assert_eq!(gave(&world, &call, CODE)[0]["value"], "hook.denied");
    hook(&world, "guard", &about("tool:rye/code"), denies);
    let told = &gave(&world, &call, CODE)[0];
    assert_eq!(told["error_kind"], "blocked_by_hook", "{told}");
    assert_eq!(times(&world), 1);
}

#[test]
fn a_snippet_of_a_thread_is_given_no_secret_and_so_hides_none() {
    let world = world().env("ACME_KEY", "canary-5d1f7c2b");
    let tells = "echo \"{\\\"key\\\": \\\"$ACME_KEY\\\"}\"\n";
    let secret = format!("{READS}# secrets = [\"ACME_KEY\"]\n");
    world.signed(".ai/tools/acme/tells.sh", &tool(&secret, tells));
    let text = "const {key} = await runTool('acme/tells', {});\n\
                println(key); __out = [key, [...key].reverse().join(''), key.length]";
    let both = "<execute><tool>rye.code</tool><tool>acme.tells</tool></execute>";
    let told = gave(&world, &[code(text)], both)[0].to_string();
    assert!(told.contains("tool_calls") && told.contains("\"value\":["), "{told}");
    assert!(!told.contains("canary") && !told.contains("b2c7f1d5-yranac"), "{told}");
}

#[test]
fn a_snippet_that_fails_is_told_with_its_place_and_what_it_printed() {
    let world = world();
    let calls = [
        code("println('before');\nthrow new Error('no more')"),
        code("let = ;"),
        ("rye_code", json!({"code": ""})),
        ("rye_code", json!({"code": "1", "language": "cobol"})),
        ("rye_code", json!({"language": "javascript"})),
        ("rye_code", json!({"code": "__out = params.a + 1", "params": {"a": 4}})),
    ];
    let gave = gave(&world, &calls, CODE);
    assert_eq!(gave[0]["error_kind"], "tool_execution_exception", "{}", gave[0]);
    assert!(gave[0]["message"].as_str().unwrap().contains("no more"), "{}", gave[0]);
    assert_eq!(
        (&gave[0]["detail"]["stdout"], &gave[0]["detail"]["error"]["line"]),
        (&json!("before\n"), &json!(2)),
        "{}",
        gave[0]
    );
    for told in &gave[1..4] {
        assert_eq!(told["error_kind"], "tool_execution_exception", "{told}");
        assert!(told["detail"]["error"]["code"].as_str().unwrap().starts_with("code."), "{told}");
    }
    assert_eq!(gave[4]["error_kind"], "invalid_tool_arguments", "{}", gave[4]);
    assert_eq!(gave[5]["value"], 5);
}

#[test]
fn a_tool_that_a_snippet_calls_reaches_no_more_by_starting_rye_again() {
    let world = world();
    let rye = format!("env HOME={} {}", world.home().display(), program());
    let folder = world.project().display().to_string();
    let again = |name: &str| format!("{rye} execute tool:acme/{name} --json > {name}-said 2>&1");
    let script = format!("cd '{folder}'; {}; {}; echo 1\n", again("echo"), again("other"));
    world.signed(".ai/tools/acme/starts.sh", &tool(READS, &script));
    let saved = "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
         // executor_id = \"rye/core/runtimes/code/snippet\"\n// category = \"acme\"\n\
         // description = \"d\"\n// effects = \"read\"\n// calls = [\"tool:acme/starts\"]\n// ///\n\
         __out = await runTool('acme/starts', {});\n";
    world.signed(".ai/tools/acme/saved.js", saved);
    let permissions = "<execute><tool>rye.code</tool><tool>acme.starts</tool>\
         <tool>acme.saved</tool><tool>acme.echo</tool></execute>";
    for call in [code("__out = await runTool('acme/starts', {})"), ("acme_saved", json!({}))] {
        let told = &gave(&world, std::slice::from_ref(&call), permissions)[0];
        assert_ne!(told["ok"], false, "{told}");
        for (name, want) in [("echo", Value::Null), ("other", json!("grant.denied"))] {
            let said: Value = serde_json::from_slice(&world.read(&format!("{name}-said"))).unwrap();
            assert_eq!(said["code"], want, "{call:?}: {said}");
            fs::remove_file(world.project().join(format!("{name}-said"))).unwrap();
        }
    }
}
