//! A node ends, is killed and comes back, and loses nothing that it said it has.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::line::Line;
use super::node::{Node, Pair, add};
use super::request::{SignedAsk, run_id, send};
use super::runs::{row, with_directive, with_thread};
use crate::async_runs::id_of;
use crate::hooks::hook;
use crate::threads::{call, directive, hand_over, provider};
use crate::world::items::tool_sh;
use crate::world::wait::{lives, number, until};
use crate::world::{End, World};

/// A hook that replaces every result.
const AFTER: &str = "phases: [after_execution]\nreplaces: true\n";
const HIDES: &str = "echo '{\"allow\": true, \"replace\": {\"content\": \"hidden\"}}'";

/// A file outside the project.
fn outside(person: &World, name: &str) -> PathBuf {
    person.outside().join(name)
}

/// A tool that writes its number, and gives what it was given once the file `go` is there.
fn waits(pair: &Pair) {
    let (go, pid) = (outside(&pair.caller, "go"), outside(&pair.caller, "pid"));
    let body = format!(
        "echo $$ >{}; i=0; while [ ! -e {} ] && [ $((i+=1)) -lt 3000 ]; do sleep 0.1; done; cat\n",
        pid.display(),
        go.display()
    );
    pair.caller.signed(".ai/tools/acme/waits.sh", &tool_sh("", &body));
}

/// The number of the tool that waits, once it began.
#[track_caller]
fn begun(pair: &Pair) -> String {
    number(&outside(&pair.caller, "pid"))
}

fn go(pair: &Pair) {
    fs::write(outside(&pair.caller, "go"), "").unwrap();
}

/// A process of the caller that waits for a run of the tool.
fn calls(pair: &Pair) -> Child {
    pair.caller.start(CALL)
}

const CALL: &[&str] = &["run", "tool:acme/waits", "--target", "remote:gpu", "-i", "n:=1", "--json"];

/// The status and the JSON of a process that ended.
#[track_caller]
fn answer(child: Child) -> (i32, Value) {
    let output = child.wait_with_output().unwrap();
    let told = serde_json::from_slice(&output.stdout);
    let told = told.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code().unwrap_or(-1), told)
}

/// The line of a caller to a node that comes back at another port.
fn by_line(pair: &Pair) -> Line {
    let line = Line::to(&pair.node.at);
    add(&pair.caller, "gpu", &line.at, &pair.node.key);
    line
}

/// Kills the node, and starts it again.
fn restart(pair: Pair, line: &Line) -> Pair {
    let Pair { caller, operator, node } = pair;
    node.kill();
    let node = Node::start(&operator);
    line.lead_to(&node.at);
    Pair { caller, operator, node }
}

#[test]
fn asked_to_end_it_finishes_what_runs_and_refuses_what_comes() {
    let pair = Pair::new();
    let line = by_line(&pair);
    waits(&pair);
    let child = calls(&pair);
    begun(&pair);
    let id = id_of(crate::threads::rows(&pair.caller).last().unwrap());
    let mut follows = pair.caller.start(&["thread", "tail", &id]);
    until("it is followed", || line.asked("GET /threads/") > 0);
    let at = pair.node.at.clone();
    pair.node.ask_to_end();
    let health = format!("GET /health HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    until("it is ending", || send(&at, health.as_bytes()).status == 503);
    let asked = json!({"run": run_id(), "item_id": "tool:acme/waits"});
    let refused = SignedAsk::execute(&pair, &asked).send();
    assert_eq!(refused.refusal(), (503, "remote.busy".into()), "{refused:?}");
    assert!(refused.head.to_lowercase().contains("retry-after: 1"), "{}", refused.head);
    // What runs can still be asked for.
    SignedAsk::new(&pair, "GET", "/threads", "").send().ok();
    go(&pair);
    assert_eq!(answer(child).ok()["data"], json!({"n": 1}));
    let (status, said) = pair.node.ended();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15), "{said}");
    assert!(said.contains("ending: 1 run"), "{said}");
    follows.kill().unwrap();
    follows.wait().unwrap();
}

#[test]
fn folders_that_are_not_its_own_are_left_alone_below_the_root_of_its_workspaces() {
    let operator = World::new();
    let root = outside(&operator, "root");
    for name in ["old", "lost + found", "01a22e01-abf5-7b35-a0a0-ac58a241390b"] {
        fs::create_dir_all(root.join(name)).unwrap();
        fs::write(root.join(name).join("file"), "precious").unwrap();
        let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
        fs::File::open(root.join(name)).unwrap().set_modified(hours_ago).unwrap();
    }
    let pair = Pair::with(World::new(), operator, &["--workspace-root", root.to_str().unwrap()]);
    pair.caller.signed(".ai/tools/acme/says.sh", &tool_sh("", "echo '{\"n\": 1}'\n"));
    assert_eq!(pair.run("tool:acme/says", &[]).ok()["data"], json!({"n": 1}));
    for name in ["old", "lost + found", "01a22e01-abf5-7b35-a0a0-ac58a241390b"] {
        assert!(root.join(name).join("file").exists(), "{name}");
    }
}

