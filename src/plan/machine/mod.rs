//! The part of this machine that a run would use, and whether it may.
//!
//! In:  the signed wish for an interpreter or a program, and what the person allowed.
//! Out: a [`Survey`]: the program chosen, the folders of packages, and what was passed over, with
//! why.
//!
//! Start at `survey.rs`; `program.rs` judges one program, `version_managers.rs` reads version
//! managers.

mod interpreter;
mod packages;
mod program;
mod survey;
mod version_managers;

pub(in crate::plan) use program::{Chosen, Seeker};
pub(crate) use program::{file_identity, find_program};
pub(crate) use survey::Survey;
