//! Snippets that are tools and wait for a person in their midst.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::async_runs::{id_of, start};
use crate::code_waits::reads;
use crate::hooks::hook;
use crate::mcp::client::Client;
use crate::saved_snippets::snippet;
use crate::tools::shell;
use crate::world::wait::until;
use crate::world::{End, World};

/// `count` reads and counts its calls in a file, `write` changes something and leaves a line.
fn world() -> World {
    let world = World::new();
    let count = reads("echo x >>count; echo \"{\\\"n\\\": $(wc -l <count)}\"\n");
    world.signed(".ai/tools/acme/count.sh", &count);
    world.signed(".ai/tools/acme/write.sh", &shell("echo w >>wrote; cat\n"));
    world.signed(".ai/tools/acme/save.js", &saves(""));
    world
}

/// Counts, writes, counts; what it gives says what came of each.
fn saves(more: &str) -> String {
    let code = "println('begins'); const first = (await tools.acme.count()).n; let wrote;\n\
        try { wrote = (await tools.acme.write({n: first, by: params.by})).n }\n\
        catch (e) { wrote = e.code }\n\
        __out = [first, wrote, (await tools.acme.count()).n];";
    let text = snippet(&["tool:acme/*"], code);
    text.replacen("// calls", &format!("{more}// calls"), 1)
}

fn lines(world: &World, file: &str) -> usize {
    fs::read_to_string(world.project().join(file)).unwrap_or_default().lines().count()
}

/// Runs it as a program that rye started does, for whom a person is asked.
fn below(world: &World, args: &[&str]) -> (i32, Value) {
    let args = [args, &["--json"]].concat();
    let said = world.rye_env(&world.project(), &args, b"", &[("RYE_RUN_ID", "run-x")]);
    (said.status, said.json())
}

#[track_caller]
fn waits(world: &World) -> String {
    let (status, told) = below(world, &["run", "acme/save", "by=me"]);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    told["pending"]["id"].as_str().unwrap().to_owned()
}

fn state(world: &World, id: &str) -> Value {
    world.json(&["pending", "show", id]).1["state"].clone()
}

fn waiting(world: &World) -> Vec<Value> {
    world.json(&["pending", "list"]).1["pending"].as_array().unwrap().clone()
}

#[test]
fn a_saved_snippet_that_is_approved_goes_on_where_it_was_and_answers_as_the_tool_it_is() {
    let world = world();
    let id = waits(&world);
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (1, 0));
    let rows = waiting(&world);
    assert_eq!((rows.len(), &rows[0]["item_id"]), (1, &json!("tool:acme/save")), "{rows:?}");
    let (_, shown) = world.json(&["pending", "show", &id]);
    let call = &shown["call"];
    assert_eq!(shown["params"], json!({"by": "me"}), "{shown}");
    assert_eq!(
        (&call["item_id"], &call["params"]),
        (&json!("tool:acme/write"), &json!({"n": 1, "by": "me"})),
        "{shown}"
    );
    let plain = world.rye(&["pending", "show", &id]).stdout;
    for part in ["tool:acme/save", "tool:acme/write", "{\"n\":1,\"by\":\"me\"}", "plan  sha256 "] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    let (status, told) = world.json(&["pending", "approve", &id]);
    assert_eq!((status, &told["data"]), (0, &json!([1, 1, 2])), "{told}");
    assert_eq!((&told["type"], &told["item_id"]), (&json!("tool"), &json!("tool:acme/save")));
    assert_eq!(told["metadata"]["stdout"], "begins\n", "{told}");
    assert_eq!(told["metadata"]["tool_calls"].as_array().unwrap().len(), 3, "each once: {told}");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (2, 1));
    let (_, shown) = world.json(&["pending", "show", &id]);
    let ended = (&shown["state"], &shown["result"]["data"]);
    assert_eq!(ended, (&json!("done"), &json!([1, 1, 2])), "{shown}");
    for verb in ["approve", "reject"] {
        world.json(&["pending", verb, &id]).fails(4, "pending.decided");
    }
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (2, 1));
}

#[test]
fn one_that_is_rejected_is_thrown_that_and_goes_on() {
    let world = world();
    let id = waits(&world);
    let (status, told) = world.json(&["pending", "reject", &id, "--reason", "not today"]);
    assert_eq!((status, &told["data"]), (0, &json!([1, "rejected", 2])), "{told}");
    assert!(told.to_string().contains("not today"), "{told}");
    assert_eq!((lines(&world, "wrote"), state(&world, &id)), (0, json!("rejected")));
    world.json(&["pending", "approve", &id]).fails(4, "pending.decided");
}

