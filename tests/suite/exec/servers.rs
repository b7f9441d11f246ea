//! Servers and many callers: pipelined calls, deaths between them, starting again (exec-protocol
//! 3).

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rye::{Request, Rye};
use serde_json::{Value, json};

use super::{library, nothing_is_left, processes, server, signed, world};
use crate::world::World;
use crate::world::wait::until;

/// Calls a tool with one parameter.
fn call(rye: &Rye, item: &str, param: impl Into<Value>) -> Value {
    rye.run_json(&Request::new(item).param("case", param))
}

/// A library in a world with one server.
fn with(name: &str, exec: &str, script: &str) -> (World, Rye) {
    let world = world();
    signed(&world, name, "server", exec, script);
    let rye = library(world.outside());
    (world, rye)
}

/// Ends the processes of a world that run this program, as a person would who loses patience.
fn kill(base: &Path, program: &str) {
    for line in processes(base).iter().filter(|line| line.contains(program)) {
        let pid = line.split(' ').next().unwrap();
        drop(std::process::Command::new("kill").args(["-KILL", pid]).status());
    }
}

#[test]
fn f03_a_server_killed_amid_ten_calls_leaves_each_caller_an_answer_or_server_exited() {
    // Answers five, then waits for its end; the answers come from the last to the first.
    let script = server(
        "*go*) [ -e \"$RYE_PROJECT/killed\" ] || { all=\"$id $all\"; [ $n -lt 10 ] && continue
         for id in $(echo $all | cut -d' ' -f1-5); do echo \"{\\\"id\\\":$id,\\\"result\\\":$id}\"; done
         : >\"$RYE_PROJECT/answered\"; sleep 600; };;",
    );
    let (world, rye) = with("ten", "max_in_flight: 10", &script);
    let answered = world.project().join("answered");
    let got: Vec<Value> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..10).map(|_| scope.spawn(|| call(&rye, "acme/ten", "go"))).collect();
        until("five are answered", || answered.exists());
        world.write("killed", "");
        kill(world.outside(), "run.sh");
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let mut answers: Vec<u64> = got.iter().filter_map(|got| got["data"].as_u64()).collect();
    answers.sort_unstable();
    assert_eq!(answers, [6, 7, 8, 9, 10], "{got:?}");
    let lost: Vec<_> = got.iter().filter(|got| got["code"] == "protocol.server_exited").collect();
    assert_eq!(lost.len(), 5, "{got:?}");
    let next = call(&rye, "acme/ten", "go");
    assert_eq!(next["status"], "success", "the next call works: {next}");
    drop(rye);
    nothing_is_left(world.outside());
}

#[test]
fn f03_answers_out_of_order_reach_the_caller_that_each_names() {
    // Gathers four calls and answers them from the last to the first, with what each asked.
    let script = server(
        "*) v=${line#*'\"case\":'}; v=${v%%\\}*}; [ $((n % 4)) = 1 ] && held=
         held=\"{\\\"id\\\":$id,\\\"result\\\":$v}
$held\"; [ $((n % 4)) = 0 ] && printf %s \"$held\"; continue;;",
    );
    let (world, rye) = with("order", "max_in_flight: 4", &script);
    for round in 0..5 {
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (rye, asked) = (&rye, round * 10 + number);
                scope.spawn(move || {
                    let got = call(rye, "acme/order", asked);
                    assert_eq!(got["data"], asked, "{got}");
                });
            }
        });
    }
    drop(rye);
    nothing_is_left(world.outside());
}

