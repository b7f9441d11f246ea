//! What clients are told there is: tools of rye, items as tools, prompts, resources.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use crate::keys::others::put;
use crate::tools::shell;
use crate::world::wait::PATIENCE;
use crate::world::{GREET_MD, MARKER_SH, World};

fn names(said: &Value, list: &str) -> Vec<String> {
    let rows = said["result"][list].as_array().unwrap_or_else(|| panic!("{said}"));
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

/// A tool in YAML that says what it is given.
fn cat(more: &str) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/native/program\n\
         category: acme\nconfig: {{command: cat}}\n{more}"
    )
}

/// The tools of rye that are always there.
const OWN: &[&str] = &[
    "rye_execute",
    "rye_fetch",
    "rye_search",
    "rye_describe",
    "rye_verify",
    "rye_thread",
    #[cfg(feature = "code")]
    "rye_code",
    #[cfg(feature = "code")]
    "rye_run_chain",
];

#[test]
fn each_tool_of_rye_has_both_schemas_and_says_whether_it_changes_anything() {
    let world = World::new();
    let mut client = Client::start(&world, &["--allow-sign"]);
    let hello = client.hello();
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    assert_eq!(hello["serverInfo"]["name"], "rye");
    let said = client.ask("tools/list", &json!({}));
    assert_eq!(names(&said, "tools"), [OWN, &["rye_sign"]].concat());
    for tool in said["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}");
            assert!(jsonschema_is_sound(&tool[schema]), "{name} {schema}");
        }
        assert!(tool["inputSchema"]["required"].to_string().contains("project_path"), "{name}");
        let runs = ["rye_execute", "rye_code", "rye_run_chain", "rye_sign", "rye_thread"];
        let reads = !runs.contains(&name);
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{name}");
        assert!(reads || tool["annotations"]["destructiveHint"] == true, "{name}");
    }
    drop(client);
    let mut client = Client::new(&world, &[]);
    let said = client.ask("tools/list", &json!({}));
    assert_eq!(names(&said, "tools"), OWN);
}

/// Enough to say that it is a schema: its properties are objects, and what is required is declared.
fn jsonschema_is_sound(schema: &Value) -> bool {
    let properties = schema["properties"].as_object().unwrap();
    let required = schema["required"].as_array().unwrap();
    properties.values().all(Value::is_object)
        && required.iter().all(|name| properties.contains_key(name.as_str().unwrap()))
}

#[test]
fn items_are_shown_as_tools_with_what_they_say_of_themselves() {
    let world = World::new();
    let schema = "config_schema:\n  type: object\n  required: [text]\n  properties:\n    \
                  text: {type: string, description: what to say}\n";
    let output = "output_schema: {type: object, properties: {text: {type: string}}}\n";
    let more = format!("description: Says it\neffects: read\n{schema}{output}");
    world.signed(".ai/tools/acme/say.yaml", &cat(&more));
    world.signed(".ai/tools/acme/plain.sh", &shell("echo a line\n"));
    let picture = "echo '{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}'\n";
    world.signed(".ai/tools/acme/picture.sh", &shell(picture));
    world.signed(".ai/tools/other/mark.sh", MARKER_SH);
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    let mut client = Client::new(&world, &["--expose", "tool:acme/**"]);
    let said = client.ask("tools/list", &json!({}));
    assert_eq!(names(&said, "tools")[OWN.len()..], ["acme_picture", "acme_plain", "acme_say"]);
    // One without a schema takes an object too, and some clients read its properties at once.
    let plain = json!({"type": "object", "properties": {}});
    assert_eq!(said["result"]["tools"][OWN.len() + 1]["inputSchema"], plain);
    let say = &said["result"]["tools"][OWN.len() + 2];
    assert_eq!(say["description"], "Says it");
    assert_eq!(say["inputSchema"]["required"], json!(["text"]));
    assert_eq!(say["inputSchema"]["properties"]["text"]["description"], "what to say");
    assert_eq!(say["annotations"], json!({"title": "acme/say", "readOnlyHint": true}));
    assert_eq!(say["outputSchema"]["anyOf"][0]["properties"]["text"]["type"], "string", "{say}");
    let said = client.tool("acme_say", &json!({"text": "hi"}));
    assert_eq!(said["structuredContent"], json!({"text": "hi"}));
    assert_eq!(said["content"], json!([{"type": "text", "text": "{\"text\":\"hi\"}"}]));
    let said = client.tool("acme_say", &json!({}));
    assert!(said["isError"] == true, "{said}");
    assert_eq!(said["structuredContent"]["code"], "plan.invalid_parameters");
    let said = client.tool("acme_plain", &json!({}));
    assert_eq!(said["content"], json!([{"type": "text", "text": "a line\n"}]));
    let said = client.tool("acme_picture", &json!({}));
    assert_eq!(said["content"][0]["mimeType"], "image/png", "{said}");
    let (_, stderr) = client.end(PATIENCE);
    assert_eq!(stderr.trim(), "`tool:acme/unsigned` is not shown as a tool: verify.unsigned");
}

