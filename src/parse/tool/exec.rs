//! The `exec` block: a program that speaks the exec protocol (exec-protocol 1.1). Unknown keys are
//! faults, because a typing error must not change what runs.

use serde_json::Value;

use super::argument::Argument;
use super::fields::{Fields, string, unknown_word, wrong};
use super::files::{self, add};
use crate::base::durations::TIMEOUT_MAX_MS;
use crate::base::limits::OUTPUT_BYTES;
use crate::base::text::escape_line;
use crate::base::time::{TimeKey, as_ms};
use crate::parse::error::{PARSE_METADATA, ParseFault};
use crate::space::Glob;
use crate::verify::{FileList, PartsRoot};

/// Most calls that a server is sent before it answered the first: each is held in memory.
const EXEC_IN_FLIGHT: usize = 1024;

/// The key of an item that holds the digests of `exec.files`.
pub(super) const FILES_SHA256: &str = "files_sha256";

/// A program, and how rye talks to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exec {
    /// Absolute, a bare name, or a path from the folder of the item's own file.
    pub(crate) command: String,
    pub(crate) args: Vec<Argument>,
    pub(crate) mode: ExecMode,
    /// The time for one call in milliseconds; `None` if the item does not say.
    pub(crate) timeout_ms: Option<u64>,
    /// The key that gives it.
    pub(crate) timeout_key: &'static str,
    pub(crate) env_base: EnvBase,
    /// The greatest size of one answer, in bytes.
    pub(crate) max_output_bytes: usize,
    /// The number of calls that a server gets before it answers the first.
    pub(crate) max_in_flight: usize,
    /// A call may be sent again after the server died during it.
    pub(crate) idempotent: bool,
    /// How long an idle server is kept, in milliseconds; `None` if the item does not say.
    pub(crate) idle_timeout_ms: Option<u64>,
}

/// How long the program lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecMode {
    /// One process a call.
    OneShot,
    /// One process for many calls.
    Server,
}

impl ExecMode {
    /// The last segment of the runtime's id.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneShot => "oneshot",
            Self::Server => "server",
        }
    }

    /// The mode that a runtime names in `config.protocol`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::OneShot, Self::Server].into_iter().find(|mode| mode.name() == name)
    }
}

/// The base of a program's environment, to which the requested names are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EnvBase {
    /// The fixed list of core 7.5.
    #[default]
    Minimal,
    None,
    /// All variables of the host, except those that decide about trust.
    Inherit,
}

const KEYS: [&str; 13] = [
    "command",
    "args",
    "runtime",
    "timeout",
    "timeout_ms",
    "env",
    "env_base",
    "files",
    "max_output_bytes",
    "max_in_flight",
    "idempotent",
    "idle_timeout",
    "idle_timeout_ms",
];

const TIMEOUT: TimeKey = TimeKey::of_ms("/exec/timeout", "/exec/timeout_ms", TIMEOUT_MAX_MS);
const IDLE: TimeKey = TimeKey::of_ms("/exec/idle_timeout", "/exec/idle_timeout_ms", TIMEOUT_MAX_MS);

/// The values of an `exec` block.
pub(super) struct Block {
    pub(super) exec: Exec,
    /// The names that it asks the host for.
    pub(super) env_names: Vec<String>,
    pub(super) files: Option<FileList>,
}

