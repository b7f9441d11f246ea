//! The proxy for listed hosts: tunnels that begin with TLS, and plain HTTP request by request.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::uri::{Authority, Scheme};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;

use super::CountedConnection;
use super::first_head::Begun;
use super::greeting::{UNRECOGNIZED_NAME, greeting};
use super::message::{
    Answer, Count, CountedBody, RefusedCall, Way, drop_hop_by_hop, empty_body, keeps_protocol,
    only, seen,
};
use super::reach::{self, Destination, NotAnswered, Wire};
use super::shared::ProxyState;
use super::tunnel::carry;
use crate::base::{HostRule, address_of};
use crate::host::Refusal;

/// Answers one request to the proxy.
pub(super) async fn answer(
    request: Request<Incoming>,
    shared: &Arc<ProxyState>,
    held: CountedConnection,
) -> Answer {
    let what = asked_for(request.uri());
    let answered = if request.method() == Method::CONNECT {
        connect(request, shared, held).await
    } else {
        plain(request, shared).await
    };
    answered.unwrap_or_else(|refused| refused.answer(&what, shared))
}

/// `name:port` of a request, for people.
fn asked_for(uri: &Uri) -> String {
    let Some(authority) = uri.authority() else { return "a request without a host".to_owned() };
    // Whatever stands before the host may be a password.
    let text = authority.as_str().rsplit('@').next().unwrap_or_default();
    let port = match uri.scheme_str() {
        Some("http") => ":80",
        Some("https") => ":443",
        _ => "",
    };
    let has_port = text.len() > authority.host().len();
    text.to_owned() + if has_port { "" } else { port }
}

/// Refuses who does not know the run's token.
fn authorized(headers: &HeaderMap, shared: &ProxyState) -> Result<(), RefusedCall> {
    let given = only(headers, header::PROXY_AUTHORIZATION).and_then(|value| {
        let (scheme, text) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("basic").then_some(text)
    });
    let credentials = given.and_then(|text| STANDARD.decode(text.trim()).ok());
    match credentials.is_some_and(|credentials| shared.knows(&credentials)) {
        true => Ok(()),
        false => {
            let text = "this proxy is for one run, whose variables `HTTPS_PROXY` and `HTTP_PROXY` \
                        hold its user and password";
            Err(RefusedCall::new(Refusal::Token, StatusCode::PROXY_AUTHENTICATION_REQUIRED, text))
        }
    }
}

/// The host and port of a request, if they are listed.
fn listed(uri: &Uri, port: Option<u16>, shared: &ProxyState) -> Result<(String, u16), RefusedCall> {
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
    let is_whole = |authority: &&Authority| {
        // What stands behind the host is a port, or nothing.
        authority.port_u16().is_some() || authority.as_str() == authority.host()
    };
    let (Some(authority), Some(port)) = (authority.filter(is_whole), port) else {
        return Err(RefusedCall::malformed("names no host and port that could be reached"));
    };
    let host = authority.host().to_ascii_lowercase();
    if shared.is_listed(&host, port) {
        return Ok((host, port));
    }
    let line = format!("{host}:{port}");
    let text = match (HostRule::parse(&line), &shared.egress.hosts_from) {
        (Ok(rule), Some(list)) => {
            format!("`{rule}` is not among the hosts that your `{list}` lists, and you may add it")
        }
        (Ok(rule), None) => format!(
            "`{rule}` is not among the hosts of this tool; who wrote it may add it: \
             sandbox.net.hosts: [\"{rule}\"]"
        ),
        (Err(error), _) => format!("`{line}` is not among the hosts of this tool, and {error}"),
    };
    Err(RefusedCall::new(Refusal::NotListed, StatusCode::FORBIDDEN, text))
}

async fn connect(
    mut request: Request<Incoming>,
    shared: &Arc<ProxyState>,
    held: CountedConnection,
) -> Result<Answer, RefusedCall> {
    authorized(request.headers(), shared)?;
    let uri = request.uri();
    if uri.scheme().is_some() || uri.path_and_query().is_some() {
        return Err(RefusedCall::malformed("is for a tunnel, and names more than a host and port"));
    }
    let (host, port) = listed(uri, uri.port_u16(), shared)?;
    let to = Destination { host: &host, port, is_https: true };
    let server = reach::connect(to, shared).await?;
    let tunnel = Tunnel { shared: shared.clone(), what: to.text(), host, _held: held };
    tokio::spawn(tunnel.run(hyper::upgrade::on(&mut request), server));
    Ok(Response::new(empty_body()))
}

/// A tunnel that was promised to the child.
struct Tunnel {
    shared: Arc<ProxyState>,
    what: String,
    host: String,
    _held: CountedConnection,
}

