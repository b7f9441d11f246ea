//! A snippet that waits for a person: the calls that it made by then end, or ask too, and then it
//! does. It is run again once all that was asked is decided.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::border::{Guard, State};
use super::engine_time::EngineTime;
use super::error::{CodeError, CodeLimit};
use super::executor::most;
use super::journal::{AskedCall, Asks, CallDecision, PausedSnippet, Tape, Verdict};
use super::records::CallRecords;
use super::request::CheckedRequest;
use super::tools::{Backend, ToolFault};
use crate::base::sync::unpoisoned;
use crate::base::time::as_ms;

/// Which call of the snippet, from 0, and which step of its chain.
pub(super) type Spot = (usize, usize);

/// The code that a snippet is thrown by a call that a person rejected.
const REJECTED: &str = "rejected";

/// The state of waiting in one run of a snippet.
#[derive(Default)]
pub(super) struct Waits {
    /// Calls that a person has to decide; with the first the snippet waits.
    pub(super) asked: Vec<AskedCall>,
    /// Calls that run on a thread, or are to.
    under_way: u64,
    /// How many answers the engine had taken when it last had nothing more to do.
    idle: Option<u64>,
    /// Questions that were asked before.
    asked_before: Vec<AskedCall>,
    /// The answers to those.
    decided: Vec<CallDecision>,
}

impl Waits {
    pub(super) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }
}

/// The calls that a person approved and that have not ended, each with its number in the pool. A
/// snippet that fails or ends before them waits for them, and nothing else of it begins.
#[derive(Default)]
pub(super) struct ApprovedCalls {
    state: Mutex<ApprovedCall>,
    ended: Condvar,
}

#[derive(Default)]
struct ApprovedCall {
    open: HashMap<usize, Option<u64>>,
    /// The snippet has ended.
    alone: bool,
}

impl ApprovedCalls {
    fn begin(&self, calls: impl Iterator<Item = usize>) {
        unpoisoned(self.state.lock()).open.extend(calls.map(|call| (call, None)));
    }

    /// Notes the number of a call in the pool.
    pub(super) fn submitted(&self, call: usize, number: u64) {
        if let Some(known) = unpoisoned(self.state.lock()).open.get_mut(&call) {
            *known = Some(number);
        }
    }

    fn end(&self, call: usize) {
        unpoisoned(self.state.lock()).open.remove(&call);
        self.ended.notify_all();
    }

    /// Ends all waiting for them.
    pub(super) fn give_up(&self) {
        unpoisoned(self.state.lock()).open.clear();
        self.ended.notify_all();
    }

    /// The snippet has ended: says which calls of the pool go on.
    pub(super) fn remain(&self) -> HashSet<u64> {
        let mut state = unpoisoned(self.state.lock());
        state.alone = true;
        state.open.values().copied().flatten().collect()
    }

    /// Says if the snippet has ended, so that nothing begins but what was approved.
    pub(super) fn is_alone(&self) -> bool {
        unpoisoned(self.state.lock()).alone
    }

    /// Waits until all of them have ended; `false` where some had not by then.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let state = unpoisoned(self.state.lock());
        let left = until.saturating_duration_since(Instant::now());
        let is_open = |state: &mut ApprovedCall| !state.open.is_empty();
        !unpoisoned(self.ended.wait_timeout_while(state, left, is_open)).1.timed_out()
    }
}

/// A call that runs on a thread, or is to. When the last one of a snippet that waits has ended, it
/// ends.
pub(super) struct UnderWay<'g, 'a> {
    guard: &'g Guard<'a>,
    call: usize,
}

impl Drop for UnderWay<'_, '_> {
    fn drop(&mut self) {
        self.guard.approved.end(self.call);
        let mut state = self.guard.state();
        state.waits.under_way -= 1;
        self.guard.rest(&state);
    }
}

impl<'a> Guard<'a> {
    /// A call that was made is under way from here on.
    pub(super) fn enter(&self, call: usize) -> UnderWay<'_, 'a> {
        self.state().waits.under_way += 1;
        UnderWay { guard: self, call }
    }

    /// The engine took so many answers, and has nothing to do without another one.
    pub(super) fn idle(&self, taken: u64) {
        let mut state = self.state();
        state.waits.idle = Some(taken);
        self.rest(&state);
    }

    /// Ends a snippet that waits once nothing of it is under way, and it makes no further call.
    fn rest(&self, state: &State) {
        let (waits, given) = (&state.waits, self.given.load(Ordering::SeqCst));
        if waits.is_waiting() && waits.under_way == 0 && waits.idle == Some(given) {
            self.stop().now();
        }
    }

    /// A call that a person has to decide: the snippet waits from here on.
    pub(super) fn ask(&self, (call, step): Spot, tool: &str, args: Map<String, Value>, asks: Asks) {
        let mut state = self.state();
        let is_same = |asked: &&mut AskedCall| asked.asks.is_for_all && asked.asks == asks;
        match state.waits.asked.iter_mut().find(is_same) {
            Some(asked) => asked.others.push(((call, step), args.into())),
            None => {
                let (tool, others) = (tool.to_owned(), Vec::new());
                state.waits.asked.push(AskedCall { call, step, tool, args, asks, others });
            }
        }
        // The order in which they are asked is that of the snippet.
        state.waits.asked.sort_by_key(|asked| (asked.call, asked.step));
        self.rest(&state);
    }

