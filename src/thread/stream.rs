//! Queues of what a tool does in the sandbox of its thread: one payload behind the other in each
//! queue, and those of several queues at once (threads 5).
//!
//! Invariants
//! - What is behind another payload, or behind an event, begins after it has ended, or never.
//! - An event stands for what was handed in before it was recorded, so no two streams wait for each
//!   other.
//! - Whatever was handed in is answered once, also where its stream is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use super::backend::{BackendFault, BackendFaultKind, Payload, PayloadResult, SandboxBackend};
use crate::base::durations::CALLS_END_MS;
use crate::base::limits::{BACKEND_STREAMS, STREAM_WAITING};
use crate::base::sync::unpoisoned;
use crate::host::{Job, Pool, PoolError, PoolSize, attended, hear_again};

/// One worker, and what waits for it.
const SIZE: PoolSize = PoolSize { threads: 1, waiting: STREAM_WAITING };

/// The result of a payload, or why it was not carried out.
type ThreadOutcome = Result<PayloadResult, BackendFault>;

impl dyn SandboxBackend + '_ {
    /// Lends `work` streams of this sandbox, in which several payloads are carried out at once, and
    /// gives what `work` gave. When this returns, nothing of its streams runs and no thread of them
    /// is left.
    ///
    /// `work` runs on a thread of its own while this one waits. Where the thread is cancelled, or
    /// this process is asked to end, every stream is dropped: whatever runs is ended with all that
    /// it started, and everything is answered as [`BackendFaultKind::SandboxClosed`].
    ///
    /// A tool that builds two parts of a program at once and links them afterwards:
    ///
    /// ```
    /// use rye::{BackendFault, Payload, ThreadSession, ThreadTool, ToolCallFault};
    /// use serde_json::{Map, Value, json};
    ///
    /// struct Build;
    ///
    /// impl ThreadTool for Build {
    ///     fn name(&self) -> &str {
    ///         "build"
    ///     }
    ///     fn description(&self) -> &str {
    ///         "Builds the program."
    ///     }
    ///     fn parameters(&self) -> Value {
    ///         json!({"type": "object"})
    ///     }
    ///     fn call(
    ///         &self,
    ///         session: &ThreadSession<'_>,
    ///         _: Map<String, Value>,
    ///     ) -> Result<Value, ToolCallFault> {
    ///         let run = |cmd: &str| Payload::command(cmd, session.time_left());
    ///         let linked = session.backend().with_streams(|backend| {
    ///             let (one, other) = (backend.stream()?, backend.stream()?);
    ///             one.submit(run("cc -c main.c"))?;
    ///             other.submit(run("cc -c part.c"))?;
    ///             one.wait_event(&other.record_event())?;
    ///             one.submit(run("cc -o program main.o part.o"))?.wait()
    ///         });
    ///         let fault = |fault: BackendFault| ToolCallFault::new(fault.message);
    ///         linked.and_then(|came| came).map_err(fault)?;
    ///         Ok(json!({"built": true}))
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`BackendFaultKind::OsError`] where the machine gives no thread; `work` has not begun then.
    ///
    /// # Panics
    /// Where `work` panicked, once nothing of its streams runs any more.
    pub fn with_streams<T: Send>(
        &self,
        work: impl FnOnce(&BackendStreams<'_>) -> T + Send,
    ) -> Result<T, BackendFault> {
        let (ended, heard) = std::thread::scope(|scope| {
            let (hub, lines) = (Arc::default(), Mutex::default());
            let shared = Arc::new(SharedStreams { backend: self, hub, lines });
            let start = Box::new(move || Pool::scoped(SIZE, scope));
            let streams = BackendStreams { shared: Arc::clone(&shared), start };
            let work = || {
                let came = catch_unwind(AssertUnwindSafe(|| work(&streams)));
                streams.shared.close(None);
                came
            };
            let ended = attended(work, |signal| shared.close(Some(signal)));
            (ended, unpoisoned(shared.lines.lock()).heard)
        });
        if let Some(signal) = heard {
            // It is there for whatever this thread waits for next.
            hear_again(signal);
        }
        match ended {
            Ok(Ok(came)) => Ok(came),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(error) => Err(BackendFault::new(BackendFaultKind::OsError, error.to_string())),
        }
    }
}

