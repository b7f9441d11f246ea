//! The programs that a `RuntimeConfig` binds.

use serde_json::Value;

use super::doc::{Doc, Fields, Spot};
use super::error::{IMPORT_MISSING, IMPORT_NAME, IMPORT_NOT_A_CONFIG, IMPORT_VALUE};
use super::hook::{self, Hook};
use crate::base::durations::TIMEOUT_MAX_MS;
use crate::base::text::escape_line;
use crate::id::{ItemId, Kind};
use crate::space::is_test_spec;

const API_VERSION: &str = "promptkit.altairalabs.ai/v1alpha1";
const KIND: &str = "RuntimeConfig";

const TOP: [&str; 5] = ["$schema", "apiVersion", "kind", "metadata", "spec"];
/// Sections that bind programs which speak the exec protocol.
const SECTIONS: [&str; 3] = ["tools", "evals", "hooks"];
/// Sections that are known there and mean nothing here.
const OTHERS: [&str; 12] = [
    "providers",
    "mcp_servers",
    "state_store",
    "logging",
    "sandboxes",
    "embedding_providers",
    "tts_providers",
    "stt_providers",
    "inference_providers",
    "selectors",
    "tool_selector",
    "skills",
];
const TOOL: [&str; 12] = [
    "name",
    "description",
    "input_schema",
    "output_schema",
    "mode",
    "timeout_ms",
    "mock_result",
    "mock_template",
    "mock_parts",
    "http",
    "exec",
    "client",
];
const PROGRAM: [&str; 6] = ["command", "args", "runtime", "env", "timeout_ms", "sandbox"];

/// The purpose of a bound program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    Tool,
    Eval,
    Hook(Hook),
}

/// A program that the configuration binds, with the places of what may still turn out to be wrong.
pub(super) struct Bound<'d> {
    pub(super) role: Role,
    pub(super) name: String,
    /// The entry itself.
    pub(super) spot: Spot<'d>,
    pub(super) command: (Spot<'d>, String),
    pub(super) args: Vec<(Spot<'d>, String)>,
    pub(super) is_server: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) env: Vec<String>,
    /// The configuration's own description of a tool.
    pub(super) description: Option<String>,
    pub(super) schema: Option<Value>,
    pub(super) output_schema: Option<Value>,
}

/// The programs that a document binds, tools first; what it holds beside them goes to `remarks`.
pub(super) fn read<'d>(
    doc: &'d Doc<'d>,
    value: &'d Value,
    remarks: &mut Vec<String>,
) -> Vec<Bound<'d>> {
    let mut bound = Vec::new();
    let Some(spec) = spec(doc, value) else { return bound };
    spec.only_these(&SECTIONS, &OTHERS);
    for key in OTHERS.iter().filter(|key| spec.has(key)) {
        remarks.push(format!("`spec.{key}` binds no program of the exec protocol and is left out"));
    }
    for section in SECTIONS {
        let Some(entries) = spec.map(section) else { continue };
        for (name, value) in entries.entries() {
            let Some(entry) = entries.at(name).map(value) else { continue };
            if !is_name(name) {
                let why =
                    format!("cannot be imported: `{}` is not a valid item name", escape_line(name));
                entry.spot.fault_of_key(IMPORT_NAME, &why);
            }
            bound.extend(match section {
                "tools" => tool(name, &entry, remarks),
                "evals" => {
                    entry.only(&PROGRAM);
                    program(Role::Eval, name, &entry, &spec, remarks)
                }
                _ => {
                    let known: Vec<&str> = PROGRAM.iter().chain(&hook::KEYS).copied().collect();
                    entry.only(&known);
                    if entry.get("hook").and_then(Value::as_str) == Some("eval") {
                        let spot = &entry.spot;
                        remarks.push(format!(
                            "`{spot}` is told of the scores of evals, which no hook of rye is: it is left out"
                        ));
                        continue;
                    }
                    // Both are looked at, so that all faults are told.
                    let hook = hook::read(&entry);
                    let role = hook.map_or(Role::Tool, Role::Hook);
                    program(role, name, &entry, &spec, remarks)
                }
            });
        }
    }
    bound
}

