//! What is bounded: how many servers there are, how long a request is, and that a host which comes
//! to its end by itself leaves nothing (exec-protocol 3.1, 3.5).

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rye::{Request, Rye};
use serde_json::Value;

use super::{library, nothing_is_left, processes, server, signed, world};
use crate::world::World;
use crate::world::wait::until;

/// Where a test runs again as a process of its own, the folder of its world.
const WORLD: &str = "RYE_BOUNDS_WORLD";

/// Runs this test in a process of its own that may hold `files` descriptors.
fn alone(test: &str, world: &World, files: usize) -> Output {
    let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args([&format!("exec::bounds::{test}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(WORLD, world.outside())
        .output()
        .unwrap()
}

fn call(rye: &Rye, item: &str) -> Value {
    rye.run_json(&Request::new(item))
}

/// The number of the process that answered.
#[track_caller]
fn pid(rye: &Rye, item: &str) -> u64 {
    let got = call(rye, item);
    got["data"].as_u64().unwrap_or_else(|| panic!("{got}"))
}

/// The most servers that are kept at once.
const MOST: usize = 96;

#[test]
fn of_too_many_servers_the_one_that_nobody_used_for_longest_ends_and_starts_anew_when_it_is_called()
{
    if let Some(base) = std::env::var_os(WORLD) {
        too_many(Path::new(&base));
        return;
    }
    let world = world();
    signed(&world, "s0", "server", "", &server(""));
    let item = String::from_utf8(world.read(".ai/tools/acme/s0.yaml")).unwrap();
    let (_, item) = item.split_once('\n').unwrap();
    for number in 1..=MOST {
        // That it may be idle for longer keeps none.
        let longer = if number == 1 { "  idle_timeout_ms: 86000000\n" } else { "" };
        let text = item.replace("exec:\n", &format!("exec:\n{longer}"));
        world.write(&format!(".ai/tools/acme/s{number}.yaml"), text);
    }
    world.rye(&["sign", "tool:acme/*"]).ok();
    // What most machines allow.
    let name = "of_too_many_servers_the_one_that_nobody_used_for_longest_ends_and_starts_anew_when_it_is_called";
    let told = alone(name, &world, 1024);
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && said.contains("as many as may be"), "{said}");
    nothing_is_left(world.outside());
}

fn too_many(base: &Path) {
    let rye = library(base);
    let name = |number: usize| format!("acme/s{number}");
    let first: Vec<u64> = (0..MOST).map(|number| pid(&rye, &name(number))).collect();
    assert_eq!(processes(base).len(), MOST, "all of them are kept");
    assert_eq!(pid(&rye, &name(0)), first[0]);
    pid(&rye, &name(MOST));
    until("one made room", || processes(base).len() == MOST);
    assert_eq!(pid(&rye, &name(0)), first[0], "it was used a moment before");
    assert_ne!(pid(&rye, &name(1)), first[1], "it was not used for longest");
    until("another one made room", || processes(base).len() == MOST);
    eprintln!("as many as may be");
}

#[test]
fn f06_a_panic_of_the_host_leaves_no_server() {
    if let Some(base) = std::env::var_os(WORLD) {
        let rye = library(Path::new(&base));
        eprintln!("it serves: {}", pid(&rye, "acme/stays"));
        panic!("what the host does comes to a bad end");
    }
    let world = world();
    let stays = format!("#!/bin/sh\ntrap '' TERM\nsleep 600 &\n{}sleep 600\n", server(""));
    signed(&world, "stays", "server", "", &stays);
    let told = alone("f06_a_panic_of_the_host_leaves_no_server", &world, 1024);
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(said.contains("it serves") && said.contains("a bad end"), "{said}");
    assert!(!told.status.success());
    nothing_is_left(world.outside());
}

#[test]
fn a_request_that_is_longer_than_a_line_is_refused_and_no_server_hears_of_it() {
    let world = world();
    signed(&world, "serves", "server", "", &server(""));
    signed(&world, "once", "oneshot", "", "#!/bin/sh\nwc -c >&2; echo '{\"result\": 1}'\n");
    let rye = library(world.outside());
    let with =
        |item: &str, size: usize| rye.run_json(&Request::new(item).param("text", "z".repeat(size)));
    let got = with("acme/serves", 10 << 20);
    assert_eq!(got["code"], "protocol.request_too_large", "{}", got["error"]);
    assert_eq!(processes(world.outside()), Vec::<String>::new(), "none was started for it");
    let before = pid(&rye, "acme/serves");
    assert_eq!(with("acme/serves", 10 << 20)["code"], "protocol.request_too_large");
    assert_eq!(with("acme/serves", (10 << 20) - 200)["data"], before, "it is the same process");
    assert_eq!(with("acme/once", 10 << 20)["data"], 1, "a program that runs once reads on");
    // By the other door, from a file.
    let text = serde_json::json!({"text": "z".repeat(10 << 20)}).to_string();
    let file = world.outside().join("params.json");
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    world
        .rye(&["execute", "acme/serves", "--params-file", &file])
        .fails(7, "protocol.request_too_large");
}

#[test]
fn hooks_that_are_only_told_are_so_many_at_once_and_no_more_and_the_call_goes_on() {
    const PLACES: usize = 64;
    let world = world();
    signed(&world, "once", "oneshot", "", "#!/bin/sh\necho '{\"result\": 1}'\n");
    let slow = "#!/bin/sh\ncat >/dev/null\nsleep 5\n";
    world.write_home(".ai/tools/hooks/watch-it.sh", slow);
    for number in 0..PLACES + 3 {
        world.write_home(
            &format!(".ai/tools/hooks/watch{number}.yaml"),
            "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
             category: hooks\ndescription: A hook.\nhook: tool\nphases: [before_execution]\n\
             mode: observe\nexec:\n  command: ./watch-it.sh\n  files: [watch-it.sh]\n",
        );
    }
    world.rye(&["sign", "tool:hooks/*", "--space", "user"]).ok();
    let (status, got) = world.json(&["execute", "acme/once", "--trace"]);
    assert_eq!((status, &got["data"]), (0, &Value::from(1)), "{got}");
    let told = |verdict: &str| {
        let events = got["trace"].as_array().unwrap().iter();
        events.filter(|event| event["verdict"] == verdict).collect::<Vec<_>>()
    };
    let left = told("not_told");
    assert_eq!((told("told").len(), left.len()), (PLACES, 3), "{left:?}");
    assert!(left[0]["reason"].as_str().unwrap().contains("still run"), "{left:?}");
    nothing_is_left(world.outside());
}
