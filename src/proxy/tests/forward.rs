//! Listed hosts: who is let through, to where, and what is refused.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};

use super::{
    HELLO, Names, Server, credentials, dial, exchange, head, hosts, refusals, rest, service_at,
    tunnel, vars, world, world_of,
};
use crate::host::Refusal;

fn get(url: &str, host: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n{}Connection: close\r\n\r\n", credentials())
}

#[test]
fn plain_http_reaches_a_listed_host_and_is_counted() {
    let server = Server::saying(HELLO);
    let port = server.at.port();
    let names = Names::new(&[("plain.example.org", &[&["127.0.0.1"]])]);
    let world = world(hosts(&[format!("plain.example.org:{port}")]), names, &vars(&[]));
    let host = format!("plain.example.org:{port}");
    let asked = format!(
        "POST http://{host}/a/b?c=d HTTP/1.1\r\nHost: {host}\r\n{}Connection: X-Own, close\r\n\
         X-Own: 1\r\nX-Kept: 2\r\nTE: trailers\r\nKeep-Alive: 3\r\nUpgrade: h2c\r\n\
         Proxy-Connection: keep-alive\r\nContent-Length: 4\r\n\r\nbody",
        credentials()
    );
    let got = exchange(world.at, asked.as_bytes());
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("\r\n\r\nhello"), "{got}");
    let heard = server.heard().remove(0).to_ascii_lowercase();
    assert!(heard.starts_with(&format!("post /a/b?c=d http/1.1\r\nhost: {host}\r\n")), "{heard}");
    assert!(heard.contains("x-kept: 2") && heard.ends_with("\r\n\r\nbody"), "{heard}");
    for gone in ["x-own", "te:", "keep-alive", "upgrade", "proxy-", "connection", "rye"] {
        assert!(!heard.contains(gone), "{gone}: {heard}");
    }
    let traffic = world.proxy.end();
    let row = &traffic.hosts[0];
    assert_eq!((row.host.as_str(), row.calls), (host.as_str(), 1));
    assert_eq!((row.sent_bytes, row.received_bytes), (4, 5), "bodies");
    assert!(traffic.refused.is_empty(), "{traffic:?}");
}

#[test]
fn who_does_not_know_the_token_reaches_nothing_table() {
    let server = Server::saying(HELLO);
    let port = server.at.port();
    let names = Names::new(&[("plain.example.org", &[&["127.0.0.1"]])]);
    let world = world(hosts(&[format!("plain.example.org:{port}")]), names, &vars(&[]));
    let host = format!("plain.example.org:{port}");
    let right = credentials();
    for given in [
        String::new(),
        "Proxy-Authorization: Basic cnllOndyb25n\r\n".into(),
        right.replace("Basic", "Bearer"),
        right.replace("Basic ", "Basic"),
        right.replace("Proxy-Authorization", "Authorization"),
        format!("{right}{right}"),
        "Proxy-Authorization: Basic cnllOg==\r\n".into(),
        "Proxy-Authorization: Basic !\r\n".into(),
    ] {
        for asked in [format!("GET http://{host}/"), format!("CONNECT {host}")] {
            let text =
                format!("{asked} HTTP/1.1\r\nHost: {host}\r\n{given}Connection: close\r\n\r\n");
            let got = exchange(world.at, text.as_bytes());
            assert!(got.starts_with("HTTP/1.1 407 "), "{given}: {got}");
            assert!(got.contains("proxy-authenticate: Basic realm=\"rye\""), "{got}");
        }
    }
    assert!(
        exchange(world.at, get(&format!("http://{host}/"), &host).as_bytes()).contains("hello")
    );
    assert_eq!(server.met(), 1);
    let traffic = world.proxy.end();
    assert_eq!(refusals(&traffic), [(host.as_str(), Refusal::Token)]);
    assert_eq!(traffic.refused[0].count, 16);
}

