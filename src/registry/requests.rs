//! Requests that wait for a person (exec-protocol 4).
//!
//! A request is decided once: approving claims it before anything is started, so of two who approve
//! one wins, and a process that dies in between never lets it run twice. A snippet is claimed while
//! it is run again up to where it was, which runs nothing new: who dies then gives it back.
//!
//! A snippet may ask several questions at once. Each is a request that is decided by itself, and
//! the last decision is the one that claims the snippet; see `questions.rs`.

use std::path::{Path, PathBuf};

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::db::{NOW, Registry, write_step};
use super::env_digests::EnvDigests;
use super::error::RegistryError;
use super::process_id::{ProcessId, place_from, place_of};
use super::questions;
use crate::base::limits::{NEAR_NAMES, PENDING_BYTES, PENDING_KEPT, PENDING_WAITING};
use crate::base::random;
use crate::base::text::near;

/// A request of a tool, before it is kept.
#[derive(Debug)]
pub(crate) struct NewRequest<'a> {
    pub(crate) kind: RequestKind,
    pub(crate) asked_at: &'a str,
    pub(crate) item: &'a str,
    pub(crate) project: &'a Path,
    /// A plan file with its parameters, or what is to be signed.
    pub(crate) payload: &'a [u8],
    /// The plan was made for the record, with the digests of its programs.
    pub(crate) for_record: bool,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// The values that the project's `.env` gave to the run that asked.
    pub(crate) env: &'a EnvDigests,
    /// The thread that waits with it.
    pub(crate) thread: Option<&'a str>,
    /// The detached run of the tool, which waits from here on.
    pub(crate) run: Option<&'a str>,
    /// Parameter values that must be masked.
    pub(crate) private: &'a [String],
}

/// The subject of a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// To run a tool.
    Tool,
    /// To go on with a snippet.
    Snippet,
    /// To go on with a snippet that is saved as a tool.
    SavedSnippet,
    /// To sign an item.
    Signature,
}

impl RequestKind {
    const ALL: [Self; 4] = [Self::Tool, Self::Snippet, Self::SavedSnippet, Self::Signature];

    fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Snippet => "snippet",
            Self::SavedSnippet => "saved_snippet",
            Self::Signature => "signature",
        }
    }
}

impl ToSql for RequestKind {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for RequestKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or(FromSqlError::InvalidType)
    }
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
    /// The first question of the snippet, where this is another one of it; and which, from 0.
    pub(crate) part_of: Option<String>,
    pub(crate) part: usize,
    /// The answer to the first question of a snippet, where its state does not tell it.
    pub(crate) said: Option<PendingState>,
    approver: Option<ProcessId>,
}

impl PendingRow {
    /// The snippet that waits with it, which is the request of its first question; or itself.
    pub(crate) fn whole(&self) -> &str {
        self.part_of.as_deref().unwrap_or(&self.id)
    }

    /// A person is to decide it.
    pub(crate) fn is_open(&self) -> bool {
        self.state == PendingState::Waiting && self.said.is_none() && self.held_by.is_none()
    }

    /// It was approved by a process that is gone.
    pub(crate) fn is_left(&self) -> bool {
        self.state == PendingState::Approved && self.approver.is_some_and(ProcessId::is_gone)
    }
}

/// The whole of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingRequest {
    pub(crate) row: PendingRow,
    pub(crate) kind: RequestKind,
    /// The plan file of a tool, or what is to be signed.
    pub(crate) payload: Vec<u8>,
    pub(crate) for_record: bool,
    /// The values that the project's `.env` gave to the run of a tool that asked.
    pub(crate) env: Option<EnvDigests>,
    /// The report of the approved run as JSON, or why it was rejected.
    pub(crate) result: Option<String>,
    /// The snippet that waits, as it is kept.
    pub(crate) snippet: Option<String>,
    /// Parameter values that must be masked.
    pub(crate) private: Vec<String>,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingState {
    Waiting,
    /// It was approved, and runs.
    Approved,
    Done,
    Rejected,
    /// It was approved, and what ran it is gone without a word; its end is not known.
    Lost,
}

