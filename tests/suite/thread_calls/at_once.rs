//! Calls of tools that only read run at once, four at the most; whatever else is a barrier.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{prepared, tool, turn};
use crate::hooks::hook;
use crate::threads::{events, fork, rows};
use crate::world::wait::until;
use crate::world::{End, World};

const READS: &str = "# effects = \"read\"\n";
const ALL: &str = "<execute><tool>acme.*</tool></execute>";

/// Notes when it begins and ends, and how many run meanwhile; goes on when the file `go-N` is
/// there, or as soon as four have begun, whichever is asked for.
const NOTES: &str = "read -r args; n=${args##*:}; n=${n%%\\}*}\n\
    echo \"begin $n\" >> log; mkdir -p now; : > now/$n; ls now | wc -l >> counts\n\
    [ -e wait-$n ] && until [ -e go-$n ]; do sleep 0.1; done\n\
    [ -e four ] && until [ \"$(grep -c begin log)\" -ge 4 ]; do sleep 0.1; done\n\
    [ -e four ] && sleep 0.1; ls now | wc -l >> counts\n\
    rm now/$n; echo \"end $n\" >> log\n\
    [ -e fail-$n ] && exit 3\n\
    printf '{\"n\":%s}' \"$n\"\n";

/// A project with a tool that reads and one that does not, and a model that makes these calls in
/// one turn.
fn world(calls: &[(&str, u64)]) -> World {
    let world = World::new()
        .with(".ai/tools/acme/reads.sh", &tool(READS, NOTES))
        .with(".ai/tools/acme/writes.sh", &tool("", NOTES));
    let calls: Vec<(&str, Value)> =
        calls.iter().map(|(name, n)| (*name, json!({"n": n}))).collect();
    prepared(&world, &[turn(&calls)], ALL);
    world
}

