//! A server of OpenSandbox: its sandboxes, after its published description (lifecycle API).
//!
//! Invariants
//! - The key goes to the address that the operator allowed, and nowhere else: a sandbox is asked
//!   through that server, and no redirect is followed.
//! - Words of a server are short, and without the key and without what it gave for a sandbox.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::base::again::retry_after;
use crate::base::durations::{CONNECT_TIMEOUT_MS, wait_of};
use crate::base::text::brief_line;
use crate::base::{Address, Mask, spellings};
use crate::host::{Host, HttpAnswer, HttpCall, NetFault, NetSettings, fits_header};
use crate::parse::json as read_json;
use crate::rye::{Rye, SandboxServer};
use crate::thread::{BackendFault, BackendFaultKind};

/// How long a server may take until a new sandbox can be asked, in milliseconds: it may have to
/// fetch the image.
const OPEN_MS: u64 = 120_000;
/// How long it may take for any other request but a command, in milliseconds.
pub(super) const ANSWER_MS: u64 = 30_000;
/// How long it is waited for where nothing depends on the answer, in milliseconds: long enough to
/// be told, as a thread that is to stop waits for it.
const LEAVE_MS: u64 = 2_000;
/// How often it is looked whether a new sandbox runs, in milliseconds.
const LOOK_MS: u64 = 250;
/// Largest answer about a sandbox, in bytes.
const ANSWER_BYTES: usize = 256 << 10;
/// Longest id in bytes.
const ID_BYTES: usize = 128;
/// Most headers that a server wants with each request to a sandbox.
const SANDBOX_HEADERS: usize = 16;
/// A header for a sandbox that is shorter, in bytes, is no secret.
const SECRET_BYTES: usize = 8;
/// The port of the daemon in a sandbox.
const DAEMON_PORT: u16 = 44_772;
/// States of a sandbox that does not run any more.
const OVER: [&str; 3] = ["Failed", "Stopping", "Terminated"];

/// A server that the operator allowed.
pub(super) struct Server<'a> {
    pub(super) host: &'a dyn Host,
    settings: SandboxServer,
    origin: String,
    way: NetSettings,
    /// How the server itself is asked.
    pub(super) own: Peer,
}

/// How a server, or a sandbox of it, is asked.
pub(super) struct Peer {
    /// Without a `/` at the end.
    url: String,
    headers: Vec<(String, String)>,
    /// Of the values of the headers, and of the key.
    mask: Mask,
}

/// A sandbox that runs, and its daemon.
pub(super) struct Remote {
    pub(super) id: String,
    pub(super) daemon: Peer,
}

/// The moment until which an answer is waited for.
pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_millis(ANSWER_MS)
}

impl Peer {
    fn new(url: &str, headers: Vec<(String, String)>, key: Option<&str>) -> Self {
        let secrets = headers.iter().map(|(_, value)| value.as_str()).chain(key);
        let secrets = secrets.filter(|value| value.len() >= SECRET_BYTES);
        let secrets: Zeroizing<Vec<String>> = Zeroizing::new(secrets.flat_map(spellings).collect());
        let mask = Mask::new(secrets.iter().map(String::as_str));
        Self { url: url.trim_end_matches('/').to_owned(), headers, mask }
    }

    /// Bytes that came from it; of those that were cut, the end may be a part of a secret.
    pub(super) fn bytes(&self, bytes: &[u8], is_cut: bool) -> Vec<u8> {
        self.mask.bytes(bytes, is_cut)
    }

    /// Words of it for a message.
    pub(super) fn words(&self, said: &str) -> String {
        brief_line(self.mask.words(said).trim())
    }
}

impl<'a> Server<'a> {
    pub(super) fn new(rye: &'a Rye, settings: SandboxServer) -> Self {
        let address = Address::parse(&settings.server.versioned());
        let address = address.expect("it was parsed before");
        let way = NetSettings::from_vars(&rye.located().vars, &address);
        let key = settings.key.text();
        let header = key.map(|key| ("OPEN-SANDBOX-API-KEY".to_owned(), key.to_owned()));
        let own = Peer::new(address.as_str(), header.into_iter().collect(), key);
        Self { host: rye.host(), settings, origin: address.origin(), way, own }
    }

    pub(super) fn url(&self) -> &str {
        &self.settings.server.url
    }

    pub(super) fn os_error(&self, why: &str) -> BackendFault {
        BackendFault::new(BackendFaultKind::OsError, format!("{} {why}", self.origin))
    }

