//! `rye bundle`: items of one publisher in one file, checked before anything is installed, admitted like
//! any other item, and taken out by their receipt.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use tar::{EntryType, Header};

use crate::world::{World, fingerprint, line, sha256};

const COUNT_PY: &str = r#"# /// rye
# version = "1.0.0"
# executor_id = "rye/core/runtimes/python/script"
# description = "Counts words"
# files = ["lib/*.py"]
# ///
import json
import sys

from lib import words

print(words.count(json.load(sys.stdin)["text"]))
"#;

/// A publisher with a tool of two files, and somebody who trusts them for `tool:acme/**`.
struct Pair {
    publisher: World,
    user: World,
}

impl Pair {
    fn new() -> Self {
        let publisher = World::new();
        let lib = "def count(text):\n    return len(text.split())\n";
        publisher.write(".ai/tools/acme/words/lib/words.py", lib);
        publisher.signed(".ai/tools/acme/words/count.py", COUNT_PY);
        let pair = Self { publisher, user: World::new() };
        pair.trusts(&["tool:acme/**"]);
        pair
    }

    fn trusts(&self, items: &[&str]) {
        let key = self.publisher.rye(&["keys", "export"]).stdout;
        let path = self.user.outside().join("acme.pem");
        fs::write(&path, key).unwrap();
        let name = fingerprint(&self.publisher.own_key());
        drop(self.user.rye(&["trust", "remove", &name]));
        let items: Vec<_> = items.iter().flat_map(|item| ["--items", item]).collect();
        let args = ["trust", "add", "../acme.pem", "--owner", "acme"];
        let said = self.user.rye(&[&args[..], &items].concat());
        assert_eq!(said.status, 0, "{said:?}");
    }

    /// Packs what the publisher has and gives the file.
    #[track_caller]
    fn packed(&self, version: &str) -> String {
        let file = self.user.outside().join(format!("{version}.tar.zst")).display().to_string();
        let args = ["bundle", "pack", "acme-words", "tool:acme/**", "--version", version];
        let said = self.publisher.rye(&[&args[..], &["--output", &file]].concat());
        assert_eq!(said.status, 0, "{said:?}");
        file
    }

    #[track_caller]
    fn installed(&self, version: &str) -> String {
        let file = self.packed(version);
        let said = self.user.rye(&["bundle", "install", &file]);
        assert_eq!(said.status, 0, "{said:?}");
        file
    }

    fn bundles(&self) -> PathBuf {
        self.user.home().join(".ai/bundles")
    }

    /// Everything in the folder of bundles but its lock.
    fn lies(&self) -> Vec<String> {
        let found = fs::read_dir(self.bundles()).into_iter().flatten().flatten();
        let names = found.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| name != ".lock").collect();
        names.sort();
        names
    }

    fn counts(&self) -> (i32, String) {
        let args = ["execute", "acme/words/count", "-i", "text=one two", "--json"];
        let said = self.user.rye(&args);
        (said.status, said.code())
    }

    /// The file is refused with the code, and nothing was installed.
    #[track_caller]
    fn refused(&self, file: &str, code: &str) -> Value {
        for verb in ["verify", "install"] {
            let said = self.user.rye(&["bundle", verb, file, "--json"]);
            assert_eq!((said.code().as_str(), said.status), (code, 4), "{verb}: {said:?}");
        }
        assert_eq!(self.lies(), Vec::<String>::new());
        self.user.rye(&["bundle", "verify", file, "--json"]).json()
    }
}

