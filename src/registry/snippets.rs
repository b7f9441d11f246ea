//! Snippets that wait for a person: a request like any other, beside which lies what is needed to
//! run the snippet again. It is removed with the request, and a week after it was asked for.
//!
//! Who approves a snippet claims it and runs it again up to where it was. Nothing new ran until it
//! says that it begins; so where it dies before that, the request waits as before.

#[cfg(any(feature = "code", test))]
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::approver::Approver;
use super::db::Registry;
#[cfg(any(feature = "code", test))]
use super::db::WriteStep;
#[cfg(any(feature = "code", test))]
use super::env_digests::EnvDigests;
#[cfg(any(feature = "code", test))]
use super::error::RegistryError;
use super::pending::approver;
#[cfg(any(feature = "code", test))]
use super::pending::{make_room, new_id, private_text, prune};
use crate::base::durations::SNIPPET_WAITS_S;

/// A snippet that is to wait, before it is kept.
#[cfg(any(feature = "code", test))]
#[derive(Debug)]
pub(crate) struct WaitingSnippet<'a> {
    pub(crate) asked_at: &'a str,
    /// The item of the call that waits; of a saved snippet its own.
    pub(crate) item: &'a str,
    pub(crate) project: &'a Path,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// What is needed to run it again.
    pub(crate) kept: &'a str,
    /// Requests that tools made below it: they are decided with it.
    pub(crate) requests: &'a [&'a str],
    /// The run that it is, where it is saved as a tool.
    pub(crate) tool: Option<WaitingTool<'a>>,
    /// The thread that waits with it.
    pub(crate) thread: Option<&'a str>,
}

/// The run of a saved snippet that waits.
#[cfg(any(feature = "code", test))]
#[derive(Debug)]
pub(crate) struct WaitingTool<'a> {
    /// A plan file with its parameters.
    pub(crate) plan: &'a [u8],
    /// The plan was made for the record, with the digests of its programs.
    pub(crate) for_record: bool,
    /// What the project's `.env` gave to the run.
    pub(crate) env: &'a EnvDigests,
    /// What of its parameters is shown to nobody.
    pub(crate) private: &'a [String],
}

impl Registry {
    /// Keeps a snippet that waits and gives the id of the request.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    #[cfg(any(feature = "code", test))]
    pub(crate) fn pause(&mut self, asked: &WaitingSnippet<'_>) -> Result<String, RegistryError> {
        let path = self.path.clone();
        let fail = |source| RegistryError::Sql { path: path.clone(), source };
        let id = new_id(&path)?;
        let step = WriteStep::begin(self).map_err(fail)?;
        let plan = asked.tool.as_ref().map_or(0, |tool| tool.plan.len());
        make_room(&step, asked.kept.len() + plan, fail)?;
        insert(&step, &id, asked).map_err(fail)?;
        prune(&step).map_err(fail)?;
        step.commit().map_err(fail)?;
        Ok(id)
    }
}

#[cfg(any(feature = "code", test))]
fn insert(step: &Connection, id: &str, asked: &WaitingSnippet<'_>) -> rusqlite::Result<()> {
    let tool = asked.tool.as_ref();
    step.execute(
        "INSERT INTO pending (id, asked_at, item, project, plan, for_record, reason, message, env, thread,
         private, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'waiting')",
        params![
            id,
            asked.asked_at,
            asked.item,
            asked.project.to_string_lossy(),
            tool.map_or(&[][..], |tool| tool.plan),
            tool.is_some_and(|tool| tool.for_record),
            asked.reason,
            asked.message,
            tool.map(|tool| tool.env.to_text()),
            asked.thread,
            tool.and_then(|tool| private_text(tool.private)),
        ],
    )?;
    step.execute("INSERT INTO snippet (id, kept) VALUES (?1, ?2)", params![id, asked.kept])?;
    for request in asked.requests {
        step.execute("UPDATE pending SET held_by = ?1 WHERE id = ?2", params![id, request])?;
    }
    Ok(())
}

