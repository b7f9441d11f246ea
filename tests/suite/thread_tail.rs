//! What a thread does is told as it does it, and handed out as one file.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::async_runs::{id_of, kill, start, state, tool};
use crate::threads::{call, events, fork, hand_over, transcript, world};
use crate::world::wait::{lives, until};
use crate::world::{End, World};

const GO: &[&str] = &["directive:acme/go", "--thread", "fork"];

const ALL: &str = "<execute><tool>acme.*</tool></execute>";

/// A project whose model calls a tool that ends once the file `go` is there.
fn slow() -> World {
    let turns = json!([
        call("acme_echo", &json!({"text": "the first words"})),
        call("acme_slow", &json!({})),
        hand_over(),
    ]);
    let world = world(&turns, "turns=\"9\"", ALL);
    let body = "while [ ! -e go ]; do sleep 0.1; done; echo '{\"waited\": true}'\n";
    world.signed(".ai/tools/acme/slow.sh", &tool(body));
    world
}

/// Somebody who watches a thread from a process of its own.
pub fn watch(world: &World, id: &str, more: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut command = world.command(&[&["thread", "tail", id], more].concat());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// The events up to and with the first that holds this.
fn lines_until(lines: &mut Lines<BufReader<ChildStdout>>, text: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    for line in lines {
        let line = line.unwrap();
        seen.push(serde_json::from_str(&line).unwrap());
        if line.contains(text) {
            return seen;
        }
    }
    panic!("`{text}` was not told: {seen:?}");
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

/// All that is told of a thread, one object a line; its exit status, its events, and the answer.
fn tail(world: &World, id: &str) -> (i32, Vec<Value>, Value) {
    let said = world.rye(&["thread", "tail", id, "--json"]);
    let lines = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let answer = lines.pop().unwrap();
    (said.status, lines, answer)
}

#[test]
fn a_thread_in_another_process_is_watched_while_it_runs_and_ends_with_its_status() {
    let world = slow();
    let id = id_of(&start(&world, GO));
    let (mut child, mut lines) = watch(&world, &id, &["--json"]);
    // The tool waits for us, so all of this is told while the thread runs.
    let seen = lines_until(&mut lines, "\"name\":\"acme_slow\"");
    assert_eq!(seen[0]["event"], "thread_started", "{seen:?}");
    assert!(names(&seen).contains(&"tool_call_result"), "{seen:?}");
    assert_eq!(state(&world, &id), "running");
    world.write("go", "");
    let rest: Vec<Value> =
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (answer, rest) = rest.split_last().unwrap();
    assert_eq!((&answer["status"], &answer["outputs"]), (&json!("success"), &json!({"n": 7})));
    assert_eq!(rest.last().unwrap()["event"], "thread_ended");
    // Every event once, in order.
    let told = [seen.as_slice(), rest].concat();
    let kept = fs::read_to_string(transcript(&world, &id)).unwrap();
    let kept = kept.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kept: Vec<Value> = kept.filter(|line| line["event"].is_string()).collect();
    assert_eq!(told, kept);
    assert_eq!(*answer, world.json(&["thread", "wait", &id]).1);
}

#[test]
fn of_a_thread_that_is_over_all_is_told_at_once_with_how_it_ended() {
    let world = slow();
    world.write("go", "");
    let (status, told) = fork(&world, &[]);
    let id = told["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(status, 0, "{told}");
    let (status, seen, answer) = tail(&world, &id);
    assert_eq!((status, &answer["outputs"]), (0, &json!({"n": 7})), "{answer}");
    assert_eq!(names(&seen).first(), Some(&"thread_started"));
    assert_eq!(
        seen.len(),
        world.json(&["thread", "show", &id]).1["data"]["events"].as_array().unwrap().len()
    );
    let plain = world.rye(&["thread", "tail", &id]).ok();
    for text in ["    call  acme_echo {", "    gave  ", "     end  completed\n{\"n\":7}\n"] {
        assert!(plain.stdout.contains(text), "{text}: {plain:?}");
    }
    // One that failed ends as it did.
    let (status, told) = fork(&world, &["--limit", "turns=1"]);
    assert_eq!(told["code"], "thread.limit_exceeded", "{told}");
    let failed = crate::threads::rows(&world)[1]["thread_id"].as_str().unwrap().to_owned();
    let (tailed, seen, answer) = tail(&world, &failed);
    assert_eq!((tailed, &answer["code"]), (status, &told["code"]), "{answer}");
    assert_eq!(seen.last().unwrap()["status"], "failed");
    world.json(&["thread", "tail", "none"]).fails(3, "thread.not_found");
}

#[test]
fn whoever_stops_watching_leaves_the_thread_alone() {
    let world = slow();
    let id = id_of(&start(&world, GO));
    let (mut child, mut lines) = watch(&world, &id, &["--json"]);
    lines_until(&mut lines, "\"name\":\"acme_slow\"");
    // While it looks for more.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(sent.success());
    let ended = child.wait().unwrap();
    assert!(ended.signal() == Some(2) || ended.code() == Some(130), "{ended:?}");
    assert_eq!(state(&world, &id), "running");
    world.write("go", "");
    assert_eq!(world.json(&["thread", "wait", &id]).ok()["outputs"], json!({"n": 7}));
}

#[test]
fn a_thread_that_is_killed_and_a_detached_tool_are_watched_to_their_end() {
    let world = slow();
    let told = start(&world, GO);
    let (id, pid) = (id_of(&told), told["pid"].as_u64().unwrap());
    let (mut child, mut lines) = watch(&world, &id, &["--json"]);
    lines_until(&mut lines, "\"name\":\"acme_slow\"");
    kill(pid);
    let last = lines.map(Result::unwrap).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["code"], "thread.killed", "{last}");
    let status = child.wait().unwrap().code().unwrap();
    assert_eq!(status, world.json(&["thread", "wait", &id]).0);
    assert!(!lives(pid));
    let run = id_of(&start(&world, &["tool:acme/slow"]));
    let (mut child, lines) = watch(&world, &run, &["--json"]);
    world.write("go", "");
    let all: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let wrote = json!({"event": "output", "text": "{\"waited\": true}\n"});
    assert_eq!(serde_json::from_str::<Value>(&all[0]).unwrap(), wrote);
    assert_eq!(all.len(), 2, "{all:?}");
    let answer: Value = serde_json::from_str(&all[1]).unwrap();
    assert_eq!(answer, world.json(&["thread", "wait", &run]).1);
    assert_eq!(answer["data"], json!({"waited": true}), "{answer}");
}

#[test]
fn what_a_detached_tool_writes_is_told_as_it_comes_masked_and_kept_in_a_log() {
    let world = World::new().env("ACME_KEY", "canary-88bb02");
    let body = "printf 'one \\033[31m %s\\n' \"$ACME_KEY\"; echo oops >&2\n\
                while [ ! -e go ]; do sleep 0.1; done; echo two\n";
    let text = tool(body).replace("# ///\nprintf", "# secrets = [\"ACME_KEY\"]\n# ///\nprintf");
    world.signed(".ai/tools/acme/slow.sh", &text);
    let id = id_of(&start(&world, &["tool:acme/slow"]));
    let (mut child, mut lines) = watch(&world, &id, &["--json"]);
    let mut seen = String::new();
    // The tool waits for us, so all of this is told while it runs.
    while !(seen.contains("one ") && seen.contains("oops")) {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(event["event"], "output", "{event}");
        seen += event["text"].as_str().unwrap();
    }
    assert!(seen.contains("***") && !seen.contains("canary-88bb02"), "{seen}");
    let log = world.json(&["thread", "show", &id]).1["log"].as_str().unwrap().to_owned();
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let ignored = world.project().join(".ai/state/threads/.gitignore");
    assert!(ignored.exists(), "git leaves it out");
    world.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let kept = fs::read_to_string(&log).unwrap();
    assert!(kept.ends_with("two\n") && !kept.contains("canary-88bb02"), "{kept:?}");
    // Once it is over, the same to people, and nothing twice.
    let plain = world.rye(&["thread", "tail", &id]).ok();
    assert!(plain.stdout.contains("two\n") && !plain.stdout.contains('\u{1b}'), "{plain:?}");
    assert_eq!(plain.stdout.matches("one ").count(), 1, "{plain:?}");
    assert!(world.rye(&["thread", "show", &id]).stdout.contains(&format!("log: {log}")));
}

#[test]
fn a_thread_that_waits_for_a_person_is_told_as_waiting() {
    let world = world(&json!([call("acme_asks", &json!({})), hand_over()]), "turns=\"9\"", ALL);
    let asks = "#!/bin/sh\nread -r call\nprintf '{\"pending\":{\"reason\":\"amount\",\
                \"message\":\"Pay?\"}}\\n'\n";
    world.write(".ai/tools/acme/asks-it.sh", asks);
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Asks.\nexec:\n  command: ./asks-it.sh\n  \
                files: [asks-it.sh]\n";
    world.signed(".ai/tools/acme/asks.yaml", item);
    let (status, told) = fork(&world, &[]);
    assert_eq!(status, 8, "{told}");
    let id = told["thread_id"].as_str().unwrap();
    let (status, seen, answer) = tail(&world, id);
    assert_eq!((status, &answer["status"]), (8, &json!("pending")), "{answer}");
    assert_eq!(answer["pending"]["id"], told["pending"]["id"]);
    assert_eq!(names(&seen).last(), Some(&"thread_waiting"));
    assert_eq!(events(&world, id, "thread_waiting").len(), 1);
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_while_the_thread_goes_on() {
    let world = slow();
    let id = id_of(&start(&world, GO));
    until("it calls", || events(&world, &id, "tool_call_start").len() == 2);
    let (mut child, mut lines) = watch(&world, &id, &["--json"]);
    lines_until(&mut lines, "acme_slow");
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(state(&world, &id), "running");
    world.write("go", "");
    assert_eq!(world.json(&["thread", "wait", &id]).0, 0);
}

#[test]
fn a_thread_is_handed_out_in_both_formats_with_what_is_proven_and_without_secrets() {
    let turns = json!([
        call("acme_echo", &json!({"text": "a known text", "fence": "````\n# not a heading"})),
        call("acme_secret", &json!({})),
        hand_over(),
    ]);
    let world = world(&turns, "turns=\"9\"", ALL).env("PAY_KEY", "canary-77aa01");
    let secret = "#!/bin/sh\nread -r call\necho '{\"result\":{\"key\":\"'\"$PAY_KEY\"'\"}}'\n";
    world.write(".ai/tools/acme/secret-it.sh", secret);
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Tells.\nsecrets: [PAY_KEY]\n\
                exec:\n  command: ./secret-it.sh\n  files: [secret-it.sh]\n";
    world.signed(".ai/tools/acme/secret.yaml", item);
    let (status, told) = fork(&world, &[]);
    assert_eq!(status, 0, "{told}");
    let id = told["thread_id"].as_str().unwrap();
    let gave = &events(&world, id, "tool_call_result")[1];
    assert!(gave["content"].as_str().unwrap().contains("***"), "the tool told it: {gave}");
    let bytes = fs::metadata(transcript(&world, id)).unwrap().len();
    let proof = format!("proven: {bytes} bytes of the record, signed by ");
    // To standard output, and the same to a file of its owner alone.
    let said = world.rye(&["thread", "export", id]);
    assert!(said.status == 0 && said.stderr.contains(&proof), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (&document["proven_bytes"], &document["unproven_bytes"]),
        (&json!(bytes), &json!(0))
    );
    assert_eq!((&document["thread_id"], &document["final"]), (&json!(id), &json!(true)));
    assert_eq!(document["events"], world.json(&["thread", "show", id]).1["data"]["events"]);
    assert!(said.stdout.contains("a known text") && !said.stdout.contains("canary-77aa01"));
    let path = world.outside().join("thread.json");
    let args = ["thread", "export", id, "--out", path.to_str().unwrap()];
    let (status, told) = world.json(&args);
    assert_eq!((status, &told["proven_bytes"]), (0, &json!(bytes)), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), said.stdout);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // For people.
    let page = world.rye(&["thread", "export", id, "--format", "markdown"]);
    assert!(page.status == 0 && page.stderr.contains(&proof), "{page:?}");
    for text in [&proof, "a known text", &format!("# Thread `{id}`"), "- status: completed"] {
        assert!(page.stdout.contains(text), "{text}: {page:?}");
    }
    assert!(!page.stdout.contains("canary-77aa01"), "{page:?}");
    assert!(
        page.stdout.contains("\n`````text\nacme_echo"),
        "what is said stays in its block: {page:?}"
    );
    // What is there already is not lost.
    fs::write(&path, "mine").unwrap();
    world.json(&args).fails(2, "cli.output");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn of_a_thread_that_was_killed_the_document_says_what_is_not_proven() {
    let world = slow();
    let told = start(&world, GO);
    let (id, pid) = (id_of(&told), told["pid"].as_u64().unwrap());
    until("it calls", || events(&world, &id, "tool_call_start").len() == 2);
    kill(pid);
    assert_eq!(state(&world, &id), "killed");
    let document: Value =
        serde_json::from_str(&world.rye(&["thread", "export", &id]).stdout).unwrap();
    let count = |key: &str| document[key].as_u64().unwrap();
    let bytes = fs::metadata(transcript(&world, &id)).unwrap().len();
    assert_eq!(count("proven_bytes") + count("unproven_bytes"), bytes);
    assert_eq!(names(document["unproven_events"].as_array().unwrap()), ["tool_call_start"]);
    assert!(names(document["events"].as_array().unwrap()).contains(&"tool_call_result"));
}
