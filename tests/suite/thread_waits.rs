//! Threads that wait for a person: they stop at the call that asks, and go on once it is decided.

use std::fs;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::async_runs::{id_of, start, state};
use crate::faults::kill_steps;
use crate::faults::tracer::trace_killed;
use crate::threads::{call, directive, events, fork, hand_over, provider, rows, transcript, world};
use crate::world::wait::until;
use crate::world::{End, World, whole};

/// Asks a person about whatever it is to pay, and leaves a mark when it pays.
const PAYS: &str = r#"#!/bin/sh
read -r call
case "$call" in
*'"again":'*) printf '{"pending":{"reason":"again","message":"Really?"}}\n' ;;
*'"slow":'*'"approval":'*|*'"approval":'*'"slow":'*) echo paid >>paid; exec sleep 300 ;;
*'"approval":'*) echo paid >>paid; echo '{"result":{"paid":true,"key":"'"$PAY_KEY"'"}}' ;;
*) printf '{"pending":{"reason":"amount","message":"Pay?"}}\n' ;;
esac
"#;

const ITEM: &str = ".ai/tools/acme/pay.yaml";

const BOTH: &str = "<execute><tool>acme.*</tool><directive>acme.*</directive></execute>";

/// A project with a tool that asks before it pays, and a model that says these turns.
pub fn asking(turns: &Value) -> World {
    let world = world(turns, "turns=\"9\"", BOTH).env("PAY_KEY", "canary-77aa01");
    world.write(".ai/tools/acme/pay-it.sh", PAYS);
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Pays.\nsecrets: [PAY_KEY]\n\
                exec:\n  command: ./pay-it.sh\n  files: [pay-it.sh]\n";
    world.signed(ITEM, item);
    world
}

/// A turn of three calls, of which the second asks a person.
pub fn three() -> Value {
    json!({
        "calls": [
            {"name": "acme_echo", "arguments": {"n": 1}},
            {"name": "acme_pay", "arguments": {"amount": 5}},
            {"name": "acme_echo", "arguments": {"n": 3}},
        ],
        "usage": {"input": 10, "output": 5},
    })
}

fn lines(world: &World, file: &str) -> usize {
    fs::read_to_string(world.project().join(file)).unwrap_or_default().lines().count()
}

/// How often the tool paid, and how often the other one ran.
pub fn did(world: &World) -> (usize, usize) {
    (lines(world, "paid"), lines(world, "ran"))
}

/// Starts a thread that comes to wait; its id, and that of the request.
pub fn waits(world: &World) -> (String, String) {
    let (status, told) = fork(world, &[]);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&told["thread_id"]), text(&told["pending"]["id"]))
}

pub fn row(world: &World, id: &str) -> Value {
    rows(world).into_iter().find(|row| row["thread_id"] == id).unwrap()
}

/// What its model was told of each call, in order.
pub fn gave(world: &World, id: &str) -> Vec<Value> {
    let gave = events(world, id, "tool_call_result").into_iter();
    gave.map(|event| serde_json::from_str(event["content"].as_str().unwrap()).unwrap()).collect()
}

pub fn verified(world: &World, id: &str) -> Value {
    world.json(&["thread", "verify", id]).ok()
}

/// Nothing is held for any thread.
pub fn nothing_is_held(world: &World) {
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let sql = "SELECT coalesce(sum(held_turns + held_tokens + held_spend), 0) FROM thread";
    assert_eq!(db.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap(), 0);
}

