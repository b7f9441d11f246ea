//! Real signatures by the method `sigstore`, of the public service, and changes of them. Nothing
//! here needs a network.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{KnownSigner, OmsError, OmsSignature, OmsSigner, SignerIdentity, TrustedRoot};
use crate::diagnostic::Diagnose;

const IDENTITY: &str = "stefanb@us.ibm.com";
const ISSUER: &str = "https://sigstore.verify.ibm.com/oauth2";

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oms/sigstore")
}

fn text(name: &str) -> String {
    fs::read_to_string(vectors().join(name)).unwrap()
}

fn root() -> TrustedRoot {
    TrustedRoot::of_text(&text("trusted_root.json")).unwrap()
}

fn signer(identity: &str, issuer: &str) -> KnownSigner {
    let who = SignerIdentity::new(identity, issuer).unwrap();
    KnownSigner::of_identity(Some("ann".into()), who)
}

fn files() -> BTreeMap<String, Vec<u8>> {
    let read = |name: &str| (name.to_owned(), text(&format!("folder/{name}")).into_bytes());
    ["signme-1", "signme-2"].map(read).into()
}

fn check_with(
    text: &str,
    known: &[KnownSigner],
    root: Option<&TrustedRoot>,
) -> Result<OmsSigner, OmsError> {
    let signature = OmsSignature::read(text.as_bytes())?;
    let (signed, by) = signature.check(known, root)?;
    signed.check(&files(), false)?;
    Ok(by)
}

fn check(text: &str) -> Result<OmsSigner, OmsError> {
    check_with(text, &[signer(IDENTITY, ISSUER)], Some(&root()))
}

const ALL: [&str; 4] = ["v0.3.1.sig", "v1.0.0.sig", "v1.0.1.sig", "v1.1.0.sig"];

