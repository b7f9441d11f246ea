//! What is told of a thread that is over: why it failed, what judged it, what it took, and how much
//! of that is proven.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::async_runs::{id_of, start, tool};
use crate::threads::{
    ONLY_ECHO, call, directive, fork, hand_over, provider, rows, transcript, world,
};
use crate::world::{End, PYTHON, World};

fn newest(world: &World) -> Value {
    rows(world).pop().unwrap()
}

fn id(told: &Value) -> String {
    told["thread_id"].as_str().unwrap().to_owned()
}

/// A directive that asks for no outputs, so that the last words of its model are what it gives.
fn speaks(words: &str) -> World {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    // No item holds a control character, and this one says it.
    let script = provider(&json!([{"text": words}])).replace('\u{9b}', "\\u009b");
    world.signed_home(".ai/tools/acme/script.yaml", &script);
    let directive = "# A thread\n\n```xml\n<directive name=\"say\" version=\"1.0.0\">\n<metadata>\
         <description>d</description><category>acme</category><author>a</author>\
         <model provider=\"acme/script\"/><limits turns=\"9\"/>\
         <permissions></permissions></metadata>\n</directive>\n```\n\nSay it.\n";
    world.signed(".ai/directives/acme/say.md", directive);
    world
}

const SAY: [&str; 4] = ["execute", "directive:acme/say", "--thread", "fork"];

#[test]
fn why_a_thread_failed_stands_in_its_record_and_every_verb_tells_it_table() {
    let says = json!({"text": "I am done."});
    let rows = [
        (json!([call("acme_echo", &json!({})), hand_over()]), "turns", json!({"limit": "turns"})),
        (json!([says, says, says, says, says]), "", json!({"missing": ["n"]})),
        (json!([call("acme_echo", &json!({}))]), "", json!({})),
    ];
    for (turns, limit, data) in rows {
        let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
        let more: &[&str] = if limit.is_empty() { &[] } else { &["--limit", "turns=1"] };
        let (status, mut failed) = fork(&world, more);
        assert_ne!(status, 0, "{failed}");
        let id = id(&newest(&world));
        for (key, want) in data.as_object().unwrap() {
            assert_eq!(failed["data"][key], *want, "{failed}");
        }
        if !limit.is_empty() {
            assert_eq!(
                (&failed["data"]["current"], &failed["data"]["max"]),
                (&json!(1), &json!(1)),
                "the only one is used"
            );
        }
        assert_eq!(failed["data"]["thread_id"], id, "{failed}");
        // The verbs below name the thread themselves.
        for key in ["asked", "thread_id"] {
            failed["data"].as_object_mut().map(|data| data.remove(key));
        }
        let (_, shown) = world.json(&["thread", "show", &id]);
        let (_, exported) = world.json(&["thread", "export", &id]);
        let (waited_status, waited) = world.json(&["thread", "wait", &id]);
        assert_eq!((waited_status, &waited["status"]), (status, &json!("error")), "{waited}");
        let all = [&shown["failure"], &newest(&world)["failure"], &exported["export"]["failure"]];
        for told in all.into_iter().chain([&waited]) {
            for key in ["code", "error", "help"] {
                assert_eq!(told[key], failed[key], "{key}: {told}");
            }
            for (key, want) in failed["data"].as_object().into_iter().flatten() {
                assert_eq!(told["data"][key], *want, "{told}");
            }
        }
        let sentence = failed["error"].as_str().unwrap();
        for verb in [&["wait"][..], &["show"], &["export", "--format", "markdown"]] {
            let said = world.rye(&[&["thread"], verb, &[&*id]].concat());
            let said = said.stdout + &said.stderr;
            assert!(said.contains(sentence), "{verb:?}: {said}");
            // Whoever looks at it already is not told to.
            assert!(verb != ["show"] || !said.contains("see how far it came"), "{said}");
        }
        assert_eq!(world.json(&["thread", "verify", &id]).0, 0, "it is signed");
    }
}

