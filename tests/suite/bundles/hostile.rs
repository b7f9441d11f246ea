//! Archives and manifests that somebody else made (attack row h07): nothing of them is written but
//! what the publisher signed.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use tar::{EntryType, Header};

use super::Pair;
use crate::bounds::{is_bounded, measured};
use crate::world::{fingerprint, line, sha256, whole};

/// An entry of a hostile archive; its name is written as it is.
fn entry(kind: EntryType, name: &str, link: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o4777);
    header.set_cksum();
    let rest = vec![0; bytes.len().next_multiple_of(512) - bytes.len()];
    [header.as_bytes(), bytes, &rest].concat()
}

fn archive(file: &Path, entries: &[Vec<u8>]) -> String {
    let tar = [entries.concat(), vec![0; 1024]].concat();
    fs::write(file, compress_to_vec(tar.as_slice(), CompressionLevel::Fastest)).unwrap();
    file.display().to_string()
}

/// A signed manifest over files, made here and not by rye.
fn manifest(key: &SigningKey, files: &[(&str, &[u8])]) -> Vec<u8> {
    let rows: Vec<_> = files
        .iter()
        .map(|(path, bytes)| {
            json!({"annotations": {"is_program": false, "size": bytes.len()},
                   "digest": {"sha256": sha256(bytes)}, "name": path})
        })
        .collect();
    sealed(key, &rows)
}

fn sealed(key: &SigningKey, rows: &[Value]) -> Vec<u8> {
    sealed_at(key, rows, "2026-11-21T00:00:00Z")
}

fn sealed_at(key: &SigningKey, rows: &[Value], packed_at: &str) -> Vec<u8> {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicate": {"description": "", "name": "acme-words", "packed_at": packed_at,
                      "rye": "0.1.0", "version": "1.0.0"},
        "predicateType": "urn:rye:bundle:v1",
        "subject": rows,
    });
    let payload = serde_jcs::to_string(&statement).unwrap();
    let kind = "application/vnd.in-toto+json";
    let pae = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    let sig = STANDARD.encode(key.sign(pae.as_bytes()).to_bytes());
    let envelope = json!({"payload": STANDARD.encode(&payload), "payloadType": kind,
                          "signatures": [{"keyid": fingerprint(key), "sig": sig}]});
    serde_jcs::to_vec(&envelope).unwrap()
}

/// A tool that the key signed.
fn tool(key: &SigningKey, id: &str) -> Vec<u8> {
    let body = "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# executor_id = \"rye/core/runtimes/shell/script\"\n\
                # description = \"x\"\n# ///\necho 1\n";
    let line = line(key, &format!("tool:{id}"), "sh", "2026-11-20T00:00:00Z", body.as_bytes());
    body.replacen('\n', &format!("\n# {line}\n"), 1).into_bytes()
}

