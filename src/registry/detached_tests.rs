//! Detached runs and their places, process by process.

use super::run_state::RunState;
use super::{Admitted, DetachedEnd, NewDetached, OneEnv, Registry};

fn new(id: &str, places: u64) -> NewDetached<'_> {
    let (kind, item, base, asked_at) = ("tool", "tool:a/b", "/", "x");
    NewDetached { id, kind, item, base, asked_at, places, request: id }
}

const ENV: OneEnv<'static> = OneEnv(b"A=1");
const END: DetachedEnd<'static> = DetachedEnd {
    state: RunState::Completed,
    code: None,
    at: "y",
    report: "{}",
    receipts: None,
    pending: None,
};

#[test]
fn what_waits_for_a_launcher_that_is_not_there_holds_nobody_back() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    registry.detached().admit(&new("a", 1), ENV).unwrap();
    registry.detached().admit(&new("b", 1), ENV).unwrap();
    let other = registry.detached().admit(&new("c", 1), OneEnv(b"A=2")).unwrap();
    let Admitted::WaitsFor(other) = other else { panic!("{other:?}") };
    registry.db.execute("DELETE FROM launcher WHERE id <> ?1", [&other]).unwrap();
    assert!(registry.detached().claim("a").unwrap());
    assert!(registry.detached().end("a", END).unwrap());
    assert_eq!(registry.detached().next(&other).unwrap(), Some(("c".into(), "c".into())));
}

#[test]
fn places_are_taken_in_order_and_whoever_ends_makes_room_for_the_next() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    assert_eq!(registry.detached().admit(&new("a", 2), ENV).unwrap(), Admitted::Runs);
    assert_eq!(registry.detached().admit(&new("b", 2), ENV).unwrap(), Admitted::Runs);
    let Admitted::WaitsFor(launcher) = registry.detached().admit(&new("c", 2), ENV).unwrap() else {
        panic!("it waits")
    };
    assert_eq!(registry.detached().admit(&new("d", 2), ENV).unwrap(), Admitted::Waits);
    // Another environment has a launcher of its own.
    let other = registry.detached().admit(&new("e", 2), OneEnv(b"A=2")).unwrap();
    let Admitted::WaitsFor(other) = other else { panic!("{other:?}") };
    assert_ne!(launcher, other);
    assert_eq!(registry.detached().next(&launcher).unwrap(), None, "there is no place");
    assert!(registry.detached().claim("a").unwrap());
    assert!(!registry.detached().claim("a").unwrap(), "once");
    assert!(registry.detached().end("a", END).unwrap());
    assert!(!registry.detached().end("a", END).unwrap(), "once");
    assert_eq!(registry.detached().next(&other).unwrap(), None, "it is not its turn");
    assert_eq!(registry.detached().next(&launcher).unwrap(), Some(("c".into(), "c".into())));
    assert_eq!(registry.detached().next(&launcher).unwrap(), None);
    assert!(!registry.detached().end_launcher(&launcher).unwrap(), "somebody waits");
    // A later one does not overtake.
    assert_eq!(registry.detached().admit(&new("f", 2), ENV).unwrap(), Admitted::Waits);
    for id in ["b", "c"] {
        assert!(registry.detached().end(id, END).unwrap());
    }
    assert_eq!(registry.detached().next(&launcher).unwrap(), Some(("d".into(), "d".into())));
    assert_eq!(registry.detached().next(&other).unwrap(), Some(("e".into(), "e".into())));
    assert_eq!(registry.detached().next(&launcher).unwrap(), None, "there is no place");
    assert!(registry.detached().end("d", END).unwrap());
    assert_eq!(registry.detached().next(&launcher).unwrap(), Some(("f".into(), "f".into())));
    assert!(registry.detached().end_launcher(&launcher).unwrap());
    assert!(!registry.detached().claim_launcher(&launcher).unwrap(), "it ended");
    let states: Vec<_> =
        registry.detached().all().unwrap().into_iter().map(|row| row.state.as_str()).collect();
    let want = ["completed", "completed", "completed", "completed", "running", "running"];
    assert_eq!(states, want);
    let db = std::fs::read(home.path().join(".ai/state/registry.db")).unwrap();
    assert!(!String::from_utf8_lossy(&db).contains("A=1"), "no environment is kept");
}

#[test]
fn a_run_that_has_fewer_places_holds_back_none_that_has_more() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    assert_eq!(registry.detached().admit(&new("a", 3), ENV).unwrap(), Admitted::Runs);
    let Admitted::WaitsFor(launcher) = registry.detached().admit(&new("few", 1), ENV).unwrap()
    else {
        panic!("it waits")
    };
    for id in ["b", "c"] {
        assert_eq!(registry.detached().admit(&new(id, 3), ENV).unwrap(), Admitted::Runs);
    }
    for id in ["d", "e"] {
        assert_eq!(registry.detached().admit(&new(id, 3), ENV).unwrap(), Admitted::Waits);
    }
    let next = |registry: &mut Registry| {
        let next = registry.detached().next(&launcher).unwrap();
        next.map(|(id, _)| id).unwrap_or_default()
    };
    assert_eq!(next(&mut registry), "", "there is no place");
    assert!(registry.detached().end("a", END).unwrap());
    assert_eq!(next(&mut registry), "d");
    assert!(registry.detached().end("b", END).unwrap());
    let last = registry.detached().admit(&new("f", 3), ENV).unwrap();
    assert_eq!(last, Admitted::Waits, "behind one that has a place");
    assert_eq!(next(&mut registry), "e");
    for (ended, want) in [("c", "f"), ("d", ""), ("e", ""), ("f", "few")] {
        assert!(registry.detached().end(ended, END).unwrap());
        assert_eq!(next(&mut registry), want, "`{ended}` ended");
    }
}

