//! What comes back: files, and the receipt.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::node::{Pair, trust};
use super::request::document;
use crate::async_runs::id_of;
use crate::world::items::tool_sh;
use crate::world::{End, fingerprint, sha256};

/// The paths of a list, and why each was left out.
fn paths(told: &Value, key: &str) -> Vec<String> {
    let all = told["outputs_written"][key].as_array().unwrap_or_else(|| panic!("{key}: {told}"));
    let path = |one: &Value| one.as_str().or(one["path"].as_str()).unwrap().to_owned();
    all.iter().map(path).collect()
}

#[test]
fn declared_files_come_back_and_nothing_is_written_over_what_changed_here() {
    let pair = Pair::new();
    let go = pair.caller.outside().join("go");
    let remote = "remote = { inputs = [\"data/*\"], outputs = [\"out/**\", \"data/*\"] }";
    let body = format!(
        "mkdir -p out/deep/er; echo new >out/deep/er/new; echo same >out/same; \
         echo there >out/there; echo theirs >out/since; echo no >stray; ln -s /etc/passwd out/link; echo K=1 >out/.env; \
         mkdir out/behind; echo x >out/behind/x; chmod 755 out/same; \
         for f in data/in data/mine; do echo theirs >>$f; done\n\
         i=0; while [ ! -e {} ] && [ $((i+=1)) -lt 3000 ]; do sleep 0.1; done; echo '{{}}'\n",
        go.display()
    );
    pair.caller.signed(".ai/tools/acme/makes.sh", &tool_sh(remote, &body));
    for (path, text) in [
        ("data/in", "in\n"),
        ("data/mine", "mine\n"),
        ("data/kept", "kept\n"),
        ("out/same", "same\n"),
        ("out/there", "other\n"),
    ] {
        pair.caller.write(path, text);
    }
    let elsewhere = pair.caller.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, pair.caller.project().join("out/behind")).unwrap();
    let input = pair.caller.project().join("data/in");
    fs::set_permissions(&input, fs::Permissions::from_mode(0o600)).unwrap();
    let id = id_of(&pair.run("tool:acme/makes", &["--async"]).ok());
    pair.caller.write("data/mine", "mine and more\n");
    pair.caller.write("out/since", "mine\n");
    fs::write(go, "").unwrap();
    let told = pair.caller.json(&["thread", "wait", &id]).ok();
    assert_eq!(paths(&told, "written"), ["data/in", "out/deep/er/new", "out/there"], "{told}");
    assert_eq!(paths(&told, "unchanged"), ["out/same"], "{told}");
    let mut left = paths(&told, "left_out");
    left.sort_unstable();
    let want = ["data/mine", "out/.env", "out/behind/x", "out/link", "out/since", "stray"];
    assert_eq!(left, want, "{told}");
    for why in told["outputs_written"]["left_out"].as_array().unwrap() {
        assert!(why["why"].as_str().is_some_and(|why| why.len() > 10), "{why}");
    }
    let read = |path: &str| String::from_utf8(pair.caller.read(path)).unwrap();
    for (path, text) in [
        ("data/in", "in\ntheirs\n"),
        ("data/mine", "mine and more\n"),
        ("data/kept", "kept\n"),
        ("out/there", "there\n"),
        ("out/since", "mine\n"),
        ("out/deep/er/new", "new\n"),
    ] {
        assert_eq!(read(path), text, "{path}");
    }
    let mode = |path: &str| {
        fs::metadata(pair.caller.project().join(path)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("data/in"), mode("out/deep/er/new")), (0o600, 0o644));
    for path in ["stray", "out/link", "out/.env", "out/behind/x"] {
        assert!(!pair.caller.project().join(path).exists(), "{path}");
    }
    // Asked once more it says the same, and writes nothing.
    let again = pair.caller.json(&["thread", "wait", &id]).ok();
    assert_eq!(again["outputs_written"], told["outputs_written"]);
}

