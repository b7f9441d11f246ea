//! What is refused before the network is touched, and what a dry run shows.

use super::{ask, signed, signed_with, tool};
use crate::world::World;
use crate::world::server::{Server, ok};
use serde_json::json;

#[test]
fn what_is_no_request_is_refused_before_the_network_is_touched() {
    let world = World::new();
    let server = Server::new(|_, _| ok("1"));
    let url = server.url("/");
    signed(&world, &format!("url: '{url}'"));
    world.works("tool:acme/ask");
    assert_eq!(server.seen().len(), 1);
    let with = |rest: &str| format!("url: '{url}'\n{rest}");
    let bare = server.url("/").replace("http://", "");
    let rows = [
        ("method: GET".to_owned(), "/config/url"),
        ("url: 7".into(), "/config/url"),
        ("url: ''".into(), "/config/url"),
        (format!("url: '{bare}'"), "/config/url"),
        (format!("url: 'ftp://{bare}'"), "/config/url"),
        ("url: 'file:///etc/passwd'".into(), "/config/url"),
        (format!("url: 'http://user:word@{bare}'"), "/config/url"),
        (format!("url: '{url}#top'"), "/config/url"),
        (format!("url: '{url}a b'"), "/config/url"),
        (format!("url: \"{url}\\r\\nX-Evil: 1\""), "/config/url"),
        (format!("url: '{url}{{city}}'"), "/config/url"),
        (with("method: post"), "/config/method"),
        (with("method: 'GET / HTTP/1.1'"), "/config/method"),
        (with("method: CONNECT"), "/config/method"),
        (with("body: {a: 1}"), "/config/body"),
        (with("headers: [a]"), "/config/headers"),
        (with("headers: {'X Y': a}"), "/config/headers"),
        (with("headers: {'X:': a}"), "/config/headers"),
        (with("headers: {'': a}"), "/config/headers"),
        (with("headers: {X: [a]}"), "/config/headers"),
        (with("headers: {X: \"a\\r\\nY: b\"}"), "/config/headers"),
        (with("headers: {X: \"a\\nb\"}"), "/config/headers"),
        (with("headers: {X: a, x: b}"), "/config/headers"),
        (with("headers: {Host: evil}"), "/config/headers"),
        (with("headers: {content-length: 5}"), "/config/headers"),
        (with("headers: {Transfer-Encoding: chunked}"), "/config/headers"),
        (with("headers: {Connection: keep-alive}"), "/config/headers"),
        (with("headers: {Proxy-Authorization: x}"), "/config/headers"),
        (with("auth: bearer"), "/config/auth"),
        (with("auth: {type: basic, secret: A}"), "/config/auth/type"),
        (with("auth: {type: bearer}"), "/config/auth/secret"),
        (with("auth: {type: bearer, secret: HOME}"), "/config/auth/secret"),
        (with("auth: {type: bearer, token: literal, secret: A}"), "/config/auth"),
        (with("auth: {type: header, secret: A}"), "/config/auth/name"),
        (with("timeout_ms: 0"), "/config/timeout_ms"),
        (with("timeout_ms: 86400001"), "/config/timeout_ms"),
        (with("connect_timeout_ms: '5'"), "/config/connect_timeout_ms"),
        (with("retry: 3"), "/config/retry"),
        (with("retry: {attempts: 0}"), "/config/retry/attempts"),
        (with("retry: {attempts: 11}"), "/config/retry/attempts"),
        (with("retry: {backoff_ms: 30001}"), "/config/retry/backoff_ms"),
        (with("retry: {idempotent: 1}"), "/config/retry/idempotent"),
        (with("retry: {times: 2}"), "/config/retry"),
        (with("max_redirects: 11"), "/config/max_redirects"),
        (with("max_redirects: -1"), "/config/max_redirects"),
        (with("max_response_bytes: 16777217"), "/config/max_response_bytes"),
        (with("cleartext: 'yes'"), "/config/cleartext"),
    ];
    for (config, pointer) in rows {
        signed(&world, &config);
        for more in [&[][..], &["--dry-run"]] {
            let said = ask(&world, more, &[]);
            assert_eq!(
                (said.status, said.code().as_str()),
                (6, "plan.bad_config"),
                "{config}: {said:?}"
            );
            let error = said.json()["error"].as_str().unwrap().to_owned();
            assert!(error.contains(pointer), "{config}: {error}");
        }
    }
    assert_eq!(server.seen().len(), 1, "nothing of these was sent");
}