#[test]
fn a_thread_stops_at_a_call_that_asks_and_goes_on_where_it_is_approved() {
    let world = asking(&json!([three(), hand_over()]));
    let (id, request) = waits(&world);
    let shown = world.rye(&["thread", "show", &id]).stdout;
    assert!(
        shown.ends_with(&format!("next: `rye pending show {request}`, for which it waits\n")),
        "{shown}"
    );
    assert_eq!(did(&world), (0, 1), "what stands behind the call waits with it");
    let before = row(&world, &id);
    assert_eq!((&before["thread_status"], &before["pid"]), (&json!("waiting"), &Value::Null));
    nothing_is_held(&world);
    let told = verified(&world, &id);
    assert_eq!((&told["thread_status"], &told["final"]), (&json!("waiting"), &json!(true)));
    let (status, told) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &told["pending"]["id"]), (8, &json!(request)), "{told}");
    assert_eq!(told["pending"]["message"], "Pay?");
    let told = world.rye(&["pending", "show", &request]).stdout;
    let thread = &rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    assert!(told.contains(&format!("\n    thread  {thread}\n")), "{told}");
    let look = format!("\n      `rye thread show {thread}` shows the thread that waits\n");
    assert!(told.ends_with(&look), "{told}");
    let (_, shown) = world.json(&["pending", "show", &request]);
    assert_eq!((&shown["thread_id"], &shown["params"]), (&json!(id), &json!({"amount": 5})));
    let (status, told) = world.json(&["thread", "resume", &id]);
    assert_eq!((status, &told["code"]), (8, &json!("thread.waits")), "{told}");
    let plain = world.rye(&["execute", "directive:acme/go", "--thread", "fork"]);
    assert_eq!(plain.status, 8, "{plain:?}");
    assert!(plain.stdout.contains("waits for a person  tool:acme/pay  p-"), "{plain:?}");
    // From anywhere: it goes on where it was started.
    let anywhere = world.outside().join("anywhere");
    fs::create_dir(&anywhere).unwrap();
    let said = world.rye_in(&anywhere, &["pending", "approve", &request, "--json"], b"");
    let told = said.json();
    assert_eq!((said.status, &told["thread_id"]), (0, &json!(id)), "{said:?}");
    assert_eq!((&told["status"], &told["outputs"]), (&json!("success"), &json!({"n": 7})));
    assert_eq!(did(&world), (1, 3));
    let gave = gave(&world, &id);
    assert_eq!(
        (&gave[0]["n"], &gave[1]["paid"], &gave[2]["n"]),
        (&json!(1), &json!(true), &json!(3))
    );
    assert_eq!(row(&world, &id)["thread_status"], "completed");
    assert_eq!(events(&world, &id, "thread_waiting").len(), 1);
    let resumed = &events(&world, &id, "thread_resumed")[0];
    assert_eq!(resumed["pending_id"], json!(request));
    assert_eq!(resumed["approved_by"].as_str().unwrap().len(), 32, "{resumed}");
    assert_eq!(verified(&world, &id)["final"], true);
    nothing_is_held(&world);
    for verb in ["approve", "reject"] {
        world.json(&["pending", verb, &request]).fails(4, "pending.decided");
    }
    assert_eq!(did(&world).0, 1);
    // What a tool named of the host stands neither in the record nor in the registry.
    let record = fs::read_to_string(transcript(&world, &id)).unwrap();
    assert!(!record.contains("canary-77aa01"), "{record}");
    let (_, shown) = world.json(&["pending", "show", &request]);
    assert!(!shown.to_string().contains("canary-77aa01"), "{shown}");
}

#[test]
fn what_a_person_rejects_is_told_to_the_model_which_goes_on() {
    let world = asking(&json!([three(), hand_over()]));
    let (id, request) = waits(&world);
    let args = ["pending", "reject", &request, "--reason", "too much"];
    assert_eq!(world.json(&args).ok()["outputs"], json!({"n": 7}));
    let gave = gave(&world, &id);
    assert_eq!(
        (&gave[1]["ok"], &gave[1]["error_kind"]),
        (&json!(false), &json!("permission_denied"))
    );
    assert_eq!(gave[1]["message"], "rejected: too much");
    assert_eq!(did(&world), (0, 2));
    verified(&world, &id);
}