#[test]
fn no_failure_is_told_of_a_thread_that_went_on_and_came_to_its_end() {
    let turns = json!([call("acme_echo", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &["--limit", "turns=1"]).0, 4);
    let id = id(&newest(&world));
    assert_eq!(world.json(&["thread", "resume", &id, "--limit", "turns=9"]).0, 0);
    for verb in ["show", "export"] {
        let (_, told) = world.json(&["thread", verb, &id]);
        let told = if verb == "show" { &told } else { &told["export"] };
        assert_eq!(told["failure"], Value::Null, "{told}");
    }
    assert_eq!(newest(&world)["failure"], Value::Null);
    let shown = world.rye(&["thread", "show", &id]).stdout;
    assert!(shown.contains("\n resumed  it had failed\n"), "{shown}");
    let (_, waited) = world.json(&["thread", "wait", &id]);
    assert_eq!(waited["outputs"], json!({"n": 7}));
    assert!(waited["metadata"]["duration_ms"].as_u64() > Some(0), "{waited}");
}

#[test]
fn wait_the_end_of_tail_and_export_hand_out_nothing_of_a_record_that_does_not_hold() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let id = id(&fork(&world, &[]).1);
    let path = transcript(&world, &id);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"outputs\":{\"n\":7}", "\"outputs\":{\"n\":8}")).unwrap();
    for verb in ["wait", "tail"] {
        let said = world.rye(&["thread", verb, &id, "--json"]);
        let last: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
        assert_eq!((said.status, &last["code"]), (4, &json!("thread.record_invalid")), "{said:?}");
    }
    let said = world.rye(&["thread", "wait", &id]);
    assert!(said.stdout.is_empty(), "{said:?}");
    let out = world.outside().join("thread.json");
    let export = ["thread", "export", &id, "--out", out.to_str().unwrap(), "--format"];
    for format in ["json", "markdown"] {
        world.json(&[&export[..], &[format]].concat()).fails(4, "thread.record_invalid");
        assert!(!out.exists());
    }
    fs::write(&path, text).unwrap();
    world.rye(&[&export[..], &["json"]].concat()).ok();
    assert_eq!(world.json(&["thread", "wait", &id]).1["outputs"], json!({"n": 7}));
}

#[test]
fn a_thread_without_outputs_gives_its_last_words_whoever_asks() {
    let world = speaks("All is well.");
    let ran = world.rye(&SAY);
    assert_eq!((ran.status, &*ran.stdout), (0, "All is well.\n"), "{ran:?}");
    let id = id(&newest(&world));
    let waited = world.rye(&["thread", "wait", &id]);
    assert_eq!(waited.stdout, "All is well.\n", "{waited:?}");
    let tailed = world.rye(&["thread", "tail", &id]);
    assert!(tailed.stdout.ends_with("     end  completed\nAll is well.\n"), "{tailed:?}");
    let (_, told) = world.json(&["thread", "wait", &id]);
    assert_eq!((&told["outputs"], &told["result"]), (&json!({}), &json!("All is well.")));
}

#[test]
fn resume_says_what_it_resumes_and_takes_no_empty_message() {
    let turns = json!([call("acme_echo", &json!({})), hand_over(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &["--limit", "turns=1"]).0, 4);
    let id = id(&newest(&world));
    for empty in ["", "  "] {
        world.json(&["thread", "resume", &id, empty]).fails(2, "cli.usage");
    }
    let said = world.rye(&["thread", "resume", &id, "--limit", "turns=9"]);
    assert_eq!((said.status, &*said.stdout), (0, "{\"n\":7}\n"), "{said:?}");
    assert!(said.stderr.contains(&format!("runs as thread {id}\n")), "{said:?}");
}

#[test]
fn a_message_that_no_turn_of_a_script_answers_is_refused_and_changes_nothing() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let id = id(&fork(&world, &[]).1);
    let record = || fs::read(transcript(&world, &id)).unwrap();
    let before = record();
    let told =
        world.json(&["thread", "resume", &id, "once more"]).fails(7, "provider.script_ended");
    let help = "a script answers no message beyond its turns; add turns to `tool:acme/script`";
    assert!(told["help"].as_str().unwrap().starts_with(help), "{told}");
    assert_eq!(newest(&world)["thread_status"], "completed");
    assert_eq!(record(), before);
    assert_eq!(world.json(&["thread", "wait", &id]).1["outputs"], json!({"n": 7}));
    // What it was given since answers.
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!([hand_over(), hand_over()])));
    assert_eq!(
        world.json(&["thread", "resume", &id, "once more"]).ok()["outputs"],
        json!({"n": 7})
    );
    let shown = world.rye(&["thread", "show", &id]).stdout;
    assert!(shown.contains("\n resumed  it was completed\n"), "{shown}");
}