#[test]
fn what_is_not_listed_is_refused_with_the_line_to_add_table() {
    let server = Server::saying(HELLO);
    let port = server.at.port();
    let here: &[&[&str]] = &[&["127.0.0.1"]];
    let all = ["listed.example.org", "a.wild.example.org", "wild.example.org", "other.example.org"];
    let of = all.map(|name| (name, here));
    let rules = [format!("listed.example.org:{port}"), format!("*.wild.example.org:{port}")];
    let world = world(hosts(&rules), Names::new(&of), &vars(&[]));
    for (host, port, want) in [
        ("listed.example.org", port, "hello"),
        ("LISTED.example.ORG", port, "hello"),
        ("a.wild.example.org", port, "hello"),
        ("wild.example.org", port, "may add it: sandbox.net.hosts: [\"wild.example.org:"),
        ("other.example.org", port, "may add it: sandbox.net.hosts: [\"other.example.org:"),
        ("listed.example.org", 80, "[\"listed.example.org:80\"]"),
        ("listed.example.org", 443, "[\"listed.example.org:443\"]"),
        ("listed.example.org.", port, "has a dot at its end; write `listed.example.org"),
        ("127.0.0.1", port, "may add it: sandbox.net.hosts: [\"127.0.0.1:"),
        ("localhost", port, "is this machine"),
        ("2130706433", port, "an address in an unusual form"),
        ("0177.0.0.1", port, "an address in an unusual form"),
        ("127.1", port, "an address in an unusual form"),
        ("[::1]", port, "may add it: sandbox.net.hosts: [\"[::1]:"),
        ("[::ffff:127.0.0.1]", port, "is an IPv4 address in the form of an IPv6 one"),
        ("169.254.169.254", 80, "[\"169.254.169.254:80\"]"),
    ] {
        let got = exchange(
            world.at,
            get(&format!("http://{host}:{port}/"), &format!("{host}:{port}")).as_bytes(),
        );
        let status = if want == "hello" { "HTTP/1.1 200 " } else { "HTTP/1.1 403 " };
        assert!(got.starts_with(status) && got.contains(want), "{host}:{port}: {got}");
        if want != "hello" {
            let (got, _) = tunnel(world.at, &format!("{host}:{port}"));
            assert!(got.starts_with(status) && got.contains(want), "{host}:{port}: {got}");
        }
    }
    assert_eq!(server.met(), 3);
    let traffic = world.proxy.end();
    assert!(refusals(&traffic).iter().all(|(_, why)| *why == Refusal::NotListed), "{traffic:?}");
}

