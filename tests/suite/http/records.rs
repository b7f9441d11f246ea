//! Plans and receipts of HTTP requests.

use std::fs;

use serde_json::{Value, json};

use super::{ask, signed_with};
use crate::world::server::{Server, answer, closed_port, ok};
use crate::world::{World, sha256};

#[test]
fn a_request_is_planned_to_its_place_and_leaves_a_receipt_without_any_secret() {
    let world = World::new();
    let server = Server::new(|_, _| ok("{\"found\": 1}"));
    let more = "secrets: [API_TOKEN]\nconfig_schema: {properties: {city: {type: string}}}\n";
    let config = |path: &str| {
        format!(
            "method: POST\nurl: '{}'\nauth: {{type: bearer, secret: API_TOKEN}}\n\
             body: {{q: '{{city}}', rate: 0.10}}",
            server.url(path)
        )
    };
    signed_with(&world, &config("/find"), more);
    let token = [("API_TOKEN", "canary-5f2c")];
    let rye = |args: &[&str]| world.rye_env(&world.project(), args, b"", &token);
    rye(&["plan", "acme/ask", "-i", "city=Springfield", "--out", "plan.json"]).ok();
    let text = fs::read_to_string(world.project().join("plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&plan["method"], &plan["url"]), (&json!("POST"), &json!(server.url("/find"))));
    assert_eq!(plan["params_sha256"], sha256(b"{\"city\":\"Springfield\"}"));
    assert_eq!(server.seen().len(), 0, "a plan sends nothing");
    let run = [
        "execute",
        "--plan",
        "plan.json",
        "-i",
        "city=Springfield",
        "--receipt",
        "r.json",
        "--json",
    ];
    let said = rye(&run);
    assert_eq!((said.status, &said.json()["data"]), (0, &json!({"found": 1})), "{said:?}");
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer canary-5f2c"));
    let said = rye(&["receipt", "verify", "r.json", "--plan", "plan.json", "--json"]).ok();
    let ran = said.json()["receipt"]["predicate"].clone();
    let body = json!({"sha256": sha256(b"{\"found\": 1}"), "bytes": 12, "truncated": false});
    assert_eq!(ran["response"], json!({"status": 200, "body": body}));
    assert_eq!(
        (&ran["ended"], &ran["stdout"], &ran["exit_code"]),
        (&json!("success"), &json!(null), &json!(null))
    );
    for hidden in ["canary-5f2c", "Springfield"] {
        assert!(!text.contains(hidden) && !said.stdout.contains(hidden), "{hidden}");
    }
    let shown = rye(&["receipt", "verify", "r.json"]).stdout;
    assert!(shown.contains("status 200  12 bytes"), "{shown}");
    // Another place, and nothing is sent.
    signed_with(&world, &config("/other"), more);
    let said = rye(&run).fails(4, "plan.drifted");
    let found = said.json()["data"]["differences"].to_string();
    assert!(found.contains("/url"), "{found}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_request_that_fails_leaves_a_receipt_too() {
    let world = World::new();
    let server = Server::new(|_, _| answer(404, "", "gone"));
    signed_with(&world, &format!("url: '{}'", server.url("/x")), "");
    let receipt = || {
        let said = world.rye(&["receipt", "verify", "r.json", "--json"]).ok();
        said.json()["receipt"]["predicate"].clone()
    };
    let said = ask(&world, &["--receipt", "r.json"], &[]);
    assert_eq!(said.status, 1, "{said:?}");
    let ran = receipt();
    assert_eq!(
        (&ran["ended"], &ran["response"]["status"]),
        (&json!("execute.tool_failed"), &json!(404))
    );
    // A server that is not there answers nothing.
    let nobody = format!("127.0.0.1:{}", closed_port());
    signed_with(&world, &format!("url: 'http://{nobody}/'\nretry: {{attempts: 1}}"), "");
    let said = ask(&world, &["--receipt", "r.json"], &[]);
    let ran = receipt();
    assert_eq!(
        (ran["ended"].as_str(), &ran["response"]),
        (Some(said.code().as_str()), &json!(null))
    );
    assert!(said.code().starts_with("execute."), "{said:?}");
}
