//! What a program says on standard error: to the log line by line, and the last of it to whoever is
//! told of a failure.

use std::collections::VecDeque;

use crate::base::limits::{NOTE_LINES, STDERR_TAIL};
use crate::base::text::escape_line;
use crate::execute::Mask;
use crate::id::Ref;

/// The log of one program, bounded in lines and in what is kept.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Without secrets, whole characters not promised.
    tail: VecDeque<u8>,
    /// A line that has not ended yet.
    begun: Vec<u8>,
    lines: usize,
}

impl Notes {
    /// Takes what was said; a secret that is cut in two by the pieces of a stream is found by the line.
    pub(super) fn take(&mut self, item: &Ref, bytes: &[u8], mask: &Mask) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.begun.len() > STDERR_TAIL {
                self.end_line(item, mask);
            }
        }
    }

    fn end_line(&mut self, item: &Ref, mask: &Mask) {
        let line = mask.bytes(&std::mem::take(&mut self.begun), false);
        self.lines += 1;
        if self.lines <= NOTE_LINES {
            tracing::info!(%item, "stderr: {}", escape_line(String::from_utf8_lossy(&line).trim_end()));
        } else if self.lines == NOTE_LINES + 1 {
            tracing::info!(%item, "stderr: more than {NOTE_LINES} lines; no more of them here");
        }
        self.tail.extend(&line);
        let over = self.tail.len().saturating_sub(STDERR_TAIL);
        self.tail.drain(..over);
    }

    /// The last of what was said.
    pub(super) fn tail(&mut self, item: &Ref, mask: &Mask) -> String {
        if !self.begun.is_empty() {
            self.end_line(item, mask);
        }
        String::from_utf8_lossy(self.tail.make_contiguous()).into_owned()
    }

    /// From here on lines reach the log again.
    pub(super) fn begin_call(&mut self) {
        self.lines = 0;
    }
}
