//! When hooks end that are only told (exec-protocol 6): with the thread in which they were told,
//! where somebody cancels it or its time is over; else by their own time, and nobody waits.

use std::fs;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::async_runs::{id_of, kill, start, tool};
use crate::threads::{call, directive, events, fork, hand_over, provider, rows, world};
use crate::world::wait::{lives, until};
use crate::world::{End, World};

const GO: &[&str] = &["directive:acme/go", "--thread", "fork"];
const ALL: &str = "<execute><tool>*</tool><directive>*</directive></execute>";

/// A world whose model says these turns, with a tool that stays and a child whose model says others.
fn staying(turns: &Value, of_child: &Value) -> World {
    let world = world(turns, "turns=\"9\"", ALL);
    world.signed(".ai/tools/acme/stays.sh", &tool("touch begun\nexec sleep 300\n"));
    world.signed_home(".ai/tools/acme/child_script.yaml", &provider(of_child));
    let text = directive("child", "turns=\"5\"", "<execute><tool>acme.stays</tool></execute>");
    world.signed(".ai/directives/acme/child.md", &text.replace("acme/script", "acme/child_script"));
    world
}

fn stays() -> Value {
    call("acme_stays", &json!({}))
}

fn runs_child() -> Value {
    call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"}))
}

/// A hook that is told, keeps what it was told under the number of its process, and stays far
/// longer than anything else here.
fn told_hook(world: &World, name: &str, kind: &str, more: &str) {
    let script = "#!/bin/sh\ncat >\"$RYE_PROJECT/part-$$\"\n\
                  mv \"$RYE_PROJECT/part-$$\" \"$RYE_PROJECT/told-$$\"\n\
                  sleep 90\n: >\"$RYE_PROJECT/slept\"\n";
    world.write_home(&format!(".ai/tools/hooks/{name}-it.sh"), script);
    let text = format!(
        "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: hooks\ndescription: A hook.\nhook: {kind}\n{more}\
         exec:\n  timeout_ms: 115000\n  command: ./{name}-it.sh\n  files: [{name}-it.sh]\n"
    );
    world.signed_home(&format!(".ai/tools/hooks/{name}.yaml"), &text);
}

/// What hooks were told so far, each with the number of its process.
fn told(world: &World) -> Vec<(u64, Value)> {
    let entries = fs::read_dir(world.project()).unwrap().map(|entry| entry.unwrap());
    let told = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.strip_prefix("told-")?.parse().ok()?;
        let text = fs::read_to_string(entry.path()).ok()?;
        Some((pid, serde_json::from_str(&text).unwrap()))
    });
    told.collect()
}

/// So many hooks were told, and the tool runs.
fn are_under_way(world: &World, hooks: usize) -> bool {
    told(world).len() == hooks && world.project().join("begun").exists()
}

/// Every hook that was told is gone, and none of them came to its end.
fn no_hook_runs(world: &World) {
    for (pid, told) in told(world) {
        until(&format!("the hook is gone: {told}"), || !lives(pid));
    }
    assert!(!world.project().join("slept").exists(), "they were waited for");
}

/// A thread in the process that was asked for it.
fn in_the_caller(world: &World, hooks: usize) -> Child {
    let mut command = world.command(&[&["execute"], GO, &["--json"]].concat());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    until("it is under way", || are_under_way(world, hooks));
    child
}

fn cancel(world: &World, id: &str) {
    assert_eq!(world.json(&["thread", "cancel", id]).ok()["thread_status"], "cancelled");
}

#[test]
fn a_cancelled_thread_ends_the_hooks_that_were_told_in_it_and_its_process() {
    for detached in [false, true] {
        let world = staying(&json!([stays(), hand_over()]), &json!([hand_over()]));
        told_hook(&world, "session", "session", "phases: [session_start, session_end]\n");
        told_hook(&world, "tool", "tool", "phases: [before_execution]\nmode: observe\n");
        let (id, pid, caller) = match detached {
            true => {
                let told = start(&world, GO);
                until("it is under way", || are_under_way(&world, 2));
                (id_of(&told), told["pid"].as_u64().unwrap(), None)
            }
            false => {
                let caller = in_the_caller(&world, 2);
                (id_of(&rows(&world)[0]), u64::from(caller.id()), Some(caller))
            }
        };
        cancel(&world, &id);
        if let Some(caller) = caller {
            assert_eq!(caller.wait_with_output().unwrap().status.code(), Some(6));
        }
        until("its process is gone", || !lives(pid));
        no_hook_runs(&world);
    }
}

