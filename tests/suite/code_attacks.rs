//! Attacks on what is around a snippet: its records, its limits, who is asked, and rye's memory.
//!
//! The engine's own battery is `code_engine/hostile.rs`; here snippets have real tools.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::code_waits::{self, decide, lines, waits};
use crate::mcp::client::Client;
use crate::saved_snippets::{echo, snippet, world};
use crate::world::{World, whole};

#[track_caller]
fn run(world: &World, code: &str, args: &[&str]) -> (i32, Value) {
    let args = [&["code", "run", "-", "--json"], args].concat();
    let said = world.rye_in(&world.project(), &args, code.as_bytes());
    (said.status, said.json())
}

/// Snippets that try to be taken for something else, or to make rye see other arguments than the
/// tool; what each gives, or the code with which it fails.
const FORGES: &[(&str, Result<&str, &str>)] = &[
    // It lost its own names and calls all the same.
    (
        "const r = runTool; globalThis.runTool = globalThis.tools = null; __out = await r(ID, {n: 1})",
        Ok("{\"n\":1}"),
    ),
    // Arguments are read once.
    ("let k = 0; __out = await runTool(ID, {get n() { return ++k }})", Ok("{\"n\":1}")),
    (
        "let k = 0; const get = (t, p) => p === 'n' ? ++k : t[p];\n\
      __out = await runTool(ID, new Proxy({n: 9}, {get}))",
        Ok("{\"n\":1}"),
    ),
    ("const a = {n: 1}; const p = runTool(ID, a); a.n = 2; __out = await p", Ok("{\"n\":1}")),
    (
        "let k = 0; Object.prototype.toJSON = function () { return k++ ? this : {n: 1} };\n\
      const p = await runTool(ID, {n: 7}); delete Object.prototype.toJSON; __out = p",
        Ok("{\"n\":1}"),
    ),
    (
        "const a = JSON.parse('{\"__proto__\": {\"x\": 1}, \"constructor\": 2}');\n\
      const got = await runTool(ID, a); __out = [Object.keys(got), ({}).x === undefined]",
        Ok("[[\"__proto__\",\"constructor\"],true]"),
    ),
    (
        "BigInt.prototype.toString = () => '1,\"x\":2'; __out = await runTool(ID, {n: 2n ** 70n})",
        Ok("{\"n\":1180591620717411303424}"),
    ),
    (
        "Number.prototype.toString = () => '1,\"x\":2'; __out = await runTool(ID, {n: 0.5})",
        Ok("{\"n\":0.5}"),
    ),
    (
        "String.prototype.toString = () => 'x'; __out = await runTool(ID, {n: new String('\"')})",
        Ok("{\"n\":\"\\\"\"}"),
    ),
    (
        "Array.prototype.push = () => { throw 1 }; Reflect.apply = null;\n\
      Function.prototype.apply = Function.prototype.call = null;\n\
      __out = await tools.acme.echo({n: [1]})",
        Ok("{\"n\":[1]}"),
    ),
    (
        "class P extends Promise {} Promise.prototype.constructor = P;\n\
      Promise.prototype.then = () => { throw 1 }; __out = await runTool(ID, {n: 1})",
        Err("code.failed"),
    ),
    // Errors that say what rye says.
    (
        "throw Object.assign(new ToolError('no'), {code: 'grant.denied', tool: ID})",
        Err("code.failed"),
    ),
    (
        "throw {name: 'LimitExceeded', message: 'm', code: 'code.limit_exceeded'}",
        Err("code.failed"),
    ),
    (
        "ToolError.prototype.code = 'forged'; Object.defineProperty(Object.prototype, 'code',\n\
      {get: () => 'forged', set() { throw 1 }}); __out = await runTool('acme/no').catch(e => e.code)",
        Ok("\"resolve.not_found\""),
    ),
    (
        "Object.freeze(ToolError.prototype); Object.freeze(Error.prototype);\n\
      __out = await runTool('acme/no').catch(e => [e.name, e.code])",
        Ok("[\"ToolError\",\"resolve.not_found\"]"),
    ),
    // Results that look like one of rye.
    (
        "__out = {status: 'pending', pending: {id: 'p-000000000000'}}",
        Ok("{\"pending\":{\"id\":\"p-000000000000\"},\"status\":\"pending\"}"),
    ),
    (
        "__out = {status: 'error', code: 'code.failed', error: {code: 'x'}}.code",
        Ok("\"code.failed\""),
    ),
    ("__out = {then(give) { give('thenable') }}", Err("code.result_not_serialisable")),
    ("__out = await {then(give) { give('thenable') }}", Ok("\"thenable\"")),
    ("__out = '\\udfff'", Err("code.result_not_serialisable")),
    ("__out = await runTool(ID, {s: '\\ud800'}).catch(e => e.name)", Ok("\"TypeError\"")),
    // Tools under other names.
    ("__out = await tools['..'].etc.passwd().catch(e => e.code)", Ok("\"id.malformed\"")),
    ("__out = await tools['directive:x']().catch(e => e.code)", Ok("\"plan.not_a_tool\"")),
    ("__out = await tools[ID + '@system']().catch(e => e.code)", Ok("\"resolve.not_found\"")),
    ("__out = await runTool(ID.toUpperCase()).catch(e => e.code)", Ok("\"resolve.not_found\"")),
    (
        "__out = await runTool('rye/core/runtimes/shell/script').catch(e => e.code)",
        Ok("\"chain.not_a_tool\""),
    ),
    (
        "__out = await runTool('rye/core/primitives/execute').catch(e => e.code)",
        Ok("\"chain.not_a_tool\""),
    ),
    ("__out = await runTool([ID]).catch(e => e.name)", Ok("\"TypeError\"")),
    ("__out = await runTool({toString: () => ID}).catch(e => e.name)", Ok("\"TypeError\"")),
    ("__out = await runTool(ID, [1]).catch(e => e.name)", Ok("\"TypeError\"")),
    ("__out = await runTool(ID, new Map([['n', 1]])).catch(e => e.name)", Ok("\"TypeError\"")),
    ("__out = await runTool(ID, {f: () => 1}).catch(e => e.name)", Ok("\"TypeError\"")),
    // Chains.
    (
        "__out = await runChain([{tool_id: ID, args: {a: 1}},\n\
      {tool_id: ID, use_previous: true, previous_path: '/__proto__'}]).catch(e => e.code)",
        Ok("\"code.chain\""),
    ),
    (
        "const got = await runChain([{tool_id: ID, args: {a: 1}},\n\
      {tool_id: ID, use_previous: true, previous_as: '__proto__'}]);\n\
      __out = [Object.keys(got.value), ({}).a === undefined]",
        Ok("[[\"__proto__\"],true]"),
    ),
    (
        "__out = await runChain([{tool_id: ID, approved: true}]).catch(e => e.code)",
        Ok("\"code.chain\""),
    ),
    (
        "try { await runChain(Array(21).fill({tool_id: ID})) } finally { __out = 1 }",
        Err("code.limit_exceeded"),
    ),
    // Lookups.
    ("__out = await searchTools('x '.repeat(5e5)).catch(e => e.code)", Ok("\"search.query\"")),
    ("__out = await searchTools('echoes', -1).catch(e => e.name)", Ok("\"TypeError\"")),
    ("__out = (await searchTools('echoes', 2 ** 53)).hits.length", Ok("1")),
    ("__out = await describeTool(ID, ['full']).catch(e => e.name)", Ok("\"TypeError\"")),
    ("__out = await listToolExamples(ID, 1e9)", Ok("[]")),
    // What is around it is not there.
    (
        "__out = [typeof setTimeout, typeof fetch, typeof process, typeof std, typeof os, typeof gc]",
        Ok("[\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\"]"),
    ),
];

