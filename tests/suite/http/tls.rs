//! TLS: whom rye believes, and who decides that.

use super::{ask, signed, signed_with};
use crate::world::World;
use crate::world::server::{Authority, Server, answer, ok};
use serde_json::json;

/// The issuer's certificate in a file outside the project.
fn trusted(world: &World, authority: &Authority) -> String {
    let file = world.outside().join("issuer.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    file.display().to_string()
}

#[test]
fn a_server_is_believed_by_a_certificate_that_the_operator_trusts() {
    let world = World::new();
    let authority = Authority::new("one");
    let server = Server::tls(&authority.identity("127.0.0.1", false), |_, _| ok("\"over TLS\""));
    let file = trusted(&world, &authority);
    signed_with(
        &world,
        &format!("url: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}", server.tls_url("/")),
        "secrets: [API_TOKEN]",
    );
    let env = [("SSL_CERT_FILE", file.as_str()), ("API_TOKEN", "word")];
    let said = ask(&world, &[], &env);
    assert_eq!((said.status, &said.json()["data"]), (0, &json!("over TLS")), "{said:?}");
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer word"));
}

#[test]
fn a_server_that_cannot_prove_who_it_is_gets_nothing() {
    let world = World::new();
    let [authority, other, namesake] = ["one", "another", "one"].map(Authority::new);
    let file = trusted(&world, &authority);
    for (identity, word) in [
        (other.identity("127.0.0.1", false), "issuer that this machine does not trust"),
        (namesake.identity("127.0.0.1", false), "issuer that this machine does not trust"),
        (authority.identity("elsewhere.example", false), "for another name"),
        (authority.identity("127.0.0.1", true), "has expired"),
    ] {
        let server = Server::tls(&identity, |_, _| ok("1"));
        signed_with(
            &world,
            &format!("url: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}", server.tls_url("/")),
            "secrets: [API_TOKEN]",
        );
        let said = ask(&world, &["--trace"], &[("SSL_CERT_FILE", &file), ("API_TOKEN", "canary")]);
        assert_eq!((said.status, said.code().as_str()), (6, "execute.http"), "{word}: {said:?}");
        assert!(said.json()["error"].as_str().unwrap().contains(word), "{word}: {said:?}");
        assert_eq!(super::events(&said, "request").len(), 1, "{word}: not tried again");
        assert!(server.seen().is_empty(), "{word}: no request was sent");
    }
    let server = Server::tls(&other.identity("127.0.0.1", false), |_, _| ok("1"));
    let said = world.rye(&["--yes", "import", "mcp", &server.tls_url("/mcp")]);
    said.warns("its certificate is not believed, give its issuer's in SSL_CERT_FILE");
    // One that speaks no TLS at all.
    let plain = Server::new(|_, _| ok("1"));
    signed(&world, &format!("url: '{}'\nretry: {{attempts: 1}}", plain.tls_url("/")));
    let said = ask(&world, &["--timeout", "20"], &[("SSL_CERT_FILE", &file)]);
    assert_eq!(said.status, 6, "{said:?}");
}

#[test]
fn a_project_does_not_decide_who_is_trusted() {
    let world = World::new();
    let authority = Authority::new("one");
    let server = Server::tls(&authority.identity("127.0.0.1", false), |_, _| ok("1"));
    let file = trusted(&world, &authority);
    signed(&world, &format!("url: '{}'", server.tls_url("/")));
    assert_eq!(ask(&world, &[], &[("SSL_CERT_FILE", &file)]).status, 0);
    world.write(".env", format!("SSL_CERT_FILE={file}\n"));
    assert_eq!(ask(&world, &[], &[]).code(), "execute.http");
    let more = format!("env_config: {{env: {{SSL_CERT_FILE: '{file}'}}}}");
    signed_with(&world, &format!("url: '{}'", server.tls_url("/")), &more);
    assert_eq!(ask(&world, &[], &[]).code(), "execute.http");
    assert_eq!(server.seen().len(), 1);
    // An operator's file without certificates is no reason to believe everybody.
    let empty = world.outside().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for path in [empty, world.outside().join("no-such.pem")] {
        let said = ask(&world, &[], &[("SSL_CERT_FILE", path.to_str().unwrap())])
            .fails_with("execute.http");
        assert!(said.json()["error"].as_str().unwrap().contains("SSL_CERT_FILE"), "{said:?}");
    }
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_redirect_never_leaves_tls() {
    let world = World::new();
    let authority = Authority::new("one");
    let plain = Server::new(|_, _| ok("\"plain\""));
    let there = plain.url("/");
    let identity = authority.identity("127.0.0.1", false);
    let server =
        Server::tls(&identity, move |_, _| answer(302, &format!("Location: {there}\r\n"), ""));
    let file = trusted(&world, &authority);
    signed(&world, &format!("url: '{}'", server.tls_url("/")));
    let said = ask(&world, &[], &[("SSL_CERT_FILE", &file)]).fails_with("execute.http");
    assert!(said.json()["error"].as_str().unwrap().contains("not encrypted"), "{said:?}");
    assert!(plain.seen().is_empty());
}

#[test]
fn the_operators_proxy_is_used_and_nobody_elses() {
    let world = World::new();
    let origin = Server::new(|_, _| ok("\"by proxy\""));
    let to = format!("127.0.0.1:{}", origin.port());
    // An address that leads here and is none of this machine alone, which no proxy gets to see.
    let address = format!("0.0.0.0:{}", origin.port());
    let proxy = Server::new(move |_, _| crate::world::server::Reply::Tunnel(to.clone()));
    let refusing = Server::new(|_, _| answer(403, "", "no"));
    signed(&world, &format!("url: 'http://{address}/x'\nretry: {{attempts: 1}}"));
    let url = proxy.url("").replace("http://", "http://me:canary-proxy@");
    let said = ask(&world, &[], &[("HTTP_PROXY", &url)]);
    assert_eq!((said.status, &said.json()["data"]), (0, &json!("by proxy")), "{said:?}");
    let seen = proxy.seen();
    assert_eq!((seen[0].method.as_str(), seen[0].target.as_str()), ("CONNECT", address.as_str()));
    assert!(seen[0].header("proxy-authorization").is_some());
    assert_eq!(origin.seen()[0].header("proxy-authorization"), None);
    let said = ask(&world, &[], &[("HTTP_PROXY", &url), ("NO_PROXY", "a.example, 0.0.0.0")]);
    assert_eq!((said.status, proxy.seen().len()), (0, 1), "{said:?}");
    world.write(".env", format!("HTTP_PROXY={url}\nHTTPS_PROXY={url}\nALL_PROXY={url}\n"));
    assert_eq!((ask(&world, &[], &[]).status, proxy.seen().len()), (0, 1));
    let refusing = refusing.url("").replace("http://", "http://me:canary-proxy@");
    for (bad, word) in [
        (refusing.as_str(), "the proxy refused"),
        ("http://me:canary-proxy@127.0.0.1:1", "the proxy `http://127.0.0.1:1` cannot be reached"),
        ("socks5://me:canary-proxy@127.0.0.1:1", "not a valid `http` or `https` URL"),
        ("http://me:canary-proxy@", "not a valid `http` or `https` URL"),
    ] {
        let said = ask(&world, &["--trace"], &[("HTTP_PROXY", bad)]);
        assert_eq!((said.status, said.code().as_str()), (6, "execute.http"), "{bad}: {said:?}");
        assert!(said.json()["error"].as_str().unwrap().contains(word), "{bad}: {said:?}");
        assert!(!format!("{said:?}").contains("canary-proxy"), "{said:?}");
    }
}

#[test]
fn what_goes_to_this_machine_goes_by_no_proxy_and_its_secret_stays_here() {
    let world = World::new();
    let origin = Server::new(|_, _| ok("\"here\""));
    let to = format!("127.0.0.1:{}", origin.port());
    let proxy = Server::new(move |_, _| crate::world::server::Reply::Tunnel(to.clone()));
    let url = proxy.url("");
    let ways = [("HTTP_PROXY", url.as_str()), ("ALL_PROXY", &url), ("API_TOKEN", "canary-token")];
    let config = |host: &str| {
        let auth = "auth: {type: bearer, secret: API_TOKEN}\nretry: {attempts: 1}";
        let auth = format!("{auth}\ncleartext: {}", host == "0.0.0.0");
        let url = format!("url: 'http://{host}:{}/'\n{auth}", origin.port());
        signed_with(&world, &url, "secrets: [API_TOKEN]");
    };
    // To another server the same goes by the proxy.
    config("0.0.0.0");
    let said = ask(&world, &[], &ways);
    assert_eq!((said.status, proxy.seen().len(), origin.seen().len()), (0, 1, 1), "{said:?}");
    for host in ["127.0.0.1", "localhost"] {
        config(host);
        let said = ask(&world, &[], &ways);
        assert_eq!((said.status, &said.json()["data"]), (0, &json!("here")), "{host}: {said:?}");
        let seen = origin.seen().pop().unwrap();
        assert_eq!(seen.header("authorization"), Some("Bearer canary-token"), "{host}");
        assert_eq!(proxy.seen().len(), 1, "{host}: the proxy was asked");
    }
    // Nobody may listen there, but then the proxy is not asked either.
    for host in ["[::1]", "127.9.9.9"] {
        config(host);
        ask(&world, &[], &ways);
        assert_eq!(proxy.seen().len(), 1, "{host}: the proxy was asked");
    }
}