#[test]
fn h07_an_archive_that_is_not_just_what_its_signed_manifest_lists_writes_nothing() {
    let pair = Pair::new();
    let key = pair.publisher.own_key();
    let out = pair.user.outside();
    let good = tool(&key, "acme/x");
    let path = "tools/acme/x.sh";
    let signed = manifest(&key, &[(path, &good)]);
    let file = |name: &str| entry(EntryType::Regular, name, "", &good);
    let head = entry(EntryType::Regular, "bundle.json", "", &signed);
    let first = archive(&out.join("good"), &[head.clone(), file(path)]);
    let (status, said) = pair.user.json(&["bundle", "verify", &first]);
    assert_eq!(status, 0, "the fixture itself is good: {said}");
    let linked = |kind: EntryType, to: &str| entry(kind, path, to, b"");
    let rows = [
        ("absolute", vec![head.clone(), file("/tmp/rye-slip.sh")]),
        ("up", vec![head.clone(), file("../../../tools/acme/x.sh")]),
        ("up behind a folder", vec![head.clone(), file("tools/acme/../../../x.sh")]),
        ("another name", vec![head.clone(), file("tools/acme/y.sh")]),
        ("another case", vec![head.clone(), file("tools/acme/X.sh")]),
        ("a dot", vec![head.clone(), file("./tools/acme/x.sh")]),
        ("a symlink", vec![head.clone(), linked(EntryType::Symlink, "/etc/passwd")]),
        (
            "a symlink and the file",
            vec![head.clone(), linked(EntryType::Symlink, "/tmp"), file(path)],
        ),
        ("a hard link", vec![head.clone(), linked(EntryType::Link, "/etc/passwd")]),
        ("a device", vec![head.clone(), linked(EntryType::Char, "")]),
        ("a pipe", vec![head.clone(), linked(EntryType::Fifo, "")]),
        ("a folder", vec![head.clone(), linked(EntryType::Directory, ""), file(path)]),
        ("sparse", vec![head.clone(), linked(EntryType::GNUSparse, "")]),
        ("twice", vec![head.clone(), file(path), file(path)]),
        ("one more", vec![head.clone(), file(path), file("tools/acme/z.sh")]),
        ("none", vec![head.clone()]),
        (
            "changed",
            vec![head.clone(), entry(EntryType::Regular, path, "", &[&good[..], b"#"].concat())],
        ),
        ("shorter", vec![head.clone(), entry(EntryType::Regular, path, "", &good[1..])]),
        ("the manifest last", vec![file(path), head.clone()]),
        ("the manifest a link", vec![entry(EntryType::Symlink, "bundle.json", "/etc/passwd", b"")]),
        ("empty", vec![]),
    ];
    for (what, entries) in rows {
        let file = archive(&out.join("hostile"), &entries);
        let said = pair.user.rye(&["bundle", "install", &file, "--json"]);
        assert_eq!(
            (said.code().as_str(), said.status),
            ("bundle.malformed", 4),
            "{what}: {said:?}"
        );
        assert_eq!(pair.lies(), Vec::<String>::new(), "{what}");
    }
    assert!(!Path::new("/tmp/rye-slip.sh").exists());
    // What is no archive, or one that ends too early.
    let bytes = fs::read(&first).unwrap();
    for cut in [0, 1, 10, bytes.len() / 2, bytes.len() - 20] {
        fs::write(out.join("cut"), &bytes[..cut]).unwrap();
        pair.refused(&out.join("cut").display().to_string(), "bundle.malformed");
    }
    // Each byte of it may be another; whatever is read is never another content.
    for at in (0..bytes.len()).step_by(19) {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        fs::write(out.join("flipped"), &other).unwrap();
        let said = pair.user.rye(&[
            "bundle",
            "verify",
            &out.join("flipped").display().to_string(),
            "--json",
        ]);
        let known = ["", "bundle.malformed", "bundle.untrusted", "bundle.forged"];
        assert!(known.contains(&said.code().as_str()), "byte {at}: {said:?}");
        if said.status == 0 {
            let files = said.json()["bundle"]["files"].clone();
            assert_eq!(files, json!([{"path": path, "sha256": sha256(&good)}]), "byte {at}");
        }
    }
}

/// The most memory that a call takes which finds no archive.
fn usual(pair: &Pair) -> u64 {
    let none = pair.user.outside().join("none").display().to_string();
    measured(&pair.user, &["bundle", "verify", &none]).1
}

/// The archive is refused at once: in few words, and in memory that its own few bytes allow.
#[track_caller]
fn refused_at_once(pair: &Pair, usual: u64, what: &str, file: &str) {
    let size = usize::try_from(fs::metadata(file).unwrap().len()).unwrap();
    for verb in ["verify", "install"] {
        let (said, peak) = measured(&pair.user, &["bundle", verb, file]);
        let length = said.stdout.len() + said.stderr.len();
        assert!(length < 4096, "{what}: {length} bytes are said");
        assert_eq!(
            (said.code().as_str(), said.status),
            ("bundle.malformed", 4),
            "{what}: {said:?}"
        );
        is_bounded(what, peak, usual, size);
    }
    assert_eq!(pair.lies(), Vec::<String>::new(), "{what}");
}

/// Each kind at the beginning here, and the first behind it; the whole is each in both places.
#[test]
fn l05_an_entry_that_only_describes_another_is_refused_at_once() {
    let pair = Pair::new();
    let key = pair.publisher.own_key();
    let out = pair.user.outside();
    let good = tool(&key, "acme/x");
    let head = manifest(&key, &[("tools/acme/x.sh", &good)]);
    let head = entry(EntryType::Regular, "bundle.json", "", &head);
    let file = entry(EntryType::Regular, "tools/acme/x.sh", "", &good);
    let first = archive(&out.join("good"), &[head.clone(), file.clone()]);
    let (status, said) = pair.user.json(&["bundle", "verify", &first]);
    assert_eq!(status, 0, "the fixture itself is good: {said}");
    let usual = usual(&pair);
    for (what, kind, byte) in [
        ("a long name of signs that are escaped", EntryType::GNULongName, 0x1b),
        ("a long name", EntryType::GNULongName, b'a'),
        ("a long link", EntryType::GNULongLink, b'a'),
        ("a header of the next entry", EntryType::XHeader, b'a'),
        ("a header of all entries", EntryType::XGlobalHeader, b'1'),
    ] {
        let long = entry(kind, "././@LongLink", "", &vec![byte; 40 << 20]);
        let bomb = archive(&out.join("first"), &[long.clone(), head.clone(), file.clone()]);
        refused_at_once(&pair, usual, what, &bomb);
        if byte == 0x1b || whole() {
            let bomb = archive(&out.join("second"), &[head.clone(), long, file.clone()]);
            refused_at_once(&pair, usual, what, &bomb);
        }
    }
    // Short ones are no part of a bundle either.
    for kind in [EntryType::GNULongName, EntryType::XHeader, EntryType::XGlobalHeader] {
        let short = entry(kind, "././@LongLink", "", b"12 path=x\n");
        let all = [head.clone(), short, file.clone()];
        pair.refused(&archive(&out.join("short"), &all), "bundle.malformed");
    }
}

