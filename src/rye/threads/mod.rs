//! Threads: which there are, and whether the record of one is what was signed.
//!
//! `fork.rs` starts one · `settings.rs` its limits and its model, `project_provider.rs` one of a
//! project · `permissions.rs` what it may reach, `risk.rs` how grave that is · `calls.rs` what its
//! model calls, `denied.rs` what of that is told as denied, `own_paths.rs` what it is not told of,
//! `own_tools.rs`, `find_tools.rs` and `snippet_tool.rs` of rye itself and `local.rs` in the
//! sandbox of the thread, `workspace_size.rs` what lies there · `life.rs` waiting for one, of tools
//! that run detached too, `stop.rs` ending one, `failed_thread.rs` why one failed, `outcome.rs`
//! what came of one · `places.rs` how many of these run at once · `verified.rs` what starts later ·
//! `resume.rs` one that goes on, `waits.rs` one that waits for a person, `end_waiting.rs` ending
//! such a one, `waiting_runs.rs` a detached tool that waits · `below.rs` a rye that something in
//! one started · `watch.rs` the hooks of one, `guardrails.rs` evals of what it hands over ·
//! `tail.rs` what one does, as it does it, `export.rs` the whole of one as a document · `placed.rs`
//! where its record lies

mod below;
mod calls;
mod denied;
mod end_waiting;
mod export;
mod failed_thread;
mod find_tools;
mod fork;
mod guardrails;
mod life;
mod local;
mod outcome;
mod own_paths;
mod own_tools;
mod permissions;
mod placed;
mod places;
mod project_provider;
mod prompt;
mod resume;
mod risk;
mod said_limits;
mod settings;
#[cfg(feature = "code")]
mod snippet_tool;
mod stop;
mod tail;
mod verified;
mod waiting_runs;
mod waits;
mod watch;
mod workspace_size;

pub(crate) use export::ExportedThread;
pub(crate) use fork::Forked;
pub(super) use life::is_asked_to_stop;
pub(crate) use life::{KnownRun, full_run_id};
pub(crate) use outcome::listed_runs;
pub(super) use places::max_async;
pub(super) use resume::Resuming;
pub(super) use settings::check_settings;
pub(crate) use stop::waiting_above;
pub(crate) use tail::TailEnd;
pub(in crate::rye) use waiting_runs::CarriedOutFor;
pub(crate) use waits::{RejectedInThread, WaitingThreads, WaitsOn};

use std::path::{Path, PathBuf};
use std::time::Instant;

use placed::{finding, placed};
use serde_json::Value;

use super::facade::Rye;
use crate::base::Digest;
use crate::base::bytes::{Bounded, read_plain};
use crate::base::limits::{THREAD_READINGS, THREAD_RECORD_BYTES};
use crate::diagnostic::Failure;
use crate::id::{Fingerprint, Grants, Space};
use crate::registry::{PendingRequest, REGISTRY_NEWER, Registry, ThreadRow};
use crate::thread::{
    CheckedFiles, CheckedRecord, RecordFinding, ThreadError, ThreadId, check_files, check_record,
    transcript,
};
use crate::trust::revoked_at;
use crate::verify::PublicKey;

/// The thread whose model asks for another one.
#[derive(Debug, Clone)]
pub(crate) struct ThreadParent {
    pub(super) id: ThreadId,
    /// What it may read; what it may run goes with every request.
    fetch: Grants,
    /// What it may ask a person to sign.
    sign: Grants,
    /// It waits where one of its calls asks a person.
    can_wait: bool,
    /// When its time is over, for the hooks of its calls.
    pub(super) until: Option<Instant>,
}

impl ThreadParent {
    /// The thread that waits where this asks a person.
    pub(super) fn waiting(&self) -> Option<&str> {
        self.can_wait.then(|| self.id.as_str())
    }

    /// The thread that waits with a request, for what is only planned anew; `None` where none does.
    pub(super) fn that_waits(request: &PendingRequest) -> Option<Self> {
        let id = request.row.thread.as_deref()?.parse().ok()?;
        let nothing = || Grants::new(Vec::new());
        Some(Self { id, fetch: nothing(), sign: nothing(), can_wait: true, until: None })
    }

