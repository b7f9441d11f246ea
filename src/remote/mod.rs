//! Remote: how a caller speaks with a node (remote 3, 4).
//!
//! Sees `signature`, `store`, `host`, `parse`, `thread` and what lies below; nothing that runs an
//! item.
//!
//! In:  a remote that the person named, and a request.
//! Out: the answer of that node, whose signature holds; or a [`RemoteError`].
//!
//! Invariants
//! - An answer counts only if the node's pinned key signed it for this very request.
//! - Another machine is reached by `https` alone.
//!
//! `client.rs` asks a node · `remotes.rs` which nodes there are · `wire.rs` what is sent ·
//! `error.rs` the refusals of both sides

mod client;
mod error;
mod remotes;
mod wire;

pub(crate) use client::{NodeClient, NodeIdentity};
pub(crate) use error::{
    CODES, REMOTE_BAD_SIGNATURE, REMOTE_BODY_DIFFERS, REMOTE_BUSY, REMOTE_CLOCK,
    REMOTE_MISSING_OBJECTS, REMOTE_MISSING_SECRET, REMOTE_NOT_FOUND, REMOTE_OUT_OF_SCOPE,
    REMOTE_REPLAYED, REMOTE_TOO_LARGE, REMOTE_UNKNOWN_KEY, REMOTE_WRONG_NODE, RemoteError,
};
pub(crate) use remotes::{NamedRemote, RemoteTable};
pub(crate) use wire::{Digests, ExecuteRequest, RunAnswer};

use crate::base::Digesting;
use crate::base::limits::OUTPUT_BYTES;
use crate::base::text::uri_path;

/// The largest answer of a node, in bytes: a report with all that its tool wrote, as JSON.
pub(crate) const ANSWER_BYTES: usize = 8 * OUTPUT_BYTES;

/// The largest body of a request to a node but an object's, in bytes.
pub(crate) const REQUEST_BYTES: usize = 8 << 20;

/// The header of an answer that names the node's public key, 32 bytes as base64.
pub(crate) const KEY_HEADER: &str = "rye-node-key";

/// The last event of a stream, whose data is the signature over those before it.
pub(crate) const END_EVENT: &str = "end";

/// Adds one event to the digest that the last one signs.
pub(crate) fn tell_event(told: &mut Digesting, kind: &str, data: &str) {
    for part in [kind, "\n", data, "\n"] {
        told.take(part.as_bytes());
    }
}

/// The path of a run at a node; its id stands in one segment.
pub(crate) fn run_path(id: &str, rest: &str) -> String {
    format!("/threads/{}{rest}", uri_path(id.as_bytes()).replace('/', "%2F"))
}