#[test]
fn no_parameter_reaches_the_url_or_a_header_by_any_way() {
    let world = World::new();
    let server = Server::new(|_, _| ok("1"));
    let url = server.url("");
    let schema = "config_schema: {properties: {city: {type: string}}}\n";
    let env = |template: &str| {
        format!("{schema}env_config: {{env: {{A: '{template}', B: 'x${{A}}'}}}}\n")
    };
    let params = ["--params", "{\"city\": \"x\\r\\nX-Evil: 1\"}"];
    signed_with(
        &world,
        &format!("url: '{url}/${{B}}'\nheaders: {{X-B: '${{B}} {{city}}'}}"),
        &env("fixed"),
    );
    ask(&world, &params, &[]).ok();
    let seen = server.seen();
    assert_eq!(
        (seen[0].target.as_str(), seen[0].header("x-b")),
        ("/xfixed", Some("xfixed {city}"))
    );
    for (config, more) in [
        (format!("url: '{url}/{{city}}'"), schema.to_owned()),
        (format!("url: '{url}/{{params_json}}'"), schema.to_owned()),
        (format!("url: '{url}/${{A}}'"), env("{params_json}")),
        (format!("url: '{url}/${{B}}'"), env("{params_json}")),
        (format!("url: '{url}/${{C:-{{params_json}}'"), schema.to_owned()),
        (format!("url: '{url}/'\nheaders: {{X-A: '{{params_json}}'}}"), schema.to_owned()),
        (format!("url: '{url}/'\nheaders: {{X-A: '${{A}}'}}"), env("{params_json}")),
        (format!("url: '{url}/'\nheaders: {{X-A: '${{B}}'}}"), env("{params_json}")),
        // Text that is JSON or a form would be another one with a value in it.
        (
            format!(
                "method: POST\nurl: '{url}/'\nheaders: {{content-type: application/json}}\nbody: '{{\"a\": \"{{city}}\"}}'"
            ),
            schema.to_owned(),
        ),
        (
            format!(
                "method: POST\nurl: '{url}/'\nheaders: {{content-type: application/x-www-form-urlencoded}}\nbody: 'a={{city}}'"
            ),
            schema.to_owned(),
        ),
        (
            format!(
                "method: POST\nurl: '{url}/'\nheaders: {{content-type: application/x-www-form-urlencoded}}\nbody: '{{city}}'"
            ),
            schema.to_owned(),
        ),
        (
            format!(
                "method: POST\nurl: '{url}/'\nheaders: {{content-type: application/x-www-form-urlencoded}}\nbody: {{a: {{b: 1}}}}"
            ),
            schema.to_owned(),
        ),
    ] {
        signed_with(&world, &config, &more);
        let said = ask(&world, &params, &[]);
        assert_eq!(
            (said.status, said.code().as_str()),
            (6, "plan.bad_config"),
            "{config}: {said:?}"
        );
    }
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_dry_run_shows_the_request_and_sends_nothing() {
    let world = World::new();
    let server = Server::new(|_, _| ok("1"));
    let more = "secrets: [API_TOKEN]\nconfig_schema: {properties: {city: {type: string}}}\n";
    let config = format!(
        "method: POST\nurl: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}\n\
         headers: {{X-Lang: '${{LANG}}'}}\nbody: {{q: '{{city}}', t: '${{API_TOKEN}}'}}\n\
         timeout_ms: 5000\nretry: {{attempts: 2, idempotent: true}}",
        server.url("/find")
    );
    signed_with(&world, &config, more);
    let token = [("API_TOKEN", "canary-5f2c")];
    let said = ask(&world, &["--dry-run", "-i", "city=Springfield"], &token);
    let got = said.json();
    assert_eq!((said.status, &got["status"]), (0, &json!("validation_passed")), "{said:?}");
    let plan = &got["plan"];
    assert_eq!((&plan["method"], &plan["url"]), (&json!("POST"), &json!(server.url("/find"))));
    assert_eq!(
        plan["headers"],
        json!({"x-lang": "${LANG}", "authorization": "Bearer ${API_TOKEN}", "content-type": "application/json"})
    );
    assert_eq!(
        (&plan["body"]["form"], &plan["body"]["parameters"]),
        (&json!("json"), &json!(["city"]))
    );
    assert_eq!(plan["body"]["template_sha256"].as_str().map(str::len), Some(64));
    assert_eq!((&plan["timeout_ms"], &plan["connect_timeout_ms"]), (&json!(5000), &json!(10000)));
    assert_eq!(plan["retry"], json!({"attempts": 2, "backoff_ms": 500, "idempotent": true}));
    assert_eq!(
        (&plan["max_redirects"], &plan["max_response_bytes"]),
        (&json!(5), &json!(16_777_216))
    );
    assert_eq!(plan["digests"].as_array().map(Vec::len), Some(3));
    for hidden in ["canary-5f2c", "Springfield"] {
        assert!(!said.stdout.contains(hidden), "{hidden}: {said:?}");
    }
    world
        .rye_env(&world.project(), &["execute", "acme/ask", "--dry-run"], b"", &token)
        .shows(&format!("would send POST {}", server.url("/find")))
        .shows("authorization: Bearer ${API_TOKEN}");
    assert!(server.seen().is_empty());
    // The limits that a caller shortens.
    let said = ask(&world, &["--dry-run", "--timeout", "0.5"], &token);
    assert_eq!(said.json()["plan"]["timeout_ms"], 500);
}

#[test]
fn signing_warns_of_a_request_that_cannot_be_sent() {
    let world = World::new();
    for (config, word) in [
        ("  url: 'ftp://h/'\n", "/config/url"),
        ("  url: 'http://h/'\n  timeout_ms: 0\n", "/config/timeout_ms"),
    ] {
        world.write(".ai/tools/acme/ask.yaml", tool(config, ""));
        let said = world.rye(&["sign", "acme/ask"]);
        assert!(said.status == 0 && said.stderr.contains(word), "{word}: {said:?}");
    }
    // What nobody would read is not signed.
    for (key, meant) in [("metod: GET", "`method`"), ("command: touch", "not known here")] {
        world.write(".ai/tools/acme/ask.yaml", tool(&format!("  url: 'http://h/'\n  {key}\n"), ""));
        let said = world.rye(&["sign", "acme/ask"]);
        assert_eq!((said.status, said.code().as_str()), (5, "parse.metadata"), "{key}: {said:?}");
        assert!(said.stderr.contains(meant), "{key}: {said:?}");
    }
    world.write(".ai/tools/acme/ask.yaml", tool("  url: '${BASE:-http://h}/x'\n", ""));
    let said = world.rye(&["sign", "acme/ask"]);
    assert!(!said.stderr.contains("cannot run"), "{said:?}");
}
