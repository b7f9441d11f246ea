//! Carries out the calls of a model: one by one, and at once where tools only read (threads 4.2).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::backend::SandboxBackend;
use super::model::ModelCall;
use super::table::{NamedTool, ToolTable};
use super::tool::{ThreadSession, ThreadTool, ToolCallFault, ToolCallFaultKind};
use super::waits::Awaited;
use crate::base::limits::{NEAR_NAMES, THREAD_DETAIL_CHARS};
use crate::base::text::near;
use crate::diagnostic::Failure;
use crate::host::{Pool, PoolSize, attended, hear_again};
use crate::parse::json as read_json;

/// Calls of one turn that run at once, of tools that only read (threads 4.2).
const THREAD_READS: usize = 4;

/// The result of a call.
#[derive(Debug)]
pub(super) enum CallEnd {
    Gave(Value),
    /// A person decides what it asks; the thread waits with it.
    Waits(Box<Awaited>),
    /// The model is told why, and goes on.
    Failed {
        kind: ToolCallFaultKind,
        message: String,
        detail: Value,
    },
    /// The thread ends: this process was asked to.
    Stopped(Failure),
}

/// A call as far as it is understood without carrying anything out.
pub(super) enum Understood<'t> {
    /// It is answered already.
    Answered(CallEnd),
    /// It hands over outputs.
    Return(Map<String, Value>),
    Tool(&'t dyn ThreadTool, Map<String, Value>),
}

/// Where the calls of a thread are carried out.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) thread_id: &'a str,
    pub(super) backend: &'a dyn SandboxBackend,
    /// The request of the call, which a person decided since.
    pub(super) awaited: Option<&'a Awaited>,
}

pub(super) fn failed(kind: ToolCallFaultKind, message: String, detail: Value) -> CallEnd {
    CallEnd::Failed { kind, message, detail }
}

/// Reads the arguments of a call and finds its tool.
pub(super) fn understood<'t>(table: &'t ToolTable<'_>, call: &ModelCall) -> Understood<'t> {
    let text = call.arguments.trim();
    let read = read_json(if text.is_empty() { "{}" } else { text });
    let Ok(Value::Object(args)) = read else {
        let detail: String = call.arguments.chars().take(THREAD_DETAIL_CHARS).collect();
        let message = "the arguments are not a JSON object".into();
        let kind = ToolCallFaultKind::InvalidArguments;
        return Understood::Answered(failed(kind, message, detail.into()));
    };
    match table.find(&call.name) {
        Some(NamedTool::Return) => Understood::Return(args),
        Some(NamedTool::Tool(tool)) => Understood::Tool(tool, args),
        None => {
            let names = table.tools().iter().map(|tool| tool.name.as_str());
            let near = near(&call.name, names, NEAR_NAMES);
            let message = format!("unknown tool '{}'", call.name);
            Understood::Answered(failed(ToolCallFaultKind::UnknownTool, message, json!(near)))
        }
    }
}

/// How many calls at the beginning of `calls` are carried out at once: those of tools that only
/// read; else one.
pub(super) fn together(table: &ToolTable<'_>, calls: &[ModelCall]) -> usize {
    let reads = calls.iter().take_while(|call| match table.find(&call.name) {
        Some(NamedTool::Tool(tool)) => tool.only_reads(),
        _ => false,
    });
    reads.count().max(1).min(calls.len())
}

impl Place<'_> {
    /// Carries out one call and waits for it.
    pub(super) fn carry_out(
        self,
        tool: &dyn ThreadTool,
        call: &ModelCall,
        args: Map<String, Value>,
        time: Duration,
    ) -> CallEnd {
        let Self { thread_id, backend, awaited, .. } = self;
        let until = Instant::now() + time;
        let session = ThreadSession { thread_id, call_id: &call.id, until, backend, awaited };
        let came = catch_unwind(AssertUnwindSafe(|| tool.call(&session, args)));
        match came {
            Ok(Ok(value)) => CallEnd::Gave(value),
            Ok(Err(ToolCallFault { stopped: Some(failure), .. })) => CallEnd::Stopped(failure),
            Ok(Err(ToolCallFault { waits: Some(mut awaited), .. })) => {
                awaited.call_id.clone_from(&call.id);
                CallEnd::Waits(awaited)
            }
            Ok(Err(ToolCallFault { kind, message, detail, .. })) => failed(kind, message, detail),
            Err(_) => {
                let message = "the tool panicked".into();
                failed(ToolCallFaultKind::Exception, message, Value::Null)
            }
        }
    }

    /// Carries out calls of tools that only read, at most four at once, and waits for all. What
    /// asks this thread or this process to end meanwhile ends them. `None` is a call that was not
    /// begun: the time was over before, or it was to end, or the machine gave no thread.
    pub(super) fn carry_out_at_once(
        self,
        table: &ToolTable<'_>,
        calls: &[ModelCall],
        time: Duration,
    ) -> Vec<Option<CallEnd>> {
        let begin = Instant::now();
        let mut came: Vec<Option<CallEnd>> = calls.iter().map(|_| None).collect();
        let (mut heard, is_ending) = (None, AtomicBool::new(false));
        let is_ending = &is_ending;
        let size = PoolSize { threads: THREAD_READS, waiting: calls.len() };
        std::thread::scope(|scope| {
            let Ok(pool) = Pool::scoped(size, scope) else { return };
            let all = || {
                let (say, said) = channel();
                for (at, call) in calls.iter().enumerate() {
                    let say = say.clone();
                    let job = Box::new(move |_: &_| {
                        let left = time.saturating_sub(begin.elapsed());
                        if is_ending.load(Ordering::Relaxed) {
                            return;
                        }
                        let called = match understood(table, call) {
                            Understood::Answered(called) => called,
                            Understood::Tool(tool, args) if !left.is_zero() => {
                                self.carry_out(tool, call, args, left)
                            }
                            _ => return,
                        };
                        if matches!(called, CallEnd::Stopped(_)) {
                            // It was asked to end, so no other call begins.
                            is_ending.store(true, Ordering::Relaxed);
                        }
                        // The receiver is there until the last call has sent its result.
                        let _ = say.send((at, called));
                    });
                    if let Ok(ticket) = pool.submit(job) {
                        ticket.answered();
                    }
                }
                drop(say);
                for (at, called) in said {
                    came[at] = Some(called);
                    if is_ending.load(Ordering::Relaxed) {
                        pool.stop();
                    }
                }
            };
            // If signals cannot be heard, no call was begun.
            let _ = attended(all, |signal| {
                heard = Some(signal);
                pool.interrupt();
            });
        });
        let is_told = came.iter().flatten().any(|called| matches!(called, CallEnd::Stopped(_)));
        if let (Some(signal), false) = (heard, is_told) {
            // No call took note of it, so it is there for whatever this thread waits for next.
            hear_again(signal);
        }
        came
    }
}

/// The result of a call that was interrupted, of which it is not known what it gave.
pub(super) fn interrupted() -> CallEnd {
    let why = "the call was interrupted, and may have been carried out in part";
    failed(ToolCallFaultKind::Exception, why.into(), Value::Null)
}
