//! One request to a node, signed, and its answer, verified.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::{CODES, REMOTE_UNKNOWN_KEY, RemoteError};
use super::remotes::NamedRemote;
use super::{ANSWER_BYTES, END_EVENT, KEY_HEADER, tell_event};
use crate::base::event_stream::{EventStream, ServerEvent};
use crate::base::{Address, Digest, Digesting, random};
use crate::diagnostic::Code;
use crate::host::{AnswerPart, Host, HttpAnswer, HttpCall, NetFault, NetSettings, Vars};
use crate::parse::kept_json;
use crate::registry::CODES as REGISTRY_CODES;
use crate::signature::{HttpSignature, KeyPair, PublicKey, sign_request, verify_answer};
use crate::store::CODES as STORE_CODES;
use crate::thread::CODES as THREAD_CODES;

/// How long a request is valid, in seconds.
const VALID: i64 = 120;

/// How long a request may take that does not say so itself.
const CALL_MS: u64 = 60_000;

/// Asks one node, in the name of one key.
pub(crate) struct NodeClient<'a> {
    pub(crate) remote: &'a NamedRemote,
    pub(crate) pair: &'a KeyPair,
    /// The node's key, once an answer of it was verified.
    pub(crate) key: &'a OnceLock<PublicKey>,
    pub(crate) host: &'a dyn Host,
    pub(crate) vars: &'a Vars,
}

/// The identity that a node tells anyone who asks.
#[derive(Debug)]
pub(crate) struct NodeIdentity {
    pub(crate) key: PublicKey,
    pub(crate) version: String,
    /// The clock of the node, in seconds since 1970.
    pub(crate) now: i64,
}

impl NodeIdentity {
    /// Asks the node at an address who it is. Nothing of it is believed yet.
    ///
    /// # Errors
    /// `remote.unreachable`, `remote.bad_answer`
    pub(crate) fn ask(url: &Address, host: &dyn Host, vars: &Vars) -> Result<Self, RemoteError> {
        let at = format!("{}/identity", url.origin());
        let call = call("GET", at, Vec::new(), None, Duration::from_millis(CALL_MS), url, vars);
        let unreachable = |fault| RemoteError::Unreachable { url: url.as_str().to_owned(), fault };
        let answer = host.call(&call).map_err(unreachable)?;
        let bad = |why: &str| RemoteError::BadAnswer { url: url.as_str().into(), why: why.into() };
        let told = kept_json(&answer.body).filter(|_| answer.status == 200);
        let told = told.ok_or_else(|| bad("it does not say who it is"))?;
        let key = told["public_key"].as_str().and_then(PublicKey::from_pem);
        let Some(Ok(key)) = key else { return Err(bad("it has no valid key")) };
        Ok(Self {
            key,
            version: told["version"].as_str().unwrap_or_default().chars().take(80).collect(),
            now: told["now"].as_i64().unwrap_or_default(),
        })
    }
}

