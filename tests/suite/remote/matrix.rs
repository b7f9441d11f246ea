//! The cells of the execution matrix (core 8) that name a node, through every door.

use std::fs;

use serde_json::{Value, json};

use super::node::Pair;
use super::request::{SignedAsk, push, run_id};
use super::runs::with_thread;
use crate::async_runs::id_of;
use crate::hooks::hook;
use crate::thread_table::results;
use crate::threads::{call, directive, hand_over, provider};
use crate::world::items::tool_sh;
use crate::world::{End, Said};

const TOOL: &str = "tool:acme/mark";
const DIRECTIVE: &str = "directive:acme/go";
const KNOWLEDGE: &str = "knowledge:acme/note";
const CONFIG: &str = "config:acme/settings";

/// A cell: the item, the word about its thread, detached or not, and the code of its refusal.
type Cell = (&'static str, &'static str, bool, &'static str);

const CELLS: &[Cell] = &[
    (TOOL, "inline", false, ""),
    (TOOL, "inline", true, ""),
    (TOOL, "fork", false, "matrix.tool_fork"),
    (TOOL, "fork", true, "matrix.tool_fork"),
    (DIRECTIVE, "fork", false, ""),
    (DIRECTIVE, "fork", true, ""),
    (DIRECTIVE, "inline", false, "matrix.directive_remote_inline"),
    (DIRECTIVE, "inline", true, "matrix.directive_remote_inline"),
    (KNOWLEDGE, "inline", false, "matrix.not_executable"),
    (KNOWLEDGE, "fork", true, "matrix.not_executable"),
    (CONFIG, "inline", false, "matrix.not_executable"),
    (CONFIG, "fork", false, "matrix.not_executable"),
    (TOOL, "spoon", false, "matrix.unknown_word"),
];

fn pair() -> Pair {
    let pair = with_thread(&json!([hand_over()]));
    let ran = pair.caller.outside().join("ran").display().to_string();
    pair.caller.signed(".ai/tools/acme/mark.sh", &tool_sh("", &format!("echo x >>{ran}\n")));
    pair.caller.signed(".ai/knowledge/acme/note.md", "---\ntitle: note\n---\n\nA note.\n");
    pair.caller.signed(".ai/config/acme/settings.yaml", "a: 1\n");
    let kinds = ["tool", "directive", "knowledge", "config"];
    pair.authorize(&format!(
        "objects,{}",
        kinds.map(|kind| format!("execute:{kind}:acme/**")).join(",")
    ));
    pair
}

/// How often the tool ran.
fn runs(pair: &Pair) -> usize {
    let ran = fs::read_to_string(pair.caller.outside().join("ran"));
    ran.unwrap_or_default().lines().count()
}

/// Each cell, asked for at one door: what is not allowed is refused and leaves no row, and the
/// rest runs once. `ask` gives the answer, and the id of what runs.
#[track_caller]
fn check(pair: &Pair, mut ask: impl FnMut(&Cell) -> Value) {
    for cell in CELLS {
        let (item, thread, is_detached, code) = cell;
        let name = format!("{item} {thread} async {is_detached}");
        let rows = || crate::threads::rows(&pair.operator).len();
        let before = (rows(), runs(pair));
        let told = ask(cell);
        assert_eq!(told["code"].as_str().unwrap_or_default(), *code, "{name}: {told}");
        if !code.is_empty() {
            assert_eq!((rows(), runs(pair)), before, "{name}");
            continue;
        }
        if *is_detached {
            assert_eq!(told["async"], true, "{name}: {told}");
            pair.operator.json(&["thread", "wait", &id_of(&told)]).ok();
        }
        let is_tool = usize::from(*item == TOOL);
        assert_eq!((rows(), runs(pair)), (before.0 + 1, before.1 + is_tool), "{name}");
    }
}

#[test]
fn h04_the_cells_of_a_node_on_the_command_line() {
    let pair = pair();
    check(&pair, |&(item, thread, is_detached, _)| {
        let detached: &[&str] = if is_detached { &["--async"] } else { &[] };
        pair.run(item, &[&["--thread", thread], detached].concat()).1
    });
}

#[test]
#[cfg(feature = "mcp")]
fn h04_the_cells_of_a_node_for_an_agent() {
    let pair = pair();
    let mut client = crate::mcp::client::Client::new(&pair.caller, &[]);
    check(&pair, |&(item, thread, is_detached, _)| {
        let asked = json!({
            "item_id": item, "target": "remote:gpu", "thread": thread, "async": is_detached,
        });
        client.call("rye_execute", asked).0
    });
}

#[test]
fn h04_the_cells_of_a_node_through_the_tool() {
    let pair = pair();
    check(&pair, |&(item, thread, is_detached, code)| {
        let asked = json!({
            "item_id": item, "target": "remote:gpu", "thread": thread, "async": is_detached,
        });
        if code == "matrix.unknown_word" {
            // The schema of the tool says so.
            return json!({"code": code});
        }
        let args = ["run", "tool:rye/core/remote/remote", "--params", &asked.to_string()];
        pair.caller.json(&args).1
    });
    // It is for nodes alone.
    for (target, code) in [("local", "matrix.empty_remote"), ("remote:other", "remote.unknown")] {
        let asked = json!({"item_id": TOOL, "target": target}).to_string();
        let args = ["run", "tool:rye/core/remote/remote", "--params", &asked, "--json"];
        let said: Said = pair.caller.rye(&args);
        assert_eq!(said.code(), code, "{said:?}");
    }
}

#[test]
fn a_node_begins_no_thread_that_the_limits_of_one_here_would_not_hold() {
    let pair = pair();
    let asked = json!({"item_id": "directive:acme/go", "target": "remote:gpu"});
    let turns = json!([call("rye_core_remote_remote", &asked), hand_over()]);
    pair.caller.signed_home(".ai/tools/acme/script.yaml", &provider(&turns));
    let may = "<execute><tool>rye.core.remote.*</tool><directive>acme.*</directive></execute>";
    pair.caller.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", may));
    let id = id_of(&pair.caller.json(&["run", "directive:acme/go", "--thread", "fork"]).ok());
    let said = results(&pair.caller, &id);
    assert_eq!(said[0]["detail"]["code"], "thread.outside", "{said:?}");
    assert_eq!(runs(&pair), 0);
}

#[test]
fn a_hook_that_judges_results_sees_each_before_it_is_kept() {
    let pair = pair();
    let after = "phases: [after_execution]\nreplaces: true\n";
    hook(
        &pair.caller,
        "hides",
        after,
        "echo '{\"allow\": true, \"replace\": {\"content\": \"hidden\"}}'",
    );
    pair.run(TOOL, &["--async"]).fails(4, "hook.denied");
    let told = pair.run(TOOL, &[]).ok();
    assert_eq!(told["data"], "hidden", "{told}");
    let kept = pair.caller.json(&["thread", "wait", &id_of(&told)]).ok();
    assert_eq!(kept["data"], "hidden", "{kept}");
}

#[test]
fn h04_the_cells_of_a_node_are_checked_again_by_the_node() {
    let pair = pair();
    let read = |path: &str| String::from_utf8(pair.caller.read(path)).unwrap();
    let names = [".ai/tools/acme/mark.sh", ".ai/directives/acme/go.md", ".ai/tools/acme/echo.sh"];
    let texts = names.map(read);
    let files: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let snapshot = push(&pair, &files);
    check(&pair, |&(item, thread, is_detached, _)| {
        let uuid = run_id();
        let run = if thread == "fork" { format!("acme/go/go-{uuid}") } else { uuid };
        let asked = json!({
            "run": run, "item_id": item, "thread": thread, "async": is_detached,
            "snapshot": snapshot,
        });
        let mut answer = SignedAsk::execute(&pair, &asked).send().json();
        if answer["code"].is_string() {
            return answer;
        }
        assert_eq!(answer["run"]["thread_id"], json!(run), "{answer}");
        if is_detached {
            return json!({"async": answer["run"]["async"], "thread_id": run});
        }
        assert_eq!(answer["report"]["status"], "success", "{answer}");
        answer["report"].take()
    });
    for (body, code) in [
        (json!({"item_id": "acme/mark"}), "remote.bad_request"),
        (json!({"item_id": TOOL, "target": "local"}), "remote.bad_request"),
        (json!({"item_id": TOOL, "dry_run": true}), "remote.bad_request"),
        (json!({"item_id": TOOL, "run": "mark-1"}), "remote.bad_request"),
        (json!({"item_id": TOOL, "parameters": [1]}), "remote.bad_request"),
        (json!([1]), "remote.bad_request"),
    ] {
        let mut body = body;
        if body.is_object() && body["run"].is_null() {
            body["run"] = run_id().into();
        }
        let answer = SignedAsk::execute(&pair, &body).send();
        assert_eq!(answer.refusal(), (400, code.to_owned()), "{body}");
    }
}

#[test]
fn a_remote_that_has_no_name_here_is_refused_with_names_that_are_near() {
    let pair = pair();
    super::node::add(&pair.caller, "builder", &pair.node.at, &pair.node.key);
    for (target, help) in
        [("remote:bilder", "did you mean `remote:builder`?"), ("remote", "there are: builder, gpu")]
    {
        let args = ["run", TOOL, "--target", target];
        let told = pair.caller.json(&args).fails(3, "remote.unknown");
        assert!(told["help"].as_str().unwrap().contains(help), "{told}");
    }
    super::node::add(&pair.caller, "default", &pair.node.at, &pair.node.key);
    pair.caller.json(&["run", TOOL, "--target", "remote"]).ok();
}
