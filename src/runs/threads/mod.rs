//! Threads: which there are, and whether the record of one is what was signed.
//!
//! | | |
//! |---|---|
//! | `start.rs` | starts one; `prompt.rs` is what its model is told first, `verified_start.rs` what starts later, as it was verified |
//! | `tools.rs` | what its model calls: items, `own_tools.rs` and `find_tools.rs` of rye, `snippet_tool.rs`, and in the workspace |
//! | `backend.rs` | where that is: `local.rs` on this machine, its size bounded by `workspace_size.rs`; `opensandbox/` on a server |
//! | `denied.rs` | how a denied call is told; `own_paths.rs` hides the folders of the machine |
//! | `hooks.rs` | its hooks; `guardrails.rs` evals of what it hands over |
//! | `wait_for_person.rs` | one that waits for a person, and goes on; `detached_waits.rs` a detached tool that does |
//! | `resume.rs` | goes on with one that stopped |
//! | `cancel.rs` | ends one, `cancel_waiting.rs` one that waits |
//! | `known_runs.rs` | lists, finds and awaits threads and detached runs |
//! | `result.rs` | the result of one that ended, `failed_thread.rs` why it failed |
//! | `tail.rs` | one as it goes on, `export.rs` all of it as a document, `record_place.rs` where its record lies |
//!
//! Limits, models, permissions and their classes stand in `rye/thread_settings`.

mod backend;
mod cancel;
mod cancel_waiting;
mod denied;
mod detached_waits;
mod export;
mod failed_thread;
mod find_tools;
mod guardrails;
mod hooks;
mod known_runs;
mod local;
mod opensandbox;
mod own_paths;
mod own_tools;
mod prompt;
mod record_place;
mod result;
mod resume;
#[cfg(feature = "code")]
mod snippet_tool;
mod start;
mod tail;
mod tools;
mod verified_start;
mod wait_for_person;
mod workspace_size;

pub(crate) use cancel::waiting_above;
pub(super) use detached_waits::CarriedOutFor;
pub(crate) use export::ExportedThread;
pub(super) use known_runs::is_asked_to_stop;
pub(crate) use known_runs::{KnownRun, ask_node, full_run_id, newest_run};
pub(crate) use result::listed_runs;
pub(super) use resume::ThreadStart;
pub(crate) use tail::TailEnd;
pub(crate) use wait_for_person::{WaitingThreads, WaitsOn};

use std::path::{Path, PathBuf};

use record_place::{finding, placed};
use serde_json::Value;

use super::remote::RemoteRow;
use crate::base::Digest;
use crate::base::bytes::{Bounded, read_plain};
use crate::base::limits::THREAD_RECORD_BYTES;
use crate::diagnostic::Failure;
use crate::id::{Fingerprint, Space};
use crate::registry::{PooledRegistry, REGISTRY_NEWER, RunState, ThreadRow};
use crate::rye::Rye;
use crate::thread::{
    CheckedFiles, CheckedRecord, RecordFinding, ThreadError, ThreadId, check_files, check_record,
    transcript,
};
use crate::trust::revoked_at;
use crate::verify::PublicKey;

/// How often a record is read by one that verifies it, where what the registry knows of its thread
/// changes meanwhile.
const THREAD_READINGS: usize = 4;

/// A record that holds, and what is known of its thread.
#[derive(Debug)]
pub(crate) struct VerifiedThread {
    /// `None` if the registry does not know it, or cannot be read by this rye: then the record may
    /// be older than the thread.
    pub(crate) row: Option<ThreadRow>,
    pub(crate) path: PathBuf,
    pub(crate) checked: CheckedRecord,
    /// The files beside its transcript.
    pub(crate) files: CheckedFiles,
    /// Its `thread.json`, where it has one.
    pub(crate) thread_file: Option<Value>,
    pub(crate) bytes: Vec<u8>,
}

/// Threads: starting one, which there are, and whether a record holds.
#[derive(Clone, Copy)]
pub(crate) struct Threads<'a> {
    rye: &'a Rye,
}

impl<'a> Threads<'a> {
    fn registry(self) -> Result<Option<PooledRegistry<'a>>, Failure> {
        let Some(user) = self.rye.spaces().get(Space::User) else { return Ok(None) };
        Ok(self.rye.registries.find(user.base())?)
    }

    pub(crate) fn new(rye: &'a Rye) -> Self {
        Self { rye }
    }
}

