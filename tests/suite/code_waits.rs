//! Snippets that wait for a person, and are run again up to where they were.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::pending;
use crate::tools::shell;
use crate::world::items::tool_sh;
use crate::world::{End, World, sha256, whole};

pub fn reads(script: &str) -> String {
    tool_sh("effects = \"read\"", script)
}

/// `count` reads and counts its calls in a file, `write` and `other` change something, of which
/// each leaves a line.
pub fn world() -> World {
    let world = World::new()
        .with(
            ".ai/tools/acme/count.sh",
            &reads("echo x >>count; echo \"{\\\"n\\\": $(wc -l <count)}\"\n"),
        )
        .with(".ai/tools/acme/write.sh", &shell("echo w >>wrote; cat\n"))
        .with(".ai/tools/acme/other.sh", &shell("echo o >>wrote; cat\n"));
    asks(&world, "first");
    world
}

pub fn asks(world: &World, approval: &str) {
    let text = format!("category: execution\nversion: \"1.0.0\"\napproval: {approval}\n");
    world.signed_home(".ai/config/execution/code.yaml", &text);
}

fn run(world: &World, code: &str, args: &[&str]) -> (i32, Value) {
    let args = [&["code", "run", "-", "--json"], args].concat();
    let said = world.rye_in(&world.project(), &args, code.as_bytes());
    (said.status, said.json())
}

/// Runs a snippet that waits; its id, and what is told of it.
#[track_caller]
pub fn waits(world: &World, code: &str, args: &[&str]) -> (String, Value) {
    let (status, told) = run(world, code, args);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    assert!(told["value"].is_null() && told.get("error").is_none(), "{told}");
    (told["pending"]["id"].as_str().unwrap().to_owned(), told)
}

pub fn decide(world: &World, verb: &str, id: &str) -> (i32, Value) {
    world.json(&["pending", verb, id])
}

#[track_caller]
fn approved(world: &World, id: &str) -> Value {
    let (status, told) = decide(world, "approve", id);
    assert_eq!((status, &told["status"]), (0, &json!("success")), "{told}");
    told["value"].clone()
}

pub fn state(world: &World, id: &str) -> Value {
    world.json(&["pending", "show", id]).1["state"].clone()
}

pub fn waiting(world: &World) -> Vec<String> {
    let (_, told) = world.json(&["pending", "list"]);
    let rows = told["pending"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

pub fn lines(world: &World, file: &str) -> usize {
    fs::read_to_string(world.project().join(file)).unwrap_or_default().lines().count()
}

pub const FIVE: &str = "const n = [];\n\
    for (let i = 0; i < 3; i++) n.push((await tools.acme.count({i})).n);\n\
    n.push((await tools.acme.write({n: n[2]})).n);\n\
    for (let i = 0; i < 2; i++) n.push((await tools.acme.count({i})).n);\n\
    __out = n;";

#[test]
fn a_tool_called_three_times_before_and_twice_after_an_approval_ran_five_times() {
    let world = world();
    let (id, told) = waits(&world, FIVE, &[]);
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (3, 0));
    assert_eq!(told["tool_calls"].as_array().unwrap().len(), 3, "{told}");
    assert_eq!(told["limits"]["used"]["tool_calls"], 3);
    assert_eq!(
        (&told["pending"]["item_id"], &told["pending"]["args"]),
        (&json!("tool:acme/write"), &json!({"n": 3}))
    );
    assert_eq!(waiting(&world), [id.as_str()]);
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!((&shown["params"], &shown["code"]), (&json!({"n": 3}), &json!(FIVE)), "{shown}");
    world.rye(&["pending", "show", &id]).shows("> __out = n;").shows("{\"n\":3}");
    let (status, told) = decide(&world, "approve", &id);
    assert_eq!((status, &told["value"]), (0, &json!([1, 2, 3, 3, 4, 5])), "{told}");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (5, 1));
    assert_eq!(told["tool_calls"].as_array().unwrap().len(), 6, "each call once: {told}");
    assert_eq!(told["limits"]["used"]["tool_calls"], 6);
    for verb in ["approve", "reject"] {
        decide(&world, verb, &id).fails(4, "pending.decided");
    }
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!((&shown["state"], &shown["result"]["value"][5]), (&json!("done"), &json!(5)));
    assert!(shown.get("code").is_none(), "what ended is not kept: {shown}");
}