#[test]
fn a_request_that_could_be_read_as_another_is_refused_or_written_anew_table() {
    let server = Server::saying(HELLO);
    let port = server.at.port();
    let host = format!("plain.example.org:{port}");
    let names = Names::new(&[
        ("plain.example.org", &[&["127.0.0.1"]]),
        ("evil.example.org", &[&["127.0.0.1"]]),
    ]);
    let rules = [host.clone(), "plain.example.org:80".to_owned()];
    let world = world(hosts(&rules), names, &vars(&[]));
    let bare = || "Host: plain.example.org\r\n".to_owned();
    let own = credentials();
    let refused = |what: &str, text: &str| {
        let got = exchange(world.at, text.as_bytes());
        assert!(got.starts_with("HTTP/1.1 4"), "{what}: {got}");
        assert_eq!(server.met(), 0, "{what}");
    };
    for (what, line, headers) in [
        ("no host", format!("GET http://{host}/"), String::new()),
        ("two hosts", format!("GET http://{host}/"), format!("Host: {host}\r\nHost: {host}\r\n")),
        ("another host", format!("GET http://{host}/"), "Host: evil.example.org\r\n".into()),
        ("another port", format!("GET http://{host}/"), "Host: plain.example.org\r\n".into()),
        (
            "a folded header",
            format!("GET http://{host}/"),
            format!("Host: {host}\r\nX: a\r\n b\r\n"),
        ),
        ("a blank before the colon", format!("GET http://{host}/"), format!("Host : {host}\r\n")),
        ("a path alone", "GET /".into(), format!("Host: {host}\r\n")),
        ("an asterisk", "OPTIONS *".into(), format!("Host: {host}\r\n")),
        ("https in the open", format!("GET https://{host}/"), format!("Host: {host}\r\n")),
        ("another scheme", format!("GET ftp://{host}/"), format!("Host: {host}\r\n")),
        ("an account", format!("GET http://u:p@{host}/"), format!("Host: {host}\r\n")),
        (
            "an account before another host",
            format!("GET http://{host}@evil.example.org:{port}/"),
            format!("Host: {host}\r\n"),
        ),
        ("a port that is not decimal", "GET http://plain.example.org:0x50/".into(), bare()),
        ("a port that is too large", "GET http://plain.example.org:65616/".into(), bare()),
        ("a port of no digits", "GET http://plain.example.org:/".into(), bare()),
        ("a trace", format!("TRACE http://{host}/"), format!("Host: {host}\r\n")),
        (
            "a length beside chunks",
            format!("POST http://{host}/"),
            format!("Host: {host}\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
        ),
        (
            "another protocol",
            format!("GET http://{host}/"),
            format!("Host: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"),
        ),
        (
            "two lengths",
            format!("POST http://{host}/"),
            format!("Host: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n"),
        ),
        (
            "a length that is not one",
            format!("POST http://{host}/"),
            format!("Host: {host}\r\nContent-Length: +1\r\n"),
        ),
        (
            "an unknown encoding",
            format!("POST http://{host}/"),
            format!("Host: {host}\r\nTransfer-Encoding: gzip\r\n"),
        ),
        (
            "chunked not at the end",
            format!("POST http://{host}/"),
            format!("Host: {host}\r\nTransfer-Encoding: chunked, gzip\r\n"),
        ),
        (
            "a tunnel without a port",
            "CONNECT plain.example.org".into(),
            format!("Host: {host}\r\n"),
        ),
        ("a tunnel to a URL", format!("CONNECT http://{host}/"), format!("Host: {host}\r\n")),
        ("a tunnel to a path", "CONNECT /".into(), format!("Host: {host}\r\n")),
    ] {
        refused(what, &format!("{line} HTTP/1.1\r\n{headers}{own}Connection: close\r\n\r\n"));
    }
    refused(
        "a long head",
        &format!("GET http://{host}/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(99_000)),
    );
    refused("not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n");

    // What stands behind the one request of a connection is no second one.
    let first = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{own}\r\n");
    for behind in [get(&format!("http://{host}/"), &host), "GET /smuggled HTTP/1.1\r\n".into()] {
        let got = exchange(world.at, format!("{first}{behind}").as_bytes());
        assert!(got.starts_with("HTTP/1.1 200") && got.matches("HTTP/1.1").count() == 1, "{got}");
    }
    let body = format!(
        "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{own}Content-Length: 2\r\n\r\nabGET /x"
    );
    exchange(world.at, body.as_bytes());
    assert_eq!(server.met(), 3);
    let heard = server.heard().remove(2);
    assert!(heard.ends_with("\r\n\r\nab") && !heard.contains("/x"), "{heard}");
}

#[test]
fn names_are_resolved_once_and_each_address_is_judged_table() {
    let server = Server::saying(HELLO);
    let inner = Server::at(Ipv4Addr::new(127, 0, 0, 2), |_, stream| {
        stream.write_all(HELLO.as_bytes()).unwrap();
    });
    let names = Names::new(&[
        ("private.example.org", &[&["127.0.0.2", "10.0.0.1", "169.254.169.254", "fd00::1"]]),
        ("mixed.example.org", &[&["127.0.0.2", "::1", "127.0.0.1"]]),
        ("mapped.example.org", &[&["::ffff:127.0.0.2"]]),
        ("moves.example.org", &[&["127.0.0.1"], &["127.0.0.2"]]),
        ("nowhere.example.org", &[&[]]),
    ]);
    let port = server.at.port();
    let inner_port = inner.at.port();
    let mut rules = vec![format!("*.example.org:{port}"), format!("*.example.org:{inner_port}")];
    let world = world(hosts(&rules), names.clone(), &vars(&[]));
    let ask = |at, host: &str, port: u16| {
        exchange(at, get(&format!("http://{host}:{port}/"), &format!("{host}:{port}")).as_bytes())
    };
    for (host, port, want) in [
        ("private.example.org", inner_port, "HTTP/1.1 403 "),
        ("mapped.example.org", inner_port, "HTTP/1.1 403 "),
        ("mixed.example.org", port, "HTTP/1.1 200 "),
        ("mixed.example.org", inner_port, "HTTP/1.1 502 "),
        ("nowhere.example.org", port, "HTTP/1.1 502 "),
        ("unknown.example.org", port, "HTTP/1.1 502 "),
        ("moves.example.org", inner_port, "HTTP/1.1 502 "),
        ("moves.example.org", inner_port, "HTTP/1.1 403 "),
    ] {
        let got = ask(world.at, host, port);
        assert!(got.starts_with(want), "{host}:{port}: {got}");
    }
    assert_eq!(names.asked("moves.example.org"), 2, "once for each connection");
    assert_eq!(inner.met(), 0, "no private address was met");
    let whys: Vec<Refusal> = world.proxy.end().refused.iter().map(|row| row.why).collect();
    for why in [Refusal::NotPublic, Refusal::Unreachable, Refusal::Unresolved] {
        assert!(whys.contains(&why), "{why:?} of {whys:?}");
    }
    // An address that is listed itself may be private, also where a name leads to it.
    rules.push(format!("127.0.0.2:{inner_port}"));
    let world = super::world(hosts(&rules), names, &vars(&[]));
    for host in ["127.0.0.2", "private.example.org", "mapped.example.org"] {
        let got = ask(world.at, host, inner_port);
        assert!(got.starts_with("HTTP/1.1 200 "), "{host}: {got}");
    }
    let got = ask(world.at, "127.0.0.2", port);
    assert!(got.starts_with("HTTP/1.1 403 "), "{got}");
}

#[test]
fn a_watched_run_reaches_every_public_host_and_no_private_one() {
    let server = Server::saying(HELLO);
    let port = server.at.port();
    let names = Names::new(&[
        ("any.example.org", &[&["127.0.0.1"]]),
        ("inner.example.org", &[&["127.0.0.2"]]),
    ]);
    let world = world_of(hosts(&[]), names, &vars(&[]), true);
    for (host, want) in [
        ("any.example.org", "HTTP/1.1 200 "),
        ("127.0.0.1", "HTTP/1.1 200 "),
        ("inner.example.org", "HTTP/1.1 403 "),
        ("127.0.0.2", "HTTP/1.1 403 "),
        ("[::1]", "HTTP/1.1 403 "),
        ("127.1", "HTTP/1.1 403 "),
    ] {
        let at = format!("{host}:{port}");
        let got = exchange(world.at, get(&format!("http://{at}/"), &at).as_bytes());
        assert!(got.starts_with(want), "{host}: {got}");
    }
    assert_eq!(world.proxy.end().hosts.len(), 2);
}

#[test]
fn a_refusal_names_the_port_also_where_the_request_does_not_table() {
    let world = world(hosts(&[]), Names::new(&[]), &vars(&[]));
    for (url, want) in [
        ("http://priv.example.org/", "priv.example.org:80"),
        ("http://priv.example.org:81/", "priv.example.org:81"),
        ("http://u:p@priv.example.org/", "priv.example.org:80"),
        ("https://priv.example.org/", "priv.example.org:443"),
        ("http://[fd00::1]/", "[fd00::1]:80"),
    ] {
        let got = exchange(world.at, get(url, "priv.example.org").as_bytes());
        assert!(got.starts_with("HTTP/1.1 4"), "{url}: {got}");
        let traffic = world.proxy.take_traffic();
        assert_eq!(traffic.refused[0].what, want, "{url}");
    }
}

/// A server of TLS that answers each connection with what it read up to the end, backwards; its
/// certificate, and where it is.
fn tls_server() -> (rcgen::CertifiedKey<rcgen::KeyPair>, SocketAddr) {
    let made =
        rcgen::generate_simple_self_signed(["tls.example.org".into(), "127.0.0.1".into()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_no_client_auth()
    .with_single_cert(vec![made.cert.der().clone()], key.into())
    .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(stream), config) = (stream, config.clone()) else { return };
            std::thread::spawn(move || {
                let session = rustls::ServerConnection::new(config).unwrap();
                let mut tls = rustls::StreamOwned::new(session, stream);
                let mut got = Vec::new();
                if tls.read_to_end(&mut got).is_ok() {
                    got.reverse();
                    let _ = tls.write_all(&got);
                    tls.conn.send_close_notify();
                    let _ = tls.flush();
                }
            });
        }
    });
    (made, at)
}

