//! MCP client: calls of tools of MCP servers (mcp.md "Client"), which are programs of their own
//! or answer over streamable HTTP.
//!
//! Sees `exec`, `execute`, `plan`, `host` and below.
//!
//! In:  a plan whose chain ends at `rye/core/primitives/mcp`.
//! Out: an `Outcome`, or a `mcp.*` fault.
//!
//! Invariants
//! - No tool is called that is not, field by field, the one that was signed: each session reads the
//!   list of tools before its first call, and again when the server says that it changed.
//! - A session whose server broke the protocol, ended or gave no answer in time is ended with it.
//! - One call at a time: an answer goes to the call that it names, or is dropped.
//!
//! One call at a time needs no runtime for asynchronous code, and no thread: the caller reads.
//!
//! `wire.rs` messages, and what a tool is · `session.rs` the conversation · `stdio.rs` a server
//! that is a child · `http.rs` one that is reached by its URL · `kept_sessions.rs` all of this
//! process · `offer.rs` what a server offers, for an import

mod http;
mod kept_sessions;
mod offer;
mod session;
mod stdio;
mod wire;

pub(crate) use http::Remote;
pub(crate) use kept_sessions::Sessions;
pub(crate) use offer::{McpAddress, McpOffer, offer};