#[test]
fn an_approved_call_that_asks_again_failed_and_the_thread_asks_nobody() {
    let world = asking(&json!([call("acme_pay", &json!({"again": 1})), hand_over()]));
    let (id, request) = waits(&world);
    assert_eq!(world.json(&["pending", "approve", &request]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(gave(&world, &id)[0]["detail"]["code"], "protocol.pending_again");
    assert_eq!(world.json(&["pending", "list"]).1["pending"], json!([]));
    verified(&world, &id);
}

#[test]
fn what_changed_since_is_not_run_and_the_thread_waits_on() {
    let world = asking(&json!([three(), hand_over()]));
    let (id, request) = waits(&world);
    let refused = |code: &str| {
        world.json(&["pending", "approve", &request]).fails(4, code);
        assert_eq!((did(&world), &row(&world, &id)["thread_status"]), ((0, 1), &json!("waiting")));
    };
    let before = fs::read_to_string(world.project().join(ITEM)).unwrap();
    world.signed(
        ITEM,
        &before.lines().skip(1).collect::<Vec<_>>().join("\n").replace("Pays.", "Pays!"),
    );
    refused("pending.drifted");
    fs::write(world.project().join(ITEM), before).unwrap();
    // The directive is not what the thread began with.
    let text = fs::read_to_string(world.project().join(".ai/directives/acme/go.md")).unwrap();
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"8\"", BOTH));
    refused("thread.drifted");
    fs::write(world.project().join(".ai/directives/acme/go.md"), text).unwrap();
    // What is kept of the request is that of another one.
    let turns = json!([call("acme_pay", &json!({"amount": 6})), hand_over()]);
    let script = fs::read_to_string(world.home().join(".ai/tools/acme/script.yaml")).unwrap();
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&turns));
    let (_, other) = waits(&world);
    fs::write(world.home().join(".ai/tools/acme/script.yaml"), script).unwrap();
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let plan_of = |id: &str| -> Vec<u8> {
        db.query_row("SELECT payload FROM request WHERE id = ?1", [id], |row| row.get(0)).unwrap()
    };
    let (own, others) = (plan_of(&request), plan_of(&other));
    let put = |plan: &[u8]| {
        let sql = "UPDATE request SET payload = ?2 WHERE id = ?1";
        db.execute(sql, rusqlite::params![request, plan]).unwrap();
    };
    put(&others);
    refused("pending.drifted");
    put(&own);
    assert_eq!(world.json(&["pending", "approve", &request]).0, 0);
    assert_eq!(did(&world), (1, 2));
}

#[test]
fn of_many_who_approve_or_reject_one_continues_the_thread() {
    let world = asking(&json!([three(), hand_over()]));
    let (id, request) = waits(&world);
    let start = |verb: &str| {
        let mut command = world.command(&["pending", verb, &request, "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let racers: Vec<Child> =
        ["approve", "approve", "reject", "approve"].into_iter().map(start).collect();
    let ended: Vec<_> = racers.into_iter().map(|it| it.wait_with_output().unwrap()).collect();
    let told: Vec<Value> =
        ended.iter().map(|it| serde_json::from_slice(&it.stdout).unwrap()).collect();
    let finished =
        told.iter().filter(|told| told["status"] == "success" && told.get("outputs").is_some());
    assert_eq!(finished.count(), 1, "{told:?}");
    assert_eq!(row(&world, &id)["thread_status"], "completed");
    assert!(did(&world).0 <= 1 && did(&world).1 == 2, "{told:?}");
    assert_eq!(events(&world, &id, "thread_resumed").len(), 1);
    verified(&world, &id);
}

#[test]
fn a_thread_below_that_waits_makes_its_parent_wait_and_both_go_on() {
    let parent = json!([
        {
            "calls": [
                {"name": "rye_execute", "arguments": {"item_id": "directive:acme/child", "thread": "fork"}},
                {"name": "acme_echo", "arguments": {"n": 1}},
            ],
            "usage": {"input": 10, "output": 5},
        },
        hand_over(),
    ]);
    let (world, id, child, request) = waiting_below(&parent);
    for id in [&id, &child] {
        verified(&world, id);
    }
    assert_eq!(world.json(&["pending", "show", &request]).1["thread_id"], json!(child));
    world.json(&["thread", "resume", &child]).fails(8, "thread.waits");
    assert_eq!(world.json(&["pending", "approve", &request]).ok()["thread_id"], json!(id));
    assert_eq!(did(&world), (1, 1));
    for id in [&id, &child] {
        assert_eq!(row(&world, id)["thread_status"], "completed");
        verified(&world, id);
    }
    assert_eq!(gave(&world, &id)[0]["outputs"], json!({"n": 7}));
    assert_eq!(row(&world, &id)["used"]["turns"], 4, "those below count above");
    nothing_is_held(&world);
}

/// A thread that waits for its child, which waits for a person: the ids, and that of the request.
pub fn parent_and_child() -> (World, String, String, String) {
    let below = json!({"item_id": "directive:acme/child", "thread": "fork"});
    waiting_below(&json!([call("rye_execute", &below), hand_over()]))
}

/// The same of a thread whose model says these turns.
fn waiting_below(parent: &Value) -> (World, String, String, String) {
    let world = asking(parent);
    let turns = json!([call("acme_pay", &json!({"amount": 5})), hand_over()]);
    world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&turns));
    let text = directive("child", "turns=\"5\"", BOTH).replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &text);
    let (id, request) = waits(&world);
    let child = rows(&world)[1]["thread_id"].as_str().unwrap().to_owned();
    for id in [&id, &child] {
        assert_eq!(row(&world, id)["thread_status"], "waiting");
    }
    (world, id, child, request)
}

