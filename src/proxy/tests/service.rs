//! Services: what is passed on with the secret, and what comes back without it.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::channel;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{
    HELLO, Names, SECRET, Server, World, dial, exchange, head, refusals, service_at, vars, world,
};
use crate::host::Refusal;

fn run(server: &Server, base: &str, allow: &[&str]) -> World {
    let upstream = format!("http://127.0.0.1:{}{base}", server.at.port());
    world(service_at(&upstream, allow), Names::new(&[]), &vars(&[]))
}

fn ask(at: SocketAddr, request: &str) -> String {
    ask_with(at, request, "")
}

fn ask_with(at: SocketAddr, request: &str, headers: &str) -> String {
    let text = format!("{request} HTTP/1.1\r\nHost: {at}\r\n{headers}Connection: close\r\n\r\n");
    exchange(at, text.as_bytes())
}

#[test]
fn a_listed_call_gets_the_secret_and_nothing_of_the_childs_in_its_place() {
    let server = Server::saying(HELLO);
    let world = run(&server, "/api/v3/", &["POST /repos/**"]);
    let headers = "Authorization: Bearer mine\r\nCookie: a=b\r\nProxy-Authorization: Basic eDp5\r\n\
                   Accept-Encoding: gzip, br\r\nRange: bytes=0-1\r\nIf-Range: x\r\nTE: trailers\r\n\
                   Connection: X-Own\r\nX-Own: 1\r\nX-HTTP-Method-Override: DELETE\r\n\
                   X-Original-URL: /admin\r\nx_rewrite_url: /admin\r\nUpgrade: h2c\r\n\
                   X-Request-Id: 1\r\nX-Original-Method: DELETE\r\nX-Real-IP: 127.0.0.1\r\n\
                   X-Forwarded-For: 127.0.0.1\r\nSudo: root\r\nPrivate-Token: mine\r\n\
                   X-Api-Key: mine\r\nX-Anything: own\r\nIf-None-Match: a\r\n\
                   If-None-Match: b\r\nAccept: application/json\r\nContent-Length: 4\r\n";
    let text = format!(
        "POST /repos/a%20b?q=%2e%2e/&r HTTP/1.1\r\nHost: {}\r\n{headers}\r\nbody",
        world.services[0]
    );
    let mut stream = dial(world.services[0]);
    stream.write_all(text.as_bytes()).unwrap();
    let got = head(&mut stream);
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    let heard = server.heard().remove(0).to_ascii_lowercase();
    let want = "post /api/v3/repos/a%20b?q=%2e%2e/&r http/1.1\r\n";
    assert!(heard.starts_with(want) && heard.ends_with("\r\n\r\nbody"), "{heard}");
    for there in [
        format!("authorization: bearer {SECRET}\r\n"),
        format!("host: 127.0.0.1:{}\r\n", server.at.port()),
        "accept-encoding: identity\r\n".into(),
        "x-request-id: 1\r\n".into(),
        "if-none-match: a\r\n".into(),
        "if-none-match: b\r\n".into(),
        "accept: application/json\r\n".into(),
        "content-length: 4\r\n".into(),
    ] {
        assert_eq!(heard.matches(&there).count(), 1, "{there}: {heard}");
    }
    for gone in [
        "mine",
        "cookie",
        "proxy-",
        "gzip",
        "range",
        "te:",
        "own",
        "delete",
        "admin",
        "real-ip",
        "forwarded",
        "sudo",
        "token: ",
        "x-api",
        "x-anything",
        "upgrade",
        "connection",
    ] {
        assert!(!heard.contains(gone), "{gone}: {heard}");
    }
    let traffic = world.proxy.end();
    let row = &traffic.hosts[0];
    assert_eq!(
        (row.host.as_str(), row.calls, row.sent_bytes, row.received_bytes),
        ("api", 1, 4, 5)
    );
}

