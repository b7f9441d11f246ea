//! Snippets that wait for a person: a request like any other, beside which lies what is needed to
//! run the snippet again. It is removed with the request, and a week after it was asked for.
//!
//! Who approves a snippet claims it and runs it again up to where it was. Nothing new ran until it
//! says that it begins; so where it dies before that, the request waits as before.

#[cfg(any(feature = "code", test))]
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::db::{Registry, write_step};
#[cfg(any(feature = "code", test))]
use super::env_digests::EnvDigests;
#[cfg(any(feature = "code", test))]
use super::error::RegistryError;
use super::process_id::ProcessId;
#[cfg(any(feature = "code", test))]
use super::questions::verdicts;
use super::requests::{Decision, PendingState, approver, decide_in};
#[cfg(any(feature = "code", test))]
use super::requests::{RequestKind, bind, make_room, new_id, private_text, prune};

/// How long a snippet waits for a person, in seconds: a week has each working day.
const SNIPPET_WAITS_S: u64 = 7 * 24 * 60 * 60;

/// A snippet that is to wait, before it is kept.
#[cfg(any(feature = "code", test))]
#[derive(Debug)]
pub(crate) struct WaitingSnippet<'a> {
    pub(crate) asked_at: &'a str,
    pub(crate) project: &'a Path,
    /// At least one.
    pub(crate) questions: &'a [Question],
    /// The snippet, as it is kept.
    pub(crate) kept: &'a str,
    /// The run that it is, where it is saved as a tool.
    pub(crate) tool: Option<WaitingTool<'a>>,
    /// The thread that waits with it.
    pub(crate) thread: Option<&'a str>,
    /// The detached run of the saved snippet, which waits from here on.
    pub(crate) run: Option<&'a str>,
}

/// A question to a person about one call of a snippet.
#[cfg(any(feature = "code", test))]
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    /// The item of the call; of a saved snippet its own.
    pub(crate) item: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The request that the tool itself made below it, which is decided with it.
    pub(crate) request: Option<String>,
}

/// The run of a saved snippet that waits.
#[cfg(any(feature = "code", test))]
#[derive(Debug)]
pub(crate) struct WaitingTool<'a> {
    /// A plan file with its parameters.
    pub(crate) plan: &'a [u8],
    /// The plan was made for the record, with the digests of its programs.
    pub(crate) for_record: bool,
    /// The values that the project's `.env` gave to the run.
    pub(crate) env: &'a EnvDigests,
    /// Parameter values that must be masked.
    pub(crate) private: &'a [String],
}

impl Registry {
    /// Keeps a snippet that waits and gives the ids of the requests, one for each question. The
    /// first is that of the whole.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    #[cfg(any(feature = "code", test))]
    pub(crate) fn pause(
        &mut self,
        asked: &WaitingSnippet<'_>,
    ) -> Result<Vec<String>, RegistryError> {
        let path = self.path.clone();
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let ids = asked.questions.iter().map(|_| new_id(&path)).collect::<Result<Vec<_>, _>>()?;
        let step = write_step(self).map_err(fail)?;
        let plan = asked.tool.as_ref().map_or(0, |tool| tool.plan.len());
        make_room(&step, ids.len(), asked.kept.len() + plan, fail)?;
        insert(&step, &ids, asked).map_err(fail)?;
        prune(&step).map_err(fail)?;
        step.commit().map_err(fail)?;
        Ok(ids)
    }
}

