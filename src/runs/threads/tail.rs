//! The events of a thread while it runs, for another process.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::known_runs::{ask_node, known, remote_row};
use super::result::{RunEnd, end_of};
use super::{Threads, parsed};
use crate::base::durations::wait_of;
use crate::diagnostic::Failure;
use crate::parse::kept_json;
use crate::runs::remote::RemoteRow;
use crate::thread::{LiveText, THREAD_ENDED, TranscriptLines, is_uuid};

/// How often it is looked whether a thread that is watched wrote more, in milliseconds: a person
/// sees no delay, and a look takes microseconds.
const TAIL_LOOK_MS: u64 = 100;

/// Why nothing more is told of a thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TailEnd {
    /// It is over, or waits for a person.
    Ended(RunEnd),
    /// A signal asked this process to end; the thread goes on.
    Signal(i32),
    /// The reader wants no more.
    Left,
}

/// After so many looks the registry is read, also if it is unchanged: a killed process writes
/// nothing.
const LOOKS: usize = 8;

impl Threads<'_> {
    /// Tells each event of a thread once it stands whole in the record, which is not checked, until
    /// the thread ends, and then those of the thread that goes on for it. What its model is saying
    /// comes before as events `token_delta`, and what a detached tool writes as events `output`,
    /// both of which no record holds. While nothing happens it tells `None`, several times a
    /// second, so that it ends without waiting for the next event.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.record_io`, `thread.killed`, `thread.cancelled`, `registry.*`
    pub(crate) fn tail(
        self,
        id: &str,
        tell: &mut dyn FnMut(Option<&Value>) -> ControlFlow<()>,
    ) -> Result<TailEnd, Failure> {
        let mut found = self.run(id)?;
        if let Some(remote) = remote_row(&found) {
            return tail_remote(self, &remote, id, tell);
        }
        let mut lines = match is_uuid(id) {
            true => None,
            false => Some(TranscriptLines::of(Path::new(&found.row.base), &parsed(id)?)),
        };
        let Some(mut registry) = self.registry()? else {
            return end_of(self, &found).map(TailEnd::Ended);
        };
        let (mut version, mut look, mut told, mut has_told_end) = (None, 0, 0, false);
        let (base, is_run) = (PathBuf::from(&found.row.base), is_uuid(id));
        let mut live = match is_run {
            true => LiveText::of_log(&base, id),
            false => LiveText::of_words(&base, &parsed(id)?),
        };
        let name = if is_run { "output" } else { "token_delta" };
        loop {
            // Before the lines are read, so that all that stand before the end are told.
            let newest = registry.version()?;
            if version != Some(newest) || look % LOOKS == 0 {
                found = known(self, &mut registry, id)?.unwrap_or(found);
                version = Some(newest);
            }
            let has_ended = !found.is_open();
            let mut take = |line: &[u8]| {
                // Words stand before the answer that holds them whole.
                let words = live.next(told);
                told += line.len() as u64;
                let words = tell_words(name, &words, tell);
                match event(line).filter(|_| words.is_continue()) {
                    Some(event) => {
                        has_told_end = event["event"] == THREAD_ENDED;
                        tell(Some(&event))
                    }
                    None => words,
                }
            };
            if let Some(lines) = &mut lines
                && lines.next(&mut take)?.is_break()
            {
                return Ok(TailEnd::Left);
            }
            // Words that are said when the thread is over already were told with its events.
            if !has_ended || is_run {
                let mut words = live.next(told) + &live.look(told);
                loop {
                    if tell_words(name, &words, tell).is_break() {
                        return Ok(TailEnd::Left);
                    }
                    words = live.next(told);
                    if words.is_empty() {
                        break;
                    }
                }
            }
            // It is registered as continued before its record says so.
            if let Some(by) = found.row.continued_by.clone()
                && (has_told_end || !self.run(&by)?.is_open())
            {
                return self.tail(&by, tell);
            }
            if has_ended && found.row.continued_by.is_none() {
                return end_of(self, &found).map(TailEnd::Ended);
            }
            if tell(None).is_break() {
                return Ok(TailEnd::Left);
            }
            let pause = wait_of(TAIL_LOOK_MS);
            if let Ok(Some(signal)) = self.rye.host().sleep(pause) {
                return Ok(TailEnd::Signal(signal));
            }
            look += 1;
        }
    }
}

/// Tells the events of one that a node runs.
fn tail_remote(
    threads: Threads<'_>,
    remote: &RemoteRow,
    id: &str,
    tell: &mut dyn FnMut(Option<&Value>) -> ControlFlow<()>,
) -> Result<TailEnd, Failure> {
    if remote.is_judged {
        // Nothing is shown of it before the hooks of the process that asked.
        return Ok(match threads.wait(id, None)? {
            Ok(end) => TailEnd::Ended(end),
            Err(signal) => TailEnd::Signal(signal),
        });
    }
    if remote.tail(threads.rye, id, &mut |event| tell(Some(event)))?.is_break() {
        return Ok(TailEnd::Left);
    }
    ask_node(threads, id, Duration::ZERO)?;
    end_of(threads, &threads.run(id)?).map(TailEnd::Ended)
}

/// Tells a part of what is being said or written, as an event that no record holds.
fn tell_words(
    name: &str,
    words: &str,
    tell: &mut dyn FnMut(Option<&Value>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match words.is_empty() {
        true => ControlFlow::Continue(()),
        false => tell(Some(&json!({"event": name, "text": words}))),
    }
}

/// The event of a line of a transcript; none for a checkpoint.
fn event(line: &[u8]) -> Option<Value> {
    kept_json(line).filter(|event| event.get("event").is_some())
}
