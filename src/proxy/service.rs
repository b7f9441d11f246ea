//! The endpoint of a service: a listed call gets the service's secret and goes to its upstream;
//! what comes back is passed on without it.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::response;
use hyper::{Method, Request, Response, StatusCode, Uri};

use super::masked_body::MaskedBody;
use super::message::{
    Answer, Count, CountedBody, RefusedCall, Way, drop_hop_by_hop, empty_body, keeps_protocol,
    only, seen,
};
use super::reach::{self, Destination, NotAnswered};
use super::shared::ProxyState;
use crate::base::Address;
use crate::host::{Refusal, Service, plain_path};

/// The headers of a child's request that are passed on. Any other is left out: some servers take
/// the client, the method or the path from one instead (`X-Forwarded-*`, `Sudo`,
/// `X-HTTP-Method-Override`, `X-Original-URL`), there is no list of all those, and an answer in
/// another encoding or in parts could not be looked through.
const FROM_THE_CHILD: [&str; 43] = [
    "accept",
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "cache-control",
    "consistencylevel",
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-md5",
    "content-range",
    "content-type",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "notion-version",
    "openai-beta",
    "pragma",
    "prefer",
    "revision",
    "stripe-version",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-api-version",
    "x-atlassian-token",
    "x-client-request-id",
    "x-correlation-id",
    "x-github-api-version",
    "x-goog-api-client",
    "x-goog-fieldmask",
    "x-ms-blob-type",
    "x-ms-version",
    "x-request-id",
    "x-requested-with",
];

/// Headers that are taken out of an answer: a cookie would be another secret, and the length is of
/// the text with the secrets in it.
const NOT_FROM_THE_SERVER: [&str; 5] =
    ["alt-svc", "content-length", "set-cookie", "set-cookie2", "clear-site-data"];

/// Answers one request to the endpoint at this port.
pub(super) async fn answer(
    request: Request<Incoming>,
    at: usize,
    port: u16,
    shared: &Arc<ProxyState>,
) -> Answer {
    let service = &shared.egress.services[at];
    // The token of a run that is watched is never recorded.
    let path = request.uri().path();
    let path = path.strip_prefix(&shared.prefix).unwrap_or(path);
    let what = format!("{}: {} {path}", service.name(), request.method());
    match passed(request, at, port, shared).await {
        Ok(answer) => answer,
        Err(refused) => {
            // What a server or a library says of a failure may quote the request.
            let text = shared.mask.text(&refused.text);
            RefusedCall { text, ..refused }.answer(&what, shared)
        }
    }
}

async fn passed(
    mut request: Request<Incoming>,
    at: usize,
    port: u16,
    shared: &Arc<ProxyState>,
) -> Result<Answer, RefusedCall> {
    let service = &shared.egress.services[at];
    let endpoint = endpoint(&request, port)? + &shared.prefix;
    drop_prefix(&mut request, &shared.prefix)?;
    judge(&request, service)?;
    let upstream = service.upstream();
    let target = target(upstream, request.uri())?;
    let is_head = request.method() == Method::HEAD;
    let (parts, body) = request.into_parts();
    let headers = sent_headers(parts.headers, service, &shared.headers[at])?;
    let uri: Uri =
        target.parse().map_err(|_| RefusedCall::malformed("has a path that is not one"))?;

    let to =
        Destination { host: upstream.host(), port: upstream.port(), is_https: upstream.is_https() };
    let broken = |why: NotAnswered| why.refused(&format!("the service `{}`", service.name()));
    let mut wire = reach::connect(to, shared).await?;
    if upstream.is_https() {
        let shaking = reach::secured(wire, upstream.host(), shared);
        wire = seen(&to.text(), Refusal::Unreachable, shared, shaking).await?;
    }
    let count = Count::new(shared, service.name().to_owned());
    let mut sent = Request::new(CountedBody::new(body, &count, Way::Sent));
    *sent.method_mut() = parts.method;
    *sent.uri_mut() = uri;
    *sent.headers_mut() = headers;
    let (mut sender, connection) =
        reach::handshake(wire).await.map_err(|error| broken(error.into()))?;
    let answer = reach::answered(&mut sender, sent, &count, shared).await.map_err(broken)?;

    let (parts, body) = answer.into_parts();
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        let text = format!("the service `{}` wants another protocol", service.name());
        return Err(RefusedCall::gateway(Refusal::Malformed, text));
    }
    readable(&parts, service)?;
    let asked = format!("{}{target}", upstream.origin());
    let mut headers = received_headers(parts.headers, shared);
    relocate(&mut headers, upstream, &asked, &endpoint);
    let body = match is_head {
        true => empty_body(),
        false => MaskedBody::new(body, connection, &shared.mask, &count).boxed_unsync(),
    };
    let mut given = Response::new(body);
    *given.status_mut() = parts.status;
    *given.headers_mut() = headers;
    Ok(given)
}