#[test]
fn f04_a_late_answer_never_reaches_another_call_whatever_the_delays_and_deaths() {
    // Each call says when it is answered, and whether the server dies first; a call is answered
    // beside the others, with its own number.
    let script = server(
        "*) v=${line#*'\"case\":\"'}; v=${v%%'\"'*}; set -- $v
         [ \"$3\" = dies ] && exit 1
         (sleep 0.$2; echo \"{\\\"id\\\":$id,\\\"result\\\":$1}\") & continue;;",
    );
    let (world, _) = with("late", "max_in_flight: 4\ntimeout_ms: 250", &script);
    signed(&world, "serial", "server", "timeout_ms: 250", &script);
    let mut runner =
        TestRunner::new(Config { cases: 6, failure_persistence: None, ..Config::default() });
    let begin = Instant::now();
    let calls = prop::collection::vec((0_u8..45, prop::bool::weighted(0.08)), 4..16);
    let outcome = runner.run(&(calls, any::<bool>()), |(calls, is_serial)| {
        if begin.elapsed() > Duration::from_secs(8) {
            return Ok(());
        }
        let rye = library(world.outside());
        let item = if is_serial { "acme/serial" } else { "acme/late" };
        let wrong: Vec<Value> = std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..4)
                .map(|lane| {
                    let mine = calls.iter().enumerate().skip(lane).step_by(4);
                    let rye = &rye;
                    scope.spawn(move || {
                        let act = |(number, (delay, dies)): (usize, &(u8, bool))| {
                            let end = if *dies { "dies" } else { "lives" };
                            let got = call(rye, item, format!("{number} {delay:02} {end}"));
                            let known = [
                                "protocol.timeout",
                                "protocol.server_exited",
                                "protocol.server_unstable",
                            ];
                            let is_lost = known.iter().any(|code| got["code"] == *code);
                            (!is_lost && got["data"] != number).then(|| json!([number, got]))
                        };
                        mine.filter_map(act).collect::<Vec<_>>()
                    })
                })
                .collect();
            lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
        });
        prop_assert!(wrong.is_empty(), "answers of others: {wrong:?}");
        Ok(())
    });
    outcome.unwrap();
    nothing_is_left(world.outside());
}

#[test]
fn a_server_that_dies_again_and_again_is_started_later_each_time_and_then_left_alone() {
    let (world, rye) = with("dies", "", &server("*) exit 3;;"));
    let mut waited = Vec::new();
    let begin = Instant::now();
    for _ in 0..5 {
        let start = Instant::now();
        let got = call(&rye, "acme/dies", 1);
        assert_eq!(got["code"], "protocol.server_exited", "{got}");
        waited.push(start.elapsed());
    }
    // 0, 0.1, 0.2, 0.4, 0.8 s before the starts, counted from the end before, which is told a
    // moment later.
    for (took, least) in waited.iter().zip([0, 80, 160, 340, 740]) {
        assert!(*took >= Duration::from_millis(least), "{waited:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{waited:?}");
    let start = Instant::now();
    let got = call(&rye, "acme/dies", 1);
    assert_eq!(got["code"], "protocol.server_unstable", "{got}");
    assert!(got["error"].as_str().unwrap().contains("5 times"), "{got}");
    assert!(start.elapsed() < Duration::from_secs(5), "it is told at once");
    assert_eq!(processes(world.outside()), Vec::<String>::new());
    // Another tool goes its own way.
    signed(&world, "lives", "server", "", &server(""));
    assert_eq!(call(&rye, "acme/lives", 1)["status"], "success");
}

#[test]
fn the_trace_tells_of_each_start_and_end_and_of_the_wait_between() {
    let world = world();
    // Dies once; the item allows to ask again.
    let script =
        server("*) [ -e \"$RYE_PROJECT/seen\" ] || { : >\"$RYE_PROJECT/seen\"; exit 3; };;");
    signed(&world, "once", "server", "idempotent: true", &script);
    let said = world.rye(&["execute", "acme/once", "--json", "--trace"]);
    let events = said.json()["trace"].as_array().cloned().unwrap_or_default();
    let steps = ["server_started", "server_ended", "wait"];
    let told: Vec<&Value> =
        events.iter().filter(|event| steps.iter().any(|step| event["step"] == *step)).collect();
    let names: Vec<&str> = told.iter().map(|event| event["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["server_started", "server_ended", "wait", "server_started"], "{said:?}");
    assert_eq!(told[1]["restart_ms"], 100, "{told:?}");
    assert!(told[1]["why"].as_str().unwrap().contains("status 3"), "{told:?}");
    assert!(told[2]["wait_ms"].as_u64().unwrap() <= 100, "{told:?}");
}

#[test]
fn three_timeouts_in_a_row_replace_a_server_of_several_calls_and_an_answer_between_does_not() {
    let script = server("*late*) sleep 0.6; continue;;");
    let (_world, rye) = with("slow", "max_in_flight: 2\ntimeout_ms: 400", &script);
    let pid = |got: Value| got["data"].as_u64().unwrap_or_else(|| panic!("{got}"));
    let late = || assert_eq!(call(&rye, "acme/slow", "late")["code"], "protocol.timeout");
    let patient = || {
        // What is before it in the pipe may take its time.
        for _ in 0..20 {
            let got = call(&rye, "acme/slow", "now");
            if got["status"] == "success" {
                return pid(got);
            }
        }
        panic!("no answer at all");
    };
    let first = pid(call(&rye, "acme/slow", "now"));
    late();
    assert_eq!(patient(), first, "one timeout ends itself alone");
    late();
    late();
    late();
    assert_ne!(patient(), first, "three in a row end the process");
}

#[test]
fn calls_of_a_server_that_takes_one_at_a_time_wait_for_their_turn_at_one_process() {
    let script = server("*slow*) sleep 1;;");
    let (_world, rye) = with("one", "timeout_ms: 3000", &script);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| call(&rye, "acme/one", "slow"));
        let calls: Vec<_> =
            (0..3).map(|_| scope.spawn(|| call(&rye, "acme/one", "quick"))).collect();
        let first = slow.join().unwrap();
        for got in calls.into_iter().map(|call| call.join().unwrap()) {
            assert_eq!(got["data"], first["data"], "one process for all: {got}");
        }
    });
}