#[test]
fn wait_gives_the_outputs_in_the_order_in_which_execute_gave_them() {
    let handed = "{\"summary\":\"short\",\"count\":{\"z\":1,\"a\":2}}";
    let turns = json!([call("directive_return", &json!(handed))]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    let text = directive("go", "turns=\"9\"", ONLY_ECHO).replace(
        "<output name=\"n\" type=\"integer\">",
        "<output name=\"summary\" type=\"string\">a text</output>\
         <output name=\"count\" type=\"object\">",
    );
    world.signed(".ai/directives/acme/go.md", &text);
    let ran = world.rye(&["execute", "directive:acme/go", "--thread", "fork"]);
    assert_eq!((ran.status, &*ran.stdout), (0, &*format!("{handed}\n")), "{ran:?}");
    let id = id(&newest(&world));
    assert_eq!(world.rye(&["thread", "wait", &id]).stdout, ran.stdout);
}

/// A thread with a hook, an eval, a snippet, a call that is not permitted and costs.
#[cfg(feature = "code")]
fn judged() -> (World, String) {
    let code = "const one = 1;\n__out = one;";
    let turns = json!([
        call("acme_echo", &json!({"a": 1})),
        call("rye_execute", &json!({"item_id": "tool:acme/other"})),
        call("rye_code", &json!({"code": code})),
        hand_over(),
    ]);
    let permissions = "<execute><tool>acme.echo</tool><tool>rye.code</tool></execute>";
    let world = world(&turns, "turns=\"9\"", permissions);
    let item = "version: \"1.0.0\"\ntool_type: eval\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Scores a text.\n\
                exec:\n  command: ./judge.sh\n  files: [judge.sh]\n";
    world.write_home(
        ".ai/tools/acme/judge.sh",
        "#!/bin/sh\ncat >/dev/null\necho '{\"score\": 0.5}'\n",
    );
    world.signed_home(".ai/tools/acme/mood.yaml", item);
    let row = json!({"eval": "tool:acme/mood", "mode": "monitor"});
    world.signed_home(".ai/config/agent/guardrails.yaml", &format!("guardrails: [{row}]\n"));
    let hook = "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: hooks\ndescription: A hook.\nhook: provider\nphases: [before_call]\n\
                exec:\n  command: ./ask.sh\n  files: [ask.sh]\n";
    let answer =
        "#!/bin/sh\ncat >/dev/null\necho '{\"allow\":true,\"metadata\":{\"note\":\"seen\"}}'\n";
    world.write_home(".ai/tools/hooks/ask.sh", answer);
    world.signed_home(".ai/tools/hooks/noted.yaml", hook);
    let told = fork(&world, &[]).ok();
    let id = id(&told);
    (world, id)
}

#[cfg(feature = "code")]
#[test]
fn show_and_the_page_of_an_export_have_what_judged_a_thread_and_what_it_took() {
    let (world, id) = judged();
    let shown = world.rye(&["thread", "show", &id]).stdout;
    let page = world.rye(&["thread", "export", &id, "--format", "markdown"]).stdout;
    for text in [
        "    hook  tool:hooks/noted before_call allow\n",
        "    eval  tool:acme/mood monitor 0.5, did not pass\n",
        "  denied  {\"ok\":false,\"error_kind\":\"permission_denied\"",
        "    cost  10 tokens in, 5 out, 0.00002 USD\n",
        "    call  rye_code {}\n",
        "    code  const one = 1; __out = one;\n",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || line.contains(&id)), "{shown}");
    for text in [
        "- `directive:acme/go`, by `m` of `tool:acme/script`\n",
        "4 turns, 60 tokens, 0.00008 USD\n",
        "### hook ",
        "### eval ",
        "### denied ",
        "\n10 tokens in, 5 out, 0.00002 USD\n",
        "```text\nconst one = 1;\n__out = one;\n```",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let (_, told) = world.json(&["thread", "show", &id]);
    assert_eq!(
        told["limits"],
        json!({
            "turns": 9, "tokens": 1_000_000, "spend_micros": 5_000_000, "spawns": 50, "depth": 10,
            "duration_seconds": 1800,
        })
    );
}

#[test]
fn what_a_model_or_a_tool_said_steers_no_terminal_wherever_it_went_before() {
    let world = speaks("\u{9b}2J gone");
    let clean = |said: &str| !said.contains(['\u{9b}', '\u{1b}']);
    let ran = world.rye(&SAY);
    assert!(clean(&ran.stdout) && ran.stdout == "\\u{9b}2J gone\n", "{ran:?}");
    let id = id(&newest(&world));
    for verb in ["wait", "tail", "show"] {
        let said = world.rye(&["thread", verb, &id]);
        assert!(said.status == 0 && clean(&said.stdout), "{said:?}");
        assert!(said.stdout.contains("\\u{9b}2J gone\n"), "{said:?}");
    }
    // In JSON it is JSON that says it.
    let (_, told) = world.json(&["thread", "wait", &id]);
    assert_eq!(told["result"], "\u{9b}2J gone");
    assert!(clean(&world.rye(&["thread", "wait", &id, "--json"]).stdout));
    world.signed(".ai/tools/acme/loud.sh", &tool("printf '\\302\\2332J \\033[1m loud\\n'\n"));
    let id = id_of(&start(&world, &["tool:acme/loud"]));
    // What a tool wrote goes into a pipe as it was, as `rye execute` gives it.
    let said = world.rye(&["thread", "wait", &id]);
    assert_eq!(said.stdout, "\u{9b}2J \u{1b}[1m loud\n", "{said:?}");
}

#[test]
fn wait_shows_what_a_detached_tool_wrote_that_failed() {
    let world =
        World::new().with(".ai/tools/acme/bad.sh", &tool("echo to-out; echo to-err >&2; exit 3\n"));
    let id = id_of(&start(&world, &["tool:acme/bad"]));
    let said = world.rye(&["thread", "wait", &id]);
    assert_eq!((said.status, &*said.stdout), (1, "to-out\n"), "{said:?}");
    assert!(said.stderr.starts_with("to-err\nerror[execute.tool_failed]: "), "{said:?}");
    let (inline, waited) =
        (world.json(&["execute", "tool:acme/bad"]), world.json(&["thread", "wait", &id]));
    assert_eq!((waited.0, &waited.1["data"]), (inline.0, &inline.1["data"]), "{waited:?}");
    let (_, told) = world.json(&["thread", "show", &id]);
    let failure = json!({"code": "execute.tool_failed", "error": told["data"]["report"]["error"],
        "help": told["data"]["report"]["help"]});
    assert_eq!(told["failure"], failure, "what it printed stands in its report alone");
    assert_eq!(crate::async_runs::state(&world, &id), "failed");
    // Whoever watched it has seen that already.
    let said = world.rye(&["thread", "tail", &id]);
    assert_eq!((said.stdout + &said.stderr).matches("to-err").count(), 1);
}

#[test]
fn show_of_a_detached_tool_has_what_it_gave_and_names_only_what_can_still_be_done() {
    let world = World::new()
        .with(".ai/tools/acme/gives.sh", &tool("echo '{\"text\": \"a\", \"n\": 1}'\n"))
        .with(".ai/tools/acme/bad.sh", &tool("echo to-out; exit 3\n"))
        .with(".ai/tools/acme/stays.sh", &tool("while [ ! -e go ]; do sleep 0.1; done\n"));
    let shown = |id: &str| world.rye(&["thread", "show", id]).stdout;
    let ended = |item: &str| {
        let id = id_of(&start(&world, &[item]));
        world.json(&["thread", "wait", &id]);
        shown(&id)
    };
    let said = ended("tool:acme/gives");
    assert!(said.ends_with("\n{\n  \"text\": \"a\",\n  \"n\": 1\n}\n"), "{said}");
    assert!(!said.contains("next:"), "{said}");
    let said = ended("tool:acme/bad");
    assert!(said.contains("\nto-out\n\nerror[execute.tool_failed]: "), "{said}");
    assert!(!said.contains("next:") && !said.contains("\"status\""), "{said}");
    let id = id_of(&start(&world, &["tool:acme/stays"]));
    let said = shown(&id);
    assert!(said.ends_with(&format!("\nnext: `rye thread wait {id}`\n")), "{said}");
    assert_eq!(world.json(&["thread", "kill", &id]).0, 0);
    let said = shown(&id);
    let error = format!("\nerror[thread.killed]: `{id}` was killed");
    assert!(said.contains(&error) && said.ends_with("help: run it again if need be\n"), "{said}");
}

#[test]
fn rows_of_threads_and_of_detached_tools_have_the_same_keys_for_what_stands_above() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &[]).0, 0);
    let run = id_of(&start(&world, &["tool:acme/echo"]));
    assert_eq!(world.json(&["thread", "wait", &run]).0, 0);
    let all = rows(&world);
    assert_eq!(all.len(), 2);
    for row in &all {
        for key in ["parent", "continued_by"] {
            assert_eq!(row.get(key), Some(&Value::Null), "{row}");
        }
    }
}

