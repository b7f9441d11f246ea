//! The signature line, version 2: its grammar and its place in a file (core 3.1–3.4).

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use memchr::memmem;

use crate::base::{Digest, Timestamp};
use crate::id::{Fingerprint, Ref};
use crate::space::Comment;

/// Longest signature line in bytes: the fixed fields and the longest id fit with room.
const SIGNATURE_LINE: usize = 1024;

/// How every signature line begins behind its comment opener.
pub(crate) const MARK: &str = "rye:signed:";
const VERSION: &str = "rye:signed:v2 ";
/// The fields behind the version, one space between two, each with what is said where it is not.
const FIELDS: [(&str, &str); 6] = [
    ("item=", "field `item` is missing or out of place"),
    ("ext=", "field `ext` is missing or out of place"),
    ("at=", "field `at` is missing or out of place"),
    ("sha256=", "field `sha256` is missing or out of place"),
    ("key=", "field `key` is missing or out of place"),
    ("sig=", "field `sig` is missing or out of place"),
];
/// The text that is shown instead of a signature.
const TAKEN_OUT: &str = "[signature line]";

/// A well-formed signature line.
///
/// Invariant: `statement` is the exact text of the line that was signed, and the other fields are
/// what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SigLine {
    pub(crate) item: Ref,
    pub(crate) ext: String,
    pub(crate) at: Timestamp,
    pub(crate) sha256: Digest,
    pub(crate) key: Fingerprint,
    pub(crate) sig: [u8; 64],
    pub(crate) statement: String,
}

/// The signature line of a file, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scan {
    /// There is none anywhere.
    None,
    /// There is one in its place; the range covers the line and its line feed.
    Line { line: Box<SigLine>, range: Range<usize> },
}

/// A fault in a file's signature lines. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SigFault {
    Malformed { line: usize, why: &'static str },
    Legacy { line: usize },
    Stray { line: usize },
}

/// The statement: what the key signs, from `rye:signed:v2 ` up to but not including ` sig=`.
pub(crate) fn statement(
    item: &Ref,
    ext: &str,
    at: Timestamp,
    sha256: Digest,
    key: Fingerprint,
) -> String {
    format!("{VERSION}item={item} ext={ext} at={at} sha256={sha256} key={key}")
}

/// A whole line, its line feed included.
pub(super) fn print(comment: &Comment, statement: &str, sig: &[u8; 64]) -> String {
    let sig = URL_SAFE_NO_PAD.encode(sig);
    format!("{}{statement} sig={sig}{}\n", comment.open, comment.close)
}

/// Finds the file's signature line, and refuses signature lines in other places.
pub(crate) fn scan(bytes: &[u8], comment: &Comment) -> Result<Scan, SigFault> {
    let range = place(bytes, comment)?;
    if let Some(at) = stray(bytes, &range, comment) {
        // A malformed line in the right place is reported before a second line behind it.
        let line = 1 + bytes[..at].iter().filter(|&&b| b == b'\n').count();
        if !range.is_empty() {
            parse(bytes, &range, comment)?;
        }
        return Err(SigFault::Stray { line });
    }
    if range.is_empty() {
        return Ok(Scan::None);
    }
    let line = parse(bytes, &range, comment)?;
    Ok(Scan::Line { line: Box::new(line), range })
}

/// The range of the line that carries the mark at its proper place: line 2 behind a shebang,
/// otherwise line 1; empty where there is none.
pub(super) fn place(bytes: &[u8], comment: &Comment) -> Result<Range<usize>, SigFault> {
    let first = line_at(bytes, 0);
    let carries = |range: &Range<usize>| mark_in(&bytes[range.clone()], comment).is_some();
    if bytes.starts_with(b"#!") {
        let second = line_at(bytes, first.end);
        return Ok(if carries(&second) { second } else { first.end..first.end });
    }
    if !carries(&first) {
        return Ok(0..0);
    }
    if bytes[first.end..].starts_with(b"#!") {
        let why = "it stands before the `#!` line; it belongs behind it";
        return Err(SigFault::Malformed { line: 1, why });
    }
    Ok(first)
}

/// The range of what stands in a signature line's place and carries its mark, well formed or not;
/// empty if nothing does. It is for texts that must not have a signature line.
pub(crate) fn line_range(bytes: &[u8], comment: &Comment) -> Range<usize> {
    place(bytes, comment).unwrap_or_else(|_| line_at(bytes, 0))
}

/// Returns true if nothing in a text is a signature line, well formed or not.
pub(crate) fn has_no_line(bytes: &[u8], comment: &Comment) -> bool {
    // One in its place needs no look at the rest.
    line_range(bytes, comment).is_empty() && matches!(scan(bytes, comment), Ok(Scan::None))
}

/// The line that begins at `start`, with its line feed if it has one.
fn line_at(bytes: &[u8], start: usize) -> Range<usize> {
    let length = bytes[start..].iter().position(|&b| b == b'\n').map(|i| i + 1);
    start..length.map_or(bytes.len(), |length| start + length)
}

/// Where the mark stands behind the comment opener; white space around the opener is accepted here,
/// so that a line which is nearly right is reported as malformed and not overlooked.
fn mark_in(text: &[u8], comment: &Comment) -> Option<usize> {
    let opens = |at: &usize| text[..*at].trim_ascii_end().ends_with(comment.open.trim().as_bytes());
    memmem::find_iter(text, MARK).find(opens)
}

fn stray(bytes: &[u8], line: &Range<usize>, comment: &Comment) -> Option<usize> {
    let before = mark_in(&bytes[..line.start], comment);
    let after = || mark_in(&bytes[line.end..], comment).map(|at| line.end + at);
    before.or_else(after)
}