/// The header's `exec` block.
///
/// # Errors
/// `parse.metadata`, `parse.limit`
pub(super) fn exec(fields: &Fields<'_>) -> Result<Option<Block>, ParseFault> {
    let Some(block) = fields.fields("exec")? else {
        return match fields.get(FILES_SHA256) {
            Some(_) => Err(bad("/files_sha256", "belongs to an `exec` block, and there is none")),
            None => Ok(None),
        };
    };
    block.only(&KEYS)?;
    for key in ["files", "exec_files", "env_config", "config"] {
        let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
        if fields.get(key).is_some_and(|value| !is_empty(value)) {
            let why = "stands beside `exec`, which says what is run and with which files";
            return Err(bad(&format!("/{key}"), why));
        }
    }
    let command = block.string("command")?.filter(|command| !command.trim().is_empty());
    let command = command.ok_or_else(|| bad("/exec/command", "is missing"))?;
    let ms = |time: &TimeKey| match time.read(|key| block.get(key)) {
        Ok(time) => Ok(time.map(as_ms)),
        Err((pointer, why)) => Err(bad(pointer, &why)),
    };
    let most = |key: &str, most: usize| {
        let number = number(&block, key, u64::try_from(most).unwrap_or(u64::MAX))?;
        Ok::<_, ParseFault>(number.and_then(|number| usize::try_from(number).ok()))
    };
    let exec = Exec {
        command,
        args: arguments(&block)?,
        mode: match block.string("runtime")?.as_deref() {
            None | Some("exec") => ExecMode::OneShot,
            Some("server") => ExecMode::Server,
            Some(other) => return Err(unknown_word("/exec/runtime", other, &["exec", "server"])),
        },
        timeout_ms: ms(&TIMEOUT)?,
        timeout_key: if block.get("timeout").is_some() { "timeout" } else { "timeout_ms" },
        env_base: match block.string("env_base")?.as_deref() {
            None | Some("minimal") => EnvBase::Minimal,
            Some("none") => EnvBase::None,
            Some("inherit") => EnvBase::Inherit,
            Some(other) => {
                return Err(unknown_word("/exec/env_base", other, &["minimal", "none", "inherit"]));
            }
        },
        max_output_bytes: most("max_output_bytes", OUTPUT_BYTES)?.unwrap_or(OUTPUT_BYTES),
        max_in_flight: most("max_in_flight", EXEC_IN_FLIGHT)?.unwrap_or(1),
        idempotent: block.truth("idempotent")?.unwrap_or(false),
        idle_timeout_ms: ms(&IDLE)?,
    };
    if exec.mode == ExecMode::OneShot {
        for key in ["max_in_flight", "idempotent", "idle_timeout", "idle_timeout_ms"] {
            if block.get(key).is_some() {
                return Err(bad(&format!("/exec/{key}"), "is for `runtime: server` alone"));
            }
        }
    }
    let (env_names, files) = (block.env_names("env")?, listed(fields, &block)?);
    Ok(Some(Block { exec, env_names, files }))
}

/// `exec.files`, with the digests that `rye sign` wrote beside the block.
fn listed(fields: &Fields<'_>, block: &Fields<'_>) -> Result<Option<FileList>, ParseFault> {
    let digests = fields.fields(FILES_SHA256)?;
    let Some(list) = block.list("files")?.filter(|list| !list.is_empty()) else {
        return Ok(None);
    };
    let all = Glob::new("**").map_err(|why| bad("/exec/files", &why))?;
    let mut listed =
        FileList { root: PartsRoot::ToolDir, programs: vec![all], ..FileList::default() };
    for (at, entry) in list.iter().enumerate() {
        let pointer = format!("/exec/files/{at}");
        let path = string(entry, &pointer)?;
        add(&mut listed, path.strip_prefix("./").unwrap_or(&path), None, &pointer)?;
    }
    let wanted = listed.clone();
    for (path, digest) in digests.iter().flat_map(Fields::map) {
        let pointer = format!("/{FILES_SHA256}/{path}");
        let digest = string(digest, &pointer)?;
        let is_wanted = wanted.digests.keys().any(|known| known.as_str() == path)
            || wanted.patterns.iter().any(|pattern| pattern.matches(path));
        if digest == files::PATTERN || digest.is_empty() {
            return Err(bad(&pointer, "is not a SHA-256 digest"));
        }
        // An entry of an earlier list is no longer a file of the tool; signing removes it.
        if is_wanted {
            add(&mut listed, path, Some(&digest), &pointer)?;
        }
    }
    Ok(Some(listed))
}

/// The arguments: each a string, or `{data: string}`.
fn arguments(block: &Fields<'_>) -> Result<Vec<Argument>, ParseFault> {
    let list = block.list("args")?.map(Vec::as_slice).unwrap_or_default();
    let read = |(at, value): (usize, &Value)| {
        let wrong = || wrong(&format!("{}/{at}", block.pointer("args")), "a string", value);
        Argument::read(value).ok_or_else(wrong)
    };
    list.iter().enumerate().map(read).collect()
}

fn number(block: &Fields<'_>, key: &str, most: u64) -> Result<Option<u64>, ParseFault> {
    let Some(value) = block.get(key) else { return Ok(None) };
    let number = value.as_u64().filter(|number| (1..=most).contains(number));
    let why = || bad(&block.pointer(key), &format!("is not a whole number from 1 to {most}"));
    number.map(Some).ok_or_else(why)
}

fn bad(pointer: &str, why: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`{}` {why}", escape_line(pointer)))
}
