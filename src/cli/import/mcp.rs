//! `rye import mcp`: servers that the command line or a client's configuration names.

use std::path::{Path, PathBuf};

use super::{Foreign, To, read};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::id::ItemId;
use crate::import::{Drafts, McpClientConfig, McpImport, mcp_drafts, mcp_servers};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The server's command line, or its URL
    #[arg(
        value_name = "COMMAND|URL",
        required_unless_present = "config",
        conflicts_with = "config",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    server: Vec<String>,
    /// The configuration of an MCP client, a JSON file with `mcpServers`, whose servers are
    /// imported
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Of that file only this server
    #[arg(long, value_name = "NAME", requires = "config")]
    only: Vec<String>,
    /// A variable of your environment that the server gets; for a URL, its bearer token
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// A variable that the server gets with this value, which everybody reads in the items; with
    /// `--config` its name alone
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, Option<String>)>,
    /// What of the network the server may reach; by default all for a program that fetches
    /// packages, and nothing for others
    #[arg(long, value_name = "NET", value_parser = ["none", "loopback", "any"])]
    net: Option<String>,
    /// A folder that the server may write
    #[arg(long, value_name = "PATH")]
    write: Vec<String>,
    /// A file or folder of this folder that the server loads beside those that the command line
    /// names; it is copied and signed with them
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// The folder of the items
    #[arg(long, value_name = "FOLDER", default_value = "imported")]
    category: String,
    #[command(flatten)]
    to: To,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let (from, drafts) = match &args.config {
        Some(config) => (config.clone(), servers_of_client(args, config, context)?),
        None => (PathBuf::from(args.server.join(" ")), one_server(args, context)?),
    };
    Foreign { from: &from, drafts, left_out: Vec::new(), to: &args.to }.import(context, out)
}

/// A variable's name, with or without a value.
fn variable(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match is_name && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        true if value.as_deref().is_some_and(|value| value.contains("${")) => {
            Err("its value holds `${`, which a call would fill in".into())
        }
        true => Ok((name.to_owned(), value)),
        false => Err("it does not begin with the name of a variable".into()),
    }
}

/// The drafts of the server that the command line names.
fn one_server(args: &Args, context: &Context) -> Result<Drafts, Failure> {
    let category = args.category.parse::<ItemId>()?;
    let env = args.env.iter().map(|(name, value)| match value {
        Some(value) => Ok((name.clone(), value.clone())),
        None => Err(CliError::Usage {
            message: format!("`--env {name}` has no value"),
            help: Some(format!("give `--env {name}=VALUE`, or `--secret {name}`")),
        }),
    });
    let env = env.collect::<Result<Vec<_>, _>>()?;
    let import = McpImport {
        words: &args.server,
        secrets: &args.secret,
        known: &[],
        env: &env,
        net: args.net.as_deref(),
        writes: &args.write,
        files: &args.file,
        category: &category,
    };
    mcp_drafts(&import, &context.rye()?)
}

/// The drafts of the servers that a client's configuration names.
fn servers_of_client(args: &Args, path: &Path, context: &Context) -> Result<Drafts, Failure> {
    let category = args.category.parse::<ItemId>()?;
    let text = read(path)?;
    let plain: Vec<_> = args.env.iter().map(|(name, _)| name.clone()).collect();
    let (only, secrets) = (&args.only, &args.secret);
    let config =
        McpClientConfig { path, text: &text, only, plain: &plain, secrets, category: &category };
    let (items, faults) = (Vec::new(), Vec::new());
    let (servers, remarks) = match mcp_servers(&config) {
        Ok(read) => read,
        Err(faults) => return Ok(Drafts { items, remarks: Vec::new(), faults }),
    };
    let mut all = Drafts { items, remarks, faults };
    let rye = context.rye()?;
    for server in &servers {
        let given = |(name, value): &(String, String)| {
            let named = args.env.iter().find(|(known, _)| known == name);
            let value = named.and_then(|(_, value)| value.clone()).unwrap_or_else(|| value.clone());
            (name.clone(), value)
        };
        let env: Vec<_> = server.env.iter().map(given).collect();
        let import = McpImport {
            words: &server.words,
            secrets: &server.secrets,
            known: &server.known,
            env: &env,
            net: args.net.as_deref(),
            writes: &args.write,
            files: &args.file,
            category: &server.category,
        };
        let drafts = mcp_drafts(&import, &rye)?;
        let name = server.category.name();
        all.items.extend(drafts.items);
        all.remarks.extend(drafts.remarks.into_iter().map(|remark| format!("{name}: {remark}")));
        all.faults.extend(drafts.faults);
    }
    Ok(all)
}