fn lines(world: &World, name: &str) -> Vec<String> {
    let text = fs::read_to_string(world.project().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// How many ran at once at the most.
fn most(world: &World) -> usize {
    lines(world, "counts").iter().map(|n| n.trim().parse().unwrap()).max().unwrap()
}

fn at(log: &[String], what: &str) -> usize {
    log.iter().position(|line| line == what).unwrap_or_else(|| panic!("{what}: {log:?}"))
}

/// What the calls gave, without the one that handed over.
fn results(world: &World, id: &str) -> Vec<Value> {
    let gave = events(world, id, "tool_call_result").into_iter();
    let mut gave: Vec<Value> =
        gave.map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap()).collect();
    gave.pop();
    gave
}

fn completed(world: &World) -> String {
    let (status, told) = fork(world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let id = told["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&["thread", "verify", &id]).ok()["final"], true);
    id
}

#[test]
fn calls_of_tools_that_only_read_run_at_once_and_never_more_than_four() {
    let calls: Vec<(&str, u64)> = (1..=11).map(|n| ("acme_reads", n)).collect();
    let world = world(&calls);
    world.write("four", "");
    let id = completed(&world);
    assert_eq!(most(&world), 4, "{:?}", lines(&world, "counts"));
    let want: Vec<Value> = (1..=11).map(|n| json!({"n": n})).collect();
    assert_eq!(results(&world, &id), want);
    assert_eq!(lines(&world, "log").len(), 22, "each ran once");
}

#[test]
fn results_come_in_the_order_of_the_calls_whichever_ends_first() {
    let world = world(&[("acme_reads", 1), ("acme_reads", 2), ("acme_reads", 3)]);
    for n in ["wait-1", "wait-2"] {
        world.write(n, "");
    }
    let mut command =
        world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    for (ended, go) in [("end 3", "go-2"), ("end 2", "go-1")] {
        until(ended, || lines(&world, "log").contains(&ended.to_owned()));
        world.write(go, "");
    }
    let said = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&said.stdout).unwrap();
    let id = told["thread_id"].as_str().unwrap();
    assert_eq!(results(&world, id), [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]);
    let all = world.json(&["thread", "show", id]).1["data"]["events"].as_array().unwrap().clone();
    let all = all.iter().filter(|it| it["event"].as_str().unwrap().starts_with("tool_call"));
    let shown: Vec<String> =
        all.map(|it| format!("{} {}", it["event"], it["id"]).replace('"', "")).collect();
    assert_eq!(
        shown[..6],
        [
            "tool_call_start call-1",
            "tool_call_start call-2",
            "tool_call_start call-3",
            "tool_call_result call-1",
            "tool_call_result call-2",
            "tool_call_result call-3",
        ]
    );
}

#[test]
fn one_that_fails_or_is_not_understood_fails_alone() {
    let world = World::new().with(".ai/tools/acme/reads.sh", &tool(READS, NOTES));
    world.write("fail-2", "");
    let call = |args: Value| ("acme_reads", args);
    let calls = [
        call(json!({"n": 1})),
        call(json!({"n": 2})),
        call(json!("[")),
        call(json!({"n": 4})),
        ("acme_nothing", json!({})),
        call(json!({"n": 6})),
    ];
    prepared(&world, &[turn(&calls)], ALL);
    let gave = results(&world, &completed(&world));
    let kinds: Vec<&str> =
        gave.iter().map(|it| it["error_kind"].as_str().unwrap_or("fine")).collect();
    assert_eq!(
        kinds,
        [
            "fine",
            "tool_execution_exception",
            "invalid_tool_arguments",
            "fine",
            "unknown_tool",
            "fine"
        ]
    );
    assert_eq!(
        (&gave[0], &gave[3], &gave[5]),
        (&json!({"n": 1}), &json!({"n": 4}), &json!({"n": 6}))
    );
}

#[test]
fn a_tool_that_writes_waits_for_those_before_it_and_those_behind_it_wait_for_it() {
    let world = world(&[
        ("acme_reads", 1),
        ("acme_reads", 2),
        ("acme_writes", 3),
        ("acme_writes", 4),
        ("acme_reads", 5),
        ("acme_reads", 6),
    ]);
    completed(&world);
    let log = lines(&world, "log");
    for (first, then) in [
        ("end 1", "begin 3"),
        ("end 2", "begin 3"),
        ("end 3", "begin 4"),
        ("end 4", "begin 5"),
        ("end 4", "begin 6"),
    ] {
        assert!(at(&log, first) < at(&log, then), "{first} {then}: {log:?}");
    }
}

#[test]
fn tools_that_do_not_say_that_they_only_read_run_one_by_one() {
    let calls: Vec<(&str, u64)> = (1..=5).map(|n| ("acme_writes", n)).collect();
    let world = world(&calls);
    completed(&world);
    assert_eq!(most(&world), 1);
    let want: Vec<String> =
        (1..=5).flat_map(|n| [format!("begin {n}"), format!("end {n}")]).collect();
    assert_eq!(lines(&world, "log"), want);
}

#[test]
fn f07_hooks_and_permissions_judge_each_of_calls_that_run_at_once() {
    let world = World::new()
        .with(".ai/tools/acme/reads.sh", &tool(READS, NOTES))
        .with(".ai/tools/acme/other.sh", &tool(READS, NOTES));
    let calls: Vec<(&str, Value)> = (1..=6)
        .map(|n| (if n % 2 == 0 { "acme_other" } else { "acme_reads" }, json!({"n": n})))
        .collect();
    prepared(&world, &[turn(&calls)], ALL);
    assert_eq!(results(&world, &completed(&world)).len(), 6, "the fixture works untouched");
    fs::remove_file(world.project().join("log")).unwrap();
    let about = "phases: [before_execution]\nmatch: [\"tool:acme/other\"]\n";
    hook(&world, "guard", about, "echo '{\"allow\":false,\"reason\":\"no other\"}'");
    let gave = results(&world, &completed(&world));
    for (n, told) in (1..=6).zip(&gave) {
        match n % 2 {
            0 => assert_eq!(told["error_kind"], "blocked_by_hook", "{told}"),
            _ => assert_eq!(told, &json!({"n": n})),
        }
    }
    assert_eq!(lines(&world, "log").len(), 6, "nothing ran that a hook refused");
}

#[test]
fn killed_while_calls_run_at_once_a_thread_goes_on_and_repeats_none() {
    let world = world(&[
        ("acme_writes", 1),
        ("acme_reads", 2),
        ("acme_reads", 3),
        ("acme_reads", 4),
        ("acme_reads", 5),
        ("acme_reads", 6),
    ]);
    for n in ["wait-2", "wait-3"] {
        world.write(n, "");
    }
    let mut command =
        world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    until("some have ended", || lines(&world, "log").contains(&"end 6".to_owned()));
    child.kill().unwrap();
    child.wait().unwrap();
    for n in ["go-2", "go-3"] {
        world.write(n, "");
    }
    let id = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    let (status, told) = world.json(&["thread", "resume", &id]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let log = lines(&world, "log");
    for n in 1..=6 {
        let begun = log.iter().filter(|line| **line == format!("begin {n}")).count();
        assert_eq!(begun, 1, "{log:?}");
    }
    let gave = results(&world, &id);
    assert_eq!(gave[0], json!({"n": 1}), "what was proven stays");
    assert_eq!(gave.len(), 6);
    for told in &gave[1..] {
        assert!(told["message"].to_string().contains("interrupted"), "{told}");
    }
    assert_eq!(world.json(&["thread", "verify", &id]).ok()["final"], true);
}

/// A turn that hands over between calls: of tools that read, which run at once, and of one that
/// writes.
fn returning(args: &Value) -> Vec<(&'static str, Value)> {
    vec![
        ("acme_reads", json!({"n": 1})),
        ("acme_reads", json!({"n": 2})),
        ("directive_return", args.clone()),
        ("acme_reads", json!({"n": 3})),
        ("acme_reads", json!({"n": 4})),
        ("acme_writes", json!({"n": 5})),
    ]
}

#[test]
fn calls_behind_one_that_hands_over_do_not_run_and_each_is_answered() {
    let world = world(&[]);
    prepared(&world, &[turn(&returning(&json!({"n": 7})))], ALL);
    let id = completed(&world);
    let began: Vec<String> = lines(&world, "log");
    assert!(began.contains(&"end 1".into()) && began.contains(&"end 2".into()), "{began:?}");
    assert_eq!(began.len(), 4, "what stands behind did not run: {began:?}");
    let told = events(&world, &id, "tool_call_result");
    let gave: Vec<Value> = told
        .iter()
        .map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!((gave.len(), &gave[2]), (6, &json!({"ok": true})), "{gave:?}");
    for behind in &gave[3..] {
        assert_eq!(behind["error_kind"], "tool_execution_exception", "{behind}");
        let why = behind["message"].as_str().unwrap();
        assert!(why.contains("was not run") && why.contains("directive_return"), "{why}");
    }
    assert_eq!(events(&world, &id, "cognition_out").len(), 1, "the thread ended at once");
}

#[test]
fn calls_behind_a_return_that_is_not_taken_run() {
    let world = world(&[]);
    prepared(&world, &[turn(&returning(&json!({"n": "many"})))], ALL);
    completed(&world);
    assert_eq!(lines(&world, "log").len(), 10, "each of five ran");
}
