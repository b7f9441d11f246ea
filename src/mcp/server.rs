//! What all sessions of one server share, and its life from the first word to the last child.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::{Peer, RoleServer};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use super::error::McpError;
use super::exposed::Roster;
use super::http::{self, Listen};
use super::sign::Shown;
use super::stdio;
use super::watch as files;
use super::workers::Workers;
use crate::base::limits::{MCP_END_MS, MCP_THREADS};
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::host::Signals;
use crate::id::Pattern;
use crate::rye::Rye;
use crate::search::SearchIndex;

/// Gives the facade of the project that a folder is, as it is now.
pub(crate) type Project = Box<dyn Fn(&Path) -> Result<Rye, Failure> + Send + Sync>;

/// What a server is given by whoever wires it.
pub(crate) struct Setup {
    /// Real folders: a project lies in one of them. The first is the project whose items are shown
    /// as tools, prompts and resources. Never empty.
    pub(crate) roots: Vec<PathBuf>,
    /// Tools that are shown as tools of their own.
    pub(crate) expose: Vec<Pattern>,
    /// A person lets clients sign what they were shown.
    pub(crate) may_sign: bool,
    pub(crate) project: Project,
    /// What `project` keeps of items to find them by.
    pub(crate) search_index: Arc<SearchIndex>,
    /// Tells the person who started the server.
    pub(crate) note: Box<dyn Fn(&str) + Send + Sync>,
}

/// How clients come in.
pub(crate) enum Door {
    Stdio,
    Http(Listen),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client went away.
    Done,
    /// This process was asked to end, by this signal.
    Signal(i32),
}

/// See the module.
pub(super) struct Server {
    pub(super) setup: Setup,
    pub(super) workers: Workers,
    /// What was shown to be signed.
    pub(super) shown: Mutex<Shown>,
    roster: Mutex<Arc<Roster>>,
    /// Clients that are told when a list changes.
    peers: Mutex<Vec<Peer<RoleServer>>>,
    end: watch::Sender<Option<i32>>,
}

impl Server {
    pub(super) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&held(&self.roster))
    }

    /// Takes another roster; true if it is another.
    pub(super) fn takes(&self, roster: Roster) -> bool {
        let mut known = held(&self.roster);
        let is_other = **known != roster;
        *known = Arc::new(roster);
        is_other
    }

    pub(super) fn knows(&self, peer: Peer<RoleServer>) {
        let mut peers = held(&self.peers);
        peers.retain(|peer| !peer.is_transport_closed());
        peers.push(peer);
    }

    pub(super) fn peers(&self) -> Vec<Peer<RoleServer>> {
        held(&self.peers).clone()
    }

    /// A call heard a signal that was meant for the whole process.
    pub(super) fn end_by(&self, signal: i32) {
        self.end.send_replace(Some(signal));
    }
}

/// A panic while it was held has left nothing half done.
pub(super) fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(of.lock())
}

/// Serves until the client is gone or this process is asked to end. When it returns no call runs,
/// and no server of the exec protocol.
///
/// # Errors
/// `mcp.*`; those of finding the project.
pub(crate) fn serve(setup: Setup, door: Door) -> Result<Ended, Failure> {
    // Before any thread: each of them begins with this one's mask.
    let signals = Signals::listen().map_err(McpError::from)?;
    has_threads().map_err(McpError::from)?;
    // A project that cannot be served is told before a client comes.
    let rye = (setup.project)(&setup.roots[0])?;
    if matches!(door, Door::Http(_)) && rye.dev_mode() {
        return Err(McpError::DevMode.into());
    }
    drop(rye);
    let roster = Roster::read(&setup)?;
    let (end, mut is_ended) = watch::channel(None);
    let server = Arc::new(Server {
        setup,
        workers: Workers::new()?,
        shown: Mutex::default(),
        roster: Mutex::new(Arc::new(roster)),
        peers: Mutex::default(),
        end,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(McpError::from)?;
    let ended = runtime.block_on(async {
        let serving = async {
            let _watch = files::watch(&server);
            match door {
                Door::Stdio => stdio::serve(&server).await,
                Door::Http(listen) => http::serve(&server, listen).await,
            }
        };
        tokio::select! {
            done = serving => done.map(|()| Ended::Done),
            signal = heard(&signals) => Ok(Ended::Signal(signal.map_err(McpError::from)?)),
            _ = is_ended.wait_for(Option::is_some) => Ok(Ended::Done),
        }
    });
    // A call may have heard it while the client went away.
    let signal = *is_ended.borrow();
    let ended = ended.map(|ended| signal.map_or(ended, Ended::Signal));
    server.workers.end(Duration::from_millis(MCP_END_MS));
    runtime.shutdown_background();
    ended
}

/// Whether the machine gives the threads that a server has at the least: libraries that are given
/// none end the process.
///
/// # Errors
/// What the machine says.
fn has_threads() -> std::io::Result<()> {
    let gate = Mutex::new(());
    std::thread::scope(|scope| {
        // All of them are there at once, until this is dropped.
        let closed = held(&gate);
        for _ in 0..MCP_THREADS {
            std::thread::Builder::new().spawn_scoped(scope, || drop(held(&gate)))?;
        }
        drop(closed);
        Ok(())
    })
}

/// The next signal that asks this process to end.
#[expect(
    deprecated,
    reason = "what replaces it is `unsafe`; the descriptor is held for the whole time"
)]
async fn heard(signals: &Signals) -> std::io::Result<i32> {
    let fd = AsyncFd::with_interest(signals.fd().as_fd(), Interest::READABLE)?;
    loop {
        let mut ready = fd.readable().await?;
        match signals.take() {
            Some(signal) => return Ok(signal),
            None => ready.clear_ready(),
        }
    }
}
