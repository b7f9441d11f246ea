//! A server that is reached by its URL, over streamable HTTP: each message is a request of its own.
//!
//! Nobody listens between two calls, so nobody would hear that the list of tools changed: it is
//! read before each call. Nothing is followed: a redirect is an answer that is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::session::{Carrier, Lost, Talk};
use super::wire::{Heard, bad, heard};
use crate::base::Address;
use crate::base::durations::CONNECT_TIMEOUT_MS;
use crate::base::limits::MCP_ANSWER_BYTES;
use crate::execute::{McpFault, RunFolders};
use crate::host::{HttpAnswer, HttpCall, NetFault, NetSettings, PersistentChild};

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
}

/// Longest name of a session, in bytes.
const SESSION_BYTES: usize = 1024;

impl HttpCarrier {
    pub(super) fn new(remote: Remote) -> Self {
        Self { remote, session: None, version: None, is_known: false, list_changed: false }
    }

    fn send(&self, message: &Value, talk: &Talk<'_>) -> Result<HttpAnswer, Lost> {
        let own = ["content-type", "accept", "mcp-session-id", "mcp-protocol-version"];
        let headers = self.remote.headers.iter();
        let mut headers: Vec<(String, String)> =
            headers.filter(|(name, _)| !own.contains(&name.as_str())).cloned().collect();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        add("content-type", "application/json");
        add("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            add("mcp-session-id", session);
        }
        if let Some(version) = &self.version {
            add("mcp-protocol-version", version);
        }
        let call = HttpCall {
            method: "POST",
            url: self.remote.address.as_str().to_owned(),
            headers,
            body: Some(Arc::from(message.to_string().into_bytes())),
            until: talk.until,
            connect_timeout: Duration::from_millis(CONNECT_TIMEOUT_MS),
            body_cap: MCP_ANSWER_BYTES,
            way: NetSettings::from_vars(talk.vars, &self.remote.address),
        };
        let answer = talk.host.call(&call).map_err(|fault| match fault {
            NetFault::TimedOut => Lost::TimedOut,
            NetFault::Interrupted(signal) => Lost::Interrupted(signal),
            other => self.failed(&talk.mask.text(&crate::execute::net_fault(&other))),
        })?;
        match answer.status {
            200..=299 => Ok(answer),
            300..=399 => Err(self.failed("redirects, which is not followed")),
            404 if self.session.is_some() => Err(Lost::Forgotten),
            status => Err(self.failed(&format!("answers with the status {status}"))),
        }
    }

    fn failed(&self, what: &str) -> Lost {
        let why = format!("{} {what}", self.remote.address.origin());
        McpFault::ServerFailed { why }.into()
    }

    /// The messages of an answer: one, or those of a stream of events.
    fn messages(answer: &HttpAnswer) -> Result<Vec<String>, McpFault> {
        if answer.truncated {
            return Err(bad(format!("an answer has more than {MCP_ANSWER_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&answer.body).map_err(|_| bad("it is not UTF-8"))?;
        let kind = header(answer, "content-type").unwrap_or_default().to_ascii_lowercase();
        match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => Ok(vec![text.to_owned()]),
            "text/event-stream" => Ok(events(text)),
            other => Err(bad(format!("its answer is of the type `{other}`"))),
        }
    }
}

/// The data of each event of a stream that says something.
fn events(text: &str) -> Vec<String> {
    let text =
        text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let data = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let lines: Vec<&str> = lines.map(|it| it.strip_prefix(' ').unwrap_or(it)).collect();
        lines.join("\n")
    };
    text.split("\n\n").map(data).filter(|data| !data.is_empty()).collect()
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
        let answer = self.send(message, talk)?;
        if self.session.is_none()
            && let Some(session) = header(&answer, "mcp-session-id")
        {
            let is_plain = session.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
            if !is_plain || session.is_empty() || session.len() > SESSION_BYTES {
                return Err(bad("the name of its session is none").into());
            }
            self.session = Some(session.to_owned());
        }
        let mut found = None;
        for text in Self::messages(&answer)? {
            match heard(&text, id)? {
                Heard::Answer(answer) => found = found.or(Some(answer)),
                Heard::ListChanged => self.list_changed = true,
                Heard::Asked(_) | Heard::Nothing => {}
            }
        }
        Ok(found.ok_or_else(|| bad("its answer holds none to what was asked"))?)
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

    fn tail(&mut self, _: &Talk<'_>) -> String {
        String::new()
    }

    fn end(self: Box<Self>) -> Option<(PersistentChild, RunFolders)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::events;

    #[test]
    fn events_table() {
        for (text, want) in [
            ("", &[][..]),
            (": keep\n\n", &[]),
            ("data: {}\n\n", &["{}"]),
            (
                "event: message\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:2",
                &["{\"a\":\n1}", "2"],
            ),
            ("data:\n\nid: 3\n\ndata: x\n\n", &["x"]),
        ] {
            assert_eq!(events(text), want, "{text:?}");
        }
    }
}