#[test]
fn an_agent_is_told_that_it_waits_and_its_snippet_waits_with_it() {
    let world = world();
    // It says that it reads, so the snippet around it does not wait before it calls it.
    world.signed(".ai/tools/acme/save.js", &saves("// effects = \"read\"\n"));
    let mut client = Client::new(&world, &[]);
    let arguments = json!({"item_id": "tool:acme/save", "parameters": {"by": "me"}});
    let (said, _) = client.call("rye_execute", arguments);
    assert_eq!(said["status"], "pending", "{said}");
    let (_, told) = world.json(&["pending", "approve", said["pending"]["id"].as_str().unwrap()]);
    assert_eq!(told["data"], json!([1, 1, 2]), "{told}");
    let code = "__out = await tools.acme.save({by: 'you'}).catch(e => e.code)";
    let around = |client: &mut Client| {
        let (said, _) = client.call("rye_code", json!({"code": code}));
        assert_eq!(said["pending"]["item_id"], "tool:acme/save", "{said}");
        let message = said["pending"]["message"].as_str().unwrap();
        assert!(message.contains("`tool:acme/write` with {\"n\":"), "{message}");
        said["pending"]["id"].as_str().unwrap().to_owned()
    };
    let id = around(&mut client);
    let rows = waiting(&world);
    assert_eq!((rows.len(), &rows[0]["id"]), (1, &json!(id)), "one request, not two: {rows:?}");
    assert_eq!(world.json(&["pending", "approve", &id]).ok()["value"], json!([3, 3, 4]));
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (4, 2));
    let id = around(&mut client);
    assert_eq!(world.json(&["pending", "reject", &id]).ok()["value"], "rejected");
    assert_eq!((lines(&world, "wrote"), waiting(&world).len()), (2, 0));
    let (_, all) = world.json(&["pending", "list", "--all"]);
    let open = all["pending"].as_array().unwrap().iter().filter(|row| row["state"] == "waiting");
    assert_eq!(open.count(), 0, "{all}");
}

#[test]
fn one_that_waits_twice_is_approved_twice() {
    let world = world();
    let code = "await tools.acme.write({n: 1}); await tools.acme.other({n: 2}); __out = 'both'";
    world.signed(".ai/tools/acme/other.sh", &shell("echo w >>wrote; cat\n"));
    world.signed(".ai/tools/acme/save.js", &snippet(&["tool:acme/*"], code));
    let id = waits(&world);
    let (status, told) = world.json(&["pending", "approve", &id]);
    assert_eq!((status, &told["status"], lines(&world, "wrote")), (8, &json!("pending"), 1));
    let message = told["pending"]["message"].as_str().unwrap();
    assert!(message.contains("`tool:acme/other`"), "{told}");
    let (status, told) =
        world.json(&["pending", "approve", told["pending"]["id"].as_str().unwrap()]);
    assert_eq!((status, &told["data"], lines(&world, "wrote")), (0, &json!("both"), 2), "{told}");
}

#[test]
fn who_waits_for_one_that_asks_again_waits_on() {
    let world = world();
    let code = "await tools.acme.write({n: 1}); await tools.acme.other({n: 2}); __out = 'both'";
    world.signed(".ai/tools/acme/other.sh", &shell("echo w >>wrote; cat\n"));
    world.signed(".ai/tools/acme/save.js", &snippet(&["tool:acme/*"], code));
    // What a person types asks nothing, also where it runs in a process of its own.
    let id = id_of(&start(&world, &["acme/save"]));
    assert_eq!(world.json(&["thread", "wait", &id]).ok()["data"], "both");
    world.signed_home(".ai/config/execution/code.yaml", "approval: first\n");
    let id = id_of(&start(&world, &["acme/save"]));
    for n in 2..=3 {
        let (_, told) = world.json(&["thread", "wait", &id]);
        assert_eq!((&told["status"], lines(&world, "wrote")), (&json!("pending"), n), "{told}");
        let (_, row) = world.json(&["thread", "show", &id]);
        assert_eq!(row["thread_status"], "waiting", "{row}");
        world.rye(&["pending", "approve", waiting(&world)[0]["id"].as_str().unwrap()]);
    }
    assert_eq!(world.json(&["thread", "wait", &id]).ok()["data"], "both");
    let mut command = world.command(&["run", "acme/save", "--wait", "--json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    for n in 1..=2 {
        until("it asks", || waiting(&world).len() == 1 && lines(&world, "wrote") == 3 + n);
        world.rye(&["pending", "approve", waiting(&world)[0]["id"].as_str().unwrap()]);
    }
    let output = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &told["data"]), (Some(0), &json!("both")), "{told}");
}

/// What makes a saved snippet that waits another one.
type Changes = fn(&World);