#[cfg(any(feature = "code", test))]
fn insert(step: &Connection, ids: &[String], asked: &WaitingSnippet<'_>) -> rusqlite::Result<()> {
    let kind = match asked.tool {
        Some(_) => RequestKind::SavedSnippet,
        None => RequestKind::Snippet,
    };
    for (part, (id, question)) in ids.iter().zip(asked.questions).enumerate() {
        // The first one holds what is the same for all.
        let tool = asked.tool.as_ref().filter(|_| part == 0);
        step.execute(
            "INSERT INTO request (id, kind, asked_at, item, project, payload, for_record, reason,
             message, env, thread, private, state, part, part_of, snippet)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'waiting', ?13, ?14, ?15)",
            params![
                id,
                kind,
                asked.asked_at,
                question.item,
                asked.project.to_string_lossy(),
                tool.map_or(&[][..], |tool| tool.plan),
                tool.is_some_and(|tool| tool.for_record),
                question.reason,
                question.message,
                tool.map(|tool| tool.env.to_text()),
                asked.thread,
                tool.and_then(|tool| private_text(tool.private)),
                part,
                (part > 0).then(|| &ids[0]),
                (part == 0).then_some(asked.kept),
            ],
        )?;
        // Of a snippet below all that it asks is decided with this.
        step.execute(
            "UPDATE request SET held_by = ?1 WHERE state IN ('waiting', 'approved') AND
             (SELECT coalesce(part_of, id) FROM request WHERE id = ?2) IN (id, part_of)",
            params![id, question.request],
        )?;
    }
    bind(step, asked.run, &ids[0])
}

/// A snippet that this process claimed is where it was: from here on it runs what is new. Gives the
/// decision of each question: why it was rejected, or nothing.
///
/// # Errors
/// `pending.decided`: it is not claimed by this process any more; `registry.io`
#[cfg(any(feature = "code", test))]
pub(crate) fn begin_snippet(
    registry: &Registry,
    id: &str,
) -> Result<Vec<Option<String>>, RegistryError> {
    let own = ProcessId::own();
    let begin = || {
        let step = write_step(registry)?;
        let began = step.execute(
            "UPDATE request SET began = 1 WHERE id = ?1 AND began = 0 AND snippet IS NOT NULL
             AND state = 'approved' AND approver_pid IS ?2 AND approver_start IS ?3",
            params![id, own.map(|own| own.pid), own.map(|own| own.start.cast_signed())],
        )?;
        if began == 0 {
            return Ok(None);
        }
        // Where this process dies, all of it is lost.
        step.execute(
            "UPDATE request SET (approver_pid, approver_start, approver_place) =
             (SELECT approver_pid, approver_start, approver_place FROM request WHERE id = ?1)
             WHERE part_of = ?1 AND state = 'approved'",
            [id],
        )?;
        let verdicts = verdicts(&step, id)?;
        step.commit().map(|()| Some(verdicts))
    };
    match begin().map_err(|error| registry.fail(error))? {
        Some(verdicts) => Ok(verdicts),
        None => {
            let state = registry.request(id)?.row.state;
            Err(RegistryError::Decided { id: id.to_owned(), state })
        }
    }
}

/// The decision of each question of a snippet: why it was rejected, or nothing.
///
/// # Errors
/// `registry.io`
#[cfg(feature = "code")]
pub(crate) fn verdicts_of(
    registry: &Registry,
    id: &str,
) -> Result<Vec<Option<String>>, RegistryError> {
    verdicts(&registry.db, id).map_err(|error| registry.fail(error))
}

/// Lets a snippet wait again that this process claimed and of which nothing new ran; `false` where
/// that is not so.
///
/// # Errors
/// `registry.io`
#[cfg(any(feature = "code", test))]
pub(crate) fn unclaim_snippet(registry: &Registry, id: &str) -> Result<bool, RegistryError> {
    let Some(own) = ProcessId::own() else { return Ok(false) };
    wait_again(&registry.db, id, own).map_err(|error| registry.fail(error))
}

/// Lets a snippet wait again where this process claimed it and nothing new of it ran: the question
/// that was decided last is open again.
fn wait_again(db: &Connection, id: &str, by: ProcessId) -> rusqlite::Result<bool> {
    let changed = db.execute(
        "WITH claimed (id) AS MATERIALIZED (
             SELECT id FROM request
             WHERE EXISTS (SELECT 1 FROM request AS whole
              WHERE whole.id = ?1 AND whole.snippet IS NOT NULL AND whole.began = 0)
             AND (id = ?1 OR part_of = ?1) AND state = 'approved'
             AND approver_pid = ?2 AND approver_start = ?3),
         last (id) AS MATERIALIZED (
             SELECT request.id FROM request JOIN claimed USING (id) ORDER BY part DESC LIMIT 1)
         UPDATE request SET state = 'waiting',
         approver_pid = NULL, approver_start = NULL, approver_place = NULL,
         (said, decided_by, decided_at) =
          (SELECT said, decided_by, decided_at WHERE request.id NOT IN last)
         WHERE id IN claimed",
        params![id, by.pid, by.start.cast_signed()],
    )?;
    Ok(changed > 0)
}