/// Speaks TLS on a connection, for a name, and says all of this; what comes back.
fn secured(
    stream: std::net::TcpStream,
    certificate: &CertificateDer<'static>,
    name: &str,
    says_name: bool,
    text: &[u8],
) -> std::io::Result<Vec<u8>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(roots)
    .with_no_client_auth();
    config.enable_sni = says_name;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut tls = rustls::StreamOwned::new(session, stream);
    tls.write_all(text)?;
    tls.conn.send_close_notify();
    tls.flush()?;
    tls.sock.shutdown(Shutdown::Write)?;
    let mut got = Vec::new();
    tls.read_to_end(&mut got)?;
    Ok(got)
}

#[test]
fn a_tunnel_carries_tls_for_the_name_that_was_asked_for_and_nothing_else_table() {
    let (made, at) = tls_server();
    let (certificate, port) = (made.cert.der(), at.port());
    let names = Names::new(&[
        ("tls.example.org", &[&["127.0.0.1"]]),
        ("other.example.org", &[&["127.0.0.1"]]),
    ]);
    let rules = [format!("*.example.org:{port}"), format!("127.0.0.1:{port}")];
    let world = world(hosts(&rules), names, &vars(&[]));
    let text = "all of it ".repeat(100_000);
    for (host, name, says, want) in [
        ("tls.example.org", "tls.example.org", true, true),
        ("TLS.example.org", "tls.example.org", true, true),
        ("127.0.0.1", "127.0.0.1", true, true),
        ("127.0.0.1", "tls.example.org", false, true),
        ("other.example.org", "tls.example.org", true, false),
        ("tls.example.org", "tls.example.org", false, false),
        ("127.0.0.1", "tls.example.org", true, false),
    ] {
        let (head, stream) = tunnel(world.at, &format!("{host}:{port}"));
        assert!(head.starts_with("HTTP/1.1 200"), "{host}: {head}");
        let got = secured(stream, certificate, name, says, text.as_bytes());
        match (want, got) {
            // The server answers when it has heard the end: half of the tunnel is closed then.
            (true, Ok(got)) => assert_eq!(got.len(), text.len(), "{host} {name} {says}"),
            (false, Err(error)) => {
                assert!(error.to_string().contains("UnrecognisedName"), "{host} {name}: {error}");
            }
            (_, got) => panic!("{host} {name} {says}: {got:?}"),
        }
    }
    let traffic = world.proxy.end();
    let row = traffic.hosts.iter().find(|row| row.host.starts_with("tls.")).unwrap();
    let least = text.len() as u64;
    assert!(
        row.calls == 2 && row.sent_bytes > 2 * least && row.received_bytes > 2 * least,
        "{row:?}"
    );
    let whys: Vec<u64> = traffic.refused.iter().map(|row| row.count).collect();
    assert_eq!(whys, [1, 1, 1]);
    assert!(refusals(&traffic).iter().all(|(_, why)| *why == Refusal::OtherName), "{traffic:?}");
}