/// The entries of a bundle's file.
fn entries(file: &str) -> Vec<(String, Vec<u8>)> {
    let decoded = StreamingDecoder::new(fs::File::open(file).unwrap()).unwrap();
    let mut archive = tar::Archive::new(decoded);
    let read = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().display().to_string(), bytes)
    });
    read.collect()
}

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
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicate": {"description": "", "name": "acme-words", "packed_at": "2026-11-21T00:00:00Z",
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
fn a_bundle_is_packed_verified_installed_run_and_removed() {
    let pair = Pair::new();
    assert_eq!(pair.counts(), (3, "resolve.not_found".into()));
    let file = pair.packed("1.0.0");
    // The same files give the same entries, the manifest first.
    let names: Vec<_> = entries(&file).into_iter().map(|(name, _)| name).collect();
    let want = ["bundle.json", "tools/acme/words/count.py", "tools/acme/words/lib/words.py"];
    assert_eq!(names, want);
    let (status, said) = pair.user.json(&["bundle", "verify", &file]);
    assert_eq!(
        (status, &said["bundle"]["items"]),
        (0, &json!(["tool:acme/words/count"])),
        "{said}"
    );
    assert_eq!(pair.lies(), Vec::<String>::new(), "nothing is installed by looking");
    let said = pair.user.rye(&["bundle", "install", &file]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{said:?}");
    assert_eq!(pair.counts(), (0, String::new()));
    for query in ["acme/words/count@system", "tool:acme/words/count@system:acme-words"] {
        let said = pair.user.rye(&["execute", query, "-i", "text=one two three"]);
        assert_eq!((said.status, said.stdout.trim()), (0, "3"), "{query}: {said:?}");
    }
    let said = pair.user.rye(&["execute", "acme/words/count@system:other", "-i", "text=x"]);
    assert_eq!(said.code(), "resolve.not_found", "{said:?}");
    let said = pair.user.rye(&["why", "acme/words/count"]);
    assert!(
        said.stdout.contains("system:acme-words .ai/tools/acme/words/count.py  answers"),
        "{said:?}"
    );
    let (_, said) = pair.user.json(&["bundle", "list"]);
    let row = &said["bundles"][0];
    assert_eq!((&row["name"], &row["version"]), (&json!("acme-words"), &json!("1.0.0")), "{said}");
    assert_eq!((&row["changed"], &row["owner"]), (&json!([]), &json!("acme")), "{said}");
    assert_eq!(pair.user.rye(&["bundle", "verify", "acme-words"]).status, 0);
    // It cannot be signed where it lies, and a project's own tool is nearer.
    let said = pair.user.rye(&["sign", "acme/words/count", "--json"]);
    assert_eq!(said.status, 4, "{said:?}");
    assert!(said.stdout.contains("sign.bundled"), "{said:?}");
    let said = pair.user.rye(&["bundle", "remove", "acme-words"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{said:?}");
    assert_eq!((pair.counts().1.as_str(), pair.lies().len()), ("resolve.not_found", 0));
    for verb in ["remove", "verify"] {
        let said = pair.user.rye(&["bundle", verb, "acme-words"]);
        assert_eq!((said.code().as_str(), said.status), ("bundle.not_found", 3), "{said:?}");
    }
}

#[test]
fn what_is_changed_after_it_was_installed_is_refused_and_kept_when_it_is_removed() {
    let pair = Pair::new();
    let file = pair.installed("1.0.0");
    let place = pair.bundles().join("acme-words/.ai/tools/acme/words");
    let text = fs::read_to_string(place.join("count.py")).unwrap();
    for (path, code) in [("lib/words.py", "verify.dependency"), ("count.py", "verify.altered")] {
        let path = place.join(path);
        fs::write(&path, fs::read_to_string(&path).unwrap() + "print('evil')\n").unwrap();
        assert_eq!(pair.counts(), (4, code.into()));
    }
    fs::write(place.join("extra.py"), "print('mine')\n").unwrap();
    let said = pair.user.rye(&["bundle", "verify", "acme-words", "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("bundle.changed", 4), "{said:?}");
    assert_eq!(said.json()["data"]["findings"].as_array().unwrap().len(), 3, "{said:?}");
    let (status, said) = pair.user.json(&["bundle", "remove", "acme-words"]);
    let kept: Vec<_> =
        said["kept"].as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
    assert_eq!((status, kept.len()), (0, 3), "{said}");
    assert!(kept.iter().any(|path| fs::read_to_string(path).unwrap().starts_with(&text)));
    assert_eq!(pair.counts().1, "resolve.not_found");
    // Another one takes its place as if it had never been.
    assert_eq!(pair.user.rye(&["bundle", "install", &file]).status, 0);
    assert_eq!(pair.counts(), (0, String::new()));
}

#[test]
fn a_newer_version_takes_the_place_and_an_older_one_or_another_publisher_does_not() {
    let pair = Pair::new();
    let old = pair.installed("1.0.0");
    let text = "def count(text):\n    return 7\n";
    pair.publisher.write(".ai/tools/acme/words/lib/words.py", text);
    assert_eq!(pair.publisher.rye(&["sign", "acme/words/count"]).status, 0);
    pair.installed("1.1.0");
    let said = pair.user.rye(&["execute", "acme/words/count", "-i", "text=x"]);
    assert_eq!(said.stdout.trim(), "7", "{said:?}");
    assert_eq!(pair.lies(), ["acme-words"], "nothing is left of the old one");
    let said = pair.user.rye(&["bundle", "install", &old]);
    assert_eq!((said.code().as_str(), said.status), ("bundle.installed", 4), "{said:?}");
    // Somebody else, trusted for the same items.
    let other = Pair::new();
    let file = other.packed("2.0.0");
    let key = fingerprint(&other.publisher.own_key());
    let pem = other.user.outside().join("acme.pem").display().to_string();
    let add = ["trust", "add", &pem, "--owner", "other", "--items", "tool:acme/**"];
    assert_eq!(pair.user.rye(&add).status, 0);
    let said = pair.user.rye(&["bundle", "install", &file]);
    assert_eq!(
        (said.code().as_str(), said.stderr.contains(&key)),
        ("bundle.installed", true),
        "{said:?}"
    );
    let said = pair.user.rye(&["execute", "acme/words/count", "-i", "text=x"]);
    assert_eq!(said.stdout.trim(), "7", "{said:?}");
}

#[test]
fn the_scope_of_the_publisher_s_key_and_its_revocation_hold_for_a_bundle() {
    let pair = Pair::new();
    let file = pair.packed("1.0.0");
    let key = fingerprint(&pair.publisher.own_key());
    pair.trusts(&["tool:acme/other/*", "knowledge:acme/**"]);
    pair.refused(&file, "bundle.untrusted");
    assert_eq!(pair.user.rye(&["trust", "remove", &key]).status, 0);
    pair.refused(&file, "bundle.untrusted");
    pair.trusts(&["tool:acme/**"]);
    assert_eq!(
        pair.user.rye(&["bundle", "install", &file]).status,
        0,
        "the fixture itself is good"
    );
    // What is taken back later holds at once, by the rules of every item.
    pair.trusts(&["tool:acme/other/*"]);
    assert_eq!(pair.counts(), (4, "verify.out_of_scope".into()));
    pair.trusts(&["tool:acme/**"]);
    assert_eq!(pair.counts(), (0, String::new()));
    assert_eq!(pair.user.rye(&["trust", "revoke", &key, "--yes"]).status, 0);
    assert_eq!(pair.counts(), (4, "verify.revoked".into()));
    let said = pair.user.rye(&["bundle", "verify", "acme-words"]);
    assert_eq!(said.code(), "bundle.untrusted", "{said:?}");
    assert_eq!(pair.user.rye(&["bundle", "remove", "acme-words"]).status, 0);
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

#[test]
fn two_bundles_with_one_id_are_refused_and_neither_answers_if_they_lie_there() {
    let pair = Pair::new();
    let file = pair.installed("1.0.0");
    let twin = pair.user.outside().join("twin.tar.zst").display().to_string();
    let args = ["bundle", "pack", "twin", "tool:acme/**", "--version", "1.0.0", "-o", &twin];
    assert_eq!(pair.publisher.rye(&args).status, 0);
    let said = pair.user.rye(&["bundle", "install", &twin, "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("bundle.clash", 4), "{said:?}");
    assert_eq!(said.json()["place"]["space"], "system:acme-words", "{said:?}");
    assert_eq!(pair.lies(), ["acme-words"]);
    // By hand, past every check.
    let copy = format!("cp -r {0}/acme-words {0}/twin", pair.bundles().display());
    pair.user.shell(&copy);
    assert_eq!(pair.counts(), (3, "resolve.ambiguous_file".into()));
    // And what is reserved is not even looked for there.
    let place = pair.bundles().join("acme-words/.ai/tools/rye");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("bash.py"), "print('evil')\n").unwrap();
    let said = pair.user.rye(&["execute", "rye/bash", "-i", "command=echo hi"]);
    assert_eq!((said.status, said.stdout.trim()), (0, "hi"), "{said:?}");
    drop(file);
}

#[test]
fn a_hook_that_lies_in_a_bundle_is_never_asked() {
    let pair = Pair::new();
    pair.installed("1.0.0");
    pair.trusts(&["tool:**"]);
    let deny = "version: 1.0.0\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                description: Denies\nhook: tool\nphases: [before_execution]\nmode: filter\n\
                exec: {command: sh, args: [-c, 'echo \"{\\\"allow\\\": false}\"']}\n";
    pair.publisher.signed(".ai/tools/hooks/deny.yaml", deny);
    let place = pair.bundles().join("acme-words/.ai/tools/hooks");
    fs::create_dir_all(&place).unwrap();
    fs::copy(pair.publisher.project().join(".ai/tools/hooks/deny.yaml"), place.join("deny.yaml"))
        .unwrap();
    assert_eq!(pair.counts(), (0, String::new()));
    // The same hook where a person put it.
    pair.user.signed_home(".ai/tools/hooks/deny.yaml", deny);
    assert_eq!(pair.counts(), (4, "hook.denied".into()));
    let args = ["bundle", "pack", "hooks", "tool:hooks/**", "--version", "1.0.0"];
    let said = pair.publisher.rye(&args);
    assert_eq!((said.code().as_str(), said.status), ("bundle.content", 4), "{said:?}");
}

#[test]
fn only_what_runs_here_is_packed_and_nothing_is_written_over() {
    let pair = Pair::new();
    let pack = |more: &[&str]| {
        let args = ["bundle", "pack", "acme-words", "tool:acme/**", "--version", "1.0.0"];
        let said = pair.publisher.rye(&[&args[..], more].concat());
        (said.code(), said.status)
    };
    assert_eq!(pack(&[]), (String::new(), 0));
    assert_eq!(pack(&[]), ("bundle.exists".into(), 4));
    pair.publisher.write(".ai/tools/acme/words/lib/words.py", "def count(text):\n    return 8\n");
    assert_eq!(pack(&["-o", "other.tar.zst"]), ("verify.dependency".into(), 4));
    assert!(!pair.publisher.project().join("other.tar.zst").exists());
    assert_eq!(pack(&["-o", "none/other.tar.zst"]).0, "verify.dependency");
    assert_eq!(pair.publisher.rye(&["sign", "acme/words/count"]).status, 0);
    assert_eq!(pack(&["-o", "none/other.tar.zst"]), ("bundle.io".into(), 6));
    let said = pair.user.rye(&["bundle", "install", "none.tar.zst"]);
    assert_eq!((said.code().as_str(), said.status), ("bundle.io", 6), "{said:?}");
}

#[test]
fn a_kill_in_the_middle_leaves_the_old_bundle_or_the_new_one() {
    let pair = Pair::new();
    let old = pair.installed("1.0.0");
    pair.publisher.write(".ai/tools/acme/words/lib/words.py", "def count(text):\n    return 7\n");
    assert_eq!(pair.publisher.rye(&["sign", "acme/words/count"]).status, 0);
    let new = pair.packed("1.1.0");
    let mut seen = [0, 0];
    for after in 0..16 {
        let mut child = pair.user.command(&["bundle", "install", &new]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3 * after));
        drop(child.kill());
        child.wait().unwrap();
        let said = pair.user.rye(&["execute", "acme/words/count", "-i", "text=one two"]);
        assert!(["2", "7"].contains(&said.stdout.trim()), "after {after}: {said:?}");
        seen[usize::from(said.stdout.trim() == "7")] += 1;
        let said = pair.user.rye(&["bundle", "verify", "acme-words"]);
        assert_eq!(said.status, 0, "after {after}: {said:?}");
        // The next change tidies up.
        assert_eq!(pair.user.rye(&["bundle", "remove", "acme-words"]).status, 0);
        assert_eq!(pair.user.rye(&["bundle", "install", &old]).status, 0);
        assert_eq!(pair.lies(), ["acme-words"], "after {after}");
    }
    assert!(seen[0] > 0, "{seen:?}");
}

#[test]
fn what_is_no_bundle_s_folder_joins_no_space_and_is_told() {
    let pair = Pair::new();
    pair.installed("1.0.0");
    let bundles = pair.bundles();
    let real = pair.user.outside().join("elsewhere");
    fs::rename(bundles.join("acme-words"), &real).unwrap();
    symlink(&real, bundles.join("acme-words")).unwrap();
    assert_eq!(pair.counts(), (3, "resolve.not_found".into()));
    fs::remove_file(bundles.join("acme-words")).unwrap();
    fs::rename(&real, bundles.join("acme-words")).unwrap();
    assert_eq!(pair.counts(), (0, String::new()));
    fs::remove_file(bundles.join("acme-words/receipt.json")).unwrap();
    let (_, said) = pair.user.json(&["bundle", "list"]);
    assert!(said["bundles"][0]["unusable"].as_str().unwrap().contains("no receipt"), "{said}");
    let said = pair.user.rye(&["bundle", "remove", "acme-words"]);
    assert_eq!((said.code().as_str(), said.status), ("bundle.changed", 4), "{said:?}");
    // A receipt that leads elsewhere removes nothing.
    let mine = pair.user.home().join(".ai/mine.txt");
    fs::write(&mine, "mine").unwrap();
    let text = format!(
        "{{\"files\":{{\"../../mine.txt\":\"{}\"}},\"format\":1,\"installed_at\":\"x\"}}",
        sha256(b"mine")
    );
    fs::write(bundles.join("acme-words/receipt.json"), text).unwrap();
    let said = pair.user.rye(&["bundle", "remove", "acme-words"]);
    assert_eq!((said.code().as_str(), mine.exists()), ("bundle.changed", true), "{said:?}");
    // A folder that became a link keeps what it leads to.
    fs::remove_dir_all(bundles.join("acme-words")).unwrap();
    pair.installed("1.0.1");
    let words = bundles.join("acme-words/.ai/tools/acme/words");
    let moved = pair.user.outside().join("words");
    fs::rename(&words, &moved).unwrap();
    symlink(&moved, &words).unwrap();
    assert_eq!(pair.user.rye(&["bundle", "remove", "acme-words"]).status, 0);
    assert!(moved.join("count.py").exists() && moved.join("lib/words.py").exists());
    assert_eq!(fs::metadata(&bundles).unwrap().permissions().mode() & 0o777, 0o700);
}
