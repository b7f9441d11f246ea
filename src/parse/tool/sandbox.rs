//! `sandbox`: what a tool needs of the machine (sandbox.md). Paths are templates still.

use std::time::Duration;

use serde_json::Value;

use super::fields::{Fields, unknown_word, wrong};
use super::network;
use crate::base::time::TimeKey;
use crate::host::{Caps, DeclaredNet, Service};
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// Most processor time that a signed item may give a process, in milliseconds: a year. A process of
/// many threads uses more than a day of it in a day.
const CPU_MAX_MS: u64 = 31_536_000_000;

/// The declarations of one link; `None` for what it does not mention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sandbox {
    pub(crate) read: Option<Vec<String>>,
    pub(crate) write: Option<Vec<String>>,
    /// Parts of a grant are enough, if a level cannot exclude the protected places inside it.
    pub(crate) partial: bool,
    pub(crate) net: Option<DeclaredNet>,
    pub(crate) services: Vec<Service>,
    pub(crate) caps: Caps,
    /// New files may be made in the project's item folders.
    pub(crate) adds_items: bool,
    /// The project's repository may be written, except for files that decide what git runs.
    pub(crate) writes_git: bool,
}

/// The placeholders that a path may begin with; any other path must be absolute.
pub(crate) const ROOTS: [&str; 2] = ["{project_path}", "{user_space}"];

const LIMITS: [&str; 6] = ["cpu", "cpu_seconds", "memory_mb", "processes", "files", "file_size_mb"];

const CPU: TimeKey = TimeKey {
    pointer: "/sandbox/limits/cpu",
    bare: "/sandbox/limits/cpu_seconds",
    unit: Duration::from_secs(1),
    most: Duration::from_millis(CPU_MAX_MS),
};

/// # Errors
/// `parse.metadata`
pub(super) fn sandbox(fields: &Fields<'_>) -> Result<Option<Sandbox>, ParseFault> {
    let Some(block) = fields.fields("sandbox")? else { return Ok(None) };
    block.only(&["fs", "net", "services", "limits", "items", "git"])?;
    let mut sandbox = Sandbox::default();
    if let Some(fs) = block.fields("fs")? {
        fs.only(&["read", "write", "partial"])?;
        sandbox.read = paths(&fs, "read")?;
        sandbox.write = paths(&fs, "write")?;
        sandbox.partial = fs.truth("partial")?.unwrap_or_default();
    }
    network::read(&block, &mut sandbox)?;
    if let Some(limits) = block.fields("limits")? {
        limits.only(&LIMITS)?;
        sandbox.caps = Caps {
            cpu_seconds: cpu_seconds(&limits)?,
            memory_mb: number(&limits, "memory_mb")?,
            processes: number(&limits, "processes")?,
            files: number(&limits, "files")?,
            file_size_mb: number(&limits, "file_size_mb")?,
        };
    }
    sandbox.adds_items = writes(&block, "items")?;
    sandbox.writes_git = writes(&block, "git")?;
    Ok(Some(sandbox))
}

/// The processor time of each process in whole seconds, rounded up: the kernel counts no less.
fn cpu_seconds(limits: &Fields<'_>) -> Result<Option<u64>, ParseFault> {
    let time = CPU
        .read(|key| limits.get(key))
        .map_err(|(pointer, why)| ParseFault::new(PARSE_METADATA, format!("`{pointer}` {why}")))?;
    Ok(time.map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0)))
}

/// `write`, or `none`, which is the default.
fn writes(block: &Fields<'_>, key: &str) -> Result<bool, ParseFault> {
    match block.string(key)?.as_deref() {
        None | Some("none") => Ok(false),
        Some("write") => Ok(true),
        Some(other) => Err(unknown_word(&block.pointer(key), other, &["none", "write"])),
    }
}

fn paths(fs: &Fields<'_>, key: &str) -> Result<Option<Vec<String>>, ParseFault> {
    let Some(paths) = fs.strings(key)? else { return Ok(None) };
    for (at, path) in paths.iter().enumerate() {
        let rest = ROOTS.iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
        let why = if !(path.starts_with('/') || rest.len() < path.len()) {
            "must be absolute or begin with `{project_path}` or `{user_space}`"
        } else if !(rest.is_empty() || rest.starts_with('/')) {
            "must go on with `/` behind the name"
        } else if rest.contains(['{', '$', '*', '\0']) {
            "is a plain path: no other name, no variable, no pattern"
        } else if rest.split('/').any(|part| part == "..") {
            "must not lead up by `..`"
        } else {
            continue;
        };
        let pointer = format!("{}/{at}", fs.pointer(key));
        return Err(ParseFault::new(PARSE_METADATA, format!("`{pointer}` {why}")));
    }
    Ok(Some(paths))
}

/// A whole number from 1 on.
fn number(limits: &Fields<'_>, key: &str) -> Result<Option<u64>, ParseFault> {
    let read = |value: &Value| {
        let number = value.as_u64().filter(|number| (1..=1 << 40).contains(number));
        number.ok_or_else(|| wrong(&limits.pointer(key), "a whole number from 1 on", value))
    };
    limits.get(key).map(read).transpose()
}