/// The address of the endpoint as the child calls it. Another name in `Host` is one that a page or
/// a server made up for this machine.
fn endpoint(request: &Request<Incoming>, port: u16) -> Result<String, RefusedCall> {
    let host = only(request.headers(), header::HOST).and_then(|value| value.to_str().ok());
    let known = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    match host.filter(|host| known.iter().any(|known| known == host)) {
        Some(host) => Ok(format!("http://{host}")),
        None => {
            let refused = RefusedCall::malformed("has no `Host` that is the one of this endpoint");
            Err(RefusedCall { why: Refusal::OtherName, ..refused })
        }
    }
}

/// Takes the prefix of the run from the path; who does not know it is another program.
fn drop_prefix(request: &mut Request<Incoming>, prefix: &str) -> Result<(), RefusedCall> {
    if prefix.is_empty() {
        return Ok(());
    }
    let rest = request.uri().path_and_query().and_then(|path| path.as_str().strip_prefix(prefix));
    let rest = rest.filter(|rest| rest.starts_with('/')).and_then(|rest| rest.parse().ok());
    let refused = || {
        let text = "this endpoint is for one run, whose variable holds all of its address";
        RefusedCall::new(Refusal::Token, StatusCode::FORBIDDEN, text)
    };
    *request.uri_mut() = rest.ok_or_else(refused)?;
    Ok(())
}

/// Refuses what is not listed, and what a server could take for another call.
fn judge(request: &Request<Incoming>, service: &Service) -> Result<(), RefusedCall> {
    let (method, uri) = (request.method(), request.uri());
    if uri.scheme().is_some() || uri.authority().is_some() {
        return Err(RefusedCall::malformed(
            "is for a whole address, and an endpoint is asked for a path",
        ));
    }
    let Some(path) = plain_path(uri.path()) else {
        return Err(RefusedCall::malformed("has a path that may be read in two ways"));
    };
    keeps_protocol(request.headers())?;
    if service.allows(method.as_str(), &path) {
        return Ok(());
    }
    let name = service.name();
    let text = match matches!(*method, Method::TRACE | Method::CONNECT) {
        true => format!("`{method}` is never passed on to the service `{name}`"),
        false => format!(
            "`{method} {path}` is not among the calls of the service `{name}`; who wrote the tool \
             may add it: sandbox.services.{name}.allow: [\"{method} {path}\"]"
        ),
    };
    Err(RefusedCall::new(Refusal::NotListed, StatusCode::FORBIDDEN, text))
}

/// The path and query at the upstream, whose own path stands before it.
fn target(upstream: &Address, uri: &Uri) -> Result<String, RefusedCall> {
    let path = uri.path_and_query().ok_or_else(|| RefusedCall::malformed("has no path"))?;
    Ok(format!("{}{path}", upstream.path().trim_end_matches('/')))
}

