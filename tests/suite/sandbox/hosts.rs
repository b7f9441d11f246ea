//! `sandbox.net: {hosts: […]}`: a tool reaches the hosts that it lists, through rye, and no others.
//!
//! Each test is in a network of its own (`network.rs`), where names and public addresses are real.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::network::{ONE, OTHER, in_own_network};
use super::{BWRAP, LANDLOCK, doer, does, levels, works};
use crate::world::World;
use crate::world::server::{Authority, Server, answer, ok};

/// The certificates that a tool believes, in its project.
const TRUSTS: &str = "env_config = {env = {SSL_CERT_FILE = \"{project_path}/ca.pem\", \
                      CURL_CA_BUNDLE = \"{project_path}/ca.pem\", \
                      GIT_SSL_CAINFO = \"{project_path}/ca.pem\", \
                      NODE_EXTRA_CA_CERTS = \"{project_path}/ca.pem\"}}\n";

/// A world in which tools are held, and an authority that they believe.
pub fn world() -> (World, Authority) {
    let world = World::new().held();
    let authority = Authority::new("of the test");
    world.write("ca.pem", authority.pem());
    (world, authority)
}

pub fn hosts(list: &[&str]) -> String {
    format!("{TRUSTS}sandbox = {{net = {{hosts = {}}}}}", json!(list))
}

/// Runs the code in the tool, which must do well, and gives what it printed.
pub fn printed(world: &World, code: &str) -> Value {
    let (said, status) = does(world, "caller", BWRAP, code);
    assert_eq!(status, 0, "{said:#}");
    said["data"].clone()
}

#[test]
fn a_listed_host_is_reached_by_its_name_and_what_went_through_is_counted() {
    in_own_network(
        "sandbox::hosts::a_listed_host_is_reached_by_its_name_and_what_went_through_is_counted",
        |names| {
            names.is("api.example.org", &[ONE]);
            let (world, authority) = world();
            let identity = authority.identity("api.example.org", false);
            let server =
                Server::at(&format!("{ONE}:443"), Some(&identity), |_, _| ok("{\"n\": 1}"));
            doer(&world, "caller", &hosts(&["api.example.org"]));
            let receipt = world.outside().join("receipt.json");
            let code = "import urllib.request as u\nprint(u.urlopen('https://api.example.org/x').read().decode())";
            let said = world.rye(&[
                "execute",
                "caller",
                "--json",
                "--trace",
                "--receipt",
                receipt.to_str().unwrap(),
                "-i",
                &format!("code={code}"),
            ]);
            let result = said.json();
            assert_eq!((said.status, &result["data"]), (0, &json!({"n": 1})), "{said:?}");
            assert_eq!(server.seen()[0].target, "/x");
            assert_eq!(result["metadata"]["sandbox"]["net"], json!({"hosts": ["api.example.org"]}));
            let traffic = &result["metadata"]["traffic"];
            assert_eq!(
                (&traffic["hosts"][0]["host"], &traffic["hosts"][0]["calls"]),
                (&json!("api.example.org:443"), &json!(1))
            );
            assert!(traffic["hosts"][0]["received_bytes"].as_u64().unwrap() > 500, "{traffic}");
            assert!(traffic["hosts"][0]["sent_bytes"].as_u64().unwrap() > 200, "{traffic}");
            assert_eq!(traffic["refused"], json!([]));
            let events = result["trace"].as_array().unwrap();
            let event = events.iter().find(|event| event["step"] == "traffic").expect("an event");
            assert_eq!(event["hosts"], traffic["hosts"]);
            let envelope: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
            let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
            let statement: Value = serde_json::from_slice(&payload).unwrap();
            assert_eq!(&statement["predicate"]["traffic"], traffic);
            world.rye(&["receipt", "verify", receipt.to_str().unwrap()]).ok();
        },
    );
}

