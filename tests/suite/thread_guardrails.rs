//! Evals of what a thread hands over: guardrails and metrics (exec-protocol 5).

use std::fs;

use serde_json::{Value, json};

use crate::threads::{ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, world};
use crate::world::{World, program};

const CONFIG: &str = ".ai/config/agent/guardrails.yaml";

/// Scores as its parameters say, and keeps what it was asked.
const JUDGE: &str = r#"#!/usr/bin/env python3
import json, os, sys
request = json.loads(sys.stdin.readline())
with open(os.environ["RYE_PROJECT"] + "/asked", "a") as asked:
    asked.write(json.dumps(request) + "\n")
params = request["params"]
print(params["say"] if "say" in params else '{"score": %s}' % params.get("score", 1))
sys.stderr.write(request["content"])
sys.exit(params.get("exit", 0))
"#;

fn item(params: &str) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: eval\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: acme\ndescription: Scores a text.\nparams: {params}\n\
         exec:\n  command: ./judge.py\n  files: [judge.py]\n"
    )
}

/// A world whose thread says `text` and hands over 7, with an eval in the user space.
fn judged() -> World {
    let mut last = hand_over();
    last["text"] = json!("canary-text");
    let turns = json!([call("acme_echo", &json!({"a": 1})), last]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    judge(&world);
    world
}

/// Puts an eval into the user space.
pub fn judge(world: &World) {
    world.write_home(".ai/tools/acme/judge.py", JUDGE);
    world.signed_home(".ai/tools/acme/mood.yaml", &item("{}"));
}

pub fn configured(world: &World, rows: &[Value]) {
    world.signed_home(CONFIG, &format!("guardrails: {}\n", json!(rows)));
}

fn row(mode: &str, more: Value) -> Value {
    let mut row = json!({"eval": "tool:acme/mood", "mode": mode});
    let Value::Object(more) = more else { panic!("{more}") };
    row.as_object_mut().unwrap().extend(more);
    row
}

pub fn scored(mode: &str, score: f64, more: Value) -> Value {
    let mut row = row(mode, more);
    row["params"] = json!({"score": score});
    row
}

fn evals(world: &World, told: &Value) -> Vec<Value> {
    events(world, told["thread_id"].as_str().unwrap(), "eval")
}

#[test]
fn the_time_of_a_thread_ends_it_while_an_eval_judges_which_is_no_fault_of_the_eval() {
    let world = judged();
    let sleeps = "#!/usr/bin/env python3\nimport os, time\ntime.sleep(40)\n\
        open(os.environ[\"RYE_PROJECT\"] + \"/judged\", \"w\")\n";
    world.write_home(".ai/tools/acme/judge.py", sleeps);
    let slow = item("{}").replace("exec:\n", "exec:\n  timeout_ms: 60000\n");
    world.signed_home(".ai/tools/acme/mood.yaml", &slow);
    configured(&world, &[scored("enforce", 1.0, json!({}))]);
    let (status, told) = fork(&world, &["--limit", "duration_seconds=3"]);
    let limit = (status, &told["code"], &told["data"]["limit"]);
    let want = (4, &json!("thread.limit_exceeded"), &json!("duration_seconds"));
    assert_eq!(limit, want, "{told}");
    assert!(!world.project().join("judged").exists(), "it was waited for");
    let row = rows(&world).pop().unwrap();
    let ended = (&row["thread_status"], &row["thread_code"]);
    assert_eq!(ended, (&json!("failed"), &told["code"]), "{row}");
}

#[test]
fn what_does_not_pass_is_replaced_or_written_down_table() {
    let none = || json!({});
    let rows: [(Value, Value, bool); 11] = [
        (scored("enforce", 1.0, none()), json!(true), false),
        (scored("enforce", 0.99, none()), json!(false), true),
        (scored("enforce", 0.99, json!({"min_score": 0.99})), json!(true), false),
        (scored("enforce", 0.98, json!({"min_score": 0.99})), json!(false), true),
        (scored("enforce", 0.3, json!({"max_score": 0.2})), json!(false), true),
        (scored("enforce", 0.2, json!({"max_score": 0.2})), json!(true), false),
        (scored("monitor", 0.0, none()), json!(false), false),
        (scored("monitor", 1.0, none()), json!(true), false),
        (scored("metric", 0.0, none()), Value::Null, false),
        (scored("enforce", 0.0, json!({"match": ["directive:acme/*"]})), json!(false), true),
        (scored("enforce", 0.0, json!({"match": ["directive:other/*"]})), json!("none"), false),
    ];
    let world = judged();
    for (row, passed, is_replaced) in rows {
        configured(&world, std::slice::from_ref(&row));
        let (status, told) = fork(&world, &[]);
        assert_eq!(status, 0, "{row}: {told}");
        let all = evals(&world, &told);
        if passed == "none" {
            assert!(all.is_empty(), "{row}");
        } else {
            assert_eq!((all.len(), &all[0]["passed"]), (1, &passed), "{row}: {all:?}");
            assert_eq!(all[0]["score"], row["params"]["score"], "{row}");
            assert_eq!(all[0]["mode"], row["mode"]);
        }
        if is_replaced {
            assert_eq!(told["replaced_by"], "tool:acme/mood", "{told}");
            assert_eq!(told["outputs"], json!({}));
            assert!(told["result"].as_str().unwrap().contains("did not pass"), "{told}");
            assert!(!told.to_string().contains("canary-text"));
            // Whoever asks later is given the same.
            let (_, later) = world.json(&["thread", "wait", told["thread_id"].as_str().unwrap()]);
            assert!(!later.to_string().contains("canary-text"), "{later}");
            assert_eq!(
                (&later["result"], &later["replaced_by"]),
                (&told["result"], &told["replaced_by"])
            );
        } else {
            assert_eq!(
                (&told["result"], &told["outputs"]),
                (&json!("canary-text"), &json!({"n": 7}))
            );
            assert!(told.get("replaced_by").is_none(), "{told}");
        }
        world.rye(&["thread", "verify", told["thread_id"].as_str().unwrap()]).ok();
    }
}

#[test]
fn an_eval_is_asked_about_all_that_is_handed_over_and_each_judges_what_the_model_said() {
    let world = judged();
    let own = json!({"text": "Withheld by me."});
    configured(
        &world,
        &[scored("enforce", 0.5, own), scored("enforce", 0.1, json!({})), row("metric", json!({}))],
    );
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["result"]), (0, &json!("Withheld by me.")), "{told}");
    let asked = String::from_utf8(world.read("asked")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(asked.len(), 3);
    for asked in &asked {
        let content: Value = serde_json::from_str(asked["content"].as_str().unwrap()).unwrap();
        assert_eq!(content, json!({"result": "canary-text", "outputs": {"n": 7}}));
        let context = &asked["context"];
        assert_eq!(context["turn_index"], 2);
        assert_eq!(context["variables"], json!({"n": 7}));
        assert_eq!(context["tool_calls"][0]["name"], "acme_echo");
        assert_eq!(context["metadata"]["thread_id"], told["thread_id"]);
        assert_eq!(context["messages"].as_array().unwrap().len(), 5);
    }
    assert_eq!(evals(&world, &told).len(), 3);
}

