//! Lsp: an editor's view of the items that are being written.
//!
//! Sees the facade and what it gives out. No other feature sees it, and it has no rule of its
//! own: what is wrong with a text is what `verify`, signing and the chain say of it.
//!
//! In:  the language server protocol on two streams; texts that need not be saved.
//! Out: remarks at their places, the chain, edits for slips; a signature, once a person said so.
//!
//! Invariants
//! - Nothing runs, and nothing is signed before a person answered a question that shows the change.
//! - Messages and open texts are bounded; input that is not a message ends the session with an
//!   error.
//! - A project that is not accepted is read, never signed into.
//! - Each judgement reads trust and files anew, so nothing outlives a revocation.
//!
//! Start at `session.rs`. `wire.rs` frames messages, `documents.rs` keeps and judges what is open,
//! `place.rs` counts columns as the editor does, `requests.rs` asks `hover.rs`, `action.rs` and
//! `complete.rs`, `signing.rs` is the way to a signature.

mod action;
mod capabilities;
mod complete;
mod context;
mod diagnostics;
mod document;
mod documents;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod hover;
mod initialize;
mod outgoing;
mod place;
mod requests;
mod session;
mod sign_prompt;
mod signing;
mod uri;
mod wire;

pub(crate) use context::SessionContext;
pub(crate) use error::CODES;
pub(crate) use session::{LspEnd, serve};
