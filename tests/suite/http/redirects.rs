//! Where a request may be led, and by whom it is never seen.

use super::{ask, events, signed, signed_with};
use crate::world::server::{Server, answer, ok};
use crate::world::{World, whole};
use serde_json::json;

fn to(status: u16, location: &str) -> crate::world::server::Reply {
    answer(status, &format!("Location: {location}\r\n"), "moved")
}

#[test]
fn a_redirect_on_the_same_server_is_followed_by_the_rules() {
    let world = World::new();
    for (method, status, then) in [
        ("GET", 301, "GET"),
        ("GET", 302, "GET"),
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("PUT", 302, "PUT"),
        ("HEAD", 303, "HEAD"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("DELETE", 307, "DELETE"),
    ] {
        let server = Server::new(move |seen, _| match seen.target.as_str() {
            "/a/b" => to(status, "../c?d"),
            _ => answer(200, "", if seen.method == "HEAD" { "" } else { "1" }),
        });
        let has_body = matches!(method, "POST" | "PUT");
        let body = if has_body { "\nbody: {a: 1}" } else { "" };
        let config = format!(
            "method: {method}\nurl: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}{body}",
            server.url("/a/b")
        );
        signed_with(&world, &config, "secrets: [API_TOKEN]");
        let said = ask(&world, &[], &[("API_TOKEN", "word")]);
        assert_eq!(said.status, 0, "{method} {status}: {said:?}");
        assert_eq!(said.json()["metadata"]["attempts"], 2);
        let seen = server.seen();
        assert_eq!(
            (seen[1].method.as_str(), seen[1].target.as_str()),
            (then, "/c?d"),
            "{method} {status}"
        );
        assert_eq!(seen[1].header("authorization"), Some("Bearer word"), "it is the same server");
        let kept = has_body && then == method;
        assert_eq!(seen[1].body, if kept { &b"{\"a\":1}"[..] } else { b"" }, "{method} {status}");
        assert_eq!(seen[1].header("content-type").is_some(), kept, "{method} {status}");
    }
}

/// Each row by one status here, and the first by each; the whole is each by each.
#[test]
fn what_is_meant_for_one_server_is_never_shown_to_another() {
    let world = World::new();
    let more = "secrets: [API_TOKEN]\nenv_config: {env: {MADE: 'x${API_TOKEN}'}}";
    for (row, (what, lines)) in [
        ("bearer", "auth: {type: bearer, secret: API_TOKEN}"),
        ("a header of its own", "auth: {type: header, name: X-Key, secret: API_TOKEN}"),
        ("a secret in a header", "headers: {Accept: '${API_TOKEN}'}"),
        ("what was made of a secret", "headers: {Accept: '${MADE}'}"),
        ("a literal key", "headers: {X-Api-Key: written-down}"),
        ("a cookie", "headers: {Cookie: a=b}"),
        ("a secret in a body", "method: POST\nbody: {t: '${API_TOKEN}'}"),
        ("a body", "method: POST\nbody: {t: 1}"),
        ("another method", "method: DELETE"),
    ]
    .into_iter()
    .enumerate()
    {
        for (at, status) in [301, 302, 303, 307, 308].into_iter().enumerate() {
            if row > 0 && at != row % 5 && !whole() {
                continue;
            }
            let other = Server::new(|_, _| ok("\"caught\""));
            let there = other.url("/x?y=z");
            let server = Server::new(move |_, _| to(status, &there));
            signed_with(&world, &format!("url: '{}'\n{lines}", server.url("/")), more);
            let said = ask(&world, &["--trace"], &[("API_TOKEN", "canary-77aa")]);
            assert_eq!(
                (said.status, said.code().as_str()),
                (6, "execute.http"),
                "{what} {status}: {said:?}"
            );
            let error = said.json()["error"].as_str().unwrap().to_owned();
            assert!(
                error.contains(&format!("redirects to `{}`", other.url(""))),
                "{what}: {error}"
            );
            assert!(!error.contains("y=z") && !said.stdout.contains("canary-77aa"), "{said:?}");
            assert_eq!(events(&said, "redirect")[0]["followed"], false);
            assert_eq!((server.seen().len(), other.seen().len()), (1, 0), "{what} {status}");
        }
    }
    // The port makes another server, and so does the name.
    let server = Server::new(|seen, _| {
        let port = seen.header("host").unwrap().rsplit(':').next().unwrap().to_owned();
        to(302, &format!("http://localhost:{port}/"))
    });
    signed_with(
        &world,
        &format!("url: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}", server.url("/")),
        more,
    );
    let said = ask(&world, &[], &[("API_TOKEN", "canary-77aa")]);
    assert_eq!((said.code().as_str(), server.seen().len()), ("execute.http", 1), "{said:?}");
}

#[test]
fn a_plain_question_may_be_sent_on_to_another_server() {
    let world = World::new();
    let other = Server::new(|_, _| ok("\"here\""));
    let there = other.url("/x");
    let server = Server::new(move |_, _| to(302, &there));
    signed(&world, &format!("url: '{}'\nheaders: {{Accept: text/plain}}", server.url("/")));
    let said = ask(&world, &["--trace"], &[]);
    assert_eq!((said.status, &said.json()["data"]), (0, &json!("here")), "{said:?}");
    let seen = other.seen();
    assert_eq!(
        (seen[0].header("accept"), seen[0].header("authorization")),
        (Some("text/plain"), None)
    );
    let host = format!("127.0.0.1:{}", other.port());
    assert_eq!(seen[0].header("host"), Some(host.as_str()));
    assert_eq!(events(&said, "redirect")[0]["followed"], true);
}

#[test]
fn redirects_end_somewhere() {
    let world = World::new();
    let server = Server::new(|_, n| to(302, &format!("/{n}")));
    for (most, sent) in [("", 6), ("max_redirects: 2", 3), ("max_redirects: 0", 1)] {
        let before = server.seen().len();
        signed(&world, &format!("url: '{}'\n{most}", server.url("/")));
        let said = ask(&world, &[], &[]).fails(6, "execute.http");
        assert!(said.json()["error"].as_str().unwrap().contains("more often"), "{said:?}");
        assert_eq!(server.seen().len() - before, sent, "{most}");
    }
    for location in
        ["ftp://127.0.0.1/", "http://user@127.0.0.1/", "javascript:alert(1)", "http://", "/a b"]
    {
        let server = Server::new(move |_, _| to(302, location));
        signed(&world, &format!("url: '{}'", server.url("/")));
        let said = ask(&world, &[], &[]);
        assert_eq!(
            (said.status, said.code().as_str()),
            (6, "execute.http"),
            "{location}: {said:?}"
        );
    }
    // Not a redirect: an answer like any other.
    for reply in [304, 300] {
        let server = Server::new(move |_, _| answer(reply, "", ""));
        signed(&world, &format!("url: '{}'", server.url("/")));
        let said = ask(&world, &[], &[]);
        assert_eq!((said.status, &said.json()["data"]["status"]), (0, &json!(reply)), "{said:?}");
    }
}
