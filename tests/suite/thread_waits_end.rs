//! Threads that wait for a person and are ended, and detached tools that wait.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::async_runs::{id_of, start};
use crate::thread_waits::{
    asking, did, gave, nothing_is_held, parent_and_child, row, three, verified, waits,
};
use crate::threads::{events, hand_over};
use crate::world::wait::until;
use crate::world::{End, World};

/// It ended so, which its record says too, and nobody can decide what it asked.
fn ended_as(world: &World, id: &str, request: &str, status: &str) {
    let now = row(world, id);
    let code = format!("thread.{status}");
    assert_eq!((&now["thread_status"], &now["thread_code"]), (&json!(status), &json!(code)));
    assert!(now["ended_at"].is_string(), "{now}");
    let told = verified(world, id);
    assert_eq!((&told["thread_status"], &told["final"]), (&json!(status), &json!(true)), "{told}");
    assert_eq!(events(world, id, "thread_ended")[0]["status"], json!(status));
    assert_eq!(world.json(&["pending", "list"]).1["pending"], json!([]));
    assert_eq!(world.json(&["pending", "show", request]).1["state"], "rejected");
    world.json(&["pending", "approve", request]).fails(4, "pending.decided");
    nothing_is_held(world);
}

#[test]
fn a_thread_that_waits_is_cancelled_or_killed_and_what_it_asked_is_withdrawn() {
    for (verb, status) in [("cancel", "cancelled"), ("kill", "killed")] {
        let world = asking(&json!([three(), hand_over()]));
        let (id, request) = waits(&world);
        let anywhere = world.outside().join("anywhere");
        fs::create_dir(&anywhere).unwrap();
        let said = world.rye_in(&anywhere, &["thread", verb, &id, "--json"], b"");
        assert_eq!((said.status, &said.json()["thread_status"]), (0, &json!(status)), "{said:?}");
        ended_as(&world, &id, &request, status);
        assert_eq!(did(&world), (0, 1));
        let (exit, told) = world.json(&["thread", "wait", &id]);
        let code = format!("thread.{status}");
        assert_ne!((exit, &told["code"]), (0, &json!(code)), "{told}");
        assert_eq!(told["code"], json!(code), "{told}");
        world.json(&["thread", verb, &id]).fails(4, "thread.not_running");
    }
}