#[test]
fn of_two_who_approve_a_snippet_at_once_one_runs_it() {
    let world = world();
    let (id, _) = waits(&world, FIVE, &[]);
    let approve = || {
        let mut command = world.command(&["pending", "approve", &id, "--json"]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut both = [approve(), approve()];
    let mut ends: Vec<_> = both.iter_mut().map(|child| child.wait().unwrap().code()).collect();
    ends.sort();
    assert_eq!(ends, [Some(0), Some(4)]);
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (5, 1));
}

#[test]
fn a_rejected_call_throws_where_it_was_made_and_the_snippet_goes_on() {
    let world = world();
    let code = "const {n} = await tools.acme.count(); let e;\n\
        try { await tools.acme.write({n}) } catch (thrown) { e = thrown }\n\
        __out = [e instanceof ToolError, e.code, e.tool, (await tools.acme.count()).n];";
    let (id, _) = waits(&world, code, &[]);
    let (status, told) = world.json(&["pending", "reject", &id, "--reason", "not today"]);
    assert_eq!(
        (status, &told["value"]),
        (0, &json!([true, "rejected", "acme/write", 2])),
        "{told}"
    );
    assert!(told["tool_calls"][1]["error"]["message"].as_str().unwrap().contains("not today"));
    assert_eq!((lines(&world, "wrote"), state(&world, &id)), (0, json!("rejected")));
    // One that does not catch it fails.
    let (id, _) = waits(&world, "await tools.acme.write()", &[]);
    decide(&world, "reject", &id).fails(1, "code.failed");
}

#[test]
fn a_snippet_that_reads_the_clock_and_chance_diverges_nowhere() {
    let world = world();
    let code = "const look = () => ({a: Date.now(), b: String(new Date()), c: performance.now(),\n\
            d: Math.random(), e: new Date().toISOString()});\n\
        const all = [];\n\
        for (let i = 0; i < 4; i++) { const now = look(); all.push(now); await tools.acme.count(now); }\n\
        all.push(await tools.acme.write(look()));\n\
        all.push(await tools.acme.other(look()));\n\
        __out = all;";
    let (id, told) = waits(&world, code, &[]);
    let before: Vec<Value> =
        told["tool_calls"].as_array().unwrap().iter().map(|call| call["args"].clone()).collect();
    assert!(before[0]["d"] != before[1]["d"] && before[0]["a"] != before[3]["a"], "{before:?}");
    std::thread::sleep(Duration::from_millis(1_100));
    // It waits once more, for another tool.
    let (status, told) = decide(&world, "approve", &id);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    let id = told["pending"]["id"].as_str().unwrap();
    let value = approved(&world, id);
    assert_eq!(value.as_array().unwrap()[..4], before[..], "it finds what it found");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (4, 2));
}

#[test]
fn each_asks_before_every_call_and_first_before_the_first_one_of_each_tool() {
    let world = world();
    let code = "for (let i = 0; i < 3; i++) await tools.acme.write({i}); __out = 'done'";
    let (id, _) = waits(&world, code, &[]);
    assert_eq!(approved(&world, &id), "done");
    assert_eq!(lines(&world, "wrote"), 3);
    asks(&world, "each");
    let (mut id, told) = waits(&world, code, &[]);
    assert_eq!(told["pending"]["args"], json!({"i": 0}));
    for i in 1..3 {
        let (status, told) = decide(&world, "approve", &id);
        assert_eq!((status, &told["pending"]["args"]), (8, &json!({"i": i})), "{told}");
        assert_eq!(lines(&world, "wrote"), 3 + i);
        let next = told["pending"]["id"].as_str().unwrap().to_owned();
        assert_ne!(next, id);
        id = next;
    }
    assert_eq!(approved(&world, &id), "done");
    assert_eq!(lines(&world, "wrote"), 6);
}

