//! A thread in whose place another one goes on (threads 6).

use rusqlite::{Connection, params};

use super::alive;
use super::db::Registry;
use super::error::RegistryError;
use super::ledger::leave_process;
use super::process_id::place_of;

/// Threads in whose place others go on.
pub(crate) struct Continuations<'a> {
    registry: &'a mut Registry,
}

impl<'a> Continuations<'a> {
    pub(crate) fn new(registry: &'a mut Registry) -> Self {
        Self { registry }
    }
}

impl Continuations<'_> {
    /// Begins a thread that replaces one which runs in this process and is over then. It has the
    /// same place below other threads, may reach the same, and has used and holds what the other
    /// one did; so the limits count on. The threads below the other one stand below it, the
    /// requests of the other one are its requests, and so is being asked to stop.
    ///
    /// # Errors
    /// `registry.not_running` where the other thread is over already, `registry.io`
    pub(crate) fn begin(
        &mut self,
        old: &str,
        new: &str,
        at: &str,
        began: &str,
    ) -> Result<(), RegistryError> {
        let own = place_of(alive::hold(&self.registry.path, new).0);
        let is_done = self.registry.in_one_step(|step| {
            let made = step.execute(
                "INSERT INTO run (id, parent, kind, item, base, state, asked_at, started_at,
                 stop_asked_at, pid, start, place)
                 SELECT ?2, parent, kind, item, base, state, ?3, ?3, stop_asked_at, pid, start, ?4
                 FROM run WHERE id = ?1 AND state = 'running'",
                params![old, new, at, own],
            )?;
            if made == 0 {
                return Ok(None);
            }
            step.execute(
                "INSERT INTO thread (run, provider, model, most_turns, most_tokens, most_spend,
                 most_spawns, depth, turns, tokens, spend, spawns, held_turns, held_tokens,
                 held_spend, began, grants)
                 SELECT ?2, provider, model, most_turns, most_tokens, most_spend, most_spawns,
                 depth, turns, tokens, spend, spawns, held_turns, held_tokens, held_spend, ?3,
                 grants FROM thread WHERE run = ?1",
                [old, new, began],
            )?;
            step.execute(
                "UPDATE thread SET held_turns = 0, held_tokens = 0, held_spend = 0
                 WHERE run = ?1",
                [old],
            )?;
            step.execute(
                "UPDATE run SET state = 'continued', continued_by = ?2, ended_at = ?3,
                 stop_asked_at = NULL WHERE id = ?1",
                [old, new, at],
            )?;
            for sql in [
                "UPDATE run SET parent = ?2 WHERE parent = ?1
                 AND state IN ('created', 'running', 'waiting')",
                "UPDATE request SET thread = ?2 WHERE thread = ?1 AND state = 'waiting'",
            ] {
                step.execute(sql, [old, new])?;
            }
            leave_process(step, old).map(Some)
        })?;
        match is_done {
            Some(true) => alive::release(&self.registry.path, old),
            Some(false) => {}
            None => {
                alive::release(&self.registry.path, new);
                return Err(RegistryError::NotRunning { id: old.to_owned() });
            }
        }
        Ok(())
    }

    /// The thread that goes on for one, or for the one that does, and so on; the thread itself
    /// where none does.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn newest_of(&self, id: &str) -> Result<String, RegistryError> {
        newest_of(&self.registry.db, id).map_err(|error| self.registry.fail(error))
    }

    /// The threads that one goes on for, the nearest first.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn earlier_of(&self, id: &str) -> Result<Vec<String>, RegistryError> {
        earlier_of(&self.registry.db, id).map_err(|error| self.registry.fail(error))
    }
}

/// The threads that one goes on for, the nearest first.
fn earlier_of(db: &Connection, id: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = db.prepare(
        "WITH RECURSIVE earlier (id) AS (
             SELECT id FROM run WHERE continued_by = ?1
             UNION SELECT run.id FROM run JOIN earlier ON run.continued_by = earlier.id)
         SELECT id FROM earlier",
    )?;
    query.query_map([id], |row| row.get(0))?.collect()
}

