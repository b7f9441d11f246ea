//! The one integration binary: rye from outside, through its door.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests say what failed"
)]

#[macro_use]
extern crate rye_test_attribute;

mod advice;
#[cfg(all(feature = "code", feature = "mcp"))]
mod asked_at_once;
mod async_kills;
mod async_places;
mod async_runs;
mod attacks;
mod authoring;
mod bounds;
mod bundles;
mod chains;
mod cli;
#[cfg(feature = "code")]
mod code;
#[cfg(all(feature = "code", feature = "mcp"))]
mod code_attacks;
#[cfg(all(feature = "code", feature = "mcp"))]
mod code_edges;
#[cfg(feature = "code")]
mod code_engine;
#[cfg(feature = "code")]
mod code_waits;
mod columns;
mod config;
mod daily;
mod dev;
mod directives;
mod doors;
mod evals;
mod exec;
mod faults;
mod files;
mod git;
mod golden;
mod history;
mod hooks;
#[cfg(feature = "http")]
mod http;
mod import;
mod inventory;
mod json;
mod keys;
mod learn;
mod listing;
mod lock;
#[cfg(feature = "lsp")]
mod lsp;
mod machine;
mod matrix;
#[cfg(feature = "mcp")]
mod mcp;
mod mcp_client;
mod moving;
mod named;
#[cfg(feature = "http")]
mod opensandbox;
mod pending;
mod pictures;
mod plans;
mod promises;
mod provoked;
mod readme;
mod receipts;
#[cfg(feature = "node")]
mod remote;
mod sandbox;
mod sarif;
#[cfg(all(feature = "code", feature = "mcp"))]
mod saved_snippets;
#[cfg(feature = "code")]
mod saved_waits;
mod search;
mod secrets;
mod short;
mod signing;
mod slips;
mod spaces;
mod stdlib;
mod store;
mod streams;
mod style;
mod team;
mod terminal;
mod testing;
mod thread_below;
mod thread_calls;
mod thread_continues;
mod thread_guardrails;
mod thread_hook_words;
mod thread_hooks;
mod thread_hooks_end;
mod thread_life;
mod thread_lock;
mod thread_races;
mod thread_record;
mod thread_refused;
mod thread_resume;
mod thread_risk;
mod thread_shown;
mod thread_slips;
mod thread_starts_rye;
mod thread_table;
mod thread_tail;
mod thread_told;
mod thread_verbs;
mod thread_waits;
mod thread_waits_end;
mod thread_warned;
mod threads;
#[cfg(feature = "http")]
mod threads_http;
mod threads_page;
mod tidy;
mod times;
mod tools;
mod why;
#[cfg(all(feature = "mcp", not(feature = "code")))]
mod without_code;
mod world;