#[test]
fn what_was_told_in_a_child_that_is_over_ends_with_the_thread_above_that_is_cancelled() {
    let world = staying(&json!([runs_child(), stays(), hand_over()]), &json!([hand_over()]));
    told_hook(&world, "session", "session", "phases: [session_start]\n");
    let caller = in_the_caller(&world, 2);
    let all = rows(&world);
    let is_of_child = |told: &(u64, Value)| told.1["event"]["session_id"] == all[1]["thread_id"];
    assert!(told(&world).iter().any(is_of_child));
    assert_eq!(all[1]["thread_status"], "completed");
    cancel(&world, &id_of(&all[0]));
    assert_eq!(caller.wait_with_output().unwrap().status.code(), Some(6));
    no_hook_runs(&world);
}

#[test]
fn a_child_that_is_cancelled_ends_its_own_hooks_and_none_of_another_thread() {
    let world = staying(&json!([runs_child(), hand_over()]), &json!([stays(), hand_over()]));
    told_hook(&world, "session", "session", "phases: [session_start]\n");
    let caller = in_the_caller(&world, 2);
    let child = id_of(&rows(&world)[1]);
    let all = told(&world);
    let is_of_child = |told: &&(u64, Value)| told.1["event"]["session_id"] == child.as_str();
    let (below, _) = all.iter().find(is_of_child).unwrap();
    let (above, _) = all.iter().find(|told| !is_of_child(told)).unwrap();
    cancel(&world, &child);
    until("the hook of the child is gone", || !lives(*below));
    assert!(lives(*above), "the thread above goes on, and whoever was told in it");
    kill(*above);
    let output = caller.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &told["outputs"]), (Some(0), &json!({"n": 7})), "{told}");
    no_hook_runs(&world);
}

#[test]
fn the_time_of_a_thread_ends_the_hooks_that_were_told_in_it() {
    let world = staying(&json!([stays(), hand_over()]), &json!([hand_over()]));
    told_hook(&world, "session", "session", "phases: [session_start, session_end]\n");
    fork(&world, &["--limit", "duration_seconds=2"]).fails(4, "thread.limit_exceeded");
    let id = id_of(&rows(&world)[0]);
    assert_eq!(events(&world, &id, "hook")[0]["verdict"], "told", "there was one");
    no_hook_runs(&world);
}

#[test]
fn a_hook_that_is_told_of_the_end_holds_back_no_answer_of_wait() {
    let world = staying(&json!([hand_over()]), &json!([hand_over()]));
    told_hook(&world, "session", "session", "phases: [session_end]\n");
    let begun = start(&world, GO);
    assert_eq!(world.json(&["thread", "wait", &id_of(&begun)]).ok()["outputs"], json!({"n": 7}));
    assert!(!world.project().join("slept").exists(), "the hook was waited for");
    // It was told all the same, and has its own time.
    until("it is told", || told(&world).len() == 1);
    let (hook, process) = (told(&world)[0].0, begun["pid"].as_u64().unwrap());
    assert!(lives(hook) && lives(process));
    kill(hook);
    until("the process is gone", || !lives(process));
    no_hook_runs(&world);
}

#[test]
fn a_tool_of_its_own_process_that_is_cancelled_ends_the_hooks_that_were_told_of_it() {
    let world = staying(&json!([hand_over()]), &json!([hand_over()]));
    told_hook(&world, "tool", "tool", "phases: [before_execution]\nmode: observe\n");
    let begun = start(&world, &["tool:acme/stays"]);
    until("it is under way", || are_under_way(&world, 1));
    cancel(&world, &id_of(&begun));
    until("its process is gone", || !lives(begun["pid"].as_u64().unwrap()));
    no_hook_runs(&world);
}
