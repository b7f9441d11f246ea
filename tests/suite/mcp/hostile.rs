//! Bytes that are no message, and messages that mean harm: the server lives on.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::bounds::{forget_peak, is_bounded, peak};
use crate::tools::shell;
use crate::world::wait::{PATIENCE, lives, number, until};
use crate::world::{World, whole};

/// Lines that are no JSON, no message, or one that asks for too much.
fn corpus() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "", " ", "\t", "\r", "null", "true", "0", "-", "1e999", "\"\"", "\"", "[]", "{}", "[", "]", "{",
        "}", "[,]", "[1,]", "{\"a\"", "{\"a\":}", "{,}", "{\"a\":1,}", "nul", "tru", "+1", ".1", "1.",
        "01", "0x1", "NaN", "Infinity", "-Infinity", "'a'", "{a:1}", "//", "/* */ {}", "{} {}",
        "[1] [2]", "\"\\u\"", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\x\"", "\"\\u00\"",
        "\u{feff}{}", "\u{2028}", "[\"\u{7f}\"]", "Content-Length: 2", "GET / HTTP/1.1", "quit",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999999,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rye_execute\",\"arguments\":[]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rye_execute\",\"arguments\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rye_execute\",\"_meta\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rye_execute\",\"_meta\":{\"progressToken\":{}}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"rye://knowledge/../../etc/passwd\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{\"cursor\":\"\\u0000\\uffff\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"..\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":12345}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"x\"}}",
        "{\"$serde_json::private::Number\":\"1\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{\"$serde_json::private::Number\":\"x\"},\"method\":\"ping\"}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    all.extend([
        vec![0xff, 0xfe],
        vec![0xc0, 0x80],
        vec![0xed, 0xa0, 0x80],
        vec![0],
        vec![0x1b, b'['],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(),
    ]);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [100, 130, 10_000, 1_000_000] {
            all.push(open.repeat(depth).into_bytes());
            all.push(format!("{}1{}", open.repeat(depth), close.repeat(depth)).into_bytes());
            all.push(
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"rye_fetch\",\"arguments\":{{\"x\":{}1{}}}}}}}",
                    open.repeat(depth), close.repeat(depth)
                )
                .into_bytes(),
            );
        }
    }
    // Longer than any message may be.
    all.push([b"\"".to_vec(), vec![b'a'; 17 << 20], b"\"".to_vec()].concat());
    all.push(format!("{}1", "0".repeat(1 << 20)).into_bytes());
    all
}

#[test]
fn whatever_comes_in_the_server_lives_and_answers_the_next_request() {
    let world = World::new();
    let mut client = Client::start(&world, &[]);
    let corpus = corpus();
    assert!(corpus.len() > 120);
    // Before the first word, and after it.
    for is_greeted in [false, true] {
        if is_greeted {
            client.hello();
        }
        for (at, line) in corpus.iter().enumerate() {
            if !is_greeted && line.windows(12).any(|part| part == b"\"initialize\"") {
                continue;
            }
            client.send_bytes(&[line.as_slice(), b"\n"].concat());
            let id = client.begin("ping", &json!({}));
            let said = client.wait(|message| message["id"] == id);
            assert!(said.get("result").is_some(), "{at} {is_greeted}: {said}");
        }
        client.kept.clear();
    }
    let (said, is_error) = client.call("rye_fetch", json!({"item_id": "knowledge:rye/overview"}));
    assert!(!is_error, "{said}");
    // The last line has no end.
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":");
    let (status, stderr) = client.end(PATIENCE);
    assert!(status.success() && stderr.is_empty(), "{status:?} {stderr}");
}

