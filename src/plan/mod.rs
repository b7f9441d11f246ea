//! Plan: chain, parameters and environment to an inert, printable plan.
//!
//! Layer 10. Sees `validate`, `host` and below. Starts nothing, but for a program that a user or system
//! item asks for its interpreter (`interpreter.rs`).
//!
//! In:  a `ValidChain`, the caller's parameters, the environment.
//! Out: a [`Plan`]: what would be run, to the last argument.
//!
//! Invariants
//! - Parameters reach the tool as JSON only; no parameter can change what is run.
//! - Templates of signed items are expanded in one pass; inserted values are never scanned.
//! - Commands are argument vectors; nothing passes through a shell.
//!
//! Start at `plan.rs`; `survey.rs` is what a run would use of this machine; `document.rs` is the plan
//! as data, `file.rs` that data in a file, `drift.rs` what differs between two; `matrix.rs` is the
//! table of what may be asked for at all.

mod config;
mod dependencies;
mod deps;
mod document;
mod dotenv;
mod drift;
mod env;
mod error;
mod file;
mod frame;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod http;
mod interpreter;
mod layered;
mod matrix;
mod packages;
mod params;
#[expect(clippy::module_inception, reason = "the step's own file, named as the design names it")]
mod plan;
mod process;
mod program;
mod shelf;
mod survey;
mod template;
mod tree;
mod versions;

pub(crate) use dependencies::dependencies;
pub(crate) use document::PlannedItem;
pub(crate) use error::{CODES, PlanError};
pub(crate) use file::PlanFile;
pub(crate) use http::{HTTP_CLIENT, HttpRequest};
pub(crate) use matrix::{CODES as MATRIX_CODES, Cell, MatrixError, Target, Thread};
pub(crate) use params::{Params, check_config, check_examples, check_schema, typed};
pub(crate) use plan::{Machine, Plan};
pub(crate) use program::file_identity;
pub(crate) use shelf::{ConfigCopy, Shelf};
pub(crate) use survey::Survey;
pub(crate) use tree::Pinned;