#[test]
fn an_eval_that_gives_no_score_lets_nothing_out_where_it_decides_and_is_no_low_score_table() {
    let world = judged();
    let says = |say: &str, exit: u8| json!({"params": {"say": say, "exit": exit}});
    for (more, code) in [
        (says("{\"score\": 2}", 0), "protocol.bad_score"),
        (says("{\"score\": \"1\"}", 0), "protocol.bad_score"),
        (says("{}", 0), "protocol.bad_score"),
        (says("{\"score\": 1}", 3), "eval.error"),
        (says("", 0), "protocol."),
    ] {
        configured(&world, &[row("enforce", more.clone())]);
        let (status, told) = fork(&world, &[]);
        assert_ne!(status, 0, "{more}: {told}");
        assert!(!told.to_string().contains("canary-text"), "{told}");
        let last = rows(&world).pop().unwrap();
        let id = last["thread_id"].as_str().unwrap();
        for verb in [&["wait", id][..], &["list"], &["wait", id, "--json"], &["list", "--json"]] {
            let said = world.rye(&[&["thread"], verb].concat());
            assert!(!format!("{said:?}").contains("canary-text"), "{said:?}");
        }
        assert_eq!(
            (&last["thread_status"], &last["thread_code"]),
            (&json!("failed"), &told["code"])
        );
        assert_eq!(told["code"], "eval.error", "{more}: {told}");
        assert!(told["error"].as_str().unwrap().contains(code), "{told}");
        for mode in ["monitor", "metric"] {
            configured(&world, &[row(mode, more.clone())]);
            let (status, told) = fork(&world, &[]);
            assert_eq!((status, &told["result"]), (0, &json!("canary-text")), "{mode}: {told}");
            let eval = &evals(&world, &told)[0];
            assert!(eval["code"].is_string() && eval.get("score").is_none(), "{eval}");
        }
    }
}

