//! Hooks around every call of a tool (exec-protocol 6).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{End, World};

const TOOL: &str = "tool:acme/say";
const TOOL_FILE: &str = ".ai/tools/acme/say.sh";
const SAY: &str = "# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
     # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n\
     # description = \"Says what it is given.\"\n# ///\n\
     touch ran\ncat\n";

/// A world with a tool that says its parameters and leaves a mark.
fn world() -> World {
    let world = World::new().with(TOOL_FILE, SAY);
    world.works(TOOL);
    std::fs::remove_file(world.project().join("ran")).unwrap();
    world
}

fn ran(world: &World) -> bool {
    let mark = world.project().join("ran");
    let ran = mark.exists();
    let _ = std::fs::remove_file(mark);
    ran
}

fn item(name: &str, more: &str) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: hooks\ndescription: A hook.\nhook: tool\n{more}\
         exec:\n  command: ./{name}-it.sh\n  files: [{name}-it.sh]\n"
    )
}

/// A hook of the person, whose program is a shell script.
pub fn hook(world: &World, name: &str, more: &str, script: &str) {
    world.write_home(&format!(".ai/tools/hooks/{name}-it.sh"), format!("#!/bin/sh\n{script}\n"));
    world.signed_home(&format!(".ai/tools/hooks/{name}.yaml"), &item(name, more));
}

/// One of the project.
fn project_hook(world: &World, name: &str, more: &str, script: &str) {
    world.write(&format!(".ai/tools/hooks/{name}-it.sh"), format!("#!/bin/sh\n{script}\n"));
    world.signed(&format!(".ai/tools/hooks/{name}.yaml"), &item(name, more));
}

const BEFORE: &str = "phases: [before_execution]\n";
const AFTER: &str = "phases: [after_execution]\n";
/// Answers what stands in a file of the project, after it kept what it was sent.
const BY_FILE: &str = "cat >\"$RYE_PROJECT/sent\"; . \"$RYE_PROJECT/answer\"";

fn call(world: &World) -> (i32, Value) {
    world.json(&["execute", TOOL, "-i", "a=1", "--trace"])
}

fn verdicts(got: &Value) -> Vec<(String, String)> {
    let events = got["trace"].as_array().unwrap().iter();
    let hooks = events.filter(|event| event["step"] == "hook");
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    hooks.map(|event| (text(event, "item_id"), text(event, "verdict"))).collect()
}

#[test]
fn a_hook_lets_a_call_pass_or_denies_it_before_anything_starts() {
    let world = world();
    hook(&world, "guard", BEFORE, BY_FILE);
    world.write("answer", "echo '{\"allow\":true}'");
    let (status, got) = call(&world);
    assert_eq!((status, &got["status"], ran(&world)), (0, &json!("success"), true), "{got}");
    assert!(got.get("hooks").is_none(), "{got}");
    world.write("answer", "echo '{\"allow\":true,\"metadata\":{\"k\":1}}'");
    let (_, got) = call(&world);
    assert_eq!((&got["hooks"][0]["metadata"], ran(&world)), (&json!({"k": 1}), true), "{got}");
    assert_eq!(verdicts(&got), [("tool:hooks/guard".into(), "allow".into())]);
    let sent: Value = serde_json::from_slice(&world.read("sent")).unwrap();
    assert_eq!((&sent["hook"], &sent["phase"]), (&json!("tool"), &json!("before_execution")));
    assert_eq!(sent["request"]["name"], "acme/say");
    assert_eq!(sent["request"]["args"], json!({"a": "1"}));
    assert!(sent["request"]["call_id"].as_str().unwrap().starts_with("run-"), "{sent}");
    world.write(
        "answer",
        "echo '{\"allow\":false,\"reason\":\"not today\",\"metadata\":{\"k\":1}}'",
    );
    let (status, got) = call(&world);
    assert_eq!((status, &got["code"], ran(&world)), (4, &json!("hook.denied"), false), "{got}");
    assert_eq!(got["data"]["reason"], "not today");
    assert_eq!(got["data"]["metadata"], json!({"k": 1}));
    assert_eq!(verdicts(&got), [("tool:hooks/guard".into(), "deny".into())]);
    world.write("answer", "echo '{\"allow\":false,\"enforced\":true}'");
    let (_, got) = call(&world);
    assert_eq!((&got["data"]["enforced"], ran(&world)), (&json!(true), false));
    // Nothing is started to find out what would be asked.
    std::fs::remove_file(world.project().join("sent")).unwrap();
    let (status, got) = world.json(&["execute", TOOL, "-i", "a=1", "--dry-run"]);
    assert_eq!(
        (status, verdicts(&got)),
        (0, vec![("tool:hooks/guard".into(), "would_run".into())])
    );
    assert!(!world.project().join("sent").exists());
}

