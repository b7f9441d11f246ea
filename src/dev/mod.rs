//! Dev: the project, watched while a person works in it (core 5.2).
//!
//! Built on `rye`; draws nothing. Who signs and what is admitted is `verify`'s.
//!
//! In:  what to run, and a terminal to ask at, if there is one.
//! Out: events, one after the other, to an [`Audience`].
//!
//! Invariants
//! - What is signed is what was shown: the file is replaced only while its bytes are those of the
//!   diff.
//! - An item with a [`HoldReason`] is not signed without a key press, and a reason stays until a
//!   person has looked. Without a terminal nothing is signed at all, unless that was asked for.
//! - A question stands right below the diff of the item that it asks about.
//! - An event of the file system is only a hint. Changes are found by comparing bytes with the last
//!   scan.
//!
//! Start at `session.rs`; `scan.rs` looks at the project once, `key_renewal.rs` replaces the dev
//! key. `rules.rs` says when to ask, `git_state.rs` what git and other runs do meanwhile,
//! `repositories.rs` which repositories matter; `hints.rs` gives the hints, and `poll.rs` waits for
//! hints, keys and signals.

mod error;
mod event;
mod git_state;
mod hints;
mod key_renewal;
mod poll;
mod repositories;
mod rules;
mod scan;
mod session;
mod terminal;

pub(crate) use error::CODES;
pub(crate) use event::{Audience, DevEvent};
pub(crate) use rules::HoldReason;
pub(crate) use session::{DevEnd, DevRequest, Session};
