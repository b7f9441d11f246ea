//! Runs whose process is gone (threads 2): they were killed, with all threads below them.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, params};

use super::alive;
use super::db::{NOW, Registry};
use super::error::RegistryError;
use super::run_row::{AnyRun, run_of, runs_of};
use super::run_state::RunState;
use super::thread_row::{ThreadRow, rows_of, with_those_above};

/// Takes note of runs whose process is gone, where there are any.
pub(super) fn reap_left(registry: &mut Registry) -> Result<(), RegistryError> {
    let left = with_process(&registry.db).map_err(|error| registry.fail(error))?;
    if left.iter().any(|row| row.is_left(&registry.db)) {
        registry.in_one_step(|step| reap(step).map(drop))?;
    }
    Ok(())
}

/// Takes note of runs whose process is gone: they were killed. Returns true if there were any.
///
/// Threads hold nothing any more then, neither for themselves nor for those above. What a call of a
/// model held counts as used, since its provider may have answered; or a thread that is killed and
/// resumed would ask without end.
pub(super) fn reap(step: &Connection) -> rusqlite::Result<bool> {
    let left: Vec<AnyRun> = with_process(step)?;
    let left: Vec<AnyRun> = left.into_iter().filter(|row| row.is_left(step)).collect();
    // Those that are over have lost their report, and no more.
    let open = left.iter().filter(|row| row.state.is_open());
    mark_killed(step, open.map(|row| row.id.clone()).collect())?;
    for row in &left {
        forget_process(step, &row.id)?;
    }
    Ok(!left.is_empty())
}

/// Takes a run for dead, whatever its process does; that stops once it sees it.
pub(super) fn give_up(step: &Connection, id: &str) -> rusqlite::Result<()> {
    let Some(found) = run_of(step, id)? else { return Ok(()) };
    if found.is_reporting() {
        return forget_process(step, id);
    }
    let given_up = Some(found.id.clone()).filter(|_| found.state == RunState::Running);
    mark_killed(step, given_up.into_iter().collect())
}

fn with_process(db: &Connection) -> rusqlite::Result<Vec<AnyRun>> {
    runs_of(db, "WHERE pid IS NOT NULL")
}

/// A run has no process any more.
pub(super) fn forget_process(step: &Connection, id: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE run SET pid = NULL, start = NULL, place = NULL WHERE id = ?1";
    step.execute(sql, [id])?;
    step.path().into_iter().for_each(|registry| alive::release(Path::new(registry), id));
    Ok(())
}