#[test]
fn a_host_whose_addresses_are_not_public_is_told_with_the_line_that_lets_the_tool_reach_it() {
    in_own_network(
        "sandbox::hosts::a_host_whose_addresses_are_not_public_is_told_with_the_line_that_lets_the_tool_reach_it",
        |names| {
            names.is("mirror.example.org", &["10.20.30.40"]);
            let (world, _) = world();
            doer(&world, "caller", &hosts(&["mirror.example.org"]));
            let code = "code=import urllib.request as u\nu.urlopen('https://mirror.example.org/x')";
            let said = world.rye(&["run", "caller", "-i", code]);
            assert_eq!(said.status, 1, "{said:?}");
            said.warns("`mirror.example.org:443`, whose addresses are not public ones");
            said.warns("such as `\"10.20.30.40\"`");
        },
    );
}

/// Files that a server hands out by their paths.
fn files(
    files: Vec<(String, Vec<u8>)>,
) -> impl Fn(&crate::world::server::Seen, usize) -> crate::world::server::Reply + Send + Sync {
    move |seen, _| {
        let path = seen.target.split('?').next().unwrap_or_default();
        match files.iter().find(|(known, _)| known == path) {
            Some((known, bytes)) => {
                let kind = if known.ends_with('/') { "Content-Type: text/html\r\n" } else { "" };
                answer(200, kind, bytes)
            }
            None => answer(404, "", ""),
        }
    }
}

/// A repository as plain files below `/repo.git`, as any web server can hand it out.
fn repository(world: &World) -> Vec<(String, Vec<u8>)> {
    let script = "git init -q -b main work && cd work && echo hello > file && git add file && \
                  git -c user.name=a -c user.email=a@b commit -q -m one && cd .. && \
                  git clone -q --bare work repo.git && cd repo.git && git update-server-info && \
                  find . -type f -printf '%P\\n'";
    let made = Command::new("sh").args(["-c", script]).current_dir(world.outside()).output();
    let made = made.expect("sh starts");
    assert!(made.status.success(), "{made:?}");
    let listed = String::from_utf8(made.stdout).expect("names");
    let read = |path: &str| fs::read(world.outside().join("repo.git").join(path)).expect("a file");
    listed.lines().map(|path| (format!("/repo.git/{path}"), read(path))).collect()
}

/// A wheel with nothing but its own description (PEP 427), and its page of an index (PEP 503).
const WHEEL: &str = "
import zipfile, sys
with zipfile.ZipFile(sys.argv[1] + '/tiny-1.0-py3-none-any.whl', 'w') as out:
    out.writestr('tiny.py', 'x = 1\\n')
    out.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    out.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    out.writestr('tiny-1.0.dist-info/RECORD', '')
";