#[test]
fn a_server_is_sent_as_many_calls_at_once_as_its_item_says_and_one_if_it_says_nothing() {
    let world = world();
    // Answers each call with whether another one was sent before the answer.
    let script = "#!/usr/bin/env python3
import json, os, select
rest = b''
while True:
    while b'\\n' not in rest:
        piece = os.read(0, 65536)
        if not piece: raise SystemExit
        rest += piece
    line, rest = rest.split(b'\\n', 1)
    more = bool(rest) or bool(select.select([0], [], [], 1.0)[0])
    print(json.dumps({'id': json.loads(line)['id'], 'result': more}), flush=True)
";
    signed(&world, "serial", "server", "", script);
    signed(&world, "several", "server", "max_in_flight: 2", script);
    let rye = library(world.outside());
    for (item, want) in [("acme/serial", vec![false, false]), ("acme/several", vec![false, true])] {
        let mut got: Vec<bool> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..2).map(|_| scope.spawn(|| call(&rye, item, 1))).collect();
            calls.into_iter().filter_map(|call| call.join().unwrap()["data"].as_bool()).collect()
        });
        got.sort_unstable();
        assert_eq!(got, want, "{item}");
    }
}

#[test]
fn f01_a_server_that_talks_without_end_keeps_no_other_server_waiting() {
    let world = world();
    signed(&world, "quiet", "server", "timeout_ms: 5000", &server(""));
    let flood = format!("#!/bin/sh\nyes '' &\n{}", server("*) continue;;"));
    signed(&world, "loud", "server", "timeout_ms: 4000\nidle_timeout_ms: 50", &flood);
    let rye = library(world.outside());
    assert_eq!(call(&rye, "acme/quiet", 1)["status"], "success");
    std::thread::scope(|scope| {
        let loud = scope.spawn(|| call(&rye, "acme/loud", 1));
        until("it talks", || processes(world.outside()).iter().any(|line| line.contains("yes")));
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let start = Instant::now();
            assert_eq!(call(&rye, "acme/quiet", 1)["status"], "success");
            slowest = slowest.max(start.elapsed());
        }
        assert!(slowest < Duration::from_millis(3500), "{slowest:?}");
        assert_eq!(loud.join().unwrap()["code"], "protocol.timeout");
    });
}

#[test]
fn a_timeout_says_whether_the_server_was_stopped_goes_on_or_was_never_asked() {
    let slow = server("*slow*) sleep 2;; *dies*) exit 3;;");
    let world = world();
    signed(&world, "one", "server", "timeout_ms: 750", &slow);
    signed(&world, "several", "server", "timeout_ms: 300\nmax_in_flight: 2", &slow);
    let rye = library(world.outside());
    let says = |got: &Value, what: &str| {
        assert_eq!(got["code"], "protocol.timeout", "{got}");
        assert!(got["error"].as_str().unwrap().contains(what), "{what}: {got}");
    };
    says(&call(&rye, "acme/one", "slow"), "did not answer within 750 ms and was stopped");
    for what in ["it goes on with", "it goes on with", "and was stopped"] {
        says(&call(&rye, "acme/several", "slow"), what);
    }
    // After four ends it is started again no sooner than 0.8 s later; a busy machine may be there
    // too late to see it.
    let is_not_asked = |again: usize| {
        let name = format!("again{again}");
        signed(&world, &name, "server", "timeout_ms: 750", &slow);
        let item = format!("acme/{name}");
        (0..4).for_each(|_| drop(call(&rye, &item, "dies")));
        let got = call(&rye, &item, "slow");
        got["error"].as_str().unwrap().contains("was not asked within 750 ms")
    };
    assert!((0..5).any(is_not_asked));
}
