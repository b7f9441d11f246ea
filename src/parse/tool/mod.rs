//! Tool: what a signed program says of itself, read without running it.
//!
//! In:  a tool's whole text, the signature line included, and its header style.
//! Out: a [`Tool`], typed; a key that rye does not know is a fault.
//!
//! Invariants
//! - Each header reader gives one map with the key names of the YAML form.
//! - A key is given once; a file that does not parse is a fault, never an empty header.
//!
//! Start at `header.rs`; `tool.rs` types the map that the readers of each language give.

mod anchor;
mod argument;
mod block;
mod calls;
mod config_keys;
mod config_resolve;
mod declare;
mod eval;
mod exec;
mod fields;
mod files;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod header;
mod hook;
mod interpreter;
#[cfg(feature = "code")]
mod javascript_depth;
mod names;
mod nesting;
mod network;
mod own_variables;
mod provider;
mod provider_http;
mod python;
mod python_literal;
mod sandbox;
mod schema;
mod schema_bound;
#[expect(clippy::module_inception, reason = "the folder reads headers, the file is the type")]
mod tool;
mod write_files;

pub(crate) use anchor::{Anchor, AnchorMode, DepsScope, EnvPath, VerifyDeps};
pub(crate) use argument::Argument;
pub(crate) use calls::SNIPPET;
pub(crate) use config_keys::REQUEST_KEYS;
pub(super) use config_keys::check_limits;
pub(crate) use config_resolve::{MergeMode, WantedConfig};
pub(crate) use declare::{Needs, declaration, declare};
pub(crate) use exec::{EnvBase, Exec, ExecMode};
pub(crate) use header::{header, listed_files, may_list_files, parse};
pub(crate) use hook::{Hook, HookKind, Phase};
pub(crate) use interpreter::{Interpreter, Manager, Search};
#[cfg(feature = "code")]
pub(crate) use javascript_depth::with_room_for_javascript;
pub(crate) use network::host_rules;
pub(crate) use own_variables::{DEPS_VAR, KEPT_BACK, PIN_VAR, is_loader};
pub(crate) use provider::{
    Prices, Provider, ProviderKind, ScriptedTurn, TokenCounts, model_prices,
};
pub(crate) use provider_http::{ChatShape, HttpProvider, NAMES_NO_KEY, names_key};
pub(crate) use schema::misspelt_keywords;
pub(crate) use schema_bound::{Subschemas, bound_schema};
pub(crate) use tool::{Constraints, Tool};
pub(crate) use write_files::write_files;
