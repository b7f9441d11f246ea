//! Exec: calls of programs that speak the exec protocol (exec-protocol 2 and 3).
//!
//! Sees `execute`, `plan`, `host` and below.
//!
//! In:  a plan of such a program.
//! Out: an `Outcome`, or a `protocol.*` fault.
//!
//! Invariants
//! - An answer goes to the call that it names, or is dropped.
//! - A process that broke the protocol is ended, and no later call hears of it.
//! - No program is left when [`Servers`] is dropped.
//!
//! `wire.rs` what is sent and what an answer says · `oneshot.rs` one process a call · `session.rs`
//! the calls of a server as a state machine without I/O · `server.rs` a server's process and its
//! session · `servers.rs` all servers of this process · `server_key.rs` what tells one server from
//! another · `stderr.rs` what programs say on standard error · `hook.rs` what hooks are sent and
//! answer · `notify.rs` those that are only told

#[cfg(feature = "bench")]
pub(crate) mod bench;
mod hook;
mod notify;
mod oneshot;
mod server;
mod server_key;
mod servers;
mod session;
mod stderr;
mod wire;

pub(crate) use hook::{HookVerdict, envelope, verdict};
pub(crate) use notify::{Notification, Observers};
pub(crate) use server_key::ServerKey;
pub(crate) use servers::Servers;
pub(crate) use stderr::StderrLog;
pub(crate) use wire::{Answer, message, outcome};
