//! Snippets that call tools, through `rye code`.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooks::hook;
use crate::keys::others::{put_home, stranger, trust};
use crate::tools::shell;
use crate::world::items::tool_sh;
use crate::world::{End, Said, World};

/// A tool that reads, and gives what it is given.
fn echo() -> String {
    tool_sh("description = \"Echoes what it is given.\"\neffects = \"read\"", "touch ran\ncat\n")
}

/// What makes a call of the tool one that is refused.
type Breaks = fn(&World);

fn world() -> World {
    World::new().with(".ai/tools/acme/echo.sh", &echo())
}

fn said(world: &World, code: &str, args: &[&str]) -> Said {
    world.rye_in(&world.project(), &[&["code", "run", "-"], args].concat(), code.as_bytes())
}

/// The status and the result of a snippet.
#[track_caller]
fn run(world: &World, code: &str, args: &[&str]) -> (i32, Value) {
    let said = said(world, code, &[args, &["--json"]].concat());
    let told = said.json();
    for key in ["value", "stdout", "stderr", "tool_calls", "duration_ms", "limits"] {
        assert!(told.get(key).is_some(), "{key} is not in {told}");
    }
    (said.status, told)
}

/// The code of each call; none is empty.
fn codes(told: &Value) -> Vec<String> {
    let calls = told["tool_calls"].as_array().unwrap().iter();
    calls.map(|call| call["error"]["code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What of the arguments is also one of `rye run`.
fn locked<'a>(args: &'a [&'a str]) -> &'a [&'a str] {
    if args == ["--locked"] { args } else { &[] }
}

fn ran(world: &World) -> bool {
    fs::remove_file(world.project().join("ran")).is_ok()
}

/// A call of one tool, alone and three at once, and what the snippet catches of it.
fn caught(world: &World, tool: &str, args: &[&str]) -> Vec<String> {
    let code = format!(
        "const one = n => runTool({tool:?}, {{n}}).then(() => '', e => e.code);\n\
         __out = [await one(0), ...await Promise.all([1, 2, 3].map(one))];"
    );
    let told = run(world, &code, args).ok();
    let all: Vec<String> = serde_json::from_value(told["value"].clone()).unwrap();
    assert_eq!(codes(&told), all, "what is recorded is what was caught: {told}");
    all
}

#[test]
fn a_snippet_finds_describes_and_runs_tools_at_once_and_gives_one_result() {
    let world = world();
    world.signed(".ai/tools/acme/fails.sh", &shell("echo no >&2; exit 3\n"));
    let code = r#"
        println("begin");
        const hits = (await searchTools("echoes", 5)).hits.map(hit => hit.item_id);
        const told = await describeTool("acme/echo");
        const spaces = await listNamespaces();
        const five = await Promise.all([1, 2, 3, 4, 5].map(n => tools.acme.echo({n: params.k * n})));
        const chain = await runChain([
            {tool_id: "acme/echo", args: {a: {b: [7]}}},
            {tool_id: "acme/echo", use_previous: true, previous_path: "/a/b/0", previous_as: "x"},
        ]);
        let failed;
        try { await runTool("acme/fails") } catch (e) { failed = [e.name, e.code, e.tool, e.data.stderr_tail] }
        console.error("end");
        __out = {hits, summary: told.summary, spaces, five: five.map(one => one.n), chain: chain.value, failed};
    "#;
    let (status, told) = run(&world, code, &["--params", "{\"k\": 10}"]);
    assert_eq!((status, &told["status"]), (0, &json!("success")), "{told}");
    let value = &told["value"];
    assert_eq!(value["hits"][0], "tool:acme/echo");
    assert_eq!(value["summary"], "Echoes what it is given.");
    assert_eq!(value["spaces"][0], json!({"name": "acme", "tools": 2}));
    assert_eq!(value["five"], json!([10, 20, 30, 40, 50]));
    assert_eq!(value["chain"], json!({"x": 7}));
    assert_eq!(value["failed"], json!(["ToolError", "execute.tool_failed", "acme/fails", "no\n"]));
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("begin\n"), &json!("end\n")));
    let calls = told["tool_calls"].as_array().unwrap();
    assert_eq!((calls.len(), &told["limits"]["used"]["tool_calls"]), (11, &json!(8)));
    let chained: Vec<_> = calls.iter().filter(|call| call["args"].get("x").is_some()).collect();
    assert_eq!(chained[0]["structured"], json!({"x": 7}));
    let failed = calls.iter().find(|call| call["tool_id"] == "acme/fails").unwrap();
    assert_eq!((&failed["error_op"], &failed["backend_kind"]), (&json!("run"), &json!("local")));
    // For a person: what is printed as it is, and the result as JSON.
    let plain = said(&world, "println('hi'); __out = {n: await tools.acme.echo({a: 1})}", &[]);
    assert_eq!((plain.status, plain.stdout.as_str()), (0, "hi\n{\"n\":{\"a\":1}}\n"), "{plain:?}");
}

#[test]
fn what_refuses_a_call_at_the_door_refuses_it_in_a_snippet_and_nothing_starts_table() {
    let good = |world: &World, args: &[&str]| {
        assert_eq!(caught(world, "acme/echo", args), [""; 4], "the fixture works untouched");
        assert!(ran(world));
    };
    let rows: [(&str, Breaks, &[&str]); 6] = [
        (
            "verify.altered",
            |world| {
                let path = ".ai/tools/acme/echo.sh";
                let text = String::from_utf8(world.read(path)).unwrap();
                world.write(path, format!("{text}# more\n"));
            },
            &[],
        ),
        ("grant.denied", |_| (), &["--allow", "tool:other/**", "--allow", "tool:acme/echo/*"]),
        (
            "hook.denied",
            |world| {
                let no = "cat >/dev/null; echo '{\"allow\":false}'";
                hook(world, "guard", "phases: [before_execution]\n", no);
            },
            &[],
        ),
        (
            "verify.untrusted",
            |world| {
                let own = world.home().join(".ai/config/keys/signing");
                fs::rename(&own, own.with_extension("gone")).unwrap();
                world.rye(&["keys", "generate"]).ok();
            },
            &[],
        ),
        (
            "resolve.not_found",
            |world| {
                fs::remove_file(world.project().join(".ai/tools/acme/echo.sh")).unwrap();
            },
            &[],
        ),
        ("lock.not_listed", |_| (), &["--locked"]),
    ];
    for (code, breaks, args) in rows {
        let world = world();
        good(&world, &[]);
        breaks(&world);
        let got = caught(&world, "acme/echo", args);
        let at_the_door = world.rye(&[&["run", "acme/echo", "--json"][..], locked(args)].concat());
        match code {
            // Nobody else can be granted less at the door.
            "grant.denied" => assert_eq!(at_the_door.status, 0),
            _ => assert_eq!(got[0], at_the_door.code(), "as at the door"),
        }
        if matches!(code, "grant.denied" | "hook.denied" | "verify.altered" | "resolve.not_found") {
            assert_eq!(got, [code; 4]);
        }
        if code == "grant.denied" {
            ran(&world);
        }
        assert!(got.iter().all(|one| *one == got[0] && !one.is_empty()), "{code}: {got:?}");
        assert!(!ran(&world), "{code}: it ran");
    }
}

#[test]
fn a_forged_id_reaches_nothing_table() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", crate::world::GREET_MD);
    for (id, code) in [
        ("", "id.malformed"),
        ("../acme/echo", "id.malformed"),
        ("acme/echo\0", "id.malformed"),
        ("tool:acme/../acme/echo", "id.malformed"),
        ("acme/none", "resolve.not_found"),
        ("directive:acme/greet", "plan.not_a_tool"),
        ("knowledge:rye/overview", "plan.not_a_tool"),
        ("zap:acme/echo", "id.unknown_kind"),
    ] {
        let got = caught(&world, id, &[]);
        assert!(got.iter().all(|one| one == code), "{id:?}: {got:?}, not {code}");
    }
    assert!(!ran(&world));
}

#[test]
fn a_limit_cannot_be_caught_and_the_result_says_what_was_done_table() {
    let world = world();
    let calls =
        |n: u32| format!("Array.from({{length: {n}}}, (_, n) => runTool('acme/echo', {{n}}))");
    let wrapped = |body: &str| {
        format!(
            "println('before');\ntry {{ await Promise.allSettled([(async () => {{ {body} }})()]); }} \
             catch (e) {{ println('caught'); }} finally {{ println('finally'); }}\n\
             println('after'); __out = 'it went on';"
        )
    };
    let rows = [
        (
            "tool_calls",
            format!("await Promise.allSettled({})", calls(9)),
            ["--max-tool-calls", "3"],
        ),
        (
            "chain_steps",
            "await runChain(Array(21).fill({tool_id: 'acme/echo'}))".into(),
            ["--max-tool-calls", "0"],
        ),
        ("engine", "for (;;) {}".into(), ["--engine-ms", "200"]),
        (
            "timeout",
            "await new Promise(done => runTool('acme/sleeps').then(done, done))".into(),
            ["--timeout", "700ms"],
        ),
        (
            "memory",
            "const a = []; for (;;) { try { a.push(new Array(100000).fill(a.length + 0.5)) } catch (e) {} }".into(),
            ["--max-tool-calls", "0"],
        ),
        ("output", "for (;;) println('x'.repeat(10000))".into(), ["--max-tool-calls", "0"]),
    ];
    world.signed(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own\nexec sleep 600\n"));
    for (limit, body, args) in rows {
        let (status, told) = run(&world, &wrapped(&body), &args);
        assert_eq!((status, &told["code"]), (4, &json!("code.limit_exceeded")), "{limit}: {told}");
        assert_eq!(told["error"]["data"]["limit"], limit);
        assert_eq!(told["value"], Value::Null);
        let out = told["stdout"].as_str().unwrap();
        assert!(out.starts_with("before\n"), "{limit}: {}", &out[..out.len().min(80)]);
        for gone in ["caught", "finally", "after"] {
            assert!(!out.contains(gone), "{limit}: `{gone}` was reached");
        }
    }
    let pid = fs::read_to_string(world.project().join("own")).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "the tool still runs");
}

#[test]
fn exactly_as_many_of_a_thousand_calls_at_once_run_as_the_limit_says() {
    let world = world();
    world.signed(".ai/tools/acme/count.sh", &shell("echo x >>count; echo '{}'\n"));
    let code =
        "__out = await Promise.allSettled(Array.from({length: 1000}, () => runTool('acme/count')))";
    let told = run(&world, code, &["--max-tool-calls", "7"]).fails(4, "code.limit_exceeded");
    let count = fs::read_to_string(world.project().join("count")).unwrap().lines().count();
    let codes = codes(&told);
    assert_eq!((count, codes.iter().filter(|code| code.is_empty()).count()), (7, 7));
    // How many of the others it still makes before it is ended is a matter of the machine.
    assert!(codes.len() > 7 && codes.iter().skip(7).all(|code| code == "code.limit_exceeded"));
}

#[test]
fn what_is_open_when_a_snippet_fails_is_ended_with_its_processes() {
    let world = world();
    world.signed(
        ".ai/tools/acme/sleeps.sh",
        &shell("sleep 600 & echo $! >child\necho $$ >own\nwait\n"),
    );
    let waits = "until test -s own && test -s child; do sleep 0.1; done\necho '{}'\n";
    world.signed(".ai/tools/acme/waits.sh", &shell(waits));
    let code = "runTool('acme/sleeps'); runTool('acme/sleeps');\n\
                await runTool('acme/waits'); throw new Error('enough')";
    let told = run(&world, code, &[]).fails(1, "code.failed");
    assert_eq!(codes(&told)[..2], ["code.cancelled", "code.cancelled"], "{told}");
    for file in ["own", "child"] {
        let pid = fs::read_to_string(world.project().join(file)).unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let lives =
            stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'));
        assert!(!lives, "`{file}` still runs");
    }
}

#[test]
fn a_call_before_a_loop_without_end_runs_and_is_recorded_when_it_is_ended() {
    let world = world();
    world.signed(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own\nexec sleep 600\n"));
    let code = "runTool('acme/sleeps', {}); for (;;) {}";
    let (status, told) = run(&world, code, &["--engine-ms", "1500"]);
    assert_eq!((status, &told["error"]["data"]["limit"]), (4, &json!("engine")), "{told}");
    assert_eq!(codes(&told), ["code.cancelled"]);
    let pid = fs::read_to_string(world.project().join("own")).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "the tool still runs");
}

/// The processes that a process started, by each of its threads.
fn children(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")));
    let all = lists.filter_map(Result::ok).collect::<Vec<_>>().join(" ");
    all.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_worker_that_is_killed_leaves_its_records_its_output_and_its_time() {
    let world = world();
    world.signed(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own\nexec sleep 600\n"));
    let code = "println('before'); console.error('too');\n\
                await tools.acme.echo({n: 1}); await Promise.all([tools.acme.sleeps()])";
    world.write("a.js", code);
    let mut command = world.command(&["code", "run", "a.js", "--json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let own = world.project().join("own");
    while fs::read_to_string(&own).map_or(true, |text| !text.ends_with('\n')) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let is_worker = |pid: &String| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains("--code-worker")
    };
    let workers: Vec<_> = children(child.id()).into_iter().filter(is_worker).collect();
    assert_eq!(workers.len(), 1, "{workers:?}");
    let pid = rustix::process::Pid::from_raw(workers[0].parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &told["code"]), (Some(6), &json!("code.worker")), "{told}");
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("before\n"), &json!("too\n")));
    assert_eq!(codes(&told), ["", "code.cancelled"]);
    assert_eq!(told["tool_calls"][0]["structured"], json!({"n": 1}));
    let took = |it: &Value| it.as_u64().unwrap();
    assert!(took(&told["duration_ms"]) >= took(&told["tool_calls"][1]["duration_ms"]), "{told}");
    let tool = fs::read_to_string(&own).unwrap();
    assert!(!fs::exists(format!("/proc/{}", tool.trim())).unwrap(), "the tool still runs");
}

#[test]
fn what_is_asked_wrongly_is_told_at_once_and_nothing_runs_table() {
    let world = world();
    for (args, fields) in [
        (&["--max-tool-calls", "-1"][..], &["max_tool_calls"][..]),
        (&["--max-tool-calls", "101"], &["max_tool_calls"]),
        (&["--max-tool-calls", "many", "--engine-ms", "1e9"], &["engine_ms", "max_tool_calls"]),
        (&["--timeout", "11m", "--language", "cobol"], &["language", "timeout_ms"]),
        (&["--allow", "acme/**"], &["allowed_tools"]),
    ] {
        let (status, told) = run(&world, "await runTool('acme/echo')", args);
        assert_eq!((status, &told["code"]), (2, &json!("code.configuration")), "{args:?}: {told}");
        let faults = told["error"]["data"]["faults"].as_array().unwrap().iter();
        let got: Vec<_> = faults.map(|fault| fault["field"].as_str().unwrap()).collect();
        assert_eq!(got, fields, "{told}");
        assert_eq!(told["tool_calls"], json!([]));
    }
    assert_eq!(run(&world, " ", &[]).1["code"], "code.configuration");
    assert!(!ran(&world));
}

#[test]
fn the_users_configuration_counts_and_a_project_only_makes_it_stricter() {
    let world = world();
    let calls =
        |n: u32| format!("for (let i = 0; i < {n}; i++) await runTool('acme/echo'); __out = 1");
    let code = |n| run(&world, &calls(n), &[]).1["code"].as_str().unwrap_or_default().to_owned();
    let config = |text: &str| format!("category: execution\nversion: \"1.0.0\"\n{text}");
    assert_eq!(code(3), "");
    world.signed_home(".ai/config/execution/code.yaml", &config("max_tool_calls: 4\n"));
    assert_eq!((code(4), code(5)), (String::new(), "code.limit_exceeded".into()));
    world
        .signed(".ai/config/execution/code.yaml", &config("max_tool_calls: 50\napproval: never\n"));
    assert_eq!(code(5), "code.limit_exceeded", "a project raises nothing");
    world.signed(".ai/config/execution/code.yaml", &config("max_tool_calls: 2\n"));
    assert_eq!((code(2), code(3)), (String::new(), "code.limit_exceeded".into()));
    world.signed(".ai/config/execution/code.yaml", &config("allowed_tools: [\"tool:other/**\"]\n"));
    assert_eq!(caught(&world, "acme/echo", &["--allow", "tool:acme/**"]), ["grant.denied"; 4]);
    for wrong in ["approval: maybe\n", "max_calls: 3\n", "max_tool_calls: -3\n"] {
        world.signed(".ai/config/execution/code.yaml", &config(wrong));
        assert_eq!(said(&world, "1", &["--json"]).code(), "code.configuration", "{wrong}");
    }
}

#[test]
fn below_a_run_a_person_is_asked_before_what_does_not_only_read() {
    let world = world();
    world.signed(".ai/tools/acme/writes.sh", &shell("touch ran; echo '{}'\n"));
    assert_eq!(caught(&world, "acme/writes", &[]), [""; 4], "who types it is not asked");
    assert!(ran(&world));
    let below = |tool: &str| {
        let code = format!(
            "const one = () => runTool('{tool}').then(() => '', e => e.code);\n\
             __out = await Promise.all([one(), one()]);"
        );
        let args = ["code", "run", "-", "--json"];
        let env = [("RYE_RUN_ID", "run-x")];
        let said = world.rye_env(&world.project(), &args, code.as_bytes(), &env).json();
        match said["status"].as_str() {
            Some("pending") => said["pending"]["item_id"].clone(),
            _ => said["value"].clone(),
        }
    };
    let waits = |tool: &str| {
        let said = said(&world, &format!("await runTool('{tool}')"), &["--json"]);
        assert_eq!((said.status, said.json()["status"].as_str()), (8, Some("pending")), "{said:?}");
        assert!(!ran(&world));
    };
    assert_eq!(below("acme/writes"), "tool:acme/writes");
    assert!(!ran(&world));
    assert_eq!(below("acme/echo"), json!(["", ""]), "it says `effects: read`");
    let config =
        |approval: &str| format!("category: execution\nversion: \"1.0.0\"\napproval: {approval}\n");
    let path = ".ai/config/execution/code.yaml";
    ran(&world);
    world.signed_home(path, &config("each"));
    waits("acme/writes");
    world.signed_home(path, &config("never"));
    assert_eq!(caught(&world, "acme/writes", &[]), [""; 4]);
    ran(&world);
    // Another's key, which you trust with just this, only makes it stricter.
    let theirs = stranger(1);
    trust(&world, &theirs, &["--items", "config:execution/code"]);
    put_home(&world, &theirs, path, &config("never"));
    assert_eq!(below("acme/writes"), "tool:acme/writes");
    put_home(&world, &theirs, path, &config("first"));
    waits("acme/writes");
    world.signed_home(path, &config("never"));
    assert_eq!(below("acme/writes"), json!(["", ""]));
    ran(&world);
    world.signed(path, &config("first"));
    // A project is stricter.
    waits("acme/writes");
}

#[test]
fn a_secret_that_a_tool_uses_is_in_no_record_output_error_or_log() {
    let secret = "canary-5e1f0c77ab";
    let world = World::new().env("ACME_TOKEN", secret).env("RYE_LOG", "trace");
    let tool = shell("echo \"$ACME_TOKEN\" >&2; test -n \"$ACME_TOKEN\" && touch ran; exit 4\n")
        .replace("# ///\n", "# secrets = [\"ACME_TOKEN\"]\n# ///\n");
    world.signed(".ai/tools/acme/uses.sh", &tool);
    let code = "const all = await Promise.allSettled([1, 2, 3].map(n => tools.acme.uses({n})));\n\
                for (const one of all) println(String(one.reason), JSON.stringify(one.reason.data));\n\
                __out = all.map(one => [one.reason.message, one.reason.data]);\n\
                await tools.acme.uses()";
    for args in [&["--json", "--trace"][..], &["--trace"]] {
        let said = said(&world, code, args);
        assert_eq!(said.status, 1, "{said:?}");
        assert!(ran(&world), "the tool has the secret");
        assert!(said.stdout.contains("***"), "{said:?}");
        assert!(!said.stdout.contains(secret) && !said.stderr.contains(secret), "{said:?}");
    }
}

#[test]
fn a_receipt_of_each_call_is_left_in_the_folder_that_is_named() {
    let world = world();
    let folder = world.project().join("receipts");
    let args = ["--receipt", folder.to_str().unwrap()];
    assert_eq!(said(&world, "1", &args).code(), "cli.usage");
    fs::create_dir(&folder).unwrap();
    let (status, told) =
        run(&world, "__out = await Promise.all([1, 2].map(n => tools.acme.echo({n})))", &args);
    assert_eq!((status, &told["value"]), (0, &json!([{"n": 1}, {"n": 2}])), "{told}");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        world.rye(&["receipt", "verify", file.to_str().unwrap()]).ok();
    }
}