#[test]
fn calls_under_way_end_before_a_snippet_waits_and_one_is_asked_about() {
    let world = world();
    let slow = reads("touch began; sleep 0.4; echo x >>slow; echo '{\"s\": 1}'\n");
    world.signed(".ai/tools/acme/slow.sh", &slow);
    let began = reads("while [ ! -e began ]; do sleep 0.1; done; echo '{}'\n");
    world.signed(".ai/tools/acme/began.sh", &began);
    let code = "const slow = tools.acme.slow(); await tools.acme.began();\n\
        __out = await Promise.all([slow, tools.acme.write({k: 1}),\n\
        tools.acme.write({k: 2}), runChain([{tool_id: 'acme/count'}, {tool_id: 'acme/other'},\n\
        {tool_id: 'acme/count'}])]);";
    let (mut id, told) = waits(&world, code, &[]);
    assert_eq!((lines(&world, "slow"), lines(&world, "wrote")), (1, 0));
    let calls = told["tool_calls"].as_array().unwrap();
    assert!(calls.iter().any(|call| call["structured"] == json!({"s": 1})), "{told}");
    assert!(calls.iter().all(|call| call["error"].is_null()), "{told}");
    let mut asked = vec![told["pending"]["item_id"].clone()];
    let value = loop {
        let (status, told) = decide(&world, "approve", &id);
        if status == 0 {
            break told["value"].clone();
        }
        assert_eq!(status, 8, "{told}");
        asked.push(told["pending"]["item_id"].clone());
        id = told["pending"]["id"].as_str().unwrap().to_owned();
    };
    assert_eq!(asked.len(), 2, "each tool once: {asked:?}");
    assert_eq!(
        (&value[0], &value[1], &value[2]),
        (&json!({"s": 1}), &json!({"k": 1}), &json!({"k": 2}))
    );
    assert_eq!(value[3]["value"], json!({"n": 2}), "no step ran twice: {value}");
    assert_eq!((lines(&world, "slow"), lines(&world, "wrote"), lines(&world, "count")), (1, 3, 2));
}

#[test]
fn what_a_tool_itself_asks_is_decided_with_its_snippet() {
    let world = pending::world();
    let code = "const got = await runTool('acme/pay', {amount: 5000}); __out = got.args.amount";
    let (id, told) = waits(&world, code, &[]);
    assert_eq!((&told["pending"]["message"], pending::paid(&world)), (&json!("Pay?"), 0));
    assert_eq!(waiting(&world), [id.as_str()], "one request, not two");
    let (_, all) = world.json(&["pending", "list", "--all"]);
    let rows = all["pending"].as_array().unwrap();
    let own = rows.iter().map(|row| row["id"].as_str().unwrap()).find(|own| *own != id).unwrap();
    for verb in ["approve", "reject"] {
        decide(&world, verb, own).fails(4, "pending.held");
    }
    assert_eq!(approved(&world, &id), 5000);
    assert_eq!((pending::paid(&world), state(&world, own)), (1, json!("done")));
    let (id, _) = waits(&world, "__out = await runTool('acme/pay').catch(e => e.code)", &[]);
    assert_eq!(decide(&world, "reject", &id).ok()["value"], "rejected");
    assert_eq!((pending::paid(&world), waiting(&world).len()), (1, 0));
}

/// What makes a snippet that waits another one.
type Changes = fn(&World);