#[test]
fn real_programs_reach_a_listed_host_over_https_and_no_other() {
    crate::world::NODE.needed();
    in_own_network(
        "sandbox::hosts::real_programs_reach_a_listed_host_over_https_and_no_other",
        |names| {
            names.is("pkg.example.org", &[ONE]);
            names.is("other.example.net", &[OTHER]);
            let (world, authority) = world();
            let listed = authority.identity("pkg.example.org", false);
            let unlisted = authority.identity("other.example.net", false);
            let made = Command::new("python3").args(["-c", WHEEL]).arg(world.outside()).status();
            assert!(made.expect("python3 starts").success());
            let wheel = "tiny-1.0-py3-none-any.whl";
            let page = format!("<a href=\"/{wheel}\">{wheel}</a>");
            let package = json!({
                "name": "tiny", "dist-tags": {"latest": "1.2.3"},
                "versions": {"1.2.3": {"name": "tiny", "version": "1.2.3", "dist": {"tarball": "https://pkg.example.org/t.tgz"}}},
            });
            let mut handed_out = repository(&world);
            handed_out.extend([
                ("/hello".into(), b"hello".to_vec()),
                ("/simple/tiny/".into(), page.into_bytes()),
                (format!("/{wheel}"), fs::read(world.outside().join(wheel)).unwrap()),
                ("/npm/tiny".into(), package.to_string().into_bytes()),
            ]);
            let _listed =
                Server::at(&format!("{ONE}:443"), Some(&listed), files(handed_out.clone()));
            let other = Server::at(&format!("{OTHER}:443"), Some(&unlisted), files(handed_out));
            let node = std::env::var("RYE_TEST_NODE").ok();
            let read = ["{project_path}".to_owned()].into_iter();
            let of_node = |bin: &String| bin.strip_suffix("/bin").unwrap_or(bin).to_owned();
            let read: Vec<_> = read.chain(node.iter().map(of_node)).collect();
            let net = hosts(&["pkg.example.org"]);
            let net = net.strip_suffix('}').expect("a table");
            doer(&world, "caller", &format!("{net}, fs = {{read = {}}}}}", json!(read)));
            // Each prints `yes` if it got what it asked for.
            let shell = |command: &str| {
                format!(
                    "r = subprocess.run(['sh', '-c', {}], capture_output=True, text=True)\n\
                 print(json.dumps([r.returncode, (r.stdout + r.stderr)[-900:]]))",
                    json!(command)
                )
            };
            let fetch = "fetch('https://HOST/hello').then(r => r.text()).then(t => console.log(t === 'hello' ? 'yes' : t), e => { console.log(String(e.cause || e)); process.exit(1) })";
            let urllib = "import urllib.request as u; print('yes' if u.urlopen('https://HOST/hello', timeout=20).read() == b'hello' else 'no')";
            let requests = "import pip._vendor.requests as r; print('yes' if r.get('https://HOST/hello', timeout=20, verify='ca.pem').text == 'hello' else 'no')";
            let rows = [
            ("curl", "test \"$(curl -sS --max-time 20 https://HOST/hello)\" = hello && echo yes".to_owned()),
            ("python3", format!("python3 -c \"{urllib}\"")),
            ("python3", format!("python3 -c \"{requests}\"")),
            ("git", "cd $TMPDIR && git -c http.lowSpeedTime=20 clone -q https://HOST/repo.git got && cat got/file && echo yes".to_owned()),
            ("python3", format!("P=$PWD; cd $TMPDIR && python3 -m pip download -q --no-deps --retries 0 --timeout 20 --cert $P/ca.pem --index-url https://HOST/simple tiny && test -f {wheel} && echo yes")),
            ("npm", "cd $TMPDIR && test \"$(HOME=$TMPDIR npm view tiny version --registry https://HOST/npm/ --cafile $OLDPWD/ca.pem --fetch-retries 0 --fetch-timeout 20000)\" = 1.2.3 && echo yes".to_owned()),
            ("node", format!("{} -e \"{fetch}\"", node.as_deref().map_or("node".to_owned(), |folder| format!("{folder}/node")))),
        ];
            for (program, command) in rows {
                let there =
                    Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
                let is_old_node = program == "node" && node.is_none();
                if is_old_node || !there.expect("sh starts").status.success() {
                    super::not_run(
                        "sandbox::hosts::real_programs…",
                        program,
                        "it is not installed, or knows no proxy",
                    );
                    continue;
                }
                let got = printed(&world, &shell(&command.replace("HOST", "pkg.example.org")));
                assert!(
                    got[0] == 0 && got[1].as_str().unwrap().trim_end().ends_with("yes"),
                    "{program}: {got:#}"
                );
                let got = printed(&world, &shell(&command.replace("HOST", "other.example.net")));
                assert!(
                    got[0] != 0 && !got[1].as_str().unwrap().contains("yes"),
                    "{program}: {got:#}"
                );
            }
            assert!(other.seen().is_empty(), "the other host was never asked");
        },
    );
}

#[test]
fn a_tool_that_lists_hosts_does_not_run_at_a_level_that_cannot_hold_it() {
    for level in levels("a_tool_that_lists_hosts_does_not_run_at_a_level_that_cannot_hold_it") {
        let (world, _) = world();
        doer(&world, "caller", &hosts(&["api.example.org"]));
        let (said, status) = does(&world, "caller", level, "print(1)");
        match level {
            LANDLOCK => {
                assert_eq!(
                    (status, &said["code"]),
                    (6, &json!("sandbox.cannot_limit")),
                    "{said:#}"
                );
                assert!(
                    said["error"].as_str().unwrap().contains("landlock knows ports and no hosts"),
                    "{said:#}"
                );
            }
            _ => assert_eq!((status, &said["data"]), (0, &json!(1)), "{said:#}"),
        }
    }
}