    /// A new sandbox, once its daemon answers. One that does not come to that is ended.
    pub(super) fn open(&self) -> Result<Remote, BackendFault> {
        let until = Instant::now() + Duration::from_millis(OPEN_MS);
        // A model is promised that its commands see no network.
        let wanted = json!({
            "image": {"uri": self.settings.image}, "entrypoint": ["tail", "-f", "/dev/null"],
            "timeout": self.settings.timeout.as_secs(),
            "resourceLimits": {"cpu": "1", "memory": "2Gi"},
            "networkPolicy": {"defaultAction": "deny"}, "metadata": {"created-by": "rye"},
        });
        let made = self.call(&self.own, "POST", "/sandboxes", until);
        let made = self.told(&with_json(made, &wanted))?;
        let id = made.get("id").and_then(Value::as_str).filter(|id| is_plain(id));
        let id = id.ok_or_else(|| self.os_error("made a sandbox without an id"))?.to_owned();
        let opened = self.wait_until_runs(&id, made, until).and_then(|()| self.reach(&id, until));
        if opened.is_err() {
            self.end(&id);
        }
        opened
    }

    fn wait_until_runs(
        &self,
        id: &str,
        mut told: Value,
        until: Instant,
    ) -> Result<(), BackendFault> {
        loop {
            match told.pointer("/status/state").and_then(Value::as_str) {
                Some("Running") => return Ok(()),
                Some(state) if OVER.contains(&state) => {
                    let words = self.own.words(&state_words(&told));
                    return Err(self.os_error(&format!("did not start a sandbox: {words}")));
                }
                // States may be added.
                Some(_) => self.pause(until)?,
                None => return Err(self.os_error("does not say the state of a sandbox")),
            }
            told = self.told(&self.call(&self.own, "GET", &format!("/sandboxes/{id}"), until))?;
        }
    }

    /// Waits a moment, if there is time.
    fn pause(&self, until: Instant) -> Result<(), BackendFault> {
        if Instant::now() >= until {
            return Err(self.of_net(&NetFault::TimedOut, &self.own));
        }
        match self.host.sleep(wait_of(LOOK_MS)) {
            Ok(Some(signal)) => Err(self.of_net(&NetFault::Interrupted(signal), &self.own)),
            _ => Ok(()),
        }
    }