#[test]
fn f07_every_way_to_give_no_answer_denies() {
    let world = world();
    world.write_home(".ai/tools/hooks/guard-it.sh", format!("#!/bin/sh\n{BY_FILE}\n"));
    let text = item("guard", BEFORE).replace("exec:\n", "exec:\n  timeout_ms: 700\n");
    world.signed_home(".ai/tools/hooks/guard.yaml", &text);
    world.write("answer", "echo '{\"allow\":true}'");
    assert_eq!((call(&world).0, ran(&world)), (0, true), "the fixture works untouched");
    for answer in [
        "",
        "true",
        "echo",
        "echo '{}'",
        "echo allow",
        "echo true",
        "echo '[{\"allow\":true}]'",
        "echo '{\"allow\":\"yes\"}'",
        "echo '{\"allow\":\"true\"}'",
        "echo '{\"Allow\":true}'",
        "echo '{\"allow\":1}'",
        "echo '{\"allow\":null}'",
        "echo '{\"decision\":\"block\"}'",
        "echo '{\"decision\":\"approve\"}'",
        "echo '{\"result\":{\"allow\":true}}'",
        "echo '{\"allow\":true,\"error\":\"x\"}'",
        "echo '{\"allow\":true,\"pending\":{}}'",
        "echo '{\"allow\":true}' '{\"allow\":true}'",
        "echo '{\"allow\":true}'; echo done",
        "echo checking; echo '{\"allow\":true}'",
        "echo '{\"allow\":true,\"allow\":false}'",
        "echo '{\"allow\":true'",
        "printf '{\"allow\":true,\"reason\":\"\\377\"}'",
        "echo '{\"allow\":true}'; exit 1",
        "echo '{\"allow\":true}'; exit 2",
        "echo '{\"allow\":true}' >&2",
        "echo '{\"allow\":true}'; kill -9 $$",
        "kill -9 $$",
        "sleep 60; echo '{\"allow\":true}'",
        "echo '{\"allow\":true,\"replace\":{\"args\":{}}}'",
        "echo '{\"ack\":true}'",
        "no_such_command",
        "yes x | head -c 20000000",
    ] {
        world.write("answer", answer);
        let start = Instant::now();
        let (status, got) = call(&world);
        let shown = format!("{answer}: {got}");
        assert_eq!((status, &got["code"]), (4, &json!("hook.denied")), "{shown}");
        assert!(!ran(&world), "{shown}");
        assert!(!got["data"]["reason"].as_str().unwrap().is_empty(), "{shown}");
        assert!(start.elapsed() < Duration::from_secs(30), "{shown}");
    }
}

#[test]
fn those_who_replace_come_first_and_the_others_see_what_counts() {
    let world = world();
    let other = "echo '{\"allow\":true,\"replace\":{\"args\":{\"a\":\"other\"}}}'";
    hook(&world, "b-change", &format!("{BEFORE}replaces: true\norder: 9\n"), other);
    // By its number it comes before; since it only judges it sees the arguments as they will be.
    hook(&world, "a-judge", &format!("{BEFORE}order: 1\n"), BY_FILE);
    world.write("answer", "echo '{\"allow\":true}'");
    let (status, got) = call(&world);
    assert_eq!((status, &got["data"]), (0, &json!({"a": "other"})), "{got}");
    let sent: Value = serde_json::from_slice(&world.read("sent")).unwrap();
    assert_eq!(sent["request"]["args"], json!({"a": "other"}));
    let want = [("tool:hooks/b-change", "replace"), ("tool:hooks/a-judge", "allow")];
    assert_eq!(verdicts(&got), want.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())));
    // What is replaced is judged by the tool's schema like anything else.
    let schema = "# [input_schema]\n# type = \"object\"\n# required = [\"b\"]\n# ///\n";
    world.signed(TOOL_FILE, &SAY.replace("# ///\ntouch", &format!("{schema}touch")));
    world.json(&["execute", TOOL, "-i", "b=1"]).fails(2, "plan.invalid_parameters");
}

