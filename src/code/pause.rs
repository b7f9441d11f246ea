//! A snippet that waits for a person: its calls that are under way end, and then it does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::border::{Guard, State};
use super::engine_time::EngineTime;
use super::error::{CodeError, CodeLimit};
use super::executor::most;
use super::journal::{AskedCall, Asks, Decided, PausedSnippet, Tape, Verdict};
use super::records::CallRecords;
use super::request::Settled;
use super::tools::{Backend, ToolFault};
use crate::base::sync::unpoisoned;
use crate::base::time::as_ms;

/// Which call of the snippet, from 0, and which step of its chain.
pub(super) type Spot = (usize, usize);

/// The code that a snippet is thrown by a call that a person rejected.
const REJECTED: &str = "rejected";

/// What is known of waiting in one run of a snippet.
#[derive(Default)]
pub(super) struct Waits {
    /// Calls that a person has to decide; with the first the snippet waits.
    asked: Vec<AskedCall>,
    /// Calls that run on a thread now.
    under_way: u64,
    /// The arguments of calls of tools that were made and did not end.
    open: BTreeMap<Spot, (String, Value)>,
    /// What the person said, until that call is made.
    decided: Option<Decided>,
    /// What other tools asked before, which is not decided yet.
    asked_before: Vec<AskedCall>,
}

impl Waits {
    pub(super) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    pub(super) fn made(&mut self, spot: Spot, tool: &str, args: &Value) {
        self.open.insert(spot, (tool.to_owned(), args.clone()));
    }

    pub(super) fn ended(&mut self, spot: Spot) {
        self.open.remove(&spot);
    }
}

/// A call that runs on a thread. When the last one of a snippet that waits has ended, it ends.
pub(super) struct UnderWay<'g, 'a>(&'g Guard<'a>);

impl Drop for UnderWay<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waits.under_way -= 1;
        self.0.rest(&state);
    }
}

impl<'a> Guard<'a> {
    /// Lets a call begin on this thread; none where the snippet waits.
    pub(super) fn enter(&self) -> Option<UnderWay<'_, 'a>> {
        let mut state = self.state();
        if state.waits.is_waiting() {
            return None;
        }
        state.waits.under_way += 1;
        Some(UnderWay(self))
    }

    /// Ends a snippet that waits once nothing of it is under way.
    fn rest(&self, state: &State) {
        if state.waits.is_waiting() && state.waits.under_way == 0 {
            self.stop().now();
        }
    }

    /// A call that a person has to decide: the snippet waits from here on.
    pub(super) fn ask(&self, (call, step): Spot, tool: &str, args: Map<String, Value>, asks: Asks) {
        let mut state = self.state();
        if state.over.is_some() {
            return;
        }
        // One more is decided later, but what a tool itself asked is not to be asked again.
        if state.waits.is_waiting() && asks.request.is_none() {
            return;
        }
        let open = state.waits.open.iter();
        let same = open.filter(|(spot, (other, _))| **spot != (call, step) && other == tool);
        let others = same.map(|(_, (_, args))| args.clone()).collect();
        let tool = tool.to_owned();
        state.waits.asked.push(AskedCall { call, step, tool, args, asks, others });
        self.rest(&state);
    }

    /// What was decided of a call, where it is the one that waited; `Err` is what it asked before.
    pub(super) fn said(&self, spot: Spot) -> Result<Option<Decided>, AskedCall> {
        let waits = &mut self.state().waits;
        let is_there = |asked: &AskedCall| (asked.call, asked.step) == spot;
        if let Some(decided) = waits.decided.take_if(|decided| is_there(&decided.asked)) {
            return Ok(Some(decided));
        }
        match waits.asked_before.iter().position(is_there) {
            Some(at) => Err(waits.asked_before.swap_remove(at)),
            None => Ok(None),
        }
    }

    /// The same call asks again what it asked before, without being made.
    pub(super) fn ask_again(&self, asked: AskedCall) {
        let AskedCall { call, step, tool, args, asks, .. } = asked;
        self.ask((call, step), &tool, args, asks);
    }

    /// Puts a snippet that waited to where it was, with what was decided.
    pub(super) fn go_on(mut self, paused: &PausedSnippet, verdict: Verdict) -> Self {
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
        let mut asked = paused.all_asked().to_vec();
        state.waits.decided = Some(Decided { asked: asked.remove(0), verdict });
        state.waits.asked_before = asked;
        self
    }

    /// What the clocks of the snippet say at its start, what its random numbers come from, and
    /// whether it was run before.
    pub(super) fn begins(&self) -> (u64, [u32; 4], bool) {
        let tape = unpoisoned(self.tape.lock());
        let (now_ms, seed) = tape.start();
        (now_ms, seed, tape.is_replaying())
    }

    /// A snippet that waited is where it was: from here on time passes, and what it calls is new.
    /// `false` where it may not go on.
    pub(super) fn goes_on(&self) -> bool {
        if let Some(limit) = self.limit_before() {
            self.end(CodeError::Limit { limit, most: most(self.config, limit) });
            return false;
        }
        if let Err(why) = self.tools().goes_on() {
            self.end(CodeError::NotKept(Box::new(why.diagnostic())));
            return false;
        }
        let mut state = self.state();
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

    /// What is kept of a snippet that waits; `None` where it does not wait.
    ///
    /// # Errors
    /// `code.limit_exceeded`: what it was told is too much to be kept.
    pub(super) fn paused(&mut self, settled: &Settled) -> Result<Option<PausedSnippet>, CodeError> {
        let state = unpoisoned(self.state.get_mut());
        if !state.waits.is_waiting() || state.over.is_some() {
            return Ok(None);
        }
        let mut asked = std::mem::take(&mut state.waits.asked);
        asked.append(&mut state.waits.asked_before);
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

/// What a call came to of which a person was asked.
pub(super) fn rejected(decided: &Decided) -> Option<ToolFault> {
    let Verdict::Rejected(why) = &decided.verdict else { return None };
    Some(ToolFault {
        code: REJECTED.into(),
        message: format!("a person rejected the call: {why}"),
        backend: Backend::Local,
        ..ToolFault::default()
    })
}
