//! Tests of what a child may reach, as data.

use super::egress::{AllowedCall, Egress, Refusal, Service, ServiceText, Traffic, plain_path};
use crate::base::HostRule;
use crate::base::limits::TRAFFIC_ROWS;

fn github(allow: &[String]) -> ServiceText<'_> {
    ServiceText {
        name: "github",
        upstream: "https://api.github.com",
        secret: "GITHUB_TOKEN",
        header: "Authorization",
        format: "Bearer {}",
        allow,
        env: "GITHUB_API_URL",
    }
}

#[test]
fn a_service_is_written_back_as_a_person_wrote_it_and_holds_no_secret() {
    let allow = ["GET /repos/**".to_owned(), "* /user".to_owned()];
    let service = Service::parse(github(&allow)).unwrap();
    assert_eq!(service.header_value("t{}p"), "Bearer t{}p");
    assert_eq!((service.name(), service.secret()), ("github", "GITHUB_TOKEN"));
    let hosts = vec![HostRule::parse("*.Example.org:8443").unwrap()];
    let egress = Egress { hosts, services: vec![service], ..Egress::default() };
    let want = serde_json::json!({
        "hosts": ["*.example.org:8443"],
        "services": [{
            "name": "github", "upstream": "https://api.github.com/", "secret": "GITHUB_TOKEN",
            "header": "Authorization", "format": "Bearer {}",
            "allow": ["GET /repos/**", "* /user"], "env": "GITHUB_API_URL",
        }],
    });
    assert_eq!(serde_json::to_value(&egress).unwrap(), want);
}

#[test]
fn what_is_wrong_with_a_service_is_told_by_its_field_table() {
    let allow = ["GET /x".to_owned()];
    let good = github(&allow);
    assert!(Service::parse(good).is_ok());
    for bad in ["", "GitHub", "a b", "a/b", &"x".repeat(65)] {
        let error = Service::parse(ServiceText { name: bad, ..good }).unwrap_err();
        assert_eq!(error.field, "name", "{bad}: {error:?}");
    }
    for bad in [
        "http://api.github.com",
        "http://192.0.2.7",
        "http://localhost:8080",
        "http://2130706433",
        "https://127.1",
        "https://u@api.github.com",
        "https://api.github.com/?x=1",
        "https://api.github.com/a//b",
        "https://api.github.com/%2e%2e/b",
        "ftp://api.github.com",
        "api.github.com",
    ] {
        let error = Service::parse(ServiceText { upstream: bad, ..good }).unwrap_err();
        assert_eq!(error.field, "upstream", "{bad}: {error:?}");
    }
    for fine in ["http://127.0.0.1:8080", "http://[::1]:8080/v1", "https://h:8443/api/v3"] {
        let got = Service::parse(ServiceText { upstream: fine, ..good });
        assert!(got.is_ok(), "{fine}: {got:?}");
    }
    for bad in ["", "1X", "A B", "A=B", "A-B"] {
        let error = Service::parse(ServiceText { secret: bad, ..good }).unwrap_err();
        assert_eq!(error.field, "secret", "{bad}");
        let error = Service::parse(ServiceText { env: bad, ..good }).unwrap_err();
        assert_eq!(error.field, "env", "{bad}");
    }
    let error = Service::parse(ServiceText { env: "GITHUB_TOKEN", ..good }).unwrap_err();
    assert_eq!(error.field, "env");
    for bad in ["", "a b", "a:", "Host", "content-length", "Transfer-Encoding", "Te"] {
        let error = Service::parse(ServiceText { header: bad, ..good }).unwrap_err();
        assert_eq!(error.field, "header", "{bad}");
    }
    for bad in ["", "Bearer", "{} {}", "{x}", "{}\r\nA: b", " {}", "{{}}", "\u{e4}{}"] {
        let error = Service::parse(ServiceText { format: bad, ..good }).unwrap_err();
        assert_eq!(error.field, "format", "{bad}");
    }
    assert_eq!(Service::parse(github(&[])).unwrap_err().field, "allow");
    let second = ["GET /x".to_owned(), "GET x".to_owned()];
    assert_eq!(Service::parse(github(&second)).unwrap_err().field, "allow/1");
    let many = vec!["GET /x".to_owned(); 65];
    assert_eq!(Service::parse(github(&many)).unwrap_err().field, "allow");
}

#[test]
fn what_is_not_a_call_is_refused_table() {
    for (text, want) in [
        ("", "not a method and a path"),
        ("GET", "not a method and a path"),
        ("/x", "not a method and a path"),
        ("get /x", "no method in upper case"),
        (" /x", "no method in upper case"),
        ("GET  /x", "does not begin with `/`"),
        ("GET x", "does not begin with `/`"),
        ("GET https://h/x", "does not begin with `/`"),
        ("TRACE /x", "never passed on"),
        ("CONNECT /x", "never passed on"),
        ("GET /x?y", "has a query"),
        ("GET /x#y", "has a query"),
        ("GET /{owner}", "write `*`"),
        ("GET /[a]", "write `*`"),
        ("GET /%41", "write `*`"),
        ("GET /a**", "beside other letters"),
        ("GET /***", "beside other letters"),
        ("GET /a/../b", "read in two ways"),
        ("GET /a//b", "read in two ways"),
        ("GET /a\\b", "read in two ways"),
        ("GET /a;b", "read in two ways"),
        ("GET /a\tb", "read in two ways"),
    ] {
        let error = AllowedCall::parse(text).expect_err(text);
        assert!(error.contains(want), "{text}: {error}");
    }
    assert!(AllowedCall::parse(&format!("GET /{}", "x".repeat(300))).is_err());
}