/// Lets snippets wait again whose approver is gone before anything new of them ran.
pub(super) fn give_back(db: &Connection) -> rusqlite::Result<()> {
    let mut query = db.prepare(
        "SELECT id, approver_pid, approver_start, approver_place FROM request
         WHERE state = 'approved' AND snippet IS NOT NULL AND began = 0",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, approver(row, 1)?)))?;
    let claimed: Vec<(String, Option<ProcessId>)> = rows.collect::<Result<_, _>>()?;
    for (id, by) in claimed {
        let Some(by) = by.filter(|by| by.is_gone()) else { continue };
        wait_again(db, &id, by)?;
    }
    Ok(())
}

/// Ends the wait of snippets that were not decided in time.
pub(super) fn expire(registry: &Registry) -> rusqlite::Result<()> {
    let since = format!("-{SNIPPET_WAITS_S} seconds");
    let late = "SELECT id FROM request WHERE snippet IS NOT NULL AND state != 'approved'
                AND (state != 'waiting' OR held_by IS NULL)
                AND asked_at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?1)";
    // A reader takes no lock of a writer where there is nothing to write.
    let found: Option<String> =
        registry.db.query_row(late, [&since], |row| row.get(0)).optional()?;
    if found.is_none() {
        return Ok(());
    }
    let step = write_step(registry)?;
    let now = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";
    let decision = Decision { by: "rye".into(), at: step.query_row(now, [], |row| row.get(0))? };
    let ids: rusqlite::Result<Vec<String>> =
        step.prepare(late)?.query_map([&since], |row| row.get(0))?.collect();
    for id in ids? {
        let why = Some("nobody decided it within 7 days");
        decide_in(&step, &id, PendingState::Rejected, &decision, why)?;
        step.execute("UPDATE request SET snippet = NULL WHERE id = ?1", [&id])?;
    }
    step.commit()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Question, WaitingSnippet, begin_snippet, unclaim_snippet};
    use crate::diagnostic::Diagnose;
    use crate::registry::{Decision, NewRequest, PendingState, Registry, RequestKind};

    fn decision() -> Decision {
        Decision { by: "me".into(), at: "2026-11-21T10:00:01Z".into() }
    }

    fn now() -> String {
        jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap().to_string()
    }

    /// One that asks a question for each of these requests of tools.
    fn pause_all(registry: &mut Registry, requests: &[Option<&str>]) -> Vec<String> {
        let question = |request: Option<&str>| Question {
            item: "tool:acme/pay".into(),
            request: request.map(str::to_owned),
            ..Question::default()
        };
        let asked = WaitingSnippet {
            asked_at: &now(),
            project: Path::new("/p"),
            questions: &requests.iter().copied().map(question).collect::<Vec<_>>(),
            kept: "{}",
            tool: None,
            thread: None,
            run: None,
        };
        registry.pause(&asked).unwrap()
    }

    fn pause(registry: &mut Registry, request: Option<&str>) -> String {
        pause_all(registry, &[request]).remove(0)
    }

    fn postpone(registry: &mut Registry) -> String {
        let env = registry.env_digests(std::iter::empty()).unwrap();
        let asked = NewRequest {
            env: &env,
            asked_at: &now(),
            item: "tool:acme/pay",
            project: Path::new("/p"),
            kind: RequestKind::Tool,
            payload: b"{}",
            for_record: false,
            reason: "amount",
            message: "Pay?",
            thread: None,
            run: None,
            private: &[],
        };
        registry.postpone(&asked).unwrap()
    }

    fn kept(registry: &Registry) -> usize {
        let count = "SELECT count(snippet) FROM request";
        registry.db.query_row(count, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_a_tool_asked_below_a_snippet_is_decided_with_the_snippet_alone() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let own = postpone(&mut registry);
        let id = pause(&mut registry, Some(&own));
        let code = |error: crate::registry::RegistryError| error.code().name();
        assert_eq!(registry.claim(&own, &decision()).map_err(code), Err("pending.held"));
        assert_eq!(registry.reject(&own, &decision(), "no").map_err(code), Err("pending.held"));
        registry.claim(&id, &decision()).unwrap();
        assert_eq!(registry.claim(&own, &decision()).map_err(code), Err("pending.held"));
        begin_snippet(&registry, &id).unwrap();
        registry.claim(&own, &decision()).unwrap();
        let other = postpone(&mut registry);
        let id = pause(&mut registry, Some(&other));
        registry.reject(&id, &decision(), "no").unwrap();
        assert_eq!(registry.request(&other).unwrap().row.state, PendingState::Rejected);
    }

    #[test]
    fn what_nobody_decides_in_seven_days_is_rejected_and_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let own = postpone(&mut registry);
        let id = pause(&mut registry, Some(&own));
        let ask_at = |registry: &Registry, days: u32| {
            let sql = "UPDATE request SET asked_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?1)";
            registry.db.execute(sql, [format!("-{days} days")]).unwrap();
        };
        ask_at(&registry, 6);
        assert_eq!(registry.request(&id).unwrap().row.state, PendingState::Waiting);
        assert_eq!(kept(&registry), 1);
        ask_at(&registry, 8);
        let late = registry.request(&id).unwrap();
        assert_eq!((late.row.state, late.snippet), (PendingState::Rejected, None));
        assert_eq!(registry.request(&own).unwrap().row.state, PendingState::Rejected);
        assert_eq!(kept(&registry), 0);
        let error = registry.claim(&id, &decision()).unwrap_err();
        assert_eq!(error.code().name(), "pending.decided");
    }

    #[test]
    fn a_snippet_whose_approver_is_gone_waits_again_unless_something_new_ran() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let gone = |registry: &Registry| {
            registry.db.execute("UPDATE request SET approver_start = 0", []).unwrap();
        };
        let own = postpone(&mut registry);
        let id = pause(&mut registry, Some(&own));
        let state = |registry: &Registry| registry.request(&id).unwrap().row.state;
        registry.claim(&id, &decision()).unwrap();
        assert_eq!(state(&registry), PendingState::Approved);
        gone(&registry);
        assert_eq!(state(&registry), PendingState::Waiting);
        let row = registry.request(&id).unwrap().row;
        assert_eq!((row.decided_by, row.decided_at), (None, None));
        let held = registry.request(&own).unwrap().row.held_by;
        assert_eq!(held.as_deref(), Some(id.as_str()), "it is decided with the snippet still");
        // Who only seemed to be gone may not go on.
        let code = |error: crate::registry::RegistryError| error.code().name();
        assert_eq!(begin_snippet(&registry, &id).map_err(code), Err("pending.decided"));
        // The same where it is cleaned up behind the one that is gone, and not read.
        registry.claim(&id, &decision()).unwrap();
        gone(&registry);
        postpone(&mut registry);
        registry.claim(&id, &decision()).unwrap();
        assert!(unclaim_snippet(&registry, &id).unwrap());
        assert!(!unclaim_snippet(&registry, &id).unwrap());
        assert_eq!(state(&registry), PendingState::Waiting);
        registry.claim(&id, &decision()).unwrap();
        begin_snippet(&registry, &id).unwrap();
        assert!(!unclaim_snippet(&registry, &id).unwrap(), "something new may have run");
        assert_eq!(begin_snippet(&registry, &id).map_err(code), Err("pending.decided"));
        gone(&registry);
        assert_eq!(state(&registry), PendingState::Lost);
        assert_eq!(registry.claim(&id, &decision()).map_err(code), Err("pending.decided"));
    }

    #[test]
    fn a_snippet_that_ended_is_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let id = pause(&mut registry, None);
        assert_eq!(registry.request(&id).unwrap().snippet.as_deref(), Some("{}"));
        registry.claim(&id, &decision()).unwrap();
        assert_eq!(kept(&registry), 1);
        registry.finish(&id, "{}").unwrap();
        assert_eq!(kept(&registry), 0);
        let id = pause(&mut registry, None);
        registry.reject(&id, &decision(), "no").unwrap();
        assert_eq!(kept(&registry), 0);
    }
}