fn newest_of(db: &Connection, id: &str) -> rusqlite::Result<String> {
    // A registry that is damaged may have a circle, of which each is visited once.
    let mut query = db.prepare(
        "WITH RECURSIVE newer (id) AS (
             SELECT ?1
             UNION SELECT continued_by FROM run JOIN newer USING (id)
              WHERE continued_by IS NOT NULL)
         SELECT id FROM newer",
    )?;
    let all: Vec<String> = query.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(all.into_iter().next_back().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::registry::RunState;
    use crate::registry::fixtures::new;
    use crate::registry::{Amounts, Continuations, Registry, ThreadAbove};

    const MOST: Amounts = Amounts { turns: 10, tokens: 1_000, spend: 1_000, spawns: 3 };

    #[test]
    fn a_circle_of_a_damaged_registry_has_an_end() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("a", None, MOST, 4)).unwrap();
        registry.begin_thread(&new("b", None, MOST, 4)).unwrap();
        let circle = "UPDATE run SET continued_by = iif(id = 'a', 'b', 'a')";
        registry.db.execute(circle, []).unwrap();
        assert_eq!(Continuations::new(&mut registry).newest_of("a").unwrap(), "b");
    }

    #[test]
    fn the_thread_that_goes_on_stands_in_the_place_of_the_other_with_all_that_it_used_and_holds() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new("top", None, MOST, 4)).unwrap();
        registry.begin_thread(&new("a", Some("top"), MOST, 3)).unwrap();
        registry.begin_thread(&new("below", Some("a"), MOST, 2)).unwrap();
        registry.hold("a", 100, 10).unwrap();
        registry.book("a", (100, 10), Some((70, 7))).unwrap();
        registry.hold("below", 300, 30).unwrap();
        registry.stops().ask("a", "x").unwrap();
        Continuations::new(&mut registry).begin("a", "b", "y", "{}").unwrap();
        let row = |registry: &mut Registry, id: &str| registry.thread(id).unwrap().unwrap();
        let (a, b) = (row(&mut registry, "a"), row(&mut registry, "b"));
        assert_eq!((a.state, a.continued_by.as_deref()), (RunState::Continued, Some("b")));
        assert_eq!((a.held, a.used.tokens), (Amounts::default(), 70));
        assert_eq!((b.state, b.parent.as_deref()), (RunState::Running, Some("top")));
        assert_eq!((b.used, b.most, b.depth()), (a.used, MOST, 3));
        assert_eq!((b.held.tokens, b.began.as_deref()), (300, Some("{}")));
        assert_eq!(row(&mut registry, "below").parent.as_deref(), Some("b"));
        assert!(
            registry.stops().is_asked("b").unwrap() && !registry.stops().is_asked("a").unwrap()
        );
        // What is below counts for it, and nothing of it is begun or used twice.
        registry.book("below", (300, 30), Some((200, 20))).unwrap();
        registry.hold("b", 700, 1).unwrap();
        assert!(registry.hold("b", 100, 1).unwrap().is_some(), "270 used and 700 held of 1000");
        let top = row(&mut registry, "top");
        assert_eq!((top.used.tokens, top.held.tokens, top.used.spawns), (270, 700, 2));
        registry.end_thread("b", RunState::Completed, None, None).unwrap();
        assert_eq!(row(&mut registry, "top").held, Amounts::default());
        assert!(
            Continuations::new(&mut registry).begin("a", "c", "y", "{}").is_err(),
            "it is over"
        );
        Continuations::new(&mut registry).begin("below", "c", "y", "{}").unwrap();
        Continuations::new(&mut registry).begin("c", "d", "y", "{}").unwrap();
        assert_eq!(Continuations::new(&mut registry).newest_of("below").unwrap(), "d");
        assert_eq!(Continuations::new(&mut registry).earlier_of("d").unwrap(), ["c", "below"]);
        assert_eq!(Continuations::new(&mut registry).newest_of("a").unwrap(), "b");
        assert_eq!(Continuations::new(&mut registry).newest_of("nobody").unwrap(), "nobody");
    }

    #[test]
    fn it_may_reach_what_the_other_one_may() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let mut a = new("a", None, MOST, 3);
        a.grants = "some";
        registry.begin_thread(&a).unwrap();
        Continuations::new(&mut registry).begin("a", "b", "y", "{}").unwrap();
        let above = ThreadAbove::all(&registry, &[], &["a".into(), "b".into()]).unwrap();
        let above: Vec<_> = above.iter().map(|one| (&*one.row.id, one.grants.as_deref())).collect();
        assert_eq!(above, [("b", Some("some"))]);
    }
}