fn sent_headers(
    mut headers: HeaderMap,
    service: &Service,
    secret: &HeaderValue,
) -> Result<HeaderMap, RefusedCall> {
    // What `Connection` names is meant for us alone, whatever it is.
    drop_hop_by_hop(&mut headers);
    let mut passed = HeaderMap::with_capacity(headers.len());
    for name in FROM_THE_CHILD.map(HeaderName::from_static) {
        for value in headers.get_all(&name) {
            passed.append(name.clone(), value.clone());
        }
    }
    let own = HeaderName::try_from(service.header())
        .map_err(|_| RefusedCall::malformed("has no header"))?;
    passed.insert(own, secret.clone());
    let origin = service.upstream().origin();
    let host = origin.split_once("://").map_or("", |(_, host)| host);
    let host = HeaderValue::try_from(host).map_err(|_| RefusedCall::malformed("has no host"))?;
    passed.insert(header::HOST, host);
    passed.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(passed)
}

/// Refuses an answer that cannot be looked through for the secret.
fn readable(parts: &response::Parts, service: &Service) -> Result<(), RefusedCall> {
    let headers = &parts.headers;
    let is_only = |name: HeaderName, plain: &str| {
        let is_plain = |value: &HeaderValue| {
            value.to_str().is_ok_and(|value| value.trim().eq_ignore_ascii_case(plain))
        };
        headers.get_all(name).iter().all(is_plain)
    };
    let problem = if !is_only(header::CONTENT_ENCODING, "identity")
        || !is_only(header::TRANSFER_ENCODING, "chunked")
    {
        "in an encoding"
    } else if !headers.get_all(header::CONTENT_TYPE).iter().all(is_of_known_letters) {
        "in letters other than UTF-8"
    } else if parts.status == StatusCode::PARTIAL_CONTENT {
        "with a part"
    } else {
        return Ok(());
    };
    let text = format!(
        "the service `{}` answers {problem} that was not asked for, in which its secret would not \
         be seen",
        service.name()
    );
    Err(RefusedCall::gateway(Refusal::Opaque, text))
}

/// Letters in which those of ASCII, as in a secret, are the bytes of ASCII.
const CHARSETS: [&str; 7] =
    ["ascii", "iso-8859-1", "latin1", "us-ascii", "utf-8", "utf8", "windows-1252"];

/// Returns true if the type of a content names no character set, or a known one.
fn is_of_known_letters(value: &HeaderValue) -> bool {
    let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    text.match_indices("charset").all(|(at, word)| {
        let rest = text[at + word.len()..].trim_start();
        let named = rest.strip_prefix('=').map(|named| named.trim_start_matches([' ', '\t', '"']));
        let end = |c: char| matches!(c, ';' | ',' | '"' | ' ' | '\t');
        named.is_none_or(|named| CHARSETS.contains(&named.split(end).next().unwrap_or(named)))
    })
}

fn received_headers(mut headers: HeaderMap, shared: &ProxyState) -> HeaderMap {
    drop_hop_by_hop(&mut headers);
    for name in NOT_FROM_THE_SERVER {
        headers.remove(name);
    }
    let mut masked = HeaderMap::with_capacity(headers.len());
    for (name, value) in &headers {
        // A name that holds a secret is left out with what it says.
        if shared.mask.text(name.as_str()) != name.as_str() {
            continue;
        }
        let bytes = shared.mask.bytes(value.as_bytes(), false);
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            masked.append(name.clone(), value);
        }
    }
    masked
}

/// Where an answer leads on the upstream itself becomes a place at the endpoint; any other origin
/// is passed back as it is and not followed here.
fn relocate(headers: &mut HeaderMap, upstream: &Address, asked: &str, endpoint: &str) {
    for name in [header::LOCATION, header::CONTENT_LOCATION] {
        let location = headers.get(&name).and_then(|value| value.to_str().ok());
        let moved = location.and_then(|location| {
            let to = Address::parse(asked).ok()?.follow(location)?;
            let base = upstream.path().trim_end_matches('/');
            let own = to.as_str().strip_prefix(&upstream.origin())?.strip_prefix(base)?;
            (to.origin() == upstream.origin() && own.starts_with('/'))
                .then(|| format!("{endpoint}{own}"))
        });
        if let Some(value) = moved.and_then(|moved| HeaderValue::try_from(moved).ok()) {
            headers.insert(name, value);
        }
    }
}
