//! Who asks: the one place where a request is let in.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Collected};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;

use super::bodies::read_body;
use super::server::Node;
use crate::base::Digest;
use crate::base::sync::unpoisoned;
use crate::diagnostic::{Code, ExitStatus, Failure};
use crate::remote::{
    KEY_HEADER, REMOTE_BAD_SIGNATURE, REMOTE_BODY_DIFFERS, REMOTE_BUSY, REMOTE_CLOCK,
    REMOTE_MISSING_OBJECTS, REMOTE_MISSING_SECRET, REMOTE_OUT_OF_SCOPE, REMOTE_REPLAYED,
    REMOTE_TOO_LARGE, REMOTE_UNKNOWN_KEY, REMOTE_WRONG_NODE, RemoteError,
};
use crate::report::error_json;
use crate::signature::{
    HttpSignature, MessageFault, RequestHead, SignedRequest, sign_answer, verify_request,
};
use crate::trust::NodeCaller;
use crate::verify::PublicKey;

/// The paths that anyone may ask.
pub(super) const OPEN: [&str; 4] = ["/health", "/identity", "/openapi.json", "/metrics"];

/// A request that was let in.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) caller: Arc<NodeCaller>,
    pub(super) body: Arc<[u8]>,
    /// For the answer.
    pub(super) signature: Arc<HttpSignature>,
    /// The room that the body takes.
    _room: Arc<OwnedSemaphorePermit>,
}

/// The one segment of a path that names something.
pub(super) struct Segment(pub(super) String);

impl FromRequestParts<Arc<Node>> for Segment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Failure> {
        let read = Path::from_request_parts(parts, node).await;
        let why = "its path is not UTF-8";
        Ok(read.map(|Path(name)| Self(name)).map_err(|_| RemoteError::bad_request(why))?)
    }
}

/// An answer that signs itself at its end.
#[derive(Clone)]
pub(super) struct SignsItself;

impl IntoResponse for Failure {
    /// An answer without a body, which [`let_in`] draws.
    fn into_response(self) -> Response {
        (status_of(self.reason()), Extension(self)).into_response()
    }
}

/// Lets a request in, or refuses it; draws a failure, and signs the answer.
pub(super) async fn let_in(
    State(node): State<Arc<Node>>,
    request: Request,
    next: Next,
) -> Response {
    node.metrics.asked();
    if OPEN.contains(&request.uri().path()) {
        return drawn(&node, next.run(request).await);
    }
    let headers = pairs(request.headers());
    let signature = HttpSignature::of(&headers.iter().map(borrowed).collect::<Vec<_>>()).ok();
    let answer = match asked(&node, request, &headers).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => Failure::from(refusal).into_response(),
    };
    let answer = drawn(&node, answer);
    match signature {
        Some(signature) if answer.extensions().get::<SignsItself>().is_none() => {
            signed(&node, answer, &signature).await
        }
        _ => answer,
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    let pairs = headers.iter();
    pairs.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
}

fn borrowed((name, value): &(String, Vec<u8>)) -> (&str, &[u8]) {
    (name, value)
}

/// Checks everything that there is to check about who asks.
async fn asked(
    node: &Node,
    request: Request,
    headers: &[(String, Vec<u8>)],
) -> Result<Request, RemoteError> {
    let now = jiff::Timestamp::now().as_second();
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.ok_or_else(|| RemoteError::bad_request("it has no header `Host`"))?;
    let target = match request.uri().path_and_query() {
        Some(path) if request.uri().authority().is_none() => {
            format!("{}://{host}{path}", node.scheme())
        }
        _ => return Err(RemoteError::bad_request("its target is not a path")),
    };
    let borrowed: Vec<_> = headers.iter().map(borrowed).collect();
    let head =
        RequestHead { method: request.method().as_str(), target_uri: &target, headers: &borrowed };
    let mut caller: Option<NodeCaller> = None;
    let known = |key: &_| -> Option<PublicKey> {
        caller = node.caller(*key);
        caller.as_ref().map(|caller| caller.key.clone())
    };
    let signed = verify_request(&head, node.fingerprint, now, known).map_err(|f| told(f, node))?;
    let caller = caller.ok_or_else(|| unknown(&signed.key.to_string()))?;
    node.may_ask(signed.key)?;
    let SignedRequest { key, nonce, created, expires, body: expected, signature } = signed;
    let (mut parts, body) = request.into_parts();
    let (body, room) = read_body(node, &parts, body).await?;
    expected.check(Digest::of(&body)).map_err(|fault| told(fault, node))?;
    // A body may take its time.
    let now = jiff::Timestamp::now().as_second();
    if expires < now {
        return Err(RemoteError::Clock { created, expires, now });
    }
    let is_new = unpoisoned(node.nonces.lock()).is_new(&key.to_string(), &nonce, expires, now);
    if !is_new.map_err(|_| RemoteError::Busy { why: "cannot keep the numbers of requests" })? {
        return Err(RemoteError::Replayed);
    }
    let (caller, signature) = (Arc::new(caller), Arc::new(signature));
    parts.extensions.insert(Asked { caller, body, signature, _room: Arc::new(room) });
    Ok(Request::from_parts(parts, Body::empty()))
}

