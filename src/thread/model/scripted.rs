//! A provider that is a script, so that a thread can be tried without a model.

use super::{Asked, LanguageModel, Message, ModelCall, Turn, TurnFault};
use crate::diagnostic::Failure;
use crate::id::Ref;
use crate::parse::ScriptedTurn;
use crate::thread::error::ThreadError;

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
    fn turn(&mut self, asked: &Asked<'_>, _: &mut dyn FnMut(&str)) -> Result<Turn, TurnFault> {
        // Where it is in its script, the conversation says; so it goes on in another process.
        let said = asked.messages.iter().filter_map(|message| match message {
            Message::Model(turn) => Some(turn.calls.len()),
            _ => None,
        });
        let begin = (asked.earlier_answers, 0);
        let (said, mut calls) = said.fold(begin, |(said, calls), more| (said + 1, calls + more));
        let Some(turn) = self.turns.get(said) else {
            let (provider, turns) = (self.provider.clone(), self.turns.len());
            let ended = ThreadError::ScriptEnded { provider, turns, has_message: false };
            return Err(Failure::from(ended).into());
        };
        let wanted = turn.calls.iter().map(|call| {
            calls += 1;
            let id = format!("call-{calls}");
            ModelCall { id, name: call.name.clone(), arguments: call.arguments.clone() }
        });
        let wanted = wanted.collect();
        Ok(Turn { text: turn.text.clone(), calls: wanted, usage: turn.usage, ..Turn::default() })
    }
}
