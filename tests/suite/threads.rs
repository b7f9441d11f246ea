//! Directives that run as threads, with a model that is a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::sandbox::{levels, not_run};
use crate::world::{End, World};

pub const RESEARCH: &[&str] =
    &["execute", "directive:rye/examples/research", "--thread", "fork", "-i", "topic=rye"];

/// A tool that gives back what it is given, and leaves a trace.
pub const ECHO: &str = "# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
    # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n\
    # description = \"Echoes what it is given.\"\n# ///\necho x >> ran\ncat\n";

/// A directive that may call what the permissions say.
pub fn directive(name: &str, limits: &str, permissions: &str) -> String {
    format!(
        "# A thread\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n<metadata>\
         <description>d</description><category>acme</category><author>a</author>\
         <model provider=\"acme/script\"/><limits {limits}/>\
         <acknowledge risk=\"unrestricted\">a test</acknowledge>\
         <permissions>{permissions}</permissions></metadata>\n\
         <outputs><output name=\"n\" type=\"integer\">a number</output></outputs>\n\
         </directive>\n```\n\nDo it.\n"
    )
}

pub fn provider(turns: &Value) -> String {
    let header = "version: \"1.0.0\"\ntool_type: provider\ncategory: acme\ndescription: d\n";
    let block = json!({
        "kind": "scripted", "models": {"general": "m"},
        "prices": {"m": {"input": 1, "output": 2}}, "answer_tokens": 100, "turns": turns,
    });
    format!("{header}provider: {block}\n")
}

pub fn call(name: &str, arguments: &Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}], "usage": {"input": 10, "output": 5}})
}

pub fn hand_over() -> Value {
    call("directive_return", &json!({"n": 7}))
}

pub const ONLY_ECHO: &str = "<execute><tool>acme.echo</tool></execute>";

/// A project with a directive and a tool, and a provider in the user space that says these turns.
pub fn world(turns: &Value, limits: &str, permissions: &str) -> World {
    let world =
        World::new().with(".ai/tools/acme/echo.sh", ECHO).with(".ai/tools/acme/other.sh", ECHO);
    world.signed_home(".ai/tools/acme/script.yaml", &provider(turns));
    world.signed(".ai/directives/acme/go.md", &directive("go", limits, permissions));
    world
}

pub fn fork(world: &World, more: &[&str]) -> (i32, Value) {
    world.json(&[&["execute", "directive:acme/go", "--thread", "fork"], more].concat())
}

pub fn rows(world: &World) -> Vec<Value> {
    world.json(&["thread", "list"]).1["threads"].as_array().unwrap().clone()
}

/// The transcript of the only thread, or of the one with that id.
pub fn transcript(world: &World, id: &str) -> PathBuf {
    world.project().join(".ai/state/threads").join(id).join("transcript.jsonl")
}

pub fn events(world: &World, id: &str, name: &str) -> Vec<Value> {
    let told = world.json(&["thread", "show", id]).ok();
    // A detached one may not have begun.
    let all = told["data"]["events"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|event| event["event"] == name).collect()
}

/// What the calls of a thread gave, as JSON.
fn results(world: &World, id: &str) -> Vec<Value> {
    let results = events(world, id, "tool_call_result").into_iter();
    results.map(|event| serde_json::from_str(event["content"].as_str().unwrap()).unwrap()).collect()
}

fn times_run(world: &World) -> usize {
    fs::read_to_string(world.project().join("ran")).unwrap_or_default().lines().count()
}

