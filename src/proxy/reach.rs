//! From a host that may be reached to a connection: names are resolved here and every address is
//! judged, unless the operator has set a proxy, which then resolves them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Empty;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::message::{Count, RefusedCall, seen};
use super::shared::ProxyState;
use crate::base::address_of;
use crate::base::durations::{CONNECT_TIMEOUT_MS, PROXY_HEAD_MS};
use crate::base::limits::PROXY_HEAD_BYTES;
use crate::host::{OuterProxy, Refusal};

/// How long a run's proxy tries one address of a name where there are others, in milliseconds.
#[cfg(feature = "http")]
const PROXY_ADDRESS_MS: u64 = 3_000;

/// How long a run's proxy waits for the addresses of a name, in milliseconds: as long as a resolver
/// tries its servers.
#[cfg(feature = "http")]
const PROXY_RESOLVE_MS: u64 = 10_000;

/// Most addresses of one name that a run's proxy tries.
#[cfg(feature = "http")]
const PROXY_ADDRESSES: usize = 8;

/// A connection to a server.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A host that was found to be listed, or is the upstream of a service.
///
/// Invariant: the host is in lower case; an IPv6 address may stand in brackets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destination<'d> {
    pub(super) host: &'d str,
    pub(super) port: u16,
    /// By which of the operator's settings a proxy is looked for.
    pub(super) is_https: bool,
}

