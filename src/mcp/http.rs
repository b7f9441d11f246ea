//! The transport for clients that do not start rye: streamable HTTP on a loopback address.
//!
//! A client that has the token may do what the person who started the server may do, so the token
//! is checked before anything else. The checks of `Host` and `Origin` keep out pages of other sites
//! in a browser.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full as Whole, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::error::McpError;
use super::http_readers::{Full, Reader, RequestStreams};
use super::messages::{begins_session, is_read_over_http};
use super::server::Server;
use super::session::Session;
use crate::base::Digest;
use crate::base::durations::TIMEOUT_MAX_MS;
use crate::base::limits::MCP_CALLS;
use crate::base::limits::MCP_MESSAGE_BYTES;
use crate::base::limits::MCP_WAITING;
use crate::diagnostic::Failure;

/// How long a client may take for the body of an HTTP request, in milliseconds: one on this machine
/// needs less for the largest, and one that never ends keeps no other out.
#[cfg(feature = "mcp")]
const MCP_BODY_MS: u64 = 10_000;

/// How long a client may take for the head of an HTTP request, in milliseconds.
#[cfg(feature = "mcp")]
const MCP_HEADER_MS: u64 = 10_000;

/// Most connections that an MCP server over HTTP has at once; others wait. Each call has one, and
/// some are left to listen, and to cancel a call.
#[cfg(feature = "mcp")]
const MCP_CONNECTIONS: usize = MCP_CALLS + MCP_WAITING + 48;

/// Where the server listens, and the token that clients need.
pub(crate) struct Listen {
    /// A loopback address.
    pub(crate) at: SocketAddr,
    /// The token that a client must send.
    pub(crate) token: String,
    /// The token is new, so it is shown once the server listens.
    pub(crate) shows_token: bool,
}

type Service = StreamableHttpService<Session, LocalSessionManager>;
type Answer = Response<http_body_util::combinators::BoxBody<Bytes, Infallible>>;

/// The one path that is served.
const PATH: &str = "/mcp";

/// Serves until the process is asked to end.
///
/// # Errors
/// `mcp.listen`
pub(super) async fn serve(server: &Arc<Server>, listen: Listen) -> Result<(), Failure> {
    let cannot = |why: String| McpError::Listen { at: listen.at.to_string(), why };
    if !listen.at.ip().is_loopback() {
        return Err(cannot("it is not a loopback address".into()).into());
    }
    let listener = TcpListener::bind(listen.at).await.map_err(|error| cannot(error.to_string()))?;
    let at = listener.local_addr().map_err(|error| cannot(error.to_string()))?;
    if listen.shows_token {
        (server.setup.note)(&format!("token: {}", listen.token));
    }
    (server.setup.note)(&format!("listening on http://{at}{PATH}"));
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MCP_MESSAGE_BYTES)
        .with_allowed_hosts(["localhost", "127.0.0.1", "[::1]"])
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]);
    let mut sessions = LocalSessionManager::default();
    // A session does not time out while a call runs in it, however long the call is silent.
    sessions.session_config.keep_alive = Some(Duration::from_millis(TIMEOUT_MAX_MS));
    let sessions = Arc::new(sessions);
    let (each, known) = (Arc::clone(server), Arc::clone(&sessions));
    let service = Service::new(move || Ok(Session::new(&each)), sessions, config);
    let token = Digest::of(format!("Bearer {}", listen.token).as_bytes());
    let streams = Arc::new(RequestStreams::default());
    let places = Arc::new(Semaphore::new(MCP_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        let Ok((stream, _)) = listener.accept().await else {
            // There are no descriptors left, or the client was gone at once.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let inside = Inside {
            service: service.clone(),
            sessions: Arc::clone(&known),
            streams: Arc::clone(&streams),
            token,
        };
        tokio::spawn(async move {
            let answer = hyper::service::service_fn(move |request| answer(inside.clone(), request));
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_millis(MCP_HEADER_MS))
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            drop(place);
        });
    }
}

/// The state that all connections share.
#[derive(Clone)]
struct Inside {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    streams: Arc<RequestStreams>,
    /// The digest of the expected `Authorization` header.
    token: Digest,
}