#[test]
fn the_shipped_example_runs_in_a_home_with_fresh_keys_with_tools_a_page_a_snippet_and_a_child() {
    let world = World::new().with_file("note.md", "About rye.\n");
    let told = world.json(RESEARCH).ok();
    let id = told["thread_id"].as_str().unwrap();
    for (key, want) in [
        ("status", json!("success")),
        ("type", json!("directive")),
        ("item_id", json!("rye/examples/research")),
        ("directive", json!("rye/examples/research")),
        ("result", json!("I hand it over.")),
    ] {
        assert_eq!(told[key], want, "{key}");
    }
    assert!(id.starts_with("rye/examples/research/research-"), "{id}");
    assert_eq!(told["outputs"]["sources"], json!(["knowledge:rye/overview"]));
    let cost = &told["cost"];
    assert_eq!(
        (&cost["turns"], &cost["spawns"], &cost["tokens"]),
        (&json!(5), &json!(1), &json!(8_000))
    );
    let gave = results(&world, id);
    assert_eq!(gave.len(), 7);
    let called = events(&world, id, "tool_call_start");
    let called: Vec<&Value> = called.iter().map(|call| &call["name"]).collect();
    assert_eq!(
        json!(called),
        json!([
            "rye_file_system_list",
            "rye_file_system_glob",
            "rye_file_system_grep",
            "rye_fetch",
            "rye_code",
            "rye_execute",
            "directive_return",
        ])
    );
    assert!(gave[0]["entries"].is_array(), "{}", gave[0]);
    assert_eq!(gave[1]["paths"], json!(["note.md"]));
    assert_eq!(gave[2]["matches"].as_array().map(Vec::len), Some(1), "{}", gave[2]);
    assert!(gave[3]["content"].as_str().unwrap().contains("# "), "{}", gave[3]);
    if cfg!(feature = "code") {
        assert_eq!(gave[4]["value"]["**/*.md"], 1, "{}", gave[4]);
    }
    assert_eq!(
        gave[5]["outputs"]["sentence"],
        "rye runs tools and directives whose every file is signed."
    );
    let all = rows(&world);
    assert_eq!(all.len(), 2);
    assert_eq!(all[1]["parent"], all[0]["thread_id"]);
    for row in &all {
        assert_eq!(row["thread_status"], "completed");
        world.rye(&["thread", "verify", row["thread_id"].as_str().unwrap()]).ok();
    }
    let plain = world.rye(RESEARCH);
    assert!(plain.stdout.starts_with("{\"summary\":"), "{plain:?}");
}

/// As for somebody who has just installed rye, on a machine that reaches nobody.
#[test]
fn the_shipped_example_runs_in_an_empty_home_with_the_sandbox_of_everybody_and_without_a_network() {
    let test = "the_shipped_example_runs_in_an_empty_home_with_the_sandbox_of_everybody";
    if levels(test).is_empty() {
        return;
    }
    let world = World::new_beside_tmp().held().with_file("note.md", "About rye.\n");
    let alone = [&["--net"][..], &["--user", "--map-root-user", "--net"]];
    let apart =
        |before: &&&[&str]| world.run_through("unshare", before, &["--version"]).status == 0;
    let Some(before) = alone.iter().find(apart) else {
        return not_run(test, "all levels", "no namespace of the network can be made");
    };
    let said = world.run_through("unshare", before, &[RESEARCH, &["--json"]].concat()).ok();
    let told = said.json();
    assert_eq!(told["outputs"]["sources"], json!(["knowledge:rye/overview"]), "{told}");
    let gave = results(&world, told["thread_id"].as_str().unwrap());
    assert_eq!((&gave[1]["paths"], gave.len()), (&json!(["note.md"]), 7), "{gave:?}");
    for told in &gave {
        assert_eq!(told["error_kind"], Value::Null, "{told}");
    }
    assert_eq!(rows(&world).len(), 2);
}

#[test]
fn the_record_is_its_owners_alone_and_git_leaves_it_out() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    let (_, told) = fork(&world, &[]);
    let path = transcript(&world, told["thread_id"].as_str().unwrap());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(mode(&world.project().join(".ai/state/threads")), 0o700);
    let ignored = ".ai/state/threads/.gitignore";
    assert_eq!(world.read(ignored), b"*\n");
    // A clone may say otherwise.
    world.write(ignored, "!*\n");
    fork(&world, &[]);
    assert_eq!(world.read(ignored), b"*\n");
}

