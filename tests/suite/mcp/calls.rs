//! What agents may ask, and that it goes through what any call goes through.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::keys::others::{put, stranger, trust};
use crate::tools::shell;
use crate::world::wait::{PATIENCE, lives, number, until};
use crate::world::{GREET_MD, MARKER_SH, World, fingerprint};

/// A tool that tells its process and that of its child, and sleeps.
const SLEEPS: &str = "sleep 600 & echo $! >child\necho $$ >own\nwait\n";

#[test]
fn an_agent_runs_reads_and_verifies_and_its_structure_is_what_the_command_says() {
    let world = World::new()
        .with(".ai/tools/acme/mark.sh", MARKER_SH)
        .with(".ai/directives/acme/greet.md", GREET_MD);
    let mut client = Client::new(&world, &[]);
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/mark"}));
    assert!(!is_error && world.project().join("marker").exists(), "{said}");
    let (_, other) = world.json(&["execute", "tool:acme/mark"]);
    for key in ["status", "type", "item_id", "data", "chain"] {
        assert_eq!(said[key], other[key], "{key}");
    }
    let asked = json!({"item_id": "directive:acme/greet", "parameters": {"who": "ann"}});
    let (said, is_error) = client.call("rye_execute", asked);
    assert!(!is_error && said["your_directions"].is_string(), "{said}");
    let (said, _) = client.call("rye_fetch", json!({"item_id": "directive:acme/greet"}));
    assert_eq!(said["content"], world.json(&["fetch", "directive:acme/greet"]).1["content"]);
    let (said, is_error) = client.call("rye_verify", json!({"items": ["tool:acme/mark"]}));
    assert!(!is_error && said["status"] == "verified" && said["verified"] == 1, "{said}");
    let (said, _) = client.call("rye_verify", json!({}));
    assert!(said["verified"].as_u64().unwrap() > 40 && said["refused"] == 0, "{said}");
    let (said, _) = client
        .call("rye_execute", json!({"item_id": "tool:acme/mark", "dry_run": true, "trace": true}));
    assert_eq!(said["status"], "validation_passed");
    let steps: Vec<_> = said["trace"].as_array().unwrap().iter().map(|e| &e["step"]).collect();
    assert!(steps.contains(&&json!("verify_integrity")) && steps.contains(&&json!("plan")));
    let (status, stderr) = client.end(PATIENCE);
    assert!(status.success() && stderr.is_empty(), "{status:?} {stderr}");
}

#[test]
fn an_agent_finds_and_describes_items_as_the_command_does() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    world.write(".ai/tools/acme/marker.sh", MARKER_SH);
    let mut client = Client::new(&world, &[]);
    let asked = json!({"query": "marker", "kind": "tool", "space": "project"});
    let (said, is_error) = client.call("rye_search", asked.clone());
    assert!(!is_error && said["total"] == 2, "{said}");
    let refused = said["hits"].as_array().unwrap().iter().find(|hit| hit["verified"] == false);
    assert!(refused.unwrap().get("summary").is_none(), "{said}");
    let (_, other) = world.json(&["search", "marker", "--kind", "tool", "--space", "project"]);
    assert_eq!(said["hits"], other["hits"]);
    assert_eq!(client.call("rye_fetch", asked).0["hits"], other["hits"]);
    let (said, _) =
        client.call("rye_describe", json!({"item_id": "tool:acme/mark", "level": "full"}));
    let (_, other) = world.json(&["describe", "tool:acme/mark"]);
    assert_eq!(said, other);
    let both = json!({"item_id": "tool:acme/mark", "query": "marker"});
    assert_eq!(client.refused("rye_fetch", both), "mcp.arguments");
    assert_eq!(
        client.refused("rye_search", json!({"query": "x", "kind": "toll"})),
        "id.unknown_kind"
    );
    let level = json!({"item_id": "tool:acme/mark", "level": "all"});
    assert_eq!(client.refused("rye_describe", level), "mcp.arguments");
    assert_eq!(
        client.refused("rye_describe", json!({"item_id": "tool:acme/x"})),
        "resolve.not_found"
    );
}

