//! Hooks in threads (exec-protocol 6): those of tools for parents and children, those that judge
//! calls of a model, and those that are told how a conversation goes. Rows f07, f08 and f10.

use std::fs;

use serde_json::{Value, json};

use crate::hooks::hook;
use crate::threads::{
    ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, transcript, world,
};
use crate::world::{End, World};

/// Keeps what it is sent, each in a file of its own, and answers what stands in a file.
const BY_FILE: &str = "cat >\"$RYE_PROJECT/sent-$$\"; . \"$RYE_PROJECT/answer\"";
const ALLOW: &str = "echo '{\"allow\":true}'";
const BOTH: &str = "phases: [before_call, after_call]\n";

pub fn put(world: &World, is_own: bool, name: &str, kind: &str, more: &str, script: &str) {
    let program = format!(".ai/tools/hooks/{name}-it.sh");
    let item = format!(".ai/tools/hooks/{name}.yaml");
    let script = format!("#!/bin/sh\n{script}\n");
    let text = format!(
        "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: hooks\ndescription: A hook.\nhook: {kind}\n{more}\
         exec:\n  command: ./{name}-it.sh\n  files: [{name}-it.sh]\n"
    );
    if is_own {
        world.write_home(&program, script);
        world.signed_home(&item, &text);
    } else {
        world.write(&program, script);
        world.signed(&item, &text);
    }
}

/// What hooks were sent, in the order of the rounds or turns that it says.
fn sent(world: &World) -> Vec<Value> {
    let files = fs::read_dir(world.project()).unwrap().map(|entry| entry.unwrap().path());
    let files =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("sent-"));
    let mut all: Vec<Value> = files
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            fs::remove_file(path).unwrap();
            serde_json::from_str(&text).unwrap()
        })
        .collect();
    let at = |sent: &Value| {
        let turn =
            sent["request"]["round"].as_u64().or_else(|| sent["event"]["turn_index"].as_u64());
        let length = sent["event"]["messages"].as_array().map(Vec::len);
        (turn, length, sent["response"].is_object(), sent["phase"] == "session_end")
    };
    all.sort_by_key(at);
    all
}

fn echo() -> Value {
    call("acme_echo", &json!({"a": 1}))
}

/// A world whose model says a word, calls a tool and hands over.
pub fn two_turns() -> World {
    let mut first = echo();
    first["text"] = json!("I look, canary-said.");
    world(&json!([first, hand_over()]), "turns=\"9\"", ONLY_ECHO)
}

pub fn ran(world: &World) -> bool {
    let mark = world.project().join("ran");
    let ran = mark.exists();
    let _ = fs::remove_file(mark);
    ran
}

pub fn verdicts(world: &World, id: &str) -> Vec<(String, String)> {
    let all = events(world, id, "hook").into_iter();
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    all.filter(|event| event["verdict"].is_string())
        .map(|event| {
            assert!(event["took_ms"].is_u64(), "{event}");
            (text(&event, "phase"), text(&event, "verdict"))
        })
        .collect()
}

fn newest(world: &World) -> Value {
    rows(world).pop().unwrap()
}

fn id(row: &Value) -> &str {
    row["thread_id"].as_str().unwrap()
}

fn is_whole(world: &World, id: &str) {
    world.rye(&["thread", "verify", id]).ok();
}

