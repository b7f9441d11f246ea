//! Tools that are one HTTP request (core 7.11), against a real server on this machine.

mod answers;
mod plan;
mod records;
mod redirects;
mod requests;
mod retries;
mod secrets;
mod tls;

use crate::world::{Said, World};

/// A tool that sends what `config` says; `more` stands beside it.
fn tool(config: &str, more: &str) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/http/request\n\
         category: acme\ndescription: Asks a server\n{more}\nconfig:\n{config}\n"
    )
}

/// Signs `acme/ask` with this config, each line a key.
#[track_caller]
fn signed(world: &World, config: &str) {
    signed_with(world, config, "");
}

#[track_caller]
fn signed_with(world: &World, config: &str, more: &str) {
    let lines: String = config.lines().map(|line| format!("  {}\n", line.trim_start())).collect();
    world.signed(".ai/tools/acme/ask.yaml", &tool(&lines, more));
}

/// Runs `acme/ask` with these variables in rye's own environment.
fn ask(world: &World, args: &[&str], env: &[(&str, &str)]) -> Said {
    let args = [&["execute", "acme/ask", "--json"], args].concat();
    world.rye_env(&world.project(), &args, b"", env)
}

/// The events of one kind in the trace of a run.
fn events(said: &Said, step: &str) -> Vec<serde_json::Value> {
    let trace = said.json()["trace"].as_array().cloned().unwrap_or_default();
    trace.into_iter().filter(|event| event["step"] == step).collect()
}
