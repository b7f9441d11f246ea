//! Evals: signed programs that score a text (exec-protocol 5), alone and in test specs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{End, GREET_MD, MARKER_SH, World, whole};

const MOOD: &str = "tool:acme/mood";
const ITEM: &str = ".ai/tools/acme/mood.yaml";

/// Says what its parameters tell it to, or gives the request back as its data.
const JUDGE: &str = r#"#!/usr/bin/env python3
import json, os, sys, time
request = json.loads(sys.stdin.readline())
params = request["params"]
time.sleep(params.get("sleep", 0))
print("judging", file=sys.stderr)
if params.get("die"):
    sys.stdout.flush()
    os.kill(os.getpid(), 9)
if "say" in params:
    sys.stdout.write(params["say"])
elif "score" in params:
    print('{"score": %s, "detail": "as asked\\u001b[31m", "data": {"n": 1.50}}' % params["score"])
else:
    json.dump({"score": 1, "data": request}, sys.stdout)
sys.exit(params.get("exit", 0))
"#;

/// The same as a server.
const SERVER: &str = r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    params = call["params"]["params"]
    if params.get("die"):
        sys.exit(3)
    print('{"jsonrpc":"2.0","id":%d,%s}' % (call["id"], params["say"]), flush=True)
"#;

fn item(mode: &str, more: &str) -> String {
    let runtime = if mode == "oneshot" { "exec" } else { "server" };
    format!(
        "version: \"1.0.0\"\ntool_type: eval\nexecutor_id: rye/core/runtimes/exec/{mode}\n\
         category: acme\ndescription: Scores a mood.\n{more}\
         exec:\n  command: ./judge.py\n  runtime: {runtime}\n  timeout_ms: 20000\n  files: [judge.py]\n"
    )
}

fn world_with(more: &str) -> World {
    let world = World::new();
    world.write(".ai/tools/acme/judge.py", JUDGE);
    world.signed(ITEM, &item("oneshot", more));
    world
}

fn world() -> World {
    world_with("")
}

/// Runs the eval with these parameters and arguments.
fn eval(world: &World, params: &Value, more: &[&str]) -> (i32, Value) {
    let params = params.to_string();
    let args = ["eval", "run", MOOD, "--content", "a text", "--params", &params];
    world.json(&[&args, more].concat())
}