#[test]
fn whatever_a_model_calls_wrongly_is_told_to_it_and_it_goes_on_table() {
    let rows = [
        (call("acme_echo", &json!({"a": 1})), Value::Null),
        (call("acme_echo", &json!("")), Value::Null),
        (call("acme_echo", &json!("[1]")), json!("invalid_tool_arguments")),
        (call("acme_echo", &json!("{\"a\":")), json!("invalid_tool_arguments")),
        (call("acme_ech", &json!({})), json!("unknown_tool")),
        (call("acme_other", &json!({})), json!("unknown_tool")),
        (call("rye_execute", &json!({"item_id": "tool:acme/echo"})), Value::Null),
        (call("rye_execute", &json!({"item_id": "tool:acme/other"})), json!("permission_denied")),
        (call("rye_execute", &json!({"item_id": "acme/other"})), json!("permission_denied")),
        (
            call("rye_execute", &json!({"item_id": "tool:acme/other@project"})),
            json!("permission_denied"),
        ),
        (
            call("rye_execute", &json!({"item_id": "tool:acme/none"})),
            json!("tool_execution_exception"),
        ),
        (call("rye_execute", &json!({"item": "tool:acme/echo"})), json!("invalid_tool_arguments")),
        (call("rye_fetch", &json!({"item_id": "knowledge:rye/overview"})), json!("unknown_tool")),
        (call("directive_return", &json!({})), json!("invalid_tool_arguments")),
        (call("directive_return", &json!({"n": "x"})), json!("invalid_tool_arguments")),
    ];
    let turns: Vec<Value> =
        rows.iter().map(|(turn, _)| turn.clone()).chain([hand_over()]).collect();
    let world = world(&json!(turns), "turns=\"30\"", ONLY_ECHO);
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let gave = results(&world, told["thread_id"].as_str().unwrap());
    assert_eq!(gave.len(), rows.len() + 1);
    for ((turn, want), gave) in rows.iter().zip(&gave) {
        assert_eq!(&gave["error_kind"], want, "{turn}: {gave}");
    }
    assert_eq!(gave[0], json!({"a": 1}));
    assert_eq!(gave[4]["detail"][0], "acme_echo", "near names");
    assert_eq!(times_run(&world), 3, "nothing ran that was not permitted");
}

#[test]
fn each_limit_stops_at_its_limit_and_the_record_is_whole() {
    let again = |turn: Value| json!(vec![turn; 20]);
    let echo = || call("acme_echo", &json!({}));
    let below = || call("rye_execute", &json!({"item_id": "directive:acme/go", "thread": "fork"}));
    let itself = "<execute><tool>acme.echo</tool><directive>acme.go</directive></execute>";
    let rows: [(&str, Value, &str, &str, u64); 4] = [
        ("turns=3", again(echo()), ONLY_ECHO, "turns", 3),
        ("tokens=2000", again(echo()), ONLY_ECHO, "tokens", 2_000),
        ("spend=0.002", again(echo()), ONLY_ECHO, "spend", 2_000),
        ("turns=6", again(below()), itself, "turns", 6),
    ];
    for (said, turns, permissions, limit, max) in rows {
        let world = world(&turns, "turns=\"19\"", permissions);
        let (status, told) = fork(&world, &["--limit", said]);
        let got = (status, told["code"].as_str().unwrap(), told["data"]["limit"].as_str().unwrap());
        assert_eq!(got, (4, "thread.limit_exceeded", limit), "{told}");
        assert_eq!(told["data"]["max"], max);
        let current = told["data"]["current"].as_u64().unwrap();
        assert!(if limit == "turns" { current == max } else { current > max }, "{told}");
        if limit == "spend" {
            let said = told["error"].as_str().unwrap();
            assert!(said.ends_with(" and 0.002 are allowed"), "as it was given: {said}");
        }
        let row = &self::rows(&world)[0];
        assert_eq!((&row["thread_status"], &row["thread_code"]), (&json!("failed"), &told["code"]));
        for (used, most) in [("turns", 19), ("tokens", 1_000_000), ("spend_micros", 5_000_000)] {
            let most = row["limits"][used].as_u64().unwrap_or(most);
            assert!(row["used"][used].as_u64().unwrap() <= most, "{used}: {row}");
        }
        world.rye(&["thread", "verify", row["thread_id"].as_str().unwrap()]).ok();
    }
}

#[test]
fn spawns_and_depth_stop_what_starts_itself_and_its_model_is_told() {
    let below = call("rye_execute", &json!({"item_id": "directive:acme/go", "thread": "fork"}));
    let itself = "<execute><directive>acme.go</directive></execute>";
    for (said, limit, threads) in
        [("depth=2", "depth", 3), ("spawns=1", "spawns", 2), ("depth=0", "depth", 1)]
    {
        let world = world(&json!([below, hand_over()]), "turns=\"19\"", itself);
        fork(&world, &["--limit", said]).ok();
        let all = rows(&world);
        assert_eq!(all.len(), threads, "{said}");
        let last = all.last().unwrap()["thread_id"].as_str().unwrap();
        let refused = &results(&world, last)[0];
        assert_eq!(refused["detail"]["code"], "thread.limit_exceeded", "{refused}");
        assert_eq!(refused["detail"]["data"]["limit"], limit, "{refused}");
    }
}

