//! The border of a snippet: every call passes it, is counted and recorded here, and runs on a
//! thread of its own.
//!
//! Invariants
//! - A call is counted before it runs, under one lock: never more run than the limit says.
//! - Once a limit is reached no call is answered any more, so that the snippet cannot go on.
//! - What is told of calls is what was seen here, and nothing that a snippet says.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::chain;
use super::config::CodeConfig;
use super::engine::{CallAnswer, PrintStream, Produced, SnippetCall, Stop, Surroundings};
use super::engine_time::EngineTime;
use super::error::{CodeError, CodeLimit};
use super::executor::{CodeResult, Left, OnPrint, most};
use super::faults::{fault, given, number, text, wrong};
use super::journal::{Made, NewCall, Steps, Tape, requests};
use super::open_calls::{Open, OpenBytes};
use super::pause::{ApprovedCalls, Spot, Waits, rejected};
use super::records::{CallRecords, CalledBy, RecordId};
use super::request::CheckedRequest;
use super::tools::{Backend, SnippetReach, ToolCall, ToolFault, Tools};
use crate::base::sync::unpoisoned;
use crate::host::{Pool, PoolError};

#[cfg(feature = "code")]
const CODE_REFUSING_MS: u64 = 2_000;

/// How long a snippet that is over its number of calls is still listened to without another call,
/// in milliseconds, and how long at most: calls that it made at once are recorded as refused.
#[cfg(feature = "code")]
const CODE_QUIET_MS: u64 = 200;

/// The result of a call, and its backend.
pub(super) type Came = Result<(Value, Backend), ToolFault>;

/// Counts and records, and knows why the snippet ends.
pub(super) struct Guard<'a> {
    tools: &'a dyn Tools,
    print: OnPrint<'a>,
    reach: &'a SnippetReach,
    pub(super) config: &'a CodeConfig,
    stop: Stop,
    /// Taken before the state, where both are.
    pub(super) tape: Mutex<Tape>,
    pub(super) state: Mutex<State>,
    pub(super) approved: ApprovedCalls,
    open_bytes: OpenBytes,
    /// Answers that the snippet was given.
    pub(super) given: Arc<AtomicU64>,
    /// When the snippet last made a call.
    last_call: Arc<Mutex<Instant>>,
}

pub(super) struct State {
    pub(super) records: CallRecords,
    /// Calls of tools that were let in.
    pub(super) used: u64,
    /// Calls of tools that ran, which each have a number.
    pub(super) ran: u64,
    stdout: String,
    stderr: String,
    /// Why the snippet ends, whatever it does.
    pub(super) over: Option<CodeError>,
    pub(super) waits: Waits,
    /// The results of the steps of chains that have not ended.
    pub(super) chains: HashMap<usize, Steps>,
    /// When a snippet that was run again is at its limit of time.
    pub(super) deadline: Option<Instant>,
    pub(super) engine: EngineTime,
}

impl<'a> Guard<'a> {
    pub(super) fn new(
        settled: &'a CheckedRequest,
        tools: &'a dyn Tools,
        print: OnPrint<'a>,
        records: CallRecords,
    ) -> Self {
        let state = State {
            records,
            used: 0,
            ran: 0,
            stdout: String::new(),
            stderr: String::new(),
            over: None,
            waits: Waits::default(),
            chains: HashMap::new(),
            deadline: None,
            engine: EngineTime::new(Duration::from_millis(settled.config.engine_ms)),
        };
        Self {
            tools,
            print,
            reach: &settled.reach,
            config: &settled.config,
            stop: Stop::new(),
            tape: Mutex::new(Tape::new()),
            state: Mutex::new(state),
            approved: ApprovedCalls::default(),
            open_bytes: OpenBytes::default(),
            given: Arc::default(),
            last_call: Arc::new(Mutex::new(Instant::now())),
        }
    }

