//! Bytes that are no message, and messages that mean harm: the server lives on.

use serde_json::json;

use super::client::{Client, PATIENCE};
use crate::world::World;

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
fn more_calls_than_are_run_at_once_wait_and_more_than_that_are_told_to() {
    let world = World::new();
    world.signed(".ai/tools/acme/sleeps.sh", &crate::tools::shell("sleep 600\n"));
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