#[test]
fn a_failure_is_an_answer_with_a_code_and_only_a_malformed_request_is_an_error_of_the_protocol() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let failing = shell("echo what went wrong >&2; exit 3\n");
    world.signed(".ai/tools/acme/fails.sh", &failing);
    let mut client = Client::new(&world, &["--allow-sign"]);
    assert_eq!(
        client.refused("rye_execute", json!({"item_id": "tool:acme/x"})),
        "resolve.not_found"
    );
    assert_eq!(client.refused("rye_execute", json!({"item_id": "../x"})), "id.malformed");
    assert_eq!(client.refused("rye_fetch", json!({"item_id": "tool:acme/x"})), "resolve.not_found");
    assert_eq!(client.refused("rye_sign", json!({"item_id": "tool:acme/x"})), "resolve.not_found");
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/fails"}));
    assert!(is_error && said["code"] == "execute.tool_failed", "{said}");
    assert_eq!(said["data"]["stderr_tail"], "what went wrong\n");
    assert_eq!(said.get("stderr_tail"), None, "{said}");
    // What is wrong with arguments is for the model to mend.
    for (tool, arguments) in [
        ("rye_execute", json!({})),
        ("rye_execute", json!({"item_id": 7})),
        ("rye_execute", json!({"item_id": "tool:acme/mark", "nonsense": true})),
        ("rye_execute", json!({"item_id": "tool:acme/mark", "parameters": []})),
        ("rye_fetch", json!({"item_id": null})),
        ("rye_search", json!({})),
        ("rye_search", json!({"query": "x", "item_id": "tool:acme/mark"})),
        ("rye_verify", json!({"items": ["tool:acme/[ab]*"]})),
        ("rye_verify", json!({"items": "tool:acme/mark"})),
        ("rye_sign", json!({"item_id": "tool:nothing/**"})),
    ] {
        assert_eq!(client.refused(tool, arguments.clone()), "mcp.arguments", "{tool} {arguments}");
    }
    let said = client.ask("tools/call", &json!({"name": "rye_none", "arguments": {}}));
    assert_eq!(said["error"]["code"], -32602, "{said}");
    let said = client.ask("nothing/such", &json!({}));
    assert_eq!(said["error"]["code"], -32601, "{said}");
    for (method, params, member) in [
        ("tools/call", json!({"name": "rye_execute", "arguments": "{}"}), "arguments"),
        ("tools/call", json!({"name": 7}), "name"),
        ("tools/call", json!({}), "name"),
        ("resources/read", json!({"uri": []}), "uri"),
        ("prompts/get", json!({"arguments": {}}), "name"),
    ] {
        let said = client.ask(method, &params);
        assert_eq!(said["error"]["code"], -32602, "{method} {params}: {said}");
        assert!(said["error"]["message"].as_str().unwrap().contains(member), "{said}");
    }
    let said = client.ask("resources/read", &json!({"uri": "rye://knowledge/acme/none"}));
    assert_eq!(said["error"]["code"], -32002, "{said}");
    // The file is not what was signed.
    world.write(".ai/tools/acme/mark.sh", MARKER_SH.replace("true", "1"));
    assert_eq!(
        client.refused("rye_execute", json!({"item_id": "tool:acme/mark"})),
        "verify.unsigned"
    );
    let (said, is_error) = client.call("rye_verify", json!({"items": ["tool:acme/**"]}));
    assert!(!is_error && said["status"] == "refused" && said["refused"] == 1, "{said}");
}