#[test]
fn two_runs_at_once_have_a_way_out_each() {
    in_own_network("sandbox::hosts::two_runs_at_once_have_a_way_out_each", |names| {
        names.is("one.example.org", &[ONE]);
        names.is("two.example.org", &[ONE]);
        let (world, _) = world();
        let server = Server::at(&format!("{ONE}:80"), None, |seen, _| {
            ok(&json!(seen.header("host")).to_string())
        });
        doer(&world, "first", &hosts(&["one.example.org"]));
        doer(&world, "second", &hosts(&["two.example.org"]));
        let code = "import urllib.request as u, urllib.error\ngot = {}\nfor name in ['one', 'two']:\n    try: got[name] = u.urlopen(f'http://{name}.example.org/').status\n    except urllib.error.HTTPError as e: got[name] = e.code\nprint(json.dumps(got))";
        std::thread::scope(|scope| {
            let runs =
                ["first", "second"].map(|tool| scope.spawn(|| does(&world, tool, BWRAP, code)));
            let [first, second] = runs.map(|run| run.join().expect("a run"));
            assert_eq!(first.0["data"], json!({"one": 200, "two": 403}), "{:#}", first.0);
            assert_eq!(second.0["data"], json!({"one": 403, "two": 200}), "{:#}", second.0);
        });
        assert_eq!(server.seen().len(), 2);
    });
}

#[test]
fn a_listed_address_of_this_machine_is_reached_by_both_of_its_names() {
    let test = "a_listed_address_of_this_machine_is_reached_by_both_of_its_names";
    if !works(test, BWRAP) {
        return;
    }
    let server = Server::new(|_, _| ok("{\"n\": 1}"));
    let world = World::new().held();
    doer(&world, "caller", &hosts(&[&format!("127.0.0.1:{}", server.port())]));
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", server.port());
        let code = format!("import urllib.request as u\nprint(u.urlopen({url:?}).read().decode())");
        assert_eq!(printed(&world, &code), json!({"n": 1}), "{url}");
    }
    doer(&world, "caller", &hosts(&["127.0.0.1:9"]));
    let code = "import urllib.request as u\nu.urlopen('http://localhost:10')";
    let (said, status) = does(&world, "caller", BWRAP, code);
    let help = said["help"].as_str().unwrap_or_default();
    assert!(status == 1 && help.contains("asked for `127.0.0.1:10`"), "{said:#}");
}

#[test]
fn a_tool_that_was_refused_a_host_is_told_the_line_to_add() {
    in_own_network(
        "sandbox::hosts::a_tool_that_was_refused_a_host_is_told_the_line_to_add",
        |names| {
            names.is("api.example.org", &[ONE]);
            let (world, _) = world();
            doer(&world, "caller", &hosts(&["other.example.net"]));
            let code = "import urllib.request as u\nu.urlopen('https://api.example.org/')";
            let (said, status) = does(&world, "caller", BWRAP, code);
            assert_eq!((status, &said["code"]), (1, &json!("execute.tool_failed")), "{said:#}");
            let help = said["help"].as_str().unwrap();
            assert!(
                help.contains("`api.example.org`") && help.contains("sandbox.net.hosts"),
                "{help}"
            );
            let row = &said["metadata"]["traffic"]["refused"][0];
            assert_eq!(
                (&row["what"], &row["why"]),
                (&json!("api.example.org:443"), &json!("not_listed"))
            );
        },
    );
}

