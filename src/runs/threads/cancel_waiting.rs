//! Ending a thread that waits for a person: its request is withdrawn, and its record is closed if
//! that is possible. The thread above, which waits with it, does not go on by that; the answer
//! names it.

use std::path::Path;

use serde_json::json;

use super::known_runs::KnownRun;
use super::{Threads, VerifiedThread};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::Space;
use crate::registry::{Registry, RunState, ThreadRow};
use crate::thread::{
    ProvenRecord, Record, THREAD_CANCELLED, THREAD_ENDED, THREAD_KILLED, ThreadError,
};
use crate::verify::{KeyError, OwnKeys};

/// How a thread that waits for a person is to end.
pub(super) struct WaitingEnd<'a> {
    threads: Threads<'a>,
    status: RunState,
    why: Diagnostic,
}

impl<'a> WaitingEnd<'a> {
    pub(super) fn new(threads: Threads<'a>, status: RunState, why: &ThreadError) -> Self {
        Self { threads, status, why: Diagnostic::from(why) }
    }
}

impl WaitingEnd<'_> {
    /// Ends a thread that waits for a person, with those below that wait with it; `None` if it
    /// does not wait. A thread above that waits with it waits on; its model is told once that
    /// thread is resumed.
    ///
    /// # Errors
    /// `thread.record_io`, `registry.*`
    pub(super) fn end(&self, id: &str) -> Result<Option<KnownRun>, Failure> {
        let is_waiting = |row: &ThreadRow| row.state == RunState::Waiting;
        let known = self.threads.run(id)?;
        if !known.thread().is_some_and(is_waiting) {
            return Ok(None);
        }
        let Some(mut registry) = self.threads.registry()? else { return Ok(None) };
        let all = self.threads.tree(id)?;
        let all = all.iter().filter_map(|(_, known)| known.thread());
        let all: Vec<&ThreadRow> = all.filter(|row| is_waiting(row)).collect();
        let mut ended = Ok(());
        for (at, row) in all.iter().enumerate() {
            // Those below were ended with the first, and no other process goes on with them.
            let Ok(row) = registry.thread(&row.id)? else { continue };
            match row.claim(&mut registry, None, None, None)? {
                // The others end all the same.
                true => ended = ended.and(self.close(&mut registry, &row)),
                // It goes on elsewhere since.
                false if at == 0 => return Ok(None),
                false => {}
            }
        }
        ended?;
        self.threads.run(id).map(Some)
    }

    /// Ends a thread that this process took, with a final checkpoint where this process can sign.
    fn close(&self, registry: &mut Registry, row: &ThreadRow) -> Result<(), Failure> {
        let (status, code) = (self.status, self.why.code.name());
        let written = match self.opened(row) {
            Ok((mut record, ledger)) => {
                let ended = json!({
                    "status": status, "code": code, "outputs": null, "failure": self.why.to_json(),
                });
                let signed = record.event(THREAD_ENDED, ended);
                signed.and_then(|()| record.checkpoint(status.as_str(), ledger, true)).map(Some)
            }
            // What was signed when it began to wait is its last word.
            Err(failure) => {
                tracing::info!(id = row.run.id, code = failure.code(), "its record stays as it is");
                Ok(None)
            }
        };
        let last = written.as_ref().ok().and_then(Option::as_ref);
        let last = last.map(|(_, digest)| digest.to_string());
        // Without its last checkpoint it is one that was killed.
        let (status, code) =
            if written.is_ok() { (status, code) } else { (RunState::Killed, THREAD_KILLED.name()) };
        registry.end_thread(&row.id, status, Some(code), last.as_deref())?;
        Ok(written.map(drop)?)
    }

    /// The record of a thread, and what it has used.
    fn opened(&self, row: &ThreadRow) -> Result<(Record, serde_json::Value), Failure> {
        let pair =
            OwnKeys::new(self.threads.rye.spaces().get(Space::User).ok_or(KeyError::Missing)?)
                .pair()?;
        let VerifiedThread { checked, bytes, .. } = self.threads.verify(&row.id)?;
        let proven = usize::try_from(checked.proven_bytes).unwrap_or(bytes.len());
        let (checkpoints, last) = (checked.checkpoints, checked.last);
        let record = ProvenRecord { bytes, proven, checkpoints, last };
        let id = super::parsed(&row.id)?;
        let (record, _) = Record::reopen(Path::new(&row.base), id, pair, &record)?;
        Ok((record, checked.ledger))
    }
}

/// A thread that waited goes on, unless a person ended it.
///
/// # Errors
/// `thread.cancelled`, `thread.killed`
pub(super) fn was_not_ended(row: &ThreadRow) -> Result<(), Failure> {
    let (id, is_below) = (row.id.clone(), row.parent.is_some());
    match row.code.as_deref() {
        Some(code) if code == THREAD_CANCELLED.name() => {
            Err(ThreadError::Cancelled { id, is_below }.into())
        }
        Some(code) if code == THREAD_KILLED.name() => {
            Err(ThreadError::Killed { id, is_below }.into())
        }
        _ => Ok(()),
    }
}
