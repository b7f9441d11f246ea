//! Signatures that this process found good.
//!
//! Whether a signature is a key's over a message never changes, so a process that runs many tools,
//! such as a server, computes it once. Everything else about an item (its bytes, its place, whom you
//! trust, what you revoked) is judged anew each time.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::base::Digest;
use crate::base::limits::KNOWN_SIGNATURES;

static KNOWN: Mutex<Option<HashSet<Digest>>> = Mutex::new(None);

/// A name for the three together; the fields before the message have fixed lengths.
pub(super) fn name(key: &[u8; 32], message: &[u8], sig: &[u8; 64]) -> Digest {
    Digest::of_parts(&[key, sig, message])
}

pub(super) fn holds(name: &Digest) -> bool {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().is_some_and(|known| known.contains(name))
}

pub(super) fn keep(name: Digest) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() >= KNOWN_SIGNATURES {
        known.clear();
    }
    known.insert(name);
}
