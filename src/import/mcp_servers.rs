//! The servers that the configuration of an MCP client names, the `mcpServers` that most of them
//! share.
//!
//! A client's file holds values of variables, and nothing tells which of them are secret. So the
//! person says it of each: one that stands in the items, or one that a call asks the caller's
//! environment for.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::doc::{Doc, Fields, Spot};
use super::error::{IMPORT_MISSING, IMPORT_NAME, IMPORT_VALUE};
use super::mcp::item_name;
use crate::base::text::escape_line;
use crate::diagnostic::Diagnostic;
use crate::id::ItemId;

/// The input of the reader.
pub(crate) struct McpClientConfig<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
    /// The servers that are wanted; all without any.
    pub(crate) only: &'a [String],
    /// Variables whose values may stand in the items.
    pub(crate) plain: &'a [String],
    /// Variables that a call gets from the caller's environment.
    pub(crate) secrets: &'a [String],
    /// The folder that each server gets a folder in.
    pub(crate) category: &'a ItemId,
}

/// A server that a configuration names.
pub(crate) struct NamedServer {
    pub(crate) category: ItemId,
    /// The command line, or the URL alone.
    pub(crate) words: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) secrets: Vec<String>,
    /// Values of secrets that the file gives; they are used for the import alone.
    pub(crate) known: Vec<(String, String)>,
}

/// The keys under which clients keep their servers.
const SERVERS: [&str; 2] = ["mcpServers", "servers"];
/// The keys under which clients keep an address.
const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];
/// Keys that change what a server is started with, and that an item has no place for.
const NOT_TAKEN: [&str; 2] = ["cwd", "envFile"];
/// Keys that are read.
const READ: [&str; 6] = ["command", "args", "env", "headers", "type", "disabled"];

/// The servers of a configuration, and remarks on what is left out.
///
/// # Errors
/// Every fault of the document.
pub(crate) fn mcp_servers(
    config: &McpClientConfig<'_>,
) -> Result<(Vec<NamedServer>, Vec<String>), Vec<Diagnostic>> {
    let shown = config.path.display().to_string();
    let text = without_comments(config.text);
    let doc = Doc::new(&shown, &text);
    let (mut found, mut remarks) = (Vec::new(), Vec::new());
    if let Some(value) = doc.json() {
        read(config, &doc, &value, &mut found, &mut remarks);
    }
    let faults = doc.into_faults();
    if faults.is_empty() { Ok((found, remarks)) } else { Err(faults) }
}

/// Replaces comments and trailing commas, which other clients accept, by spaces. Positions stay.
fn without_comments(text: &str) -> String {
    let (mut out, mut chars, mut comma) = (String::new(), text.chars().peekable(), None);
    while let Some(char) = chars.next() {
        let comment = match (char, chars.peek()) {
            ('/', Some('/')) => Some('\n'),
            ('/', Some('*')) => Some('/'),
            _ => None,
        };
        if let Some(end) = comment {
            chars.next();
            out.push_str("  ");
            let mut before = ' ';
            for char in chars.by_ref() {
                out.push(if char == '\n' { char } else { ' ' });
                if char == end && (end == '\n' || before == '*') {
                    break;
                }
                before = char;
            }
            continue;
        }
        match char {
            ',' => comma = Some(out.len()),
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
            }
            _ if char.is_whitespace() => {}
            _ => comma = None,
        }
        out.push(char);
        if char == '"' {
            let mut is_escaped = false;
            for char in chars.by_ref() {
                out.push(char);
                if char == '"' && !is_escaped {
                    break;
                }
                is_escaped = char == '\\' && !is_escaped;
            }
        }
    }
    out
}