#[test]
fn whoever_cancels_the_top_of_threads_that_wait_cancels_all_of_them() {
    let (world, id, child, request) = parent_and_child();
    assert_eq!(world.json(&["thread", "cancel", &id]).0, 0);
    for id in [&id, &child] {
        ended_as(&world, id, &request, "cancelled");
    }
    assert_eq!(did(&world), (0, 0));
    // Who goes on with it all the same is told what became of the one below.
    assert_eq!(world.json(&["thread", "resume", &id]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(gave(&world, &id)[0]["detail"]["code"], "thread.cancelled");
    assert_eq!(row(&world, &child)["thread_status"], "cancelled");
    verified(&world, &id);
}

#[test]
fn of_a_thread_that_waits_the_child_alone_is_ended_and_its_parent_is_told_once_somebody_goes_on() {
    for (verb, status) in [("cancel", "cancelled"), ("kill", "killed")] {
        let (world, id, child, request) = parent_and_child();
        world
            .rye(&["thread", verb, &child])
            .ok()
            .warns(&format!("go on with `rye thread resume {id}`"));
        ended_as(&world, &child, &request, status);
        assert_eq!(row(&world, &id)["thread_status"], "waiting", "nothing runs by that");
        // Whoever waits for it would wait for ever.
        let told = world.json(&["thread", "wait", &id]).fails(4, "thread.not_running");
        let goes_on = format!("`rye thread resume {id}`");
        assert!(told["help"].as_str().unwrap().contains(&goes_on), "{told}");
        // A thread below another does not go on by itself.
        let shown = world.rye(&["thread", "show", &child]).stdout;
        let part = format!("next: `rye thread show {id}`, of which it is a part\n");
        assert!(shown.ends_with(&part), "{shown}");
        let shown = world.rye(&["thread", "show", &id]).stdout;
        assert!(shown.ends_with(&format!("next: `rye thread resume {id}`\n")), "{shown}");
        assert_eq!(world.json(&["thread", "resume", &id]).ok()["outputs"], json!({"n": 7}));
        assert_eq!(row(&world, &id)["thread_status"], "completed");
        let code = format!("thread.{status}");
        assert_eq!(gave(&world, &id)[0]["detail"]["code"], json!(code));
        assert_eq!(did(&world), (0, 0));
        verified(&world, &id);
    }
}

#[test]
fn a_thread_that_waits_is_ended_also_where_its_record_or_its_project_is_gone() {
    for is_all_gone in [false, true] {
        for verb in ["cancel", "kill", "reject"] {
            let (world, id, child, request) = parent_and_child();
            let anywhere = world.outside().join("anywhere");
            fs::create_dir(&anywhere).unwrap();
            match is_all_gone {
                true => fs::remove_dir_all(world.project()).unwrap(),
                false => fs::remove_dir_all(world.project().join(".ai/state")).unwrap(),
            }
            let ask = |args: &[&str]| {
                let said = world.rye_in(&anywhere, &[args, &["--json"]].concat(), b"");
                (said.status, said.json())
            };
            let state = |id: &str| {
                let (_, told) = ask(&["thread", "list"]);
                let rows = told["threads"].as_array().unwrap();
                rows.iter().find(|row| row["thread_id"] == id).unwrap()["thread_status"].clone()
            };
            if verb == "reject" {
                let (status, told) = ask(&["pending", "reject", &request]);
                assert_eq!((status, &told["state"]), (0, &json!("rejected")), "{told}");
                assert_eq!(state(&id), "waiting");
                let told = [&told["thread_id"], &told["thread_status"], &told["help"]];
                let help = format!(
                    "bring that back and `rye thread resume {child}`, or end it with `rye thread \
                     cancel {child}`"
                );
                assert_eq!(told, [&json!(child), &json!("waiting"), &json!(help)]);
                assert_eq!(ask(&["thread", "cancel", &id]).0, 0);
                assert_eq!((state(&id), state(&child)), (json!("cancelled"), json!("cancelled")));
                continue;
            }
            let want = if verb == "cancel" { "cancelled" } else { "killed" };
            for (id, above) in [(&child, json!(id)), (&id, Value::Null)] {
                let (status, told) = ask(&["thread", verb, id]);
                assert_eq!((status, &told["thread_status"]), (0, &json!(want)), "{told}");
                assert_eq!(told["waits_above"], above);
            }
            assert_eq!(ask(&["pending", "show", &request]).1["state"], "rejected");
        }
    }
}

/// The tool that asks a person, in a process of its own: its id, and that of the request.
fn detached(world: &World) -> (String, String) {
    let id = id_of(&start(world, &["tool:acme/pay", "-i", "amount=5"]));
    let (status, told) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    (id, told["pending"]["id"].as_str().unwrap().to_owned())
}

#[test]
fn a_detached_tool_that_asks_a_person_waits_and_ends_as_what_is_decided() {
    let world = asking(&json!([hand_over()]));
    let (id, request) = detached(&world);
    let waits = row(&world, &id);
    assert_eq!(
        (&waits["thread_status"], &waits["pending_id"], &waits["ended_at"], &waits["pid"]),
        (&json!("waiting"), &json!(request), &Value::Null, &Value::Null)
    );
    let shown = world.rye(&["thread", "show", &id]).stdout;
    assert!(
        shown.ends_with(&format!("next: `rye pending show {request}`, for which it waits\n")),
        "{shown}"
    );
    let (status, told) = world.json(&["pending", "approve", &request]);
    assert_eq!((status, &told["data"]["paid"]), (0, &json!(true)), "{told}");
    assert_eq!(did(&world).0, 1);
    let (status, waited) = world.json(&["thread", "wait", &id]);
    // Whoever approves is given what the tool gives; of what is kept the secret is hidden.
    let kept = json!({"paid": true, "key": "***"});
    assert_eq!((status, &waited["data"]), (0, &kept), "{waited}");
    let ended = row(&world, &id);
    assert_eq!(
        (&ended["thread_status"], ended["ended_at"].is_string()),
        (&json!("completed"), true)
    );
    // What a person rejects failed.
    let (id, request) = detached(&world);
    assert_eq!(world.json(&["pending", "reject", &request, "--reason", "too much"]).0, 0);
    let (status, told) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &told["code"]), (4, &json!("pending.rejected")), "{told}");
    assert!(told["error"].as_str().unwrap().contains("too much"), "{told}");
    assert_eq!(row(&world, &id)["thread_status"], "failed");
    // Whoever ends it withdraws what it asked.
    for (verb, want) in [("cancel", "cancelled"), ("kill", "killed")] {
        let (id, request) = detached(&world);
        assert_eq!(world.json(&["thread", verb, &id]).ok()["thread_status"], json!(want));
        assert_eq!(world.json(&["pending", "show", &request]).1["state"], "rejected");
        let (status, told) = world.json(&["thread", "wait", &id]);
        assert_eq!((status, &told["code"]), (6, &json!(format!("thread.{want}"))), "{told}");
        world.json(&["thread", verb, &id]).fails(4, "thread.not_running");
    }
    assert_eq!(did(&world).0, 1);
}

