//! Each verb of rye, tried by a tool of a thread: none does what the thread may not, and none says
//! yes for a person (threads 3).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::threads::{call, directive, fork, hand_over, provider, world};
use crate::world::{World, program, sha256};

/// What is tried, each beginning with the words of its verb; `TOP`, `REQUEST` and `KEY` are put in.
const TRIED: &[&str] = &[
    "init",
    "new tool acme/made",
    "sign tool:acme/mine",
    "execute tool:acme/other",
    "run .ai/tools/acme/other.sh",
    "list",
    "doctor",
    "show tool:acme/other",
    "describe tool:acme/other",
    "fetch tool:acme/other",
    "search echoes",
    "why tool:acme/other",
    "diff tool:acme/mine",
    "graph tool:acme/other",
    "dev",
    "test tool:acme/other",
    "eval run acme/other --content x",
    "learn tool:acme/other",
    "fmt tool:acme/other",
    "mv tool:acme/other tool:acme/moved",
    "git install",
    "git uninstall",
    "git status",
    "git check",
    "verify --all",
    "plan tool:acme/other",
    "receipt verify x.json",
    "pending list",
    "pending show REQUEST",
    "pending approve REQUEST",
    "pending reject REQUEST",
    "hooks list",
    "hooks test hooks/acme/guard --payload {}",
    "thread list",
    "thread show TOP",
    "thread tail TOP",
    "thread wait TOP --timeout 1ms",
    "thread cancel TOP",
    "thread kill TOP",
    "thread tree TOP",
    "thread resume TOP",
    "thread export TOP",
    "thread verify TOP",
    "trust review",
    "trust propose --owner Ann",
    "trust accept KEY",
    "trust project",
    "trust add ann.pem --owner Ann",
    "trust remove KEY",
    "trust revoke KEY --reason x",
    "trust unrevoke KEY",
    "trust list",
    "trust show KEY",
    "trust allow-root /srv",
    "trust allow-interpreter sh",
    "trust allow-deps node_modules",
    "trust allow-provider acme/script",
    "trust allow-backend https://boxes.example",
    "trust disallow node_modules",
    "remote add far http://127.0.0.1:1",
    "remote list",
    "remote remove far",
    "remote plan tool:acme/other",
    "remote ping far",
    "serve --listen 127.0.0.1:0",
    "node identity",
    "node authorize ann.pem --scopes objects",
    "node revoke KEY",
    "node list",
    "store stat",
    "store verify",
    "store gc",
    "store get KEY out",
    "store put s.js",
    "keys generate",
    "keys import ann.pem",
    "keys export",
    "keys list",
    "keys show",
    "keys rotate",
    "lock",
    "code run s.js",
    "code check s.js",
    "code stubs",
    "mcp",
    "mcp install cursor",
    "lsp",
    "import runtimeconfig x.yaml",
    "import rye old",
    "import skill old",
    "import mcp true",
    "export skill acme/other --to shared",
    "bundle pack made acme/** --version 1.0.0",
    "bundle verify x.tar.zst",
    "bundle install x.tar.zst",
    "bundle list",
    "bundle remove made",
    "explain verify.altered",
    "completions bash",
    "man",
    "acme/other",
];

/// Asks a person, always.
const ASKS: &str = "#!/bin/sh\nread -r call\n\
    printf '{\"pending\":{\"reason\":\"amount\",\"message\":\"Pay?\"}}\\n'\n";

/// Every verb that has none below it, by the help of each.
fn verbs(world: &World, path: &[&str]) -> Vec<String> {
    let said = world.rye(&[path, &["--help"]].concat());
    let below = said.stdout.split("Commands:\n").nth(1).map(|rest| rest.split("\n\n").next());
    let lines = match (path, below.flatten()) {
        ([], _) => said.stdout.as_str(),
        (_, Some(below)) => below,
        (_, None) => return vec![path.join(" ")],
    };
    // A verb stands two columns in, and its help goes on further in.
    let names = lines.lines().filter_map(|line| {
        let rest = line.strip_prefix("  ").filter(|rest| !rest.starts_with([' ', '-']))?;
        let name = rest.split([' ', ',']).next().unwrap();
        (name != "help" && rest[name.len()..].starts_with([' ', ','])).then_some(name)
    });
    names.flat_map(|name| verbs(world, &[path, &[name]].concat())).collect()
}

/// The digest of each file below a folder.
fn digests(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => digests(&path, found),
            false => {
                found.insert(path.display().to_string(), sha256(&fs::read(&path).unwrap()));
            }
        }
    }
}