#[test]
fn an_answer_is_replaced_or_withheld_after_the_call() {
    let world = world();
    hook(&world, "hide", &format!("{AFTER}replaces: true\n"), BY_FILE);
    world.write("answer", "echo '{\"allow\":true,\"replace\":{\"content\":{\"a\":\"***\"}}}'");
    let (status, got) = call(&world);
    assert_eq!((status, &got["data"]), (0, &json!({"a": "***"})), "{got}");
    let note = &got["hooks"][0];
    assert_eq!(
        (&note["item_id"], &note["phase"]),
        (&json!("tool:hooks/hide"), &json!("after_execution"))
    );
    assert_eq!(note["was_sha256"], json!(crate::world::sha256(b"{\"a\":\"1\"}")));
    assert_eq!(note["is_sha256"], json!(crate::world::sha256(b"{\"a\":\"***\"}")));
    let sent: Value = serde_json::from_slice(&world.read("sent")).unwrap();
    assert_eq!(sent["response"]["content"], "{\"a\":\"1\"}");
    assert_eq!(sent["request"]["args"], json!({"a": "1"}));
    assert!(sent["response"]["latency_ms"].is_number(), "{sent}");
    for answer in
        ["echo '{\"allow\":false}'", "exit 3", "echo '{\"allow\":true,\"replace\":{\"args\":{}}}'"]
    {
        world.write("answer", answer);
        let (status, got) = call(&world);
        assert_eq!((status, &got["code"]), (4, &json!("hook.denied")), "{answer}: {got}");
        assert!(got["data"].get("a").is_none(), "the answer is withheld: {got}");
    }
}

#[test]
fn the_first_denial_ends_the_chain_in_the_order_of_numbers_then_names() {
    let world = world();
    let notes = |name: &str, answer: &str| {
        format!("echo {name} >>\"$RYE_PROJECT/asked\"; echo '{{\"allow\":{answer}}}'")
    };
    hook(&world, "c", &format!("{BEFORE}order: -1\n"), &notes("c", "true"));
    hook(&world, "a", &format!("{BEFORE}order: 5\n"), &notes("a", "true"));
    hook(&world, "b", &format!("{BEFORE}order: 2.5\n"), &notes("b", "false"));
    hook(&world, "d", &format!("{BEFORE}order: 2.5\n"), &notes("d", "true"));
    let (status, _) = call(&world);
    assert_eq!((status, ran(&world)), (4, false));
    assert_eq!(String::from_utf8(world.read("asked")).unwrap(), "c\nb\n");
}

#[test]
fn f10_a_hook_that_was_changed_or_taken_away_lets_nothing_through() {
    let world = world();
    hook(&world, "guard", BEFORE, "echo '{\"allow\":true}'");
    assert_eq!((call(&world).0, ran(&world)), (0, true));
    let unusable = || {
        let (status, got) = call(&world);
        assert_eq!(
            (status, &got["code"], ran(&world)),
            (4, &json!("hook.unusable"), false),
            "{got}"
        );
    };
    // Its program, then its item, then its line.
    let program = ".ai/tools/hooks/guard-it.sh";
    let file = world.home().join(".ai/tools/hooks/guard.yaml");
    let signed = std::fs::read_to_string(&file).unwrap();
    world.write_home(program, "#!/bin/sh\necho '{\"allow\":true}'\n# more\n");
    unusable();
    world.write_home(program, "#!/bin/sh\necho '{\"allow\":true}'\n");
    assert_eq!(call(&world).0, 0);
    ran(&world);
    std::fs::write(&file, signed.replace("A hook.", "A hook!")).unwrap();
    unusable();
    std::fs::write(&file, signed.split_once('\n').unwrap().1).unwrap();
    unusable();
    std::fs::write(&file, &signed).unwrap();
    assert_eq!(call(&world).0, 0);
    ran(&world);
    std::fs::remove_file(world.home().join(program)).unwrap();
    unusable();
    // Dev mode weakens no guard.
    let dev = [("RYE_DEV_MODE", "1")];
    world
        .rye_env(&world.project(), &["execute", TOOL, "--json"], b"", &dev)
        .fails(4, "hook.unusable");
    // Without the policy a hook that is gone asks nothing; with it nothing runs.
    std::fs::remove_file(&file).unwrap();
    assert_eq!((call(&world).0, ran(&world)), (0, true));
    world.signed_home(
        ".ai/config/rye/policy.yaml",
        "required_hooks: [tool:hooks/guard]\nsandbox_off: [\"tool:**\"]\n",
    );
    unusable();
    hook(&world, "guard", BEFORE, "echo '{\"allow\":true}'");
    assert_eq!((call(&world).0, ran(&world)), (0, true));
    // One of the project does not stand for it.
    std::fs::remove_file(&file).unwrap();
    project_hook(&world, "guard", BEFORE, "echo '{\"allow\":true}'");
    unusable();
}