#[test]
fn several_who_ask_at_once_get_the_same_outputs() {
    let pair = Pair::new();
    let remote = "remote = { outputs = [\"out/*\"] }";
    let body = "mkdir out; for i in $(seq 200); do echo $i >out/$i; done; echo '{}'\n";
    pair.caller.signed(".ai/tools/acme/makes.sh", &tool_sh(remote, body));
    let id = id_of(&pair.run("tool:acme/makes", &["--async"]).ok());
    pair.operator.json(&["thread", "wait", &id]).ok();
    let waits = || pair.caller.start(&["thread", "wait", &id, "--json"]);
    let asking: Vec<_> = (0..3).map(|_| waits()).collect();
    for child in asking {
        let output = child.wait_with_output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(paths(&told, "left_out"), [""; 0], "{told}");
        let came = paths(&told, "written").len() + paths(&told, "unchanged").len();
        assert_eq!(came, 200, "{told}");
    }
    assert_eq!(fs::read_dir(pair.caller.project().join("out")).unwrap().count(), 200);
}

#[test]
fn files_that_cannot_be_written_are_told_and_fetched_by_the_next_one_who_asks() {
    let pair = Pair::new();
    let remote = "remote = { outputs = [\"out\"] }";
    pair.caller
        .signed(".ai/tools/acme/makes.sh", &tool_sh(remote, "echo 1 >out; echo '{\"n\": 1}'\n"));
    let folder = pair.caller.outside().join("receipts");
    let receipt = folder.join("r.json");
    let args = ["--receipt", receipt.to_str().unwrap()];
    pair.run("tool:acme/makes", &args).fails(6, "receipt.io");
    assert!(crate::threads::rows(&pair.operator).is_empty(), "nothing was run");
    fs::create_dir(&folder).unwrap();
    let id = id_of(&pair.run("tool:acme/makes", &[&args[..], &["--async"]].concat()).ok());
    pair.operator.json(&["thread", "wait", &id]).ok();
    fs::remove_dir(&folder).unwrap();
    let told = pair.caller.json(&["thread", "wait", &id]);
    told.fails(6, "receipt.io");
    let shown = pair.caller.json(&["thread", "show", &id]).ok();
    assert_eq!(shown["failure"]["code"], "receipt.io", "{shown}");
    fs::create_dir(&folder).unwrap();
    let told = pair.caller.json(&["thread", "wait", &id]).ok();
    assert_eq!((&told["data"], &told["receipts"]), (&json!({"n": 1}), &json!([receipt])), "{told}");
}

#[test]
fn the_receipt_is_signed_by_both_and_says_which_files_came() {
    let pair = Pair::new();
    trust(&pair.caller, &pair.operator);
    let remote = "remote = { outputs = [\"out\"] }";
    pair.caller.signed(".ai/tools/acme/makes.sh", &tool_sh(remote, "echo 1 >out; echo '{}'\n"));
    let path = pair.caller.outside().join("receipt.json");
    let receipt = path.to_str().unwrap();
    let told = pair.run("tool:acme/makes", &["--receipt", receipt]).ok();
    assert_eq!(told["receipts"], json!([receipt]), "{told}");
    let verified = || pair.caller.rye(&["receipt", "verify", receipt, "--json"]);
    verified().ok();
    let whole = fs::read(&path).unwrap();
    let envelope: Value = serde_json::from_slice(&whole).unwrap();
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let said = &payload["predicate"]["remote"];
    let caller = fingerprint(&pair.caller.own_key());
    assert_eq!((&said["node"], &said["caller"]), (&json!(pair.node.key), &json!(caller)));
    let out = json!({"mode": "0644", "sha256": sha256(b"1\n"), "size": 2});
    let files = document(&json!({"files": {"out": out}, "kind": "manifest", "schema": 1}));
    assert_eq!(said["outputs"], json!(sha256(&files)), "{said}");
    assert_eq!(payload["predicate"]["run_id"], told["metadata"]["run_id"]);
    assert_eq!(said["run"], json!(id_of(&told)), "{said}");
    // The person's policy asks for one as well.
    pair.caller.signed_home(".ai/config/rye/policy.yaml", "receipts: always\n");
    let told = pair.run("tool:acme/makes", &[]).ok();
    assert_eq!(told["receipts"].as_array().map(Vec::len), Some(1), "{told}");
    let all = envelope["signatures"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{envelope}");
    // Neither signature does without the other.
    for one in all {
        let mut alone = envelope.clone();
        alone["signatures"] = json!([one]);
        fs::write(&path, alone.to_string()).unwrap();
        assert_ne!(verified().status, 0, "{alone}");
    }
    fs::write(&path, whole).unwrap();
    verified().ok();
}
