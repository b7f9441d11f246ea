//! Signatures of others over a folder of files: `OpenSSF` Model Signing (OMS) 1.0.
//!
//! Sees `base` and `diagnostic` alone. Reads no file and knows no skill: who calls it holds the
//! bytes, and takes over exactly those.
//!
//! In:  the bytes of a signature file, and the keys and identities that the person gave.
//! Out: what it signs ([`SignedFiles`]) and who signed it ([`OmsSigner`]); whether a folder's
//!      files, held in memory, are those. And the other way: a signature file over files in memory.
//!
//! `envelope.rs` the signature file · `signer.rs` whose signature it is · `key.rs` keys on the
//! three curves · `statement.rs` what is signed ·
//! `identity.rs` who is believed by the method `sigstore`, and
//! `sigstore.rs` whether such a signature holds · `check.rs` whether files are those ·
//! `hash.rs` the digests of files · `sign.rs` a signature file
//! of one's own
//!
//! Invariants
//! - [`SignedFiles`] of others are made of a payload alone whose signature was checked against a
//!   key or a root that the caller gave: nothing in the signature file makes a signer known.
//! - The method `certificate` is refused by name: no chain of certificates is checked here.
//! - `sigstore-verify` sees what rye has read, bounded and written anew, and nothing else; the
//!   digest of the whole is calculated here.
//! - Which hash a signature takes follows from the key, never from the file.
//! - Nothing is accepted for what a file does not say: unknown fields, methods and hashes, and
//!   fields that stand twice, are refused.

mod check;
mod envelope;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod hash;
mod identity;
mod key;
mod sign;
mod signer;
#[cfg(feature = "sigstore")]
mod sigstore;
#[cfg(test)]
#[cfg(feature = "sigstore")]
mod sigstore_tests;
mod statement;
#[cfg(test)]
mod tests;

pub(crate) use envelope::OmsSignature;
pub(crate) use error::{CODES, OmsError};
pub(crate) use identity::{SignerIdentity, TrustedRoot};
pub(crate) use key::OmsSigningKey;
pub(crate) use sign::sign_files;
pub(crate) use signer::{KnownSigner, OmsSigner};
pub(crate) use statement::SignedFiles;

/// The file in a skill's folder that holds its signature.
pub(crate) const SIGNATURE_FILE: &str = "skill.oms.sig";
