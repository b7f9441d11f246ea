//! Who answers in a thread.
//!
//! `scripted.rs` says what stands in a script · `http.rs` asks a server, and reads its answer by
//! `answer.rs`; what is told and read in each shape stands in `openai.rs` and `anthropic.rs`,
//! `calls.rs` puts the calls of a stream together, `strict.rs` which schemas a server can hold a
//! model to · `error.rs`

mod answer;
mod anthropic;
mod calls;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod http;
mod openai;
mod scripted;
mod strict;

pub(crate) use error::CODES;
pub(crate) use http::{Credential, HttpModel};
pub(crate) use scripted::Scripted;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::table::ModelTool;
use crate::base::Mask;
use crate::diagnostic::Failure;
use crate::id::Ref;
use crate::parse::{TokenCounts, json as read_json};

/// The model that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelName {
    pub(crate) name: String,
    /// Who named it: words such as "the tier `high` of `models`, which `--model` names".
    pub(crate) from: String,
}

/// The request of one turn.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) system: &'a str,
    pub(crate) messages: &'a [Message],
    pub(crate) tools: &'a [ModelTool],
    /// Longest answer.
    pub(crate) answer_tokens: u64,
    /// How many answers the threads gave that this one goes on for.
    pub(crate) earlier_answers: usize,
    /// How often it is asked for this turn, this time too.
    pub(crate) tries: u32,
    /// The answer is not waited for any longer.
    pub(crate) until: Instant,
}

impl Asked<'_> {
    /// The bytes that a model reads, counted as JSON.
    pub(crate) fn bytes(&self) -> u64 {
        let messages: usize = self.messages.iter().map(Message::bytes).sum();
        let tools: usize = self.tools.iter().map(|tool| tool.to_json().to_string().len()).sum();
        u64::try_from(self.system.len() + messages + tools).unwrap_or(u64::MAX)
    }
}

/// One part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    User(String),
    Model(Turn),
    /// The result of a call, as JSON text.
    Result {
        call_id: String,
        content: String,
    },
}

impl Message {
    /// As long as it is at the most; a turn goes out as it came, or as its words and calls.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Model(turn) => {
                let kept = turn.kept.as_ref().map_or(0, |kept| kept.content.len());
                let plain = Turn { kept: None, ..turn.clone() };
                kept.max(plain.to_json().to_string().len())
            }
            other => other.to_json().to_string().len(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::User(text) => json!({"role": "user", "content": text}),
            Self::Model(turn) => turn.to_json(),
            Self::Result { call_id, content } => {
                json!({"role": "tool", "tool_call_id": call_id, "content": content})
            }
        }
    }
}

/// The answer of a model in one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Turn {
    pub(crate) text: String,
    pub(crate) calls: Vec<ModelCall>,
    /// `None` where the provider did not say it.
    pub(crate) usage: Option<TokenCounts>,
    /// The answer as it came.
    pub(crate) kept: Option<Kept>,
    /// Why the answer ended, in the provider's word: `stop`, `length`, `end_turn`, `refusal`.
    pub(crate) finish_reason: Option<String>,
}

/// Why an answer ended whose provider has work of its own under way: Anthropic goes on with it once
/// it is sent back as it is.
const PAUSED: &str = "pause_turn";

/// Returns true if an answer that ended for this reason was cut or withheld, and not ended by its
/// model.
pub(crate) fn is_broken_off(reason: &str) -> bool {
    // Both shapes, and how servers like them spell it.
    let own = ["stop", "tool_calls", "function_call", "end_turn", "tool_use", "stop_sequence", ""];
    !own.contains(&reason) && reason != PAUSED
}

/// The answer of a model as it came, with all that only its provider understands. It goes back to
/// that provider unchanged, and to no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Which provider it came from, and from where.
    pub(crate) from: String,
    /// JSON, in the order in which it came.
    pub(crate) content: String,
}

impl Turn {
    pub(crate) fn to_json(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(ModelCall::to_json).collect();
        let mut said = json!({"role": "assistant", "content": self.text, "tool_calls": calls});
        if let Some(Kept { from, content }) = &self.kept {
            said["kept"] = json!({"from": from, "content": content});
        }
        said
    }

    /// Reads the output of [`Turn::to_json`], and the reason of the end if it was added; the usage
    /// is not read.
    pub(crate) fn from_json(said: &Value) -> Option<Self> {
        let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
        let calls = said.get("tool_calls")?.as_array()?.iter().map(|call| {
            let (id, name) = (text(call, "id")?, text(call, "name")?);
            Some(ModelCall { id, name, arguments: text(call, "arguments")? })
        });
        let kept = match said.get("kept") {
            None => None,
            Some(kept) => Some(Kept { from: text(kept, "from")?, content: text(kept, "content")? }),
        };
        let calls = calls.collect::<Option<_>>()?;
        let (content, finish_reason) = (text(said, "content")?, text(said, "finish_reason"));
        Some(Self { text: content, calls, usage: None, kept, finish_reason })
    }

