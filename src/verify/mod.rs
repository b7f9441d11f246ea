//! Verify: from a file that was found to a source that was admitted; and `sign`, its mirror.
//!
//! Layer 6. Sees `resolve`, `space`, `grant`, `trace`, `id`, `diag`, `base`. Parses no item.
//!
//! In:  a `Found`, the trust store, dev mode or not.
//! Out: a [`Source`]: the same bytes, with who signed them.
//!
//! Invariants
//! - A `Source` is made here and nowhere else; nobody is admitted by the name of their space alone.
//! - Trust comes from the user space and from the one embedded publisher key, never from a project.
//! - The checks run in the order of core 3.6; the first that fails names itself.
//!
//! Start at `admit.rs`. `sig_line.rs` is the grammar and what is signed, `trust_store.rs` whom the person
//! believes, `policy.rs` what else they decided, `document.rs` the files that say so, `allowed.rs` what of
//! a project the person let in by name, `dev_key.rs` the key of work in hand, `sign.rs` the mirror.

mod admit;
mod allowed;
mod check;
mod dev_key;
mod document;
mod dsse;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod key;
mod memo;
mod own_keys;
mod parts;
mod policy;
mod proposal;
mod rotate;
mod sig_line;
mod sign;
mod source;
mod staged;
mod standing;
mod trust_store;
mod vouch;

pub(crate) use admit::{DevMode, admit};
pub(crate) use allowed::{DEPS, FileIdentity, INTERPRETERS, Permit, allow_deps, allow_file};
pub(crate) use check::{Fault, SignedText, check};
pub(crate) use dev_key::{DEV_OWNER, DevKey, DevRecord};
pub(crate) use document::{Revocation, TrustDocument, Unfit, relative, remove_own, write_own};
pub(crate) use dsse::Envelope;
pub(crate) use error::{CODES, KeyError, Reason, Refused, TrustError};
pub(crate) use key::{EXAMPLE, KeyPair, PUBLISHER, PublicKey};
pub(crate) use own_keys::OwnKeys;
pub(crate) use parts::{Glob, Listed, PartFinding, PartsRoot, path_below_base};
pub(crate) use proposal::{Proposal, proposals};
pub(crate) use rotate::rotate;
pub(crate) use sig_line::{Scan, SigLine, line_range, scan};
pub(crate) use sign::{By, SignError, Staged, brief, digest_to_sign, stage};
pub(crate) use source::{Integrity, Source};
pub(crate) use standing::{AllowedRoot, Standing, record_id};
pub(crate) use trust_store::{TrustStore, check_own_config};
pub(crate) use vouch::Doubt;
