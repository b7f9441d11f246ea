//! `sandbox.services`: a tool calls a server with a secret that is nowhere in its reach.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{BWRAP, doer, works};
use crate::world::World;
use crate::world::server::{Authority, Seen, Server, answer, ok};

/// Never whole in a test, so that only rye and the server have it in one piece.
const HALVES: [&str; 2] = ["sv-canary-0123456789", "+tail/of~the secret"];

fn canary() -> String {
    HALVES.concat()
}

fn service(upstream: &str, allow: &[&str]) -> String {
    format!(
        "sandbox.services.acme = {{upstream = \"{upstream}\", secret = \"ACME_TOKEN\", \
         header = \"X-Api-Key\", format = \"key {{}}\", allow = {}, env = \"ACME_URL\"}}",
        json!(allow)
    )
}

/// Looks for two halves, one behind the other, wherever the tool can read: its memory, that of
/// every process, environments, arguments and files. The halves are only ever apart in it.
const SEARCH: &str = r"
import re, urllib.request as u, urllib.error, http.client

def asked(path, method='GET', **headers):
    request = u.Request(os.environ['ACME_URL'] + path, method=method, headers=headers)
    try:
        with u.urlopen(request) as got:
            return [got.status, got.read().decode('latin-1'), dict(got.headers)]
    except urllib.error.HTTPError as error:
        return [error.code, error.read().decode('latin-1'), dict(error.headers)]
    except (OSError, http.client.HTTPException) as error:
        return [type(error).__name__]

answers = [asked('/echo'), asked('/coded'), asked('/refused'), asked('/away'), asked('/packed'),
           asked('/broken'), asked('/echo', 'POST'), asked('/other'), asked('/echo', **{'X-Api-Key': 'mine'})]

def held(piece, first, second):
    return any(piece.startswith(second, at.end()) for at in re.finditer(re.escape(first), piece))

def memory(process, first, second):
    regions = found = 0
    with open(f'/proc/{process}/maps') as maps, open(f'/proc/{process}/mem', 'rb', 0) as mem:
        for line in maps.read().splitlines():
            span, rights = line.split()[:2]
            if 'r' not in rights or line.endswith(('[vvar]', '[vsyscall]', '[vvar_vclock]')):
                continue
            start, end = (int(side, 16) for side in span.split('-'))
            # Pieces share more than the longest needle, so none is cut in two.
            for at in range(start, end, 1 << 22):
                try:
                    mem.seek(at)
                    piece = mem.read(min(end - at, (1 << 22) + 256))
                except (OSError, ValueError, OverflowError):
                    continue
                regions += 1
                found += held(piece, first, second)
    return regions, found

def search(first, second):
    places, looked = [], 0
    for process in [name for name in os.listdir('/proc') if name.isdigit()]:
        for part in ['environ', 'cmdline', 'status']:
            try:
                piece = open(f'/proc/{process}/{part}', 'rb').read()
            except OSError:
                continue
            looked += 1
            if held(piece, first, second):
                places.append(f'{part} of {process}')
        try:
            regions, found = memory(process, first, second)
        except OSError:
            continue
        looked += regions
        if found:
            places.append('memory')
    for root in ['/tmp', '/run', '/dev/shm', '/var/tmp', '/home', '/root', os.getcwd(), os.environ['HOME']]:
        for folder, _, files in os.walk(root):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if not os.path.isfile(path) or os.path.getsize(path) > 1 << 22:
                        continue
                    piece = open(path, 'rb').read()
                except OSError:
                    continue
                looked += 1
                if held(piece, first, second):
                    places.append(path)
    return sorted(set(places)), looked

first, second = said['first'].encode(), said['second'].encode()
# Another text that the tool has whole: the search finds what is there.
own = ('ctl-' + said['first']).encode() + b'=' + second
control = search(b'ctl-' + first + b'=', second)
print(json.dumps({'answers': answers, 'places': search(first, second), 'control': control,
                  'environ': 'ACME_TOKEN' in os.environ, 'url': os.environ['ACME_URL']}))
";