#[test]
fn the_hosts_of_a_tool_are_told_wherever_it_is_and_fit_a_narrow_terminal() {
    let world = World::new().env("NO_COLOR", "1");
    let names: Vec<String> = (0..12).map(|n| format!("host-{n}.example.org")).collect();
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    doer(&world, "caller", &hosts(&list));
    doer(&world, "plain", &hosts(&list[..1]));
    for words in [["show", "caller"], ["describe", "caller"], ["trust", "review"]] {
        world.rye(&words).ok().shows(&list.join(", "));
        let shown = world.rye_in_columns(80, &words).stdout;
        assert!(shown.contains(list[11]), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
}

#[test]
fn what_went_through_is_told_of_a_program_that_breaks_its_protocol_too() {
    let test = "what_went_through_is_told_of_a_program_that_breaks_its_protocol_too";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new().held();
    let code = "#!/usr/bin/env python3\nimport sys, urllib.request as u\n\
                for line in sys.stdin:\n    \
                try: u.urlopen('https://api.example.org/')\n    \
                except OSError: pass\n    \
                print('nonsense', flush=True)\n    break\n";
    let main = world.write(".ai/tools/speaks/main.py", code);
    fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).unwrap();
    for (name, runtime) in [("oneshot", "exec"), ("server", "server")] {
        world.signed(
            &format!(".ai/tools/speaks/{name}.yaml"),
            &format!(
                "version: 1.0.0\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/{name}\n\
                 category: speaks\ndescription: x\n\
                 sandbox: {{net: {{hosts: [other.example.net]}}}}\n\
                 exec: {{command: ./main.py, runtime: {runtime}, files: [main.py]}}\n"
            ),
        );
        let said = world.rye(&["execute", &format!("speaks/{name}"), "--json"]).json();
        assert_eq!(said["code"], "protocol.bad_response", "{name}: {said:#}");
        let row = &said["data"]["traffic"]["refused"][0];
        assert_eq!(row["what"], json!("api.example.org:443"), "{name}: {said:#}");
    }
}

#[test]
fn what_went_through_is_told_of_a_tool_that_does_not_end_in_time_too() {
    if !works("sandbox::hosts::what_went_through_is_told_of_a_tool_that_does_not_end…", BWRAP) {
        return;
    }
    let world = World::new().held();
    doer(&world, "caller", &format!("config = {{timeout = 5}}\n{}", hosts(&["other.example.net"])));
    let code = "import time, urllib.request as u\n\
                try: u.urlopen('https://api.example.org/')\n\
                except OSError: pass\ntime.sleep(600)";
    let (said, _) = does(&world, "caller", BWRAP, code);
    assert_eq!(said["code"], "execute.timeout", "{said:#}");
    let row = &said["data"]["traffic"]["refused"][0];
    assert_eq!(
        (&row["what"], &row["count"]),
        (&json!("api.example.org:443"), &json!(1)),
        "{said:#}"
    );
}

#[test]
fn nothing_of_the_way_out_is_left_behind_a_tool_that_is_killed() {
    in_own_network(
        "sandbox::hosts::nothing_of_the_way_out_is_left_behind_a_tool_that_is_killed",
        |names| {
            names.is("api.example.org", &[ONE]);
            let (world, _) = world();
            let server = Server::at(&format!("{ONE}:80"), None, |_, _| {
                crate::world::server::Reply::Hold(Vec::new())
            });
            doer(&world, "caller", &hosts(&["api.example.org"]));
            let code = "import urllib.request as u\nu.urlopen('http://api.example.org/')";
            let (said, status) = {
                let code = format!("code={code}");
                let said =
                    world.rye(&["execute", "caller", "--timeout", "2", "--json", "-i", &code]);
                (said.json(), said.status)
            };
            assert_eq!((status, &said["code"]), (6, &json!("execute.timeout")), "{said:#}");
            server.wait_until_left();
        },
    );
}

#[test]
fn the_proxy_of_the_operator_is_asked_for_the_listed_hosts() {
    in_own_network(
        "sandbox::hosts::the_proxy_of_the_operator_is_asked_for_the_listed_hosts",
        |names| {
            // Nobody here knows the name: the operator's proxy does.
            names.is("proxy.example.net", &[OTHER]);
            let (world, authority) = world();
            let identity = authority.identity("api.example.org", false);
            let _server =
                Server::at(&format!("{ONE}:443"), Some(&identity), |_, _| ok("\"through\""));
            let proxy = tunnels(OTHER, &format!("{ONE}:443"));
            doer(&world, "caller", &hosts(&["api.example.org"]));
            let code = "import urllib.request as u\nprint(u.urlopen('https://api.example.org/').read().decode())";
            let env = [("HTTPS_PROXY", "http://user:pass@proxy.example.net:3128")];
            let code = format!("code={code}");
            let said = world.rye_env(
                &world.project(),
                &["execute", "caller", "--json", "-i", &code],
                b"",
                &env,
            );
            assert_eq!((said.status, &said.json()["data"]), (0, &json!("through")), "{said:?}");
            let heads = proxy.lock().unwrap().clone();
            assert_eq!(heads.len(), 1, "{heads:?}");
            assert!(heads[0].starts_with("CONNECT api.example.org:443 HTTP/1.1\r\n"), "{heads:?}");
            assert!(
                heads[0].to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjpwyxnz"),
                "{heads:?}"
            );
            assert!(
                !said.stdout.contains("user:pass") && !said.stdout.contains("dXNlcjpwYXNz"),
                "{said:?}"
            );
            // What is not listed, it is not asked for.
            let code = "code=import urllib.request as u\nu.urlopen('https://other.example.net/')";
            let said = world.rye_env(
                &world.project(),
                &["execute", "caller", "--json", "-i", code],
                b"",
                &env,
            );
            assert_eq!(said.status, 1, "{said:?}");
            assert_eq!(proxy.lock().unwrap().len(), 1);
        },
    );
}

/// A proxy that leads every tunnel to one place, and the heads of what it was asked.
fn tunnels(address: &str, to: &str) -> Arc<std::sync::Mutex<Vec<String>>> {
    use std::io::Write;
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = TcpListener::bind(format!("{address}:3128")).expect("a port");
    let (seen, to) = (heads.clone(), to.to_owned());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_err() {
                    break;
                }
                head.push(byte[0]);
            }
            seen.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
            let mut there = std::net::TcpStream::connect(&to).expect("the origin");
            let _ = stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n");
            let (mut from, mut into) = (stream.try_clone().unwrap(), there.try_clone().unwrap());
            std::thread::spawn(move || drop(std::io::copy(&mut from, &mut into)));
            std::thread::spawn(move || {
                drop(std::io::copy(&mut there, &mut stream));
                drop(stream.shutdown(std::net::Shutdown::Both));
            });
        }
    });
    heads
}

