//! Testing: test specs that lie beside items, and the runs that they ask for.
//!
//! Sees the facade. Starts nothing but by it, so only verified bytes run.
//!
//! In:  `<item>.test.yaml` beside tools and directives of one space.
//! Out: for each case what was expected and what came, and a report for CI.
//!
//! Invariants
//! - A spec is data: inputs, files to begin with, and what is expected. It names no item but the
//!   one that it lies beside, in its own space, and evals, which are verified like any item; and no
//!   program, variable or folder.
//! - No spec of a project that is not accepted is read.
//! - Each case works in a folder of its own, which is gone when it is done.
//!
//! Start at `find.rs`, which says what there is to try; `spec.rs` reads one spec, `run.rs` tries
//! the cases, `judge.rs` compares, `score.rs` has evals score, `folder.rs` is the private folder,
//! `junit.rs` the form for CI.

mod error;
mod expect;
mod find;
mod folder;
mod judge;
mod junit;
mod run;
mod score;
mod spec;

pub(crate) use error::{CODES, TestError};
pub(crate) use find::{SpecFilter, Suite, find};
pub(crate) use junit::junit;
pub(crate) use run::{CaseResult, Trying, run};
pub(crate) use spec::Case;
