//! How long a server is kept, and that nothing else is (exec-protocol 3.1, 3.5; f09).

use crate::world::whole;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rye::{Request, Rye};
use serde_json::Value;

use super::{library, nothing_is_left, processes, server, signed, world};
use crate::sandbox::{LANDLOCK, works};
use crate::world::held;
use crate::world::wait::until;

fn call(rye: &Rye, item: &str) -> Value {
    rye.run_json(&Request::new(item))
}

/// The number of the process that answered.
#[track_caller]
fn pid(rye: &Rye, item: &str) -> u64 {
    let got = call(rye, item);
    got["data"].as_u64().unwrap_or_else(|| panic!("{got}"))
}

#[test]
fn a_server_is_kept_between_calls_and_ends_when_nobody_called_it_for_its_idle_time() {
    let world = world();
    signed(&world, "idle", "server", "idle_timeout_ms: 700", &server(""));
    signed(&world, "kept", "server", "", &server(""));
    let rye = library(world.outside());
    let (idle, kept) = (pid(&rye, "acme/idle"), pid(&rye, "acme/kept"));
    // Asked often enough, it stays for longer than its idle time.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1200) {
        let before = Instant::now();
        let again = pid(&rye, "acme/idle");
        if before.elapsed() < Duration::from_millis(300) {
            assert_eq!(again, idle);
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
    until("it ended", || processes(world.outside()).len() == 1);
    assert_ne!(pid(&rye, "acme/idle"), idle, "the next call starts it anew");
    assert_eq!(pid(&rye, "acme/kept"), kept);
    drop(rye);
    nothing_is_left(world.outside());
}

#[test]
fn a_server_that_was_let_out_serves_no_call_that_is_held() {
    if !works("a_server_that_was_let_out_serves_no_call_that_is_held", LANDLOCK) {
        return;
    }
    let world = world();
    let tells = "*) s=$(sed -n 's/^Seccomp:[^0-9]*//p' /proc/$$/status)\n\
                 echo \"{\\\"id\\\":$id,\\\"result\\\":$s}\"; continue;;";
    signed(&world, "tells", "server", "", &server(tells));
    let rye = library(world.outside());
    let call = || {
        let got = call(&rye, "acme/tells");
        (got["data"].as_u64(), got["metadata"]["sandbox"]["level"] == "off", got)
    };
    let (said, is_off, got) = call();
    assert_eq!((said, is_off), (Some(0), true), "{got}");
    fs::remove_file(world.home().join(".ai/config/rye/policy.yaml")).unwrap();
    let (said, is_off, got) = call();
    assert_eq!((said, is_off), (Some(2), false), "it is another process, and held: {got}");
}

#[test]
fn a_call_longer_than_the_idle_time_is_answered_and_costs_no_work_meanwhile() {
    let world = world();
    signed(&world, "long", "server", "idle_timeout_ms: 20", &server("*) sleep 1.5;;"));
    let rye = library(world.outside());
    let ticks = || {
        // The time of this thread's process in user and system mode, in hundredths of a second.
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        let keeper = tasks.filter(|task| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "servers\n")
        });
        keeper
            .filter_map(|task| fs::read_to_string(task.path().join("stat")).ok())
            .map(|stat| {
                let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
                fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
            })
            .max()
            .unwrap_or(0)
    };
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| call(&rye, "acme/long"));
        std::thread::park_timeout(Duration::from_millis(1200));
        let most = ticks();
        assert_eq!(slow.join().unwrap()["status"], "success");
        assert!(most < 30, "{most} hundredths of a second");
    });
}