async fn answer(inside: Inside, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let shown = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    // Digests are compared, so the time of the comparison says nothing about the token.
    if shown.map(Digest::of) != Some(inside.token) {
        let mut answer = plain(
            StatusCode::UNAUTHORIZED,
            "a bearer token is needed: see where the server was started\n",
        );
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return Ok(answer);
    }
    if request.uri().path() != PATH {
        return Ok(plain(StatusCode::NOT_FOUND, "the server is at /mcp\n"));
    }
    if !is_from_here(&request) {
        return Ok(plain(
            StatusCode::FORBIDDEN,
            "only this machine is served, under its own name\n",
        ));
    }
    let header = |name: &str| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
    let (session, last_event) = (header("mcp-session-id"), header("last-event-id"));
    let (mut head, body) = request.into_parts();
    let body = match read(body).await {
        Ok(body) => body,
        Err(answer) => return Ok(answer),
    };
    if let Err(why) = is_read_over_http(&body, session.is_some()) {
        let mut answer = Response::new(Whole::new(Bytes::from(why)).boxed());
        *answer.status_mut() = StatusCode::BAD_REQUEST;
        let kind = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        return Ok(answer);
    }
    let method = head.method.clone();
    // Any other request without a session has none afterwards either.
    if session.is_none() && begins_session(&body) {
        match inside.streams.make_room() {
            Ok(None) => {}
            Ok(Some(left)) => {
                let _ = inside.sessions.close_session(&left.into()).await;
            }
            Err(Full) => {
                let text = "too many sessions: end one with DELETE\n";
                return Ok(plain(StatusCode::SERVICE_UNAVAILABLE, text));
            }
        }
    }
    let stream = session.as_deref().and_then(|session| match (&method, last_event.as_deref()) {
        (&Method::DELETE, _) => None,
        (&Method::GET, Some(event)) => inside.streams.of_event(session, event),
        _ => Some(inside.streams.begin(session)),
    });
    if let Some(stream) = &stream {
        head.extensions.insert(Arc::clone(stream));
    }
    let mut answer = inside.service.handle(Request::from_parts(head, Whole::new(body))).await;
    if method == Method::DELETE && answer.status() == StatusCode::ACCEPTED {
        inside.streams.end(session.as_deref().unwrap_or_default());
        // The status that other servers give for a session that has ended.
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    if let (None, Some(session)) = (session, answer.headers().get("mcp-session-id")) {
        inside.streams.knows(session.to_str().unwrap_or_default());
    }
    let is_stream =
        answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    let Some(stream) = stream.filter(|_| is_stream) else { return Ok(answer) };
    // The reader is dropped with the body, however the body ends.
    let reader = Reader::new(stream);
    Ok(answer.map(|body| {
        body.map_frame(move |frame| {
            reader.sees(&frame);
            frame
        })
        .boxed()
    }))
}

/// Returns true if a request names this machine, and does not come from a page of another site.
fn is_from_here(request: &Request<Incoming>) -> bool {
    let all = |name, scheme: &str| {
        let mut values = request.headers().get_all(name).iter();
        values.all(|value| {
            let value = value.to_str().ok().and_then(|value| value.strip_prefix(scheme));
            value.is_some_and(is_loopback)
        })
    };
    let named = request.uri().authority().is_none_or(|named| is_loopback(named.as_str()));
    named && all(HOST, "") && all(ORIGIN, "http://")
}

/// Returns true if this is a name of this machine, followed by a port or by nothing.
fn is_loopback(authority: &str) -> bool {
    let hosts = ["localhost", "127.0.0.1", "[::1]"];
    let name = hosts.into_iter().find_map(|host| {
        authority.split_at_checked(host.len()).filter(|(name, _)| name.eq_ignore_ascii_case(host))
    });
    match name {
        Some((_, "")) => true,
        Some((_, port)) => port.strip_prefix(':').is_some_and(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
        }),
        None => false,
    }
}

/// The body of a request, of a bounded size and in a bounded time.
async fn read(body: Incoming) -> Result<Bytes, Answer> {
    let whole = Limited::new(body, MCP_MESSAGE_BYTES).collect();
    match timeout(Duration::from_millis(MCP_BODY_MS), whole).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(plain(StatusCode::PAYLOAD_TOO_LARGE, "the message is too large\n"))
        }
        Ok(Err(_)) => Err(plain(StatusCode::BAD_REQUEST, "the body was cut short\n")),
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the body took too long\n")),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Whole::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
