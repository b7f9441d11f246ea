//! The profile, field by field, and what others made of the same RFC.

use std::array;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::ProptestConfig;
use proptest::sample::Index;
use proptest::{prop_assert, prop_assume, proptest};
use serde_json::Value;

use super::{
    HttpSignature, MessageFault, RequestHead, SignedRequest, base, list, sign_answer, sign_request,
    verify_answer, verify_request,
};
use crate::base::Digest;
use crate::signature::KeyPair;

const NOW: i64 = 1_800_000_000;
const BODY: &[u8] = b"17";

fn pair(last: u8) -> KeyPair {
    let mut seed = [0; 32];
    seed[31] = last;
    KeyPair::of_seed(seed)
}

/// Verifies a request that stands as one text: the method and the URI, and a line for each header.
/// The caller is key 1, the node key 2, and key 3 is known as well.
fn verify(text: &str, now: i64) -> Result<SignedRequest, MessageFault> {
    let mut lines = text.split('\n');
    let (method, target_uri) = lines.next().unwrap().split_once(' ').unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    let headers: Vec<_> = headers.map(|(name, value)| (name, value.as_bytes())).collect();
    let known = [pair(1).public(), pair(3).public()];
    let key = |key: &_| known.iter().find(|known| known.fingerprint() == *key).cloned();
    let request = RequestHead { method, target_uri, headers: &headers };
    verify_request(&request, pair(2).public().fingerprint(), now, key)
}

fn good(method: &str, uri: &str, body: &[u8], nonce: &[u8; 16]) -> String {
    let (body, node) = (Digest::of(body), pair(2).public().fingerprint());
    let window = NOW..NOW + 300;
    let (headers, signature) = sign_request(&pair(1), method, uri, body, node, window, nonce);
    let head = format!("{method} {uri}");
    let text = headers.iter().fold(head, |text, (name, value)| text + "\n" + name + ": " + value);
    let want = SignedRequest {
        key: pair(1).public().fingerprint(),
        nonce: URL_SAFE_NO_PAD.encode(nonce),
        created: NOW,
        expires: NOW + 300,
        body: super::SignedBody(body),
        signature,
    };
    assert_eq!(verify(&text, NOW), Ok(want));
    text
}

fn fault(result: Result<SignedRequest, MessageFault>) -> String {
    match result {
        Ok(_) => "good".into(),
        Err(MessageFault::Malformed { field, .. }) => field.into(),
        Err(MessageFault::WrongNode { .. }) => "wrong node".into(),
        Err(MessageFault::Clock { .. }) => "clock".into(),
        Err(MessageFault::UnknownKey { .. }) => "unknown key".into(),
        Err(other) => format!("{other:?}").to_lowercase(),
    }
}

