//! Snippets and chains of an agent.

use serde_json::json;

use super::client::Client;
use crate::code_waits::reads;
use crate::tools::shell;
use crate::world::World;
use crate::world::wait::{lives, number, until};

fn world() -> World {
    World::new()
        .with(".ai/tools/acme/echo.sh", &reads("cat\n"))
        .with(".ai/tools/acme/writes.sh", &shell("touch ran; echo '{}'\n"))
}

#[test]
fn an_agents_snippet_runs_what_only_reads_and_waits_for_a_person_before_all_else() {
    let world = world();
    let mut client = Client::new(&world, &[]);
    let code = "println('hi'); __out = await Promise.all([1, 2].map(n => tools.acme.echo({n})))";
    let (said, is_error) = client.call("rye_code", json!({"code": code}));
    assert!(!is_error, "{said}");
    assert_eq!((&said["value"], &said["stdout"]), (&json!([{"n": 1}, {"n": 2}]), &json!("hi\n")));
    assert_eq!(said["tool_calls"].as_array().unwrap().len(), 2);
    let code = "const {n} = await tools.acme.echo({n: 3}); await runTool('acme/writes', {n}); \
                __out = [n, Date.now()]";
    let (said, is_error) = client.call("rye_code", json!({"code": code}));
    assert!(!is_error && said["status"] == "pending", "{said}");
    assert_eq!((&said["pending"]["args"], &said["value"]), (&json!({"n": 3}), &json!(null)));
    assert!(!world.project().join("ran").exists());
    let id = said["pending"]["id"].as_str().unwrap();
    let (status, told) = world.json(&["pending", "approve", id]);
    assert_eq!((status, &told["value"][0]), (0, &json!(3)), "{told}");
    assert!(world.project().join("ran").exists());
    let (_, shown) = world.json(&["pending", "show", id]);
    assert_eq!((&shown["state"], &shown["result"]["value"][0]), (&json!("done"), &json!(3)));
    std::fs::remove_file(world.project().join("ran")).unwrap();
    let code = "__out = await runTool('acme/writes')";
    let config = "category: execution\nversion: \"1.0.0\"\napproval: never\n";
    world.signed_home(".ai/config/execution/code.yaml", config);
    let (said, is_error) = client.call("rye_code", json!({"code": code}));
    assert!(!is_error && said["value"] == json!({}), "{said}");
    assert!(world.project().join("ran").exists());
}

#[test]
fn an_agents_chain_passes_on_what_each_step_gave() {
    let world = world();
    let mut client = Client::new(&world, &[]);
    let steps = json!([
        {"tool_id": "acme/echo", "args": {"a": [1, 2]}},
        {"tool_id": "acme/echo", "use_previous": true, "previous_path": "/a/1", "previous_as": "x"},
    ]);
    let (said, is_error) = client.call("rye_run_chain", json!({"steps": steps}));
    assert!(!is_error && said["value"]["value"] == json!({"x": 2}), "{said}");
    let steps =
        json!([{"tool_id": "acme/echo"}, {"tool_id": "acme/none"}, {"tool_id": "acme/echo"}]);
    let (said, is_error) = client.call("rye_run_chain", json!({"steps": steps}));
    assert!(is_error && said["error"]["data"]["code"] == "resolve.not_found", "{said}");
    assert_eq!(said["tool_calls"].as_array().unwrap().len(), 2, "{said}");
}

#[test]
fn what_is_asked_of_a_snippet_wrongly_is_an_answer_with_a_code_table() {
    let world = world();
    let mut client = Client::new(&world, &[]);
    for (tool, arguments, code) in [
        ("rye_code", json!({}), "code.configuration"),
        ("rye_code", json!({"code": 5, "max_tool_calls": -1}), "code.configuration"),
        ("rye_code", json!({"code": "1", "trace": true}), "code.configuration"),
        ("rye_code", json!({"code": "let = 5;;}"}), "code.failed"),
        ("rye_run_chain", json!({}), "code.failed"),
        ("rye_run_chain", json!({"steps": [], "code": "1"}), "mcp.arguments"),
    ] {
        let (said, is_error) = client.call(tool, arguments.clone());
        assert!(is_error && said["code"] == code, "{tool} {arguments}: {said}");
    }
    let said = client.tool("rye_code", &json!({"code": "1", "project_path": "/"}));
    assert_eq!(said["structuredContent"]["code"], "mcp.outside_roots");
}

#[test]
fn a_cancelled_snippet_leaves_nothing_running_and_the_server_goes_on() {
    let world = world();
    let sleeps = shell("sleep 600 & echo $! >child\necho $$ >own\nwait\n");
    let sleeps = sleeps.replacen("# version", "# effects = \"read\"\n# version", 1);
    world.signed(".ai/tools/acme/sleeps.sh", &sleeps);
    let mut client = Client::new(&world, &[]);
    let arguments = json!({
        "code": "try { await tools.acme.sleeps() } finally { await tools.acme.sleeps() }",
        "project_path": world.project().display().to_string(),
    });
    let id = client.begin("tools/call", &json!({"name": "rye_code", "arguments": arguments}));
    let pids = ["own", "child"].map(|file| number(&world.project().join(file)));
    assert!(pids.iter().all(lives));
    client.cancel(id);
    until("the group is gone", || !pids.iter().any(lives));
    let (said, is_error) = client.call("rye_code", json!({"code": "__out = 3"}));
    assert!(!is_error && said["value"] == 3, "{said}");
}

/// Also where what it was given before it waited is not asked for again.
#[test]
fn f08_what_an_approved_snippet_gives_is_kept_and_shown_without_the_secrets_of_its_tools() {
    let secret = "canary-90d4e17b";
    let world = world().env("ACME_KEY", secret).env("NO_COLOR", "1");
    let tells = shell("printf '{\"key\": \"%s\"}\\n' \"$ACME_KEY\"\n");
    let more = "# effects = \"read\"\n# secrets = [\"ACME_KEY\"]\n# ///\n";
    world.signed(".ai/tools/acme/tells.sh", &tells.replacen("# ///\n", more, 1));
    let mut client = Client::new(&world, &[]);
    let code =
        "const {key} = await tools.acme.tells(); await tools.acme.writes({key}); __out = key";
    let (said, _) = client.call("rye_code", json!({"code": code}));
    assert_eq!(said["status"], "pending", "{said}");
    let id = said["pending"]["id"].as_str().unwrap();
    let is_shown_without = |what: &str| {
        let args = ["pending", "show", id];
        let in_json = [&args[..], &["--json"]].concat();
        for said in [world.rye(&args), world.rye(&in_json), world.rye_at_a_terminal("", &args)] {
            assert!(said.status == 0 && said.stdout.contains("***"), "{what}: {said:?}");
            assert!(!format!("{said:?}").contains(secret), "{what}: {said:?}");
        }
    };
    is_shown_without("while it waits");
    let (status, told) = world.json(&["pending", "approve", id]);
    assert_eq!((status, &told["value"]), (0, &json!(secret)), "it has it: {told}");
    is_shown_without("once it ended");
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let kept = "SELECT result FROM request";
    let kept: String = db.query_row(kept, [], |row| row.get(0)).unwrap();
    assert!(kept.contains("***") && !kept.contains(secret), "{kept}");
}
