//! Checks that the record of a thread is what was signed (threads 7).

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::record::{Checkpoint, THREAD_ENDED, THREAD_RESUMED, VERSION};
use super::thread_id::ThreadId;
use crate::base::json_reader::typed;
use crate::base::text::{counted, escape_line};
use crate::base::{Digest, Digesting, Timestamp, canon};
use crate::id::Fingerprint;
use crate::parse::kept_json;
use crate::verify::{Envelope, PayloadType, PublicKey};

/// A fault of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordFinding {
    /// It is not what was signed, and why.
    Broken(String),
    /// The thread stopped before anything of it was signed.
    Unsigned,
    /// Who signed it revoked the key since.
    RevokedKey { key: Fingerprint, at: Option<Timestamp> },
    /// Another person signed it.
    ForeignKey { key: Fingerprint },
    /// A line, counted from 1, names a blob that is not there as it was kept.
    Blob { line: usize, blob: String, why: String },
}

impl From<String> for RecordFinding {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

impl fmt::Display for RecordFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) => f.write_str(&escape_line(why)),
            Self::Unsigned => f.write_str("it stopped before anything of it was signed"),
            Self::RevokedKey { key, at } => {
                let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
                write!(f, "you revoked{at} the key {key}, which signed it")
            }
            Self::ForeignKey { key } => write!(f, "the key {key}, which signed it, is not yours"),
            Self::Blob { line, blob, why } => {
                let (blob, why) = (escape_line(blob), escape_line(why));
                write!(f, "line {line} names the blob `{blob}`, which {why}")
            }
        }
    }
}

/// The status of a thread for which another one goes on.
const CONTINUED: &str = "continued";

/// The finding where a thread was killed before anything of it was signed.
const NO_CHECKPOINT: &str = "it has no checkpoint, so nothing in it is signed";

/// The proven part of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CheckedRecord {
    pub(crate) checkpoints: u64,
    /// Bytes up to and with the last checkpoint that holds.
    pub(crate) proven_bytes: u64,
    /// Bytes behind it, which no checkpoint covers.
    pub(crate) unproven_bytes: u64,
    /// The status in the last checkpoint.
    pub(crate) status: String,
    pub(crate) is_final: bool,
    /// The thread's usage in the last checkpoint.
    pub(crate) ledger: Value,
    /// Who signed the last checkpoint.
    pub(crate) key: Option<Fingerprint>,
    /// The digest of the last checkpoint's line, and of the one before it.
    pub(crate) last: Option<Digest>,
    pub(crate) before_last: Option<Digest>,
    /// Those of all of them.
    pub(crate) digests: BTreeSet<Digest>,
    /// The first thing that is wrong.
    pub(crate) finding: Option<RecordFinding>,
}

impl CheckedRecord {
    /// Nothing of it was signed yet, and nothing else is wrong.
    pub(crate) fn is_unsigned(&self) -> bool {
        let none = RecordFinding::Broken(NO_CHECKPOINT.to_owned());
        self.checkpoints == 0 && self.finding == Some(none)
    }
}

