//! `rye mcp install`: the entry for rye in the configuration of an agent's client.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::confirm::{ask, confirm};
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::bytes::{Bounded, read_plain, refuse_links, write_atomic};
use crate::base::limits::ITEM_BYTES;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Failure, Style};
use crate::parse::json as parse_json;
use crate::rye::Rye;

/// Write the entry for rye into the configuration of a client, after showing it
///
/// The entry starts `rye mcp`. In a file of the project it serves that project; in one of your home
/// it names this project as its root.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = NAMES)]
    client: String,
    /// Have the server ask the person at the client what tools ask (`rye mcp --help`)
    #[arg(long)]
    approve_by_elicitation: bool,
    /// Only show the entry and where it goes
    #[arg(long)]
    dry_run: bool,
}

/// The name of the entry.
const ENTRY: &str = "rye";
/// The option of `rye mcp` that lets a person at the client decide what tools ask.
const ASKS: &str = "--approve-by-elicitation";

/// A program that starts MCP servers, and where it keeps which.
struct Client {
    name: &'static str,
    base: Base,
    /// Below the base.
    path: &'static str,
    /// The key that holds the servers; in TOML a table.
    key: &'static str,
    /// It wants to be told that a server is started by a command.
    is_typed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Home,
    Project,
}

const NAMES: [&str; 7] =
    ["claude-code", "claude-desktop", "codex", "cursor", "gemini", "vscode", "windsurf"];

const fn client(name: &'static str, base: Base, path: &'static str) -> Client {
    Client { name, base, path, key: "mcpServers", is_typed: false }
}

const CLIENTS: [Client; 7] = [
    client("claude-code", Base::Project, ".mcp.json"),
    client("claude-desktop", Base::Home, ".config/Claude/claude_desktop_config.json"),
    Client { key: "mcp_servers", ..client("codex", Base::Home, ".codex/config.toml") },
    client("cursor", Base::Home, ".cursor/mcp.json"),
    client("gemini", Base::Home, ".gemini/settings.json"),
    Client {
        key: "servers",
        is_typed: true,
        ..client("vscode", Base::Project, ".vscode/mcp.json")
    },
    client("windsurf", Base::Home, ".codeium/windsurf/mcp_config.json"),
];

impl Client {
    fn place(&self, rye: &Rye) -> Option<PathBuf> {
        let base = match self.base {
            Base::Home => PathBuf::from(rye.located().vars.text("HOME")?),
            Base::Project => rye.spaces().project_path().to_owned(),
        };
        Some(base.join(self.path))
    }

    /// The entry; `more` are options of `rye mcp`.
    fn entry(&self, rye: &Rye, more: &[&str]) -> Value {
        let project = rye.spaces().project_path().display().to_string();
        // A file of the project may be used on other machines, and starts where the project is.
        let (command, root) = match self.base {
            Base::Project => (ENTRY.to_owned(), &[][..]),
            Base::Home => (program(), &["--root", &project][..]),
        };
        let args = [&["mcp"], root, more].concat();
        let mut entry = Map::new();
        if self.is_typed {
            entry.insert("type".into(), "stdio".into());
        }
        entry.insert("command".into(), command.into());
        entry.insert("args".into(), json!(args));
        entry.into()
    }

    fn is_toml(&self) -> bool {
        Path::new(self.path).extension().is_some_and(|extension| extension == "toml")
    }

    /// The entry that is there now, whatever it says.
    fn present(&self, text: &str) -> Result<Option<Value>, String> {
        let document: Value = match self.is_toml() {
            true => toml::from_str(text).map_err(|error| error.message().to_owned())?,
            false if text.trim().is_empty() => json!({}),
            false => json_text(text)?,
        };
        let Value::Object(top) = &document else { return Err("it is not an object".into()) };
        match top.get(self.key) {
            None => Ok(None),
            Some(Value::Object(servers)) => Ok(servers.get(ENTRY).cloned()),
            Some(_) => Err(format!("its `{}` is not an object", self.key)),
        }
    }

    /// The text with the entry in it; all else says what it said.
    fn with_entry(&self, text: &str, entry: &Value) -> Result<String, String> {
        if self.is_toml() {
            let mut document: toml_edit::DocumentMut =
                text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
            let mut table = toml_edit::Table::new();
            let words = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let args: toml_edit::Array = words.collect();
            table
                .insert("command", toml_edit::value(entry["command"].as_str().unwrap_or_default()));
            table.insert("args", toml_edit::value(args));
            let servers = document.entry(self.key).or_insert_with(|| {
                let mut servers = toml_edit::Table::new();
                servers.set_implicit(true);
                toml_edit::Item::Table(servers)
            });
            servers[ENTRY] = toml_edit::Item::Table(table);
            return Ok(document.to_string());
        }
        let mut document: Value = match text.trim().is_empty() {
            true => json!({}),
            false => json_text(text)?,
        };
        document[self.key][ENTRY] = entry.clone();
        serde_json::to_string_pretty(&document)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string())
    }
}

