//! rye manages directives and tools whose every file is signed: it finds an item in three spaces,
//! verifies its signature and those of everything it runs through, and runs exactly those bytes.
//!
//! # The flow
//!
//! ```text
//! text ─id→ Ref ─resolve→ Found ─verify→ Source ─parse→ Item ─chain→ Chain ─validate→ ValidChain
//!       ─plan→ Plan ─execute→ Outcome ─report→ Report, Receipt
//! ```
//!
//! From `resolve` to `parse` is repeated for every link of the chain. A type is made only by the
//! module on its arrow, so no caller can skip a step; a dry run is the same path stopped before
//! `execute`.
//!
//! # The floors, lowest first
//!
//! | floor | modules | |
//! |---|---|---|
//! | 0 | `base` | std-shaped helpers without a rye word, and every limit with its reason |
//! | 1 | `diagnostic` | how a failure is described and drawn |
//! | 2 | `id` `host` `registry` `oms` | the words of the field as newtypes; the one seam to the machine; what outlives a process; signatures of others over files |
//! | 3 | `trace` `space` `proxy` `web_page` | events as data; where items lie, and remembered versions of them; the hosts and services that a run may reach; one page of the web as text, in a sandbox |
//! | 4 | `resolve` `signature` `sandbox` `store` | from a reference to one file and what it shadows; the signature line, keys, the one rule for a signed text; what a child may touch; objects by their digests, and trees of files made of them |
//! | 5 | `trust` | whom the person believes; their keys, projects and policy |
//! | 6 | `verify` | admission; `stage`, its mirror |
//! | 7 | `parse` `lock` | source to typed item; what a project agreed to run |
//! | 8 | `interpolate` `chain` `search` | placeholders; executor ids to a primitive; which items a few words may mean |
//! | 9 | `remote` | how a caller speaks with a node |
//! | 9 | `validate` | the chain, judged |
//! | 10 | `plan` | an inert, printable plan |
//! | 11 | `execute` | the plan, carried out |
//! | 12 | `report` `exec_protocol` `eval` | outcome and trace as text and JSON, the receipt of a run; calls of programs that speak the exec protocol; what an eval is sent, and its score |
//! | 8 | `code` `thread` | snippets that call tools; conversations of a model that call tools |
//! | 13 | `mcp_client` | calls of tools of MCP servers |
//! | 14 | `rye` | the facade [`Rye`]: a service for each question, and a run here and now |
//! | 15 | `runs` | threads, detached runs and snippets, which take more than one run; deciding requests to a person |
//! | 15 | `scaffold` | new items, and moved ones |
//! | 15 | `bundle` | items of one publisher in one file |
//! | 15 | `dev` | the project, watched: what you change is signed for half a day |
//! | 15 | `git` | what is about to be committed |
//! | 15 | `graph` | pictures of what runs |
//! | 15 | `import` | foreign configurations as items |
//! | 15 | `learn` | what a tool needs of the machine, seen in one run |
//! | 15 | `lsp` | what an editor shows of items that are being written |
//! | 16 | `node` | runs of verified items for callers on other machines |
//! | 16 | `mcp` | agents speak with rye over the model context protocol |
//! | 15 | `testing` | test specs beside items |
//! | 17 | `cli` | one file a verb; the only place that wires |
//!
//! A module stands one floor above the highest that it names. So it names only lower floors, and
//! modules of one floor do not see each other. A test holds that.
//! `fuzz` lists the fuzz targets of the layers; only tests and `tests/fuzz` compile it. `bench` is
//! for `tests/bench` alone.
//!
//! # Invariants
//!
//! 1. A `Source` is made by `verify` alone, and `parse` accepts nothing else.
//! 2. No trust store is made from a project; documents about trust are your own key's, or nothing.
//! 3. One read per file per run: what is hashed is what is parsed is what runs.
//! 4. What runs is a private copy of the verified bytes, never the file in the project.
//! 5. Parameters and configuration are different types and are never merged.
//! 6. Templates of signed items are expanded in one pass; inserted values are never scanned.
//! 7. Nothing passes through a shell unless a signed runtime's command is one, or a directive lets
//!    the model of its thread run commands in its workspace.
//! 8. A refusal has a stable code, a help line, a page and an event; no flag turns one off but
//!    `RYE_DEV_MODE`, which is loud and never reaches the system space.
//! 9. `unsafe` stands in `host/{unix,signals,kernel,ptrace}.rs` and nowhere else.
//! 10. Nothing that decides about trust, and no program that is found by its name, is taken from
//!     the foreign ground of a call (`space/ground.rs`).
//! 11. Every cap has a name and a reason: in its file, or in `base/limits.rs` for several.
//!
//! # Files on disk
//!
//! | file | read by | written by |
//! |---|---|---|
//! | `.ai/{tools,directives,knowledge,config}/**` | `space`, for `resolve` | `verify::stage`, `scaffold`, `import` |
//! | `<user>/.ai/config/keys/signing/` | `trust::own_keys` | the same |
//! | `<user>/.ai/config/keys/{trusted,revoked,projects,approvals,roots,rotated}/` | `trust::document` | the same |
//! | `<user>/.ai/config/keys/dev/` | `trust::dev_key` | the same, for `rye dev` |
//! | `<user>/.ai/config/keys/{interpreters,deps,providers,backends}/` | `trust::allowed` | the same |
//! | `<user>/.ai/config/rye/{policy,file-types}.yaml` | `trust::store` | you |
//! | `<project>/.ai/rye.lock` | `lock`, in an accepted project | the same, for `rye lock` |
//! | `<user>/.ai/state/rotation/` | `trust::rotation`, while a key is replaced | the same |
//! | `<user>/.ai/state/items/` | `space::baseline`, for `rye diff` | the same |
//! | `<user>/.ai/state/held/` | `space::baseline`, for `rye sign --all` | the same, for `rye dev` |
//! | `<user>/.ai/state/learned/` | `learn`, for `--write` | the same |
//! | `<user>/.ai/state/receipts/` | you, `rye receipt verify` | `rye::receipts` |
//! | `.ai/state/threads/` | `rye thread`, `runs::threads` | `thread`, while one runs |
//! | `<user>/.ai/bundles/` | `space`, for `resolve` | `bundle` |
//! | `<user>/.ai/state/objects/` | `store` | the same |
//! | `<user>/.ai/state/registry.db` | `registry` | the same |
//! | `<user>/.ai/state/alive/` | `registry`, for runs of other containers | the same |
//! | `$XDG_RUNTIME_DIR/rye/`, else `<user>/.ai/state/pin/` | the child of a run | `host::private_dir` |
//!
//! # Start here
//!
//! `rye/run.rs` is the way from a reference to a report; `signature/check.rs` is the list of
//! checks; `cli/execute.rs` is a verb; `diagnostic/mod.rs` says how to add a refusal and its code.