#[test]
fn what_a_look_saw_of_hosts_is_proposed_and_with_it_the_tool_runs() {
    in_own_network(
        "sandbox::hosts::what_a_look_saw_of_hosts_is_proposed_and_with_it_the_tool_runs",
        |names| {
            if !works("sandbox::hosts::what_a_look_saw…", BWRAP) {
                return;
            }
            names.is("api.example.org", &[ONE]);
            names.is("files.example.net", &[OTHER]);
            let (world, authority) = world();
            let identities = ["api.example.org", "files.example.net"]
                .map(|name| authority.identity(name, false));
            let _one = Server::at(&format!("{ONE}:443"), Some(&identities[0]), |_, _| ok("1"));
            let _two = Server::at(&format!("{OTHER}:8443"), Some(&identities[1]), |_, _| ok("2"));
            doer(&world, "caller", TRUSTS);
            let code = "code=import urllib.request as u\nprint(sum(int(u.urlopen(w).read()) for w in ['https://api.example.org/', 'https://files.example.net:8443/']))";
            let said = world.rye(&["learn", "caller", "--json", "-i", code]);
            let learned = said.json();
            assert_eq!(said.status, 0, "{said:?}");
            let want = json!({"hosts": ["api.example.org", "files.example.net:8443"]});
            assert_eq!(learned["sandbox"]["net"], want, "{learned:#}");
            world.rye(&["learn", "caller", "--write", "--json", "-i", code]).ok();
            world.rye(&["sign", "caller", "--yes"]).ok();
            let (said, status) = does(&world, "caller", BWRAP, code.strip_prefix("code=").unwrap());
            assert_eq!((status, &said["data"]), (0, &json!(3)), "{said:#}");
        },
    );
}

