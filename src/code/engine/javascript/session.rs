//! rye's side of a running snippet.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::border::{FromWorker, Given, Run, Throws, ToWorker};
use super::{place, syntax, worker};
use crate::base::json_reader::may_hold_more;
use crate::base::limits::{JSON_NODES, SNIPPET_LINE_BYTES};
use crate::base::lines::{FramedLine, Framer};
use crate::base::sync::unpoisoned;
use crate::code::engine::{
    CallAnswer, EngineError, EngineLimit, PrintStream, Produced, Snippet, SnippetCall, Stop,
    Surroundings, Thrown,
};
use crate::host::{ChildResult, Host, LimitedMemory, Os, PersistentChild, Spawn};
use crate::sandbox::what_is_missing;

/// Most bytes of what a worker said before it ended without a result.
#[cfg(feature = "code")]
const SNIPPET_LAST_WORDS: usize = 2 << 10;

/// Most bytes that wait for the worker of a snippet, which does not take them.
#[cfg(feature = "code")]
const SNIPPET_QUEUE_BYTES: usize = 64 << 20;

/// Runs the script of the snippet in a worker.
pub(super) fn run(
    program: &Path,
    snippet: &Snippet<'_>,
    script: &str,
    around: &dyn Surroundings,
    stop: &Stop,
) -> Result<Produced, EngineError> {
    let params = raw(snippet.params)?;
    let (now_ms, seed) = (snippet.now_ms, snippet.seed);
    let run = Run { code: script.to_owned(), params: &params, now_ms, seed };
    let first = line(&ToWorker::Run(run))?;
    if first.len() > SNIPPET_LINE_BYTES {
        let why = format!(
            "the snippet and its parameters have more than {} MiB",
            SNIPPET_LINE_BYTES >> 20
        );
        return Err(EngineError::Worker { why });
    }
    let child = Arc::new(start(program, snippet)?);
    let inbox = Arc::new(Inbox::new(Arc::clone(&child)));
    let woken = Arc::clone(&inbox);
    let on_stop = stop.on_stop(move || woken.wake());
    let mut session = Session {
        snippet,
        script,
        around,
        stop,
        inbox: Arc::clone(&inbox),
        open: HashSet::new(),
        out: first,
        answered: 0,
        clock: Clock::default(),
        last_words: Vec::new(),
    };
    let ended = session.talk(&child);
    // What it took in all is told, however it ended.
    session.engine_over(Instant::now());
    // From here on no other thread has the child, and no answer reaches it.
    drop(on_stop);
    inbox.close();
    child.end_group();
    let last_words = std::mem::take(&mut session.last_words);
    drop(session);
    let Some(child) = Arc::into_inner(child) else {
        return Err(EngineError::Worker { why: "the worker is still in use".into() });
    };
    let status = child.kill();
    let produced = ended.map_err(|end| match end {
        End::Error(error) => error,
        End::Gone => gone(&status, &last_words),
    });
    produced.map(|mut produced| {
        if let Some(missing) = what_is_missing() {
            let why = "the worker was held by its filter of system calls alone";
            produced.warnings.push(format!("sandbox.missing: {missing}; {why}"));
        }
        produced
    })
}

/// Starts a worker: no environment, three pipes, a process group of its own.
fn start(program: &Path, snippet: &Snippet<'_>) -> Result<PersistentChild, EngineError> {
    let mut spawn = Spawn::new(program, Path::new("/"), 0, Duration::ZERO);
    // The limit of the kernel is for a worker that lies about what it does.
    let cpu_seconds = snippet.engine_time.as_secs() + 2;
    spawn.args = vec![
        worker::ENTRY.into(),
        snippet.memory_bytes.to_string().into(),
        cpu_seconds.to_string().into(),
    ];
    // It serves this process alone, and ends with the thread that starts it.
    Os::new(false)
        .start(&spawn)
        .map_err(|error| EngineError::Worker { why: format!("its worker did not start: {error}") })
}

/// Why a worker is gone that said nothing of an end.
fn gone(status: &ChildResult, last_words: &[u8]) -> EngineError {
    if status.exit_code == Some(LimitedMemory::ENDED) {
        return EngineError::Limit(EngineLimit::Memory);
    }
    let said: Vec<u8> = last_words.iter().chain(&status.stderr).copied().collect();
    let said = String::from_utf8_lossy(&said);
    match status.signal {
        Some(libc::SIGXCPU) => return EngineError::Limit(EngineLimit::Engine),
        // The library's own words when it is refused memory.
        Some(libc::SIGABRT) if said.contains("memory allocation of") => {
            return EngineError::Limit(EngineLimit::Memory);
        }
        _ => {}
    }
    let how = match (status.exit_code, status.signal) {
        (_, Some(signal)) => format!("its worker was ended by signal {signal}"),
        (Some(code), _) => format!("its worker ended with status {code}"),
        _ => "its worker is gone".to_owned(),
    };
    let said = crate::base::text::brief_line(said.trim());
    EngineError::Worker { why: if said.is_empty() { how } else { format!("{how}: {said}") } }
}