mod base;
#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bench;
mod bundle;
mod chain;
mod cli;
#[cfg(feature = "code")]
pub mod code;
mod dev;
mod diagnostic;
mod eval;
mod exec_protocol;
mod execute;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
mod git;
mod graph;
mod host;
mod id;
mod import;
mod interpolate;
mod learn;
mod lock;
#[cfg(feature = "lsp")]
mod lsp;
#[cfg(feature = "mcp")]
mod mcp;
mod mcp_client;
#[cfg(feature = "node")]
mod node;
mod oms;
mod parse;
mod plan;
#[cfg(feature = "http")]
mod proxy;
mod registry;
mod remote;
mod report;
mod resolve;
mod runs;
mod rye;
mod sandbox;
mod scaffold;
mod search;
mod signature;
mod space;
mod store;
mod testing;
mod thread;
mod trace;
mod trust;
mod validate;
mod verify;
#[cfg(feature = "http")]
mod web_page;

pub use diagnostic::Failure;
#[cfg(feature = "code")]
pub use runs::RyeTools;
pub use rye::{Request, Rye, RyeBuilder, SearchRequest};
pub use thread::{
    BackendCapability, BackendEvent, BackendFault, BackendFaultKind, BackendStream, BackendStreams,
    FileEncoding, Payload, PayloadFuture, PayloadResult, SandboxBackend, ThreadSession, ThreadTool,
    ToolCallFault, ToolCallFaultKind, WorkspaceEntry,
};

/// Reads a command line, runs the verb and shows the result; gives the exit status.
///
/// For a program that is rye and hands its whole command line over: inside a sandbox, and for each
/// snippet, rye starts itself once more; see `sandbox/inside.rs` and [`code::JavaScript`].
pub fn run(argv: impl IntoIterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    let argv: Vec<_> = argv.into_iter().collect();
    #[cfg(feature = "code")]
    if let Some(status) = code::enter(&argv) {
        return status;
    }
    if let Some(status) = sandbox::enter(&argv) {
        return status;
    }
    #[cfg(feature = "http")]
    if let Some(status) = web_page::enter(&argv) {
        return status;
    }
    if let Some(status) = runs::enter_detached(&argv) {
        return status;
    }
    cli::run(argv)
}

/// Runs a command line without a process of its own; gives the exit status, and the bytes for
/// standard output and for standard error.
///
/// For tests of what rye answers. `vars` and `cwd` take the place of this process's environment and
/// working directory, no one is asked, and paths of files among the arguments must be absolute.
#[doc(hidden)]
pub fn answer(
    argv: &[std::ffi::OsString],
    vars: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    cwd: std::path::PathBuf,
) -> (u8, Vec<u8>, Vec<u8>) {
    cli::answer(argv, vars.into_iter().collect(), cwd)
}