#[test]
fn what_changed_since_a_snippet_waits_is_not_approved_and_can_be_rejected_table() {
    let rows: [(&str, Changes); 4] = [
        ("a tool that was called", |world| {
            let more = reads("echo x >>count; echo '{\"n\": 99}'\n");
            world.signed(".ai/tools/acme/count.sh", &more);
        }),
        ("the tool that is asked about", |world| {
            world.signed(".ai/tools/acme/write.sh", &shell("echo more >>wrote; cat\n"));
        }),
        ("the configuration", |world| asks(world, "each")),
        ("the snippet", |world| {
            let path = world.home().join(".ai/state/registry.db");
            let db = rusqlite::Connection::open(path).unwrap();
            let sql = "UPDATE request SET snippet = replace(snippet, 'i < 2', 'i < 3')
                       WHERE snippet IS NOT NULL";
            assert_eq!(db.execute(sql, []).unwrap(), 1);
        }),
    ];
    for (what, changes) in rows {
        let world = world();
        let (good, _) = waits(&world, FIVE, &[]);
        approved(&world, &good);
        let (id, _) = waits(&world, FIVE, &[]);
        changes(&world);
        let (status, told) = decide(&world, "approve", &id);
        assert_eq!((status, &told["code"]), (4, &json!("pending.drifted")), "{what}: {told}");
        assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (8, 1), "{what}");
        let (status, told) = decide(&world, "reject", &id);
        assert_eq!((status, &told["code"]), (4, &json!("pending.drifted")), "{what}: {told}");
        assert_eq!((waiting(&world).len(), lines(&world, "count")), (0, 8), "{what}");
    }
}

#[test]
fn limits_of_calls_and_output_go_on_behind_the_wait() {
    let world = world();
    let code = "println('x'.repeat(50)); await tools.acme.count(); await tools.acme.count();\n\
        await tools.acme.write(); await tools.acme.count(); __out = 1";
    let (id, _) = waits(&world, code, &["--max-tool-calls", "4"]);
    let (status, told) = decide(&world, "approve", &id);
    assert_eq!((status, &told["value"]), (0, &json!(1)), "four are enough: {told}");
    assert_eq!(told["stdout"].as_str().unwrap().len(), 51, "{told}");
    let (id, _) = waits(&world, code, &["--max-tool-calls", "3"]);
    let (status, told) = decide(&world, "approve", &id);
    assert_eq!((status, &told["error"]["data"]["limit"]), (4, &json!("tool_calls")), "{told}");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (5, 2));
}

/// A snippet that computes before it waits and behind that.
const COMPUTES: &str = "const spin = () => { let n = 0; for (let i = 0; i < 3e5; i++) n += i };\n\
    spin(); await tools.acme.write(); spin(); __out = 'both'";

#[test]
fn what_a_snippet_computed_before_it_waits_counts_behind_the_wait() {
    let world = world();
    let engine_ms = |told: &Value| told["limits"]["used"]["engine_ms"].as_u64().unwrap();
    let (id, told) = waits(&world, COMPUTES, &["--engine-ms", "5000"]);
    let before = engine_ms(&told);
    assert!(before > 0, "{told}");
    let (status, told) = decide(&world, "approve", &id);
    assert_eq!((status, &told["value"]), (0, &json!("both")), "{told}");
    assert!(engine_ms(&told) > before && engine_ms(&told) < 5_000, "{told}");
    // As if it had computed nearly all that it may: what is computed again is let through.
    let (id, _) = waits(&world, COMPUTES, &["--engine-ms", "5000"]);
    set_kept(&world, |paused| paused["engine_ms"] = json!(4_999));
    let (status, told) = decide(&world, "approve", &id);
    let limit = json!({"limit": "engine", "most": 5_000});
    assert_eq!((status, &told["error"]["data"]), (4, &limit), "{told}");
    assert!(engine_ms(&told) >= 5_000, "{told}");
    // And so with the time of calls, and not with the time for which it waits.
    let (id, _) = waits(&world, COMPUTES, &["--timeout", "60s"]);
    std::thread::sleep(Duration::from_millis(1_100));
    set_kept(&world, |paused| assert!(paused["used_ms"].as_u64().unwrap() < 30_000));
    let (_, told) = decide(&world, "approve", &id);
    assert_eq!(told["value"], "both", "{told}");
    let (id, _) = waits(&world, COMPUTES, &["--timeout", "60s"]);
    set_kept(&world, |paused| paused["used_ms"] = json!(60_000));
    let (status, told) = decide(&world, "approve", &id);
    let limit = json!({"limit": "timeout", "most": 60_000});
    assert_eq!((status, &told["error"]["data"]), (4, &limit), "{told}");
}

