//! `rye import mcp`: servers that the command line or a client's configuration names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Foreign, To, faulty, read};
use crate::base::text::{escape_line, shell_word};
use crate::cli::confirm::confirm_always;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::host::DeclaredNet;
use crate::id::ItemId;
use crate::import::{
    Drafts, McpClientConfig, McpImport, NamedServer, masked, mcp_drafts, mcp_servers,
};
use crate::rye::Rye;

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
    /// imported. They are shown, and started or asked once you have said yes or gave `--yes`;
    /// `--dry-run` starts and asks none
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Of that file only this server
    #[arg(long, value_name = "NAME", requires = "config")]
    only: Vec<String>,
    /// A variable of your environment that the server gets; for a URL, its bearer token. With
    /// `--config` no other goes out, whatever the file asks for
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// A variable that the server gets with this value, which everybody reads in the items; with
    /// `--config` its name alone
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, Option<String>)>,
    /// The network that the server may reach: `none`, `loopback`, `any`, or hosts such as
    /// `api.example.org,*.example.net:8443`; by default all for a program that fetches packages,
    /// and nothing for others
    #[arg(long, value_name = "NET", value_parser = str::parse::<DeclaredNet>)]
    net: Option<DeclaredNet>,
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
    let Some(config) = &args.config else {
        let (from, drafts) = (PathBuf::from(args.server.join(" ")), one_server(args, context)?);
        return Foreign { from: &from, drafts, left_out: Vec::new(), to: &args.to }
            .import(context, out);
    };
    let (servers, remarks) = match servers_of_client(args, config)? {
        Ok(read) => read,
        Err(faults) => return Ok(faulty(&faults, out)),
    };
    show_servers(&servers, &remarks, args.to.dry_run, &context.rye()?, out);
    if args.to.dry_run {
        return Ok(Exit::DONE);
    }
    let what = format!("start or ask the servers of `{}`", config.display());
    if out.is_json() && !context.common.yes {
        // The servers were shown to no person.
        return Err(CliError::NotConfirmed { what: escape_line(&what) }.into());
    }
    out.flush();
    confirm_always(&what, "", context, out)?;
    let drafts = drafts_of_servers(args, &servers, remarks, context)?;
    Foreign { from: config, drafts, left_out: Vec::new(), to: &args.to }.import(context, out)
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
        net: args.net.as_ref(),
        writes: &args.write,
        files: &args.file,
        category: &category,
    };
    mcp_drafts(&import, &context.rye()?)
}

/// The servers that a client's configuration names, with remarks; or its faults. Nothing of it is
/// started or asked.
fn servers_of_client(args: &Args, path: &Path) -> Result<ReadServers, Failure> {
    let category = args.category.parse::<ItemId>()?;
    let text = read(path)?;
    let plain: Vec<_> = args.env.iter().map(|(name, _)| name.clone()).collect();
    let (only, secrets) = (&args.only, &args.secret);
    let config =
        McpClientConfig { path, text: &text, only, plain: &plain, secrets, category: &category };
    Ok(mcp_servers(&config).map(|(mut servers, remarks)| {
        for (name, value) in servers.iter_mut().flat_map(|server| &mut server.env) {
            let named = args.env.iter().find(|(known, _)| known == name);
            if let Some((_, Some(given))) = named {
                value.clone_from(given);
            }
        }
        (servers, remarks)
    }))
}

type ReadServers = Result<(Vec<NamedServer>, Vec<String>), Vec<Diagnostic>>;

/// Shows what would be started or asked, and what it would get; JSON only if nothing follows.
fn show_servers(
    servers: &[NamedServer],
    remarks: &[String],
    is_all: bool,
    rye: &Rye,
    out: &mut Out,
) {
    let mut rows = Vec::new();
    for server in servers {
        let name = server.category.name();
        let hidden = |text: &String| {
            let known = server.known.iter().map(|(_, value)| value.as_str());
            let asked = server.secrets.iter().filter_map(|name| rye.located().vars.text(name));
            masked(text, known.chain(asked))
        };
        let words: Vec<_> = server.words.iter().map(hidden).collect();
        let env = server.env.iter().map(|(name, value)| (name, hidden(value)));
        let env: BTreeMap<_, _> = env.collect();
        if !out.is_json() {
            let shown: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
            out.line(&out.paint().style(Style::Strong, &escape_line(name)));
            out.line(&format!("  {}", escape_line(&shown.join(" "))));
            for (name, value) in &env {
                out.line(&format!("  gets {}", escape_line(&format!("{name}={value}"))));
            }
            for secret in &server.secrets {
                out.line(&format!("  gets the value of `{}`, a secret", escape_line(secret)));
            }
        }
        rows.push(json!({"name": name, "words": words, "env": env, "secrets": server.secrets}));
    }
    match out.is_json() {
        true if is_all => {
            out.success(json!({"dry_run": true, "servers": rows, "remarks": remarks}));
        }
        false if is_all => {
            for remark in remarks {
                out.note(&format!("note: {}", escape_line(remark)));
            }
            out.line(
                "nothing was started, asked or written: what they offer shows without `--dry-run`",
            );
        }
        _ => {}
    }
}

/// The drafts of those servers, each of which is started or asked once.
fn drafts_of_servers(
    args: &Args,
    servers: &[NamedServer],
    remarks: Vec<String>,
    context: &Context,
) -> Result<Drafts, Failure> {
    let mut all = Drafts { items: Vec::new(), remarks, faults: Vec::new() };
    let rye = context.rye()?;
    for server in servers {
        let import = McpImport {
            words: &server.words,
            secrets: &server.secrets,
            known: &server.known,
            env: &server.env,
            net: args.net.as_ref(),
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