#[test]
fn i01_shown_names_that_collide_are_refused_at_start() {
    let world = World::new().with(".ai/tools/acme/a_b.sh", MARKER_SH);
    let mut client = Client::new(&world, &["--expose", "tool:acme/**"]);
    assert_eq!(names(&client.ask("tools/list", &json!({})), "tools")[OWN.len()..], ["acme_a_b"]);
    drop(client);
    world.signed(".ai/tools/acme/a/b.sh", MARKER_SH);
    let said = world.rye(&["mcp", "--expose", "tool:acme/**", "--json"]).fails(4, "mcp.name_taken");
    assert!(said.stdout.contains("tool:acme/a/b") && said.stdout.contains("tool:acme/a_b"));
    // Each alone is no matter.
    world.rye(&["mcp", "--expose", "tool:acme/*"]).ok();
    // What is rye's own may not be taken, now or later.
    world.signed(".ai/tools/rye_thread.sh", MARKER_SH);
    world.rye(&["mcp", "--expose", "tool:*", "--json"]).fails(4, "mcp.name_taken");
    world.rye(&["mcp", "--expose", "tool:rye/bash"]).fails_with("mcp.name_taken");
}

#[test]
fn i01_a_name_that_is_taken_while_it_is_served_stays_with_its_tool() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let mut client = Client::new(&world, &["--expose", "tool:*", "--expose", "tool:acme/*"]);
    let said = client.tool("acme_mark", &json!({}));
    assert_eq!(said["structuredContent"], json!({"ran": true}), "{said}");
    world.signed(".ai/tools/acme_mark.sh", &MARKER_SH.replace("true", "2"));
    world.signed(".ai/tools/other.sh", MARKER_SH);
    let changed = |message: &Value| message["method"] == "notifications/tools/list_changed";
    assert!(!client.hears(Duration::from_secs(1), changed), "a list with a clash was taken");
    let said = client.tool("acme_mark", &json!({}));
    assert_eq!(said["structuredContent"], json!({"ran": true}), "{said}");
    std::fs::remove_file(world.project().join(".ai/tools/acme_mark.sh")).unwrap();
    client.wait_for_name("other");
    let (_, stderr) = client.end(PATIENCE);
    assert!(stderr.contains("mcp.name_taken"), "{stderr}");
}

#[test]
fn e07_a_description_that_hides_something_is_shown_to_nobody() {
    let world = World::new();
    let tool = cat("description: Says it\n");
    world.signed(".ai/tools/acme/say.yaml", &tool);
    let own = world.own_key();
    for (name, hidden) in [("bidi", "\u{202e}"), ("tag", "\u{e0041}"), ("zero", "\u{200b}")] {
        // Signed by hand: the door does not sign it.
        let text = tool.replace("Says it", &format!("Says {hidden}it"));
        put(&world, &own, &format!(".ai/tools/acme/{name}.yaml"), &text);
    }
    // Neither as it is nor spelt, in a description or a schema.
    let schema = "config_schema:\n  properties:\n    a: {description: \"x\\u200by\"}\n";
    for (name, spelt) in [
        ("spelt", "description: \"Says \\u202eit\"\n".to_owned()),
        ("schema", format!("description: Says it\n{schema}")),
        ("list", "parameters: [{name: a, type: string, description: \"x\\u200by\"}]\n".into()),
    ] {
        put(&world, &own, &format!(".ai/tools/acme/{name}.yaml"), &cat(&spelt));
    }
    let mut client = Client::new(&world, &["--expose", "tool:acme/**"]);
    let said = client.ask("tools/list", &json!({}));
    assert_eq!(names(&said, "tools")[OWN.len()..], ["acme_say"]);
    for name in ["bidi", "tag", "zero", "spelt", "schema", "list"] {
        let code = client.refused("rye_execute", json!({"item_id": format!("tool:acme/{name}")}));
        assert_eq!(code, "parse.invisible_text");
    }
    let hidden = "---\ntitle: note\ndescription: \"x\\u200by\"\n---\n\nA note.\n";
    put(&world, &own, ".ai/knowledge/acme/hidden.md", hidden);
    let said = client.ask("resources/list", &json!({}));
    assert!(!said.to_string().contains("acme/hidden"), "{said}");
    let code = client.refused("rye_fetch", json!({"item_id": "knowledge:acme/hidden"}));
    assert_eq!(code, "parse.invisible_text");
    let (_, stderr) = client.end(PATIENCE);
    assert_eq!(stderr.matches("parse.invisible_text").count(), 6, "{stderr}");
}

