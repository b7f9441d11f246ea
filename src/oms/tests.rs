//! Signatures that the first implementation of OMS made, and changes of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::statement::root_digest;
use super::{KnownSigner, OmsError, OmsSignature, OmsSigner, OmsSigningKey, sign_files};
use crate::diagnostic::Diagnose;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oms/vectors")
}

/// The files of the vectors' skill.
fn files() -> BTreeMap<String, Vec<u8>> {
    let base = vectors().join("word-count");
    let walk = walkdir::WalkDir::new(&base).into_iter().map(Result::unwrap);
    let files = walk.filter(|entry| entry.file_type().is_file()).map(|entry| {
        let path = entry.path().strip_prefix(&base).unwrap().to_str().unwrap().to_owned();
        (path, fs::read(entry.path()).unwrap())
    });
    let files: BTreeMap<_, _> = files.collect();
    assert_eq!(files.len(), 5);
    files
}

/// Each signature with who may be known for it.
fn signatures() -> Vec<(String, Vec<u8>, KnownSigner)> {
    let names = fs::read_dir(vectors()).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names.retain(|name| name.strip_suffix(".sig").is_some());
    assert_eq!(names.len(), 9);
    let read = |name: String| {
        let pem = format!("{}.pub.pem", name.split('-').nth(1).unwrap());
        let pem = fs::read_to_string(vectors().join(pem)).unwrap();
        let signer = KnownSigner::of_pem(Some("acme".into()), &pem).unwrap();
        let text = fs::read(vectors().join(&name)).unwrap();
        (name, text, signer)
    };
    names.into_iter().map(read).collect()
}

