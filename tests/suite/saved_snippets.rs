//! Snippets that are tools: `executor_id: rye/core/runtimes/code/snippet`.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::hooks::hook;
use crate::mcp::client::Client;
use crate::tools::shell;
use crate::world::items::tool_sh;
use crate::world::{End, World};

/// A tool that reads, and gives what it is given.
pub fn echo() -> String {
    tool_sh("description = \"Echoes what it is given.\"\neffects = \"read\"", "touch ran\ncat\n")
}

/// A saved snippet that may make these calls; its code begins in line 8, behind the signature
/// line.
pub fn snippet(calls: &[&str], code: &str) -> String {
    format!(
        "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
         // executor_id = \"rye/core/runtimes/code/snippet\"\n// calls = {}\n// ///\n{code}\n",
        json!(calls)
    )
}

pub fn world() -> World {
    World::new().with(".ai/tools/acme/echo.sh", &echo())
}

fn ran(world: &World) -> bool {
    fs::remove_file(world.project().join("ran")).is_ok()
}

/// Finds, describes, runs five at once, chains two, catches one failure and says what came of it.
const FIVE: &str = r#"
    println("begin");
    const hits = (await searchTools("echoes", 5)).hits.map(hit => hit.item_id);
    const told = await describeTool("acme/echo");
    const five = await Promise.all([1, 2, 3, 4, 5].map(n => tools.acme.echo({n: params.k * n})));
    const chain = await runChain([
        {tool_id: "acme/echo", args: {a: {b: [7]}}},
        {tool_id: "acme/echo", use_previous: true, previous_path: "/a/b/0", previous_as: "x"},
    ]);
    let failed;
    try { await runTool("acme/fails") } catch (e) { failed = [e.name, e.code, e.tool] }
    console.error("end");
    __out = {hits, summary: told.summary, five: five.map(one => one.n), chain: chain.value, failed};
"#;

fn five() -> World {
    let world = world();
    let fails = shell("cat >/dev/null; echo no >&2; exit 3\n");
    let fails = fails.replacen("# version", "# effects = \"read\"\n# version", 1);
    world.signed(".ai/tools/acme/fails.sh", &fails);
    let schema = "// [input_schema]\n// type = \"object\"\n// required = [\"k\"]\n\
                  // [input_schema.properties.k]\n// type = \"integer\"\n// ///\n\n";
    let text = snippet(&["tool:acme/*"], FIVE).replacen("// ///\n\n", schema, 1);
    world.signed(".ai/tools/acme/five.js", &text);
    world
}

#[track_caller]
fn is_five(told: &Value) {
    assert_eq!(told["status"], "success", "{told}");
    let value = &told["data"];
    assert_eq!(value["hits"][0], "tool:acme/echo", "{told}");
    assert_eq!(value["summary"], "Echoes what it is given.");
    assert_eq!(value["five"], json!([10, 20, 30, 40, 50]));
    assert_eq!(value["chain"], json!({"x": 7}));
    assert_eq!(value["failed"], json!(["ToolError", "execute.tool_failed", "acme/fails"]));
    let did = &told["metadata"];
    assert_eq!((&did["stdout"], &did["stderr"]), (&json!("begin\n"), &json!("end\n")));
    let calls = did["tool_calls"].as_array().unwrap();
    assert_eq!((calls.len(), &did["limits"]["used"]["tool_calls"]), (10, &json!(8)));
    for call in calls {
        assert!(call["duration_ms"].is_u64() && call["started_ms"].is_u64(), "{call}");
    }
}

#[test]
fn a_saved_snippet_does_the_task_of_five_tools_from_the_command_line_and_for_an_agent() {
    let world = five();
    let told = world.json(&["run", "acme/five", "k=10"]).ok();
    is_five(&told);
    let chain: Vec<_> = told["chain"].as_array().unwrap().iter().collect();
    assert_eq!(chain.last().unwrap().as_str(), Some("rye/core/primitives/code"), "{told}");
    let told = world.json(&["execute", "tool:acme/five", "--params", "{\"k\": 10}"]).ok();
    is_five(&told);
    // For a person: the value, and what was printed beside it.
    let said = world.rye(&["run", "acme/five", "k=10"]);
    assert!(said.stdout.starts_with('{') && said.stderr == "begin\nend\n", "{said:?}");
    // Its inputs are those of every tool.
    world.json(&["run", "acme/five"]).fails(2, "plan.invalid_parameters");
    let mut client = Client::new(&world, &[]);
    let arguments = json!({"item_id": "tool:acme/five", "parameters": {"k": 10}});
    let (said, is_error) = client.call("rye_execute", arguments);
    assert!(!is_error, "{said}");
    is_five(&said);
}