    pub(super) fn tools(&self) -> &'a dyn Tools {
        self.tools
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        unpoisoned(self.state.lock())
    }

    /// Returns true if the snippet made more calls than it may.
    pub(super) fn is_over_calls(&self) -> bool {
        use CodeLimit::{ChainSteps, ToolCalls};
        let over = &self.state().over;
        matches!(over, Some(CodeError::Limit { limit: ToolCalls | ChainSteps, .. }))
    }

    /// A signal asks this process, or this call, to end.
    pub(super) fn interrupt(&self, signal: i32) {
        self.end(CodeError::Interrupted { signal });
    }

    /// The snippet ends at once; the first reason is the one that is told.
    pub(super) fn end(&self, why: CodeError) {
        self.state().over.get_or_insert(why);
        self.approved.give_up();
        self.stop.now();
    }

    /// Notes that a limit of calls was reached. The snippet ends as soon as it makes no further
    /// calls: those that it made at once are to be recorded.
    fn over(&self, state: &mut State, limit: CodeLimit) {
        if state.over.is_some() {
            return;
        }
        state.over = Some(CodeError::Limit { limit, most: most(self.config, limit) });
        let (stop, last_call) = (self.stop.clone(), Arc::clone(&self.last_call));
        let (quiet, most) =
            (Duration::from_millis(CODE_QUIET_MS), Duration::from_millis(CODE_REFUSING_MS));
        let since = Instant::now();
        let wait = move || {
            while since.elapsed() < most && !stop.is_asked() {
                let left = quiet.saturating_sub(unpoisoned(last_call.lock()).elapsed());
                if left.is_zero() {
                    break;
                }
                std::thread::sleep(left);
            }
            stop.now();
        };
        if std::thread::Builder::new().name("limit".into()).spawn(wait).is_err() {
            self.stop.now();
        }
    }

    /// The result of the snippet.
    pub(super) fn into_result(
        mut self,
        produced: Result<Produced, CodeError>,
        settled: &CheckedRequest,
        tools: &dyn Tools,
    ) -> CodeResult {
        let produced = match produced {
            Ok(_) | Err(CodeError::Cancelled) => match self.paused(settled) {
                Ok(Some(paused)) => Err(CodeError::Waits(Box::new(paused))),
                Ok(None) => produced,
                Err(error) => Err(error),
            },
            failed => failed,
        };
        let is_behind = unpoisoned(self.tape.into_inner()).is_replaying();
        let mut state = unpoisoned(self.state.into_inner());
        if !matches!(produced, Err(CodeError::Waits(_))) {
            tools.withdraw(&requests(&state.waits.asked));
        }
        let duration = state.records.elapsed();
        state.records.end_open(&fault(&CodeError::Cancelled), &fault(&CodeError::NotMade));
        let produced = match (state.over, produced) {
            (Some(over), _) => Err(over),
            // It came to another end before it made all the calls that it had made.
            (None, Ok(_) | Err(CodeError::Failed(_) | CodeError::NotSerialisable { .. }))
                if is_behind =>
            {
                Err(CodeError::ReplayDiverged)
            }
            (None, Err(CodeError::Limit { limit: CodeLimit::Timeout, .. })) if is_behind => {
                Err(CodeError::ReplayDiverged)
            }
            (None, produced) => produced,
        };
        let left = Left {
            stdout: state.stdout,
            stderr: state.stderr,
            tool_calls: state.records.to_json(),
            unrecorded: state.records.left_out(),
            used: state.used,
            engine: state.engine.used(),
            duration,
        };
        CodeResult::new(produced, left, settled, tools)
    }

    /// One call of a tool that was let in; ends its record. `None` where it waits for a person.
    pub(super) fn run_tool(
        &self,
        spot: Spot,
        id: &str,
        args: Map<String, Value>,
        record: RecordId,
        is_cancelled: &AtomicBool,
    ) -> Option<Came> {
        let decided = self.said(spot);
        if let Some(fault) = decided.as_ref().and_then(rejected) {
            return Some(self.seen(Err(fault), record, is_cancelled));
        }
        let is_late = decided.is_none() && self.approved.is_alone();
        if is_late || is_cancelled.load(Ordering::Relaxed) {
            let came = Err(fault(&CodeError::NotMade));
            self.state().records.end(record, &came);
            return Some(came);
        }
        let number = {
            let mut state = self.state();
            state.records.made(record);
            state.ran += 1;
            state.ran
        };
        let approved = decided.as_ref().map(|decided| &decided.asked.asks);
        let call = ToolCall { id, args: args.clone(), number, reach: self.reach, approved };
        let came = self.tools.run_tool(call).map(|answer| (answer.value, answer.backend));
        match came {
            Err(ToolFault { asks: Some(asks), .. }) => {
                self.ask(spot, id, args, asks);
                None
            }
            came => Some(self.seen(came, record, is_cancelled)),
        }
    }

    /// Records the result of a call. If the call was cancelled and failed, the result says that it
    /// was cancelled.
    pub(super) fn seen(&self, came: Came, record: RecordId, is_cancelled: &AtomicBool) -> Came {
        let came = match came {
            Err(_) if is_cancelled.load(Ordering::Relaxed) => Err(fault(&CodeError::Cancelled)),
            came => came,
        };
        if let Err(ToolFault { signal: Some(signal), .. }) = &came {
            self.interrupt(*signal);
        }
        self.state().records.end(record, &came);
        came
    }

    /// Answers the snippet, unless it is over. One that waits is told when it is run again.
    fn answer(&self, open: Open, tool: Option<&str>, came: Came, counted: u64) {
        let came = given(came.map(|(value, _)| value), tool);
        // What is noted first is given first.
        let mut tape = unpoisoned(self.tape.lock());
        let is_waiting = {
            let state = self.state();
            if state.over.is_some() {
                return;
            }
            state.waits.is_waiting()
        };
        let now_ms = tape.note(open.index, counted, &came);
        if !is_waiting {
            open.answer.give(came, now_ms);
        }
    }

    /// Lets so many calls in, or says which limit they are over.
    fn let_in(&self, state: &mut State, calls: u64, limit: Option<CodeLimit>) -> bool {
        if state.over.is_some() {
            return false;
        }
        let left = self.config.max_tool_calls.saturating_sub(state.used);
        let limit = limit.or((calls > left).then_some(CodeLimit::ToolCalls));
        match limit {
            None => state.used += calls,
            Some(limit) => self.over(state, limit),
        }
        limit.is_none()
    }

    /// The fault of a call that is refused because of a limit.
    fn refused(&self, state: &State) -> ToolFault {
        let limit = CodeLimit::ToolCalls;
        let usual = CodeError::Limit { limit, most: most(self.config, limit) };
        fault(state.over.as_ref().unwrap_or(&usual))
    }
}

