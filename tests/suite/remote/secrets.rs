//! Secrets stay where they are: those that a node lacks are named before anything goes, and the
//! caller's are in nothing that goes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::line::Line;
use super::node::{Pair, add};
use super::request::send;
use crate::threads::rows;
use crate::world::items::tool_sh;
use crate::world::{End, World};

#[test]
fn a_secret_that_the_node_lacks_is_named_before_anything_is_pushed_and_its_own_value_is_used() {
    let caller = World::new().env("ACME_TOKEN", "callers-canary-51f0");
    let header = "secrets = [\"ACME_TOKEN\"]\nremote = { inputs = [\"data\"] }";
    let body = "[ \"$ACME_TOKEN\" = nodes-canary-77ab ] && echo '{\"own\": true}'\n\
                echo \"$ACME_TOKEN\" >&2\n";
    caller.signed(".ai/tools/acme/asks.sh", &tool_sh(header, body));
    caller.write("data", "x");
    let pair = Pair::of(caller, World::new());
    let line = Line::to(&pair.node.at);
    add(&pair.caller, "gpu", &line.at, &pair.node.key);
    let told = pair.run("tool:acme/asks", &[]).fails(4, "remote.missing_secret");
    assert!(told["error"].as_str().unwrap().contains("ACME_TOKEN"), "{told}");
    assert_eq!(line.asked("PUT "), 0);
    for person in [&pair.caller, &pair.operator] {
        assert_eq!(rows(person), Vec::<Value>::new());
    }
    let Pair { caller, operator, node } = pair;
    drop(node);
    let pair = Pair::of(caller, operator.env("ACME_TOKEN", "nodes-canary-77ab"));
    let told = pair.run("tool:acme/asks", &[]).ok();
    assert_eq!(told["data"]["own"], true, "{told}");
    let told = told.to_string();
    assert!(!told.contains("nodes-canary") && !told.contains("callers-canary"), "{told}");
}

/// Every file below a folder that holds a text, and the folder's name of it.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.display().to_string();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if name.contains(text)
            || fs::read(&path).is_ok_and(|it| memchr::memmem::find(&it, text.as_bytes()).is_some())
        {
            found.push(name);
        }
    }
    found
}

#[test]
fn h08_canaries_of_the_caller_are_in_no_push_no_folder_no_log_and_no_metric() {
    const CANARY: &str = "canary-6be2d0c4";
    let caller = World::new().env("STRAY", CANARY).env("ACME_TOKEN", CANARY);
    let header = "remote = { inputs = [\"data/**\", \".*\", \".*/**\", \"keys/**\"], \
                  outputs = [\"**\"] }";
    let body = "env; find . -type f | sort; cat $(find . -type f); echo done >made\n";
    caller.signed(".ai/tools/acme/looks.sh", &tool_sh(header, body));
    caller.write("data/plain", "plain\n");
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n");
    for (path, text) in [
        (".env", CANARY),
        (".env.local", CANARY),
        ("data/.env", CANARY),
        (".ssh/id_ed25519", CANARY),
        (".aws/credentials", CANARY),
        (".git/config", CANARY),
        (".npmrc", CANARY),
        ("keys/server.pem", CANARY),
        ("keys/under-another-name", &pem),
        ("data/node_modules/x/y.js", CANARY),
        ("notes.txt", CANARY),
        (".ai/config/acme/settings.yaml", CANARY),
        (".ai/state/x", CANARY),
    ] {
        caller.write(path, text);
    }
    let own = fs::read_to_string(caller.home().join(".ai/config/keys/signing/private_key.pem"));
    let own = own.unwrap().lines().nth(1).unwrap().to_owned();
    let pair = Pair::of(caller, World::new());
    let plan = pair.caller.json(&["remote", "plan", "tool:acme/looks"]).ok();
    let paths: Vec<&Value> =
        plan["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(json!(paths), json!([".ai/tools/acme/looks.sh", "data/plain"]), "{plan}");
    let stays = plan["left_out"].to_string();
    for path in [".env", ".ssh", ".aws", ".git", ".npmrc", "keys/server.pem", "another-name"] {
        assert!(stays.contains(path), "{path} is not named: {stays}");
    }
    let told = pair.run("tool:acme/looks", &[]).ok();
    let said = told["data"]["stdout"].as_str().unwrap();
    assert!(said.contains("./data/plain\n") && said.contains("plain\n"), "{said}");
    let token = pair.operator.home().join(".ai/state/node/metrics.token");
    let token = fs::read_to_string(token).unwrap();
    let ask = format!(
        "GET /metrics HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\n\r\n",
        pair.node.at
    );
    let metrics = send(&pair.node.at, ask.as_bytes());
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    assert!(metrics.contains("rye_node_runs_ended_total 1\n"), "{metrics}");
    let Pair { caller, operator, node } = pair;
    node.ask_to_end();
    let (_, log) = node.ended();
    // The fixture can tell: what is there is found.
    assert!(!holding(&operator.home(), "./data/plain").is_empty());
    for canary in [CANARY, &own] {
        assert!(!holding(caller.outside(), canary).is_empty());
        assert_eq!(holding(operator.outside(), canary), [""; 0]);
        for text in [&log, &metrics, &told.to_string()] {
            assert!(!text.contains(canary), "{text}");
        }
    }
}
