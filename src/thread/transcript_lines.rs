//! The lines of a transcript as they are written, read by another process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::ThreadError;
use super::record::{THREAD_ENDED, THREAD_RESUMED, transcript};
use super::thread_file::THREAD_STARTED;
use super::thread_id::ThreadId;
use crate::base::bytes::{open_plain, read_end};
use crate::base::limits::THREAD_LINE_BYTES;
use crate::parse::kept_json;

/// How much of the end of a record is read for why its thread failed, in bytes: a failure in words,
/// with its help and its values, and the checkpoint behind it.
const THREAD_END_BYTES: u64 = 256 << 10;

/// The last event with that name.
pub(crate) fn last_event(lines: &[u8], name: &str) -> Option<Value> {
    last_event_where(lines, |event| event["event"] == name)
}

fn last_event_where(lines: &[u8], is_it: impl Fn(&Value) -> bool) -> Option<Value> {
    let events = lines.split(|byte| *byte == b'\n').rev();
    let mut events = events.filter_map(kept_json);
    events.find(is_it)
}

/// How many seconds a thread may run, as it began or as it went on last.
pub(crate) fn duration_limit(transcript: &[u8]) -> Option<u64> {
    let seconds = |event: Option<Value>| event?["limits"]["duration_seconds"].as_u64();
    let resumed = last_event_where(transcript, |event| {
        event["event"] == THREAD_RESUMED && event["limits"].is_object()
    });
    seconds(resumed).or_else(|| seconds(last_event(transcript, THREAD_STARTED)))
}

/// How a thread ended, as the end of its transcript says it, which is not checked.
pub(crate) fn kept_end(base: &Path, id: &ThreadId) -> Option<Value> {
    let end = read_end(&transcript(base, id), THREAD_END_BYTES).ok()?;
    last_event(&end, THREAD_ENDED)
}

/// Reads on where it stopped, and gives a line once it is whole.
///
/// Invariant: holds at most one line that is begun, and that is at most [`THREAD_LINE_BYTES`] long.
pub(crate) struct TranscriptLines {
    path: PathBuf,
    /// `None` until it is there.
    file: Option<File>,
    at: u64,
    begun: Vec<u8>,
}

impl TranscriptLines {
    pub(crate) fn of(base: &Path, id: &ThreadId) -> Self {
        Self { path: transcript(base, id), file: None, at: 0, begun: Vec::new() }
    }

    /// Gives each line that was finished since, for as long as they are wanted.
    ///
    /// # Errors
    /// `thread.record_io`
    pub(crate) fn next(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ThreadError> {
        self.read(take).map_err(|source| ThreadError::Record { path: self.path.clone(), source })
    }

    fn read(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut file = match &self.file {
            Some(file) => file,
            None => match open_plain(&self.path) {
                Ok(file) => &*self.file.insert(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(ControlFlow::Continue(()));
                }
                Err(error) => return Err(error),
            },
        };
        let len = file.metadata()?.len();
        if len < self.at {
            // What was not proven was cut off, since the thread went on.
            self.at = len;
            self.begun.clear();
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut piece = vec![0; 64 << 10];
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            self.at += count as u64;
            for part in piece[..count].split_inclusive(|byte| *byte == b'\n') {
                if self.begun.len() + part.len() > THREAD_LINE_BYTES {
                    return Err(io::Error::other("it has a line larger than 64 MiB"));
                }
                self.begun.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    let taken = take(&self.begun);
                    self.begun.clear();
                    if taken.is_break() {
                        return Ok(taken);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TranscriptLines;
    use crate::thread::record::transcript;
    use crate::thread::thread_id::ThreadId;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::ops::ControlFlow;

    #[test]
    fn a_line_is_given_once_and_whole_however_it_is_written() {
        let base = tempfile::tempdir().unwrap();
        let id = ThreadId::new(&"acme/look".parse().unwrap()).unwrap();
        let path = transcript(base.path(), &id);
        let mut lines = TranscriptLines::of(base.path(), &id);
        let mut next = || {
            let mut got = Vec::new();
            let mut take = |line: &[u8]| {
                got.push(String::from_utf8(line.to_vec()).unwrap());
                ControlFlow::Continue(())
            };
            assert!(lines.next(&mut take).unwrap().is_continue());
            got
        };
        assert!(next().is_empty(), "it is not there yet");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        let mut write = |text: &str| file.write_all(text.as_bytes()).unwrap();
        let long = "x".repeat(200_000);
        write("one\ntw");
        assert_eq!(next(), ["one\n"]);
        write("o");
        assert!(next().is_empty());
        write(&format!("\n{long}\nhalf"));
        assert_eq!(next(), ["two\n".to_owned(), format!("{long}\n")]);
        // A thread that goes on cuts off the lines that are not proven.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(8).unwrap();
        assert!(next().is_empty());
        write("more\n");
        assert_eq!(next(), ["more\n"]);
    }

    #[test]
    fn what_stands_in_the_place_of_a_transcript_is_not_waited_for() {
        let base = tempfile::tempdir().unwrap();
        let id = ThreadId::new(&"acme/look".parse().unwrap()).unwrap();
        let path = transcript(base.path(), &id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let mut lines = TranscriptLines::of(base.path(), &id);
        assert!(lines.next(&mut |_| ControlFlow::Continue(())).is_err());
    }
}
