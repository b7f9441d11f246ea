//! Protocol: calls of programs that speak the exec protocol (exec-protocol 2 and 3), and of tools
//! of MCP servers.
//!
//! Sees `execute`, `plan`, `host` and below.
//!
//! In:  a plan whose act is one of these.
//! Out: an `Outcome`, or a `protocol.*` fault.
//!
//! Invariants
//! - An answer goes to the call that it names, or to nobody.
//! - A process that broke the protocol is ended, and no later call hears of it.
//! - No program is left when [`Servers`] and [`Sessions`] are dropped.
//!
//! `wire.rs` what is sent and what an answer says · `oneshot.rs` one process a call · `session.rs`
//! the calls of a server as a state machine without I/O · `server.rs` a server's process and its
//! session · `servers.rs` all servers of this process · `binding.rs` what tells one server from
//! another · `notes.rs` what programs say on standard error · `mcp` tools of MCP servers ·
//! `hook.rs` what hooks are sent and answer · `observe.rs` those that are only told

#[cfg(feature = "bench")]
pub(crate) mod bench;
mod binding;
mod hook;
mod mcp;
mod notes;
mod observe;
mod oneshot;
mod server;
mod servers;
mod session;
mod wire;

pub(crate) use hook::{Verdict, envelope, verdict};
pub(crate) use mcp::{At, Offer, Remote, Sessions, offer};
pub(crate) use observe::{Observers, Told};
pub(crate) use servers::Servers;