    /// The thread of a snippet that goes on in another process than the thread: its tools are below
    /// the thread, and neither read, ask for signatures nor wait as the thread does.
    #[cfg(feature = "code")]
    pub(super) fn of_snippet(id: ThreadId) -> Self {
        let nothing = || Grants::new(Vec::new());
        Self { id, fetch: nothing(), sign: nothing(), can_wait: false, until: None }
    }

    #[cfg(feature = "code")]
    pub(super) fn id(&self) -> &ThreadId {
        &self.id
    }

    /// The same for calls that are decided with the one that they are part of.
    #[cfg(feature = "code")]
    pub(super) fn without_waiting(self) -> Self {
        Self { can_wait: false, ..self }
    }
}

/// A record that holds, and what is known of its thread.
#[derive(Debug)]
pub(crate) struct VerifiedThread {
    /// `None` where the registry does not know it, or cannot be read by this rye: then nobody can
    /// tell whether the record is as new as the thread is.
    pub(crate) row: Option<ThreadRow>,
    pub(crate) path: PathBuf,
    pub(crate) checked: CheckedRecord,
    /// What stands beside its transcript.
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
        let id = with_record(self, id)?;
        let mut row = row_if_readable(self, &id)?;
        let mut readings = 0;
        loop {
            let finding = match checked(self, &id, row.clone())? {
                Ok(verified) => return Ok(verified),
                Err(finding) => finding,
            };
            // Whoever writes it, or goes on with it, may have done so in between.
            let before = std::mem::replace(&mut row, row_if_readable(self, &id)?);
            readings += 1;
            if before == row || readings == THREAD_READINGS {
                return Err(ThreadError::RecordInvalid { id, finding }.into());
            }
        }
    }

    fn registry(self) -> Result<Option<Registry>, Failure> {
        let Some(user) = self.rye.spaces.get(Space::User) else { return Ok(None) };
        Ok(Registry::find(user.base())?)
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
        let believed = trust.receipt_key(key, self.rye.spaces.project_identity());
        let believed = believed.map(|believed| believed.key);
        believed.map_err(|_| format!("its key {key} does not count").into())
    }
}

/// The threads for whoever asked this process, which no thread may have started: what is said and
/// done in a thread is hidden from everything that a thread starts.
///
/// # Errors
/// `thread.outside`
pub(crate) fn threads_from_outside(rye: &Rye) -> Result<Threads<'_>, Failure> {
    match rye.is_below_a_thread() {
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
        && known.thread.is_none()
    {
        let (item, state) = (known.item().to_owned(), known.state().to_owned());
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

/// What the registry knows of a thread; nothing where a newer rye wrote it.
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
            let bases = bases.into_iter().filter_map(|space| threads.rye.spaces.get(space));
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

/// What a record lacks of what the registry knows.
fn missing(checked: &CheckedRecord, row: Option<&ThreadRow>) -> Option<RecordFinding> {
    let Some(row) = row else {
        let why = "the registry does not know the thread, and the record is not at its end";
        return (!checked.is_final).then(|| why.to_owned().into());
    };
    let is = |digest: Option<Digest>| digest.map(|d| d.to_string()) == row.checkpoint;
    if row.status == "running" {
        // It was written on since the registry said so, and only grows.
        let known = row.checkpoint.as_ref().map(|known| known.parse::<Digest>());
        let is_there =
            known.is_none_or(|known| known.is_ok_and(|it| checked.digests.contains(&it)));
        let why = "a checkpoint that the registry knows is missing";
        return (!is_there).then(|| why.to_owned().into());
    }
    let has_ended = ["completed", "failed", "cancelled", "waiting"].contains(&row.status.as_str());
    if has_ended && !checked.is_final {
        let why = format!("the thread is {}, and its final checkpoint is missing", row.status);
        return Some(why.into());
    }
    // Whoever was killed in between has written one more than the registry knows.
    let is_newest = is(checked.last) || (!has_ended && is(checked.before_last));
    (!is_newest).then(|| "the registry knows another checkpoint as the newest".to_owned().into())
}