#[test]
fn a_dry_run_and_a_plan_say_what_it_may_call_and_run_nothing() {
    let world = world();
    world.signed(".ai/tools/acme/one.js", &snippet(&["tool:acme/echo"], "await tools.acme.echo()"));
    world.signed(".ai/tools/acme/none.js", &snippet(&[], "1"));
    world.rye(&["run", "acme/one", "--dry-run"]).ok().shows("may call tool:acme/echo\n");
    world.rye(&["run", "acme/none", "--dry-run"]).shows("may call nothing\n");
    let (status, told) = world.json(&["plan", "acme/one"]);
    let plan = if told["plan"].is_object() { &told["plan"] } else { &told };
    assert_eq!(status, 0, "{told}");
    let want = json!({"language": "javascript", "calls": ["tool:acme/echo"], "limits": {}});
    assert_eq!(plan["snippet"], want, "{told}");
    for verb in [&["show", "acme/one"][..], &["trust", "review"], &["graph", "acme/one"]] {
        world.rye(verb).shows("calls tools tool:acme/echo");
    }
    assert!(!ran(&world));
    world.rye(&["run", "acme/one"]).ok();
    assert!(ran(&world), "the fixture itself calls it");
}

/// What a saved snippet catches of a call of `tool`, alone and two at once.
fn caught(tool: &str) -> String {
    format!(
        "const one = () => runTool({tool:?}).then(() => '', e => e.code);\n\
         __out = [await one(), ...await Promise.all([one(), one()])];"
    )
}

#[test]
fn it_reaches_what_its_header_lists_and_never_more_than_its_caller() {
    let world = world();
    world.signed(".ai/tools/other/echo.sh", &echo());
    world.signed(".ai/tools/acme/all.js", &snippet(&["tool:**"], &caught("other/echo")));
    world.signed(".ai/tools/acme/own.js", &snippet(&["tool:acme/**"], &caught("other/echo")));
    let without = snippet(&[], &caught("acme/echo")).replacen("// calls = []\n", "", 1);
    world.signed(".ai/tools/acme/without.js", &without);
    let data = |item: &str| world.json(&["run", item]).1["data"].clone();
    assert_eq!(data("acme/all"), json!(["", "", ""]), "the fixture works untouched");
    assert!(ran(&world));
    let denied = json!(["grant.denied", "grant.denied", "grant.denied"]);
    for item in ["acme/own", "acme/without"] {
        assert_eq!(data(item), denied, "{item}");
    }
    // Through another saved snippet, and below what `--allow` grants.
    let through = |calls: &[&str]| snippet(calls, "__out = await tools.acme.all()");
    world.signed(".ai/tools/acme/through.js", &through(&["tool:acme/**"]));
    assert_eq!(data("acme/through"), denied);
    world.signed(".ai/tools/acme/wide.js", &through(&["tool:acme/**", "tool:other/**"]));
    assert_eq!(data("acme/wide"), json!(["", "", ""]));
    let code = b"__out = await tools.acme.wide()";
    let run = |allow: &str| {
        let args = ["code", "run", "-", "--json", "--allow", "tool:acme/**", "--allow", allow];
        world.rye_in(&world.project(), &args, code).json()["value"].clone()
    };
    assert_eq!(run("tool:other/**"), json!(["", "", ""]));
    ran(&world);
    assert_eq!(run("tool:none/**"), denied);
    // What it finds is what it reaches.
    let finds = "__out = [(await searchTools('echoes', 9)).hits.length, await listNamespaces(), \
                 await describeTool('other/echo').catch(e => e.code)]";
    world.signed(".ai/tools/acme/finds.js", &snippet(&["tool:acme/echo"], finds));
    let want = json!([1, [{"name": "acme", "tools": 1}], "grant.denied"]);
    assert_eq!(data("acme/finds"), want);
    assert!(!ran(&world));
}

