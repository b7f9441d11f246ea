//! Threads that wait for a person: what they asked for is decided, or withdrawn (threads 7).

use rusqlite::{Connection, params};

use super::alive;
use super::db::{NOW, Registry};
use super::error::RegistryError;
use super::ledger::{give_back, leave_process};

/// A thread with all those below it, as the table `below`.
const BELOW: &str = "WITH RECURSIVE below (id) AS (
    SELECT ?1 UNION SELECT run.id FROM run JOIN below ON run.parent = below.id)";

/// Threads that wait for a person.
pub(crate) struct ThreadWaits<'a> {
    registry: &'a mut Registry,
}

impl<'a> ThreadWaits<'a> {
    pub(crate) fn new(registry: &'a mut Registry) -> Self {
        Self { registry }
    }
}

impl ThreadWaits<'_> {
    /// A thread that runs waits from here on: it has no process and holds nothing. `false` where
    /// it is asked to stop, or was taken for dead.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn begin(&mut self, id: &str) -> Result<bool, RegistryError> {
        let waits = self.registry.in_one_step(|step| {
            let changed = step.execute(
                "UPDATE run SET state = 'waiting'
                 WHERE id = ?1 AND state = 'running' AND stop_asked_at IS NULL",
                [id],
            )?;
            if changed == 0 {
                return Ok(None);
            }
            give_back(step, id)?;
            leave_process(step, id).map(Some)
        })?;
        if waits == Some(true) {
            alive::release(&self.registry.path, id);
        }
        Ok(waits.is_some())
    }

    /// Returns true if a request of a thread, or of one below it, is open or is carried out.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn is_awaited(&mut self, id: &str) -> Result<bool, RegistryError> {
        let sql = format!(
            "{BELOW} SELECT EXISTS (SELECT 1 FROM request WHERE thread IN below
             AND state IN ('waiting', 'approved'))"
        );
        self.registry.in_one_step(|step| step.query_row(&sql, [id], |row| row.get(0)))
    }
}

/// Withdraws the requests of a thread that goes on or ended, and of those below it, but for the one
/// that it waits for and those that are decided with that. Those below that waited go on with it
/// alone.
pub(super) fn withdraw(
    step: &Connection,
    id: &str,
    waits_for: Option<&str>,
) -> rusqlite::Result<()> {
    step.execute(
        &format!(
            "{BELOW}, asked (id) AS (
                 SELECT id FROM request WHERE thread IN below AND coalesce(part_of, id) IS NOT ?2
                 UNION SELECT request.id FROM request JOIN asked ON request.held_by = asked.id)
             UPDATE request SET state = 'rejected', decided_by = 'rye',
             decided_at = {NOW},
             result = 'its thread ended, or went on without it'
             WHERE state = 'waiting' AND id IN asked"
        ),
        params![id, waits_for],
    )?;
    if waits_for.is_none() {
        step.execute(
            &format!(
                "{BELOW} UPDATE run SET state = 'cancelled', code = 'thread.cancelled',
                 ended_at = {NOW}
                 WHERE state = 'waiting' AND id IN below AND id != ?1"
            ),
            [id],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ThreadWaits;
    use crate::registry::RunState;
    use crate::registry::fixtures::new;
    use crate::registry::{Amounts, NewRequest, NewThread, PendingState, Registry, RequestKind};

    fn new_thread<'a>(id: &'a str, parent: Option<&'a str>) -> NewThread<'a> {
        let most = Amounts { turns: 9, tokens: 999, spend: 999, spawns: 9 };
        new(id, parent, most, u64::from(parent.is_none()))
    }

    fn ask(registry: &mut Registry, thread: &str) -> String {
        let env = registry.env_digests(std::iter::empty()).unwrap();
        let asked = NewRequest {
            env: &env,
            asked_at: "2026-11-21T10:00:00Z",
            item: "tool:acme/pay",
            project: Path::new("/p"),
            kind: RequestKind::Tool,
            payload: b"{}",
            for_record: false,
            reason: "amount",
            message: "Pay?",
            thread: Some(thread),
            run: None,
            private: &[],
        };
        registry.postpone(&asked).unwrap()
    }

    fn state(registry: &Registry, id: &str) -> PendingState {
        registry.request(id).unwrap().row.state
    }

    #[test]
    fn a_thread_that_waits_holds_nothing_and_has_no_process_until_one_takes_it() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new_thread("one", None)).unwrap();
        assert_eq!(registry.hold("one", 10, 10).unwrap(), None);
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert_eq!((row.state, row.pid(), row.held.tokens), (RunState::Waiting, None, 0));
        assert!(registry.hold("one", 1, 1).is_err(), "nothing is used while it waits");
        assert!(row.claim(&mut registry, None, None, None).unwrap());
        assert!(!row.claim(&mut registry, None, None, None).unwrap(), "one gets it");
        assert_eq!(registry.thread("one").unwrap().unwrap().state, RunState::Running);
    }

    #[test]
    fn a_thread_is_asked_to_stop_while_it_runs_or_waits_and_never_both() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new_thread("one", None)).unwrap();
        registry.begin_thread(&new_thread("two", None)).unwrap();
        registry.stops().ask("one", "x").unwrap();
        assert!(!ThreadWaits::new(&mut registry).begin("one").unwrap(), "it stops first");
        assert_eq!(registry.thread("one").unwrap().unwrap().state, RunState::Running);
        assert!(ThreadWaits::new(&mut registry).begin("two").unwrap());
        registry.stops().ask("two", "x").unwrap();
        assert!(!registry.stops().is_asked("two").unwrap(), "who asks ends it, as it waits");
    }

    #[test]
    fn a_thread_that_goes_on_leaves_only_what_it_waits_for_to_be_decided() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        registry.begin_thread(&new_thread("one", None)).unwrap();
        registry.begin_thread(&new_thread("below", Some("one"))).unwrap();
        registry.begin_thread(&new_thread("other", None)).unwrap();
        let (first, second) = (ask(&mut registry, "below"), ask(&mut registry, "one"));
        let other = ask(&mut registry, "other");
        ThreadWaits::new(&mut registry).begin("below").unwrap();
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        let row = registry.thread("one").unwrap().unwrap();
        assert!(row.claim(&mut registry, Some(&first), None, None).unwrap());
        assert_eq!(state(&registry, &first), PendingState::Waiting);
        assert_eq!(state(&registry, &second), PendingState::Rejected);
        assert_eq!(registry.thread("below").unwrap().unwrap().state, RunState::Waiting);
        ThreadWaits::new(&mut registry).begin("one").unwrap();
        assert!(row.claim(&mut registry, None, None, None).unwrap());
        assert_eq!(state(&registry, &first), PendingState::Rejected);
        assert_eq!(registry.thread("below").unwrap().unwrap().state, RunState::Cancelled);
        assert_eq!(state(&registry, &other), PendingState::Waiting, "of another thread");
    }
}