#[test]
fn what_does_not_begin_with_tls_goes_through_no_tunnel_table() {
    let server = Server::saying(HELLO);
    let port = server.at.port();
    let names = Names::new(&[("plain.example.org", &[&["127.0.0.1"]])]);
    let world = world(hosts(&[format!("plain.example.org:{port}")]), names, &vars(&[]));
    let host = format!("plain.example.org:{port}");
    let record = |length: u16, rest: &[u8]| {
        let mut bytes = vec![22, 3, 1];
        bytes.extend(length.to_be_bytes());
        bytes.extend(rest);
        bytes
    };
    for (what, bytes) in [
        ("plain HTTP", b"GET / HTTP/1.1\r\nHost: plain.example.org\r\n\r\n".to_vec()),
        ("SSH", b"SSH-2.0-x\r\n".to_vec()),
        ("a record of data", vec![23, 3, 3, 0, 1, 0]),
        ("a handshake of another kind", record(4, &[2, 0, 0, 0])),
        ("an empty record", record(0, &[])),
        ("a record that is too long", record(u16::MAX, &vec![1; 70_000])),
        ("a greeting without an end", {
            let mut bytes = record(16_384, &[1, 0, 255, 255]);
            bytes.extend(vec![0; 16_380]);
            bytes.extend(record(16_384, &[0; 16_384]));
            bytes.extend(record(16_384, &[0; 16_384]));
            bytes
        }),
        ("nothing", Vec::new()),
    ] {
        let (head, mut stream) = tunnel(world.at, &host);
        assert!(head.starts_with("HTTP/1.1 200"), "{what}: {head}");
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let said = rest(&mut stream);
        assert!(said.is_empty() || said.starts_with("rye: a tunnel must begin"), "{what}: {said}");
    }
    let heard = server.heard().concat();
    assert!(heard.is_empty(), "the server heard {heard}");
    let traffic = world.proxy.end();
    assert_eq!(refusals(&traffic), [(host.as_str(), Refusal::NotTls)]);
    assert_eq!(traffic.refused[0].count, 8);
    assert_eq!(traffic.hosts, [], "what was refused is not a call as well");
}