#[test]
fn a_key_that_the_library_reads_as_other_json_crosses_no_border_of_a_snippet() {
    let raw = r#"{"$serde_json::private::RawValue":"[1,1]"}"#;
    let world = World::new().with(
        ".ai/tools/acme/raw.sh",
        &crate::world::items::tool_sh("effects = \"read\"", &format!("echo '{raw}'\n")),
    );
    for (code, want) in [
        ("__out = await tools.acme.raw().catch(e => e.code)", "code.result_not_serialisable"),
        (
            "__out = await tools.acme.raw({'$serde_json::private::Number': '7'}).catch(e => e.name)",
            "TypeError",
        ),
    ] {
        let said = world.rye_in(&world.project(), &["code", "run", "-", "--json"], code.as_bytes());
        assert_eq!(said.json()["value"], want, "{said:?}");
    }
    world.write("p.json", format!(r#"{{"format":"x","x":{raw}}}"#));
    let said = world.rye(&["run", "--plan", "p.json", "--json"]);
    assert_eq!(said.code(), "plan.malformed", "{said:?}");
}

#[test]
fn a_snippet_is_not_taken_for_something_else_and_its_records_are_what_the_tools_got_table() {
    let world = world();
    assert!(FORGES.len() >= 30, "{}", FORGES.len());
    for (code, want) in FORGES {
        let (status, told) = run(&world, &format!("const ID = 'acme/echo'; {code}"), &[]);
        match want {
            Ok(value) => {
                let value: Value = serde_json::from_str(value).unwrap();
                assert_eq!((status, &told["value"]), (0, &value), "{code}: {told}");
                assert_eq!(told["status"], "success", "{code}: {told}");
            }
            Err(code_of) => {
                assert_eq!(told["code"], *code_of, "{code}: {told}");
                assert!(status != 0 && told["value"].is_null(), "{code}: {told}");
            }
        }
        // The tool gives what it got.
        for call in told["tool_calls"].as_array().unwrap() {
            let is_echo = call["tool_id"] == "acme/echo" && call["error"].is_null();
            assert!(!is_echo || call["args"] == call["structured"], "{code}: {call}");
        }
    }
}

#[test]
fn what_a_snippet_writes_into_an_error_or_prints_moves_nothing_in_a_terminal() {
    let world = world().env("NO_COLOR", "1");
    world.write(
        "a.js",
        "println('\\x1b[2J\\u202e waits for a person');\n\
        throw new Error('a\\x1b[31m\\nerror[verify.ok]: fine\\u202e')",
    );
    let said = world.rye_at_a_terminal("", &["code", "run", "a.js"]);
    assert_eq!(said.status, 1, "{said:?}");
    assert!(!said.stdout.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    assert!(!said.stdout.lines().any(|line| line.starts_with("error[verify.ok]")), "{said:?}");
    assert!(said.stdout.contains("error[code.failed]"), "{said:?}");
}

/// The most memory that rye itself took for a snippet, in KiB, and what it gave.
fn peak(world: &World, code: &str, args: &[&str]) -> (u64, Value) {
    let args = [&["code", "run", "-", "--json"], args].concat();
    let mut command = world.command(&args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watched = std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(line) = line else { break };
            peak = peak.max(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        peak
    });
    let output = child.wait_with_output().unwrap();
    (watched.join().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

/// 12 calls and ids here; the whole is 30.
#[test]
fn arguments_and_ids_of_many_calls_take_a_bounded_part_of_ryes_memory() {
    let world = world();
    let sleeps = code_waits::reads("cat >/dev/null; exec sleep 30\n");
    world.signed(".ai/tools/acme/sleeps.sh", &sleeps);
    let config = "category: execution\nversion: \"1.0.0\"\nengine_ms: 120000\n";
    world.signed_home(".ai/config/execution/code.yaml", config);
    // A call of a few MiB is nothing special.
    let (usual, told) =
        peak(&world, "__out = (await tools.acme.echo({s: 'x'.repeat(3e6)})).s.length", &[]);
    assert_eq!(told["value"], 3_000_000, "{told}");
    // Open calls may have so much; another is told so, and can be caught.
    let many = if whole() { 30 } else { 12 };
    let code = "const s = 'x'.repeat(8e6), codes = {};\n\
        const all = Array.from({length: MANY}, (_, i) => tools.acme.sleeps({s, i}));\n\
        for (const one of all) one.catch(e => { codes[e.code] = (codes[e.code] ?? 0) + 1;\n\
        if (codes['code.busy'] === MANY - 8) throw JSON.stringify(codes) }); await Promise.all(all)";
    let code = code.replace("MANY", &many.to_string());
    let (most, told) = peak(&world, &code, &["--timeout", "60s"]);
    assert_eq!(told["code"], "code.failed", "{told}");
    let busy = told["tool_calls"].as_array().unwrap().iter();
    let busy = busy.filter(|call| call["error"]["code"] == "code.busy").count();
    assert!((many - 10..many).contains(&busy), "{busy} {told}");
    assert!(most < usual + (600 << 10), "{most} KiB, and {usual} for one call");
    // An id may be long; of it so much is told.
    let code = "const s = 'a'.repeat(2e6); for (let i = 0; i < MANY; i++)\n\
        await runTool(s + i).catch(e => { if (e.tool.length > 400) throw 'long' }); __out = 1";
    let (most, told) = peak(&world, &code.replace("MANY", &many.to_string()), &[]);
    assert_eq!((&told["value"], told["tool_calls"].as_array().unwrap().len()), (&json!(1), many));
    assert!(told.to_string().len() < 100_000, "{} bytes", told.to_string().len());
    assert!(most < usual + (200 << 10), "{most} KiB, and {usual} for one call");
}

#[test]
fn what_is_kept_of_a_snippet_that_waits_is_bounded_whatever_it_asks() {
    let world = code_waits::world();
    let code = "await tools.acme.write({s: 'x'.repeat(COUNT)}); __out = 1";
    waits(&world, &code.replace("COUNT", "1e6"), &[]);
    for code in [
        code.replace("COUNT", "5e6"),
        "await runChain([{tool_id: 'acme/count', args: {s: 'x'.repeat(10)}},\n\
         {tool_id: 'acme/write', args: {s: 'x'.repeat(5e6)}}])"
            .into(),
    ] {
        let (status, told) = run(&world, &code, &[]);
        let data = &told["error"]["data"];
        assert_eq!((status, &data["limit"]), (4, &json!("journal")), "{code}: {told}");
    }
    assert_eq!(code_waits::waiting(&world).len(), 1);
    assert_eq!(lines(&world, "wrote"), 0);
    let size = fs::metadata(world.home().join(".ai/state/registry.db")).unwrap().len();
    assert!(size < 6 << 20, "{size}");
}

/// Snippets that find another world when they are run again, unless rye gives them the same.
#[test]
fn odd_snippets_go_on_where_they_were_and_double_no_call_table() {
    for code in [
        // Their own clocks, chance and order.
        "const now = Date.now; Date.now = () => now() + 1; await tools.acme.count({t: Date.now()});",
        "const seen = new Set(); while (seen.size < 5) seen.add(Math.random());\n\
         await tools.acme.count({seen: [...seen]});",
        "await Promise.race([tools.acme.count({n: 1}), tools.acme.count({n: 2})]);",
        "const all = [3, 1, 2].map(n => tools.acme.count({n}).then(r => r.n));\n\
         await tools.acme.count({order: await Promise.all(all)});",
        "for await (const one of (async function* () { yield tools.acme.count({n: 1}) })()) one;",
        "await tools.acme.count({stack: new Error('x').stack});",
        "await tools.acme.count({keys: Object.keys(globalThis)});",
        "const held = new WeakRef({}); await tools.acme.count({there: held.deref() !== undefined});",
        "queueMicrotask(() => tools.acme.count({late: 1})); await null;",
        "const {hits} = await searchTools('count', 3); await tools.acme.count({found: hits.length});",
        "await tools.acme.none().catch(e => tools.acme.count({code: e.code}));",
        "await runChain([{tool_id: 'acme/count'}, {tool_id: 'acme/count', use_previous: true}]);",
    ] {
        let world = code_waits::world();
        let whole = format!("{code} await tools.acme.write({{n: 1}}); __out = 'end'");
        let (id, _) = waits(&world, &whole, &[]);
        let before = lines(&world, "count");
        assert!(before > 0 || code.starts_with("queue"), "{code}");
        let (status, told) = decide(&world, "approve", &id);
        assert_eq!((status, &told["value"]), (0, &json!("end")), "{code}: {told}");
        assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (before.max(1), 1), "{code}");
    }
}

#[test]
fn what_a_person_is_shown_of_a_call_is_what_is_made_and_moves_nothing_in_a_terminal() {
    let world = code_waits::world().env("NO_COLOR", "1");
    let code =
        "// \u{1b}[2J approved\nawait tools.acme.write({to: 'a\\u202eb\\x1b[2J\\nok', n: 1});";
    let (id, _) = waits(&world, code, &[]);
    for verb in ["show", "list"] {
        let args: &[&str] =
            if verb == "show" { &["pending", "show", &id] } else { &["pending", "list"] };
        let said = world.rye_at_a_terminal("", args);
        assert!(said.status == 0 && said.stdout.contains("acme/write"), "{said:?}");
        assert!(!said.stdout.contains(['\u{1b}', '\u{202e}']), "{verb}: {said:?}");
    }
    let (_, told) = decide(&world, "approve", &id);
    let call = &told["tool_calls"][0];
    assert_eq!(call["args"], json!({"to": "a\u{202e}b\u{1b}[2J\nok", "n": 1}), "{told}");
    assert_eq!(call["structured"], call["args"], "{told}");
}

/// An agent cannot raise what it may do, by whatever it writes into a call.
#[test]
fn an_agent_raises_no_limit_and_skips_no_person_by_what_it_asks_table() {
    let world = code_waits::world();
    world.signed(".ai/tools/acme/echo.sh", &echo());
    std::fs::remove_file(world.home().join(".ai/config/execution/code.yaml")).unwrap();
    let mut client = Client::new(&world, &[]);
    let code = "__out = await tools.acme.echo({n: 1})";
    let (said, is_error) = client.call("rye_code", json!({"code": code}));
    assert!(!is_error && said["value"] == json!({"n": 1}), "the fixture works: {said}");
    for more in [
        json!({"approval": "never"}),
        json!({"may_write": ["tool:acme/write"]}),
        json!({"approved": ["tool:acme/write"]}),
        json!({"max_tool_calls": 101}),
        json!({"timeout_ms": 600_001}),
        json!({"engine_ms": 5_001}),
        json!({"max_memory_mb": 1}),
        json!({"config": {"approval": "never"}}),
        json!({"allowed_tools": "tool:**"}),
        json!({"language": "bash"}),
    ] {
        let mut arguments = json!({"code": "await tools.acme.write()"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (said, is_error) = client.call("rye_code", arguments);
        assert!(is_error && said["code"] == "code.configuration", "{more}: {said}");
    }
    // What it asks to reach is a part of what it reaches.
    let narrow = json!({"code": code, "allowed_tools": ["tool:other/**"]});
    assert_eq!(client.call("rye_code", narrow).0["error"]["code"], "code.failed");
    // Below a tool, in a chain and at once: a person is asked, and nothing runs.
    let steps = json!([{"tool_id": "acme/echo"}, {"tool_id": "acme/write"}]);
    let (said, _) = client.call("rye_run_chain", json!({"steps": steps}));
    assert_eq!(said["status"], "pending", "{said}");
    for code in [
        "await Promise.all([tools.acme.write(), tools.acme.write()])",
        "await runChain([{tool_id: 'acme/write'}]).catch(() => 1)",
        "await Promise.allSettled([tools.acme.write(), tools.acme.other()]); await tools.acme.write()",
        "try { await tools.acme.write() } catch { await tools.acme.other() }",
    ] {
        let (said, _) = client.call("rye_code", json!({"code": code}));
        assert_eq!(
            (&said["status"], lines(&world, "wrote")),
            (&json!("pending"), 0),
            "{code}: {said}"
        );
    }
    // A saved snippet that says that it only reads does not lend that to what it calls.
    let reads = snippet(&["tool:acme/*"], "await tools.acme.write(); __out = 1");
    let reads = reads.replacen("// calls", "// effects = \"read\"\n// calls", 1);
    world.signed(".ai/tools/acme/reads.js", &reads);
    let (said, _) = client.call("rye_code", json!({"code": "__out = await tools.acme.reads()"}));
    assert_eq!((&said["status"], lines(&world, "wrote")), (&json!("pending"), 0), "{said}");
    // The chain that waits goes on with its own steps.
    let first = code_waits::waiting(&world).remove(0);
    let (status, told) = decide(&world, "approve", &first);
    assert_eq!((status, lines(&world, "wrote")), (0, 1), "{told}");
}
