//! Requests that wait for a person (exec-protocol 4).
//!
//! A request is decided once: approving claims it before anything is started, so of two who approve
//! one wins, and a process that dies in between never lets it run twice. A snippet is claimed while
//! it is run again up to where it was, which runs nothing new: who dies then gives it back.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::approver::{Approver, place_from, place_of};
use super::db::{Registry, WriteStep};
use super::env_digests::EnvDigests;
use super::error::RegistryError;
use crate::base::limits::{NEAR_NAMES, PENDING_BYTES, PENDING_KEPT, PENDING_WAITING};
use crate::base::random;
use crate::base::text::near;

/// What a tool asked a person, before it is kept.
#[derive(Debug)]
pub(crate) struct Postponed<'a> {
    pub(crate) asked_at: &'a str,
    pub(crate) item: &'a str,
    pub(crate) project: &'a Path,
    /// A plan file with its parameters.
    pub(crate) plan: &'a [u8],
    /// The plan was made for the record, with the digests of its programs.
    pub(crate) for_record: bool,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// What the project's `.env` gave to the run that asked.
    pub(crate) env: &'a EnvDigests,
    /// The thread that waits with it.
    pub(crate) thread: Option<&'a str>,
    /// What of its parameters is shown to nobody.
    pub(crate) private: &'a [String],
}

/// A request of the registry, as a row of a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingRow {
    pub(crate) id: String,
    pub(crate) asked_at: String,
    pub(crate) item: String,
    pub(crate) project: PathBuf,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) state: PendingState,
    pub(crate) decided_by: Option<String>,
    pub(crate) decided_at: Option<String>,
    /// The request of the snippet that it is decided with.
    pub(crate) held_by: Option<String>,
    /// The thread that waits with it.
    pub(crate) thread: Option<String>,
    approver: Option<Approver>,
}

impl PendingRow {
    /// It was approved by a process that is gone.
    pub(crate) fn is_left(&self) -> bool {
        self.state == PendingState::Approved && self.approver.is_some_and(Approver::is_gone)
    }
}

/// The whole of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingRequest {
    pub(crate) row: PendingRow,
    pub(crate) plan: Vec<u8>,
    pub(crate) for_record: bool,
    /// What the project's `.env` gave to the run that asked; `None` where an earlier rye kept it.
    pub(crate) env: Option<EnvDigests>,
    /// The report of the approved run as JSON, or why it was rejected.
    pub(crate) result: Option<String>,
    /// What is needed to run a snippet again, where a snippet waits.
    pub(crate) snippet: Option<String>,
    /// What of its parameters is shown to nobody.
    pub(crate) private: Vec<String>,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingState {
    Waiting,
    /// Somebody approved it, and it runs.
    Approved,
    Done,
    Rejected,
    /// It was approved, and what ran it is gone without a word; its end is not known.
    Lost,
}

impl PendingState {
    const ALL: [Self; 5] = [Self::Waiting, Self::Approved, Self::Done, Self::Rejected, Self::Lost];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::Lost => "lost",
        }
    }
}

impl std::fmt::Display for PendingState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Who decided, and when (RFC 3339).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) by: String,
    pub(crate) at: String,
}

const ROW: &str = "id, asked_at, item, project, reason, message, state, decided_by, decided_at, \
                   approver_pid, approver_start, approver_place, held_by, thread";

