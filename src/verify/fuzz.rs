//! Fuzz target: after any edits of a signed file, only the file that was signed is admitted.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::base::Timestamp;
use crate::diagnostic::{Diagnose, Place};
use crate::id::{Ref, Space};
use crate::resolve::Found;
use crate::signature::{KeyPair, sign_bytes};
use crate::space::FileTypes;
use crate::trace::Quiet;
use crate::trust::TrustStore;
use crate::verify::{CODES, DevMode, admit};

const NOW: i64 = 1_800_000_000;

/// Ref, extension and text of each fixture: every comment style, with and without a shebang.
const FIXTURES: [(&str, &str, &str); 7] = [
    ("tool:acme/x", "py", "__version__ = \"1.0.0\"\nprint(1)\n"),
    ("tool:acme/y", "py", "#!/usr/bin/env python3\n__version__ = \"1.0.0\"\r\nprint(1)\n"),
    ("tool:acme/z", "sh", "#!/bin/sh\n# /// rye\n# version = \"1.0.0\"\n# ///\necho\n"),
    ("tool:acme/x", "js", "#!/usr/bin/env node\nconst __version__ = '1.0.0'\n"),
    ("tool:acme/x", "lua", "-- words\nprint(1)\n"),
    ("directive:acme/x", "md", "# X\n\n```xml\n<directive name=\"x\"/>\n```\n\nDo it.\n"),
    ("config:acme/x", "toml", ""),
];

struct Fixture {
    found: Found,
    signed: Vec<u8>,
}

/// After any edits, a file that is admitted is the file that was signed.
///
/// The first byte chooses a fixture; then each edit is a byte for what it does, two for the place
/// and one for what it does it with.
pub(crate) fn signed_file(data: &[u8]) {
    let (pair, fixtures) = fixtures();
    let Some((choice, edits)) = data.split_first() else { return };
    let own = &fixtures[usize::from(*choice) % fixtures.len()];
    let other = &fixtures[(usize::from(*choice) + 1) % fixtures.len()];
    let mut bytes = own.signed.clone();
    for edit in edits.chunks_exact(4).take(64) {
        apply(&mut bytes, &other.signed, [edit[0], edit[1], edit[2], edit[3]]);
    }
    let trust = TrustStore::of_key(pair.public(), Timestamp::from_second(NOW));
    let same = bytes == own.signed;
    let found = Found { bytes: Cow::Owned(bytes), ..own.found.clone() };
    match admit(found, &trust, None, DevMode(false), &Quiet) {
        Ok(source) => {
            assert!(same, "an altered file was admitted: {:?}", source.text());
            assert_eq!(source.text().as_bytes(), own.signed);
        }
        Err(refused) => {
            assert!(!same, "the fixture itself is refused: {refused}");
            let code = refused.code();
            assert!(CODES.contains(&code) || code.name().starts_with("parse."), "{code:?}");
            crate::base::fuzz::is_message(&refused.to_string());
        }
    }
}

fn apply(bytes: &mut Vec<u8>, other: &[u8], [what, low, high, with]: [u8; 4]) {
    let at = usize::from(u16::from_le_bytes([low, high])) % (bytes.len() + 1);
    let end = (at + usize::from(with)).min(bytes.len());
    match what % 8 {
        0 if at < bytes.len() => bytes[at] = with,
        1 => bytes.insert(at, with),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let copy = bytes[at..end].to_vec();
            bytes.extend_from_slice(&copy);
        }
        4 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(0..0, copy);
        }
        5 => bytes.rotate_left(at),
        6 => {
            let end = (at + usize::from(with)).min(other.len());
            let part = other[at.min(end)..end].to_vec();
            bytes.splice(at..at, part);
        }
        _ if at < bytes.len() => bytes[at] ^= 1 << (with % 8),
        _ => bytes.truncate(at),
    }
}

fn fixtures() -> &'static (KeyPair, Vec<Fixture>) {
    static MADE: OnceLock<(KeyPair, Vec<Fixture>)> = OnceLock::new();
    MADE.get_or_init(|| {
        let pair = KeyPair::of_seed([9; 32]);
        let made = FIXTURES.iter().map(|fixture| make(fixture, &pair)).collect();
        (pair, made)
    })
}

fn make((item, ext, text): &(&str, &str, &str), pair: &KeyPair) -> Fixture {
    let Ok(item) = item.parse::<Ref>() else { panic!("{item} is a ref") };
    let file_type = FileTypes::default().find(item.kind, ext);
    let Some(file_type) = file_type else { panic!("{ext} has a type") };
    let now = Timestamp::from_second(NOW - 60);
    let signed = sign_bytes(text.as_bytes(), &item, ext, &file_type.comment, pair, now);
    let Ok(signed) = signed else { panic!("{item} can be signed") };
    let place = Place {
        space: Some("user".into()),
        path: format!("{item}.{ext}"),
        line: None,
        column: None,
        note: None,
    };
    let found = Found {
        item,
        ext: (*ext).to_owned(),
        file_type,
        space: Space::User,
        bundle: None,
        embedded: false,
        path: "/nowhere".into(),
        base: "/".into(),
        place,
        bytes: Cow::Borrowed(b""),
        shadowed: Vec::new(),
    };
    Fixture { found, signed }
}
