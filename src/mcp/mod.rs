//! Mcp: agents speak with rye over the model context protocol.
//!
//! Sees the facade and what it gives out. No other feature sees it, and it has no rule of its
//! own: what may run, be read or be signed is what the facade says to anybody.
//!
//! In:  the protocol on two streams, or over HTTP to a loopback address with a token.
//! Out: answers of the facade as tools, prompts and resources.
//!
//! Invariants
//! - A `project_path` outside the roots is refused before anything of it is read.
//! - What a tool answers, also that it was refused, is an answer; only a message that is none is an
//!   error of the protocol.
//! - A call runs on a thread of its own, so that a cancelled one ends alone; when the client is
//!   gone nothing runs on.
//! - Each call reads trust and files anew, so nothing outlives a revocation.
//! - Nothing is signed that was not shown before, byte by byte.
//!
//! Start at `server.rs`, what all sessions share. `session.rs` is one session, `calls.rs` and
//! `code.rs` what each tool does, `tools.rs` how it is described, `exposed.rs` items as tools,
//! `prompts.rs` directives, `resources.rs` knowledge, `sign.rs` the two steps to a signature,
//! `threads.rs` threads and detached runs, `help.rs` calls instead of commands, `approvals.rs` what
//! a person at the client is asked, `watch.rs` hints that files changed, `listeners.rs` who is told
//! of it; `stdio.rs` and `http.rs` are the two transports, `messages.rs` reads what comes in, and
//! `http_readers.rs` tells who still reads over HTTP.

mod approvals;
mod calls;
#[cfg(feature = "code")]
mod code;
mod error;
mod exposed;
mod help;
mod http;
mod http_readers;
mod listeners;
mod messages;
mod prompts;
mod resources;
mod server;
#[expect(deprecated, reason = "logging, which the spoken version of the protocol has")]
mod session;
mod sign;
mod stdio;
mod threads;
mod tools;
mod watch;

pub(crate) use error::{CODES, McpError};
pub(crate) use http::Listen;
pub(crate) use server::{McpEnd, ServerTransport, Setup, serve};