#[test]
fn the_operators_own_proxy_is_asked_with_its_credentials_and_learns_no_token() {
    let outer = Server::new(|request, stream| {
        let answer: &str = match request.starts_with("CONNECT ") {
            true => "HTTP/1.1 200 OK\r\n\r\n\x15\x03\x03\x00\x02\x02\x28",
            false => HELLO,
        };
        let _ = stream.write_all(answer.as_bytes());
    });
    let url = format!("http://ann:pw@127.0.0.1:{}", outer.at.port());
    let operator = vars(&[("HTTPS_PROXY", &url), ("HTTP_PROXY", &url)]);
    let names = Names::new(&[]);
    let rules = ["far.example.org".to_owned(), "10.0.0.1".to_owned()];
    let world = world(hosts(&rules), names.clone(), &operator);
    let got = exchange(world.at, get("http://far.example.org/x", "far.example.org").as_bytes());
    assert!(got.starts_with("HTTP/1.1 200") && got.ends_with("hello"), "{got}");
    let (head, _stream) = tunnel(world.at, "far.example.org:443");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (refused, _) = tunnel(world.at, "near.example.org:443");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let heard = outer.heard();
    assert!(heard[0].starts_with("GET http://far.example.org/x HTTP/1.1\r\n"), "{heard:?}");
    assert!(heard[1].starts_with("CONNECT far.example.org:443 HTTP/1.1\r\n"), "{heard:?}");
    for one in &heard {
        assert!(one.contains("proxy-authorization: Basic YW5uOnB3"), "{one}");
        assert_eq!(one.matches("roxy-authorization").count(), 1, "{one}");
    }
    assert_eq!(names.asked("far.example.org"), 0, "the operator's proxy resolves");
}

#[test]
fn nothing_is_left_when_the_proxy_ends() {
    let server = Server::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        std::thread::sleep(Duration::from_mins(1));
    });
    let port = server.at.port();
    let host = format!("plain.example.org:{port}");
    let names = Names::new(&[("plain.example.org", &[&["127.0.0.1"]])]);
    let egress = service_at(&format!("http://127.0.0.1:{port}"), &["GET /**"]);
    let world = world(
        crate::host::Egress { hosts: hosts(std::slice::from_ref(&host)).hosts, ..egress },
        names,
        &vars(&[]),
    );
    let mut open = dial(world.at);
    open.write_all(get(&format!("http://{host}/"), &host).as_bytes()).unwrap();
    assert!(head(&mut open).starts_with("HTTP/1.1 200"));
    let (_, mut waiting) = tunnel(world.at, &host);
    let mut idle = dial(world.services[0]);
    let listened = listener(world.at);
    assert!(listened.is_some());
    let at = world.at;
    let traffic = world.proxy.end();
    assert_eq!(traffic.hosts[0].calls, 1);
    assert_eq!(refusals(&traffic), [(host.as_str(), Refusal::NotTls)], "nothing came by it");
    rest(&mut open);
    rest(&mut waiting);
    rest(&mut idle);
    assert_ne!(listener(at), listened, "it listens no longer");
}

/// The inode of the socket that listens there; another test may soon have the port.
fn listener(at: SocketAddr) -> Option<String> {
    let port = format!(":{:04X}", at.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let mut listen = rows.filter(|row| row[1].ends_with(&port) && row[3] == "0A");
    listen.next().map(|row| row[9].to_owned())
}
