//! Compares the environment and the program of two processes, without keeping a value of either.

use std::io;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::base::random;

/// A program file and a whole environment as one text, in an order that does not depend on the
/// process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneEnv<'a>(pub(crate) &'a [u8]);

/// A key for one digest.
///
/// # Errors
/// The system has no random bytes.
pub(super) fn new_key() -> io::Result<String> {
    let mut key = [0; 32];
    random::fill(&mut key)?;
    Ok(hex::encode(key))
}

impl OneEnv<'_> {
    /// Its digest (HMAC-SHA-256, in hex) under this key.
    pub(super) fn digest(self, key: &str) -> String {
        hex::encode(self.keyed(key).finalize().into_bytes())
    }

    /// Returns true for the digest of this environment.
    pub(super) fn is(self, key: &str, digest: &str) -> bool {
        hex::decode(digest).is_ok_and(|digest| self.keyed(key).verify_slice(&digest).is_ok())
    }

    fn keyed(self, key: &str) -> Hmac<Sha256> {
        let mac = Hmac::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
        mac.chain_update(self.0)
    }
}
