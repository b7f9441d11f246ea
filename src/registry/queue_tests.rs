//! Detached runs and their places.

use std::process::{Child, Command};

use super::process_id::{ProcessId, place_of};
use super::run_state::RunState;
use super::{Admission, AnyRun, DetachedEnd, NewRun, Registry, ServedRuns};
use crate::base::limits::DETACHED_WAITING;

fn new(id: &str) -> NewRun<'_> {
    NewRun { id, kind: "tool", item: "tool:a/b", base: "/", asked_at: "x" }
}

const END: DetachedEnd<'static> = DetachedEnd {
    state: RunState::Completed,
    code: None,
    at: "y",
    report: "{}",
    receipts: None,
    request: None,
};

fn admit(registry: &mut Registry, id: &str, places: u64) -> Admission {
    registry.detached().admit(&new(id), places).unwrap()
}

/// The first of these that gets a place.
fn next<'a>(registry: &mut Registry, waiting: &[&'a str]) -> &'a str {
    let mut takes =
        |id: &&&str| registry.detached().take_place(id, "y").unwrap() == Admission::Runs;
    waiting.iter().rev().find(|id| takes(id)).copied().unwrap_or_default()
}

fn state(registry: &mut Registry, id: &str) -> RunState {
    AnyRun::find(registry, id).unwrap().unwrap().state
}

#[test]
fn places_are_taken_in_order_and_the_end_of_a_run_makes_room_for_the_next() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let said = ["a", "b", "c", "d"].map(|id| admit(&mut registry, id, 2));
    assert_eq!(
        said,
        [Admission::Runs, Admission::Runs, Admission::Behind(0), Admission::Behind(1)]
    );
    assert_eq!(next(&mut registry, &["c", "d"]), "", "there is no place");
    assert!(registry.detached().end("a", END).unwrap());
    assert!(!registry.detached().end("a", END).unwrap(), "once");
    assert_eq!(admit(&mut registry, "e", 2), Admission::Behind(2), "a later one does not overtake");
    assert_eq!(next(&mut registry, &["c", "d", "e"]), "c", "the others are asked first");
    assert_eq!(next(&mut registry, &["d", "e"]), "", "there is no place");
    for id in ["b", "c"] {
        assert!(registry.detached().end(id, END).unwrap());
    }
    assert!(registry.detached().end_waiting("d", None, END).unwrap());
    assert_eq!(registry.detached().take_place("d", "y").unwrap(), Admission::Over);
    assert_eq!(next(&mut registry, &["e"]), "e");
    let states: Vec<_> =
        AnyRun::all(&mut registry).unwrap().iter().map(|row| row.state.as_str()).collect();
    assert_eq!(states, ["completed", "completed", "completed", "completed", "running"]);
    assert!(AnyRun::all(&mut registry).unwrap().iter().all(|row| row.report.is_none()));
    let report = AnyRun::find(&mut registry, "a").unwrap().unwrap().report.clone();
    assert_eq!(report.as_deref(), Some("{}"), "it is read with its run alone");
}

#[test]
fn a_run_that_has_fewer_places_holds_back_none_that_has_more() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    assert_eq!(admit(&mut registry, "a", 3), Admission::Runs);
    assert_eq!(admit(&mut registry, "few", 1), Admission::Behind(0));
    for id in ["b", "c"] {
        assert_eq!(admit(&mut registry, id, 3), Admission::Runs);
    }
    for (id, before) in [("d", 1), ("e", 2)] {
        assert_eq!(admit(&mut registry, id, 3), Admission::Behind(before));
    }
    assert_eq!(next(&mut registry, &["few", "d", "e"]), "", "there is no place");
    assert!(registry.detached().end("a", END).unwrap());
    assert_eq!(next(&mut registry, &["few", "d", "e"]), "d");
    assert!(registry.detached().end("b", END).unwrap());
    assert_eq!(admit(&mut registry, "f", 3), Admission::Behind(2), "behind one that has a place");
    assert_eq!(next(&mut registry, &["few", "e", "f"]), "e");
    for (ended, want) in [("c", "f"), ("d", ""), ("e", ""), ("f", "few")] {
        assert!(registry.detached().end(ended, END).unwrap());
        assert_eq!(next(&mut registry, &["few", "f"]), want, "`{ended}` ended");
    }
}

