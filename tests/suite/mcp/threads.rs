//! Threads and detached runs over MCP.

use serde_json::{Value, json};

use super::client::{Client, PATIENCE};
use crate::async_runs::{eventually, is_alive, tool};
use crate::threads::{ONLY_ECHO, call, hand_over, rows, world};
use crate::world::World;

const GO: &str = "directive:acme/go";

/// A thread that calls a tool which stays until `go` is there.
fn slow() -> World {
    let turns = json!([call("acme_slow", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"5\"", "<execute><tool>acme.slow</tool></execute>");
    let body = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; echo '{}'\n";
    world.signed(".ai/tools/acme/slow.sh", &tool(body));
    world
}

fn pid(world: &World) -> Option<u64> {
    let text = std::fs::read_to_string(world.project().join("pid")).ok()?;
    text.trim().parse().ok()
}

#[test]
fn a_thread_runs_with_the_model_and_the_limits_that_the_agent_says() {
    let world =
        world(&json!([call("acme_echo", &json!({})), hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let mut client = Client::new(&world, &[]);
    let asked = |more: Value| {
        let mut asked = json!({"item_id": GO, "thread": "fork"});
        more.as_object().unwrap().iter().for_each(|(key, value)| asked[key] = value.clone());
        asked
    };
    let (said, is_error) = client.call("rye_execute", asked(json!({})));
    assert_eq!((&said["outputs"], is_error), (&json!({"n": 7}), false), "{said}");
    let (said, is_error) =
        client.call("rye_execute", asked(json!({"limit_overrides": {"turns": 1}})));
    assert_eq!((&said["code"], is_error), (&json!("thread.limit_exceeded"), true), "{said}");
    assert_eq!(said["data"]["max"], 1);
    // Why it failed is told later too.
    let id = &rows(&world)[1]["thread_id"];
    let (shown, _) = client.call("rye_thread", json!({"action": "show", "thread_id": id}));
    let (waited, _) = client.call("rye_thread", json!({"action": "wait", "thread_id": id}));
    let (listed, _) = client.call("rye_thread", json!({"action": "list"}));
    for told in [&shown["failure"], &waited, &listed["threads"][1]["failure"]] {
        for key in ["code", "error", "data"] {
            assert_eq!(told[key], said[key], "{key}: {told}");
        }
    }
    let before = rows(&world).len();
    for (more, code) in [
        (json!({"model": "none"}), "thread.unknown_model"),
        (json!({"limit_overrides": {"turns": -1}}), "thread.bad_limit"),
        (json!({"limit_overrides": {"spend": "NaN"}}), "thread.bad_limit"),
        (json!({"limit_overrides": {"spend": "1e999"}}), "thread.bad_limit"),
        (json!({"limit_overrides": {"tokens": 1e30}}), "thread.bad_limit"),
        (json!({"limit_overrides": {"tokens": u64::MAX}}), "thread.bad_limit"),
        (json!({"limit_overrides": {"speed": 1}}), "thread.bad_limit"),
        (json!({"limit_overrides": {"turns": [1]}}), "thread.bad_limit"),
        (json!({"thread": "inline", "model": "general"}), "mcp.arguments"),
    ] {
        for detached in [false, true] {
            let mut asked = asked(more.clone());
            asked["async"] = detached.into();
            let (said, is_error) = client.call("rye_execute", asked);
            assert_eq!((&said["code"], is_error), (&json!(code), true), "{more} {said}");
        }
    }
    assert_eq!(rows(&world).len(), before, "what is refused is not registered");
}

#[test]
fn an_agent_detaches_a_thread_waits_for_it_and_sees_what_it_did() {
    let world = slow();
    let mut client = Client::new(&world, &[]);
    let (said, is_error) =
        client.call("rye_execute", json!({"item_id": GO, "thread": "fork", "async": true}));
    assert_eq!((&said["status"], is_error), (&json!("running"), false), "{said}");
    let id = said["thread_id"].as_str().unwrap().to_owned();
    eventually("its tool runs", || pid(&world).is_some());
    let thread = |client: &mut Client, action: &str, more: Value| {
        let mut asked = json!({"action": action, "thread_id": id});
        more.as_object().unwrap().iter().for_each(|(key, value)| asked[key] = value.clone());
        client.call("rye_thread", asked)
    };
    let (said, is_error) = thread(&mut client, "wait", json!({"timeout_ms": 20}));
    assert_eq!((&said["code"], is_error), (&json!("thread.still_runs"), true), "{said}");
    let (said, _) = client.call("rye_thread", json!({"action": "list"}));
    assert_eq!(
        (&said["threads"][0]["thread_id"], &said["threads"][0]["thread_status"]),
        (&json!(id), &json!("running"))
    );
    world.write("go", "");
    let (said, is_error) = thread(&mut client, "wait", json!({}));
    assert_eq!((&said["outputs"], is_error), (&json!({"n": 7}), false), "{said}");
    let (said, _) = thread(&mut client, "show", json!({}));
    assert_eq!(said["thread_status"], "completed");
    let events = said["data"]["events"].as_array().unwrap();
    assert!(events.iter().any(|event| event["event"] == "tool_call_result"), "{said}");
    for (asked, code) in [
        (json!({"action": "wait"}), "mcp.arguments"),
        (json!({"action": "list", "thread_id": id}), "mcp.arguments"),
        (json!({"action": "show", "thread_id": id, "timeout_ms": 1}), "mcp.arguments"),
        (json!({"action": "kill", "thread_id": id}), "mcp.arguments"),
        (json!({"action": "show", "thread_id": "../x"}), "thread.not_found"),
        (json!({"action": "cancel", "thread_id": id}), "thread.not_running"),
    ] {
        let (said, is_error) = client.call("rye_thread", asked.clone());
        assert_eq!((&said["code"], is_error), (&json!(code), true), "{asked} {said}");
    }
    // A detached run of a tool is seen the same way, and leaves no process behind.
    let (said, _) = client.call("rye_execute", json!({"item_id": "tool:acme/slow", "async": true}));
    let process = said["pid"].as_u64().unwrap();
    let asked = json!({"action": "wait", "thread_id": said["thread_id"]});
    let (said, is_error) = client.call("rye_thread", asked);
    assert_eq!((&said["status"], is_error), (&json!("success"), false), "{said}");
    eventually("it is gone", || !std::path::Path::new(&format!("/proc/{process}")).exists());
    // The end of the server is not the end of what it detached.
    std::fs::remove_file(world.project().join("go")).unwrap();
    let (said, _) = client.call("rye_execute", json!({"item_id": "tool:acme/slow", "async": true}));
    let (id, process) = (said["thread_id"].as_str().unwrap(), said["pid"].as_u64().unwrap());
    assert!(client.end(PATIENCE).0.success());
    assert!(is_alive(process));
    world.write("go", "");
    assert_eq!(world.json(&["thread", "wait", id]).0, 0);
}

#[test]
fn whoever_waits_for_a_thread_and_wants_to_know_is_told_again_and_again_that_it_still_runs() {
    let world = slow();
    let mut client = Client::new(&world, &[]);
    let asked = json!({"item_id": GO, "thread": "fork", "async": true});
    let (said, _) = client.call("rye_execute", asked);
    let project = world.project().display().to_string();
    let asked = json!({"action": "wait", "thread_id": said["thread_id"], "project_path": project});
    let asked = json!({"name": "rye_thread", "arguments": asked, "_meta": {"progressToken": "w"}});
    let request = client.begin("tools/call", &asked);
    let times = [(); 2].map(|()| {
        let told = client.wait(|message| message["method"] == "notifications/progress");
        assert_eq!(told["params"]["progressToken"], "w", "{told}");
        told["params"]["progress"].as_f64().unwrap()
    });
    assert!(times[0] < times[1], "{times:?}");
    world.write("go", "");
    let said = client.answer(request);
    let said = &said["result"]["structuredContent"];
    assert_eq!(said["outputs"], json!({"n": 7}), "{said}");
}

#[test]
fn a_thread_of_another_project_is_not_shown_to_an_agent() {
    let world = slow();
    world.write("go", "");
    let (_, told) = world.json(&["execute", GO, "--thread", "fork"]);
    let id = told["thread_id"].clone();
    let other = world.outside().join("other");
    std::fs::create_dir_all(other.join(".ai")).unwrap();
    let mut client = Client::of(
        {
            let mut command = world.command(&["mcp", "--project", other.to_str().unwrap()]);
            command.current_dir(&other);
            command
        },
        &world,
    );
    client.hello();
    let project = other.display().to_string();
    for (action, key) in [("show", "code"), ("cancel", "code"), ("wait", "code")] {
        let asked = json!({"action": action, "thread_id": id, "project_path": project});
        let said = client.tool("rye_thread", &asked);
        let said = &said["structuredContent"];
        assert_eq!(said[key], "thread.not_found", "{said}");
    }
    let said = client.tool("rye_thread", &json!({"action": "list", "project_path": project}));
    assert_eq!(said["structuredContent"]["threads"], json!([]), "{said}");
}

#[test]
fn another_process_cancels_or_kills_a_thread_in_the_server_which_goes_on_and_a_request_ends_one() {
    let world = slow();
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let arguments = json!({"item_id": GO, "thread": "fork", "project_path": project});
    let call =
        json!({"name": "rye_execute", "arguments": arguments, "_meta": {"progressToken": "p"}});
    for how in ["cancel", "kill", "request"] {
        drop(std::fs::remove_file(world.project().join("pid")));
        let request = client.begin("tools/call", &call);
        eventually("its tool runs", || pid(&world).is_some());
        let row = rows(&world).last().unwrap().clone();
        let id = row["thread_id"].as_str().unwrap().to_owned();
        // A client that wants to know hears that it still runs.
        client.wait(|message| message["method"] == "notifications/progress");
        if how == "request" {
            client.send(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": request},
            }));
        } else {
            let (status, told) = world.json(&["thread", how, &id]);
            assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{told}");
            let said = client.answer(request);
            let said = &said["result"]["structuredContent"];
            assert_eq!(said["code"], "thread.cancelled", "{said}");
        }
        eventually("its tool is gone", || !is_alive(pid(&world).unwrap()));
        eventually("it is cancelled", || {
            rows(&world).last().unwrap()["thread_status"] == "cancelled"
        });
        assert_eq!(world.json(&["thread", "verify", &id]).1["final"], true);
    }
    // The server serves on.
    let (said, is_error) = client.call("rye_thread", json!({"action": "list"}));
    assert_eq!((said["threads"].as_array().unwrap().len(), is_error), (3, false), "{said}");
}