/// The faults of a request in which one text is replaced; `'` stands for a quotation mark.
#[rustfmt::skip]
const MUTATIONS: &[(&str, &[(&str, &str)])] = &[
    ("good", &[
        ("\nsignature: ", "\nSigNature: "), ("\nrye-node", "\nrye-nodes: x\nrye-node"),
    ]),
    ("forged", &[
        ("POST", "PUT"), ("https:", "http:"), ("example", "example:443"), ("/execute", "/threads"),
        ("%2F", "%2f"), ("?a=%2F", ""), ("{digest}", "{other digest}"), ("{key}", "{other key}"),
        ("{sig}", "{other sig}"), ("created=1800000000", "created=1800000001"),
        ("1800000300", "1800000299"), ("nonce='A", "nonce='B"),
        ("keyid='{key}';alg='ed25519'", "alg='ed25519';keyid='{key}'"),
    ]),
    ("unsigned", &[("\nsignature: ", "\nx: "), ("\nsignature-input: ", "\nx: ")]),
    ("@method", &[("POST", "PÖST"), ("POST", "PO\rST")]),
    ("@target-uri", &[("?a", "?ä"), ("?a", " a"), ("POST", "POST ")]),
    ("signature-input", &[
        ("\nsignature-input", "\nSignature-Input: x\nsignature-input"), ("v1'", "v1', b=()"),
        ("v1'", "v1', rye=()"), ("'@method' ", ""), (" 'rye-node'", ""),
        ("rye-node'", "rye-node' 'date'"), ("'@method' '@target-uri'", "'@target-uri' '@method'"),
        ("'@method'", "'@method' '@method'"), ("@target-uri", "@path"), ("digest'", "digest';sf"),
        ("digest'", "digest';bs"), ("digest'", "digest';req"), ("digest'", "digest';key='sha-256'"),
        ("'rye-node'", "'Rye-Node'"), ("'@method' ", "'@method'  "), (";created=1800000000", ""),
        (";expires=1800000300", ""), (";keyid='{key}'", ""), (";alg='ed25519'", ""),
        (";nonce='{nonce}'", ""), (";tag='rye-request-v1'", ""),
        (";expires", ";created=1800000000;expires"), (";tag", ";alg='ed25519';tag"),
        (";tag", ";nonce='{nonce}';tag"), (";alg", ";tag='rye-request-v1';alg"),
        (";tag", ";context='a';tag"), (";tag", ";nonce;tag"), (";tag", ";;tag"),
        (";created", "; created"), (";created", " ;created"), (";created", ""),
        ("created=", "created ="), ("created=", "Created="), ("v1'", "v1';"), ("v1'", "v1'\t"),
        ("'ed25519'", "ed25519"), ("ed25519", "Ed25519"), ("ed25519", "hmac-sha256"),
        ("request-v1", "answer-v1"), ("created=1", "created=+1"), ("created=1", "created=01"),
        ("created=1", "created=-1"), ("1800000000", "1800000000.0"), ("1800000000", "'1800000000'"),
        ("1800000300", "1800000301"), ("1800000300", "1799999999"), ("{nonce}", "AAAAAAAAAAAAAAA"),
        ("{nonce}", "{nonce}=="), ("{nonce}", "{nonce}+"), ("{nonce}", "{nonce}{nonce}{nonce}"),
        ("'{nonce}'", "{nonce}"), ("{nonce}", "\\{nonce}"), ("{nonce}", "{nonce};a"),
        ("{nonce}", "{nonce}é"), ("{key}", "4A67330b803d5c88757afb9328615344"),
        ("'{key}'", "{key}"), ("input: rye", "input: ry"), ("input: rye=", "input: "),
    ]),
    ("signature", &[
        ("\nsignature: ", "\nSignature: x=:AA==:\nsignature: "), ("{sig}:", "{sig}:, b=:{sig}:"),
        ("{sig}", "{url sig}"), ("A==:", "A:"), ("A==:", "A=:"), ("A==:", "A===:"),
        ("A==:", "B==:"), (":{sig}:", "{sig}"), ("{sig}:", "{sig}:;a"), ("rye=:", "rye= :"),
        ("rye=:", "Rye=:"), ("rye=:", "=:"), ("rye=:", "rye=:AAAA"),
        ("signature: ", "signature:  "),
    ]),
    ("content-digest", &[
        ("\ncontent-digest", "\nx"), ("\ncontent-digest", "\nContent-Digest: x\ncontent-digest"),
        ("{digest}:", "{digest}:, sha-512=:{digest}:"), ("sha-256=", "sha-512="),
        ("sha-256=", "SHA-256="), ("{digest}", "{url digest}"), (":{digest}:", "{digest}"),
        ("{digest}:", "{digest}:;a"), ("{digest}", "{digest}="), ("{digest}", "AAAA"),
    ]),
    ("rye-node", &[
        ("\nrye-node", "\nx"), ("\nrye-node", "\nrye-node: {node}\nrye-node"),
        ("{node}", "{node}, {node}"), ("{node}", "{node} "), ("{node}", "'{node}'"),
        ("{node}", "2C5A92ed92c0b7999f215be93c8f0433"),
    ]),
    ("wrong node", &[("{node}", "{key}")]),
    ("unknown key", &[("'{key}'", "'{node}'")]),
];