    /// Returns true if its model is to say more: it waits for the results of its calls, or paused.
    pub(crate) fn goes_on(&self) -> bool {
        !self.calls.is_empty() || self.finish_reason.as_deref() == Some(PAUSED)
    }

    /// Why the answer ended, where its model would have gone on: it was cut or withheld.
    pub(crate) fn broken_off_by(&self) -> Option<&str> {
        self.finish_reason.as_deref().filter(|reason| is_broken_off(reason))
    }

    /// The answer as it came, if it came from that provider.
    fn kept_from(&self, from: &str) -> Option<Value> {
        let kept = self.kept.as_ref().filter(|kept| kept.from == from)?;
        crate::parse::json(&kept.content).ok()
    }
}

/// One call that a model asks for; its arguments are text that need not be JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl ModelCall {
    pub(crate) fn to_json(&self) -> Value {
        json!({"id": self.id, "name": self.name, "arguments": self.arguments})
    }
}

/// Why there is no turn.
#[derive(Debug)]
pub(crate) struct TurnFault {
    pub(crate) why: Lost,
    /// The provider may have counted tokens for it, without saying how many.
    pub(crate) may_cost: bool,
}

/// The cause of a turn without an answer.
#[derive(Debug)]
pub(crate) enum Lost {
    /// Time was over.
    TimedOut,
    /// It is of no use to ask again.
    Failed(Failure),
    /// It may be asked again.
    Again(Failure, TryAgain),
}

/// How a provider is asked again that gave no turn.
#[derive(Debug)]
pub(crate) struct TryAgain {
    pub(crate) provider: Ref,
    /// Why there is no turn, without the words of the provider.
    pub(crate) why: String,
    /// How often it is asked for one turn, the first time too.
    pub(crate) most_tries: u32,
    /// Before the next time.
    pub(crate) wait: Duration,
}

impl From<Failure> for TurnFault {
    fn from(failure: Failure) -> Self {
        Self { why: Lost::Failed(failure), may_cost: false }
    }
}

/// A model behind a provider.
pub(crate) trait LanguageModel {
    /// Asks once for the next turn; `told` hears each piece of its text as it comes, without
    /// secrets.
    ///
    /// # Errors
    /// `provider.*`
    fn turn(&mut self, asked: &Asked<'_>, told: &mut dyn FnMut(&str)) -> Result<Turn, TurnFault>;

    /// Waits before it is asked again.
    ///
    /// # Errors
    /// A signal ended it.
    fn wait(&mut self, _: Duration) -> Result<(), Failure> {
        Ok(())
    }
}

/// The arguments of a call as a model wrote them, without secrets; without any they are an empty
/// object.
fn arguments(text: &str, mask: &Mask) -> String {
    if text.trim().is_empty() {
        return Value::Object(Map::new()).to_string();
    }
    let text = mask.text(text);
    // JSON may spell a secret with escapes.
    match read_json(&text) {
        Ok(read) => {
            let masked = mask.value(read.clone());
            if masked == read { text } else { masked.to_string() }
        }
        Err(_) => mask.words(&text),
    }
}

/// The text of several parts without secrets, and their kept form. Where a secret lies across two
/// parts nothing is kept as it came.
fn without_secrets(text: &str, kept: Kept, mask: &Mask) -> (String, Option<Kept>) {
    let masked = mask.text(text);
    let kept = (masked == text).then_some(kept);
    (masked, kept)
}

#[cfg(test)]
mod tests {
    use super::{Kept, ModelCall, Turn};

    #[test]
    fn what_a_model_said_is_read_back_as_it_was_written_down() {
        let content = "[{\"type\":\"thinking\",\"z\":1.0,\"a\":10000000000000000000001}]";
        let kept = Kept { from: "tool:a/b at https://h".into(), content: content.into() };
        for kept in [None, Some(kept)] {
            let call = ModelCall { id: "1".into(), name: "a".into(), arguments: "{bad".into() };
            let (text, calls) = ("x\n".into(), vec![call]);
            let turn = Turn { text, calls, kept, ..Turn::default() };
            let written = crate::base::canon::exact(&turn.to_json());
            let read = crate::parse::json(&written).unwrap();
            assert_eq!(Turn::from_json(&read), Some(turn.clone()));
            let back = turn.kept_from("tool:a/b at https://h");
            let want = turn.kept.is_some().then(|| content.to_owned());
            assert_eq!(back.map(|back| back.to_string()), want, "in its order, to the digit");
            assert_eq!(turn.kept_from("tool:a/b at https://other"), None);
        }
    }
}