#[test]
fn a_client_that_reads_nothing_is_not_listened_to_and_misses_nothing_when_it_does() {
    const ASKED: usize = 1_500;
    let world = World::new();
    let mut command = world.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let asks = std::thread::spawn(move || {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        write!(input, "{hello}\n{begun}\n").unwrap();
        let cursor = "x".repeat(4096);
        for id in 1..=ASKED {
            let list = json!({"cursor": cursor});
            let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": list});
            writeln!(input, "{ask}").unwrap();
            counted.store(id, Ordering::Relaxed);
        }
    });
    let mut before = usize::MAX;
    until("it is not listened to", || {
        std::thread::sleep(Duration::from_millis(500));
        let now = asked.load(Ordering::Relaxed);
        now > 0 && std::mem::replace(&mut before, now) == now
    });
    assert!(before < ASKED / 2, "{before} answers wait for nobody");
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard: Vec<u64> = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["id"].as_u64().unwrap())
        .take(ASKED + 1)
        .collect();
    heard.sort_unstable();
    assert!(heard.into_iter().eq(0..=ASKED as u64));
    asks.join().unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_second_request_with_the_id_of_one_that_runs_is_refused_and_the_first_can_be_cancelled() {
    let world = World::new()
        .with(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own; sleep 600\n"))
        .with(".ai/tools/acme/other.sh", &shell("echo $$ >other; sleep 600\n"));
    let mut client = Client::new(&world, &[]);
    let call = |item: &str| {
        let arguments = json!({"item_id": item, "project_path": world.project()});
        let params = json!({"name": "rye_execute", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params})
    };
    client.send(&call("tool:acme/sleeps"));
    let pid = number(&world.project().join("own"));
    client.send(&call("tool:acme/other"));
    let said = client.wait(|message| message.get("error").is_some());
    assert_eq!(said["error"]["code"], -32600, "{said}");
    assert!(said.get("id").is_none_or(Value::is_null), "it would answer the first: {said}");
    client.cancel("x");
    let start = Instant::now();
    until("the first is ended", || !lives(&pid));
    assert!(start.elapsed() < Duration::from_secs(20), "only the time limit ended it");
    assert!(!world.project().join("other").exists());
    // What was answered or cancelled may be used again.
    for _ in 0..2 {
        client.send(&json!({"jsonrpc": "2.0", "id": "x", "method": "ping"}));
        assert!(client.wait(|message| message["id"] == "x").get("result").is_some());
    }
}

#[test]
fn more_calls_than_are_run_at_once_wait_and_more_than_that_are_told_to() {
    let world = World::new().with(".ai/tools/acme/sleeps.sh", &crate::tools::shell("sleep 600\n"));
    let mut client = Client::new(&world, &[]);
    let project = world.project().display().to_string();
    let call = json!({"name": "rye_execute", "arguments": {"item_id": "tool:acme/sleeps", "project_path": project}});
    for _ in 0..300 {
        client.begin("tools/call", &call);
    }
    let said = client.wait(|message| message["result"]["isError"] == true);
    assert_eq!(said["result"]["structuredContent"]["code"], "mcp.busy", "{said}");
    assert!(client.end(PATIENCE).0.success());
}

/// A request with the id 7 of at least so many bytes, of one value over and over.
pub fn dense(method: &str, value: &str, bytes: usize) -> String {
    let many = value.repeat(bytes / value.len());
    let many = many.trim_end_matches(',');
    let (open, close) = if value.contains(':') { ("{", "}") } else { ("[", "]") };
    let params = match method {
        "tools/call" => {
            format!("{{\"name\":\"rye_verify\",\"arguments\":{{\"items\":{open}{many}{close}}}}}")
        }
        _ => format!("{{\"x\":{open}{many}{close}}}"),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params},\"id\":7}}")
}

