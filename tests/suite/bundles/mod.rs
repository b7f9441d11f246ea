//! `rye bundle`: items of one publisher in one file, checked before anything is installed, admitted
//! like any other item, and taken out by their receipt.

mod hostile;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use ruzstd::decoding::StreamingDecoder;
use serde_json::{Value, json};

use crate::dev::{Dev, at_terminal};
use crate::world::{World, fingerprint, sha256, whole};

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
        self.user.rye(&[&args[..], &items].concat()).ok();
    }

    /// Packs what the publisher has and gives the file.
    #[track_caller]
    fn packed(&self, version: &str) -> String {
        let file = self.user.outside().join(format!("{version}.tar.zst")).display().to_string();
        let args = ["bundle", "pack", "acme-words", "tool:acme/**", "--version", version];
        self.publisher.rye(&[&args[..], &["--output", &file]].concat()).ok();
        file
    }

    #[track_caller]
    fn installed(&self, version: &str) -> String {
        let file = self.packed(version);
        self.user.rye(&["bundle", "install", &file]).ok();
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
            self.user.rye(&["bundle", verb, file, "--json"]).fails(4, code);
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

#[test]
fn a_path_that_fits_into_no_header_of_an_archive_is_packed_and_installed() {
    let pair = Pair::new();
    let long = format!("lib/{}/{}/{}.py", "a".repeat(120), "b".repeat(120), "c".repeat(120));
    pair.publisher.write(&format!(".ai/tools/acme/words/{long}"), "X = 1\n");
    let text = COUNT_PY.replace("lib/*.py", "lib/**");
    pair.publisher.signed(".ai/tools/acme/words/count.py", &text);
    pair.installed("1.0.0");
    assert_eq!(pair.counts(), (0, String::new()));
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
    pair.user
        .rye(&["execute", "acme/words/count@system:other", "-i", "text=x"])
        .fails_with("resolve.not_found");
    pair.user
        .rye(&["why", "acme/words/count"])
        .shows("system:acme-words .ai/tools/acme/words/count.py  answers");
    let said = pair.user.rye(&["list"]);
    let listed = "\n\nsystem:acme-words\n  tool:acme/words/count\n";
    assert!(said.stdout.ends_with(listed), "{said:?}");
    let (_, said) = pair.user.json(&["list", "--long", "acme"]);
    let row = &said["items"][0];
    assert_eq!((&row["space"], &row["bundle"]), (&json!("system"), &json!("acme-words")), "{said}");
    assert_eq!(row["description"], "Counts words", "{said}");
    let (_, said) = pair.user.json(&["bundle", "list"]);
    let row = &said["bundles"][0];
    assert_eq!((&row["name"], &row["version"]), (&json!("acme-words"), &json!("1.0.0")), "{said}");
    assert_eq!((&row["changed"], &row["owner"]), (&json!([]), &json!("acme")), "{said}");
    pair.user.rye(&["bundle", "verify", "acme-words"]).ok();
    // It cannot be signed where it lies, and a project's own tool is nearer.
    let said = pair.user.rye(&["sign", "acme/words/count", "--json"]);
    assert_eq!(said.status, 4, "{said:?}");
    assert!(said.stdout.contains("sign.bundled"), "{said:?}");
    let said = pair.user.rye(&["bundle", "remove", "acme-words"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{said:?}");
    assert_eq!((pair.counts().1.as_str(), pair.lies().len()), ("resolve.not_found", 0));
    for verb in ["remove", "verify"] {
        pair.user.rye(&["bundle", verb, "acme-words"]).fails(3, "bundle.not_found");
    }
}

#[test]
fn a_search_finds_the_tool_of_a_bundle_and_not_its_files() {
    let pair = Pair::new();
    let refs = |world: &World| -> Vec<String> {
        let page = world.json(&["search", "words", "--kind", "tool"]).1;
        let hits = page["hits"].as_array().unwrap().iter();
        let hits = hits.map(|hit| hit["item_id"].as_str().unwrap().to_owned());
        // Tools of rye's own may have the word as well.
        hits.filter(|item| !item.starts_with("tool:rye/")).collect()
    };
    assert_eq!(refs(&pair.publisher), ["tool:acme/words/count"], "the fixture is good");
    pair.installed("1.0.0");
    assert_eq!(refs(&pair.user), ["tool:acme/words/count"]);
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
    let said =
        pair.user.rye(&["bundle", "verify", "acme-words", "--json"]).fails(4, "bundle.changed");
    assert_eq!(said.json()["data"]["findings"].as_array().unwrap().len(), 3, "{said:?}");
    let (status, said) = pair.user.json(&["bundle", "remove", "acme-words"]);
    let kept: Vec<_> =
        said["kept"].as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
    assert_eq!((status, kept.len()), (0, 3), "{said}");
    assert!(kept.iter().any(|path| fs::read_to_string(path).unwrap().starts_with(&text)));
    assert_eq!(pair.counts().1, "resolve.not_found");
    // Another one takes its place as if it had never been.
    pair.user.rye(&["bundle", "install", &file]).ok();
    assert_eq!(pair.counts(), (0, String::new()));
}

#[test]
fn a_newer_version_takes_the_place_and_an_older_one_or_another_publisher_does_not() {
    let pair = Pair::new();
    let old = pair.installed("1.0.0");
    let text = "def count(text):\n    return 7\n";
    pair.publisher.write(".ai/tools/acme/words/lib/words.py", text);
    pair.publisher.rye(&["sign", "acme/words/count"]).ok();
    pair.installed("1.1.0");
    let said = pair.user.rye(&["execute", "acme/words/count", "-i", "text=x"]);
    assert_eq!(said.stdout.trim(), "7", "{said:?}");
    assert_eq!(pair.lies(), ["acme-words"], "nothing is left of the old one");
    pair.user.rye(&["bundle", "install", &old]).fails(4, "bundle.installed");
    // Somebody else, trusted for the same items.
    let other = Pair::new();
    let file = other.packed("2.0.0");
    let key = fingerprint(&other.publisher.own_key());
    let pem = other.user.outside().join("acme.pem").display().to_string();
    let add = ["trust", "add", &pem, "--owner", "other", "--items", "tool:acme/**"];
    pair.user.rye(&add).ok();
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
    pair.user.rye(&["trust", "remove", &key]).ok();
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
    pair.user.rye(&["trust", "revoke", &key, "--yes"]).ok();
    assert_eq!(pair.counts(), (4, "verify.revoked".into()));
    pair.user.rye(&["bundle", "verify", "acme-words"]).fails_with("bundle.untrusted");
    pair.user.rye(&["bundle", "remove", "acme-words"]).ok();
}

#[test]
fn two_bundles_with_one_id_are_refused_and_neither_answers_if_they_lie_there() {
    let pair = Pair::new();
    let file = pair.installed("1.0.0");
    let twin = pair.user.outside().join("twin.tar.zst").display().to_string();
    let args = ["bundle", "pack", "twin", "tool:acme/**", "--version", "1.0.0", "-o", &twin];
    pair.publisher.rye(&args).ok();
    let said = pair.user.rye(&["bundle", "install", &twin, "--json"]).fails(4, "bundle.clash");
    assert_eq!(said.json()["place"]["space"], "system:acme-words", "{said:?}");
    assert_eq!(pair.lies(), ["acme-words"]);
    // By hand, past every check.
    let copy = format!("cp -r {0}/acme-words {0}/twin", pair.bundles().display());
    pair.user.shell(&copy);
    assert_eq!(pair.counts(), (3, "resolve.ambiguous_file".into()));
    let said = pair.user.rye(&["execute", "acme/words/count", "-i", "text=x"]);
    let both = ["`system:acme-words .ai/", "`system:twin .ai/"];
    assert!(both.iter().all(|path| said.stderr.contains(path)), "{said:?}");
    // And what is reserved is not even looked for there.
    let place = pair.bundles().join("acme-words/.ai/tools/rye");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("bash.py"), "print('evil')\n").unwrap();
    let said = pair.user.rye(&["execute", "rye/bash", "-i", "command=echo hi"]);
    assert_eq!((said.status, said.stdout.trim()), (0, "hi"), "{said:?}");
    drop(file);
}

#[test]
fn of_two_bundles_with_one_id_that_are_installed_at_once_one_is_there_afterwards() {
    let pair = Pair::new();
    let file = pair.packed("1.0.0");
    let twin = pair.user.outside().join("twin.tar.zst").display().to_string();
    let args = ["bundle", "pack", "twin", "tool:acme/**", "--version", "1.0.0", "-o", &twin];
    pair.publisher.rye(&args).ok();
    for round in 0..3 {
        let install = |file: &str| pair.user.rye(&["bundle", "install", file]).code();
        let codes: Vec<String> = std::thread::scope(|scope| {
            let all = [&file, &twin].repeat(3).into_iter();
            let all: Vec<_> = all.map(|file| scope.spawn(move || install(file))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(pair.lies().len(), 1, "round {round}: {codes:?}");
        assert_eq!(codes.iter().filter(|code| *code == "bundle.clash").count(), 3, "{codes:?}");
        assert_eq!(pair.counts(), (0, String::new()));
        pair.user.rye(&["bundle", "remove", &pair.lies()[0]]).ok();
    }
}

#[test]
fn no_other_change_waits_while_a_person_is_asked_about_a_bundle() {
    let pair = Pair::new();
    let file = pair.packed("1.0.0");
    pair.publisher.signed(".ai/tools/acme/other.sh", crate::world::MARKER_SH);
    let other = pair.user.outside().join("other.tar.zst").display().to_string();
    let args = ["bundle", "pack", "acme-other", "acme/other", "--version", "1.0.0", "-o", &other];
    pair.publisher.rye(&args).ok();
    let mut command = at_terminal(&pair.user, &["bundle", "install", &file]);
    command.env("RYE_RUN_ID", "run-of-a-test");
    let mut asked = Dev::of(command);
    while !asked.line().contains("version 1.0.0, signed by ") {}
    // It would wait for ever for a lock that is held until somebody answers.
    for args in [&["bundle", "install", &other][..], &["bundle", "list"]] {
        let said = pair.user.rye_under(&["timeout", "60"], args);
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
    }
    assert_eq!(pair.counts().1, "resolve.not_found");
    asked.press("y\n");
    assert_eq!(asked.end(), 0);
    assert_eq!(pair.lies(), ["acme-other", "acme-words"]);
    assert_eq!(pair.counts(), (0, String::new()));
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
    pair.publisher.rye(&args).fails(4, "bundle.content");
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
    pair.publisher.rye(&["sign", "acme/words/count"]).ok();
    assert_eq!(pack(&["-o", "none/other.tar.zst"]), ("bundle.io".into(), 6));
    pair.user.rye(&["bundle", "install", "none.tar.zst"]).fails(6, "bundle.io");
}

/// 6 kills here; the whole is 16.
#[test]
fn a_kill_in_the_middle_leaves_the_old_bundle_or_the_new_one() {
    let pair = Pair::new();
    let old = pair.installed("1.0.0");
    pair.publisher.write(".ai/tools/acme/words/lib/words.py", "def count(text):\n    return 7\n");
    pair.publisher.rye(&["sign", "acme/words/count"]).ok();
    let new = pair.packed("1.1.0");
    let mut seen = [0, 0];
    for after in (0..16).step_by(if whole() { 1 } else { 3 }) {
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
        pair.user.rye(&["bundle", "remove", "acme-words"]).ok();
        pair.user.rye(&["bundle", "install", &old]).ok();
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
    pair.user.rye(&["bundle", "remove", "acme-words"]).fails(4, "bundle.changed");
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
    pair.user.rye(&["bundle", "remove", "acme-words"]).ok();
    assert!(moved.join("count.py").exists() && moved.join("lib/words.py").exists());
    assert_eq!(fs::metadata(&bundles).unwrap().permissions().mode() & 0o777, 0o700);
}