/// The part that matters, of a whole manifest or of one that is `spec:` alone.
fn spec<'d>(doc: &'d Doc<'d>, value: &'d Value) -> Option<Fields<'d>> {
    let top = Spot::top(doc);
    if value.is_null() {
        top.fault(IMPORT_NOT_A_CONFIG, "is empty");
        return None;
    }
    let top = top.map(value)?;
    top.only(&TOP);
    let is_bare = !top.has("apiVersion") && !top.has("kind");
    for (key, wanted) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        if is_bare {
            continue;
        }
        if !top.has(key) {
            top.spot.fault(IMPORT_NOT_A_CONFIG, &format!("has no `{key}`"));
        } else if let Some(got) = top.string(key).filter(|got| got != wanted) {
            let why = format!("is `{}`, and not `{wanted}`", escape_line(&got));
            top.at(key).fault(IMPORT_NOT_A_CONFIG, &why);
        }
    }
    if let Some(metadata) = top.map("metadata") {
        metadata.only(&["name", "namespace", "labels", "annotations"]);
    }
    if !top.has("spec") {
        top.spot.fault(IMPORT_NOT_A_CONFIG, "has no `spec`");
    }
    top.map("spec")
}

fn tool<'d>(name: &str, entry: &Fields<'d>, remarks: &mut Vec<String>) -> Option<Bound<'d>> {
    entry.only(&TOOL);
    let timeout_ms = entry.positive("timeout_ms", TIMEOUT_MAX_MS);
    let description = entry.readable("description");
    if !entry.has("exec") {
        remarks.push(format!("`{}` has no `exec` and is left out", entry.spot));
        return None;
    }
    let schema = entry.map("input_schema").and(entry.get("input_schema"));
    let output_schema = entry.map("output_schema").and(entry.get("output_schema"));
    let exec = entry.map("exec")?;
    exec.only(&PROGRAM);
    let bound = program(Role::Tool, name, &exec, entry, remarks)?;
    Some(Bound {
        spot: entry.spot.clone(),
        timeout_ms: bound.timeout_ms.or(timeout_ms),
        description,
        schema: schema.cloned(),
        output_schema: output_schema.cloned(),
        ..bound
    })
}

/// The program of an entry; `spec` is asked for the sandbox that a hook names.
fn program<'d>(
    role: Role,
    name: &str,
    entry: &Fields<'d>,
    spec: &Fields<'d>,
    remarks: &mut Vec<String>,
) -> Option<Bound<'d>> {
    let args = entry.strings("args");
    let runtime = entry.one_of("runtime", &["exec", "server"]);
    let timeout_ms = entry.positive("timeout_ms", TIMEOUT_MAX_MS);
    let env = entry.strings("env");
    for (spot, name) in &env {
        env_name(spot, name);
    }
    if let Some(sandbox) = entry.string("sandbox") {
        let is_direct = || {
            let mode = spec.get("sandboxes").and_then(|all| all.get(&sandbox)?.get("mode"));
            mode.and_then(Value::as_str) == Some("direct")
        };
        match role {
            // A program that was to be shut in must not run free without a word.
            Role::Hook(_) if !is_direct() => {
                let why = format!("is `{}`, which rye does not have", escape_line(&sandbox));
                entry.at("sandbox").fault(IMPORT_VALUE, &why);
            }
            _ => remarks.push(format!("`{}` means nothing here", entry.at("sandbox"))),
        }
    }
    let command = entry.needed("command")?;
    Some(Bound {
        role,
        name: name.to_owned(),
        spot: entry.spot.clone(),
        command: (entry.at("command"), command),
        args,
        is_server: runtime == Some("server"),
        timeout_ms,
        env: env.into_iter().map(|(_, name)| name).collect(),
        description: None,
        schema: None,
        output_schema: None,
    })
}

/// Returns true if an item's own file can have this name.
fn is_name(name: &str) -> bool {
    !name.contains('/') && name.parse::<ItemId>().is_ok() && !is_test_spec(Kind::Tool, name, "yaml")
}

/// Only names: a value in a signed text would be neither secret nor the host's.
fn env_name(spot: &Spot<'_>, name: &str) {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if let Some((key, _)) = name.split_once('=') {
        let key = escape_line(key);
        spot.fault(IMPORT_VALUE, &format!("gives `{key}` a value: list the name alone"));
    } else if name.is_empty() {
        spot.fault(IMPORT_MISSING, "is empty");
    } else if !starts || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        let name = escape_line(name);
        spot.fault(
            IMPORT_VALUE,
            &format!("is `{name}`, which cannot name an environment variable"),
        );
    }
}