#[test]
fn what_a_list_of_calls_allows_table() {
    let calls = ["GET /repos/**", "POST /repos/*/issues", "* /user", "GET /v/*.json", "PUT /"];
    let service = Service::parse(github(&calls.map(String::from))).unwrap();
    for (method, path, want) in [
        ("GET", "/repos/a", true),
        ("GET", "/repos/a/b/c", true),
        ("GET", "/repos/", true),
        ("GET", "/repos", false),
        ("GET", "/reposx", false),
        ("GET", "/Repos/a", false),
        ("HEAD", "/repos/a", false),
        ("DELETE", "/repos/a", false),
        ("get", "/repos/a", false),
        ("POST", "/repos/a/issues", true),
        ("POST", "/repos/a/b/issues", false),
        ("POST", "/repos//issues", true),
        ("POST", "/repos/a/issues/1", false),
        ("GET", "/user", true),
        ("PATCH", "/user", true),
        ("TRACE", "/user", false),
        ("trace", "/user", false),
        ("CONNECT", "/user", false),
        ("GET", "/user/", false),
        ("GET", "/v/a.json", true),
        ("GET", "/v/a.b.json", true),
        ("GET", "/v/ä.json", true),
        ("GET", "/v/a\n.json", true),
        ("GET", "/v/a/b.json", false),
        ("GET", "/v/aXjson", false),
        ("PUT", "/", true),
        ("PUT", "/x", false),
        ("GET", "", false),
    ] {
        assert_eq!(service.allows(method, path), want, "{method} {path}");
    }
}

#[test]
fn a_path_that_may_be_read_in_two_ways_is_not_plain_table() {
    for (path, want) in [
        ("/", "/"),
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b/"),
        ("/a%20b/%C3%A4", "/a b/\u{e4}"),
        ("/a.b/..c/d../...", "/a.b/..c/d../..."),
        ("/%41", "/A"),
        ("/a:b@c,d=e&f", "/a:b@c,d=e&f"),
    ] {
        assert_eq!(plain_path(path).as_deref(), Some(want), "{path}");
    }
    for path in [
        "",
        "a",
        "*",
        "//",
        "/a//b",
        "//a",
        "/./a",
        "/a/.",
        "/a/..",
        "/../a",
        "/a/../b",
        "/%2e%2e/a",
        "/a/%2E%2e",
        "/a/.%2e/b",
        "/a%2fb",
        "/a%2Fb",
        "/a%5cb",
        "/a\\b",
        "/a%252e%252e",
        "/a%25",
        "/a;b",
        "/a/..;/b",
        "/a/;x/b",
        "/a%3bb",
        "/a%3fb",
        "/a%23b",
        "/a?b",
        "/a#b",
        "/a%00",
        "/a%0d%0ab",
        "/a%7f",
        "/a\tb",
        "/a%",
        "/a%4",
        "/a%zz",
        "/%+1",
        "/%ff",
        "/%c0%ae%c0%ae/",
        "/%c0%af",
        "/%20/a",
        "/..%20/a",
        "/%EF%BC%8E%EF%BC%8E/a",
        "/a%EF%BC%8Fb",
        "/a%C2%85b",
        "/\u{ff0f}",
    ] {
        assert_eq!(plain_path(path), None, "{path}");
    }
}

#[test]
fn traffic_has_so_many_rows_and_counts_the_rest() {
    let mut traffic = Traffic::default();
    traffic.add("a:443", 1, 10, 20);
    traffic.add("a:443", 1, 1, 2);
    assert_eq!((traffic.hosts[0].calls, traffic.hosts[0].sent_bytes), (2, 11));
    traffic.refuse("b:443\n", Refusal::NotListed);
    traffic.refuse("b:443\n", Refusal::NotListed);
    traffic.refuse("b:443\n", Refusal::NotTls);
    assert_eq!((traffic.refused[0].what.as_str(), traffic.refused[0].count), ("b:443\\n", 2));
    let rows = TRAFFIC_ROWS as u64;
    for at in 0..2 * TRAFFIC_ROWS {
        traffic.add(&format!("{at}:443"), 1, 0, 0);
        traffic.refuse(&format!("{at} {}", "ä".repeat(at)), Refusal::NotListed);
    }
    assert_eq!((traffic.hosts.len(), traffic.refused.len()), (TRAFFIC_ROWS, TRAFFIC_ROWS));
    assert_eq!(traffic.more_calls, rows + 1);
    let told: u64 = traffic.refused.iter().map(|row| row.count).sum();
    assert_eq!(told + traffic.more_refused, 2 * rows + 3);
    assert!(traffic.refused.iter().all(|row| row.what.len() < 400));
    let json = serde_json::to_value(&traffic).unwrap();
    assert_eq!(json["refused"][0]["why"], Refusal::NotListed.as_str());
    assert_eq!(serde_json::from_value::<Traffic>(json).unwrap(), traffic);
}