/// Where streams come from: what [`with_streams`](SandboxBackend#method.with_streams) lends.
pub struct BackendStreams<'a> {
    shared: Arc<SharedStreams<'a>>,
    start: Box<dyn Fn() -> Result<Pool<'a>, PoolError> + Send + Sync + 'a>,
}

/// A queue of payloads, which are carried out one by one in the order in which they were handed in.
/// One that fails does not keep those behind it from being carried out.
///
/// Dropping it ends whatever runs, with all that it started, and answers everything that was not
/// carried out as [`BackendFaultKind::SandboxClosed`]; it waits until nothing of it runs any more.
pub struct BackendStream<'a> {
    shared: Arc<SharedStreams<'a>>,
    line: Arc<Line<'a>>,
}

/// The future result of a payload in a stream. Dropping it changes nothing: the payload is carried
/// out all the same.
#[derive(Debug)]
pub struct PayloadFuture {
    hub: Arc<Hub>,
    answer: Arc<Mutex<Option<ThreadOutcome>>>,
}

/// A place in a stream. It is reached once everything has ended that was handed in there before
/// the event was recorded.
#[derive(Debug, Clone)]
pub struct BackendEvent {
    hub: Arc<Hub>,
    progress: Arc<Progress>,
    number: u64,
}

/// The state that the streams of one call share.
struct SharedStreams<'a> {
    backend: &'a dyn SandboxBackend,
    hub: Arc<Hub>,
    lines: Mutex<Lines<'a>>,
}

#[derive(Default)]
struct Lines<'a> {
    all: Vec<Weak<Line<'a>>>,
    is_closed: bool,
    /// The signal by which this thread or this process was asked to end.
    heard: Option<i32>,
}

/// One stream.
struct Line<'a> {
    pool: Pool<'a>,
    progress: Arc<Progress>,
    /// Held while something is handed in, so that its number is its place.
    turn: Mutex<()>,
}

/// How far a stream is.
#[derive(Debug, Default)]
struct Progress {
    taken: AtomicU64,
    ended: AtomicU64,
    /// Payloads that are not carried out yet never will be.
    is_closed: AtomicBool,
}

/// Wakes the threads that wait for anything in the streams of one call.
#[derive(Debug, Default)]
struct Hub {
    lock: Mutex<()>,
    changed: Condvar,
}

impl<'a> BackendStreams<'a> {
    /// A new stream with a worker of its own. There are at most 16 at once.
    ///
    /// # Errors
    /// [`BackendFaultKind::OsError`] where there are 16 already, or the machine gives no thread;
    /// [`BackendFaultKind::SandboxClosed`] where the thread was asked to end.
    pub fn stream(&self) -> Result<BackendStream<'a>, BackendFault> {
        let mut lines = unpoisoned(self.shared.lines.lock());
        if lines.is_closed {
            return Err(closed());
        }
        lines.all.retain(|line| line.strong_count() > 0);
        if lines.all.len() >= BACKEND_STREAMS {
            return Err(os_error(format!("there are {BACKEND_STREAMS} streams already")));
        }
        let pool = (self.start)().map_err(|error| os_error(error.to_string()))?;
        let line = Line { pool, progress: Arc::default(), turn: Mutex::default() };
        let line = Arc::new(line);
        lines.all.push(Arc::downgrade(&line));
        Ok(BackendStream { shared: Arc::clone(&self.shared), line })
    }
}

