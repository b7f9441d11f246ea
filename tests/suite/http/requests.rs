//! What is sent: the signed file decides all of it but the values in the body.

use super::{ask, signed, signed_with};
use crate::world::server::{Server, ok};
use crate::world::{World, links};
use serde_json::{Value, json};

#[test]
fn a_tool_asks_the_server_that_its_signed_file_names() {
    let world = World::new();
    let server = Server::new(|_, _| ok("{\"n\": 12345678901234567890.10}"));
    let url = server.url("/v1/things?kind=a%20b");
    signed(&world, &format!("url: '{url}'\nheaders: {{X-Kind: plain, X-Count: 7}}"));
    let said = ask(&world, &[], &[]).ok();
    assert!(said.stdout.contains("12345678901234567890.10"), "digit for digit: {said:?}");
    let got = said.json();
    assert_eq!((&got["status"], &got["type"]), (&json!("success"), &json!("tool")));
    let chain =
        links(&["acme/ask", "rye/core/runtimes/http/request", "rye/core/primitives/http_client"]);
    assert_eq!(got["chain"], chain);
    assert_eq!(
        (&got["metadata"]["http_status"], &got["metadata"]["attempts"]),
        (&json!(200), &json!(1))
    );
    assert!(got["metadata"].get("exit_code").is_none(), "{got}");
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        (seen[0].method.as_str(), seen[0].target.as_str()),
        ("GET", "/v1/things?kind=a%20b")
    );
    assert_eq!((seen[0].header("x-kind"), seen[0].header("x-count")), (Some("plain"), Some("7")));
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(seen[0].header("host"), Some(host.as_str()));
    let agent = format!("rye/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(seen[0].header("user-agent"), Some(agent.as_str()));
    assert_eq!(
        seen[0].header("accept-encoding"),
        None,
        "nothing is unpacked, so nothing packed is asked for"
    );
    assert!(seen[0].body.is_empty() && seen[0].header("content-length").is_none());
}

#[test]
fn every_method_sends_what_it_may() {
    let world = World::new();
    let server = Server::new(|seen, _| match seen.method.as_str() {
        "HEAD" => crate::world::server::answer(200, "", ""),
        _ => ok("true"),
    });
    for (method, body) in [
        ("GET", false),
        ("HEAD", false),
        ("OPTIONS", false),
        ("POST", true),
        ("PUT", true),
        ("PATCH", true),
        ("DELETE", true),
        ("DELETE", false),
        ("POST", false),
    ] {
        let body_line = if body { "\nbody: {a: 1}" } else { "" };
        signed(&world, &format!("method: {method}\nurl: '{}'{body_line}", server.url("/")));
        let said = ask(&world, &[], &[]);
        assert_eq!(said.status, 0, "{method}: {said:?}");
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.method, method);
        let (bytes, kind) =
            if body { (&b"{\"a\":1}"[..], Some("application/json")) } else { (&b""[..], None) };
        assert_eq!((&seen.body[..], seen.header("content-type")), (bytes, kind), "{method}");
    }
}

const PARAMETERS: &str = "config_schema:
  type: object
  properties:
    title: {type: string}
    count: {type: integer}
    exact: {}
    list: {type: array}
    missing: {type: string}
    later: {type: string, default: soon}
    camelCase: {type: string}
    url: {}
";

#[test]
fn parameters_reach_the_body_as_values_of_their_own_type() {
    let world = World::new();
    let server = Server::new(|_, _| ok("null"));
    let body = "body: {title: '{title}', n: '{count}', x: '{exact}', l: ['{list}', '{missing}'], \
                gone: '{missing}', d: '{later}', c: '{camelCase}', \
                text: 'a {title} of {count}{missing}', all: '{params_json}', unknown: '{nothing}', \
                '{title}': key, deep: {er: ['{title}']}}";
    signed_with(&world, &format!("method: POST\nurl: '{}'\n{body}", server.url("/")), PARAMETERS);
    let hostile = "\"}{count} ${HOME} {params_json} {project_path}\r\nX-Evil: 1\u{0}";
    let params = json!({"title": hostile, "count": 7, "list": [1, {"a": null}], "camelCase": "C"});
    // Beyond what a float or a 64-bit number holds.
    let params =
        params.to_string().replace("\"count\":7", "\"count\":7,\"exact\":123456789012345678901.50");
    ask(&world, &["--params", &params], &[]).ok();
    let seen = server.seen();
    let sent = seen[0].json();
    let all: Value =
        serde_json::from_str(&params.replacen('{', "{\"later\":\"soon\",", 1)).unwrap();
    let exact = all["exact"].clone();
    let want = json!({
        "title": hostile, "n": 7, "x": exact, "l": [[1, {"a": null}], null], "d": "soon", "c": "C",
        "text": format!("a {hostile} of 7"), "all": all, "unknown": "{nothing}",
        "{title}": "key", "deep": {"er": [hostile]},
    });
    assert_eq!(sent, want);
    assert!(String::from_utf8_lossy(&seen[0].body).contains("123456789012345678901.50"));
    assert_eq!(seen[0].header("x-evil"), None);
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
}

