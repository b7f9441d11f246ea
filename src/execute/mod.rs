//! Execute: run a plan.
//!
//! Sees `plan`, `host` and below. Rebuilds nothing that the plan says.
//!
//! In:  a `Plan` and a `Host`.
//! Out: an [`Outcome`].
//!
//! `subprocess.rs` and `http.rs` are acts; `exec` and `mcp_client` have the others, for which
//! `child.rs` starts what they speak with. Which act a plan asks for, its `Act` says, and the
//! facade matches it (`rye/carry_out.rs`). `authors_paths.rs` keeps private copies out of
//! tracebacks; `new_items.rs` takes over what a tool made of them, `git_index.rs` its copy of git's
//! index, and `new_repositories.rs` finds the repositories that it made.
//!
//! Standard error of a tool, and its report of a failure, are shown without its secrets
//! (`base/mask.rs`). The one rule: the bytes of every value that a link of the chain declared under
//! `secrets`, and of those that an `exec` block names, are replaced by `***` in standard error,
//! before anything is cut or shown. In the report of a failure, all of it, so are the values of
//! every other name under `env`, and in what is shown while the tool runs, since it is not known
//! then whether the tool fails. The data of a success are the tool's own. A secret in another
//! spelling, such as base64, is not known as one.

mod answer;
mod authors_paths;
mod child;
mod error;
mod git_index;
mod http;
mod mcp_fault;
mod new_items;
mod new_repositories;
mod outcome;
mod output_digest;
mod protocol_fault;
mod subprocess;

pub(crate) use crate::base::Mask;
pub(crate) use authors_paths::AuthorsPaths;
pub(crate) use child::{RunContext, RunFolders, prepare, run_once, start};
pub(crate) use error::{CODES, EXECUTE_TOOL_FAILED, ExecuteError};
pub(crate) use http::http_request;
pub(crate) use mcp_fault::{McpFault, ToolChange};
pub(crate) use new_repositories::{Aftermath, new_repositories_text};
#[cfg(feature = "code")]
pub(crate) use outcome::SnippetDid;
pub(crate) use outcome::{Outcome, Pending, ToolFailure, status_text};
#[cfg(feature = "code")]
pub(crate) use output_digest::CallSeen;
pub(crate) use output_digest::{OutputDigest, OutputWitness};
pub(crate) use protocol_fault::ProtocolFault;
pub(crate) use subprocess::subprocess;