fn read(
    config: &McpClientConfig<'_>,
    doc: &Doc<'_>,
    value: &Value,
    found: &mut Vec<NamedServer>,
    remarks: &mut Vec<String>,
) {
    let Some(top) = Spot::top(doc).map(value) else { return };
    let Some(servers) = SERVERS.into_iter().find(|key| top.has(key)).and_then(|key| top.map(key))
    else {
        top.spot.fault_unless_others(IMPORT_MISSING, "has no `mcpServers`");
        return;
    };
    for name in config.only.iter().filter(|name| !servers.has(name)) {
        let why = format!("has no server `{}`", escape_line(name));
        servers.spot.fault_of_key(IMPORT_MISSING, &why);
    }
    let mut names: HashMap<ItemId, &String> = HashMap::new();
    for (name, value) in servers.entries() {
        if !(config.only.is_empty() || config.only.contains(name)) {
            continue;
        }
        let Some(entry) = servers.at(name).map(value) else { continue };
        if entry.get("disabled").and_then(Value::as_bool) == Some(true) && config.only.is_empty() {
            remarks.push(format!("`{}` is disabled there and left out", entry.spot));
            continue;
        }
        let category = format!("{}/{}", config.category, item_name(name));
        let Ok(category) = category.parse::<ItemId>() else {
            entry.spot.fault_of_key(IMPORT_NAME, "cannot name a folder of items");
            continue;
        };
        if let Some(other) = names.insert(category.clone(), name) {
            let other = escape_line(other);
            let why = format!(
                "would have the folder `{category}` that `{other}` has: give one of them another name"
            );
            entry.spot.fault_of_key(IMPORT_NAME, &why);
            continue;
        }
        found.extend(server(config, &entry, category, remarks));
    }
    if servers.entries().next().is_none() {
        servers.spot.fault_unless_others(IMPORT_MISSING, "names no server");
    }
}

fn server(
    config: &McpClientConfig<'_>,
    entry: &Fields<'_>,
    category: ItemId,
    remarks: &mut Vec<String>,
) -> Option<NamedServer> {
    let url = URLS.into_iter().find(|key| entry.has(key));
    for (key, _) in entry.entries() {
        let key = key.as_str();
        if NOT_TAKEN.contains(&key) {
            entry
                .at(key)
                .fault_of_key(IMPORT_VALUE, "has no place in an item: give the server a path");
        } else if !READ.contains(&key) && Some(key) != url {
            remarks.push(format!("`{}` means nothing here and is left out", entry.at(key)));
        }
    }
    let mut server = NamedServer {
        category,
        words: Vec::new(),
        env: Vec::new(),
        secrets: Vec::new(),
        known: Vec::new(),
    };
    match url {
        Some(url) => {
            server.words.push(entry.needed(url)?);
            if entry.has("env") {
                entry.at("env").fault_of_key(IMPORT_VALUE, "does not go with an address");
            }
            headers(config, entry, &mut server);
        }
        None => {
            server.words.push(entry.needed("command")?);
            server.words.extend(entry.strings("args").into_iter().map(|(_, word)| word));
            env(config, entry, &mut server);
        }
    }
    Some(server)
}

/// The variables: each is plain or secret, as the person said. One of which they said nothing does
/// not go out, whatever the file says of it.
fn env(config: &McpClientConfig<'_>, entry: &Fields<'_>, server: &mut NamedServer) {
    let Some(env) = entry.map("env") else { return };
    for (name, _) in env.entries() {
        let Some(value) = env.string(name) else { continue };
        if config.secrets.contains(name) {
            server.secrets.push(name.clone());
            if !value.contains("${") {
                server.known.push((name.clone(), value));
            }
        } else if value.contains("${") {
            let name = escape_line(name);
            let why = format!(
                "is filled in by its client: give `--secret {name}` to have the server get `{name}` \
                 of your environment"
            );
            env.at(&name).fault(IMPORT_VALUE, &why);
        } else if config.plain.contains(name) {
            server.env.push((name.clone(), value));
        } else {
            let name = escape_line(name);
            let why = format!(
                "may be secret: give `--secret {name}` to have it asked of the caller's environment, or \
                 `--env {name}` to have its value in the items, where everybody reads it"
            );
            env.at(&name).fault(IMPORT_VALUE, &why);
        }
    }
}

/// The bearer token, if the person named its variable: the file alone lets none out. A request of
/// rye has no other header of its own.
fn headers(config: &McpClientConfig<'_>, entry: &Fields<'_>, server: &mut NamedServer) {
    let Some(headers) = entry.map("headers") else { return };
    for (name, _) in headers.entries() {
        let Some(value) = headers.string(name) else { continue };
        let token = value.strip_prefix("Bearer ").and_then(reference);
        match token.filter(|_| name.eq_ignore_ascii_case("authorization")) {
            Some(token) if config.secrets.iter().any(|secret| secret == token) => {
                server.secrets.push(token.to_owned());
            }
            Some(token) => {
                let why = format!(
                    "asks for `{token}` of your environment: give `--secret {token}` to have it sent there"
                );
                headers.at(name).fault(IMPORT_VALUE, &why);
            }
            None => {
                let why = "is not taken: write `\"Authorization\": \"Bearer ${NAME}\"`, and set that variable";
                headers.at(name).fault(IMPORT_VALUE, why);
            }
        }
    }
}

/// The variable that a value refers to as a whole, as clients write it.
fn reference(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${")?.strip_suffix('}')?;
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some(name)
}