impl PendingState {
    const ALL: [Self; 5] = [Self::Waiting, Self::Approved, Self::Done, Self::Rejected, Self::Lost];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

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
                   approver_pid, approver_start, approver_place, held_by, thread, part_of, part, \
                   said";

impl Registry {
    /// Keeps a request and gives its id. Of those that are decided only the newest are kept.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    pub(crate) fn postpone(&mut self, asked: &NewRequest<'_>) -> Result<String, RegistryError> {
        let path = self.path.clone();
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let id = new_id(&path)?;
        let step = write_step(self).map_err(fail)?;
        make_room(&step, 1, asked.payload.len(), fail)?;
        step.execute(
            "INSERT INTO request (id, kind, asked_at, item, project, payload, for_record, reason,
             message, env, thread, private, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'waiting')",
            params![
                id,
                asked.kind,
                asked.asked_at,
                asked.item,
                asked.project.to_string_lossy(),
                asked.payload,
                asked.for_record,
                asked.reason,
                asked.message,
                asked.env.to_text(),
                asked.thread,
                private_text(asked.private),
            ],
        )
        .map_err(fail)?;
        bind(&step, asked.run, &id).map_err(fail)?;
        prune(&step).map_err(fail)?;
        step.commit().map_err(fail)?;
        Ok(id)
    }

    /// All requests, the oldest first.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn requests(&self) -> Result<Vec<PendingRow>, RegistryError> {
        super::snippets::expire(self).map_err(|error| self.fail(error))?;
        let fail = |error| self.fail(error);
        let sql = format!("SELECT {ROW} FROM request ORDER BY asked_at, rowid");
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
        super::snippets::expire(self).map_err(|error| self.fail(error))?;
        let sql = format!(
            "SELECT {ROW}, payload, for_record, result, env, snippet, private, kind
             FROM request WHERE id = ?1"
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
                // All else is that of the snippet.
                match request.row.part_of.clone().map(|whole| self.request(&whole)) {
                    Some(Ok(whole)) => {
                        let is_done = whole.row.state == PendingState::Done;
                        let of_whole = whole.result.filter(|_| is_done);
                        let result = request.result.or(of_whole);
                        Ok(PendingRequest { row: request.row, result, ..whole })
                    }
                    _ => Ok(request),
                }
            }
            None => {
                let near = self.near(id).map_err(|error| self.fail(error))?;
                Err(RegistryError::NotFound { id: id.to_owned(), near })
            }
        }
    }

    fn near(&self, id: &str) -> rusqlite::Result<Vec<String>> {
        let mut query = self.db.prepare("SELECT id FROM request")?;
        let known: Vec<String> =
            query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(near(id, known.iter().map(String::as_str), NEAR_NAMES))
    }

    /// It changes with each write of another process, so that a reader who waits reads no more
    /// often than that.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn version(&self) -> Result<i64, RegistryError> {
        let version = self.db.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| self.fail(error))
    }

    /// Claims a request for the run that follows: from here on no other process can.
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
        let step = write_step(self).map_err(|error| self.fail(error))?;
        let decided = decide_in(&step, id, state, decision, result);
        if decided.map_err(|error| self.fail(error))? {
            return step.commit().map_err(|error| self.fail(error));
        }
        drop(step);
        Err(questions::not_open(self, id)?)
    }

    /// Writes the result of a claimed request; also if another process took it for lost.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn finish(&self, id: &str, result: &str) -> Result<(), RegistryError> {
        let finish = || {
            let step = write_step(self)?;
            step.execute(
                "UPDATE request SET state = 'done', result = iif(id = ?1, ?2, result)
                 WHERE (id = ?1 OR part_of = ?1) AND state IN ('approved', 'lost')",
                params![id, result],
            )?;
            end_below(&step, id, true)?;
            prune_kept(&step)?;
            step.commit()
        };
        finish().map_err(|error| self.fail(error))
    }
}

/// Decides a request that waits as a whole, as part of a step; false where it does not wait, is
/// decided with another one, or more than one question of it is open.
pub(super) fn decide_in(
    step: &Connection,
    id: &str,
    state: PendingState,
    decision: &Decision,
    result: Option<&str>,
) -> rusqlite::Result<bool> {
    let is_approved = state == PendingState::Approved;
    if !questions::may_decide(step, id)? || is_approved && questions::open(step, id)?.len() != 1 {
        return Ok(false);
    }
    let own = ProcessId::own().filter(|_| is_approved);
    // An earlier decision is kept.
    step.execute(
        "UPDATE request SET state = ?2, approver_pid = ?6, approver_start = ?7, approver_place = ?8,
         decided_by = coalesce(decided_by, ?3), decided_at = coalesce(decided_at, ?4),
         said = coalesce(said, ?2), result = coalesce(result, ?5)
         WHERE id = ?1 OR part_of = ?1 AND (state = 'waiting' OR state = 'approved' AND NOT ?9)",
        params![
            id,
            state.name(),
            decision.by,
            decision.at,
            result,
            own.map(|own| own.pid),
            own.map(|own| own.start.cast_signed()),
            place_of(own),
            is_approved,
        ],
    )?;
    if is_approved {
        // Nothing new of a snippet ran yet.
        let sql = "UPDATE request SET began = 0 WHERE id = ?1 AND snippet IS NOT NULL";
        step.execute(sql, [id])?;
    } else {
        end_below(step, id, true)?;
    }
    prune_kept(step)?;
    Ok(true)
}

/// Rejects the requests below a question, or below the whole of a request, that ended or was
/// rejected.
pub(super) fn end_below(step: &Connection, id: &str, is_whole: bool) -> rusqlite::Result<()> {
    let sql = format!(
        "WITH RECURSIVE below (id) AS (
             SELECT id FROM request WHERE held_by = ?1
              OR ?2 AND held_by IN (SELECT id FROM request WHERE part_of = ?1)
             UNION SELECT request.id FROM request JOIN below
              ON request.held_by = below.id OR request.part_of = below.id)
         UPDATE request SET state = 'rejected', decided_by = 'rye', decided_at = {NOW},
         result = 'what asked for it ended, or was rejected'
         WHERE state = 'waiting' AND id IN below"
    );
    step.execute(&sql, params![id, is_whole]).map(drop)
}