impl Registry {
    /// Keeps a request and gives its id. Of those that are decided only the newest are kept.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    pub(crate) fn postpone(&mut self, asked: &Postponed<'_>) -> Result<String, RegistryError> {
        let path = self.path.clone();
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let id = new_id(&path)?;
        let step = WriteStep::begin(self).map_err(fail)?;
        make_room(&step, asked.plan.len(), fail)?;
        step.execute(
            "INSERT INTO pending (id, asked_at, item, project, plan, for_record, reason, message, env, thread,
             private, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'waiting')",
            params![
                id,
                asked.asked_at,
                asked.item,
                asked.project.to_string_lossy(),
                asked.plan,
                asked.for_record,
                asked.reason,
                asked.message,
                asked.env.to_text(),
                asked.thread,
                private_text(asked.private),
            ],
        )
        .map_err(fail)?;
        prune(&step).map_err(fail)?;
        step.commit().map_err(fail)?;
        Ok(id)
    }

    /// All requests, the oldest first.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn requests(&self) -> Result<Vec<PendingRow>, RegistryError> {
        super::snippets::expire(&self.db).map_err(|error| self.fail(error))?;
        let fail = |error| self.fail(error);
        let sql = format!("SELECT {ROW} FROM pending ORDER BY asked_at, rowid");
        let mut query = self.db.prepare(&sql).map_err(fail)?;
        let rows = query.query_map([], row).map_err(fail)?;
        let mut all: Vec<PendingRow> = rows.collect::<Result<_, _>>().map_err(fail)?;
        for row in all.iter_mut().filter(|row| row.is_left()) {
            *row = self.request(&row.id)?.row;
        }
        Ok(all)
    }

    /// # Errors
    /// `pending.not_found`, `registry.io`
    pub(crate) fn request(&self, id: &str) -> Result<PendingRequest, RegistryError> {
        super::snippets::expire(&self.db).map_err(|error| self.fail(error))?;
        let sql = format!(
            "SELECT {ROW}, plan, for_record, result, env,
             (SELECT kept FROM snippet WHERE snippet.id = pending.id), private
             FROM pending WHERE id = ?1"
        );
        let look = || self.db.query_row(&sql, [id], request).optional();
        let mut found = look().map_err(|error| self.fail(error))?;
        if found.as_ref().is_some_and(|request| request.row.is_left()) {
            super::snippets::give_back(&self.db).map_err(|error| self.fail(error))?;
            // What it wrote before it ended, it has written now.
            found = look().map_err(|error| self.fail(error))?;
        }
        match found {
            Some(mut request) => {
                if request.row.is_left() {
                    request.row.state = PendingState::Lost;
                }
                Ok(request)
            }
            None => {
                let near = self.near(id).map_err(|error| self.fail(error))?;
                Err(RegistryError::NotFound { id: id.to_owned(), near })
            }
        }
    }

    fn near(&self, id: &str) -> rusqlite::Result<Vec<String>> {
        let mut query = self.db.prepare("SELECT id FROM pending")?;
        let known: Vec<String> =
            query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(near(id, known.iter().map(String::as_str), NEAR_NAMES))
    }

    /// Another one than before once somebody else has written, so that who waits reads no more
    /// often than that.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn version(&self) -> Result<i64, RegistryError> {
        let version = self.db.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| self.fail(error))
    }

    /// Claims a request for the run that follows: from here on nobody else can.
    ///
    /// # Errors
    /// `pending.decided`, `pending.not_found`, `registry.io`
    pub(crate) fn claim(&self, id: &str, decision: &Decision) -> Result<(), RegistryError> {
        self.decide(id, PendingState::Approved, decision, None)
    }

    /// # Errors
    /// As [`Registry::claim`].
    pub(crate) fn reject(
        &self,
        id: &str,
        decision: &Decision,
        why: &str,
    ) -> Result<(), RegistryError> {
        self.decide(id, PendingState::Rejected, decision, Some(why))
    }

    fn decide(
        &self,
        id: &str,
        state: PendingState,
        decision: &Decision,
        result: Option<&str>,
    ) -> Result<(), RegistryError> {
        let step = self.db.unchecked_transaction().map_err(|error| self.fail(error))?;
        let decided = decide_in(&step, id, state, decision, result);
        if decided.map_err(|error| self.fail(error))? {
            return step.commit().map_err(|error| self.fail(error));
        }
        drop(step);
        let PendingRow { state, held_by, .. } = self.request(id)?.row;
        let id = id.to_owned();
        Err(match held_by.filter(|_| state == PendingState::Waiting) {
            Some(by) => RegistryError::Held { id, by },
            None => RegistryError::Decided { id, state },
        })
    }

    /// What came of the run of a claimed request; also where another one took it for lost.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn finish(&self, id: &str, result: &str) -> Result<(), RegistryError> {
        let finish = || {
            let step = self.db.unchecked_transaction()?;
            step.execute(
                "UPDATE pending SET state = 'done', result = ?2 WHERE id = ?1
                 AND state IN ('approved', 'lost')",
                params![id, result],
            )?;
            prune_kept(&step)?;
            step.commit()
        };
        finish().map_err(|error| self.fail(error))
    }
}

/// Decides a request that waits, as part of a step; false where it does not wait, or is decided
/// with another one.
pub(super) fn decide_in(
    step: &Connection,
    id: &str,
    state: PendingState,
    decision: &Decision,
    result: Option<&str>,
) -> rusqlite::Result<bool> {
    let own = Approver::own().filter(|_| state == PendingState::Approved);
    let changed = step.execute(
        "UPDATE pending SET state = ?2, decided_by = ?3, decided_at = ?4, result = ?5,
         approver_pid = ?6, approver_start = ?7, approver_place = ?8
         WHERE id = ?1 AND state = 'waiting' AND held_by IS NULL",
        params![
            id,
            state.name(),
            decision.by,
            decision.at,
            result,
            own.map(|own| own.pid),
            own.map(|own| own.start.cast_signed()),
            place_of(own),
        ],
    )?;
    if changed == 0 {
        return Ok(false);
    }
    match state {
        // Nothing new of a snippet ran yet.
        PendingState::Approved => super::snippets::claimed(step, id)?,
        _ => super::snippets::free(step, id)?,
    }
    prune_kept(step)?;
    Ok(true)
}

/// A name for a request.
pub(super) fn new_id(path: &Path) -> Result<String, RegistryError> {
    let mut name = [0; 6];
    random::fill(&mut name)
        .map_err(|source| RegistryError::Open { path: path.to_owned(), source })?;
    Ok(format!("p-{}", hex::encode(name)))
}

