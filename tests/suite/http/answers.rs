//! What comes back, and what is made of it.

use std::os::unix::process::ExitStatusExt;

use super::{ask, signed, signed_with};
use crate::world::World;
use crate::world::server::{Reply, Server, answer, closed_port, ok};
use rustix::process::{Pid, Signal};
use serde_json::json;

#[test]
fn a_json_body_is_the_data_and_anything_else_is_told_whole() {
    let world = World::new();
    let rows = [
        (answer(200, "Content-Type: text/plain\r\n", "{\"a\": [1]}"), json!({"a": [1]})),
        (answer(200, "", "7"), json!(7)),
        (answer(201, "", "null"), json!(null)),
        (
            answer(200, "Content-Type: text/html\r\nX-Two: 1\r\nX-Two: 2\r\n", "<p>é"),
            json!({"status": 200, "headers": {"content-type": "text/html", "x-two": ["1", "2"],
                "content-length": "5", "connection": "close"}, "body": "<p>é"}),
        ),
        (
            answer(204, "", ""),
            json!({"status": 204, "headers": {"content-length": "0", "connection": "close"}, "body": ""}),
        ),
        (
            answer(200, "", b"\xff\x00\xfe"),
            json!({"status": 200, "headers": {"content-length": "3", "connection": "close"},
                "body": "/wD+", "encoding": "base64"}),
        ),
        // Latin-1 is no UTF-8: not a byte is guessed.
        (
            answer(200, "Content-Type: text/plain; charset=iso-8859-1\r\n", b"caf\xe9"),
            json!({"status": 200, "headers": {"content-type": "text/plain; charset=iso-8859-1",
                "content-length": "4", "connection": "close"}, "body": "Y2Fm6Q==", "encoding": "base64"}),
        ),
        (
            answer(200, "", "{\"a\": 1, \"a\": 2}"),
            json!({"status": 200, "headers": {"content-length": "16", "connection": "close"},
                "body": "{\"a\": 1, \"a\": 2}"}),
        ),
        (
            Reply::Bytes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1, \r\n2\r\n2]\r\n0\r\n\r\n".to_vec()),
            json!([1, 2]),
        ),
        // Ended by closing alone.
        (Reply::Bytes(b"HTTP/1.0 200 OK\r\n\r\n[3]".to_vec()), json!([3])),
        // Packed though nobody asked for it: handed on as it is, and the header says so.
        (
            answer(200, "Content-Encoding: gzip\r\n", b"\x1f\x8b\x08\x00"),
            json!({"status": 200, "headers": {"content-encoding": "gzip", "content-length": "4",
                "connection": "close"}, "body": "H4sIAA==", "encoding": "base64"}),
        ),
    ];
    let (replies, wants): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let replies = std::sync::Mutex::new(replies.into_iter());
    let server = Server::new(move |_, _| replies.lock().unwrap().next().unwrap());
    signed(&world, &format!("url: '{}'", server.url("/")));
    for want in wants {
        let said = ask(&world, &[], &[]);
        assert_eq!((said.status, &said.json()["data"]), (0, &want), "{said:?}");
    }
}

#[test]
fn an_answer_is_kept_up_to_its_cap_and_no_further() {
    let world = World::new();
    // Without a length and without an end: whoever reads on never comes back.
    let server = Server::new(|seen, _| match seen.target.as_str() {
        "/flood" => Reply::Drip(b"4\r\n\xc3\xa9\xc3\xa9\r\n".repeat(1000)),
        _ => ok("[1,2,3]"),
    });
    let flood = Server::new(|_, _| {
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        bytes.extend("é".repeat(50_000).bytes());
        Reply::Hold(bytes)
    });
    signed(&world, &format!("url: '{}'\nmax_response_bytes: 1001", flood.url("/")));
    let said = ask(&world, &[], &[]);
    let got = said.json();
    assert_eq!((said.status, &got["metadata"]["truncated"]), (0, &json!(true)), "{said:?}");
    assert_eq!(got["data"]["body"], "é".repeat(500), "whole characters");
    flood.wait_until_left();
    // JSON that was cut is no JSON.
    signed(&world, &format!("url: '{}'\nmax_response_bytes: 6", server.url("/")));
    let got = ask(&world, &[], &[]).json();
    assert_eq!(
        (&got["data"]["body"], &got["metadata"]["truncated"]),
        (&json!("[1,2,3"), &json!(true))
    );
    signed(&world, &format!("url: '{}'\nmax_response_bytes: 7", server.url("/")));
    let got = ask(&world, &[], &[]).json();
    assert_eq!((&got["data"], &got["metadata"]["truncated"]), (&json!([1, 2, 3]), &json!(null)));
}