    /// The daemon of a sandbox that runs, once it answers.
    fn reach(&self, id: &str, until: Instant) -> Result<Remote, BackendFault> {
        let path = format!("/sandboxes/{id}/endpoints/{DAEMON_PORT}?use_server_proxy=true");
        let told = self.told(&self.call(&self.own, "GET", &path, until))?;
        let endpoint = told.get("endpoint").and_then(Value::as_str).unwrap_or_default();
        let scheme = self.origin.split(':').next().unwrap_or_default();
        let plain = endpoint.split_once("://").map_or(endpoint, |(_, plain)| plain);
        let address = Address::parse(&format!("{scheme}://{plain}")).ok();
        // The operator allowed no other address.
        let address = address.filter(|at| at.origin() == self.origin);
        let Some(address) = address else {
            let named = self.own.words(endpoint);
            return Err(self.os_error(&format!(
                "leads to a sandbox by `{named}`, which is not its own address; see `url` in \
                 `config:agent/sandbox`"
            )));
        };
        // Only where the server itself hands a request on, and takes its key out of it.
        let is_proxied = address.path().contains(&format!("/sandboxes/{id}/proxy/"));
        let mut headers = if is_proxied { self.own.headers.clone() } else { Vec::new() };
        for (name, value) in told.get("headers").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().filter(|it| it.is_ascii() && fits_header(it).is_ok());
            let value = value.filter(|_| is_plain(name) && headers.len() < SANDBOX_HEADERS);
            let value = value.ok_or_else(|| self.os_error("wants headers that cannot be sent"))?;
            headers.push((name.clone(), value.to_owned()));
        }
        let daemon = Peer::new(address.as_str(), headers, self.settings.key.text());
        loop {
            match self.answer(&daemon, &self.call(&daemon, "GET", "/ping", until)) {
                Ok(_) => return Ok(Remote { id: id.to_owned(), daemon }),
                // Its server cannot reach it yet.
                Err(fault) if fault.signal.is_none() && Instant::now() < until => {
                    self.pause(until)?;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Ends a sandbox. Where that fails, the server ends it when its time is over.
    pub(super) fn end(&self, id: &str) {
        apart(|until| {
            let path = format!("/sandboxes/{id}");
            let _ = self.told(&self.call(&self.own, "DELETE", &path, until));
        });
    }

    /// Why a sandbox does not run any more; `None` if it does, or if that is not known.
    pub(super) fn why_gone(&self, id: &str) -> Option<String> {
        let path = format!("/sandboxes/{id}");
        let answer = self.host.call(&self.call(&self.own, "GET", &path, soon())).ok()?;
        if answer.status == 404 {
            return Some("its server does not know it any more".into());
        }
        let told = read_json(std::str::from_utf8(&answer.body).ok()?).ok()?;
        let state = told.pointer("/status/state").and_then(Value::as_str)?;
        OVER.contains(&state).then(|| self.own.words(&state_words(&told)))
    }

    /// A request without a body.
    pub(super) fn call(
        &self,
        peer: &Peer,
        method: &'static str,
        path: &str,
        until: Instant,
    ) -> HttpCall {
        HttpCall {
            method,
            url: format!("{}{path}", peer.url),
            headers: peer.headers.clone(),
            body: None,
            until,
            connect_timeout: Duration::from_millis(CONNECT_TIMEOUT_MS),
            body_cap: ANSWER_BYTES,
            way: self.way.clone(),
        }
    }

    /// The answer, if its status is a good one.
    pub(super) fn answer(&self, peer: &Peer, call: &HttpCall) -> Result<HttpAnswer, BackendFault> {
        let answer = self.host.call(call).map_err(|fault| self.of_net(&fault, peer))?;
        match answer.status {
            200..=299 => Ok(answer),
            status => Err(self.of_status(status, &answer.headers, &answer.body, peer)),
        }
    }

    /// The JSON of an answer about sandboxes; null where it has none.
    fn told(&self, call: &HttpCall) -> Result<Value, BackendFault> {
        let answer = self.answer(&self.own, call)?;
        if answer.truncated {
            return Err(self.os_error("gave too large an answer"));
        }
        if answer.body.trim_ascii().is_empty() {
            return Ok(Value::Null);
        }
        let text = std::str::from_utf8(&answer.body).ok();
        let read = text.and_then(|text| read_json(text).ok());
        read.ok_or_else(|| self.os_error("gave an answer that is not JSON"))
    }

    pub(super) fn of_net(&self, net: &NetFault, peer: &Peer) -> BackendFault {
        match net {
            NetFault::Interrupted(signal) => {
                let why = "rye was asked to end";
                let fault = BackendFault::new(BackendFaultKind::SandboxClosed, why);
                BackendFault { signal: Some(*signal), ..fault }
            }
            NetFault::TimedOut => {
                let why = format!("{} {}", self.origin, net.clause());
                BackendFault::new(BackendFaultKind::Timeout, why)
            }
            net => self.os_error(&peer.words(&net.clause())),
        }
    }

    pub(super) fn of_status(
        &self,
        status: u16,
        headers: &[(String, Vec<u8>)],
        body: &[u8],
        peer: &Peer,
    ) -> BackendFault {
        let why = match (status, &self.settings.key_name) {
            (300..=399, _) => "leads to another address, which is not followed".to_owned(),
            (401 | 403, Some(name)) => format!("does not let the key in `{name}` in"),
            (401 | 403, None) => "wants a key: see `api_key_env` in `config:agent/sandbox`".into(),
            _ => "does not do what it was asked".into(),
        };
        let text = String::from_utf8_lossy(body);
        let read = read_json(&text).unwrap_or_default();
        let mut said = ["/message", "/detail/message", "/detail"].into_iter();
        let said = said.find_map(|at| read.pointer(at)?.as_str()).unwrap_or(&text);
        let said = match peer.words(said) {
            said if said.is_empty() => said,
            said => format!(", `{said}`"),
        };
        let wait = headers.iter().find(|(name, _)| name == "retry-after");
        let wait = wait.and_then(|(_, value)| retry_after(std::str::from_utf8(value).ok()?));
        let wait = wait.map(|wait| format!("; it may be asked again in {} s", wait.as_secs()));
        self.os_error(&format!("{why}: status {status}{said}{}", wait.unwrap_or_default()))
    }
}

/// The request with a body, and its type.
pub(super) fn with_body(mut call: HttpCall, kind: &str, body: Vec<u8>) -> HttpCall {
    call.headers.push(("content-type".into(), kind.to_owned()));
    HttpCall { body: Some(Arc::from(body)), ..call }
}

pub(super) fn with_json(call: HttpCall, body: &Value) -> HttpCall {
    with_body(call, "application/json", body.to_string().into_bytes())
}

/// Does what is not cut short when this thread is asked to stop.
pub(super) fn apart(work: impl FnOnce(Instant) + Send) {
    let until = Instant::now() + Duration::from_millis(LEAVE_MS);
    std::thread::scope(|scope| {
        // Without a thread it is left to the server.
        let _ = std::thread::Builder::new().spawn_scoped(scope, move || work(until));
    });
}

/// The state of a sandbox and the reason for it.
fn state_words(told: &Value) -> String {
    let said = ["state", "reason", "message"].map(|key| told["status"][key].as_str());
    let said: Vec<&str> = said.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    said.join(", ")
}

/// A word that stands in an address, or before a header, as it is.
pub(super) fn is_plain(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=ID_BYTES).contains(&word.len()) && word.bytes().all(plain) && !word.starts_with('.')
}
