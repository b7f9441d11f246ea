//! Signature: the signature line, the keys that make it, and the one rule that judges a signed
//! text.
//!
//! Sees `space`, `id`, `base`. It knows no trust store.
//!
//! In:  bytes, the place for which they must have been signed, and who may sign them.
//! Out: a [`TextVerdict`]: everything that is wrong, in the order of core 3.6; the text to a caller
//!      who says what they forgive.
//!
//! Invariants
//! - Every signature that counts is computed in this process, by the strict rules.
//! - A [`PublicKey`] is canonical and of full order. A [`KeyPair`] has no `Debug` and is wiped.
//! - `check.rs` is the only place where a line is held against the bytes that it signs.
//!
//! Start at `check.rs`. `line.rs` is the grammar, `write.rs` its mirror, `dsse.rs` the envelope of
//! records and bundles, `http_message.rs` the requests and answers of a node.

mod cache;
mod check;
mod dsse;
mod encrypted_key;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod http_message;
mod key;
mod line;
mod write;

pub(crate) use cache::public_half;
pub(crate) use check::{SignedText, TextFault, TextVerdict, check, fit_text};
pub(crate) use dsse::{AnyEnvelope, Envelope, PayloadType};
pub(crate) use encrypted_key::{EncryptedKeyFault, is_encrypted};
pub(crate) use http_message::{
    HttpSignature, MessageFault, RequestHead, SignedRequest, sign_answer, sign_request,
    verify_answer, verify_request,
};
pub(crate) use key::{EXAMPLE, KeyPair, PUBLISHER, PublicKey, example, publisher};
pub(crate) use line::{
    MARK, Scan, SigFault, SigLine, has_no_line, line_range, scan, without_signatures,
};
pub(crate) use write::{brief, is_whole_line, line_start, sign_bytes, without_line};