/// The surroundings of one snippet: its guard, and the threads of its calls.
pub(super) struct Border<'b, 's> {
    pub(super) guard: &'s Guard<'s>,
    pool: &'b Pool<'s>,
}

impl<'b, 's> Border<'b, 's> {
    pub(super) fn new(guard: &'s Guard<'s>, pool: &'b Pool<'s>) -> Self {
        Self { guard, pool }
    }

    /// Hands a job to the threads; a call that finds no place is answered at once.
    fn submit(
        &self,
        tool: Option<&str>,
        record: RecordId,
        open: Open,
        job: impl FnOnce(&AtomicBool) -> Option<(Came, u64)> + Send + 's,
    ) {
        let guard = self.guard;
        let call = open.index;
        let under_way = guard.enter(call);
        let slot = Arc::new(Mutex::new(Some(open)));
        let (given, named) = (Arc::clone(&slot), tool.map(str::to_owned));
        let work = Box::new(move |is_cancelled: &AtomicBool| {
            let came = job(is_cancelled);
            let open = unpoisoned(given.lock()).take();
            if let (Some((came, counted)), Some(open)) = (came, open) {
                guard.answer(open, named.as_deref(), came, counted);
            }
            drop(under_way);
        });
        match self.pool.submit(work) {
            Ok(ticket) => {
                guard.approved.submitted(call, ticket.id());
                ticket.answered();
            }
            Err(error) => {
                let error = match error {
                    PoolError::Busy { waiting } => CodeError::Busy { waiting },
                    PoolError::Thread { source } => CodeError::Worker { why: source.to_string() },
                };
                let came = Err(fault(&error));
                guard.state().records.end(record, &came);
                if let Some(open) = unpoisoned(slot.lock()).take() {
                    guard.answer(open, tool, came, u64::from(tool.is_some()));
                }
            }
        }
    }

