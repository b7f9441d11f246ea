//! What a thread does, told as it does it, to whichever process asks.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::life::{RunEnd, end_of, known};
use super::{Threads, parsed};
use crate::base::durations::TAIL_LOOK_MS;
use crate::diagnostic::Failure;
use crate::thread::{TranscriptLines, is_uuid};

/// Why nothing more is told of a thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TailEnd {
    /// It is over, or waits for a person.
    Ended(RunEnd),
    /// A signal asked this process to end; the thread goes on.
    Signal(i32),
    /// Nobody wants to hear more.
    Left,
}

/// After so many looks the registry is read, also where nobody wrote there: whoever was killed
/// writes nothing.
const LOOKS: usize = 8;

impl Threads<'_> {
    /// Tells each event of a thread once it stands whole in the record, which is not checked, until
    /// the thread ends. A detached run of a tool has no events, and is waited for. While nothing
    /// happens it tells `None`, several times a second, so that nobody waits for the next event to
    /// be rid of it.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.record_io`, `thread.killed`, `thread.cancelled`, `registry.*`
    pub(crate) fn tail(
        self,
        id: &str,
        tell: &mut dyn FnMut(Option<&Value>) -> ControlFlow<()>,
    ) -> Result<TailEnd, Failure> {
        let mut found = self.run(id)?;
        let mut lines = match is_uuid(id) {
            true => None,
            false => Some(TranscriptLines::of(Path::new(found.base()), &parsed(id)?)),
        };
        let Some(mut registry) = self.registry()? else { return end_of(found).map(TailEnd::Ended) };
        let (mut version, mut look) = (None, 0);
        loop {
            // Before the lines are read, so that all that stand before the end are told.
            let newest = registry.version()?;
            if version != Some(newest) || look % LOOKS == 0 {
                found = known(&mut registry, id)?.unwrap_or(found);
                version = Some(newest);
            }
            let has_ended = !found.is_open();
            let mut take =
                |line: &[u8]| event(line).map_or(ControlFlow::Continue(()), |e| tell(Some(&e)));
            if let Some(lines) = &mut lines
                && lines.next(&mut take)?.is_break()
            {
                return Ok(TailEnd::Left);
            }
            if has_ended {
                return end_of(found).map(TailEnd::Ended);
            }
            if tell(None).is_break() {
                return Ok(TailEnd::Left);
            }
            let pause = Duration::from_millis(TAIL_LOOK_MS);
            if let Ok(Some(signal)) = self.rye.host().sleep(pause) {
                return Ok(TailEnd::Signal(signal));
            }
            look += 1;
        }
    }
}

/// What a line of a transcript tells; a checkpoint tells nothing.
fn event(line: &[u8]) -> Option<Value> {
    let event: Value = serde_json::from_slice(line).ok()?;
    event.get("event").is_some().then_some(event)
}
