//! The answers to a snippet, so that it can wait for a person and be run again from its start.
//!
//! A snippet computes the same if it is given the same answers: its clocks stand still between
//! answers, its random numbers come from a seed, and each answer is worked off before the next. So
//! the answers in the order in which they were given lead it to the same place.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::engine::{CallAnswer, SnippetCall, Thrown};
use super::pause::Spot;
use super::records::CallRecord;
use crate::base::json_reader::typed;
use crate::base::limits::CODE_JOURNAL_BYTES;
use crate::base::{Digest, random};

/// A call to be decided by a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedCall {
    /// Which call of the snippet it is, from 0, and which step of its chain.
    pub(super) call: usize,
    pub(super) step: usize,
    /// The tool as the snippet wrote it.
    pub(crate) tool: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) asks: Asks,
    /// Further calls that the answer holds for, with their arguments.
    pub(super) others: Vec<(Spot, Value)>,
}

impl AskedCall {
    /// The bytes that its arguments, and those of the others, take where it is kept.
    fn bytes(&self) -> usize {
        let args = self.args.iter().map(|(key, value)| key.len() + value.to_string().len() + 6);
        let others = self.others.iter().map(|(_, args)| args.to_string().len() + 40);
        args.sum::<usize>() + others.sum::<usize>()
    }

    /// The arguments of further calls that the answer holds for.
    pub(crate) fn other_args(&self) -> Vec<Value> {
        self.others.iter().map(|(_, args)| args.clone()).collect()
    }

    /// Says if the answer holds for the call at this place.
    pub(super) fn is_about(&self, spot: Spot) -> bool {
        (self.call, self.step) == spot || self.others.iter().any(|(other, _)| *other == spot)
    }

    /// The calls of the snippet that the answer holds for.
    pub(super) fn calls(&self) -> impl Iterator<Item = usize> {
        let others = self.others.iter().map(|((call, _), _)| *call);
        std::iter::once(self.call).chain(others)
    }

    /// The question as JSON, for the caller that ran the snippet.
    pub(super) fn told(&self, id: &str) -> Value {
        json!({
            "id": id, "reason": self.asks.reason, "message": self.asks.message,
            "item_id": self.asks.item, "args": self.args, "other_args": self.other_args(),
        })
    }
}

/// The requests that tools themselves made.
pub(super) fn requests(asked: &[AskedCall]) -> Vec<&str> {
    asked.iter().filter_map(|asked| asked.asks.request.as_deref()).collect()
}

/// Why a call needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asks {
    /// The item that is called.
    pub item: String,
    /// One word for why.
    pub reason: String,
    /// The question to the person, as a sentence.
    pub message: String,
    /// The id of the request that the tool itself made, where it is the tool that asks.
    pub request: Option<String>,
    /// The answer holds for each call of the item.
    pub is_for_all: bool,
}

/// The decision of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs.
    Approved,
    /// The call throws, with this as the reason.
    Rejected(String),
}

/// An answer that a snippet was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenAnswer {
    /// Which call of the snippet, from 0.
    call: usize,
    now_ms: u64,
    /// Calls of tools that it counts as.
    counted: u64,
    came: Result<Value, Thrown>,
}

/// The steps of a chain that ran before one that waits: the tool of each, and what it gave.
pub(super) type Steps = Vec<(String, Value)>;

/// A snippet that waits for a person: all that is needed to run it again up to where it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PausedSnippet {
    /// As it was asked for.
    pub(super) request: Value,
    /// Those of a chain that no snippet is around.
    pub(super) steps: Option<Value>,
    now_ms: u64,
    seed: [u32; 4],
    /// Digests of all calls that it made, in their order.
    calls: Vec<Digest>,
    /// In the order in which they were given.
    answers: Vec<GivenAnswer>,
    pub(super) chains: Vec<(usize, Steps)>,
    pub(super) records: Vec<CallRecord>,
    pub(super) left_out: u64,
    /// Numbers of calls that were given out.
    pub(super) ran: u64,
    pub(super) used_ms: u64,
    /// The part of that time that its engine computed; zero if an earlier rye kept the snippet.
    #[serde(default)]
    pub(super) engine_ms: u64,
    /// The calls that a person decides, each by itself.
    pub(super) asked: Vec<AskedCall>,
}

