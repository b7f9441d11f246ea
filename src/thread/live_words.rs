//! The words of a model, and the output of a detached tool, as they come, for a reader in another
//! process. They are no part of a record.
//!
//! The words of one answer stand in a file beside the transcript, which says first how long the
//! transcript was when the answer began, so that a reader tells them at their place. The file goes
//! once the whole answer stands in the transcript.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::record::record_folder;
use super::thread_id::ThreadId;
use crate::base::bytes::open_plain;

/// Most words of one answer that are told while they come, in bytes; the whole answer is told once
/// it is there.
const LIVE_WORDS_BYTES: usize = 1 << 20;

/// The file with what the model of a thread is saying.
pub(crate) const LIVE_WORDS: &str = "words";
const LOG: &str = "output.log";

/// Where the words of a thread stand while its model says them.
pub(super) fn words(base: &Path, id: &ThreadId) -> PathBuf {
    record_folder(base).join(id.as_str()).join(LIVE_WORDS)
}

/// Where a detached run of a tool with that id, which is a UUID, writes what the tool writes.
pub(crate) fn output_log(base: &Path, id: &str) -> PathBuf {
    record_folder(base).join(id).join(LOG)
}

/// Writes the words of one answer after the other, for their owner alone. That they cannot be
/// written changes nothing of the thread.
pub(super) struct LiveWords {
    path: PathBuf,
    file: Option<File>,
    room: usize,
}

impl LiveWords {
    /// Takes away what a process before this one left.
    pub(super) fn new(path: PathBuf) -> Self {
        let _ = fs::remove_file(&path);
        Self { path, file: None, room: LIVE_WORDS_BYTES }
    }

    /// Adds to the answer that began when the transcript was `at` bytes long.
    pub(super) fn say(&mut self, at: u64, text: &str) {
        let _ = self.write(at, text);
    }

    fn write(&mut self, at: u64, text: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut new = OpenOptions::new();
                new.append(true).create_new(true).mode(0o600);
                let file = self.file.insert(new.open(&self.path)?);
                file.write_all(format!("{at}\n").as_bytes())?;
                file
            }
        };
        // The whole answer is told once it stands in the transcript.
        let end = text.floor_char_boundary(self.room.min(text.len()));
        self.room -= end;
        file.write_all(&text.as_bytes()[..end])
    }

    /// The answer is over.
    pub(super) fn end(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
        self.room = LIVE_WORDS_BYTES;
    }
}

impl Drop for LiveWords {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads such a file while another process writes it, and the next one once it was replaced.
pub(crate) struct LiveText {
    path: PathBuf,
    /// Its first line says where it belongs.
    has_place: bool,
    held: Option<HeldWords>,
}

struct HeldWords {
    file: File,
    /// Behind how many bytes of the transcript it is told.
    place: Option<u64>,
    /// Bytes that are not told yet: an incomplete first line, then an incomplete character.
    begun: Vec<u8>,
}

impl LiveText {
    /// The words of a thread.
    pub(crate) fn of_words(base: &Path, id: &ThreadId) -> Self {
        Self { path: words(base, id), has_place: true, held: None }
    }

    /// The output of a detached tool.
    pub(crate) fn of_log(base: &Path, id: &str) -> Self {
        Self { path: output_log(base, id), has_place: false, held: None }
    }

    /// The text that came since, if its place is before the byte of the transcript with that
    /// number.
    pub(crate) fn next(&mut self, told: u64) -> String {
        let Some(held) = &mut self.held else { return String::new() };
        let piece = (&held.file).take(LIVE_WORDS_BYTES as u64).read_to_end(&mut held.begun);
        if piece.is_err() {
            return String::new();
        }
        if held.place.is_none() {
            let Some(end) = held.begun.iter().position(|byte| *byte == b'\n') else {
                return String::new();
            };
            let line: Vec<u8> = held.begun.drain(..=end).collect();
            let number = std::str::from_utf8(&line[..end]).ok().and_then(|it| it.parse().ok());
            held.place = Some(number.unwrap_or(0));
        }
        if held.place > Some(told) {
            return String::new();
        }
        let last = held.begun.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
        let is_begun = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
        let begun = if is_begun { last.len() } else { 0 };
        let rest = held.begun.split_off(held.begun.len() - begun);
        String::from_utf8_lossy(&std::mem::replace(&mut held.begun, rest)).into_owned()
    }

    /// Looks whether there is one now, or another one; gives what was left of the one before.
    pub(crate) fn look(&mut self, told: u64) -> String {
        let found = open_plain(&self.path).ok();
        let id_of = |file: &File| file.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        let is_held = self.held.as_ref().map(|held| id_of(&held.file));
        if is_held == found.as_ref().map(id_of) {
            return String::new();
        }
        // The writer adds nothing once the file is gone.
        let rest = self.next(told);
        let place = (!self.has_place).then_some(0);
        self.held = found.map(|file| HeldWords { file, place, begun: Vec::new() });
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::LIVE_WORDS_BYTES;
    use super::{LiveText, LiveWords, words};
    use crate::thread::thread_id::ThreadId;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn words_are_told_once_at_their_place_and_go_with_their_answer() {
        let base = tempfile::tempdir().unwrap();
        let id = ThreadId::new(&"acme/look".parse().unwrap()).unwrap();
        let path = words(base.path(), &id);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "left").unwrap();
        let mut writer = LiveWords::new(path.clone());
        let mut reader = LiveText::of_words(base.path(), &id);
        let mut all = |told| {
            let rest = reader.look(told);
            rest + &reader.next(told)
        };
        assert_eq!(all(99), "", "what a process before left is gone");
        writer.say(10, "One é");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(all(9), "", "a line before it is not told yet");
        assert_eq!(all(10), "One é");
        writer.say(10, " two");
        writer.end();
        assert!(!path.exists());
        writer.say(20, "next");
        assert_eq!(all(10), " two", "the rest of an answer that is over");
        assert_eq!(all(20), "next");
        assert_eq!(all(20), "");
        writer.end();
        let long = "é".repeat(LIVE_WORDS_BYTES);
        writer.say(30, &long);
        writer.say(30, "more");
        let mut told = String::new();
        (0..4).for_each(|_| told += &all(30));
        assert_eq!(told.len(), LIVE_WORDS_BYTES, "bounded");
        drop(writer);
        assert!(!path.exists());
        assert_eq!(all(30), "");
    }
}
