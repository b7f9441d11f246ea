//! The signature line: its grammar and its place.

use std::sync::OnceLock;

use crate::base::{Digest, Timestamp};
use crate::id::Ref;
use crate::signature::key::KeyPair;
use crate::signature::line::{Scan, SigFault, SigLine, place, print, scan, statement};
use crate::signature::write::sign_bytes;
use crate::space::Comment;

/// A line that is read is printed with the same bytes, stands where it belongs, and is the only
/// one; a line that is printed is read. The first byte chooses the comment style.
pub(crate) fn signature_line(data: &[u8]) {
    let Some((style, bytes)) = data.split_first() else { return };
    let (open, close) = match style {
        b'/' => ("// ", ""),
        b'-' => ("-- ", ""),
        b'<' => ("<!-- ", " -->"),
        _ => ("# ", ""),
    };
    let comment = Comment { open: open.into(), close: close.into() };
    let scanned = scan(bytes, &comment);
    assert_eq!(scanned, scan(bytes, &comment), "twice the same");
    match &scanned {
        Ok(Scan::Line { line, range }) => {
            let whole = &bytes[range.clone()];
            assert_eq!(print(&comment, &line.statement, &line.sig).as_bytes(), whole);
            says_what_it_says(line);
            is_in_its_place(bytes, range, &comment);
            let without = [&bytes[..range.start], &bytes[range.end..]].concat();
            stands_alone(&without, whole, &comment);
        }
        Ok(Scan::None) => {
            assert_eq!(first_mark(bytes, &comment), None, "a line was overlooked");
            can_be_signed(bytes, &comment);
        }
        Err(fault) => {
            let (SigFault::Malformed { line, .. }
            | SigFault::Legacy { line }
            | SigFault::Stray { line }) = fault;
            assert!((1..=bytes.split(|b| *b == b'\n').count()).contains(line), "line {line}");
        }
    }
}

fn says_what_it_says(line: &SigLine) {
    let SigLine { item, ext, at, sha256, key, .. } = line;
    assert_eq!(statement(item, ext, *at, *sha256, *key), line.statement);
    for field in [item.to_string(), ext.clone(), at.to_string(), sha256.to_string()] {
        assert!(line.statement.contains(&field) && !field.contains([' ', '\n', '\r']), "{field:?}");
    }
}

/// Line 1, or line 2 behind a shebang; a line feed at its end.
fn is_in_its_place(bytes: &[u8], range: &std::ops::Range<usize>, comment: &Comment) {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let number = usize::from(bytes.starts_with(b"#!"));
    let start: usize = lines[..number].iter().map(|line| line.len()).sum();
    assert_eq!((range.start, range.len()), (start, lines[number].len()));
    assert!(lines[number].ends_with(b"\n"));
    assert_eq!(place(bytes, comment), Ok(range.clone()));
}

/// Without the line there is none; with the line elsewhere, or twice, there is a fault.
fn stands_alone(without: &[u8], line: &[u8], comment: &Comment) {
    assert_eq!(scan(without, comment), Ok(Scan::None), "a second line was passed over");
    let before = if without.ends_with(b"\n") { &b""[..] } else { b"\n" };
    let end = [b"x\n", without, before, line].concat();
    assert!(matches!(scan(&end, comment), Err(SigFault::Stray { .. })), "it may stand at the end");
    let twice = [line, line, without].concat();
    assert!(scan(&twice, comment).is_err(), "it may stand twice");
}

/// Whatever holds no line holds exactly the one that it is signed with.
fn can_be_signed(rest: &[u8], comment: &Comment) {
    static PAIR: OnceLock<(KeyPair, Ref)> = OnceLock::new();
    let (pair, item) = PAIR.get_or_init(|| {
        let Ok(item) = "tool:acme/x".parse() else { panic!("a ref") };
        (KeyPair::of_seed([7; 32]), item)
    });
    let now = Timestamp::from_second(1_800_000_000);
    let Ok(signed) = sign_bytes(rest, item, "py", comment, pair, now) else {
        assert!(rest.starts_with(b"#!") && !rest.contains(&b'\n'), "only a lone shebang cannot be");
        return;
    };
    let Ok(Scan::Line { line, range }) = scan(&signed, comment) else {
        panic!("signed, and no line is found")
    };
    assert_eq!([&signed[..range.start], &signed[range.end..]].concat(), rest);
    assert_eq!((&line.item, line.ext.as_str(), line.at), (item, "py", now));
    assert_eq!(line.sha256, Digest::of(rest));
    assert!(pair.public().verifies(line.statement.as_bytes(), &line.sig));
}

/// The first line that begins with a comment which carries the mark, told by plain text alone.
fn first_mark(bytes: &[u8], comment: &Comment) -> Option<usize> {
    bytes.split(|b| *b == b'\n').position(|line| {
        let behind = line.trim_ascii_start().strip_prefix(comment.open.trim().as_bytes());
        behind.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"rye:signed:"))
    })
}