impl PausedSnippet {
    /// The snippet as data, to be kept.
    ///
    /// # Errors
    /// It has a value that is not JSON, which does not happen.
    pub fn to_json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    /// The snippet that was kept as this.
    ///
    /// # Errors
    /// It is not one.
    pub fn from_json(value: Value) -> serde_json::Result<Self> {
        use serde::de::Error;
        let paused: Self = typed(value)?;
        let mut seen = vec![false; paused.calls.len()];
        for answer in &paused.answers {
            let is_first = seen.get_mut(answer.call).map(|seen| !std::mem::replace(seen, true));
            if is_first != Some(true) {
                return Err(Error::custom("an answer is not of one of its calls"));
            }
        }
        if paused.asked.is_empty() {
            return Err(Error::custom("nothing waits"));
        }
        Ok(paused)
    }

    /// The text of the snippet; `None` for a chain that no snippet is around.
    pub fn code(&self) -> Option<&str> {
        self.steps.is_none().then(|| self.request.get("code")?.as_str()).flatten()
    }

    /// The calls that a person decides: at least one.
    pub(crate) fn asked(&self) -> &[AskedCall] {
        &self.asked
    }

    /// The calls that ended, as the result lists them.
    pub(crate) fn calls_so_far(&self) -> Vec<Value> {
        self.records.iter().map(CallRecord::to_json).collect()
    }

    /// Calls of tools that count by now.
    pub(super) fn counted(&self) -> u64 {
        self.answers.iter().map(|answer| answer.counted).sum()
    }
}

/// The decision about a call that waited.
#[derive(Debug, Clone)]
pub(super) struct CallDecision {
    pub(super) asked: AskedCall,
    pub(super) verdict: Verdict,
}

/// The answers of a snippet that runs: noted as they are given, and given again in a replay.
pub(super) struct Tape {
    now_ms: u64,
    seed: [u32; 4],
    /// The digests of the calls that it made before it waited.
    expected: Vec<Digest>,
    calls: Vec<Digest>,
    answers: Vec<GivenAnswer>,
    /// Bytes that answers may still take; `None` once they were more.
    room: Option<usize>,
    replay: Option<Replay>,
}

struct Replay {
    /// Answers that were given again.
    given: usize,
    /// Calls that were answered before, and were not made again yet.
    expected: HashSet<usize>,
    /// Calls that were made, whose answers come later.
    open: HashMap<usize, CallAnswer>,
    /// Calls that are not answered from what was noted, and begin when all of that is done.
    held: Vec<NewCall>,
}

/// A call that is not answered from what was noted.
pub(super) struct NewCall {
    pub(super) index: usize,
    pub(super) call: SnippetCall,
    pub(super) answer: CallAnswer,
}

/// The consequence of a call of the snippet.
pub(super) enum Made {
    /// These calls begin. If the flag is set, a snippet that waited is where it was.
    Begin(Vec<NewCall>, bool),
    /// It is not the call that was made there before.
    Diverged,
}

impl Tape {
    pub(super) fn new() -> Self {
        let mut bytes = [0; 16];
        // Without randomness each run has the same numbers, which promise no secret.
        let _ = random::fill(&mut bytes);
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self {
            now_ms: now_ms(),
            seed: [word(0), word(4), word(8), word(12)],
            expected: Vec::new(),
            calls: Vec::new(),
            answers: Vec::new(),
            room: Some(CODE_JOURNAL_BYTES),
            replay: None,
        }
    }