#[test]
fn only_listed_methods_and_paths_are_passed_on_table() {
    let server = Server::saying(HELLO);
    let world =
        run(&server, "", &["GET /repos/**", "POST /repos/*/issues", "* /user", "GET /a/*.json"]);
    let at = world.services[0];
    for (request, want) in [
        ("GET /repos/a", 200),
        ("GET /repos/a/b/c?x=../..", 200),
        ("GET /repos/a%20b", 200),
        ("GET /%72epos/a", 200),
        ("POST /repos/a/issues", 200),
        ("DELETE /user", 200),
        ("PROPFIND /user", 200),
        ("GET /a/x.json", 200),
        ("GET /", 403),
        ("GET /repos", 403),
        ("GET /Repos/a", 403),
        ("GET /reposx/a", 403),
        ("HEAD /repos/a", 403),
        ("PUT /repos/a", 403),
        ("get /repos/a", 403),
        ("POST /repos/a/b/issues", 403),
        ("POST /repos/a/issues/", 403),
        ("GET /user/emails", 403),
        ("TRACE /user", 403),
        ("GET /a/b/x.json", 403),
        ("GET /a/x.json/y", 403),
        ("GET /repos/../user/keys", 400),
        ("GET /repos/..", 400),
        ("GET /repos/./a", 400),
        ("GET /repos//a", 400),
        ("GET //repos/a", 400),
        ("GET /repos/%2e%2e/user", 400),
        ("GET /repos/.%2E/user", 400),
        ("GET /repos/%2E./user", 400),
        ("GET /repos%2fa", 400),
        ("GET /repos/..%2fuser", 400),
        ("GET /repos/..%5cuser", 400),
        ("GET /repos/..\\user", 400),
        ("GET /repos/%252e%252e/user", 400),
        ("GET /repos/%25252e", 400),
        ("GET /repos/..;/user", 400),
        ("GET /repos/a;b", 400),
        ("GET /repos/a%3bb", 400),
        ("GET /repos/a%00", 400),
        ("GET /repos/a%0d%0aX:y", 400),
        ("GET /repos/a%0a", 400),
        ("GET /repos/a%23b", 400),
        ("GET /repos/a%3fb", 400),
        ("GET /repos/%c0%ae%c0%ae/", 400),
        ("GET /repos/%ef%bc%8e%ef%bc%8e/user", 400),
        ("GET /repos/%zz", 400),
        ("GET /repos/%", 400),
        ("GET repos/a", 400),
        ("OPTIONS *", 400),
        ("GET http://127.0.0.1/user", 400),
        ("GET https://evil.example.org/user", 400),
        ("CONNECT 127.0.0.1:80", 400),
    ] {
        let before = server.met();
        let got = ask(at, request);
        let status = format!("HTTP/1.1 {want} ");
        assert!(got.starts_with(&status), "{request}: {want}, not {got}");
        assert_eq!(server.met() - before, usize::from(want == 200), "{request}");
        assert!(!got.contains(SECRET), "{request}: {got}");
        if want == 403 && !(request.starts_with("TRACE") || request.starts_with("HEAD")) {
            let line = format!("sandbox.services.api.allow: [\"{request}\"]");
            assert!(got.contains(&line), "{request}: {got}");
        }
    }
    let traffic = world.proxy.end();
    assert_eq!(traffic.hosts[0].calls, 8);
    assert!(
        refusals(&traffic).contains(&("api: GET /reposx/a", Refusal::NotListed)),
        "{traffic:?}"
    );
}

