//! `rye_code` in a thread that asks a person: the thread waits at that call and goes on with it.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::snippets::{READS, code, times, world};
use super::{prepared, tool, turn};
use crate::async_runs::kill;
use crate::faults::tracer::{Fault, trace};
use crate::threads::{events, fork, rows};
use crate::world::wait::until;
use crate::world::{End, World, program};

pub const BOTH: &str = "<execute><tool>rye.code</tool><tool>acme.*</tool></execute>";

/// Starts a thread whose first turn makes these calls, of which one asks a person; its id, and that
/// of the request.
pub fn waits(world: &World, calls: &[(&str, Value)], permissions: &str) -> (String, String) {
    waits_after(world, &[turn(calls)], permissions)
}

/// The same of a model that says these turns.
pub fn waits_after(world: &World, turns: &[Value], permissions: &str) -> (String, String) {
    prepared(world, turns, permissions);
    let (status, told) = fork(world, &[]);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&told["thread_id"]), text(&told["pending"]["id"]))
}

/// What its model was told of each call, without the one that handed over.
pub fn told(world: &World, id: &str) -> Vec<Value> {
    let gave = events(world, id, "tool_call_result").into_iter();
    let gave = gave.map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap());
    let mut gave: Vec<Value> = gave.collect();
    gave.pop();
    gave
}

pub fn status(world: &World, id: &str) -> Value {
    let row = rows(world).into_iter().find(|row| row["thread_id"] == id).unwrap();
    row["thread_status"].clone()
}

pub fn verified(world: &World, id: &str) {
    assert_eq!(world.json(&["thread", "verify", id]).ok()["final"], true);
}

pub fn approve(world: &World, request: &str) -> (i32, Value) {
    world.json(&["pending", "approve", request])
}

#[test]
fn a_snippet_that_wants_to_write_stops_its_thread_which_goes_on_with_it_once_approved() {
    let world = world();
    let text = "await runTool('acme/echo', {}); __out = (await runTool('acme/write', {n: 5})).n";
    let behind = ("acme_echo", json!({"n": 9}));
    let (id, request) = waits(&world, &[code(text), behind], BOTH);
    assert_eq!(times(&world), 1, "what writes did not run, nor what stands behind the snippet");
    assert_eq!(status(&world, &id), "waiting");
    assert_eq!(events(&world, &id, "tool_call_result").len(), 0, "nothing is told before");
    assert_eq!(events(&world, &id, "cognition_out").len(), 1, "no turn runs meanwhile");
    verified(&world, &id);
    let (_, shown) = world.json(&["pending", "show", &request]);
    assert_eq!(
        (&shown["thread_id"], &shown["item_id"], &shown["params"]),
        (&json!(id), &json!("tool:acme/write"), &json!({"n": 5})),
        "{shown}"
    );
    world.json(&["thread", "resume", &id]).fails(8, "thread.waits");
    let (ended, came) = approve(&world, &request);
    assert_eq!((ended, &came["thread_id"]), (0, &json!(id)), "{came}");
    assert_eq!(came["outputs"], json!({"n": 7}));
    assert_eq!(times(&world), 3, "what ran before is not repeated");
    let gave = told(&world, &id);
    assert_eq!((&gave[0]["value"], &gave[1]["n"]), (&json!(5), &json!(9)), "{gave:?}");
    assert_eq!(status(&world, &id), "completed");
    verified(&world, &id);
    approve(&world, &request).fails(4, "pending.decided");
}

#[test]
fn whoever_configured_that_snippets_need_not_ask_is_not_asked_in_a_thread() {
    let world = world();
    let never = "category: execution\nversion: \"1.0.0\"\napproval: never\n";
    world.signed_home(".ai/config/execution/code.yaml", never);
    prepared(&world, &[turn(&[code("__out = (await runTool('acme/write', {n: 5})).n")])], BOTH);
    let came = fork(&world, &[]).ok();
    assert_eq!(told(&world, came["thread_id"].as_str().unwrap())[0]["value"], 5);
}

