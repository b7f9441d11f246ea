//! The life of a node.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::bodies::BODIES_MIB;
use super::caller_stream::CallerStream;
use super::execute::RunningRun;
use super::metrics::Metrics;
use super::nonces::Nonces;
use super::routes::routes;
use super::workspace::Workspaces;
use crate::base::durations::TERM_GRACE_MS;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::host::{Pool, PoolSize, Signals, hear_interrupts_alone, heard, is_below_a_run};
use crate::id::Fingerprint;
use crate::registry::{Registry, process_is_alone};
use crate::remote::RemoteError;
use crate::rye::{Rye, now};
use crate::signature::KeyPair;
use crate::store::{FolderStore, StoreError};
use crate::trust::{NodeCaller, OwnKeys, TrustStore};

/// Connections at once; further ones wait to be accepted.
const CONNECTIONS: u32 = 512;

/// Callers that are told of runs as they go on, at once: each has a thread.
const STREAMS: usize = 128;

/// How long the head of a request, or a handshake, may take.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How long a node that ends waits for runs that it began.
const DRAIN: Duration = Duration::from_mins(10);

/// How long answers that are under way have when a node ends.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Connections to the registry that stay open for the next request.
const POOLED: usize = 8;

/// How often it is looked if the operator asked a run of this process to stop.
const STOP_LOOK: Duration = Duration::from_millis(250);

/// Requests of one key in a second, on the average of ten seconds.
const RATE: u32 = 2_000;

/// Makes the facade of the project in a folder, as it is now.
type Project = Box<dyn Fn(&Path) -> Result<Rye, Failure> + Send + Sync>;

/// The settings of a node.
pub(crate) struct NodeSetup {
    pub(crate) listen: SocketAddr,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Where the folders of runs are made.
    pub(crate) workspaces: PathBuf,
    /// So many runs of this process at once.
    pub(crate) most_runs: usize,
    pub(crate) project: Project,
    /// Tells the person who started the node.
    pub(crate) note: Box<dyn Fn(&str) + Send + Sync>,
}

/// How a node ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeEnd {
    pub(crate) signal: i32,
}

/// The state that all requests share.
pub(super) struct Node {
    pub(super) setup: NodeSetup,
    pub(super) pair: KeyPair,
    pub(super) fingerprint: Fingerprint,
    /// The facade of the operator without a project: for what callers ask of runs.
    pub(super) rye: Rye,
    /// The folder of the user space.
    pub(super) user: PathBuf,
    pub(super) store: FolderStore,
    registry: Mutex<Registry>,
    pub(super) nonces: Mutex<Nonces>,
    pub(super) workspaces: Workspaces,
    /// Held while the outputs of a run are taken out of its folder: one for the runs whose folders
    /// begin with the same digit.
    pub(super) finishing: [Mutex<()>; 16],
    pub(super) pool: Pool<'static>,
    /// Runs of this process.
    pub(super) running: Mutex<HashMap<String, RunningRun>>,
    pub(super) metrics: Metrics,
    pub(super) bodies: Arc<Semaphore>,
    /// Callers that are told of runs as they go on.
    pub(super) streams: Arc<Semaphore>,
    rates: Mutex<HashMap<Fingerprint, (Instant, u32)>>,
    is_ending: AtomicBool,
}

impl Node {
    fn new(setup: NodeSetup) -> Result<Self, Failure> {
        let rye = (setup.project)(Path::new("/"))?;
        rye.registries.keep(POOLED);
        let user = rye.spaces().user()?;
        let pair = OwnKeys::new(user).pair()?;
        let user = user.base().to_owned();
        let state = user.join(".ai/state/node");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&state);
        made.map_err(|source| StoreError::Io { path: state.clone(), source })?;
        let fingerprint = pair.public().fingerprint();
        let workspaces = Workspaces::open(&setup.workspaces, fingerprint)?;
        let size = PoolSize { threads: setup.most_runs, waiting: 4 * setup.most_runs };
        let listen = setup.listen.to_string();
        let cannot = |why: String| cannot(&listen, why);
        Ok(Self {
            fingerprint,
            pair,
            store: FolderStore::of_user(&user)?,
            registry: Mutex::new(Registry::open(&user)?),
            nonces: Mutex::new(Nonces::open(&state.join("nonces.db"))?),
            metrics: Metrics::new(&state).map_err(|error| cannot(error.to_string()))?,
            pool: Pool::new(size).map_err(|error| cannot(error.to_string()))?,
            workspaces,
            finishing: Default::default(),
            rye,
            user,
            setup,
            running: Mutex::default(),
            bodies: Arc::new(Semaphore::new(BODIES_MIB)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            rates: Mutex::default(),
            is_ending: AtomicBool::new(false),
        })
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        unpoisoned(self.registry.lock())
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.setup.tls.is_some() { "https" } else { "http" }
    }

    /// The caller with that key, by the operator's records of this moment.
    pub(super) fn caller(&self, key: Fingerprint) -> Option<NodeCaller> {
        let user = self.rye.spaces().user().ok()?;
        NodeCaller::find(&TrustStore::new(Some(user), now()), key).ok()?
    }

    /// Bounds how often a key may ask.
    ///
    /// # Errors
    /// `remote.busy`
    pub(super) fn may_ask(&self, key: Fingerprint) -> Result<(), RemoteError> {
        const WINDOW: Duration = Duration::from_secs(10);
        let mut rates = unpoisoned(self.rates.lock());
        let (since, count) = rates.entry(key).or_insert((Instant::now(), 0));
        if since.elapsed() > WINDOW {
            (*since, *count) = (Instant::now(), 0);
        }
        *count += 1;
        match *count > RATE * 10 {
            true => Err(RemoteError::Busy { why: "was asked too often by this key" }),
            false => Ok(()),
        }
    }

