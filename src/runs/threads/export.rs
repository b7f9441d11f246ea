//! A thread as one document, for readers without its registry and key.

use serde_json::{Map, Value, json};

use super::result::failure_of;
use super::{Threads, VerifiedThread};
use crate::base::json::object;
use crate::diagnostic::Failure;
use crate::parse::kept_json;
use crate::thread::{THREAD_ENDED, last_event};

/// A thread with its whole conversation, and how much of it is proven.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExportedThread {
    pub(crate) proven_bytes: u64,
    pub(crate) unproven_bytes: u64,
    /// The document.
    pub(crate) fields: Map<String, Value>,
}

impl Threads<'_> {
    /// Checks the record of a thread, and gives all that stands in it, as it stands there.
    ///
    /// # Errors
    /// As [`Threads::verify`].
    pub(crate) fn export(self, id: &str) -> Result<ExportedThread, Failure> {
        let VerifiedThread { row, checked, thread_file, bytes, .. } = self.verify(id)?;
        let at = usize::try_from(checked.proven_bytes).unwrap_or(bytes.len()).min(bytes.len());
        let (proven, unproven) = bytes.split_at(at);
        let status = row.as_ref().map_or(checked.status, |row| row.state.to_string());
        let is_compared = row.is_some();
        let code = row.and_then(|row| row.run.code);
        let ended = last_event(proven, THREAD_ENDED);
        let failure = ended.zip(code.as_deref()).and_then(|(ended, code)| failure_of(&ended, code));
        let fields = object(json!({
            "version": 1, "thread_id": id, "thread_status": status, "thread": thread_file,
            "thread_code": code, "failure": failure, "ledger": checked.ledger,
            "signer": checked.key, "checkpoints": checked.checkpoints, "final": checked.is_final,
            "compared_with_registry": is_compared,
            "proven_bytes": checked.proven_bytes, "unproven_bytes": checked.unproven_bytes,
            "events": events(proven), "unproven_events": events(unproven),
        }));
        let (proven_bytes, unproven_bytes) = (checked.proven_bytes, checked.unproven_bytes);
        Ok(ExportedThread { proven_bytes, unproven_bytes, fields })
    }
}

/// The events among the lines of a transcript; one that is half written is none.
fn events(lines: &[u8]) -> Vec<Value> {
    let lines = lines.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(kept_json);
    lines.filter(|line| line.get("event").is_some()).collect()
}