#[test]
fn each_mutation_of_a_good_request_has_its_fault() {
    // Its digest and its signature have characters that stand in one alphabet of base64 alone, and
    // last bits that can be spelled otherwise.
    let text = good("POST", "https://node.example/execute?a=%2F", BODY, &[0; 16]);
    let behind =
        |from: &str, end| text.split(from).nth(1).unwrap().split(end).next().unwrap().to_owned();
    let (sig, digest) = (behind("\nsignature: rye=:", ':'), behind("sha-256=:", ':'));
    assert!(sig.ends_with("A==") && [&sig, &digest].iter().all(|text| text.contains(['+', '/'])));
    let url = |text: &str| text.replace('+', "-").replace('/', "_");
    let [key, node, other_key] = [1, 2, 3].map(|last| pair(last).public().fingerprint());
    let names = [
        ("{url sig}", url(&sig)),
        ("{url digest}", url(&digest)),
        ("{sig}", sig),
        ("{digest}", digest),
        ("{other sig}", STANDARD.encode([7; 64])),
        ("{other digest}", STANDARD.encode([7; 32])),
        ("{nonce}", behind("nonce=\"", '"')),
        ("{key}", key.to_string()),
        ("{node}", node.to_string()),
        ("{other key}", other_key.to_string()),
    ];
    let filled = |pattern: &str| {
        let text = pattern.replace('\'', "\"");
        names.iter().fold(text, |text, (name, value)| text.replace(name, value))
    };
    let mut rows = 0;
    for (want, mutations) in MUTATIONS {
        for (from, to) in *mutations {
            let (from, to) = (filled(from), filled(to));
            assert!(text.contains(&from), "{from}");
            let changed = text.replacen(&from, &to, 1);
            assert_eq!(fault(verify(&changed, NOW)), *want, "{from} → {to}");
            rows += 1;
        }
    }
    assert!(rows > 100, "{rows}");
    let both = |from: &str, to: &str, now| {
        let text = text.replacen(&filled(from), &filled(to), 1).replacen("POST", "PUT", 1);
        fault(verify(&text, now))
    };
    assert_eq!(both("node: {node}", "node: {key}", NOW + 301), "wrong node");
    assert_eq!(both("'{key}'", "'{node}'", NOW + 301), "clock");
    assert_eq!(both("'{key}'", "'{node}'", NOW), "unknown key");
}

#[test]
fn a_request_is_good_from_30_seconds_before_it_was_made_until_it_expires() {
    let text = good("GET", "http://127.0.0.1:8700/threads", b"", &[1; 16]);
    for (now, want) in [(-31, "clock"), (-30, "good"), (0, "good"), (300, "good"), (301, "clock")] {
        assert_eq!(fault(verify(&text, NOW + now)), want, "{now}");
    }
    let signed = verify(&text, NOW).unwrap();
    assert_eq!(signed.body.check(Digest::of(b"")), Ok(()));
    assert_eq!(signed.body.check(Digest::of(b"x")), Err(MessageFault::BodyDiffers));
}

#[test]
fn an_answer_is_good_for_its_request_status_body_and_node_alone() {
    let ask = |nonce| verify(&good("GET", "http://a/", b"", &[nonce; 16]), NOW).unwrap().signature;
    let (request, other) = (ask(1), ask(2));
    let sent = sign_answer(&pair(2), 200, Digest::of(b"x"), &request, NOW);
    let verify = |status, change: [&str; 2], request: &HttpSignature, node: u8| {
        let headers = sent.iter().map(|(name, value)| (*name, value.replace(change[0], change[1])));
        let headers: Vec<_> = headers.collect();
        let headers: Vec<_> = headers.iter().map(|(name, it)| (*name, it.as_bytes())).collect();
        verify_answer(status, &headers, request, &pair(node).public())
    };
    let body = verify(200, ["", ""], &request, 2).unwrap();
    assert_eq!(body.check(Digest::of(b"x")), Ok(()));
    let key = pair(2).public().fingerprint();
    assert_eq!(verify(200, ["", ""], &request, 3), Err(MessageFault::UnknownKey { key }));
    assert_eq!(verify(201, ["", ""], &request, 2), Err(MessageFault::Forged));
    assert_eq!(verify(200, ["", ""], &other, 2), Err(MessageFault::Forged));
    let digest = [Digest::of(b"x"), Digest::of(b"y")].map(|it| STANDARD.encode(it.as_bytes()));
    assert_eq!(verify(200, [&digest[0], &digest[1]], &request, 2), Err(MessageFault::Forged));
    for change in [[";req", ""], ["key=\"rye", "key=\"x"], ["answer", "request"], ["1800", "x"]] {
        let refused = verify(200, change, &request, 2);
        assert!(matches!(refused, Err(MessageFault::Malformed { .. })), "{change:?}: {refused:?}");
    }
}

/// Makes a base anew from the lines of one with `N` components.
fn rebuilt<const N: usize>(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| line.split_once(": ").unwrap()).collect();
    let components: [&str; N] = array::from_fn(|at| lines[at].0);
    let (_, parameters) = lines[N].1.split_once(')').unwrap();
    base(components, array::from_fn(|at| lines[at].1), &(list(components) + parameters))
}

