//! The handling of every message of HTTP: which headers are passed on, how bodies are counted, and
//! how requests are refused.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::reach::Connection;
use super::shared::ProxyState;
use crate::host::{HOP_BY_HOP, REFUSED_HEADER, Refusal};

/// The body of an answer.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, hyper::Error>;
pub(super) type Answer = Response<AnswerBody>;

/// Takes out what is meant for us alone, also what `Connection` names.
pub(super) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Refuses a request for another protocol on the connection, which could not be checked. An offer
/// of HTTP/2 is one to go on without it, and is left out.
pub(super) fn keeps_protocol(headers: &HeaderMap) -> Result<(), RefusedCall> {
    let is_offer = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"h2c");
    match headers.get_all(header::UPGRADE).iter().all(is_offer) {
        true => Ok(()),
        false => Err(RefusedCall::malformed("asks for another protocol, which is not passed on")),
    }
}

/// The one value of a header; `None` if there is none, or several.
pub(super) fn only(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())
}

/// A call that is not carried out, or failed.
#[derive(Debug)]
pub(super) struct RefusedCall {
    pub(super) why: Refusal,
    pub(super) status: StatusCode,
    /// A sentence for who wrote the tool, and the line to add where there is one.
    pub(super) text: String,
}

impl RefusedCall {
    pub(super) fn new(why: Refusal, status: StatusCode, text: impl Into<String>) -> Self {
        Self { why, status, text: text.into() }
    }

    /// Says of the request what keeps it from being passed on.
    pub(super) fn malformed(what: &str) -> Self {
        Self::new(Refusal::Malformed, StatusCode::BAD_REQUEST, format!("the request {what}"))
    }

    /// The server cannot be reached, or does not answer as it should.
    pub(super) fn gateway(why: Refusal, text: impl Into<String>) -> Self {
        Self::new(why, StatusCode::BAD_GATEWAY, text)
    }

    /// Counts it and makes it an answer.
    pub(super) fn answer(&self, what: &str, shared: &ProxyState) -> Answer {
        shared.refuse(what, self.why);
        let mut answer = Response::new(text_body(format!("rye: {}\n", self.text)));
        *answer.status_mut() = self.status;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, plain);
        let refused = HeaderName::from_static(REFUSED_HEADER);
        answer.headers_mut().insert(refused, HeaderValue::from_static(self.why.as_str()));
        if self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let basic = HeaderValue::from_static("Basic realm=\"rye\"");
            answer.headers_mut().insert(header::PROXY_AUTHENTICATE, basic);
        }
        answer
    }
}

/// Does this work. If the client leaves before it is done, the work is dropped and counts as
/// refused, so that nothing is tried unseen.
pub(super) async fn seen<T>(
    what: &str,
    why: Refusal,
    shared: &ProxyState,
    work: impl Future<Output = T>,
) -> T {
    let mut unfinished = UnfinishedBody { what: Some(what), why, shared };
    let done = work.await;
    unfinished.what = None;
    done
}

struct UnfinishedBody<'u> {
    what: Option<&'u str>,
    why: Refusal,
    shared: &'u ProxyState,
}

impl Drop for UnfinishedBody<'_> {
    fn drop(&mut self) {
        if let Some(what) = self.what {
            self.shared.refuse(what, self.why);
        }
    }
}

pub(super) fn text_body(text: String) -> AnswerBody {
    Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync()
}

pub(super) fn empty_body() -> AnswerBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Bytes that went to one host and came from it; they are in the traffic of the run when it is
/// asked for, and when the last who counts is done, however it ends.
pub(super) struct Count {
    shared: Arc<ProxyState>,
    host: String,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

impl Count {
    /// Counts one call at once.
    pub(super) fn new(shared: &Arc<ProxyState>, host: String) -> Arc<Self> {
        shared.add(&host, 1, 0, 0);
        let all = shared.clone();
        let count = Arc::new(Self { shared: all, host, sent: 0.into(), received: 0.into() });
        shared.watch(&count);
        count
    }

    /// The host, and the bytes since this was last asked.
    pub(super) fn take(&self) -> (&str, u64, u64) {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        (&self.host, take(&self.sent), take(&self.received))
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        let (host, sent, received) = self.take();
        self.shared.add(host, 0, sent, received);
    }
}

/// Which way a body goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Sent,
    Received,
}

/// A body whose bytes are counted. Trailers are left out.
pub(super) struct CountedBody<B> {
    body: B,
    /// Of an answer.
    _connection: Option<Connection>,
    count: Arc<Count>,
    way: Way,
}

impl<B> CountedBody<B> {
    pub(super) fn new(body: B, count: &Arc<Count>, way: Way) -> Self {
        Self { body, _connection: None, count: count.clone(), way }
    }

    /// The connection that the body comes by ends with it.
    pub(super) fn of(self, connection: Connection) -> Self {
        Self { _connection: Some(connection), ..self }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for CountedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        loop {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => return other,
            };
            // Trailers may say what no header may.
            if let Some(data) = frame.data_ref() {
                let counter = match self.way {
                    Way::Sent => &self.count.sent,
                    Way::Received => &self.count.received,
                };
                counter.fetch_add(data.len() as u64, Ordering::Relaxed);
                return Poll::Ready(Some(Ok(frame)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
