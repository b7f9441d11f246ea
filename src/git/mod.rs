//! Git: what is about to be committed, checked; two sides of a signed file, merged.
//!
//! Sees the facade. Runs the program `git` and nothing else.
//!
//! In:  a repository, by the folder one stands in.
//! Out: findings about staged bytes; a merged file without a signature; a hook, a driver and an
//!      attribute that call the two.
//!
//! Invariants
//! - Staged bytes are judged, never those of the working tree.
//! - Nothing of the repository's content is executed, and no filter of its is asked.
//! - What a person wrote into a hook or an attributes file stays as it is.
//!
//! Start at `check.rs`; `index.rs` puts the staged files into a private folder, `merge.rs` is the
//! driver, `install.rs` sets both up, `part.rs` edits a file of another author.

mod check;
mod error;
mod index;
mod install;
mod merge;
mod part;
mod program;

pub(crate) use check::{Weight, check, projects};
pub(crate) use error::{CODES, GitError};
pub(crate) use install::{PlaceState, Row, SetupAction, ignore_secrets, set_up, would_commit_env};
pub(crate) use merge::{Merged, Sides, merge};
pub(crate) use program::{Repository, global_user_name};
