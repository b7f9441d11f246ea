//! A thread whose context window is almost full hands over to another one (threads 6).
//!
//! It asks its model for a summary, by a call like any other. The other thread is told its task and
//! the summary, and uses what is left of the same limits.

use std::time::Duration;

use serde_json::{Value, json};

use super::converse::{Conversation, Running, ThreadOutcome, counts, total};
use super::dispatch::failed;
use super::model::Message;
use super::replay::usage;
use super::thread_id::ThreadId;
use super::tool::ToolCallFaultKind;
use crate::base::time::as_ms;
use crate::diagnostic::Failure;
use crate::parse::TokenCounts;
use crate::registry::Breach;

/// How often a model is asked for the summary that the other thread is told.
const SUMMARY_ASKS: usize = 2;

/// How much of a context window is full before another thread goes on, in percent (threads 6).
const CONTINUE_AT_PERCENT: u128 = 90;

/// The message to a model whose context window is almost full.
const SUMMARISE: &str = "Your context window is almost full. Another thread goes on with this task: \
    it is told the task as you were, and of this conversation nothing but your next answer. Answer \
    with a summary for it, and call no tool: what was done and what came of it, which results it \
    needs word for word, and what is left to do.";

/// The bytes of the note that a result is shortened.
const SHORTENED_BYTES: usize = 200;

/// The mark of the event that asks for the summary.
pub(super) const ASKS_SUMMARY: &str = "summary";

/// The thread that a thread goes on for, and how far that came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Continued {
    pub(crate) from: ThreadId,
    /// The summary of its model for the thread that goes on.
    pub(crate) summary: String,
    /// The message of a person after that.
    pub(crate) message: Option<String>,
    /// The turns so far, those of the threads before it included.
    pub(crate) turns: u64,
    pub(crate) tokens: TokenCounts,
    pub(crate) spent: u64,
    pub(crate) took: Duration,
    /// How many answers its model and those before it gave.
    pub(crate) answers: usize,
}

impl Continued {
    /// As it stands in the first event of the thread that goes on.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "thread_id": self.from.as_str(), "summary": self.summary, "message": self.message,
            "turns": self.turns, "usage": counts(self.tokens), "spend_micros": self.spent,
            "elapsed_ms": as_ms(self.took), "answers": self.answers,
        })
    }

    /// Reads the output of [`Continued::to_json`].
    pub(super) fn from_json(written: &Value) -> Option<Self> {
        let number = |key: &str| written.get(key).and_then(Value::as_u64);
        let text = |key: &str| written.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            from: text("thread_id")?.parse().ok()?,
            summary: text("summary")?,
            message: text("message"),
            turns: number("turns")?,
            tokens: usage(written)?,
            spent: number("spend_micros")?,
            took: Duration::from_millis(number("elapsed_ms")?),
            answers: usize::try_from(number("answers")?).ok()?,
        })
    }

    /// The text behind the task for the model of the thread that goes on.
    pub(crate) fn told(&self) -> String {
        let mut told = format!(
            "<continues thread=\"{}\">\nAnother thread began with this task, until its context \
             window was almost full. Go on where it stopped. This is what it left for you:\n\n{}",
            self.from,
            self.summary.trim()
        );
        if let Some(message) = &self.message {
            told.push_str("\n\nA person said since:\n\n");
            told.push_str(message.trim());
        }
        told + "\n</continues>"
    }
}

/// Returns true if a conversation almost fills the context window of its model. It is false if the
/// size of the window is not known, and before the first answer.
pub(super) fn fills_window(messages: &[Message], window: Option<u64>) -> bool {
    window.zip(context_tokens(messages)).is_some_and(|(window, current)| {
        u128::from(current) * 100 >= u128::from(window) * CONTINUE_AT_PERCENT
    })
}