fn check(
    text: &[u8],
    known: &[KnownSigner],
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<OmsSigner, OmsError> {
    let (signed, by) = OmsSignature::read(text)?.check(known, None)?;
    let checked = signed.check(files, false)?;
    assert_eq!(checked.unsigned, [""; 0]);
    Ok(by)
}

#[test]
fn signatures_of_the_first_implementation_hold_on_each_curve_whole_and_in_parts() {
    for (name, text, signer) in signatures() {
        let by = check(&text, &[signer], &files()).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!((by.name.as_deref(), by.method), (Some("acme"), "key"), "{name}");
    }
}

#[test]
fn a_signature_of_anybody_who_is_not_named_is_by_a_stranger() {
    let all = signatures();
    for (name, text, own) in &all {
        let others: Vec<_> =
            all.iter().map(|(.., signer)| signer.clone()).filter(|it| it != own).collect();
        assert!(others.len() > 3);
        for known in [&others[..], &[]] {
            let said = check(text, known, &files());
            assert!(matches!(said, Err(OmsError::UnknownSigner { .. })), "{name}: {said:?}");
        }
    }
}

/// A key of no use to anybody else.
fn own_key() -> OmsSigningKey {
    let secret = p256::SecretKey::from_slice(&[7; 32]).unwrap();
    let pem = secret.to_sec1_pem(p256::pkcs8::LineEnding::LF).unwrap();
    OmsSigningKey::of_pem(&pem).unwrap()
}

fn own_signer() -> KnownSigner {
    use p256::pkcs8::EncodePublicKey;
    let public = p256::SecretKey::from_slice(&[7; 32]).unwrap().public_key();
    let pem = public.to_public_key_pem(p256::pkcs8::LineEnding::LF).unwrap();
    KnownSigner::of_pem(None, &pem).unwrap()
}

/// The statement that a signature file holds.
fn statement(text: &[u8]) -> Value {
    let bundle: Value = serde_json::from_slice(text).unwrap();
    let payload = bundle["dsseEnvelope"]["payload"].as_str().unwrap();
    serde_json::from_slice(&STANDARD.decode(payload).unwrap()).unwrap()
}

/// A signature file by the own key over any statement, whose root digest is put right.
fn signed(mut statement: Value) -> Vec<u8> {
    let rows = statement["predicate"]["resources"].as_array().cloned().unwrap_or_default();
    let digests: Vec<_> =
        rows.iter().filter_map(|row| hex::decode(row["digest"].as_str()?).ok()).collect();
    if let Some(digest) = statement.pointer_mut("/subject/0/digest/sha256") {
        *digest = root_digest(digests.iter().map(Vec::as_slice)).into();
    }
    sealed(statement.to_string().into_bytes())
}

fn sealed(payload: Vec<u8>) -> Vec<u8> {
    OmsSignature::seal(&own_key(), payload).to_text().into()
}

fn own_signature() -> Vec<u8> {
    let signed = sign_files("word-count", &files(), &["skill.oms.sig"], &own_key()).unwrap();
    signed.to_text().into_bytes()
}

#[test]
fn what_is_signed_here_is_accepted_here_and_is_the_same_each_time() {
    let text = own_signature();
    assert_eq!(own_signature(), text);
    assert_eq!(check(&text, &[own_signer()], &files()).unwrap().name, None);
    let said = statement(&text);
    let names: Vec<_> = said["predicate"]["resources"].as_array().unwrap().iter().collect();
    let names: Vec<_> = names.iter().map(|row| row["name"].as_str().unwrap()).collect();
    // By code points, as the specification orders them.
    let want =
        ["SKILL.md", "assets-2.txt", "assets/ü.txt", "references/a b.md", "scripts/count.py"];
    assert_eq!(names, want);
    assert_eq!(said["subject"][0]["name"], "word-count");
    assert_eq!(signed(said), text, "a statement that is put together again is the same");
}

/// A statement with one value changed.
fn set(whole: &Value, path: &str, value: Value) -> Value {
    let mut changed = whole.clone();
    *changed.pointer_mut(path).unwrap() = value;
    changed
}

/// The statement with other lists of what is signed and what is left out, each with what is odd.
fn other_lists(whole: &Value) -> Vec<(String, Value)> {
    let row = &whole["predicate"]["resources"][0];
    let and = |name: &str| {
        let mut rows = whole["predicate"]["resources"].as_array().unwrap().clone();
        rows.push(json!({"name": name, "digest": row["digest"], "algorithm": "sha256"}));
        set(whole, "/predicate/resources", rows.into())
    };
    let parts = |name: &str, size: Value| {
        let mut parts = whole.clone();
        parts["predicate"]["serialization"]["method"] = "shards".into();
        parts["predicate"]["serialization"]["shard_size"] = size;
        let row = json!({"name": name, "digest": row["digest"], "algorithm": "sha256"});
        parts["predicate"]["resources"] = json!([row]);
        parts
    };
    let mut rows = Vec::new();
    for name in [
        "SKILL.md",
        "/etc/passwd",
        "../x",
        "a/../b",
        "./x",
        "x/",
        "a//b",
        "",
        ".",
        "..",
        "x\0y",
        ".git/config",
        ".gitignore",
        "skill.oms.sig",
        "SKILL.md/x",
    ] {
        rows.push((format!("lists {name:?}"), and(name)));
    }
    for path in [".", "..", "", "/", "./a", "a/", "../a", "*", "a?", "[a]", "SKILL.md", "scripts"] {
        let changed = set(whole, "/predicate/serialization/ignore_paths", json!([path]));
        rows.push((format!("ignores {path:?}"), changed));
    }
    for name in [
        "SKILL.md",
        "SKILL.md:0",
        "SKILL.md:0:0",
        "SKILL.md:1:64",
        "SKILL.md:0:65",
        "SKILL.md:00:64",
        "SKILL.md:+0:64",
        "SKILL.md:0:-1",
        "SKILL.md:64:0",
        "SKILL.md:0:18446744073709551616",
        ":0:64",
    ] {
        rows.push((format!("has the part {name:?}"), parts(name, json!(64))));
    }
    for size in [json!(0), json!(-1), json!(1.5), json!("64"), Value::Null] {
        rows.push((format!("has parts of {size}"), parts("SKILL.md:0:64", size)));
    }
    rows
}

/// The statement with another field or one field more, each with what is odd.
fn other_fields(whole: &Value) -> Vec<(String, Value)> {
    let digest = whole["predicate"]["resources"][0]["digest"].as_str().unwrap();
    let two = json!([whole["subject"][0], whole["subject"][0]]);
    let rows = [
        ("/_type", json!("https://in-toto.io/Statement/v0.1")),
        ("/predicateType", json!("https://model_signing/signature/v1.1")),
        ("/predicateType", json!("https://model_signing/Digests/v0.1")),
        ("/predicate", json!({})),
        ("/predicate/resources", json!([])),
        ("/predicate/resources/0/algorithm", json!("sha1")),
        ("/predicate/resources/0/algorithm", json!("blake3")),
        ("/predicate/resources/0/digest", json!("")),
        ("/predicate/resources/0/digest", json!("00")),
        ("/predicate/resources/0/digest", digest.to_uppercase().into()),
        ("/predicate/serialization/method", json!("dfs")),
        ("/predicate/serialization/hash_type", json!("sha1")),
        ("/predicate/serialization/hash_type", json!("blake3")),
        ("/predicate/serialization/allow_symlinks", json!("false")),
        ("/subject", json!([])),
        ("/subject", two),
        ("/subject/0/name", json!("")),
    ];
    let rows = rows.into_iter();
    let mut rows: Vec<_> =
        rows.map(|(path, to)| (format!("{path} is {to}"), set(whole, path, to))).collect();
    for (path, key, value) in [
        ("", "also", json!(1)),
        ("/predicate", "also", json!(1)),
        ("/predicate/serialization", "shard_size", json!(64)),
        ("/predicate/serialization", "ignore_unsigned", json!(true)),
    ] {
        let mut changed = whole.clone();
        changed.pointer_mut(path).unwrap()[key] = value;
        rows.push((format!("{path} has `{key}`"), changed));
    }
    rows
}

/// Statements that are refused although their signer is known.
#[test]
fn a_statement_that_is_signed_and_means_two_things_or_leads_elsewhere_is_refused() {
    let whole = statement(&own_signature());
    assert!(check(&signed(whole.clone()), &[own_signer()], &files()).is_ok());
    let rows = [other_lists(&whole), other_fields(&whole)].concat();
    assert!(rows.len() > 60);
    for (what, changed) in rows {
        assert_ne!(changed, whole, "{what}");
        let said = check(&signed(changed), &[own_signer()], &files());
        assert!(said.is_err(), "{what}: {said:?}");
    }
    // The digest of the whole, a key that stands twice, and what is no statement.
    let text = whole.to_string();
    let digest = whole["subject"][0]["digest"]["sha256"].as_str().unwrap();
    for changed in [
        text.replacen(digest, &"0".repeat(64), 1),
        text.replacen("\"predicate\":", "\"predicate\":{},\"predicate\":", 1),
        format!("[{text}]"),
        text.replace('}', ""),
        "[".repeat(100_000),
    ] {
        assert_ne!(changed, text);
        let said = check(&sealed(changed.into_bytes()), &[own_signer()], &files());
        assert!(matches!(said, Err(OmsError::Malformed { .. })), "{said:?}");
    }
}

/// The key that made the specification's vector `key`.
const SPEC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEsu6rZGBTjxtvRWPMixT+3HyndV0J0Ybt
aHZUcO4DEK+OJHO/4e32bb/fbJKSpRgcBsIpKLcVijUomyFOERbd7u+BTPSUjGZD
Qq6J7lTvp/EAXQGOKxW9RP0MGX3qAkvi
-----END PUBLIC KEY-----
";

/// The vectors list no file that is there.
#[test]
fn the_vectors_of_the_specification_are_read_and_a_certificate_is_refused_by_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oms/spec/vectors");
    let known = [KnownSigner::of_pem(None, SPEC_KEY).unwrap()];
    let check = |name: &str| {
        let signature = OmsSignature::read(&fs::read(folder.join(name)).unwrap())?;
        signature.check(&known, None)
    };
    let (files, by) = check("valid/key.bundle.json").unwrap();
    assert!(by.fingerprint.as_ref().unwrap().starts_with("e8450dec4eb99dae"), "{by:?}");
    assert!(files.lists("signme-1") && files.lists("signme-2") && files.ignores("ignore-me"));
    let refused = |name: &str| check(name).unwrap_err();
    let why = refused("valid/certificate.bundle.json");
    let what = "a signature by the method `certificate`".to_owned();
    assert_eq!(why, OmsError::Unsupported { what });
    assert!(why.help().unwrap().contains("by the method `key`"), "{why:?}");
    // A key makes no signer known by that method.
    let unknown = refused("valid/sigstore.bundle.json");
    let want = if cfg!(feature = "sigstore") { "oms.unknown_signer" } else { "oms.unsupported" };
    assert_eq!(unknown.code().name(), want, "{unknown:?}");
    for entry in fs::read_dir(folder.join("invalid")).unwrap().flatten() {
        let name = format!("invalid/{}", entry.file_name().into_string().unwrap());
        let why = refused(&name);
        let is = matches!(why, OmsError::Malformed { .. } | OmsError::Unsupported { .. });
        assert!(is, "{name}: {why:?}");
    }
    // Its payload was changed, so its signature does not hold any longer.
    let why = refused("invalid-payload/wrong-predicate.bundle.json");
    assert!(matches!(why, OmsError::Forged { .. }), "{why:?}");
}