/// A row that belongs to another process.
fn belongs_to(registry: &Registry, id: &str, child: &Child) {
    let process = ProcessId::started(child.id()).unwrap();
    let sql = "UPDATE run SET pid = ?2, start = ?3, place = ?4 WHERE id = ?1";
    let place = place_of(Some(process));
    registry.db.execute(sql, (id, process.pid, process.start, place)).unwrap();
}

#[test]
fn a_run_whose_process_is_gone_was_killed_and_keeps_neither_a_place_nor_the_line() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let mut children = [(); 2].map(|()| Command::new("sleep").arg("300").spawn().unwrap());
    for id in ["a", "b", "c"] {
        admit(&mut registry, id, 1);
    }
    for (id, child) in ["a", "b"].iter().zip(&children) {
        belongs_to(&registry, id, child);
    }
    assert_eq!(AnyRun::find(&mut registry, "a").unwrap().unwrap().pid(), Some(children[0].id()));
    assert!(!registry.detached().end("a", END).unwrap(), "it is of another process");
    assert_eq!(registry.detached().take_place("c", "y").unwrap(), Admission::Behind(1));
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for id in ["a", "b"] {
        assert_eq!(state(&mut registry, id), RunState::Killed);
        assert!(AnyRun::find(&mut registry, id).unwrap().unwrap().ended_at.is_some());
    }
    assert_eq!(next(&mut registry, &["c"]), "c");
}

#[test]
fn the_first_that_waits_sees_that_a_process_is_gone_which_wrote_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let mut child = Command::new("sleep").arg("300").spawn().unwrap();
    admit(&mut registry, "a", 1);
    belongs_to(&registry, "a", &child);
    // A run that waits on a node waits for no place here.
    let mut served = ServedRuns::new(&mut registry);
    served.ask(&new("asked"), "{}").unwrap();
    served.said("asked", RunState::Created, None, None, None).unwrap();
    admit(&mut registry, "b", 1);
    assert_eq!(registry.detached().take_place("b", "y").unwrap(), Admission::Behind(0));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(registry.detached().take_place("b", "y").unwrap(), Admission::Runs);
    assert_eq!(state(&mut registry, "a"), RunState::Killed);
}

#[test]
fn behind_so_many_that_wait_a_run_is_refused_and_not_registered() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    assert_eq!(admit(&mut registry, "a", 1), Admission::Runs);
    assert_eq!(admit(&mut registry, "b", 1), Admission::Behind(0));
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
               INSERT INTO run (id, kind, item, base, state, asked_at, places)
               SELECT 'n' || i, kind, item, base, state, asked_at, places FROM n, run
               WHERE run.id = 'b'";
    registry.db.execute(sql, [DETACHED_WAITING - 2]).unwrap();
    assert_eq!(admit(&mut registry, "last", 1), Admission::Behind(DETACHED_WAITING - 1));
    assert_eq!(admit(&mut registry, "more", 1), Admission::Full(DETACHED_WAITING));
    assert!(AnyRun::find(&mut registry, "more").unwrap().is_none());
    assert_eq!(
        admit(&mut registry, "wide", 9),
        Admission::Runs,
        "it has a place, and does not wait"
    );
}

#[test]
fn a_run_that_waits_sees_that_the_one_before_it_is_gone_also_where_no_other_process_looks() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let mut child = Command::new("sleep").arg("300").spawn().unwrap();
    for id in ["a", "b", "c"] {
        admit(&mut registry, id, 1);
    }
    belongs_to(&registry, "b", &child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(registry.detached().end("a", END).unwrap());
    assert_eq!(registry.detached().take_place("c", "y").unwrap(), Admission::Runs);
    assert_eq!(state(&mut registry, "b"), RunState::Killed);
}
