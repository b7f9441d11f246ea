//! The state that all sessions of one server share, and the life of the server.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;

use super::approvals::Asked;
use super::error::McpError;
use super::exposed::ExposedTools;
use super::http::{self, Listen};
use super::listeners::Listeners;
use super::sign::Shown;
use super::stdio;
use super::watch as files;
use crate::base::durations::TERM_GRACE_MS;
use crate::base::limits::{MCP_CALLS, MCP_WAITING};
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::host::{Pool, PoolSize, Signals, heard};
use crate::id::Pattern;
use crate::registry::process_is_alone;
use crate::rye::Rye;
use crate::search::SearchIndex;

/// How long an MCP server that ends waits for what it cancelled, in milliseconds: the time that a
/// process group is given to end, and a little to kill it.
#[cfg(feature = "mcp")]
const MCP_END_MS: u64 = TERM_GRACE_MS + 3_000;

/// Threads that an MCP server has at the least: for a call, for hints that files changed, for what
/// comes in and for what goes out.
#[cfg(feature = "mcp")]
const MCP_THREADS: usize = 4;

/// Makes the facade of the project in a folder, as it is now.
pub(crate) type Project = Box<dyn Fn(&Path) -> Result<Rye, Failure> + Send + Sync>;

/// The settings that `cli` gives to a server.
pub(crate) struct Setup {
    /// Resolved folders; each project must lie in one of them. The first is the project whose items
    /// are shown as tools, prompts and resources. Never empty.
    pub(crate) roots: Vec<PathBuf>,
    /// Tools that are shown as tools of their own.
    pub(crate) expose: Vec<Pattern>,
    /// Clients may sign items that they were shown.
    pub(crate) may_sign: bool,
    /// A person at a client may decide the question of a tool.
    pub(crate) may_ask: bool,
    pub(crate) project: Project,
    /// The index by which items of `project` are found.
    pub(crate) search_index: Arc<SearchIndex>,
    /// Tells the person who started the server.
    pub(crate) note: Box<dyn Fn(&str) + Send + Sync>,
}

/// How clients connect.
pub(crate) enum ServerTransport {
    Stdio,
    Http(Listen),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpEnd {
    /// The client went away.
    Done,
    /// This process was asked to end, by this signal.
    Signal(i32),
}

/// See the module.
pub(super) struct Server {
    pub(super) setup: Setup,
    /// The threads on which calls run.
    pub(super) workers: Pool<'static>,
    /// Changes that were shown and may be confirmed.
    pub(super) shown: Mutex<Shown>,
    /// Requests that clients were asked about in the answer to a call.
    pub(super) asked: Mutex<Asked>,
    exposed: Mutex<Arc<ExposedTools>>,
    /// Clients that are told of changes.
    pub(super) listeners: Listeners,
    end: watch::Sender<Option<i32>>,
}

impl Server {
    pub(super) fn exposed(&self) -> Arc<ExposedTools> {
        Arc::clone(&held(&self.exposed))
    }

    /// Replaces the list of exposed tools; false if it is the same.
    pub(super) fn replace_exposed(&self, exposed: ExposedTools) -> bool {
        let mut known = held(&self.exposed);
        let is_other = **known != exposed;
        *known = Arc::new(exposed);
        is_other
    }

    /// A call heard a signal that was meant for the whole process.
    pub(super) fn end_by(&self, signal: i32) {
        self.end.send_replace(Some(signal));
    }
}

/// Locks a mutex. A panic while it was held has left nothing half done.
pub(super) fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(of.lock())
}

/// Serves until the client is gone or this process is asked to end. When this returns, no call and
/// no server of the exec protocol runs any more.
///
/// # Errors
/// `mcp.*`; those of finding the project.
pub(crate) fn serve(setup: Setup, transport: ServerTransport) -> Result<McpEnd, Failure> {
    // This comes before any thread starts, because each thread inherits the signal mask.
    let signals = Signals::listen().map_err(McpError::from)?;
    has_threads().map_err(McpError::from)?;
    process_is_alone(false);
    // An error of the project is reported before a client connects.
    let rye = (setup.project)(&setup.roots[0])?;
    if matches!(transport, ServerTransport::Http(_)) && rye.dev_mode() {
        return Err(McpError::DevMode.into());
    }
    drop(rye);
    let exposed = ExposedTools::read(&setup)?;
    let (end, mut is_ended) = watch::channel(None);
    let size = PoolSize { threads: MCP_CALLS, waiting: MCP_WAITING };
    let server = Arc::new(Server {
        setup,
        workers: Pool::new(size).map_err(McpError::from)?,
        shown: Mutex::default(),
        asked: Mutex::default(),
        exposed: Mutex::new(Arc::new(exposed)),
        listeners: Listeners::default(),
        end,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(McpError::from)?;
    let ended = runtime.block_on(async {
        let serving = async {
            let _watch = files::watch(&server);
            match transport {
                ServerTransport::Stdio => stdio::serve(&server).await,
                ServerTransport::Http(listen) => http::serve(&server, listen).await,
            }
        };
        tokio::select! {
            done = serving => done.map(|()| McpEnd::Done),
            signal = heard(&signals) => Ok(McpEnd::Signal(signal.map_err(McpError::from)?)),
            _ = is_ended.wait_for(Option::is_some) => Ok(McpEnd::Done),
        }
    });
    // A call may have received the signal while the client went away.
    let signal = *is_ended.borrow();
    let ended = ended.map(|ended| signal.map_or(ended, McpEnd::Signal));
    server.workers.end(Duration::from_millis(MCP_END_MS));
    runtime.shutdown_background();
    ended
}

/// Checks that the machine gives the threads that a server needs at least, because some libraries
/// abort the process if they get none.
///
/// # Errors
/// The error of the machine.
fn has_threads() -> std::io::Result<()> {
    let gate = Mutex::new(());
    std::thread::scope(|scope| {
        // All of the threads exist at once until this guard is dropped.
        let closed = held(&gate);
        for _ in 0..MCP_THREADS {
            std::thread::Builder::new().spawn_scoped(scope, || drop(held(&gate)))?;
        }
        drop(closed);
        Ok(())
    })
}