#[test]
fn hooks_are_asked_about_it_and_its_calls_and_what_the_lock_does_not_list_is_not_called() {
    let world = world();
    let text = snippet(&["tool:acme/echo"], "__out = await tools.acme.echo({n: 1})");
    world.signed(".ai/tools/acme/one.js", &text);
    assert_eq!(world.json(&["run", "acme/one"]).1["data"], json!({"n": 1}));
    assert!(ran(&world));
    // A hook is asked about the snippet and about its call.
    let keeps = "line=$(cat); echo \"$line\" >>\"$RYE_PROJECT/sent\"; echo '{\"allow\":true}'";
    hook(&world, "guard", "phases: [before_execution]\n", keeps);
    world.rye(&["run", "acme/one"]).ok();
    let sent = String::from_utf8(world.read("sent")).unwrap();
    let ids: Vec<String> = sent
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| line["request"]["call_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, [ids[0].clone(), format!("{}-1", ids[0])], "{sent}");
    // What the lock does not list is not called.
    world.rye(&["lock", "tool:acme/one"]).ok();
    world
        .rye(&["run", "acme/one", "--locked", "--json"])
        .fails_with("code.failed")
        .shows("lock.not_listed");
}

#[test]
fn typescript_is_a_snippet_too_and_a_wrong_place_is_that_of_the_file_table() {
    let world = world();
    let ts = "const n: number = (params as {n: number}).n;\n__out = {n: n + 1 as number};";
    world.signed(".ai/tools/acme/typed.ts", &snippet(&[], ts));
    let (status, told) = world.json(&["run", "acme/typed", "n:=1"]);
    assert_eq!((status, &told["data"]), (0, &json!({"n": 2})), "{told}");
    // Line 1 is the signature, 2 to 7 the header, and the code begins in line 8.
    for (file, code, line, column) in [
        ("a.js", "const a = 1;\nnope.x;", 9, 1),
        ("b.js", "await 1;\n\n  throw new Error('no');", 10, 9),
        ("c.ts", "const s: string = 'ü🦀'; (null as any).x;", 8, 25),
        (
            "d.ts",
            "type T = {a: 1};\nconst f = async (): Promise<void> => { await 1; gone() };\nawait f();",
            9,
            49,
        ),
    ] {
        let (name, _) = file.split_once('.').unwrap();
        world.signed(&format!(".ai/tools/acme/{file}"), &snippet(&[], code));
        let told = world.json(&["run", &format!("acme/{name}")]).fails(1, "code.failed");
        assert_eq!(told["place"]["line"], line, "{file}: {told}");
        let got = told["place"]["column"].as_i64().unwrap();
        assert!((got - column).abs() <= 14, "{file}: {got}, not {column}: {told}");
        assert_eq!(told["place"]["path"], format!(".ai/tools/acme/{file}"), "{told}");
    }
    // A first line that names a program moves the signature to the second.
    let text = format!("#!/usr/bin/env rye\n{}", snippet(&[], "nope.x"));
    world.signed(".ai/tools/acme/shebang.js", &text);
    assert_eq!(world.json(&["run", "acme/shebang"]).1["place"]["line"], 9);
}

#[test]
fn what_is_not_a_snippet_is_not_signed_and_the_place_is_told() {
    let world = world();
    let path = ".ai/tools/acme/one.js";
    for (text, says) in [
        (snippet(&[], "const x = ;"), "7:11"),
        (snippet(&["acme/**"], "1"), "write `\"tool:acme/**\"`"),
        (snippet(&["knowledge:acme/x"], "1"), "write `\"tool:acme/x\"`"),
        (snippet(&[], "1").replace("calls = []", "calls = 'tool:a'"), "write `calls = ["),
        (snippet(&[], "1").replace("calls = []", "config.max_calls = 3"), "`/config/max_calls`"),
        (
            snippet(&[], "1")
                .replace("rye/core/runtimes/code/snippet", "rye/core/runtimes/node/node"),
            "`/calls`",
        ),
    ] {
        world.write(path, &text);
        let said = world.rye(&["sign", "tool:acme/one"]);
        assert_ne!(said.status, 0, "{text}: {said:?}");
        assert!(said.stderr.contains(says), "`{says}` is not in {said:?}");
    }
    let yaml = "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/code/snippet\n\
                category: acme\ndescription: \"x\"\n";
    world.write(".ai/tools/acme/two.yaml", yaml);
    let said = world.rye(&["sign", "tool:acme/two"]);
    assert!(said.status != 0 && said.stderr.contains("`.js` or `.ts`"), "{said:?}");
}

#[test]
fn its_header_lowers_limits_and_raises_none_and_a_limit_is_not_caught() {
    let world = world();
    let code = "try { for (let i = 0; i < params.n; i++) await tools.acme.echo() } catch (e) {}\n1";
    let with = |config: &str| {
        let text = snippet(&["tool:acme/echo"], code);
        let text = text.replace("// ///\n", &format!("// config = {config}\n// ///\n"));
        world.signed(".ai/tools/acme/loops.js", &text);
        |n: u32| {
            let (status, told) = world.json(&["run", "acme/loops", &format!("n:={n}")]);
            (status, told["code"].as_str().unwrap_or_default().to_owned(), told)
        }
    };
    let run = with("{ max_tool_calls = 2 }");
    assert_eq!(run(2).1, "");
    let (status, code, told) = run(3);
    assert_eq!((status, code.as_str()), (4, "code.limit_exceeded"), "{told}");
    assert_eq!(told["data"]["limit"], "tool_calls", "{told}");
    assert!(told["help"].as_str().unwrap().contains("`config.max_tool_calls`"), "{told}");
    assert_eq!(told["data"]["tool_calls"].as_array().unwrap().len(), 3, "{told}");
    let run = with("{ max_tool_calls = 5000 }");
    let (_, code, told) = run(101);
    assert_eq!(code, "code.limit_exceeded", "the person's limit holds");
    assert!(told["help"].as_str().unwrap().contains("`config:execution/code`"), "{told}");
    // Its time is that of every tool, and whoever set it is named.
    let slow = "try { for (;;) await tools.acme.sleeps() } finally { println('on') }";
    world.signed(
        ".ai/tools/acme/sleeps.sh",
        &echo().replace("touch ran\n", "echo $$ >own\nexec sleep 600\n"),
    );
    let slow = snippet(&["tool:acme/sleeps"], slow);
    let slow = slow.replace("// ///\n", "// config = { timeout = \"700ms\" }\n// ///\n");
    world.signed(".ai/tools/acme/slow.js", &slow);
    let told = world.json(&["run", "acme/slow"]).fails(6, "execute.timeout");
    assert!(told["help"].as_str().unwrap().contains("config.timeout"), "{told}");
    assert_eq!(told["data"]["stdout"], "", "{told}");
    let pid = fs::read_to_string(world.project().join("own")).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "the tool still runs");
}