#[test]
fn a_run_that_was_handed_over_ends_with_that_process_and_is_claimed_once() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
    for id in ["a", "b"] {
        assert_eq!(registry.detached().admit(&new(id, 2), ENV).unwrap(), Admitted::Runs);
        assert_eq!(registry.detached().one(id).unwrap().unwrap().0.pid(), None);
        registry.detached().hand_over(id, child.id()).unwrap();
        let pid = registry.detached().one(id).unwrap().unwrap().0.pid();
        assert_eq!(pid, Some(child.id()));
    }
    assert!(registry.detached().claim("a").unwrap());
    assert!(!registry.detached().claim("a").unwrap(), "once");
    registry.detached().hand_over("a", child.id()).unwrap();
    let own = registry.detached().one("a").unwrap().unwrap().0.pid();
    assert_eq!(own, Some(std::process::id()), "whoever claimed it keeps it");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(registry.detached().one("b").unwrap().unwrap().0.state, RunState::Killed);
    assert!(!registry.detached().claim("b").unwrap(), "it is not to run any more");
    assert_eq!(registry.detached().one("a").unwrap().unwrap().0.state, RunState::Running);
}

#[test]
fn a_run_whose_process_never_began_was_killed_and_has_a_time_of_its_end() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    for id in ["a", "b"] {
        assert_eq!(registry.detached().admit(&new(id, 2), ENV).unwrap(), Admitted::Runs);
    }
    assert!(registry.detached().claim("b").unwrap());
    for (id, state, has_ended) in [("a", "killed", true), ("b", "running", false)] {
        registry.detached().note_never_begun(id).unwrap();
        let (row, _) = registry.detached().one(id).unwrap().unwrap();
        assert_eq!((row.state.as_str(), row.ended_at.is_some()), (state, has_ended));
    }
}

#[test]
fn whose_process_is_gone_was_killed_and_whoever_waited_for_a_launcher_that_is_gone_too() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    for id in ["a", "b", "c"] {
        registry.detached().admit(&new(id, 1), ENV).unwrap();
    }
    registry.db.execute("UPDATE detached SET start = start + 1 WHERE id = 'a'", []).unwrap();
    assert_eq!(registry.detached().one("a").unwrap().unwrap().0.state, RunState::Killed);
    assert_eq!(registry.detached().one("b").unwrap().unwrap().0.state, RunState::Created);
    registry.db.execute("UPDATE launcher SET start = start + 1", []).unwrap();
    for id in ["b", "c"] {
        assert_eq!(registry.detached().one(id).unwrap().unwrap().0.state, RunState::Killed);
    }
    assert!(!registry.detached().claim("a").unwrap());
    assert_eq!(registry.detached().admit(&new("d", 1), ENV).unwrap(), Admitted::Runs);
}

#[test]
fn a_launcher_that_was_never_started_holds_back_nobody_while_whoever_asked_for_it_lives() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    assert_eq!(registry.detached().admit(&new("a", 1), ENV).unwrap(), Admitted::Runs);
    let Admitted::WaitsFor(launcher) = registry.detached().admit(&new("b", 1), ENV).unwrap() else {
        panic!("it waits")
    };
    // This process could not start it, and lives on.
    registry.detached().withdraw("b").unwrap();
    registry.detached().leave_start(&launcher);
    let next = registry.detached().admit(&new("c", 1), ENV).unwrap();
    assert!(matches!(&next, Admitted::WaitsFor(other) if *other != launcher), "{next:?}");
}

#[test]
fn so_many_wait_and_the_next_is_told_so() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    registry.detached().admit(&new("a", 1), ENV).unwrap();
    registry.detached().admit(&new("b", 1), ENV).unwrap();
    registry
        .db
        .execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9998)
             INSERT INTO detached (id, kind, item, base, state, asked_at, places, launcher)
             SELECT 'n' || i, kind, item, base, state, asked_at, places, launcher FROM n, detached
             WHERE detached.id = 'b'",
            [],
        )
        .unwrap();
    assert_eq!(registry.detached().admit(&new("last", 1), ENV).unwrap(), Admitted::Waits);
    assert_eq!(registry.detached().admit(&new("more", 1), ENV).unwrap(), Admitted::Full(10_000));
    assert!(registry.detached().one("more").unwrap().is_none());
}