#[test]
fn who_is_asked_to_end_before_anything_new_ran_leaves_a_request_that_waits() {
    let world = world();
    let config = "category: execution\nversion: \"1.0.0\"\napproval: first\nengine_ms: 300000\n";
    world.signed_home(".ai/config/execution/code.yaml", config);
    let code = "for (let i = 0; i < 3e7; i++); await tools.acme.write(); __out = 'went on'";
    let (id, _) = waits(&world, code, &[]);
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let is_claimed = || {
        let sql = "SELECT state = 'approved' FROM request";
        db.query_row(sql, [], |row| row.get::<_, bool>(0)).unwrap()
    };
    let mut command = world.command(&["pending", "approve", &id, "--json"]);
    let mut approver = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !is_claimed() {
        assert!(approver.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = approver.id().to_string();
    assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
    assert!(!approver.wait().unwrap().success());
    assert_eq!((state(&world, &id), lines(&world, "wrote")), (json!("waiting"), 0));
    assert_eq!(approved(&world, &id), "went on");
    assert_eq!(lines(&world, "wrote"), 1);
}

#[test]
fn an_approved_run_that_died_is_lost_and_never_run_again() {
    let world = pending::world();
    let code = "await runTool('acme/pay', {forever: 1}); __out = 1";
    let (id, _) = waits(&world, code, &[]);
    let mut command = world.command(&["pending", "approve", &id, "--json"]);
    let mut approver = command.stdout(Stdio::null()).spawn().unwrap();
    while pending::paid(&world) == 0 {
        assert!(approver.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    approver.kill().unwrap();
    approver.wait().unwrap();
    assert_eq!(state(&world, &id), "lost");
    decide(&world, "approve", &id).fails(4, "pending.decided");
    assert_eq!(pending::paid(&world), 1);
}

/// 4 moments here; the whole is 10.
#[test]
fn a_kill_at_any_moment_of_the_wait_and_of_the_approval_doubles_no_call() {
    let world = world();
    world.write("five.js", FIVE);
    let killed = |args: &[&str], after: u64| {
        let mut child = world.command(args).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        let _ = child.kill();
        child.wait().unwrap();
    };
    for after in (0..600).step_by(if whole() { 60 } else { 170 }) {
        killed(&["code", "run", "five.js", "--json"], after);
        // Tools that it had started may end by themselves.
        std::thread::sleep(Duration::from_millis(100));
        for id in waiting(&world) {
            let (count, wrote) = (lines(&world, "count"), lines(&world, "wrote"));
            killed(&["pending", "approve", &id, "--json"], after);
            std::thread::sleep(Duration::from_millis(100));
            if state(&world, &id) == "waiting" {
                assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (count, wrote));
                approved(&world, &id);
            }
            let (count, wrote) = (lines(&world, "count") - count, lines(&world, "wrote") - wrote);
            assert!(count <= 2 && wrote <= 1, "{count} {wrote}");
            if state(&world, &id) == "done" {
                assert_eq!((count, wrote), (2, 1));
            }
            let (status, _) = decide(&world, "approve", &id);
            assert_eq!(status, 4, "it is decided");
        }
    }
    // One that nobody killed, behind all that were: it is whole.
    let before = (lines(&world, "count"), lines(&world, "wrote"));
    let (id, _) = waits(&world, FIVE, &[]);
    approved(&world, &id);
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (before.0 + 5, before.1 + 1));
}

#[test]
fn a_kill_in_a_call_before_the_wait_keeps_nothing_to_be_approved() {
    let world = world();
    world.signed(".ai/tools/acme/holds.sh", &reads("echo x >>held; sleep 30; echo '{}'\n"));
    let code = "await tools.acme.count(); await tools.acme.holds(); await tools.acme.write();";
    world.write("holds.js", code);
    let mut command = world.command(&["code", "run", "holds.js", "--json"]);
    let mut run = command.stdout(Stdio::null()).spawn().unwrap();
    while lines(&world, "held") == 0 {
        assert!(run.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(waiting(&world).is_empty());
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (1, 0));
}

#[test]
fn what_a_tool_read_before_the_wait_is_what_the_snippet_knows_though_the_file_changed() {
    let world = world();
    world
        .signed(".ai/tools/acme/look.sh", &reads("echo \"{\\\"flag\\\": \\\"$(cat flag)\\\"}\"\n"));
    world.write("flag", "old");
    let code = "const {flag} = await tools.acme.look();\n\
        await tools.acme.write({n: 1});\n\
        if (flag === 'old') await tools.acme.count();\n\
        __out = [flag, (await tools.acme.look()).flag];";
    let (id, _) = waits(&world, code, &[]);
    world.write("flag", "new");
    assert_eq!(approved(&world, &id), json!(["old", "new"]));
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (1, 1));
}

#[test]
fn a_snippet_whose_project_is_gone_is_rejected_and_goes_on_nowhere_else() {
    let world = world();
    let (id, _) = waits(&world, FIVE, &[]);
    let before = lines(&world, "count");
    let moved = world.outside().join("moved");
    fs::rename(world.project(), &moved).unwrap();
    let said = world.rye_in(&moved, &["pending", "reject", &id, "--json"], b"");
    assert_eq!((said.status, &said.json()["state"]), (0, &json!("rejected")), "{said:?}");
    let count = fs::read_to_string(moved.join("count")).unwrap_or_default().lines().count();
    assert_eq!(count, before, "nothing of it ran again");
}

/// Changes what was kept of the one snippet that waits as a whole, with the digest of that.
fn set_kept(world: &World, change: impl FnOnce(&mut Value)) {
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let kept: String = db
        .query_row("SELECT snippet FROM request WHERE snippet IS NOT NULL", [], |row| row.get(0))
        .unwrap();
    let mut kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["sha256"], sha256(kept["paused"].to_string().as_bytes()));
    change(&mut kept["paused"]);
    kept["sha256"] = json!(sha256(kept["paused"].to_string().as_bytes()));
    assert_eq!(
        db.execute("UPDATE request SET snippet = ?1 WHERE snippet IS NOT NULL", [kept.to_string()])
            .unwrap(),
        1
    );
}

#[test]
fn a_snippet_that_calls_something_else_than_before_is_stopped_and_nothing_more_runs() {
    let world = world();
    let code = "await tools.acme.count({r: Math.random()}); await tools.acme.write(); __out = 1";
    let (good, _) = waits(&world, code, &[]);
    assert_eq!(approved(&world, &good), json!(1), "the fixture works untouched");
    let (id, _) = waits(&world, code, &[]);
    set_kept(&world, |paused| paused["seed"] = json!([1, 2, 3, 4]));
    let (status, told) = decide(&world, "approve", &id);
    assert_eq!((status, &told["error"]["code"]), (4, &json!("code.replay_diverged")), "{told}");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (2, 1));
}