#[test]
fn one_that_calls_itself_ends_with_a_code_and_leaves_nothing_running() {
    let world = world();
    let itself = "__out = await tools.acme.again().then(v => v, e => [e.code, e.data.help])";
    world.signed(".ai/tools/acme/again.js", &snippet(&["tool:acme/again"], itself));
    let (status, told) = world.json(&["run", "acme/again"]);
    assert_eq!((status, &told["data"][0]), (0, &json!("code.nested_too_deep")), "{told}");
    // By way of another, many at once, without catching.
    let both = "await Promise.all([1, 2, 3, 4].map(() => params.on && 0 || tools.acme.pong()))";
    world.signed(".ai/tools/acme/ping.js", &snippet(&["tool:acme/**"], both));
    let back = "await Promise.all([1, 2, 3, 4].map(() => tools.acme.ping()))";
    world.signed(".ai/tools/acme/pong.js", &snippet(&["tool:acme/**"], back));
    let told = world.json(&["run", "acme/ping"]).fails(1, "code.failed");
    assert!(told["error"].as_str().unwrap().contains("snippets run"), "{told}");
    // A snippet that fails ends the snippets below it with their tools.
    world.signed(
        ".ai/tools/acme/sleeps.sh",
        &echo().replace("touch ran\n", "echo $$ >own\nexec sleep 600\n"),
    );
    world.signed(
        ".ai/tools/acme/inner.js",
        &snippet(&["tool:acme/sleeps"], "await tools.acme.sleeps()"),
    );
    let waits = "until test -s own; do sleep 0.1; done\necho '{}'\n";
    world.signed(".ai/tools/acme/waits.sh", &echo().replace("touch ran\ncat\n", waits));
    let outer = "tools.acme.inner(); await tools.acme.waits(); throw new Error('enough')";
    world.signed(".ai/tools/acme/outer.js", &snippet(&["tool:acme/**"], outer));
    world.json(&["run", "acme/outer"]).fails(1, "code.failed");
    let pid = fs::read_to_string(world.project().join("own")).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "the tool still runs");
}