#[test]
fn the_list_names_the_folder_in_which_a_moved_project_lies_where_it_is_asked_there() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &[]).0, 0);
    let moved = world.outside().join("moved");
    fs::rename(world.project(), &moved).unwrap();
    fs::create_dir(world.project()).unwrap();
    let base = |folder| {
        let said = world.rye_in(folder, &["thread", "list", "--json"], b"");
        said.json()["threads"][0]["base"].as_str().unwrap().to_owned()
    };
    assert_eq!(base(&moved), moved.to_str().unwrap());
    assert_eq!(base(&world.project()), world.project().to_str().unwrap(), "nobody knows it there");
}

#[test]
fn a_record_that_the_registry_does_not_know_is_said_to_be_compared_with_nothing() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let id = id(&fork(&world, &[]).1);
    let registry = world.home().join(".ai/state/registry.db");
    let compared = |want: bool| {
        assert_eq!(
            world.json(&["thread", "verify", &id]).ok()["compared_with_registry"],
            json!(want)
        );
        assert_eq!(
            world.json(&["thread", "export", &id]).ok()["export"]["compared_with_registry"],
            want
        );
        let said = world.rye(&["thread", "verify", &id]);
        let words = "not compared with the registry";
        assert_eq!(said.stdout.contains(words), !want, "{said:?}");
        let said = world.rye(&["thread", "export", &id]);
        assert_eq!(said.stderr.contains(words), !want, "{said:?}");
    };
    compared(true);
    PYTHON.needed();
    let newer =
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version = 9999')";
    let status = std::process::Command::new("python3").args(["-c", newer]).arg(&registry).status();
    assert!(status.unwrap().success());
    compared(false);
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", registry.display()));
    }
    compared(false);
}