#[test]
fn the_time_that_a_caller_gives_and_that_of_a_thread_above_end_a_thread_table() {
    let below = call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"}));
    let may = "<execute><tool>acme.slow</tool><directive>acme.child</directive></execute>";
    let world = world(&json!([below, hand_over()]), "turns=\"9\"", may);
    let slow = ECHO.replace("echo x >> ran\ncat\n", "sleep 40; : > slept\n");
    world.signed(".ai/tools/acme/slow.sh", &slow);
    let child = provider(&json!([call("acme_slow", &json!({})), hand_over()]));
    world.signed_home(".ai/tools/acme/child_script.yaml", &child);
    let text = directive("child", "turns=\"9\"", may).replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &text);
    let child = ["execute", "directive:acme/child", "--thread", "fork", "--timeout", "700ms"];
    for (args, threads) in [
        (&child[..], 1),
        (&["execute", "directive:acme/go", "--thread", "fork", "--timeout", "1"], 2),
        (&["execute", "directive:acme/go", "--thread", "fork", "--limit", "duration_seconds=1"], 2),
    ] {
        let before = rows(&world).len();
        let (status, told) = world.json(args);
        let limit = (status, &told["code"], &told["data"]["limit"]);
        let want = (4, &json!("thread.limit_exceeded"), &json!("duration_seconds"));
        assert_eq!(limit, want, "{args:?}: {told}");
        assert!(!world.project().join("slept").exists(), "{args:?}");
        let all = rows(&world);
        assert_eq!(all.len() - before, threads, "{args:?}");
        for row in &all[before..] {
            assert_eq!(row["thread_status"], "failed", "{args:?}: {row}");
        }
    }
}

#[test]
fn the_help_for_a_child_at_a_limit_does_not_name_a_resume_that_is_refused() {
    let below = call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"}));
    let may = "<execute><tool>acme.echo</tool><directive>acme.child</directive></execute>";
    let world = world(&json!([below, hand_over()]), "turns=\"9\"", may);
    let child = provider(&json!([call("acme_echo", &json!({})), hand_over()]));
    world.signed_home(".ai/tools/acme/child_script.yaml", &child);
    let text = directive("child", "turns=\"1\"", may).replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &text);
    assert_eq!(fork(&world, &[]).0, 0);
    let (told, alone) = (
        rows(&world)[1].clone(),
        world.json(&["execute", "directive:acme/child", "--thread", "fork"]).1,
    );
    assert_eq!(
        (&told["thread_code"], &alone["code"]),
        (&json!("thread.limit_exceeded"), &told["thread_code"])
    );
    let help = |said: &Value| said["help"].as_str().unwrap().to_owned();
    let (of_child, of_top) = (help(&told["failure"]), help(&alone));
    assert!(of_top.contains("`rye thread resume") && !of_child.contains("resume"), "{of_child}");
    assert!(of_child.contains("`<limits>` of its directive"), "{of_child}");
    let id = told["thread_id"].as_str().unwrap();
    let refused = world.json(&["thread", "resume", id, "--limit", "turns=9"]).1;
    assert_eq!(refused["code"], "thread.not_resumable", "{refused}");
}

#[test]
fn a_model_that_ends_without_outputs_is_asked_twice_again_and_that_is_no_success() {
    let silent = json!({"text": "I am done.", "usage": {"input": 1}});
    let world = world(&json!([silent, silent, hand_over()]), "turns=\"9\"", "");
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    let asked = events(&world, told["thread_id"].as_str().unwrap(), "cognition_in");
    assert_eq!(asked.len(), 3);
    assert!(asked[0]["user"].as_str().unwrap().contains("<output name=\"n\" type=\"integer\">"));
    assert!(asked[1]["user"].as_str().unwrap().contains("directive_return"));
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!([silent, silent, silent])));
    let (status, told) = fork(&world, &[]);
    let got = (status, &told["code"], &told["data"]["missing"]);
    assert_eq!(got, (1, &json!("thread.missing_outputs"), &json!(["n"])), "{told}");
    world.signed_home(
        ".ai/tools/acme/script.yaml",
        &provider(&json!([call("acme_none", &json!({}))])),
    );
    fork(&world, &[]).fails(7, "provider.script_ended");
}

