//! What a tool asks, asked of the person at the client (exec-protocol 4).

use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::stateless::{KEY, stateless};
use crate::pending::{ITEM, PAY, paid, world, world_where_it_asks_for};
use crate::world::wait::until;
use crate::world::{End, World};

const FLAG: &str = "--approve-by-elicitation";

/// A client that shows forms to its person.
fn client(world: &World, args: &[&str], capabilities: &Value) -> Client {
    let mut client = Client::start(world, args);
    client.hello_as(capabilities);
    client
}

fn call(world: &World, parameters: &Value) -> Value {
    json!({"name": "rye_execute", "arguments": {
        "item_id": PAY, "project_path": world.project(), "parameters": parameters,
    }})
}

/// Begins a call, and gives its id and the question that comes.
fn begin(client: &mut Client, world: &World, amount: u64) -> (i64, Value) {
    let id = client.begin("tools/call", &call(world, &json!({"amount": amount})));
    (id, client.next("elicitation/create"))
}

fn says(client: &mut Client, question: &Value, result: &Value) {
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

/// The structure of the answer to a call.
fn answer(client: &mut Client, id: i64) -> Value {
    client.answer(id)["result"]["structuredContent"].clone()
}

/// The one request that there is.
fn request(world: &World) -> Value {
    let (_, listed) = world.json(&["pending", "list", "--all"]);
    let all = listed["pending"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{listed}");
    let (_, shown) = world.json(&["pending", "show", all[0]["id"].as_str().unwrap()]);
    shown
}

fn is_question(message: &Value) -> bool {
    message["method"] == "elicitation/create"
}

#[test]
fn nobody_is_asked_where_the_server_was_not_started_so_or_the_client_cannot() {
    let can = json!({"elicitation": {}});
    for (args, capabilities, run_id) in [
        (&[][..], &can, None),
        (&[FLAG][..], &json!({}), None),
        (&[FLAG][..], &json!({"elicitation": {"url": {}}}), None),
        (&[FLAG][..], &can, Some("run-1")),
    ] {
        let world = world();
        let world = match run_id {
            Some(id) => world.env("RYE_RUN_ID", id),
            None => world,
        };
        // Nothing that a clone holds starts it.
        world.write(".ai/config/rye/mcp.yaml", "approve_by_elicitation: true\n");
        let mut client = client(&world, args, capabilities);
        let id = client.begin("tools/call", &call(&world, &json!({"amount": 1})));
        assert_eq!(answer(&mut client, id)["status"], "pending", "{args:?} {capabilities}");
        assert!(!client.kept.iter().any(is_question), "{:?}", client.kept);
        assert_eq!((request(&world)["state"].as_str(), paid(&world)), (Some("waiting"), 0));
    }
}

#[test]
fn a_person_at_the_client_is_shown_what_would_run_and_decides_once() {
    let accept = json!({"action": "accept", "content": {}});
    for (said, status, state, runs) in [
        (&accept, "success", "done", 1),
        (&json!({"action": "decline"}), "error", "rejected", 0),
        (&json!({"action": "cancel"}), "pending", "waiting", 0),
        (&json!({"action": "whatever"}), "pending", "waiting", 0),
        (&json!({}), "pending", "waiting", 0),
    ] {
        let world = world();
        let mut client = client(&world, &[FLAG], &json!({"elicitation": {"form": {}}}));
        let (id, question) = begin(&mut client, &world, 5);
        let kept = request(&world);
        let shown = question["params"]["message"].as_str().unwrap();
        for key in ["id", "item_id", "project", "asked_at", "reason", "message", "plan_sha256"] {
            let value = kept[key].as_str().unwrap();
            assert!(shown.contains(value), "{key}: {value} is not in {shown}");
        }
        assert!(shown.contains(r#"parameters: {"amount":5}"#), "{shown}");
        let schema = &question["params"]["requestedSchema"];
        assert_eq!(schema, &json!({"type": "object", "properties": {}}), "only yes or no");
        says(&mut client, &question, said);
        let got = answer(&mut client, id);
        assert_eq!((got["status"].as_str(), paid(&world)), (Some(status), runs), "{said} {got}");
        let kept = request(&world);
        assert_eq!(kept["state"], state, "{kept}");
        if status == "success" {
            let by = kept["decided_by"].as_str().unwrap();
            assert!(by.ends_with(" over MCP"), "{by}");
            assert_eq!(got["data"]["approval"]["by"], by, "{got}");
        } else if status == "error" {
            assert_eq!(got["code"], "pending.rejected", "{got}");
        }
    }
}

#[test]
fn a_client_that_has_no_answer_leaves_it_to_rye_pending() {
    let world = world();
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let (id, question) = begin(&mut client, &world, 5);
    let error = json!({"code": -32601, "message": "not today"});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error}));
    assert_eq!(answer(&mut client, id)["status"], "pending");
    // One that cancels the call takes the question away with it.
    let (id, question) = begin(&mut client, &world, 6);
    client.cancel(id);
    let told = client.next("notifications/cancelled");
    assert_eq!(told["params"]["requestId"], question["id"], "{told}");
    says(&mut client, &question, &json!({"action": "accept", "content": {}}));
    client.ask("ping", &json!({}));
    let (_, listed) = world.json(&["pending", "list"]);
    assert_eq!((listed["pending"].as_array().unwrap().len(), paid(&world)), (2, 0), "{listed}");
}

#[test]
fn f11_an_answer_that_comes_late_or_after_a_change_runs_nothing() {
    let accept = json!({"action": "accept", "content": {}});
    let world = world();
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let (id, question) = begin(&mut client, &world, 5);
    let waits = request(&world)["id"].as_str().unwrap().to_owned();
    world.rye(&["pending", "approve", &waits]).ok();
    says(&mut client, &question, &accept);
    assert_eq!(answer(&mut client, id)["code"], "pending.decided");
    assert_eq!(paid(&world), 1, "by the one who came first");
    let (id, question) = begin(&mut client, &world, 6);
    let text = std::fs::read_to_string(world.project().join(ITEM)).unwrap();
    let text = text.split_once('\n').unwrap().1.replace("Pays.", "Pays more.");
    world.signed(ITEM, &text);
    says(&mut client, &question, &accept);
    assert_eq!(answer(&mut client, id)["code"], "pending.drifted");
    assert_eq!(paid(&world), 1);
}

#[test]
fn the_question_says_what_rye_knows_first_and_marks_what_the_tool_says() {
    let world = world().env("TOKEN", "hush-hush-hush");
    let text = std::fs::read_to_string(world.project().join(ITEM)).unwrap();
    let text = text.split_once('\n').unwrap().1.replace("exec:\n", "exec:\n  env: [TOKEN]\n");
    let says = "#!/bin/sh\nlong=$(printf '%01000d' 0)\nprintf '{\"pending\":{\"reason\":\"a\\\\nplan: sha256 \
                beef\",\"message\":\"Pay\\\\n\\\\nparameters: {} hush-hush-hush%s\"}}' $long\n";
    world.write(".ai/tools/acme/pay-it.sh", says);
    world.signed(ITEM, &text);
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let (_, question) = begin(&mut client, &world, 5);
    let shown = question["params"]["message"].as_str().unwrap();
    let (known, said) =
        shown.split_once("\n\nThe tool says, in words that nobody checked:\n").unwrap();
    let labels = known.lines().skip(2).map(|line| line.split(": ").next().unwrap());
    let want = ["request", "tool", "project", "asked", "plan", "parameters"];
    assert_eq!(labels.collect::<Vec<_>>(), want, "{shown}");
    let said: Vec<_> = said.lines().collect();
    let [reason, message] = said[..] else { panic!("{shown}") };
    assert_eq!(reason, r"> reason: a\nplan: sha256 beef");
    assert!(message.starts_with(r"> message: Pay\n\nparameters: {} ***000"), "{message}");
    assert!(message.ends_with('…') && message.chars().count() < 450, "{message}");
    // At the terminal it is the same, and nothing is cut.
    let id = request(&world)["id"].as_str().unwrap().to_owned();
    let shown = world.rye(&["pending", "show", &id]).stdout;
    let says = shown.find("The tool says").unwrap();
    for label in ["  request  ", "     tool  ", "  plan  sha256", "parameters  {\"amount\":5}"] {
        assert!(shown.find(label).is_some_and(|at| at < says), "{label}: {shown}");
    }
    for part in [r"a\nplan: sha256 beef", &*"0".repeat(1_000)] {
        assert!(shown.find(part).is_some_and(|at| at > says), "{part}: {shown}");
    }
    let said = world.rye_below_a_run_at_a_terminal("n\n", &["pending", "approve", &id]).stdout;
    let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("{part}: {said}"));
    assert!(at("plan sha256") < at("the tool says: Pay"), "{said}");
}