/// Asks the model of a thread for a summary, unless it gave one already, and begins the thread that
/// goes on, which is told what a person said since too.
///
/// # Errors
/// `thread.limit_exceeded` with the limit `context_window` where there is no summary; those of
/// asking a model, of a record and of the registry.
pub(super) fn hand_over(
    thread: &mut Running<'_>,
    message: Option<String>,
) -> Result<ThreadOutcome, Failure> {
    if thread.summary_asks == 0 {
        ask_for_summary(thread)?;
    }
    loop {
        match thread.messages.last() {
            Some(Message::Model(turn)) if !turn.text.trim().is_empty() => {
                let continued = continued(thread, turn.text.clone(), message);
                let by = (thread.conversation.continue_by)(thread.ledger, &continued)?;
                return Ok(ThreadOutcome::Continues { by, continued: Box::new(continued) });
            }
            Some(Message::Model(turn)) => {
                for call in turn.calls.clone() {
                    let why = "it is not carried out: a summary was asked for, and no call";
                    let called = failed(ToolCallFaultKind::Exception, why.into(), Value::Null);
                    thread.answer(&call, called)?;
                }
                ask_for_summary(thread)?;
            }
            Some(Message::Result { .. }) => ask_for_summary(thread)?,
            Some(Message::User(_)) | None => {}
        }
        let Conversation { context_window, answer_tokens, .. } = thread.conversation;
        let room = context_window.unwrap_or(u64::MAX).saturating_sub(answer_tokens);
        make_room(&mut thread.messages, room);
        let turn = thread.ask()?;
        thread.checkpoint("running", false)?;
        thread.messages.push(Message::Model(turn));
    }
}

/// Shortens results that no model was told yet where the request for the summary would have more
/// than `room` tokens. They stand whole in the record.
fn make_room(messages: &mut [Message], room: u64) {
    let current = context_tokens(messages).unwrap_or_default();
    let Some(beyond) = current.checked_sub(room).filter(|beyond| *beyond > 0) else { return };
    let told = messages.iter().rposition(|said| matches!(said, Message::Model(_)));
    let new = &mut messages[told.map_or(0, |at| at + 1)..];
    let of = |said: &Message| match said {
        Message::Result { content, .. } => content.len(),
        _ => 0,
    };
    let all: usize = new.iter().map(of).sum();
    // Two bytes a token, as they were counted; and each says in a few words that it is shortened.
    let less = usize::try_from(beyond.saturating_mul(2)).unwrap_or(usize::MAX);
    let kept = all.saturating_sub(less).saturating_sub(new.len() * SHORTENED_BYTES);
    for said in new {
        if let Message::Result { content, .. } = said {
            let share = content.len() * kept / all.max(1);
            let mut text = content.as_str();
            // Escaped once more, a text may take twice as many bytes.
            while text.len() > share / 2 {
                let half = text.len() / 2;
                text = &text[..text.floor_char_boundary(half)];
            }
            let shown = json!({"shortened": text, "bytes": content.len()}).to_string();
            if shown.len() < content.len() {
                *content = shown;
            }
        }
    }
}

fn ask_for_summary(thread: &mut Running<'_>) -> Result<(), Failure> {
    if thread.summary_asks == SUMMARY_ASKS {
        let max = thread.conversation.context_window.unwrap_or_default();
        let current = context_tokens(&thread.messages).unwrap_or_default();
        return Err(thread.beyond(Breach::ahead("context_window", current, max)));
    }
    thread.summary_asks += 1;
    thread.record.event("cognition_in", json!({"user": SUMMARISE, "asks": ASKS_SUMMARY}))?;
    thread.messages.push(Message::User(SUMMARISE.to_owned()));
    Ok(())
}

fn continued(thread: &Running<'_>, summary: String, message: Option<String>) -> Continued {
    let answers = thread.messages.iter().filter(|said| matches!(said, Message::Model(_))).count();
    Continued {
        from: thread.record.id().clone(),
        summary,
        message,
        turns: thread.turns,
        tokens: thread.tokens,
        spent: thread.spent,
        took: thread.took(),
        answers: thread.earlier_answers + answers,
    }
}

/// The tokens of a conversation as its model counted them last, and two bytes a token of what was
/// said since; `None` where it said nothing yet.
fn context_tokens(messages: &[Message]) -> Option<u64> {
    let at = messages.iter().rposition(|said| matches!(said, Message::Model(_)))?;
    let Message::Model(turn) = &messages[at] else { return None };
    let (counted, rest) = match turn.usage {
        Some(usage) => (total(usage), &messages[at + 1..]),
        None => (0, messages),
    };
    let bytes: usize = rest.iter().map(Message::bytes).sum();
    Some(counted.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(2)))
}