    /// The decision about a call that waited.
    pub(super) fn said(&self, spot: Spot) -> Option<CallDecision> {
        let state = self.state();
        state.waits.decided.iter().find(|decided| decided.asked.is_about(spot)).cloned()
    }

    /// Puts a snippet that waited to where it was.
    pub(super) fn go_on(mut self, paused: &PausedSnippet) -> Self {
        *unpoisoned(self.tape.get_mut()) = Tape::again(paused);
        let before = Duration::from_millis(paused.used_ms);
        let state = unpoisoned(self.state.get_mut());
        let fresh = CallRecords::new(Instant::now(), 0);
        let records = std::mem::replace(&mut state.records, fresh);
        state.records = records.goes_on(paused.records.clone(), paused.left_out, before);
        state.used = paused.counted();
        state.ran = paused.ran;
        state.chains = paused.chains.iter().cloned().collect();
        let most = Duration::from_millis(self.config.engine_ms);
        state.engine = EngineTime::again(most, Duration::from_millis(paused.engine_ms));
        state.waits.asked_before = paused.asked().to_vec();
        self
    }

    /// The time of the snippet's clocks at its start, the seed of its random numbers, and true if
    /// it was run before.
    pub(super) fn begins(&self) -> (u64, [u32; 4], bool) {
        let tape = unpoisoned(self.tape.lock());
        let (now_ms, seed) = tape.start();
        (now_ms, seed, tape.is_replaying())
    }

    /// A snippet that waited is where it was: from here on time passes, and what it calls is new.
    /// `false` where it may not go on.
    pub(super) fn goes_on(&self) -> bool {
        if self.state().over.is_some() {
            return false;
        }
        if let Some(limit) = self.limit_before() {
            self.end(CodeError::Limit { limit, most: most(self.config, limit) });
            return false;
        }
        let verdicts = match self.tools().goes_on() {
            Ok(verdicts) => verdicts,
            Err(why) => {
                self.end(CodeError::NotKept(Box::new(why.diagnostic())));
                return false;
            }
        };
        let mut state = self.state();
        let asked = std::mem::take(&mut state.waits.asked_before);
        let decided = asked.into_iter().zip(verdicts);
        let decided: Vec<_> =
            decided.map(|(asked, verdict)| CallDecision { asked, verdict }).collect();
        let approved = decided.iter().filter(|decided| decided.verdict == Verdict::Approved);
        self.approved.begin(approved.flat_map(|decided| decided.asked.calls()));
        state.waits.decided = decided;
        state.records.start_now();
        state.engine.caught_up();
        let left =
            Duration::from_millis(self.config.timeout_ms).saturating_sub(state.records.elapsed());
        state.deadline = Some(Instant::now() + left);
        true
    }

    /// A limit of time that was reached before the snippet waited, where its calls took it beyond.
    fn limit_before(&self) -> Option<CodeLimit> {
        let mut state = self.state();
        state.records.start_now();
        if as_ms(state.records.elapsed()) >= self.config.timeout_ms {
            return Some(CodeLimit::Timeout);
        }
        (as_ms(state.engine.used()) >= self.config.engine_ms).then_some(CodeLimit::Engine)
    }

    /// The data of a snippet that waits, to be kept; `None` if it does not wait.
    ///
    /// # Errors
    /// `code.limit_exceeded`: its answers are too much to be kept.
    pub(super) fn paused(
        &mut self,
        settled: &CheckedRequest,
    ) -> Result<Option<PausedSnippet>, CodeError> {
        let state = unpoisoned(self.state.get_mut());
        if !state.waits.is_waiting() || state.over.is_some() {
            return Ok(None);
        }
        let asked = state.waits.asked.clone();
        let tape = std::mem::replace(unpoisoned(self.tape.get_mut()), Tape::new());
        let limit = CodeLimit::Journal;
        let too_much = || CodeError::Limit { limit, most: most(self.config, limit) };
        let mut chains: Vec<_> = state.chains.drain().collect();
        chains.sort_by_key(|(call, _)| *call);
        let paused = tape.pause(settled.asked_for.clone(), asked, chains);
        let mut paused = paused.ok_or_else(too_much)?;
        paused.steps.clone_from(&settled.steps);
        paused.records = state.records.ended().to_vec();
        paused.left_out = state.records.left_out();
        paused.ran = state.ran;
        paused.used_ms = as_ms(state.records.elapsed());
        paused.engine_ms = as_ms(state.engine.used());
        let steps: usize = paused.chains.iter().map(|(_, steps)| steps.len()).sum();
        state.used = paused.counted() + u64::try_from(steps).unwrap_or(u64::MAX);
        Ok(Some(paused))
    }
}

/// The fault of a call that a person rejected.
pub(super) fn rejected(decided: &CallDecision) -> Option<ToolFault> {
    let Verdict::Rejected(why) = &decided.verdict else { return None };
    Some(ToolFault {
        code: REJECTED.into(),
        message: format!("a person rejected the call: {why}"),
        backend: Backend::Local,
        ..ToolFault::default()
    })
}
