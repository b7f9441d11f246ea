//! One answer of a model, held before and booked after, however often it is asked for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::converse::{Conversation, Running, counts, price, total};
use super::model::{Asked, Lost, Message, TryAgain, Turn, TurnFault};
use super::watch::{ReplacedRequest, ShownRequest};
use crate::base::money::cost;
use crate::base::time::as_ms;
use crate::diagnostic::Failure;
use crate::parse::TokenCounts;
use crate::registry::Breach;
use crate::trace::{Event, ProviderFailure};

/// The longest that one answer may take, however much time there is.
const LONGEST_ANSWER: Duration = Duration::from_hours(24);

/// What is held for one answer: tokens, and what they cost.
type Held = (u64, u64);

impl Running<'_> {
    /// Asks for the next turn; a provider that cannot answer now is asked again.
    pub(super) fn ask(&mut self) -> Result<Turn, Failure> {
        let replaced = self.before_call()?;
        let mut tries = 1;
        loop {
            let came = self.ask_once(tries, &replaced);
            self.record.end_words();
            match came? {
                Ok(turn) => return Ok(turn),
                Err(wait) => self.conversation.model.wait(wait)?,
            }
            tries += 1;
        }
    }

    /// What is asked in the place of parts of the next request, which is kept.
    fn before_call(&mut self) -> Result<ReplacedRequest, Failure> {
        let shown = ShownRequest {
            system: &self.conversation.system,
            messages: &self.messages,
            round: self.turns + 1,
        };
        let judged = self.conversation.watcher.before_call(&shown);
        self.note_hooks()?;
        let replaced = judged?;
        let messages = replaced.messages.as_ref();
        let messages: Option<Value> =
            messages.map(|messages| messages.iter().map(Message::to_json).collect());
        if messages.is_some() || replaced.system.is_some() {
            let whole = json!({"system": replaced.system, "messages": messages}).to_string();
            let blob = self.record.keep(whole.as_bytes())?.to_string();
            self.record.event("cognition_replaced", json!({"blob": blob}))?;
        }
        Ok(replaced)
    }

    /// The turn, or how long to wait before it is asked for again.
    fn ask_once(
        &mut self,
        tries: u32,
        replaced: &ReplacedRequest,
    ) -> Result<Result<Turn, Duration>, Failure> {
        let time = self.time_left()?;
        let Conversation { prices, answer_tokens, .. } = self.conversation;
        let shown = ShownRequest {
            system: replaced.system.as_deref().unwrap_or(&self.conversation.system),
            messages: replaced.messages.as_deref().unwrap_or(&self.messages),
            round: self.turns + 1,
        };
        let asked = Asked {
            system: shown.system,
            messages: shown.messages,
            tools: self.conversation.table.tools(),
            answer_tokens,
            earlier_answers: self.earlier_answers,
            tries,
            until: Instant::now() + time.min(LONGEST_ANSWER),
        };
        // Two bytes a token is less than any language takes, so this is the most that is read.
        let input = asked.bytes().div_ceil(2);
        let tokens = input.saturating_add(answer_tokens);
        let dearest = prices.input.max(prices.cache_read).max(prices.cache_write);
        let spend = cost(input, dearest).saturating_add(cost(answer_tokens, prices.output));
        let id = self.record.id().to_string();
        if let Some(breach) = self.ledger.hold(&id, tokens, spend)? {
            return Err(self.beyond(breach));
        }
        let held = (tokens, spend);
        let (listener, begin, mut is_in_line) = (self.conversation.listener, Instant::now(), false);
        let record = &mut *self.record;
        let turn = self.conversation.model.turn(&asked, &mut |text| {
            // What may be withheld is shown to nobody as it comes.
            if !replaced.may_withhold {
                is_in_line = !text.ends_with('\n');
                listener.model_said(text);
                record.say(text);
            }
        });
        if is_in_line {
            listener.model_said("\n");
        }
        match turn {
            Ok(turn) => {
                let took = begin.elapsed();
                // What nobody says is booked as what was held.
                let used = turn.usage.map_or(held, |usage| (total(usage), price(usage, prices)));
                let breach = self.ledger.book(&id, held, Some(used))?;
                let judged = self.conversation.watcher.after_call(&shown, &turn, took);
                let usage =
                    turn.usage.unwrap_or(TokenCounts { input: tokens, ..TokenCounts::default() });
                self.count(usage, used.1);
                let turn = self.said(turn, judged, (usage, used.1))?;
                breach.map_or(Ok(Ok(turn)), |breach| Err(self.beyond(breach)))
            }
            Err(fault) => self.lost(&id, held, tries, fault).map(Err),
        }
    }

    /// Writes down what was said and what it took, as the hooks leave it.
    fn said(
        &mut self,
        turn: Turn,
        judged: Result<Option<Turn>, Failure>,
        (usage, spend): (TokenCounts, u64),
    ) -> Result<Turn, Failure> {
        self.note_hooks()?;
        let used = json!({"usage": counts(usage), "spend_micros": spend});
        let turn = match judged {
            Ok(None) => turn,
            Ok(Some(other)) => {
                Turn { usage: turn.usage, finish_reason: turn.finish_reason, ..other }
            }
            Err(denied) => {
                // What it said is in no record, and what it took is.
                self.record.event("cognition_withheld", used)?;
                return Err(denied);
            }
        };
        let mut said = turn.to_json();
        for key in ["usage", "spend_micros"] {
            said[key] = used[key].clone();
        }
        if let Some(reason) = &turn.finish_reason {
            said["finish_reason"] = reason.as_str().into();
        }
        self.record.event("cognition_out", said)?;
        self.broken_off_by = turn.broken_off_by().map(str::to_owned);
        Ok(turn)
    }

    /// What a provider was asked for and did not give may have cost as much as was held.
    fn lost(
        &mut self,
        id: &str,
        held: Held,
        tries: u32,
        fault: TurnFault,
    ) -> Result<Duration, Failure> {
        let TurnFault { why, may_cost } = fault;
        let breach = self.ledger.book(id, held, may_cost.then_some(held))?;
        let (failure, again) = match why {
            Lost::TimedOut => (None, None),
            Lost::Failed(failure) => (Some(failure), None),
            Lost::Again(failure, again) => (Some(failure), Some(again)),
        };
        let mut told = json!({
            "tries": tries, "wait_ms": again.as_ref().map(|again| as_ms(again.wait)),
            "code": failure.as_ref().map(|failure| failure.code().to_string()),
            "error": failure.as_ref().map(ToString::to_string),
        });
        if may_cost {
            let usage = TokenCounts { input: held.0, ..TokenCounts::default() };
            self.count(usage, held.1);
            told["usage"] = counts(usage);
            told["spend_micros"] = held.1.into();
        }
        self.record.event("provider_failed", told)?;
        if let Some(breach) = breach {
            return Err(self.beyond(breach));
        }
        match (failure, again) {
            (Some(failure), Some(TryAgain { provider, why, most_tries, wait })) => {
                let (code, error) = (failure.code().to_owned(), why);
                let wait_ms = as_ms(wait);
                self.conversation.listener.record(Event::ProviderFailed(ProviderFailure {
                    item_id: provider,
                    code,
                    error,
                    tries,
                    most_tries,
                    wait_ms,
                }));
                Ok(wait)
            }
            // Whoever was interrupted because it is to stop says so itself.
            (Some(failure), None) => self.time_left().and(Err(failure)),
            (None, _) => {
                self.time_left()?;
                let max = self.conversation.limits.duration_seconds;
                Err(self.beyond(Breach::used("duration_seconds", max, max)))
            }
        }
    }

    /// A turn that was counted: its own tokens and what they cost.
    fn count(&mut self, usage: TokenCounts, spend: u64) {
        self.turns += 1;
        self.tokens.add(usage);
        self.spent = self.spent.saturating_add(spend);
    }
}