fn raw(value: &Value) -> Result<Box<RawValue>, EngineError> {
    let unwritten = |error| EngineError::Worker { why: format!("a value cannot be sent: {error}") };
    to_raw_value(value).map_err(unwritten)
}

fn line(message: &ToWorker<'_>) -> Result<Vec<u8>, EngineError> {
    let unwritten =
        |error| EngineError::Worker { why: format!("a message cannot be sent: {error}") };
    let mut line = serde_json::to_vec(message).map_err(unwritten)?;
    line.push(b'\n');
    Ok(line)
}

/// An answer that came: of which call, and what the clocks say from then on.
type Came = (u64, Result<Value, Thrown>, u64);

/// Answers that came, from any thread, and what wakes the session.
struct Inbox {
    answers: Mutex<Vec<Came>>,
    child: Mutex<Option<Arc<PersistentChild>>>,
}

impl Inbox {
    fn new(child: Arc<PersistentChild>) -> Self {
        Self { answers: Mutex::default(), child: Mutex::new(Some(child)) }
    }

    fn wake(&self) {
        if let Some(child) = unpoisoned(self.child.lock()).as_ref() {
            child.wake();
        }
    }

    fn give(&self, call: u64, result: Result<Value, Thrown>, now_ms: u64) {
        let is_open = unpoisoned(self.child.lock()).is_some();
        if is_open {
            unpoisoned(self.answers.lock()).push((call, result, now_ms));
            self.wake();
        }
    }

    fn take(&self) -> Vec<Came> {
        std::mem::take(&mut *unpoisoned(self.answers.lock()))
    }

    fn close(&self) {
        unpoisoned(self.child.lock()).take();
        self.take();
    }
}

/// The time in which the engine itself ran.
#[derive(Default)]
struct Clock {
    ran: Duration,
    /// Since when it runs; `None` while it waits.
    runs_since: Option<Instant>,
}

impl Clock {
    fn run(&mut self) {
        self.runs_since.get_or_insert_with(Instant::now);
    }

    fn pause(&mut self) {
        self.ran = self.ran_by(Instant::now());
        self.runs_since = None;
    }

    fn ran_by(&self, now: Instant) -> Duration {
        let runs = self.runs_since.map(|since| now.saturating_duration_since(since));
        self.ran + runs.unwrap_or_default()
    }
}

/// How a session ends without a result.
enum End {
    Error(EngineError),
    /// The worker is gone.
    Gone,
}

impl From<EngineError> for End {
    fn from(error: EngineError) -> Self {
        Self::Error(error)
    }
}

struct Session<'s> {
    snippet: &'s Snippet<'s>,
    script: &'s str,
    around: &'s dyn Surroundings,
    stop: &'s Stop,
    inbox: Arc<Inbox>,
    /// Calls that are not answered.
    open: HashSet<u64>,
    /// Bytes that are still to be sent to the worker.
    out: Vec<u8>,
    /// How many answers it was told.
    answered: u64,
    clock: Clock,
    last_words: Vec<u8>,
}

