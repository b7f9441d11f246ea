//! `rye thread tail`.

use std::ops::ControlFlow;

use serde_json::Value;

use super::events::{SAID, brief, one_line};
use super::wait::{exit_of, show};
use crate::base::text::{brief_line, escape};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::{Out, is_terminal, notice_closed};
use crate::diagnostic::{Failure, Style};
use crate::runs::{TailEnd, threads_from_outside};

pub(super) fn run(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let mut shown = Shown::default();
    let mut tell = |event: Option<&Value>| {
        match event {
            Some(event) => shown.tell(event, out),
            None => notice_closed(out),
        }
        // A reader that watches gets each at once.
        out.flush();
        match out.is_closed {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
        }
    };
    let end = threads_from_outside(&rye)?.tail(id, &mut tell)?;
    shown.end_line(out);
    Ok(match end {
        // What the run gives was shown as it was written.
        TailEnd::Ended(ended) if shown.has_output && ended.report["code"].is_null() => {
            exit_of(&ended.report)
        }
        TailEnd::Ended(ended) => show(&ended.report, shown.has_output, out),
        TailEnd::Signal(signal) => Exit::Signal(signal),
        TailEnd::Left => Exit::DONE,
    })
}

/// The text that a person sees already.
#[derive(Default)]
struct Shown {
    /// The last line is not at its end.
    in_line: bool,
    /// Words of the answer that comes next.
    has_words: bool,
    /// The output of a tool.
    has_output: bool,
}

impl Shown {
    fn tell(&mut self, event: &Value, out: &mut Out) {
        if out.is_json() {
            out.object(event);
            return;
        }
        let text = || event["text"].as_str().unwrap_or_default();
        match event["event"].as_str() {
            Some("token_delta") => {
                if !self.has_words {
                    let label = out.paint().style(Style::Dim, &format!("{SAID:>8}"));
                    out.exact(&format!("{label}  "));
                }
                self.has_words = true;
                self.write(text(), out);
            }
            Some("output") => {
                self.has_output = true;
                self.write(text(), out);
            }
            name => {
                self.end_line(out);
                let was_said = name == Some("cognition_out") && self.has_words;
                let rows = brief(event).into_iter();
                for (label, said) in rows.filter(|(label, _)| !was_said || *label != SAID) {
                    // What its model said is shown whole, as words that come one by one are.
                    let said = match is_terminal() && label != SAID {
                        true => one_line(&said),
                        false => brief_line(&said),
                    };
                    let label = out.paint().style(Style::Dim, &format!("{label:>8}"));
                    out.line(&format!("{label}  {said}"));
                }
                self.has_words = false;
            }
        }
    }

    fn write(&mut self, text: &str, out: &mut Out) {
        out.exact(&escape(text));
        self.in_line = !text.ends_with('\n');
    }

    fn end_line(&mut self, out: &mut Out) {
        if std::mem::take(&mut self.in_line) {
            out.exact("\n");
        }
    }
}