/// Marks these as killed, and the running threads below them.
pub(super) fn mark_killed(step: &Connection, mut dead: BTreeSet<String>) -> rusqlite::Result<()> {
    if dead.is_empty() {
        return Ok(());
    }
    let running = rows_of(step, "AND state = 'running'")?;
    let chains = running.iter().map(|row| with_those_above(step, &row.id));
    let chains: Vec<Vec<ThreadRow>> = chains.collect::<Result<_, _>>()?;
    let is_below = |chain: &&Vec<ThreadRow>| chain.iter().any(|above| dead.contains(&above.id));
    let all: Vec<&Vec<ThreadRow>> = chains.iter().filter(is_below).collect();
    dead.extend(all.iter().map(|chain| chain[0].id.clone()));
    for chain in &all {
        let held = chain[0].held;
        // What is held below a thread is part of what it holds itself, so a dead one above counts
        // the rest.
        for above in chain[1..].iter().take_while(|above| !dead.contains(&above.id)) {
            step.execute(
                "UPDATE thread SET held_turns = held_turns - ?2, held_tokens = held_tokens - ?3,
                 held_spend = held_spend - ?4, turns = turns + ?2, tokens = tokens + ?3,
                 spend = spend + ?4 WHERE run = ?1",
                params![above.id, held.turns, held.tokens, held.spend],
            )?;
        }
    }
    for id in &dead {
        step.execute(
            "UPDATE thread SET turns = turns + held_turns, tokens = tokens + held_tokens,
             spend = spend + held_spend, held_turns = 0, held_tokens = 0, held_spend = 0
             WHERE run = ?1",
            [id],
        )?;
        let sql = format!("UPDATE run SET state = 'killed', ended_at = {NOW} WHERE id = ?1");
        step.execute(&sql, [id])?;
        forget_process(step, id)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::registry::RunState;
    use crate::registry::alive::leave;
    use crate::registry::fixtures::{new, other_places};
    use crate::registry::{
        Admission, Amounts, AnyRun, DetachedEnd, NewRun, Registry, ThreadWaits, leave_thread,
    };

    const MOST: Amounts = Amounts { turns: 10, tokens: 1_000, spend: 1_000, spawns: 2 };

    fn status(registry: &mut Registry, id: &str) -> RunState {
        AnyRun::find(registry, id).unwrap().unwrap().state
    }

    #[test]
    fn a_thread_of_another_namespace_is_never_taken_for_dead_but_by_a_person() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("root", None, MOST, 2)).unwrap();
        registry.begin_thread(&new("one", Some("root"), MOST, 1)).unwrap();
        registry.hold("one", 600, 1).unwrap();
        // Its number is another process's here.
        let (elsewhere, earlier) = other_places();
        let moved = "UPDATE run SET start = start + 1, place = ?1 WHERE id = 'one'";
        registry.db.execute(moved, [&elsewhere]).unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert_eq!(row.state, RunState::Running);
        assert!(row.is_elsewhere() && !row.has_its_process(), "nothing here is killed for it");
        assert!(registry.hold("root", 600, 1).unwrap().is_some(), "what it holds stays held");
        registry.stops().give_up("one").unwrap();
        assert_eq!(status(&mut registry, "one"), RunState::Killed);
        assert_eq!(status(&mut registry, "root"), RunState::Running);
        assert!(registry.hold("root", 401, 1).unwrap().is_some(), "what it asked for is used");
        assert_eq!(registry.hold("root", 400, 1).unwrap(), None, "nothing else of it is held");
        assert!(registry.hold("one", 1, 1).is_err(), "it uses nothing any more");
        let before = "UPDATE run SET place = ?1 WHERE id = 'root'";
        registry.db.execute(before, [&earlier]).unwrap();
        assert_eq!(
            status(&mut registry, "root"),
            RunState::Killed,
            "the machine was started since"
        );
    }

    #[test]
    fn a_thread_whose_end_could_not_be_written_was_killed_though_its_process_lives() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("one", None, MOST, 2)).unwrap();
        registry.hold("one", 600, 1).unwrap();
        assert_eq!(status(&mut registry, "one"), RunState::Running);
        leave_thread(&registry, "one");
        assert_eq!(status(&mut registry, "one"), RunState::Killed);
        let row = registry.thread("one").unwrap().unwrap();
        assert_eq!(row.held.tokens, 0);
        assert!(row.claim(&mut registry, None, None, None).unwrap(), "it may go on");
        assert_eq!(status(&mut registry, "one"), RunState::Running);
    }

    #[test]
    fn what_was_given_up_and_goes_on_elsewhere_gives_back_nothing_that_it_does_not_hold() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("root", None, MOST, 2)).unwrap();
        registry.begin_thread(&new("one", Some("root"), MOST, 1)).unwrap();
        registry.hold("one", 600, 5).unwrap();
        registry.stops().give_up("one").unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert!(row.claim(&mut registry, None, None, None).unwrap());
        // The process before wakes, and says what its call took.
        registry.book("one", (600, 5), Some((10, 1))).unwrap();
        for id in ["one", "root"] {
            let held = registry.thread(id).unwrap().unwrap().held;
            assert_eq!((held.turns, held.tokens, held.spend), (0, 0, 0), "{id}");
        }
    }

    #[test]
    fn a_process_that_lost_its_thread_to_another_one_writes_no_report_over_that() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        assert_eq!(registry.detached().admit(&run("one"), 1).unwrap(), Admission::Runs);
        registry.begin_thread(&new("one", None, MOST, 2)).unwrap();
        let end = DetachedEnd {
            state: RunState::Completed,
            code: None,
            at: "y",
            report: "{}",
            receipts: None,
            request: None,
        };
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert!(row.claim(&mut registry, None, None, None).unwrap());
        assert!(registry.thread("one").unwrap().unwrap().is_detached, "its process goes on");
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        // Another process goes on with it, before this one wrote that it waits.
        let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        let moved = "UPDATE run SET state = 'running', pid = ?1";
        registry.db.execute(moved, [child.id()]).unwrap();
        assert!(!registry.detached().end("one", end).unwrap());
        registry.db.execute("UPDATE run SET state = 'waiting', pid = NULL", []).unwrap();
        assert!(row.claim(&mut registry, None, None, None).unwrap(), "also once that is gone");
        child.kill().unwrap();
        child.wait().unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert!(!row.is_detached && row.report.is_none());
    }

    #[test]
    fn a_detached_thread_that_ended_is_not_killed_where_its_report_is_lost() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        assert_eq!(registry.detached().admit(&run("one"), 1).unwrap(), Admission::Runs);
        registry.begin_thread(&new("one", None, MOST, 2)).unwrap();
        registry.end_thread("one", RunState::Completed, None, None).unwrap();
        assert!(AnyRun::find(&mut registry, "one").unwrap().unwrap().is_reporting());
        assert_eq!(registry.detached().admit(&run("two"), 1).unwrap(), Admission::Behind(0));
        registry.db.execute("UPDATE run SET start = start + 1 WHERE id = 'one'", []).unwrap();
        let row = AnyRun::find(&mut registry, "one").unwrap().unwrap();
        assert_eq!((row.state, row.is_reporting()), (RunState::Completed, false));
        assert_eq!(registry.detached().take_place("two", "y").unwrap(), Admission::Runs);
    }

    #[test]
    fn whoever_cannot_look_at_a_lock_takes_nobody_for_dead() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("one", None, MOST, 2)).unwrap();
        leave_thread(&registry, "one");
        let folder = registry.path.with_file_name("alive");
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(status(&mut registry, "one"), RunState::Running, "it cannot be opened");
        std::fs::remove_dir(&file).unwrap();
        assert_eq!(status(&mut registry, "one"), RunState::Running, "it is not there");
        std::fs::write(&file, "").unwrap();
        assert_eq!(status(&mut registry, "one"), RunState::Killed, "it is there, and free");
    }

    #[test]
    fn a_process_of_another_namespace_whose_lock_is_free_is_gone_and_one_that_has_it_is_not() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let (elsewhere, _) = other_places();
        let elsewhere = format!("{elsewhere}:locked");
        registry.begin_thread(&new("root", None, MOST, 2)).unwrap();
        for id in ["a", "b"] {
            registry.detached().admit(&run(id), 1).unwrap();
        }
        let moved = "UPDATE run SET start = start + 1, place = ?1";
        assert_eq!(registry.db.execute(moved, [&elsewhere]).unwrap(), 3);
        let all = |registry: &mut Registry| ["root", "a", "b"].map(|id| status(registry, id));
        assert_eq!(all(&mut registry), [RunState::Running, RunState::Running, RunState::Created]);
        let path = registry.path.clone();
        for lock in ["root", "a", "b"] {
            leave(&path, lock);
        }
        assert_eq!(all(&mut registry), [RunState::Killed; 3]);
        let left = std::fs::read_dir(path.with_file_name("alive")).unwrap().count();
        assert_eq!(left, 0, "what is over leaves no file");
        assert_eq!(registry.detached().admit(&run("c"), 1).unwrap(), Admission::Runs);
    }

    fn run(id: &str) -> NewRun<'_> {
        NewRun { id, kind: "tool", item: "tool:a/b", base: "/", asked_at: "x" }
    }

    #[test]
    fn a_run_of_another_namespace_keeps_its_place_until_a_person_gives_it_up() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        assert_eq!(registry.detached().admit(&run("a"), 1).unwrap(), Admission::Runs);
        let (elsewhere, _) = other_places();
        let moved = "UPDATE run SET start = start + 1, place = ?1";
        registry.db.execute(moved, [&elsewhere]).unwrap();
        assert_eq!(registry.detached().admit(&run("b"), 1).unwrap(), Admission::Behind(0));
        assert!(AnyRun::find(&mut registry, "a").unwrap().unwrap().is_elsewhere());
        registry.stops().give_up("a").unwrap();
        assert_eq!(status(&mut registry, "a"), RunState::Killed);
        assert_eq!(registry.detached().take_place("b", "y").unwrap(), Admission::Runs);
    }
}