#[test]
fn an_endpoint_is_asked_by_its_own_name_alone_table() {
    let server = Server::saying(HELLO);
    let world = run(&server, "", &["GET /x"]);
    let at = world.services[0];
    for (hosts, want) in [
        (format!("Host: 127.0.0.1:{}\r\n", at.port()), true),
        (format!("Host: localhost:{}\r\n", at.port()), true),
        (String::new(), false),
        ("Host: 127.0.0.1\r\n".into(), false),
        (format!("Host: evil.example.org:{}\r\n", at.port()), false),
        (format!("Host: 127.0.0.1:{0}\r\nHost: 127.0.0.1:{0}\r\n", at.port()), false),
        (format!("Host: 127.0.0.1:{}\r\n", world.at.port()), false),
    ] {
        let got =
            exchange(at, format!("GET /x HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes());
        assert_eq!(got.starts_with("HTTP/1.1 200 "), want, "{hosts}: {got}");
    }
    assert_eq!(server.met(), 2);
}

#[test]
fn a_secret_that_comes_back_is_masked_in_every_header_and_body_also_in_json_urls_and_base64() {
    let server = Server::new(|request, stream| {
        let sent = request.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap();
        let secret = sent.strip_prefix("Bearer ").unwrap();
        let spelled = [
            sent.to_owned(),
            STANDARD.encode(secret),
            STANDARD.encode(format!("user:{secret}")),
            STANDARD.encode(format!("ab{secret}cd")).replace('+', "-").replace('/', "_"),
            secret.replace('/', "%2F").replace('+', "%2B"),
            secret.replace('/', "\\/"),
        ];
        let body = spelled.join("\n") + "\nend";
        let head = format!(
            "HTTP/1.1 200 {secret}\r\nX-Echo: {sent}\r\nX-Coded: {}\r\nLocation: /x?t={}\r\n\
             Set-Cookie: session=abc\r\nETag: \"kept\"\r\nTransfer-Encoding: chunked\r\n\
             Trailer: X-Late\r\n\r\n",
            STANDARD.encode(secret),
            secret.replace('/', "%2F").replace('+', "%2B"),
        );
        stream.write_all(head.as_bytes()).unwrap();
        // One byte a chunk: each secret comes across many.
        for byte in body.bytes() {
            stream.write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']).unwrap();
        }
        stream.write_all(format!("0\r\nX-Late: {secret}\r\n\r\n").as_bytes()).unwrap();
    });
    let world = run(&server, "", &["GET /echo"]);
    let got = ask(world.services[0], "GET /echo");
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
    assert!(got.contains("x-echo: Bearer ***\r\n") && got.contains("etag: \"kept\"\r\n"), "{got}");
    for gone in ["set-cookie", "session", "trailer", "x-late"] {
        assert!(!got.to_ascii_lowercase().contains(gone), "{gone}: {got}");
    }
    // Chunks of one connection, joined.
    let (_, body) = got.split_once("\r\n\r\n").unwrap();
    let body: String = body.split("\r\n").skip(1).step_by(2).collect();
    assert!(body.ends_with("\nend"), "{body}");
    let lines: Vec<&str> = body.lines().collect();
    assert_eq!((lines.len(), lines[0]), (7, "Bearer ***"), "{body}");
    assert!(lines[..6].iter().all(|line| line.contains("***")), "{body}");
    for text in [got.as_str(), body.as_str()] {
        for part in [SECRET, "s3cret", "canary", "0123456789", "czNjcmV0"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
    assert!(server.heard()[0].contains(SECRET), "the server was told it");
}

#[test]
fn what_breaks_off_in_a_secret_tells_no_part_of_it() {
    let answers = [&SECRET[..9], &"~".repeat(9)].map(|last| {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nfirst\nis {last}");
        let server = Server::new(move |_, stream| stream.write_all(text.as_bytes()).unwrap());
        let got = ask(run(&server, "", &["GET /x"]).services[0], "GET /x");
        got.split_once("\r\n\r\n").unwrap().1.to_owned()
    });
    assert_eq!(answers[0], "6\r\nfirst\n\r\n", "and no end of the chunks");
    assert_eq!(answers[0], answers[1], "nor whether it was one");
}

#[test]
fn the_pieces_of_an_answer_do_not_tell_what_begins_like_the_secret() {
    // Answers with what it was asked for: the child chooses the text.
    let server = Server::new(|request, stream| {
        let asked = request.split_once('?').unwrap().1.split(' ').next().unwrap();
        let text = asked.replace("%0A", "\n");
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
        stream.write_all((head + &text).as_bytes()).unwrap();
    });
    let world = run(&server, "", &["GET /echo"]);
    // The sizes of the pieces, and all of it.
    let pieces = |text: &str| -> (Vec<usize>, String) {
        let got = ask(world.services[0], &format!("GET /echo?{text}"));
        let mut rest = got.split_once("\r\n\r\n").unwrap().1;
        let (mut sizes, mut whole) = (Vec::new(), String::new());
        while let Some((size, more)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            sizes.push(size);
            whole += &more[..size];
            rest = &more[size + 2..];
        }
        (sizes, whole)
    };
    assert_eq!(pieces(&format!("~{SECRET}")).1, "~***", "the fixture gives the secret back");
    let long = "x".repeat(5_000);
    for (before, after) in [("~", ""), ("~", "!"), ("~%0A", ""), ("~", "%0A"), (&*long, "")] {
        let of = |guess: &str| pieces(&format!("{before}{guess}{after}"));
        for length in [1, 2, 8, SECRET.len() - 1] {
            let (sizes, text) = of(&SECRET[..length]);
            assert!(text.contains(&SECRET[..length]), "what the child wrote comes back: {text}");
            assert_eq!(sizes, of(&"~".repeat(length)).0, "{before:.9} {length} {after}");
        }
    }
}

#[test]
fn an_answer_in_many_small_chunks_comes_through_with_a_long_secret() {
    let secret = "secret0/".repeat(1_000);
    let server = Server::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        let chunks = b"1\r\ns\r\n".repeat(20_000);
        stream.write_all(&chunks).unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let upstream = format!("http://127.0.0.1:{}", server.at.port());
    let egress = service_at(&upstream, &["GET /x"]);
    let world = super::world_with(&secret, egress, Names::new(&[]), &vars(&[]), false);
    let got = ask(world.services[0], "GET /x");
    let body = got.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(body.matches('s').count(), 20_000);
    assert!(body.ends_with("0\r\n\r\n"));
}

#[test]
fn an_answer_that_cannot_be_looked_through_is_not_passed_on_table() {
    for (header, want) in [
        ("Content-Encoding: identity", "HTTP/1.1 200 "),
        ("Content-Encoding: gzip", "HTTP/1.1 502 "),
        ("Content-Encoding: br", "HTTP/1.1 502 "),
        ("Content-Encoding: identity\r\nContent-Encoding: zstd", "HTTP/1.1 502 "),
        ("Content-Type: application/json; charset=UTF-8", "HTTP/1.1 200 "),
        ("Content-Type: text/html;charset=\"iso-8859-1\"", "HTTP/1.1 200 "),
        ("Content-Type: text/html; charset=utf-16", "HTTP/1.1 502 "),
        ("Content-Type: text/html; Charset = \"UTF-7\"", "HTTP/1.1 502 "),
        ("Content-Type: text/html; charset=utf-8; charset=ibm037", "HTTP/1.1 502 "),
        ("Transfer-Encoding: gzip", "HTTP/1.1 502 "),
        ("Transfer-Encoding: gzip, chunked", "HTTP/1.1 502 "),
    ] {
        let is_sized = !header.starts_with("Transfer");
        let length = if is_sized { "Content-Length: 5\r\n" } else { "" };
        let server = Server::saying(&format!("HTTP/1.1 200 OK\r\n{header}\r\n{length}\r\nhello"));
        let world = run(&server, "", &["GET /x"]);
        let got = ask(world.services[0], "GET /x");
        assert!(got.starts_with(want), "{header}: {got}");
        assert_eq!(got.contains("hello"), want.contains("200"), "{header}: {got}");
    }
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\n\
                Content-Length: 5\r\n\r\nhello";
    let got = ask(run(&Server::saying(part), "", &["GET /x"]).services[0], "GET /x");
    assert!(got.starts_with("HTTP/1.1 502 ") && !got.contains("hello"), "{got}");
    let switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
    let server = Server::saying(switched);
    let world = run(&server, "", &["GET /x"]);
    let got = ask(world.services[0], "GET /x");
    assert!(got.starts_with("HTTP/1.1 502 "), "{got}");
    let asking = "Upgrade: x\r\nConnection: upgrade\r\n";
    let got = ask_with(world.services[0], "GET /x", asking);
    assert!(got.starts_with("HTTP/1.1 400 "), "{got}");
    assert_eq!(server.met(), 1);
}

#[test]
fn events_come_one_by_one_as_the_server_sends_them() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = Server::new(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for at in 0..3 {
            stream.write_all(format!("data: {at}\n\n").as_bytes()).unwrap();
            stream.flush().unwrap();
            // The next one is sent when this one was read.
            if wait.lock().unwrap().recv().is_err() {
                return;
            }
        }
    });
    let world = run(&server, "", &["GET /events"]);
    let at = world.services[0];
    let mut stream = dial(at);
    stream.write_all(format!("GET /events HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
    assert!(head(&mut stream).contains("text/event-stream"));
    for event in 0..3 {
        let mut got = String::new();
        let want = format!("data: {event}\n\n");
        while !got.contains(&want) {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            got.push(char::from(byte[0]));
        }
        go.send(()).unwrap();
    }
}

#[test]
fn a_redirect_stays_at_the_endpoint_or_is_passed_back_and_followed_by_nobody_table() {
    for (location, want) in [
        ("/api/next?x", "http://ENDPOINT/next?x"),
        ("http://UPSTREAM/api/next", "http://ENDPOINT/next"),
        ("next", "http://ENDPOINT/next"),
        ("/elsewhere", "/elsewhere"),
        ("/apis/x", "/apis/x"),
        ("https://evil.example.org/x", "https://evil.example.org/x"),
        ("http://UPSTREAM.evil.example.org/api/x", "http://UPSTREAM.evil.example.org/api/x"),
        ("http://127.0.0.1:1/api/x", "http://127.0.0.1:1/api/x"),
    ] {
        let server = Server::new(move |_, stream| {
            let answer =
                format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        });
        // The server knows its address only now, so the texts that name it are its own.
        if location.contains("UPSTREAM") {
            continue;
        }
        let world = run(&server, "/api", &["GET /first"]);
        let at = world.services[0];
        let got = ask(at, "GET /first");
        let want = want.replace("ENDPOINT", &at.to_string());
        assert!(got.contains(&format!("location: {want}\r\n")), "{location}: {got}");
        assert_eq!(server.met(), 1, "{location}");
    }
    let server = Server::new(|request, stream| {
        let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let answer = format!(
            "HTTP/1.1 201 Created\r\nLocation: http://{host}/api/made\r\n\
             Content-Location: http://{host}.evil.example.org/api/x\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let world = run(&server, "/api", &["POST /first"]);
    let at = world.services[0];
    let got = ask(at, "POST /first");
    assert!(got.contains(&format!("\r\nlocation: http://{at}/made\r\n")), "{got}");
    assert!(got.contains(".evil.example.org/api/x\r\n"), "{got}");
}

#[test]
fn a_service_without_a_usable_secret_is_not_started() {
    use super::{Settings, public_here};
    use crate::base::limits::PROXY_SECRET_BYTES;
    use crate::host::NetSettings;
    use std::net::{Ipv4Addr, TcpListener};
    use zeroize::Zeroizing;
    let long = "line".repeat(PROXY_SECRET_BYTES);
    for secret in [None, Some(""), Some("line\r\nX: y"), Some("nul\0"), Some(&*long)] {
        let secrets = secret.map(|text| ("api".to_owned(), Zeroizing::new(text.to_owned())));
        let settings = Settings {
            egress: service_at("https://api.example.org", &["GET /x"]),
            observes: false,
            secrets: secrets.into_iter().collect(),
            token: "t".into(),
            https: NetSettings::of_scheme(&vars(&[]), true),
            http: NetSettings::of_scheme(&vars(&[]), false),
        };
        let listeners = (0..2).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let made = super::Proxy::judging(
            listeners.collect(),
            settings,
            Names::new(&[]),
            public_here,
            std::time::Duration::from_mins(5),
        );
        let error = made.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("`api`") && !error.contains("line"), "{error}");
    }
}
