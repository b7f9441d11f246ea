//! The record of a thread: `.ai/state/threads/<id>/transcript.jsonl`, one event a line, and among
//! them checkpoints that sign everything before (threads 7).

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fchmod, open};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ThreadError;
use super::live_words::{LiveWords, output_log, words};
use super::thread_file::{THREAD_STARTED, write_thread_file};
use super::thread_id::ThreadId;
use crate::base::bytes::{refuse_links, write_atomic};
use crate::base::limits::{ID_BYTES, THREAD_LINE_BYTES};
use crate::base::{Digest, Digesting, canon};
use crate::registry::RunState;
use crate::verify::{Envelope, KeyPair, PayloadType};

pub(super) const TRANSCRIPT: &str = "transcript.jsonl";

/// The folder of what is kept beside it, each by its digest.
pub(super) const BLOBS: &str = "blobs";

/// The folder of the records below a base, which holds `.ai`.
pub(crate) fn record_folder(base: &Path) -> PathBuf {
    base.join(".ai/state/threads")
}

/// The transcript of a thread.
pub(crate) fn transcript(base: &Path, id: &ThreadId) -> PathBuf {
    record_folder(base).join(id.as_str()).join(TRANSCRIPT)
}

/// The content of a checkpoint. Field names are on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checkpoint {
    pub(super) version: u64,
    pub(super) thread_id: String,
    /// From 0.
    pub(super) seq: u64,
    /// How many bytes stand before it.
    pub(super) bytes: u64,
    /// Of those bytes.
    pub(super) digest: Digest,
    /// Of the line of the checkpoint before it.
    pub(super) previous: Option<Digest>,
    pub(super) status: String,
    /// The use of the thread.
    pub(super) ledger: Value,
    /// Nothing comes behind it.
    #[serde(rename = "final")]
    pub(super) is_final: bool,
}

pub(super) const VERSION: u64 = 1;

/// The event that stands first where a thread goes on.
pub(crate) const THREAD_RESUMED: &str = "thread_resumed";

/// The event that stands last but for a checkpoint.
pub(crate) const THREAD_ENDED: &str = "thread_ended";

/// Stands in an event beside `usage` where the provider did not say what an answer took: then it
/// is all that was reserved.
pub(crate) const USAGE_IS_RESERVED: &str = "usage_is_reserved";

/// A transcript that was checked, to go on with.
#[derive(Debug, Clone)]
pub(crate) struct ProvenRecord {
    pub(crate) bytes: Vec<u8>,
    /// How many of them are proven.
    pub(crate) proven: usize,
    pub(crate) checkpoints: u64,
    /// The digest of the last checkpoint's line.
    pub(crate) last: Option<Digest>,
}

/// The open record of a thread that runs.
///
/// Invariant: an event is written whole before the next thing happens, and a checkpoint is on the
/// disk when [`Record::checkpoint`] returns.
pub(crate) struct Record {
    id: ThreadId,
    pair: KeyPair,
    file: File,
    path: PathBuf,
    written: Digesting,
    /// A part of a line that was not written whole may stand at the end of the file.
    is_torn: bool,
    seq: u64,
    previous: Option<Digest>,
    /// The words of the model as they come.
    live: LiveWords,
}

/// A lock that is only closed stays held for the moment in which another thread starts a program.
impl Drop for Record {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Refuses a folder on the way to a record that is a link: the author of the project would choose
/// the place of the record. The root of a space may be one. A folder whose name no file system
/// takes is refused too, as the id of a directive is almost as long as a name may be.
///
/// # Errors
/// Which folder it is.
pub(crate) fn refuse_record_links(base: &Path, record: &Path) -> io::Result<()> {
    let root = base.join(".ai");
    let below = record.strip_prefix(&root).map_err(io::Error::other)?;
    if below.iter().any(|name| name.len() > ID_BYTES) {
        let why = format!("the name of its folder has more than {ID_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
    }
    refuse_links(&root, below)
}

/// Locks the record for this process, until it has written the last of it. A process that was taken
/// for dead and lives has it still. Where the file system knows no locks, the registry alone says
/// whose it is.
fn lock(file: &File, id: &ThreadId, path: &Path) -> Result<(), ThreadError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(ThreadError::StillRuns { id: id.to_string(), state: RunState::Running })
        }
        Err(TryLockError::Error(source)) if source.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(source)) => {
            Err(ThreadError::Record { path: path.to_owned(), source })
        }
    }
}

