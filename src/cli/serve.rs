//! `rye serve`: a node, which runs verified items for others.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::diagnostic::Failure;
use crate::host::{Os, Vars};
use crate::node::{CONTAINERFILE, NodeSetup, serve, tls_config, unit};
use crate::rye::RyeBuilder;
use crate::verify::{KeyError, KeyPair, OwnKeys};

/// Run verified items for others, as a node
///
/// It serves the keys that `rye node authorize` let in, and no others; see `rye fetch
/// knowledge:rye/remote`. Asked to end, it finishes what it began.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Where to listen; on another address than this machine's own a certificate is needed
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8700")]
    listen: SocketAddr,
    /// The node's certificate with those above it, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Where the folders of runs are made; by default below `~/.local/state/rye`
    #[arg(long, value_name = "DIR")]
    workspace_root: Option<PathBuf>,
    /// So many runs at once; four times as many wait, and detached ones have places of their own
    #[arg(long, value_name = "N", default_value_t = MAX_CONCURRENT, value_parser = clap::value_parser!(u16).range(1..=512))]
    max_concurrent: u16,
    /// Print a unit of systemd that starts a node, and start nothing
    #[arg(long, conflicts_with = "containerfile")]
    unit: bool,
    /// Print a container file that starts a node, and start nothing
    #[arg(long)]
    containerfile: bool,
}

impl Args {
    /// The options of a node that is started with these, from whatever folder.
    fn as_given(&self) -> String {
        let mut text = format!("--listen {}", self.listen);
        for (name, path) in [
            ("tls-cert", &self.tls_cert),
            ("tls-key", &self.tls_key),
            ("workspace-root", &self.workspace_root),
        ] {
            if let Some(path) = path {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let _ = write!(text, " --{name} \"{}\"", path.display());
            }
        }
        if self.max_concurrent != MAX_CONCURRENT {
            let _ = write!(text, " --max-concurrent {}", self.max_concurrent);
        }
        text
    }
}

/// So many runs at once, if nothing is said.
const MAX_CONCURRENT: u16 = 8;

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if args.unit {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("rye"));
        out.exact(&unit(&program, &args.as_given()));
        return Ok(Exit::DONE);
    }
    if args.containerfile {
        out.exact(CONTAINERFILE);
        return Ok(Exit::DONE);
    }
    let vars = Vars::from_process();
    let rye = context.rye_of_user()?;
    let user = rye.spaces().user()?;
    if OwnKeys::new(user).find_public()?.is_none() {
        let keys = OwnKeys::new(user);
        let pair = KeyPair::generate();
        let pair = pair.map_err(|source| KeyError::Io { path: keys.folder(), source })?;
        keys.store(&pair)?;
        out.note(&format!("made a key for this node: {}", pair.public().fingerprint()));
    }
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Some(tls_config(cert, key)?),
        _ => None,
    };
    let workspaces = match &args.workspace_root {
        Some(folder) => folder.clone(),
        None => {
            let state = vars.path("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
            let state = state.unwrap_or_else(|| user.base().join(".local/state"));
            state.join("rye/workspaces")
        }
    };
    if vars.text("RYE_DEV_MODE") == Some("1") {
        let message = "dev mode is on, and a node runs items for others".into();
        let help = Some("unset RYE_DEV_MODE".into());
        return Err(CliError::Usage { message, help }.into());
    }
    let project = move |folder: &Path| {
        let builder = RyeBuilder::from_vars(vars.clone()).host(Box::new(Os::new(true)));
        builder.project(folder).cwd(folder).strict().build()
    };
    let ended = serve(NodeSetup {
        listen: args.listen,
        tls,
        workspaces,
        most_runs: usize::from(args.max_concurrent),
        project: Box::new(project),
        note: Box::new(super::out::note),
    })?;
    Ok(Exit::Signal(ended.signal))
}
