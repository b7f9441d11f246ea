//! Who judges what a model is asked and what it answers, and who is told how a conversation goes
//! (exec-protocol 6). The caller knows the hooks; their answers are recorded here.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::converse::Ended;
use super::model::{Message, Turn};
use crate::diagnostic::Failure;
use crate::parse::Phase;

/// The hooks of one conversation.
pub(crate) trait Watcher {
    /// Asks the hooks about a request to the model; they may replace parts of it.
    ///
    /// # Errors
    /// `hook.denied`, `hook.unusable`
    fn before_call(&self, shown: &ShownRequest<'_>) -> Result<ReplacedRequest, Failure>;

    /// Asks the hooks about the answer of the model; `None` if they leave it as it is.
    ///
    /// # Errors
    /// `hook.denied`, `hook.unusable`
    fn after_call(
        &self,
        shown: &ShownRequest<'_>,
        turn: &Turn,
        took: Duration,
    ) -> Result<Option<Turn>, Failure>;

    /// Tells those who only watch, whose failures change nothing.
    fn tell(&self, phase: Phase, messages: &[Message], turn_index: u64);

    /// Judges what a thread is to hand over, which may be replaced.
    ///
    /// # Errors
    /// Why nothing of it may be handed over.
    fn after_output(
        &self,
        ended: &mut Ended,
        messages: &[Message],
        turns: u64,
        time: Duration,
    ) -> Result<(), Failure>;

    /// The events of hooks and evals since this was asked last, for the record.
    fn take_said(&self) -> Vec<(&'static str, Value)>;
}

/// The request that hooks are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownRequest<'a> {
    pub(crate) system: &'a str,
    pub(crate) messages: &'a [Message],
    /// Which turn it asks for, from 1.
    pub(crate) round: u64,
    /// When the time of the thread is over.
    pub(crate) until: Instant,
}

/// The replaced parts of a request; for this request alone.
#[derive(Debug, Default)]
pub(crate) struct ReplacedRequest {
    /// Nothing of the answer may be shown before the hooks were asked about it.
    pub(crate) may_withhold: bool,
    pub(crate) system: Option<String>,
    pub(crate) messages: Option<Vec<Message>>,
}

/// The messages that replace those that were shown. One that is as it was stays whole, with what
/// its provider gave beside its text.
///
/// # Errors
/// A clause that says which of them is none.
pub(crate) fn messages_from_json(value: &Value, shown: &[Message]) -> Result<Vec<Message>, String> {
    let list = value.as_array().ok_or("`replace.messages` is not a list")?;
    let read = |(at, value): (usize, &Value)| {
        if let Some(same) = shown.get(at).filter(|message| message.to_json() == *value) {
            return Ok(same.clone());
        }
        message(value).ok_or_else(|| format!("`replace.messages/{at}` is not a message"))
    };
    list.iter().enumerate().map(read).collect()
}

/// The answer that replaces the one that was shown.
///
/// # Errors
/// A clause that says that it is none.
pub(crate) fn turn_from_json(value: &Value, shown: &Turn) -> Result<Turn, String> {
    if shown.to_json() == *value {
        return Ok(shown.clone());
    }
    match message(value) {
        Some(Message::Model(turn)) => Ok(turn),
        _ => Err("`replace.message` is not a message of a model".into()),
    }
}

/// A message from JSON. It has no kept form, since that is of the words that its provider sent.
fn message(value: &Value) -> Option<Message> {
    let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
    Some(match value.get("role")?.as_str()? {
        "user" => Message::User(text("content")?),
        "tool" => Message::Result { call_id: text("tool_call_id")?, content: text("content")? },
        "assistant" => Message::Model(Turn { kept: None, ..Turn::from_json(value)? }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{messages_from_json, turn_from_json};
    use crate::parse::TokenCounts;
    use crate::thread::model::{Kept, Message, ModelCall, Turn};
    use serde_json::{Value, json};

    #[test]
    fn what_a_hook_leaves_as_it_was_stays_whole_and_what_is_no_message_is_refused() {
        let call = ModelCall { id: "1".into(), name: "a".into(), arguments: "{".into() };
        let usage = Some(TokenCounts { input: 3, ..TokenCounts::default() });
        let kept = Some(Kept { from: "p".into(), content: "[]".into() });
        let (text, calls) = ("x".into(), vec![call]);
        let turn = Turn { text, calls, usage, kept, finish_reason: None };
        let result = Message::Result { call_id: "1".into(), content: "{}".into() };
        let shown = [Message::User("u".into()), Message::Model(turn.clone()), result];
        let all: Value = shown.iter().map(Message::to_json).collect();
        assert_eq!(messages_from_json(&all, &shown).unwrap(), shown);
        let mut other = all.clone();
        other[1]["content"] = "y".into();
        let got = messages_from_json(&other, &shown).unwrap();
        let want = Turn { text: "y".into(), usage: None, kept: None, ..turn.clone() };
        assert_eq!(got[1], Message::Model(want));
        for (at, key, value) in [
            (0, "content", json!(1)),
            (0, "content", Value::Null),
            (0, "role", json!("system")),
            (1, "tool_calls", Value::Null),
            (1, "tool_calls", json!([{"id": "1"}])),
            (2, "tool_call_id", Value::Null),
        ] {
            let mut bad = all.clone();
            bad[at][key] = value;
            let why = messages_from_json(&bad, &shown).unwrap_err();
            assert!(why.contains(&format!("messages/{at}")), "{bad}: {why}");
        }
        assert!(messages_from_json(&json!({}), &shown).is_err());
        assert_eq!(turn_from_json(&turn.to_json(), &turn), Ok(turn.clone()));
        assert!(turn_from_json(&shown[0].to_json(), &turn).is_err());
        assert!(turn_from_json(&json!("y"), &turn).is_err());
    }
}
