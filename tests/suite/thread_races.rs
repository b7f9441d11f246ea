//! What meets a thread at a bad moment: a disk that is full for a while, and a word that comes as it
//! begins to wait.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::async_runs::{start, state};
use crate::faults::kill_steps;
use crate::faults::tracer::{Fault, trace};
use crate::thread_waits::{asking, did, row, verified};
use crate::threads::{ONLY_ECHO, call, hand_over, rows, transcript, world};
use crate::world::wait::until;
use crate::world::{End, World, whole};

const GO_ARGS: &[&str] = &["execute", "directive:acme/go", "--thread", "fork"];
const GO: &[&str] = &["execute", "directive:acme/go", "--thread", "fork", "--json"];

/// The thread that was begun last.
fn newest(world: &World) -> Option<Value> {
    rows(world).into_iter().max_by_key(|row| row["thread_id"].as_str().map(str::to_owned))
}

/// One write in three here, others each day; the whole is each write.
#[test]
fn a_disk_that_is_full_at_any_write_of_a_record_leaves_one_that_holds_and_goes_on() {
    let turns = json!([call("acme_echo", &json!({"n": 1})), hand_over(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    let records = world.project().join(".ai/state/threads");
    std::fs::create_dir_all(&records).unwrap();
    let mut resumed = 0;
    let mut steps = kill_steps(3);
    let last = loop {
        let at = steps.next().unwrap();
        let known = rows(&world).len();
        let traced =
            trace(&mut world.command(GO), &records, Some((at, Fault::Fails(libc::ENOSPC))));
        let Some(hit) = traced.hit.clone() else {
            assert_eq!(traced.status, Some(0), "{traced:?}");
            break at;
        };
        if rows(&world).len() == known {
            assert_ne!(traced.status, Some(0), "it was refused before it began: {traced:?}");
            continue;
        }
        let thread = newest(&world).unwrap();
        let (id, status) = (thread["thread_id"].as_str().unwrap(), &thread["thread_status"]);
        let (code, told) = world.json(&["thread", "verify", id]);
        // Its folder could not be made, so there is nothing to go on with.
        let has_none = told["code"] == "thread.record_io" && !transcript(&world, id).exists();
        let finding = told["data"]["finding"].as_str().unwrap_or_default();
        let is_unsigned = finding == "it stopped before anything of it was signed";
        assert!(code == 0 || has_none || is_unsigned, "{hit:?} {status}: {told}");
        if status != "completed" && !has_none {
            let (code, told) = world.json(&["thread", "resume", id]);
            assert_eq!((code, &told["outputs"]), (0, &json!({"n": 7})), "{hit:?}: {told}");
            verified(&world, id);
            resumed += 1;
        }
    };
    assert!(last >= 10 && resumed > last / 10, "{last} {resumed}");
}

#[test]
fn a_resume_that_cannot_open_the_record_changes_nothing_of_a_thread_that_had_ended() {
    let world = world(&json!([hand_over(), hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let told = world.json(&GO[..4]).ok();
    let id = told["thread_id"].as_str().unwrap().to_owned();
    let held = std::fs::File::open(transcript(&world, &id)).unwrap();
    held.lock().unwrap();
    let resume = ["thread", "resume", &*id, "once more"];
    let (_, told) = world.json(&resume);
    assert_eq!(told["code"], "thread.still_runs", "{told}");
    let row = row(&world, &id);
    assert_eq!((&row["thread_status"], &row["failure"]), (&json!("completed"), &Value::Null));
    assert_eq!(world.json(&["thread", "wait", &id]).ok()["outputs"], json!({"n": 7}));
    verified(&world, &id);
    // A child that another test just forks has the file open as well.
    held.unlock().unwrap();
    assert_eq!(world.json(&resume).ok()["outputs"], json!({"n": 7}));
}

/// One that is killed while its question is approved is not woken by that.
#[test]
fn a_thread_that_is_killed_beside_an_approval_stays_so_and_leaves_nothing_to_be_decided() {
    let world = asking(&json!([call("acme_pay", &json!({"amount": 5})), hand_over()]));
    let mut ended = [0, 0];
    for step in 0..if whole() { 40 } else { 8 } {
        let (_, told) = world.json(GO_ARGS);
        let id = told["thread_id"].as_str().unwrap();
        let request = told["pending"]["id"].as_str().unwrap();
        let verb = if step % 4 == 3 { "reject" } else { "approve" };
        let mut other = world.command(&["pending", verb, request, "--json"]);
        let mut other = other.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::park_timeout(Duration::from_millis(step % 8 * 9));
        let (status, told) = world.json(&["thread", "kill", id]);
        other.wait().unwrap();
        let now = row(&world, id);
        let was_killed = status == 0 && told["thread_status"] == "killed";
        ended[usize::from(was_killed)] += 1;
        if was_killed {
            assert_eq!(now["thread_status"], "killed", "{step}: {now}");
        }
        let (_, shown) = world.json(&["pending", "show", request]);
        assert_ne!(shown["state"], "waiting", "{step} {was_killed}: {shown}");
    }
    assert!(ended[1] > 0, "{ended:?}");
}

/// The times meet each moment between the call that asks and the end of its process.
#[test]
fn a_cancel_that_comes_as_a_run_begins_to_wait_for_a_person_ends_it() {
    let world = asking(&json!([call("acme_pay", &json!({"amount": 5})), hand_over()]));
    for step in 0..12 {
        let known = rows(&world).len();
        let mut caller = world.command(GO).stdout(Stdio::null()).spawn().unwrap();
        until("it began", || rows(&world).len() > known);
        // In the process of the test it comes as early as it can.
        std::thread::park_timeout(Duration::from_millis(step * 12));
        let id = newest(&world).unwrap()["thread_id"].as_str().unwrap().to_owned();
        let (status, told) = world.json(&["thread", "cancel", &id]);
        assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{step}: {told}");
        caller.wait().unwrap();
        assert_eq!(row(&world, &id)["thread_status"], "cancelled", "{step}");
        verified(&world, &id);
    }
    for step in 0..8 {
        let told = start(&world, &["tool:acme/pay", "-i", "amount=5"]);
        let id = told["thread_id"].as_str().unwrap();
        std::thread::park_timeout(Duration::from_millis(step * 12));
        let (status, told) = world.json_of_process(&["thread", "cancel", id]);
        assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{step}: {told}");
        assert_eq!(state(&world, id), "cancelled", "{step}");
    }
    assert_eq!(did(&world).0, 0);
}