impl Threads<'_> {
    /// One thread, and its events as they stand in its record, which is not checked.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.record_io`, `registry.*`
    pub(crate) fn show(self, id: &str) -> Result<(ThreadRow, Vec<u8>), Failure> {
        let id = parsed(id)?;
        let row = self.row(&id)?;
        let row = row.map_err(|near| ThreadError::NotFound { id: id.to_string(), near })?;
        let bytes = read(Path::new(&row.base), &id)?.1;
        Ok((row, bytes))
    }

    /// Checks the record of a thread: every byte up to its last checkpoint, that this is the newest
    /// that the registry knows, that its `thread.json` says the same, and that each blob that those
    /// bytes name is there as it was kept.
    ///
    /// # Errors
    /// `thread.record_invalid`, `thread.key_revoked`, `thread.key_not_yours`, `thread.not_found`,
    /// `thread.no_record`, `thread.record_io`, `registry.*`
    pub(crate) fn verify(self, id: &str) -> Result<VerifiedThread, Failure> {
        if let (Ok(known), Ok(thread)) = (self.run(id), id.parse::<ThreadId>())
            && let Some(remote) = known_runs::remote_row(&known)
        {
            return verify_remote(self.rye, &remote, &thread);
        }
        let id = with_record(self, id)?;
        let mut row = row_if_readable(self, &id)?;
        let mut readings = 0;
        loop {
            let finding = match checked(self, &id, row.clone())? {
                Ok(verified) => return Ok(verified),
                Err(finding) => finding,
            };
            // Its process may have written in between.
            let before = std::mem::replace(&mut row, row_if_readable(self, &id)?);
            readings += 1;
            if before == row || readings == THREAD_READINGS {
                return Err(ThreadError::RecordInvalid { id, finding }.into());
            }
        }
    }

    fn row(self, id: &ThreadId) -> Result<Result<ThreadRow, Vec<String>>, Failure> {
        let Some(mut registry) = self.registry()? else { return Ok(Err(Vec::new())) };
        match registry.thread(id.as_str())? {
            Ok(row) => placed(self, row, id).map(Ok),
            Err(near) => Ok(Err(near)),
        }
    }

    /// The person's key with that fingerprint, also one that was replaced; or why it is none.
    fn key(self, key: Fingerprint) -> Result<PublicKey, RecordFinding> {
        let trust = self.rye.trust();
        match trust.is_revoked(key) {
            Ok(false) => {}
            Ok(true) => {
                return Err(RecordFinding::RevokedKey { key, at: revoked_at(&trust, key) });
            }
            Err(error) => return Err(error.to_string().into()),
        }
        if !trust.is_yours(key) {
            return Err(RecordFinding::ForeignKey { key });
        }
        let believed = trust.receipt_key(key, self.rye.spaces().project_identity());
        let believed = believed.map(|believed| believed.key);
        believed.map_err(|_| format!("its key {key} does not count").into())
    }
}

/// Checks the record of a thread that a node runs, by the node's key; blobs stay there.
fn verify_remote(rye: &Rye, remote: &RemoteRow, id: &ThreadId) -> Result<VerifiedThread, Failure> {
    let (bytes, url, node) = remote.record(rye, id.as_str())?;
    let of_node = |key| match key == node.fingerprint() {
        true => Ok(node.clone()),
        false => Err(format!("its key {key} is not the node's").into()),
    };
    let checked = check_record(&bytes, id, &of_node);
    if let Some(finding) = checked.finding {
        return Err(ThreadError::RecordInvalid { id: id.clone(), finding }.into());
    }
    let (path, files) = (PathBuf::from(url), CheckedFiles::default());
    Ok(VerifiedThread { row: None, path, checked, files, thread_file: None, bytes })
}

/// The threads, for a caller that no thread started: the words and acts of threads are hidden from
/// everything that a thread starts.
///
/// # Errors
/// `thread.outside`
pub(crate) fn threads_from_outside(rye: &Rye) -> Result<Threads<'_>, Failure> {
    match rye.above().has_thread() {
        true => Err(ThreadError::Within.into()),
        false => Ok(Threads::new(rye)),
    }
}

