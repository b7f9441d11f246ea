//! Plain variables of a server, and the servers that the configuration of another client names.

use std::fs;

use serde_json::{Value, json};

use super::{asked, call, import, world};
use crate::world::{Said, World, program};

/// A server that says what its environment holds.
const ENV_PY: &str = "import json, os, sys\n\nfor line in sys.stdin:\n    asked = json.loads(line)\n    \
    result = {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'e', 'version': '1'}}\n    \
    if asked['method'] == 'tools/list':\n        result = {'tools': [{'name': 'env', 'inputSchema': {'type': 'object'}}]}\n    \
    if asked['method'] == 'tools/call':\n        said = {name: os.environ.get(name) for name in ('PLACE', 'SHOP_TOKEN')}\n        \
    result = {'content': [], 'structuredContent': said}\n    \
    if 'id' in asked:\n        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n";

fn with_servers(servers: &Value) -> World {
    let world = world();
    world.write("env.py", ENV_PY);
    world.write("mcp.json", json!({"mcpServers": servers}).to_string());
    world
}

fn import_config(world: &World, more: &[&str]) -> Said {
    world.rye(&[&["import", "mcp", "--config", "mcp.json", "--json"], more].concat())
}

#[test]
fn a_plain_variable_is_signed_with_the_items_and_given_to_the_server() {
    let world = world();
    world.write("env.py", ENV_PY);
    import(&world, &["--yes", "--env", "PLACE=data/a=b", "python3", "env.py"]).ok();
    let said = call(&world, "env", &json!({}));
    let want = json!({"PLACE": "data/a=b", "SHOP_TOKEN": null});
    assert_eq!(said.json()["data"], want, "{said:?}");
    // It is part of what was signed.
    let item = world.project().join(".ai/tools/shop/env.yaml");
    let text = fs::read_to_string(&item).unwrap();
    fs::write(&item, text.replace("data/a=b", "data/c")).unwrap();
    assert_eq!(call(&world, "env", &json!({})).code(), "verify.altered");
}

#[test]
fn what_cannot_be_a_plain_variable_is_refused() {
    let world = world().env("SHOP_TOKEN", "hush-a-by-baby");
    world.write("env.py", ENV_PY);
    for (env, status, part) in [
        ("PLACE", 2, "has no value"),
        ("=x", 2, "name of a variable"),
        ("A B=x", 2, "name of a variable"),
        ("PLACE=${HOME}", 2, "holds `${`"),
        ("SHOP_TOKEN=x", 7, "holds a secret"),
        ("PLACE=hush-a-by-baby", 7, "holds a secret"),
    ] {
        let args = ["--yes", "--secret", "SHOP_TOKEN", "--env", env, "python3", "env.py"];
        let said = import(&world, &args);
        assert_eq!(said.status, status, "{env}: {said:?}");
        assert!(said.json()["error"].as_str().unwrap().contains(part), "{env}: {said:?}");
        assert!(!said.stdout.contains("hush-a-by-baby") || env.ends_with("baby"), "{said:?}");
    }
    assert!(!world.project().join(".ai/tools/shop").exists());
}

#[test]
fn the_servers_of_another_client_become_items_a_folder_each() {
    let world = with_servers(&json!({
        "one": {"command": "python3", "args": ["env.py"], "env": {"PLACE": "here"}, "autoApprove": []},
        "two": {"type": "stdio", "command": "python3", "args": ["env.py"],
                "env": {"SHOP_TOKEN": "${SHOP_TOKEN}"}},
        "off": {"command": "nothing-of-that-name", "disabled": true},
    }));
    let secret = ["--secret", "SHOP_TOKEN"];
    let args = ["--category", "clients", "--env", "PLACE", "--yes"];
    let said = import_config(&world, &[&args[..], &secret[..]].concat());
    let got = said.json();
    assert_eq!((said.status, got["items"].as_array().map(Vec::len)), (0, Some(2)), "{said:?}");
    for part in ["`mcpServers.one.autoApprove` means nothing here", "`mcpServers.off` is disabled"]
    {
        assert!(got["remarks"].to_string().contains(part), "{part}: {said:?}");
    }
    assert!(!said.stdout.contains("hush"), "{said:?}");
    let env = |item: &str| world.json(&["execute", item]).1["data"].clone();
    assert_eq!(env("clients/one/env"), json!({"PLACE": "here", "SHOP_TOKEN": null}));
    assert_eq!(env("clients/two/env"), json!({"PLACE": null, "SHOP_TOKEN": "hush"}));
    // One of them alone, and a value that the file gives for the import alone.
    let args = ["--only", "two", "--category", "alone", "--yes"];
    let said = import_config(&world, &[&args[..], &secret[..]].concat());
    assert_eq!(said.json()["items"][0]["item_id"], "tool:alone/two/env", "{said:?}");
}