#[test]
fn one_process_serves_a_binding_and_another_one_its_next_version() {
    let world = world();
    signed(&world, "one", "server", "", &server(""));
    signed(&world, "two", "server", "", &server(""));
    let rye = library(world.outside());
    let one = pid(&rye, "acme/one");
    assert_eq!(pid(&rye, "acme/one"), one);
    assert_ne!(pid(&rye, "acme/two"), one, "the same program by another item");
    // The same item with another file: the old process answers no call of it.
    signed(&world, "one", "server", "", &format!("{}# changed\n", server("")));
    let changed = pid(&rye, "acme/one");
    assert_ne!(changed, one);
    world.write(".ai/tools/acme/one.files/run.sh", "#!/bin/sh\n");
    assert_eq!(
        call(&rye, "acme/one")["code"],
        "verify.dependency",
        "a running server is no way around"
    );
    drop(rye);
    nothing_is_left(world.outside());
}

#[test]
fn all_servers_end_at_once_within_five_seconds_and_each_is_asked_first() {
    let world = world();
    let stubborn = format!("#!/bin/sh\ntrap '' TERM\n{}while :; do sleep 0.1; done\n", server(""));
    let polite = format!("{}echo \"end of input\" >\"$RYE_PROJECT/polite\"\n", server(""));
    let asked = format!(
        "#!/bin/sh\ntrap 'echo term >\"$RYE_PROJECT/asked\"; exit' TERM\n{}while :; do sleep 0.1; done\n",
        server("")
    );
    for name in ["a", "b", "c"] {
        signed(&world, name, "server", "", &stubborn);
    }
    signed(&world, "polite", "server", "", &polite);
    signed(&world, "asked", "server", "", &asked);
    let rye = library(world.outside());
    for name in ["a", "b", "c", "polite", "asked"] {
        pid(&rye, &format!("acme/{name}"));
    }
    let start = Instant::now();
    drop(rye);
    let took = start.elapsed();
    assert!((Duration::from_millis(3900)..Duration::from_millis(5500)).contains(&took), "{took:?}");
    assert_eq!(world.read("polite"), b"end of input\n");
    assert_eq!(world.read("asked"), b"term\n");
    nothing_is_left(world.outside());
}

#[test]
fn what_a_program_says_on_standard_error_reaches_the_log_by_lines_up_to_a_bound() {
    let world = world();
    let says = "i=0; while [ $i -lt 300 ]; do echo \"note $i\" >&2; i=$((i + 1)); done";
    signed(
        &world,
        "once",
        "oneshot",
        "",
        &format!("#!/bin/sh\n{says}\necho '{{\"result\": 1}}'\n"),
    );
    signed(&world, "serves", "server", "", &server(&format!("*) {says};;")));
    for item in ["acme/once", "acme/serves"] {
        let said = world.rye(&["execute", item, "--json", "-v"]).ok();
        let notes: Vec<&str> =
            said.stderr.lines().filter(|line| line.contains("stderr: ")).collect();
        assert!(notes.iter().all(|line| line.contains(&format!("tool:{item}"))), "{notes:?}");
        assert!(
            notes[0].contains("stderr: note 0") && notes[199].contains("note 199"),
            "{notes:?}"
        );
        assert!(notes.len() == 201 && notes[200].contains("no more of them"), "{notes:?}");
        assert!(
            !world.rye(&["execute", item, "--json"]).stderr.contains("note"),
            "only if asked for"
        );
    }
}

#[test]
fn f08_no_trace_plan_or_receipt_of_a_program_holds_its_secret() {
    let world = world();
    let tells = "echo \"key $ACME_SECRET\" >&2";
    for (name, mode, script) in [
        ("once", "oneshot", format!("#!/bin/sh\n{tells}\necho '{{\"error\": \"no\"}}'\n")),
        ("serves", "server", server(&format!("*) {tells}; exit 1;;"))),
    ] {
        signed(&world, name, mode, "", &script);
        let path = format!(".ai/tools/acme/{name}.yaml");
        let text = String::from_utf8(world.read(&path)).unwrap();
        let text: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
        world.signed(&path, &format!("secrets: [ACME_SECRET]\n{text}"));
        let item = format!("acme/{name}");
        let (plan, receipt) = (format!("{name}.plan"), format!("{name}.receipt"));
        let said = [
            world.rye(&["plan", &item, "--out", &plan]),
            world.rye(&["execute", &item, "--receipt", &receipt, "--trace", "--json", "-vvv"]),
            world.rye(&["execute", &item]),
        ];
        assert!(said[1].stdout.contains("***"), "it told its secret: {:?}", said[1]);
        for said in said {
            let all = format!("{said:?}");
            assert!(super::CANARIES.iter().all(|canary| !all.contains(canary)), "{all}");
        }
        assert!(world.project().join(plan).exists() && world.project().join(receipt).exists());
    }
    super::no_file_tells(world.outside());
}