/// Refuses one more request of so many bytes where there is no room for it.
pub(super) fn make_room(
    step: &Connection,
    more: usize,
    fail: impl Fn(rusqlite::Error) -> RegistryError,
) -> Result<(), RegistryError> {
    let waiting = "SELECT count(*), coalesce(sum(length(plan) + coalesce(length(kept), 0)), 0)
                   FROM pending LEFT JOIN snippet ON snippet.id = pending.id
                   WHERE state = 'waiting'";
    let (count, bytes): (usize, u64) =
        step.query_row(waiting, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fail)?;
    match count >= PENDING_WAITING || bytes + more as u64 > PENDING_BYTES {
        true => Err(RegistryError::Full { count, bytes }),
        false => Ok(()),
    }
}

/// Takes note of what is lost, and removes the oldest of what is decided.
pub(super) fn prune(step: &Connection) -> rusqlite::Result<()> {
    super::snippets::give_back(step)?;
    for id in left(step)? {
        step.execute("UPDATE pending SET state = 'lost' WHERE id = ?1", [id])?;
    }
    step.execute(
        "DELETE FROM pending WHERE state IN ('done', 'rejected', 'lost') AND rowid NOT IN
         (SELECT rowid FROM pending WHERE state IN ('done', 'rejected', 'lost')
          ORDER BY decided_at DESC, rowid DESC LIMIT ?1)",
        params![PENDING_KEPT],
    )?;
    prune_kept(step)
}

/// Removes what was needed to run snippets again that came to their end.
fn prune_kept(step: &Connection) -> rusqlite::Result<()> {
    let ended = "DELETE FROM snippet WHERE id NOT IN
                 (SELECT id FROM pending WHERE state IN ('waiting', 'approved', 'lost'))";
    step.execute(ended, []).map(drop)
}

/// The requests that are approved by a process that is gone.
fn left(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = db.prepare(
        "SELECT id, approver_pid, approver_start, approver_place FROM pending
         WHERE state = 'approved'",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, approver(row, 1)?)))?;
    let all: Vec<(String, Option<Approver>)> = rows.collect::<Result<_, _>>()?;
    let is_left = |approver: Option<Approver>| approver.is_some_and(Approver::is_gone);
    Ok(all.into_iter().filter(|(_, by)| is_left(*by)).map(|(id, _)| id).collect())
}

/// Of three columns, from the one at `at`.
pub(super) fn approver(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Approver>> {
    let (pid, start): (Option<u32>, Option<i64>) = (row.get(at)?, row.get(at + 1)?);
    let place = place_from(row.get(at + 2)?);
    Ok(pid.zip(start).map(|(pid, start)| Approver { pid, start: start.cast_unsigned(), place }))
}

fn row(row: &Row<'_>) -> rusqlite::Result<PendingRow> {
    let state: String = row.get(6)?;
    let state = PendingState::ALL.into_iter().find(|known| known.name() == state);
    let project: String = row.get(3)?;
    Ok(PendingRow {
        id: row.get(0)?,
        asked_at: row.get(1)?,
        item: row.get(2)?,
        project: project.into(),
        reason: row.get(4)?,
        message: row.get(5)?,
        // The table holds no other word.
        state: state.unwrap_or(PendingState::Rejected),
        decided_by: row.get(7)?,
        decided_at: row.get(8)?,
        held_by: row.get(12)?,
        thread: row.get(13)?,
        approver: approver(row, 9)?,
    })
}

/// Values as they are kept; nothing where there is none.
pub(super) fn private_text(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| serde_json::Value::from(values).to_string())
}

fn request(all: &Row<'_>) -> rusqlite::Result<PendingRequest> {
    let (env, private): (Option<String>, Option<String>) = (all.get(17)?, all.get(19)?);
    Ok(PendingRequest {
        row: row(all)?,
        env: env.and_then(|text| EnvDigests::from_text(&text)),
        plan: all.get(14)?,
        for_record: all.get(15)?,
        result: all.get(16)?,
        snippet: all.get(18)?,
        // It is what `private_text` wrote.
        private: private.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Decision, PendingState, Postponed};
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
        let asked = Postponed {
            env: &env,
            asked_at: "2026-11-21T10:00:00Z",
            item: "tool:acme/pay",
            project: Path::new("/p"),
            plan,
            for_record: false,
            reason: "amount",
            message: "Pay 5,000?",
            thread: None,
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
        registry.db.execute("UPDATE pending SET approver_start = 0", []).unwrap();
        assert_eq!(state(&registry), PendingState::Lost);
        // Cleaning up takes note of it, and a process that only seemed to be gone has its say.
        postpone(&mut registry).unwrap();
        let kept: String = registry
            .db
            .query_row("SELECT state FROM pending WHERE id = ?1", [&id], |row| row.get(0))
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
}