#[test]
fn a_snippet_that_asks_twice_lets_its_thread_wait_twice_and_repeats_nothing() {
    let world = world();
    world.signed(".ai/tools/acme/again.sh", &tool("", "echo x >> ran\ncat\n"));
    let text = "const a = await runTool('acme/write', {n: 1}); \
                __out = [a.n, (await runTool('acme/again', {n: 2})).n]";
    let (id, first) = waits(&world, &[code(text)], BOTH);
    let (ended, came) = approve(&world, &first);
    assert_eq!((ended, &came["thread_id"], times(&world)), (8, &json!(id), 1), "{came}");
    assert_eq!(status(&world, &id), "waiting");
    let second = came["pending"]["id"].as_str().unwrap();
    assert_ne!(second, first);
    let (ended, came) = approve(&world, second);
    assert_eq!((ended, times(&world)), (0, 2), "{came}");
    assert_eq!(told(&world, &id)[0]["value"], json!([1, 2]));
    verified(&world, &id);
}

#[test]
fn a_snippet_that_is_rejected_runs_nothing_more_and_its_model_is_told() {
    let world = with_starts();
    let text = "try { await runTool('acme/write', {}) } catch { await runTool('acme/starts', {}) }";
    let (id, request) = waits(&world, &[code(text)], STARTS);
    assert_eq!(
        world.json(&["pending", "reject", &request, "--reason", "no"]).ok()["outputs"],
        json!({"n": 7})
    );
    let gave = &told(&world, &id)[0];
    assert_eq!(gave["error_kind"], "permission_denied", "{gave}");
    assert!(gave["message"].as_str().unwrap().contains("no"), "{gave}");
    assert!(!world.project().join("other-said").exists());
    assert_eq!(world.json(&["pending", "show", &request]).1["state"], "rejected");
    verified(&world, &id);
}

#[test]
fn of_a_thread_that_is_cancelled_while_its_snippet_waits_nothing_can_be_approved() {
    let world = world();
    let (id, request) = waits(&world, &[code("await runTool('acme/write', {})")], BOTH);
    world.rye(&["thread", "cancel", &id]).ok();
    approve(&world, &request).fails(4, "pending.decided");
    assert_eq!((times(&world), status(&world, &id)), (0, json!("cancelled")));
}

#[test]
fn a_snippet_whose_tool_changed_since_is_not_run_and_its_thread_waits_on() {
    let world = world();
    let (id, request) = waits(&world, &[code("await runTool('acme/write', {})")], BOTH);
    world.signed(".ai/tools/acme/write.sh", &tool("", "echo x >> ran\necho 2\n"));
    approve(&world, &request).fails(4, "pending.drifted");
    assert_eq!((times(&world), status(&world, &id)), (0, json!("waiting")));
    let (ended, came) = world.json(&["pending", "reject", &request]);
    assert_eq!((ended, times(&world)), (0, 0), "{came}");
}