fn parse(bytes: &[u8], range: &Range<usize>, comment: &Comment) -> Result<SigLine, SigFault> {
    let number = if range.start == 0 { 1 } else { 2 };
    let bad = |why| SigFault::Malformed { line: number, why };
    let line = &bytes[range.clone()];
    if line.len() > SIGNATURE_LINE {
        return Err(bad("it is too long"));
    }
    let text = std::str::from_utf8(line).map_err(|_| bad("it is not UTF-8"))?;
    if is_legacy(text) {
        return Err(SigFault::Legacy { line: number });
    }
    let text = text.strip_suffix('\n').ok_or(bad("there is no line feed behind it"))?;
    if text.contains('\r') {
        return Err(bad("it holds a carriage return"));
    }
    let fields = text
        .strip_prefix(comment.open.as_str())
        .and_then(|rest| rest.strip_suffix(comment.close.as_str()))
        .ok_or(bad("the comment around it is not written as this file type writes it"))?;
    let fields =
        fields.strip_prefix(VERSION).ok_or(bad("its version is not `v2`, or a space is off"))?;
    read_fields(fields).map_err(bad)
}

fn read_fields(fields: &str) -> Result<SigLine, &'static str> {
    let mut rest = fields.split(' ');
    let mut values = [""; FIELDS.len()];
    for (value, (name, why)) in values.iter_mut().zip(FIELDS) {
        *value = rest.next().and_then(|field| field.strip_prefix(name)).ok_or(why)?;
    }
    let [item, ext, at, sha256, key, sig] = values;
    if rest.next().is_some() {
        return Err("something stands behind the signature");
    }
    let item: Ref = item.parse().map_err(|_| "field `item` is not a valid ref")?;
    if ext.is_empty() || !ext.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return Err("field `ext` is not a valid file extension");
    }
    let at: Timestamp = at.parse().map_err(|()| "field `at` is not a valid time")?;
    let sha256: Digest =
        sha256.parse().map_err(|()| "field `sha256` is not a valid SHA-256 digest")?;
    let key: Fingerprint = key.parse().map_err(|_| "field `key` is not a valid fingerprint")?;
    let bytes = URL_SAFE_NO_PAD.decode(sig).map_err(|_| "field `sig` is not base64url")?;
    let sig: [u8; 64] = bytes.try_into().map_err(|_| "field `sig` is not 64 bytes")?;
    // The statement is everything before the last space; behind it stands the signature.
    let (signed, _) = fields.rsplit_once(' ').ok_or("it has no fields")?;
    let statement = [VERSION, signed].concat();
    Ok(SigLine { item, ext: ext.to_owned(), at, sha256, key, sig, statement })
}

/// A text with `[signature line]` in place of what each signature line in it says, wherever it
/// stands; `None` if there is none. The comment around it and what stands before it stay. For texts
/// that are shown to a reader who has no use for signatures.
pub(crate) fn without_signatures(text: &str) -> Option<String> {
    let mut shown = String::new();
    let mut end = 0;
    for (at, _) in text.match_indices(MARK) {
        if at >= end
            && let Some(length) = signature_length(&text[at..])
        {
            shown.push_str(&text[end..at]);
            shown.push_str(TAKEN_OUT);
            end = at + length;
        }
    }
    (end > 0).then(|| shown + &text[end..])
}

/// How many bytes at the beginning of a text are the words of a signature line, from its mark on:
/// those in the older form; else the fields, as far as they are there, if the line says when it was
/// signed, or if it ends behind them, because it was cut there. A line that only tells of the form
/// has other words instead of values.
fn signature_length(text: &str) -> Option<usize> {
    let word = |text: &str, more: &[u8]| {
        let is_part =
            |b: &u8| b.is_ascii_alphanumeric() || b"-_.:/".contains(b) || more.contains(b);
        text.bytes().take_while(is_part).count()
    };
    let Some(mut rest) = text.strip_prefix(VERSION) else {
        let longest = text.floor_char_boundary(SIGNATURE_LINE);
        let length = word(&text[..longest], b"=|@");
        return is_legacy(&text[..length]).then_some(length);
    };
    let mut says_when = false;
    for (n, (name, _)) in FIELDS.into_iter().enumerate() {
        let Some(field) = (if n == 0 { Some(rest) } else { rest.strip_prefix(' ') }) else { break };
        let Some(value) = field.strip_prefix(name) else {
            // The line may be cut in a name, or in front of one.
            let (begun, behind) = field.split_at(word(field, b"="));
            if n > 0 && name.starts_with(begun) {
                rest = behind;
            }
            break;
        };
        let length = word(value, b"");
        says_when |= name == "at=" && value[..length].parse::<Timestamp>().is_ok();
        rest = &value[length..];
    }
    let length = text.len() - rest.len();
    let is_cut = length > VERSION.len() && (rest.is_empty() || rest.starts_with(['\n', '\r']));
    (says_when || is_cut).then_some(length)
}

/// The older form, `rye:signed:<timestamp>:<64 hex>:<base64url>:<16 hex>` with an optional
/// `|provider@user` behind it.
fn is_legacy(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(MARK) else { return false };
    let Some((time, rest)) = rest.split_once("Z:") else { return false };
    let mut parts = rest.trim_end().trim_end_matches("-->").trim_end().split(':');
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let digest = parts.next().is_some_and(|p| hex(p, 64));
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'=');
    let signature = parts.next().is_some_and(|p| !p.is_empty() && p.bytes().all(base64));
    let key = parts.next().is_some_and(|p| hex(p.split('|').next().unwrap_or(p), 16));
    time.starts_with("20") && digest && signature && key
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
