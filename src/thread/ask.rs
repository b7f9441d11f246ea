//! One answer of a model, held before and booked after, however often it is asked for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::converse::{Conversation, Running, counts, price, total};
use super::model::{Asked, Lost, Message, TryAgain, Turn, TurnFault};
use super::record::USAGE_IS_RESERVED;
use super::watch::{ReplacedRequest, ShownRequest};
use crate::base::money::cost;
use crate::base::time::as_ms;
use crate::diagnostic::Failure;
use crate::parse::TokenCounts;
use crate::registry::Breach;
use crate::trace::{Event, ProviderFailure};

/// The longest that one answer may take, however much time there is.
const LONGEST_ANSWER: Duration = Duration::from_hours(24);

/// Tokens and money that are held for one answer, or booked for it.
#[derive(Debug, Clone, Copy)]
struct Usage {
    tokens: TokenCounts,
    spend: u64,
    /// The provider did not say what it took, so it is all that was held.
    is_reserved: bool,
}

impl Usage {
    /// As the ledger counts it: tokens of each kind together, and what they cost.
    fn sums(self) -> (u64, u64) {
        (total(self.tokens), self.spend)
    }

    /// Adds it to an event of the record.
    fn note(self, event: &mut Value) {
        event["usage"] = counts(self.tokens);
        event["spend_micros"] = self.spend.into();
        if self.is_reserved {
            event[USAGE_IS_RESERVED] = true.into();
        }
    }
}

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

    /// Asks the hooks about the next request; the parts that they replace are kept in the record.
    fn before_call(&mut self) -> Result<ReplacedRequest, Failure> {
        let shown = ShownRequest {
            system: &self.conversation.system,
            messages: &self.messages,
            round: self.turns + 1,
            until: Instant::now() + self.time_left()?,
        };
        let judged = self.conversation.watcher.before_call(&shown);
        self.note_hooks()?;
        // A hook that was ended with the time of the thread refused nothing.
        let replaced = judged.or_else(|failure| self.time_left().and(Err(failure)))?;
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
            until: Instant::now() + time,
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
        let dearest = prices.input.max(prices.cache_read).max(prices.cache_write);
        let spend = cost(input, dearest).saturating_add(cost(answer_tokens, prices.output));
        let tokens = TokenCounts { input, output: answer_tokens, ..TokenCounts::default() };
        let held = Usage { tokens, spend, is_reserved: true };
        let id = self.record.id().to_string();
        if let Some(breach) = self.ledger.hold(&id, total(tokens), spend)? {
            return Err(self.beyond(breach));
        }
        let (listener, begin, mut is_in_line) = (self.conversation.listener, Instant::now(), false);
        let record = &mut *self.record;
        let turn = self.conversation.model.turn(&asked, &mut |text| {
            // Text that may be withheld is not shown as it comes.
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
                let used = turn.usage.map_or(held, |tokens| Usage {
                    tokens,
                    spend: price(tokens, prices),
                    is_reserved: false,
                });
                let breach = self.ledger.book(&id, held.sums(), Some(used.sums()))?;
                let judged = self.conversation.watcher.after_call(&shown, &turn, took);
                self.count(used);
                let turn = self.said(turn, judged, used)?;
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
        used: Usage,
    ) -> Result<Turn, Failure> {
        self.note_hooks()?;
        let turn = match judged {
            Ok(None) => turn,
            Ok(Some(other)) => {
                Turn { usage: turn.usage, finish_reason: turn.finish_reason, ..other }
            }
            Err(denied) => {
                // What it said is in no record, and what it took is.
                let mut withheld = json!({});
                used.note(&mut withheld);
                self.record.event("cognition_withheld", withheld)?;
                return self.time_left().and(Err(denied));
            }
        };
        let mut said = turn.to_json();
        used.note(&mut said);
        if let Some(reason) = &turn.finish_reason {
            said["finish_reason"] = reason.as_str().into();
        }
        self.record.event("cognition_out", said)?;
        self.broken_off_by = turn.broken_off_by().map(str::to_owned);
        Ok(turn)
    }

    /// Books a request without an answer: it may have cost as much as was held.
    fn lost(
        &mut self,
        id: &str,
        held: Usage,
        tries: u32,
        fault: TurnFault,
    ) -> Result<Duration, Failure> {
        let TurnFault { why, may_cost } = fault;
        let breach = self.ledger.book(id, held.sums(), may_cost.then_some(held.sums()))?;
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
            self.count(held);
            held.note(&mut told);
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
            // A thread that was interrupted because it is to stop says so itself.
            (Some(failure), None) => self.time_left().and(Err(failure)),
            (None, _) => {
                self.time_left()?;
                let max = self.conversation.limits.duration_seconds;
                Err(self.beyond(Breach::used("duration_seconds", max, max)))
            }
        }
    }

    /// A turn that was counted: its own tokens and what they cost.
    fn count(&mut self, used: Usage) {
        self.turns += 1;
        self.tokens.add(used.tokens);
        self.spent = self.spent.saturating_add(used.spend);
    }
}