#[test]
fn a_snippet_whose_process_is_killed_while_it_goes_on_is_not_run_again() {
    let world = world();
    let stays = "echo x >> ran\nexec sleep 300\n";
    world.signed(".ai/tools/acme/write.sh", &tool("", stays));
    let (id, request) = waits(&world, &[code("await runTool('acme/write', {})")], BOTH);
    let mut command = world.command(&["pending", "approve", &request]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    until("what was approved runs", || times(&world) == 1);
    kill(child.id().into());
    child.wait().unwrap();
    until("its thread is known to be killed", || status(&world, &id) == "killed");
    let (ended, came) = world.json(&["thread", "resume", &id]);
    assert_eq!((ended, times(&world)), (0, 1), "{came}");
    let gave = &told(&world, &id)[0];
    assert!(gave["message"].as_str().unwrap().contains("interrupted"), "{gave}");
    verified(&world, &id);
}

#[test]
fn killed_between_the_end_of_an_approved_snippet_and_its_answer_its_model_is_told_what_it_gave() {
    for (end, want) in [
        ("__out = 8", json!({"value": 8})),
        ("throw new Error('too bad')", json!({"ok": false, "message": "too bad"})),
    ] {
        let world = world();
        let records = world.project().join(".ai/state/threads");
        let text = format!("console.log('said'); await runTool('acme/write', {{n: 5}}); {end}");
        let mut writes = 0;
        loop {
            let _ = fs::remove_file(world.project().join("ran"));
            let (id, request) = waits(&world, &[code(&text)], BOTH);
            let mut command = world.command(&["pending", "approve", &request, "--json"]);
            let traced = trace(&mut command, &records, Some((writes, Fault::KilledBefore)));
            assert!(traced.hit.is_some(), "{end}: never between the two: {traced:?}");
            writes += 1;
            let (_, shown) = world.json(&["pending", "show", &request]);
            let has_answer = !events(&world, &id, "tool_call_result").is_empty();
            if shown["state"] != "done" || has_answer {
                assert!(writes < 20, "{end}: {shown}");
                continue;
            }
            assert_eq!((status(&world, &id), times(&world)), (json!("killed"), 1), "{end}");
            let (ended, came) = world.json(&["thread", "resume", &id]);
            assert_eq!((ended, times(&world)), (0, 1), "{end}: {came}");
            let gave = &told(&world, &id)[0];
            let said = gave.to_string();
            for (key, value) in want.as_object().unwrap() {
                match value.as_str() {
                    Some(part) => assert!(gave[key].as_str().unwrap().contains(part), "{said}"),
                    None => assert_eq!(&gave[key], value, "{said}"),
                }
            }
            assert!(said.contains("said"), "{end}: what it printed is told too: {said}");
            verified(&world, &id);
            break;
        }
    }
}

/// Tries a tool that the thread may call and one that it may not, also without its environment.
fn starting(world: &World) -> String {
    let (home, rye) = (world.home().display().to_string(), program());
    let folder = world.project().display().to_string();
    let again = |name: &str, file: &str| {
        format!("{rye} execute tool:acme/{name} --json > {file} 2>&1; true")
    };
    let (echo, other) = (again("echo", "echo-said"), again("other", "other-said"));
    let bare = again("other", "bare-said");
    let script = format!(
        "cd '{folder}'; export HOME='{home}'; {echo}; {other}; echo 1\n\
         exec env -i PATH=\"$PATH\" HOME='{home}' sh -c '{bare}'\n"
    );
    tool(READS, &script)
}

/// What each try came to.
fn tried(world: &World) -> [Value; 3] {
    ["echo-said", "other-said", "bare-said"].map(|name| {
        let said: Value = serde_json::from_slice(&world.read(name)).unwrap();
        fs::remove_file(world.project().join(name)).unwrap();
        said["code"].clone()
    })
}

/// A project with a tool that starts rye, one that is given a secret, and a saved snippet.
fn with_starts() -> World {
    let world = world().env("ACME_KEY", "canary-5d1f7c2b");
    world.signed(".ai/tools/acme/starts.sh", &starting(&world));
    let secret = format!("{READS}# secrets = [\"ACME_KEY\"]\n");
    let tells = "echo \"{\\\"key\\\": \\\"$ACME_KEY\\\"}\"\n";
    world.signed(".ai/tools/acme/tells.sh", &tool(&secret, tells));
    let saved = "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
         // executor_id = \"rye/core/runtimes/code/snippet\"\n// category = \"acme\"\n\
         // description = \"d\"\n// effects = \"read\"\n\
         // calls = [\"tool:acme/starts\", \"tool:acme/write\"]\n// ///\n\
         await runTool('acme/write', {}); __out = await runTool('acme/starts', {});\n";
    world.signed(".ai/tools/acme/saved.js", saved);
    // The fixture works untouched.
    world.works("tool:acme/starts");
    assert_eq!(tried(&world), [Value::Null, Value::Null, Value::Null]);
    world
}

const STARTS: &str = "<execute><tool>rye.code</tool><tool>acme.starts</tool><tool>acme.stays</tool>\
     <tool>acme.write</tool><tool>acme.tells</tool><tool>acme.saved</tool><tool>acme.echo</tool>\
     </execute>";

const WRITES: &str = "await runTool('acme/write', {}); await runTool('acme/starts', {});\n\
     __out = (await runTool('acme/tells', {})).key";

#[test]
fn a_snippet_that_is_approved_gives_its_tools_what_its_thread_may_and_no_secret() {
    let world = with_starts();
    for text in [WRITES, "await runTool('acme/saved', {}); __out = '***'"] {
        let (id, request) = waits(&world, &[code(text)], STARTS);
        assert_eq!(approve(&world, &request).ok()["outputs"], json!({"n": 7}));
        let gave = &told(&world, &id)[0];
        assert_eq!(gave["value"], "***", "{gave}");
        assert!(!gave.to_string().contains("canary"), "{gave}");
        assert_eq!(tried(&world), [Value::Null, json!("grant.denied"), json!("grant.denied")]);
    }
}