#[test]
fn what_changes_something_is_approved_as_in_every_snippet() {
    let world = world();
    world.signed(".ai/tools/acme/writes.sh", &shell("touch ran; echo '{}'\n"));
    world.signed(".ai/tools/acme/save.js", &snippet(&["tool:acme/writes"], &caught("acme/writes")));
    let (_, told) = world.json(&["run", "acme/save"]);
    assert_eq!(told["data"], json!(["", "", ""]), "who types it is not asked: {told}");
    assert!(ran(&world));
    let env = [("RYE_RUN_ID", "run-x")];
    let args = ["run", "acme/save", "--json"];
    let below = || world.rye_env(&world.project(), &args, b"", &env).json();
    let mut client = Client::new(&world, &[]);
    let (by_agent, _) = client.call("rye_execute", json!({"item_id": "tool:acme/save"}));
    for told in [below(), by_agent] {
        assert_eq!(told["status"], "pending", "{told}");
        let message = "`tool:acme/save` calls `tool:acme/writes` with {}";
        assert_eq!(told["pending"]["message"], message, "{told}");
    }
    assert!(!ran(&world));
    let config = "category: execution\nversion: \"1.0.0\"\napproval: never\n";
    world.signed_home(".ai/config/execution/code.yaml", config);
    assert_eq!(below()["data"], json!(["", "", ""]));
}

#[test]
fn what_it_printed_and_called_is_not_told_where_a_hook_replaces_its_answer() {
    let world = world();
    let code = "println('hush'); await tools.acme.echo({word: 'hush'}); __out = 'hush'";
    world.signed(".ai/tools/acme/one.js", &snippet(&["tool:acme/echo"], code));
    let (_, told) = world.json(&["run", "acme/one"]);
    assert_eq!(told.to_string().matches("hush").count(), 4, "the fixture tells it: {told}");
    let hides = "cat >/dev/null; echo '{\"allow\":true,\"replace\":{\"content\":\"-\"}}'";
    let more = "phases: [after_execution]\nreplaces: true\nmatch: [\"tool:acme/one\"]\n";
    hook(&world, "hide", more, hides);
    let (status, told) = world.json(&["run", "acme/one"]);
    assert_eq!((status, &told["data"]), (0, &json!("-")), "{told}");
    assert!(!told.to_string().contains("hush"), "{told}");
}

