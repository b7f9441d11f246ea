//! A server that is reached by its URL, over streamable HTTP: each message is a request of its own.
//!
//! Nothing listens between two calls, so a message that the list of tools changed would not be
//! heard: the list is read before each call. Nothing is followed: a redirect is not a valid
//! answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::session::{Carrier, Lost, Talk};
use super::wire::{Heard, bad, header_value, heard};
use crate::base::Address;
use crate::base::durations::{CONNECT_TIMEOUT_MS, MCP_TURN_MS};
use crate::base::limits::MCP_ANSWER_BYTES;
use crate::execute::{McpFault, RunFolders};
use crate::host::{HttpAnswer, HttpCall, NetFault, NetSettings, PersistentChild, Traffic};

/// How long rye waits before it comes back to a stream that ended without an answer, where the
/// server does not say, and the longest that it waits where the server does; in milliseconds.
const MCP_RETRY_MS: u64 = 1_000;
const MCP_RETRY_MAX_MS: u64 = 30_000;

/// Where a server is, and what it is sent beside each message.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) address: Address,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

pub(super) struct HttpCarrier {
    remote: Remote,
    /// The session that the server named.
    session: Option<String>,
    version: Option<String>,
    is_known: bool,
    list_changed: bool,
    /// Of the next request.
    headers: Vec<(String, String)>,
}

/// Longest name of a session or an event, in bytes.
const SESSION_BYTES: usize = 1024;

impl HttpCarrier {
    pub(super) fn new(remote: Remote) -> Self {
        let (is_known, list_changed, headers) = (false, false, Vec::new());
        Self { remote, session: None, version: None, is_known, list_changed, headers }
    }

    fn send(&self, message: &Value, talk: &Talk<'_>) -> Result<HttpAnswer, Lost> {
        self.request(Some(message), None, talk)
    }

    /// Sends a message, or asks for what came behind an event of a stream that ended.
    fn request(
        &self,
        message: Option<&Value>,
        behind: Option<&str>,
        talk: &Talk<'_>,
    ) -> Result<HttpAnswer, Lost> {
        let own = ["content-type", "accept", "last-event-id"];
        let is_own = |name: &str| own.contains(&name) || name.starts_with("mcp-");
        let headers = self.remote.headers.iter().filter(|(name, _)| !is_own(name));
        let mut headers: Vec<(String, String)> = headers.chain(&self.headers).cloned().collect();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        if message.is_some() {
            add("content-type", "application/json");
        }
        add("accept", "application/json, text/event-stream");
        if let Some(event) = behind {
            add("last-event-id", event);
        }
        if let Some(session) = &self.session {
            add("mcp-session-id", session);
        }
        if let Some(version) = &self.version {
            add("mcp-protocol-version", version);
        }
        // An older server passes them over.
        let word = |at: &str| message.and_then(|message| message.pointer(at)?.as_str());
        for (name, at) in [("mcp-method", "/method"), ("mcp-name", "/params/name")] {
            if let Some(word) = word(at) {
                add(name, &header_value(word));
            }
        }
        let call = HttpCall {
            method: if message.is_some() { "POST" } else { "GET" },
            url: self.remote.address.as_str().to_owned(),
            headers,
            body: message.map(|message| Arc::from(message.to_string().into_bytes())),
            until: talk.until,
            connect_timeout: Duration::from_millis(CONNECT_TIMEOUT_MS),
            body_cap: MCP_ANSWER_BYTES,
            way: NetSettings::from_vars(talk.vars, &self.remote.address),
        };
        let answer = talk.host.call(&call).map_err(|fault| match fault {
            NetFault::TimedOut => Lost::TimedOut,
            NetFault::Interrupted(signal) => Lost::Interrupted(signal),
            NetFault::Broken(_) => self.failed(&talk.mask.text(&fault.clause())).into(),
            other => Lost::Refused(self.failed(&talk.mask.text(&other.clause()))),
        })?;
        match answer.status {
            200..=299 => Ok(answer),
            300..=399 => {
                let to = header(&answer, "location").map(|to| format!(" to `{to}`"));
                let why = format!("redirects{}, which is not followed", to.unwrap_or_default());
                Err(Lost::Refused(self.failed(&why)))
            }
            401 => Err(Lost::Refused(self.unauthorized(&answer))),
            404 if self.session.is_some() => Err(Lost::Forgotten),
            status => {
                let fault = self.failed(&format!("answers with the status {status}"));
                Err(if status < 500 { Lost::Refused(fault) } else { fault.into() })
            }
        }
    }

    fn failed(&self, what: &str) -> McpFault {
        McpFault::ServerFailed { why: format!("{} {what}", self.remote.address.origin()) }
    }

    /// The fault of a server that wants a token (RFC 9728 for OAuth).
    fn unauthorized(&self, answer: &HttpAnswer) -> McpFault {
        let wanted = answer.headers.iter().filter(|(name, _)| name == "www-authenticate");
        let mut oauth = wanted.filter_map(|(_, value)| {
            let (_, said) = std::str::from_utf8(value).ok()?.split_once("resource_metadata=")?;
            let end = if said.starts_with('"') { '"' } else { ',' };
            said.trim_start_matches('"').split(end).next().map(|said| said.trim().to_owned())
        });
        McpFault::Unauthorized {
            origin: self.remote.address.origin(),
            has_token: self.remote.headers.iter().any(|(name, _)| name == "authorization"),
            oauth: oauth.next_back(),
        }
    }