/// Reads a transcript from its beginning up to the first thing that does not hold. `key_of` gives
/// the key of the person with that fingerprint, or why its word does not count.
pub(crate) fn check_record(
    transcript: &[u8],
    id: &ThreadId,
    key_of: &dyn Fn(Fingerprint) -> Result<PublicKey, RecordFinding>,
) -> CheckedRecord {
    let mut checked = CheckedRecord::default();
    let mut before = Digesting::default();
    // Behind a final checkpoint stands nothing, but where the thread went on.
    let mut went_on = true;
    for line in transcript.split_inclusive(|byte| *byte == b'\n') {
        if let Ok(envelope) = Envelope::read_as(PayloadType::Checkpoint, line) {
            if !went_on {
                checked.finding = Some("a checkpoint stands behind the last one".to_owned().into());
                break;
            }
            match held(&envelope, &before, &checked, id, key_of) {
                Ok(checkpoint) => {
                    checked.checkpoints += 1;
                    checked.proven_bytes = before.bytes() + line.len() as u64;
                    checked.status = checkpoint.status;
                    checked.is_final = checkpoint.is_final;
                    checked.ledger = checkpoint.ledger;
                    went_on = !checkpoint.is_final;
                    checked.key = Some(envelope.key());
                    checked.before_last = checked.last;
                    checked.last = Some(Digest::of(line));
                    checked.digests.extend(checked.last);
                }
                Err(why) => {
                    checked.finding = Some(why);
                    break;
                }
            }
        } else if !went_on {
            went_on = goes_on(line, &checked.status);
            if !went_on {
                break;
            }
            checked.is_final = false;
        }
        before.take(line);
    }
    checked.unproven_bytes = transcript.len() as u64 - checked.proven_bytes;
    if checked.finding.is_none() && checked.checkpoints == 0 {
        checked.finding = Some(NO_CHECKPOINT.to_owned().into());
    }
    if checked.finding.is_none() && checked.is_final && checked.unproven_bytes > 0 {
        let bytes = counted(checked.unproven_bytes, "byte");
        checked.finding = Some(format!("it goes on behind its last checkpoint for {bytes}").into());
    }
    checked
}

/// Returns true if a line behind a final checkpoint says that the thread went on, or that it ended
/// while it waited; also if the line was being written when its process was killed. A thread that
/// is continued never goes on itself.
fn goes_on(line: &[u8], status: &str) -> bool {
    if status == CONTINUED {
        return false;
    }
    let is_whole = line.ends_with(b"\n");
    kept_json(line).map_or(!is_whole, |event| {
        let has_ended = status == "waiting" && event["event"] == THREAD_ENDED;
        event["event"] == THREAD_RESUMED || has_ended
    })
}

/// A checkpoint that holds, for what stands before it.
fn held(
    envelope: &Envelope,
    before: &Digesting,
    checked: &CheckedRecord,
    id: &ThreadId,
    key_of: &dyn Fn(Fingerprint) -> Result<PublicKey, RecordFinding>,
) -> Result<Checkpoint, RecordFinding> {
    let seq = checked.checkpoints;
    let key = key_of(envelope.key())?;
    let payload = envelope.payload(&key);
    let payload = payload.ok_or_else(|| format!("checkpoint {seq} was not signed by its key"))?;
    let document = canon::read(payload).map_err(|error| format!("checkpoint {seq}: {error}"))?;
    let checkpoint: Checkpoint =
        typed(document).map_err(|error| format!("checkpoint {seq} has another form: {error}"))?;
    let wrong = |why: String| Err(format!("checkpoint {seq} {why}").into());
    if checkpoint.version != VERSION {
        return wrong(format!("has the version {}, which is not known", checkpoint.version));
    }
    if checkpoint.thread_id != id.as_str() {
        return wrong(format!("is of another thread, `{}`", checkpoint.thread_id));
    }
    if (checkpoint.seq, checkpoint.previous) != (seq, checked.last) {
        return wrong("does not follow the one before it: one was taken out, or moved".into());
    }
    if (checkpoint.bytes, checkpoint.digest) != (before.bytes(), before.digest()) {
        return wrong("speaks for other text than what stands before it".into());
    }
    Ok(checkpoint)
}

#[cfg(test)]
mod tests {
    use super::{CheckedRecord, RecordFinding, check_record};
    use crate::thread::record::{Record, transcript};
    use crate::thread::thread_id::ThreadId;
    use crate::verify::{KeyPair, PublicKey};
    use serde_json::json;

    struct Kept {
        id: ThreadId,
        public: PublicKey,
        bytes: Vec<u8>,
    }

