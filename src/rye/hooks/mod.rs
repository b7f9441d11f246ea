//! Hooks (exec-protocol 6): who is asked before and after every call of a tool, and what that
//! decides.
//!
//! They are a part of the facade: a run asks them, and each of them is itself loaded, planned and
//! run by the facade.
//!
//! `in_force.rs` the hooks that are in force, and asking one · `call.rs` those of one call, in
//! their order · `model_call.rs` those of a call of a model, and of a conversation

mod call;
mod error;
mod in_force;
mod model_call;

pub(crate) use call::CallHooks;
pub(crate) use in_force::{BELOW, CannotAsk, FoundHook, HookFailure};