/// Each answer by one way of asking here, the first of a code by each; the whole is each by each.
#[test]
fn a_wrong_answer_is_an_error_and_never_a_score() {
    let world = world();
    let (status, got) = eval(&world, &json!({"say": "{\"score\": 1}"}), &[]);
    assert_eq!((status, &got["status"]), (0, &json!("success")), "the fixture: {got}");
    let say = |text: &str| json!({"say": text});
    let rows = [
        (say("{}"), "protocol.bad_score"),
        (say("{\"detail\": \"fine\"}"), "protocol.bad_score"),
        (say("{\"Score\": 1}"), "protocol.bad_score"),
        (say("{\"score\": \"0.5\"}"), "protocol.bad_score"),
        (say("{\"score\": \"NaN\"}"), "protocol.bad_score"),
        (say("{\"score\": null}"), "protocol.bad_score"),
        (say("{\"score\": true}"), "protocol.bad_score"),
        (say("{\"score\": [1]}"), "protocol.bad_score"),
        (say("{\"score\": {\"value\": 1}}"), "protocol.bad_score"),
        (say("{\"score\": -0.1}"), "protocol.bad_score"),
        (say("{\"score\": -1e-400}"), "protocol.bad_score"),
        (say("{\"score\": 1.01}"), "protocol.bad_score"),
        (say("{\"score\": 1.0000000000000000000001}"), "protocol.bad_score"),
        (say("{\"score\": 1e400}"), "protocol.bad_score"),
        (say("{\"score\": 100}"), "protocol.bad_score"),
        (say("{\"result\": {\"score\": 2}}"), "protocol.bad_score"),
        (say("{\"result\": 1}"), "protocol.bad_score"),
        (say("{\"score\": NaN}"), "protocol.bad_response"),
        (say("{\"score\": .5}"), "protocol.bad_response"),
        (say("{\"score\": 1} done"), "protocol.bad_response"),
        (say("{\"score\": 1, \"score\": 0}"), "protocol.bad_response"),
        (say("{\"score\": 1, \"detail\": 5}"), "protocol.bad_response"),
        (say("1"), "protocol.bad_response"),
        (say("[{\"score\": 1}]"), "protocol.bad_response"),
        (say("{\"score\": 1"), "protocol.bad_response"),
        (say(""), "protocol.empty_response"),
        (say("{\"error\": \"no model\"}"), "eval.error"),
        (say("{\"error\": {\"message\": \"no model\"}, \"score\": 1}"), "eval.error"),
        (json!({"say": "{\"score\": 1}", "exit": 3}), "eval.error"),
        (json!({"say": "", "exit": 1}), "eval.error"),
        (json!({"say": "{\"score\": 1}", "die": true}), "eval.error"),
        (say("{\"pending\": {\"reason\": \"r\", \"message\": \"May I?\"}}"), "eval.error"),
        (say("{\"pending\": {}, \"score\": 1}"), "eval.error"),
    ];
    let mut last = "";
    for (at, (params, code)) in rows.into_iter().enumerate() {
        let ways = [&[][..], &["--metric"], &["--guardrail", "monitor"], &["--min-score", "0"]];
        let is_first = std::mem::replace(&mut last, code) != code;
        for (way, more) in ways.into_iter().enumerate() {
            if way != at % 4 && !is_first && !whole() {
                continue;
            }
            let (status, got) = eval(&world, &params, more);
            assert_eq!((status, &got["code"]), (7, &json!(code)), "{params} {more:?}: {got}");
            assert!(got.get("score").is_none() && got["help"].is_string(), "{params}: {got}");
        }
    }
    // Nobody is asked by an eval, however it is run.
    let call = json!({"params": {"say": "{\"pending\": {\"message\": \"May I?\"}}"}}).to_string();
    let got = world.json(&["execute", MOOD, "--params", &call]).fails(1, "execute.tool_failed");
    assert!(got["error"].as_str().unwrap().ends_with(": May I?"), "{got}");
    let (_, got) = world.json(&["pending", "list", "--all"]);
    assert_eq!(got["pending"], json!([]));
}