impl Destination<'_> {
    /// `host:port`.
    pub(super) fn text(&self) -> String {
        match address_of(self.host) {
            Some(IpAddr::V6(address)) => format!("[{address}]:{}", self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }
}

/// A connection to the server itself, also where it leads through the operator's proxy.
pub(super) async fn connect(
    to: Destination<'_>,
    shared: &Arc<ProxyState>,
) -> Result<Box<dyn Wire>, RefusedCall> {
    match outer_proxy(to, shared)? {
        Some(proxy) => {
            let asking = tunnel_through(&proxy, to, shared);
            seen(&to.text(), Refusal::Unreachable, shared, asking).await
        }
        None => Ok(Box::new(direct(to, shared).await?)),
    }
}

/// The operator's proxy for this host. To this machine itself none leads.
pub(super) fn outer_proxy(
    to: Destination<'_>,
    shared: &ProxyState,
) -> Result<Option<OuterProxy>, RefusedCall> {
    let settings = if to.is_https { &shared.https } else { &shared.http };
    if address_of(to.host).is_some_and(|address| address.to_canonical().is_loopback()) {
        return Ok(None);
    }
    settings.outer_proxy(to.host, to.port).map_err(|_| {
        RefusedCall::gateway(
            Refusal::Unreachable,
            "the proxy that the operator has set is not valid",
        )
    })
}

/// A connection to one of the addresses that the host has and that may be reached.
async fn direct(to: Destination<'_>, shared: &Arc<ProxyState>) -> Result<TcpStream, RefusedCall> {
    let addresses = match address_of(to.host) {
        // Its being listed was judged.
        Some(address) => vec![SocketAddr::new(address, to.port)],
        None => {
            let looking = resolved(to.host, to.port, shared);
            let all = seen(&to.text(), Refusal::Unresolved, shared, looking).await?;
            let judged = all.into_iter().filter(|at| shared.may_reach(at.ip(), to.port));
            // A resolver may answer with any port.
            judged.map(|at| SocketAddr::new(at.ip().to_canonical(), to.port)).collect()
        }
    };
    if addresses.is_empty() {
        let text = format!(
            "`{}` leads to addresses that are private or reserved alone; such an address must be \
             listed itself",
            to.host
        );
        return Err(RefusedCall::new(Refusal::NotPublic, StatusCode::FORBIDDEN, text));
    }
    let opened = seen(&to.text(), Refusal::Unreachable, shared, open(&addresses)).await;
    opened.map_err(|error| unreachable(to, &error))
}

fn unreachable(to: Destination<'_>, error: &io::Error) -> RefusedCall {
    let text = format!("`{}` cannot be reached: {}", to.text(), error.kind());
    RefusedCall::gateway(Refusal::Unreachable, text)
}

async fn resolved(
    host: &str,
    port: u16,
    shared: &Arc<ProxyState>,
) -> Result<Vec<SocketAddr>, RefusedCall> {
    let (resolve, name) = (shared.resolve.clone(), host.to_owned());
    let lookups = shared.lookups.clone();
    let looking = async {
        let permit = lookups.acquire_owned().await.ok()?;
        let looked = tokio::task::spawn_blocking(move || {
            let all = resolve.resolve(&name, port);
            // It cannot be stopped: its place is taken until it is over.
            drop(permit);
            all
        });
        looked.await.ok()?.ok()
    };
    match timeout(Duration::from_millis(PROXY_RESOLVE_MS), looking).await {
        Ok(Some(all)) if !all.is_empty() => Ok(all),
        _ => {
            let text = format!("`{host}` has no address here");
            Err(RefusedCall::gateway(Refusal::Unresolved, text))
        }
    }
}

/// Tries one address after the other.
async fn open(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let each = match addresses {
        [_] => CONNECT_TIMEOUT_MS,
        _ => PROXY_ADDRESS_MS,
    };
    let mut failed = io::Error::from(io::ErrorKind::TimedOut);
    for address in addresses.iter().take(PROXY_ADDRESSES) {
        match timeout(Duration::from_millis(each), TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failed = error,
            Err(_) => {}
        }
    }
    Err(failed)
}

/// A connection to the operator's proxy. Its address is the operator's choice and is not judged.
pub(super) async fn to_proxy(
    proxy: &OuterProxy,
    shared: &Arc<ProxyState>,
) -> Result<Box<dyn Wire>, RefusedCall> {
    let failed = || {
        let text = "the proxy that the operator has set cannot be reached";
        RefusedCall::gateway(Refusal::Unreachable, text)
    };
    let addresses = match address_of(&proxy.host) {
        Some(address) => vec![SocketAddr::new(address, proxy.port)],
        None => resolved(&proxy.host, proxy.port, shared).await.map_err(|_| failed())?,
    };
    let stream = open(&addresses).await.map_err(|_| failed())?;
    match proxy.is_https {
        true => secured(stream, &proxy.host, shared).await,
        false => Ok(Box::new(stream)),
    }
}

/// The header with the credentials for the operator's proxy.
pub(super) fn proxy_authorization(proxy: &OuterProxy) -> Option<HeaderValue> {
    let credentials = proxy.credentials.as_ref()?;
    let value = format!("Basic {}", STANDARD.encode(credentials.as_bytes()));
    let mut value = HeaderValue::try_from(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

async fn tunnel_through(
    proxy: &OuterProxy,
    to: Destination<'_>,
    shared: &Arc<ProxyState>,
) -> Result<Box<dyn Wire>, RefusedCall> {
    let refused = || {
        let text = format!("the proxy that the operator has set does not lead to `{}`", to.text());
        RefusedCall::gateway(Refusal::Unreachable, text)
    };
    let wire = to_proxy(proxy, shared).await?;
    let (mut sender, _connection) = handshake(wire).await.map_err(|_| refused())?;
    let mut request = Request::builder().method(Method::CONNECT).uri(to.text());
    request = request.header(header::HOST, to.text());
    if let Some(value) = proxy_authorization(proxy) {
        request = request.header(header::PROXY_AUTHORIZATION, value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|_| refused())?;
    let asked = async {
        let answer = sender.send_request(request).await.map_err(|_| refused())?;
        if !answer.status().is_success() {
            return Err(refused());
        }
        hyper::upgrade::on(answer).await.map_err(|_| refused())
    };
    let time = Duration::from_millis(CONNECT_TIMEOUT_MS + PROXY_HEAD_MS);
    let tunnel = timeout(time, asked).await.map_err(|_| refused())??;
    Ok(Box::new(TokioIo::new(tunnel)))
}

/// TLS on a connection, with a server that proves to be this host.
pub(super) async fn secured(
    stream: impl Wire + 'static,
    host: &str,
    shared: &ProxyState,
) -> Result<Box<dyn Wire>, RefusedCall> {
    let failed = |why: &str| {
        let text = format!("`{host}` cannot prove who it is: {why}");
        RefusedCall::gateway(Refusal::Unreachable, text)
    };
    let config = shared.tls().map_err(|why| failed(&why))?;
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(bare).map_err(|_| failed("its name is not one of TLS"))?;
    let shaking = TlsConnector::from(config).connect(name, stream);
    match timeout(Duration::from_millis(PROXY_HEAD_MS), shaking).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(_) => Err(failed("it does not answer")),
    }
}

/// A connection on which HTTP is spoken. It ends when this is dropped, whatever the server does.
pub(super) struct Connection {
    _running: JoinSet<()>,
}

/// Speaks HTTP on a connection.
pub(super) async fn handshake<B>(
    wire: Box<dyn Wire>,
) -> Result<(SendRequest<B>, Connection), hyper::Error>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut http = http1::Builder::new();
    http.max_buf_size(PROXY_HEAD_BYTES);
    let (sender, connection) = http.handshake(TokioIo::new(wire)).await?;
    let mut running = JoinSet::new();
    running.spawn(async move {
        // The task that waits for the answer is told.
        let _ = connection.with_upgrades().await;
    });
    Ok((sender, Connection { _running: running }))
}

/// Sends a request and waits for the head of its answer: as long as the request is being sent, and
/// a while longer.
pub(super) async fn answered<B>(
    sender: &mut SendRequest<B>,
    request: Request<B>,
    count: &Count,
    shared: &ProxyState,
) -> Result<Response<Incoming>, NotAnswered>
where
    B: Body<Data = Bytes> + Send + 'static,
{
    let mut answer = pin!(sender.send_request(request));
    loop {
        let sent = count.sent.load(Ordering::Relaxed);
        match timeout(shared.answer_time, &mut answer).await {
            Ok(answer) => return answer.map_err(NotAnswered::Broken),
            Err(_) if count.sent.load(Ordering::Relaxed) == sent => return Err(NotAnswered::Late),
            Err(_) => {}
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NotAnswered {
    Broken(hyper::Error),
    Late,
}

impl NotAnswered {
    /// The refusal for the child; `who` is the server as it is called there.
    pub(super) fn refused(self, who: &str) -> RefusedCall {
        match self {
            Self::Broken(error) => {
                let text = format!("{who} gave no answer of HTTP: {error}");
                RefusedCall::gateway(Refusal::Unreachable, text)
            }
            Self::Late => {
                let text = format!("{who} did not answer in time");
                RefusedCall::new(Refusal::Unreachable, StatusCode::GATEWAY_TIMEOUT, text)
            }
        }
    }
}

impl From<hyper::Error> for NotAnswered {
    fn from(error: hyper::Error) -> Self {
        Self::Broken(error)
    }
}
