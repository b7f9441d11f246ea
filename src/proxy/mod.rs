//! Proxy: the one way from a run's own network to the outside.
//!
//! Sees `host` and below. Decides nothing about trust: an [`Egress`](crate::host::Egress) says what
//! may be reached, and the proxy holds the run to it.
//!
//! In:  listeners on the loopback of the run's network, and [`Settings`].
//! Out: [`Traffic`], when the run is over.
//!
//! - `child.rs` the child's connection · `first_head.rs` what it begins with · `forward.rs` the
//!   proxy for listed hosts: tunnels and plain HTTP · `service.rs` endpoints that add a secret ·
//!   `tunnel.rs` what carries a tunnel · `reach.rs` names to judged connections, also by the
//!   operator's own proxy · `public.rs` which addresses are public · `greeting.rs` the beginning of
//!   TLS · `message.rs` headers, bodies, refusals · `masked_body.rs` and `secret_spellings.rs` what
//!   comes back, without secrets · `shared.rs` what all connections know
//!
//! Invariants
//! - A name is resolved once for each connection, every address of it is judged, and what is
//!   connected to is such an address.
//! - A connection of the child carries one request, which is parsed and written anew: what a server
//!   reads is what was judged.
//! - A secret leaves only in the header of its service, to its upstream.
//! - When the child closes a connection, all that was done for it ends, and is counted.
//! - When a [`Proxy`] is gone, so are its listeners and connections.

mod child;
mod first_head;
mod forward;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod greeting;
mod masked_body;
mod message;
mod public;
mod reach;
mod secret_spellings;
mod service;
mod shared;
#[cfg(test)]
mod tests;
mod tunnel;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use zeroize::Zeroizing;

use self::first_head::BadHead;
use self::shared::ProxyState;
use crate::base::durations::PROXY_HEAD_MS;
use crate::base::limits::{PROXY_HEAD_BYTES, PROXY_LOOKUPS, PROXY_SECRET_BYTES};
use crate::host::{Egress, NetSettings, Refusal, Traffic};

/// How long a server may let a run's proxy wait for the head of its answer, in milliseconds, once
/// nothing more is sent to it: models and searches take minutes.
#[cfg(feature = "http")]
const PROXY_ANSWER_MS: u64 = 300_000;

/// Most connections that a run's proxy serves at once; others wait. Each takes two or three open
/// files of the thousand that a process has, and no tool needs as many.
#[cfg(feature = "http")]
const PROXY_CONNECTIONS: usize = 256;

/// The settings of the proxy of one run. Has no `Debug`, since it holds secrets.
pub(crate) struct Settings {
    pub(crate) egress: Egress,
    /// For a run that is watched: every public host may be reached, and is counted.
    pub(crate) observes: bool,
    /// The secret of each service, by the service's name.
    pub(crate) secrets: BTreeMap<String, Zeroizing<String>>,
    /// The password that the child gives for the user `rye`.
    pub(crate) token: String,
    /// The operator's way out to servers of `https`, and of `http`.
    pub(crate) https: NetSettings,
    pub(crate) http: NetSettings,
}