/// A snippet that this process claimed is where it was: from here on it runs what is new, and
/// what tools asked below it is decided when it comes to that.
///
/// # Errors
/// `pending.decided`: it is not claimed by this process any more; `registry.io`
#[cfg(any(feature = "code", test))]
pub(crate) fn begin_snippet(registry: &Registry, id: &str) -> Result<(), RegistryError> {
    let own = Approver::own();
    let begin = || {
        let step = registry.db.unchecked_transaction()?;
        let began = step.execute(
            "UPDATE snippet SET began = 1 WHERE id = ?1 AND began = 0 AND EXISTS
             (SELECT 1 FROM pending WHERE id = ?1 AND state = 'approved'
              AND approver_pid IS ?2 AND approver_start IS ?3)",
            params![id, own.map(|own| own.pid), own.map(|own| own.start.cast_signed())],
        )?;
        free(&step, id)?;
        if began == 1 { step.commit().map(|()| true) } else { Ok(false) }
    };
    match begin().map_err(|error| registry.fail(error))? {
        true => Ok(()),
        false => {
            let state = registry.request(id)?.row.state;
            Err(RegistryError::Decided { id: id.to_owned(), state })
        }
    }
}
/// Lets a snippet wait again that this process claimed and of which nothing new ran; `false` where
/// that is not so.
///
/// # Errors
/// `registry.io`
#[cfg(any(feature = "code", test))]
pub(crate) fn unclaim_snippet(registry: &Registry, id: &str) -> Result<bool, RegistryError> {
    let Some(own) = Approver::own() else { return Ok(false) };
    wait_again(&registry.db, id, own).map_err(|error| registry.fail(error))
}

/// Lets a snippet wait again where this process claimed it and nothing new of it ran.
fn wait_again(db: &Connection, id: &str, by: Approver) -> rusqlite::Result<bool> {
    let changed = db.execute(
        "UPDATE pending SET state = 'waiting', decided_by = NULL, decided_at = NULL,
         approver_pid = NULL, approver_start = NULL, approver_place = NULL WHERE id = ?1 AND state = 'approved'
         AND approver_pid = ?2 AND approver_start = ?3
         AND EXISTS (SELECT 1 FROM snippet WHERE snippet.id = ?1 AND began = 0)",
        params![id, by.pid, by.start.cast_signed()],
    )?;
    Ok(changed == 1)
}

/// Notes that a snippet was claimed of which nothing new ran.
pub(super) fn claimed(step: &Connection, id: &str) -> rusqlite::Result<()> {
    let is_there = step.execute("UPDATE snippet SET began = 0 WHERE id = ?1", [id])?;
    if is_there == 0 { free(step, id) } else { Ok(()) }
}

/// Each of the requests below one is decided by itself from here on.
pub(super) fn free(step: &Connection, id: &str) -> rusqlite::Result<()> {
    step.execute("UPDATE pending SET held_by = NULL WHERE held_by = ?1", [id]).map(drop)
}

