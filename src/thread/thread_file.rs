//! `thread.json`: what is known of a thread when it starts, and does not change (threads 7).

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::record_check::RecordFinding;
use super::thread_id::ThreadId;
use crate::base::bytes::{Bounded, read_plain, write_atomic};
use crate::base::canon;
use crate::id::Fingerprint;
use crate::parse::kept_json;
use crate::verify::{Envelope, KeyPair, PayloadType, PublicKey};

/// Largest `thread.json` that is read, in bytes: what stands in it are names, limits and
/// permissions of a directive.
const THREAD_FILE_BYTES: u64 = 1 << 20;

pub(super) const THREAD_FILE: &str = "thread.json";

/// The event that a record begins with.
pub(crate) const THREAD_STARTED: &str = "thread_started";

/// The version in `thread_started` of a record that has a `thread.json`.
pub(crate) const RECORD_VERSION: u64 = 1;

/// The fields that stand in both, with the same values.
const SHARED: [&str; 10] = [
    "thread_id",
    "parent",
    "item_id",
    "sha256",
    "provider",
    "provider_sha256",
    "model",
    "limits",
    "permissions",
    "version",
];

/// Writes the file into the folder of a record: what the thread begins with, signed.
pub(super) fn write_thread_file(folder: &Path, pair: &KeyPair, began: &Value) -> io::Result<()> {
    let mut document = Map::new();
    for name in SHARED {
        document.insert(name.into(), began[name].clone());
    }
    let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    document.insert("created".into(), created.into());
    document.insert("key".into(), json!(pair.public().fingerprint()));
    let payload = canon::write(&document.into()).map_err(io::Error::other)?;
    let text = Envelope::seal_as(PayloadType::Thread, pair, payload).to_document();
    write_atomic(&folder.join(THREAD_FILE), text.map_err(io::Error::other)?.as_bytes(), 0o600)
}

/// Reads the file beside a transcript, whose lines up to the last checkpoint are given, and gives
/// it as it stands there; `None` where an earlier rye began the record, and made no such file.
///
/// # Errors
/// It is missing, changed, of another thread, or says something else than the record.
pub(super) fn check_thread_file(
    folder: &Path,
    proven: &[u8],
    id: &ThreadId,
    key_of: &dyn Fn(Fingerprint) -> Result<PublicKey, RecordFinding>,
) -> Result<Option<Value>, RecordFinding> {
    let first = proven.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let started = kept_json(first).unwrap_or_default();
    if started["event"] != THREAD_STARTED || started.get("version").is_none() {
        return Ok(None);
    }
    let wrong = |why: &str| RecordFinding::from(format!("its `{THREAD_FILE}` {why}"));
    let text = match read_plain(&folder.join(THREAD_FILE), THREAD_FILE_BYTES) {
        Ok(Bounded::All(text)) => text,
        Ok(Bounded::More) => return Err(wrong("is larger than any that is written")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(wrong("is missing")),
        Err(error) => return Err(wrong(&format!("cannot be read: {error}"))),
    };
    let envelope = Envelope::read_document(PayloadType::Thread, &text);
    let envelope = envelope.map_err(|why| wrong(&format!("is not as it was written: {why}")))?;
    let key = key_of(envelope.key())?;
    let document = envelope.payload(&key).and_then(|payload| canon::read(payload).ok());
    let document = document.ok_or_else(|| wrong("was not signed by its key"))?;
    if document["thread_id"] != id.as_str() {
        return Err(wrong("is of another thread"));
    }
    match SHARED.into_iter().find(|name| document[*name] != started[*name]) {
        Some(name) => Err(wrong(&format!("says another `{name}` than the record"))),
        None => Ok(kept_json(&text)),
    }
}