impl<'a> BackendStream<'a> {
    /// Hands a payload in and does not wait for it. At most 256 wait in a stream: a stream that is
    /// full refuses more and forgets nothing, and there is room again once one has ended.
    ///
    /// # Errors
    /// [`BackendFaultKind::OsError`] where it is full; [`BackendFaultKind::SandboxClosed`] where
    /// nothing is carried out there any more.
    pub fn submit(&self, payload: Payload) -> Result<PayloadFuture, BackendFault> {
        let (hub, answer) = (Arc::clone(&self.shared.hub), Arc::default());
        let future = PayloadFuture { hub, answer: Arc::clone(&answer) };
        let answering = Answering { hub: Arc::clone(&self.shared.hub), answer };
        let (shared, progress) = (Arc::clone(&self.shared), Arc::clone(&self.line.progress));
        self.hand_in(Box::new(move |_| {
            // Once it is dropped it is answered, so it is kept to the end.
            let answering = answering;
            if progress.is_closed() {
                return;
            }
            let came = shared.carry_out(payload, &progress);
            // The payload behind it may begin, and a waiter finds the stream that far.
            progress.end_one();
            answering.answer(came);
        }))?;
        Ok(future)
    }

    /// Marks this place. What is handed in here afterwards is behind the event and not waited for.
    pub fn record_event(&self) -> BackendEvent {
        let _turn = unpoisoned(self.line.turn.lock());
        let progress = Arc::clone(&self.line.progress);
        let number = progress.taken.load(Ordering::SeqCst);
        BackendEvent { hub: Arc::clone(&self.shared.hub), progress, number }
    }

    /// Lets nothing that is handed in here afterwards begin before the event is reached. Where it
    /// can no longer be reached, because its stream was dropped before, nothing behind it is
    /// carried out: all of that is answered as [`BackendFaultKind::SandboxClosed`], and this stream
    /// takes nothing more.
    ///
    /// It takes a place in the queue, and does not wait itself. No two streams can wait for each
    /// other: an event stands for what was handed in before it was recorded.
    ///
    /// # Errors
    /// As of [`BackendStream::submit`]; [`BackendFaultKind::UnsupportedPayload`] for an event of
    /// the streams of another call.
    pub fn wait_event(&self, event: &BackendEvent) -> Result<(), BackendFault> {
        if !Arc::ptr_eq(&event.hub, &self.shared.hub) {
            let why = "the event is one of the streams of another call";
            return Err(BackendFault::new(BackendFaultKind::UnsupportedPayload, why));
        }
        let (event, progress) = (event.clone(), Arc::clone(&self.line.progress));
        self.hand_in(Box::new(move |_| {
            let hub = &event.hub;
            hub.wait_until(|| event.is_decided() || progress.is_closed());
            match event.is_reached() {
                true => progress.end_one(),
                false => progress.is_closed.store(true, Ordering::SeqCst),
            }
            hub.changed();
        }))
    }

    /// Waits until everything has ended that was handed in before.
    ///
    /// # Errors
    /// [`BackendFaultKind::SandboxClosed`] where some of it never will be carried out.
    pub fn synchronize(&self) -> Result<(), BackendFault> {
        self.record_event().wait()
    }

    fn hand_in(&self, job: Job<'a>) -> Result<(), BackendFault> {
        let _turn = unpoisoned(self.line.turn.lock());
        let progress = &self.line.progress;
        if progress.is_closed() {
            return Err(closed());
        }
        // Before it may end.
        progress.taken.fetch_add(1, Ordering::SeqCst);
        let refused = match self.line.pool.submit(job) {
            Ok(ticket) => {
                ticket.answered();
                return Ok(());
            }
            Err(refused) => refused,
        };
        progress.taken.fetch_sub(1, Ordering::SeqCst);
        Err(match refused {
            _ if progress.is_closed() => closed(),
            PoolError::Busy { .. } => os_error(format!(
                "{STREAM_WAITING} payloads wait in the stream already, and it takes no more"
            )),
            PoolError::Thread { .. } => os_error(refused.to_string()),
        })
    }
}