    fn run_one(&self, args: &[Value], open: Open) {
        let guard = self.guard;
        let given = args.get(1).cloned().unwrap_or(Value::Null);
        let id = match args.first() {
            Some(Value::String(id)) => Some(id.clone()),
            _ => None,
        };
        let shown = id.clone().unwrap_or_default();
        let (record, is_in) = {
            let mut state = guard.state();
            let kept = if given.is_null() { json!({}) } else { given.clone() };
            let record = state.records.begin(&shown, &kept, CalledBy::Run);
            let is_in = guard.let_in(&mut state, 1, None);
            if !is_in {
                let came = Err(guard.refused(&state));
                state.records.end(record, &came);
            }
            (record, is_in)
        };
        if !is_in {
            // It stays open: a limit is not to be caught.
            return;
        }
        let args = match given {
            Value::Null => Some(Map::new()),
            Value::Object(map) => Some(map),
            _ => None,
        };
        let (Some(id), Some(args)) = (id, args) else {
            let why = "runTool takes the id of a tool, and an object of arguments";
            return self.wrong(record, why, open, 1);
        };
        let called = id.clone();
        let spot = (open.index, 0);
        self.submit(Some(&id), record, open, move |is_cancelled| {
            guard.run_tool(spot, &called, args, record, is_cancelled).map(|came| (came, 1))
        });
    }

    fn run_chain(&self, args: Vec<Value>, open: Open) {
        let guard = self.guard;
        let steps = match chain::steps(args.first()) {
            Ok(steps) => steps,
            Err(error) => {
                let record = {
                    let given = args.into_iter().next().unwrap_or(Value::Null);
                    guard.state().records.begin("runChain", &given, CalledBy::Chain)
                };
                let came = Err(fault(&error));
                guard.state().records.end(record, &came);
                return guard.answer(open, None, came, 0);
            }
        };
        let wanted = u64::try_from(steps.len()).unwrap_or(u64::MAX);
        {
            let mut state = guard.state();
            let too_long = wanted > guard.config.max_chain_steps;
            if !guard.let_in(&mut state, wanted, too_long.then_some(CodeLimit::ChainSteps)) {
                let came = Err(guard.refused(&state));
                for step in &steps {
                    let args = step.own_args();
                    let record = state.records.begin(&step.tool_id, &args, CalledBy::Chain);
                    state.records.end(record, &came);
                }
                return;
            }
        }
        let call = open.index;
        self.submit(None, None, open, move |is_cancelled| {
            let mut given = guard.state().chains.remove(&call).unwrap_or_default();
            let Some(came) = guard.chain(call, &steps, &mut given, is_cancelled) else {
                guard.state().chains.insert(call, given);
                return None;
            };
            // Steps that were not run do not count.
            let ran = u64::try_from(given.len()).unwrap_or(u64::MAX) + u64::from(came.is_err());
            guard.state().used -= wanted.saturating_sub(ran);
            Some((came, ran.min(wanted)))
        });
    }

    fn look_up(
        &self,
        call: SnippetCall,
        open: Open,
        job: impl FnOnce(&dyn Tools, &SnippetReach, &[Value]) -> Result<Value, ToolFault> + Send + 's,
    ) {
        let guard = self.guard;
        let SnippetCall { function, args } = call;
        let record =
            guard.state().records.begin(&function, &json!(args.as_slice()), CalledBy::Lookup);
        self.submit(None, record, open, move |is_cancelled| {
            guard.state().records.made(record);
            let came = match is_cancelled.load(Ordering::Relaxed) {
                true => Err(fault(&CodeError::Cancelled)),
                false => job(guard.tools, guard.reach, &args),
            };
            let came = came.map(|value| (value, Backend::Local));
            Some((guard.seen(came, record, is_cancelled), 0))
        });
    }

    /// Answers a call for whose arguments there is no room.
    fn busy(&self, SnippetCall { function, args }: &SnippetCall, open: Open) {
        let guard = self.guard;
        let (by, counted) = match function.as_str() {
            "runTool" => (CalledBy::Run, 1),
            "runChain" => (CalledBy::Chain, 0),
            _ => (CalledBy::Lookup, 0),
        };
        let tool = args.first().and_then(Value::as_str).filter(|_| by == CalledBy::Run);
        let came = Err(fault(&CodeError::BusyBytes));
        {
            let mut state = guard.state();
            let shown = if by == CalledBy::Run { args.get(1) } else { args.first() };
            let shown = shown.unwrap_or(&Value::Null);
            let record = state.records.begin(tool.unwrap_or(function), shown, by);
            let is_in = guard.let_in(&mut state, counted, None);
            let refused = (!is_in).then(|| Err(guard.refused(&state)));
            state.records.end(record, refused.as_ref().unwrap_or(&came));
            if !is_in {
                return;
            }
        }
        guard.answer(open, tool, came, counted);
    }

