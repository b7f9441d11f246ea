//! Threads and detached runs over MCP.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::Client;
use crate::async_runs::{id_of, start, tool};
use crate::thread_waits::{asking, parent_and_child};
use crate::thread_warned::{WARNINGS, warned, warnings};
use crate::threads::{ONLY_ECHO, call, fork, hand_over, provider, rows, world};
use crate::world::wait::{PATIENCE, lives, until};
use crate::world::{End, World};

const GO: &str = "directive:acme/go";

/// A thread that calls a tool which stays until `go` is there.
fn slow() -> World {
    let turns = json!([call("acme_slow", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"5\"", "<execute><tool>acme.slow</tool></execute>");
    let body = "echo $$ > pid; while [ ! -e go ]; do sleep 0.1; done; echo '{}'\n";
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
        for key in ["code", "error", "data", "help"] {
            assert_eq!(told[key], said[key], "{key}: {told}");
        }
    }
    let help = said["help"].as_str().unwrap();
    let id = id.as_str().unwrap();
    let shows = format!("with `rye_thread` with `action: show` and `thread_id: {id}`; ");
    assert!(help.contains(&shows) && help.contains("` in a terminal"), "{help}");
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
            let help = said["help"].as_str().unwrap();
            let named = match code {
                "thread.unknown_model" => "with `model` or",
                "thread.bad_limit" => "give it as `limit_overrides: {\"",
                _ => "",
            };
            assert!(help.contains(named) && !help.contains("--"), "{help}");
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
    until("its tool runs", || pid(&world).is_some());
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
    until("it is gone", || !std::path::Path::new(&format!("/proc/{process}")).exists());
    // The end of the server is not the end of what it detached.
    std::fs::remove_file(world.project().join("go")).unwrap();
    let (said, _) = client.call("rye_execute", json!({"item_id": "tool:acme/slow", "async": true}));
    let (id, process) = (said["thread_id"].as_str().unwrap(), said["pid"].as_u64().unwrap());
    assert!(client.end(PATIENCE).0.success());
    assert!(lives(process));
    world.write("go", "");
    assert_eq!(world.json(&["thread", "wait", id]).0, 0);
}

#[test]
fn what_whoever_starts_a_thread_is_warned_of_is_told_to_an_agent_at_each_door() {
    let world = warned();
    let mut client = Client::new(&world, &[]);
    for (limits, failed) in [(json!({}), false), (json!({"turns": 1}), true)] {
        for detached in [false, true] {
            let asked = json!({
                "item_id": GO, "thread": "fork", "limit_overrides": limits, "async": detached,
            });
            let (mut said, mut is_error) = client.call("rye_execute", asked);
            if detached {
                let asked = json!({"action": "wait", "thread_id": said["thread_id"]});
                (said, is_error) = client.call("rye_thread", asked);
            }
            assert_eq!(is_error, failed, "{said}");
            assert_eq!(warnings(&said), WARNINGS, "{said}");
        }
    }
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
fn an_agent_may_shorten_an_id_as_a_person_may() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let [id, newest] = [(); 2].map(|()| id_of(&fork(&world, &[]).1));
    let mut client = Client::new(&world, &[]);
    for named in [&*id, &id[id.len() - 36..], &id[id.len() - 8..]] {
        let asked = |action: &str| json!({"action": action, "thread_id": named});
        let (said, is_error) = client.call("rye_thread", asked("show"));
        assert_eq!((&said["thread_id"], is_error), (&json!(id), false), "{said}");
        let (said, is_error) = client.call("rye_thread", asked("wait"));
        assert_eq!((&said["thread_id"], is_error), (&json!(id), false), "{said}");
        let (said, _) = client.call("rye_thread", asked("cancel"));
        assert_eq!(said["data"]["thread_id"], id, "{said}");
    }
    for (odd, help) in [
        (&id[id.len() - 3..], "at least four"),
        ("acme/none", "at least four"),
        ("acme/go", &*newest),
    ] {
        let (said, _) = client.call("rye_thread", json!({"action": "show", "thread_id": odd}));
        assert_eq!(said["code"], "thread.not_found", "{said}");
        assert!(said["help"].as_str().unwrap().contains(help), "{said}");
    }
}

#[test]
fn the_model_and_the_limits_of_a_thread_are_refused_to_an_agent_that_starts_none() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let mut client = Client::new(&world, &[]);
    for more in [json!({"model": "general"}), json!({"limit_overrides": {"turns": 1}})] {
        let mut asked = more;
        asked["item_id"] = GO.into();
        let (said, _) = client.call("rye_execute", asked);
        assert_eq!(said["code"], "mcp.arguments", "{said}");
        assert!(said["error"].as_str().unwrap().contains("are only for `thread: fork`"), "{said}");
    }
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
    let whole = id.as_str().unwrap();
    // One that is near it is not told either.
    let (begin, last) = whole.split_at(whole.len() - 1);
    let near = format!("{begin}{}", if last == "0" { "1" } else { "0" });
    for named in [whole, &whole[whole.len() - 8..], "acme/go", &near] {
        for action in ["show", "cancel", "wait"] {
            let asked = json!({"action": action, "thread_id": named, "project_path": project});
            let said = client.tool("rye_thread", &asked);
            let said = &said["structuredContent"];
            assert_eq!(said["code"], "thread.not_found", "{said}");
            assert!(!said["help"].to_string().contains(whole), "{said}");
        }
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
        until("its tool runs", || pid(&world).is_some());
        let row = rows(&world).last().unwrap().clone();
        let id = row["thread_id"].as_str().unwrap().to_owned();
        // A client that wants to know hears that it still runs.
        client.wait(|message| message["method"] == "notifications/progress");
        if how == "request" {
            client.cancel(request);
        } else {
            assert_eq!(world.json(&["thread", how, &id]).ok()["thread_status"], "cancelled");
            let said = client.answer(request);
            let said = &said["result"]["structuredContent"];
            assert_eq!(said["code"], "thread.cancelled", "{said}");
        }
        until("its tool is gone", || !lives(pid(&world).unwrap()));
        until("it is cancelled", || rows(&world).last().unwrap()["thread_status"] == "cancelled");
        assert_eq!(world.json(&["thread", "verify", &id]).1["final"], true);
    }
    // The server serves on.
    let (said, is_error) = client.call("rye_thread", json!({"action": "list"}));
    assert_eq!((said["threads"].as_array().unwrap().len(), is_error), (3, false), "{said}");
}

