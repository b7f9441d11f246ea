//! Node: runs of verified items for callers on other machines, over HTTP (remote 3).
//!
//! In:  requests that a key signed which the operator let in.
//! Out: answers that the operator's own key signed.
//!
//! Invariants
//! - Nothing of a request is acted on before its signature, its time, its audience and its number
//!   were checked, in `asked.rs` alone.
//! - What a caller sends is never trust: its items are admitted by the operator's trust store, and
//!   only those that the operator tied to the caller (`trust/caller.rs`).
//! - A caller sees its own runs alone.
//!
//! `server.rs` the life of a node · `caller_stream.rs` the connection of a caller · `asked.rs` who
//! asks · `nonces.rs` the nonces of requests ·
//! `routes.rs` what there is to ask · `execute.rs` runs, `workspace.rs` their folders,
//! `answers.rs` what came of them · `objects.rs` the store · `events.rs` runs as they go on ·
//! `metrics.rs` how busy the node is · `tls.rs` certificates · `units.rs` files that start a node

mod answers;
mod asked;
mod bodies;
mod caller_stream;
mod events;
mod execute;
mod metrics;
mod nonces;
mod objects;
mod routes;
mod server;
mod tls;
mod units;
mod workspace;

pub(crate) use server::{NodeSetup, serve};
pub(crate) use tls::tls_config;
pub(crate) use units::{CONTAINERFILE, unit};