#[test]
fn threads_of_no_project_are_ended_and_go_on_from_within_one_where_they_were_started() {
    let (world, _, _, _) = parent_and_child();
    let (from, to) = (world.project().join(".ai"), world.home().join(".ai"));
    fs::create_dir_all(to.join("directives/acme")).unwrap();
    let names = ["tools/acme/pay.yaml", "tools/acme/pay-it.sh", "tools/acme/echo.sh"];
    for name in names.into_iter().chain(["directives/acme/go.md", "directives/acme/child.md"]) {
        fs::rename(from.join(name), to.join(name)).unwrap();
    }
    let bare = world.outside().join("bare");
    fs::create_dir(&bare).unwrap();
    let start = || {
        let args = ["execute", "directive:acme/go", "--thread", "fork", "--json"];
        let said = world.rye_in(&bare, &args, b"");
        assert_eq!(said.status, 8, "{said:?}");
        let (all, told) = (rows(&world), said.json());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let child = text(&all.last().unwrap()["thread_id"]);
        (text(&told["thread_id"]), child, text(&told["pending"]["id"]))
    };
    let (id, child, request) = start();
    assert_eq!(world.json(&["pending", "approve", &request]).ok()["thread_id"], json!(id));
    assert_eq!(row(&world, &child)["thread_status"], "completed");
    assert!(bare.join("paid").exists() && !world.project().join("paid").exists());
    let (id, child, _) = start();
    let (status, told) = world.json(&["thread", "cancel", &child]);
    assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{told}");
    assert_eq!(told["waits_above"], json!(id));
    let said = world.rye_in(&bare, &["thread", "resume", &id, "--json"], b"");
    assert_eq!((said.status, &said.json()["outputs"]), (0, &json!({"n": 7})), "{said:?}");
    #[cfg(feature = "mcp")]
    {
        let (id, child, _) = start();
        let project = world.project();
        let roots = [project.to_str().unwrap(), bare.to_str().unwrap()];
        let args = ["--root", roots[0], "--root", roots[1]];
        let mut client = crate::mcp::client::Client::new(&world, &args);
        let asked = json!({
            "action": "cancel", "thread_id": child,
            "project_path": roots[0],
        });
        let said = client.tool("rye_thread", &asked);
        let said = &said["structuredContent"];
        assert_eq!(
            (&said["thread_status"], &said["waits_above"]),
            (&json!("cancelled"), &json!(id)),
            "{said}"
        );
    }
}

#[test]
fn a_thread_that_waits_is_cancelled_where_nobody_can_sign_and_its_record_still_holds() {
    let world = asking(&json!([three(), hand_over()]));
    let (id, request) = waits(&world);
    let before = fs::read(transcript(&world, &id)).unwrap();
    let key = world.home().join(".ai/config/keys");
    assert!(key.exists(), "where the key lies");
    let away = world.outside().join("away");
    fs::rename(&key, &away).unwrap();
    let (status, told) = world.json(&["thread", "cancel", &id]);
    fs::rename(&away, &key).unwrap();
    assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{told}");
    assert_eq!(fs::read(transcript(&world, &id)).unwrap(), before);
    assert_eq!(verified(&world, &id)["final"], true);
    assert_eq!(world.json(&["pending", "show", &request]).1["state"], "rejected");
}

