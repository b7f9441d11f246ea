//! Trust: whom the person believes, for what, where and until when; their keys, projects and
//! policy.
//!
//! Sees `signature`, `space`, `id`, `diagnostic`, `base`. Judges no item.
//!
//! In:  the user space.
//! Out: a [`TrustStore`], which answers for a fingerprint; [`OwnKeys`]; documents, written.
//!
//! Invariants
//! - Trust comes from the user space and from the one embedded publisher key, never from a project;
//!   for one check, from keys that the caller names (`named_keys.rs`).
//! - A file that decides about trust counts only if your own key signed it; `own_file.rs` alone
//!   reads such files.
//! - Reading a key or a document writes nothing.
//!
//! Start at `store.rs`. `scope.rs` is what a key may sign, `document.rs` is what says whom you
//! believe, `project.rs` the accepted projects, `policy.rs` what else the person decided,
//! `allowed.rs` what they let in by name, `caller.rs` who may ask this node,
//! `dev_key.rs` the key of work in hand,
//! `rotate.rs` another own key.

mod allowed;
mod approval;
mod caller;
mod dev_key;
mod document;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod key_scope;
mod named_keys;
mod own_file;
mod own_keys;
mod policy;
mod project;
mod proposal;
mod receipt_key;
mod revocation;
mod rotate;
mod scope;
mod store;
mod unfinished_rotation;

pub(crate) use allowed::{
    BACKENDS, BackendIdentity, DEPS, FileIdentity, INTERPRETERS, PROVIDERS, Permit,
    ProviderIdentity, allow_backend, allow_deps, allow_file, allow_provider, own_text,
};
pub(crate) use approval::{ApprovedItem, ProjectApproval, approval, approve, signed_at};
pub(crate) use caller::{CallerScope, NodeCaller, forget_guest};
pub(crate) use dev_key::{DEV_OWNER, DevKey, DevRecord};
pub(crate) use document::{DocumentFault, TrustDocument};
pub(crate) use error::{
    CODES, KeyError, TrustError, VERIFY_EXAMPLE_KEY, VERIFY_REVOKED, VERIFY_TRUST_UNREADABLE,
    VERIFY_WEAK_KEY,
};
pub(crate) use key_scope::KeyScope;
pub(crate) use named_keys::NamedKeys;
pub(crate) use own_file::{relative, remove_own, write_own};
pub(crate) use own_keys::OwnKeys;
pub(crate) use project::{AcceptedProject, AllowedRoot, record_id};
pub(crate) use proposal::{Proposal, proposals};
pub(crate) use receipt_key::KeyProblem;
pub(crate) use revocation::{Revocation, revoked_at};
pub(crate) use rotate::rotate;
pub(crate) use scope::OutOfScope;
pub(crate) use store::{KeyStatus, TrustStore, check_own_config};
