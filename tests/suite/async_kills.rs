//! Who asks for a detached run, and what runs, is killed: whatever ran is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::async_runs::{id_of, start, tool};
use crate::thread_life::held;
use crate::threads::{call, directive, hand_over, provider};
use crate::world::World;
use crate::world::wait::until;

/// One kind of detached run, of which the tool writes down each.
struct Kind {
    world: World,
    is_thread: bool,
}

impl Kind {
    /// A tool writes down what it is given, which is another number for each.
    fn tool() -> Self {
        let world = World::new();
        // Whose rye is killed before it was given anything has nothing to write down.
        let body = "in=$(cat); [ -n \"$in\" ] || exit 1\n\
                    echo \"$in\" >> ran; sleep 0.1; echo \"$in\"\n";
        world.signed(".ai/tools/acme/quick.sh", &tool(body));
        Self { world, is_thread: false }.with_two_places()
    }

    /// A tool of a thread writes down in which thread it runs.
    fn thread() -> Self {
        let turns = json!([call("acme_quick", &json!({})), hand_over()]);
        let may = "<execute><tool>acme.quick</tool></execute>";
        let world = World::new();
        world.signed_home(".ai/tools/acme/script.yaml", &provider(&turns));
        world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"5\"", may));
        let body = "echo \"$RYE_THREAD\" >> ran; sleep 0.1\n";
        world.signed(".ai/tools/acme/quick.sh", &tool(body));
        Self { world, is_thread: true }.with_two_places()
    }

    fn with_two_places(self) -> Self {
        self.world.signed_home(".ai/config/agent/limits.yaml", "max_async: 2\n");
        self
    }

    fn args(&self, round: usize) -> Vec<String> {
        let args = match self.is_thread {
            true => ["directive:acme/go", "--thread", "fork"].map(str::to_owned),
            false => ["tool:acme/quick", "-i", &format!("n:={round}")].map(str::to_owned),
        };
        args.into()
    }

    /// What the tool writes down of the run that this round asked for.
    fn mark(&self, round: usize, id: &str) -> String {
        if self.is_thread { id.to_owned() } else { json!({"n": round}).to_string() }
    }

    fn ask(&self, round: usize) -> Child {
        let args = [vec!["execute".into(), "--async".into(), "--json".into()], self.args(round)];
        let args = args.concat();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn rows(&self) -> Vec<Value> {
        self.world.json(&["thread", "list"]).1["threads"].as_array().unwrap().clone()
    }

    fn ids(&self) -> BTreeSet<String> {
        self.rows().iter().map(id_of).collect()
    }

    fn ran(&self) -> Vec<String> {
        let text = fs::read_to_string(self.world.project().join("ran")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The number of the process of a run that is not among the `known` ones, once it has one. The
/// registry is read as it is, since a verb takes longer than what is waited for.
fn process_of_new(world: &World, known: usize) -> Option<u64> {
    let path = world.home().join(".ai/state/registry.db");
    let db = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT pid FROM (SELECT pid, state FROM run ORDER BY rowid LIMIT 1 OFFSET ?1)
               WHERE state = 'running'";
    db.query_row(sql, [known], |row| row.get(0)).ok()
}

/// A process of a run is there that the registry does not name: it was told by a caller which is
/// gone.
fn is_registering(world: &World) -> bool {
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let sql = "SELECT EXISTS (SELECT 1 FROM run WHERE pid = ?1)";
    let is_known = |pid: u64| db.query_row(sql, [pid], |row| row.get::<_, bool>(0)).unwrap();
    let home = world.home().display().to_string();
    let holds = |file: PathBuf, text: &str| {
        fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    all.any(|pid| {
        let folder = Path::new("/proc").join(pid.to_string());
        holds(folder.join("cmdline"), "--detached-run")
            && holds(folder.join("environ"), &home)
            && !is_known(pid)
    })
}

fn kill_9(pid: u64) -> bool {
    let args = ["-9", &pid.to_string()];
    let status = std::process::Command::new("kill").args(args).stderr(Stdio::null()).status();
    status.unwrap().success()
}

/// How often each was killed while it ran.
#[derive(Debug, Default)]
struct Killed {
    callers: usize,
    children: usize,
    both: usize,
}

fn each_is_killed_at_any_moment(kind: &Kind) {
    let world = &kind.world;
    let known = kind.args(9_999);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let begin = Instant::now();
    let first = start(world, &known);
    let usual = begin.elapsed();
    assert_eq!(
        (first["state"].as_str(), world.json(&["thread", "wait", &id_of(&first)]).0),
        (Some("running"), 0)
    );
    // What is written down of each run that is recorded.
    let mut marks = BTreeMap::from([(kind.mark(9_999, &id_of(&first)), id_of(&first))]);
    let (mut killed, mut round) = (Killed::default(), 0_usize);
    let ends = |kind: &Kind, status: &str| {
        kind.rows().iter().filter(|row| row["thread_status"] == status).count()
    };
    // As often as it takes until each kind of end was met.
    while killed.callers < 4
        || killed.children < 2
        || killed.both < 2
        || round < 18
        || ends(kind, "completed") < 2
        || ends(kind, "killed") < 4
    {
        assert!(round < 200, "{killed:?}");
        let known = kind.ids();
        let before = known.len();
        let mut caller = kind.ask(round);
        match round % 3 {
            0 => {
                std::thread::sleep(usual * u32::try_from(round % 24).unwrap() / 16);
                killed.callers += usize::from(caller.try_wait().unwrap().is_none());
            }
            1 => {
                assert!(caller.wait().unwrap().success());
                // It may wait for a place first.
                let mut child = None;
                until("it runs", || {
                    child = process_of_new(world, before);
                    child.is_some()
                });
                killed.children += usize::from(kill_9(child.unwrap()));
            }
            _ => {
                let until = Instant::now() + Duration::from_secs(9);
                while caller.try_wait().unwrap().is_none() && Instant::now() < until {
                    if let Some(child) = process_of_new(world, before) {
                        let _ = caller.kill();
                        let was_killed = caller.wait().unwrap().code().is_none();
                        killed.both += usize::from(kill_9(child) && was_killed);
                    }
                }
            }
        }
        let _ = caller.kill();
        caller.wait().unwrap();
        until("what was started has registered", || !is_registering(world));
        let new: Vec<String> = kind.ids().difference(&known).cloned().collect();
        assert!(new.len() <= 1, "one for each that asks: {new:?}");
        marks.extend(new.into_iter().map(|id| (kind.mark(round, &id), id)));
        round += 1;
    }
    let open = |row: &Value| row["thread_status"] == "running" || row["thread_status"] == "created";
    until("all have ended", || !kind.rows().iter().any(open));
    // What ran is recorded, and ran once; what is completed ran.
    let (rows, ran) = (kind.rows(), kind.ran());
    let once: BTreeSet<&String> = ran.iter().collect();
    assert_eq!(once.len(), ran.len(), "none ran twice: {ran:?}");
    for mark in &ran {
        assert!(marks.contains_key(mark), "`{mark}` ran and is not recorded: {marks:?}");
    }
    let of = |status: &str| ends(kind, status);
    assert_eq!(of("completed") + of("killed"), rows.len(), "{rows:?}");
    for (mark, id) in &marks {
        let row = rows.iter().find(|row| id_of(row) == *id).unwrap();
        assert!(
            row["thread_status"] == "killed" || ran.contains(mark),
            "{mark} did not run: {row}"
        );
    }
    if kind.is_thread {
        assert_eq!(held(world), 0);
    }
    eprintln!(
        "{round} rounds, killed: {killed:?}; {} completed, {} killed",
        of("completed"),
        of("killed")
    );
    // The places are free again.
    let known = kind.args(9_998);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let told = start(world, &known);
    assert_eq!(told["state"], "running");
    assert_eq!(world.json(&["thread", "wait", &id_of(&told)]).0, 0);
}

#[test]
fn whoever_asks_what_runs_and_both_are_killed_at_any_moment_and_what_ran_is_recorded_table() {
    for kind in [Kind::tool(), Kind::thread()] {
        each_is_killed_at_any_moment(&kind);
    }
}
