//! `rye remote`: the nodes that you named.

use std::time::Duration;

use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::confirm::{confirm, confirm_always};
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::Address;
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnose as _, Failure};
use crate::id::{Fingerprint, ItemId};
use crate::remote::{NamedRemote, NodeIdentity, REMOTE_UNKNOWN_KEY, RemoteError, RemoteTable};
use crate::runs::{Node, RemotePlan, refused_json};
use crate::rye::{CallPolicy, LockMode, RemoteParts, Rye, now, remotes_of};
use crate::space::Glob;
use crate::trace::Quiet;
use crate::verify::{own_text, write_own};

/// Name nodes that run items for you, and ask them
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Name a node, and pin its key: it is shown, and you are asked
    Add {
        /// The name, as in `--target remote:NAME`; `default` is what `--target remote` means
        #[arg(value_name = "NAME")]
        name: String,
        /// Where the node is, such as <https://gpu.example:8700>
        #[arg(value_name = "URL")]
        url: String,
        /// The fingerprint of its key, from its operator; then nothing is asked
        #[arg(long, value_name = "FINGERPRINT")]
        node: Option<String>,
        /// How long it may be out of reach, such as `2m`; by default a minute
        #[arg(long, value_name = "TIME", value_parser = super::execute::time)]
        timeout: Option<Duration>,
    },
    /// List the nodes that you named
    List,
    /// Forget a node
    Remove {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Show what would go to a node with an item, and what would come back
    Plan {
        /// The item
        #[arg(value_name = "REF|PATH", add = super::complete::runnable())]
        item: String,
    },
    /// Ask a node who it is, what time it has, and if you may ask it
    Ping {
        /// Its name
        #[arg(value_name = "NAME", default_value = "default")]
        name: String,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Add { name, url, node, timeout } => {
            add(name, url, (node.as_deref(), *timeout), context, out)
        }
        Verb::List => list(context, out),
        Verb::Remove { name } => remove(name, context, out),
        Verb::Plan { item } => plan(item, context, out),
        Verb::Ping { name } => ping(name, context, out),
    }
}

/// The nodes that the person named.
///
/// # Errors
/// `remote.bad_config`
pub(super) fn table(rye: &Rye) -> Result<RemoteTable, Failure> {
    remotes_of(&CallPolicy::new(rye, LockMode::Listed).loader(&Quiet))
}

/// The id of the config of the user space that holds the remotes.
fn config() -> Result<ItemId, Failure> {
    Ok("remotes/remotes".parse()?)
}

fn usage(message: String, help: &str) -> CliError {
    CliError::Usage { message, help: Some(help.to_owned()) }
}

/// Changes the config of the user space; comments and the order stay.
fn change(rye: &Rye, change: impl FnOnce(&mut Table)) -> Result<(), Failure> {
    let (id, user) = (config()?, rye.spaces().user()?);
    for ext in ["yaml", "yml", "json"] {
        if user.path(&format!("config/{id}.{ext}")).exists() {
            let message = format!("you keep remotes in `.ai/config/{id}.{ext}`");
            return Err(usage(message, "edit that file, and sign it with `rye sign`").into());
        }
    }
    let text = own_text(&rye.trust(), &id)?.unwrap_or_default();
    let bad = |error: toml_edit::TomlError| RemoteError::BadConfig { why: error.to_string() };
    let mut document: DocumentMut = text.parse().map_err(bad)?;
    let remotes = document.entry("remotes").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let remotes = remotes
        .as_table_mut()
        .ok_or_else(|| RemoteError::BadConfig { why: "`remotes` is not a table".into() })?;
    change(remotes);
    write_own(user, &id, &document.to_string(), &rye.signing().own_pair()?, now())?;
    Ok(())
}

fn add(
    name: &str,
    url: &str,
    (pinned, timeout): (Option<&str>, Option<Duration>),
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        let message = format!("`{}` is not a name for a node", escape_line(name));
        return Err(usage(message, "a name has letters, digits, `-` and `_`").into());
    }
    let rye = context.rye_of_user()?;
    let pair = rye.signing().own_pair()?;
    let address = Address::parse(url).map_err(|why| {
        usage(format!("`{}` {why}", escape_line(url)), "such as https://gpu.example:8700")
    })?;
    NamedRemote::check_address(name, &address)?;
    let fingerprint = |text: &str| {
        text.parse::<Fingerprint>().map_err(|_| {
            let message = format!("`{}` is not a fingerprint", escape_line(text));
            usage(message, "its operator sees it with `rye node identity`")
        })
    };
    let pinned = pinned.map(fingerprint).transpose()?;
    let identity = NodeIdentity::ask(&address, rye.host(), &rye.located().vars)?;
    let node = identity.key.fingerprint();
    NamedRemote::new(name, url, pinned.unwrap_or(node), timeout)?.check(&identity.key)?;
    match pinned {
        Some(_) => confirm(&format!("call it `{name}`"), &node.to_string(), context, out)?,
        None => {
            out.note(&format!("{} has the key {node}", escape_line(&address.origin())));
            out.note("compare it with `rye node identity` there");
            confirm_always(&format!("call it `{name}`"), &node.to_string(), context, out)?;
        }
    }
    let origin = address.origin();
    change(&rye, |remotes| {
        let mut table = Table::new();
        table["url"] = value(origin.clone());
        table["node"] = value(node.to_string());
        table["key"] = value(identity.key.to_text());
        if let Some(timeout) = timeout {
            table["timeout"] = value(format!("{}ms", timeout.as_millis()));
        }
        remotes[name] = Item::Table(table);
    })?;
    let own = pair.public().to_text();
    if out.is_json() {
        out.success(json!({"name": name, "url": origin, "node": node, "own_key": own}));
        return Ok(Exit::DONE);
    }
    out.line(&format!("`{name}` is the node {node} at {origin}"));
    out.line("if it does not know you yet:");
    show_authorize(&own, out);
    Ok(Exit::DONE)
}