#[test]
fn h05_verify_finds_each_line_that_was_changed_cut_moved_or_taken_out_and_a_record_of_another() {
    let turns = json!([call("acme_echo", &json!({"a": 1})), hand_over()]);
    let world = world(&turns, "turns=\"4\"", ONLY_ECHO);
    let run = || fork(&world, &[]).1["thread_id"].as_str().unwrap().to_owned();
    let (id, other) = (run(), run());
    let path = transcript(&world, &id);
    let good = fs::read(&path).unwrap();
    let verify = || {
        let (status, told) = world.json(&["thread", "verify", &id]);
        assert!(status == 0 || told["code"] == "thread.record_invalid", "{told}");
        status
    };
    assert_eq!(verify(), 0, "the fixture works untouched");
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    assert!(lines.len() > 8);
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        fs::write(&path, without.concat()).unwrap();
        assert_eq!(verify(), 4, "without line {at}");
        fs::write(&path, lines[..at].concat()).unwrap();
        assert_eq!(verify(), 4, "cut before line {at}");
        let mut changed = good.clone();
        let before: usize = lines[..at].iter().map(|line| line.len()).sum();
        changed[before + lines[at].len() / 2] ^= 1;
        fs::write(&path, changed).unwrap();
        assert_eq!(verify(), 4, "line {at} changed");
        if at > 0 {
            let mut moved = lines.clone();
            moved.swap(at - 1, at);
            fs::write(&path, moved.concat()).unwrap();
            assert_eq!(verify(), 4, "line {at} moved");
        }
    }
    fs::write(&path, fs::read(transcript(&world, &other)).unwrap()).unwrap();
    assert_eq!(verify(), 4, "a whole record of another thread");
    fs::write(&path, &good).unwrap();
    assert_eq!(verify(), 0);
    // A key that was replaced still counts, and one that was revoked does not.
    world.rye(&["keys", "rotate", "--yes"]).ok();
    assert_eq!(verify(), 0, "signed by the key before");
    assert_eq!(world.json(&["thread", "verify", "acme/go"]).1["code"], "thread.not_found");
}

#[test]
fn a_project_lowers_the_limits_of_threads_and_raises_none() {
    let turns = json!([call("acme_echo", &json!({})), hand_over()]);
    let world = world(&turns, "depth=\"1\"", ONLY_ECHO);
    let turns_of = |row: &Value| row["limits"]["turns"].as_u64().unwrap();
    let said = |turns: u64| format!("defaults: {{turns: {turns}}}\nmost: {{turns: {turns}}}\n");
    for (user, project, want) in
        [(None, None, 25), (Some(7), None, 7), (Some(7), Some(9), 7), (Some(7), Some(4), 4)]
    {
        if let Some(turns) = user {
            world.signed_home(".ai/config/agent/limits.yaml", &said(turns));
        }
        if let Some(turns) = project {
            world.signed(".ai/config/agent/limits.yaml", &said(turns));
        }
        assert_eq!(fork(&world, &[]).0, 0);
        assert_eq!(turns_of(rows(&world).last().unwrap()), want);
    }
    assert_eq!(fork(&world, &["--limit", "turns=20"]).0, 0);
    assert_eq!(turns_of(rows(&world).last().unwrap()), 4, "no more than the most");
}

#[test]
fn model_and_limits_are_of_threads_alone() {
    let world = world(&json!([hand_over()]), "turns=\"2\"", ONLY_ECHO);
    for more in [["--model", "general"], ["--limit", "turns=1"]] {
        world.rye(&[&["execute", "directive:acme/go"][..], &more].concat()).fails(2, "cli.usage");
    }
    assert_eq!(fork(&world, &["--model", "general", "--limit", "turns=1"]).0, 0);
}

#[test]
fn a_limit_of_zero_is_told_as_a_sentence_and_not_as_one_of_zero() {
    let again = json!({"item_id": "directive:acme/go", "thread": "fork"});
    let both = "<execute><tool>*</tool><directive>*</directive></execute>";
    let world = world(&json!([call("rye_execute", &again), hand_over()]), "turns=\"9\"", both);
    for (limit, want) in [
        ("turns", "cannot ask its model for anything: its limit `turns` is 0"),
        ("tokens", "cannot ask its model for anything: its limit `tokens` is 0"),
        ("spend", "cannot ask its model for anything: its limit `spend` is 0"),
        (
            "duration_seconds",
            "cannot ask its model for anything: its limit `duration_seconds` is 0",
        ),
    ] {
        let (status, told) = fork(&world, &["--limit", &format!("{limit}=0")]);
        assert_eq!((status, &told["data"]["limit"]), (4, &json!(limit)), "{told}");
        assert!(told["error"].as_str().unwrap().ends_with(want), "{told}");
    }
    for limit in ["depth", "spawns"] {
        let told = fork(&world, &["--limit", &format!("{limit}=0")]).ok();
        let refused = &results(&world, told["thread_id"].as_str().unwrap())[0];
        let why = refused["message"].as_str().unwrap();
        assert!(why.contains("does not start") && !why.contains("of 0"), "{refused}");
    }
}