/// A name for a request.
pub(super) fn new_id(path: &Path) -> Result<String, RegistryError> {
    let mut name = [0; 6];
    random::fill(&mut name)
        .map_err(|source| RegistryError::Open { path: path.to_owned(), source })?;
    Ok(format!("p-{}", hex::encode(name)))
}

/// Refuses so many more requests of so many bytes where there is no room for them.
pub(super) fn make_room(
    step: &Connection,
    requests: usize,
    more: usize,
    fail: impl Fn(rusqlite::Error) -> RegistryError,
) -> Result<(), RegistryError> {
    let waiting = "SELECT count(*),
                   coalesce(sum(length(payload) + coalesce(length(snippet), 0)), 0)
                   FROM request WHERE state = 'waiting'";
    let (count, bytes): (usize, u64) =
        step.query_row(waiting, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fail)?;
    match count + requests > PENDING_WAITING || bytes + more as u64 > PENDING_BYTES {
        true => Err(RegistryError::Full { count, bytes }),
        false => Ok(()),
    }
}

/// The detached run of a tool waits for a request from here on.
pub(super) fn bind(step: &Connection, run: Option<&str>, request: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE run SET state = 'waiting', request = ?2
               WHERE id = ?1 AND state IN ('running', 'waiting')";
    step.execute(sql, params![run, request]).map(drop)
}

/// Takes note of what is lost, and removes the oldest of what is decided.
pub(super) fn prune(step: &Connection) -> rusqlite::Result<()> {
    super::snippets::give_back(step)?;
    for id in left(step)? {
        step.execute("UPDATE request SET state = 'lost' WHERE id = ?1", [&id])?;
        end_below(step, &id, true)?;
    }
    step.execute(
        "DELETE FROM request WHERE state IN ('done', 'rejected', 'lost') AND rowid NOT IN
         (SELECT rowid FROM request WHERE state IN ('done', 'rejected', 'lost')
          ORDER BY decided_at DESC, rowid DESC LIMIT ?1)
         AND NOT EXISTS (SELECT 1 FROM request AS whole WHERE whole.id = request.part_of
          AND whole.state IN ('waiting', 'approved'))",
        params![PENDING_KEPT],
    )?;
    prune_kept(step)
}

/// Removes what was needed to run snippets again that came to their end.
fn prune_kept(step: &Connection) -> rusqlite::Result<()> {
    let ended = "UPDATE request SET snippet = NULL WHERE snippet IS NOT NULL
                 AND state NOT IN ('waiting', 'approved', 'lost')";
    step.execute(ended, []).map(drop)
}

/// The requests that are approved by a process that is gone.
fn left(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = db.prepare(
        "SELECT id, approver_pid, approver_start, approver_place FROM request
         WHERE state = 'approved'",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, approver(row, 1)?)))?;
    let all: Vec<(String, Option<ProcessId>)> = rows.collect::<Result<_, _>>()?;
    let is_left = |approver: Option<ProcessId>| approver.is_some_and(ProcessId::is_gone);
    Ok(all.into_iter().filter(|(_, by)| is_left(*by)).map(|(id, _)| id).collect())
}

/// Of three columns, from the one at `at`.
pub(super) fn approver(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<ProcessId>> {
    let (pid, start): (Option<u32>, Option<i64>) = (row.get(at)?, row.get(at + 1)?);
    let place = place_from(row.get(at + 2)?);
    Ok(pid.zip(start).map(|(pid, start)| ProcessId { pid, start: start.cast_unsigned(), place }))
}

fn row(row: &Row<'_>) -> rusqlite::Result<PendingRow> {
    let state: String = row.get(6)?;
    let state = PendingState::named(&state);
    let said: Option<String> = row.get(16)?;
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
        part_of: row.get(14)?,
        part: row.get(15)?,
        said: said.and_then(|said| PendingState::named(&said)).filter(|said| match state {
            Some(PendingState::Waiting) => true,
            // Of the whole, which is done, the first question was rejected.
            Some(PendingState::Done) => *said == PendingState::Rejected,
            _ => false,
        }),
        approver: approver(row, 9)?,
    })
}

/// Values as they are kept; nothing where there is none.
pub(super) fn private_text(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| serde_json::Value::from(values).to_string())
}

fn request(all: &Row<'_>) -> rusqlite::Result<PendingRequest> {
    let (env, private): (Option<String>, Option<String>) = (all.get(20)?, all.get(22)?);
    Ok(PendingRequest {
        row: row(all)?,
        env: env.and_then(|text| EnvDigests::from_text(&text)),
        kind: all.get(23)?,
        payload: all.get(17)?,
        for_record: all.get(18)?,
        result: all.get(19)?,
        snippet: all.get(21)?,
        // It is what `private_text` wrote.
        private: private.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
    })
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