#[test]
fn a_status_from_400_on_is_a_failure_of_the_tool() {
    let world = World::new();
    let server = Server::new(|seen, _| match seen.target.as_str() {
        "/json" => answer(422, "", "{\"detail\": \"no such city\"}"),
        "/long" => answer(404, "", "x".repeat(5000) + "the end"),
        "/says" => answer(200, "", "{\"success\": false, \"error\": \"not today\"}"),
        _ => answer(418, "", "short"),
    });
    for (path, error, tail, data) in [
        (
            "/json",
            "the server answered 422 Unprocessable Content",
            "{\"detail\": \"no such city\"}",
            json!({"detail": "no such city"}),
        ),
        ("/", "the server answered 418", "short", json!(null)),
        (
            "/says",
            "not today",
            "{\"success\": false, \"error\": \"not today\"}",
            json!({"success": false, "error": "not today"}),
        ),
    ] {
        signed(&world, &format!("url: '{}'", server.url(path)));
        let said = ask(&world, &[], &[]);
        let got = said.json();
        assert_eq!(
            (said.status, &got["status"], &got["code"]),
            (1, &json!("error"), &json!("execute.tool_failed")),
            "{got}"
        );
        assert_eq!((&got["error"], &got["data"]["body_tail"]), (&json!(error), &json!(tail)));
        let mut data = data;
        if !data.is_null() {
            data["body_tail"] = json!(tail);
            assert_eq!(got["data"], data, "{got}");
        }
        assert_eq!(got["chain"].as_array().map(Vec::len), Some(3));
    }
    signed(&world, &format!("url: '{}'", server.url("/long")));
    let got = ask(&world, &[], &[]).json();
    let tail = got["data"]["body_tail"].as_str().unwrap();
    assert!(tail.len() == 4096 && tail.ends_with("the end"), "{tail}");
    assert_eq!(got["metadata"]["http_status"], 404);
    let text = world.rye(&["execute", "acme/ask"]);
    assert!(text.status == 1 && text.stdout.ends_with("the end\n"), "{text:?}");
    assert!(
        text.stderr.contains(
            "error[execute.tool_failed]: `tool:acme/ask`: the server answered 404 Not Found"
        ),
        "{text:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_told_by_its_name() {
    let world = World::new();
    let port = closed_port();
    for (url, word) in [
        (format!("http://127.0.0.1:{port}/x?q=1"), "nobody listens there"),
        ("http://no-such-host.invalid/".into(), "its name leads to no address"),
    ] {
        signed(&world, &format!("url: '{url}'\nretry: {{attempts: 2, backoff_ms: 1}}"));
        let said = ask(&world, &["--trace"], &[]).fails(6, "execute.http");
        let got = said.json();
        let error = got["error"].as_str().unwrap();
        let origin = url.split_inclusive('/').take(3).collect::<String>();
        assert!(error.contains(&format!("`{}`", origin.trim_end_matches('/'))), "{error}");
        assert!(error.contains(word), "{error}");
        let tries = super::events(&said, "request");
        assert_eq!(tries.len(), 2, "{said:?}");
        assert_eq!(tries[1]["failed"], "unreachable");
        assert_eq!(got["chain"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn an_answer_that_is_not_whole_is_none() {
    let world = World::new();
    let big = format!("HTTP/1.1 200 OK\r\nX-Big: {}\r\n\r\n", "x".repeat(100 << 10));
    let rows = [
        &b""[..],
        b"garbage that is no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nX-Half: ",
        big.as_bytes(),
    ];
    let replies: Vec<Vec<u8>> = rows.iter().map(|row| row.to_vec()).collect();
    let count = replies.len();
    let server = Server::new(move |_, n| Reply::Bytes(replies[n].clone()));
    signed(&world, &format!("url: '{}'\nretry: {{attempts: 1}}", server.url("/")));
    for n in 0..count {
        let said = ask(&world, &[], &[]);
        assert_eq!((said.status, said.code().as_str()), (6, "execute.http"), "row {n}: {said:?}");
        assert!(
            said.json()["error"].as_str().unwrap().contains("gave no whole answer"),
            "row {n}: {said:?}"
        );
    }
}

#[test]
fn the_time_of_the_tool_is_the_time_of_the_whole_exchange() {
    let world = World::new();
    let silent = Server::new(|_, _| Reply::Hold(Vec::new()));
    let half = Server::new(|_, _| {
        Reply::Hold(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf".to_vec())
    });
    // Each byte is in time, the whole never is.
    let drip = Server::new(|_, _| Reply::Drip(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()));
    let busy = Server::new(|_, _| answer(503, "", ""));
    for server in [&silent, &half, &drip] {
        signed(&world, &format!("url: '{}'\ntimeout_ms: 400", server.url("/")));
        let start = std::time::Instant::now();
        ask(&world, &["--timeout", "3600"], &[]).fails(6, "execute.timeout");
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        server.wait_until_left();
        assert_eq!(server.seen().len(), 1, "time that is over is not tried again");
    }
    signed(&world, &format!("url: '{}'", silent.url("/")));
    ask(&world, &["--timeout", "0.3"], &[]).fails_with("execute.timeout");
    // Waiting counts too: a try that would come too late is not waited for.
    signed(
        &world,
        &format!(
            "url: '{}'\ntimeout_ms: 2000\nretry: {{attempts: 10, backoff_ms: 30000}}",
            busy.url("/")
        ),
    );
    let said = ask(&world, &[], &[]);
    assert_eq!((said.code().as_str(), busy.seen().len()), ("execute.tool_failed", 1), "{said:?}");
}

#[test]
fn a_signal_ends_the_request_and_rye() {
    let world = World::new();
    let server = Server::new(|seen, _| match seen.target.as_str() {
        "/busy" => answer(503, "Retry-After: 20\r\n", ""),
        _ => Reply::Hold(Vec::new()),
    });
    for (path, signal) in [("/", Signal::INT), ("/", Signal::TERM), ("/busy", Signal::INT)] {
        signed_with(&world, &format!("url: '{}'\ntimeout_ms: 60000", server.url(path)), "");
        let child = world.start(&["execute", "acme/ask", "--json", "--trace"]);
        server.wait_until_asked();
        if path == "/busy" {
            // Once the answer is there, it waits for the next try.
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        let start = std::time::Instant::now();
        rustix::process::kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed().as_secs() < 15, "{:?}", start.elapsed());
        let got: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{path} {signal:?}: {output:?}");
        assert_eq!(got["code"], "execute.interrupted", "{path} {signal:?}: {output:?}");
        if path == "/" {
            server.wait_until_left();
        }
    }
}