#[test]
fn a_detached_tool_that_waits_is_ended_and_its_request_withdrawn_in_one_step() {
    let world = asking(&json!([hand_over()]));
    let (id, request) = detached(&world);
    let registry = world.home().join(".ai/state/registry.db");
    let registry = rusqlite::Connection::open(registry).unwrap();
    let stops = "CREATE TRIGGER stops BEFORE UPDATE OF state ON run
                 WHEN NEW.state = 'cancelled' BEGIN SELECT RAISE(ABORT, 'stopped'); END";
    registry.execute_batch(stops).unwrap();
    world.json(&["thread", "cancel", &id]).fails(6, "registry.io");
    // Whoever looks now does not take it for rejected.
    assert_eq!(row(&world, &id)["thread_status"], "waiting");
    assert_eq!(world.json(&["pending", "show", &request]).1["state"], "waiting");
    registry.execute_batch("DROP TRIGGER stops").unwrap();
    assert_eq!(world.json(&["thread", "cancel", &id]).ok()["thread_status"], "cancelled");
    assert_eq!(world.json(&["pending", "show", &request]).1["state"], "rejected");
    let ended = row(&world, &id);
    assert_eq!(
        (&ended["thread_status"], &ended["thread_code"]),
        (&json!("cancelled"), &json!("thread.cancelled"))
    );
    // Where a person decided first, that is the answer, and who cancels is told so.
    let (id, request) = detached(&world);
    assert_eq!(world.json(&["pending", "reject", &request]).0, 0);
    world.json(&["thread", "cancel", &id]).fails(4, "thread.not_running");
    assert_eq!(row(&world, &id)["thread_code"], "pending.rejected");
}

#[test]
fn a_detached_tool_whose_request_is_carried_out_runs_and_is_cancelled_where_that_happens() {
    for verb in ["cancel", "kill"] {
        let world = asking(&json!([hand_over()]));
        let id = id_of(&start(&world, &["tool:acme/pay", "-i", "amount=5", "-i", "slow=true"]));
        let (_, told) = world.json(&["thread", "wait", &id]);
        let request = told["pending"]["id"].as_str().unwrap().to_owned();
        let mut approve = world.command(&["--yes", "pending", "approve", &request, "--json"]);
        let approve = approve.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        until("it pays", || did(&world).0 == 1);
        let runs = row(&world, &id);
        assert_eq!(
            (&runs["thread_status"], &runs["pending_id"]),
            (&json!("running"), &Value::Null),
            "{runs}"
        );
        let (_, shown) = world.json(&["thread", "show", &id]);
        assert_eq!(
            (&shown["thread_status"], &shown["data"]["report"]),
            (&json!("running"), &Value::Null)
        );
        world.json(&["thread", "wait", &id, "--timeout", "50ms"]).fails(6, "thread.still_runs");
        let (status, told) = world.json(&["thread", verb, &id]);
        assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{told}");
        let told = approve.wait_with_output().unwrap();
        let code = told.status.code();
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!((code, &told["code"]), (Some(6), &json!("thread.cancelled")), "{told}");
        world.json(&["thread", "wait", &id]).fails(6, "thread.cancelled");
        assert_eq!(row(&world, &id)["thread_code"], "thread.cancelled");
        assert_eq!(world.json(&["pending", "show", &request]).1["state"], "done");
    }
}