/// Lets snippets wait again whose approver is gone before anything new of them ran.
pub(super) fn give_back(db: &Connection) -> rusqlite::Result<()> {
    let mut query = db.prepare(
        "SELECT p.id, p.approver_pid, p.approver_start, p.approver_place FROM pending p
         JOIN snippet s ON s.id = p.id WHERE p.state = 'approved' AND s.began = 0",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, approver(row, 1)?)))?;
    let claimed: Vec<(String, Option<Approver>)> = rows.collect::<Result<_, _>>()?;
    for (id, by) in claimed {
        let Some(by) = by.filter(|by| by.is_gone()) else { continue };
        wait_again(db, &id, by)?;
    }
    Ok(())
}

/// Ends the wait of snippets that nobody decided in time.
pub(super) fn expire(db: &Connection) -> rusqlite::Result<()> {
    let since = format!("-{SNIPPET_WAITS_S} seconds");
    let late = "SELECT s.id FROM snippet s JOIN pending p ON p.id = s.id
                WHERE p.state != 'approved'
                AND p.asked_at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?1)";
    // A reader takes no lock of a writer where there is nothing to write.
    let found: Option<String> = db.query_row(late, [&since], |row| row.get(0)).optional()?;
    if found.is_none() {
        return Ok(());
    }
    let step = db.unchecked_transaction()?;
    step.execute(
        &format!(
            "UPDATE pending SET state = 'rejected', decided_by = 'rye', decided_at =
             strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), result = 'nobody decided it within 7 days'
             WHERE state = 'waiting' AND (id IN ({late}) OR held_by IN ({late}))"
        ),
        [&since],
    )?;
    step.execute(&format!("DELETE FROM snippet WHERE id IN ({late})"), [&since])?;
    step.commit()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{WaitingSnippet, begin_snippet, unclaim_snippet};
    use crate::diagnostic::Diagnose;
    use crate::registry::{Decision, PendingState, Postponed, Registry};

    fn decision() -> Decision {
        Decision { by: "me".into(), at: "2026-11-21T10:00:01Z".into() }
    }

    fn now() -> String {
        jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap().to_string()
    }

    fn pause(registry: &mut Registry, requests: &[&str]) -> String {
        let asked = WaitingSnippet {
            asked_at: &now(),
            item: "tool:acme/pay",
            project: Path::new("/p"),
            reason: "effects",
            message: "Pay?",
            kept: "{}",
            requests,
            tool: None,
            thread: None,
        };
        registry.pause(&asked).unwrap()
    }

    fn postpone(registry: &mut Registry) -> String {
        let env = registry.env_digests(std::iter::empty()).unwrap();
        let asked = Postponed {
            env: &env,
            asked_at: &now(),
            item: "tool:acme/pay",
            project: Path::new("/p"),
            plan: b"{}",
            for_record: false,
            reason: "amount",
            message: "Pay?",
            thread: None,
            private: &[],
        };
        registry.postpone(&asked).unwrap()
    }

    fn kept(registry: &Registry) -> usize {
        let count = "SELECT count(*) FROM snippet";
        registry.db.query_row(count, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_a_tool_asked_below_a_snippet_is_decided_with_the_snippet_alone() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let own = postpone(&mut registry);
        let id = pause(&mut registry, &[&own]);
        let code = |error: crate::registry::RegistryError| error.code().name();
        assert_eq!(registry.claim(&own, &decision()).map_err(code), Err("pending.held"));
        assert_eq!(registry.reject(&own, &decision(), "no").map_err(code), Err("pending.held"));
        registry.claim(&id, &decision()).unwrap();
        assert_eq!(registry.claim(&own, &decision()).map_err(code), Err("pending.held"));
        begin_snippet(&registry, &id).unwrap();
        registry.claim(&own, &decision()).unwrap();
        let other = postpone(&mut registry);
        let id = pause(&mut registry, &[&other]);
        registry.reject(&id, &decision(), "no").unwrap();
        registry.reject(&other, &decision(), "no").unwrap();
        assert_eq!(registry.request(&other).unwrap().row.state, PendingState::Rejected);
    }

    #[test]
    fn what_nobody_decides_in_seven_days_is_rejected_and_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(home.path()).unwrap();
        let own = postpone(&mut registry);
        let id = pause(&mut registry, &[&own]);
        let ask_at = |registry: &Registry, days: u32| {
            let sql = "UPDATE pending SET asked_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?1)";
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
            registry.db.execute("UPDATE pending SET approver_start = 0", []).unwrap();
        };
        let own = postpone(&mut registry);
        let id = pause(&mut registry, &[&own]);
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
        let id = pause(&mut registry, &[]);
        assert_eq!(registry.request(&id).unwrap().snippet.as_deref(), Some("{}"));
        registry.claim(&id, &decision()).unwrap();
        assert_eq!(kept(&registry), 1);
        registry.finish(&id, "{}").unwrap();
        assert_eq!(kept(&registry), 0);
        let id = pause(&mut registry, &[]);
        registry.reject(&id, &decision(), "no").unwrap();
        assert_eq!(kept(&registry), 0);
    }
}
