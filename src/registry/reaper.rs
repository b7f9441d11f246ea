//! Threads whose process is gone (threads 2): what they held for a call of their model counts as
//! used, since its provider may have answered, and they hold nothing any more.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, params};

use super::alive;
use super::db::{NOW, Registry};
use super::detached::give_up_run;
use super::error::RegistryError;
use super::thread_row::{ThreadRow, rows_of, with_those_above};

/// Takes note of threads whose process is gone, where there are any.
pub(super) fn reap_left(registry: &mut Registry) -> Result<(), RegistryError> {
    let running = rows_of(&registry.db, "WHERE status = 'running'");
    let running = running.map_err(|error| registry.fail(error))?;
    if running.iter().any(|row| row.is_left(&registry.db)) {
        registry.in_one_step(|step| reap_threads(step).map(drop))?;
    }
    Ok(())
}

/// Takes note of threads whose process is gone: they were killed, with all threads below them, and
/// hold nothing any more, neither for themselves nor for those above. What a call of a model held
/// is used, or a thread that is killed and resumed would ask without end. Says whether there were
/// any.
pub(super) fn reap_threads(step: &Connection) -> rusqlite::Result<bool> {
    reap(step, |row| row.is_left(step))
}

/// Does so for those that are taken for dead.
fn reap(step: &Connection, is_dead: impl Fn(&ThreadRow) -> bool) -> rusqlite::Result<bool> {
    let running = rows_of(step, "WHERE status = 'running'")?;
    let left = running.iter().filter(|row| is_dead(row)).map(|row| row.id.as_str());
    let mut dead: BTreeSet<String> = left.map(str::to_owned).collect();
    if dead.is_empty() {
        return Ok(false);
    }
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
                 spend = spend + ?4 WHERE id = ?1",
                params![above.id, held.turns, held.tokens, held.spend],
            )?;
        }
    }
    for id in &dead {
        step.execute(
            &format!(
                "UPDATE thread SET status = 'killed', turns = turns + held_turns,
                 tokens = tokens + held_tokens, spend = spend + held_spend,
                 held_turns = 0, held_tokens = 0, held_spend = 0, ended_at = {NOW}
                 WHERE id = ?1"
            ),
            [id],
        )?;
        step.path().into_iter().for_each(|registry| alive::release(Path::new(registry), id));
    }
    Ok(true)
}

/// Takes a thread or a run for dead, whatever its process does.
pub(super) fn give_up(step: &Connection, id: &str) -> rusqlite::Result<()> {
    reap(step, |row| row.id == id)?;
    give_up_run(step, id)
}

#[cfg(test)]
mod tests {
    use crate::registry::RunState;
    use crate::registry::alive::leave;
    use crate::registry::fixtures::{new, other_places};
    use crate::registry::{
        Admitted, Amounts, NewDetached, OneEnv, Registry, ThreadWaits, leave_thread,
    };

    const MOST: Amounts = Amounts { turns: 10, tokens: 1_000, spend: 1_000, spawns: 2 };