#[test]
fn a_run_is_shown_and_cancelled_while_its_node_is_out_of_reach() {
    let pair = Pair::new();
    let line = by_line(&pair);
    waits(&pair);
    line.lead_to("127.0.0.1:1");
    let child = calls(&pair);
    until("it is asked for", || !crate::threads::rows(&pair.caller).is_empty());
    let id = id_of(&crate::threads::rows(&pair.caller)[0]);
    let shown = pair.caller.json(&["thread", "show", &id]).ok();
    assert_eq!(shown["thread_status"], "created", "{shown}");
    pair.caller.json(&["thread", "cancel", &id]).ok();
    line.lead_to(&pair.node.at);
    answer(child).fails(6, "thread.cancelled");
    assert_eq!(row(&pair.caller, &id)["thread_status"], "cancelled");
    assert!(!outside(&pair.caller, "pid").exists(), "it never began");
}

#[test]
fn killed_and_started_again_it_knows_what_ended_and_what_goes_on() {
    let pair = Pair::new();
    let line = by_line(&pair);
    waits(&pair);
    let remote = "remote = { outputs = [\"out\"] }";
    pair.caller
        .signed(".ai/tools/acme/makes.sh", &tool_sh(remote, "echo 1 >out; echo '{\"n\": 2}'\n"));
    let ended = id_of(&pair.run("tool:acme/makes", &["--async"]).ok());
    pair.operator.json(&["thread", "wait", &ended]).ok();
    let goes_on = id_of(&pair.run("tool:acme/waits", &["--async", "-i", "n:=1"]).ok());
    let pid = begun(&pair);
    let pair = restart(pair, &line);
    assert!(lives(&pid), "it has a process of its own");
    let told = pair.caller.json(&["thread", "wait", &ended]).ok();
    assert_eq!((&told["data"], pair.caller.read("out")), (&json!({"n": 2}), b"1\n".to_vec()));
    go(&pair);
    assert_eq!(pair.caller.json(&["thread", "wait", &goes_on]).ok()["data"], json!({"n": 1}));
}

#[test]
fn what_ran_in_a_node_that_was_killed_is_told_as_killed_to_a_caller_that_waits() {
    let pair = Pair::new();
    let line = by_line(&pair);
    waits(&pair);
    let child = calls(&pair);
    let pid = begun(&pair);
    let pair = restart(pair, &line);
    let told = answer(child).fails(6, "thread.killed");
    assert_eq!(row(&pair.caller, &id_of(&told))["thread_status"], "killed", "{told}");
    go(&pair);
    until("its tool is gone", || !lives(&pid));
}

/// Asks a person before it pays.
const PAYS: &str = "read -r call\ncase \"$call\" in\n\
    *'\"approval\":'*) echo '{\"result\":{\"paid\":true}}' ;;\n\
    *) printf '{\"pending\":{\"reason\":\"amount\",\"message\":\"Pay?\"}}\\n' ;;\nesac\n";

#[test]
fn what_waits_for_a_person_waits_across_a_restart_and_goes_on_once_the_operator_approves() {
    let caller = World::new();
    caller.signed_exec("pay", "oneshot", "", &format!("#!/bin/sh\n{PAYS}"));
    let may = "<execute><tool>acme.*</tool></execute>";
    caller.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", may));
    let turns = json!([call("acme_pay", &json!({"amount": 5})), hand_over()]);
    let operator = World::new().with_home(".ai/tools/acme/script.yaml", &provider(&turns));
    let pair = Pair::of(caller, operator);
    let line = by_line(&pair);
    let asks = |told: (i32, Value)| {
        assert_eq!((told.0, &told.1["status"]), (8, &json!("pending")), "{}", told.1);
        let request = told.1["pending"]["id"].as_str().unwrap().to_owned();
        (id_of(&told.1), request)
    };
    let both = [asks(pair.run("tool:acme/pay", &["-i", "amount:=5"])), asks(pair.fork(&[])), {
        let id = id_of(&pair.run("tool:acme/pay", &["--async", "-i", "amount:=5"]).ok());
        let told = pair.caller.json(&["thread", "wait", &id]);
        asks(told)
    }];
    let pair = restart(pair, &line);
    for (id, request) in &both {
        assert_eq!(row(&pair.caller, id)["thread_status"], "waiting");
        let (status, told) = pair.caller.json(&["thread", "wait", id]);
        assert_eq!((status, &told["pending"]["id"]), (8, &json!(request)), "{told}");
        pair.operator.json(&["pending", "approve", request]).ok();
        let told = pair.caller.json(&["thread", "wait", id]).ok();
        let came = if told["outputs"].is_null() { &told["data"] } else { &told["outputs"] };
        assert!(*came == json!({"paid": true}) || *came == json!({"n": 7}), "{told}");
        assert_eq!(row(&pair.caller, id)["thread_status"], "completed");
    }
    // No hook here would see what comes of it.
    hook(&pair.caller, "hides", AFTER, HIDES);
    pair.run("tool:acme/pay", &["-i", "amount:=5"]).fails(4, "hook.denied");
    assert_eq!(pair.operator.json(&["pending", "list"]).ok()["pending"], json!([]));
}

