//! Frames: `Content-Length: n`, an empty line, n bytes of JSON. A frame is bounded, whatever length
//! it announces.
//!
//! JSON is read into a value first and from there into types: numbers keep their digits here
//! (`arbitrary_precision`), and untagged enums read such numbers from values only.

use std::io::{BufRead, Read, Write};

use serde_json::Value;

use super::error::LspError;
use crate::base::json_reader::may_hold_more;
use crate::base::limits::ITEM_BYTES;
use crate::base::limits::MESSAGE_NODES;

/// Longest header of such a message in bytes: two short lines are usual.
#[cfg(feature = "lsp")]
const LSP_HEADER_BYTES: u64 = 4 << 10;

/// Largest message of an editor in bytes: the largest item with each byte escaped, and what is
/// around it.
#[cfg(feature = "lsp")]
const LSP_MESSAGE_BYTES: u64 = 6 * ITEM_BYTES + (1 << 20);

/// The result of reading a frame.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Message(Value),
    /// The content of a frame is not JSON.
    NoJson,
    /// A frame was too large, or held too many values; it was skipped.
    TooLarge,
}

/// The next frame; `None` if the stream ends between two frames.
///
/// # Errors
/// `lsp.malformed`: there is no way to find the next frame. `lsp.io`.
pub(super) fn read(from: &mut impl BufRead) -> Result<Option<Frame>, LspError> {
    let Some(length) = header(from)? else { return Ok(None) };
    let io = |source| LspError::Io { source };
    if length > LSP_MESSAGE_BYTES {
        let passed = std::io::copy(&mut from.take(length), &mut std::io::sink()).map_err(io)?;
        return Ok((passed == length).then_some(Frame::TooLarge));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes).map_err(io)?;
    // The writer died in the middle of a frame.
    if u64::try_from(bytes.len()).is_ok_and(|read| read < length) {
        return Ok(None);
    }
    if may_hold_more(&bytes, MESSAGE_NODES) {
        return Ok(Some(Frame::TooLarge));
    }
    Ok(Some(serde_json::from_slice(&bytes).map_or(Frame::NoJson, Frame::Message)))
}

/// The announced length; `None` at the end of the stream.
fn header(from: &mut impl BufRead) -> Result<Option<u64>, LspError> {
    let malformed = |why| Err(LspError::Malformed { why });
    let (mut length, mut room) = (None, LSP_HEADER_BYTES);
    loop {
        let mut line = Vec::new();
        let read = from.take(room).read_until(b'\n', &mut line);
        room -= u64::try_from(read.map_err(|source| LspError::Io { source })?).unwrap_or(room);
        if !line.ends_with(b"\n") {
            // The writer died in the middle of a header.
            return if room == 0 { malformed("a header is too long") } else { Ok(None) };
        }
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return malformed("a line of a header does not end in CR LF");
        };
        if line.is_empty() {
            return match length {
                Some(length) => Ok(Some(length)),
                None => malformed("a header has no `Content-Length`"),
            };
        }
        let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|l| l.split_once(':'))
        else {
            return malformed("a line of a header is not of the form `Name: value`");
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            let value = value.trim();
            let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            match value.parse() {
                Ok(number) if digits && length.is_none() => length = Some(number),
                _ => return malformed("`Content-Length` is not a number, or stands there twice"),
            }
        }
    }
}

/// Writes one message.
///
/// # Errors
/// Errors of the stream.
pub(super) fn write(to: &mut impl Write, message: &Value) -> std::io::Result<()> {
    let text = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::{Frame, read, write};
    use super::{LSP_HEADER_BYTES, LSP_MESSAGE_BYTES};
    use serde_json::json;

    /// The frames of a stream, one word each, and how it ends.
    fn frames(mut bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        loop {
            out.push(match read(&mut bytes) {
                Ok(Some(Frame::Message(value))) => value.to_string(),
                Ok(Some(Frame::NoJson)) => "no json".to_owned(),
                Ok(Some(Frame::TooLarge)) => "too large".to_owned(),
                Ok(None) => "end".to_owned(),
                Err(error) => error.to_string(),
            });
            if !matches!(out.last().map(String::as_str), Some("no json" | "too large"))
                && !out.last().is_some_and(|last| last.starts_with('{'))
            {
                return out;
            }
        }
    }

    #[test]
    fn frames_table() {
        let malformed = |why: &str| format!("the input is not the language server protocol: {why}");
        let long = "x".repeat(usize::try_from(LSP_HEADER_BYTES).unwrap());
        let rows = [
            ("", vec!["end".to_owned()]),
            ("Content-Length: 2\r\n\r\n{}", vec!["{}".into(), "end".into()]),
            (
                "content-length:2\r\nContent-Type: x\r\n\r\n{}Content-Length: 3\r\n\r\n{]}",
                vec!["{}".into(), "no json".into(), "end".into()],
            ),
            ("Content-Length: 9\r\n\r\n{}", vec!["end".into()]),
            ("Content-Le", vec!["end".into()]),
            (
                "Content-Length: 2\n\n{}",
                vec![malformed("a line of a header does not end in CR LF")],
            ),
            ("\r\n{}", vec![malformed("a header has no `Content-Length`")]),
            (
                "hello\r\n\r\n",
                vec![malformed("a line of a header is not of the form `Name: value`")],
            ),
            (
                "Content-Length: -1\r\n\r\n",
                vec![malformed("`Content-Length` is not a number, or stands there twice")],
            ),
            (
                "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                vec![malformed("`Content-Length` is not a number, or stands there twice")],
            ),
            (long.as_str(), vec![malformed("a header is too long")]),
        ];
        for (stream, want) in rows {
            assert_eq!(frames(stream.as_bytes()), want, "{stream:.60}");
        }
    }

    #[test]
    fn a_frame_that_is_too_large_is_passed_over_and_the_next_one_read() {
        let length = usize::try_from(LSP_MESSAGE_BYTES).unwrap() + 1;
        let mut stream = format!("Content-Length: {length}\r\n\r\n").into_bytes();
        stream.resize(stream.len() + length, b' ');
        stream.extend(b"Content-Length: 2\r\n\r\n{}");
        assert_eq!(frames(&stream), ["too large", "{}", "end"]);
        // Content that is announced and never comes takes no memory.
        assert_eq!(frames(b"Content-Length: 18446744073709551615\r\n\r\n{"), ["end"]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let message = json!({"id": 1, "text": "ü\u{1f600}\n", "number": 1.50});
        let mut stream = Vec::new();
        write(&mut stream, &message).unwrap();
        assert_eq!(frames(&stream), [message.to_string(), "end".into()]);
    }
}
