//! The page about threads is true: what it has a reader type runs, with servers on this machine in
//! the place of a model server of one's own and of a hosted one.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::async_runs::tool;
use crate::readme::{blocks, section};
use crate::threads::{directive, rows};
use crate::threads_http::{CANARY, STREAMED, Words, calls, hands_over, reply, says};
use crate::world::World;
use crate::world::server::{Reply, Server, answer};

const PAGE: &str = ".ai/knowledge/rye/threads.md";

fn of_section(title: &str, info: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let found = blocks(&section(&fs::read_to_string(path).unwrap(), title));
    found.into_iter().filter(|(of, _)| of == info).map(|(_, text)| text).collect()
}

fn newest(world: &World) -> String {
    rows(world).pop().unwrap()["thread_id"].as_str().unwrap().to_owned()
}

/// The one that is not among those that are known; it is one of them from here on.
fn one_more(world: &World, known: &mut Vec<String>) -> String {
    let ids = rows(world).into_iter().map(|row| row["thread_id"].as_str().unwrap().to_owned());
    let more: Vec<String> = ids.filter(|id| !known.contains(id)).collect();
    let [one] = &*more else { panic!("{more:?}") };
    known.push(one.clone());
    one.clone()
}

/// Runs a line of the page in a shell; `ID` is the thread that is meant.
#[track_caller]
fn typed(world: &World, line: &str, id: &str) -> String {
    let said = world.shell(&format!("set -e\n{}\necho ended well", line.replace("ID", id)));
    said.strip_suffix("ended well\n").unwrap_or_else(|| panic!("{line}: {said}")).to_owned()
}

/// Turns that are said one after the other; without any a request is a bad one.
type Turns = Arc<Mutex<VecDeque<Words>>>;

fn next(turns: &Turns) -> Option<Words> {
    turns.lock().unwrap().pop_front()
}

fn bad() -> Reply {
    answer(400, "Content-Type: application/json\r\n", "{\"error\":{\"message\":\"not now\"}}")
}

