//! A model asks for a signature, and a person gives it or not.

use std::fs;

use serde_json::{Value, json};

use super::{prepared, tool, turn};
use crate::threads::{self, events, fork, provider};
use crate::world::{End, World};

const SIGNS: &str = "<acknowledge risk=\"elevated\"/><sign><tool>acme.*</tool></sign>";

fn wants(item: &str) -> Value {
    turn(&[("rye_sign", json!({"item_id": item}))])
}

fn gave(world: &World, turns: &[Value], permissions: &str) -> Vec<Value> {
    prepared(world, turns, permissions);
    let (status, told) = fork(world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let gave = events(world, told["thread_id"].as_str().unwrap(), "tool_call_result");
    let gave = gave.iter().take(turns.len());
    gave.map(|it| serde_json::from_str(it["content"].as_str().unwrap()).unwrap()).collect()
}

/// A project with a tool that nobody signed, and the request of a model for its signature.
fn asked() -> (World, String) {
    let world = World::new().with_file(".ai/tools/acme/mine.sh", tool("", "echo mine\n"));
    let told = &gave(&world, &[wants("tool:acme/mine")], SIGNS)[0];
    assert_eq!((&told["ok"], &told["error_kind"]), (&json!(false), &json!("pending")), "{told}");
    let id = told["detail"]["pending_id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(world.run("tool:acme/mine"), (4, "verify.unsigned".into()), "nothing is signed");
    (world, id)
}

fn waiting(world: &World) -> Vec<Value> {
    world.json(&["pending", "list"]).1["pending"].as_array().unwrap().clone()
}

#[test]
fn a_person_is_shown_what_a_model_wants_signed_and_signs_it_once() {
    let (world, id) = asked();
    let rows = waiting(&world);
    assert_eq!(
        (rows.len(), &rows[0]["id"], &rows[0]["item_id"]),
        (1, &json!(id), &json!("tool:acme/mine"))
    );
    let shown = world.rye(&["pending", "show", &id]);
    let thread = threads::rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    let look =
        format!("a model asks you to sign it; `rye thread show {thread}` shows its thread\n");
    assert!(shown.stdout.contains(&look), "{shown:?}");
    assert!(shown.status == 0 && shown.stdout.contains("+echo mine"), "{shown:?}");
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert!(shown["diff"].as_str().unwrap().contains("+echo mine"), "{shown}");
    world
        .rye(&["pending", "approve", &id])
        .ok()
        .shows("+echo mine")
        .shows("signed  tool:acme/mine");
    world.works("tool:acme/mine");
    assert_eq!(waiting(&world), [Value::Null; 0]);
    world.json(&["pending", "approve", &id]).fails(4, "pending.decided");
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!((&shown["state"], &shown["result"]["status"]), (&json!("done"), &json!("signed")));
}

#[test]
fn a_signature_that_a_person_rejects_is_not_given() {
    let (world, id) = asked();
    assert_eq!(world.json(&["pending", "reject", &id]).ok()["state"], "rejected");
    world.json(&["pending", "approve", &id]).fails(4, "pending.decided");
    assert_eq!(world.run("tool:acme/mine"), (4, "verify.unsigned".into()));
}

/// Something that happens to the file of an item.
type Change = fn(&World, &str);

#[test]
fn what_changed_since_it_was_asked_for_is_not_signed_table() {
    let path = ".ai/tools/acme/mine.sh";
    let changes: [(&str, Change); 3] = [
        ("other bytes", |world, path| drop(world.write(path, tool("", "echo other\n")))),
        ("no file", |world, path| fs::remove_file(world.project().join(path)).unwrap()),
        ("a link", |world, path| {
            let path = world.project().join(path);
            fs::rename(&path, path.with_extension("old")).unwrap();
            std::os::unix::fs::symlink(path.with_extension("old"), path).unwrap();
        }),
    ];
    for (what, change) in changes {
        let (world, id) = asked();
        change(&world, path);
        let (status, told) = world.json(&["pending", "approve", &id]);
        assert_eq!((status, &told["code"]), (4, &json!("pending.drifted")), "{what}: {told}");
        assert_ne!(world.run("tool:acme/mine").0, 0, "{what}");
        assert_eq!(waiting(&world).len(), 1, "{what}: it can still be rejected");
        let (status, shown) = world.json(&["pending", "show", &id]);
        assert!(status == 0 && shown["drifted"].is_string(), "{what}: {shown}");
    }
}

#[test]
fn one_file_is_asked_about_once_and_what_a_thread_may_not_ask_for_is_not_kept() {
    let world = World::new();
    world.write(".ai/tools/acme/mine.sh", tool("", "echo mine\n"));
    world.write(".ai/tools/other/theirs.sh", tool("", "echo theirs\n"));
    let turns: Vec<Value> = [
        "tool:acme/mine",
        "acme/mine",
        "tool:other/theirs",
        "tool:acme/mine@user",
        "tool:rye/bash",
        "tool:acme/none",
    ]
    .map(wants)
    .into();
    let told = gave(&world, &turns, SIGNS);
    assert_eq!(told[0]["detail"]["pending_id"], told[1]["detail"]["pending_id"]);
    let kinds: Vec<&str> =
        told.iter().map(|it| it["error_kind"].as_str().unwrap_or_default()).collect();
    let (denied, failed) = ("permission_denied", "tool_execution_exception");
    assert_eq!(kinds, ["pending", "pending", denied, denied, failed, failed]);
    assert_eq!(waiting(&world).len(), 1);
    // A thread below one that may not ask may not either.
    let child = crate::threads::directive("child", "turns=\"5\"", SIGNS);
    let child = child.replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &child);
    let end = turn(&[("directive_return", json!({"n": 1}))]);
    let turns = json!([wants("tool:acme/mine"), end]);
    world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&turns));
    let below = ("rye_execute", json!({"item_id": "directive:acme/child", "thread": "fork"}));
    let narrow = "<execute><directive>acme.child</directive></execute>";
    let first = &gave(&world, &[turn(&[below])], narrow)[0];
    let id = first["thread_id"].as_str().unwrap();
    let told = &events(&world, id, "tool_call_result")[0];
    assert!(told["content"].as_str().unwrap().contains("permission_denied"), "{told}");
}