    /// The messages of an answer: one, or those of a stream of events.
    fn messages(answer: &HttpAnswer) -> Result<Vec<StreamEvent>, McpFault> {
        if answer.truncated {
            return Err(bad(format!("an answer has more than {MCP_ANSWER_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&answer.body).map_err(|_| bad("it is not UTF-8"))?;
        let kind = header(answer, "content-type").unwrap_or_default().to_ascii_lowercase();
        match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => {
                Ok(vec![StreamEvent { data: text.to_owned(), ..StreamEvent::default() }])
            }
            "text/event-stream" => Ok(events(text)),
            other => Err(bad(format!("its answer is of the type `{other}`"))),
        }
    }
}

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct StreamEvent {
    data: String,
    /// By which a client comes back behind it.
    id: Option<String>,
    /// How long a client waits before it comes back, in milliseconds.
    retry: Option<u64>,
}

/// The events of a stream that say something.
fn events(text: &str) -> Vec<StreamEvent> {
    let text =
        text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let event = |event: &str| {
        let all = |name: &str| -> Vec<String> {
            let lines = event.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            lines.map(|it| it.strip_prefix(' ').unwrap_or(it).to_owned()).collect()
        };
        let is_plain = |id: &String| {
            let is_visible = id.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
            is_visible && !id.is_empty() && id.len() <= SESSION_BYTES
        };
        StreamEvent {
            data: all("data").join("\n"),
            id: all("id").pop().filter(is_plain),
            retry: all("retry").pop().and_then(|text| text.parse().ok()),
        }
    };
    let found = text.split("\n\n").map(event);
    found.filter(|event| *event != StreamEvent::default()).collect()
}

fn header<'a>(answer: &'a HttpAnswer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(known, _)| known == name)?;
    std::str::from_utf8(&found.1).ok()
}

impl Carrier for HttpCarrier {
    fn ask(
        &mut self,
        message: &Value,
        id: u64,
        talk: &Talk<'_>,
    ) -> Result<Map<String, Value>, Lost> {
        if Instant::now() >= talk.until {
            return Err(Lost::TimedOut);
        }
        let answer = self.send(message, talk);
        self.headers.clear();
        let mut answer = answer?;
        if self.session.is_none()
            && let Some(session) = header(&answer, "mcp-session-id")
        {
            let is_plain = session.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
            if !is_plain || session.is_empty() || session.len() > SESSION_BYTES {
                return Err(bad("the name of its session is none").into());
            }
            self.session = Some(session.to_owned());
        }
        let (mut found, mut wait) = (None, MCP_RETRY_MS);
        loop {
            let mut behind = None;
            for event in Self::messages(&answer)? {
                wait = event.retry.unwrap_or(wait);
                behind = event.id.or(behind);
                // As on a pipe, what is no message is passed over.
                if !event.data.trim_start().starts_with('{') {
                    continue;
                }
                match heard(&event.data, id)? {
                    Heard::Answer(answer) => found = found.or(Some(answer)),
                    Heard::ListChanged => self.list_changed = true,
                    Heard::Asked(_) | Heard::Nothing => {}
                }
            }
            // A stream may end before the answer came; a client that comes back is given the rest.
            match (found, behind) {
                (Some(found), _) => return Ok(found),
                (None, None) => return Err(bad("its answer holds none to what was asked").into()),
                (None, Some(behind)) => {
                    let wait = Duration::from_millis(wait.clamp(MCP_TURN_MS, MCP_RETRY_MAX_MS));
                    if Instant::now() + wait >= talk.until {
                        return Err(Lost::TimedOut);
                    }
                    if let Ok(Some(signal)) = talk.host.sleep(wait) {
                        return Err(Lost::Interrupted(signal));
                    }
                    answer = self.request(None, Some(&behind), talk)?;
                }
            }
            found = None;
        }
    }

    fn tell(&mut self, message: &Value, talk: &Talk<'_>) -> Result<(), Lost> {
        self.send(message, talk).map(|_| ())
    }

    fn list_changed(&mut self, _: &Talk<'_>) -> Result<bool, Lost> {
        Ok(std::mem::replace(&mut self.is_known, true))
    }

    fn changed_meanwhile(&mut self) -> bool {
        std::mem::take(&mut self.list_changed)
    }

    fn agreed(&mut self, version: &str) {
        self.version = Some(version.to_owned());
    }

    fn add_headers(&mut self, headers: Vec<(String, String)>) {
        self.headers = headers;
    }

    fn tail(&mut self, _: &Talk<'_>) -> String {
        String::new()
    }

    fn take_traffic(&self) -> Option<Traffic> {
        None
    }

    fn end(self: Box<Self>) -> Option<(PersistentChild, RunFolders)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{StreamEvent, events};

    #[test]
    fn events_table() {
        let event = |data: &str, id: Option<&str>, retry| StreamEvent {
            data: data.into(),
            id: id.map(str::to_owned),
            retry,
        };
        let data = |data: &str| event(data, None, None);
        for (text, want) in [
            ("", vec![]),
            (": keep\n\n", vec![]),
            ("data: {}\n\n", vec![data("{}")]),
            (
                "event: message\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:2",
                vec![event("{\"a\":\n1}", Some("1"), None), data("2")],
            ),
            (
                "data:\n\nid: 3\nretry: 500\n\nretry: x\nid: a\u{e9}\ndata: x\n\n",
                vec![event("", Some("3"), Some(500)), data("x")],
            ),
        ] {
            assert_eq!(events(text), want, "{text:?}");
        }
    }
}