#[test]
fn cancelled_by_its_caller_a_run_ends_there_with_its_tool_table() {
    let pair = with_thread(&json!([call("acme_waits", &json!({})), hand_over()]));
    waits(&pair);
    let may = "<execute><tool>acme.waits</tool></execute>";
    pair.caller.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", may));
    let detached = |pair: &Pair, args: &[&str]| id_of(&pair.run(args[0], &args[1..]).ok());
    for args in
        [&["tool:acme/waits", "--async"][..], &["directive:acme/go", "--thread", "fork", "--async"]]
    {
        let id = detached(&pair, args);
        let pid = begun(&pair);
        let told = pair.caller.json(&["thread", "cancel", &id]).ok();
        assert_eq!(told["thread_status"], "cancelled", "{args:?}: {told}");
        until("its tool is gone", || !lives(&pid));
        assert_eq!(row(&pair.operator, &id)["thread_status"], "cancelled");
        pair.caller.json(&["thread", "wait", &id]).fails(6, "thread.cancelled");
        pair.caller.json(&["thread", "cancel", &id]).fails(4, "thread.not_running");
        fs::remove_file(outside(&pair.caller, "pid")).unwrap();
    }
    // One that a process waits for is told so there.
    let child = calls(&pair);
    let pid = begun(&pair);
    let id = crate::threads::rows(&pair.caller).last().unwrap()["thread_id"].clone();
    pair.caller.json(&["thread", "cancel", id.as_str().unwrap()]).ok();
    answer(child).fails(6, "thread.cancelled");
    until("its tool is gone", || !lives(&pid));
}

#[test]
fn a_caller_that_is_interrupted_while_it_waits_ends_the_run_there() {
    let pair = Pair::new();
    waits(&pair);
    let child = calls(&pair);
    let pid = begun(&pair);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait_with_output().unwrap().status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2));
    until("its tool is gone", || !lives(&pid));
    let id = crate::threads::rows(&pair.caller).last().unwrap()["thread_id"].clone();
    let id = id.as_str().unwrap();
    let row = row(&pair.operator, id);
    assert_eq!(row["thread_status"], "cancelled", "{row}");
    pair.caller.json(&["thread", "wait", id]).fails(6, "thread.cancelled");
}

#[test]
fn a_result_that_a_hook_here_was_to_judge_is_shown_to_none_once_its_caller_was_killed() {
    let pair = Pair::new();
    waits(&pair);
    hook(&pair.caller, "hides", AFTER, HIDES);
    let mut child = calls(&pair);
    let pid = begun(&pair);
    let id = id_of(&crate::threads::rows(&pair.caller)[0]);
    let wait = ["thread", "wait", &id];
    let still = pair.caller.json(&[&wait[..], &["--timeout", "50ms"]].concat());
    still.fails(6, "thread.still_runs");
    let follows = pair.caller.start(&["thread", "tail", &id]);
    child.kill().unwrap();
    child.wait().unwrap();
    pair.caller.json(&wait).fails(6, "thread.killed");
    let shown = follows.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "");
    until("its tool is gone", || !lives(&pid));
}

#[test]
fn a_run_whose_turn_has_not_come_is_known_and_ends_at_once_where_it_is_cancelled() {
    let operator = World::new().with_home(".ai/tools/acme/script.yaml", &provider(&json!([])));
    let pair = Pair::with(with_directive(), operator, &["--max-concurrent", "1"]);
    waits(&pair);
    let first = calls(&pair);
    let pid = begun(&pair);
    let fork = ["run", "directive:acme/go", "--target", "remote:gpu", "--thread", "fork", "--json"];
    for args in [CALL, &fork] {
        let before = crate::threads::rows(&pair.caller).len();
        let child = pair.caller.start(args);
        until("it is asked for", || crate::threads::rows(&pair.caller).len() > before);
        let id = crate::threads::rows(&pair.caller).last().unwrap()["thread_id"].clone();
        let id = id.as_str().unwrap();
        let path = format!("/threads/{}", id.replace('/', "%2F"));
        until("the node knows it", || SignedAsk::new(&pair, "GET", &path, "").send().status == 200);
        let told = pair.caller.json(&["thread", "cancel", id]).ok();
        assert_eq!(told["thread_status"], "cancelled", "{told}");
        answer(child).fails(6, "thread.cancelled");
        for person in [&pair.caller, &pair.operator] {
            let row = row(person, id);
            assert_eq!(row["thread_status"], "cancelled", "{row}");
        }
    }
    assert!(lives(&pid), "the first goes on");
    go(&pair);
    assert_eq!(answer(first).ok()["data"], json!({"n": 1}));
}
