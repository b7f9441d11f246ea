//! Clients of 2026-07-28: each request stands for itself, and no session begins.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use crate::keys::others::put;
use crate::tools::shell;
use crate::world::{GREET_MD, MARKER_SH, World};

pub const KEY: &str = "io.modelcontextprotocol";

/// The parameters of a request with what each has to say of its client.
pub fn stateless(mut params: Value, more: &[(&str, Value)]) -> Value {
    let mut meta = json!({
        format!("{KEY}/protocolVersion"): "2026-07-28",
        format!("{KEY}/clientInfo"): {"name": "test", "version": "1"},
        format!("{KEY}/clientCapabilities"): {},
    });
    for (name, value) in more {
        meta[*name] = value.clone();
    }
    params["_meta"] = meta;
    params
}

#[test]
fn a_client_that_asks_first_is_told_both_revisions_and_may_go_on_with_either() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let mut client = Client::start(&world, &["--expose", "tool:acme/*"]);
    let said = client.ask("server/discover", &stateless(json!({}), &[]));
    let versions = said["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28") && versions.contains("2025-11-25"), "{said}");
    assert!(said["result"]["capabilities"]["tools"].is_object(), "{said}");
    // An older client comes back with a session.
    let hello = client.hello();
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    let said = client.tool("acme_mark", &json!({}));
    assert_eq!(said["structuredContent"], json!({"ran": true}), "{said}");
    assert!(said.get("resultType").is_none(), "a field of the newer revision: {said}");
    drop(client);
    // A newer one never begins one.
    let mut client = Client::start(&world, &["--expose", "tool:acme/*"]);
    client.ask("server/discover", &stateless(json!({}), &[]));
    let said = client.ask("tools/list", &stateless(json!({}), &[]));
    assert!(said["result"]["tools"].to_string().contains("acme_mark"), "{said}");
    let asked = stateless(json!({"name": "acme_mark", "arguments": {}}), &[]);
    let said = client.ask("tools/call", &asked);
    assert_eq!(said["result"]["structuredContent"], json!({"ran": true}), "{said}");
    assert_eq!(said["result"]["resultType"], "complete", "{said}");
    // Each request says which revision it is of.
    let said = client.ask("tools/list", &json!({}));
    assert_eq!(said["error"]["code"], -32602, "{said}");
    // And a session begins no more.
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let said = client.ask("initialize", &params);
    assert_eq!(said["error"]["code"], -32600, "{said}");
}

#[test]
fn a_client_without_sessions_hears_what_it_asked_for_and_nothing_else() {
    let world = World::new().with(".ai/directives/acme/greet.md", GREET_MD);
    let own = world.own_key();
    let note = |text: &str| format!("---\ntitle: note\n---\n\n{text}\n");
    put(&world, &own, ".ai/knowledge/acme/note.md", &note("one"));
    put(&world, &own, ".ai/knowledge/acme/other.md", &note("one"));
    let mut client = Client::start(&world, &[]);
    let wanted = json!({"notifications": {
        "resourcesListChanged": true,
        "resourceSubscriptions": ["rye://knowledge/acme/note", "file:///etc/passwd"],
    }});
    let id = client.begin("subscriptions/listen", &stateless(wanted, &[]));
    let said = client.next("notifications/subscriptions/acknowledged");
    assert!(said.to_string().contains("acme/note"), "{said}");
    assert!(!said.to_string().contains("passwd"), "{said}");
    put(&world, &own, ".ai/knowledge/acme/other.md", &note("two"));
    put(&world, &own, ".ai/knowledge/acme/note.md", &note("two"));
    let said = client.next("notifications/resources/updated");
    assert_eq!(said["params"]["uri"], "rye://knowledge/acme/note", "{said}");
    assert_eq!(said["params"]["_meta"][format!("{KEY}/subscriptionId")], id, "{said}");
    client.next("notifications/resources/list_changed");
    world.signed(".ai/directives/acme/greet.md", &GREET_MD.replace("Greet somebody", "Says hello"));
    let is_other = |message: &Value| message["method"] == "notifications/prompts/list_changed";
    assert!(!client.hears(Duration::from_millis(600), is_other), "it did not ask for prompts");
    // Once the request is cancelled there is nothing more.
    client.cancel(id);
    client.ask("tools/list", &stateless(json!({}), &[]));
    client.kept.clear();
    put(&world, &own, ".ai/knowledge/acme/note.md", &note("three"));
    let is_told = |message: &Value| message["method"] == "notifications/resources/updated";
    assert!(!client.hears(Duration::from_millis(600), is_told), "the request was cancelled");
}

#[test]
fn what_a_tool_says_beside_its_answer_is_sent_to_a_request_that_asks_for_it() {
    let world = World::new().with(".ai/tools/acme/loud.sh", &shell("echo aside >&2\necho done\n"));
    let mut client = Client::start(&world, &["--expose", "tool:acme/*"]);
    let is_log = |message: &Value| message["method"] == "notifications/message";
    let asked = json!({"name": "acme_loud", "arguments": {}});
    let level = [(&*format!("{KEY}/logLevel"), json!("info"))];
    for (more, want) in [(&[][..], false), (&level[..], true)] {
        let said = client.ask("tools/call", &stateless(asked.clone(), more));
        assert_eq!(said["result"]["isError"], json!(false), "{said}");
        assert_eq!(client.kept.iter().any(is_log), want, "{:?}", client.kept);
    }
}