/// Closes the folders on the way to a record to all but their owner: a clone or an archive may have
/// brought them, as open as it likes.
fn close_to_others(base: &Path, record: &Path) -> io::Result<()> {
    let top = record_folder(base);
    let folders = record.ancestors().skip(1).take_while(|folder| folder.starts_with(&top));
    for folder in folders {
        let mode = fs::symlink_metadata(folder)?.permissions().mode();
        let is_open = mode & 0o077 != 0;
        // A link in its place, put there since, is not followed.
        let close = || -> io::Result<()> {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(fchmod(open(folder, flags, Mode::empty())?, Mode::RWXU)?)
        };
        if is_open && close().is_err() && mode & 0o022 != 0 {
            let why = format!("others can write into `{}`", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Has git leave out the records. A file that came with a clone might let them in.
fn keep_out_of_git(ignored: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(ignored);
    if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
        let why = format!("`{}` is a folder", ignored.display());
        return Err(io::Error::new(io::ErrorKind::IsADirectory, why));
    }
    let is_written = found.is_ok_and(|it| it.is_file() && it.len() == 2)
        && fs::read(ignored).is_ok_and(|text| text == b"*\n");
    if is_written { Ok(()) } else { write_atomic(ignored, b"*\n", 0o600) }
}

/// Makes a file below the folder of the records, with the folders around it; for their owner alone.
fn make(base: &Path, path: &Path) -> io::Result<File> {
    refuse_record_links(base, path)?;
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    close_to_others(base, path)?;
    keep_out_of_git(&record_folder(base).join(".gitignore"))?;
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

/// Makes the log of a detached run with that id, which is a UUID.
///
/// # Errors
/// An error of the file system.
pub(crate) fn new_output_log(base: &Path, id: &str) -> io::Result<File> {
    make(base, &output_log(base, id))
}

impl Record {
    /// Makes the folder, for its owner alone, and an empty transcript in it.
    ///
    /// # Errors
    /// `thread.record_io`, `thread.still_runs`
    pub(crate) fn create(base: &Path, id: ThreadId, pair: KeyPair) -> Result<Self, ThreadError> {
        let path = transcript(base, &id);
        let file = make(base, &path);
        let file = file.map_err(|source| ThreadError::Record { path: path.clone(), source })?;
        lock(&file, &id, &path)?;
        let (written, live) = (Digesting::default(), LiveWords::new(words(base, &id)));
        let (seq, previous, is_torn) = (0, None, false);
        Ok(Self { id, pair, file, path, written, is_torn, seq, previous, live })
    }

    /// Opens the record of a thread that goes on. What stands behind its last checkpoint is kept as
    /// a blob, of which the digest is given, and is no part of the record any more. One that was
    /// never begun is made.
    ///
    /// # Errors
    /// `thread.still_runs` where another process writes it; `thread.record_io`, also where the file
    /// is another one than what was checked.
    pub(crate) fn reopen(
        base: &Path,
        id: ThreadId,
        pair: KeyPair,
        checked: &ProvenRecord,
    ) -> Result<(Self, Option<Digest>), ThreadError> {
        let path = transcript(base, &id);
        if checked.bytes.is_empty() && fs::symlink_metadata(&path).is_err() {
            return Ok((Self::create(base, id, pair)?, None));
        }
        let (proven, tail) = checked.bytes.split_at(checked.proven);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let open = || -> io::Result<File> {
            refuse_record_links(base, &path)?;
            close_to_others(base, &path)?;
            let file = OpenOptions::new().append(true).custom_flags(flags).open(&path)?;
            match file.metadata()?.is_file() {
                true => Ok(file),
                false => Err(io::Error::other("it is not a file")),
            }
        };
        let lost = |source| ThreadError::Record { path: path.clone(), source };
        let file = open().map_err(lost)?;
        lock(&file, &id, &path)?;
        // Behind the lock: a process that was taken for dead may have written until then.
        if file.metadata().map_err(lost)?.len() != checked.bytes.len() as u64 {
            return Err(lost(io::Error::other("it changed while it was checked")));
        }
        let mut written = Digesting::default();
        written.take(proven);
        let (seq, previous) = (checked.checkpoints, checked.last);
        let live = LiveWords::new(words(base, &id));
        let is_torn = false;
        let record = Self { id, pair, file, path, written, is_torn, seq, previous, live };
        if tail.is_empty() {
            return Ok((record, None));
        }
        let kept = record.keep(tail)?;
        let cut = record.file.set_len(proven.len() as u64);
        cut.and_then(|()| record.file.sync_all()).map_err(|source| record.lost(source))?;
        Ok((record, Some(kept)))
    }

    pub(crate) fn id(&self) -> &ThreadId {
        &self.id
    }

    /// The digest of the newest checkpoint's line.
    pub(crate) fn newest(&self) -> Option<Digest> {
        self.previous
    }

    /// Writes down what the thread begins with: in `thread.json`, and as the first event.
    ///
    /// # Errors
    /// `thread.record_io`
    pub(crate) fn begin(&mut self, began: Value) -> Result<(), ThreadError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let written = write_thread_file(folder, &self.pair, &began);
        written.map_err(|source| self.lost(source))?;
        self.event(THREAD_STARTED, began)
    }

    /// Adds one event, with its keys in their order: what a model handed over is told later as it
    /// was told first.
    ///
    /// # Errors
    /// `thread.record_io`
    pub(crate) fn event(&mut self, name: &str, fields: Value) -> Result<(), ThreadError> {
        let mut event = Map::new();
        event.insert("event".into(), name.into());
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        event.insert("at".into(), at.into());
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        self.line(&format!("{}\n", Value::Object(event)))
    }

    /// Shows the words of the model to readers that watch; they are no part of the record.
    pub(crate) fn say(&mut self, text: &str) {
        self.live.say(self.written.bytes(), text);
    }

    /// The answer is over, and stands in the record if it came to its end.
    pub(crate) fn end_words(&mut self) {
        self.live.end();
    }

    /// Signs everything so far. Gives the number of the checkpoint and the digest of its line.
    ///
    /// # Errors
    /// `thread.record_io`
    pub(crate) fn checkpoint(
        &mut self,
        status: &str,
        ledger: Value,
        is_final: bool,
    ) -> Result<(u64, Digest), ThreadError> {
        let (seq, checkpoint) = (self.seq, self.next(status, ledger, is_final));
        let payload = serde_json::to_value(checkpoint).map_err(io::Error::other);
        let payload = payload.and_then(|value| canon::write(&value).map_err(io::Error::other));
        let payload = payload.map_err(|source| self.lost(source))?;
        let line = Envelope::seal_as(PayloadType::Checkpoint, &self.pair, payload).to_text();
        let digest = Digest::of(line.as_bytes());
        self.line(&line)?;
        // It stands there, whether or not it is on the disk yet: the next one comes behind it.
        (self.seq, self.previous) = (seq + 1, Some(digest));
        self.file.sync_data().map_err(|source| self.lost(source))?;
        Ok((seq, digest))
    }

    fn next(&self, status: &str, ledger: Value, is_final: bool) -> Checkpoint {
        Checkpoint {
            version: VERSION,
            thread_id: self.id.to_string(),
            seq: self.seq,
            bytes: self.written.bytes(),
            digest: self.written.digest(),
            previous: self.previous,
            status: status.to_owned(),
            ledger,
            is_final,
        }
    }

    /// Keeps bytes beside the transcript, by its digest.
    ///
    /// # Errors
    /// `thread.record_io`
    pub(crate) fn keep(&self, bytes: &[u8]) -> Result<Digest, ThreadError> {
        let digest = Digest::of(bytes);
        let folder = self.path.with_file_name(BLOBS);
        let keep = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let path = folder.join(digest.to_string());
            if fs::symlink_metadata(&path).is_ok() {
                return Ok(());
            }
            write_atomic(&path, bytes, 0o600)
        };
        keep().map_err(|source| self.lost(source))?;
        Ok(digest)
    }

    fn line(&mut self, line: &str) -> Result<(), ThreadError> {
        // A reader that watches can read every line.
        if line.len() > THREAD_LINE_BYTES {
            let most = THREAD_LINE_BYTES >> 20;
            return Err(self.lost(io::Error::other(format!("an event has more than {most} MiB"))));
        }
        self.cut_torn_line()?;
        if let Err(source) = self.file.write_all(line.as_bytes()) {
            self.is_torn = true;
            // If this fails too, it is tried again before the next line.
            let _ = self.cut_torn_line();
            return Err(self.lost(source));
        }
        self.written.take(line.as_bytes());
        Ok(())
    }

    /// Takes away what a failed write left of a line, since every checkpoint speaks for all that
    /// stands before it.
    fn cut_torn_line(&mut self) -> Result<(), ThreadError> {
        if self.is_torn {
            self.file.set_len(self.written.bytes()).map_err(|source| self.lost(source))?;
            self.is_torn = false;
        }
        Ok(())
    }

    fn lost(&self, source: io::Error) -> ThreadError {
        ThreadError::Record { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use serde_json::json;

    use super::{Record, close_to_others, record_folder, transcript};
    use crate::thread::record_check::check_record;
    use crate::thread::thread_id::ThreadId;
    use crate::verify::KeyPair;

    #[test]
    fn what_a_failed_write_left_of_a_line_stands_before_no_checkpoint() {
        let base = tempfile::tempdir().unwrap();
        let id = ThreadId::new(&"acme/look".parse().unwrap()).unwrap();
        let pair = KeyPair::generate().unwrap();
        let public = pair.public();
        let mut record = Record::create(base.path(), id.clone(), pair).unwrap();
        record.event("cognition_in", json!({"n": 1})).unwrap();
        let path = transcript(base.path(), &id);
        let writable = std::mem::replace(&mut record.file, File::open(&path).unwrap());
        assert!(record.event("cognition_out", json!({"n": 2})).is_err());
        record.file = writable;
        record.file.write_all(b"{\"event\":\"cogni").unwrap();
        record.event("thread_ended", json!({"n": 3})).unwrap();
        record.checkpoint("failed", json!({}), true).unwrap();
        let bytes = fs::read(&path).unwrap();
        let checked = check_record(&bytes, &id, &|_| Ok(public.clone()));
        assert_eq!((checked.finding.as_ref(), checked.is_final), (None, true));
        assert_eq!((checked.proven_bytes, checked.unproven_bytes), (bytes.len() as u64, 0));
    }

    #[test]
    fn closing_the_folders_of_a_record_follows_no_link() {
        let base = tempfile::tempdir().unwrap();
        let (top, elsewhere) = (record_folder(base.path()), base.path().join("elsewhere"));
        for folder in [&top, &elsewhere] {
            fs::create_dir_all(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        }
        symlink(&elsewhere, top.join("t")).unwrap();
        let closed = close_to_others(base.path(), &top.join("t/transcript.jsonl"));
        assert_eq!(closed.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        let mode = |folder| fs::metadata(folder).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&elsewhere), 0o755);
        fs::remove_file(top.join("t")).unwrap();
        fs::create_dir(top.join("t")).unwrap();
        close_to_others(base.path(), &top.join("t/transcript.jsonl")).unwrap();
        assert_eq!((mode(&top), mode(&top.join("t"))), (0o700, 0o700));
    }
}