#[test]
fn hooks_are_told_one_name_a_call_which_says_its_snippet() {
    let world = world();
    let keeps = "line=$(cat); echo \"$line\" >>\"$RYE_PROJECT/sent\"; echo '{\"allow\":true}'";
    hook(&world, "guard", "phases: [before_execution]\n", keeps);
    let code = "await runTool('acme/echo'); await runTool('acme/echo'); __out = 1";
    assert_eq!(run(&world, code, &[]).0, 0);
    let sent = String::from_utf8(world.read("sent")).unwrap();
    let ids: Vec<String> = sent
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["request"]["call_id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    let (snippet, number) = ids[0].rsplit_once('-').unwrap();
    assert!(snippet.starts_with("run-") && number == "1", "{ids:?}");
    assert_eq!(ids[1], format!("{snippet}-2"));
}

#[test]
fn a_snippet_is_read_without_being_run_and_tools_are_declared_for_it() {
    let world = world();
    world.write("good.js", "await runTool('acme/echo');\n  tools.acme.echo({});\n");
    world.write("bad.ts", "let x: number = ;\n");
    let (status, told) = world.json(&["code", "check", "good.js"]);
    assert_eq!(status, 0, "{told}");
    let calls = told["calls"].as_array().unwrap();
    assert_eq!(
        (calls.len(), &calls[0]["tool_id"], &calls[0]["line"]),
        (2, &json!("acme/echo"), &json!(1))
    );
    world.rye(&["code", "check", "bad.ts"]).fails(1, "code.failed").warns("bad.ts:1:");
    assert!(!ran(&world));
    let said = world.rye(&["code", "stubs", "--for", "tool:acme/**"]);
    let want = "declare const tools: {\n  acme: {\n    /** Echoes what it is given. */\n    \
                echo(args?: { [name: string]: any }): Promise<any>;\n  };\n};\n";
    assert_eq!((said.status, said.stdout.as_str()), (0, want), "{said:?}");
    assert!(world.rye(&["code", "stubs"]).stdout.contains("\"file-system\": {"));
}

#[test]
fn a_result_that_is_too_long_is_kept_and_told_by_its_digest() {
    let world = world();
    let (status, told) = run(&world, "__out = 'x'.repeat(300000)", &[]);
    assert_eq!((status, &told["value"]["bytes"]), (0, &json!(300_002)), "{told}");
    let kept = fs::read(told["value"]["kept"].as_str().unwrap()).unwrap();
    assert_eq!(kept.len(), 300_002);
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&kept);
    assert_eq!(told["value"]["sha256"], hex::encode(digest));
}