#[test]
fn a_hook_is_asked_before_and_after_each_call_of_a_model_and_its_verdict_is_recorded() {
    let world = two_turns();
    put(&world, true, "guard", "provider", BOTH, BY_FILE);
    world.write("answer", ALLOW);
    let (status, told) = fork(&world, &["--trace"]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let sent = sent(&world);
    assert_eq!(sent.len(), 4);
    let request = &sent[0]["request"];
    assert_eq!((&sent[0]["hook"], &sent[0]["phase"]), (&json!("provider"), &json!("before_call")));
    assert_eq!((&request["provider_id"], &request["model"]), (&json!("acme/script"), &json!("m")));
    assert_eq!((&request["round"], &request["system_prompt"]), (&json!(1), &json!("")));
    let first = &request["messages"][0];
    assert_eq!(first["role"], "user");
    assert!(first["content"].as_str().unwrap().starts_with("Do it."), "{first}");
    let response = &sent[1]["response"];
    assert_eq!((&sent[1]["phase"], &sent[1]["request"]), (&json!("after_call"), request));
    assert_eq!(response["message"]["content"], "I look, canary-said.");
    assert_eq!(response["message"]["tool_calls"][0]["name"], "acme_echo");
    assert_eq!(
        (&response["provider_id"], &response["model"]),
        (&json!("acme/script"), &json!("m"))
    );
    assert!(response["latency_ms"].is_u64(), "{response}");
    assert_eq!((&sent[2]["request"]["round"], sent[2].get("response")), (&json!(2), None));
    let roles: Vec<&Value> =
        sent[2]["request"]["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    let id = told["thread_id"].as_str().unwrap();
    let allow = |phase: &str| (phase.to_owned(), "allow".to_owned());
    let both = [allow("before_call"), allow("after_call")];
    assert_eq!(verdicts(&world, id), [both.clone(), both].concat());
    let traced = told["trace"].as_array().unwrap().iter().filter(|event| event["step"] == "hook");
    assert_eq!(traced.count(), 4, "{}", told["trace"]);
    is_whole(&world, id);
}

#[test]
fn before_a_call_a_hook_denies_and_no_model_is_asked_and_nothing_is_spent() {
    let world = two_turns();
    put(&world, true, "guard", "provider", BOTH, BY_FILE);
    world.write("answer", "echo '{\"allow\":false,\"reason\":\"not this model\"}'");
    let told = fork(&world, &[]).fails(4, "hook.denied");
    assert_eq!(told["data"]["reason"], "not this model");
    let row = newest(&world);
    assert_eq!((&row["thread_status"], &row["thread_code"]), (&json!("failed"), &told["code"]));
    assert_eq!((&row["used"]["turns"], &row["used"]["tokens"]), (&json!(0), &json!(0)));
    assert_eq!(verdicts(&world, id(&row)), [("before_call".into(), "deny".into())]);
    assert_eq!(events(&world, id(&row), "hook")[0]["reason"], "not this model");
    assert!(events(&world, id(&row), "cognition_out").is_empty());
    assert!(!ran(&world));
    is_whole(&world, id(&row));
}

#[test]
fn what_a_hook_withholds_of_an_answer_is_in_no_record_and_what_it_took_is_counted() {
    let world = two_turns();
    put(&world, true, "guard", "provider", "phases: [after_call]\n", BY_FILE);
    world.write("answer", "echo '{\"allow\":false,\"reason\":\"too much\"}'");
    fork(&world, &[]).fails(4, "hook.denied");
    let row = newest(&world);
    assert_eq!((&row["used"]["turns"], &row["used"]["tokens"]), (&json!(1), &json!(15)), "{row}");
    let withheld = events(&world, id(&row), "cognition_withheld");
    assert_eq!(withheld[0]["usage"]["input_tokens"], 10, "{withheld:?}");
    let text = fs::read_to_string(transcript(&world, id(&row))).unwrap();
    assert!(!text.contains("canary-said"), "{text}");
    assert!(!ran(&world));
    is_whole(&world, id(&row));
    // It goes on where the hook allows it, with what it took before.
    world.write("answer", ALLOW);
    assert_eq!(world.json(&["thread", "resume", id(&row)]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(newest(&world)["used"]["turns"], 3);
    assert!(ran(&world));
}

#[test]
fn a_hook_replaces_what_a_model_is_asked_and_the_others_judge_what_counts() {
    let world = two_turns();
    let other = "read -r sent; printf '%s' \"$sent\" | python3 -c 'import json, sys\n\
         r = json.load(sys.stdin)[\"request\"]\n\
         m = r[\"messages\"]\n\
         m[0][\"content\"] = \"Do it differently.\"\n\
         print(json.dumps({\"allow\": True, \"replace\": \
         {\"system_prompt\": \"Be brief.\", \"messages\": m}}))'";
    let before = "phases: [before_call]\n";
    put(&world, true, "b-change", "provider", &format!("{before}replaces: true\n"), other);
    put(&world, true, "a-judge", "provider", BOTH, BY_FILE);
    world.write("answer", ALLOW);
    let told = fork(&world, &[]).ok();
    let sent = sent(&world);
    assert_eq!(sent.len(), 4);
    for sent in &sent {
        let request = &sent["request"];
        assert_eq!(request["system_prompt"], "Be brief.", "{sent}");
        assert_eq!(request["messages"][0]["content"], "Do it differently.", "{sent}");
    }
    let id = told["thread_id"].as_str().unwrap();
    let replaced = events(&world, id, "cognition_replaced");
    assert_eq!(replaced.len(), 2);
    let blob = replaced[1]["blob"].as_str().unwrap();
    let kept = transcript(&world, id).with_file_name("blobs").join(blob);
    let kept: Value = serde_json::from_str(&fs::read_to_string(kept).unwrap()).unwrap();
    assert_eq!(kept["system"], "Be brief.");
    assert_eq!(kept["messages"], sent[2]["request"]["messages"]);
    let notes = events(&world, id, "hook").into_iter().filter(|it| it["was_sha256"].is_string());
    assert_eq!(notes.count(), 2);
    // It is of that request alone.
    let told_first = &events(&world, id, "cognition_in")[0]["user"];
    assert!(told_first.as_str().unwrap().starts_with("Do it."), "{told_first}");
    is_whole(&world, id);
}

#[test]
fn a_hook_replaces_an_answer_and_what_it_took_out_is_not_run() {
    let world = two_turns();
    let other = "read -r sent; case \"$sent\" in *canary-said*after*|*after*canary-said*) \
         echo '{\"allow\":true,\"replace\":{\"message\":{\"role\":\"assistant\",\
         \"content\":\"***\",\"tool_calls\":[]}}}';; *) echo '{\"allow\":true}';; esac";
    let after = "phases: [after_call]\nreplaces: true\n";
    put(&world, true, "change", "provider", after, other);
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let id = told["thread_id"].as_str().unwrap();
    let said = events(&world, id, "cognition_out");
    assert_eq!((&said[0]["content"], &said[0]["tool_calls"]), (&json!("***"), &json!([])));
    assert_eq!(said[0]["usage"]["input_tokens"], 10);
    assert!(!ran(&world));
    let text = fs::read_to_string(transcript(&world, id)).unwrap();
    assert!(!text.contains("canary-said"), "{text}");
    is_whole(&world, id);
}

#[test]
fn f07_in_a_thread_every_way_to_give_no_answer_denies_before_and_after_a_call_of_a_model() {
    let replaced =
        |replace: Value| format!("echo '{}'", json!({"allow": true, "replace": replace}));
    let message = json!({"role": "user", "content": "x"});
    let both: Vec<String> = [
        "",
        "true",
        "echo '{}'",
        "echo '{\"decision\":\"block\"}'",
        "echo '{\"allow\":\"false\"}'",
        "echo '{\"allow\":\"yes\"}'",
        "echo '{\"Allow\":true}'",
        "echo '{\"allow\":true}'; exit 2",
        "kill -9 $$",
        "sleep 60; echo '{\"allow\":true}'",
        "echo '{\"allow\":true}' '{\"allow\":true}'",
        "echo '{\"allow\":true,\"replace\":{\"args\":{}}}'",
        "echo '{\"allow\":true,\"replace\":{\"content\":\"x\"}}'",
    ]
    .map(str::to_owned)
    .into();
    let before = [json!({"message": message}), json!({"messages": {}}), json!({"messages": [1]})];
    let before = before.into_iter().chain([json!({"system_prompt": 1})]).map(replaced);
    let after = [json!({"messages": []}), json!({"message": "x"}), json!({"message": message})];
    let after = after.into_iter().map(replaced);
    for (phase, more) in
        [("before_call", before.collect::<Vec<_>>()), ("after_call", after.collect())]
    {
        let world = two_turns();
        let head = format!("phases: [{phase}]\nreplaces: true\n");
        put(&world, true, "guard", "provider", &head, BY_FILE);
        let item = ".ai/tools/hooks/guard.yaml";
        let text = fs::read_to_string(world.home().join(item)).unwrap();
        let text =
            text.split_once('\n').unwrap().1.replace("exec:\n", "exec:\n  timeout_ms: 900\n");
        world.signed_home(item, &text);
        world.write("answer", ALLOW);
        assert_eq!((fork(&world, &[]).0, ran(&world)), (0, true), "the fixture works untouched");
        for answer in both.iter().chain(&more) {
            world.write("answer", answer);
            let (status, told) = fork(&world, &[]);
            let shown = format!("{phase} {answer}: {told}");
            assert_eq!((status, &told["code"]), (4, &json!("hook.denied")), "{shown}");
            assert_eq!(told["data"]["phase"], phase, "{shown}");
            assert!(!ran(&world), "{shown}");
        }
    }
}

#[test]
fn the_time_of_a_thread_ends_it_while_a_hook_is_asked_whose_own_time_is_longer_table() {
    for (kind, phase) in [
        ("provider", "before_call"),
        ("provider", "after_call"),
        ("tool", "before_execution"),
        ("tool", "after_execution"),
    ] {
        let world = two_turns();
        let head = format!("phases: [{phase}]\n");
        let slow = format!("sleep 40; echo x >>\"$RYE_PROJECT/judged\"; {ALLOW}");
        put(&world, true, "guard", kind, &head, &slow);
        let item = ".ai/tools/hooks/guard.yaml";
        let text = fs::read_to_string(world.home().join(item)).unwrap();
        let text =
            text.split_once('\n').unwrap().1.replace("exec:\n", "exec:\n  timeout_ms: 60000\n");
        world.signed_home(item, &text);
        let (status, told) = fork(&world, &["--limit", "duration_seconds=2"]);
        let limit = (status, &told["code"], &told["data"]["limit"]);
        let want = (4, &json!("thread.limit_exceeded"), &json!("duration_seconds"));
        assert_eq!(limit, want, "{phase}: {told}");
        assert!(!world.project().join("judged").exists(), "{phase}: it was waited for");
        let row = newest(&world);
        let ended = (&row["thread_status"], &row["thread_code"]);
        assert_eq!(ended, (&json!("failed"), &told["code"]), "{phase}: {row}");
        is_whole(&world, id(&row));
    }
}

#[test]
fn f10_no_thread_starts_below_a_hook_that_was_changed_or_taken_away_or_is_missing() {
    let world = two_turns();
    put(&world, true, "guard", "provider", BOTH, BY_FILE);
    world.write("answer", ALLOW);
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    let program = ".ai/tools/hooks/guard-it.sh";
    let file = world.home().join(".ai/tools/hooks/guard.yaml");
    let signed = fs::read_to_string(&file).unwrap();
    let unusable = || {
        let before = rows(&world).len();
        fork(&world, &[]).fails(4, "hook.unusable");
        assert_eq!(rows(&world).len(), before, "nothing is registered");
    };
    let right = fs::read_to_string(world.home().join(program)).unwrap();
    world.write_home(program, format!("#!/bin/sh\n{ALLOW}\n"));
    unusable();
    world.write_home(program, &right);
    fs::write(&file, signed.replace("A hook.", "A hook!")).unwrap();
    unusable();
    fs::write(&file, signed.split_once('\n').unwrap().1).unwrap();
    unusable();
    fs::write(&file, &signed).unwrap();
    assert_eq!(fork(&world, &[]).0, 0);
    // One that the policy requires.
    let policy = ".ai/config/rye/policy.yaml";
    world.signed_home(policy, "required_hooks: [hooks/guard]\nsandbox_off: [\"tool:**\"]\n");
    assert_eq!(fork(&world, &[]).0, 0);
    fs::remove_file(&file).unwrap();
    unusable();
}

#[test]
fn f10_a_hook_of_a_project_is_asked_of_no_model_and_shadows_none() {
    let world = two_turns();
    let refuses = "echo '{\"allow\":false}'";
    put(
        &world,
        false,
        "own",
        "provider",
        BOTH,
        &format!("touch \"$RYE_PROJECT/asked\"; {refuses}"),
    );
    assert_eq!(fork(&world, &[]).0, 0);
    assert!(!world.project().join("asked").exists());
    // Of the same name: the person's is asked all the same.
    put(&world, true, "own", "provider", BOTH, refuses);
    put(&world, false, "own", "provider", BOTH, ALLOW);
    assert_eq!(fork(&world, &[]).1["code"], "hook.denied");
}

#[test]
fn a_hook_of_tools_judges_parents_and_children_and_each_record_has_its_own_verdicts() {
    let start = call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"}));
    let permissions = "<execute><tool>acme.*</tool><directive>acme.child</directive></execute>";
    let world = world(&json!([echo(), start, hand_over()]), "turns=\"9\"", permissions);
    world.signed_home(
        ".ai/tools/acme/child_script.yaml",
        &provider(&json!([echo(), call("acme_other", &json!({})), hand_over()])),
    );
    let child = directive("child", "turns=\"9\"", permissions);
    let child = child.replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &child);
    let before = "phases: [before_execution]\nmatch: [\"acme/echo\"]\n";
    hook(&world, "guard", before, "echo '{\"allow\":false,\"reason\":\"no echo\"}'");
    fork(&world, &[]).ok();
    let all = rows(&world);
    assert_eq!(all.len(), 2);
    for row in &all {
        let gave = events(&world, id(row), "tool_call_result");
        let gave: Value = serde_json::from_str(gave[0]["content"].as_str().unwrap()).unwrap();
        assert_eq!(gave["error_kind"], "blocked_by_hook", "{gave}");
        assert!(gave["message"].as_str().unwrap().contains("no echo"), "{gave}");
        assert_eq!(verdicts(&world, id(row)), [("before_execution".into(), "deny".into())]);
        is_whole(&world, id(row));
    }
    // Only the other tool ran, which the hook is not about.
    assert_eq!(fs::read_to_string(world.project().join("ran")).unwrap(), "x\n");
}

/// The call that runs a directive is judged as every other call, once; that of a tool where it runs.
#[test]
fn a_hook_of_tools_is_asked_where_a_thread_runs_a_directive_by_either_door() {
    let args = |item: &str, thread: &str| json!({"item_id": item, "thread": thread});
    let rows = [
        (args("directive:acme/child", "fork"), 1),
        (args("directive:acme/child", "inline"), 1),
        (args("acme/child", "inline"), 1),
        (json!({"item_id": "tool:acme/echo"}), 0),
    ];
    for (asked, times) in rows {
        let permissions = "<execute><tool>acme.*</tool><directive>acme.child</directive></execute>";
        let turns = json!([call("rye_execute", &asked), hand_over()]);
        let world = world(&turns, "turns=\"9\"", permissions);
        world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&json!([hand_over()])));
        let child = directive("child", "turns=\"9\"", permissions);
        let child = child.replace("acme/script", "acme/child_script");
        world.signed(".ai/directives/acme/child.md", &child);
        let more = "phases: [before_execution, after_execution]\nmatch: [\"rye/execute\"]\n";
        hook(&world, "guard", more, BY_FILE);
        world.write("answer", ALLOW);
        assert_eq!(fork(&world, &[]).0, 0, "{asked}");
        let told: Vec<Value> = sent(&world);
        assert_eq!(told.len(), times * 2, "{asked}: {told:?}");
        let before = told.iter().find(|sent| sent["phase"] == "before_execution");
        assert!(before.is_none_or(|sent| sent["request"]["args"] == asked), "{told:?}");
        world.write("answer", "echo '{\"allow\":false,\"reason\":\"not now\"}'");
        assert_eq!(fork(&world, &[]).0, 0, "{asked}");
        let newest = crate::threads::rows(&world).pop().unwrap();
        let gave = events(&world, id(&newest), "tool_call_result");
        let gave: Value = serde_json::from_str(gave[0]["content"].as_str().unwrap()).unwrap();
        let want = if times == 1 { json!("blocked_by_hook") } else { Value::Null };
        assert_eq!(gave["error_kind"], want, "{asked}: {gave}");
    }
}

#[test]
fn hooks_of_sessions_are_told_of_its_start_of_each_turn_and_of_its_end_and_change_nothing() {
    let phases = "phases: [session_start, session_update, session_end]\n";
    let world = two_turns();
    put(&world, true, "watch", "session", &format!("{phases}compat: promptkit\n"), BY_FILE);
    put(&world, true, "broken", "session", phases, "exit 3");
    put(&world, false, "own", "session", phases, "touch \"$RYE_PROJECT/asked\"");
    world.write("answer", "echo '{\"ack\":true}'");
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let id = told["thread_id"].as_str().unwrap();
    let sent = sent(&world);
    let phases: Vec<&Value> = sent.iter().map(|sent| &sent["phase"]).collect();
    assert_eq!(phases, ["session_start", "session_update", "session_update", "session_end"]);
    let turns: Vec<&Value> = sent.iter().map(|sent| &sent["event"]["turn_index"]).collect();
    assert_eq!(turns, [&json!(0), &json!(1), &json!(2), &json!(2)]);
    for sent in &sent {
        let event = &sent["event"];
        for key in ["session_id", "conversation_id", "SessionID", "ConversationID"] {
            assert_eq!(event[key], id, "{key}");
        }
        assert_eq!((&sent["hook"], &event["TurnIndex"]), (&json!("session"), &event["turn_index"]));
    }
    let lengths: Vec<usize> =
        sent.iter().map(|sent| sent["event"]["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [1, 3, 5, 5]);
    // The directive is the project's, so its own hook is told too.
    assert!(world.project().join("asked").exists());
    let told = verdicts(&world, id);
    assert_eq!(told.len(), 12);
    assert!(told.iter().all(|(_, verdict)| verdict == "told"), "{told:?}");
    is_whole(&world, id);
}

#[test]
fn a_hook_of_a_session_is_told_of_the_next_when_it_has_done_with_the_one_before() {
    let world = two_turns();
    let script = "read -r told\nphase=${told#*'\"phase\":\"session_'}\nphase=${phase%%'\"'*}\n\
                  case $phase in start) sleep 0.1 ;; update) sleep 0.03 ;; esac\n\
                  echo $phase >>\"$RYE_PROJECT/order\"";
    let phases = "phases: [session_start, session_update, session_end]\n";
    put(&world, true, "slow", "session", phases, script);
    assert_eq!(fork(&world, &[]).0, 0);
    let order = fs::read_to_string(world.project().join("order")).unwrap();
    assert_eq!(order, "start\nupdate\nupdate\nend\n");
}

#[test]
fn hooks_of_sessions_are_told_of_a_thread_that_is_continued_and_of_the_one_that_goes_on() {
    let used = |tokens: u64, mut turn: Value| {
        turn["usage"] = json!({"input": tokens - 5, "output": 5});
        turn
    };
    let summary = json!({"text": "Echoed twice.", "usage": {"input": 900, "output": 20}});
    let turns =
        json!([used(300, echo()), used(950, echo()), summary, used(120, echo()), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    let window = "\"context_window\":1000,\"answer_tokens\"";
    let narrow = provider(&turns).replace("\"answer_tokens\"", window);
    world.signed_home(".ai/tools/acme/script.yaml", &narrow);
    let phases = "phases: [session_start, session_update, session_end]\n";
    put(&world, true, "watch", "session", phases, BY_FILE);
    world.write("answer", "exit 3");
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let all = rows(&world);
    let first = all.iter().find(|row| row["thread_status"] == "continued").expect("one of them");
    let (first, second) = (id(first), first["continued_by"].as_str().unwrap());
    assert_eq!(told["thread_id"], second);
    let sent = sent(&world);
    for (id, want) in [
        (first, [("start", 0, 1), ("update", 1, 3), ("update", 2, 5), ("end", 3, 7)]),
        (second, [("start", 3, 1), ("update", 4, 3), ("update", 5, 5), ("end", 5, 5)]),
    ] {
        let of = sent.iter().filter(|sent| sent["event"]["session_id"] == id);
        let got: Vec<_> = of
            .map(|sent| {
                let phase = sent["phase"].as_str().unwrap().trim_start_matches("session_");
                let event = &sent["event"];
                let length = event["messages"].as_array().unwrap().len();
                assert_eq!(event["conversation_id"], id);
                (phase, event["turn_index"].as_u64().unwrap(), length)
            })
            .collect();
        assert_eq!(got, want, "{id}");
        let told = verdicts(&world, id);
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told.iter().all(|(_, verdict)| verdict == "told"), "{told:?}");
        is_whole(&world, id);
    }
    assert_eq!(sent.len(), 8);
}

/// A tool that prints a secret.
pub const TELLS: &str = "# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
    # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n\
    # description = \"Tells.\"\n# secrets = [\"ACME_SECRET\"]\n# ///\n\
    echo x >> ran\necho \"it is $ACME_SECRET\"\n";

#[test]
fn f08_in_a_thread_no_hook_is_sent_a_secret_of_the_environment() {
    let world = two_turns().env("ACME_SECRET", "canary-93b1e0");
    world.signed(".ai/tools/acme/echo.sh", TELLS);
    let session = "phases: [session_start, session_update, session_end]\n";
    let tool = "phases: [before_execution, after_execution]\n";
    for (name, kind, phases) in
        [("a", "provider", BOTH), ("b", "session", session), ("c", "tool", tool)]
    {
        let keeps = "cat >>\"$RYE_PROJECT/payloads\"; env >>\"$RYE_PROJECT/payloads\"";
        put(&world, true, name, kind, phases, &format!("{keeps}; {ALLOW}"));
    }
    let told = fork(&world, &["--trace"]).ok();
    assert!(ran(&world));
    let payloads = String::from_utf8(world.read("payloads")).unwrap();
    assert!(payloads.matches("it is ").count() >= 2, "the tool was heard: {payloads}");
    // A hook that judges the answer of a tool sees the answer, as it always does; nobody else does.
    let id = told["thread_id"].as_str().unwrap();
    let others = payloads.lines().filter(|line| !line.contains("\"phase\":\"after_execution\""));
    let others: String = others.collect();
    let text = fs::read_to_string(transcript(&world, id)).unwrap();
    for (what, text) in [("payload", others), ("record", text), ("answer", told.to_string())] {
        assert!(!text.contains("canary-93b1e0"), "{what}: {text}");
    }
}