impl Tunnel {
    async fn run(self, upgrade: OnUpgrade, server: Box<dyn Wire>) {
        // A tunnel that comes to no greeting counts as refused, also where the child leaves.
        let upgraded = seen(&self.what, Refusal::NotTls, &self.shared, upgrade).await;
        let Some((mut child, read)) = upgraded.ok().and_then(taken) else {
            return self.shared.refuse(&self.what, Refusal::NotTls);
        };
        let greeting = greeting(&mut child, read);
        let greeted = match seen(&self.what, Refusal::NotTls, &self.shared, greeting).await {
            Ok(greeting) if self.is_meant(greeting.name.as_deref()) => Ok(greeting.bytes),
            Ok(_) => Err(Refusal::OtherName),
            Err(why) => Err(why),
        };
        match greeted {
            Ok(bytes) => {
                let count = Count::new(&self.shared, self.what.clone());
                carry(child, server, &bytes, &count).await;
            }
            Err(why) => {
                self.shared.refuse(&self.what, why);
                let text = b"rye: a tunnel must begin with TLS; plain HTTP is asked for without \
                             CONNECT\n";
                let said: &[u8] = match why {
                    Refusal::OtherName => &UNRECOGNIZED_NAME,
                    _ => text,
                };
                let _ = child.write_all(said).await;
                let _ = child.shutdown().await;
            }
        }
    }

    /// Returns true if the name in the greeting is the host that was asked for. A listed address
    /// has none.
    fn is_meant(&self, name: Option<&str>) -> bool {
        name == Some(&self.host) || (name.is_none() && address_of(&self.host).is_some())
    }
}

/// The child's own connection, and what was read of it already.
fn taken(upgraded: Upgraded) -> Option<(Begun, Vec<u8>)> {
    let parts = upgraded.downcast::<TokioIo<Begun>>().ok()?;
    Some((parts.io.into_inner(), parts.read_buf.to_vec()))
}

/// A request for `http://…`, written anew.
async fn plain(
    mut request: Request<Incoming>,
    shared: &Arc<ProxyState>,
) -> Result<Answer, RefusedCall> {
    authorized(request.headers(), shared)?;
    let uri = request.uri().clone();
    if uri.scheme() != Some(&Scheme::HTTP) {
        return Err(RefusedCall::malformed(
            "is not for an `http://` address; `https://` is asked for by CONNECT",
        ));
    }
    if request.method() == Method::TRACE {
        return Err(RefusedCall::malformed("is a TRACE, which is never passed on"));
    }
    keeps_protocol(request.headers())?;
    let (host, port) = listed(&uri, Some(uri.port_u16().unwrap_or(80)), shared)?;
    let to = Destination { host: &host, port, is_https: false };
    let named = only(request.headers(), header::HOST).and_then(|value| value.to_str().ok());
    let is_same = |named: &str| {
        let named = named.to_ascii_lowercase();
        named == to.text() || (port == 80 && format!("{named}:80") == to.text())
    };
    if !named.is_some_and(is_same) {
        let refused = RefusedCall::malformed("has no `Host` that is the one of its address");
        return Err(RefusedCall { why: Refusal::OtherName, ..refused });
    }
    let mut headers = std::mem::take(request.headers_mut());
    drop_hop_by_hop(&mut headers);
    headers.remove(header::EXPECT);
    let authority =
        if port == 80 { to.text().trim_end_matches(":80").to_owned() } else { to.text() };
    let host_value = HeaderValue::try_from(&authority)
        .map_err(|_| RefusedCall::malformed("has no such host"))?;
    headers.insert(header::HOST, host_value);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let (wire, target) = match reach::outer_proxy(to, shared)? {
        Some(proxy) => {
            if let Some(value) = reach::proxy_authorization(&proxy) {
                headers.insert(header::PROXY_AUTHORIZATION, value);
            }
            let asking = reach::to_proxy(&proxy, shared);
            let wire = seen(&to.text(), Refusal::Unreachable, shared, asking).await?;
            (wire, format!("http://{authority}{path}"))
        }
        None => (reach::connect(to, shared).await?, path.to_owned()),
    };
    let count = Count::new(shared, to.text());
    let (parts, body) = request.into_parts();
    let mut sent = Request::new(CountedBody::new(body, &count, Way::Sent));
    *sent.method_mut() = parts.method;
    *sent.uri_mut() =
        target.parse().map_err(|_| RefusedCall::malformed("has a path that is not one"))?;
    // The body says how long it is; a length beside it could say another.
    headers.remove(header::CONTENT_LENGTH);
    *sent.headers_mut() = headers;
    let broken = |why: NotAnswered| why.refused(&format!("`{}`", to.text()));
    let (mut sender, connection) =
        reach::handshake(wire).await.map_err(|error| broken(error.into()))?;
    let answer = reach::answered(&mut sender, sent, &count, shared).await.map_err(broken)?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(broken_switch());
    }
    let (mut parts, body) = answer.into_parts();
    drop_hop_by_hop(&mut parts.headers);
    parts.extensions.clear();
    let body = CountedBody::new(body, &count, Way::Received).of(connection).boxed_unsync();
    let mut given = Response::new(body);
    *given.status_mut() = parts.status;
    *given.headers_mut() = parts.headers;
    Ok(given)
}

fn broken_switch() -> RefusedCall {
    RefusedCall::gateway(
        Refusal::Malformed,
        "the server wants another protocol, which is not passed on",
    )
}