#[test]
fn a_project_judges_its_own_directives_and_puts_no_eval_in_the_place_of_yours() {
    let world = judged();
    configured(&world, &[scored("enforce", 0.0, json!({}))]);
    // An eval of the same name that lets everything pass.
    world.write(".ai/tools/acme/judge.py", JUDGE.replace("params.get(\"score\", 1)", "1"));
    world.signed(".ai/tools/acme/mood.yaml", &item("{}"));
    assert_eq!(fork(&world, &[]).1["replaced_by"], "tool:acme/mood");
    // A configuration of the project adds one, without a text of its own.
    configured(&world, &[]);
    world.signed(CONFIG, "guardrails: [{eval: tool:acme/mood, mode: monitor}]\n");
    let (_, told) = fork(&world, &[]);
    assert_eq!(evals(&world, &told)[0]["space"], "project", "{told}");
    let research =
        ["execute", "directive:rye/examples/research", "--thread", "fork", "-i", "topic=x"];
    let (status, told) = world.json(&research);
    assert_eq!((status, evals(&world, &told).len()), (0, 0), "{told}");
    let text = "guardrails: [{eval: tool:acme/mood, mode: enforce, text: Pay here.}]\n";
    world.signed_before(&world.project(), CONFIG, text);
    assert_eq!(fork(&world, &[]).1["code"], "thread.bad_config");
}

#[test]
fn a_configuration_of_guardrails_that_is_not_valid_lets_nothing_start_table() {
    let world = judged();
    configured(&world, &[scored("enforce", 1.0, json!({}))]);
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    let bad = "thread.bad_config";
    let rows = [
        ("guardrail: []\n", bad, "did you mean `guardrails`"),
        ("guardrails: {}\n", bad, "is not a list"),
        ("guardrails: [x]\n", bad, "guardrails/0"),
        ("guardrails: [{eval: tool:acme/mood}]\n", bad, "guardrails/0/mode"),
        ("guardrails: [{eval: tool:acme/mood, mode: enforced}]\n", bad, "guardrails/0/mode"),
        ("guardrails: [{mode: enforce}]\n", bad, "guardrails/0/eval"),
        ("guardrails: [{eval: tool:acme/none, mode: enforce}]\n", bad, "guardrails/0/eval"),
        ("guardrails: [{eval: tool:acme/mood, mode: enforce, min: 1}]\n", bad, "min_score"),
        ("guardrails: [{eval: tool:acme/mood, mode: enforce, min_score: 2}]\n", bad, "min_score"),
        (
            "guardrails: [{eval: tool:acme/mood, mode: enforce, min_score: 1, max_score: 0}]\n",
            bad,
            "min_score",
        ),
        ("guardrails: [{eval: tool:acme/mood, mode: metric, min_score: 1}]\n", bad, "mode"),
        ("guardrails: [{eval: tool:acme/mood, mode: monitor, text: x}]\n", bad, "text"),
        ("guardrails: [{eval: tool:acme/mood, mode: monitor, match: []}]\n", bad, "match"),
        ("guardrails: [{eval: tool:acme/mood, mode: monitor, match: [x]}]\n", bad, "match"),
        ("guardrails: [{eval: tool:acme/mood, mode: monitor, params: 1}]\n", bad, "params"),
        ("guardrails: [{eval: tool:acme/script, mode: monitor}]\n", "eval.not_an_eval", "script"),
    ];
    for (text, code, named) in rows {
        world.signed_before(&world.home(), CONFIG, text);
        let before = self::rows(&world).len();
        let (_, told) = fork(&world, &[]);
        assert_eq!(told["code"], code, "{text}: {told}");
        assert!(told["error"].as_str().unwrap().contains(named), "{text}: {told}");
        assert_eq!(self::rows(&world).len(), before, "{text}");
    }
    // An eval that was changed, too.
    configured(&world, &[row("monitor", json!({}))]);
    fs::write(world.home().join(".ai/tools/acme/mood.yaml"), item("{a: 1}")).unwrap();
    assert_ne!(fork(&world, &[]).0, 0);
}

