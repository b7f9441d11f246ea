//! What calls of a server leave behind: it ends with the call, but for detached runs.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::client::Client;
use crate::async_runs::tool;
use crate::threads::{call, hand_over, world};
use crate::world::wait::{lives, until};
use crate::world::{World, program};

/// So many processes, each below the one before and in a session of its own.
const DEEP: usize = 6;

const CHAIN: &str = "if [ $1 -gt 1 ]; then setsid sh chain.sh $(($1 - 1)) & fi\n\
                     echo $$ >> left; exec sleep 300\n";

/// A world with a tool that starts such processes, and ends once the file `go` is there.
fn leaving() -> World {
    let turns = json!([call("acme_leaves", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"5\"", "<execute><tool>acme.leaves</tool></execute>");
    world.write("chain.sh", CHAIN);
    let body = format!(
        "setsid sh chain.sh {DEEP} < /dev/null > /dev/null 2>&1 &\n\
         while [ ! -e go ]; do sleep 0.1; done; echo '{{}}'\n"
    );
    world.signed(".ai/tools/acme/leaves.sh", &tool(&body));
    world
}

fn left(world: &World) -> BTreeSet<u64> {
    let text = fs::read_to_string(world.project().join("left")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn begin(client: &mut Client, world: &World, arguments: Value) -> i64 {
    let mut arguments = arguments;
    arguments["project_path"] = world.project().display().to_string().into();
    client.begin("tools/call", &json!({"name": "rye_execute", "arguments": arguments}))
}

/// The children of a process, also those that ended and were not taken note of.
fn children(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap()
}

/// The third and the fourth field behind the name: the parent and the session of a process.
fn parent_and_session(pid: u64) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields[1].parse().ok()?, fields[3].parse().ok()?))
}

#[test]
fn nothing_that_left_its_group_outlives_a_call_of_a_tool_or_a_thread_however_the_call_ends() {
    let world = leaving();
    let mut client = Client::new(&world, &[]);
    let tool = json!({"item_id": "tool:acme/leaves"});
    let thread = json!({"item_id": "directive:acme/go", "thread": "fork"});
    for (asked, is_cancelled) in [(&tool, false), (&tool, true), (&thread, false), (&thread, true)]
    {
        for name in ["left", "go"] {
            drop(fs::remove_file(world.project().join(name)));
        }
        let request = begin(&mut client, &world, asked.clone());
        until("all of them run", || left(&world).len() == DEEP);
        let left = left(&world);
        assert!(left.iter().all(|pid| lives(*pid)), "{asked}");
        if is_cancelled {
            client.cancel(request);
            until("they are gone", || !left.iter().any(|pid| lives(*pid)));
        } else {
            world.write("go", "");
            let said = client.answer(request);
            assert_eq!(said["result"]["isError"], false, "{said}");
            assert!(!left.iter().any(|pid| lives(*pid)), "{asked}: they outlive the answer");
        }
    }
    until("the server has no child left", || children(client.child.id()).is_empty());
}

#[test]
fn detached_runs_outlive_a_call_also_while_they_wait_and_their_ends_are_taken_note_of() {
    let world = leaving();
    world.write("go", "");
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    for name in ["first", "second"] {
        let body = format!("while [ ! -e go-{name} ]; do sleep 0.1; done; echo '{{}}'\n");
        world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool(&body));
    }
    let mut client = Client::new(&world, &[]);
    let server = client.child.id();
    // From its first call on it adopts what its calls leave behind.
    let leaves = json!({"item_id": "tool:acme/leaves"});
    let (said, is_error) = client.call("rye_execute", leaves.clone());
    assert!(!is_error, "the fixture works untouched: {said}");
    let [first, second] = ["first", "second"].map(|name| {
        let asked = json!({"item_id": format!("tool:acme/{name}"), "async": true});
        client.call("rye_execute", asked).0
    });
    assert_eq!([&first["state"], &second["state"]], [&json!("running"), &json!("created")]);
    let run = first["pid"].as_u64().unwrap();
    assert_eq!(parent_and_session(run), Some((server.into(), run)));
    let (said, is_error) = client.call("rye_execute", leaves);
    assert!(!is_error && !left(&world).iter().any(|pid| lives(*pid)), "{said}");
    assert!(lives(run));
    for (name, id) in [("first", &first["thread_id"]), ("second", &second["thread_id"])] {
        world.write(&format!("go-{name}"), "");
        let asked = json!({"action": "wait", "thread_id": id});
        assert_eq!(client.call("rye_thread", asked).0["status"], "success", "{name}");
    }
    until("the server has no child left", || children(server).is_empty());
}

#[test]
fn another_program_with_the_argument_of_a_detached_run_does_not_outlive_a_call() {
    let world = World::new();
    fs::copy(program(), world.project().join("copy")).unwrap();
    // It reads what it is to run, and the pipe has no end.
    let body = "mkfifo pipe; exec 3<>pipe; ./copy --detached-run <&3 >/dev/null 2>&1 &\n\
                echo $! > left; while [ ! -e go ]; do sleep 0.1; done; echo '{}'\n";
    world.signed(".ai/tools/acme/copies.sh", &tool(body));
    let mut client = Client::new(&world, &[]);
    let request = begin(&mut client, &world, json!({"item_id": "tool:acme/copies"}));
    let copy = || left(&world).first().copied();
    until("it leads a session of its own", || {
        copy().and_then(parent_and_session).is_some_and(|(_, session)| Some(session) == copy())
    });
    world.write("go", "");
    let said = client.answer(request);
    assert_eq!(said["result"]["isError"], false, "{said}");
    assert!(!lives(copy().unwrap()), "it outlives the answer");
}
