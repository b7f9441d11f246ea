//! Asking again: when, how often, and never what could do something twice.

use super::{ask, events, signed};
use crate::world::World;
use crate::world::server::{Reply, Server, answer, ok};
use serde_json::json;

#[test]
fn a_server_that_is_busy_is_asked_again_when_it_says() {
    let world = World::new();
    let server = Server::new(|_, n| match n {
        0 => answer(503, "Retry-After: 1\r\n", "later"),
        1 => answer(429, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "later"),
        2 => answer(502, "Retry-After: whenever\r\n", "later"),
        _ => ok("\"done\""),
    });
    signed(&world, &format!("url: '{}'\nretry: {{attempts: 4, backoff_ms: 40}}", server.url("/")));
    let said = ask(&world, &["--trace"], &[]);
    let got = said.json();
    assert_eq!((said.status, &got["data"]), (0, &json!("done")), "{said:?}");
    assert_eq!(
        (&got["metadata"]["attempts"], &got["metadata"]["http_status"]),
        (&json!(4), &json!(200))
    );
    assert_eq!(server.seen().len(), 4);
    let statuses: Vec<_> = events(&said, "request").iter().map(|e| e["status"].clone()).collect();
    assert_eq!(statuses, [503, 429, 502, 200]);
    let waits: Vec<_> =
        events(&said, "wait").iter().map(|e| e["wait_ms"].as_u64().unwrap()).collect();
    assert_eq!(waits[..2], [1000, 0]);
    // Four times the first wait, or down to half of that.
    assert!((80..=160).contains(&waits[2]), "{waits:?}");
    let order = |step: &str| {
        events(&said, step).iter().map(|e| e["at_us"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let (requests, waits) = (order("request"), order("wait"));
    assert!(requests[0] <= waits[0] && requests[1] >= waits[0] + 1_000_000, "it did wait");
}

#[test]
fn what_is_tried_again_and_what_is_not() {
    let world = World::new();
    for (method, status, idempotent, sent) in [
        ("GET", 429, false, 3),
        ("GET", 500, false, 3),
        ("GET", 502, false, 3),
        ("GET", 503, false, 3),
        ("GET", 504, false, 3),
        ("HEAD", 503, false, 3),
        ("PUT", 503, false, 3),
        ("DELETE", 503, false, 3),
        ("GET", 404, false, 1),
        ("GET", 501, false, 1),
        ("POST", 503, false, 1),
        ("POST", 429, false, 1),
        ("PATCH", 503, false, 1),
        ("POST", 503, true, 3),
        ("PATCH", 429, true, 3),
    ] {
        let server = Server::new(move |_, _| answer(status, "", ""));
        let config = format!(
            "method: {method}\nurl: '{}'\nretry: {{attempts: 3, backoff_ms: 1, idempotent: {idempotent}}}",
            server.url("/")
        );
        signed(&world, &config);
        let said = ask(&world, &[], &[]);
        let got = said.json();
        assert_eq!(
            (said.status, &got["metadata"]["http_status"]),
            (1, &json!(status)),
            "{method}: {got}"
        );
        assert_eq!(
            (server.seen().len(), &got["metadata"]["attempts"]),
            (sent, &json!(sent)),
            "{method} {status} {idempotent}"
        );
    }
}

#[test]
fn a_connection_that_breaks_is_tried_again_where_that_does_nothing_twice() {
    let world = World::new();
    for (method, sent, status) in [("GET", 2, 0), ("POST", 1, 6)] {
        let server = Server::new(|_, n| match n {
            0 => Reply::Bytes(Vec::new()),
            _ => ok("1"),
        });
        signed(
            &world,
            &format!("method: {method}\nurl: '{}'\nretry: {{backoff_ms: 1}}", server.url("/")),
        );
        let said = ask(&world, &["--trace"], &[]);
        assert_eq!((said.status, server.seen().len()), (status, sent), "{method}: {said:?}");
        assert_eq!(events(&said, "request")[0]["failed"], "broken");
    }
}

#[test]
fn a_wait_that_would_be_too_long_is_not_waited() {
    let world = World::new();
    for after in ["3600", "99999999999999999999", "Fri, 01 Jan 2100 00:00:00 GMT"] {
        let server =
            Server::new(move |_, _| answer(503, &format!("Retry-After: {after}\r\n"), "busy"));
        signed(
            &world,
            &format!(
                "url: '{}'\ntimeout_ms: 20000\nretry: {{attempts: 2, backoff_ms: 30000}}",
                server.url("/")
            ),
        );
        let start = std::time::Instant::now();
        let said = ask(&world, &[], &[]);
        let got = said.json();
        assert_eq!(
            (said.status, &got["metadata"]["http_status"]),
            (1, &json!(503)),
            "{after}: {got}"
        );
        assert_eq!(server.seen().len(), 1, "{after}");
        assert!(start.elapsed().as_secs() < 15, "{after}: {:?}", start.elapsed());
    }
}