    /// Returns true while this process runs it, or has yet to begin it.
    pub(super) fn has_to_run(&self, id: &str) -> bool {
        unpoisoned(self.running.lock()).contains_key(id)
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }
}

fn cannot(listen: &str, why: String) -> RemoteError {
    let help = "give a free address, such as `--listen 127.0.0.1:8701`";
    RemoteError::Listen { at: listen.to_owned(), why, help }
}

/// Serves until this process is asked to end. Then it takes no further run, and waits for those
/// that it began; asked again, it ends them.
///
/// # Errors
/// `remote.listen`, `key.*`, `registry.*`, `store.*`
pub(crate) fn serve(setup: NodeSetup) -> Result<NodeEnd, Failure> {
    // This comes before any thread starts, because each thread inherits the signal mask.
    let listen = setup.listen.to_string();
    let cannot = |why: String| cannot(&listen, why);
    let signals = Signals::listen().map_err(|error| cannot(error.to_string()))?;
    let refused = if is_below_a_run() {
        Some(("a tool does not start a node", "start it in a terminal of your own"))
    } else if setup.tls.is_none() && !setup.listen.ip().is_loopback() {
        let help = "give `--tls-cert` and `--tls-key`, or an address such as 127.0.0.1:8700";
        Some(("without a certificate only this machine is served", help))
    } else {
        None
    };
    if let Some((why, help)) = refused {
        return Err(RemoteError::Listen { at: listen, why: why.into(), help }.into());
    }
    process_is_alone(false);
    let node = Arc::new(Node::new(setup)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // A signal that asks the node to end is this thread's to hear.
        .on_thread_start(hear_interrupts_alone)
        .build();
    let runtime = runtime.map_err(|error| cannot(error.to_string()))?;
    let ended = runtime.block_on(async {
        let listener = TcpListener::bind(node.setup.listen).await;
        let listener = listener.map_err(|error| cannot(error.to_string()))?;
        let at = listener.local_addr().map_err(|error| cannot(error.to_string()))?;
        (node.setup.note)(&format!("node {}", node.fingerprint));
        (node.setup.note)(&format!("listening on {}://{at}", node.scheme()));
        let (end, is_ending) = watch::channel(false);
        let places = Arc::new(Semaphore::new(CONNECTIONS as usize));
        let accepting = accept(Arc::clone(&node), listener, is_ending, Arc::clone(&places));
        let accepting = tokio::spawn(accepting);
        let tasks = [tokio::spawn(sweep(Arc::clone(&node))), tokio::spawn(stop(Arc::clone(&node)))];
        let signal = heard(&signals).await.map_err(|error| cannot(error.to_string()))?;
        node.is_ending.store(true, Ordering::Relaxed);
        let left = unpoisoned(node.running.lock()).len();
        if left > 0 {
            (node.setup.note)(&format!("ending: {left} runs go on; again ends them"));
        }
        tokio::select! {
            () = drained(&node) => {}
            _ = heard(&signals) => {}
        }
        let _ = end.send(true);
        accepting.abort();
        // Answers that are under way are sent.
        let all = places.acquire_many(CONNECTIONS);
        let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        Ok::<_, RemoteError>(NodeEnd { signal })
    });
    node.pool.end(Duration::from_millis(TERM_GRACE_MS + 3_000));
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(ended?)
}

/// Waits until no run of this process is left, and its answers are sent.
async fn drained(node: &Node) {
    let until = Instant::now() + DRAIN;
    while Instant::now() < until {
        if unpoisoned(node.running.lock()).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Removes folders of runs that are over, now and then.
async fn sweep(node: Arc<Node>) {
    loop {
        let here = Arc::clone(&node);
        let _ = tokio::task::spawn_blocking(move || here.sweep()).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
}

/// Cancels runs of tools that the operator asked to stop; a thread looks itself.
async fn stop(node: Arc<Node>) {
    loop {
        tokio::time::sleep(STOP_LOOK).await;
        let tools = |(id, run): (&String, &RunningRun)| (!run.is_thread).then(|| id.clone());
        let ids: Vec<String> = unpoisoned(node.running.lock()).iter().filter_map(tools).collect();
        for id in ids {
            let asked = node.registry().stops().is_asked(&id);
            let run = asked.unwrap_or(false).then(|| unpoisoned(node.running.lock()).remove(&id));
            if let Some(run) = run.flatten() {
                run.cancel(&node);
            }
        }
    }
}

async fn accept(
    node: Arc<Node>,
    listener: TcpListener,
    is_ending: watch::Receiver<bool>,
    places: Arc<Semaphore>,
) {
    let service = TowerToHyperService::new(routes(&node));
    let tls = node.setup.tls.clone().map(TlsAcceptor::from);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // There are no descriptors left, or the client was gone at once.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (service, tls, is_ending) = (service.clone(), tls.clone(), is_ending.clone());
        tokio::spawn(async move {
            match tls {
                None => converse(CallerStream::new(stream), service, is_ending).await,
                Some(tls) => {
                    let shaken = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        converse(CallerStream::new(stream), service, is_ending).await;
                    }
                }
            }
            drop(place);
        });
    }
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    service: TowerToHyperService<axum::Router>,
    mut is_ending: watch::Receiver<bool>,
) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let talk = http.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(talk);
    tokio::select! {
        _ = &mut talk => return,
        _ = is_ending.wait_for(|is_ending| *is_ending) => {}
    }
    talk.as_mut().graceful_shutdown();
    let _ = talk.await;
}
