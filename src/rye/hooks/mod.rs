//! Hooks (exec-protocol 6): who is asked before and after every call of a tool, and what that
//! decides.
//!
//! `standing.rs` the hooks that are in force, and asking one · `call.rs` those of one call, in
//! their order

mod call;
mod error;
mod standing;

pub(crate) use standing::BELOW;
pub(crate) use standing::Standing;