/// RFC 9421, B.1.4 and B.2.6, and the base of an answer in 2.4.
#[test]
fn the_examples_of_the_rfc_hold() {
    let seed = hex::decode("9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5");
    let pair = KeyPair::of_seed(seed.unwrap().try_into().unwrap());
    let text = "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n\
        \"@authority\": example.com\n\"content-type\": application/json\n\"content-length\": 18\n\
        \"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \
        \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
    assert_eq!(rebuilt::<6>(text), text);
    let want = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu\
        4A0w6vuQv5lIp5WPpBKRCw==";
    assert_eq!(STANDARD.encode(pair.sign(text.as_bytes())), want);
    let text = "\"@status\": 503\n\"content-digest\": sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMC\
        loESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24uJFpHsMuAg==:\n\
        \"content-type\": application/json\n\"@authority\";req: example.com\n\
        \"@method\";req: POST\n\"@path\";req: /foo\n\
        \"content-digest\";req: sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+Ab\
        wAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:\n\
        \"@signature-params\": (\"@status\" \"content-digest\" \"content-type\" \
        \"@authority\";req \"@method\";req \"@path\";req \"content-digest\";req)\
        ;created=1618884479;keyid=\"test-key-ecc-p256\"";
    assert_eq!(rebuilt::<7>(text), text);
}

/// `tests/node/http_signatures.py` made the vectors by a library that is not ours. Ed25519 makes
/// one signature of a text, so a message of ours that is equal is verified by that library too.
#[test]
fn another_implementation_makes_the_same_requests_and_answers() {
    fn headers(message: &Value) -> Vec<(&str, &[u8])> {
        let headers = message["headers"].as_object().unwrap().iter();
        headers.map(|(name, value)| (name.as_str(), value.as_str().unwrap().as_bytes())).collect()
    }
    let vectors: Vec<Value> =
        serde_json::from_str(include_str!("../../tests/node/vectors.json")).unwrap();
    let [pair, node] = [1, 2].map(pair);
    let mut same = 0;
    for vector in &vectors {
        let text = |name: &str| vector[name].as_str().unwrap_or_default();
        let (sent, body) = (headers(vector), Digest::of(text("body").as_bytes()));
        let ours = if let Some(status) = vector["status"].as_u64() {
            let status = u16::try_from(status).unwrap();
            let request = HttpSignature::of(&headers(&vector["request"])).unwrap();
            let signed = verify_answer(status, &sent, &request, &node.public()).unwrap();
            assert_eq!(signed.check(body), Ok(()));
            sign_answer(&node, status, body, &request, vector["created"].as_i64().unwrap())
        } else {
            let (method, target_uri) = (text("method"), text("url"));
            let head = RequestHead { method, target_uri, headers: &sent };
            let here = node.public().fingerprint();
            let signed = verify_request(&head, here, NOW, |_| Some(pair.public())).unwrap();
            assert_eq!(signed.body.check(body), Ok(()));
            let nonce = URL_SAFE_NO_PAD.decode(&signed.nonce).unwrap();
            let Ok(nonce) = nonce.try_into() else { continue };
            let window = signed.created..signed.expires;
            sign_request(&pair, method, target_uri, body, here, window, &nonce).0
        };
        let is_theirs = |(name, value): &(&str, String)| {
            sent.iter().any(|(n, v)| n.eq_ignore_ascii_case(name) && *v == value.as_bytes())
        };
        same += usize::from(ours.iter().all(is_theirs));
    }
    // The others have another label.
    assert_eq!((vectors.len(), same), (5, 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_signed_verifies_and_not_with_any_other_byte(
        method in "[A-Z]{1,8}", uri in "https?://[!-~]{1,40}", body: Vec<u8>, nonce: [u8; 16],
        at: Index, to in "[ -~]",
    ) {
        let mut text = good(&method, &uri, &body, &nonce);
        // Anywhere but in the space behind the method and in the names of headers.
        let mut places = Vec::new();
        for line in text.split('\n') {
            let start = line.as_ptr().addr() - text.as_ptr().addr();
            places.extend(start + line.find(": ").map_or(0, |at| at + 2)..start + line.len());
        }
        places.retain(|at| *at != method.len());
        let at = *at.get(&places);
        prop_assume!(text[at..=at] != to);
        text.replace_range(at..=at, &to);
        prop_assert!(verify(&text, NOW).is_err(), "{text}");
    }
}