#[test]
fn l05_a_manifest_of_nothing_but_values_is_refused_before_they_are_made() {
    let pair = Pair::new();
    let usual = usual(&pair);
    for text in ["0,", "[],", "{},", "\"\","] {
        let many = text.repeat((4 << 20) / text.len() - 8);
        let dense = format!("[{many}0]");
        let head = entry(EntryType::Regular, "bundle.json", "", dense.as_bytes());
        let file = archive(&pair.user.outside().join("dense"), &[head]);
        refused_at_once(&pair, usual, text, &file);
    }
}

#[test]
fn h07_nothing_stands_behind_what_a_bundle_lists() {
    let pair = Pair::new();
    let usual = usual(&pair);
    let key = pair.publisher.own_key();
    let out = pair.user.outside();
    let good = tool(&key, "acme/x");
    let head = manifest(&key, &[("tools/acme/x.sh", &good)]);
    let head = entry(EntryType::Regular, "bundle.json", "", &head);
    let file = entry(EntryType::Regular, "tools/acme/x.sh", "", &good);
    let packed = |inside: &[u8]| compress_to_vec(inside, CompressionLevel::Fastest);
    let tar = [&head[..], &file, &[0; 1024]].concat();
    let whole = packed(&tar);
    let write = |name: &str, parts: &[&[u8]]| {
        fs::write(out.join(name), parts.concat()).unwrap();
        out.join(name).display().to_string()
    };
    // Other programs fill the last block with zeros.
    for good in
        [write("good", &[&whole]), write("full", &[&packed(&[&tar[..], &[0; 8192]].concat())])]
    {
        let (status, said) = pair.user.json(&["bundle", "verify", &good]);
        assert_eq!(status, 0, "the fixture itself is good: {said}");
    }
    let noise: Vec<u8> =
        (0..100_000_u32).map(|at| ((at * 7_919) >> 3).to_le_bytes()[0] | 1).collect();
    let rows: [(&str, Vec<&[u8]>); 5] = [
        ("a byte", vec![&whole, b"x"]),
        ("a zero", vec![&whole, b"\0"]),
        ("noise", vec![&whole, &noise]),
        ("another frame", vec![&whole, &whole]),
        ("a frame of nothing", vec![&whole, &[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]]),
    ];
    for (what, parts) in rows {
        refused_at_once(&pair, usual, what, &write("more", &parts));
    }
    for (what, rest) in [("noise", &noise[..]), ("an entry", &file), ("a late byte", &[0, 1])] {
        let more = packed(&[&tar[..], rest].concat());
        refused_at_once(&pair, usual, what, &write("inside", &[&more]));
    }
}

#[test]
fn of_one_version_the_bundle_that_was_packed_earlier_does_not_take_the_place() {
    let pair = Pair::new();
    let key = pair.publisher.own_key();
    let bytes = tool(&key, "acme/x");
    let row = json!({"annotations": {"is_program": false, "size": bytes.len()},
                     "digest": {"sha256": sha256(&bytes)}, "name": "tools/acme/x.sh"});
    let packed = |name: &str, at: &str| {
        let signed = sealed_at(&key, std::slice::from_ref(&row), at);
        let head = entry(EntryType::Regular, "bundle.json", "", &signed);
        let file = entry(EntryType::Regular, "tools/acme/x.sh", "", &bytes);
        archive(&pair.user.outside().join(name), &[head, file])
    };
    let earlier = packed("earlier", "2026-11-20T00:00:00Z");
    let later = packed("later", "2026-11-21T00:00:00Z");
    for (file, status) in [(&earlier, 0), (&later, 0), (&later, 0), (&earlier, 4)] {
        let said = pair.user.rye(&["bundle", "install", file, "--json"]);
        assert_eq!(said.status, status, "{said:?}");
        assert!(status == 0 || said.code() == "bundle.installed", "{said:?}");
    }
    let said = pair.user.rye(&["bundle", "verify", "acme-words", "--json"]).json();
    assert_eq!(said["bundle"]["packed_at"], "2026-11-21T00:00:00Z", "{said}");
}