fn decided(world: &World) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    digests(&world.home().join(".ai/config"), &mut found);
    found
}

#[test]
fn no_verb_of_a_rye_below_a_thread_does_what_the_thread_may_not_or_what_a_person_decides() {
    let turns = json!([call("acme_starts", &json!({})), hand_over()]);
    let may = "<execute><tool>acme.starts</tool></execute>";
    let world = world(&turns, "turns=\"9\"", may);
    let all = verbs(&world, &[]);
    assert!(all.len() > 60, "{all:?}");
    let is_tried = |verb: &&String| {
        TRIED.iter().any(|line| format!("{line} ").starts_with(&format!("{verb} ")))
    };
    let forgotten: Vec<_> = all.iter().filter(|verb| !is_tried(verb)).collect();
    assert!(forgotten.is_empty(), "what is new has its line in `TRIED`: {forgotten:?}");

    // A thread that waits for a person, which is not the tool's to decide.
    let asks = world.write(".ai/tools/acme/asks-it.sh", ASKS);
    fs::set_permissions(asks, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.signed(
        ".ai/tools/acme/asks.yaml",
        "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: acme\ndescription: Asks.\nexec:\n  command: ./asks-it.sh\n  files: [asks-it.sh]\n",
    );
    let pays = json!([call("acme_asks", &json!({})), hand_over()]);
    world.signed_home(".ai/tools/acme/asking.yaml", &provider(&pays));
    let asking = directive("asking", "turns=\"9\"", "<execute><tool>acme.asks</tool></execute>");
    world.signed(".ai/directives/acme/asking.md", &asking.replace("acme/script", "acme/asking"));
    let (status, told) = world.json(&["execute", "directive:acme/asking", "--thread", "fork"]);
    assert_eq!((status, &told["status"]), (8, &json!("pending")), "{told}");
    let (top, request) = (&told["thread_id"], &told["pending"]["id"]);
    let key = told_key(&world);

    world.write(
        "ann.pem",
        fs::read(world.home().join(".ai/config/keys/signing/public_key.pem")).unwrap(),
    );
    world.write("s.js", "await runTool('tool:acme/other', {})\n");
    world.write(".ai/tools/acme/mine.sh", "echo mine\n");
    let (home, rye) = (world.home().display().to_string(), program());
    let lines = TRIED.iter().enumerate().map(|(at, line)| {
        let line = line.replace("TOP", top.as_str().unwrap()).replace("KEY", &key);
        let line = line.replace("REQUEST", request.as_str().unwrap());
        format!("timeout 5 $rye --yes {line} --json > said-{at} 2>&1 < /dev/null; ")
    });
    let lines: String = lines.collect();
    for (how, start) in [
        ("as it is", format!("env HOME={home} {rye}")),
        (
            "without its environment",
            format!("env -i HOME={home} PATH=/usr/bin:/bin setsid -w {rye}"),
        ),
    ] {
        let script =
            format!("set -f; cd '{}'; rye='{start}'; {lines} true", world.project().display());
        world.signed(".ai/tools/acme/starts.sh", &crate::async_runs::tool(&script));
        let before = decided(&world);
        let mine = world.read(".ai/tools/acme/mine.sh");
        let (status, told) = fork(&world, &[]);
        assert_eq!(status, 0, "{how}: {told}");
        let said =
            |at: usize| String::from_utf8_lossy(&world.read(&format!("said-{at}"))).into_owned();
        let all: Vec<String> = TRIED
            .iter()
            .enumerate()
            .map(|(at, line)| format!("{line}: {:.300}", said(at)))
            .collect();
        let all = all.join("\n");
        assert!(!world.project().join("ran").exists(), "{how}: nothing else ran\n{all}");
        assert_eq!(decided(&world), before, "{how}: keys and trust are as they were\n{all}");
        assert_eq!(world.read(".ai/tools/acme/mine.sh"), mine, "{how}: nothing was signed\n{all}");
        let (_, told) = world.json(&["thread", "show", top.as_str().unwrap()]);
        assert_eq!(told["thread_status"], "waiting", "{how}\n{all}");
        let (_, told) = world.json(&["pending", "show", request.as_str().unwrap()]);
        assert_eq!(told["state"], "waiting", "{how}\n{all}");
    }
}

/// The fingerprint of the world's own key.
fn told_key(world: &World) -> String {
    let (_, told) = world.json(&["keys", "show"]);
    told["fingerprint"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
}
