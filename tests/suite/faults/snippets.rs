//! rye is killed at each named step of a snippet that waits for a person, and of its approval: no
//! call is lost or made twice. The tools count their calls in files.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::tracer::{Fault, Moment, Traced, trace_moments};
use super::{day, tree::Tree};
use crate::asked_at_once;
use crate::code_waits::{self, FIVE, decide, lines, state, waiting};
use crate::saved_snippets::snippet;
use crate::world::{World, program, whole};

const KILLS: [Fault; 2] = [Fault::KilledBefore, Fault::KilledAfter];

type IsIt = fn(&Moment<'_>) -> bool;

/// What is written to the registry of the user space.
fn writes_registry(moment: &Moment<'_>) -> bool {
    let name = moment.call.path.file_name().unwrap_or_default().to_string_lossy();
    moment.of_rye && name.starts_with("registry.db") && moment.call.name != "openat"
}

/// The worker is given an answer.
fn answers(moment: &Moment<'_>) -> bool {
    moment.of_rye && moment.call.name == "write" && (moment.begin)().starts_with(b"{\"given\"")
}

/// The worker is ended.
fn ends_worker(moment: &Moment<'_>) -> bool {
    moment.of_rye && moment.call.name == "kill" && moment.call.path == Path::new(program())
}

/// A tool leaves a line in its file.
fn counts(moment: &Moment<'_>) -> bool {
    !moment.of_rye && moment.call.name == "write" && moment.call.path.ends_with("project/count")
}

fn writes(moment: &Moment<'_>) -> bool {
    !moment.of_rye && moment.call.name == "write" && moment.call.path.ends_with("project/wrote")
}

fn run(world: &World, args: &[&str], is_it: IsIt, at: Option<(usize, Fault)>) -> Traced {
    trace_moments(&mut world.command(args), &is_it, world.outside(), at)
}

/// What the tools counted.
fn counted(world: &World) -> (usize, usize) {
    (lines(world, "count"), lines(world, "wrote"))
}

/// Nothing of a run that was killed goes on, and the registry is whole.
fn is_whole(world: &World, what: &str) {
    let late = Instant::now() + Duration::from_secs(30);
    let is_below = |at: fs::DirEntry| {
        let cwd = fs::read_link(at.path().join("cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(world.outside()))
    };
    while fs::read_dir("/proc").unwrap().flatten().any(is_below) {
        assert!(Instant::now() < late, "something runs on: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok", "{what}");
}

/// Approves it, which goes on behind the three calls that were made before.
fn goes_on(world: &World, id: &str, what: &str) {
    let before = counted(world);
    let (status, told) = decide(world, "approve", id);
    let want = json!([1, 2, 3, 3, 4, 5]);
    assert_eq!((status, value(&told)), (0, &want), "{told}: {what}");
    assert_eq!(counted(world), (before.0 + 2, before.1 + 1), "{what}");
}

/// What a snippet gave, or one that is saved as a tool.
fn value(told: &Value) -> &Value {
    told.get("value").unwrap_or(&told["data"])
}

/// The world with a snippet in a file, and what it is before anything runs.
fn world() -> (World, Tree) {
    let world = code_waits::world();
    world.write("five.js", FIVE);
    // The registry is there already, so that its own making is not what is tried.
    let (status, told) = world.json(&["code", "run", "five.js"]);
    assert_eq!(status, 8, "the fixture works untouched: {told}");
    let (status, told) = decide(&world, "reject", told["pending"]["id"].as_str().unwrap());
    assert_eq!(told["error"]["code"], "code.failed", "{status} {told}");
    for file in ["count", "wrote"] {
        drop(fs::remove_file(world.project().join(file)));
    }
    let before = Tree::of(world.outside());
    (world, before)
}

/// Which of so many moments are tried, and how: all, before and behind each; by default each one
/// that is named meets one of the two, and of the others a few do, other ones each day.
fn tried(moments: usize, is_named: bool) -> Vec<(usize, Fault)> {
    let all = (0..moments).flat_map(|at| KILLS.map(|kill| (at, kill)));
    match (whole(), is_named) {
        (true, _) => all.collect(),
        (_, true) => (0..moments).map(|at| (at, KILLS[(day() + at) % 2])).collect(),
        _ => all.skip(day() % 17).step_by(17).collect(),
    }
}

/// Kills rye before and behind each moment of a kind that was chosen, and looks at what is left.
fn try_each(
    (world, before): (&World, &Tree),
    args: &[&str],
    (name, is_it, is_named): (&str, IsIt, bool),
    least: usize,
    check: &mut dyn FnMut(usize, Fault, &str),
) {
    before.restore();
    let clean = run(world, args, is_it, None);
    assert!(clean.calls.len() >= least, "{name}: only these were seen: {clean:?}");
    eprintln!("{name}: {} moments", clean.calls.len());
    for (at, fault) in tried(clean.calls.len(), is_named) {
        before.restore();
        let what = format!("{name} {at} {fault:?}");
        let traced = run(world, args, is_it, Some((at, fault)));
        // A later run may write less often to the registry than the first one.
        if traced.hit.is_none() {
            assert!(!is_named, "{what}: {traced:?}");
            continue;
        }
        assert_eq!(traced.status, None, "{what}: {traced:?}");
        is_whole(world, &what);
        check(at, fault, &what);
        is_whole(world, &what);
    }
    before.restore();
}

/// Each named moment and a few writes here; the whole is a kill before and behind each moment.
#[test]
fn a_kill_at_each_step_of_the_wait_keeps_the_whole_of_it_or_nothing_and_doubles_no_call() {
    let (world, before) = world();
    let args = ["code", "run", "five.js", "--json"];
    let steps: [(&str, IsIt, bool); 4] = [
        ("a tool runs", counts, true),
        ("the worker is given an answer", answers, true),
        ("the worker ended", ends_worker, true),
        ("journal and request are written", writes_registry, false),
    ];
    let mut kept = [0, 0];
    for (step, least) in steps.into_iter().zip([3, 3, 1, 3]) {
        try_each((&world, &before), &args, step, least, &mut |at, _, what| {
            let (count, wrote) = counted(&world);
            assert!(count <= 3 && wrote == 0, "{count} {wrote}: {what}");
            if step.2 && step.0 != "the worker ended" {
                assert!(count <= at + 1, "{count}: {what}");
            }
            let waits = waiting(&world);
            kept[usize::from(!waits.is_empty())] += 1;
            match &waits[..] {
                [] => {
                    let (status, told) = world.json(&["code", "run", "five.js"]);
                    assert_eq!(status, 8, "{told}: {what}");
                    let id = told["pending"]["id"].as_str().unwrap();
                    let (_, told) = decide(&world, "approve", id);
                    assert_eq!(told["value"].as_array().map(Vec::len), Some(6), "{told}: {what}");
                    assert_eq!(counted(&world), (count + 5, 1), "{what}");
                }
                [id] => {
                    assert_eq!(count, 3, "{what}");
                    goes_on(&world, id, what);
                }
                _ => panic!("{waits:?}: {what}"),
            }
        });
    }
    eprintln!("killed before it was kept {} times, behind that {} times", kept[0], kept[1]);
    assert!(kept.iter().all(|times| *times > 0), "{kept:?}");
}

/// How far the approval came when rye was killed.
fn rank(state: &Value) -> usize {
    let ranks = ["waiting", "lost", "done"];
    ranks.iter().position(|rank| state == rank).unwrap_or_else(|| panic!("{state}"))
}

/// Each named moment and a few writes here; the whole is a kill before and behind each moment.
#[test]
fn a_kill_at_each_step_of_an_approval_loses_and_doubles_no_call() {
    let (world, _) = world();
    let (status, told) = world.json(&["code", "run", "five.js"]);
    assert_eq!(status, 8, "{told}");
    try_approval(&world, told["pending"]["id"].as_str().unwrap());
}

/// Each named moment and a few writes here; the whole is a kill before and behind each moment.
#[test]
fn a_kill_at_each_step_of_the_approval_of_a_saved_snippet_loses_and_doubles_no_call() {
    let (world, _) = world();
    world.signed(".ai/tools/acme/five.js", &snippet(&["tool:acme/*"], FIVE));
    let below = [("RYE_RUN_ID", "run-x")];
    let said = world.rye_env(&world.project(), &["run", "acme/five", "--json"], b"", &below);
    assert_eq!(said.status, 8, "{said:?}");
    try_approval(&world, said.json()["pending"]["id"].as_str().unwrap());
}

/// Kills rye at each step of the approval of what waits under this id.
fn try_approval(world: &World, id: &str) {
    let before = Tree::of(world.outside());
    let args = ["pending", "approve", id, "--json"];
    let steps: [(&str, IsIt, bool); 4] = [
        ("the worker is given an answer", answers, true),
        ("the approved call runs", writes, true),
        ("a call behind it runs", counts, true),
        ("claimed, begun, recorded and done", writes_registry, false),
    ];
    let mut seen = [0, 0, 0];
    for (step, least) in steps.into_iter().zip([6, 1, 2, 9]) {
        let mut last = [0, 0];
        try_each((world, &before), &args, step, least, &mut |at, fault, what| {
            let ended = state(world, id);
            let (count, wrote) = counted(world);
            let rank = rank(&ended);
            seen[rank] += 1;
            match step.0 {
                "the worker is given an answer" if at < 3 => {
                    let gives_last = at == 2 && fault == Fault::KilledAfter;
                    assert!(rank == 0 || gives_last, "it was only computed again: {what}: {ended}");
                }
                "claimed, begun, recorded and done" => {
                    let before = &mut last[usize::from(fault == Fault::KilledAfter)];
                    assert!(rank >= *before, "{ended}: {what}");
                    *before = rank;
                }
                _ => assert_eq!(ended, "lost", "{what}"),
            }
            match rank {
                0 => {
                    assert_eq!((count, wrote), (3, 0), "{what}");
                    goes_on(world, id, what);
                }
                1 => {
                    assert!((3..=5).contains(&count) && wrote <= 1, "{count} {wrote}: {what}");
                    assert!(wrote == 1 || count == 3, "{what}");
                }
                _ => {
                    assert_eq!((count, wrote), (5, 1), "{what}");
                    let (_, shown) = world.json(&["pending", "show", id]);
                    assert_eq!(value(&shown["result"])[5], 5, "{shown}: {what}");
                }
            }
            let now = counted(world);
            for verb in ["approve", "reject"] {
                let (status, told) = decide(world, verb, id);
                assert_eq!((status, &told["code"]), (4, &json!("pending.decided")), "{what}");
            }
            assert_eq!(counted(world), now, "{what}");
        });
    }
    eprintln!("killed while it waited {}, ran {}, was done {} times", seen[0], seen[1], seen[2]);
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
}

/// A write here and there; the whole is a kill before and behind each moment.
#[test]
fn a_kill_at_each_step_of_decisions_of_calls_that_asked_at_once_doubles_and_loses_no_call() {
    let world = asked_at_once::world();
    world.write("two.js", asked_at_once::at_once(2));
    let (status, told) = world.json(&["code", "run", "two.js"]);
    assert_eq!(status, 8, "{told}");
    let first = told["pending"]["id"].as_str().unwrap();
    let second = told["also_pending"][0]["id"].as_str().unwrap();
    let pays: IsIt = |moment| {
        !moment.of_rye && moment.call.name == "write" && moment.call.path.ends_with("project/paid")
    };
    let steps: [(&str, IsIt, bool); 2] =
        [("an approved call runs", pays, true), ("decisions are written", writes_registry, false)];
    let paid = || asked_at_once::paid(&world);
    // The first decision, then the last one, which runs both.
    for last in [false, true] {
        let (id, other) = if last { (second, first) } else { (first, second) };
        if last {
            assert_eq!(decide(&world, "approve", other).0, 8);
        }
        let before = Tree::of(world.outside());
        let args = ["pending", "approve", id, "--json"];
        for (step, least) in steps.into_iter().zip([2, 3]).skip(usize::from(!last)) {
            try_each((&world, &before), &args, step, least, &mut |_, _, what| {
                let ended = state(&world, id);
                match ended.as_str().unwrap() {
                    "waiting" | "approved" => {
                        assert_eq!(paid(), [0; 0], "{what}");
                        for open in waiting(&world) {
                            decide(&world, "approve", &open);
                        }
                        assert_eq!(paid(), [1, 2], "{what}");
                    }
                    "lost" => {
                        assert!(last && [&[][..], &[1], &[2], &[1, 2]].contains(&&paid()[..]));
                    }
                    "done" => assert_eq!((last, paid()), (true, vec![1, 2]), "{what}"),
                    other => panic!("{other}: {what}"),
                }
                assert_eq!(waiting(&world), [""; 0], "{what}");
                let now = paid();
                for id in [first, second] {
                    let (_, told) = decide(&world, "approve", id);
                    assert_eq!(told["code"], "pending.decided", "{told}: {what}");
                }
                assert_eq!(paid(), now, "{what}");
            });
        }
    }
}