#[test]
fn four_signatures_of_the_public_service_hold_by_identity_issuer_and_a_root_that_is_given() {
    for name in ALL {
        let by = check(&text(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!((by.name.as_deref(), by.method), (Some("ann"), "sigstore"));
        assert_eq!(by.line(), format!("`ann`, `{IDENTITY}` of the issuer `{ISSUER}`"));
        let said = by.to_json();
        assert_eq!((&said["identity"], &said["issuer"]), (&json!(IDENTITY), &json!(ISSUER)));
        let sha256 = crate::base::Digest::of(text("trusted_root.json").as_bytes()).to_string();
        assert_eq!(said["root_sha256"], sha256);
        assert_eq!(said["key"], Value::Null);
        // A signature file is written as it was read.
        let read = OmsSignature::read(text(name).as_bytes()).unwrap();
        assert_eq!(OmsSignature::read(read.to_text().as_bytes()).unwrap(), read);
    }
}

#[test]
fn nobody_is_believed_who_is_not_named_by_identity_and_issuer_and_by_a_root() {
    let text = text("v1.1.0.sig");
    assert!(check(&text).is_ok());
    let others = [
        signer("eve@us.ibm.com", ISSUER),
        signer("https://us.ibm.com/stefanb@us.ibm.com", ISSUER),
        signer(IDENTITY, "https://accounts.google.com"),
        signer(IDENTITY, "https://sigstore.verify.ibm.com/oauth2/"),
        signer("Stefanb@us.ibm.com", ISSUER),
    ];
    for known in others.iter().map(std::slice::from_ref).chain([&others[..], &[]]) {
        let why = check_with(&text, known, Some(&root())).unwrap_err();
        let is = matches!(&why, OmsError::UnknownSigner { signer } if signer.contains(IDENTITY));
        assert!(is && why.to_string().contains(ISSUER), "{why:?}");
    }
    // Among others who are known it is the one who signed.
    let known = [&others[..], &[signer(IDENTITY, ISSUER)]].concat();
    assert!(check_with(&text, &known, Some(&root())).is_ok());
    let why = check_with(&text, &known, None).unwrap_err();
    assert!(why.to_string().contains("is not given"), "{why}");
    assert_eq!(why.code().name(), "oms.root");
}

#[test]
fn a_root_of_another_service_or_from_before_refuses_and_asks_for_a_newer_one() {
    let whole: Value = serde_json::from_str(&text("trusted_root.json")).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut root = whole.clone();
        change(&mut root);
        root
    };
    let old = json!({"start": "2020-01-01T00:00:00Z", "end": "2021-01-01T00:00:00Z"});
    let rows = [
        ("staging", serde_json::from_str(&text("trusted_root.staging.json")).unwrap()),
        ("no log", changed(&|root| root["tlogs"] = json!([]))),
        ("no authority", changed(&|root| root["certificateAuthorities"] = json!([]))),
        ("no log of certificates", changed(&|root| root["ctlogs"] = json!([]))),
        ("no clock", changed(&|root| root["timestampAuthorities"] = json!([]))),
        (
            "authorities of before",
            changed(&|root| {
                for authority in root["certificateAuthorities"].as_array_mut().unwrap() {
                    authority["validFor"] = old.clone();
                }
            }),
        ),
        (
            "logs of before",
            changed(&|root| {
                for log in root["tlogs"].as_array_mut().unwrap() {
                    log["publicKey"]["validFor"] = old.clone();
                }
            }),
        ),
        (
            "a key that is none",
            changed(&|root| root["tlogs"][0]["publicKey"]["rawBytes"] = "AA==".into()),
        ),
    ];
    let text = text("v1.1.0.sig");
    let known = [signer(IDENTITY, ISSUER)];
    let same = TrustedRoot::of_text(&whole.to_string()).unwrap();
    assert!(check_with(&text, &known, Some(&same)).is_ok());
    for (what, root) in rows {
        assert_ne!(root, whole, "{what}");
        let root = TrustedRoot::of_text(&root.to_string()).unwrap();
        let why = check_with(&text, &known, Some(&root)).unwrap_err();
        assert_eq!(why.code().name(), "oms.root", "{what}: {why}");
        assert!(why.help().unwrap().starts_with("name a newer trusted root"), "{what}");
    }
    for (what, text) in [
        ("JSON", "hello".to_owned()),
        ("media type", json!({"mediaType": "application/json"}).to_string()),
        ("media type", "{}".into()),
        ("larger", " ".repeat(300 << 10)),
        ("values", format!("[{}1]", "1,".repeat(110_000))),
    ] {
        let why = TrustedRoot::of_text(&text).unwrap_err();
        assert!(why.contains(what), "{why}");
    }
}

/// Base64 with one bit in the middle changed.
fn flipped(text: &str) -> String {
    let mut bytes = STANDARD.decode(text).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    STANDARD.encode(bytes)
}

const MATERIAL: &str = "/verificationMaterial";
const ENTRY: &str = "/verificationMaterial/tlogEntries/0";

/// The signature with one thing changed, each with what that is.
fn changes(good: &Value) -> Vec<(String, Value)> {
    let set = |path: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        (path.to_owned(), changed)
    };
    let at = |path: &str| good.pointer(path).unwrap_or_else(|| panic!("{path}"));
    let mut rows = Vec::new();
    for path in [
        "/dsseEnvelope/payload".to_owned(),
        "/dsseEnvelope/signatures/0/sig".into(),
        format!("{MATERIAL}/certificate/rawBytes"),
        format!("{ENTRY}/logId/keyId"),
        format!("{ENTRY}/canonicalizedBody"),
        format!("{ENTRY}/inclusionPromise/signedEntryTimestamp"),
        format!("{ENTRY}/inclusionProof/hashes/0"),
        format!("{ENTRY}/inclusionProof/rootHash"),
    ] {
        rows.push(set(&path, flipped(at(&path).as_str().unwrap()).into()));
    }
    let checkpoint = format!("{ENTRY}/inclusionProof/checkpoint/envelope");
    let envelope = at(&checkpoint).as_str().unwrap();
    let (head, tail) = envelope.split_at(envelope.len() - 10);
    let other = if tail.starts_with('A') { "B" } else { "A" };
    for (path, value) in [
        (checkpoint.as_str(), json!(format!("{head}{other}{}", &tail[1..]))),
        (&format!("{ENTRY}/integratedTime"), json!("1700000000")),
        (&format!("{ENTRY}/logIndex"), json!("1")),
        (&format!("{ENTRY}/inclusionProof/logIndex"), json!("1")),
        (&format!("{ENTRY}/inclusionProof/treeSize"), json!("476246826")),
        (&format!("{ENTRY}/inclusionProof/hashes"), json!([])),
        (
            &format!("{ENTRY}/inclusionProof/hashes"),
            json!(vec![at(&format!("{ENTRY}/inclusionProof/rootHash")); 65]),
        ),
        (&format!("{ENTRY}/inclusionProof"), Value::Null),
        (&format!("{ENTRY}/kindVersion/kind"), json!("hashedrekord")),
        (&format!("{MATERIAL}/tlogEntries"), json!([])),
        (&format!("{MATERIAL}/tlogEntries"), json!(vec![at(ENTRY); 5])),
        (&format!("{MATERIAL}/tlogEntries"), Value::Null),
        ("/mediaType", json!("application/vnd.dev.sigstore.bundle+json;version=0.2")),
        ("/mediaType", json!("application/vnd.dev.sigstore.bundle+json;version=0.1")),
    ] {
        rows.push(set(path, value));
    }
    for path in [
        "",
        MATERIAL,
        ENTRY,
        &format!("{MATERIAL}/certificate"),
        &format!("{ENTRY}/inclusionProof"),
    ] {
        let mut changed = good.clone();
        changed.pointer_mut(path).unwrap()["surprise"] = json!(1);
        rows.push((format!("{path} has a field more"), changed));
    }
    // Its end is the signature of the clock.
    let token = format!("{MATERIAL}/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp");
    let mut bytes = STANDARD.decode(at(&token).as_str().unwrap()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    rows.push(set(&token, STANDARD.encode(bytes).into()));
    let mut two = good.clone();
    let again = at("/dsseEnvelope/signatures/0").clone();
    two["dsseEnvelope"]["signatures"].as_array_mut().unwrap().push(again);
    rows.push(("two signatures".into(), two));
    rows
}

#[test]
fn whatever_of_a_signature_was_changed_it_is_refused() {
    let good: Value = serde_json::from_str(&text("v1.1.0.sig")).unwrap();
    assert!(check(&good.to_string()).is_ok());
    let rows = changes(&good);
    assert!(rows.len() > 25);
    for (what, changed) in rows {
        assert_ne!(changed, good, "{what}");
        let said = check(&changed.to_string());
        assert!(said.is_err(), "{what}: {said:?}");
    }
    // A field that stands twice, deep in.
    let whole = good.to_string();
    let twice = whole.replacen("\"kindVersion\":", "\"kindVersion\":{},\"kindVersion\":", 1);
    assert_ne!(twice, whole);
    assert!(matches!(check(&twice), Err(OmsError::Malformed { .. })));
}

#[test]
fn the_log_entry_and_the_certificate_of_another_signature_by_the_same_person_do_not_serve() {
    let read = |name: &str| serde_json::from_str::<Value>(&text(name)).unwrap();
    let (good, other) = (read("v1.1.0.sig"), read("v1.0.1.sig"));
    assert!(check(&good.to_string()).is_ok() && check(&other.to_string()).is_ok());
    for path in [
        format!("{MATERIAL}/tlogEntries"),
        format!("{ENTRY}/canonicalizedBody"),
        format!("{MATERIAL}/certificate"),
        "/dsseEnvelope".into(),
        "/dsseEnvelope/payload".into(),
        "/dsseEnvelope/signatures".into(),
    ] {
        let mut mixed = good.clone();
        *mixed.pointer_mut(&path).unwrap() = other.pointer(&path).unwrap().clone();
        let said = check(&mixed.to_string());
        assert!(said.is_err(), "{path}: {said:?}");
    }
}

#[test]
fn the_list_that_was_signed_is_held_to_its_digest_and_to_the_files() {
    let good: Value = serde_json::from_str(&text("v1.1.0.sig")).unwrap();
    let payload = good["dsseEnvelope"]["payload"].as_str().unwrap();
    let payload = String::from_utf8(STANDARD.decode(payload).unwrap()).unwrap();
    let with = |payload: &str| {
        let mut changed = good.clone();
        changed["dsseEnvelope"]["payload"] = STANDARD.encode(payload).into();
        check(&changed.to_string())
    };
    assert!(with(&payload).is_ok());
    let statement: Value = serde_json::from_str(&payload).unwrap();
    let digests = [
        &statement["subject"][0]["digest"]["sha256"],
        &statement["predicate"]["resources"][0]["digest"],
    ];
    for digest in digests {
        let changed = payload.replacen(digest.as_str().unwrap(), &"0".repeat(64), 1);
        assert_ne!(changed, payload);
        assert!(matches!(with(&changed), Err(OmsError::Malformed { .. })));
    }
    // The same list, said another way: it is not what was signed.
    assert!(matches!(with(&format!("{payload} ")), Err(OmsError::Forged { .. })));
    let signature = OmsSignature::read(good.to_string().as_bytes()).unwrap();
    let (signed, _) = signature.check(&[signer(IDENTITY, ISSUER)], Some(&root())).unwrap();
    let mut files = files();
    files.get_mut("signme-1").unwrap().push(b'\n');
    assert!(matches!(signed.check(&files, false), Err(OmsError::Files { .. })));
}

#[test]
fn a_signer_is_an_address_or_a_uri_with_an_issuer_that_is_one() {
    for (identity, issuer) in [
        (IDENTITY, ISSUER),
        ("https://github.com/acme/words/.github/workflows/sign.yml@refs/heads/main", ISSUER),
        ("spiffe://acme.example/signer", ISSUER),
    ] {
        assert!(SignerIdentity::new(identity, issuer).is_ok(), "{identity}");
    }
    let long = format!("{}@x", "a".repeat(2000));
    for (identity, issuer) in [
        ("", ISSUER),
        ("ann", ISSUER),
        ("*", ISSUER),
        ("ann@x y", ISSUER),
        ("ann@x\n", ISSUER),
        ("ann@x`", ISSUER),
        ("{input:a}@x", ISSUER),
        (&long, ISSUER),
        (IDENTITY, ""),
        (IDENTITY, "accounts.google.com"),
        (IDENTITY, "http://accounts.google.com"),
    ] {
        assert!(SignerIdentity::new(identity, issuer).is_err(), "{identity:?} {issuer:?}");
    }
}
