//! Tools and threads of the caller's project, run by the node.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::line::Line;
use super::node::{Pair, add};
use crate::async_runs::id_of;
use crate::thread_continues::{narrow, turns};
use crate::threads::{ECHO, ONLY_ECHO, call, directive, hand_over, provider, rows};
use crate::world::items::tool_sh;
use crate::world::{End, World, sha256};

/// Where the folder of a run is at the node.
pub fn workspace(pair: &Pair, id: &str) -> PathBuf {
    let all = pair.operator.home().join(".local/state/rye/workspaces");
    all.join(format!("rye-node-{}", pair.node.key)).join(&sha256(id.as_bytes())[..32])
}

/// A caller whose project has `directive:acme/go`.
pub fn with_directive() -> World {
    World::new()
        .with(".ai/tools/acme/echo.sh", ECHO)
        .with(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", ONLY_ECHO))
}

/// Such a caller, and a node whose model says these turns.
pub fn with_thread(turns: &Value) -> Pair {
    let caller = with_directive();
    let operator = World::new().with_home(".ai/tools/acme/script.yaml", &provider(turns));
    Pair::of(caller, operator)
}

/// The row of a run, as a person's `rye thread list` shows it.
#[track_caller]
pub fn row(person: &World, id: &str) -> Value {
    let all = rows(person);
    let own = all.iter().find(|row| row["thread_id"] == id);
    own.unwrap_or_else(|| panic!("no {id}: {all:?}")).clone()
}

#[test]
fn a_tool_of_the_project_runs_in_a_folder_of_its_own_and_is_a_row_on_both_sides() {
    let pair = Pair::new();
    let body = "printf '{\"folder\": \"%s\", \"given\": %s}\\n' \"$PWD\" \"$(cat)\"\n";
    pair.caller.signed(".ai/tools/acme/where.sh", &tool_sh("", body));
    let told = pair.run("tool:acme/where", &["-i", "n:=1"]).ok();
    let (id, on) = (id_of(&told), json!({"name": "gpu", "node": pair.node.key}));
    let folder = workspace(&pair, &id);
    assert_eq!(told["data"], json!({"folder": folder, "given": {"n": 1}}));
    assert_eq!((&told["status"], &told["remote"]), (&json!("success"), &on), "{told}");
    assert!(!folder.exists(), "it goes with its answer");
    for (person, on) in [(&pair.caller, &on), (&pair.operator, &Value::Null)] {
        let row = row(person, &id);
        assert_eq!(
            (&row["thread_status"], &row["item_id"], &row["remote"]),
            (&json!("completed"), &json!("tool:acme/where"), on),
            "{row}"
        );
    }
    let listed = pair.caller.rye(&["thread", "list"]);
    listed.shows("on gpu").shows("tool:acme/where");
}

#[test]
fn a_tool_gives_there_what_it_gives_here_also_where_it_fails_table() {
    let pair = Pair::new();
    for (body, more, status) in [
        ("echo '{\"n\": 1}'", &[][..], 0),
        ("echo plain; echo oops >&2", &[], 0),
        ("cat", &["-i", "a=b"], 0),
        ("echo oops >&2; exit 3", &[], 1),
        ("echo '{\"success\": false, \"error\": \"no\"}'", &[], 1),
        ("kill -KILL $$", &[], 1),
        ("exec sleep 60", &["--timeout", "200ms"], 6),
    ] {
        pair.caller.signed(".ai/tools/acme/does.sh", &tool_sh("", &format!("{body}\n")));
        let here = pair.caller.json(&[&["run", "tool:acme/does"], more].concat());
        let there = pair.run("tool:acme/does", more);
        assert_eq!((here.0, there.0), (status, status), "{body}: {} {}", here.1, there.1);
        for key in ["status", "code", "error", "type", "item_id", "data", "chain"] {
            assert_eq!(here.1[key], there.1[key], "{key}: {body}: {} {}", here.1, there.1);
        }
        let row = row(&pair.caller, &id_of(&there.1));
        assert_eq!(row["thread_status"], if status == 0 { "completed" } else { "failed" });
        assert_eq!(row["thread_code"], there.1["code"], "{body}");
    }
    // A person is shown what the tool wrote.
    pair.caller.signed(".ai/tools/acme/does.sh", &tool_sh("", "echo plain; echo oops >&2\n"));
    let said = pair.caller.rye(&["run", "tool:acme/does", "--target", "remote:gpu"]).ok();
    assert_eq!(said.stdout, "plain\n");
}

#[test]
fn what_cannot_run_is_refused_before_the_node_is_asked_table() {
    let pair = Pair::new();
    let line = Line::to(&pair.node.at);
    add(&pair.caller, "gpu", &line.at, &pair.node.key);
    line.asked("");
    let schema = "parameters = [{ name = \"n\", type = \"integer\", required = true }]";
    let path = pair.caller.signed(".ai/tools/acme/one.sh", &tool_sh(schema, "cat\n"));
    for (item, more, status, code) in [
        ("tool:acme/none", &[][..], 3, "resolve.not_found"),
        ("tool:acme/one", &["-i", "n=x"], 2, "plan.invalid_parameters"),
        ("tool:acme/one", &[], 2, "plan.invalid_parameters"),
        ("tool:acme/one", &["-i", "n:=1", "--wait"], 2, "cli.usage"),
        ("tool:acme/one", &["-i", "n:=1", "--sandbox", "off"], 2, "cli.usage"),
    ] {
        pair.run(item, more).fails(status, code);
    }
    fs::write(&path, fs::read_to_string(&path).unwrap() + "# more\n").unwrap();
    pair.run("tool:acme/one", &["-i", "n:=1"]).fails(4, "verify.altered");
    assert_eq!((line.asked(""), rows(&pair.caller)), (0, Vec::new()));
}

#[test]
fn a_thread_runs_there_with_the_nodes_model_and_the_words_of_threads_serve_it_here() {
    let pair = with_thread(&json!([call("acme_echo", &json!({"a": 1})), hand_over()]));
    let told = pair.fork(&[]).ok();
    let id = id_of(&told);
    assert_eq!(
        (&told["status"], &told["outputs"], &told["item_id"]),
        (&json!("success"), &json!({"n": 7}), &json!("directive:acme/go")),
        "{told}"
    );
    assert_eq!(told["remote"], json!({"name": "gpu", "node": pair.node.key}));
    for person in [&pair.caller, &pair.operator] {
        assert_eq!(row(person, &id)["thread_status"], "completed");
    }
    let threads = |verb: &str| pair.caller.json(&["thread", verb, &id]).ok();
    assert_eq!(threads("wait")["outputs"], json!({"n": 7}));
    assert_eq!(threads("show")["thread_status"], "completed");
    let verified = threads("verify");
    for (key, want) in [
        ("verified", json!(true)),
        ("final", json!(true)),
        ("thread_status", json!("completed")),
        ("signer", json!(pair.node.key)),
    ] {
        assert_eq!(verified[key], want, "{key}: {verified}");
    }
    // The events are those of the record, each once.
    let said = pair.caller.rye(&["thread", "tail", &id, "--json"]).ok();
    let mut lines: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.pop().unwrap()["outputs"], json!({"n": 7}));
    let known = pair.operator.json(&["thread", "show", &id]).ok();
    assert_eq!(json!(lines), known["data"]["events"]);
}

