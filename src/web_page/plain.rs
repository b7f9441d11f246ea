//! A request without TLS by way of a proxy, which reads it and judges it (RFC 9112, 3.2.2). The
//! library for all other requests asks for a tunnel here too, and through those only TLS is led.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use hyper::{Error, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::timeout_at;

use crate::base::limits::HEADERS_BYTES;
use crate::host::{HttpAnswer, HttpCall, NetFault, OuterProxy};

/// Sends a request and gives the answer, whatever its status.
pub(super) fn ask(call: &HttpCall, proxy: &OuterProxy) -> Result<HttpAnswer, NetFault> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| NetFault::Broken(error.to_string()))?;
    let until = tokio::time::Instant::from_std(call.until.max(Instant::now()));
    runtime.block_on(async {
        timeout_at(until, talk(call, proxy)).await.unwrap_or(Err(NetFault::TimedOut))
    })
}

async fn talk(call: &HttpCall, proxy: &OuterProxy) -> Result<HttpAnswer, NetFault> {
    let broken = |error: Error| NetFault::Broken(error.to_string());
    let host = proxy.host.trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, proxy.port))
        .await
        .map_err(|error| NetFault::Proxy(error.kind().to_string()))?;
    let mut http = http1::Builder::new();
    http.max_buf_size(HEADERS_BYTES);
    let (mut sender, connection) = http.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    tokio::spawn(connection);
    let answer = sender.send_request(request(call, proxy)?).await.map_err(broken)?;
    let (head, mut body) = answer.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(broken)?.into_data() {
            read.extend_from_slice(&bytes);
        }
        if read.len() > call.body_cap {
            break;
        }
    }
    let truncated = read.len() > call.body_cap;
    read.truncate(call.body_cap);
    let (status, headers) = (head.status.as_u16(), headers.collect());
    Ok(HttpAnswer { status, headers, body: read, truncated })
}

fn request(call: &HttpCall, proxy: &OuterProxy) -> Result<Request<Empty<Bytes>>, NetFault> {
    let mut request = Request::builder()
        .method(call.method)
        .uri(&call.url)
        .header(USER_AGENT, concat!("rye/", env!("CARGO_PKG_VERSION")));
    let server = call.url.split('/').nth(2).unwrap_or_default();
    request = request.header(HOST, server);
    if let Some(credentials) = &proxy.credentials {
        let value = format!("Basic {}", STANDARD.encode(credentials.as_bytes()));
        request = request.header(PROXY_AUTHORIZATION, value);
    }
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    request.body(Empty::new()).map_err(|error| NetFault::Broken(error.to_string()))
}