#[test]
fn f11_what_changed_since_it_waits_is_not_approved_table() {
    let rows: [(&str, Changes); 4] = [
        ("the snippet", |world| {
            world.signed(".ai/tools/acme/save.js", &saves("// description = \"Another.\"\n"));
        }),
        ("a tool that was called", |world| {
            let more = shell("echo '{\"n\": 9}'\n");
            let more = more.replacen("# version", "# effects = \"read\"\n# version", 1);
            world.signed(".ai/tools/acme/count.sh", &more);
        }),
        ("the tool that is asked about", |world| {
            world.signed(".ai/tools/acme/write.sh", &shell("echo more >>wrote; cat\n"));
        }),
        ("what is kept", |world| {
            let path = world.home().join(".ai/state/registry.db");
            let db = rusqlite::Connection::open(path).unwrap();
            let sql = "UPDATE request SET snippet = replace(snippet, 'begins', 'starts')";
            assert_eq!(db.execute(sql, []).unwrap(), 1);
        }),
    ];
    for (what, changes) in rows {
        let world = world();
        let id = waits(&world);
        changes(&world);
        let (status, told) = world.json(&["pending", "approve", &id]);
        assert_eq!((status, &told["code"]), (4, &json!("pending.drifted")), "{what}: {told}");
        assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (1, 0), "{what}");
        let (status, told) = world.json(&["pending", "reject", &id]);
        assert_eq!((status, &told["code"]), (4, &json!("pending.drifted")), "{what}: {told}");
        assert!(waiting(&world).is_empty(), "{what}");
    }
}

#[test]
fn hooks_are_asked_again_about_one_that_goes_on() {
    let world = world();
    let id = waits(&world);
    hook(
        &world,
        "guard",
        "phases: [before_execution]\n",
        "cat >/dev/null; echo '{\"deny\": \"no\"}'",
    );
    world.json(&["pending", "approve", &id]).fails(4, "hook.denied");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (1, 0));
    assert_eq!(state(&world, &id), "waiting", "nothing was started");
}

#[test]
fn nobody_decides_what_a_hook_withheld_behind_the_call() {
    let world = world();
    hook(&world, "hide", "phases: [after_execution]\n", "cat >/dev/null; echo '{\"allow\":false}'");
    below(&world, &["run", "acme/save", "by=me"]).fails(4, "hook.denied");
    assert!(waiting(&world).is_empty(), "{:?}", waiting(&world));
}

#[test]
fn what_its_caller_does_not_reach_it_does_not_reach_behind_the_wait() {
    let world = world();
    let code =
        "await tools.acme.write({n: 1}); __out = await tools.acme.count().catch(e => e.code)";
    let text =
        snippet(&["tool:acme/*"], code).replacen("// calls", "// effects = \"read\"\n// calls", 1);
    world.signed(".ai/tools/acme/save.js", &text);
    let allow = ["--allow", "tool:acme/save", "--allow", "tool:acme/write"];
    world.write("outer.js", "__out = await tools.acme.save()");
    let (status, told) = below(&world, &[&["code", "run", "outer.js"], &allow[..]].concat());
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    let (_, told) = world.json(&["pending", "approve", told["pending"]["id"].as_str().unwrap()]);
    assert_eq!(told["value"], "grant.denied", "{told}");
    assert_eq!((lines(&world, "count"), lines(&world, "wrote")), (0, 1));
}

#[test]
fn a_case_of_a_spec_asks_nobody() {
    let world = world();
    world.write(
        ".ai/tools/acme/save.test.yaml",
        "cases:\n  - {name: tried, inputs: {by: me}, expect: {result: [1, code.approval_needed, 2]}}\n",
    );
    world.rye(&["test"]).ok();
    assert!(waiting(&world).is_empty());
}

const SECRET: &str = "canary-c2f8a613";

/// `tells` prints its secret, `asks` asks a person about the key that it is given.
fn world_with_a_secret() -> World {
    let world = World::new().env("ACME_KEY", SECRET).env("NO_COLOR", "1");
    let tells = shell("printf '{\"key\": \"%s\", \"n\": 1}\\n' \"$ACME_KEY\"\n");
    let more = "# effects = \"read\"\n# secrets = [\"ACME_KEY\"]\n# ///\n";
    world.signed(".ai/tools/acme/tells.sh", &tells.replacen("# ///\n", more, 1));
    let program = "#!/bin/sh\nread -r call\nkey=${call#*'\"key\":\"'}\nkey=${key%%'\"'*}\n\
        case \"$call\" in\n*'\"approval\":'*) printf '{\"result\":%s}\\n' \"$call\" ;;\n\
        *) printf '{\"pending\":{\"reason\":\"key\",\"message\":\"Use %s?\"}}\\n' \"$key\" ;;\nesac\n";
    world.write(".ai/tools/acme/asks-it.sh", program);
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Asks.\neffects: read\n\
                exec:\n  command: ./asks-it.sh\n  files: [asks-it.sh]\n";
    world.signed(".ai/tools/acme/asks.yaml", item);
    let saved = |name: &str, code: &str| {
        let text = snippet(&["tool:acme/*"], code);
        let text = text.replacen("// calls", "// effects = \"read\"\n// calls", 1);
        world.signed(&format!(".ai/tools/acme/{name}.js"), &text);
    };
    saved("gives", "__out = await tools.acme.tells(); println(`has ${__out.key}`)");
    saved("outer", "__out = (await tools.acme.gives()).key");
    saved("throws", "throw new Error((await tools.acme.tells()).key)");
    let code = "const {key} = await tools.acme.tells(); __out = await tools.acme.asks({key})";
    saved("passes", code);
    world
}

