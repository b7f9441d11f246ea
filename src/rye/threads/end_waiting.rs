//! Ending a thread that waits for a person: what it asked is withdrawn, its record is closed, and
//! the thread above that waits with it goes on.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::life::KnownRun;
use super::resume::GoingOn;
use super::{Threads, VerifiedThread};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::Space;
use crate::registry::{Registry, ThreadRow};
use crate::thread::{
    ProvenRecord, Record, THREAD_CANCELLED, THREAD_ENDED, THREAD_KILLED, THREAD_STILL_RUNS,
    ThreadError,
};
use crate::trace::Quiet;
use crate::verify::{KeyError, OwnKeys};

/// How a thread that waits for a person is to end.
pub(super) struct WaitingEnd<'a> {
    threads: Threads<'a>,
    status: &'a str,
    why: Diagnostic,
}

impl<'a> WaitingEnd<'a> {
    pub(super) fn new(threads: Threads<'a>, status: &'a str, why: &ThreadError) -> Self {
        Self { threads, status, why: Diagnostic::from(why) }
    }
}

impl WaitingEnd<'_> {
    /// Ends a thread that waits for a person, with those below that wait with it; `None` where it
    /// does not wait. Where a thread above waits with it, that goes on here, and its model is told.
    ///
    /// # Errors
    /// `thread.record_io`, `registry.*`; those of the thread above, where that waits on.
    pub(super) fn end(&self, id: &str) -> Result<Option<KnownRun>, Failure> {
        let is_waiting = |row: &ThreadRow| row.status == "waiting";
        let known = self.threads.run(id)?;
        if !known.thread.as_ref().is_some_and(is_waiting) {
            return Ok(None);
        }
        let Some(mut registry) = self.threads.registry()? else { return Ok(None) };
        let all = self.threads.tree(id)?.into_iter().filter_map(|(_, known)| known.thread);
        let all: Vec<ThreadRow> = all.filter(is_waiting).collect();
        for (at, row) in all.iter().enumerate() {
            // Those below were ended with the first, and are nobody else's.
            let Ok(row) = registry.thread(&row.id)? else { continue };
            match row.claim(&mut registry, None, None, None)? {
                true => self.close(&mut registry, &row)?,
                // It goes on elsewhere since.
                false if at == 0 => return Ok(None),
                false => {}
            }
        }
        self.go_on_above(&mut registry, known.thread.as_ref())?;
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
                signed.and_then(|()| record.checkpoint(status, ledger, true)).map(Some)
            }
            // What was signed when it began to wait is its last word.
            Err(failure) => {
                tracing::info!(id = row.id, code = failure.code(), "its record stays as it is");
                Ok(None)
            }
        };
        let last = written.as_ref().ok().and_then(Option::as_ref);
        let last = last.map(|(_, digest)| digest.to_string());
        registry.end_thread(&row.id, status, Some(code), last.as_deref())?;
        Ok(written.map(drop)?)
    }

    /// The record of a thread, and what it has used.
    fn opened(&self, row: &ThreadRow) -> Result<(Record, serde_json::Value), Failure> {
        let pair = OwnKeys::new(self.threads.rye.spaces.get(Space::User).ok_or(KeyError::Missing)?)
            .pair()?;
        let VerifiedThread { checked, bytes, .. } = self.threads.verify(&row.id)?;
        let proven = usize::try_from(checked.proven_bytes).unwrap_or(bytes.len());
        let (checkpoints, last) = (checked.checkpoints, checked.last);
        let record = ProvenRecord { bytes, proven, checkpoints, last };
        let id = super::parsed(&row.id)?;
        let (record, _) = Record::reopen(Path::new(&row.base), id, pair, &record)?;
        Ok((record, checked.ledger))
    }

    /// Goes on with the thread at the top of those that waited with one that ended.
    fn go_on_above(
        &self,
        registry: &mut Registry,
        ended: Option<&ThreadRow>,
    ) -> Result<(), Failure> {
        let mut next = ended.and_then(|row| row.parent.clone());
        let mut top = None;
        while let Some(id) = next {
            let above = registry.thread(&id)?.ok().filter(|row| row.status == "waiting");
            next = above.as_ref().and_then(|row| row.parent.clone());
            top = above.map(|row| row.id).or(top);
        }
        let Some(top) = top else { return Ok(()) };
        let begin = Instant::now();
        let request = self.threads.resuming(&top, GoingOn::default());
        let came = request.and_then(|request| {
            let ran = self.threads.rye.runs().run(&request, begin, &Quiet);
            ran.map(drop).map_err(|failed| failed.failure)
        });
        let Err(failure) = came else { return Ok(()) };
        let waits = registry.thread(&top)?.is_ok_and(|row| row.status == "waiting");
        // Where it ended since, that is its own to say.
        match waits && failure.reason() != THREAD_STILL_RUNS {
            true => Err(failure),
            false => Ok(()),
        }
    }
}

/// A thread below goes on, unless a person ended it while it waited.
///
/// # Errors
/// `thread.cancelled`, `thread.killed`
pub(super) fn was_not_ended(threads: Threads<'_>, id: &str) -> Result<(), Failure> {
    let Ok(row) = threads.row(&super::parsed(id)?)? else { return Ok(()) };
    let id = row.id;
    match row.code.as_deref() {
        Some(code) if code == THREAD_CANCELLED.name() => Err(ThreadError::Cancelled { id }.into()),
        Some(code) if code == THREAD_KILLED.name() => Err(ThreadError::Killed { id }.into()),
        _ => Ok(()),
    }
}