    /// Answers a call that is not made as its function wants it.
    fn wrong(&self, record: RecordId, why: &str, open: Open, counted: u64) {
        let came = Err(wrong(why));
        self.guard.state().records.end(record, &came);
        self.guard.answer(open, None, came, counted);
    }
}

impl Surroundings for Border<'_, '_> {
    fn call(&self, call: SnippetCall, answer: CallAnswer) {
        *unpoisoned(self.guard.last_call.lock()) = Instant::now();
        let given = Arc::clone(&self.guard.given);
        let answer = CallAnswer::new(move |came, now_ms| {
            given.fetch_add(1, Ordering::SeqCst);
            answer.give(came, now_ms);
        });
        let made = unpoisoned(self.guard.tape.lock()).make(call, answer);
        match made {
            Made::Begin(calls, is_there) => {
                if is_there && !self.guard.goes_on() {
                    return;
                }
                for NewCall { index, call, answer } in calls {
                    let held = self.guard.open_bytes.take(&call.args);
                    self.begin(call, Open { index, answer, held });
                }
            }
            Made::Diverged => self.guard.end(CodeError::ReplayDiverged),
        }
    }

    fn print(&self, stream: PrintStream, text: &str) {
        let guard = self.guard;
        let mut state = guard.state();
        let most = usize::try_from(guard.config.max_output_bytes).unwrap_or(usize::MAX);
        let room = most.saturating_sub(state.stdout.len() + state.stderr.len());
        let kept = &text[..text.floor_char_boundary(room)];
        match stream {
            PrintStream::Stdout => state.stdout.push_str(kept),
            PrintStream::Stderr => state.stderr.push_str(kept),
        }
        drop(state);
        if !kept.is_empty() {
            (guard.print)(stream, kept);
        }
        if kept.len() < text.len() {
            let (limit, most) = (CodeLimit::Output, guard.config.max_output_bytes);
            guard.end(CodeError::Limit { limit, most });
        }
    }

    fn idle(&self, taken: u64) {
        self.guard.idle(taken);
    }

    fn deadline(&self) -> Option<Instant> {
        self.guard.state().deadline
    }

    fn engine_left(&self, ran: Duration) -> Option<Duration> {
        Some(self.guard.state().engine.left(ran))
    }
}

impl Border<'_, '_> {
    /// A call that was not answered before begins.
    fn begin(&self, call: SnippetCall, open: Open) {
        if open.held.is_none() {
            return self.busy(&call, open);
        }
        match call.function.as_str() {
            "runTool" => self.run_one(&call.args, open),
            "runChain" => self.run_chain(call.args, open),
            "searchTools" => self.look_up(call, open, |tools, reach, args| {
                let query = text(args, 0, "searchTools takes words, and a limit")?;
                tools.search_tools(query, number(args, 1)?, reach)
            }),
            "listNamespaces" => {
                self.look_up(call, open, |tools, reach, _| tools.list_namespaces(reach));
            }
            "describeTool" => self.look_up(call, open, |tools, reach, args| {
                let id = text(args, 0, "describeTool takes the id of a tool, and a level")?;
                let level = match args.get(1) {
                    None | Some(Value::Null) => "schema",
                    Some(_) => text(args, 1, "a level is `summary`, `schema` or `full`")?,
                };
                tools.describe_tool(id, level, reach)
            }),
            "listToolExamples" => self.look_up(call, open, |tools, reach, args| {
                let id = text(args, 0, "listToolExamples takes the id of a tool, and a number")?;
                tools.list_tool_examples(id, number(args, 1)?, reach)
            }),
            _ => {
                let args = json!(call.args);
                let record =
                    self.guard.state().records.begin(&call.function, &args, CalledBy::Lookup);
                self.wrong(record, "there is no such function", open, 0);
            }
        }
    }
}
