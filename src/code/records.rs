//! The calls of a snippet, and the result of each.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tools::{Backend, ToolFault};
use crate::base::Digest;
use crate::base::time::as_ms;

/// Most calls of one snippet that are recorded, refused ones and searches too; of more it is told
/// how many.
#[cfg(feature = "code")]
const CODE_RECORDS: usize = 20_000;

/// Longest text of a tool's id that is told of a call of a snippet, in bytes: any id with its kind
/// and its space.
#[cfg(feature = "code")]
const CODE_TOLD_ID_BYTES: usize = 300;

/// How a call came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CalledBy {
    Run,
    Chain,
    /// A function that finds or describes tools; it is not counted.
    Lookup,
}

impl CalledBy {
    fn error_op(self) -> Option<&'static str> {
        match self {
            Self::Run => Some("run"),
            Self::Chain => Some("chain"),
            Self::Lookup => None,
        }
    }
}

/// One call, from the moment at which it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CallRecord {
    tool_id: String,
    /// As they were when the call was made.
    args: Value,
    by: CalledBy,
    started: Duration,
    /// Its turn came. What ended was made or refused, so that this is not kept.
    #[serde(skip)]
    is_made: bool,
    end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct End {
    took: Duration,
    backend: Backend,
    structured: Value,
    error: Option<Value>,
}

/// The calls of a snippet, in the order in which they were made.
#[derive(Debug)]
pub(super) struct CallRecords {
    start: Instant,
    /// The time that had passed then.
    before: Duration,
    calls: Vec<CallRecord>,
    /// Calls beyond those that are recorded.
    left_out: u64,
    /// Bytes that arguments and results may still take.
    room: usize,
}

/// Which of the records a call has; `None` for one that is only counted.
pub(super) type RecordId = Option<usize>;

impl CallRecords {
    /// Times count from `start`; arguments and results take at most so many bytes.
    pub(super) fn new(start: Instant, room: usize) -> Self {
        Self { start, before: Duration::ZERO, calls: Vec::new(), left_out: 0, room }
    }

    /// Adds the calls of the runs before, which took so much time.
    pub(super) fn goes_on(self, calls: Vec<CallRecord>, left_out: u64, before: Duration) -> Self {
        let taken: usize = calls.iter().map(CallRecord::bytes).sum();
        Self { before, left_out, room: self.room.saturating_sub(taken), calls, ..self }
    }

    /// From now on time passes; what passed before now does not count.
    pub(super) fn start_now(&mut self) {
        self.start = Instant::now();
    }

    /// The time that counts.
    pub(super) fn elapsed(&self) -> Duration {
        self.before + self.start.elapsed()
    }

    /// The calls that ended; those that are open are forgotten.
    pub(super) fn ended(&mut self) -> &[CallRecord] {
        self.calls.retain(|call| call.end.is_some());
        &self.calls
    }

    /// Records that a call is made.
    pub(super) fn begin(&mut self, tool_id: &str, args: &Value, by: CalledBy) -> RecordId {
        if self.calls.len() >= CODE_RECORDS {
            self.left_out += 1;
            return None;
        }
        let args = self.kept(args);
        let started = self.elapsed();
        let tool_id = told_id(tool_id);
        self.calls.push(CallRecord { tool_id, args, by, started, is_made: false, end: None });
        Some(self.calls.len() - 1)
    }

    /// Records what a call came to. A call that ended already stays as it is.
    pub(super) fn end(&mut self, id: RecordId, came: &Result<(Value, Backend), ToolFault>) {
        let Some(id) = id else { return };
        if self.calls.get(id).is_none_or(|call| call.end.is_some()) {
            return;
        }
        let (structured, backend, error) = match came {
            Ok((value, backend)) => (self.kept(value), *backend, None),
            Err(fault) => (Value::Null, fault.backend, Some(error(fault))),
        };
        let now = self.elapsed();
        let call = &mut self.calls[id];
        let took = now.saturating_sub(call.started);
        call.end = Some(End { took, backend, structured, error });
    }

    /// Notes that the turn of a call came.
    pub(super) fn made(&mut self, id: RecordId) {
        if let Some(call) = id.and_then(|id| self.calls.get_mut(id)) {
            call.is_made = true;
        }
    }

    /// Ends every call that is open: one that was made with the first of these, another with the
    /// second, in no time.
    pub(super) fn end_open(&mut self, of_made: &ToolFault, of_others: &ToolFault) {
        for id in 0..self.calls.len() {
            let is_made = self.calls[id].is_made;
            let is_open = self.calls[id].end.is_none();
            self.end(Some(id), &Err(if is_made { of_made } else { of_others }.clone()));
            if let Some(end) = self.calls[id].end.as_mut().filter(|_| is_open && !is_made) {
                end.took = Duration::ZERO;
            }
        }
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn to_json(&self) -> Vec<Value> {
        self.calls.iter().map(CallRecord::to_json).collect()
    }

    /// The value, or what tells of it where there is no room for it.
    fn kept(&mut self, value: &Value) -> Value {
        let text = value.to_string();
        match self.room.checked_sub(text.len()) {
            Some(rest) => {
                self.room = rest;
                value.clone()
            }
            None => too_long(text.as_bytes(), None),
        }
    }
}

impl CallRecord {
    /// The bytes that its arguments and its result take.
    fn bytes(&self) -> usize {
        let structured = self.end.as_ref().map_or(0, |end| end.structured.to_string().len());
        self.args.to_string().len() + structured
    }

    pub(super) fn to_json(&self) -> Value {
        let end = self.end.as_ref();
        let error = end.and_then(|end| end.error.clone());
        json!({
            "tool_id": self.tool_id,
            "args": self.args,
            "structured": end.map(|end| &end.structured),
            "backend_kind": end.map_or(Backend::Local, |end| end.backend).as_str(),
            "error_op": error.as_ref().and_then(|_| self.by.error_op()),
            "error": error,
            "started_ms": as_ms(self.started),
            "duration_ms": end.map_or(0, |end| as_ms(end.took)),
        })
    }
}

/// The id of a tool as it is told, which a snippet may have written at any length.
pub(super) fn told_id(id: &str) -> String {
    match id.len() > CODE_TOLD_ID_BYTES {
        true => format!("{}…", &id[..id.floor_char_boundary(CODE_TOLD_ID_BYTES)]),
        false => id.to_owned(),
    }
}

fn error(fault: &ToolFault) -> Value {
    let mut error = json!({"code": fault.code, "message": fault.message});
    if let Some(help) = &fault.help {
        error["help"] = help.clone().into();
    }
    error
}

/// The replacement for a value that is too long: its size as JSON and its digest, and where it is
/// kept.
pub(super) fn too_long(text: &[u8], kept: Option<&str>) -> Value {
    json!({
        "too_long": true, "bytes": text.len(), "sha256": Digest::of(text).to_string(),
        "kept": kept,
    })
}
