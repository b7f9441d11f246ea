//! Parse: from an admitted source to a typed item.
//!
//! Sees `verify`, `space`, `id`, `diagnostic`, `base`. Resolves nothing and judges no chain.
//!
//! In:  a `Source`: the whole file, signature line included, so that places are the file's.
//! Out: an [`Item`]: tool, directive, knowledge or config; or a [`ParseError`] with its place.
//!
//! Invariants
//! - An item comes from a `Source` and from nothing else; no program is run to read it.
//! - A file that does not parse is an error, never an empty set of metadata.
//! - Each reader is bounded in depth, nodes and time, whatever the text.
//!
//! Start at `item.rs`; `data` reads YAML, TOML and JSON, `tool` and `directive` the two that run;
//! `rename.rs` replaces one name in a file; `outline.rs` is what a file is found by.

mod config;
#[cfg(test)]
mod cost_tests;
mod data;
mod describe;
mod directive;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod item;
mod item_rules;
mod knowledge;
mod outline;
mod reach;
mod remote_files;
mod rename;
mod signed_before;
mod tool;

pub(crate) use data::{json, json_of, kept_json, kind, yaml, yaml_position};
pub(crate) use directive::{
    Directive, DirectiveContext, DirectiveOutput, Input, InputType, RiskClass, metadata_range,
};
pub(crate) use error::{CODES, PARSE_LIMIT, then_sign};
pub(crate) use item::Item;
pub(crate) use item_rules::{Finding, Severity, check_for_signing, is_snake_case};
pub(crate) use knowledge::Knowledge;
pub(crate) use outline::{Outline, outline};
pub(crate) use reach::{DeclaredReach, Risk, RiskBasis, RiskLink, RiskTier};
pub(crate) use remote_files::RemoteFiles;
pub(crate) use rename::{Naming, places, renamed, replaced_where};
pub(crate) use signed_before::{MADE_OF_SKILL, SIGNED_BEFORE, signed_before};
#[cfg(feature = "code")]
pub(crate) use tool::with_room_for_javascript;
pub(crate) use tool::{
    Anchor, AnchorMode, Argument, ChatShape, Constraints, DEPS_VAR, DepsScope, EnvBase, EnvPath,
    Exec, ExecMode, Hook, HookKind, HttpProvider, Interpreter, KEPT_BACK, Manager, MergeMode,
    NAMES_NO_KEY, Needs, PIN_VAR, Phase, Prices, Provider, ProviderKind, REQUEST_KEYS, SNIPPET,
    ScriptedTurn, Search, Subschemas, TokenCounts, Tool, VerifyDeps, WantedConfig, bound_schema,
    declaration, declare, host_rules, is_loader, listed_files, may_list_files, misspelt_keywords,
    model_prices, names_key, write_files,
};

/// The tool that a text declares, whether or not anybody signed it; for saying what it means, and
/// never for running it.
pub(crate) fn tool_of(text: &str, style: &crate::space::HeaderStyle) -> Option<Tool> {
    tool::parse(text, style).ok()
}

/// The hook of a YAML header, for tests of what is above.
#[cfg(test)]
pub(crate) fn hook_of(text: &str) -> Hook {
    let tool = tool::parse(text, &crate::space::HeaderStyle::Yaml).map_err(|fault| fault.why);
    tool.ok().and_then(|tool| tool.hook).expect("it is a hook")
}