    fn status(registry: &mut Registry, id: &str) -> RunState {
        registry.thread(id).unwrap().unwrap().status
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
        let moved = "UPDATE thread SET start = start + 1, place = ?1 WHERE id = 'one'";
        registry.db.execute(moved, [&elsewhere]).unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert_eq!(row.status, RunState::Running);
        assert!(row.is_elsewhere() && !row.has_its_process(), "nothing here is killed for it");
        assert!(registry.hold("root", 600, 1).unwrap().is_some(), "what it holds stays held");
        registry.stops().give_up("one").unwrap();
        assert_eq!(status(&mut registry, "one"), RunState::Killed);
        assert_eq!(status(&mut registry, "root"), RunState::Running);
        assert!(registry.hold("root", 401, 1).unwrap().is_some(), "what it asked for is used");
        assert_eq!(registry.hold("root", 400, 1).unwrap(), None, "nothing else of it is held");
        assert!(registry.hold("one", 1, 1).is_err(), "it uses nothing any more");
        let before = "UPDATE thread SET place = ?1 WHERE id = 'root'";
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
    fn the_report_that_a_process_writes_behind_its_thread_that_goes_on_elsewhere_is_an_earlier_one()
    {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let run = NewDetached {
            id: "one",
            kind: "directive",
            item: "directive:a/b",
            base: "/",
            asked_at: "x",
            places: 2,
            request: "",
        };
        assert_eq!(registry.detached().admit(&run, OneEnv(b"")).unwrap(), Admitted::Runs);
        assert!(registry.detached().claim("one").unwrap());
        registry.begin_thread(&new("one", None, MOST, 2)).unwrap();
        let is_earlier =
            |registry: &mut Registry| registry.detached().one("one").unwrap().unwrap().0.is_earlier;
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert!(row.claim(&mut registry, None, None, None).unwrap());
        assert!(!is_earlier(&mut registry), "its own process goes on, whose report is to come");
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        // It belongs to another process, which is about to write that the thread waits.
        registry.db.execute("UPDATE detached SET start = start - 1", []).unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert!(row.claim(&mut registry, None, None, None).unwrap());
        assert!(is_earlier(&mut registry));
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
        let state =
            |registry: &mut Registry| registry.detached().one("a").unwrap().unwrap().0.state;
        registry.begin_thread(&new("root", None, MOST, 2)).unwrap();
        registry.detached().admit(&run("a"), OneEnv(b"A=1")).unwrap();
        assert!(registry.detached().claim("a").unwrap());
        let waits = registry.detached().admit(&run("b"), OneEnv(b"A=1")).unwrap();
        let Admitted::WaitsFor(launcher) = waits else { panic!("{waits:?}") };
        assert!(registry.detached().claim_launcher(&launcher).unwrap());
        for started in ["a", &launcher] {
            registry.detached().note_started(started);
        }
        for table in ["thread", "detached", "launcher"] {
            let moved = format!("UPDATE {table} SET start = start + 1, place = ?1 WHERE pid > 0");
            assert_eq!(registry.db.execute(&moved, [&elsewhere]).unwrap(), 1);
        }
        assert_eq!(status(&mut registry, "root"), RunState::Running);
        assert_eq!(state(&mut registry), RunState::Running);
        assert_eq!(registry.detached().one("b").unwrap().unwrap().0.state, RunState::Created);
        let path = registry.path.clone();
        for lock in ["root", "run a", &launcher] {
            leave(&path, lock);
        }
        assert_eq!(status(&mut registry, "root"), RunState::Killed);
        assert_eq!(state(&mut registry), RunState::Killed);
        assert_eq!(registry.detached().one("b").unwrap().unwrap().0.state, RunState::Killed);
        assert_eq!(registry.detached().admit(&run("c"), OneEnv(b"A=1")).unwrap(), Admitted::Runs);
        registry.detached().note_started("c");
        let left = std::fs::read_dir(path.with_file_name("alive")).unwrap().count();
        assert_eq!(left, 0, "what is over leaves no file");
    }

    #[test]
    fn whoever_asks_and_dies_in_a_namespace_that_is_gone_keeps_no_place_and_lets_nothing_wait() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let (elsewhere, _) = other_places();
        let moved = |registry: &Registry, which: &str| {
            let (table, rest) = which.split_once(' ').unwrap_or((which, ""));
            let sql = format!("UPDATE {table} SET start = start + 1, place = ?1 {rest}");
            let elsewhere = format!("{elsewhere}:locked");
            assert_eq!(registry.db.execute(&sql, [&elsewhere]).unwrap(), 1, "{which}");
        };
        let state = |registry: &mut Registry, id: &str| {
            registry.detached().one(id).unwrap().unwrap().0.state
        };
        assert_eq!(registry.detached().admit(&run("a"), OneEnv(b"A=1")).unwrap(), Admitted::Runs);
        let waits = registry.detached().admit(&run("b"), OneEnv(b"A=1")).unwrap();
        let Admitted::WaitsFor(launcher) = waits else { panic!("{waits:?}") };
        moved(&registry, "detached WHERE state = 'running'");
        moved(&registry, "launcher");
        assert_eq!(state(&mut registry, "a"), RunState::Running, "it still starts");
        assert_eq!(state(&mut registry, "b"), RunState::Created);
        let path = registry.path.clone();
        for name in ["start run a", &format!("start {launcher}")] {
            leave(&path, name);
        }
        assert_eq!(state(&mut registry, "a"), RunState::Killed);
        assert_eq!(state(&mut registry, "b"), RunState::Killed);
        assert_eq!(registry.detached().admit(&run("c"), OneEnv(b"A=1")).unwrap(), Admitted::Runs);
        // The run's own process has it now, and its caller may end.
        assert!(registry.detached().claim("c").unwrap());
        moved(&registry, "detached WHERE state = 'running'");
        leave(&path, "start run c");
        assert_eq!(state(&mut registry, "c"), RunState::Running);
        leave(&path, "run c");
        assert_eq!(state(&mut registry, "c"), RunState::Killed);
        let left = std::fs::read_dir(path.with_file_name("alive")).unwrap().count();
        assert_eq!(left, 0, "what is over leaves no file");
    }

    fn run(id: &str) -> NewDetached<'_> {
        let (kind, item, base, asked_at) = ("tool", "tool:a/b", "/", "x");
        NewDetached { id, kind, item, base, asked_at, places: 1, request: "" }
    }

    #[test]
    fn a_run_of_another_namespace_keeps_its_place_until_a_person_gives_it_up() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let env = OneEnv(b"A=1");
        assert_eq!(registry.detached().admit(&run("a"), env).unwrap(), Admitted::Runs);
        let (elsewhere, earlier) = other_places();
        let moved = "UPDATE detached SET start = start + 1, place = ?1";
        registry.db.execute(moved, [&elsewhere]).unwrap();
        let waits = registry.detached().admit(&run("b"), env).unwrap();
        assert!(matches!(waits, Admitted::WaitsFor(_)), "{waits:?}");
        assert!(registry.detached().one("a").unwrap().unwrap().0.is_elsewhere());
        registry.db.execute("UPDATE launcher SET place = ?1", [&earlier]).unwrap();
        assert_eq!(registry.detached().one("b").unwrap().unwrap().0.state, RunState::Killed);
        registry.stops().give_up("a").unwrap();
        assert_eq!(registry.detached().one("a").unwrap().unwrap().0.state, RunState::Killed);
        assert_eq!(registry.detached().admit(&run("c"), env).unwrap(), Admitted::Runs);
    }
}
