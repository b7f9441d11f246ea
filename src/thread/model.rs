//! Who answers in a thread.

use serde_json::{Value, json};

use super::error::ThreadError;
use super::table::ModelTool;
use crate::id::Ref;
use crate::parse::{ScriptedTurn, TokenCounts};

/// What a model is asked in one turn.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) system: &'a str,
    pub(crate) messages: &'a [Message],
    pub(crate) tools: &'a [ModelTool],
}

impl Asked<'_> {
    /// The bytes that a model reads, counted as JSON.
    pub(crate) fn bytes(&self) -> u64 {
        let messages: usize =
            self.messages.iter().map(|said| said.to_json().to_string().len()).sum();
        let tools: usize = self.tools.iter().map(|tool| tool.to_json().to_string().len()).sum();
        u64::try_from(self.system.len() + messages + tools).unwrap_or(u64::MAX)
    }
}

/// One part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    User(String),
    Model(Turn),
    /// What a call gave, as JSON text.
    Result {
        call_id: String,
        content: String,
    },
}

impl Message {
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

/// What a model said in one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Turn {
    pub(crate) text: String,
    pub(crate) calls: Vec<ModelCall>,
    /// `None` where the provider did not say it.
    pub(crate) usage: Option<TokenCounts>,
}

impl Turn {
    pub(crate) fn to_json(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(ModelCall::to_json).collect();
        json!({"role": "assistant", "content": self.text, "tool_calls": calls})
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

/// A model behind a provider.
pub(crate) trait LanguageModel {
    /// Waits for the next turn.
    ///
    /// # Errors
    /// `provider.*`
    fn turn(&mut self, asked: &Asked<'_>) -> Result<Turn, ThreadError>;
}

/// Says the turns of a script one after the other, whatever it is asked.
#[derive(Debug)]
pub(crate) struct Scripted {
    provider: Ref,
    turns: Vec<ScriptedTurn>,
}

impl Scripted {
    pub(crate) fn new(provider: Ref, turns: Vec<ScriptedTurn>) -> Self {
        Self { provider, turns }
    }
}

impl LanguageModel for Scripted {
    fn turn(&mut self, asked: &Asked<'_>) -> Result<Turn, ThreadError> {
        // Where it is in its script, the conversation says; so it goes on in another process.
        let said = asked.messages.iter().filter_map(|message| match message {
            Message::Model(turn) => Some(turn.calls.len()),
            _ => None,
        });
        let (said, mut calls) = said.fold((0, 0), |(said, calls), more| (said + 1, calls + more));
        let Some(turn) = self.turns.get(said) else {
            let (provider, turns) = (self.provider.clone(), self.turns.len());
            return Err(ThreadError::ScriptEnded { provider, turns });
        };
        let wanted = turn.calls.iter().map(|call| {
            calls += 1;
            let id = format!("call-{calls}");
            ModelCall { id, name: call.name.clone(), arguments: call.arguments.clone() }
        });
        let wanted = wanted.collect();
        Ok(Turn { text: turn.text.clone(), calls: wanted, usage: turn.usage })
    }
}