#[test]
fn h04_a_thread_needs_a_directive_and_a_provider_that_it_names() {
    let world = World::new()
        .with(".ai/tools/acme/mark.sh", MARKER_SH)
        .with(".ai/directives/acme/greet.md", GREET_MD);
    let mut client = Client::new(&world, &[]);
    for (item, thread, more, code) in [
        ("tool:acme/mark", "inline", json!({"model": "large"}), "mcp.arguments"),
        ("tool:acme/mark", "inline", json!({"limit_overrides": {"turns": 3}}), "mcp.arguments"),
        ("tool:acme/mark", "fork", json!({"model": "large"}), "matrix.tool_fork"),
        ("directive:acme/greet", "fork", json!({"model": "large"}), "thread.no_provider"),
        ("directive:acme/greet", "fork", json!({"limit_overrides": {}}), "thread.no_provider"),
    ] {
        let mut asked = json!({"item_id": item, "thread": thread, "parameters": {"who": "ann"}});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(client.refused("rye_execute", asked), code, "{item} {thread} {more}");
    }
    assert!(!world.project().join("marker").exists());
}

#[test]
fn a_call_of_an_agent_passes_hooks_like_any_other() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let mut client = Client::new(&world, &["--expose", "tool:acme/**"]);
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/mark"}));
    assert!(!is_error, "the fixture itself is good: {said}");
    let before = "phases: [before_execution]\n";
    crate::hooks::hook(&world, "no", before, "echo '{\"allow\":false,\"reason\":\"not today\"}'");
    fs::remove_file(world.project().join("marker")).unwrap();
    assert_eq!(client.refused("rye_execute", json!({"item_id": "tool:acme/mark"})), "hook.denied");
    let said = client.tool("acme_mark", &json!({}));
    assert!(
        said["isError"] == true && said["structuredContent"]["code"] == "hook.denied",
        "{said}"
    );
    assert!(!world.project().join("marker").exists());
}

#[test]
fn a_hook_that_is_only_told_slows_no_answer_and_comes_to_its_own_end() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let told = "cat >\"$RYE_PROJECT/told\"; sleep 2; echo done >\"$RYE_PROJECT/told\"";
    let more = "phases: [before_execution]\nmode: observe\n";
    crate::hooks::hook(&world, "watch", more, told);
    let mut client = Client::new(&world, &[]);
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/mark"}));
    assert!(!is_error, "{said}");
    let file = world.project().join("told");
    let is_done = || fs::read_to_string(&file).is_ok_and(|text| text == "done\n");
    assert!(!is_done(), "the answer waited for it");
    until("the hook is done", is_done);
}

#[test]
fn i01_a_project_outside_the_roots_is_refused_however_it_is_named() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let (project, outside) = (world.project(), world.outside().join("other"));
    fs::create_dir_all(outside.join(".ai/tools/acme")).unwrap();
    fs::create_dir(project.join("sub")).unwrap();
    std::os::unix::fs::symlink(&outside, project.join("link")).unwrap();
    let mut client = Client::new(&world, &[]);
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/mark"}));
    assert!(!is_error, "{said}");
    let named = |path: &str| json!({"item_id": "tool:acme/mark", "project_path": path});
    for path in [
        outside.to_str().unwrap(),
        world.outside().to_str().unwrap(),
        "/",
        "..",
        "../project/../other",
        "sub/../..",
        "link",
        "/proc/self/cwd/../other",
        "../nowhere",
        "/nowhere",
    ] {
        for tool in ["rye_execute", "rye_fetch"] {
            let said = client.tool(tool, &named(path));
            let code = &said["structuredContent"]["code"];
            assert_eq!(code, "mcp.outside_roots", "{tool} {path}: {said}");
        }
    }
    let said = client.tool("rye_fetch", &named("nowhere"));
    assert_eq!(said["structuredContent"]["code"], "mcp.arguments", "{said}");
    // A folder within, by a way that leads out and in again, is within.
    let said = client.tool("rye_fetch", &named("sub/.."));
    assert_eq!(said["isError"], false, "{said}");
    drop(client);
    let mut client = Client::new(&world, &["--root", ".", "--root", outside.to_str().unwrap()]);
    let said = client.tool("rye_verify", &json!({"project_path": outside}));
    assert_eq!(said["isError"], false, "{said}");
}

