//! The door over HTTP: who comes in, and who does not.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::hostile::dense;
use crate::bounds::{is_bounded, peak};
use crate::tools::shell;
use crate::world::wait::{PATIENCE, lives, number, until};
use crate::world::{MARKER_SH, World};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

struct Server {
    child: Child,
    at: String,
    said: String,
}

impl Server {
    /// Starts it on a port that is free.
    #[track_caller]
    fn start(world: &World, more: &[&str]) -> Self {
        let mut command = world.command(&[&["mcp", "--http", "127.0.0.1:0"], more].concat());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let at = loop {
            let line = lines.next().unwrap_or_else(|| panic!("it ended: {said}")).unwrap();
            said.push_str(&format!("{line}\n"));
            if let Some(url) = line.strip_prefix("listening on http://") {
                break url.trim_end_matches("/mcp").to_owned();
            }
        };
        Self { child, at, said }
    }

    fn with_token(world: &World, more: &[&str]) -> Self {
        let file = world.write("token", TOKEN);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        Self::start(world, &[&["--token-file", file.to_str().unwrap()], more].concat())
    }

    /// One request: its status, its headers and what came of its body by then.
    #[track_caller]
    fn ask(&self, head: &[(&str, &str)], body: &Value) -> (u16, String, String) {
        let mut stream = self.open("POST", "/mcp", head, &body.to_string());
        let mut text = String::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        drop(stream.read_to_string(&mut text));
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn open(&self, method: &str, path: &str, head: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !head.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.at));
        }
        for (name, value) in head {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!(
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Says hello and gives the session.
    #[track_caller]
    fn hello(&self) -> String {
        let (status, head, body) = self.ask(&[bearer()], &hello());
        assert_eq!(status, 200, "{head} {body}");
        assert!(body.contains("\"protocolVersion\":\"2025-11-25\""), "{body}");
        let line = head.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
        line.unwrap().split_once(':').unwrap().1.trim().to_owned()
    }

    fn end(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").arg(id).status().unwrap().success());
        std::os::unix::process::ExitStatusExt::signal(&self.child.wait().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn bearer() -> (&'static str, &'static str) {
    ("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

#[test]
fn i01_over_http_nobody_comes_in_without_the_token_or_from_another_site() {
    let world = World::new();
    let server = Server::with_token(&world, &[]);
    server.hello();
    let ask = |head: &[(&str, &str)]| server.ask(head, &hello()).0;
    for head in [
        &[][..],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Bearer ")],
        &[("Authorization", "Bearer 0123456789abcdef0123456789abcdee")],
        &[("Authorization", "Bearer 0123456789abcdef0123456789abcdef0")],
        &[("Authorization", "Basic 0123456789abcdef0123456789abcdef")],
        &[("Authorization", "0123456789abcdef0123456789abcdef")],
        &[("X-Authorization", "Bearer 0123456789abcdef0123456789abcdef")],
    ] {
        assert_eq!(ask(head), 401, "{head:?}");
    }
    let hosts = [
        "evil.example",
        "evil.example:8701",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::1].evil",
        "[::1]evil",
        "[::1]:",
        "localhost:99999999",
        "localhost:+80",
        "localhost:80:80",
        "localhost.",
        "evil@localhost",
    ];
    for host in hosts {
        assert_eq!(ask(&[bearer(), ("Host", host)]), 403, "{host}");
    }
    let origins = [
        "http://evil.example",
        "https://localhost.evil.example",
        "null",
        "file://",
        "http://[::1]evil",
        "http://[::1].evil:80",
        "http://localhost:99999999",
        "http://localhost:80/x",
        "http://localhost:8x",
        "http://evil@localhost",
    ];
    for origin in origins {
        let status = ask(&[bearer(), ("Origin", origin)]);
        assert!(matches!(status, 400 | 403), "{origin}: {status}");
    }
    for (name, value) in [
        ("Host", "localhost:8701"),
        ("Host", "127.0.0.1"),
        ("Origin", "http://localhost:3000"),
        ("Origin", "http://127.0.0.1:8701"),
        ("Origin", "http://[::1]:8701"),
        ("Host", "[::1]"),
        ("Host", "[::1]:65535"),
        ("Host", "LOCALHOST"),
    ] {
        assert_eq!(ask(&[bearer(), (name, value)]), 200, "{name}: {value}");
    }
    for (method, path) in [("GET", "/"), ("POST", "/other"), ("GET", "/mcp/../x")] {
        let mut text = String::new();
        drop(server.open(method, path, &[bearer()], "").read_to_string(&mut text));
        assert!(text.starts_with("HTTP/1.1 404"), "{method} {path}: {text}");
    }
    assert_eq!(server.end(), Some(15));
}

#[test]
fn over_http_a_session_that_has_begun_does_not_begin_again() {
    let world = World::new();
    let server = Server::with_token(&world, &[]);
    let session = server.hello();
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    server.ask(&head, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let mut again = hello();
    again["params"]["protocolVersion"] = "2026-07-28".into();
    again["id"] = 9.into();
    let (status, _, body) = server.ask(&head, &again);
    assert_eq!(status, 400, "{body}");
    let said: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&said["id"], &said["error"]["code"]), (&json!(9), &json!(-32600)), "{said}");
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let (status, _, body) = server.ask(&head, &ping);
    assert!(status == 200 && body.contains("\"result\":{}"), "{body}");
}

#[test]
fn over_http_a_request_of_the_revision_without_sessions_stands_for_itself() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let server = Server::with_token(&world, &["--expose", "tool:acme/*"]);
    let session = server.hello();
    let key = "io.modelcontextprotocol";
    let ask = |method: &str, name: &str, mut params: Value| {
        params["_meta"] = json!({
            format!("{key}/protocolVersion"): "2026-07-28",
            format!("{key}/clientCapabilities"): {},
        });
        let mut head =
            vec![bearer(), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        head.extend((!name.is_empty()).then_some(("Mcp-Name", name)));
        server.ask(&head, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    };
    let (status, head, body) = ask("server/discover", "", json!({}));
    assert!(status == 200 && body.contains("2026-07-28"), "{status} {body}");
    assert!(!head.to_lowercase().contains("mcp-session-id"), "{head}");
    let params = json!({"name": "acme_mark", "arguments": {}});
    let (status, _, body) = ask("tools/call", "acme_mark", params.clone());
    assert!(status == 200 && body.contains("\"ran\":true"), "{status} {body}");
    // The header that a proxy goes by says what the body says.
    let (status, _, body) = ask("tools/call", "other", params);
    assert!(status == 400 && body.contains("-32020"), "{status} {body}");
    let (_, _, body) =
        ask("resources/read", "file:///etc/passwd", json!({"uri": "file:///etc/passwd"}));
    assert!(body.contains("-32602"), "{body}");
    // The session of somebody else goes on.
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    server.ask(&head, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(server.ask(&head, &json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})).0, 200);
}

#[test]
fn l05_a_dense_message_over_http_is_refused_before_it_is_read() {
    let world = World::new();
    let server = Server::with_token(&world, &[]);
    let session = server.hello();
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    server.ask(&head, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let usual = peak(server.child.id());
    let message = dense("ping", "0,", 15 << 20);
    let mut text = String::new();
    let mut stream = server.open("POST", "/mcp", &head, &message);
    drop(stream.read_to_string(&mut text));
    assert!(text.starts_with("HTTP/1.1 400") && text.contains("-32600"), "{text}");
    assert!(text.contains("\"id\":7"), "{text}");
    is_bounded("a ping", peak(server.child.id()), usual, message.len());
    assert_eq!(server.ask(&head, &json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})).0, 200);
}

#[test]
fn a_tool_is_called_over_http_and_a_session_that_is_ended_leaves_nothing_running() {
    let world = World::new()
        .with(".ai/tools/acme/mark.sh", MARKER_SH)
        .with(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own; sleep 600\n"));
    let server = Server::with_token(&world, &[]);
    let session = server.hello();
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    let (status, ..) =
        server.ask(&head, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(status, 202);
    let call = |item: &str| {
        let arguments = json!({"item_id": item, "project_path": world.project()});
        let params = json!({"name": "rye_execute", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    };
    let (status, _, body) = server.ask(&head, &call("tool:acme/mark"));
    assert_eq!(status, 200);
    assert!(body.contains("\"structuredContent\":{\"status\":\"success\""), "{body}");
    assert!(world.project().join("marker").exists());
    // Another session, or none, is nobody's.
    for other in ["none", ""] {
        let status = server.ask(&[bearer(), ("Mcp-Session-Id", other)], &call("tool:acme/mark")).0;
        assert!(matches!(status, 400 | 404 | 422), "{other}: {status}");
    }
    let waiting = server.open("POST", "/mcp", &head, &call("tool:acme/sleeps").to_string());
    let pid = number(&world.project().join("own"));
    assert!(lives(&pid));
    let mut text = String::new();
    let start = Instant::now();
    drop(server.open("DELETE", "/mcp", &head, "").read_to_string(&mut text));
    assert!(text.starts_with("HTTP/1.1 204"), "{text}");
    until("the call is ended", || !lives(&pid));
    assert!(start.elapsed() < Duration::from_secs(20), "the call was not ended with its session");
    drop(waiting);
    // And so does the end of the server.
    fs::remove_file(world.project().join("own")).unwrap();
    let session = server.hello();
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    let _waiting = server.open("POST", "/mcp", &head, &call("tool:acme/sleeps").to_string());
    let pid = number(&world.project().join("own"));
    assert_eq!(server.end(), Some(15));
    assert!(!lives(&pid));
}

#[test]
fn a_call_whose_client_does_not_come_back_for_the_answer_is_ended() {
    let world = World::new()
        .with(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own; sleep 600\n"))
        .with(".ai/tools/acme/long.sh", &shell("echo $$ >long; sleep 8; echo '{\"v\": 7}'\n"));
    let server = Server::with_token(&world, &[]);
    let session = server.hello();
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    server.ask(&head, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = |id: i64, item: &str| {
        let arguments = json!({"item_id": item, "project_path": world.project()});
        let params = json!({"name": "rye_execute", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    let gone = server.open("POST", "/mcp", &head, &call(2, "tool:acme/sleeps"));
    let broken = server.open("POST", "/mcp", &head, &call(3, "tool:acme/long"));
    let (sleeps, long) =
        (number(&world.project().join("own")), number(&world.project().join("long")));
    let mut said = BufReader::new(broken.try_clone().unwrap()).lines().map(Result::unwrap);
    let event = said.find_map(|line| Some(line.strip_prefix("id: ")?.to_owned())).unwrap();
    drop((gone, broken, said));
    let start = Instant::now();
    // It is told to come back after three seconds.
    std::thread::sleep(Duration::from_secs(3));
    assert!(lives(&sleeps) && lives(&long), "a connection that breaks is no cancellation");
    let again = [head[0], head[1], ("Last-Event-ID", event.as_str())];
    let back = server.open("GET", "/mcp", &again, "");
    until("the call that nobody reads is ended", || !lives(&sleeps));
    assert!(start.elapsed() < Duration::from_secs(20), "only the time limit ended it");
    let mut said = BufReader::new(back).lines().map(Result::unwrap);
    let answer = said.find(|line| line.contains("structuredContent")).unwrap();
    assert!(answer.contains("\"data\":{\"v\":7}"), "{answer}");
}

#[test]
fn with_as_many_calls_as_may_wait_there_is_a_way_to_cancel_one() {
    let world = World::new().with(".ai/tools/acme/sleeps.sh", &shell("echo $$ >own; sleep 600\n"));
    let server = Server::with_token(&world, &[]);
    let session = server.hello();
    let head = [bearer(), ("Mcp-Session-Id", session.as_str())];
    server.ask(&head, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let open = |id: i64| {
        let arguments = json!({"item_id": "tool:acme/sleeps", "project_path": world.project()});
        let params = json!({"name": "rye_execute", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        server.open("POST", "/mcp", &head, &call.to_string())
    };
    let _first = open(2);
    let pid = number(&world.project().join("own"));
    let _others: Vec<_> = (3..103).map(open).collect();
    let params = json!({"requestId": 2});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let start = Instant::now();
    assert_eq!(server.ask(&head, &cancel).0, 202);
    until("the call is ended", || !lives(&pid));
    assert!(start.elapsed() < Duration::from_secs(20), "only the time limit ended it");
}

#[test]
fn a_body_that_never_ends_keeps_nobody_else_out() {
    let world = World::new();
    let server = Server::with_token(&world, &[]);
    let slow = || {
        let mut stream = TcpStream::connect(&server.at).unwrap();
        let (name, token) = bearer();
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{name}: {token}\r\nAccept: application/json, \
             text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"
        );
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let all: Vec<_> = (0..330).map(|_| slow()).collect();
    assert_eq!(server.ask(&[bearer()], &hello()).0, 200);
    drop(all);
}

#[test]
fn of_the_sessions_that_nobody_ends_the_one_that_was_left_longest_makes_room() {
    let world = World::new();
    let server = Server::with_token(&world, &[]);
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let says = |session: &str| server.ask(&[bearer(), ("Mcp-Session-Id", session)], &ping).0;
    let [listens, comes_back, left] = [(); 3].map(|()| server.hello());
    let mut stream = server.open("GET", "/mcp", &[bearer(), ("Mcp-Session-Id", &listens)], "");
    stream.read_exact(&mut [0; 12]).unwrap();
    for _ in 3..256 {
        server.hello();
    }
    assert_eq!(says(&comes_back), 200);
    let last = server.hello();
    let all = [&listens, &comes_back, &last, &left].map(|session| says(session));
    assert_eq!(all, [200, 200, 200, 404]);
}

#[test]
fn the_token_is_new_each_time_or_kept_in_a_file_that_nobody_else_reads() {
    let world = World::new();
    let shown = |server: &Server| {
        let line = server.said.lines().find_map(|line| line.strip_prefix("token: "));
        line.map(str::to_owned)
    };
    let servers = [Server::start(&world, &[]), Server::start(&world, &[])];
    let tokens = servers.each_ref().map(|server| shown(server).unwrap());
    assert!(tokens[0] != tokens[1] && tokens[0].len() == 64, "{tokens:?}");
    let header = format!("Bearer {}", tokens[0]);
    let head = [("Authorization", header.as_str())];
    assert_eq!(servers[0].ask(&head, &hello()).0, 200);
    assert_eq!(servers[1].ask(&head, &hello()).0, 401);
    drop(servers);
    let file = world.outside().join("token");
    let args = ["--token-file", file.to_str().unwrap()];
    let server = Server::start(&world, &args);
    assert_eq!(shown(&server), None, "it is in the file");
    drop(server);
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    drop(Server::start(&world, &args));
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    let refused = |world: &World, args: &[&str]| {
        let said = world.rye(&[&["mcp", "--json"], args].concat());
        (said.code(), said.status)
    };
    let http = ["--http", "127.0.0.1:0"];
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(refused(&world, &[&http[..], &args].concat()), ("mcp.listen".into(), 7));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "short\n").unwrap();
    assert_eq!(refused(&world, &[&http[..], &args].concat()), ("mcp.listen".into(), 7));
    // Not for the network, and not while signatures do not count.
    for at in ["0.0.0.0:0", "[::]:0", "10.0.0.1:0"] {
        assert_eq!(refused(&world, &["--http", at]), ("mcp.listen".into(), 7), "{at}");
    }
    world
        .rye_env(
            &world.project(),
            &["mcp", "--http", "127.0.0.1:0", "--json"],
            b"",
            &[("RYE_DEV_MODE", "1")],
        )
        .fails(4, "mcp.dev_mode");
    // Only over HTTP.
    world.rye_env(&world.project(), &["mcp"], b"", &[("RYE_DEV_MODE", "1")]).ok();
}