    /// The tape of a snippet that is run again.
    pub(super) fn again(paused: &PausedSnippet) -> Self {
        let taken: usize = paused.answers.iter().map(size).sum();
        let expected = paused.answers.iter().map(|answer| answer.call).collect();
        let replay = Replay { given: 0, expected, open: HashMap::new(), held: Vec::new() };
        Self {
            now_ms: paused.now_ms,
            seed: paused.seed,
            expected: paused.calls.clone(),
            calls: Vec::new(),
            answers: paused.answers.clone(),
            room: CODE_JOURNAL_BYTES.checked_sub(taken),
            replay: Some(replay),
        }
    }

    /// The time of the snippet's clocks at its start, and the seed of its random numbers.
    pub(super) fn start(&self) -> (u64, [u32; 4]) {
        (self.now_ms, self.seed)
    }

    /// Returns true until the snippet is again where it waited: all noted answers are given again
    /// then, and all earlier calls are made again.
    pub(super) fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// The snippet makes a call.
    pub(super) fn make(&mut self, call: SnippetCall, answer: CallAnswer) -> Made {
        let index = self.calls.len();
        let args = Value::Array(call.args.clone()).to_string();
        let digest = Digest::of_parts(&[call.function.as_bytes(), b"\0", args.as_bytes()]);
        if self.expected.get(index).is_some_and(|expected| *expected != digest) {
            return Made::Diverged;
        }
        self.calls.push(digest);
        let new = |answer| NewCall { index, call, answer };
        let Some(replay) = &mut self.replay else {
            return Made::Begin(vec![new(answer)], false);
        };
        if replay.expected.remove(&index) {
            replay.open.insert(index, answer);
        } else {
            replay.held.push(new(answer));
        }
        while let Some(next) = self.answers.get(replay.given)
            && let Some(answer) = replay.open.remove(&next.call)
        {
            replay.given += 1;
            answer.give(next.came.clone(), next.now_ms);
        }
        if replay.given < self.answers.len() || self.calls.len() < self.expected.len() {
            return Made::Begin(Vec::new(), false);
        }
        let held = self.replay.take().map(|replay| replay.held);
        Made::Begin(held.unwrap_or_default(), true)
    }

    /// Notes an answer; gives what the clocks say from then on.
    pub(super) fn note(&mut self, call: usize, counted: u64, came: &Result<Value, Thrown>) -> u64 {
        let last = self.answers.last().map_or(self.now_ms, |answer| answer.now_ms);
        let now_ms = now_ms().max(last);
        let answered = GivenAnswer { call, now_ms, counted, came: came.clone() };
        self.room = self.room.and_then(|room| room.checked_sub(size(&answered)));
        match self.room {
            Some(_) => self.answers.push(answered),
            None => self.answers.clear(),
        }
        now_ms
    }

    /// All that is needed to run the snippet again; `None` where that is too much to be kept.
    pub(super) fn pause(
        self,
        request: Value,
        asked: Vec<AskedCall>,
        chains: Vec<(usize, Steps)>,
    ) -> Option<PausedSnippet> {
        let of_asked = asked.iter().map(AskedCall::bytes).sum::<usize>();
        let steps = chains.iter().flat_map(|(_, steps)| steps);
        let of_steps = steps.map(|(_, value)| value.to_string().len()).sum::<usize>();
        self.room?.checked_sub(of_asked)?.checked_sub(of_steps)?;
        Some(PausedSnippet {
            request,
            steps: None,
            now_ms: self.now_ms,
            seed: self.seed,
            calls: self.calls,
            answers: self.answers,
            chains,
            records: Vec::new(),
            left_out: 0,
            ran: 0,
            used_ms: 0,
            engine_ms: 0,
            asked,
        })
    }
}

/// Bytes that an answer takes where it is kept.
fn size(answer: &GivenAnswer) -> usize {
    let counted = match &answer.came {
        Ok(value) => value.to_string().len(),
        Err(thrown) => {
            let tool = thrown.tool.as_ref().map_or(0, String::len);
            thrown.message.len() + tool + thrown.data.to_string().len()
        }
    };
    counted + 100
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}