/// The addresses of a name.
pub(crate) trait Resolve: Send + Sync {
    /// May take long, and is called on a thread of its own.
    ///
    /// # Errors
    /// The name has no address, or cannot be looked up.
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's own names.
pub(crate) struct Machine;

impl Resolve for Machine {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

/// The proxy of one run, on a thread of its own. Dropping it ends it.
pub(crate) struct Proxy {
    shared: Arc<ProxyState>,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Proxy {
    /// Serves the first listener as the proxy for hosts, and each other as the endpoint of a
    /// service, in their order.
    ///
    /// # Errors
    /// There are not as many listeners, the secret of a service is missing or too long or cannot
    /// stand in its header, or the machine gives no thread or no events.
    pub(crate) fn start(
        listeners: Vec<TcpListener>,
        settings: Settings,
        resolve: Arc<dyn Resolve>,
    ) -> io::Result<Self> {
        let answer_time = Duration::from_millis(PROXY_ANSWER_MS);
        Self::judging(listeners, settings, resolve, public::is_public, answer_time)
    }

    /// As [`Self::start`], but `is_public` says which addresses are public, and the head of an
    /// answer is waited for `answer_time`: servers of tests are on this machine and have names.
    fn judging(
        listeners: Vec<TcpListener>,
        settings: Settings,
        resolve: Arc<dyn Resolve>,
        is_public: fn(IpAddr) -> bool,
        answer_time: Duration,
    ) -> io::Result<Self> {
        let bad = |name: String| {
            let text = format!(
                "the secret of the service `{name}` is missing, is longer than \
                 {PROXY_SECRET_BYTES} bytes, or cannot stand in its header"
            );
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let shared =
            Arc::new(ProxyState::new(settings, resolve, is_public, answer_time).map_err(bad)?);
        if listeners.len() != shared.egress.services.len() + 1 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a listener for each service",
            ));
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(PROXY_LOOKUPS).build()?;
        let (end, ended) = oneshot::channel();
        let all = shared.clone();
        let thread = std::thread::Builder::new().name("rye-proxy".into()).spawn(move || {
            runtime.block_on(async move {
                if let Ok(listeners) = registered(listeners) {
                    let open = Arc::new(Semaphore::new(PROXY_CONNECTIONS));
                    for (at, listener) in listeners.into_iter().enumerate() {
                        tokio::spawn(accept(
                            listener,
                            at.checked_sub(1),
                            all.clone(),
                            open.clone(),
                        ));
                    }
                    let _ = ended.await;
                }
            });
            // A name being looked up cannot be stopped, only left; everything else ends here.
            runtime.shutdown_background();
        })?;
        Ok(Self { shared, running: Some((end, thread)) })
    }

    /// The traffic since this was last asked.
    pub(crate) fn take_traffic(&self) -> Traffic {
        self.shared.take_traffic()
    }

    /// Closes everything and gives what went through.
    pub(crate) fn end(mut self) -> Traffic {
        self.stop();
        self.shared.take_traffic()
    }

    fn stop(&mut self) {
        if let Some((end, thread)) = self.running.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

fn registered(listeners: Vec<TcpListener>) -> io::Result<Vec<tokio::net::TcpListener>> {
    listeners.into_iter().map(tokio::net::TcpListener::from_std).collect()
}

/// A connection of the run's child counts as long as this is held.
#[derive(Clone)]
struct CountedConnection {
    _permit: Arc<OwnedSemaphorePermit>,
}

async fn accept(
    listener: tokio::net::TcpListener,
    service: Option<usize>,
    shared: Arc<ProxyState>,
    open: Arc<Semaphore>,
) {
    let port = listener.local_addr().map_or(0, |address| address.port());
    loop {
        let Ok(permit) = open.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // No file is left for it, or the child was faster than we: a moment later there is.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let held = CountedConnection { _permit: Arc::new(permit) };
        tokio::spawn(serve(stream, service, port, shared.clone(), held));
    }
}

async fn serve(
    stream: TcpStream,
    service: Option<usize>,
    port: u16,
    shared: Arc<ProxyState>,
    held: CountedConnection,
) {
    let _ = stream.set_nodelay(true);
    let (stream, leaving) = child::watched(stream);
    let stream = match first_head::begun(stream).await {
        Ok(stream) => stream,
        Err(BadHead::Missing) => return,
        Err(_) => return shared.refuse("a request that could not be read", Refusal::Malformed),
    };
    let answer = service_fn(|request: hyper::Request<Incoming>| {
        let (shared, held) = (shared.clone(), held.clone());
        async move {
            Ok::<_, std::convert::Infallible>(match service {
                Some(at) => service::answer(request, at, port, &shared).await,
                None => forward::answer(request, &shared, held).await,
            })
        }
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(PROXY_HEAD_MS))
        .max_buf_size(PROXY_HEAD_BYTES);
    // What went wrong between the child and us, the child knows.
    let served = http.serve_connection(TokioIo::new(stream), answer).with_upgrades();
    tokio::select! {
        biased;
        _ = served => {}
        () = leaving => {}
    }
}
