//! How the calls of a thread are carried out.

mod at_once;
mod commands;
mod ends;
mod finding;
mod signing;
#[cfg(feature = "code")]
mod snippet_kills;
#[cfg(feature = "code")]
pub mod snippet_waits;
#[cfg(feature = "code")]
mod snippets;

use serde_json::{Value, json};

use crate::threads::{directive, hand_over, provider};
use crate::world::World;
use crate::world::items::tool_sh;

/// Several calls of one turn.
pub fn turn(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|(name, args)| json!({"name": name, "arguments": args})).collect();
    json!({"calls": calls, "usage": {"input": 10, "output": 5}})
}

/// A tool in shell, which says `effects: read` or not.
pub fn tool(effects: &str, script: &str) -> String {
    tool_sh(effects, script)
}

/// The directive `acme/go` with these permissions, whose model says these turns and hands over.
pub fn prepared(world: &World, turns: &[Value], permissions: &str) {
    let turns: Vec<Value> = turns.iter().cloned().chain([hand_over()]).collect();
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!(turns)));
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"20\"", permissions));
}