/// 4 MiB here; the whole is 64.
#[test]
fn f02_more_than_a_pipe_holds_flows_in_and_out_at_once_by_either_mode() {
    let world = world();
    let once = "#!/bin/sh\nn=$(tee /dev/stderr | wc -c)\necho \"{\\\"result\\\":$n}\"\n";
    signed(&world, "once", "oneshot", "timeout_ms: 600000", once);
    let serves = "#!/usr/bin/env python3
import json, sys
for line in sys.stdin.buffer:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()
    id = int(line[:60].split(b'\"id\":')[1].split(b',')[0])
    print(json.dumps({'id': id, 'result': len(line)}), flush=True)
";
    signed(&world, "serves", "server", "timeout_ms: 600000\nmax_in_flight: 8", serves);
    let rye = library(world.outside());
    // A line of a server holds less, so there it is eight lines at once.
    for (item, calls) in [("acme/once", 1), ("acme/serves", 8)] {
        let size = (if whole() { 64 << 20 } else { 4 << 20 }) / calls;
        let text = "z".repeat(size);
        std::thread::scope(|scope| {
            for _ in 0..calls {
                scope.spawn(|| {
                    let got = rye.run_json(&Request::new(item).param("text", text.clone()));
                    let told = got["data"].as_u64().unwrap_or_else(|| panic!("{got}"));
                    assert!((size..size + 200).contains(&usize::try_from(told).unwrap()), "{told}");
                });
            }
        });
    }
}

/// 400 calls here; the whole is 10,000. In a process of its own, so that what it holds is told from
/// what other tests hold.
#[test]
fn f09_many_calls_of_servers_and_one_shots_leak_nothing() {
    const WORLD: &str = "RYE_F09_EXEC_WORLD";
    if let Some(base) = std::env::var_os(WORLD) {
        many_calls(Path::new(&base));
        return;
    }
    // It ends a few times.
    let often = if whole() { 700 } else { 28 };
    let world = world();
    signed(&world, "serves", "server", "max_in_flight: 4", &server(""));
    signed(
        &world,
        "ends",
        "server",
        "idempotent: true",
        &server(&format!("*) [ $((n % {often})) = 0 ] && exit 1;;")),
    );
    signed(&world, "once", "oneshot", "", "#!/bin/sh\necho '{\"result\": 1}'\n");
    let name = "exec::kept::f09_many_calls_of_servers_and_one_shots_leak_nothing";
    let alone = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(WORLD, world.outside())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(alone.status.success() && told.contains("each of the calls was made"), "{told}");
    nothing_is_left(world.outside());
}

fn many_calls(base: &Path) {
    drop(library(base));
    let outside = held();
    let rye = library(base);
    let act = |number: usize| {
        let item = match number % 20 {
            0 => "acme/once",
            1..=5 => "acme/ends",
            _ => "acme/serves",
        };
        let got = call(&rye, item);
        assert_eq!(got["status"], "success", "{item} {got}");
    };
    (0..20).for_each(act);
    let before = (held(), processes(base).len(), super::pins(base));
    let each = if whole() { 2_500 } else { 100 };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..each).for_each(act));
        }
    });
    until("it holds what it held", || (held(), processes(base).len(), super::pins(base)) == before);
    drop(rye);
    until("it holds what it began with", || held() == outside);
    eprintln!("each of the calls was made");
}
