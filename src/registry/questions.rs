//! Questions that a snippet asks a person at once: each is decided by itself, and the snippet goes
//! on once all are.
//!
//! Invariant: of what is not claimed at least one question is open. So the last decision is the one
//! that claims the whole, in one step, and where its process dies before anything ran, that
//! question is open again.

use rusqlite::{Connection, OptionalExtension, params};

use super::db::{Registry, write_step};
use super::error::RegistryError;
use super::process_id::ProcessId;
use super::requests::{Decision, PendingRow, PendingState, end_below};

/// The step that follows the decision of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterDecision {
    /// It is written down. Others, with these ids, are open.
    Noted(Vec<String>),
    /// The whole is to be claimed, with this decision, or rejected.
    Last(Decision, PendingState),
}

/// Takes what a person decided of a request; `why` is the reason of one that is rejected.
///
/// # Errors
/// `pending.decided`, `pending.held`, `registry.io`
pub(crate) fn decide(
    registry: &Registry,
    row: &PendingRow,
    decision: &Decision,
    why: Option<&str>,
) -> Result<AfterDecision, RegistryError> {
    let after = decide_in_step(registry, (&row.id, row.whole()), decision, why);
    match after.map_err(|error| registry.fail(error))? {
        Some(after) => Ok(after),
        None => Err(not_open(registry, &row.id)?),
    }
}

fn decide_in_step(
    registry: &Registry,
    (id, whole): (&str, &str),
    decision: &Decision,
    why: Option<&str>,
) -> rusqlite::Result<Option<AfterDecision>> {
    let step = write_step(registry)?;
    let mut open = open(&step, whole)?;
    if !open.iter().any(|open| open == id) || !may_decide(&step, whole)? {
        return Ok(None);
    }
    open.retain(|open| open != id);
    let after = match (open.is_empty(), why) {
        (false, _) => AfterDecision::Noted(open),
        (true, None) => {
            return Ok(Some(AfterDecision::Last(decision.clone(), PendingState::Approved)));
        }
        // The approved calls run now, by the decision about one of them.
        (true, Some(_)) => match open_approved(&step, whole)? {
            Some(decision) => AfterDecision::Last(decision, PendingState::Approved),
            None => return Ok(Some(AfterDecision::Last(decision.clone(), PendingState::Rejected))),
        },
    };
    let state = if why.is_some() { PendingState::Rejected } else { PendingState::Approved };
    step.execute(
        "UPDATE request SET state = iif(part_of IS NULL, state, ?2), said = ?2,
         decided_by = ?3, decided_at = ?4, result = ?5 WHERE id = ?1",
        params![id, state.name(), decision.by, decision.at, why],
    )?;
    if why.is_some() {
        end_below(&step, id, false)?;
    }
    step.commit()?;
    Ok(Some(after))
}

/// Why a request is not decided now.
pub(super) fn not_open(registry: &Registry, id: &str) -> Result<RegistryError, RegistryError> {
    let PendingRow { state, said, held_by, .. } = registry.request(id)?.row;
    let id = id.to_owned();
    Ok(match held_by.filter(|_| state == PendingState::Waiting) {
        Some(by) => RegistryError::Held { id, by },
        None => RegistryError::Decided { id, state: said.unwrap_or(state) },
    })
}

/// A request waits, and is decided by itself or by the process that runs what it was asked below.
pub(super) fn may_decide(step: &Connection, id: &str) -> rusqlite::Result<bool> {
    let own = ProcessId::own();
    step.query_row(
        "SELECT EXISTS (SELECT 1 FROM request WHERE id = ?1 AND state = 'waiting'
         AND (held_by IS NULL OR held_by IN (SELECT above.id FROM request AS above
          JOIN request AS whole ON whole.id = coalesce(above.part_of, above.id)
          AND whole.snippet IS NOT NULL AND whole.began = 1
          WHERE above.state = 'approved' AND above.approver_pid = ?2
          AND above.approver_start = ?3)))",
        params![id, own.map(|own| own.pid), own.map(|own| own.start.cast_signed())],
        |row| row.get(0),
    )
}

/// The questions of a request that are not decided, in their order.
pub(super) fn open(step: &Connection, whole: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT id FROM request WHERE (id = ?1 AND said IS NULL OR part_of = ?1)
               AND state = 'waiting' ORDER BY part";
    let mut query = step.prepare(sql)?;
    query.query_map([whole], |row| row.get(0))?.collect()
}

/// Opens one question again that was approved; gives who decided it. `None` where none was.
fn open_approved(step: &Connection, whole: &str) -> rusqlite::Result<Option<Decision>> {
    let sql = "SELECT id, decided_by, decided_at FROM request WHERE id = ?1 AND said = 'approved'
               OR part_of = ?1 AND state = 'approved' ORDER BY part DESC LIMIT 1";
    let found = step.query_row(sql, [whole], |row| {
        Ok((row.get::<_, String>(0)?, Decision { by: row.get(1)?, at: row.get(2)? }))
    });
    let Some((id, decision)) = found.optional()? else { return Ok(None) };
    step.execute(
        "UPDATE request SET state = 'waiting', said = NULL, decided_by = NULL, decided_at = NULL
         WHERE id = ?1",
        [id],
    )?;
    Ok(Some(decision))
}

/// The decision of each question, in their order: why it was rejected, or nothing.
#[cfg(any(feature = "code", test))]
pub(super) fn verdicts(step: &Connection, whole: &str) -> rusqlite::Result<Vec<Option<String>>> {
    let sql = "SELECT iif(coalesce(said, state) = 'rejected', coalesce(result, ''), NULL)
               FROM request WHERE id = ?1 OR part_of = ?1 ORDER BY part";
    let mut query = step.prepare(sql)?;
    query.query_map([whole], |row| row.get(0))?.collect()
}
