//! Who reads what a call answers over HTTP.
//!
//! A connection that breaks is no cancellation: a client is told to come back for the answer, by
//! the id of the last event that it saw. One that does not come back is gone, and what it asked
//! ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use hyper::body::{Bytes, Frame};
use tokio::sync::watch;
use tokio::time::timeout;

use super::server::held;
use crate::base::limits::{MCP_LOST_MS, MCP_SESSIONS};

/// All that there are, and the sessions that they belong to.
#[derive(Default)]
pub(super) struct Lines(Mutex<State>);

#[derive(Default)]
struct State {
    lines: Vec<Weak<Line>>,
    /// The one that was heard of last is the last.
    sessions: VecDeque<String>,
}

/// There is no room for another session.
pub(super) struct Full;

/// What one request of a session is answered over.
pub(super) struct Line {
    session: String,
    /// How the library calls it in the ids of its events; told by the first of them.
    number: OnceLock<String>,
    /// How many connections read it; nothing once the session was ended.
    readers: watch::Sender<Option<usize>>,
}

/// A connection that reads a line, until it is dropped.
pub(super) struct Reader(Arc<Line>);

impl Lines {
    /// The line of another request.
    pub(super) fn begin(&self, session: &str) -> Arc<Line> {
        let line = Arc::new(Line {
            session: session.to_owned(),
            number: OnceLock::new(),
            readers: watch::Sender::new(Some(0)),
        });
        let mut state = held(&self.0);
        state.lines.retain(|line| line.strong_count() > 0);
        state.lines.push(Arc::downgrade(&line));
        if state.forget(session) {
            state.sessions.push_back(session.to_owned());
        }
        line
    }

    /// A session has begun.
    pub(super) fn knows(&self, session: &str) {
        held(&self.0).sessions.push_back(session.to_owned());
    }

    /// Forgets the session that was left longest, if there are too many and one was left: who comes
    /// back to it is told that it is no more, and begins another.
    ///
    /// # Errors
    /// There are too many, and something is read in each.
    pub(super) fn make_room(&self) -> Result<Option<String>, Full> {
        let mut state = held(&self.0);
        if state.sessions.len() < MCP_SESSIONS {
            return Ok(None);
        }
        let used: Vec<_> = state.lines.iter().filter_map(Weak::upgrade).collect();
        let left = |session: &String| !used.iter().any(|line| line.session == *session);
        let at = state.sessions.iter().position(left).ok_or(Full)?;
        Ok(state.sessions.remove(at))
    }

    /// The line on which an event was sent.
    pub(super) fn of_event(&self, session: &str, id: &str) -> Option<Arc<Line>> {
        let (_, number) = id.split_once('/')?;
        let state = held(&self.0);
        let mut lines = state.lines.iter().filter_map(Weak::upgrade);
        lines.find(|line| {
            line.session == session && line.number.get().is_some_and(|known| known == number)
        })
    }

    /// The session was ended, and what was asked in it.
    pub(super) fn end(&self, session: &str) {
        let mut state = held(&self.0);
        state.forget(session);
        for line in state.lines.iter().filter_map(Weak::upgrade) {
            if line.session == session {
                line.readers.send_replace(None);
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

impl Line {
    /// Comes back once nobody will read what is answered.
    pub(super) async fn lost(&self) {
        let mut readers = self.readers.subscribe();
        loop {
            // It cannot fail: the other half is ours.
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
    pub(super) fn new(line: Arc<Line>) -> Self {
        line.count(1);
        Self(line)
    }

    /// Learns the number of the line from what is sent over it.
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