#[test]
fn h07_a_manifest_with_traversal_or_a_case_collision_or_what_is_yours_to_say_is_refused() {
    let pair = Pair::new();
    let key = pair.publisher.own_key();
    let out = pair.user.outside();
    let good = tool(&key, "acme/x");
    let rows: [(&str, &[&str]); 8] = [
        ("bundle.content", &["tools/../../../x.sh"]),
        ("bundle.content", &["/tmp/x.sh"]),
        ("bundle.content", &["tools/acme/X.sh", "tools/acme/x.sh"]),
        ("bundle.content", &["tools/acme/x.sh", "tools/rye/bash.sh"]),
        ("bundle.content", &["config/keys/trusted/x.toml", "tools/acme/x.sh"]),
        ("bundle.content", &["tools/acme/x.sh", "tools/hooks/x.sh"]),
        ("bundle.malformed", &["tools/acme/x.sh", "tools/acme/a.sh"]),
        ("bundle.malformed", &["tools/acme/x.sh", "tools/acme/x.sh"]),
    ];
    for (code, paths) in rows {
        let files: Vec<_> = paths.iter().map(|path| (*path, good.as_slice())).collect();
        let head = entry(EntryType::Regular, "bundle.json", "", &manifest(&key, &files));
        let rest = paths.iter().map(|path| entry(EntryType::Regular, path, "", &good));
        let all: Vec<_> = [head].into_iter().chain(rest).collect();
        let said = pair.refused(&archive(&out.join("hostile"), &all), code);
        assert_eq!(said["code"], code, "{paths:?}");
    }
    // Sizes that nobody has, and a bomb: a manifest of zeros that never ends.
    let row = |size: u64| {
        json!({"annotations": {"is_program": false, "size": size},
               "digest": {"sha256": sha256(&good)}, "name": "tools/acme/x.sh"})
    };
    for size in [5 << 20, u64::from(u32::MAX) << 8] {
        let head = entry(EntryType::Regular, "bundle.json", "", &sealed(&key, &[row(size)]));
        pair.refused(&archive(&out.join("hostile"), &[head]), "bundle.malformed");
    }
    let bomb = entry(EntryType::Regular, "bundle.json", "", &vec![0; 40 << 20]);
    let file = archive(&out.join("bomb"), &[bomb]);
    assert!(fs::metadata(&file).unwrap().len() < 1 << 20);
    pair.refused(&file, "bundle.malformed");
    // A signature by somebody else under the publisher's name.
    let other = SigningKey::from_bytes(&[9; 32]);
    let files = [("tools/acme/x.sh", good.as_slice())];
    let text = String::from_utf8(manifest(&other, &files)).unwrap();
    let text = text.replace(&fingerprint(&other), &fingerprint(&key));
    let head = entry(EntryType::Regular, "bundle.json", "", text.as_bytes());
    let all = [head, entry(EntryType::Regular, "tools/acme/x.sh", "", &good)];
    pair.refused(&archive(&out.join("forged"), &all), "bundle.forged");
}

#[test]
fn an_item_of_a_bundle_is_held_to_the_rules_of_every_item() {
    let pair = Pair::new();
    let key = pair.publisher.own_key();
    let out = pair.user.outside();
    let other = SigningKey::from_bytes(&[9; 32]);
    let good = tool(&key, "acme/x");
    let rows = [
        ("moved", tool(&key, "acme/y"), "verify.moved"),
        ("another signer", tool(&other, "acme/x"), "verify.untrusted"),
        ("unsigned", b"echo 1\n".to_vec(), "verify.unsigned"),
        ("altered", [&good[..], b"echo 2\n"].concat(), "verify.altered"),
        (
            "e07",
            String::from_utf8(good.clone()).unwrap().replace("echo", "echo \u{202e}").into_bytes(),
            "parse.invisible_text",
        ),
    ];
    for (what, text, code) in rows {
        let head = manifest(&key, &[("tools/acme/x.sh", &text)]);
        let head = entry(EntryType::Regular, "bundle.json", "", &head);
        let all = [head, entry(EntryType::Regular, "tools/acme/x.sh", "", &text)];
        let said = pair.refused(&archive(&out.join("bad"), &all), "bundle.refused");
        assert_eq!(said["data"]["findings"][0]["code"], code, "{what}: {said}");
    }
    // A bundle of data alone is none.
    let head = manifest(&key, &[("tools/acme/data.bin", b"x")]);
    let head = entry(EntryType::Regular, "bundle.json", "", &head);
    let all = [head, entry(EntryType::Regular, "tools/acme/data.bin", "", b"x")];
    pair.refused(&archive(&out.join("data"), &all), "bundle.malformed");
}