#[test]
fn a_thread_below_is_judged_as_well_and_what_did_not_pass_there_reaches_none_above_it() {
    let below = call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"}));
    let may = "<execute><directive>acme.child</directive></execute>";
    let world = world(&json!([below, hand_over()]), "turns=\"9\"", may);
    let mut last = hand_over();
    last["text"] = json!("canary-child");
    world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&json!([last])));
    let text = directive("child", "turns=\"9\"", "").replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &text);
    world.write_home(".ai/tools/acme/judge.py", JUDGE);
    world.signed_home(".ai/tools/acme/mood.yaml", &item("{}"));
    let only = |mode| scored(mode, 0.0, json!({"match": ["directive:acme/child"]}));
    for (mode, is_replaced) in [("enforce", true), ("monitor", false), ("metric", false)] {
        configured(&world, &[only(mode)]);
        let before = rows(&world).len();
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{mode}: {told}");
        assert!(told.get("replaced_by").is_none() && evals(&world, &told).is_empty(), "{told}");
        let gave = events(&world, told["thread_id"].as_str().unwrap(), "tool_call_result");
        let gave: Value = serde_json::from_str(gave[0]["content"].as_str().unwrap()).unwrap();
        let said = gave.to_string();
        assert_eq!(said.contains("canary-child"), !is_replaced, "{mode}: {gave}");
        assert_eq!(gave["outputs"], if is_replaced { json!({}) } else { json!({"n": 7}) });
        let child = &rows(&world)[before + 1];
        assert_eq!(child["item_id"], "directive:acme/child", "{child}");
        let scores = evals(&world, child);
        assert_eq!((scores.len(), &scores[0]["mode"]), (1, &json!(mode)), "{scores:?}");
        assert_eq!(scores[0]["score"], 0.0, "{scores:?}");
    }
}

#[test]
fn an_eval_starts_no_thread_and_in_a_thread_only_one_that_is_permitted_and_counts_table() {
    let child = "<execute><tool>acme.echo</tool><directive>acme.child</directive></execute>";
    for (permissions, code, threads) in
        [(ONLY_ECHO, json!("grant.denied"), 1), (child, Value::Null, 2)]
    {
        let world = world(&json!([hand_over()]), "turns=\"9\"", permissions);
        world.signed(".ai/directives/acme/child.md", &directive("child", "turns=\"2\"", ONLY_ECHO));
        let starts = format!(
            "#!/bin/sh\ncd '{}'; [ -e said ] || HOME='{}' {} execute directive:acme/child --thread \
             fork --json > said 2>&1\necho '{{\"score\": 1}}'\n",
            world.project().display(),
            world.home().display(),
            program()
        );
        world.write_home(".ai/tools/acme/judge.py", starts);
        world.signed_home(".ai/tools/acme/mood.yaml", &item("{}"));
        let said = || -> Value {
            let said = serde_json::from_slice(&world.read("said")).unwrap();
            fs::remove_file(world.project().join("said")).unwrap();
            said
        };
        // By itself, below no thread that could say what may be reached and spent.
        let (status, told) = world.json(&["eval", "run", "tool:acme/mood", "--content", "x"]);
        assert_eq!((status, said()["code"].clone()), (0, json!("thread.outside")), "{told}");
        assert_eq!(rows(&world), [Value::Null; 0]);
        configured(&world, &[row("enforce", json!({}))]);
        let (status, told) = fork(&world, &[]);
        let said = said();
        assert_eq!((status, &said["code"]), (0, &code), "{told} {said}");
        let all = rows(&world);
        assert_eq!(all.len(), threads, "{permissions}");
        if threads == 2 {
            assert_eq!(all[1]["parent"], all[0]["thread_id"]);
            assert_eq!(told["cost"]["turns"], 2, "{told}");
        }
    }
}
