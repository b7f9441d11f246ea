//! Values that a snippet threw, as messages of the worker.

use rquickjs::{Object, Value};

use super::border::{Frame, WorkerFault};
use super::values::{lossy, text_of};
use crate::base::limits::{SNIPPET_FRAMES, SNIPPET_MESSAGE_BYTES};

/// The name of the snippet in stacks.
pub(super) const SNIPPET: &str = "snippet";

/// The fault of a text with a NUL character at byte `at`.
pub(super) fn nul_in(code: &str, at: usize) -> WorkerFault {
    let before = &code.as_bytes()[..at];
    let line_from = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let frame = Frame {
        function: String::new(),
        line: u32::try_from(line).unwrap_or_default(),
        column: u32::try_from(at - line_from + 1).unwrap_or_default(),
    };
    WorkerFault {
        name: "SyntaxError".into(),
        message: "the text has a NUL character; write it as \\0 or \\x00".into(),
        is_syntax: false,
        frames: vec![frame],
    }
}

/// The fault for a thrown value. The snippet chooses every part of it.
pub(super) fn fault_of(value: &Value<'_>, is_syntax: bool) -> WorkerFault {
    let ctx = value.ctx();
    let Some(object) = value.as_object() else {
        let text = match value.is_string() {
            true => lossy(value),
            false => value.get::<rquickjs::convert::Coerced<String>>().map_or_else(
                |_| {
                    ctx.catch();
                    value.type_name().to_owned()
                },
                |text| text.0,
            ),
        };
        return WorkerFault { message: brief(text), is_syntax, ..WorkerFault::default() };
    };
    let text = |key: &str| match object.get::<_, Value<'_>>(key) {
        Ok(value) if value.is_string() => brief(lossy(&value)),
        Ok(_) => String::new(),
        Err(_) => {
            ctx.catch();
            String::new()
        }
    };
    let (name, mut message) = (text("name"), text("message"));
    if name.is_empty() && message.is_empty() {
        "an object that is not an error was thrown".clone_into(&mut message);
    }
    // Of a call that failed: what to do next.
    let data = object.get::<_, Object<'_>>("data").and_then(|data| data.get::<_, String>("help"));
    match data {
        Ok(help) => message = brief(format!("{message}; {help}")),
        Err(_) => drop(ctx.catch()),
    }
    let stack = object.get::<_, Value<'_>>("stack").map_or_else(
        |_| {
            ctx.catch();
            String::new()
        },
        |stack| text_of(&stack).unwrap_or_default(),
    );
    let frames = stack.lines().take(10 * SNIPPET_FRAMES).filter_map(frame).take(SNIPPET_FRAMES);
    WorkerFault { name, message, is_syntax, frames: frames.collect() }
}

/// A line of a stack that is one of the snippet: `    at name (snippet:12:3)`.
fn frame(line: &str) -> Option<Frame> {
    let line = line.trim().strip_prefix("at ")?;
    let (function, place) = match line.strip_suffix(')') {
        Some(line) => line.rsplit_once(" (")?,
        None => ("", line),
    };
    let (line, column) = place.strip_prefix(SNIPPET)?.strip_prefix(':')?.split_once(':')?;
    Some(Frame {
        function: brief(function.to_owned()),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}

fn brief(mut text: String) -> String {
    if text.len() > SNIPPET_MESSAGE_BYTES {
        let mut end = SNIPPET_MESSAGE_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}