#[test]
fn a_program_that_serves_many_calls_is_held_to_its_hosts_and_each_call_tells_its_own_traffic() {
    in_own_network(
        "sandbox::hosts::a_program_that_serves_many_calls_is_held_to_its_hosts_and_each_call_tells_its_own_traffic",
        |names| {
            names.is("api.example.org", &[ONE]);
            let (world, _) = world();
            let _server = Server::at(&format!("{ONE}:80"), None, |_, _| ok("\"there\""));
            let program = "import json, sys, urllib.request as u, urllib.error\n\
                       for line in sys.stdin:\n    call = json.loads(line)\n    host = call['params']['args']['host']\n    \
                       try: got = u.urlopen(f'http://{host}/').status\n    except urllib.error.HTTPError as e: got = e.code\n    \
                       print(json.dumps({'jsonrpc': '2.0', 'id': call['id'], 'result': got}), flush=True)\n";
            world.write(".ai/tools/acme/served.files/run.py", program);
            world.signed(
            ".ai/tools/acme/served.yaml",
            "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/server\ncategory: acme\n\
             description: x\ninput_schema: {type: object, properties: {host: {type: string}}}\n\
             sandbox: {net: {hosts: [api.example.org]}}\nexec:\n  command: python3\n  \
             args: [served.files/run.py]\n  runtime: server\n  files: [served.files/run.py]\n",
        );
            for (host, status, calls) in
                [("api.example.org", 200, 1), ("other.example.net", 403, 0)]
            {
                let said = world.rye(&["run", "acme/served", &format!("host={host}"), "--json"]);
                let result = said.json();
                assert_eq!((said.status, &result["data"]), (0, &json!(status)), "{said:?}");
                let traffic = &result["metadata"]["traffic"];
                assert_eq!(traffic["hosts"].as_array().map(Vec::len), Some(calls), "{traffic}");
                assert_eq!(
                    traffic["refused"].as_array().map(Vec::len),
                    Some(1 - calls),
                    "{traffic}"
                );
            }
        },
    );
}

#[test]
fn a_tool_is_watched_with_its_services_and_nobody_else_on_the_machine_can_use_them() {
    if !works("sandbox::hosts::a_tool_is_watched_with_its_services…", BWRAP) {
        return;
    }
    let world = World::new().held().env("ACME_TOKEN", "canary-of-the-service");
    let server = Server::new(|seen, _| ok(&json!(seen.header("authorization")).to_string()));
    let service = format!(
        "[sandbox.services.acme]\nupstream = \"{}\"\nsecret = \"ACME_TOKEN\"\nallow = [\"GET /**\"]\nenv = \"ACME_URL\"",
        server.url("")
    );
    doer(&world, "caller", &service);
    let code = "code=import urllib.request as u, urllib.error, urllib.parse\nat = os.environ['ACME_URL']\ngot = [json.load(u.urlopen(at + '/x'))]\n\
                try: u.urlopen('http://' + urllib.parse.urlsplit(at).netloc + '/x')\nexcept urllib.error.HTTPError as e: got.append(e.code)\nprint(json.dumps(got))";
    let said = world.rye(&["learn", "caller", "--json", "-i", code]);
    let learned = said.json();
    assert_eq!((said.status, &learned["changed"]), (0, &json!(false)), "{said:?}");
    assert_eq!(learned["run"]["data"], json!(["Bearer ***", 403]), "{learned:#}");
    assert_eq!(learned["sandbox"], json!({}), "its services are all that it needs");
    assert_eq!(server.seen().len(), 1, "without the run's token nothing went there");
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer canary-of-the-service"));
    assert!(!said.stdout.contains("canary-of-the-service"), "{said:?}");
    // By itself the same, on a loopback of its own.
    let code = "code=import urllib.request as u\nprint(u.urlopen(os.environ['ACME_URL'] + '/x').read().decode())";
    let said = world.rye(&["run", "caller", code, "--json"]);
    assert_eq!((said.status, &said.json()["data"]), (0, &json!("Bearer ***")), "{said:?}");
    assert_eq!(said.json()["metadata"]["traffic"]["hosts"][0]["host"], "acme");
}