#[test]
fn nothing_that_another_client_s_file_names_is_started_or_asked_before_somebody_says_so() {
    let world = with_servers(&json!({
        "one": {"command": "sh", "args": ["-c", "echo > started"], "env": {"PLACE": "here"}},
        "two": {"url": "https://shop.invalid/mcp", "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}},
    }));
    let given = ["--env", "PLACE", "--secret", "SHOP_TOKEN"];
    let args = |more: &[&'static str]| {
        [&["import", "mcp", "--config", "mcp.json"], &given[..], more].concat()
    };
    let shown = ["sh -c 'echo > started'", "PLACE=here", "https://shop.invalid/mcp", "SHOP_TOKEN"];
    let is_started = || world.project().join("started").exists();
    for yes in [&["--dry-run"][..], &["--dry-run", "--yes"]] {
        let said = world.rye(&args(yes));
        assert_eq!((said.status, is_started()), (0, false), "{said:?}");
        for part in shown.into_iter().chain(["nothing was started, asked or written"]) {
            assert!(said.stdout.contains(part), "{part}: {said:?}");
        }
    }
    let said = import_config(&world, &[&given[..], &["--dry-run"]].concat());
    let want = json!([
        {"name": "one", "words": ["sh", "-c", "echo > started"], "secrets": [], "env": {"PLACE": "here"}},
        {"name": "two", "words": ["https://shop.invalid/mcp"], "secrets": ["SHOP_TOKEN"], "env": {}},
    ]);
    assert_eq!((said.status, &said.json()["servers"]), (0, &want), "{said:?}");
    for more in [&[][..], &["--json"]] {
        let said = world.rye(&args(more));
        assert_eq!((said.status, is_started()), (2, false), "{said:?}");
        assert!(
            format!("{}{}", said.stdout, said.stderr).contains("cli.not_confirmed"),
            "{said:?}"
        );
    }
    let said = world.rye_at_a_terminal("n\n", &args(&[]));
    assert_eq!((said.status, is_started()), (2, false), "{said:?}");
    assert!(shown.into_iter().all(|part| said.stdout.contains(part)), "{said:?}");
    let said = world.rye(&args(&["--yes"]));
    assert!(is_started(), "the fixture itself starts something: {said:?}");
}

#[test]
fn a_variable_that_another_client_s_file_names_goes_out_only_if_the_caller_names_it() {
    let asks = |name: &str| {
        json!([
            {"command": "sh", "args": ["-c", "echo > started"], "env": {name: format!("${{{name}}}")}},
            {"command": "sh", "args": ["-c", "echo > started"], "env": {name: format!("${{env:{name}}}")}},
            {"url": "https://shop.invalid/mcp", "headers": {"Authorization": format!("Bearer ${{env:{name}}}")}},
        ])
    };
    for name in ["SHOP_TOKEN", "HOME"] {
        for server in asks(name).as_array().unwrap() {
            let world = with_servers(&json!({"one": server}));
            let said = import_config(&world, &["--yes"]).fails(5, "import.value");
            let option = format!("`--secret {name}`");
            assert!(said.json()["error"].as_str().unwrap().contains(&option), "{said:?}");
            assert!(!world.project().join("started").exists(), "{said:?}");
            let said = import_config(&world, &["--dry-run", "--secret", name]);
            assert_eq!(said.json()["servers"][0]["secrets"], json!([name]), "{said:?}");
        }
    }
}

#[test]
fn what_would_be_started_is_shown_without_the_values_of_its_secrets() {
    let world = with_servers(&json!({"one": {
        "command": "sh", "args": ["-c", "echo xyzzy-12345 hush-a-by-baby"],
        "env": {"A": "xyzzy-12345", "SHOP_TOKEN": "${SHOP_TOKEN}"},
    }}));
    let world = world.env("SHOP_TOKEN", "hush-a-by-baby");
    for json in [&["--json"][..], &[]] {
        let args = ["import", "mcp", "--config", "mcp.json", "--secret", "A", "--secret"];
        world
            .rye(&[&args[..], &["SHOP_TOKEN", "--dry-run"], json].concat())
            .ok()
            .shows("echo *** ***");
    }
}

#[test]
fn a_value_of_another_client_s_file_stands_in_no_item_until_somebody_says_so() {
    let world = with_servers(&json!({"one": {
        "command": "python3", "args": ["env.py"], "env": {"PLACE": "xyzzy-12345"},
    }}));
    let said = import_config(&world, &["--yes"]).fails(5, "import.value");
    assert!(said.json()["error"].as_str().unwrap().contains("may be secret"), "{said:?}");
    assert!(!said.stdout.contains("xyzzy"), "{said:?}");
    let said = import_config(&world, &["--yes", "--secret", "PLACE"]);
    assert_eq!(said.status, 0, "its value is used for the import alone: {said:?}");
    assert!(!said.stdout.contains("xyzzy"), "{said:?}");
    world.rye(&["execute", "imported/one/env", "--json"]).fails_with("plan.missing_secret");
}

#[test]
fn two_servers_whose_items_would_lie_in_one_folder_are_refused_and_neither_is_started() {
    let started = |name: &str| json!({"command": "sh", "args": ["-c", format!("echo > {name}")]});
    let world =
        with_servers(&json!({"a b": started("one"), "c": started("two"), "a_b": started("three")}));
    for yes in ["--yes", "--dry-run"] {
        let said = import_config(&world, &[yes]).fails(5, "import.name");
        let got = said.json();
        let error = got["error"].as_str().unwrap();
        assert!(error.contains("`mcpServers.a_b`") && error.contains("`a b`"), "{error}");
        assert!(got["place"]["line"].is_number(), "{got}");
        for name in ["one", "two", "three", ".ai/tools/imported"] {
            assert!(!world.project().join(name).exists(), "{name}");
        }
    }
    // One of them alone is no other's, and what is left out is not there.
    for only in ["a b", "a_b"] {
        let said = import_config(&world, &["--dry-run", "--only", only]);
        assert_eq!((said.status, &said.json()["servers"][0]["name"]), (0, &json!("a_b")));
    }
}

#[test]
fn each_fault_of_another_client_s_file_has_its_place() {
    for (server, code, part) in [
        (json!({"args": []}), "import.missing", "has no `command`"),
        (json!({"command": "python3", "cwd": "/x"}), "import.value", "no place in an item"),
        (json!({"command": "python3", "env": {"A": "${input:x}"}}), "import.value", "--secret"),
        (json!({"url": "https://x.example", "env": {"A": "b"}}), "import.value", "an address"),
        (
            json!({"url": "https://x.example", "headers": {"Authorization": "Bearer abc"}}),
            "import.value",
            "Bearer ${NAME}",
        ),
        (json!([]), "import.value", "a mapping"),
    ] {
        let world = with_servers(&json!({"one": server}));
        let said = import_config(&world, &["--yes"]);
        assert_eq!((said.status, said.code().as_str()), (5, code), "{server}: {said:?}");
        let got = said.json();
        assert!(got["error"].as_str().unwrap().contains(part), "{server}: {said:?}");
        assert!(got["place"]["line"].is_number(), "{server}: {said:?}");
    }
    let world = with_servers(&json!({}));
    assert_eq!(import_config(&world, &[]).code(), "import.missing");
    world.write("mcp.json", "{\"other\": 1}");
    assert_eq!(import_config(&world, &[]).code(), "import.missing");
    world.write("mcp.json", "{");
    assert_eq!(import_config(&world, &[]).code(), "import.syntax");
}

#[test]
fn comments_and_a_last_comma_in_another_client_s_file_are_passed_over() {
    let world = with_servers(&json!({}));
    let text = "// mine\n{ /* all\n of them */ \"mcpServers\": { // \u{fc}\n \"one\": {\"command\": \"echo\", \
        \"args\": [\"http://x.example/,]\", \"a\\\\\", \"/* b */\",],\n}, }, }\n";
    world.write("mcp.json", text);
    let said = import_config(&world, &["--dry-run"]).ok();
    let want = json!(["echo", "http://x.example/,]", "a\\", "/* b */"]);
    assert_eq!(said.json()["servers"][0]["words"], want, "{said:?}");
    // A fault has its place all the same.
    world.write("mcp.json", text.replace("\"command\": \"echo\", ", "\"command\": [],"));
    let said = import_config(&world, &["--dry-run"]).fails(5, "import.value");
    assert_eq!(said.json()["place"]["line"], 4, "{said:?}");
}

#[cfg(feature = "http")]
#[test]
fn a_server_that_wants_a_log_in_is_told_with_the_lines_that_give_it_a_token() {
    let world = world();
    let server = super::Http::start(&world);
    let told = |said: &Said, why: &[&str]| {
        assert_eq!((said.status, said.code().as_str()), (7, "mcp.unauthorized"), "{said:?}");
        let (got, shown) = (said.json(), format!("{said:?}"));
        let error = got["error"].as_str().unwrap();
        assert!(why.iter().all(|why| error.contains(why)), "{why:?}: {error}");
        assert!(!shown.contains("hush") && !shown.contains("stale"), "{shown}");
        got["help"].as_str().unwrap().to_owned()
    };
    let metadata = "(`https://shop.example/.well-known/oauth-protected-resource/mcp`)";
    told(&import(&world, &["--yes", &server.1]), &["asks for a token", "it was sent none"]);
    world.write("oauth", "");
    let wants = ["asks for OAuth", metadata, "rye has no log-in", "it was sent none"];
    let help = told(&import(&world, &["--yes", &server.1]), &wants);
    assert!(help.contains("`--secret MCP_TOKEN`"), "{help}");
    import(&world, &["--yes", "--secret", "SHOP_TOKEN", &server.1]).ok();
    // An item without those lines, and with them.
    let path = ".ai/tools/shop/say.yaml";
    let text = std::fs::read_to_string(world.project().join(path)).unwrap();
    let (_, text) = text.split_once('\n').unwrap();
    let open = text.replace("secrets: [SHOP_TOKEN]\n", "");
    let open = open.replace("  auth:\n    type: bearer\n    secret: SHOP_TOKEN\n", "");
    assert!(!open.contains("SHOP_TOKEN"), "{open}");
    world.signed(path, &open);
    let help = told(&call(&world, "say", &json!({})), &wants);
    for lines in [
        ["secrets: [MCP_TOKEN]", "auth: {type: bearer, secret: MCP_TOKEN}"],
        ["secrets: [MCP_TOKEN]", "headers: {Authorization: \"Bearer ${MCP_TOKEN}\"}"],
    ] {
        let first = lines[1].starts_with("auth");
        assert_eq!(lines.iter().all(|line| help.contains(&format!("`{line}`"))), first, "{help}");
        let with = open.replace("config:\n", &format!("{}\nconfig:\n  {}\n", lines[0], lines[1]));
        world.signed(path, &with);
        let with = |token| [("MCP_TOKEN", token)];
        let args = ["execute", "shop/say", "--json"];
        world.rye_env(&world.project(), &args, b"", &with("hush")).ok();
        let said = world.rye_env(&world.project(), &args, b"", &with("stale"));
        told(&said, &["asks for OAuth", "does not take the token"]);
    }
}

#[cfg(feature = "http")]
#[test]
fn a_stream_that_ends_before_the_answer_came_is_asked_for_the_rest() {
    let world = world();
    let server = super::Http::start(&world);
    import(&world, &["--yes", "--secret", "SHOP_TOKEN", &server.1]).ok();
    world.write("cut", "");
    let said = call(&world, "add", &json!({"a": 1, "b": 2}));
    assert_eq!((said.status, &said.json()["data"]), (0, &json!({"total": 3})), "{said:?}");
    let again: Vec<_> = asked(&world).into_iter().filter(|it| it.starts_with("again")).collect();
    assert_eq!(again, ["again e-1", "again e-2"]);
    let calls = asked(&world).iter().filter(|it| *it == "tools/call").count();
    assert_eq!(calls, 1, "it is not called again");
}

#[test]
fn what_a_server_or_its_file_says_is_shown_in_one_short_line_without_secrets() {
    let world = world().env("SHOP_TOKEN", "hush-a-by-baby");
    world.write("mode", "hostile-name");
    let args = ["import", "mcp", "--category", "shop", "--secret", "SHOP_TOKEN", "--yes"];
    let named = world.rye(&[&args[..], &["python3", "server.py"]].concat()).ok();
    let all = [named.stdout.as_str(), &named.stderr].concat();
    assert!(all.contains("the server is "), "{named:?}");

    // The words of another client's file, in an error that is about something else.
    let long = format!("--key=hush-a-by-baby\u{1b}[2J{}hush-a-by-baby", "x".repeat(100_000));
    let world = with_servers(&json!({
        "one": {"command": "python3", "args": ["env.py", long], "env": {"A_NOT_SET": "${A_NOT_SET}", "KEY": "hush-a-by-baby"}},
        "two": {"command": "no-such-hush-a-by-baby\u{1b}[2J", "env": {"KEY": "hush-a-by-baby"}},
    }));
    let from = ["import", "mcp", "--config", "mcp.json", "--yes"];
    let unset = ["--only", "one", "--secret", "A_NOT_SET", "--secret", "KEY"];
    let unset = world.rye(&[&from[..], &unset].concat());
    assert!(unset.stderr.contains("`A_NOT_SET` is not set"), "{unset:?}");
    let holds = world.rye(&[&from[..], &["--only", "two", "--secret", "KEY"]].concat());
    assert!(holds.stderr.contains("holds the value of `KEY`"), "{holds:?}");
    for said in [named, unset, holds] {
        let all = [said.stdout.as_str(), &said.stderr].concat();
        assert!(!all.contains("baby") && !all.contains(['\u{1b}', '\u{202e}']), "{said:?}");
        // What would be started is shown whole before it is; an error or a remark is not read on.
        let mut told = all.lines().filter(|line| !line.starts_with("  python3 env.py"));
        assert!(told.all(|line| line.len() < 2_000), "{said:?}");
    }
}

#[test]
fn what_a_server_starts_is_below_a_run_when_it_is_imported_and_when_it_is_called() {
    let world = world();
    let mine = world.write(".ai/tools/acme/mine.sh", "echo mine\n");
    let tries = [
        ("signs", "sign tool:acme/mine", "cli.not_confirmed"),
        (
            "starts",
            "execute directive:rye/examples/research --thread fork -i topic=x",
            "thread.outside",
        ),
        ("detaches", "execute tool:rye/file-system/list --async", "async.below_a_run"),
    ];
    let does = tries.map(|(file, args, _)| {
        let (home, rye) = (world.home().display().to_string(), program());
        format!("HOME='{home}' setsid -w {rye} {args} --json > {file} 2> {file}.err\n")
    });
    world.write("does", does.concat());
    let is_refused = |when: &str| {
        for (file, _, code) in tries {
            let said: Value = serde_json::from_slice(&world.read(file)).unwrap();
            assert_eq!(said["code"], code, "{when} {file}: {said}");
            fs::remove_file(world.project().join(file)).unwrap();
        }
        assert_eq!(fs::read(&mine).unwrap(), b"echo mine\n", "{when}");
    };
    import(&world, &["--yes", "python3", "server.py"]).ok();
    is_refused("imported");
    call(&world, "say", &json!({})).ok();
    is_refused("called");
}
