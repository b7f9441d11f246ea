//! What a caller sends changes nothing of what the node decides by, and only what its operator
//! tied to the caller runs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::node::{Pair, SCOPES, authorize, key_of};
use super::request::{SignedAsk, execute, push, run_id};
use super::runs::workspace;
use crate::keys::others::{AT, files, pem, put_home, signed_text, stranger, trust};
use crate::world::items::tool_sh;
use crate::world::{End, World, fingerprint};

const ITEM: &str = "tool:acme/mark";
const PATH: &str = ".ai/tools/acme/mark.sh";

fn mark() -> String {
    tool_sh("", "echo '{\"ran\": true}'\n")
}

/// The tool as the caller signed it.
fn own(pair: &Pair) -> String {
    signed_text(&pair.caller.own_key(), ITEM, "sh", AT, &mark())
}

#[test]
fn h08_keys_trust_policy_hooks_and_items_of_rye_are_not_taken_from_a_caller_table() {
    let pair = Pair::new();
    let key = pair.caller.own_key();
    let signed = |item: &str, ext: &str, text: &str| signed_text(&key, item, ext, AT, text);
    let trusted = format!("keys/trusted/{}", fingerprint(&stranger(7)));
    let document = crate::keys::others::document(&stranger(7), "mallory", "");
    let policy = "sandbox_off: [\"tool:**\"]\n";
    let rows = [
        (".env", "RYE_DEV_MODE=1\n".to_owned()),
        ("sub/.env.local", "PATH=/tmp\n".to_owned()),
        (".git/config", "[core]\n".to_owned()),
        (".ai/rye.lock", "{}".to_owned()),
        (".ai/state/registry.db", "x".to_owned()),
        (".ai/config/keys/signing/private_key.pem", "x".to_owned()),
        (".ai/config/keys/trusted/x.toml", signed(&format!("config:{trusted}"), "toml", &document)),
        (".ai/config/keys/callers/x.toml", "x".to_owned()),
        (".ai/config/rye/policy.yaml", signed("config:rye/policy", "yaml", policy)),
        (".ai/config/rye/file-types.yaml", "x".to_owned()),
        (".ai/tools/hooks/all.sh", signed("tool:hooks/all", "sh", &mark())),
        (".ai/tools/rye/bash.sh", signed("tool:rye/bash", "sh", &mark())),
        (".ai/tools/rye/core/runtimes/shell/script.yaml", "x".to_owned()),
        (".ai/knowledge/rye/x.md", signed("knowledge:rye/x", "md", "x\n")),
        ("id_ed25519", "x".to_owned()),
        ("server.pem", "x".to_owned()),
    ];
    let before = files(&pair.operator);
    let own = own(&pair);
    for (path, text) in &rows {
        let snapshot = push(&pair, &[(PATH, &own), (path, text)]);
        let run = run_id();
        let asked = json!({"run": run, "item_id": ITEM, "snapshot": snapshot});
        let told = SignedAsk::execute(&pair, &asked).send().ok()["report"].take();
        assert_eq!(told["code"], "store.never_travels", "{path}: {told}");
        assert!(told["error"].as_str().unwrap().contains(path), "{told}");
        assert!(!workspace(&pair, &run).exists(), "{path}");
    }
    for path in
        ["../x", "/etc/x", "a/../b", "a//b", "./a", "a\\b", ".AI/Config/rye/policy.yaml", ""]
    {
        let snapshot = push(&pair, &[(PATH, &own), (path, "x")]);
        let asked = json!({"run": run_id(), "item_id": ITEM, "snapshot": snapshot});
        let answer = SignedAsk::execute(&pair, &asked).send();
        assert_eq!(answer.refusal().1, "store.malformed", "{path:?}: {answer:?}");
    }
    assert_eq!(files(&pair.operator), before);
    let said = execute(&pair, ITEM, &push(&pair, &[(PATH, &own)]));
    assert_eq!(said["data"], json!({"ran": true}), "{said}");
}

#[test]
fn h08_only_items_of_signers_that_the_operator_tied_to_the_caller_run_table() {
    let pair = Pair::new();
    let [tied, untied, revoked, unknown] = [1, 2, 3, 4].map(stranger);
    for key in [&tied, &untied, &revoked] {
        trust(&pair.operator, key, &["--owner", "a stranger"]);
    }
    let signers = [&pair.caller.own_key(), &tied, &revoked].map(fingerprint).join(",");
    let key = key_of(&pair.caller);
    let args = ["node", "authorize", &key, "--scopes", SCOPES, "--signers", &signers];
    pair.operator.json(&args).ok();
    pair.operator.json(&["trust", "revoke", &fingerprint(&revoked)]).ok();
    let by = |key| signed_text(key, ITEM, "sh", AT, &mark());
    for (name, text, code) in [
        ("the caller's own", own(&pair), ""),
        ("one that is tied", by(&tied), ""),
        ("one that is trusted alone", by(&untied), "verify.out_of_scope"),
        ("one that was revoked", by(&revoked), "verify.revoked"),
        ("one that nobody knows", by(&unknown), "verify.untrusted"),
        ("the operator's", by(&pair.operator.own_key()), "verify.out_of_scope"),
        ("nobody's", mark(), "verify.unsigned"),
        ("altered", own(&pair) + "# more\n", "verify.altered"),
        ("of another item", signed_text(&tied, "tool:acme/b", "sh", AT, &mark()), "verify.moved"),
    ] {
        let said = execute(&pair, ITEM, &push(&pair, &[(PATH, &text)]));
        assert_eq!(said["code"].as_str().unwrap_or_default(), code, "{name}: {said}");
        assert_eq!(said["data"]["ran"] == true, code.is_empty(), "{name}: {said}");
    }
}