/// A key that stands twice is a fault: writing it again would leave out the first of them.
fn json_text(text: &str) -> Result<Value, String> {
    parse_json(text).map_err(|fault| fault.why)
}

/// The path of this program, which a client starts with a `PATH` of its own.
fn program() -> String {
    let own = std::env::current_exe().ok();
    own.map_or_else(|| ENTRY.to_owned(), |own| own.display().to_string())
}

/// The text of a client's file, empty where there is none. A clone may have put anything in its
/// place, so a link or a pipe is refused.
fn read(path: &Path) -> Result<String, String> {
    match read_plain(path, ITEM_BYTES) {
        Ok(Bounded::All(bytes)) => {
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
        }
        Ok(Bounded::More) => Err(format!("it has more than {ITEM_BYTES} bytes")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let client = CLIENTS.iter().find(|client| client.name == args.client);
    let place = client.and_then(|client| Some((client, client.place(&rye)?)));
    let (client, path) = place.ok_or_else(|| CliError::Usage {
        message: "HOME is not set, so nobody knows where the client keeps its servers".into(),
        help: None,
    })?;
    if args.approve_by_elicitation && client.base == Base::Project {
        return Err(CliError::Usage {
            message: format!(
                "`{}` goes with the project, and would switch it on for everybody",
                client.path
            ),
            help: Some(format!(
                "give `rye mcp {ASKS}` in the client's own configuration, which is yours alone"
            )),
        }
        .into());
    }
    let more: &[&str] = if args.approve_by_elicitation { &[ASKS] } else { &[] };
    let (entry, shown) = (client.entry(&rye, more), path.display().to_string());
    let by_hand = |why: String| CliError::Usage {
        message: format!("`{}` cannot be changed: {}", escape_line(&shown), escape_line(&why)),
        help: Some(format!("add this below `{}` by hand: `\"{ENTRY}\": {entry}`", client.key)),
    };
    if client.base == Base::Project {
        let project = rye.spaces().project_path();
        refuse_links(project, Path::new(client.path)).map_err(|why| by_hand(why.to_string()))?;
    }
    let text = read(&path).map_err(by_hand)?;
    let present = client.present(&text).map_err(by_hand)?;
    let is_there = present.as_ref() == Some(&entry);
    let changed = client.with_entry(&text, &entry).map_err(by_hand)?;
    if !out.is_json() {
        out.line(&out.paint().style(Style::Strong, &escape_line(&shown)));
        out.line(&format!("  {}.{ENTRY}: {}", client.key, escape_line(&entry.to_string())));
        if let Some(old) = present.as_ref().filter(|_| !is_there) {
            out.line(&format!("  in the place of: {}", escape(&old.to_string())));
        }
    }
    let mut is_written = false;
    if !is_there && !args.dry_run {
        confirm(&format!("write `{shown}`"), "", context, out)?;
        out.flush();
        let what = format!("write `{}`", escape_line(&shown));
        let said = match context.common.yes {
            true => Some(true),
            false if out.is_json() => None,
            false => ask("Write it? [y/N] "),
        };
        match said {
            Some(true) => {}
            Some(false) => return Err(CliError::Declined.into()),
            None => return Err(CliError::NotConfirmed { what }.into()),
        }
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written.and_then(|()| write_atomic(&path, changed.as_bytes(), 0o600)).map_err(
            |source| {
                let why = source.to_string();
                Failure::from(by_hand(why))
            },
        )?;
        is_written = true;
    }
    if out.is_json() {
        out.success(json!({
            "client": client.name, "path": shown, "key": client.key, "entry": entry,
            "was": present, "written": is_written,
        }));
    } else if is_there {
        out.line("it is there already");
    } else if is_written {
        out.line("written; start the client again to have it read its configuration");
    }
    Ok(Exit::DONE)
}

/// Which clients that seem to be here have an entry, and what is wrong with the file of one.
pub(super) fn entries(rye: &Rye) -> Vec<(&'static str, String, Result<bool, String>)> {
    let of = |client: &Client| {
        let path = client.place(rye)?;
        // A client of the home is here where its folder is.
        let is_here = match client.base {
            Base::Home => path.parent().is_some_and(Path::is_dir),
            Base::Project => path.is_file(),
        };
        let has_entry = || Ok(client.present(&read(&path)?)?.is_some());
        is_here.then(|| (client.name, path.display().to_string(), has_entry()))
    };
    CLIENTS.iter().filter_map(of).collect()
}
