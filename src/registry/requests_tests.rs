//! Requests that wait, and who decides them.

use super::{Decision, NewRequest, PendingState, RequestKind};
use crate::base::limits::{PENDING_BYTES, PENDING_KEPT, PENDING_WAITING};
use crate::diagnostic::Diagnose;
use crate::registry::Registry;
use std::path::Path;
use std::sync::Barrier;

fn postpone(registry: &mut Registry) -> Result<String, &'static str> {
    postpone_plan(registry, b"{}")
}

fn postpone_plan(registry: &mut Registry, plan: &[u8]) -> Result<String, &'static str> {
    let env = registry.env_digests(std::iter::empty()).unwrap();
    let asked = NewRequest {
        env: &env,
        kind: RequestKind::Tool,
        asked_at: "2026-11-21T10:00:00Z",
        item: "tool:acme/pay",
        project: Path::new("/p"),
        payload: plan,
        for_record: false,
        reason: "amount",
        message: "Pay 5,000?",
        thread: None,
        run: None,
        private: &[],
    };
    registry.postpone(&asked).map_err(|error| error.code().name())
}

fn decision(by: usize) -> Decision {
    Decision { by: by.to_string(), at: "2026-11-21T10:00:01Z".into() }
}

#[test]
fn of_many_who_approve_or_reject_at_once_one_wins() {
    let home = tempfile::tempdir().unwrap();
    let id = postpone(&mut Registry::open(home.path()).unwrap()).unwrap();
    let barrier = Barrier::new(8);
    let won: usize = std::thread::scope(|scope| {
        let race = |by: usize| {
            let (barrier, id, home) = (&barrier, &id, home.path());
            scope.spawn(move || {
                let registry = Registry::open(home).unwrap();
                barrier.wait();
                let done = match by % 2 {
                    0 => registry.claim(id, &decision(by)),
                    _ => registry.reject(id, &decision(by), "no"),
                };
                match done {
                    Ok(()) => 1,
                    Err(error) => {
                        assert_eq!(error.code().name(), "pending.decided");
                        0
                    }
                }
            })
        };
        let threads: Vec<_> = (0..8).map(race).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn a_full_store_refuses_and_decided_requests_make_room() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    // Without waiting for the disk a thousand times.
    registry.db.pragma_update(None, "synchronous", "off").unwrap();
    let first = postpone(&mut registry).unwrap();
    for _ in 1..PENDING_WAITING {
        postpone(&mut registry).unwrap();
    }
    assert_eq!(postpone(&mut registry), Err("pending.full"));
    assert_eq!(registry.requests().unwrap().len(), PENDING_WAITING);
    registry.claim(&first, &decision(1)).unwrap();
    registry.finish(&first, "{}").unwrap();
    assert_eq!(registry.request(&first).unwrap().row.state, PendingState::Done);
    postpone(&mut registry).unwrap();
    let all = registry.requests().unwrap();
    assert_eq!(all.len(), PENDING_WAITING + 1);
    for request in all.iter().filter(|request| request.state == PendingState::Waiting) {
        registry.reject(&request.id, &decision(1), "no").unwrap();
    }
    postpone(&mut registry).unwrap();
    assert_eq!(registry.requests().unwrap().len(), PENDING_KEPT + 1);
}

#[test]
fn plans_that_wait_come_to_so_many_bytes_and_no_more() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    registry.db.pragma_update(None, "synchronous", "off").unwrap();
    let quarter = vec![b' '; usize::try_from(PENDING_BYTES / 4).unwrap()];
    let first = postpone_plan(&mut registry, &quarter).unwrap();
    for _ in 1..4 {
        postpone_plan(&mut registry, &quarter).unwrap();
    }
    assert_eq!(postpone(&mut registry), Err("pending.full"));
    registry.reject(&first, &decision(1), "no").unwrap();
    postpone(&mut registry).unwrap();
}

#[test]
fn what_a_gone_process_claimed_is_lost_until_its_end_is_told() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let id = postpone(&mut registry).unwrap();
    let state = |registry: &Registry| registry.requests().unwrap()[0].state;
    registry.claim(&id, &decision(1)).unwrap();
    assert_eq!(state(&registry), PendingState::Approved);
    registry.db.execute("UPDATE request SET approver_start = 0", []).unwrap();
    assert_eq!(state(&registry), PendingState::Lost);
    // Cleaning up takes note of it, and a process that only seemed to be gone has its say.
    postpone(&mut registry).unwrap();
    let kept: String = registry
        .db
        .query_row("SELECT state FROM request WHERE id = ?1", [&id], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, "lost");
    registry.finish(&id, "{}").unwrap();
    assert_eq!(state(&registry), PendingState::Done);
}

#[test]
fn the_version_is_another_once_somebody_else_has_written_and_only_then() {
    let home = tempfile::tempdir().unwrap();
    let mut other = Registry::open(home.path()).unwrap();
    let waits = Registry::open(home.path()).unwrap();
    let before = waits.version().unwrap();
    other.requests().unwrap();
    assert_eq!(waits.version().unwrap(), before);
    postpone(&mut other).unwrap();
    let after = waits.version().unwrap();
    assert_ne!(after, before);
    waits.requests().unwrap();
    assert_eq!(waits.version().unwrap(), after);
}

#[test]
fn an_unknown_id_is_told_with_its_neighbours() {
    let home = tempfile::tempdir().unwrap();
    let mut registry = Registry::open(home.path()).unwrap();
    let id = postpone(&mut registry).unwrap();
    let mut typo = id.clone();
    typo.pop();
    let error = registry.request(&typo).unwrap_err();
    assert_eq!(error.code().name(), "pending.not_found");
    assert_eq!(error.help(), Some(format!("did you mean `{id}`?")));
    assert!(registry.claim(&typo, &decision(1)).is_err());
}