/// The record that lets a key sign in a folder, as `rye dev` makes it.
fn dev_record(person: &World, key: &ed25519_dalek::SigningKey) {
    use std::os::unix::fs::MetadataExt;
    let folder = person.project().canonicalize().unwrap();
    let stat = folder.metadata().unwrap();
    let until = crate::world::seconds_from_now(600);
    let print = fingerprint(key);
    let text = format!(
        "fingerprint = \"{print}\"\nnot_after = \"{until}\"\npublic_key = \"\"\"\n{}\"\"\"\n\n\
         [project]\npath = \"{}\"\ndevice = \"{}\"\ninode = \"{}\"\n",
        pem(key),
        folder.display(),
        stat.dev(),
        stat.ino()
    );
    put_home(person, &person.own_key(), &format!(".ai/config/keys/dev/{print}.toml"), &text);
}

#[test]
fn dev_keys_and_dev_mode_do_not_count_at_a_node() {
    let pair = Pair::new();
    let dev = stranger(9);
    for person in [&pair.caller, &pair.operator] {
        dev_record(person, &dev);
    }
    let text = signed_text(&dev, ITEM, "sh", &crate::world::seconds_from_now(0), &mark());
    pair.caller.write(PATH, &text);
    pair.caller.works(ITEM);
    let (_, told) = pair.run(ITEM, &[]);
    assert!(told["code"].as_str().is_some_and(|code| code.starts_with("verify.")), "{told}");
    let said = execute(&pair, ITEM, &push(&pair, &[(PATH, &text)]));
    assert!(said["code"].as_str().is_some_and(|code| code.starts_with("verify.")), "{said}");
    let dev_mode = &[("RYE_DEV_MODE", "1")];
    let folder = pair.operator.project();
    pair.operator.rye_env(&folder, &["serve", "--json"], b"", dev_mode).fails(2, "cli.usage");
}

/// Another person whom the operator lets in.
fn another(pair: &Pair) -> World {
    let other = World::new();
    super::node::trust(&pair.operator, &other);
    authorize(&pair.operator, &other, SCOPES);
    other
}

#[test]
fn what_is_held_for_a_run_is_not_let_go_for_another_caller() {
    let pair = Pair::new();
    let other = another(&pair);
    let waits =
        format!("while [ ! -e {}/go ]; do sleep 0.1; done\n", pair.caller.outside().display());
    pair.caller.signed(PATH, &tool_sh("", &waits));
    let id = crate::async_runs::id_of(&pair.run(ITEM, &["--async"]).ok());
    let refs = || {
        let folder = pair.operator.home().join(".ai/state/objects/refs");
        let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        all.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<BTreeMap<_, _>>()
    };
    let before = refs();
    assert_eq!(before.len(), 1, "{before:?}");
    let snapshot = push(&pair, &[("data", "x")]);
    let asked = json!({"run": id, "item_id": ITEM, "snapshot": snapshot});
    let answer = SignedAsk::execute(&pair, &asked).by(&other.own_key()).send();
    assert_eq!(answer.refusal(), (400, "remote.bad_request".into()), "{answer:?}");
    assert_eq!(refs(), before);
    std::fs::write(pair.caller.outside().join("go"), "").unwrap();
    pair.caller.json(&["thread", "wait", &id]).ok();
    assert_eq!(refs().len(), 0);
}

#[test]
fn a_caller_sees_its_own_runs_alone() {
    let pair = Pair::new();
    let other = another(&pair);
    pair.caller.signed(PATH, &mark());
    let told = pair.run(ITEM, &[]).ok();
    let id = told["thread_id"].as_str().unwrap();
    let ask =
        |method, path: &str| SignedAsk::new(&pair, method, path, "").by(&other.own_key()).send();
    for (method, rest) in [
        ("GET", ""),
        ("GET", "?wait=1"),
        ("GET", "/events"),
        ("GET", "/record"),
        ("POST", "/cancel"),
    ] {
        let answer = ask(method, &format!("/threads/{id}{rest}"));
        assert_eq!(answer.refusal(), (404, "remote.not_found".into()), "{rest}: {answer:?}");
    }
    assert_eq!(ask("GET", "/threads").ok(), json!({"threads": []}));
    let own: Value = SignedAsk::new(&pair, "GET", "/threads", "").send().ok();
    assert_eq!(own["threads"][0]["thread_id"], json!(id), "{own}");
    // Nor does it get the result by asking for the run once more.
    let asked = json!({"run": id, "item_id": ITEM});
    let answer = SignedAsk::execute(&pair, &asked).by(&other.own_key()).send();
    assert_eq!(answer.refusal(), (400, "remote.bad_request".into()), "{answer:?}");
}
