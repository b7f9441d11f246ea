//! Who is let in, and how others are refused.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use serde_json::json;

use super::node::{Node, Pair, authorize, trust};
use super::request::{SignedAsk, put, run_id, send};
use crate::keys::others::stranger;
use crate::world::{End, World, fingerprint, sha256};

/// A request that the node answers with a list.
fn list(pair: &Pair) -> SignedAsk {
    SignedAsk::new(pair, "GET", "/threads", "")
}

/// A request with a line of its head replaced.
fn with(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_owned()).unwrap();
    assert!(text.contains(from), "no {from}: {text}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn h08_each_request_that_must_not_be_let_in_has_its_code_and_status_table() {
    let pair = Pair::new();
    list(&pair).send().ok();
    let now = jiff::Timestamp::now().as_second();
    let good = list(&pair).bytes();
    let at = format!("Host: {}\r\n", pair.node.at);
    let plain = |path: &str| format!("GET {path} HTTP/1.1\r\n{at}Connection: close\r\n\r\n");
    let has = SignedAsk::new(&pair, "POST", "/objects/has", r#"{"digests":[]}"#);
    let fork = json!({"run": run_id(), "item_id": "tool:acme/x", "thread": "fork"});
    let other = |change: &dyn Fn(&mut SignedAsk)| {
        let mut ask = list(&pair);
        change(&mut ask);
        ask.bytes()
    };
    let rows: Vec<(&str, Vec<u8>, u16, &str)> = vec![
        ("unsigned", plain("/threads").into(), 401, "remote.bad_signature"),
        ("by an unknown key", other(&|ask| ask.key = stranger(1)), 401, "remote.unknown_key"),
        ("for another node", other(&|ask| ask.node = "0".repeat(32)), 401, "remote.wrong_node"),
        (
            "expired",
            other(&|ask| (ask.created, ask.expires) = (now - 100, now - 40)),
            401,
            "remote.clock",
        ),
        (
            "of the future",
            other(&|ask| (ask.created, ask.expires) = (now + 90, now + 150)),
            401,
            "remote.clock",
        ),
        ("valid for too long", other(&|ask| ask.expires = now + 301), 401, "remote.bad_signature"),
        (
            "with a short number",
            other(&|ask| ask.nonce = "short".into()),
            401,
            "remote.bad_signature",
        ),
        (
            "of another path",
            with(&good, "GET /threads", "GET /threads?x=1"),
            401,
            "remote.bad_signature",
        ),
        ("of another method", with(&good, "GET ", "PUT "), 401, "remote.bad_signature"),
        ("of another host", with(&good, &at, "Host: 127.0.0.1:1\r\n"), 401, "remote.bad_signature"),
        (
            "of another body",
            with(&has.bytes(), "[]}", "[ ]").into_iter().collect(),
            401,
            "remote.body_differs",
        ),
        ("without a host", with(&good, &at, ""), 400, "remote.bad_request"),
        (
            "too large",
            with(&has.bytes(), "Content-Length: 14", "Content-Length: 9000000"),
            413,
            "remote.too_large",
        ),
        (
            "for a tool as a thread",
            SignedAsk::execute(&pair, &fork).bytes(),
            400,
            "matrix.tool_fork",
        ),
        ("of an unknown path", other(&|ask| ask.path = "/threadz".into()), 404, "remote.not_found"),
        (
            "of an unknown run",
            other(&|ask| ask.path = format!("/threads/{}", run_id())),
            404,
            "remote.not_found",
        ),
        (
            "of an unknown object",
            other(&|ask| ask.path = format!("/objects/{}", sha256(b"x"))),
            404,
            "store.not_found",
        ),
        (
            "of a path with another method",
            other(&|ask| ask.method = "DELETE"),
            405,
            "remote.bad_request",
        ),
        ("not HTTP", b"\x16\x03\x01 hello\r\n\r\n".to_vec(), 400, "remote.bad_request"),
        ("not HTTP/1.1", b"GET /threads SPDY/3\r\n\r\n".to_vec(), 400, "remote.bad_request"),
        (
            "with a head too long",
            format!("GET / HTTP/1.1\r\n{at}X: {}\r\n\r\n", "x".repeat(900_000)).into(),
            431,
            "remote.bad_request",
        ),
        ("for metrics without the token", plain("/metrics").into(), 401, "remote.bad_signature"),
    ];
    for (name, bytes, status, code) in rows {
        let answer = send(&pair.node.at, &bytes);
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{name}: {answer:?}");
        let told = answer.json();
        assert_eq!(told["status"], "error", "{name}: {told}");
        for key in ["error", "help"] {
            assert!(told[key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {told}");
        }
    }
    // It goes on, and tells the operator.
    list(&pair).send().ok();
    for open in ["/health", "/identity", "/openapi.json"] {
        send(&pair.node.at, plain(open).as_bytes()).ok();
    }
}

#[test]
fn a_caller_asks_for_what_its_operator_named_and_for_nothing_more_table() {
    let pair = Pair::new();
    let digest = put(&pair, b"x");
    let object = format!("/objects/{digest}");
    let run = |item: &str| json!({"run": run_id(), "item_id": item}).to_string();
    let with_files = json!({"run": run_id(), "item_id": "tool:acme/a", "snapshot": digest});
    let rows = [
        ("objects", "POST", "/execute", run("tool:acme/a")),
        ("objects,execute:tool:acme/b/**", "POST", "/execute", run("tool:acme/a")),
        ("objects,execute:tool:acme/**", "POST", "/execute", run("directive:acme/a")),
        ("execute:tool:acme/**", "POST", "/execute", with_files.to_string()),
        ("execute:tool:acme/**", "PUT", &object, "x".to_owned()),
        ("execute:tool:acme/**", "GET", &object, String::new()),
        ("execute:tool:acme/**", "POST", "/objects/has", r#"{"digests":[]}"#.to_owned()),
    ];
    for (scopes, method, path, body) in rows {
        pair.authorize(scopes);
        let answer = SignedAsk::new(&pair, method, path, &body).send();
        assert_eq!(
            answer.refusal(),
            (403, "remote.out_of_scope".into()),
            "{scopes} {method} {path} {body}: {answer:?}"
        );
    }
    // The word of the operator counts at once, also where the key itself is revoked.
    let refused = || {
        let answer = list(&pair).send();
        assert_eq!(answer.refusal(), (401, "remote.unknown_key".into()), "{answer:?}");
    };
    list(&pair).send().ok();
    let key = fingerprint(&pair.caller.own_key());
    pair.operator.json(&["trust", "revoke", &key]).ok();
    refused();
    pair.operator.json(&["trust", "unrevoke", &key, "--yes"]).ok();
    list(&pair).send().ok();
    pair.operator.json(&["node", "revoke", &key]).ok();
    refused();
}

#[test]
fn h08_a_request_is_answered_once_also_after_a_restart_and_by_one_node_alone() {
    let pair = Pair::new();
    let ask = list(&pair);
    let bytes = ask.bytes();
    send(&pair.node.at, &bytes).ok();
    let replayed = (401, "remote.replayed".to_owned());
    assert_eq!(send(&pair.node.at, &bytes).refusal(), replayed);
    // A number is for one request, whatever else that says.
    let mut other = list(&pair);
    other.nonce.clone_from(&ask.nonce);
    other.path = "/threads/x".into();
    assert_eq!(other.send().refusal(), replayed);
    let second = World::new();
    trust(&second, &pair.caller);
    authorize(&second, &pair.caller, super::node::SCOPES);
    let second = Node::start(&second);
    assert_eq!(send(&second.at, &bytes).refusal(), (401, "remote.wrong_node".into()));
    let Pair { operator, node, .. } = pair;
    node.kill();
    let again = Node::start(&operator);
    assert_eq!(send(&again.at, &bytes).refusal(), replayed);
}

#[test]
fn each_answer_is_signed_for_its_request_and_a_refusal_as_well() {
    let pair = Pair::new();
    let key = pair.operator.own_key().verifying_key();
    let mut unknown = list(&pair);
    unknown.path = "/threadz".into();
    let stranger = list(&pair).by(&stranger(1));
    for ask in [list(&pair), unknown, stranger] {
        let (request, answer) = (ask.bytes(), ask.send());
        let request = String::from_utf8(request).unwrap();
        let field = |head: &str, name: &str| {
            let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
            line.unwrap_or_else(|| panic!("no {name}: {head}"))[name.len()..].trim().to_owned()
        };
        let input = field(&answer.head, "signature-input:");
        let input = input.strip_prefix("rye=").unwrap();
        let signature = field(&answer.head, "signature:");
        let asked = field(&request, "signature:");
        let bytes = |field: &str| {
            let bytes = field.strip_prefix("rye=:").unwrap().trim_end_matches(':');
            STANDARD.decode(bytes).unwrap()
        };
        let base = format!(
            "\"@status\": {}\n\"content-digest\": {}\n\"signature\";req;key=\"rye\": {}\n\
             \"@signature-params\": {input}",
            answer.status,
            field(&answer.head, "content-digest:"),
            asked.strip_prefix("rye=").unwrap()
        );
        assert!(input.contains("\"rye-answer-v1\""), "{input}");
        let signature = Signature::from_slice(&bytes(&signature)).unwrap();
        VerifyingKey::verify(&key, base.as_bytes(), &signature).unwrap();
        let digest = STANDARD.encode(hex::decode(sha256(&answer.body)).unwrap());
        assert!(answer.head.contains(&digest), "{}", answer.head);
    }
}
