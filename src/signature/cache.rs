//! A cache of this process: signatures that it found good, and the public half of your own key.
//!
//! The check of a signature by a key always has the same result, so a process that runs many tools,
//! such as a server, makes it once. Nothing is remembered beyond the process. Everything else about
//! an item (its bytes, its place, whom you trust, what you revoked) is checked each time. The file
//! of your key is read each time as well; only the computation is saved.

use std::collections::HashSet;
use std::sync::Mutex;

use super::key::PublicKey;
use crate::base::Digest;
use crate::base::sync::unpoisoned;

/// Most signatures that a process remembers as good: a server's items fit, and they take 300 KiB.
const KNOWN_SIGNATURES: usize = 4096;

static KNOWN: Mutex<Option<HashSet<Digest>>> = Mutex::new(None);

/// One digest for key, signature and message; the fields before the message have fixed lengths.
pub(super) fn name(key: &[u8; 32], message: &[u8], sig: &[u8; 64]) -> Digest {
    Digest::of_parts(&[key, sig, message])
}

pub(super) fn holds(name: &Digest) -> bool {
    let known = unpoisoned(KNOWN.lock());
    known.as_ref().is_some_and(|known| known.contains(name))
}

pub(super) fn keep(name: Digest) {
    let mut known = unpoisoned(KNOWN.lock());
    let known = known.get_or_insert_default();
    if known.len() >= KNOWN_SIGNATURES {
        known.clear();
    }
    known.insert(name);
}

/// The public half of the private key in a file of these bytes.
///
/// # Errors
/// Those of `compute`; errors are not cached.
pub(crate) fn public_half<E>(
    file: &Digest,
    compute: impl FnOnce() -> Result<PublicKey, E>,
) -> Result<PublicKey, E> {
    static LAST: Mutex<Option<(Digest, PublicKey)>> = Mutex::new(None);
    let mut last = unpoisoned(LAST.lock());
    if let Some((known, public)) = last.as_ref()
        && known == file
    {
        return Ok(public.clone());
    }
    let public = compute()?;
    *last = Some((*file, public.clone()));
    Ok(public)
}
