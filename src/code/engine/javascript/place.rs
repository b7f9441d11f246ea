//! Places in a snippet: from the units of an engine and of a parser to lines and characters.

use super::border::{Frame, WorkerFault};
use crate::base::limits::{SNIPPET_FRAMES, SNIPPET_MESSAGE_BYTES};
use crate::base::text::position;
use crate::code::engine::SnippetFault;

/// The help of a `return` outside of a function.
const RETURN_HELP: &str = "assign to `__out`: a snippet has no function to return from";

/// Where the byte stands, from 1, in lines and characters.
pub(super) fn place(code: &str, at: usize) -> (u32, u32) {
    let found = position(code.as_bytes(), at);
    let number = |number: usize| u32::try_from(number).unwrap_or_default();
    (number(found.line), number(found.column))
}

/// The byte of a place as the engine counts: lines from 1, and columns from 1 in bytes. `None`
/// outside of the text.
///
/// The engine takes U+2028 and U+2029 for the end of a line between its words, and not within a
/// text or a comment, which is where they usually stand.
fn byte_at(code: &str, line: u32, column: u32) -> Option<usize> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let found = |counts_all| {
        let line = line.checked_sub(1)?;
        let mut starts = std::iter::once(0).chain(line_starts(code, counts_all));
        let start = starts.nth(line)?;
        let end = starts.next().unwrap_or(code.len() + 1);
        let at = start + column.checked_sub(1)?;
        (at < end).then_some(at)
    };
    let at = found(false).or_else(|| found(true))?;
    // A place within a character is that character's.
    (0..=at).rev().find(|at| code.is_char_boundary(*at))
}

/// Where the lines of the engine begin, without the first: behind what ends a line in JavaScript.
fn line_starts(code: &str, counts_all: bool) -> impl Iterator<Item = usize> {
    let bytes = code.as_bytes();
    code.char_indices().filter_map(move |(at, sign)| match sign {
        '\u{2028}' | '\u{2029}' if counts_all => Some(at + sign.len_utf8()),
        '\n' => Some(at + 1),
        '\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
        _ => None,
    })
}

/// The error of the worker, with places of the snippet. `script` is what the engine ran: it has the
/// same bytes in the same places, but for types.
pub(super) fn fault(code: &str, script: &str, told: WorkerFault) -> SnippetFault {
    let at = |frame: &Frame| byte_at(script, frame.line, frame.column);
    let first = told.frames.first().and_then(at);
    let first = first.map(|at| match told.is_syntax && told.message.contains("redefinition") {
        true => word_before(script, at),
        // The types of a call stood in between.
        false if script[at..].starts_with('(') && script[..at].ends_with(' ') => {
            word_before(script, at)
        }
        false => name_behind(script, at, &told.message).unwrap_or(at),
    });
    let (line, column) = first.map_or((0, 0), |at| place(code, at));
    let stack = told.frames.iter().take(SNIPPET_FRAMES).map(|frame| {
        let (line, column) = at(frame).map_or((0, 0), |at| place(code, at));
        match frame.function.as_str() {
            "" | "<anonymous>" | "<eval>" => format!("at {line}:{column}"),
            name => format!("at {} ({line}:{column})", brief(name.to_owned())),
        }
    });
    let stack = stack.collect();
    let help = (told.is_syntax && told.message.contains("return")).then_some(RETURN_HELP);
    SnippetFault { name: brief(told.name), message: brief(told.message), line, column, stack, help }
}

/// The property that the message speaks of, at or behind this byte: the engine tells where the
/// expression around it begins.
fn name_behind(code: &str, at: usize, message: &str) -> Option<usize> {
    let rest = message.strip_prefix("cannot ")?.split_once(" property '")?.1;
    let name = rest.rsplit_once("' of ")?.0;
    let statement = &code[at..];
    let statement = &statement[..statement.find(';').unwrap_or(statement.len())];
    let found = statement.match_indices(name).find(|(found, _)| {
        let before = statement[..*found].trim_end();
        before.ends_with(['.', '[', '\'', '"'])
            && !statement[found + name.len()..].starts_with(is_part)
    });
    found.filter(|_| !name.is_empty()).map(|(found, _)| at + found)
}

/// Where the word begins that ends before this byte: of a name that is there twice, the engine
/// tells what follows it.
fn word_before(code: &str, at: usize) -> usize {
    let before = code[..at].trim_end();
    before.trim_end_matches(is_part).len()
}

fn is_part(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '$'
}

fn brief(mut text: String) -> String {
    if text.len() > SNIPPET_MESSAGE_BYTES + 8 {
        let end = (0..=SNIPPET_MESSAGE_BYTES).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{byte_at, fault, place};
    use crate::code::engine::javascript::border::{Frame, WorkerFault};

    #[test]
    fn places_of_the_engine_are_counted_in_characters_and_none_is_outside_of_the_text() {
        let code = "é😀x\r\ny\rz\u{2028}w";
        for (line, column, want) in [
            (1, 1, Some((1, 1))),
            (1, 7, Some((1, 3))),
            // Within a character.
            (1, 4, Some((1, 2))),
            (2, 1, Some((2, 1))),
            // What ends a line for the engine alone.
            (3, 1, Some((2, 3))),
            (4, 1, Some((2, 5))),
            (0, 1, None),
            (1, 0, None),
            (1, 99, None),
            (5, 1, None),
            (u32::MAX, u32::MAX, None),
        ] {
            let found = byte_at(code, line, column).map(|at| place(code, at));
            assert_eq!(found, want, "{line}:{column}");
        }
    }

    #[test]
    fn a_stack_that_the_snippet_wrote_tells_no_place_outside_of_it() {
        let frames = vec![Frame { function: "f".into(), line: 9_999, column: 1 }];
        let told = WorkerFault { message: "m".into(), frames, ..WorkerFault::default() };
        let fault = fault("a\nb", "a\nb", told);
        assert_eq!((fault.line, fault.column), (0, 0));
        assert_eq!(fault.stack, ["at f (0:0)"]);
    }
}
