//! The sandbox (sandbox.md), each level as this machine has it.
//!
//! A test of a level that does not work here is listed as not run, and never passes in silence.

mod battery;
mod declared;
mod escapes;
mod hosts;
mod items;
mod killed;
mod listens;
mod machines;
mod nested_git;
mod network;
mod places;
mod replaced;
mod service_rules;
mod services;
mod shipped;
mod ways_out;
mod web;

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::world::items::tool_py;
use crate::world::{World, end_as_not_run, program};

pub const BWRAP: &str = "bwrap";
pub const LANDLOCK: &str = "landlock";

/// Why each level does not work here, by `rye doctor`.
fn lacking() -> &'static [(String, String)] {
    static LACKING: OnceLock<Vec<(String, String)>> = OnceLock::new();
    LACKING.get_or_init(|| {
        let said = Command::new(program()).args(["doctor", "--json"]).output().expect("rye starts");
        let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        let rows = said["checks"].as_array().expect("rows").iter();
        let rows = rows.filter(|row| row["name"] == "sandbox" && row["state"] != "good");
        let texts = rows.map(|row| row["text"].as_str().expect("a text"));
        let split = texts.map(|text| text.split_once(" does not work: ").expect("a reason"));
        split.map(|(level, why)| (level.to_owned(), why.to_owned())).collect()
    })
}

/// Whether the level works here; if not, that is written down with the test's name.
pub fn works(test: &str, level: &str) -> bool {
    let Some((_, why)) = lacking().iter().find(|(lacks, _)| lacks == level) else { return true };
    not_run(test, level, why);
    false
}

/// Ends the test as not run where a tool has no namespaces of its own here: then none may write the
/// whole project, as landlock alone keeps no item in it from the tool.
pub fn needed() {
    if let Some((_, why)) = lacking().iter().find(|(level, _)| level == BWRAP) {
        end_as_not_run(format!("the level `{BWRAP}` does not work here: {why}"));
    }
}

/// Lists that a test does not run at a level here.
pub fn not_run(test: &str, level: &str, why: &str) {
    crate::world::not_run(&format!("{test} at {level}"), why);
}

/// The levels that work here.
pub fn levels(test: &str) -> Vec<&'static str> {
    [BWRAP, LANDLOCK].into_iter().filter(|level| works(test, level)).collect()
}

/// A tool in Python that does what its parameter says; `more` is put into its header. It has five
/// minutes on a busy machine, unless `more` sets another `timeout`.
pub fn doer(world: &World, name: &str, more: &str) {
    let time = if more.contains("timeout") { "" } else { "\n[config]\ntimeout = \"5m\"" };
    let program = "import json, sys\nsaid = json.load(sys.stdin)\n\
                   import os, socket, subprocess, ctypes\nexec(said['code'], {**globals(), **said})\n";
    world.signed(&format!(".ai/tools/{name}.py"), &tool_py(&format!("{more}{time}"), program));
}

/// What the code printed, and how the run ended.
pub fn does(world: &World, name: &str, level: &str, code: &str) -> (Value, i32) {
    let code = format!("code={code}");
    let said = world.rye(&["execute", name, "--sandbox", level, "--json", "-i", &code]);
    (said.json(), said.status)
}
