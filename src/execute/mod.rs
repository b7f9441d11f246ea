//! Execute: run a plan.
//!
//! Sees `plan`, `host` and below. Rebuilds nothing that the plan says.
//!
//! In:  a `Plan` and a `Host`.
//! Out: an [`Outcome`].
//!
//! A [`Primitive`] is the act at the end of a chain; `subprocess.rs`, `http.rs` and `mcp.rs` are
//! built here, others are registered from above. A program that speaks the exec protocol is called
//! by way of the seam [`Driver`]. `mask.rs` keeps secrets out of what is shown of a failure;
//! `new_items.rs` takes over what a tool made of them, `git_index.rs` its copy of git's index.

mod answer;
mod driver;
mod error;
mod fault;
mod git_index;
mod http;
mod mask;
mod mcp;
mod new_items;
mod outcome;
mod primitive;
mod subprocess;
mod witness;

pub(crate) use driver::{Call, Driver, Kept, prepare, run_once};
pub(crate) use error::{CODES, EXECUTE_TOOL_FAILED, ExecuteError, net as net_fault};
pub(crate) use fault::ProtocolFault;
pub(crate) use http::HttpClient;
pub(crate) use mask::Mask;
pub(crate) use mcp::{Change, McpClient, McpFault};
pub(crate) use outcome::{Outcome, Pending, ToolFailure, status_text};
pub(crate) use primitive::{Primitive, Running};
pub(crate) use subprocess::Subprocess;
pub(crate) use witness::{Output, Witness};