#[test]
fn an_eval_that_takes_too_long_is_stopped_and_is_no_score() {
    let world = World::new();
    world.write(".ai/tools/acme/judge.py", JUDGE);
    world.signed(ITEM, &item("oneshot", "").replace("20000", "700"));
    let start = Instant::now();
    eval(&world, &json!({"sleep": 60}), &["--min-score", "0"]).fails(7, "protocol.timeout");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_an_eval_said_last_is_told_of_its_error() {
    let (_, got) = eval(&world(), &json!({"say": "{\"error\": \"no model\"}"}), &[]);
    assert_eq!(got["error"], "`tool:acme/mood` gave no score: no model");
    assert_eq!(got["data"]["stderr_tail"], "judging\n", "{got}");
    assert_eq!(got["item_id"], MOOD);
    assert_eq!(got["chain"][0], "acme/mood");
}

#[test]
fn the_trace_of_an_eval_is_that_of_any_run() {
    let world = world();
    let steps = |got: &Value| {
        let trace = got["trace"].as_array().unwrap_or_else(|| panic!("{got}")).iter();
        trace.map(|event| event["step"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (_, got) = eval(&world, &json!({"score": "1"}), &["--trace"]);
    let all = steps(&got);
    for step in ["resolve", "verify_integrity", "parse", "plan", "spawn", "exit"] {
        assert!(all.iter().any(|known| known == step), "{step}: {all:?}");
    }
    let (_, got) = eval(&world, &json!({"score": "2"}), &["--trace"]);
    assert_eq!(steps(&got).last().map(String::as_str), Some("refused"), "{got}");
    assert_eq!(got["code"], "protocol.bad_score");
    let said = world.rye(&["eval", "run", MOOD, "--content", "x", "--trace"]);
    assert!(said.stdout.starts_with("passed  ") && said.stderr.contains("spawn"), "{said:?}");
}

#[test]
fn a_server_scores_by_the_same_rules() {
    let world = World::new();
    world.write(".ai/tools/acme/judge.py", SERVER);
    world.signed(ITEM, &item("server", ""));
    for (params, status, code) in [
        (json!({"say": "\"result\":{\"score\":1}"}), 0, Value::Null),
        (json!({"say": "\"result\":{\"score\":0.5}"}), 1, json!("eval.failed")),
        (json!({"say": "\"result\":{\"score\":2}"}), 7, json!("protocol.bad_score")),
        (json!({"say": "\"result\":{\"score\":\"1\"}"}), 7, json!("protocol.bad_score")),
        (json!({"say": "\"result\":1"}), 7, json!("protocol.bad_score")),
        (json!({"say": "\"result\":{\"pending\":{}}"}), 7, json!("eval.error")),
        (json!({"say": "\"error\":{\"code\":1,\"message\":\"no\"}"}), 7, json!("eval.error")),
        (json!({"say": "\"result\":{\"score\":1}} x"}), 7, json!("protocol.bad_response")),
        (json!({"say": "", "die": true}), 7, json!("protocol.server_exited")),
    ] {
        let (got_status, got) = eval(&world, &params, &[]);
        assert_eq!((got_status, &got["code"]), (status, &code), "{params}: {got}");
    }
}

#[test]
fn all_keys_of_a_request_are_there_and_the_callers_parameters_stand_over_the_items() {
    let world = world_with("params: {least: 0.50, tone: kind, deep: {a: 1, b: 2}}\n");
    let got = eval(&world, &json!({"tone": "stern", "deep": {"c": 3}}), &[]).ok();
    let empty = json!({
        "messages": [], "turn_index": 0, "tool_calls": [], "variables": {}, "metadata": {},
    });
    let want = json!({
        "type": "mood",
        // By name: a mapping is replaced as a whole.
        "params": {"least": 0.5, "tone": "stern", "deep": {"c": 3}},
        "content": "a text",
        "context": empty,
    });
    assert_eq!(got["data"], want);
    let context =
        json!({"messages": [{"role": "user"}], "turn_index": 2, "variables": {"x": null}});
    world.write("context.json", context.to_string());
    let (_, got) = eval(&world, &json!({}), &["--context", "context.json"]);
    let got = &got["data"]["context"];
    assert_eq!(got["messages"], json!([{"role": "user"}]));
    assert_eq!((&got["turn_index"], &got["variables"]), (&json!(2), &json!({"x": null})));
    assert_eq!((&got["tool_calls"], &got["metadata"]), (&json!([]), &json!({})));
    world.signed(ITEM, &item("oneshot", "eval_type: tone_of_voice\n"));
    let (_, got) = eval(&world, &json!({}), &[]);
    assert_eq!(got["data"]["type"], "tone_of_voice");
}

#[test]
fn a_text_comes_from_the_line_a_file_or_standard_input() {
    let world = world();
    world.write("answer.txt", "from a file\n");
    let content = |given: &str, stdin: &[u8]| {
        let args = ["eval", "run", MOOD, "--content", given, "--json"];
        let said = world.rye_in(&world.project(), &args, stdin).ok();
        said.json()["data"]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(content("@answer.txt", b""), "from a file\n");
    assert_eq!(content("-", "aus \u{e4}".as_bytes()), "aus \u{e4}");
    assert_eq!(content("@@home", b""), "@home");
    assert_eq!(content("--verbose", b""), "--verbose");
    assert_eq!(content("", b""), "");
    let args = ["eval", "run", MOOD, "--content", "-", "--json"];
    let said = world.rye_in(&world.project(), &args, &vec![b'x'; (16 << 20) + 1]);
    assert_eq!(said.code(), "cli.input_file");
    let said = world.rye_in(&world.project(), &args, b"\xff");
    assert_eq!(said.code(), "cli.input_file");
}

#[test]
fn thresholds_include_their_ends_and_numbers_keep_their_digits() {
    let world = world();
    for (score, more, status) in [
        ("1", &[][..], 0),
        ("1.0", &[], 0),
        ("0.999999999999999999999", &[], 1),
        ("0", &[], 1),
        ("0.80", &["--min-score", "0.8"], 0),
        ("0.7999999999999999999999", &["--min-score", "0.8"], 1),
        ("0.2", &["--max-score", "0.20"], 0),
        ("0.2000000000000000000001", &["--max-score", "0.2"], 1),
        ("0.5", &["--min-score", "0.5", "--max-score", "0.5"], 0),
        ("-0.0", &["--max-score", "0"], 0),
    ] {
        let (got_status, got) = eval(&world, &json!({"score": score}), more);
        assert_eq!(got_status, status, "{score} {more:?}: {got}");
        assert_eq!(got["passed"], json!(status == 0));
        let code = if status == 0 { Value::Null } else { json!("eval.failed") };
        assert_eq!((&got["code"], &got["item_id"]), (&code, &json!(MOOD)));
        assert_eq!(
            (&got["use"], &got["detail"]),
            (&json!("assertion"), &json!("as asked\u{1b}[31m"))
        );
    }
    let params = json!({"score": "0.930"}).to_string();
    world
        .rye(&[
            "eval",
            "run",
            MOOD,
            "--content",
            "x",
            "--params",
            &params,
            "--min-score",
            "0.80",
            "--json",
        ])
        .shows("\"score\":0.930,")
        .shows("\"min_score\":0.80,\"max_score\":null")
        .shows("{\"n\":1.50}");
}

#[test]
fn a_guardrail_replaces_or_records_and_a_metric_only_measures() {
    let world = world();
    let low = json!({"score": "0.4"});
    let got = eval(&world, &low, &["--guardrail", "enforce"]).fails(1, "eval.failed");
    assert_eq!((&got["guardrail"], &got["passed"]), (&json!("enforce"), &json!(false)));
    let replacement = got["replacement"].as_str().unwrap();
    assert!(replacement.contains(MOOD) && !replacement.contains("a text"), "{replacement}");
    let (status, got) = eval(&world, &low, &["--guardrail", "monitor"]);
    assert_eq!((status, &got["status"]), (0, &json!("success")), "{got}");
    assert_eq!((&got["passed"], &got["score"]), (&json!(false), &json!(0.4)));
    assert!(got.get("replacement").is_none() && got.get("code").is_none(), "{got}");
    for how in ["enforce", "monitor"] {
        let (status, got) = eval(&world, &json!({"score": "1"}), &["--guardrail", how]);
        assert_eq!((status, &got["passed"]), (0, &json!(true)), "{got}");
        assert!(got.get("replacement").is_none(), "{got}");
        let (status, _) = eval(&world, &low, &["--guardrail", how, "--min-score", "0.4"]);
        assert_eq!(status, 0);
    }
    let (status, got) = eval(&world, &low, &["--metric"]);
    assert_eq!((status, &got["use"], &got["score"]), (0, &json!("metric"), &json!(0.4)), "{got}");
    assert!(got.get("passed").is_none() && got.get("min_score").is_none(), "{got}");
}

#[test]
fn people_are_told_in_a_line_or_two() {
    let world = world();
    let say = |score: &str, more: &[&str]| {
        let params = json!({"score": score}).to_string();
        let args = ["eval", "run", MOOD, "--content", "x", "--params", &params];
        world.rye(&[&args, more].concat())
    };
    let said = say("0.90", &["--min-score", "0.8"]);
    let want = "passed  tool:acme/mood  0.90  (at least 0.8)\n        as asked\\u{1b}[31m\n";
    assert_eq!((said.status, said.stdout.as_str(), said.stderr.as_str()), (0, want, ""));
    let said = say("0.4", &["--min-score", "0.5", "--max-score", "0.9"]);
    assert!(
        said.stdout.starts_with("FAILED  tool:acme/mood  0.4  (from 0.5 to 0.9)\n"),
        "{said:?}"
    );
    let error = "error[eval.failed]: `tool:acme/mood` scored 0.4, which is less than 0.5\n";
    assert!(said.stderr.starts_with(error), "{said:?}");
    assert_eq!(said.status, 1);
    say("0.4", &["--guardrail", "enforce"]).shows("This text was withheld: ");
    let said = say("0.4", &["--guardrail", "monitor"]);
    assert!(said.stdout.starts_with("FAILED  ") && said.stderr.is_empty(), "{said:?}");
    let said = say("0.40", &["--metric"]);
    assert_eq!((said.status, said.stdout.as_str(), said.stderr.as_str()), (0, "0.40\n", ""));
}

#[test]
fn what_is_asked_for_wrongly_is_said_before_anything_runs() {
    let world = world();
    world.write("bad.json", "{\"mesages\": []}");
    world.write("list.json", "[]");
    for (more, code) in [
        (&["--min-score", "1.1"][..], "cli.usage"),
        (&["--min-score", "80%"], "cli.usage"),
        (&["--min-score", "0.9", "--max-score", "0.8"], "cli.usage"),
        (&["--metric", "--min-score", "0.9"], "cli.usage"),
        (&["--metric", "--guardrail", "monitor"], "cli.usage"),
        (&["--guardrail", "shout"], "cli.usage"),
        (&["--context", "bad.json"], "cli.usage"),
        (&["--context", "list.json"], "cli.params_json"),
        (&["--context", "none.json"], "cli.input_file"),
    ] {
        let (status, got) = eval(&world, &json!({"exit": 9}), more);
        assert_eq!((status, &got["code"]), (2, &json!(code)), "{more:?}: {got}");
    }
    let args = ["eval", "run", MOOD, "--content", "x", "--params", "[1]", "--json"];
    assert_eq!(world.rye(&args).code(), "cli.params_json");
}

#[test]
fn only_an_eval_is_run_as_one_and_it_is_verified_like_any_item() {
    let world = world();
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let run = |item: &str| {
        let said = world.rye(&["eval", "run", item, "--content", "x", "--json"]);
        (said.status, said.code())
    };
    assert_eq!(run("acme/mood"), (0, String::new()));
    assert_eq!(run("tool:acme/mark"), (2, "eval.not_an_eval".into()));
    assert_eq!(run("directive:rye/core/create_tool"), (2, "eval.not_an_eval".into()));
    assert_eq!(run("knowledge:rye/overview"), (2, "eval.not_an_eval".into()));
    assert_eq!(run("tool:acme/moody"), (3, "resolve.not_found".into()));
    assert!(!world.project().join("marker").exists());
    world.write(".ai/tools/acme/judge.py", format!("{JUDGE}# more\n"));
    assert_eq!(run(MOOD), (4, "verify.dependency".into()));
}

#[test]
fn an_eval_without_a_program_is_not_signed_and_its_keys_are_for_evals_alone() {
    let world = World::new();
    let head = "version: \"1.0.0\"\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: x\n";
    let signed = |text: &str| {
        world.write(ITEM, format!("{head}{text}"));
        let said = world.rye(&["sign", MOOD, "--json"]);
        (said.status, said.stdout)
    };
    let (status, told) = signed("tool_type: eval\n");
    assert_eq!(status, 4, "{told}");
    assert!(told.contains("sign.invalid") && told.contains("needs an `exec` block"), "{told}");
    for (text, pointer) in [
        ("tool_type: exec\nparams: {a: 1}\nexec: {command: cat}\n", "/params"),
        ("tool_type: eval\neval_type: 7\nexec: {command: cat}\n", "/eval_type"),
        ("tool_type: eval\nparam: {}\nexec: {command: cat}\n", "/param"),
    ] {
        let (status, told) = signed(text);
        assert_eq!(status, 5, "{told}");
        assert!(told.contains("parse.metadata") && told.contains(pointer), "{text}: {told}");
    }
    assert_eq!(signed("tool_type: eval\nexec: {command: cat}\n").0, 0);
}

/// A world with a tool that answers `text`, and evals in its test spec.
fn spec_world(evals: &str) -> World {
    let world = world();
    let answer = MARKER_SH.replace(": > marker\n", "").replace("{\"ran\": true}", "\"kind words\"");
    world.signed(".ai/tools/acme/talk.sh", &answer);
    let talk = world.rye(&["execute", "acme/talk"]);
    assert!(talk.stdout.contains("kind words"), "the fixture: {talk:?}");
    world.write(".ai/tools/acme/talk.test.yaml", spec(evals));
    world
}

fn spec(evals: &str) -> String {
    format!("cases:\n  - name: is kind\n    evals:\n{evals}")
}

#[test]
fn a_spec_has_evals_score_what_the_tool_answered() {
    let world =
        spec_world("      - {eval: 'tool:acme/mood', params: {score: '0.80'}, min_score: 0.8}\n");
    assert_eq!(world.json(&["test"]).ok()["passed"], 1);
    let failing = "      - {eval: acme/mood, params: {score: '0.79'}, min_score: 0.8, max_score: 1.0}\n      \
                   - {eval: acme/mood, params: {score: '0.5'}}\n      \
                   - {eval: acme/mood, params: {score: '0.5'}, max_score: 0.5}\n";
    world.write(".ai/tools/acme/talk.test.yaml", spec(failing));
    let got = world.json(&["test"]).fails(1, "test.failed");
    let findings = got["cases"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{got}");
    assert_eq!(findings[0]["what"], "eval acme/mood");
    let why = findings[0]["why"].as_str().unwrap();
    assert!(why.starts_with("scored 0.79, which is less than 0.8\nas asked"), "{why}");
    assert!(findings[0].get("code").is_none(), "{got}");
    let why = findings[1]["why"].as_str().unwrap();
    assert!(why.starts_with("scored 0.5, which is less than 1\n"), "{why}");
    world
        .rye(&["test", "--junit", "report.xml"])
        .shows("eval acme/mood scored 0.79, which is less than 0.8");
    let xml = String::from_utf8(world.read("report.xml")).unwrap();
    assert!(xml.contains("failures=\"1\" errors=\"0\""), "{xml}");
    assert!(xml.contains("eval acme/mood scored 0.79, which is less than 0.8"), "{xml}");
}

#[test]
fn an_eval_of_a_spec_is_sent_the_text_and_works_in_the_folder_of_the_case() {
    let world = spec_world("      - {eval: acme/mood}\n");
    let judge = "#!/bin/sh\ncat >seen.json\necho '{\"score\": 1}'\n";
    world.write(".ai/tools/acme/judge.py", judge);
    world.rye(&["sign", MOOD]).ok();
    let seen = "    expect: {files: {seen.json: {includes: '\"content\":\"kind words\"'}}}\n";
    world.write(".ai/tools/acme/talk.test.yaml", spec("      - {eval: acme/mood}\n") + seen);
    // The files are looked at before: what an eval leaves is no result of the tool.
    let (_, got) = world.json(&["test"]);
    assert_eq!(got["cases"][0]["findings"][0]["what"], "files.seen.json", "{got}");
    assert!(!world.project().join("seen.json").exists());
    let judge = "#!/bin/sh\nread -r call\ncase \"$call\" in\n*'\"content\":\"kind words\"'*) echo \
                 '{\"score\": 1}' ;;\n*) echo '{\"score\": 0}' ;;\nesac\n";
    world.write(".ai/tools/acme/judge.py", judge);
    world.rye(&["sign", MOOD]).ok();
    world.write(".ai/tools/acme/talk.test.yaml", spec("      - {eval: acme/mood}\n"));
    world.json(&["test"]).ok();
    // Of a directive, the text that an agent gets.
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.write(
        ".ai/tools/acme/judge.py",
        judge.replace("\"content\":\"kind words\"", "hello to Ada"),
    );
    world.rye(&["sign", MOOD]).ok();
    let of_greet = spec("      - {eval: acme/mood}\n") + "    inputs: {who: Ada}\n";
    world.write(".ai/directives/acme/greet.test.yaml", of_greet);
    world.json(&["test", "directive:acme/greet"]).ok();
}

#[test]
fn an_eval_of_a_spec_that_errs_is_an_error_and_no_low_score() {
    let world =
        spec_world("      - {eval: acme/mood, params: {exit: 3, score: '1'}, min_score: 0}\n");
    for (evals, code) in [
        ("      - {eval: acme/mood, params: {exit: 3, score: '1'}, min_score: 0}\n", "eval.error"),
        ("      - {eval: acme/mood, params: {score: '7'}, min_score: 0}\n", "protocol.bad_score"),
        ("      - {eval: acme/talk}\n", "eval.not_an_eval"),
        ("      - {eval: acme/none}\n", "resolve.not_found"),
    ] {
        world.write(".ai/tools/acme/talk.test.yaml", spec(evals));
        let (status, got) = world.json(&["test", "--junit", "report.xml"]);
        assert_eq!(status, 1, "{got}");
        let finding = &got["cases"][0]["findings"][0];
        assert_eq!(finding["code"], code, "{got}");
        assert!(finding["why"].as_str().unwrap().starts_with("came to no score: "), "{got}");
        let xml = String::from_utf8(world.read("report.xml")).unwrap();
        assert!(xml.contains("failures=\"0\" errors=\"1\""), "{xml}");
        assert!(xml.contains(&format!("<error type=\"{code}\"")), "{xml}");
    }
}

#[test]
fn evals_of_a_spec_need_an_answer_and_are_read_strictly() {
    let world = spec_world("      - {eval: acme/mood}\n");
    let refused = |text: &str| {
        world.write(".ai/tools/acme/talk.test.yaml", text);
        let (status, got) = world.json(&["test"]);
        (status, got["code"].as_str().unwrap_or_default().to_owned())
    };
    for evals in [
        "      - {eval: 7}\n",
        "      - {min_score: 1}\n",
        "      - {eval: 'directive:acme/x'}\n",
        "      - {eval: '../x'}\n",
        "      - {eval: acme/mood, min_score: 80}\n",
        "      - {eval: acme/mood, min_score: '0.8'}\n",
        "      - {eval: acme/mood, min_score: 0.9, max_score: 0.8}\n",
        "      - {eval: acme/mood, params: []}\n",
        "      - acme/mood\n",
    ] {
        assert_eq!(refused(&spec(evals)), (5, "test.malformed".into()), "{evals}");
    }
    let unknown = spec("      - {eval: acme/mood, min_scoer: 0.8}\n");
    assert_eq!(refused(&unknown), (5, "test.unknown_key".into()));
    let dry = spec("      - {eval: acme/mood}\n") + "    dry_run: true\n";
    assert_eq!(refused(&dry), (5, "test.malformed".into()));
    // A tool that fails as expected has no answer to score.
    world.signed(".ai/tools/acme/talk.sh", &MARKER_SH.replace(": > marker", "exit 4"));
    let failing = spec("      - {eval: acme/mood}\n") + "    expect: {exit_code: 4}\n";
    world.write(".ai/tools/acme/talk.test.yaml", failing);
    let (status, got) = world.json(&["test"]);
    assert_eq!((status, &got["cases"][0]["findings"][0]["what"]), (1, &json!("evals")), "{got}");
}