/// Shows the line that lets a key in, to be copied.
fn show_authorize(own: &str, out: &mut Out) {
    out.line("let its operator run there:");
    out.exact(&format!("  rye node authorize {own} \\\n    --scopes 'execute:tool:rye/bash'\n"));
}

fn list(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let remotes = table(&context.rye()?)?.all()?;
    if out.is_json() {
        let row = |remote: &NamedRemote| json!({"name": remote.name, "url": remote.url.origin(), "node": remote.node});
        out.success(json!({"remotes": remotes.iter().map(row).collect::<Vec<_>>()}));
        return Ok(Exit::DONE);
    }
    for remote in &remotes {
        let (name, url) = (escape_line(&remote.name), escape_line(&remote.url.origin()));
        out.line(&format!("{name:<12}  {}  {url}", remote.node));
    }
    if remotes.is_empty() {
        out.line("you named no node yet: `rye remote add NAME URL`");
    }
    Ok(Exit::DONE)
}

fn remove(name: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye_of_user()?;
    table(&rye)?.find(name)?;
    confirm(&format!("forget the node `{}`", escape_line(name)), "", context, out)?;
    let mut is_there = false;
    change(&rye, |remotes| is_there = remotes.remove(name).is_some())?;
    if !is_there {
        let message = format!("`{}` is not a remote of your own", escape_line(name));
        return Err(usage(message, "see `rye show config:remotes/remotes`").into());
    }
    if out.is_json() {
        out.success(json!({"name": name}));
    } else {
        out.line(&format!("`{}` is forgotten", escape_line(name)));
    }
    Ok(Exit::DONE)
}

fn plan(item: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let parts = RemoteParts::find(&rye, &query(item, &rye)?)?;
    let plan = RemotePlan::new(&rye, &parts)?;
    let files = plan.tree.manifest.files();
    let total: u64 = files.values().map(|file| file.size).sum();
    let left_out: Vec<Value> = plan.tree.left_out.iter().map(refused_json).collect();
    if out.is_json() {
        let outputs: Vec<&str> = parts.files.outputs.iter().map(Glob::text).collect();
        let rows = files.iter().map(|(path, file)| {
            json!({"path": path.to_string(), "size": file.size, "sha256": file.sha256.to_string()})
        });
        out.success(json!({
            "item_id": parts.item, "files": rows.collect::<Vec<_>>(), "bytes": total,
            "left_out": left_out, "secrets": parts.secrets, "outputs": outputs,
        }));
        return Ok(Exit::DONE);
    }
    for (path, file) in files {
        out.line(&format!("{:>12}  {}", file.size, escape_line(path.as_str())));
    }
    match files.len() {
        0 => out.line("nothing goes: the node has the item itself"),
        1 => out.line(&format!("{total:>12}  bytes in 1 file go")),
        count => out.line(&format!("{total:>12}  bytes in {count} files go")),
    }
    for refused in &plan.tree.left_out {
        out.line(&format!("{:>12}  {}: {}", "stays", escape_line(&refused.path), refused.why));
    }
    for name in &parts.secrets {
        out.line(&format!("{:>12}  the node needs its own value", escape_line(name)));
    }
    for pattern in &parts.files.outputs {
        out.line(&format!("{:>12}  {}", "comes back", escape_line(pattern.text())));
    }
    Ok(Exit::DONE)
}

fn ping(name: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let remote = table(&rye)?.find(name)?;
    let identity = NodeIdentity::ask(&remote.url, rye.host(), &rye.located().vars)?;
    remote.check(&identity.key)?;
    let ahead = identity.now - jiff::Timestamp::now().as_second();
    let asked = Node::new(&rye, remote.clone())?;
    let asked = asked.client().json("GET", "/threads", None, None);
    let is_known = match asked {
        Ok(_) => true,
        Err(error) if error.code() == REMOTE_UNKNOWN_KEY => false,
        Err(error) => return Err(error.into()),
    };
    if out.is_json() {
        out.success(json!({
            "name": remote.name, "url": remote.url.origin(), "node": remote.node,
            "version": identity.version, "clock_ahead_seconds": ahead, "authorized": is_known,
        }));
        return Ok(Exit::DONE);
    }
    out.line(&format!("`{}` is up: rye {}", escape_line(name), escape_line(&identity.version)));
    out.line(&format!("  node   {}", remote.node));
    out.line(&format!("  clock  {ahead:+} s"));
    out.line(match is_known {
        true => "  you    may ask it",
        false => "  you    may not ask it yet",
    });
    if !is_known {
        show_authorize(&rye.signing().own_pair()?.public().to_text(), out);
    }
    Ok(Exit::DONE)
}