/// Each value by one method and one value by each here, of 4 MiB; the whole is each by each, of 15.
#[test]
fn l05_a_dense_message_is_refused_before_it_is_read_and_a_long_text_is_not() {
    let world = World::new();
    let mut client = Client::new(&world, &[]);
    let pid = client.child.id();
    client.ask("tools/list", &json!({}));
    let usual = peak(pid);
    let mut send = |what: &str, line: &str| {
        forget_peak(pid);
        client.send_bytes(format!("{line}\n").as_bytes());
        let said = client.wait(|message| message["id"] == 7);
        is_bounded(what, peak(pid), usual, line.len());
        said
    };
    for method in ["ping", "tools/call", "initialize", "resources/read", "x/y"] {
        for value in ["0,", "[],", "{},", "\"\",", "\"a\":1,", "null,"] {
            if method != "ping" && value != "0," && !whole() {
                continue;
            }
            let bytes = if whole() { 15 << 20 } else { 4 << 20 };
            let said = send(&format!("{method} {value}"), &dense(method, value, bytes));
            assert_eq!(said["error"]["code"], -32600, "{method} {value}: {said}");
        }
    }
    // As many in a text that the library would read as JSON of its own.
    let hidden = format!("\"$serde_json::private::RawValue\":\"[{}0]\"", "0,".repeat(2 << 20));
    let hidden = dense("ping", &hidden, hidden.len());
    let said = send("values in a text", &hidden);
    assert_eq!(said["error"]["code"], -32600, "{said:.200}");
    // As many as may be, and one long text.
    for (value, many) in [("0,", 99_990), ("{},", 49_990), ("\"a\",", 99_990)] {
        let said = send(value, &dense("ping", value, value.len() * many));
        assert!(said.get("result").is_some(), "{value}: {said}");
    }
    let long = format!("\"{}\"", "x".repeat(14 << 20));
    let said = send("a long text", &dense("ping", &long, long.len()));
    assert!(said.get("result").is_some(), "{said:.200}");
    // Nobody answers a notification, and an id that is in use is not answered twice.
    let told = dense("notifications/progress", "0,", 1 << 20).replace(",\"id\":7", "");
    client.send_bytes(format!("{told}\n").as_bytes());
    assert!(client.ask("ping", &json!({})).get("result").is_some());
    assert!(client.kept.is_empty(), "{:?}", client.kept);
    assert!(client.end(PATIENCE).0.success());
}

#[test]
fn a_session_begins_once_and_keeps_what_was_agreed_on() {
    let world = World::new();
    let mut client = Client::start(&world, &[]);
    let agreed = client.hello()["protocolVersion"].clone();
    assert_eq!(agreed, "2025-11-25");
    for version in ["2026-07-28", "1999-01-01", "2025-11-25", ""] {
        let params = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let said = client.ask("initialize", &params);
        assert_eq!(said["error"]["code"], -32600, "{version}: {said}");
        let said = client.ask("ping", &json!({}));
        assert_eq!(said["result"], json!({}), "{version}: {said}");
        let said = client.ask("tools/list", &json!({}));
        assert!(said["result"].get("resultType").is_none(), "{version}: {said:.200}");
    }
    assert!(client.end(PATIENCE).0.success());
}

/// Processor time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn l05_a_verification_of_many_items_is_bounded_and_ends_when_it_is_cancelled() {
    let world = World::new();
    // A large file under many names takes its time.
    let text = shell(&format!("# {}\n", "x".repeat(1_000)).repeat(4_000));
    world.signed(".ai/tools/acme/large.sh", &text);
    let large = world.project().join(".ai/tools/acme/large.sh");
    for at in 0..2_000 {
        std::fs::hard_link(&large, large.with_file_name(format!("l{at}.sh"))).unwrap();
    }
    let mut client = Client::new(&world, &[]);
    let pid = client.child.id();
    let (said, is_error) =
        client.call("rye_verify", json!({"items": ["tool:t", "tool:t", "tool:t"]}));
    assert!(!is_error && said["refused"] == 1, "each is verified once: {said}");
    let said = client.call("rye_verify", json!({"items": vec!["tool:t"; 2_001]}));
    assert_eq!(said.0["code"], "mcp.arguments", "{said:?}");
    let many: Vec<_> = (0..2_000).map(|at| format!("tool:acme/l{at}")).collect();
    let arguments = json!({"items": many, "project_path": world.project()});
    let call = json!({"name": "rye_verify", "arguments": arguments});
    // While it runs it takes a core.
    let works = |time: u64| {
        let before = ticks(pid);
        std::thread::sleep(Duration::from_millis(time));
        ticks(pid) - before
    };
    for ends in ["cancelled", "left"] {
        let id = client.begin("tools/call", &call);
        until("it works", || works(200) >= 5);
        if ends == "cancelled" {
            client.cancel(id);
            until("it rests", || works(400) == 0);
            assert!(!client.kept.iter().any(|message| message["id"] == id), "it was done before");
        }
    }
    // The client goes away.
    assert!(client.end(Duration::from_secs(20)).0.success());
}
