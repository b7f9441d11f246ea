//! A run as it goes on, as events that a server sends (WHATWG HTML, 9.2).
//!
//! Each event has an id: how many events of the record were told, and how many bytes of text that
//! no record holds were told since, which are the words of a model or what a tool wrote. With it a
//! caller whose line broke goes on behind what it has. The last event signs all before it.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::spawn_blocking;

use super::answers::{LOOK, own, parameter};
use super::asked::{Asked, Segment, SignsItself, with_kind};
use super::server::Node;
use crate::base::Digesting;
use crate::diagnostic::Failure;
use crate::remote::{END_EVENT, RemoteError, tell_event};
use crate::runs::{TailEnd, Threads};
use crate::signature::HttpSignature;

/// Pieces that wait for a slow caller; then the events wait.
const WAITING: usize = 64;

/// A line is kept alive by a comment after so many looks without an event: about ten seconds.
const QUIET: u32 = 100;

/// How far a caller has read: events of the record, and bytes of text since the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Position {
    events: u64,
    bytes: u64,
}

impl Position {
    fn parse(text: &str) -> Option<Self> {
        let (events, bytes) = text.split_once('.')?;
        Some(Self { events: events.parse().ok()?, bytes: bytes.parse().ok()? })
    }
}

/// `GET /threads/{id}/events`
pub(super) async fn events(
    State(node): State<Arc<Node>>,
    Segment(id): Segment,
    RawQuery(query): RawQuery,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    own(&node, &asked, &id)?;
    // Not in a header, which no signature covers.
    let after = parameter(query.as_deref(), "after").filter(|after| !after.is_empty());
    let after = match after.map(Position::parse) {
        None => Position::default(),
        Some(Some(after)) => after,
        Some(None) => {
            let why = "`after` is not the id of an event";
            return Err(RemoteError::bad_request(why).into());
        }
    };
    let Ok(place) = Arc::clone(&node.streams).try_acquire_owned() else {
        let why = "tells of as many runs as it may already";
        return Err(RemoteError::Busy { why }.into());
    };
    let (say, said) = mpsc::channel(WAITING);
    let request = asked.signature;
    spawn_blocking(move || {
        let teller = Teller {
            node: &node,
            request: &request,
            say,
            after,
            at: Position::default(),
            told: Digesting::default(),
            quiet: 0,
        };
        teller.tell_all(&id);
        drop(place);
    });
    let mut answer = with_kind("text/event-stream", Body::new(Pieces(said)));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.extensions_mut().insert(SignsItself);
    Ok(answer)
}

/// The pieces of a body, as they come.
struct Pieces(Receiver<Bytes>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.get_mut().0.poll_recv(cx);
        piece.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Tells one caller of one run.
struct Teller<'a> {
    node: &'a Node,
    request: &'a HttpSignature,
    say: Sender<Bytes>,
    /// The part that the caller has.
    after: Position,
    at: Position,
    told: Digesting,
    /// Looks since something was sent.
    quiet: u32,
}

impl Teller<'_> {
    fn tell_all(mut self, id: &str) {
        let threads = Threads::new(&self.node.rye);
        // It registers itself when its turn has come.
        while self.node.has_to_run(id) && threads.run(id).is_err() {
            if self.tell_nothing().is_break() {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let ended = threads.tail(id, &mut |event| match event {
            Some(event) => self.tell(event),
            None => self.tell_nothing(),
        });
        if matches!(ended, Ok(TailEnd::Left | TailEnd::Signal(_))) {
            return;
        }
        if let Err(failure) = ended {
            let told = failure.diagnostic().to_json();
            if self.tell(&json!({"event": "failed", "failure": told})).is_break() {
                return;
            }
        }
        let headers = self.node.signature(200, self.told.digest(), self.request);
        let headers: Map<String, Value> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let _ = self.send(END_EVENT, None, &json!({"headers": headers}).to_string());
    }

    fn tell(&mut self, event: &Value) -> ControlFlow<()> {
        let kind = event["event"].as_str().unwrap_or("event").to_owned();
        let mut event = event.clone();
        match kind.as_str() {
            "token_delta" | "output" => {
                let text = event["text"].as_str().unwrap_or_default();
                let before = self.at.bytes;
                self.at.bytes += text.len() as u64;
                let known = match self.at.events.cmp(&self.after.events) {
                    Ordering::Less => return ControlFlow::Continue(()),
                    Ordering::Equal if self.at.bytes <= self.after.bytes => {
                        return ControlFlow::Continue(());
                    }
                    Ordering::Equal => self.after.bytes.saturating_sub(before),
                    Ordering::Greater => 0,
                };
                let known = usize::try_from(known).unwrap_or(0);
                let rest = text.get(known..).unwrap_or(text).to_owned();
                event["text"] = rest.into();
            }
            _ => {
                (self.at.events, self.at.bytes) = (self.at.events + 1, 0);
                if self.at.events <= self.after.events {
                    return ControlFlow::Continue(());
                }
            }
        }
        let at = format!("{}.{}", self.at.events, self.at.bytes);
        let data = json!({"at": at, "event": event}).to_string();
        tell_event(&mut self.told, &kind, &data);
        self.send(&kind, Some(&at), &data)
    }

    fn tell_nothing(&mut self) -> ControlFlow<()> {
        self.quiet += 1;
        if self.say.is_closed() {
            return ControlFlow::Break(());
        }
        if self.quiet < QUIET {
            return ControlFlow::Continue(());
        }
        self.put(":\n\n".into())
    }

    fn send(&mut self, kind: &str, id: Option<&str>, data: &str) -> ControlFlow<()> {
        let mut text = String::with_capacity(data.len() + 64);
        if let Some(id) = id {
            let _ = writeln!(text, "id: {id}");
        }
        let _ = write!(text, "event: {kind}\ndata: {data}\n\n");
        self.put(text)
    }

    fn put(&mut self, text: String) -> ControlFlow<()> {
        self.quiet = 0;
        match self.say.blocking_send(text.into()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
