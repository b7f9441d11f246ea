//! `rye mcp` from outside: a client over pipes, one over HTTP, and what neither may do.

mod approvals;
mod calls;
pub mod client;
#[cfg(feature = "code")]
mod code;
mod doors;
mod hostile;
mod install;
mod left_behind;
mod lists;
mod signing;
mod stateless;
mod threads;