impl Session<'_> {
    fn talk(&mut self, child: &PersistentChild) -> Result<Produced, End> {
        let mut framer = Framer::new(SNIPPET_LINE_BYTES);
        loop {
            self.check_limits()?;
            self.tell_answers()?;
            let deadline = self.deadline();
            let over = self.engine_over(Instant::now());
            let until = over.map_or(deadline, |over| over.min(deadline));
            let failed = |error| EngineError::Worker { why: format!("its worker: {error}") };
            let round = child.turn(&mut self.out, until, None).map_err(failed)?;
            let room = SNIPPET_LAST_WORDS.saturating_sub(self.last_words.len());
            self.last_words.extend(round.stderr.iter().take(room));
            framer.push(&round.stdout);
            while let Some(line) = framer.next_line() {
                let FramedLine::Whole(line) = line else {
                    return Err(told_wrong("a line that is too long"));
                };
                if let Some(produced) = self.hear(line)? {
                    return Ok(produced);
                }
                self.check_limits()?;
            }
            if round.is_over {
                return Err(End::Gone);
            }
        }
    }

    fn deadline(&self) -> Instant {
        let latest = self.snippet.deadline;
        self.around.deadline().map_or(latest, |earlier| earlier.min(latest))
    }

    /// When the engine's own time is over, while it runs.
    fn engine_over(&self, now: Instant) -> Option<Instant> {
        let ran = self.clock.ran_by(now);
        let own = self.snippet.engine_time.saturating_sub(ran);
        let left = self.around.engine_left(ran).map_or(own, |left| left.min(own));
        self.clock.runs_since.and_then(|_| now.checked_add(left))
    }

    fn check_limits(&self) -> Result<(), EngineError> {
        let now = Instant::now();
        let over = self.engine_over(now);
        if self.stop.is_asked() {
            return Err(EngineError::Stopped);
        }
        if now >= self.deadline() {
            return Err(EngineError::Limit(EngineLimit::Timeout));
        }
        if over.is_some_and(|over| now >= over) {
            return Err(EngineError::Limit(EngineLimit::Engine));
        }
        if self.out.len() > SNIPPET_QUEUE_BYTES {
            return Err(EngineError::Limit(EngineLimit::Memory));
        }
        Ok(())
    }

    fn tell_answers(&mut self) -> Result<(), EngineError> {
        for (call, result, now_ms) in self.inbox.take() {
            // An answer is given once by its type; a call that was never made has none.
            if !self.open.remove(&call) {
                continue;
            }
            let line = match result {
                Ok(value) => line(&ToWorker::Given(Given { call, now_ms, value: &raw(&value)? }))?,
                Err(thrown) => throws(call, now_ms, thrown)?,
            };
            let line = match line.len() > SNIPPET_LINE_BYTES {
                true => throws(call, now_ms, too_long())?,
                false => line,
            };
            self.out.extend_from_slice(&line);
            self.answered += 1;
            self.clock.run();
        }
        Ok(())
    }

    /// Takes what the worker says; the result, if it is that.
    fn hear(&mut self, line: &[u8]) -> Result<Option<Produced>, End> {
        // A few more than a value may have, for what is around it.
        if may_hold_more(line, JSON_NODES + 1_000) {
            return Err(told_wrong("more values than a line may have"));
        }
        let message = serde_json::from_slice(line)
            .map_err(|_| told_wrong("something that is not a message"))?;
        match message {
            FromWorker::Ready => self.clock.run(),
            FromWorker::Print { error, text } => {
                let stream = if error { PrintStream::Stderr } else { PrintStream::Stdout };
                self.around.print(stream, &text);
            }
            FromWorker::Call { call, function, args } => {
                if !self.open.insert(call) {
                    return Err(told_wrong("a call twice"));
                }
                let inbox = Arc::clone(&self.inbox);
                let answer =
                    CallAnswer::new(move |result, now_ms| inbox.give(call, result, now_ms));
                self.around.call(SnippetCall { function, args }, answer);
            }
            FromWorker::Idle { taken } if self.open.is_empty() && taken == self.answered => {
                return Err(stuck());
            }
            FromWorker::Idle { taken } => {
                // An answer on its way gives it something to do.
                if taken == self.answered {
                    self.clock.pause();
                    self.around.idle(taken);
                }
            }
            FromWorker::Done { value, warnings } => {
                return Ok(Some(Produced { value, warnings }));
            }
            FromWorker::NotJson { path, why } => {
                return Err(EngineError::NotSerialisable { path, why }.into());
            }
            FromWorker::Failed(told) => {
                let better = if told.is_syntax { syntax::error_in(self.script) } else { None };
                let mut fault = place::fault(self.snippet.code, self.script, told);
                if let Some(better) = better {
                    let better = better.in_text(self.snippet.code);
                    (fault.line, fault.column) = (better.line, better.column);
                }
                return Err(EngineError::Failed(fault).into());
            }
            FromWorker::Stuck => return Err(stuck()),
        }
        Ok(None)
    }
}

fn stuck() -> End {
    let message = "the snippet waits for a promise that nothing settles".to_owned();
    let help = Some("settle it, or do not wait for it");
    let fault = crate::code::engine::SnippetFault { message, help, ..Default::default() };
    EngineError::Failed(fault).into()
}

/// The worker sent what it never sends by itself.
fn told_wrong(what: &str) -> End {
    EngineError::Worker { why: format!("its worker sent {what}") }.into()
}

fn throws(call: u64, now_ms: u64, thrown: Thrown) -> Result<Vec<u8>, EngineError> {
    let data = raw(&thrown.data)?;
    line(&ToWorker::Throws(Throws {
        call,
        now_ms,
        name: thrown.name.into_owned(),
        message: thrown.message,
        code: thrown.code,
        tool: thrown.tool,
        data: &data,
    }))
}

/// The error of a call whose answer does not fit on a line.
fn too_long() -> Thrown {
    Thrown {
        name: "RangeError".into(),
        message: format!("the answer has more than {} MiB", SNIPPET_LINE_BYTES >> 20),
        code: String::new(),
        tool: None,
        data: Value::Null,
    }
}