/// The id of a thread.
///
/// # Errors
/// `thread.not_found`; `thread.no_record` where it is that of a run that has none, or none yet.
fn with_record(threads: Threads<'_>, id: &str) -> Result<ThreadId, Failure> {
    let known = threads.run(id);
    if let Ok(known) = known
        && known.thread().is_none()
    {
        let (item, state) = (known.row.item.clone(), known.state());
        return Err(ThreadError::NoRecord { id: id.to_owned(), item, state }.into());
    }
    Ok(parsed(id)?)
}

/// # Errors
/// `thread.not_found`
fn parsed(id: &str) -> Result<ThreadId, ThreadError> {
    id.parse().map_err(|()| ThreadError::NotFound { id: id.to_owned(), near: Vec::new() })
}

/// # Errors
/// `thread.record_io`
fn read(base: &Path, id: &ThreadId) -> Result<(PathBuf, Vec<u8>), ThreadError> {
    let path = transcript(base, id);
    let read = read_plain(&path, THREAD_RECORD_BYTES).and_then(|read| match read {
        Bounded::All(bytes) => Ok(bytes),
        Bounded::More => Err(std::io::Error::other("it is larger than 512 MiB")),
    });
    match read {
        Ok(bytes) => Ok((path, bytes)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(ThreadError::RecordGone { id: id.clone(), path })
        }
        Err(source) => Err(ThreadError::Record { path, source }),
    }
}

/// The row of a thread; none if a newer rye wrote the registry.
fn row_if_readable(
    threads: Threads<'_>,
    id: &ThreadId,
) -> Result<Result<ThreadRow, Vec<String>>, Failure> {
    match threads.row(id) {
        Err(failure) if failure.reason() == REGISTRY_NEWER => Ok(Err(Vec::new())),
        row => row,
    }
}

/// One reading of a record, behind what the registry knew just before.
fn checked(
    threads: Threads<'_>,
    id: &ThreadId,
    row: Result<ThreadRow, Vec<String>>,
) -> Result<Result<VerifiedThread, RecordFinding>, Failure> {
    // What the registry does not know may have been copied here.
    let base = match &row {
        Ok(row) => PathBuf::from(&row.base),
        Err(near) => {
            let bases = [Space::Project, Space::User];
            let bases = bases.into_iter().filter_map(|space| threads.rye.spaces().get(space));
            let mut bases = bases.map(|root| root.base().to_owned());
            let found = bases.find(|base| transcript(base, id).is_file());
            let (id, near) = (id.to_string(), near.clone());
            found.ok_or(ThreadError::NotFound { id, near })?
        }
    };
    let (path, bytes) = read(&base, id)?;
    let checked = check_record(&bytes, id, &|key| threads.key(key));
    let row = row.ok();
    if let Some(finding) = finding(&checked, row.as_ref()) {
        return Ok(Err(finding));
    }
    let proven = usize::try_from(checked.proven_bytes).unwrap_or(bytes.len());
    let proven = &bytes[..proven.min(bytes.len())];
    let folder = path.parent().unwrap_or(&base);
    let files = check_files(folder, proven, id, &|key| threads.key(key));
    Ok(files.map(|(files, thread_file)| VerifiedThread {
        row,
        path,
        checked,
        files,
        thread_file,
        bytes,
    }))
}

/// A fact of the registry that the record does not confirm.
fn missing(checked: &CheckedRecord, row: Option<&ThreadRow>) -> Option<RecordFinding> {
    let Some(row) = row else {
        let why = "the registry does not know the thread, and the record is not at its end";
        return (!checked.is_final).then(|| why.to_owned().into());
    };
    let is = |digest: Option<Digest>| digest.map(|d| d.to_string()) == row.checkpoint;
    if row.state == RunState::Running {
        // It was written on since the registry said so, and only grows.
        let known = row.checkpoint.as_ref().map(|known| known.parse::<Digest>());
        let is_there =
            known.is_none_or(|known| known.is_ok_and(|it| checked.digests.contains(&it)));
        let why = "a checkpoint that the registry knows is missing";
        return (!is_there).then(|| why.to_owned().into());
    }
    let has_ended = matches!(
        row.state,
        RunState::Completed | RunState::Failed | RunState::Cancelled | RunState::Waiting
    );
    if has_ended && !checked.is_final {
        let why = format!("the thread is {}, and its final checkpoint is missing", row.state);
        return Some(why.into());
    }
    // A process that was killed in between has written one more than the registry knows.
    let is_newest = is(checked.last) || (!has_ended && is(checked.before_last));
    (!is_newest).then(|| "the registry knows another checkpoint as the newest".to_owned().into())
}
