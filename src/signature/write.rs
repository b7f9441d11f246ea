//! Writes the signature line: where it goes, and which line it replaces.

use super::key::KeyPair;
use super::line::{place, print, statement};
use crate::base::{Digest, Timestamp};
use crate::id::Ref;
use crate::space::Comment;

/// The file with a short form of its signature line, for comparing texts.
pub(crate) fn brief(bytes: &[u8], comment: &Comment) -> Vec<u8> {
    let range = place(bytes, comment).unwrap_or(0..0);
    if range.is_empty() {
        return bytes.to_vec();
    }
    let line = format!("{}rye:signed:v2 …{}\n", comment.open, comment.close);
    [&bytes[..range.start], line.as_bytes(), &bytes[range.end..]].concat()
}

/// Returns true if the line in the signature line's place begins as a signature line, or there is
/// no such line. Code in front of a mark must not be removed with it.
pub(crate) fn is_whole_line(bytes: &[u8], comment: &Comment) -> bool {
    let range = place(bytes, comment).unwrap_or(0..bytes.len());
    let line = bytes[range].trim_ascii_start();
    let behind = line.strip_prefix(comment.open.trim().as_bytes());
    line.is_empty()
        || behind.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"rye:signed:"))
}

/// The file without the signature line in its proper place, and also without one that stands on the
/// wrong side of the `#!` line.
pub(crate) fn without_line(bytes: &[u8], comment: &Comment) -> Vec<u8> {
    let range = place(bytes, comment).unwrap_or_else(|_| {
        let end = bytes.iter().position(|&b| b == b'\n').map_or(bytes.len(), |i| i + 1);
        0..end
    });
    [&bytes[..range.start], &bytes[range.end..]].concat()
}

/// Where the line goes: behind the `#!` line, else at the start; `None` if that line has no end.
pub(crate) fn line_start(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"#!") {
        return rest.iter().position(|&b| b == b'\n').map(|i| i + 1);
    }
    Some(0)
}

/// `rest` with the signature line put in.
pub(crate) fn sign_bytes(
    rest: &[u8],
    item: &Ref,
    ext: &str,
    comment: &Comment,
    pair: &KeyPair,
    now: Timestamp,
) -> Result<Vec<u8>, ()> {
    let start = line_start(rest).ok_or(())?;
    let statement = statement(item, ext, now, Digest::of(rest), pair.public().fingerprint());
    let line = print(comment, &statement, &pair.sign(statement.as_bytes()));
    Ok([&rest[..start], line.as_bytes(), &rest[start..]].concat())
}
