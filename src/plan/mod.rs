//! Plan: chain, parameters and environment to an inert, printable plan.
//!
//! Layer 10. Sees `validate`, `host` (as data) and below. Starts nothing.
//!
//! In:  a `ValidChain`, the caller's parameters, the environment.
//! Out: a [`Plan`]: what would be run, to the last argument.
//!
//! Invariants
//! - Parameters reach the tool as JSON only; no parameter can change what is run.
//! - Templates of signed items are expanded in one pass; inserted values are never scanned.
//! - Commands are argument vectors; nothing passes through a shell.
//!
//! Start at `plan.rs`; `matrix.rs` is the table of what may be asked for at all.

mod config;
mod dependencies;
mod deps;
mod dotenv;
mod env;
mod error;
mod frame;
mod http;
mod layered;
mod matrix;
mod params;
#[expect(clippy::module_inception, reason = "the step's own file, named as the design names it")]
mod plan;
mod process;
mod shelf;
mod template;
mod tree;

pub(crate) use dependencies::dependencies;
pub(crate) use error::{CODES, PlanError};
pub(crate) use http::{HTTP_CLIENT, HttpRequest};
pub(crate) use matrix::{CODES as MATRIX_CODES, Cell, MatrixError, Target, Thread};
pub(crate) use params::{Params, check_config, check_examples, check_schema, typed};
pub(crate) use plan::{Machine, Plan};
pub(crate) use shelf::{ConfigCopy, Shelf};
pub(crate) use tree::Pinned;