impl NodeClient<'_> {
    /// Asks with JSON, or with nothing, for JSON.
    ///
    /// # Errors
    /// `remote.*`
    pub(crate) fn json(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        time: Option<Duration>,
    ) -> Result<Value, RemoteError> {
        let body = body.map(|body| body.to_string().into_bytes().into());
        let answer = self.ask(method, path, body, "application/json", time)?;
        kept_json(&answer).ok_or_else(|| self.bad("it is not JSON"))
    }

    /// Asks with these bytes; gives those of the answer.
    ///
    /// # Errors
    /// `remote.*`
    pub(crate) fn bytes(
        &self,
        method: &'static str,
        path: &str,
        body: Option<Arc<[u8]>>,
        time: Option<Duration>,
    ) -> Result<Vec<u8>, RemoteError> {
        self.ask(method, path, body, "application/octet-stream", time)
    }

    fn ask(
        &self,
        method: &'static str,
        path: &str,
        body: Option<Arc<[u8]>>,
        kind: &str,
        time: Option<Duration>,
    ) -> Result<Vec<u8>, RemoteError> {
        let time = time.unwrap_or(Duration::from_millis(CALL_MS));
        let has_body = body.is_some();
        let (mut call, signature) = self.signed(method, path, body, time)?;
        if has_body {
            call.headers.push(("content-type".into(), kind.into()));
        }
        let HttpAnswer { status, headers, body, truncated } =
            self.host.call(&call).map_err(|fault| self.unreachable(fault))?;
        if truncated {
            return Err(self.bad("it is too large"));
        }
        self.verify(status, &headers, &signature, Digest::of(&body))?;
        match status {
            200..=299 => Ok(body),
            _ => Err(self.refusal(status, &body)),
        }
    }

    /// Asks for events, and hands them over as they come. The last one, `end`, must be signed by
    /// the node over all before it; where `take` wants no more, nothing is verified. False if the
    /// line broke, or the time was over, before the last one.
    ///
    /// # Errors
    /// `remote.*`
    pub(crate) fn events(
        &self,
        path: &str,
        time: Duration,
        take: &mut dyn FnMut(&ServerEvent) -> ControlFlow<()>,
    ) -> Result<bool, RemoteError> {
        let (mut call, signature) = self.signed("GET", path, None, time)?;
        call.body_cap = usize::MAX;
        let (mut stream, mut told) = (EventStream::new(ANSWER_BYTES), Digesting::default());
        let (mut status, mut head, mut refused, mut ended) = (0, Vec::new(), Vec::new(), None);
        let sent = self.host.stream(&call, &mut |part| {
            let bytes = match part {
                AnswerPart::Head { status: is, headers } => {
                    (status, head) = (is, headers.to_vec());
                    return ControlFlow::Continue(());
                }
                AnswerPart::Body(bytes) => bytes,
            };
            if status != 200 {
                refused.extend(bytes.iter().take(ANSWER_BYTES.saturating_sub(refused.len())));
                return ControlFlow::Continue(());
            }
            let Ok(events) = stream.next(bytes) else {
                ended = Some(Err(self.bad("an event is too long")));
                return ControlFlow::Break(());
            };
            for event in events {
                if event.kind == END_EVENT {
                    ended = Some(self.verify_end(&event.data, &signature, told.digest()));
                    return ControlFlow::Break(());
                }
                tell_event(&mut told, &event.kind, &event.data);
                if take(&event).is_break() {
                    ended = Some(Ok(()));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        match (ended, sent) {
            (Some(ended), _) => ended.map(|()| true),
            (None, Err(fault @ NetFault::Interrupted(_))) => Err(self.unreachable(fault)),
            (None, _) if status == 200 => Ok(false),
            (None, Err(fault)) => Err(self.unreachable(fault)),
            (None, Ok(())) => {
                self.verify(status, &head, &signature, Digest::of(&refused))?;
                Err(self.refusal(status, &refused))
            }
        }
    }

    fn verify_end(
        &self,
        data: &str,
        signature: &HttpSignature,
        digest: Digest,
    ) -> Result<(), RemoteError> {
        let told = kept_json(data.as_bytes()).unwrap_or_default();
        let headers = told["headers"].as_object().into_iter().flatten();
        let headers = headers
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.as_bytes().to_vec())));
        self.verify(200, &headers.collect::<Vec<_>>(), signature, digest)
    }

    fn signed(
        &self,
        method: &'static str,
        path: &str,
        body: Option<Arc<[u8]>>,
        time: Duration,
    ) -> Result<(HttpCall, HttpSignature), RemoteError> {
        let url = format!("{}{path}", self.remote.url.origin());
        let digest = Digest::of(body.as_deref().unwrap_or_default());
        let mut nonce = [0; 16];
        random::fill(&mut nonce).map_err(|error| self.bad(&error.to_string()))?;
        let now = jiff::Timestamp::now().as_second();
        let window = now..now + VALID;
        let (headers, signature) =
            sign_request(self.pair, method, &url, digest, self.remote.node, window, &nonce);
        let headers: Vec<_> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok((call(method, url, headers, body, time, &self.remote.url, self.vars), signature))
    }

    /// Verifies that the pinned node signed an answer to this request.
    fn verify(
        &self,
        status: u16,
        headers: &[(String, Vec<u8>)],
        signature: &HttpSignature,
        body: Digest,
    ) -> Result<(), RemoteError> {
        let key = headers.iter().find(|(name, _)| name == KEY_HEADER);
        let key = key.and_then(|(_, value)| STANDARD.decode(value).ok());
        let key = key.and_then(|key| PublicKey::from_bytes(&key.try_into().ok()?).ok());
        let key = key.ok_or_else(|| self.bad("it is not signed"))?;
        self.remote.check(&key)?;
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let signed = verify_answer(status, &headers, signature, &key);
        let signed = signed.and_then(|signed| signed.check(body));
        signed.map_err(|fault| self.bad(&format!("its signature: {fault}")))?;
        self.key.get_or_init(|| key);
        Ok(())
    }

    /// The refusal that a node answered.
    fn refusal(&self, status: u16, body: &[u8]) -> RemoteError {
        let told = kept_json(body).unwrap_or_default();
        let text = |key: &str| told[key].as_str().unwrap_or_default();
        let mut codes = [CODES, STORE_CODES, THREAD_CODES, REGISTRY_CODES].into_iter().flatten();
        let code: Option<Code> = codes.find(|code| code.name() == text("code")).copied();
        let data = told["data"].as_object().cloned().unwrap_or_else(Map::new);
        match code {
            Some(code) => {
                let message = format!("`{}` refuses: {}", self.remote.name, text("error"));
                // The node knows this key by its fingerprint alone.
                let help = match code == REMOTE_UNKNOWN_KEY {
                    true => authorize_help(self.pair),
                    false => text("help").to_owned(),
                };
                RemoteError::Told { code, message, help, data }
            }
            None => self.bad(&format!("{} (status {status}, `{}`)", text("error"), text("code"))),
        }
    }

    fn unreachable(&self, fault: NetFault) -> RemoteError {
        RemoteError::Unreachable { url: self.remote.url.as_str().to_owned(), fault }
    }

    /// The failure where this process is asked to end.
    pub(crate) fn interrupted(&self, signal: i32) -> RemoteError {
        self.unreachable(NetFault::Interrupted(signal))
    }

    pub(crate) fn bad(&self, why: &str) -> RemoteError {
        RemoteError::BadAnswer { url: self.remote.url.as_str().to_owned(), why: why.to_owned() }
    }
}

/// The next step of a caller whom a node does not know.
pub(crate) fn authorize_help(own: &KeyPair) -> String {
    let key = own.public().to_text();
    format!("let its operator run `rye node authorize {key} --scopes 'execute:tool:rye/bash'`")
}

fn call(
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Arc<[u8]>>,
    time: Duration,
    to: &Address,
    vars: &Vars,
) -> HttpCall {
    HttpCall {
        method,
        url,
        headers,
        body,
        until: Instant::now() + time,
        connect_timeout: Duration::from_secs(10).min(time),
        body_cap: ANSWER_BYTES,
        way: NetSettings::from_vars(vars, to),
    }
}
