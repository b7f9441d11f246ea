//! A thread that waits for a person, who decides what one of its calls asks (exec-protocol 4).
//!
//! It stops at that call: nothing of its time is used until it goes on, and the calls behind it are
//! carried out then, in their order.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::converse::Running;
use super::dispatch::CallEnd;
use super::error::ThreadError;
use super::model::{Message, ModelCall};
use super::transcript_lines::last_event;
use crate::base::Digest;
use crate::base::json::object;
use crate::base::json_reader::typed;
use crate::diagnostic::Failure;
use crate::registry::ThreadWaits;

/// The event that says what a thread waits for.
pub(super) const THREAD_WAITING: &str = "thread_waiting";

/// The request that a thread waits for. Field names are on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Awaited {
    /// The call of its model.
    pub(crate) call_id: String,
    /// The request that a person decides.
    pub(crate) pending_id: String,
    /// The item that asks, why, and in which words.
    pub(crate) item_id: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// Of what is kept of the request, so that nothing else is run in its place.
    pub(crate) request_sha256: Digest,
    /// The thread below that waits, where the call is one.
    pub(crate) thread_id: Option<String>,
}

impl Awaited {
    fn to_event(&self) -> Map<String, Value> {
        object(json!({
            "call_id": self.call_id, "pending_id": self.pending_id, "item_id": self.item_id,
            "reason": self.reason, "message": self.message,
            "request_sha256": self.request_sha256, "thread_id": self.thread_id,
        }))
    }

    /// Reads it from an event of a record.
    pub(crate) fn from_event(event: &Value) -> Option<Self> {
        typed(event.clone()).ok()
    }

    /// The last of a transcript, which is not checked.
    pub(crate) fn last_of(transcript: &[u8]) -> Option<Self> {
        last_event(transcript, THREAD_WAITING).and_then(|event| Self::from_event(&event))
    }

    /// The request as JSON, for a report.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.pending_id, "item_id": self.item_id, "reason": self.reason,
            "message": self.message,
        })
    }
}

impl Running<'_> {
    /// Carries out calls of the last turn, of which the first asked what is decided since. Gives
    /// what it waits for now.
    pub(super) fn go_on(
        &mut self,
        awaited: Awaited,
        calls: &[ModelCall],
    ) -> Result<Option<Box<Awaited>>, Failure> {
        let Some((first, others)) = calls.split_first() else { return Ok(None) };
        self.awaited = Some(awaited);
        // What was handed over is seen in the results, once all are there.
        let called = self.carry_out(first, &mut None)?;
        if let CallEnd::Waits(awaited) = called {
            return Ok(Some(awaited));
        }
        self.answer(first, called)?;
        // What was carried out is never carried out again.
        self.checkpoint("running", false)?;
        let before = calls_of_turn(&self.messages).saturating_sub(others.len());
        self.call_each(others, before, &mut None)
    }

    /// Writes down that the thread waits.
    ///
    /// # Errors
    /// `thread.cancelled` if it was asked to stop; `thread.record_io`, `registry.io`
    pub(super) fn wait(&mut self, awaited: &Awaited) -> Result<(), Failure> {
        let id = self.record.id().to_string();
        if self.conversation.is_stopped.load(Ordering::Relaxed) {
            return Err(cancelled(self).into());
        }
        self.note_hooks()?;
        self.record.event(THREAD_WAITING, awaited.to_event().into())?;
        self.checkpoint("waiting", true)?;
        match ThreadWaits::new(self.ledger).begin(&id)? {
            true => Ok(()),
            false => Err(cancelled(self).into()),
        }
    }
}

/// The error of a thread that was asked to stop.
pub(super) fn cancelled(thread: &Running<'_>) -> ThreadError {
    let (id, is_below) = (thread.record.id().to_string(), thread.conversation.is_below);
    ThreadError::Cancelled { id, is_below }
}

/// How many calls the last turn has.
fn calls_of_turn(messages: &[Message]) -> usize {
    let mut turns = messages.iter().rev().filter_map(|said| match said {
        Message::Model(turn) => Some(turn.calls.len()),
        _ => None,
    });
    turns.next().unwrap_or_default()
}