#[test]
fn its_calls_are_in_the_trace_and_in_the_receipt() {
    let world = world();
    let code =
        "await tools.acme.echo({a: 1}); await runTool('acme/none').catch(() => 0); println('x')";
    world.signed(".ai/tools/acme/two.js", &snippet(&["tool:acme/**"], code));
    let receipt = world.project().join("receipt.json");
    let path = receipt.to_str().unwrap();
    let said = world.rye(&["run", "acme/two", "--json", "--trace", "--receipt", path]).ok();
    let told = said.json();
    let calls = told["trace"].as_array().unwrap().iter().filter(|event| event["step"] == "call");
    let calls: Vec<_> = calls.map(|event| (&event["tool_id"], &event["failed"])).collect();
    let (echo, none) = (json!("acme/echo"), json!("acme/none"));
    let missing = json!("resolve.not_found");
    assert_eq!(calls, [(&echo, &Value::Null), (&none, &missing)], "{told}");
    world.rye(&["receipt", "verify", path, "--json"]).ok();
    let envelope: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    let payload = envelope["payload"].as_str().unwrap();
    let payload = base64::engine::general_purpose::STANDARD.decode(payload).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let calls = payload["predicate"]["calls"].as_array().unwrap();
    assert_eq!((&calls[0]["tool"], &calls[0]["error"]), (&echo, &Value::Null), "{payload}");
    assert_eq!((&calls[1]["tool"], &calls[1]["error"]), (&none, &missing), "{payload}");
    let digest = crate::world::sha256(br#"{"a":1}"#);
    assert_eq!(calls[0]["args"]["sha256"], digest);
    assert_eq!(payload["predicate"]["stdout"]["sha256"], crate::world::sha256(b"x\n"));
}

#[test]
fn a_test_spec_beside_it_is_run_as_that_of_every_tool() {
    let world = world();
    world.signed(
        ".ai/tools/acme/sum.js",
        &snippet(&["tool:acme/echo"], "const {n} = await tools.acme.echo({n: params.n}); n + 1"),
    );
    world.write(
        ".ai/tools/acme/sum.test.yaml",
        "cases:\n  - {name: adds one, inputs: {n: 4}, expect: {result: 5}}\n",
    );
    let said = world.rye(&["test"]).ok();
    assert!(said.stdout.contains("adds one") || said.stdout.contains("1 passed"), "{said:?}");
}

#[test]
fn a_signal_ends_it_with_its_calls_and_rye_ends_by_it() {
    use std::os::unix::process::ExitStatusExt;
    let world = world();
    world.signed(
        ".ai/tools/acme/sleeps.sh",
        &echo().replace("touch ran\n", "echo $$ >own\nexec sleep 600\n"),
    );
    world.signed(
        ".ai/tools/acme/one.js",
        &snippet(&["tool:acme/sleeps"], "await tools.acme.sleeps()"),
    );
    let mut child = world.command(&["run", "acme/one", "--json"]).spawn().unwrap();
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
fn in_a_thread_it_is_given_no_secret_of_the_tools_that_it_calls_and_so_tells_none() {
    use crate::threads::{call, directive, events, fork, hand_over, provider, transcript};
    let secret = "canary-1b7e44d0";
    let world = World::new().env("ACME_TOKEN", secret);
    let header = |more: &str| {
        format!(
            "# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
             # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n\
             # description = \"d\"\n# effects = \"read\"\n{more}# ///\n"
        )
    };
    let uses = header("# secrets = [\"ACME_TOKEN\"]\n");
    let uses = format!("{uses}echo \"{{\\\"key\\\": \\\"$ACME_TOKEN\\\"}}\"\n");
    world.signed(".ai/tools/acme/uses.sh", &uses);
    let saved = |name: &str, calls: &str, code: &str| {
        let text = format!(
            "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
             // executor_id = \"rye/core/runtimes/code/snippet\"\n// category = \"acme\"\n\
             // description = \"d\"\n// effects = \"read\"\n// calls = [\"{calls}\"]\n// ///\n{code}\n"
        );
        world.signed(&format!(".ai/tools/acme/{name}.js"), &text);
    };
    // Whatever it would make of the value: in pieces, turned around, in an error.
    let pieces = "const { key } = await runTool('acme/uses', {}); println(key);\n\
                  __out = [key.slice(7), [...key].reverse().join(''), key.length]";
    saved("plain", "tool:acme/uses", pieces);
    saved(
        "outer",
        "tool:acme/plain\", \"tool:acme/uses",
        "__out = await runTool('acme/plain', {})",
    );
    saved("throws", "tool:acme/uses", "throw new Error((await runTool('acme/uses', {})).key)");
    let (status, told) = world.json(&["execute", "tool:acme/plain"]);
    assert_eq!((status, &told["data"][2]), (0, &json!(secret.len())), "the fixture works: {told}");
    let names = ["acme_plain", "acme_outer", "acme_throws"];
    let mut turns: Vec<Value> = names.iter().map(|name| call(name, &json!({}))).collect();
    turns.push(hand_over());
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!(turns)));
    let may = "<execute><tool>acme.*</tool></execute>";
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", may));
    let told = fork(&world, &[]).ok();
    let id = told["thread_id"].as_str().unwrap();
    let gave = events(&world, id, "tool_call_result");
    for (name, gave) in names[..2].iter().zip(&gave) {
        assert!(gave["content"].as_str().unwrap().contains("3]"), "{name}: {gave}");
    }
    let all = std::fs::read_to_string(transcript(&world, id)).unwrap();
    let backwards: String = secret.chars().rev().collect();
    for told in [secret, &secret[7..], &backwards[..8]] {
        assert!(!all.contains(told), "{told}");
    }
}
