//! What an item may declare of `services`, and what is closed beside them.

use serde_json::json;

use super::{BWRAP, doer, does, levels, works};
use crate::world::World;
use crate::world::items::{tool_by, tool_py};
use crate::world::server::{Server, ok};

fn service(name: &str, server: &Server, secret: &str, env: &str) -> String {
    format!(
        "[sandbox.services.{name}]\nupstream = \"{}\"\nsecret = \"{secret}\"\nallow = [\"GET /**\"]\nenv = \"{env}\"",
        server.url("")
    )
}

#[test]
fn the_file_that_gives_a_service_its_secret_is_closed_to_the_tool() {
    if !works("the_file_that_gives_a_service_its_secret_is_closed_to_the_tool", BWRAP) {
        return;
    }
    let world = World::new().held();
    let server =
        Server::new(|seen, _| ok(&json!(seen.header("authorization").is_some()).to_string()));
    world.write(".env", "ACME_TOKEN=canary-of-the-file\n");
    doer(&world, "plain", "");
    let (said, _) = does(&world, "plain", BWRAP, "print(open('.env').read()[::-1])");
    assert!(said.to_string().contains("elif-eht-fo-yranac"), "without a service it may: {said}");
    doer(&world, "caller", &service("acme", &server, "ACME_TOKEN", "ACME_URL"));
    let code = "import urllib.request as u\ngot = [json.load(u.urlopen(os.environ['ACME_URL'] + '/x'))]\n\
                for way in ['.env', os.getcwd() + '/.env']:\n    try: got.append(open(way).read()[::-1])\n    except OSError as e: got.append(e.errno)\nprint(json.dumps(got))";
    let (said, status) = does(&world, "caller", BWRAP, code);
    assert_eq!((status, &said["data"][0]), (0, &json!(true)), "{said:#}");
    assert!(!said.to_string().contains("yranac"), "{said:#}");
    let looked = world.rye(&["learn", "caller", "--json", "-i", &format!("code={code}")]);
    assert!(!looked.stdout.contains("yranac"), "{looked:?}");
    // Whoever names the file wants both, and gets neither.
    let both = format!(
        "sandbox.fs.read = [\"{{project_path}}/.env\"]\n{}",
        service("acme", &server, "ACME_TOKEN", "ACME_URL")
    );
    doer(&world, "caller", &both);
    let (said, _) = does(&world, "caller", BWRAP, "print(1)");
    assert_eq!(said["code"], "sandbox.bad_grant", "{said:#}");
}

/// A runtime of the project that starts Bash, with more in its header, and a tool through it.
fn chained(world: &World, of_runtime: &str, of_tool: &str) {
    let shipped =
        concat!(env!("CARGO_MANIFEST_DIR"), "/.ai/tools/rye/core/runtimes/shell/script.yaml");
    let runtime = std::fs::read_to_string(shipped).expect("a shipped runtime");
    let runtime: String = runtime.lines().skip(1).map(|line| format!("{line}\n")).collect();
    world.signed(".ai/tools/acme/rt.yaml", &format!("{runtime}{of_runtime}"));
    world.signed(".ai/tools/chained.sh", &tool_by("acme/rt", of_tool, "echo 1\n"));
}

#[test]
fn two_items_of_a_chain_share_no_service_and_no_secret_of_one() {
    if !works("two_items_of_a_chain_share_no_service_and_no_secret_of_one", BWRAP) {
        return;
    }
    let world = World::new().held().env("ONE_TOKEN", "one").env("OTHER_TOKEN", "other");
    let server = Server::new(|_, _| ok("1"));
    let of_runtime = |name: &str, secret: &str, env: &str| {
        format!(
            "sandbox:\n  services:\n    {name}: {{upstream: '{}', secret: {secret}, allow: ['GET /**'], env: {env}}}\n",
            server.url("")
        )
    };
    let of_tool = service("acme", &server, "ONE_TOKEN", "ONE_URL");
    chained(&world, &of_runtime("other", "OTHER_TOKEN", "OTHER_URL"), &of_tool);
    let said = world.rye(&["run", "chained", "--json"]);
    assert_eq!(said.status, 0, "the fixture itself runs: {said:?}");
    let secrets = "secrets: [ONE_TOKEN]\n".to_owned();
    for (of_runtime, words) in [
        (of_runtime("acme", "OTHER_TOKEN", "OTHER_URL"), "the name or the variable"),
        (of_runtime("other", "OTHER_TOKEN", "ONE_URL"), "the name or the variable"),
        (secrets, "keeps `ONE_TOKEN` from the tool"),
    ] {
        chained(&world, &of_runtime, &of_tool);
        let said = world.rye(&["run", "chained", "--json"]);
        let result = said.json();
        assert_eq!(result["code"], "sandbox.bad_grant", "{of_runtime}: {said:?}");
        assert!(result["error"].as_str().unwrap().contains(words), "{of_runtime}: {said:?}");
    }
    let many: String = (0..16)
        .map(|n| service(&format!("s{n}"), &server, "ONE_TOKEN", &format!("U{n}")) + "\n")
        .collect();
    chained(&world, &of_runtime("more", "OTHER_TOKEN", "OTHER_URL"), many.trim_end());
    let said = world.rye(&["run", "chained", "--json"]);
    assert_eq!(said.json()["code"], "sandbox.bad_grant", "17 services: {said:?}");
}

#[test]
fn a_service_takes_no_variable_that_steers_a_program() {
    let world = World::new().held();
    let server = Server::new(|_, _| ok("1"));
    for name in [
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "PATH",
        "PYTHONPATH",
        "HTTPS_PROXY",
        "RYE_PIN",
        "NODE_OPTIONS",
    ] {
        let header = service("acme", &server, "ACME_TOKEN", name);
        world.write(".ai/tools/steers.py", tool_py(&header, ""));
        let said = world.rye(&["sign", "steers", "--yes", "--json"]);
        assert!(said.stdout.contains("something else to every program"), "{name}: {said:?}");
    }
}

#[test]
fn a_secret_that_no_header_can_hold_is_told_before_anything_runs() {
    if !works("a_secret_that_no_header_can_hold_is_told_before_anything_runs", BWRAP) {
        return;
    }
    let world = World::new().held();
    let server = Server::new(|_, _| ok("1"));
    doer(&world, "caller", &service("acme", &server, "ACME_TOKEN", "ACME_URL"));
    for value in ["canary\n", "can\nary", "canary ", "\u{7f}canary"] {
        let env = [("ACME_TOKEN", value)];
        let said = world.rye_env(
            &world.project(),
            &["run", "caller", "code=print(1)", "--json"],
            b"",
            &env,
        );
        assert_eq!(said.json()["code"], "plan.bad_config", "{value:?}: {said:?}");
        assert!(said.stdout.contains("ACME_TOKEN") && !said.stdout.contains("canary"), "{said:?}");
    }
}

#[test]
fn no_pair_of_sockets_but_a_pipe_is_made_without_a_network() {
    for level in levels("no_pair_of_sockets_but_a_pipe_is_made_without_a_network") {
        let world = World::new().held();
        doer(&world, "paired", "sandbox.net = \"none\"");
        let code = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nmade = []\n\
                    for kind in range(16):\n    pair = (ctypes.c_int * 2)()\n    \
                    if libc.socketpair(1, kind, 0, pair) == 0: made.append(kind)\nprint(json.dumps(made))";
        let (said, status) = does(&world, "paired", level, code);
        assert_eq!((status, &said["data"]), (0, &json!([1, 5])), "{level}: {said:#}");
    }
}
