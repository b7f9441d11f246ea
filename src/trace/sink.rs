//! Where events go.

use std::sync::Mutex;
use std::time::Instant;

use super::event::{Event, Warning};
use crate::base::sync::unpoisoned;
use crate::id::Ref;

/// Most events of a thread that are kept as warnings for the caller that started it.
const THREAD_WARNINGS: usize = 1_000;

/// Listens to decisions.
pub(crate) trait Sink: Sync {
    /// Takes one event.
    fn record(&self, event: Event);

    /// Takes what a program said on standard error, masked, for who wants to hear it: whole lines
    /// while it runs where it has no secrets, and the rest at its end.
    fn said(&self, _item: &Ref, _text: &dyn Fn() -> String) {}

    /// A tool is about to write: whether to hear of it as it comes. If it is `masked`, some of it
    /// may be left out that the result of a run that succeeds holds.
    fn begin_output(&self, _masked: bool) -> bool {
        false
    }

    /// Takes what the tool of the run wrote, masked, as it comes.
    fn wrote(&self, _piece: OutputPiece<'_>) {}

    /// Takes what the model of a thread says, masked, as it comes.
    fn model_said(&self, _text: &str) {}

    /// Returns true if the events have a reader; costly ones are made for a reader alone.
    fn has_reader(&self) -> bool {
        true
    }
}

/// A piece of a tool's output on one of its streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputPiece<'a> {
    pub(crate) of_stderr: bool,
    pub(crate) bytes: &'a [u8],
}

/// Listens to nothing.
pub(crate) struct Quiet;

impl Sink for Quiet {
    fn record(&self, _: Event) {}

    fn has_reader(&self) -> bool {
        false
    }
}

/// An event and when it came, in microseconds since the recorder was made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Recorded {
    pub(crate) at_us: u64,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// Keeps every event with its time.
pub(crate) struct Recorder {
    start: Instant,
    events: Mutex<Vec<Recorded>>,
}

impl Recorder {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, events: Mutex::new(Vec::new()) }
    }

    /// The events recorded so far, in order.
    pub(crate) fn events(&self) -> Vec<Recorded> {
        unpoisoned(self.events.lock()).clone()
    }
}

impl Sink for Recorder {
    fn record(&self, event: Event) {
        let at_us = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut events = unpoisoned(self.events.lock());
        events.push(Recorded { at_us, event });
    }
}

/// Passes events on, and nothing of what a tool writes: what its hooks are not shown, they cannot
/// withhold.
pub(crate) struct WithoutOutput<'a>(pub(crate) &'a dyn Sink);

impl Sink for WithoutOutput<'_> {
    fn record(&self, event: Event) {
        self.0.record(event);
    }

    fn has_reader(&self) -> bool {
        self.0.has_reader()
    }
}

/// Passes events on, and keeps the warnings in them, so that none is lost when a run stops later.
pub(crate) struct Warnings<'a> {
    inner: &'a dyn Sink,
    kept: Mutex<Vec<(Ref, Warning)>>,
    of_threads: Mutex<Vec<Event>>,
}

impl<'a> Warnings<'a> {
    pub(crate) fn new(inner: &'a dyn Sink) -> Self {
        Self { inner, kept: Mutex::default(), of_threads: Mutex::default() }
    }

    /// The warnings so far, each with the item that it is about.
    pub(crate) fn kept(&self) -> Vec<(Ref, Warning)> {
        unpoisoned(self.kept.lock()).clone()
    }

    /// The events of a thread and of those below it that its caller must know, in order.
    pub(crate) fn of_threads(&self) -> Vec<Event> {
        unpoisoned(self.of_threads.lock()).clone()
    }
}

impl Sink for Warnings<'_> {
    fn record(&self, event: Event) {
        if let Event::VerifyIntegrity { item_id, warnings, .. } = &event {
            let mut kept = unpoisoned(self.kept.lock());
            kept.extend(warnings.iter().map(|warning| (item_id.clone(), warning.clone())));
        }
        if matches!(
            event,
            Event::CallDenied(_)
                | Event::ToolsRefused { .. }
                | Event::ToolsMissing { .. }
                | Event::LimitLowered(_)
                | Event::ProviderPassedOver { .. }
        ) {
            let mut told = unpoisoned(self.of_threads.lock());
            if told.len() < THREAD_WARNINGS {
                told.push(event.clone());
            }
        }
        self.inner.record(event);
    }

    fn said(&self, item: &Ref, text: &dyn Fn() -> String) {
        self.inner.said(item, text);
    }

    fn has_reader(&self) -> bool {
        self.inner.has_reader()
    }

    fn begin_output(&self, masked: bool) -> bool {
        self.inner.begin_output(masked)
    }

    fn wrote(&self, piece: OutputPiece<'_>) {
        self.inner.wrote(piece);
    }

    fn model_said(&self, text: &str) {
        self.inner.model_said(text);
    }
}