#[test]
fn a_client_is_told_when_its_lists_change() {
    let world = World::new()
        .with(".ai/tools/acme/mark.sh", MARKER_SH)
        .with(".ai/directives/acme/greet.md", GREET_MD);
    let own = world.own_key();
    put(&world, &own, ".ai/knowledge/acme/note.md", "---\ntitle: note\n---\n\nA note.\n");
    let mut client = Client::new(&world, &["--expose", "tool:acme/**"]);
    client.ask("tools/list", &json!({}));
    world.signed(".ai/tools/acme/more.sh", MARKER_SH);
    client.next("notifications/tools/list_changed");
    client.wait_for_name("acme_more");
    world.signed(".ai/directives/acme/greet.md", &GREET_MD.replace("Greet somebody", "Says hello"));
    client.next("notifications/prompts/list_changed");
    let said = client.ask("prompts/list", &json!({}));
    assert!(said.to_string().contains("Says hello"), "{said}");
    put(&world, &own, ".ai/knowledge/acme/more.md", "---\ntitle: more\n---\n\nA note.\n");
    client.next("notifications/resources/list_changed");
    // What breaks a tool takes it away.
    world.write(".ai/tools/acme/more.sh", MARKER_SH);
    client.next("notifications/tools/list_changed");
    let said = client.ask("tools/list", &json!({}));
    assert!(!names(&said, "tools").contains(&"acme_more".into()), "{said}");
}

#[test]
fn a_folder_that_comes_or_comes_back_while_it_is_served_is_watched_too() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let users = world.home().join(".ai/tools");
    assert!(!users.exists(), "the fixture has no tools of a user");
    let mut client = Client::new(&world, &["--expose", "tool:*", "--expose", "tool:acme/*"]);
    let said = client.ask("tools/list", &json!({}));
    assert_eq!(names(&said, "tools")[OWN.len()..], ["acme_mark"]);
    std::fs::create_dir(&users).unwrap();
    std::fs::write(users.join("mine.sh"), MARKER_SH).unwrap();
    world.rye(&["sign", "tool:mine", "--space", "user"]).ok();
    client.next("notifications/tools/list_changed");
    client.wait_for_name("mine");
    // As git does when it goes to a branch without it, and back; and as before `rye init`.
    for base in [world.project(), world.home()] {
        let (here, away) = (base.join(".ai"), base.join("away"));
        std::fs::rename(&here, &away).unwrap();
        client.next("notifications/tools/list_changed");
        std::fs::rename(&away, &here).unwrap();
        client.wait_for_name("acme_mark");
        client.hears(Duration::from_millis(500), |_| false);
        client.kept.clear();
    }
    world.signed(".ai/tools/acme/more.sh", MARKER_SH);
    client.next("notifications/tools/list_changed");
    client.wait_for_name("acme_more");
}