#[test]
fn a_body_is_json_a_form_or_text() {
    let world = World::new();
    let server = Server::new(|_, _| ok("null"));
    let form = "headers: {Content-Type: application/x-www-form-urlencoded}";
    let json_text = "headers: {Content-Type: 'application/json; charset=utf-8'}";
    let rows = [
        ("body: '{title}'", "text/plain; charset=utf-8", "a b&c=\"é\""),
        ("body: 'say {title}'", "text/plain; charset=utf-8", "say a b&c=\"é\""),
        ("body: '{count}'", "application/json", "7"),
        ("body: 7", "application/json", "7"),
        (
            "body: '{params_json}'",
            "application/json",
            "{\"title\":\"a b&c=\\\"é\\\"\",\"count\":7,\"later\":\"soon\"}",
        ),
        (
            "body: {t: '{title}', n: [1, '{count}'], gone: '{missing}', 'k=': ''}",
            "application/x-www-form-urlencoded",
            "t=a+b%26c%3D%22%C3%A9%22&n=1&n=7&k%3D=",
        ),
        // A text in JSON is a JSON text, whatever it holds.
        ("body: '{title}'", "application/json; charset=utf-8", "\"a b&c=\\\"é\\\"\""),
        ("body: '{\"raw\": 1}'", "application/json; charset=utf-8", "{\"raw\": 1}"),
        ("body: '{missing}'", "", ""),
    ];
    for (body, kind, want) in rows {
        let headers = match kind {
            "application/x-www-form-urlencoded" => form,
            "application/json; charset=utf-8" => json_text,
            _ => "headers: {}",
        };
        signed_with(
            &world,
            &format!("method: POST\nurl: '{}'\n{headers}\n{body}", server.url("/")),
            PARAMETERS,
        );
        let said =
            ask(&world, &["--params", "{\"title\": \"a b&c=\\\"é\\\"\", \"count\": 7}"], &[]);
        assert_eq!(said.status, 0, "{body}: {said:?}");
        let seen = server.seen().pop().unwrap();
        let got = (
            seen.header("content-type").unwrap_or_default(),
            String::from_utf8(seen.body.clone()).unwrap(),
        );
        assert_eq!(got, (kind, want.to_owned()), "{body}");
    }
}

#[test]
fn e02_parameters_named_like_the_configuration_change_nothing() {
    let world = World::new();
    let (server, other) = (Server::new(|_, _| ok("1")), Server::new(|_, _| ok("2")));
    signed(
        &world,
        &format!("method: POST\nurl: '{}'\nbody: '{{params_json}}'", server.url("/right")),
    );
    let names = json!({
        "url": other.url("/wrong"), "method": "DELETE", "headers": {"X-Evil": "1"}, "body": "evil",
        "auth": {"type": "header", "name": "X-Evil", "secret": "HOME"}, "query": "?evil",
        "timeout_ms": 1, "retry": {"attempts": 9}, "max_response_bytes": 1, "max_redirects": 0,
        "cleartext": true, "config": {"url": other.url("/")}, "executor_id": "x", "__proto__": {},
        "command": "touch", "args": ["marker"], "cwd": "/", "env": {"HTTP_PROXY": other.url("/")},
    });
    let said = ask(&world, &["--params", &names.to_string()], &[]);
    assert_eq!((said.status, &said.json()["data"]), (0, &json!(1)), "{said:?}");
    let seen = server.seen();
    assert_eq!((seen[0].method.as_str(), seen[0].target.as_str()), ("POST", "/right"));
    assert_eq!(seen[0].json(), names, "they are data");
    assert_eq!(seen[0].header("x-evil"), None);
    assert!(other.seen().is_empty());
}
