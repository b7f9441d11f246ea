//! Secrets: they reach the server, and nothing else.

use super::{ask, signed_with};
use crate::world::World;
use crate::world::server::{Reply, Server, answer, closed_port, ok};
use serde_json::json;

const CANARY: &str = "canary-6d1f0b7e";

#[test]
fn a_declared_secret_reaches_headers_and_body() {
    let world = World::new();
    let server = Server::new(|_, _| ok("1"));
    let url = server.url("/");
    for (config, header, want) in [
        ("auth: {type: bearer, secret: API_TOKEN}", "authorization", "Bearer canary-6d1f0b7e"),
        ("auth: {type: header, name: X-Key, secret: API_TOKEN}", "x-key", CANARY),
        (
            "headers: {X-Made: 'key ${API_TOKEN} ${MADE}'}",
            "x-made",
            "key canary-6d1f0b7e xcanary-6d1f0b7e",
        ),
    ] {
        let more = "secrets: [API_TOKEN]\nenv_config: {env: {MADE: 'x${API_TOKEN}'}}";
        signed_with(
            &world,
            &format!("method: POST\nurl: '{url}'\n{config}\nbody: {{k: '${{API_TOKEN}}'}}"),
            more,
        );
        ask(&world, &[], &[("API_TOKEN", CANARY)]).ok();
        let seen = server.seen().pop().unwrap();
        assert_eq!((seen.header(header), seen.json()), (Some(want), json!({"k": CANARY})));
    }
}

#[test]
fn f12_a_secret_is_kept_out_of_the_url() {
    let world = World::new();
    let server = Server::new(|_, _| ok("1"));
    let url = server.url("");
    let made = "secrets: [API_TOKEN]\nenv_config: {env: {MADE: 'x${API_TOKEN}', AGAIN: '${MADE}'}}";
    signed_with(&world, &format!("url: '{url}/'\nheaders: {{X: '${{AGAIN}}'}}"), made);
    assert_eq!(ask(&world, &[], &[("API_TOKEN", CANARY)]).status, 0);
    for (path, more) in [
        ("/${API_TOKEN}", "secrets: [API_TOKEN]"),
        ("/?key=${API_TOKEN:-none}", "secrets: [API_TOKEN]"),
        ("/${API_TOKEN}", "env: [API_TOKEN]"),
        ("/${MADE}", made),
        ("/${AGAIN}", made),
    ] {
        signed_with(&world, &format!("url: '{url}{path}'"), more);
        for args in [&[][..], &["--dry-run"], &["--trace"]] {
            let said = ask(&world, args, &[("API_TOKEN", CANARY)]);
            assert_eq!(
                (said.status, said.code().as_str()),
                (6, "plan.secret_in_argv"),
                "{path}: {said:?}"
            );
            assert!(!format!("{said:?}").contains(CANARY), "{said:?}");
        }
    }
    // A name that nobody declared is not taken from the host at all.
    signed_with(&world, &format!("url: '{url}/${{API_TOKEN:-none}}'"), "");
    assert_eq!(ask(&world, &[], &[("API_TOKEN", CANARY)]).status, 0);
    let targets: Vec<_> = server.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["/", "/none"]);
}

#[test]
fn a_secret_that_is_missing_or_would_break_a_header_stops_the_run_before_it_starts() {
    let world = World::new();
    let server = Server::new(|_, _| ok("1"));
    let config = format!("url: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}", server.url("/"));
    signed_with(&world, &config, "secrets: [API_TOKEN]");
    ask(&world, &[], &[]).fails(6, "plan.missing_secret");
    for value in ["canary-x\r\nX-Evil: 1", "canary-x\n", "canary-x\u{7f}"] {
        let said = ask(&world, &[], &[("API_TOKEN", value)]).fails(6, "plan.bad_config");
        assert!(!format!("{said:?}").contains("canary-x"), "{said:?}");
    }
    assert!(server.seen().is_empty());
    assert_eq!(ask(&world, &[], &[("API_TOKEN", "good")]).status, 0);
    // A variable that was asked for and is no secret cannot stand in for one.
    signed_with(&world, &config, "env: [API_TOKEN]");
    assert_eq!(ask(&world, &[], &[("API_TOKEN", "good")]).code(), "plan.bad_config");
}