#[test]
fn a_signal_ends_a_snippet_with_its_calls_and_rye_ends_by_it() {
    use std::os::unix::process::ExitStatusExt;
    let world = world();
    world.signed(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own\nexec sleep 600\n"));
    world.write("a.js", "await tools.acme.sleeps()");
    let mut child = world.command(&["code", "run", "a.js", "--json"]).spawn().unwrap();
    let own = world.project().join("own");
    while fs::read_to_string(&own).map_or(true, |text| !text.ends_with('\n')) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(15), "{status:?}");
    let tool = fs::read_to_string(&own).unwrap();
    assert!(!fs::exists(format!("/proc/{}", tool.trim())).unwrap(), "the tool still runs");
}

#[test]
fn what_models_write_of_a_snippet_runs_or_says_what_to_do_table() {
    let world = World::new().with(
        ".ai/tools/acme/ids.sh",
        &tool_sh(
            "effects = \"read\"",
            "echo '{\"id\": 1234567890123456789, \"least\": -9223372036854775808}'\n",
        ),
    );
    let run = |code: &str| {
        let said = world.rye_in(&world.project(), &["code", "run", "-", "--json"], code.as_bytes());
        said.json()
    };
    let told = run("const r = await tools.acme.ids(); println(JSON.stringify(r)); __out = r.least");
    assert_eq!(
        told["stdout"],
        "{\"id\":\"1234567890123456789\",\"least\":\"-9223372036854775808\"}\n"
    );
    assert_eq!(told["value"].to_string(), "-9223372036854775808", "digit for digit");
    let fenced = "```ts\nconst n: number = 3;\n__out = n.x.y\n```";
    let told = run(fenced);
    assert_eq!(told["error"]["line"], 3, "{told}");
    assert_eq!(run("```js\n__out = 7\n```\n")["value"], 7);
    let told = run("async () => 1");
    assert!(told["help"].as_str().unwrap().starts_with("call the function"), "{told}");
    let told = run("const r = tools.acme.ids(); __out = r.id");
    assert!(told["warnings"][0].as_str().unwrap().contains("`await`"), "{told}");
    let told = run("tools.acme.ids(); __out = 1");
    assert!(told.get("warnings").is_none(), "{told}");
    let told = run("await Promise.all([tools.acme.ids()])");
    assert!(told.get("warnings").is_none(), "{told}");
    world.write("mine.js", "const a = {};\na.b.c()\n");
    let said = world.rye(&["code", "run", "mine.js"]);
    assert!(said.stderr.contains("mine.js:2:") && said.stderr.contains("a.b.c()"), "{said:?}");
    world.write("mine.js", "const a = {};\nlet b = ;\n");
    let said = world.rye(&["code", "check", "mine.js"]);
    assert!(said.stderr.contains("mine.js:2:") && said.stderr.contains("let b = ;"), "{said:?}");
    let told = run("await runTool('acme/idss')");
    assert!(told["error"].to_string().contains("did you mean `tool:acme/ids`?"), "{told}");
}