#[test]
fn a_secret_that_a_tool_uses_is_not_kept_while_its_snippet_waits() {
    let secret = "canary-77ab5e1f0c";
    let world = World::new().env("ACME_TOKEN", secret);
    let script = "echo \"$ACME_TOKEN\" >&2; test -n \"$ACME_TOKEN\" && touch had; exit 4\n";
    let tool = reads(script).replace("# ///\n", "# secrets = [\"ACME_TOKEN\"]\n# ///\n");
    world.signed(".ai/tools/acme/uses.sh", &tool);
    world.signed(".ai/tools/acme/write.sh", &shell("echo w >>wrote; cat\n"));
    asks(&world, "first");
    let code = "const got = await tools.acme.uses().catch(e => ({m: e.message, d: e.data}));\n\
        await tools.acme.write(got); __out = got";
    let (id, told) = waits(&world, code, &[]);
    assert!(world.project().join("had").exists(), "the tool has the secret");
    let shown = world.rye(&["pending", "show", &id, "--json"]).stdout;
    assert!(shown.contains("***"), "{shown}");
    let state = fs::read_dir(world.home().join(".ai/state")).unwrap();
    let mut kept = vec![told.to_string().into_bytes(), shown.into_bytes()];
    for file in state.flatten().filter(|entry| entry.path().is_file()) {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        kept.push(fs::read(file.path()).unwrap());
    }
    assert!(kept.len() > 2);
    for text in kept {
        assert!(!text.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
    approved(&world, &id);
}
