//! Exec: calls of programs that speak the exec protocol (exec-protocol 2 and 3).
//!
//! Sees `execute`, `plan`, `host` and below.
//!
//! In:  a plan of such a program.
//! Out: an `Outcome`, or a `protocol.*` fault.
//!
//! Invariants
//! - An answer goes to the call that it names, or to nobody.
//! - A process that broke the protocol is ended, and no later call hears of it.
//! - No program is left when [`Servers`] is dropped.
//!
//! `wire.rs` what is sent and what an answer says · `oneshot.rs` one process a call · `session.rs`
//! the calls of a server as a state machine without I/O · `server.rs` a server's process and its
//! session · `servers.rs` all servers of this process · `binding.rs` what tells one server from
//! another · `notes.rs` what programs say on standard error · `hook.rs` what hooks are sent and
//! answer · `observe.rs` those that are only told

#[cfg(feature = "bench")]
pub(crate) mod bench;
mod binding;
mod hook;
mod notes;
mod observe;
mod oneshot;
mod server;
mod servers;
mod session;
mod wire;

pub(crate) use binding::Binding;
pub(crate) use hook::{Verdict, envelope, verdict};
pub(crate) use notes::Notes;
pub(crate) use observe::{Observers, Told};
pub(crate) use servers::Servers;
pub(crate) use wire::{Answer, message, outcome};