#[test]
fn folders_of_records_that_came_open_are_closed_and_a_folder_in_the_place_of_a_file_is_named() {
    let world = world(&json!([hand_over(), hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let top = world.project().join(".ai/state/threads");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let open = |path: &std::path::Path| fs::set_permissions(path, Permissions::from_mode(0o777));
    let between = top.join("acme/go");
    fs::create_dir_all(&between).unwrap();
    for folder in [&top, &top.join("acme"), &between] {
        open(folder).unwrap();
    }
    let id = id(&fork(&world, &[]).1);
    let own = top.join(&id);
    let folders = [&top, &top.join("acme"), &between, &own];
    assert_eq!(folders.map(|folder| mode(folder)), [0o700; 4]);
    for folder in folders {
        open(folder).unwrap();
    }
    assert_eq!(world.json(&["thread", "resume", &id, "again"]).0, 0);
    assert_eq!(folders.map(|folder| mode(folder)), [0o700; 4], "where it goes on too");
    let ignored = top.join(".gitignore");
    fs::remove_file(&ignored).unwrap();
    fs::create_dir(&ignored).unwrap();
    let told = fork(&world, &[]).fails(6, "thread.record_io");
    let said = format!("`{}` is a folder", ignored.display());
    assert!(told["error"].as_str().unwrap().contains(&said), "{told}");
    assert!(told["help"].as_str().unwrap().starts_with("move it away"), "{told}");
}
