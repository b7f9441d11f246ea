//! Row h06 for receipts: whatever is changed in one, or said of it, it does not verify.

use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey};
use serde_json::{Value, json};

use crate::keys::others::{stranger, trust};
use crate::world::{MARKER_SH, Said, World, fingerprint, whole};

const TYPE: &str = "application/vnd.in-toto+json";

/// A world with the receipt of a run.
fn world() -> (World, PathBuf) {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let path = world.outside().join("receipt.json");
    world.rye(&["execute", "acme/mark", "--receipt", path.to_str().unwrap()]).ok();
    (world, path)
}

fn verify(world: &World, path: &std::path::Path, more: &[&str]) -> Said {
    world.rye(&[&["receipt", "verify", path.to_str().unwrap(), "--json"], more].concat())
}

#[track_caller]
fn refused(world: &World, path: &std::path::Path, text: &str, code: &str, what: &str) {
    fs::write(path, text).unwrap();
    let said = verify(world, path, &[]);
    assert_eq!((said.code().as_str(), said.status), (code, 4), "{what}: {said:?}");
}

fn envelope(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn payload(envelope: &Value) -> Value {
    let bytes = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// The encoding that DSSE signs, made here and not by rye.
fn pae(payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {TYPE} {} ", TYPE.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

/// An envelope that `key` signed over any statement, as canonical text.
fn sealed(key: &SigningKey, statement: &Value) -> String {
    let payload = serde_jcs::to_vec(statement).unwrap();
    let sig = STANDARD.encode(key.sign(&pae(&payload)).to_bytes());
    let envelope = json!({"payload": STANDARD.encode(&payload), "payloadType": TYPE,
        "signatures": [{"keyid": fingerprint(key), "sig": sig}]});
    serde_jcs::to_string(&envelope).unwrap() + "\n"
}

#[test]
fn a_receipt_is_an_in_toto_statement_that_anybody_can_check() {
    let (world, path) = world();
    let text = fs::read_to_string(&path).unwrap();
    let envelope = envelope(&text);
    assert_eq!(envelope["payloadType"], TYPE);
    let own = world.own_key();
    assert_eq!(envelope["signatures"][0]["keyid"], fingerprint(&own));
    let bytes = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let sig = STANDARD.decode(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap();
    let sig = Signature::from_slice(&sig).unwrap();
    own.verifying_key().verify_strict(&pae(&bytes), &sig).unwrap();
    assert!(own.verifying_key().verify_strict(&bytes, &sig).is_err(), "never the bytes alone");
    let statement = payload(&envelope);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:rye:receipt:v1");
    assert_eq!(statement["subject"][0]["name"], "tool:acme/mark");
    // Made anew by hand, it is the same to the byte.
    assert_eq!(sealed(&own, &statement), text);
    let said = verify(&world, &path, &[]).ok();
    let got = said.json();
    assert_eq!((&got["owner"], &got["signer"]), (&json!("you"), &json!(fingerprint(&own))));
    assert_eq!(got["receipt"], statement);
}

/// Each third of the bytes that are tried here; the whole is each.
#[test]
fn h06_a_byte_of_a_receipt_flipped_anywhere_is_refused_or_says_the_same() {
    let (world, path) = world();
    let good = fs::read(&path).unwrap();
    let said = verify(&world, &path, &[]);
    assert_eq!(said.status, 0);
    let usual = said.json();
    let mut refused = 0;
    let payload_end = good.windows(2).position(|pair| pair == b"\",").unwrap();
    let (mut seen, step) = (0, if whole() { 1 } else { 3 });
    for at in (0..good.len()).step_by(step) {
        // Every bit is flipped beside the code; here, all that is no payload, and some that is.
        if at > 12 && at < payload_end && at % 101 != 0 {
            continue;
        }
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let said = verify(&world, &path, &[]);
        // What is not signed, such as the name of a field that may be missing, changes nothing.
        if said.status == 0 {
            assert_eq!(said.json(), usual, "byte {at}");
        } else {
            assert_eq!(said.status, 4, "byte {at}: {said:?}");
            assert!(said.code().starts_with("receipt."), "byte {at}: {said:?}");
            refused += 1;
        }
        seen += 1;
    }
    assert!(seen > 200 / step && seen - refused < 50 / step, "{seen} {refused}");
    for end in [good.len() - 2, good.len() / 2, 1, 0] {
        fs::write(&path, &good[..end]).unwrap();
        assert_eq!(verify(&world, &path, &[]).code(), "receipt.malformed", "cut at {end}");
    }
}

#[test]
fn h06_each_field_of_a_receipt_changed_is_refused() {
    let (world, path) = world();
    let text = fs::read_to_string(&path).unwrap();
    let whole = envelope(&text);
    let good = payload(&whole);
    let mut places = Vec::new();
    pointers(&good, "", &mut places);
    assert!(places.len() > 30, "{places:?}");
    for place in places {
        let mut statement = good.clone();
        let value = statement.pointer_mut(&place).unwrap();
        *value = match value {
            Value::String(text) => format!("{text}0").into(),
            Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
            Value::Bool(is) => (!*is).into(),
            Value::Null => json!(1),
            _ => json!([{"item": "tool:a", "code": "x"}]),
        };
        let mut forged = whole.clone();
        forged["payload"] = STANDARD.encode(serde_jcs::to_vec(&statement).unwrap()).into();
        refused(&world, &path, &(forged.to_string_canonical() + "\n"), "receipt.forged", &place);
        // Signed anew by a key that nobody here knows.
        refused(&world, &path, &sealed(&stranger(9), &statement), "receipt.untrusted", &place);
    }
    fs::write(&path, text).unwrap();
    assert_eq!(verify(&world, &path, &[]).status, 0);
}

trait Canonical {
    fn to_string_canonical(&self) -> String;
}

impl Canonical for Value {
    fn to_string_canonical(&self) -> String {
        serde_jcs::to_string(self).unwrap()
    }
}

/// Every scalar and every empty list of a value.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, inner)| pointers(inner, &format!("{at}/{key}"), into));
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter()
                .enumerate()
                .for_each(|(i, inner)| pointers(inner, &format!("{at}/{i}"), into));
        }
        _ => into.push(at.to_owned()),
    }
}

#[test]
fn h06_another_envelope_around_a_receipt_is_refused_or_says_the_same() {
    let (world, path) = world();
    let text = fs::read_to_string(&path).unwrap();
    let good = envelope(&text);
    let signature = good["signatures"][0].clone();
    let other = json!({"keyid": fingerprint(&stranger(9)), "sig": signature["sig"]});
    let with = |key: &str, value: Value| {
        let mut envelope = good.clone();
        envelope[key] = value;
        envelope.to_string_canonical() + "\n"
    };
    // As other libraries write it: what is signed is the same.
    fs::write(&path, &text).unwrap();
    let whole = verify(&world, &path, &[]).json();
    let unnamed = json!({"sig": signature["sig"]});
    let same = [
        ("a signature that names no key", with("signatures", json!([unnamed]))),
        ("a field more", with("payload2", good["payload"].clone())),
        ("written otherwise", serde_json::to_string_pretty(&good).unwrap()),
        (
            "base64 for addresses",
            with("payload", good["payload"].as_str().unwrap().replace('=', "").into()),
        ),
    ];
    for (what, text) in same {
        fs::write(&path, &text).unwrap();
        let said = verify(&world, &path, &[]);
        assert_eq!((said.status, said.json()), (0, whole.clone()), "{what}: {said:?}");
    }
    let malformed = [
        ("two signatures", with("signatures", json!([signature, signature]))),
        ("a stranger's signature beside", with("signatures", json!([other, signature]))),
        ("no signature", with("signatures", json!([]))),
        ("another payload type", with("payloadType", json!("application/json"))),
        ("an envelope in it", with("payload", good.clone())),
        ("a nested copy", json!({"payload": good}).to_string_canonical()),
        ("a list of it", json!([good]).to_string_canonical()),
        ("a key twice", text.replacen('{', "{\"payloadType\":\"x\",", 1)),
        ("two receipts", text.repeat(2)),
    ];
    for (what, text) in malformed {
        refused(&world, &path, &text, "receipt.malformed", what);
    }
    let forged = [
        ("a receipt in a receipt", with("payload", STANDARD.encode(&text).into())),
        ("an empty payload", with("payload", json!(""))),
    ];
    for (what, text) in forged {
        refused(&world, &path, &text, "receipt.forged", what);
    }
    refused(
        &world,
        &path,
        &with("signatures", json!([other])),
        "receipt.untrusted",
        "another key id",
    );
    let huge = fs::File::create(&path).unwrap();
    huge.set_len(10 << 30).unwrap();
    assert_eq!(verify(&world, &path, &[]).code(), "receipt.malformed");
}

#[test]
fn h06_what_your_own_key_signed_is_a_receipt_only_if_it_is_one() {
    let (world, path) = world();
    let own = world.own_key();
    let good = payload(&envelope(&fs::read_to_string(&path).unwrap()));
    fs::write(&path, sealed(&own, &good)).unwrap();
    assert_eq!(verify(&world, &path, &[]).status, 0, "the forger's own way is good");
    for (pointer, value) in [
        ("/_type", json!("https://in-toto.io/Statement/v0.1")),
        ("/predicateType", json!("https://slsa.dev/provenance/v1")),
        ("/subject", json!([good["subject"][0], good["subject"][0]])),
        ("/subject/0/name", json!("tool:acme/other")),
        ("/predicate/chain", json!([])),
        ("/predicate", json!({})),
        ("/predicate/ended_at", json!("2020-01-01T00:00:00.000Z")),
        ("/predicate/exit_code", json!("0")),
    ] {
        let mut statement = good.clone();
        *statement.pointer_mut(pointer).unwrap() = value;
        refused(&world, &path, &sealed(&own, &statement), "receipt.malformed", pointer);
    }
    // The signature of an item is none of a receipt.
    let line = crate::world::line(&own, "tool:acme/x", "sh", "2025-01-01T00:00:00Z", b"");
    let sig = line.rsplit_once("sig=").unwrap().1;
    let mut envelope = envelope(&sealed(&own, &good));
    let sig = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(sig).unwrap();
    envelope["signatures"][0]["sig"] = STANDARD.encode(sig).into();
    let statement = line.rsplit_once(" sig=").unwrap().0;
    envelope["payload"] = STANDARD.encode(statement).into();
    refused(
        &world,
        &path,
        &envelope.to_string_canonical(),
        "receipt.forged",
        "an item's signature",
    );
}

#[test]
fn h06_a_receipt_is_of_its_own_plan_and_run_alone() {
    let (world, path) = world();
    let plan = |params: &[&str], name: &str| {
        let file = world.outside().join(name).display().to_string();
        world.rye(&[&["plan", "acme/mark", "--out", &file], params].concat()).ok();
        file
    };
    let (own, other) = (plan(&[], "own.json"), plan(&["-i", "a=1"], "other.json"));
    let said = verify(&world, &path, &["--plan", &own]).ok();
    let run = said.json()["receipt"]["predicate"]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(verify(&world, &path, &["--plan", &own, "--run", &run]).status, 0);
    verify(&world, &path, &["--plan", &other]).fails(4, "receipt.other_plan");
    // A second run by the same plan has another receipt.
    let second = world.outside().join("second.json");
    let args = ["execute", "--plan", &own, "--receipt", second.to_str().unwrap()];
    world.rye(&args).ok();
    assert_eq!(verify(&world, &second, &["--plan", &own]).status, 0);
    verify(&world, &second, &["--plan", &own, "--run", &run]).fails(4, "receipt.other_run");
}

#[test]
fn h06_a_receipt_of_somebody_else_counts_once_you_trust_their_key_and_not_after_you_revoked_it() {
    let (world, path) = world();
    let (text, key) = (fs::read_to_string(&path).unwrap(), world.own_key());
    let reader = World::new();
    let here = reader.outside().join("receipt.json");
    refused(&reader, &here, &text, "receipt.untrusted", "a stranger");
    fs::create_dir_all(reader.outside().join("elsewhere/.ai")).unwrap();
    for (scope, good) in [
        (&[][..], true),
        (&["--in", "../elsewhere"], false),
        (&["--in", "."], true),
        (&["--not-after", "2020-01-01T00:00:00Z"], false),
        (&["--not-after", "2099-01-01T00:00:00Z"], true),
        // Which items a key may sign does not decide whether it may speak of its runs.
        (&["--items", "tool:nothing/*"], true),
    ] {
        trust(&reader, &key, &[&["--owner", "ci"], scope].concat());
        let said = verify(&reader, &here, &[]);
        let want = if good { (0, "") } else { (4, "receipt.untrusted") };
        assert_eq!((said.status, said.code().as_str()), want, "{scope:?}: {said:?}");
        assert!(!good || said.json()["owner"] == "ci", "{said:?}");
    }
    reader.rye(&["trust", "revoke", &fingerprint(&key)]).ok();
    refused(&reader, &here, &text, "receipt.revoked", "revoked");
    // Your own, too; and a revoked key writes no more receipts. A policy that it signed would count
    // no more either.
    fs::remove_file(world.home().join(".ai/config/rye/policy.yaml")).unwrap();
    assert_eq!(verify(&world, &path, &[]).status, 0);
    let late = world.outside().join("late.json");
    world.rye(&["trust", "revoke", &fingerprint(&key), "--yes"]).ok();
    refused(&world, &path, &text, "receipt.revoked", "the own key revoked");
    fs::remove_file(world.project().join("marker")).unwrap();
    world
        .rye(&[
            "execute",
            "rye/bash",
            "-i",
            "command=: > marker",
            "--receipt",
            late.to_str().unwrap(),
        ])
        .fails(4, "receipt.revoked");
    assert!(!late.exists() && !world.project().join("marker").exists(), "it ran");
}

#[test]
fn h06_the_example_key_and_the_publisher_s_write_no_receipts_that_count() {
    let (world, path) = world();
    let statement = payload(&envelope(&fs::read_to_string(&path).unwrap()));
    let example = crate::keys::others::example_key();
    refused(&world, &path, &sealed(&example, &statement), "receipt.untrusted", "the example key");
    let mut envelope = envelope(&sealed(&stranger(9), &statement));
    envelope["signatures"][0]["keyid"] = json!("78f7dae3a0d000131c0889808c8c822d");
    refused(&world, &path, &envelope.to_string_canonical(), "receipt.untrusted", "the publisher");
}
