//! A conversation, read back from what its record proves.

use std::time::Duration;

use serde_json::{Map, Value};

use super::continuation::{ASKS_SUMMARY, Continued};
use super::model::{Message, ModelCall, Turn};
use super::record::{THREAD_RESUMED, USAGE_IS_RESERVED};
use super::thread_file::THREAD_STARTED;
use super::waits::{Awaited, THREAD_WAITING};
use crate::parse::{TokenCounts, kept_json};

/// A conversation as far as it came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Replay {
    /// The details that were written down when it started.
    pub(crate) started: Map<String, Value>,
    /// The first messages to the model: the system message and the task.
    pub(crate) told: Option<(String, String)>,
    pub(super) messages: Vec<Message>,
    /// Calls of the last turn that have no result.
    pub(super) unanswered: Vec<ModelCall>,
    /// The request that the first of these waits for.
    pub(crate) awaited: Option<Awaited>,
    pub(super) tokens: TokenCounts,
    pub(super) spent: u64,
    pub(super) turns: u64,
    /// The thread that it goes on for.
    pub(crate) continued: Option<Continued>,
    /// How often its model was asked for the summary that another thread goes on with.
    pub(super) summary_asks: usize,
}

/// Reads the events of a transcript that was checked; its checkpoints say nothing here.
///
/// # Errors
/// A line is not an event as rye writes them.
pub(crate) fn replay(proven: &[u8]) -> Result<Replay, String> {
    let mut replayed = Replay::default();
    for (at, line) in proven.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let event = kept_json(line).ok_or_else(|| format!("line {} is not JSON", at + 1))?;
        replayed.take(&event).ok_or_else(|| format!("line {} is not a known event", at + 1))?;
    }
    Ok(replayed)
}

/// The last turn, where all that it called has its result and nothing was said since.
pub(super) fn finished_turn(messages: &[Message]) -> Option<(Turn, Vec<String>)> {
    let at = messages.iter().rposition(|said| matches!(said, Message::Model(_)))?;
    let Message::Model(turn) = &messages[at] else { return None };
    let results = messages[at + 1..].iter().map(|said| match said {
        Message::Result { content, .. } => Some(content.clone()),
        _ => None,
    });
    let results: Vec<String> = results.collect::<Option<_>>()?;
    (results.len() == turn.calls.len()).then(|| (turn.clone(), results))
}

impl Replay {
    /// One that said nothing yet, of which this was written down when it started; `None` where that
    /// is not as rye writes it.
    pub(crate) fn of_start(started: Map<String, Value>) -> Option<Self> {
        let mut replayed = Self::default();
        replayed.start(started)?;
        Some(replayed)
    }

    /// One that said nothing yet and goes on for another one.
    pub(crate) fn of_continued(continued: &Continued) -> Self {
        let Continued { turns, tokens, spent, .. } = *continued;
        Self { turns, tokens, spent, continued: Some(continued.clone()), ..Self::default() }
    }

    /// How many answers its model gave, and those of the threads that it goes on for.
    pub(crate) fn answers(&self) -> usize {
        let before = self.continued.as_ref().map_or(0, |continued| continued.answers);
        before + self.messages.iter().filter(|said| matches!(said, Message::Model(_))).count()
    }

    /// How long the threads ran that it goes on for.
    pub(crate) fn took_before(&self) -> Duration {
        self.continued.as_ref().map_or(Duration::ZERO, |continued| continued.took)
    }

    fn start(&mut self, started: Map<String, Value>) -> Option<()> {
        if let Some(continued) = started.get("continues").filter(|continued| !continued.is_null()) {
            *self = Self::of_continued(&Continued::from_json(continued)?);
        }
        self.started = started;
        Some(())
    }

