//! Calls that do not let themselves be asked to end: one, several of one turn and several of a
//! snippet. However their thread ends, all are asked together and nothing of them runs afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{prepared, turn};
use crate::threads::rows;
use crate::world::wait::{lives, until};
use crate::world::{PYTHON, World};

/// Far more than the second that a cancelled thread has, and far less than such a tool takes.
const SOON: Duration = Duration::from_secs(10);

/// Starts what leaves its group and its parent, and stays. Notes when it is asked to end, and
/// whether it still ran when all others had been asked.
const STAYS: &str = "# /// rye
# version = \"1.0.0\"
# tool_type = \"tool\"
# executor_id = \"rye/core/runtimes/python/script\"
# category = \"acme\"
# description = \"Stays.\"
# effects = \"read\"
# ///
import os, signal, time

def note(name):
    with open(name, 'a') as file:
        file.write(f'{os.getpid()}\\n')

def count(name):
    return len(open(name).readlines()) if os.path.exists(name) else 0

for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: note('asked'))
os.system(\"(setsid sh -c 'echo $$ >> left; exec sleep 300' </dev/null >/dev/null 2>&1 &)\")
note('pids')
while True:
    time.sleep(0.02)
    if count('asked') >= count('pids'):
        open(f'saw-{os.getpid()}', 'w')
";

/// How calls are made.
#[derive(Debug, Clone, Copy)]
enum Calls {
    One,
    OfATurn,
    #[cfg(feature = "code")]
    OfASnippet,
}

const ALL: &[Calls] = &[
    Calls::One,
    Calls::OfATurn,
    #[cfg(feature = "code")]
    Calls::OfASnippet,
];

impl Calls {
    /// How many run at once.
    fn number(self) -> usize {
        match self {
            Self::One => 1,
            Self::OfATurn => 4,
            #[cfg(feature = "code")]
            Self::OfASnippet => 3,
        }
    }

    /// A world whose thread makes these calls.
    fn world(self) -> World {
        let world = World::new().with(".ai/tools/acme/reads.py", STAYS);
        let calls: Vec<(&str, Value)> = match self {
            Self::One => vec![("acme_reads", json!({}))],
            // No more than four are begun at once.
            Self::OfATurn => (1..=6).map(|n| ("acme_reads", json!({"n": n}))).collect(),
            #[cfg(feature = "code")]
            Self::OfASnippet => {
                let text = "await Promise.all([1, 2, 3].map((n) => runTool('acme/reads', {n})))";
                vec![("rye_code", json!({"code": text}))]
            }
        };
        let may = "<execute><tool>rye.code</tool><tool>acme.*</tool></execute>";
        prepared(&world, &[turn(&calls)], may);
        world
    }

    /// The same once all of them run.
    fn under_way(self) -> (World, Child) {
        let world = self.world();
        let mut command =
            world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        until("all of them run", || {
            ["pids", "left"].iter().all(|name| numbers(&world, name).len() == self.number())
        });
        (world, child)
    }
}

fn numbers(world: &World, name: &str) -> BTreeSet<u64> {
    let text = fs::read_to_string(world.project().join(name)).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Each was asked to end, and nothing of them runs.
#[track_caller]
fn all_were_asked_and_nothing_runs(calls: Calls, world: &World) {
    let (pids, asked) = (numbers(world, "pids"), numbers(world, "asked"));
    assert!(!pids.is_empty() && pids.is_subset(&asked), "{calls:?}: {pids:?} {asked:?}");
    assert!(pids.len() <= calls.number(), "{calls:?}: nothing more was begun: {pids:?}");
    for pid in pids.into_iter().chain(numbers(world, "left")) {
        let what = format!("{calls:?}: {pid} is gone");
        until(&what, || !lives(pid));
    }
}

fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Does it for each way of making calls, at the same time.
fn for_each(does: fn(Calls)) {
    PYTHON.needed();
    std::thread::scope(|scope| {
        for calls in ALL {
            scope.spawn(|| does(*calls));
        }
    });
}

#[test]
fn a_cancel_from_another_process_gives_all_calls_one_grace_and_nothing_of_them_runs_afterwards() {
    for_each(|calls| {
        let (world, child) = calls.under_way();
        let id = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
        let begin = Instant::now();
        let (status, said) = world.json(&["thread", "cancel", &id]);
        let took = begin.elapsed();
        eprintln!("{calls:?}: cancelled in {took:?}");
        assert_eq!((status, &said["thread_status"]), (0, &json!("cancelled")), "{said}");
        assert!(took < SOON, "{calls:?}: {took:?}");
        let output = child.wait_with_output().unwrap();
        assert_eq!(told(&output)["code"], "thread.cancelled", "{calls:?} {output:?}");
        all_were_asked_and_nothing_runs(calls, &world);
        assert_eq!(rows(&world)[0]["thread_status"], "cancelled", "{calls:?}");
        let (status, told) = world.json(&["thread", "verify", &id]);
        assert_eq!((status, &told["final"]), (0, &json!(true)), "{calls:?}: {told}");
    });
}

#[test]
fn the_limit_of_time_gives_all_calls_one_grace_and_nothing_of_them_runs_afterwards() {
    for_each(|calls| {
        let world = calls.world();
        let begin = Instant::now();
        let forked = ["execute", "directive:acme/go", "--thread", "fork"];
        let limit = ["--limit", "duration_seconds=5"];
        let (status, told) = world.json_of_process(&[&forked[..], &limit].concat());
        eprintln!("{calls:?}: ended after {:?}", begin.elapsed());
        assert_eq!((status, &told["data"]["limit"]), (4, &json!("duration_seconds")), "{told}");
        assert!(begin.elapsed() < 3 * SOON, "{calls:?}");
        all_were_asked_and_nothing_runs(calls, &world);
    });
}

#[test]
fn a_signal_to_the_process_reaches_all_calls_at_once_and_nothing_of_them_runs_afterwards() {
    for_each(|calls| {
        for signal in ["-TERM", "-INT"] {
            let (world, child) = calls.under_way();
            let begin = Instant::now();
            let process = child.id().to_string();
            let sent = std::process::Command::new("kill").args([signal, &process]).status();
            assert!(sent.unwrap().success());
            let output = child.wait_with_output().unwrap();
            eprintln!("{calls:?} {signal}: ended in {:?}", begin.elapsed());
            assert!(!output.status.success(), "{calls:?} {output:?}");
            assert_eq!(rows(&world)[0]["thread_status"], "cancelled", "{calls:?} {signal}");
            all_were_asked_and_nothing_runs(calls, &world);
            for pid in numbers(&world, "pids") {
                let saw = world.project().join(format!("saw-{pid}"));
                assert!(saw.exists(), "{calls:?} {signal}: {pid} was killed before all were asked");
            }
        }
    });
}