#[test]
fn f10_a_hook_of_the_project_sees_its_own_tools_alone_and_shadows_nobody() {
    let world = world();
    hook(&world, "guard", BEFORE, "echo user >>\"$RYE_PROJECT/asked\"; echo '{\"allow\":true}'");
    project_hook(
        &world,
        "guard",
        BEFORE,
        "echo project >>\"$RYE_PROJECT/asked\"; echo '{\"allow\":true}'",
    );
    assert_eq!(call(&world).0, 0);
    assert_eq!(String::from_utf8(world.read("asked")).unwrap(), "user\nproject\n");
    std::fs::remove_file(world.project().join("asked")).unwrap();
    // A tool of the system is not the project's to judge, whatever its hook is like.
    world.write(".ai/tools/hooks/guard-it.sh", "#!/bin/sh\nexit 1\n");
    assert_eq!(
        world.json(&["execute", "tool:rye/bash", "-i", "command=true"]).ok()["status"],
        "success"
    );
    assert_eq!(String::from_utf8(world.read("asked")).unwrap(), "user\n");
    call(&world).fails(4, "hook.unusable");
}

#[test]
fn f10_a_hook_of_the_project_may_not_replace() {
    let world = world();
    let other = "echo '{\"allow\":true,\"replace\":{\"args\":{\"a\":\"other\"}}}'";
    project_hook(&world, "change", &format!("{BEFORE}replaces: true\n"), other);
    let (status, got) = call(&world);
    assert_eq!((status, &got["code"], ran(&world)), (4, &json!("hook.unusable"), false), "{got}");
}

#[test]
fn a_hook_that_is_only_told_changes_nothing_and_slows_nothing() {
    let world = world();
    let told = "cat >\"$RYE_PROJECT/told\"; sleep 2; echo done >>\"$RYE_PROJECT/told\"; exit 1";
    hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), told);
    let mut command = world.command(&["execute", TOOL, "-i", "a=1", "--json"]);
    let start = Instant::now();
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let answered = start.elapsed();
    let got: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(got["data"], json!({"a": "1"}));
    assert!(!String::from_utf8(world.read("told")).unwrap().contains("done"), "{answered:?}");
    // It is not left behind, and what came of it changes nothing.
    assert!(child.wait().unwrap().success());
    let told = String::from_utf8(world.read("told")).unwrap();
    assert!(told.ends_with("done\n") && told.contains("before_execution"), "{told}");
}

#[test]
fn a_pattern_says_which_calls_a_hook_is_about() {
    let world = world();
    world.signed(".ai/tools/other/say.sh", &SAY.replace("\"acme\"", "\"other\""));
    hook(&world, "guard", &format!("{BEFORE}match: [\"acme/*\"]\n"), "echo '{\"allow\":false}'");
    assert_eq!(call(&world).1["code"], "hook.denied");
    world.works("tool:other/say");
}