/// A client that holds each answer about threads against what the tool says of its answers: each
/// field is one that it names, and of the type that it says.
struct Checking {
    client: Client,
    answers: jsonschema::Validator,
    seen: BTreeSet<String>,
}

impl Checking {
    fn new(world: &World) -> Self {
        let mut client = Client::new(world, &[]);
        let said = client.ask("tools/list", &json!({}));
        let tools = said["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == "rye_thread").unwrap();
        let mut schema = tool["outputSchema"].clone();
        schema["additionalProperties"] = false.into();
        schema["properties"]["threads"]["items"]["additionalProperties"] = false.into();
        let answers = jsonschema::validator_for(&schema).unwrap();
        Self { client, answers, seen: BTreeSet::new() }
    }

    fn call(&mut self, action: &str, id: Option<&str>) -> Value {
        let mut asked = json!({"action": action});
        if let Some(id) = id {
            asked["thread_id"] = id.into();
        }
        if action == "wait" {
            asked["timeout_ms"] = 20.into();
        }
        let (said, _) = self.client.call("rye_thread", asked);
        let wrong: Vec<String> =
            self.answers.iter_errors(&said).map(|wrong| wrong.to_string()).collect();
        assert!(wrong.is_empty(), "{action}: {wrong:?}: {said}");
        said
    }

    /// One is shown, listed and waited for, in this state.
    fn all(&mut self, kind: &str, id: &str, status: &str) {
        let shown = self.call("show", Some(id));
        assert_eq!(shown["thread_status"], status, "{kind}: {shown}");
        let listed = self.call("list", None);
        let mut rows = listed["threads"].as_array().unwrap().iter();
        assert!(rows.any(|row| row["thread_id"] == id && row["thread_status"] == status), "{kind}");
        self.call("wait", Some(id));
        self.seen.insert(format!("{kind} {status}"));
    }

    fn cancel(&mut self, kind: &str, id: &str) -> Value {
        let said = self.call("cancel", Some(id));
        assert_eq!(said["thread_status"], "cancelled", "{kind}: {said}");
        self.all(kind, id, "cancelled");
        said
    }

    /// What was looked at, and in which states.
    fn saw(self, states: &[&str]) {
        let seen: Vec<&str> = self.seen.iter().map(String::as_str).collect();
        assert_eq!(seen, states);
    }
}

/// The tool that asks a person, detached: its id, and that of the request.
fn tool_that_asks(world: &World) -> (String, String) {
    let id = id_of(&start(world, &["tool:acme/pay", "-i", "amount=5", "-i", "slow=true"]));
    let (_, told) = world.json(&["thread", "wait", &id]);
    (id, told["pending"]["id"].as_str().unwrap().to_owned())
}

#[test]
fn every_answer_about_threads_and_runs_is_as_the_tool_says_of_itself() {
    // Threads that wait, with those below.
    let (world, id, child, _) = parent_and_child();
    let mut checking = Checking::new(&world);
    checking.all("thread", &id, "waiting");
    checking.all("child", &child, "waiting");
    assert_eq!(checking.cancel("child", &child)["waits_above"], json!(id));
    checking.all("thread", &id, "waiting");
    checking.cancel("thread", &id);
    checking.call("cancel", Some(&id));
    checking.call("show", Some("../x"));
    checking.saw(&["child cancelled", "child waiting", "thread cancelled", "thread waiting"]);
    let (world, id, child, request) = parent_and_child();
    let mut checking = Checking::new(&world);
    assert_eq!(world.json(&["pending", "approve", &request]).0, 0);
    checking.all("child", &child, "completed");
    checking.all("thread", &id, "completed");
    checking.saw(&["child completed", "thread completed"]);

    // A tool that asks, and what becomes of it.
    let world = asking(&json!([hand_over()]));
    let mut checking = Checking::new(&world);
    let (id, request) = tool_that_asks(&world);
    checking.all("tool", &id, "waiting");
    let mut approve = world.command(&["--yes", "pending", "approve", &request, "--json"]);
    let mut approve = approve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("it runs", || checking.call("show", Some(&id))["thread_status"] == "running");
    checking.all("tool", &id, "running");
    checking.cancel("tool", &id);
    approve.wait().unwrap();
    let (id, _) = tool_that_asks(&world);
    checking.cancel("tool", &id);
    let (id, request) = tool_that_asks(&world);
    assert_eq!(world.json(&["pending", "reject", &request]).0, 0);
    checking.all("tool", &id, "failed");
    checking.saw(&["tool cancelled", "tool failed", "tool running", "tool waiting"]);
}

#[test]
fn every_answer_about_what_waits_for_a_place_or_came_to_its_end_is_as_the_tool_says_of_itself() {
    let world = slow();
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let mut checking = Checking::new(&world);
    let thread = id_of(&start(&world, &[GO, "--thread", "fork"]));
    until("its tool runs", || pid(&world).is_some());
    checking.all("thread", &thread, "running");
    let waits = id_of(&start(&world, &["tool:acme/slow"]));
    let other = id_of(&start(&world, &[GO, "--thread", "fork"]));
    for (kind, id) in [("tool", &waits), ("thread", &other)] {
        checking.all(kind, id, "created");
        checking.cancel(kind, id);
    }
    let end = |kind: &str, id: &str, checking: &mut Checking| {
        assert_eq!(world.json(&["thread", "kill", id]).0, 0);
        checking.all(kind, id, "killed");
        std::fs::remove_file(world.project().join("pid")).unwrap();
    };
    end("thread", &thread, &mut checking);
    let tool = id_of(&start(&world, &["tool:acme/slow"]));
    until("the tool runs", || pid(&world).is_some());
    checking.all("tool", &tool, "running");
    end("tool", &tool, &mut checking);
    world.write("go", "");
    let tool = id_of(&start(&world, &["tool:acme/slow"]));
    assert_eq!(world.json(&["thread", "wait", &tool]).0, 0);
    checking.all("tool", &tool, "completed");
    // One that fails, and one whose window is full, for which another one goes on.
    assert_ne!(fork(&world, &["--limit", "turns=1"]).0, 0);
    checking.all("thread", &id_of(rows(&world).last().unwrap()), "failed");
    let full = |mut turn: Value| {
        turn["usage"] = json!({"input": 945, "output": 5});
        turn
    };
    let summary = json!({"text": "Called.", "usage": {"input": 900, "output": 20}});
    let turns = json!([full(call("acme_slow", &json!({}))), summary, hand_over()]);
    let narrow = "\"context_window\":1000,\"answer_tokens\"";
    let provider = provider(&turns).replace("\"answer_tokens\"", narrow);
    world.signed_home(".ai/tools/acme/script.yaml", &provider);
    assert_eq!(fork(&world, &[]).0, 0);
    let all = rows(&world);
    checking.all("thread", all[all.len() - 2]["thread_id"].as_str().unwrap(), "continued");
    checking.all("thread", all[all.len() - 1]["thread_id"].as_str().unwrap(), "completed");
    checking.saw(&[
        "thread cancelled",
        "thread completed",
        "thread continued",
        "thread created",
        "thread failed",
        "thread killed",
        "thread running",
        "tool cancelled",
        "tool completed",
        "tool created",
        "tool killed",
        "tool running",
    ]);
}

/// Whoever shows it later, by whatever door, knows none of the values.
#[test]
fn f08_what_an_approved_tool_gives_is_kept_and_shown_without_its_secrets() {
    let secret = "canary-5e0c91aa";
    let world = World::new().env("ACME_KEY", secret).env("NO_COLOR", "1");
    let program = "#!/bin/sh\nread -r call\ncase \"$call\" in\n\
        *'\"approval\":'*) printf '{\"result\":{\"k\":\"%s\"}}\\n' \"$ACME_KEY\" ;;\n\
        *) echo '{\"pending\":{\"reason\":\"amount\",\"message\":\"Pay?\"}}' ;;\nesac\n";
    world.write(".ai/tools/acme/asks-it.sh", program);
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Asks.\nsecrets: [ACME_KEY]\n\
                exec:\n  command: ./asks-it.sh\n  files: [asks-it.sh]\n";
    world.signed(".ai/tools/acme/asks.yaml", item);
    let run = id_of(&start(&world, &["tool:acme/asks"]));
    let text = |told: &Value| told["pending"]["id"].as_str().unwrap().to_owned();
    let requests = [
        text(&world.json(&["thread", "wait", &run]).1),
        text(&world.json(&["run", "tool:acme/asks"]).1),
    ];
    for request in &requests {
        let (status, told) = world.json(&["pending", "approve", request]);
        assert_eq!((status, &told["data"]), (0, &json!({"k": secret})), "it has it: {told}");
    }
    let waits = ["thread", "wait", &run];
    let shown = requests.each_ref().map(|request| ["pending", "show", request]);
    for args in shown.iter().chain([&waits]) {
        let in_json = [&args[..], &["--json"]].concat();
        for said in [world.rye(args), world.rye(&in_json), world.rye_at_a_terminal("", args)] {
            assert!(said.status == 0 && said.stdout.contains("***"), "{args:?}: {said:?}");
            assert!(!format!("{said:?}").contains(secret), "{args:?}: {said:?}");
        }
    }
    let mut client = Client::new(&world, &[]);
    let (said, _) = client.call("rye_thread", json!({"action": "wait", "thread_id": run}));
    assert_eq!(said["data"], json!({"k": "***"}), "{said}");
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let kept = "SELECT result FROM request UNION ALL SELECT report FROM run";
    let mut kept = db.prepare(kept).unwrap();
    let kept = kept.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let kept: Vec<_> = kept.map(Result::unwrap).collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert!(kept.iter().all(|text| text.contains("***") && !text.contains(secret)), "{kept:?}");
}