#[track_caller]
fn hides(world: &World, args: &[&str], status: i32) {
    let told = world.rye(&[args, &["--json"]].concat());
    assert!(told.stdout.contains("***"), "{args:?}: {told:?}");
    for said in [told, world.rye(args), world.rye_at_a_terminal("", args)] {
        assert_eq!(said.status, status, "{args:?}: {said:?}");
        assert!(!format!("{said:?}").contains(SECRET), "{args:?}: {said:?}");
    }
}

/// No text of a column of the registry shows it.
#[track_caller]
fn is_kept_without(world: &World, columns: &[(&str, &str)]) {
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    for (table, column) in columns {
        let mut texts = db.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
        let texts = texts.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        let texts: Vec<_> = texts.filter_map(Result::unwrap).collect();
        assert!(texts.iter().any(|text| text.contains("***")), "{table}.{column}: {texts:?}");
        assert!(!texts.iter().any(|text| text.contains(SECRET)), "{table}.{column}: {texts:?}");
    }
}

#[test]
fn f08_what_a_saved_snippet_gives_is_kept_and_shown_without_the_secrets_of_its_tools() {
    let world = world_with_a_secret();
    let (status, told) = world.json(&["run", "acme/gives"]);
    assert_eq!((status, &told["data"]["key"]), (0, &json!(SECRET)), "its data are its own: {told}");
    for name in ["acme/gives", "acme/outer"] {
        for more in [&[][..], &["--no-stream"][..]] {
            let said = world.rye_at_a_terminal("", &[&["run", name][..], more].concat());
            assert!(said.status == 0 && said.stdout.contains("***"), "{name}: {said:?}");
            assert!(!format!("{said:?}").contains(SECRET), "{name}: {said:?}");
        }
        let id = id_of(&start(&world, &[name]));
        hides(&world, &["thread", "wait", &id], 0);
    }
    let id = id_of(&start(&world, &["acme/gives"]));
    hides(&world, &["thread", "wait", &id], 0);
    hides(&world, &["thread", "tail", &id], 0);
    let (_, shown) = world.json(&["thread", "show", &id]);
    let log = fs::read_to_string(shown["log"].as_str().unwrap()).unwrap();
    assert_eq!(log, "has ***\n");
    is_kept_without(&world, &[("run", "report")]);
    // What is told of a failure hides it wherever that is shown.
    hides(&world, &["run", "acme/throws"], 1);
}

#[test]
fn f08_what_a_saved_snippet_asks_a_person_is_kept_and_shown_without_the_secrets_of_its_tools() {
    let world = world_with_a_secret();
    let (status, told) = world.json(&["run", "acme/passes"]);
    let asks =
        "`tool:acme/passes` calls `tool:acme/asks` with {\"key\":\"***\"}, which asks: Use ***?";
    assert_eq!((status, &told["pending"]["message"]), (8, &json!(asks)), "{told}");
    let run = id_of(&start(&world, &["acme/passes"]));
    hides(&world, &["thread", "wait", &run], 8);
    let (_, waited) = world.json(&["thread", "wait", &run]);
    hides(&world, &["pending", "list", "--all"], 0);
    // What the tool itself asked is a request as well.
    let all = world.json(&["pending", "list", "--all"]).1["pending"].as_array().unwrap().clone();
    assert_eq!(all.len(), 4, "{all:?}");
    let show_all = || {
        for row in &all {
            hides(&world, &["pending", "show", row["id"].as_str().unwrap()], 0);
        }
    };
    show_all();
    for told in [&told, &waited] {
        let id = told["pending"]["id"].as_str().unwrap();
        hides(&world, &["pending", "show", id], 0);
        is_kept_without(&world, &[("request", "message")]);
        let (status, told) = world.json(&["pending", "approve", id]);
        let given = &told["data"]["args"]["key"];
        assert_eq!((status, given), (0, &json!(SECRET)), "the tool is given it: {told}");
        hides(&world, &["pending", "show", id], 0);
        is_kept_without(&world, &[("request", "result"), ("request", "message")]);
    }
    show_all();
    hides(&world, &["thread", "wait", &run], 0);
    is_kept_without(&world, &[("run", "report")]);
}
