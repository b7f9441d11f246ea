//! Plan: chain, parameters and environment to an inert, printable plan.
//!
//! Sees `validate`, `host` and below. Starts nothing, but for a program that a user or system
//! item asks for its interpreter (`machine/interpreter.rs`).
//!
//! In:  a `ValidChain`, the caller's parameters, the environment.
//! Out: a [`Plan`]: what would be run, to the last argument.
//!
//! Invariants
//! - Parameters reach the tool as JSON only; no parameter can change what is run.
//! - Templates of signed items are expanded in one pass; inserted values are never scanned.
//! - Commands are argument vectors; nothing passes through a shell.
//!
//! Start at `plan.rs`; `machine` is what a run would use of this machine; `record` is the plan as
//! data, in a file, and what differs between two; `matrix.rs` is the table of what may be asked for
//! at all.

mod act;
mod arguments;
mod base_folders;
mod beside_chain;
mod config;
mod config_layers;
mod context;
mod dotenv;
mod env;
mod error;
mod exec;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod git_programs;
mod git_settings;
mod gitlinks;
mod grants;
mod http;
mod inner_repositories;
mod listed_hosts;
mod machine;
mod matrix;
mod mcp;
mod network;
mod outer_repository;
mod params;
mod pieces;
#[expect(clippy::module_inception, reason = "the step's own file, named as the design names it")]
mod plan;
mod plan_source;
mod process;
mod protected;
mod record;
mod sandbox_help;
mod schema;
#[cfg(feature = "code")]
mod snippet;
mod start;
mod state;
mod template;
mod template_context;
mod time_limit;
mod tree;
mod verify_deps;
mod workspace;

pub(crate) use act::{Act, McpServer};
pub(crate) use arguments::reads_as_file;
pub(crate) use beside_chain::dependencies;
pub(crate) use config_layers::limits;
pub(crate) use context::{PlanContext, SandboxChoice};
pub(crate) use dotenv::assignment;
pub(crate) use error::{CODES, EXECUTE_TIMEOUT, PLAN_INVALID_PARAMETERS, PlanError};
pub(crate) use exec::ExecOptions;
pub(crate) use grants::{BasePolicy, PRIVATE};
pub(crate) use http::HttpRequest;
pub(crate) use machine::{Survey, file_identity, find_program};
pub(crate) use matrix::{MatrixError, RunMode, Target, Thread};
pub(crate) use mcp::{
    Exact, MCP_TOOL, McpTool, PINNED, names_exact_code, names_package, script_at,
};
pub(crate) use network::default_net;
pub(crate) use params::{
    Params, check_config, check_examples, check_schema, misfits, typed, unknown_names,
};
pub(crate) use plan::{Plan, hold_anew, with_private_values};
pub(crate) use plan_source::{ConfigCopy, PlanSource};
pub(crate) use process::Process;
pub(crate) use protected::GIT_NAME as GIT;
pub(crate) use record::PlanFile;
pub(crate) use record::PlannedItem;
pub(crate) use sandbox_help::NEEDS_OF_A_SERVER;
#[cfg(feature = "code")]
pub(crate) use snippet::{SnippetPlan, check_snippet};
pub(crate) use time_limit::TimeLimit;
pub(crate) use tree::{Pinned, TOOL};
pub(crate) use verify_deps::asks_about;
pub(crate) use workspace::workspace_policy;