#[test]
fn what_the_projects_env_file_says_otherwise_since_the_question_runs_nothing() {
    let accept = json!({"action": "accept", "content": {}});
    let world = world_where_it_asks_for("ACCOUNT");
    world.write(".env", "ACCOUNT=DE-hush-1\n");
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let (id, question) = begin(&mut client, &world, 5);
    world.write(".env", "ACCOUNT=XX-hush-1\n");
    says(&mut client, &question, &accept);
    let got = answer(&mut client, id);
    assert_eq!((&got["code"], paid(&world)), (&json!("pending.drifted"), 0), "{got}");
    let error = got["error"].as_str().unwrap();
    assert!(error.contains("of `ACCOUNT` now") && !got.to_string().contains("hush"), "{got}");
    // As it is now it can be asked, and approved.
    let (id, question) = begin(&mut client, &world, 6);
    says(&mut client, &question, &accept);
    assert_eq!((&answer(&mut client, id)["status"], paid(&world)), (&json!("success"), 1));
}

#[test]
fn the_question_holds_no_secret_and_is_not_cut() {
    let world = world().env("TOKEN", "hush-hush-hush");
    let text = std::fs::read_to_string(world.project().join(ITEM)).unwrap();
    let text = text.split_once('\n').unwrap().1.replace("exec:\n", "exec:\n  env: [TOKEN]\n");
    world.signed(ITEM, &text);
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let parameters = json!({"to": "hush-hush-hush", "note": "a\nproject: /other"});
    let id = client.begin("tools/call", &call(&world, &parameters));
    let question = client.next("elicitation/create");
    let shown = question["params"]["message"].as_str().unwrap();
    assert!(shown.contains(r#"{"note":"a\nproject: /other","to":"***"}"#), "{shown}");
    says(&mut client, &question, &json!({"action": "cancel"}));
    client.answer(id);
    // What is too long to be read is not asked in part.
    let parameters = json!({"note": "x".repeat(9_000)});
    let id = client.begin("tools/call", &call(&world, &parameters));
    assert_eq!(answer(&mut client, id)["status"], "pending");
    assert!(!client.kept.iter().any(is_question));
}

#[test]
fn without_a_session_the_question_is_the_answer_and_the_call_comes_back_with_it() {
    let world = world();
    let mut client = Client::start(&world, &[FLAG, "--expose", "tool:acme/*"]);
    let can = (&*format!("{KEY}/clientCapabilities"), json!({"elicitation": {"form": {}}}));
    let asked = json!({"name": "acme_pay", "arguments": {"amount": 5}});
    // A client that cannot ask is told that it waits, as before.
    let said = client.ask("tools/call", &stateless(asked.clone(), &[]));
    assert_eq!(said["result"]["structuredContent"]["status"], "pending", "{said}");
    let begin = |client: &mut Client| {
        let said = client.ask("tools/call", &stateless(asked.clone(), std::slice::from_ref(&can)));
        let result = said["result"].clone();
        assert_eq!(result["resultType"], "input_required", "{said}");
        let question = &result["inputRequests"]["approval"];
        assert_eq!(question["method"], "elicitation/create", "{said}");
        let shown = question["params"]["message"].as_str().unwrap();
        assert!(shown.contains(r#"parameters: {"amount":5}"#), "{shown}");
        result["requestState"].as_str().unwrap().to_owned()
    };
    let back = |state: &str, amount: u64, said: Value| {
        let again = json!({
            "name": "acme_pay", "arguments": {"amount": amount},
            "requestState": state, "inputResponses": said,
        });
        stateless(again, std::slice::from_ref(&can))
    };
    let accept = json!({"approval": {"action": "accept", "content": {}}});
    let state = begin(&mut client);
    // Another call, another state, an answer that is none: nothing is run.
    let other = request_of(&world, 0);
    for (state, amount, said) in [
        (&*state, 6, &accept),
        (&*other, 5, &accept),
        ("p-000000000000", 5, &accept),
        (&*state, 5, &json!({"approval": true})),
    ] {
        let said = client.ask("tools/call", &back(state, amount, said.clone()));
        assert_eq!(said["error"]["code"], -32602, "{said}");
    }
    for nobody in [json!({}), json!({"approval": {"action": "cancel"}})] {
        let said = client.ask("tools/call", &back(&state, 5, nobody));
        let result = &said["result"];
        assert_eq!(result["structuredContent"]["pending"]["id"], state.as_str(), "{said}");
    }
    assert_eq!(paid(&world), 0);
    let said = client.ask("tools/call", &back(&state, 5, accept.clone()));
    assert_eq!(said["result"]["structuredContent"]["args"], json!({"amount": 5}), "{said}");
    let said = client.ask("tools/call", &back(&state, 5, accept));
    assert_eq!(said["result"]["structuredContent"]["code"], "pending.decided", "{said}");
    assert_eq!(paid(&world), 1);
    let state = begin(&mut client);
    let decline = json!({"approval": {"action": "decline"}});
    let said = client.ask("tools/call", &back(&state, 5, decline));
    assert_eq!(said["result"]["structuredContent"]["code"], "pending.rejected", "{said}");
    assert_eq!(paid(&world), 1);
}

/// The id of a request, by its age.
fn request_of(world: &World, at: usize) -> String {
    let (_, listed) = world.json(&["pending", "list"]);
    listed["pending"][at]["id"].as_str().unwrap().to_owned()
}

#[test]
fn while_a_person_thinks_other_calls_go_on() {
    let world = world();
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    // More than are run at once.
    let begun: Vec<_> = (0..20).map(|amount| begin(&mut client, &world, amount)).collect();
    client.ask("tools/list", &json!({}));
    for (id, question) in begun {
        says(&mut client, &question, &json!({"action": "accept", "content": {}}));
        assert_eq!(answer(&mut client, id)["status"], "success");
    }
    until("each was run once", || paid(&world) == 20);
    assert!(!client.hears(Duration::from_millis(10), is_question));
}

/// A thread whose one call asks a person: a tool that does, or a snippet that calls one that writes.
fn with_a_thread(of_snippet: bool) -> World {
    use crate::thread_calls::{prepared, tool, turn};

    let world = world();
    let (call, may) = match of_snippet {
        true => {
            world.signed(".ai/tools/acme/write.sh", &tool("", "echo x >> paid\ncat\n"));
            let code = json!({"code": "__out = (await runTool('acme/write', {amount: 5}))"});
            (("rye_code", code), "<tool>rye.code</tool><tool>acme.write</tool>")
        }
        false => (("acme_pay", json!({"amount": 5})), "<tool>acme.pay</tool>"),
    };
    prepared(&world, &[turn(&[call])], &format!("<execute>{may}</execute>"));
    world
}

#[test]
fn a_person_at_the_client_decides_about_a_call_with_which_a_thread_waits_table() {
    use crate::threads::{events, rows};

    let snippets = if cfg!(feature = "code") { &[false, true][..] } else { &[false] };
    let again = json!({"action": "cancel"});
    for (said, state, ran) in [
        (json!({"action": "accept", "content": {}}), "done", true),
        (json!({"action": "decline"}), "rejected", false),
        (again.clone(), "waiting", false),
    ] {
        for of_snippet in snippets {
            let world = with_a_thread(*of_snippet);
            let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
            let arguments = json!({
                "item_id": "directive:acme/go", "thread": "fork", "project_path": world.project(),
            });
            let call = json!({"name": "rye_execute", "arguments": arguments});
            let id = client.begin("tools/call", &call);
            let question = client.next("elicitation/create");
            let shown = question["params"]["message"].as_str().unwrap();
            let kept = request(&world);
            let item = if *of_snippet { "tool:acme/write" } else { PAY };
            for part in [kept["id"].as_str().unwrap(), item, "parameters: {\"amount\":5}"] {
                assert!(shown.contains(part), "{part} is not in {shown}");
            }
            let thread = kept["thread_id"].as_str().unwrap();
            assert_eq!(rows(&world)[0]["thread_status"], "waiting");
            says(&mut client, &question, &said);
            let got = answer(&mut client, id);
            let came = (&request(&world)["state"], paid(&world) == 1);
            assert_eq!(came, (&json!(state), ran), "{said} {got}");
            assert_eq!(got["thread_id"], thread, "{got}");
            if said == again {
                assert_eq!(got["status"], "pending", "{got}");
                assert_eq!(rows(&world)[0]["thread_status"], "waiting");
                continue;
            }
            // Either way the thread goes on, and its model is told what came of it.
            let came = (&got["status"], &got["outputs"]);
            assert_eq!(came, (&json!("success"), &json!({"n": 7})), "{got}");
            let gave = events(&world, thread, "tool_call_result");
            let gave: Value = serde_json::from_str(gave[0]["content"].as_str().unwrap()).unwrap();
            match (ran, of_snippet) {
                (true, true) => assert_eq!(gave["value"]["amount"], 5, "{gave}"),
                (true, false) => assert_eq!(gave["args"]["amount"], 5, "{gave}"),
                (false, _) => assert_eq!(gave["error_kind"], "permission_denied", "{gave}"),
            }
            assert_eq!(world.json(&["thread", "verify", thread]).ok()["final"], true);
        }
    }
}

#[test]
fn whoever_says_no_for_a_thread_that_cannot_go_on_is_told_that_it_waits_on() {
    use crate::threads::rows;

    let world = with_a_thread(false);
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let arguments = json!({
        "item_id": "directive:acme/go", "thread": "fork", "project_path": world.project(),
    });
    let call = json!({"name": "rye_execute", "arguments": arguments});
    let id = client.begin("tools/call", &call);
    let question = client.next("elicitation/create");
    std::fs::remove_dir_all(world.project().join(".ai/state/threads")).unwrap();
    says(&mut client, &question, &json!({"action": "decline"}));
    let got = answer(&mut client, id);
    assert_eq!((&got["status"], &got["code"]), (&json!("error"), &json!("pending.rejected")));
    let thread = &rows(&world)[0]["thread_id"];
    assert_eq!((&got["thread_id"], &got["thread_status"]), (thread, &json!("waiting")), "{got}");
    assert_eq!(got["failure"]["code"], "thread.record_io", "{got}");
    let help = got["help"].as_str().unwrap();
    assert!(help.contains(&format!("`rye thread cancel {}`", thread.as_str().unwrap())), "{got}");
}

#[test]
fn what_a_thread_asks_after_a_decision_is_asked_too_with_a_session_and_without() {
    use crate::thread_calls::{prepared, turn};

    let accept = json!({"action": "accept", "content": {}});
    let asks = |amount: u64| turn(&[("acme_pay", json!({"amount": amount}))]);
    let arguments = |world: &World| {
        json!({"name": "rye_execute", "arguments": {
            "item_id": "directive:acme/go", "thread": "fork", "project_path": world.project(),
        }})
    };
    let prepared = || {
        let world = world();
        prepared(&world, &[asks(5), asks(6)], "<execute><tool>acme.pay</tool></execute>");
        world
    };
    let world = prepared();
    let mut client = client(&world, &[FLAG], &json!({"elicitation": {}}));
    let id = client.begin("tools/call", &arguments(&world));
    for amount in [5, 6] {
        let question = client.next("elicitation/create");
        let shown = question["params"]["message"].as_str().unwrap();
        assert!(shown.contains(&format!("parameters: {{\"amount\":{amount}}}")), "{shown}");
        says(&mut client, &question, &accept);
    }
    let got = answer(&mut client, id);
    assert_eq!((&got["outputs"], paid(&world)), (&json!({"n": 7}), 2), "{got}");
    // From 2026-07-28 on each question is the answer to the call before.
    let world = prepared();
    let mut client = Client::start(&world, &[FLAG]);
    let can = (&*format!("{KEY}/clientCapabilities"), json!({"elicitation": {"form": {}}}));
    let can = std::slice::from_ref(&can);
    let mut call = arguments(&world);
    for amount in [5, 6] {
        let said = client.ask("tools/call", &stateless(call.clone(), can));
        let result = &said["result"];
        let shown = result["inputRequests"]["approval"]["params"]["message"].as_str();
        let shown = shown.unwrap_or_else(|| panic!("{said}"));
        assert!(shown.contains(&format!("parameters: {{\"amount\":{amount}}}")), "{shown}");
        call["requestState"] = result["requestState"].clone();
        call["inputResponses"] = json!({"approval": accept});
    }
    let said = client.ask("tools/call", &stateless(call, can));
    let got = &said["result"]["structuredContent"];
    assert_eq!((&got["outputs"], paid(&world)), (&json!({"n": 7}), 2), "{got}");
}