/// A stream as Ollama sends it: each call in one piece, with an id of its own, and the usage behind
/// the end where it is asked for.
fn ollama(words: &Words) -> Reply {
    let chunk = |choices: Value, more: Value| {
        let mut chunk = json!({
            "id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1_764_000_000,
            "model": "qwen3:8b", "system_fingerprint": "fp_ollama", "choices": choices,
        });
        chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, end: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        chunk(json!([choice]), json!({}))
    };
    let mut all = delta(json!({"role": "assistant", "content": words.text}), Value::Null);
    for (at, (name, arguments)) in words.calls.iter().enumerate() {
        let call = json!({"id": format!("call_{at}x"), "index": at, "type": "function",
            "function": {"name": name, "arguments": arguments}});
        let said = json!({"role": "assistant", "content": "", "tool_calls": [call]});
        all += &delta(said, Value::Null);
    }
    let end = if words.calls.is_empty() { "stop" } else { "tool_calls" };
    all += &delta(json!({"role": "assistant", "content": ""}), end.into());
    let usage = json!({"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35});
    all += &chunk(json!([]), json!({"usage": usage}));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    Reply::Bytes(format!("{head}{all}data: [DONE]\n\n").into_bytes())
}

/// Writes a provider of the page, whose server is this one, and signs it as the page says.
fn provider(world: &World, text: &str, at: &str, server: &Server, name: &str) {
    let text = text.replace(at, server.url("").trim_end_matches('/'));
    assert!(text.contains("127.0.0.1:"), "{text}");
    world.write_home(&format!(".ai/tools/my/{name}.yaml"), text);
    typed(world, &format!("rye sign my/{name} --space user"), "");
}

#[test]
fn a_first_thread_runs_without_a_model_with_one_of_ones_own_and_with_a_hosted_one() {
    let world = World::new().env("ANTHROPIC_API_KEY", CANARY);
    let scripted = of_section("A first thread", "text");
    for line in scripted[0].lines() {
        let id = if line.contains("ID") { newest(&world) } else { String::new() };
        typed(&world, line, &id);
    }
    let providers = of_section("A first thread", "yaml");
    let turns = Turns::default();
    let said = Arc::clone(&turns);
    let own = Server::new(move |_, _| next(&said).map_or_else(bad, |words| ollama(&words)));
    provider(&world, &providers[0], "http://127.0.0.1:11434", &own, "local");
    turns.lock().unwrap().extend([
        calls("rye_file_system_list", "{\"path\": \".\"}"),
        says("Here.").and("directive_return", "{\"summary\": \"s\", \"sources\": [\"a\"]}"),
    ]);
    let copy = of_section("A first thread", "sh");
    assert_eq!(copy.len(), 1, "how the example is asked of another provider");
    let said = typed(&world, &copy[0], "");
    assert!(said.contains("{\"summary\":\"s\",\"sources\":[\"a\"]}\n"), "{said}");
    for seen in own.seen() {
        assert_eq!((&*seen.target, seen.header("authorization")), ("/v1/chat/completions", None));
        let body = seen.json();
        assert_eq!((&body["model"], &body["max_tokens"]), (&json!("qwen3:8b"), &json!(4096)));
    }
    assert_eq!(own.seen().len(), 2);
    assert_eq!(rows(&world).pop().unwrap()["used"]["spend_micros"], 0);
    // The hosted one answers whatever names no provider.
    let turns = Turns::default();
    let said = Arc::clone(&turns);
    let hosted = Server::new(move |_, n| {
        next(&said).map_or_else(bad, |words| reply(STREAMED[1], &words, n))
    });
    provider(&world, &providers[1], "https://api.anthropic.com", &hosted, "hosted");
    world.write_home(".ai/config/agent/models.yaml", "provider: my/hosted\n");
    typed(&world, "rye sign config:agent/models --space user", "");
    let text = directive("go", "turns=\"9\"", "").replace("<model provider=\"acme/script\"/>", "");
    world.signed(".ai/directives/acme/go.md", &text);
    turns.lock().unwrap().push_back(hands_over());
    let dry = "rye execute directive:acme/go --thread fork --dry-run";
    assert!(typed(&world, dry, "").contains("claude-sonnet-4-5"));
    assert_eq!(typed(&world, &dry.replace(" --dry-run", " --quiet"), ""), "{\"n\":7}\n");
    let seen = &hosted.seen()[0];
    assert_eq!((&*seen.target, seen.header("x-api-key")), ("/v1/messages", Some(CANARY)));
    assert_eq!(seen.json()["model"], "claude-sonnet-4-5");
}

#[test]
fn what_the_page_says_of_running_on_and_of_going_on_can_be_typed() {
    let world = World::new();
    let turns = Turns::default();
    let said = Arc::clone(&turns);
    let own = Server::new(move |_, _| next(&said).map_or_else(bad, |words| ollama(&words)));
    let providers = of_section("A first thread", "yaml");
    provider(&world, &providers[0], "http://127.0.0.1:11434", &own, "local");
    let text = directive("report", "turns=\"9\"", "").replace("acme/script", "my/local");
    world.signed(".ai/directives/acme/report.md", &text);
    world.signed(".ai/tools/acme/slow.sh", &tool("while [ ! -e go ]; do sleep 0.1; done\n"));
    turns.lock().unwrap().push_back(hands_over());
    let lines = of_section("Running on by itself", "text").concat();
    let mut ids: Vec<String> = Vec::new();
    for line in lines.lines() {
        // The first of those that run is the report, and the other one never ends by itself.
        let id = ids.get(usize::from(line.contains("cancel"))).cloned().unwrap_or_default();
        typed(&world, line, &id);
        if line.ends_with("--async") {
            one_more(&world, &mut ids);
        }
    }
    assert_eq!(ids.len(), 2);
    let lines = of_section("Going on with one that stopped", "text").concat();
    for line in lines.lines() {
        // A provider that refuses ends a thread, which goes on once it answers.
        let (_, told) = world.json(&["execute", "directive:acme/report", "--thread", "fork"]);
        assert_eq!(told["code"], "provider.bad_request", "{told}");
        turns.lock().unwrap().push_back(hands_over());
        let said = typed(&world, line, &one_more(&world, &mut ids));
        assert!(said.ends_with("{\"n\":7}\n"), "{line}: {said}");
    }
    assert_eq!(lines.lines().count(), 3);
}