/// Sends back what it was told in each way that a server may.
fn echoing(seen: &Seen, _: usize) -> crate::world::server::Reply {
    let told = seen.header("x-api-key").unwrap_or_default().to_owned();
    let secret = told.strip_prefix("key ").unwrap_or_default();
    match seen.target.as_str() {
        "/echo" => answer(200, &format!("X-Echo: {told}\r\nSet-Cookie: s={secret}\r\n"), &told),
        "/coded" => {
            let percent = secret.replace('+', "%2B").replace('/', "%2F").replace(' ', "%20");
            let coded = [STANDARD.encode(&told), STANDARD.encode(secret), percent];
            answer(200, "", coded.join("\n"))
        }
        "/refused" => answer(401, "", format!("{{\"error\": \"the key {secret} is not known\"}}")),
        "/away" => answer(302, &format!("Location: http://127.0.0.1:1/?key={secret}\r\n"), ""),
        "/packed" => answer(200, "Content-Encoding: gzip\r\n", &told),
        _ => answer(200, "Content-Length: 999\r\n", secret),
    }
}

/// Whether a text holds the secret or a part of it that nobody else would write.
fn tells(text: &str) -> bool {
    let coded = STANDARD.encode(canary());
    [HALVES[0], HALVES[1], &coded[..16], "sv-canary"].iter().any(|part| text.contains(part))
}

#[test]
fn the_secret_of_a_service_is_nowhere_in_the_tool_nor_in_what_rye_writes() {
    if !works("sandbox::services::the_secret_of_a_service_is_nowhere…", BWRAP) {
        return;
    }
    let world = World::new().held().env("ACME_TOKEN", &canary()).env("RYE_LOG", "trace");
    let server = Server::new(echoing);
    let calls =
        ["GET /echo", "GET /coded", "GET /refused", "GET /away", "GET /packed", "GET /broken"];
    // The search reads all that there is, which takes its time on a busy machine.
    let header = service(&server.url(""), &calls) + "\n[config]\ntimeout = \"4m\"\n";
    doer(&world, "caller", &header);
    let receipt = world.outside().join("receipt.json");
    let [first, second] = HALVES.map(|half| format!("{half:?}"));
    let said = world.rye(&[
        "execute",
        "caller",
        "--json",
        "--trace",
        "--receipt",
        receipt.to_str().unwrap(),
        "-i",
        &format!("code={SEARCH}"),
        "-i",
        &format!("first={first}"),
        "-i",
        &format!("second={second}"),
    ]);
    let result = said.json();
    assert_eq!(said.status, 0, "{said:?}");
    let got = &result["data"];
    // The fixture: the server was told, and the search finds what the tool does have.
    assert_eq!(server.seen()[0].header("x-api-key"), Some(&*format!("key {}", canary())));
    let (control, looked) = (&got["control"][0], got["control"][1].as_u64().unwrap());
    assert!(control.as_array().unwrap().contains(&json!("memory")) && looked > 20, "{got:#}");
    assert_eq!(got["places"][0], json!([]), "where the tool finds the secret: {got:#}");
    assert_eq!(got["environ"], json!(false));
    let answers = got["answers"].as_array().unwrap();
    let statuses: Vec<_> = answers.iter().map(|answer| answer[0].clone()).collect();
    // urllib follows to the other place itself, where the network of the run has nothing.
    assert_eq!(
        json!([
            statuses[0],
            statuses[1],
            statuses[2],
            statuses[4],
            statuses[6],
            statuses[7],
            statuses[8]
        ]),
        json!([200, 200, 401, 502, 403, 403, 200]),
        "{got:#}"
    );
    assert_eq!(answers[0][1], "key ***", "{got:#}");
    let asked: Vec<String> = server.seen().iter().map(|seen| seen.target.clone()).collect();
    assert_eq!(asked, ["/echo", "/coded", "/refused", "/away", "/packed", "/broken", "/echo"]);
    assert!(
        server.seen().iter().all(|seen| seen.header("x-api-key").unwrap().starts_with("key sv-"))
    );
    // What rye writes. The halves themselves are parameters of this run, so both together count.
    for (what, text) in [
        ("standard output", said.stdout.clone()),
        ("standard error", said.stderr.clone()),
        ("the receipt", fs::read_to_string(&receipt).unwrap()),
    ] {
        assert!(!text.contains(&canary()), "{what}");
        assert!(!text.contains(&STANDARD.encode(canary())[..40]), "{what}");
    }
    let traffic = &result["metadata"]["traffic"];
    assert_eq!(traffic["hosts"][0]["host"], "acme", "{traffic}");
    assert_eq!(traffic["hosts"][0]["calls"], 7, "{traffic}");
    let refused: Vec<_> = traffic["refused"].as_array().unwrap().iter().collect();
    assert!(refused.iter().any(|row| row["what"] == "acme: POST /echo"), "{traffic}");
    for file in walkdir::WalkDir::new(world.outside()).into_iter().filter_map(Result::ok) {
        let text = fs::read(file.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(&canary()), "{}", file.path().display());
    }
}