    /// A finished record of three checkpoints.
    fn kept() -> Kept {
        let base = tempfile::tempdir().unwrap();
        let id = ThreadId::new(&"acme/look".parse().unwrap()).unwrap();
        let pair = KeyPair::generate().unwrap();
        let public = pair.public();
        let mut record = Record::create(base.path(), id.clone(), pair).unwrap();
        for turn in 0..3 {
            record.event("cognition_in", json!({"text": format!("turn {turn}")})).unwrap();
            record
                .event("cognition_out", json!({"text": format!("é \u{1F980} {turn}"), "n": 1.50}))
                .unwrap();
            let status = if turn == 2 { "completed" } else { "running" };
            record.checkpoint(status, json!({"turns": turn}), turn == 2).unwrap();
        }
        let bytes = std::fs::read(transcript(base.path(), &id)).unwrap();
        Kept { id, public, bytes }
    }

    fn check(kept: &Kept, bytes: &[u8]) -> CheckedRecord {
        check_record(bytes, &kept.id, &|key| match key == kept.public.fingerprint() {
            true => Ok(kept.public.clone()),
            false => Err(RecordFinding::ForeignKey { key }),
        })
    }

    #[test]
    fn a_finished_record_proves_every_byte_and_one_flipped_bit_anywhere_is_found() {
        let kept = kept();
        let good = check(&kept, &kept.bytes);
        assert_eq!((good.finding.as_ref(), good.checkpoints, good.is_final), (None, 3, true));
        assert_eq!((good.proven_bytes, good.unproven_bytes), (kept.bytes.len() as u64, 0));
        for at in 0..kept.bytes.len() {
            let mut bytes = kept.bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            let got = check(&kept, &bytes);
            // Without its final checkpoint a finished record is not whole.
            assert!(got.finding.is_some() || !got.is_final, "byte {at}: {got:?}");
        }
    }

    #[test]
    fn lines_that_are_taken_out_doubled_moved_or_cut_are_found() {
        let kept = kept();
        let lines: Vec<&[u8]> = kept.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), 9);
        let is_whole = |lines: &[&[u8]]| {
            let got = check(&kept, &lines.concat());
            got.finding.is_none() && got.is_final
        };
        assert!(is_whole(&lines), "the fixture works untouched");
        for at in 0..lines.len() {
            let mut without = lines.clone();
            without.remove(at);
            assert!(!is_whole(&without), "without line {at}");
            let mut twice = lines.clone();
            twice.insert(at, lines[at]);
            assert!(!is_whole(&twice), "line {at} twice");
            assert!(!is_whole(&lines[..at]), "cut before line {at}");
            for to in at + 1..lines.len() {
                let mut moved = lines.clone();
                moved.swap(at, to);
                assert!(!is_whole(&moved), "lines {at} and {to}");
            }
        }
        let more = [lines.clone(), vec![b"{}\n"]].concat();
        assert!(!is_whole(&more), "a line behind the last checkpoint");
    }

    #[test]
    fn a_record_proves_nothing_of_another_thread_nor_by_another_key() {
        let (one, other) = (kept(), kept());
        let finding = |kept: &Kept, bytes: &[u8]| check(kept, bytes).finding.unwrap().to_string();
        assert!(finding(&one, &other.bytes).ends_with("is not yours"));
        let copied = Kept { id: other.id, public: one.public.clone(), bytes: one.bytes.clone() };
        assert!(finding(&copied, &copied.bytes).contains("is of another thread"));
        assert!(finding(&one, b"").contains("no checkpoint"));
    }

    #[test]
    fn what_was_cut_off_in_the_middle_is_proven_up_to_its_last_checkpoint() {
        let kept = kept();
        let lines: Vec<&[u8]> = kept.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let (proven, half) = (lines[..6].concat(), &lines[6][..5]);
        let got = check(&kept, &[proven.as_slice(), half].concat());
        assert_eq!((got.finding, got.is_final, got.checkpoints), (None, false, 2));
        assert_eq!((got.proven_bytes, got.unproven_bytes), (proven.len() as u64, 5));
    }
}
