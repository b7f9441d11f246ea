//! Tells whether anybody still reads the answer of a call over HTTP.
//!
//! A broken connection is not a cancellation: the client may come back for the answer with the id
//! of the last event that it saw. A client that does not come back is gone, and its calls are
//! ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use hyper::body::{Bytes, Frame};
use tokio::sync::watch;
use tokio::time::timeout;

use super::server::held;

/// How long a call goes on over HTTP without a reader of its answer, in milliseconds: a client is
/// told to come back after three seconds.
#[cfg(feature = "mcp")]
const MCP_LOST_MS: u64 = 5_000;

/// Most sessions that an MCP server over HTTP has at once: the one that a client left longest makes
/// room for another.
#[cfg(feature = "mcp")]
const MCP_SESSIONS: usize = 256;

/// All open streams, and the sessions that they belong to.
#[derive(Default)]
pub(super) struct RequestStreams(Mutex<State>);

#[derive(Default)]
struct State {
    streams: Vec<Weak<RequestStream>>,
    /// Sorted by use; the last one was used last.
    sessions: VecDeque<String>,
}

/// There is no room for another session.
pub(super) struct Full;

/// The event stream that carries the answer of one request.
pub(super) struct RequestStream {
    session: String,
    /// The number of the stream in the ids of its events; the first event tells it.
    number: OnceLock<String>,
    /// How many connections read the stream; `None` after the session ended.
    readers: watch::Sender<Option<usize>>,
}

/// A connection that reads a stream; it counts until it is dropped.
pub(super) struct Reader(Arc<RequestStream>);

impl RequestStreams {
    /// Begins the stream of a request.
    pub(super) fn begin(&self, session: &str) -> Arc<RequestStream> {
        let stream = Arc::new(RequestStream {
            session: session.to_owned(),
            number: OnceLock::new(),
            readers: watch::Sender::new(Some(0)),
        });
        let mut state = held(&self.0);
        state.streams.retain(|stream| stream.strong_count() > 0);
        state.streams.push(Arc::downgrade(&stream));
        if state.forget(session) {
            state.sessions.push_back(session.to_owned());
        }
        stream
    }

    /// Adds a session that has begun.
    pub(super) fn knows(&self, session: &str) {
        held(&self.0).sessions.push_back(session.to_owned());
    }

    /// Forgets the session that was idle longest, if there are too many sessions. A client that
    /// comes back to it is told that it is gone, and begins another.
    ///
    /// # Errors
    /// There are too many sessions, and each has an open stream.
    pub(super) fn make_room(&self) -> Result<Option<String>, Full> {
        let mut state = held(&self.0);
        if state.sessions.len() < MCP_SESSIONS {
            return Ok(None);
        }
        let used: Vec<_> = state.streams.iter().filter_map(Weak::upgrade).collect();
        let left = |session: &String| !used.iter().any(|stream| stream.session == *session);
        let at = state.sessions.iter().position(left).ok_or(Full)?;
        Ok(state.sessions.remove(at))
    }

    /// The stream on which an event was sent.
    pub(super) fn of_event(&self, session: &str, id: &str) -> Option<Arc<RequestStream>> {
        let (_, number) = id.split_once('/')?;
        let state = held(&self.0);
        let mut streams = state.streams.iter().filter_map(Weak::upgrade);
        streams.find(|stream| {
            stream.session == session && stream.number.get().is_some_and(|known| known == number)
        })
    }

    /// Ends a session and all of its requests.
    pub(super) fn end(&self, session: &str) {
        let mut state = held(&self.0);
        state.forget(session);
        for stream in state.streams.iter().filter_map(Weak::upgrade) {
            if stream.session == session {
                stream.readers.send_replace(None);
            }
        }
    }
}

impl State {
    fn forget(&mut self, session: &str) -> bool {
        let many = self.sessions.len();
        self.sessions.retain(|known| known != session);
        self.sessions.len() < many
    }
}

impl RequestStream {
    /// Returns when no client will read the answer.
    pub(super) async fn lost(&self) {
        let mut readers = self.readers.subscribe();
        loop {
            // This cannot fail, because the sender lives in `self`.
            let _ = readers.wait_for(|readers| readers.is_none_or(|many| many == 0)).await;
            if readers.borrow().is_none() {
                return;
            }
            let comes_back = readers.wait_for(|readers| *readers != Some(0));
            if timeout(Duration::from_millis(MCP_LOST_MS), comes_back).await.is_err() {
                return;
            }
        }
    }

    fn count(&self, by: isize) {
        self.readers.send_modify(|readers| {
            *readers = readers.map(|many| many.saturating_add_signed(by));
        });
    }
}

impl Reader {
    pub(super) fn new(stream: Arc<RequestStream>) -> Self {
        stream.count(1);
        Self(stream)
    }

    /// Learns the number of the stream from a frame that is sent over it.
    pub(super) fn sees(&self, frame: &Frame<Bytes>) {
        if self.0.number.get().is_some() {
            return;
        }
        let text = frame.data_ref().map(|data| String::from_utf8_lossy(data));
        let text = text.unwrap_or_default();
        let mut ids = text.lines().filter_map(|line| line.strip_prefix("id:"));
        if let Some((_, number)) = ids.find_map(|id| id.trim().split_once('/')) {
            let _ = self.0.number.set(number.to_owned());
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.count(-1);
    }
}