#[test]
fn a_call_that_is_not_listed_is_told_the_line_to_add_and_the_plan_and_trace_tell_no_secret() {
    if !works("sandbox::services::a_call_that_is_not_listed…", BWRAP) {
        return;
    }
    let world = World::new().held().env("ACME_TOKEN", &canary()).env("RYE_LOG", "trace");
    let authority = Authority::new("of the test");
    let certificates = world.write("ca.pem", authority.pem());
    let world = world.env("SSL_CERT_FILE", certificates.to_str().unwrap());
    let identity = authority.identity("127.0.0.1", false);
    let server = Server::tls(&identity, |seen, _| ok(&json!(seen.target).to_string()));
    doer(&world, "caller", &service(&server.tls_url("/api/v3"), &["GET /repos/**"]));
    let code = "code=import urllib.request as u, urllib.error\ngot = []\n\
                for path in ['/repos/a?b=c', '/user', '/repos/%2e%2e/user', '/repos/../user']:\n\
                \x20   try: got.append(json.load(u.urlopen(os.environ['ACME_URL'] + path)))\n\
                \x20   except urllib.error.HTTPError as e: got.append([e.code, e.read().decode()])\n\
                print(json.dumps(got))";
    let said = world.rye(&["execute", "caller", "--json", "--trace", "-i", code]).ok();
    let got = said.json()["data"].clone();
    assert_eq!(got[0], "/api/v3/repos/a?b=c", "over TLS that the operator believes: {got:#}");
    assert_eq!((&got[1][0], &got[2][0], &got[3][0]), (&json!(403), &json!(400), &json!(400)));
    let line = "sandbox.services.acme.allow: [\"GET /user\"]";
    assert!(got[1][1].as_str().unwrap().contains(line), "{got:#}");
    assert_eq!(server.seen().len(), 1);
    for args in [
        &["execute", "caller", "--dry-run", "--json", "-i", "code=1"][..],
        &["explain", "caller"],
        &["why", "caller"],
    ] {
        let told = world.rye(args);
        assert!(!tells(&told.stdout) && !tells(&told.stderr), "{args:?}: {told:?}");
    }
    assert!(!tells(&said.stdout) && !tells(&said.stderr), "{said:?}");
}

#[test]
fn a_service_whose_secret_is_not_set_or_whose_server_is_another_is_not_called_table() {
    if !works("sandbox::services::a_service_whose_secret_is_not_set…", BWRAP) {
        return;
    }
    let server = Server::new(echoing);
    let code = "code=import urllib.request as u, urllib.error\n\
                try: print(json.dumps(u.urlopen(os.environ['ACME_URL'] + '/echo').status))\n\
                except urllib.error.HTTPError as e: print(json.dumps(e.code))";
    let long = "s".repeat(16 << 10);
    let rows = [
        (Some("plain-canary"), 0, ""),
        (Some(&long[..]), 0, ""),
        (None, 2, "plan.missing_secret"),
        (Some("two\nlines"), 2, "plan.bad_config"),
        (Some(&[&long, "s"].concat()[..]), 2, "plan.bad_config"),
    ];
    for (secret, status, code_of_it) in rows {
        let world = World::new().held();
        let world = match secret {
            Some(secret) => world.env("ACME_TOKEN", secret),
            None => world,
        };
        doer(&world, "caller", &service(&server.url(""), &["GET /echo"]));
        let before = server.seen().len();
        let said = world.rye(&["execute", "caller", "--json", "-i", code]);
        let called = server.seen().len() - before;
        assert_eq!(
            (said.status == 0, called == 1),
            (status == 0, status == 0),
            "{secret:?} {said:?}"
        );
        assert_eq!(said.json()["code"].as_str().unwrap_or_default(), code_of_it, "{said:?}");
        assert!(!said.stdout.contains("canary") && !said.stdout.contains("lines\""), "{said:?}");
    }
    // A certificate that nobody here believes: the secret does not leave.
    let authority = Authority::new("of nobody");
    let identity = authority.identity("127.0.0.1", false);
    let strange = Server::tls(&identity, echoing);
    let world = World::new().held().env("ACME_TOKEN", &canary());
    doer(&world, "caller", &service(&strange.tls_url(""), &["GET /echo"]));
    let said = world.rye(&["execute", "caller", "--json", "-i", code]);
    assert_eq!((said.status, &said.json()["data"]), (0, &Value::from(502)), "{said:?}");
    assert!(strange.seen().is_empty());
}
