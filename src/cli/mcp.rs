//! `rye mcp`: the server that an agent's client starts, or connects to over HTTP.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::confirm::is_below;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::bytes::open_named;
use crate::base::random;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::host::{Os, Vars};
use crate::id::Pattern;
use crate::mcp::{Listen, McpEnd, McpError, ServerTransport, Setup, serve};
use crate::rye::{KeptServers, RyeBuilder};
use crate::search::SearchIndex;

/// Serve agents over the model context protocol
///
/// A client starts this and speaks over standard input and output; see `rye fetch
/// knowledge:rye/agents`. What an agent asks goes through the same checks as any other call.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Listen on a loopback address instead, such as 127.0.0.1:8701; clients show a token
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Where the token lies; made if it is not there. Without it a new one is shown once
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// A folder that projects may lie in; the first one's items are shown. By default this folder
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Show these tools as tools of their own, such as 'tool:acme/**'
    #[arg(long, value_name = "PATTERN")]
    expose: Vec<String>,
    /// Let agents sign what they were shown; without it a person signs
    #[arg(long)]
    allow_sign: bool,
    /// Ask the person at the client what tools ask; without it that waits for `rye pending`
    ///
    /// A client may answer by itself, and rye cannot tell: give this only to one that shows the
    /// question to a person.
    #[arg(long)]
    approve_by_elicitation: bool,
}

#[derive(clap::Subcommand)]
enum Verb {
    Install(super::mcp_install::Args),
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if let Some(Verb::Install(args)) = &args.verb {
        return super::mcp_install::run(args, context, out);
    }
    let setup = setup(args, context)?;
    let transport = match args.http {
        None => ServerTransport::Stdio,
        Some(at) => {
            let mut shows_token = false;
            let token = match &args.token_file {
                Some(file) => kept_token(file, at)?,
                None => {
                    shows_token = true;
                    new_token(at)?
                }
            };
            ServerTransport::Http(Listen { at, token, shows_token })
        }
    };
    Ok(match serve(setup, transport)? {
        McpEnd::Done => Exit::DONE,
        McpEnd::Signal(signal) => Exit::Signal(signal),
    })
}

fn setup(args: &Args, context: &Context) -> Result<Setup, Failure> {
    let named = match (&args.root[..], &context.common.project) {
        ([], Some(project)) => vec![project.clone()],
        ([], None) => vec![PathBuf::from(".")],
        (roots, _) => roots.to_vec(),
    };
    let mut roots = Vec::new();
    for root in named {
        let real = root.canonicalize().ok().filter(|real| real.is_dir());
        roots.push(real.ok_or_else(|| CliError::Usage {
            message: format!("`{}` is not a folder", escape_line(&root.to_string_lossy())),
            help: Some("give `--root` a folder that is there".into()),
        })?);
    }
    let expose = args.expose.iter().map(|text| super::value_parsers::pattern(text));
    let expose = expose.collect::<Result<Vec<Pattern>, _>>()?;
    // The driver lives as long as the server, so that servers of the exec protocol are kept between
    // calls.
    let servers = Arc::<KeptServers>::default();
    let search_index = Arc::<SearchIndex>::default();
    let (vars, kept) = (Vars::from_process(), Arc::clone(&search_index));
    let project = move |project: &Path| {
        // What calls leave behind is ended with them, as on the command line.
        let builder = RyeBuilder::from_vars(vars.clone()).host(Box::new(Os::new(true)));
        let builder = builder.project(project);
        builder.servers(Arc::clone(&servers)).search_index(Arc::clone(&kept)).build()
    };
    Ok(Setup {
        roots,
        expose,
        // A program that rye runs must not approve its own changes.
        may_sign: args.allow_sign && !is_below(context),
        may_ask: args.approve_by_elicitation && !is_below(context),
        project: Box::new(project),
        search_index,
        note: Box::new(super::out::note),
    })
}

/// A token with as much entropy as a key, in characters that a header allows.
fn new_token(at: SocketAddr) -> Result<String, Failure> {
    let mut token = [0; 32];
    random::fill(&mut token).map_err(|error| cannot(at, error.to_string()))?;
    Ok(hex::encode(token))
}

/// The token in a file that no other user may read; a new one is written if there is no file.
fn kept_token(file: &Path, at: SocketAddr) -> Result<String, Failure> {
    let shown = escape_line(&file.to_string_lossy());
    let failed = |error: std::io::Error| cannot(at, format!("the token file `{shown}`: {error}"));
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut made) => {
            let token = new_token(at)?;
            made.write_all(format!("{token}\n").as_bytes()).map_err(failed)?;
            return Ok(token);
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let open = open_named(file).map_err(failed)?;
    if open.metadata().map_err(failed)?.mode() & 0o077 != 0 {
        return Err(cannot(
            at,
            format!("others may read the token file `{shown}`: `chmod 600` it"),
        ));
    }
    let mut text = String::new();
    open.take(4096).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    let is_sound = token.len() >= 16 && token.bytes().all(|byte| byte.is_ascii_graphic());
    match is_sound {
        true => Ok(token.to_owned()),
        false => Err(cannot(
            at,
            format!("the token file `{shown}` holds no token of 16 letters or more"),
        )),
    }
}

fn cannot(at: SocketAddr, why: String) -> Failure {
    McpError::Listen { at: at.to_string(), why }.into()
}
