//! Dev: the project, watched while somebody works in it (core 5.2).
//!
//! Built on `rye`; draws nothing. Who signs and what is admitted is `verify`'s.
//!
//! In:  what to run, and a terminal to ask at, if there is one.
//! Out: events, one after the other, to an [`Audience`].
//!
//! Invariants
//! - What is signed is what was shown: the file is replaced only while its bytes are those of the
//!   diff.
//! - Without a key press nothing is signed that [`Why`] speaks against; once something does, it
//!   does until a person has looked. Without a terminal nothing is signed at all, unless that was
//!   asked for.
//! - A question stands right below the diff of the item that it asks about.
//! - What the file system tells is a hint. What changed is found by comparing bytes with what was
//!   seen.
//!
//! Start at `session.rs`; `scan.rs` is one look, `key_renewal.rs` another dev key. `rules.rs` is
//! when to ask, `git_state.rs` what goes on beside the edits (git, other runs), `repositories.rs`
//! which repositories those are, `watch.rs` the hints, `poll.rs` one wait for hints, keys and
//! signals.

mod error;
mod event;
mod git_state;
mod key_renewal;
mod poll;
mod repositories;
mod rules;
mod scan;
mod session;
mod terminal;
mod watch;

pub(crate) use error::CODES;
pub(crate) use event::{Audience, Event};
pub(crate) use rules::Why;
pub(crate) use session::{Asked, Ended, Session};
