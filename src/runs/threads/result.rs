//! The result of a thread or a detached run.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::known_runs::{KnownRun, amounts};
use super::record_place::placed;
use super::{Threads, VerifiedThread, parsed};
use crate::base::json::object;
use crate::diagnostic::{Diagnostic, Failure};
use crate::registry::{AnyRun, RunState, ThreadRow};
use crate::report::metadata;
use crate::thread::{Awaited, THREAD_ENDED, ThreadError, kept_end, last_event};

/// How one came out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunEnd {
    /// The answer of `rye execute`.
    pub(crate) report: Value,
}

/// The fields of a failure, in a report and in a record.
const FAILURE: [&str; 4] = ["code", "error", "help", "data"];

impl KnownRun {
    /// Adds the failure, if there is one.
    pub(super) fn with_failure(mut self) -> Self {
        let of_report = self.report().filter(|report| report["status"] == "error");
        self.failure = match (of_report, stopped(&self), self.row.code.as_deref()) {
            (Some(report), ..) => {
                let mut failure = failure_in(report);
                // What a tool printed stands in its report.
                if report["type"] == "tool" {
                    failure.shift_remove("data");
                }
                Some(failure.into())
            }
            (None, Some(why), _) => {
                let told = Value::from(Diagnostic::from(&why).to_json());
                Some(failure_in(&told).into())
            }
            (None, None, Some(code)) => self.failure_kept(code).map(Value::from),
            (None, None, None) => None,
        };
        self
    }

    /// Why it failed with that code, as the last line of its record says it.
    fn failure_kept(&self, code: &str) -> Option<Map<String, Value>> {
        let id = self.thread()?.id.parse().ok()?;
        failure_of(&kept_end(Path::new(&self.row.base), &id)?, code)
    }
}

/// Why one was ended before its time.
fn stopped(known: &KnownRun) -> Option<ThreadError> {
    let (id, is_below) = (known.id().to_owned(), known.row.parent.is_some());
    match known.state() {
        how @ (RunState::Killed | RunState::Cancelled) if known.row.started_at.is_none() => {
            Some(ThreadError::NotBegun { id, how })
        }
        RunState::Killed => Some(ThreadError::Killed { id, is_below }),
        RunState::Cancelled => Some(ThreadError::Cancelled { id, is_below }),
        _ => None,
    }
}

/// Why a thread failed with that code, as the event of its end says it; an earlier end is not the
/// reason of this one.
pub(super) fn failure_of(ended: &Value, code: &str) -> Option<Map<String, Value>> {
    (ended["failure"]["code"] == code).then(|| failure_in(&ended["failure"]))
}

fn failure_in(said: &Value) -> Map<String, Value> {
    let parts =
        FAILURE.into_iter().filter_map(|key| Some((key.to_owned(), said.get(key)?.clone())));
    parts.collect()
}

/// All threads and detached runs of the person, the oldest first, with why each failed, and with
/// the folder where the record of each lies now as far as that is known here.
///
/// # Errors
/// `registry.*`
pub(crate) fn listed_runs(threads: Threads<'_>) -> Result<Vec<KnownRun>, Failure> {
    let mut all = threads.runs()?;
    for known in &mut all {
        // Where another record lies here, it is not this one's.
        let AnyRun::Thread(row) = &known.row else { continue };
        let placed = parsed(&row.id).map(|id| placed(threads, row.clone(), &id));
        if let Ok(Ok(row)) = placed {
            known.row = AnyRun::Thread(row);
        }
    }
    Ok(all.into_iter().map(KnownRun::with_failure).collect())
}

/// The result of one that ended. Its record is checked before.
///
/// # Errors
/// `thread.killed`, `thread.cancelled`; as [`Threads::verify`]
pub(super) fn end_of(threads: Threads<'_>, known: &KnownRun) -> Result<RunEnd, Failure> {
    let id = known.id().to_owned();
    if let Some(report) = known.report() {
        return Ok(RunEnd { report: report.clone() });
    }
    if let Some(why) = stopped(known) {
        return Err(why.into());
    }
    let directive = known.row.item.strip_prefix("directive:").unwrap_or(&known.row.item);
    let mut report = object(json!({
        "status": "success", "type": "directive", "item_id": directive, "thread_id": id,
        "directive": directive,
    }));
    // One that failed before anything of it was signed has no record that could say more.
    let is_recorded = known.thread().is_some_and(|row| row.checkpoint.is_some());
    let events = match is_recorded || known.row.code.is_none() {
        true => proven(threads, &id)?,
        false => Vec::new(),
    };
    let mut last = last_event(&events, THREAD_ENDED).unwrap_or_default();
    if let Some(code) = known.row.code.as_deref() {
        report.insert("status".into(), "error".into());
        report.insert("code".into(), code.into());
        report.insert("error".into(), format!("`{id}` failed").into());
        report.insert("help".into(), format!("see `rye thread show {id}`").into());
        report.extend(failure_of(&last, code).unwrap_or_default());
    } else if known.state() == RunState::Waiting {
        report.insert("status".into(), "pending".into());
        let awaited = Awaited::last_of(&events).map(|awaited| awaited.to_json());
        report.insert("pending".into(), awaited.into());
    } else {
        report.insert("outputs".into(), last["outputs"].take());
        match last["replaced_by"].take() {
            Value::Null => drop(report.insert("result".into(), last_words(&events).into())),
            eval => {
                report.insert("result".into(), last["result"].take());
                report.insert("replaced_by".into(), eval);
            }
        }
    }
    if let Some(row) = known.thread() {
        report.insert("cost".into(), cost(row).into());
        if let Some(took) = took(row) {
            report.insert("metadata".into(), metadata(took).into());
        }
    }
    Ok(RunEnd { report: report.into() })
}

/// How long a thread took from its start to its end, also where it stopped in between.
fn took(row: &ThreadRow) -> Option<Duration> {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    let ended = row.ended_at.as_deref().and_then(at);
    ended?.duration_since(at(row.started_at.as_deref()?)?).try_into().ok()
}

/// The amounts that a thread used, with those below it.
pub(super) fn cost(row: &ThreadRow) -> Map<String, Value> {
    let mut cost = object(amounts(&row.used));
    cost.insert("currency".into(), "USD".into());
    cost
}

/// The lines of a record that were signed, and are as they were.
fn proven(threads: Threads<'_>, id: &str) -> Result<Vec<u8>, Failure> {
    let VerifiedThread { checked, mut bytes, .. } = threads.verify(id)?;
    bytes.truncate(usize::try_from(checked.proven_bytes).unwrap_or(bytes.len()));
    Ok(bytes)
}

/// The last words of the model.
fn last_words(events: &[u8]) -> Option<String> {
    let said = last_event(events, "cognition_out")?;
    Some(said["content"].as_str().unwrap_or_default().to_owned())
}