#[test]
fn a_cancelled_call_ends_its_process_group_and_no_other_call() {
    let world = World::new()
        .with(".ai/tools/acme/sleeps.sh", &shell(SLEEPS))
        .with(".ai/tools/acme/other.sh", &shell("sleep 1.5; echo '{\"done\": true}'\n"));
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let begin = |client: &mut Client, item: &str| {
        let arguments = json!({"item_id": item, "project_path": project});
        client.begin("tools/call", &json!({"name": "rye_execute", "arguments": arguments}))
    };
    let other = begin(&mut client, "tool:acme/other");
    let sleeps = begin(&mut client, "tool:acme/sleeps");
    let pids = ["own", "child"].map(|file| number(&world.project().join(file)));
    assert!(pids.iter().all(lives));
    client.cancel(sleeps);
    until("the group is gone", || !pids.iter().any(lives));
    let said = client.answer(other);
    assert_eq!(said["result"]["structuredContent"]["data"]["done"], true, "{said}");
    assert!(!client.hears(Duration::from_millis(300), |m| m["id"] == sleeps), "it was answered");
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/other"}));
    assert!(!is_error, "the server goes on: {said}");
}

#[test]
fn a_client_that_disconnects_leaves_nothing_running() {
    let world = World::new().with(".ai/tools/acme/sleeps.sh", &shell(SLEEPS));
    let project = world.project().display().to_string();
    let arguments = json!({"item_id": "tool:acme/sleeps", "project_path": project});
    let call = json!({"name": "rye_execute", "arguments": arguments});
    for way in ["closes", "ends", "signals"] {
        let mut client = Client::new(&world, &[]);
        for file in ["own", "child"] {
            drop(fs::remove_file(world.project().join(file)));
        }
        client.begin("tools/call", &call);
        let pids = ["own", "child"].map(|file| number(&world.project().join(file)));
        let id = client.child.id().to_string();
        let start = Instant::now();
        let (status, _) = match way {
            "signals" => {
                assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
                client.end(PATIENCE)
            }
            "ends" => {
                assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
                client.end(PATIENCE)
            }
            _ => client.end(PATIENCE),
        };
        let want = match way {
            "signals" => Some(15),
            "ends" => Some(2),
            _ => None,
        };
        assert_eq!(status.signal(), want, "{way}: {status:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{way}");
        assert!(!pids.iter().any(lives), "{way}: something still runs");
    }
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let world = World::new();
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let arguments = json!({"item_id": "knowledge:rye/overview", "project_path": project});
    let id = client.begin("tools/call", &json!({"name": "rye_fetch", "arguments": arguments}));
    client.close();
    assert_eq!(client.answer(id)["result"]["isError"], false);
    let start = Instant::now();
    assert!(client.end(PATIENCE).0.success());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn servers_of_the_exec_protocol_are_kept_over_calls_and_end_with_the_client() {
    let world = World::new();
    let program = "#!/bin/sh\nwhile read -r line; do\nid=${line#*'\"id\":'}; id=${id%%,*}\n\
                   echo \"{\\\"id\\\":$id,\\\"result\\\":$$}\"\ndone\n";
    world.signed_exec("kept", "server", "", program);
    let mut client = Client::new(&world, &[]);
    let mut pid = || {
        let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/kept"}));
        assert!(!is_error, "{said}");
        said["data"].to_string()
    };
    let first = pid();
    assert_eq!(first, pid(), "one process serves both");
    assert!(lives(&first));
    assert!(client.end(PATIENCE).0.success());
    assert!(!lives(&first));
}

#[test]
fn a_long_run_tells_that_it_runs_and_what_a_tool_says_beside_its_data_is_logged_without_secrets() {
    let world = World::new().env("TOKEN", "hush-hush-hush");
    let tool = shell("sleep 2.3; echo \"to $TOKEN\" >&2; echo second >&2; echo '{}'\n");
    let tool = tool.replace("category =", "secrets = [\"TOKEN\"]\n# category =");
    world.signed(".ai/tools/acme/long.sh", &tool);
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let call = json!({
        "name": "rye_execute", "_meta": {"progressToken": "p1"},
        "arguments": {"item_id": "tool:acme/long", "project_path": project},
    });
    let said = client.ask("tools/call", &call);
    assert_eq!(said["result"]["isError"], false, "{said}");
    let of = |method: &str| -> Vec<Value> {
        let kept = client.kept.iter().filter(|m| m["method"] == method);
        kept.map(|m| m["params"].clone()).collect()
    };
    let progress: Vec<_> = of("notifications/progress");
    assert!(progress.len() >= 2, "{progress:?}");
    assert!(progress.iter().all(|p| p["progressToken"] == "p1"));
    let values: Vec<_> = progress.iter().map(|p| p["progress"].as_f64().unwrap()).collect();
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
    let logged = of("notifications/message");
    let lines: Vec<_> = logged.iter().map(|m| m["data"].as_str().unwrap()).collect();
    assert_eq!(lines, ["to ***", "second"]);
    assert!(logged.iter().all(|m| m["logger"] == "tool:acme/long"));
    // A client that wants to hear of errors alone hears of none of it, and without a token of no
    // time.
    client.kept.clear();
    client.ask("logging/setLevel", &json!({"level": "error"}));
    let (said, _) = client.call("rye_execute", json!({"item_id": "tool:acme/long"}));
    assert_eq!((&said["status"], client.kept.len()), (&json!("success"), 0));
}

#[test]
fn what_a_tool_says_is_heard_while_it_runs_unless_a_part_of_it_may_be_a_secret() {
    let world = World::new().env("TOKEN", "first-half\nsecond-half");
    let tool = shell(
        "echo one >&2; printf tw >&2; until [ -e go ]; do sleep 0.1; done; echo o >&2; echo '{}'\n",
    );
    world.signed(".ai/tools/acme/says.sh", &tool);
    let tool = tool.replace("category =", "secrets = [\"TOKEN\"]\n# category =");
    world.signed(".ai/tools/acme/hides.sh", &tool);
    let mut client = Client::new(&world, &[]);
    let (project, go) = (world.project().display().to_string(), world.project().join("go"));
    let lines = |client: &mut Client, item: &str, is_early: bool| {
        drop(fs::remove_file(&go));
        let arguments = json!({"item_id": item, "project_path": project});
        let call = json!({"name": "rye_execute", "arguments": arguments});
        let id = client.begin("tools/call", &call);
        let is_log = |message: &Value| message["method"] == "notifications/message";
        let patience = if is_early { PATIENCE } else { Duration::from_millis(700) };
        assert_eq!(client.hears(patience, is_log), is_early, "{item}");
        fs::write(&go, "").unwrap();
        let said = client.answer(id);
        assert_eq!(said["result"]["structuredContent"]["status"], "success", "{said}");
        let logged = client.kept.drain(..).filter(is_log);
        logged.map(|m| m["params"]["data"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&mut client, "tool:acme/says", true), ["one", "two"]);
    assert_eq!(lines(&mut client, "tool:acme/hides", false), ["one", "two"]);
}

#[test]
fn what_a_hook_may_withhold_reaches_no_client_beside_the_answer() {
    let world = World::new()
        .with(".ai/tools/acme/says.sh", &shell("echo aside >&2; echo '{}'\n"))
        .with(".ai/tools/acme/fails.sh", &shell("echo aside >&2; exit 3\n"));
    let program = "#!/bin/sh\necho aside >&2\necho '{\"result\": {}}'\n";
    world.write(".ai/tools/acme/asks-it.sh", program);
    let asks = "version: \"1.0.0\"\ntool_type: exec\n\
         executor_id: rye/core/runtimes/exec/oneshot\ncategory: acme\ndescription: Says.\n\
         exec:\n  command: ./asks-it.sh\n  files: [asks-it.sh]\n";
    world.signed(".ai/tools/acme/asks.yaml", asks);
    let mut client = Client::new(&world, &[]);
    let mut told = |item: &str| {
        let (said, _) = client.call("rye_execute", json!({"item_id": item}));
        let logged = client.kept.drain(..).filter(|m| m["method"] == "notifications/message");
        (said, logged.map(|m| m["params"]["data"].clone()).collect::<Vec<_>>())
    };
    let items = ["tool:acme/says", "tool:acme/fails", "tool:acme/asks"];
    for item in items {
        assert_eq!(told(item).1, ["aside"], "the fixture itself is heard: {item}");
    }
    let after = "phases: [after_execution]\n";
    let by_file = "cat >/dev/null; cat \"$RYE_PROJECT/verdict\"";
    crate::hooks::hook(&world, "judge", after, by_file);
    for (verdict, code) in [
        (json!({"allow": false, "reason": "not today"}), Some("hook.denied")),
        // It is not shown what a tool says beside its data, so it judges the answer alone.
        (json!({"allow": true}), None),
    ] {
        world.write("verdict", verdict.to_string());
        for item in items {
            let (said, lines) = told(item);
            let want = code.or((item == items[1]).then_some("execute.tool_failed"));
            assert_eq!(said["code"].as_str(), want, "{said}");
            assert_eq!(lines, [""; 0], "{item} {verdict}");
        }
    }
}

#[test]
fn a_flood_of_lines_is_told_in_part_and_keeps_no_cancellation_waiting() {
    let world = World::new();
    let flood = shell("yes line | head -n 100000 >&2; echo last >&2; echo $$ >own; sleep 600\n");
    world.signed(".ai/tools/acme/flood.sh", &flood);
    let mut client = Client::new(&world, &[]);
    let arguments = json!({"item_id": "tool:acme/flood", "project_path": world.project()});
    let call = json!({"name": "rye_execute", "arguments": arguments});
    let id = client.begin("tools/call", &call);
    let pid = number(&world.project().join("own"));
    client.cancel(id);
    until("the call is ended", || !lives(&pid));
    client.ask("ping", &json!({}));
    let told = client.kept.iter().filter(|m| m["method"] == "notifications/message").count();
    assert!((1..=100).contains(&told), "{told}");
}

#[test]
fn a_number_reaches_the_tool_digit_for_digit() {
    let world = World::new().with(".ai/tools/acme/cat.sh", &shell("cat\n"));
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{{\"name\":\"rye_execute\",\
         \"arguments\":{{\"item_id\":\"tool:acme/cat\",\"project_path\":\"{project}\",\
         \"parameters\":{{\"n\":12345678901234567890123.50,\"big\":18446744073709551616}}}}}}}}\n"
    );
    client.send_bytes(line.as_bytes());
    let said = client.answer(77).to_string();
    assert!(
        said.contains("\\\"n\\\":12345678901234567890123.50,\\\"big\\\":18446744073709551616"),
        "{said}"
    );
}

#[test]
fn a_revocation_counts_from_the_next_call_on() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let theirs = stranger(1);
    put(&world, &theirs, ".ai/tools/acme/theirs.sh", MARKER_SH);
    trust(&world, &theirs, &[]);
    let mut client = Client::new(&world, &[]);
    for item in ["tool:acme/mark", "tool:acme/theirs"] {
        let (said, is_error) = client.call("rye_execute", json!({"item_id": item}));
        assert!(!is_error, "{said}");
    }
    world.rye(&["trust", "revoke", &fingerprint(&theirs)]).ok();
    let code = client.refused("rye_execute", json!({"item_id": "tool:acme/theirs"}));
    assert_eq!(code, "verify.revoked");
    let (said, is_error) = client.call("rye_execute", json!({"item_id": "tool:acme/mark"}));
    assert!(!is_error, "{said}");
    // So does what ends the acceptance of the whole project.
    fs::remove_dir_all(world.home().join(".ai/config/keys/projects")).unwrap();
    let code = client.refused("rye_execute", json!({"item_id": "tool:acme/mark"}));
    assert_eq!(code, "verify.project_not_accepted");
}