#[test]
fn a_secret_does_not_go_over_an_open_line_unless_the_tool_says_so() {
    let world = World::new();
    let url = "url: 'http://no-such-host.invalid/'\nretry: {attempts: 1}\nauth: {type: bearer, secret: API_TOKEN}";
    for (config, code) in [
        (url.to_owned(), "plan.bad_config"),
        (format!("{url}\ncleartext: true"), "execute.http"),
        (url.replace("http:", "https:"), "execute.http"),
        (url.replace("auth: {type: bearer, secret: API_TOKEN}", ""), "execute.http"),
    ] {
        signed_with(&world, &config, "secrets: [API_TOKEN]");
        assert_eq!(ask(&world, &[], &[("API_TOKEN", CANARY)]).code(), code, "{config}");
    }
}

#[test]
fn f08_a_secret_shows_in_nothing_that_rye_says() {
    let world = World::new();
    // A server that gives back what it was sent, in the ways that servers do.
    let server = Server::new(|seen, _| {
        let echo = format!("{seen:?}");
        match seen.target.as_str() {
            "/fine" => ok("{\"fine\": true}"),
            "/json" => answer(
                401,
                "",
                json!({"you sent": {"the key": echo, CANARY: [CANARY]}}).to_string(),
            ),
            "/text" => answer(403, &format!("X-Echo: {CANARY}\r\n"), echo),
            "/moved" => answer(302, &format!("Location: http://{CANARY}@127.0.0.1/\r\n"), ""),
            "/host" => answer(302, &format!("Location: http://{CANARY}.invalid/\r\n"), ""),
            "/away" => answer(302, &format!("Location: http://localhost:1/{CANARY}\r\n"), ""),
            "/garbage" => Reply::Bytes(format!("{CANARY} {echo}\r\n\r\n").into_bytes()),
            "/says" => ok(&json!({"success": false, "error": echo}).to_string()),
            _ => Reply::Hold(Vec::new()),
        }
    });
    let port = closed_port();
    let gone = format!("http://127.0.0.1:{port}/");
    let urls =
        ["/fine", "/json", "/text", "/moved", "/host", "/away", "/garbage", "/says", "/silent"]
            .map(|path| (path, server.url(path)));
    let env = [("API_TOKEN", CANARY), ("RYE_LOG", "trace")];
    for (path, url) in urls.into_iter().chain([("refused", gone)]) {
        let config = format!(
            "method: PUT\nurl: '{url}'\nauth: {{type: bearer, secret: API_TOKEN}}\ntimeout_ms: 2000\n\
             retry: {{attempts: 1}}\nbody: {{made: '${{MADE}}'}}"
        );
        signed_with(
            &world,
            &config,
            "secrets: [API_TOKEN]\nenv_config: {env: {MADE: 'x${API_TOKEN}'}}",
        );
        for args in [
            &["execute", "acme/ask", "--json", "--trace", "--chain-details", "-vv"][..],
            &["execute", "acme/ask", "--trace", "-vv"],
            &["execute", "acme/ask", "--json", "--dry-run"],
            &["execute", "acme/ask", "--dry-run"],
            &["why", "acme/ask", "--json"],
        ] {
            let said = world.rye_env(&world.project(), args, b"", &env);
            let all = format!("{}{}", said.stdout, said.stderr);
            assert!(!all.contains(CANARY), "{path} {args:?}: {all}");
        }
    }
    let sent = server.seen();
    assert!(sent.len() >= 16 && sent.iter().all(|seen| seen.header("authorization").is_some()));
    // The name stands where the value was.
    let config =
        format!("url: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}", server.url("/json"));
    signed_with(&world, &config, "secrets: [API_TOKEN]");
    let said = ask(&world, &[], &[("API_TOKEN", CANARY)]);
    assert!(said.json()["data"]["body_tail"].as_str().unwrap().contains("***"), "{said:?}");
    assert!(said.json()["data"].to_string().contains("***"), "{said:?}");
    // Nothing of it was kept on disk either.
    for (path, _) in world.snapshot() {
        let bytes = std::fs::read(&path).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(CANARY), "{}", path.display());
    }
}
