//! Commands in the workspace of a thread: what they print beyond what is kept, and how they end.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{prepared, tool, turn};
use crate::sandbox::levels;
use crate::threads::{events, fork, rows, transcript};
use crate::world::wait::until;
use crate::world::{End, World};

const WORKSPACE: &str =
    "<acknowledge risk=\"elevated\"/><execute><tool>rye.workspace.*</tool></execute>";

fn run(cmd: &str) -> Value {
    turn(&[("run_shell_command", json!({"cmd": cmd}))])
}

/// Prints so many bytes.
fn prints(bytes: usize) -> String {
    format!("head -c {bytes} /dev/zero | tr '\\0' x")
}

/// The id of a thread with these turns, and what each call gave.
fn gave(world: &World, turns: &[Value], permissions: &str) -> (String, Vec<Value>) {
    prepared(world, turns, permissions);
    let told = fork(world, &[]).ok();
    let id = told["thread_id"].as_str().unwrap().to_owned();
    let gave = events(world, &id, "tool_call_result");
    let gave = gave.iter().take(turns.len());
    (id, gave.map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap()).collect())
}

/// The whole of a result that was cut.
fn blob(world: &World, id: &str, told: &Value) -> Value {
    let name = told["truncated"]["blob"].as_str().unwrap();
    let path = transcript(world, id).with_file_name("blobs").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn output_beyond_what_is_kept_of_a_command_is_told_with_how_much_there_was() {
    if levels("output_beyond_what_is_kept_of_a_command").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    let cap = 1 << 20;
    let more = format!("{}; {} >&2", prints(cap + 1), prints(cap * 2));
    let (id, told) = gave(&world, &[run(&prints(cap)), run(&more)], WORKSPACE);
    // All of it is kept, and paged.
    let whole = blob(&world, &id, &told[0]);
    assert_eq!((whole["stdout"].as_str().unwrap().len(), whole.get("truncated")), (cap, None));
    assert!(told[0]["value"].get("truncated").is_none(), "{}", told[0]["truncated"]);
    let cut = json!({
        "stdout": {"shown": cap, "total": cap + 1}, "stderr": {"shown": cap, "total": cap * 2},
    });
    let whole = blob(&world, &id, &told[1]);
    assert_eq!((&told[1]["value"]["truncated"], &whole["truncated"]), (&cut, &cut));
    assert_eq!(whole["stdout"].as_str().unwrap().len(), cap);
    let length = told[1]["value"]["stdout"].as_str().unwrap().chars().count();
    assert!(length <= 12_000 && told[1]["value"]["exit_code"] == 0, "{length}");
}

#[test]
fn output_beyond_what_is_kept_of_a_tool_is_told_with_how_much_there_was() {
    let world = World::new();
    let cap = 16 << 20;
    world.signed(".ai/tools/acme/much.sh", &tool("", &format!("{}\n", prints(cap + 5))));
    world.signed(".ai/tools/acme/some.sh", &tool("", &format!("{}; exit 3\n", prints(cap + 7))));
    let calls = [turn(&[("acme_much", json!({}))]), turn(&[("acme_some", json!({}))])];
    let all = "<execute><tool>acme.*</tool></execute>";
    let (id, told) = gave(&world, &calls, all);
    let cut = json!({"stdout": {"shown": cap, "total": cap + 5}});
    assert_eq!(told[0]["value"]["truncated"], cut, "{}", told[0]["truncated"]);
    assert_eq!(blob(&world, &id, &told[0])["stdout"].as_str().unwrap().len(), cap);
    let failed = &told[1];
    assert_eq!(
        (&failed["ok"], &failed["error_kind"]),
        (&json!(false), &json!("tool_execution_exception"))
    );
    assert_eq!(failed["detail"]["truncated"]["stdout"]["total"], cap + 7);
}

/// Times for `sleep` that no other test waits for, nor another run of these tests.
fn times<const N: usize>(seconds: [&str; N]) -> [String; N] {
    seconds.map(|seconds| format!("{seconds}.{}", std::process::id()))
}

/// The processes with these words in their command lines.
fn running(words: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let own = |line: &[u8]| line.split(|byte| *byte == 0).any(|part| part == words.as_bytes());
    lines.filter(|line| own(line)).count()
}

#[test]
fn whoever_cancels_a_thread_ends_its_command_with_all_that_it_started() {
    if levels("whoever_cancels_a_thread_ends_its_command").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    let all = times(["31557", "31558", "31559"]);
    let [one, two, three] = &all;
    let cmd = format!("trap '' TERM; sleep {one} & setsid sleep {two} & sleep {three}");
    prepared(&world, &[run(&cmd)], WORKSPACE);
    let mut command =
        world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    until("all run", || all.iter().all(|time| running(time) > 0));
    let id = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    world.rye(&["thread", "cancel", &id]).ok();
    let said = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(told["code"], "thread.cancelled", "{told}");
    for time in &all {
        until("it is gone", || running(time) == 0);
    }
    assert_eq!(world.json(&["thread", "verify", &id]).ok()["final"], true);
}

#[test]
fn a_command_that_takes_longer_than_its_thread_may_is_ended_with_all_that_it_started() {
    if levels("a_command_that_takes_longer_than_its_thread_may").is_empty() {
        return;
    }
    // Inside another program rye ends no process that left the group of its tool.
    let world = World::new_on_disk().at_the_door();
    let all = times(["31560", "31561"]);
    let [one, two] = &all;
    let cmd = format!("pwd > where; setsid sleep {one} & sleep {two}");
    prepared(&world, &[run(&cmd)], WORKSPACE);
    let (status, told) = fork(&world, &["--limit", "duration_seconds=2"]);
    assert_eq!((status, &told["data"]["limit"]), (4, &json!("duration_seconds")), "{told}");
    for time in &all {
        until("it is gone", || running(time) == 0);
    }
    let id = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    let told = &events(&world, &id, "tool_call_result")[0];
    let told: Value = serde_json::from_str(told["content"].as_str().unwrap()).unwrap();
    assert_eq!(told["detail"]["kind"], "timeout", "{told}");
}
