//! Learn: what a tool needs of the machine, seen in one run of it.
//!
//! Sees the facade. Is blind to its siblings.
//!
//! In:  a request to run a signed tool.
//! Out: what its `sandbox` block would have to say for just this, as a change of its file.
//!
//! Invariants
//! - The run is held: everything but what no tool may touch, at the level `bwrap`, or there is
//!   none.
//! - Nothing is signed. The file is written only when asked, and then its signature no longer
//!   holds.
//! - What no sandbox lets a tool do is said and never proposed.
//!
//! `host::watch` sees what is done · `needs.rs` makes of it what is needed · `learn.rs` runs and
//! writes · `shown.rs` remembers what a look showed, for `--write`

mod error;
#[expect(clippy::module_inception, reason = "the verb's own file, named as the module is")]
mod learn;
mod needs;
mod shown;

pub(crate) use error::CODES;
pub(crate) use learn::{Learned, learn, put};