/// A sequence of numbers that is the same each time (Steele, Lea, Flood: `SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % most as u64).unwrap()
    }
}

/// A signature file that says something else after one change.
fn mutated(text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let said = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    loop {
        let changed = change(text, numbers);
        if said(&changed) != said(text) {
            return changed;
        }
    }
}

fn change(text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bundle: Value = serde_json::from_slice(text).unwrap();
    let at = numbers.below(text.len());
    let in_payload = |bundle: &mut Value, numbers: &mut Numbers| {
        let payload = STANDARD.decode(bundle["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
        let mut payload = payload;
        let at = numbers.below(payload.len());
        match numbers.below(3) {
            0 => payload[at] ^= 1 << numbers.below(8),
            1 => drop(payload.remove(at)),
            _ => payload.insert(at, payload[at]),
        }
        bundle["dsseEnvelope"]["payload"] = STANDARD.encode(payload).into();
    };
    match numbers.below(8) {
        0 => {
            let mut bytes = text.to_vec();
            bytes[at] ^= 1 << numbers.below(8);
            return bytes;
        }
        1 => return text[..at].to_vec(),
        2 => return [&text[..at], &text[numbers.below(at + 1)..]].concat(),
        3 => {
            let keys: Vec<String> = bundle.as_object().unwrap().keys().cloned().collect();
            bundle.as_object_mut().unwrap().remove(&keys[numbers.below(keys.len())]);
        }
        4 => {
            let signature = bundle["dsseEnvelope"]["signatures"][0].clone();
            bundle["dsseEnvelope"]["signatures"].as_array_mut().unwrap().push(signature);
        }
        5 => {
            let sig = bundle["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
            let mut sig = STANDARD.decode(sig).unwrap();
            let at = numbers.below(sig.len());
            sig[at] = sig[at].wrapping_add(1 + u8::try_from(numbers.below(255)).unwrap());
            bundle["dsseEnvelope"]["signatures"][0]["sig"] = STANDARD.encode(sig).into();
        }
        6 => bundle["mediaType"] = format!("{}x", bundle["mediaType"].as_str().unwrap()).into(),
        _ => in_payload(&mut bundle, numbers),
    }
    bundle.to_string().into_bytes()
}

/// One change of the files.
fn other_files(numbers: &mut Numbers) -> BTreeMap<String, Vec<u8>> {
    let mut files = files();
    let names: Vec<String> = files.keys().cloned().collect();
    let name = &names[numbers.below(names.len())];
    let bytes = files.get_mut(name).unwrap();
    let at = numbers.below(bytes.len());
    match numbers.below(7) {
        0 => bytes[at] ^= 1 << numbers.below(8),
        1 => bytes.truncate(at),
        2 => bytes.insert(at, b'\n'),
        3 => drop(files.remove(name)),
        4 => drop(files.insert(format!("{name}~{at}"), vec![1])),
        5 => {
            let bytes = files.remove(name).unwrap();
            files.insert(name.to_uppercase() + "x", bytes);
        }
        _ => {
            let other = names[numbers.below(names.len())].clone();
            let taken = files.insert(other.clone(), b"# swapped\n".to_vec()).unwrap();
            files
                .insert(name.clone(), if other == *name { b"# swapped\n".to_vec() } else { taken });
        }
    }
    files
}

/// 100 changes here; the whole is 500.
#[test]
fn of_five_hundred_changed_signatures_and_trees_none_is_accepted() {
    let all = signatures();
    for (name, text, signer) in &all {
        assert!(check(text, std::slice::from_ref(signer), &files()).is_ok(), "{name}");
    }
    let (mut numbers, mut refused) = (Numbers(19), BTreeMap::new());
    let most = if crate::base::whole_tests() { 500 } else { 100 };
    for count in 0..most {
        let (name, text, signer) = &all[numbers.below(all.len())];
        let (text, files) = match count % 2 {
            0 => (mutated(text, &mut numbers), files()),
            _ => (text.clone(), other_files(&mut numbers)),
        };
        let said = check(&text, std::slice::from_ref(signer), &files);
        let Err(why) = said else { panic!("change {count} of {name} is accepted") };
        *refused.entry(why.code().name()).or_insert(0) += 1;
    }
    assert_eq!(refused.values().sum::<i32>(), most, "{refused:?}");
    assert!(
        refused["oms.files"] > most * 2 / 5 && refused["oms.malformed"] > most / 10,
        "{refused:?}"
    );
    assert!(refused["oms.forged"] > most / 25, "{refused:?}");
}

#[test]
fn names_that_read_alike_are_different_files() {
    for (signed_name, there) in [("\u{e9}.md", "e\u{301}.md"), ("Read.md", "read.md")] {
        let files = |name: &str| BTreeMap::from([(name.to_owned(), b"x".to_vec())]);
        let text = sign_files("x", &files(signed_name), &[], &own_key()).unwrap().to_text();
        assert!(check(text.as_bytes(), &[own_signer()], &files(signed_name)).is_ok());
        let said = check(text.as_bytes(), &[own_signer()], &files(there));
        assert!(matches!(said, Err(OmsError::Files { findings }) if findings.len() == 2));
    }
}

#[test]
fn what_is_left_out_or_not_listed_is_never_among_the_signed_files() {
    let text = own_signature();
    let (signed, _) = OmsSignature::read(&text).unwrap().check(&[own_signer()], None).unwrap();
    let mut more = files();
    more.insert("extra.md".into(), b"x".to_vec());
    assert_eq!(signed.check(&more, true).unwrap().unsigned, ["extra.md"]);
    assert!(
        !signed.lists("extra.md") && signed.ignores(".git/config") && signed.ignores(".github")
    );
    assert!(!signed.ignores("scripts/.git") && !signed.ignores(".gitmodules"));
}
