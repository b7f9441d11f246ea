//! A thread is killed where its snippet begins to wait for a person, and where it goes on.

use std::fs;

use serde_json::{Value, json};

use super::snippet_waits::{BOTH, approve, status, told, verified, waits, waits_after};
use super::snippets::{code, times, world};
use super::turn;
use crate::faults::tracer::{Fault, Moment, trace_killed, trace_moments};
use crate::faults::{day, kill_steps};
use crate::thread_life::held;
use crate::threads::{hand_over, rows};
use crate::world::{World, whole};

const WRITES: &str = "__out = (await runTool('acme/write', {n: 5})).n";

/// Each request that somebody may decide, with its thread.
fn requests(world: &World) -> Vec<Value> {
    world.json(&["pending", "list"]).1["pending"].as_array().unwrap().clone()
}

/// 10 writes here, others each day; the whole is 40.
#[test]
fn killed_at_each_write_of_the_registry_it_leaves_no_request_without_its_thread() {
    let world = world();
    let (_, request) = waits(&world, &[code(WRITES)], BOTH);
    assert_eq!(world.json(&["pending", "reject", &request]).0, 0, "the fixture works untouched");
    let writes_registry = |moment: &Moment<'_>| {
        let name = moment.call.path.file_name().unwrap_or_default().to_string_lossy();
        moment.of_rye && name.starts_with("registry.db") && moment.call.name != "openat"
    };
    let traced = |at: Option<(usize, Fault)>| {
        let args = ["execute", "directive:acme/go", "--thread", "fork", "--json"];
        trace_moments(&mut world.command(&args), &writes_registry, world.outside(), at)
    };
    let clean = traced(None);
    assert_eq!(clean.status, Some(8), "{clean:?}");
    let [asked] = &requests(&world)[..] else { panic!("{clean:?}") };
    assert_eq!(world.json(&["pending", "reject", asked["id"].as_str().unwrap()]).0, 0);
    let mut seen = [0, 0];
    // It asks near the end.
    let (first, every) = if whole() { (0, 2) } else { (day() % 4 * 2, 8) };
    for at in (clean.calls.len().saturating_sub(80) + first..clean.calls.len()).step_by(every) {
        let killed = traced(Some((at, Fault::KilledAfter)));
        let Some(hit) = killed.hit.clone() else { continue };
        let left = requests(&world);
        // Whoever looks at threads takes note of those that are gone.
        assert!(!rows(&world).is_empty());
        assert_eq!(held(&world), 0, "{hit:?}");
        seen[usize::from(!left.is_empty())] += 1;
        for request in left {
            let id = request["id"].as_str().unwrap();
            let (_, shown) = world.json(&["pending", "show", id]);
            let thread = shown["thread_id"].as_str();
            let thread = thread.unwrap_or_else(|| panic!("of no thread: {hit:?}: {shown}"));
            let before = times(&world);
            let (ended, came) = approve(&world, id);
            // Killed before its record says that it waits, its thread is resumed and asks anew.
            if came["code"] == "pending.drifted" {
                assert_eq!((ended, times(&world)), (4, before), "{hit:?}: {came}");
                assert_eq!(status(&world, thread), "killed", "{hit:?}");
                assert_eq!(world.json(&["pending", "reject", id]).0, 0);
                continue;
            }
            assert_eq!((ended, &came["thread_id"]), (0, &json!(thread)), "{hit:?}: {came}");
            assert_eq!(times(&world), before + 1, "{hit:?}: {came}");
            verified(&world, thread);
        }
    }
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
}

/// One step in seven here, others each day; the whole is each step.
#[test]
fn killed_at_each_write_of_the_record_while_it_goes_on_it_repeats_no_call_and_loses_none() {
    let world = world();
    let records = world.project().join(".ai/state/threads");
    let mut kept = 0;
    let mut steps = kill_steps(7);
    let last = loop {
        let step = steps.next().unwrap();
        let _ = fs::remove_file(world.project().join("ran"));
        // What its model said and was not kept is asked for again.
        let (id, request) = waits_after(&world, &[turn(&[code(WRITES)]), hand_over()], BOTH);
        let mut command = world.command(&["pending", "approve", &request, "--json"]);
        let traced = trace_killed(&mut command, &records, step);
        let Some(hit) = traced.hit.clone() else {
            assert_eq!(traced.status, Some(0), "{traced:?}");
            break step;
        };
        assert_eq!(status(&world, &id), "killed", "{hit:?}");
        assert_eq!(held(&world), 0, "{hit:?}");
        let ran = times(&world);
        let (_, shown) = world.json(&["pending", "show", &request]);
        let again: &[&str] = match shown["state"].as_str().unwrap() {
            "waiting" => &["pending", "approve", &request],
            _ => &["thread", "resume", &id],
        };
        let (ended, came) = world.json(again);
        assert_eq!((ended, &came["outputs"]), (0, &json!({"n": 7})), "{hit:?}: {came}");
        assert_eq!(times(&world), 1, "{hit:?}: {ran} before");
        let is_told = told(&world, &id)[0]["value"] == 5;
        assert!(is_told || ran == 0 || shown["state"] != "done", "{hit:?}: {shown}");
        kept += usize::from(shown["state"] == "done" && is_told);
        verified(&world, &id);
        assert_eq!(held(&world), 0, "{hit:?}");
    };
    assert!(last >= 10 && (kept > 0 || !whole()), "{last} {kept}");
}
