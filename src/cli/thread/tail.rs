//! `rye thread tail`.

use std::ops::ControlFlow;

use serde_json::Value;

use super::show::brief;
use super::wait::show;
use crate::base::text::brief_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::rye::{TailEnd, Threads};

pub(super) fn run(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let mut tell = |event: Option<&Value>| {
        match event {
            Some(event) => tell(event, out),
            None => out.notice_closed(),
        }
        // Each is read at once by whoever watches.
        out.flush();
        match out.is_closed {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
        }
    };
    Ok(match Threads::new(&rye).tail(id, &mut tell)? {
        TailEnd::Ended(ended) => show(&ended.report, out),
        TailEnd::Signal(signal) => Exit::Signal(signal),
        TailEnd::Left => Exit::DONE,
    })
}

fn tell(event: &Value, out: &mut Out) {
    if out.is_json() {
        out.object(event);
        return;
    }
    for (label, said) in brief(event) {
        let label = out.paint().style(Style::Dim, &format!("{label:>8}"));
        out.line(&format!("{label}  {}", brief_line(&said)));
    }
}