#[test]
fn what_a_hook_says_of_itself_wrongly_is_refused_when_it_is_signed() {
    let world = world();
    world.write(".ai/tools/hooks/x-it.sh", "#!/bin/sh\n");
    let file = ".ai/tools/hooks/x.yaml";
    world.signed(file, &item("x", BEFORE));
    for (more, part) in [
        ("", "`/phases` is missing or empty"),
        ("phases: []\n", "`/phases` is missing or empty"),
        ("phase: [before_execution]\n", "did you mean `phases`"),
        ("mode: filter\n", "`/phases` is missing or empty"),
        ("phases: [before_exection]\n", "did you mean `before_execution`"),
        ("phases: [before_call]\n", "not one of `before_execution`"),
        ("phases: [before_execution]\nmode: filtr\n", "did you mean `filter`"),
        ("phases: [before_execution]\nmatch: [\"acme/[a]\"]\n", "`/match`"),
        ("phases: [before_execution]\norder: first\n", "`/order` is not a number"),
        ("phases: [before_execution]\ncompat: promptkid\n", "did you mean `promptkit`"),
        ("phases: [before_execution]\ncompatt: promptkit\n", "did you mean `compat`"),
        ("phases: [before_execution]\nmacth: [\"acme/*\"]\n", "did you mean `match`"),
        ("phases: [before_execution]\nmode: observe\nreplaces: true\n", "`/replaces`"),
    ] {
        world.write(file, item("x", more));
        let said = world.rye(&["sign", "tool:hooks/x"]);
        assert_eq!(said.status, 5, "{more}: {said:?}");
        assert!(said.stderr.contains(part), "{more}: {said:?}");
    }
    let session =
        item("x", "phases: [session_start]\nmode: filter\n").replace("hook: tool", "hook: session");
    world.write(file, session);
    assert!(world.rye(&["sign", "tool:hooks/x"]).stderr.contains("only told"));
    world.write(file, item("x", BEFORE).replace("hook: tool\n", "hook: tol\n"));
    assert!(world.rye(&["sign", "tool:hooks/x"]).stderr.contains("did you mean `tool`"));
    // Elsewhere it would never be asked.
    world.write(".ai/tools/acme/x-it.sh", "#!/bin/sh\n");
    world.write(
        ".ai/tools/acme/x.yaml",
        item("x", BEFORE).replace("category: hooks", "category: acme"),
    );
    world.rye(&["sign", "tool:acme/x"]).warns("below `tools/hooks/`");
}

#[test]
fn hooks_are_listed_and_tried_one_by_one() {
    let world = world();
    hook(&world, "guard", BEFORE, BY_FILE);
    hook(&world, "wide", &format!("{BEFORE}compat: promptkit\nmatch: [\"none/*\"]\n"), BY_FILE);
    world.signed_home(
        ".ai/config/rye/policy.yaml",
        "required_hooks: [hooks/guard, hooks/gone]\nsandbox_off: [\"tool:**\"]\n",
    );
    let got = world.json(&["hooks", "list"]).ok();
    let rows = got["hooks"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["item_id"] == name).unwrap();
    assert_eq!(row("tool:hooks/guard")["required"], true);
    assert_eq!(row("tool:hooks/wide")["match"], json!(["none/*"]));
    assert_eq!(row("tool:hooks/gone")["error"], "it is not there");
    let payload = "{\"request\":{\"name\":\"x\",\"args\":{},\"call_id\":\"c\"}}";
    world.write("answer", "echo '{\"allow\":false,\"reason\":\"no\"}'");
    let test = |hook: &str| world.json(&["hooks", "test", hook, "--payload", payload]);
    let (status, got) = test("tool:hooks/wide");
    assert_eq!((status, &got["allow"], &got["reason"]), (4, &json!(false), &json!("no")), "{got}");
    assert_eq!((&got["status"], &got["code"]), (&json!("error"), &json!("hook.denied")), "{got}");
    let sent: Value = serde_json::from_slice(&world.read("sent")).unwrap();
    assert_eq!(
        (&sent["request"]["CallID"], &sent["request"]["call_id"]),
        (&json!("c"), &json!("c"))
    );
    world.write("answer", "echo '{\"allow\":true}'");
    assert_eq!(test("tool:hooks/guard").0, 0);
    world.write("answer", "exit 1");
    let (status, got) = test("tool:hooks/guard");
    assert_eq!((status, &got["no_answer"]), (1, &json!(true)), "{got}");
    assert_eq!((&got["status"], &got["code"]), (&"error".into(), &"execute.tool_failed".into()));
    world.write("answer", "echo why not >&2; exit 1");
    let (status, got) = test("tool:hooks/guard");
    assert_eq!((status, &got["data"]["stderr_tail"]), (1, &json!("why not\n")), "{got}");
    world
        .rye(&["hooks", "test", "hooks/guard", "--payload", payload])
        .shows("denies")
        .warns("why not");
    hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), "exit 1");
    assert_eq!(test("tool:hooks/watch").1["allow"], true, "one that is only told stops nothing");
    // What it would not be shown is no payload.
    for (payload, part) in [
        ("{\"args\":{}}", "`args`"),
        ("{\"reqest\":{}}", "did you mean `request`"),
        ("{\"request\":7}", "`request` is not a JSON object"),
    ] {
        let got = world
            .json(&["hooks", "test", "hooks/guard", "--payload", payload])
            .fails(2, "cli.usage");
        assert!(got["error"].as_str().unwrap().contains(part), "{got}");
    }
    assert_eq!(test(TOOL).1["code"], "hook.not_a_hook");
    world
        .json(&["hooks", "test", "hooks/guard", "--phase", "after_call"])
        .fails(2, "hook.not_a_hook");
}