#[test]
fn a_thread_that_another_one_goes_on_for_is_one_run_for_its_caller() {
    let operator = World::new().with_home(".ai/tools/acme/script.yaml", &narrow(&turns()));
    let pair = Pair::of(with_directive(), operator);
    let told = pair.fork(&[]).ok();
    assert_eq!(told["outputs"], json!({"n": 7}), "{told}");
    let states = |person| rows(person).iter().map(|row| row["thread_status"].clone()).collect();
    let (there, here): (Vec<_>, Vec<_>) = (states(&pair.operator), states(&pair.caller));
    assert_eq!(
        (there, here),
        (vec![json!("continued"), json!("completed")], vec![json!("completed")])
    );
    let id = id_of(&told);
    assert!(!workspace(&pair, &id).exists());
    assert_eq!(pair.caller.json(&["thread", "wait", &id]).ok()["outputs"], json!({"n": 7}));
}

#[test]
fn a_thread_that_cannot_begin_says_why_also_to_one_who_asks_later() {
    let pair = Pair::of(with_directive(), World::new());
    pair.fork(&["--async"]).fails(4, "thread.no_provider");
    let id = id_of(&rows(&pair.caller)[0]);
    pair.caller.json(&["thread", "wait", &id]).fails(4, "thread.no_provider");
    assert_eq!(row(&pair.operator, &id)["thread_status"], "failed");
}

#[test]
fn a_detached_run_goes_on_there_and_is_waited_for_here_by_its_id() {
    let pair = with_thread(&json!([call("acme_echo", &json!({"a": 1})), hand_over()]));
    let go = pair.caller.outside().join("go");
    let body = format!(
        "i=0; while [ ! -e {} ] && [ $((i+=1)) -lt 3000 ]; do sleep 0.1; done; \
        cat\n",
        go.display()
    );
    pair.caller.signed(".ai/tools/acme/slow.sh", &tool_sh("", &body));
    let told = pair.run("tool:acme/slow", &["--async", "-i", "n:=1"]).ok();
    let id = id_of(&told);
    assert_eq!((&told["async"], &told["state"]), (&json!(true), &json!("running")), "{told}");
    let still = pair.caller.json(&["thread", "wait", &id, "--timeout", "50ms"]);
    still.fails(6, "thread.still_runs");
    fs::write(go, "").unwrap();
    assert_eq!(pair.caller.json(&["thread", "wait", &id]).ok()["data"], json!({"n": 1}));
    let said = pair.caller.rye(&["thread", "tail", &id]).ok();
    assert_eq!(said.stdout, "{\"n\":1}\n", "{said:?}");
    let id = id_of(&pair.fork(&["--async"]).ok());
    assert_eq!(pair.caller.json(&["thread", "wait", &id]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(pair.caller.json(&["thread", "verify", &id]).ok()["final"], true);
}

#[test]
fn what_the_node_has_is_not_pushed_again() {
    let pair = Pair::new();
    let line = Line::to(&pair.node.at);
    add(&pair.caller, "gpu", &line.at, &pair.node.key);
    let remote = "remote = { inputs = [\"data/*\"] }";
    pair.caller.signed(".ai/tools/acme/sum.sh", &tool_sh(remote, "cat data/*\n"));
    for name in ["a", "b", "c"] {
        pair.caller.write(&format!("data/{name}"), name);
    }
    let pushed = || {
        let told = pair.run("tool:acme/sum", &[]).ok();
        (told["data"]["stdout"].clone(), line.asked("PUT /objects/"))
    };
    // The files, the item, their manifest and its snapshot.
    assert_eq!(pushed(), (json!("abc"), 6));
    assert_eq!(pushed(), (json!("abc"), 0));
    pair.caller.write("data/b", "B");
    assert_eq!(pushed(), (json!("aBc"), 3));
}