    fn take(&mut self, event: &Value) -> Option<()> {
        let text = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
        match event.get("event").and_then(Value::as_str) {
            Some(THREAD_STARTED) => self.start(event.as_object()?.clone())?,
            Some("cognition_in") => {
                let user = text("user")?;
                if let Some(system) = text("system") {
                    self.told = Some((system, user.clone()));
                }
                self.summary_asks += usize::from(event.get("asks") == Some(&ASKS_SUMMARY.into()));
                self.messages.push(Message::User(user));
            }
            Some("cognition_out") => {
                let turn = turn(event)?;
                self.turns += 1;
                self.tokens.add(usage(event)?);
                self.spent = self.spent.saturating_add(event.get("spend_micros")?.as_u64()?);
                self.unanswered.clone_from(&turn.calls);
                self.messages.push(Message::Model(turn));
            }
            Some("cognition_withheld") => {
                self.turns += 1;
                self.tokens.add(usage(event)?);
                self.spent = self.spent.saturating_add(event.get("spend_micros")?.as_u64()?);
            }
            Some("tool_call_result") => {
                let (call_id, content) = (text("id")?, text("content")?);
                // Results come in the order of the calls, of which two may have one id.
                let at = self.unanswered.iter().position(|call| call.id == call_id)?;
                self.unanswered.remove(at);
                self.awaited = None;
                self.messages.push(Message::Result { call_id, content });
            }
            Some("provider_failed") => {
                // A model was not told; what it may have cost counts.
                if let Some(spent) = event.get("spend_micros") {
                    self.turns += 1;
                    self.tokens.add(usage(event)?);
                    self.spent = self.spent.saturating_add(spent.as_u64()?);
                }
            }
            Some(THREAD_RESUMED) => {
                if let Some(limits) = event.get("limits") {
                    self.started.insert("limits".into(), limits.clone());
                }
            }
            Some(THREAD_WAITING) => self.awaited = Some(Awaited::from_event(event)?),
            // Whatever else is written down, a model was not told.
            _ => {}
        }
        Some(())
    }
}

/// The answer of a model, as it was written down; usage that was only reserved is left out.
fn turn(event: &Value) -> Option<Turn> {
    let usage = usage(event)?;
    let is_said = event.get(USAGE_IS_RESERVED) != Some(&true.into());
    Some(Turn { usage: is_said.then_some(usage), ..Turn::from_json(event)? })
}

pub(super) fn usage(event: &Value) -> Option<TokenCounts> {
    let usage = event.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    Some(TokenCounts {
        input: count("input_tokens")?,
        output: count("output_tokens")?,
        cache_read: count("cache_read_tokens")?,
        cache_write: count("cache_write_tokens")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{finished_turn, replay};
    use serde_json::json;

    #[test]
    fn what_was_said_is_read_back_and_a_call_without_result_is_known() {
        let out = json!({
            "event": "cognition_out", "content": "x", "spend_micros": 3,
            "tool_calls": [
                {"id": "1", "name": "a", "arguments": "{}"},
                {"id": "2", "name": "b", "arguments": "[bad"},
            ],
            "usage": {
                "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 0,
                "cache_write_tokens": 0,
            },
        });
        let told = json!({"event": "cognition_in", "system": "s", "user": "u"});
        let gave = |id: &str| json!({"event": "tool_call_result", "id": id, "content": "{}"});
        let lines = |events: &[serde_json::Value]| {
            events.iter().map(|event| format!("{event}\n")).collect::<String>()
        };
        let half = replay(lines(&[told.clone(), out.clone(), gave("1")]).as_bytes()).unwrap();
        assert_eq!((half.turns, half.spent, half.messages.len()), (1, 3, 3));
        assert_eq!(half.unanswered.len(), 1);
        assert_eq!(half.unanswered[0].arguments, "[bad");
        assert_eq!(finished_turn(&half.messages), None);
        let all = lines(&[told.clone(), out.clone(), gave("1"), gave("2")]);
        let whole = replay(all.as_bytes()).unwrap();
        assert_eq!(finished_turn(&whole.messages).unwrap().1, ["{}", "{}"]);
        assert_eq!(whole.told, Some(("s".into(), "u".into())));
        for bad in
            [lines(&[told, out, gave("3")]), "x\n".into(), "{\"event\":\"cognition_out\"}\n".into()]
        {
            assert!(replay(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
