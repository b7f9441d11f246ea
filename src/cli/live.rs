//! Shows the output of a tool, and the words of a thread's model, as they come (core 11).

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use crate::base::limits::OUTPUT_BYTES;
use crate::base::sync::unpoisoned;
use crate::base::terminal_text::TerminalText;
use crate::base::text::{escape, escape_line};
use crate::id::Ref;
use crate::report::{
    denied_calls_text, limit_lowered_text, provider_failed_text, thread_runs_text,
    tools_missing_text, tools_refused_text,
};
use crate::trace::{DeniedCall, Event, OutputPiece, Sink};

/// Bytes of a result that wait for its end where output is shown as it comes; a larger one is shown
/// as it is, so that a copy beside what is captured stays small.
const LIVE_RESULT_BYTES: usize = 1 << 20;

/// Shows what the tool of a run writes, masked by who hands it over, and passes events on.
///
/// A result that is JSON is shown at the end, drawn for people; so standard output waits as long as
/// it may be one JSON value. A terminal gets text, escaped; a pipe or a file gets the bytes of
/// standard output as they are. So it gets them at the end where something of them is masked, which
/// the result of a run that succeeds would hold.
pub(super) struct Live<'a> {
    inner: &'a dyn Sink,
    shows: Shows,
    state: Mutex<State>,
}

/// When it is shown what a tool writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    AsItComes,
    /// The result is shown at the end, and so is what the tool said beside it.
    AtTheEnd,
    Nothing,
}

#[derive(Default)]
struct State {
    shows_stdout: bool,
    shows_stderr: bool,
    /// Output that may be part of a result.
    result: Vec<u8>,
    scan: ResultScan,
    stdout: CutText,
    stderr: CutText,
    /// Output that is shown at the end.
    beside: Vec<u8>,
    shown: Streamed,
    denied: Vec<DeniedCall>,
}

/// The output that was shown already when the run ended.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    /// The last line that was shown is not at its end.
    pub(super) in_line: bool,
    /// The output of the tool beside its result, for the end.
    pub(super) beside: String,
    /// Lines about calls of threads that were not permitted.
    pub(super) denied: Vec<String>,
    /// Filters, which hold a control that came in part.
    stdout_text: TerminalText,
    stderr_text: TerminalText,
    /// The first thing that went wrong with standard output.
    pub(super) lost: Option<io::Error>,
}

impl<'a> Live<'a> {
    pub(super) fn new(inner: &'a dyn Sink, shows: Shows) -> Self {
        Self { inner, shows, state: Mutex::default() }
    }

    /// Ends the display, and returns what was shown. A result was not.
    pub(super) fn end(self) -> Streamed {
        let mut state = unpoisoned(self.state.into_inner());
        let rest = state.stdout.end();
        state.shown.stdout(&rest);
        let rest = state.stderr.end();
        state.shown.stderr(&rest);
        state.shown.end_styles();
        state.shown.beside = lossy(state.beside);
        state.shown.denied = denied_calls_text(&state.denied);
        state.shown
    }
}

