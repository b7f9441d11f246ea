//! Requests to a node that are signed here and not by rye.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::node::Pair;
use crate::world::{fingerprint, sha256};

/// The answer of a node.
#[derive(Debug)]
pub struct NodeAnswer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl NodeAnswer {
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status and the code of a refusal; of any other answer an empty code.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String) {
        (self.status, self.json()["code"].as_str().unwrap_or_default().to_owned())
    }

    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }
}

/// A request that a key signs for a node. Each field can be another one than rye would send.
#[derive(Clone)]
pub struct SignedAsk {
    pub key: SigningKey,
    pub node: String,
    pub at: String,
    pub method: &'static str,
    pub path: String,
    pub body: Vec<u8>,
    pub created: i64,
    pub expires: i64,
    pub nonce: String,
}

impl SignedAsk {
    pub fn new(pair: &Pair, method: &'static str, path: &str, body: impl AsRef<[u8]>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = jiff::Timestamp::now().as_second();
        Self {
            key: pair.caller.own_key(),
            node: pair.node.key.clone(),
            at: pair.node.at.clone(),
            method,
            path: path.to_owned(),
            body: body.as_ref().to_owned(),
            created: now,
            expires: now + 60,
            nonce: format!("nonce-of-a-test-{:06}", COUNT.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// The body of `POST /execute`.
    pub fn execute(pair: &Pair, body: &Value) -> Self {
        Self::new(pair, "POST", "/execute", body.to_string())
    }

    /// By another key.
    pub fn by(mut self, key: &SigningKey) -> Self {
        self.key = key.clone();
        self
    }

    /// The bytes of the request.
    pub fn bytes(&self) -> Vec<u8> {
        let Self { key, node, at, method, path, body, created, expires, nonce } = self;
        let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(body)));
        let by = fingerprint(key);
        let input = format!(
            "(\"@method\" \"@target-uri\" \"content-digest\" \"rye-node\");created={created};\
             expires={expires};nonce=\"{nonce}\";keyid=\"{by}\";alg=\"ed25519\";\
             tag=\"rye-request-v1\""
        );
        let base = format!(
            "\"@method\": {method}\n\"@target-uri\": http://{at}{path}\n\
             \"content-digest\": {digest}\n\"rye-node\": {node}\n\"@signature-params\": {input}"
        );
        let signature = STANDARD.encode(key.sign(base.as_bytes()).to_bytes());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Content-Digest: {digest}\r\nRye-Node: {node}\r\nSignature-Input: rye={input}\r\n\
             Signature: rye=:{signature}:\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    #[track_caller]
    pub fn send(&self) -> NodeAnswer {
        send(&self.at, &self.bytes())
    }
}

/// Sends these bytes and reads the answer, until the connection is closed.
#[track_caller]
pub fn send(at: &str, bytes: &[u8]) -> NodeAnswer {
    let mut stream = TcpStream::connect(at).expect("a node");
    // One that is refused early may not be read to its end.
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    NodeAnswer { status, head, body: answer[end..].to_owned() }
}

/// A new id of a run, as a caller makes it: a UUID of version 7.
pub fn run_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let hex = format!(
        "{:012x}7{:03x}8{:03x}{:012x}",
        jiff::Timestamp::now().as_millisecond(),
        std::process::id() & 0xfff,
        0,
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// A file of a snapshot: its path and its text.
pub type File<'a> = (&'a str, &'a str);

/// Pushes a snapshot of these files, whatever rye would say of them; its digest.
#[track_caller]
pub fn push(pair: &Pair, files: &[File<'_>]) -> String {
    let entries: serde_json::Map<String, Value> = files
        .iter()
        .map(|(path, text)| {
            let size = text.len();
            let digest = put(pair, text.as_bytes());
            ((*path).to_owned(), json!({"mode": "0644", "sha256": digest, "size": size}))
        })
        .collect();
    let manifest = document(&json!({"files": entries, "kind": "manifest", "schema": 1}));
    let manifest = put(pair, &manifest);
    let snapshot = json!({
        "kind": "snapshot", "manifest": manifest, "schema": 1,
        "source": "a test", "time": "2026-01-01T00:00:00Z",
    });
    put(pair, &document(&snapshot))
}

/// JSON in the one form in which a store keeps it.
pub fn document(value: &Value) -> Vec<u8> {
    serde_jcs::to_vec(value).expect("JSON")
}

#[track_caller]
pub fn put(pair: &Pair, bytes: &[u8]) -> String {
    let digest = sha256(bytes);
    SignedAsk::new(pair, "PUT", &format!("/objects/{digest}"), bytes).send().ok();
    digest
}

/// Runs an item of a pushed snapshot; the report of the run.
#[track_caller]
pub fn execute(pair: &Pair, item: &str, snapshot: &str) -> Value {
    let body = json!({"run": run_id(), "item_id": item, "snapshot": snapshot});
    let mut told = SignedAsk::execute(pair, &body).send().ok();
    told["report"].take()
}
