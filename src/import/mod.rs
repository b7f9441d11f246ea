//! Import: foreign configurations become items.
//!
//! Sees the facade and what is below it; knows no other feature.
//!
//! In:  an unchanged `RuntimeConfig` of `PromptKit`, and the pack that describes its tools; a
//!      folder of items that are signed in the older form; a skill.
//! Out: drafts of items, each with copies of the files that belong to it.
//!
//! In:  an MCP server. Out: one item for each of its tools, pinned to what it says of itself.
//!
//! `mcp.rs` the tools of a server · `mcp_servers.rs` the servers of a client · `copies.rs` what a
//! server is started from · `skill.rs` a skill as a directive, and back · `skill_tool.rs` the tool
//! that gives out its files, by `skill_files.py` · `signed_folder.rs` a skill's folder with a
//! signature of others · `legacy.rs` the older signature form · `folder.rs` a folder of it ·
//! `runtimeconfig.rs` what it binds · `hook.rs` the keys of a hook · `pack.rs` descriptions and
//! schemas · `doc.rs` a document whose every fault has its line and column · `files.rs` the files
//! that arguments name · `draft.rs` the text of an item, `yaml.rs` its values · `write.rs` the only
//! place that writes
//!
//! Invariants
//! - A key that is not known, or a value that is none, is a fault: nothing is passed over in
//!   silence.
//! - With one fault nothing is written; all of them are told.
//! - No file from outside the configuration's folder is copied, and none through a link.
//! - Nothing is signed here, but for what is handed out to others.
//! - Of a skill that others signed, just the signed bytes are taken, as they were checked.

mod copies;
mod doc;
mod draft;
mod error;
mod files;
mod folder;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod hook;
mod legacy;
mod mcp;
mod mcp_servers;
mod pack;
mod runtimeconfig;
mod signed_folder;
mod skill;
mod skill_tool;
mod write;
mod yaml;

pub(crate) use draft::{Drafts, Import, ItemDraft, drafts};
pub(crate) use error::CODES;
pub(crate) use folder::{LeftOut, OlderFolder, nothing, older_items};
pub(crate) use legacy::OlderKey;
pub(crate) use mcp::{McpImport, masked, mcp_drafts};
pub(crate) use mcp_servers::{McpClientConfig, NamedServer, mcp_servers};
pub(crate) use signed_folder::{WantedSignature, sign_skill};
pub(crate) use skill::{SkillRules, export, hand_out, skill};
pub(crate) use write::{Put, Written, write};