#[test]
fn a_search_finds_each_change_of_a_file_while_it_is_served() {
    let world = World::new();
    let page = |animal: &str| format!("# A {animal}\n\nWords.\n");
    let (near, far) = (".ai/knowledge/acme/near.md", ".ai/knowledge/acme/far.md");
    world.signed(near, &page("wombat"));
    world.signed_home(far, &page("wombat"));
    let mut client = Client::new(&world, &[]);
    let mut find = |animal: &str| -> Vec<String> {
        let (said, is_error) = client.call("rye_search", json!({"query": animal}));
        assert!(!is_error, "{said}");
        let hits = said["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["item_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(find("wombat"), ["knowledge:acme/far", "knowledge:acme/near"]);
    let mut comes_to = |animal: &str, want: &[&str]| {
        let begun = std::time::Instant::now();
        while find(animal) != want {
            assert!(begun.elapsed() < PATIENCE, "{animal}: {:?}", find(animal));
        }
    };
    // Another file, one in a folder that comes, one that is written in its place, and none any
    // more.
    world.signed(".ai/knowledge/acme/more.md", &page("zebra"));
    comes_to("zebra", &["knowledge:acme/more"]);
    world.signed(".ai/tools/new/deep/mark.sh", &MARKER_SH.replace("Leaves", "Lemur leaves"));
    comes_to("lemur", &["tool:new/deep/mark"]);
    let place = world.home().join(far);
    let text = std::fs::read_to_string(&place).unwrap().replace("wombat", "tapir");
    std::fs::write(&place, text).unwrap();
    comes_to("tapir", &["knowledge:acme/far"]);
    comes_to("wombat", &["knowledge:acme/near"]);
    std::fs::rename(world.project().join(".ai"), world.project().join("away")).unwrap();
    comes_to("wombat", &[]);
    std::fs::rename(world.project().join("away"), world.project().join(".ai")).unwrap();
    comes_to("wombat", &["knowledge:acme/near"]);
}

#[test]
fn directives_are_prompts_and_knowledge_is_resources_page_by_page() {
    let world = World::new().with(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/directives/acme/altered.md", GREET_MD);
    let own = world.own_key();
    put(&world, &own, ".ai/knowledge/acme/note.md", "---\ntitle: note\n---\n\nA note.\n");
    for number in 0..110 {
        let path = format!(".ai/knowledge/acme/many/n{number}.md");
        put(&world, &own, &path, "---\ntitle: n\n---\n\nA note.\n");
    }
    let mut client = Client::new(&world, &[]);
    let said = client.ask("prompts/list", &json!({}));
    let listed = names(&said, "prompts");
    assert!(listed.contains(&"acme/greet".into()) && !listed.contains(&"acme/altered".into()));
    let greet = said["result"]["prompts"].as_array().unwrap();
    let greet = greet.iter().find(|prompt| prompt["name"] == "acme/greet").unwrap();
    let argument = json!({"name": "who", "description": "whom", "required": false});
    assert_eq!(greet["arguments"], json!([argument]));
    let asked = json!({"name": "acme/greet", "arguments": {"who": "ann"}});
    let said = client.ask("prompts/get", &asked);
    let message = &said["result"]["messages"][0];
    assert_eq!(message["role"], "user");
    let text = message["content"]["text"].as_str().unwrap();
    let (run, _) = client.call(
        "rye_execute",
        json!({"item_id": "directive:acme/greet", "parameters": {"who": "ann"}}),
    );
    assert_eq!(run["your_directions"], text);
    for (name, code) in [("acme/altered", "verify.unsigned"), ("acme/none", "resolve.not_found")] {
        let said = client.ask("prompts/get", &json!({"name": name}));
        assert_eq!(said["error"]["code"], -32602, "{said}");
        assert_eq!(said["error"]["data"]["code"], code, "{said}");
    }
    // Every page once, in one order, whatever is written in between.
    let (mut seen, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let asked = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let said = client.ask("resources/list", &asked);
        let uris = said["result"]["resources"].as_array().unwrap().iter();
        seen.extend(uris.map(|resource| resource["uri"].as_str().unwrap().to_owned()));
        put(&world, &own, ".ai/knowledge/acme/aaa.md", "---\ntitle: a\n---\n\nA note.\n");
        pages += 1;
        cursor = said["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(pages > 1 && seen.len() > 100, "{pages} {}", seen.len());
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    assert!(seen.contains(&"rye://knowledge/acme/note".into()));
    let said = client.ask("resources/read", &json!({"uri": "rye://knowledge/acme/note"}));
    let content = &said["result"]["contents"][0];
    assert_eq!(
        (&content["mimeType"], &content["uri"]),
        (&json!("text/markdown"), &json!("rye://knowledge/acme/note"))
    );
    assert!(content["text"].as_str().unwrap().contains("A note."));
    let said = client.ask("resources/read", &json!({"uri": "file:///etc/passwd"}));
    assert_eq!(said["error"]["code"], -32002, "{said}");
    let said = client.ask("resources/templates/list", &json!({}));
    assert_eq!(said["result"]["resourceTemplates"][0]["uriTemplate"], "rye://knowledge/{+id}");
}

#[test]
fn what_is_of_the_project_is_listed_before_what_is_shipped() {
    let world = World::new();
    let own = world.own_key();
    put(&world, &own, ".ai/knowledge/zebra.md", "---\ntitle: z\n---\n\nA note.\n");
    world.signed_home(".ai/knowledge/yak.md", "---\ntitle: y\n---\n\nA note.\n");
    let zebra =
        GREET_MD.replace("<category>acme<", "<category><").replace("\"greet\"", "\"zebra\"");
    world.signed(".ai/directives/zebra.md", &zebra);
    let mut client = Client::new(&world, &[]);
    let said = client.ask("resources/list", &json!({}));
    assert_eq!(names(&said, "resources")[..2], ["zebra", "yak"], "{said}");
    let said = client.ask("prompts/list", &json!({}));
    assert_eq!(names(&said, "prompts")[0], "zebra", "{said}");
}

#[test]
fn a_cursor_that_no_page_has_given_is_refused() {
    let world = World::new();
    let mut client = Client::new(&world, &[]);
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        for cursor in ["zzz", "9:a", "0:", "0:../x"] {
            let said = client.ask(list, &json!({"cursor": cursor}));
            assert_eq!(said["error"]["code"], -32602, "{list} {cursor}: {said}");
            assert_eq!(said["error"]["data"]["code"], "mcp.arguments", "{list} {cursor}: {said}");
        }
    }
    let said = client.ask("resources/list", &json!({"cursor": "0:a"}));
    assert!(said["result"]["resources"].is_array(), "one that fits goes on: {said}");
}

#[test]
fn arguments_of_prompts_and_ids_of_pages_are_completed() {
    let world = World::new();
    let typed = GREET_MD.replace("type=\"string\"", "type=\"boolean\"").replace("world", "true");
    world.signed(".ai/directives/acme/greet.md", &typed);
    let own = world.own_key();
    for name in ["zebra", "zebu", "yak"] {
        let path = format!(".ai/knowledge/acme/{name}.md");
        put(&world, &own, &path, "---\ntitle: z\n---\n\nA note.\n");
    }
    let mut client = Client::start(&world, &[]);
    assert!(client.hello()["capabilities"]["completions"].is_object());
    let mut values = |of: Value, name: &str, value: &str| {
        let asked = json!({"ref": of, "argument": {"name": name, "value": value}});
        let said = client.ask("completion/complete", &asked);
        said.pointer("/result/completion/values").cloned().unwrap_or(said["error"]["code"].clone())
    };
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    assert_eq!(values(prompt("acme/greet"), "who", ""), json!(["true", "false"]));
    assert_eq!(values(prompt("acme/greet"), "who", "t"), json!(["true"]));
    assert_eq!(values(prompt("acme/greet"), "other", ""), json!([]));
    assert_eq!(values(prompt("acme/nobody"), "who", ""), json!(-32602));
    let page = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    let template = page("rye://knowledge/{+id}");
    assert_eq!(values(template, "id", "acme/zeb"), json!(["acme/zebra", "acme/zebu"]));
    assert_eq!(values(page("file:///{path}"), "path", "e"), json!(-32602));
}

#[test]
fn a_client_is_told_of_the_pages_that_it_subscribed_to() {
    let world = World::new();
    let own = world.own_key();
    let note = |text: &str| format!("---\ntitle: note\n---\n\n{text}\n");
    for name in ["note", "other"] {
        put(&world, &own, &format!(".ai/knowledge/acme/{name}.md"), &note("one"));
    }
    let mut client = Client::start(&world, &[]);
    assert_eq!(client.hello()["capabilities"]["resources"]["subscribe"], true);
    let uri = json!({"uri": "rye://knowledge/acme/note"});
    assert!(client.ask("resources/subscribe", &uri)["result"].is_object());
    put(&world, &own, ".ai/knowledge/acme/other.md", &note("two"));
    put(&world, &own, ".ai/knowledge/acme/note.md", &note("two"));
    let said = client.next("notifications/resources/updated");
    assert_eq!(said["params"], uri, "{said}");
    assert!(client.ask("resources/unsubscribe", &uri)["result"].is_object());
    client.hears(Duration::from_millis(400), |_| false);
    client.kept.clear();
    put(&world, &own, ".ai/knowledge/acme/note.md", &note("three"));
    let is_told = |message: &Value| message["method"] == "notifications/resources/updated";
    assert!(!client.hears(Duration::from_millis(600), is_told), "it unsubscribed");
    let said = client.ask("resources/subscribe", &json!({"uri": "file:///etc/passwd"}));
    assert_eq!(said["error"]["code"], -32002, "{said}");
}