#[test]
fn a_hook_that_is_only_told_may_end_first_or_close_its_output() {
    {
        let world = world();
        hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), "cat >/dev/null");
        world.signed(TOOL_FILE, &SAY.replace("touch ran", "touch ran; sleep 1"));
        let (status, got) = call(&world);
        assert_eq!((status, &got["data"], ran(&world)), (0, &json!({"a": "1"}), true), "{got}");
        // Nor one that judges the answer while it ends.
        hook(&world, "judge", AFTER, "sleep 0.6; echo '{\"allow\":true}'");
        hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), "cat >/dev/null; sleep 1.3");
        assert_eq!(call(&world).ok()["data"], json!({"a": "1"}));
    }
    {
        let world = world();
        let told = "exec >/dev/null; sleep 0.3; cat >\"$RYE_PROJECT/told\"";
        hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), told);
        assert_eq!(call(&world).0, 0);
        assert!(String::from_utf8(world.read("told")).unwrap().contains("before_execution"));
    }
}

#[test]
fn f06_a_signal_while_somebody_watches_ends_the_tool_and_the_watcher() {
    let world = world();
    hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), "echo $$ >>pids; exec sleep 600");
    world.signed(TOOL_FILE, &SAY.replace("touch ran", "echo $$ >>pids; sleep 600"));
    let mut command = world.command(&["execute", TOOL, "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let late = Instant::now() + Duration::from_mins(1);
    let pids = loop {
        let text = std::fs::read_to_string(world.project().join("pids")).unwrap_or_default();
        if text.lines().count() == 2 {
            break text;
        }
        assert!(Instant::now() < late, "they never started");
        std::thread::sleep(Duration::from_millis(10));
    };
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < late, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    for pid in pids.split_whitespace() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
    }
}