impl Sink for Live<'_> {
    fn record(&self, event: Event) {
        if let (Event::ThreadRuns { thread_id }, true) = (&event, self.shows != Shows::Nothing) {
            unpoisoned(self.state.lock()).shown.note(&thread_runs_text(thread_id));
        }
        if let (Event::ProviderFailed(failure), true) = (&event, self.shows != Shows::Nothing) {
            unpoisoned(self.state.lock()).shown.note(&provider_failed_text(failure));
        }
        if let (Event::ToolsRefused { item_ids }, true) = (&event, self.shows != Shows::Nothing) {
            unpoisoned(self.state.lock()).shown.note(&tools_refused_text(item_ids));
        }
        if let (Event::ToolsMissing { missing }, true) = (&event, self.shows != Shows::Nothing) {
            unpoisoned(self.state.lock()).shown.note(&tools_missing_text(missing));
        }
        if let (Event::LimitLowered(lowered), true) = (&event, self.shows != Shows::Nothing) {
            unpoisoned(self.state.lock()).shown.note(&limit_lowered_text(lowered));
        }
        if let (Event::ProviderPassedOver { why, .. }, true) =
            (&event, self.shows != Shows::Nothing)
        {
            unpoisoned(self.state.lock()).shown.note(&escape_line(why));
        }
        if let (Event::CallDenied(denied), true) = (&event, self.shows != Shows::Nothing) {
            unpoisoned(self.state.lock()).denied.push(denied.clone());
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
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let mut state = unpoisoned(self.state.lock());
        let as_it_comes = self.shows == Shows::AsItComes;
        state.shows_stdout = as_it_comes && (stdout || !masked);
        // Only beside output that is shown as it comes, or the reader could not tell which belongs
        // to which.
        state.shows_stderr = state.shows_stdout || as_it_comes && stderr;
        self.shows != Shows::Nothing
    }

    fn model_said(&self, text: &str) {
        if self.shows == Shows::AsItComes && io::stderr().is_terminal() {
            unpoisoned(self.state.lock()).shown.words(text);
        }
    }

    fn wrote(&self, OutputPiece { of_stderr, bytes }: OutputPiece<'_>) {
        let state = &mut *unpoisoned(self.state.lock());
        if of_stderr {
            if state.shows_stderr {
                // All that it will write, also where it writes nothing.
                state.shown.stderr = true;
                let text = state.stderr.next(bytes);
                state.shown.stderr(&text);
            } else {
                let room = OUTPUT_BYTES - state.beside.len();
                state.beside.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        } else if state.shown.stdout {
            state.show_stdout(bytes);
        } else if state.shows_stdout {
            state.result.extend_from_slice(bytes);
            if state.scan.is_text(bytes) || state.result.len() > LIVE_RESULT_BYTES {
                state.shown.stdout = true;
                let begun = std::mem::take(&mut state.result);
                state.show_stdout(&begun);
            }
        }
    }
}

impl State {
    fn show_stdout(&mut self, bytes: &[u8]) {
        if io::stdout().is_terminal() {
            let text = self.stdout.next(bytes);
            self.shown.stdout(&text);
        } else {
            self.shown.write(bytes);
        }
    }
}

impl Streamed {
    /// Shows the output of a program in a terminal.
    fn stdout(&mut self, text: &str) {
        if !text.is_empty() {
            self.in_line = !text.ends_with('\n');
            let text = self.stdout_text.next(text);
            self.write(text.as_bytes());
        }
    }

    fn stderr(&mut self, text: &str) {
        if !text.is_empty() {
            self.in_line = !text.ends_with('\n');
            let text = match io::stderr().is_terminal() {
                true => self.stderr_text.next(text),
                false => escape(text).into_owned(),
            };
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// Shows the words of a model.
    fn words(&mut self, text: &str) {
        self.in_line = !text.ends_with('\n');
        let _ = io::stderr().write_all(escape(text).as_bytes());
    }

    /// Ends the colours of a program, before rye says something itself.
    fn end_styles(&mut self) {
        let (stdout, stderr) = (self.stdout_text.end(), self.stderr_text.end());
        if !stdout.is_empty() {
            self.write(stdout.as_bytes());
        }
        let _ = io::stderr().write_all(stderr.as_bytes());
    }

    /// Shows a line of rye's own, in which foreign words are escaped.
    fn note(&mut self, line: &str) {
        self.end_styles();
        let begin = if std::mem::take(&mut self.in_line) { "\n" } else { "" };
        let _ = writeln!(io::stderr(), "{begin}{line}");
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            self.lost.get_or_insert(error);
        }
    }
}

/// Text that comes in pieces, which may end within a character.
#[derive(Default)]
struct CutText(Vec<u8>);

impl CutText {
    fn next(&mut self, piece: &[u8]) -> String {
        self.0.extend_from_slice(piece);
        let last = self.0.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
        let is_begun = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
        let begun = if is_begun { last.len() } else { 0 };
        let rest = self.0.split_off(self.0.len() - begun);
        lossy(std::mem::replace(&mut self.0, rest))
    }

    fn end(&mut self) -> String {
        lossy(std::mem::take(&mut self.0))
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
}

/// Looks at a text in pieces for as long as it may be an object, a list or a string of JSON.
#[derive(Default)]
struct ResultScan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    is_whole: bool,
}

impl ResultScan {
    /// Returns true if the text with this piece is not JSON of these kinds.
    fn is_text(&mut self, piece: &[u8]) -> bool {
        !piece.iter().all(|byte| self.goes_on(*byte))
    }

    fn goes_on(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => (self.in_string, self.is_whole) = (false, self.depth == 0),
                _ => return byte >= b' ',
            }
            return true;
        }
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => true,
            _ if self.is_whole => false,
            b'"' => {
                self.in_string = true;
                true
            }
            b'{' | b'[' => {
                self.depth += 1;
                true
            }
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                self.is_whole = self.depth == 0;
                true
            }
            // What stands between: names of constants, numbers, signs.
            _ => self.depth > 0 && b"truefalsn0123456789+-.E,:".contains(&byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CutText, ResultScan};

    #[test]
    fn a_result_waits_for_its_end_and_a_text_does_not() {
        let rows = [
            ("{\"a\": [1, -2.5e3, true, null, \"x\\\"]\"]}\n", false),
            ("\n[]", false),
            ("\"text\"", false),
            ("{\"a\": ", false),
            ("building\n", true),
            ("[INFO] building\n", true),
            ("[ 50%] building\n", true),
            ("[12:00] building\n", true),
            ("[1]\n[2]\n", true),
            ("{\"level\":1}\n{\"level\":2}\n", true),
            ("\"a\nb\"", true),
            ("42\n", true),
            ("}", true),
        ];
        for (text, want) in rows {
            for size in 1..=text.len() {
                let mut scan = ResultScan::default();
                let got = text.as_bytes().chunks(size).any(|piece| scan.is_text(piece));
                assert_eq!(got, want, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_character_that_is_cut_in_two_is_shown_whole() {
        let text = "\u{e9}\u{20ac}\u{1f600}\n";
        for size in 1..=text.len() {
            let mut cut = CutText::default();
            let mut shown: String =
                text.as_bytes().chunks(size).map(|piece| cut.next(piece)).collect();
            shown.push_str(&cut.end());
            assert_eq!(shown, text, "{size}");
        }
        let mut cut = CutText::default();
        assert_eq!(
            (cut.next(b"a\xffb\xe2\x82"), cut.end()),
            ("a\u{fffd}b".into(), "\u{fffd}".into())
        );
    }
}