fn unknown(key: &str) -> RemoteError {
    RemoteError::UnknownKey { key: key.to_owned() }
}

fn told(fault: MessageFault, node: &Node) -> RemoteError {
    match fault {
        MessageFault::WrongNode { named } => {
            RemoteError::WrongNode { named: named.to_string(), here: node.fingerprint }
        }
        MessageFault::Clock { created, expires, now } => {
            RemoteError::Clock { created, expires, now }
        }
        MessageFault::UnknownKey { key } => unknown(&key.to_string()),
        MessageFault::BodyDiffers => RemoteError::BodyDiffers,
        other => RemoteError::BadSignature { why: other.to_string() },
    }
}

/// Signs an answer for the request with that signature.
async fn signed(node: &Node, answer: Response, request: &HttpSignature) -> Response {
    let (mut parts, body) = answer.into_parts();
    let Ok(body) = body.collect().await.map(Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    let status = parts.status.as_u16();
    for (name, value) in node.signature(status, Digest::of(&body), request) {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_str(&value));
        if let Ok(value) = value {
            parts.headers.insert(name, value);
        }
    }
    Response::from_parts(parts, Body::from(body))
}

impl Node {
    /// The headers that sign an answer.
    pub(super) fn signature(
        &self,
        status: u16,
        body: Digest,
        request: &HttpSignature,
    ) -> Vec<(&'static str, String)> {
        let now = jiff::Timestamp::now().as_second();
        let mut headers = sign_answer(&self.pair, status, body, request, now);
        headers.push((KEY_HEADER, STANDARD.encode(self.pair.public().as_bytes())));
        headers
    }
}

/// An answer with a body of that media type.
pub(super) fn with_kind(kind: &'static str, body: impl Into<Body>) -> Response {
    let mut answer = Response::new(body.into());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Work in a thread that may block.
///
/// # Errors
/// Those of the work; `remote.bad_answer` if it panics.
pub(super) async fn beside<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Failure> + Send + 'static,
) -> Result<R, Failure> {
    spawn_blocking(work).await.unwrap_or_else(|_| Err(RemoteError::Bug.into()))
}

/// An answer that is JSON.
pub(super) fn json(value: &Value) -> Response {
    with_kind("application/json", value.to_string())
}

/// The exit status of failures of the file system.
const IO_STATUS: u8 = ExitStatus::CannotRun as u8;

/// Counts the failure of an answer, and draws it: the structured error of core 7.12.
fn drawn(node: &Node, mut answer: Response) -> Response {
    let Some(failure) = answer.extensions_mut().remove::<Failure>() else { return answer };
    let mut diagnostic = failure.diagnostic();
    let code = diagnostic.code;
    node.metrics.refused(code);
    if code.exit_status() == IO_STATUS {
        // Its paths are the operator's to know.
        (node.setup.note)(&diagnostic.message);
        diagnostic.message = "the node cannot use its own files".into();
        diagnostic.help = Some("tell its operator; what `rye serve` says names them".into());
    }
    let status = answer.status();
    let mut answer = json(&error_json(&diagnostic, None, &[], Duration::ZERO, None));
    *answer.status_mut() = status;
    if code == REMOTE_BUSY {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

fn status_of(code: Code) -> StatusCode {
    match code {
        REMOTE_BAD_SIGNATURE | REMOTE_BODY_DIFFERS | REMOTE_CLOCK | REMOTE_REPLAYED
        | REMOTE_UNKNOWN_KEY | REMOTE_WRONG_NODE => StatusCode::UNAUTHORIZED,
        REMOTE_OUT_OF_SCOPE => StatusCode::FORBIDDEN,
        REMOTE_MISSING_OBJECTS | REMOTE_MISSING_SECRET => StatusCode::CONFLICT,
        REMOTE_TOO_LARGE => StatusCode::PAYLOAD_TOO_LARGE,
        REMOTE_BUSY => StatusCode::SERVICE_UNAVAILABLE,
        other => match other.exit_status() {
            2 | 4 | 5 => StatusCode::BAD_REQUEST,
            3 => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}
