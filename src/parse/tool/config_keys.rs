//! `config`: the keys that rye itself reads, by what runs the tool.
//!
//! Whatever rye runs with `config` alone may hold no other key, because a misspelt limit would be
//! none. The tool's own code may read the rest where the file is a program, and so may a runtime of
//! your own: there any key is free that was not meant for a limit.

use serde_json::{Map, Value};
use strsim::damerau_levenshtein;

use super::calls::SNIPPET;
use super::fields::Fields;
use crate::base::text::escape_line;
use crate::base::time::time_with_unit;
use crate::id::ItemId;
use crate::parse::error::{PARSE_METADATA, ParseFault};
use crate::space::HeaderStyle;

/// Those of a process.
const PROCESS: &[&str] =
    &["command", "args", "cwd", "input_data", "timeout", "timeout_ms", "packages", "protocol"];

/// Those of an HTTP request.
pub(crate) const REQUEST_KEYS: &[&str] = &[
    "method",
    "url",
    "headers",
    "auth",
    "body",
    "cleartext",
    "timeout",
    "timeout_ms",
    "connect_timeout",
    "connect_timeout_ms",
    "retry",
    "max_redirects",
    "max_response_bytes",
];

/// Those of a saved snippet: its time, and limits that are lower than what is configured.
const SNIPPET_KEYS: &[&str] = &[
    "timeout",
    "timeout_ms",
    "engine_ms",
    "max_tool_calls",
    "max_chain_steps",
    "max_memory_mb",
    "max_output_bytes",
];

/// The one of a tool of an MCP server, beside those of what reaches it.
const MCP: &str = "mcp";

/// Refuses a key that nothing would read.
///
/// # Errors
/// `parse.metadata`
pub(super) fn check(
    config: &Fields<'_>,
    style: &HeaderStyle,
    executor: Option<&ItemId>,
) -> Result<(), ParseFault> {
    let is_program = *style == HeaderStyle::Python;
    let executor = executor.map(ItemId::as_str).filter(|id| id.starts_with("rye/core/"));
    // Its code finds what it is given as `params`, and nothing of its header.
    if executor == Some(SNIPPET) {
        return config.only_or_x(SNIPPET_KEYS);
    }
    match executor.filter(|_| !is_program) {
        Some("rye/core/primitives/http_client" | "rye/core/runtimes/http/request") => {
            config.only_or_x(REQUEST_KEYS)
        }
        Some("rye/core/primitives/mcp" | "rye/core/runtimes/mcp/tool") => {
            config.only_or_x(&[PROCESS, REQUEST_KEYS, &[MCP]].concat())
        }
        Some(_) => config.only_or_x(PROCESS),
        None => match config.map().iter().find(|(key, value)| is_slip_of_a_limit(key, value)) {
            Some((key, _)) => Err(config.unknown(key, &LIMITS)),
            None => Ok(()),
        },
    }
}

/// Refuses a key of `config:execution/execution` that nothing would read.
///
/// # Errors
/// `parse.metadata`
pub(in crate::parse) fn check_limits(config: &Map<String, Value>) -> Result<(), ParseFault> {
    let fields = Fields::new(config);
    fields.only_or_x(&["defaults", "tools"])?;
    // A value of another type is told with the run that it is for.
    let section = |fields: &Fields<'_>, key: &str| match fields.get(key) {
        Some(section @ Value::Object(_)) => {
            Fields::from_value(section, fields.pointer(key))?.only_or_x(&["timeout"])
        }
        _ => Ok(()),
    };
    section(&fields, "defaults")?;
    let Some(tools @ Value::Object(_)) = fields.get("tools") else { return Ok(()) };
    let tools = Fields::from_value(tools, fields.pointer("tools"))?;
    for id in tools.map().keys() {
        if let Err(error) = id.parse::<ItemId>() {
            let why = format!(
                "`{}` must be an id such as `acme/x`: {error}",
                escape_line(&tools.pointer(id))
            );
            return Err(ParseFault::new(PARSE_METADATA, why));
        }
        section(&tools, id)?;
    }
    Ok(())
}

const LIMITS: [&str; 2] = ["timeout", "timeout_ms"];

/// Returns true if a key is a letter off a limit and its value is a time. A key that begins with
/// `timeout` is a word of its own, such as `timeout_s`.
fn is_slip_of_a_limit(key: &str, value: &Value) -> bool {
    let is_time =
        value.is_number() || value.as_str().is_some_and(|it| time_with_unit(it).is_some());
    let is_near = |known: &str| damerau_levenshtein(key, known) == 1;
    is_time && !key.starts_with(LIMITS[0]) && LIMITS.iter().any(|known| is_near(known))
}