impl Drop for BackendStream<'_> {
    fn drop(&mut self) {
        self.line.close(&self.shared.hub);
        self.line.pool.end(Duration::from_millis(CALLS_END_MS));
    }
}

impl PayloadFuture {
    /// Returns true if it was carried out, or never will be.
    pub fn is_done(&self) -> bool {
        unpoisoned(self.answer.lock()).is_some()
    }

    /// Waits for what the payload gives.
    ///
    /// # Errors
    /// Why it was not carried out; [`BackendFaultKind::SandboxClosed`] where its stream was dropped
    /// first, [`BackendFaultKind::OsError`] where the sandbox panicked.
    pub fn wait(self) -> Result<PayloadResult, BackendFault> {
        self.hub.wait_until(|| self.is_done());
        unpoisoned(self.answer.lock()).take().unwrap_or_else(|| Err(closed()))
    }
}

impl BackendEvent {
    /// Returns true if everything before it has ended.
    pub fn is_reached(&self) -> bool {
        self.progress.ended.load(Ordering::SeqCst) >= self.number
    }

    /// Waits until it is reached.
    ///
    /// # Errors
    /// [`BackendFaultKind::SandboxClosed`] where it never will be, because its stream was dropped.
    pub fn wait(&self) -> Result<(), BackendFault> {
        self.hub.wait_until(|| self.is_decided());
        if self.is_reached() { Ok(()) } else { Err(closed()) }
    }

    fn is_decided(&self) -> bool {
        self.is_reached() || self.progress.is_closed()
    }
}

impl SharedStreams<'_> {
    /// Takes nothing more, and ends what runs.
    fn close(&self, heard: Option<i32>) {
        let mut lines = unpoisoned(self.lines.lock());
        lines.is_closed = true;
        lines.heard = lines.heard.or(heard);
        let all: Vec<_> = lines.all.iter().filter_map(Weak::upgrade).collect();
        drop(lines);
        for line in all {
            line.close(&self.hub);
            if heard.is_some() {
                line.pool.interrupt();
            }
        }
    }

    fn carry_out(&self, payload: Payload, progress: &Progress) -> ThreadOutcome {
        let came = catch_unwind(AssertUnwindSafe(|| self.backend.dispatch(payload)));
        let came = came.unwrap_or_else(|_| Err(os_error("the sandbox panicked".into())));
        match came {
            Err(BackendFault { signal: Some(signal), .. }) => {
                if !progress.is_closed() {
                    // It was asked to end, so the stream is over.
                    self.close(Some(signal));
                }
                Err(closed())
            }
            came => came,
        }
    }
}

impl Line<'_> {
    fn close(&self, hub: &Hub) {
        self.progress.is_closed.store(true, Ordering::SeqCst);
        hub.changed();
        self.pool.stop();
    }
}

impl Progress {
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Counts a payload as ended, unless it was cut short.
    fn end_one(&self) {
        if !self.is_closed() {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Hub {
    fn changed(&self) {
        let _lock = unpoisoned(self.lock.lock());
        self.changed.notify_all();
    }

    fn wait_until(&self, is_so: impl Fn() -> bool) {
        let mut lock = unpoisoned(self.lock.lock());
        while !is_so() {
            lock = unpoisoned(self.changed.wait(lock));
        }
    }
}

/// Answers a payload that was handed in, whatever becomes of it.
struct Answering {
    hub: Arc<Hub>,
    answer: Arc<Mutex<Option<ThreadOutcome>>>,
}

impl Answering {
    fn answer(self, came: ThreadOutcome) {
        *unpoisoned(self.answer.lock()) = Some(came);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        unpoisoned(self.answer.lock()).get_or_insert_with(|| Err(closed()));
        self.hub.changed();
    }
}

fn closed() -> BackendFault {
    BackendFault::new(BackendFaultKind::SandboxClosed, "the stream is over")
}

fn os_error(why: String) -> BackendFault {
    BackendFault::new(BackendFaultKind::OsError, why)
}