#[test]
fn f06_a_signal_while_a_watcher_is_waited_for_ends_it_and_then_rye() {
    use std::os::unix::process::ExitStatusExt;
    let world = world();
    hook(&world, "watch", &format!("{BEFORE}mode: observe\n"), "echo $$ >>pids; exec sleep 600");
    let mut command = world.command(&["execute", TOOL, "-i", "a=1", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut String::new()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let late = Instant::now() + Duration::from_secs(8);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < late, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.signal(), Some(2), "a signal is nobody's to keep: {status}");
    let pid = String::from_utf8(world.read("pids")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
}

#[test]
fn a_project_does_not_shorten_the_time_of_those_who_judge_it() {
    let world = world();
    hook(&world, "guard", BEFORE, "sleep 0.3; echo '{\"allow\":true}'");
    world.signed(".ai/config/execution/execution.yaml", "tools: {hooks/guard: {timeout: 0.001}}\n");
    assert_eq!(call(&world).ok()["status"], "success");
}

#[test]
fn f10_hooks_behind_a_link_are_not_overlooked() {
    use std::os::unix::fs::symlink;
    let world = world();
    let folder = world.home().join(".ai/tools/hooks");
    let denies = "#!/bin/sh\necho '{\"allow\":false}'\n";
    world.write_home(".ai/tools/hooks/team/guard-it.sh", denies);
    world.signed_home(".ai/tools/hooks/team/guard.yaml", &item("guard", BEFORE));
    assert_eq!(call(&world).1["code"], "hook.denied", "the fixture works untouched");
    let elsewhere = world.outside().join("team");
    std::fs::rename(folder.join("team"), &elsewhere).unwrap();
    assert_eq!(call(&world).0, 0);
    symlink(&elsewhere, folder.join("team")).unwrap();
    assert_eq!(call(&world).1["code"], "hook.unusable");
    std::fs::remove_file(folder.join("team")).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(call(&world).0, 0);
    symlink("/nowhere/hooks", &folder).unwrap();
    assert_eq!(call(&world).1["code"], "hook.unusable");
    let (_, got) = world.json(&["hooks", "list"]);
    assert!(got["hooks"][0]["error"].as_str().unwrap().contains("is a link"), "{got}");
}

#[test]
fn what_a_tool_says_of_its_failure_or_asks_a_person_passes_the_hooks_too() {
    let world = world();
    let program = "#!/bin/sh\ncat >/dev/null\n. ./says\n";
    world.write(".ai/tools/acme/odd-it.sh", program);
    world.signed(
        ".ai/tools/acme/odd.yaml",
        "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: acme\ndescription: x\nexec:\n  command: ./odd-it.sh\n  files: [odd-it.sh]\n",
    );
    let says = [
        ("printf '{\"pending\":{\"message\":\"SSN 123\"}}'", 8),
        ("printf '{\"error\":\"SSN 123\"}'; echo SSN 123 >&2", 1),
        ("echo SSN 123", 7),
        ("echo SSN 123 >&2; exit 3", 1),
    ];
    for (says, status) in says {
        world.write("says", says);
        let said = world.rye(&["execute", "tool:acme/odd", "--json"]);
        assert_eq!(said.status, status, "{said:?}");
        assert!(said.stdout.contains("SSN"), "the fixture tells it: {said:?}");
    }
    let waiting = || world.json(&["pending", "list"]).1["pending"].as_array().unwrap().len();
    assert_eq!(waiting(), 1);
    hook(&world, "hide", &format!("{AFTER}replaces: true\n"), BY_FILE);
    world.write("answer", "echo '{\"allow\":true,\"replace\":{\"content\":\"hidden\"}}'");
    for (says, _) in says {
        world.write("says", says);
        let said = world.rye(&["execute", "tool:acme/odd", "--json"]);
        assert!(!said.stdout.contains("SSN"), "{says}: {said:?}");
        assert!(String::from_utf8(world.read("sent")).unwrap().contains("SSN"), "{says}");
    }
    assert_eq!(waiting(), 2);
    world.write("answer", "echo '{\"allow\":false}'");
    for (says, _) in says {
        world.write("says", says);
        let said = world.rye(&["execute", "tool:acme/odd", "--json"]);
        assert_eq!((said.status, said.code().as_str()), (4, "hook.denied"), "{says}: {said:?}");
        assert!(!said.stdout.contains("SSN"), "{says}: {said:?}");
    }
    assert_eq!(waiting(), 2, "what is denied asks nobody");
}

#[test]
fn f08_a_hook_s_own_secret_is_not_in_what_it_says_of_a_call() {
    let world = world().env("GUARD_TOKEN", "canary-of-the-guard");
    let more = format!("{BEFORE}secrets: [GUARD_TOKEN]\n");
    let answer = "printf '{\"allow\":false,\"reason\":\"by %s\",\"metadata\":{\"k\":\"%s\"}}' \"$GUARD_TOKEN\" \"$GUARD_TOKEN\"";
    hook(&world, "guard", &more, answer);
    let said = world.rye(&["execute", TOOL, "-i", "a=1", "--json", "--trace"]);
    assert_eq!(said.code(), "hook.denied", "{said:?}");
    assert!(said.stdout.contains("by ***"), "{said:?}");
    assert!(!said.stdout.contains("canary") && !said.stderr.contains("canary"), "{said:?}");
}