/// One step in five here, others each day; the whole is each step.
#[test]
fn killed_at_each_write_while_it_goes_on_nothing_is_done_twice_and_nothing_is_lost() {
    let world = asking(&json!([three(), hand_over(), hand_over()]));
    let records = world.project().join(".ai/state/threads");
    let mut kept = 0;
    let mut steps = kill_steps(5);
    let last = loop {
        let step = steps.next().unwrap();
        for file in ["paid", "ran"] {
            let _ = fs::remove_file(world.project().join(file));
        }
        let (id, request) = waits(&world);
        let mut command = world.command(&["pending", "approve", &request, "--json"]);
        let traced = trace_killed(&mut command, &records, step);
        let Some(hit) = traced.hit.clone() else {
            assert_eq!(traced.status, Some(0), "{traced:?}");
            break step;
        };
        assert_eq!(row(&world, &id)["thread_status"], "killed", "{hit:?}");
        nothing_is_held(&world);
        let paid = did(&world).0;
        // Where it was not claimed it is approved once more, and else the thread goes on.
        let (_, shown) = world.json(&["pending", "show", &request]);
        let again: &[&str] = match shown["state"].as_str().unwrap() {
            "waiting" => &["pending", "approve", &request],
            _ => &["thread", "resume", &id],
        };
        let (status, told) = world.json(again);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{hit:?}: {told}");
        assert_eq!(did(&world).0, 1, "{hit:?}: paid {paid} before");
        kept += usize::from(shown["state"] == "done" && gave(&world, &id)[1]["paid"] == true);
        verified(&world, &id);
    };
    assert!(last >= 10 && (kept > 0 || !whole()), "{last} {kept}");
}

#[test]
fn killed_while_the_approved_call_runs_it_is_not_run_again() {
    let world = asking(&json!([call("acme_pay", &json!({"slow": 1})), hand_over()]));
    let (id, request) = waits(&world);
    let mut child = world.start(&["pending", "approve", &request]);
    until("it pays", || did(&world).0 == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(row(&world, &id)["thread_status"], "killed");
    world.json(&["pending", "approve", &request]).fails(4, "pending.decided");
    assert_eq!(world.json(&["thread", "resume", &id]).ok()["outputs"], json!({"n": 7}));
    assert!(gave(&world, &id)[0]["message"].as_str().unwrap().contains("interrupted"));
    assert_eq!(did(&world).0, 1);
    verified(&world, &id);
}

#[test]
fn whoever_waits_for_the_decision_is_given_what_the_thread_came_to() {
    let world = asking(&json!([three(), hand_over()]));
    let args = ["execute", "directive:acme/go", "--thread", "fork", "--wait", "--json"];
    let mut command = world.command(&args);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let waiting = || world.json(&["pending", "list"]).1["pending"].as_array().unwrap().clone();
    until("it asks", || rows(&world).first().is_some_and(|row| row["thread_status"] == "waiting"));
    let request = waiting()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&["pending", "approve", &request]).0, 0);
    let ended = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &told["outputs"]), (Some(0), &json!({"n": 7})), "{told}");
}

#[test]
fn a_thread_in_a_process_of_its_own_waits_too_and_goes_on_in_another_one() {
    let world = asking(&json!([three(), hand_over()]));
    let id = id_of(&start(&world, &["directive:acme/go", "--thread", "fork"]));
    let (status, told) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    assert_eq!(state(&world, &id), "waiting");
    let request = told["pending"]["id"].as_str().unwrap();
    assert_eq!(world.json(&["pending", "approve", request]).0, 0);
    assert_eq!(world.json(&["thread", "wait", &id]).ok()["outputs"], json!({"n": 7}));
}

#[test]
fn a_decision_that_comes_beside_a_cancellation_wakes_no_thread() {
    for verb in ["approve", "reject"] {
        let world = asking(&json!([three(), hand_over()]));
        let (id, request) = waits(&world);
        // Between what a person reads of it and what he decides, another cancels it.
        let registry = rusqlite::Connection::open(world.home().join(".ai/state/registry.db"));
        let cancelled = "UPDATE run SET state = 'cancelled', code = 'thread.cancelled'";
        assert_eq!(registry.unwrap().execute(cancelled, []).unwrap(), 1);
        let (_, told) = world.json(&["pending", verb, &request]);
        assert_eq!(row(&world, &id)["thread_status"], "cancelled", "{verb}: {told}");
        assert_eq!(did(&world).0, 0, "{verb}: {told}");
        assert!(events(&world, &id, "thread_resumed").is_empty(), "{verb}: {told}");
    }
}
