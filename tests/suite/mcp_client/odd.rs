//! Servers that do not keep to the letter, and can be understood all the same.

use std::fs;

use serde_json::{Value, json};

use super::{Http, SERVER_PY, asked, call, import, imported, offer, put, world};

#[test]
fn words_on_standard_output_are_passed_over_and_told() {
    let world = imported();
    let said = world.rye(&["run", "shop/noise"]).ok();
    assert!(said.stderr.contains("it is not a message: [log] this is no message"), "{said:?}");
    let server = format!(
        "print('ready, listening')\nprint('[settings] read')\nprint('{{ port: 3, host: [] }}')\n\
         print('{{\"level\": 30}}')\n{SERVER_PY}"
    );
    world.write("server.py", server);
    let said = import(&world, &["--yes", "--force", "python3", "server.py"]).ok();
    for line in ["ready, listening", "[settings] read", "{ port: 3, host: [] }"] {
        assert!(said.json()["remarks"].to_string().contains(line), "{said:?}");
    }
    call(&world, "say", &json!({})).ok();
}

#[test]
fn one_odd_tool_of_a_server_is_left_out_by_its_name_and_the_others_run() {
    let schema = json!({"type": "object"});
    let point = json!([{"type": "number"}, {"type": "number"}]);
    let draft_07 = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"point": {"type": "array", "items": point}}});
    let int = json!({"type": "object", "properties": {"n": {"type": "int"}}});
    let of = |header: &str| json!({"type": "string", "x-mcp-header": header});
    let header = |properties: Value, why| {
        (json!({"name": "odd", "inputSchema": {"properties": properties}}), why)
    };
    let odd = [
        (json!({"name": "odd"}), "`odd` is left out: it has no input schema"),
        (json!({"inputSchema": schema}), "`?` is left out: it has no name"),
        (json!({"name": "odd", "inputSchema": schema, "title": 7}), "title is not text"),
        (json!({"name": "say", "inputSchema": {"type": "object", "title": "x"}}), "this name"),
        (json!({"name": "SAY2", "inputSchema": schema}), "has the same name"),
        (json!({"name": "x".repeat(251), "inputSchema": schema}), "a name like it"),
        (json!({"name": "odd", "inputSchema": int}), "`input_schema` cannot be used"),
        (json!({"name": "odd", "inputSchema": schema, "outputSchema": int}), "`output_schema`"),
        header(json!({"a": {"type": "string", "x-mcp-header": ""}}), "no name of a header"),
        header(json!({"a": {"type": "string", "x-mcp-header": "a b"}}), "no name of a header"),
        header(json!({"a": {"type": "number", "x-mcp-header": "a"}}), "no header can hold"),
        header(json!({"a": of("A"), "b": {"properties": {"c": of("a")}}}), "a header twice"),
    ];
    let world = world();
    for (tool, why) in odd {
        let say2 = json!({"name": "say2", "inputSchema": schema});
        put(
            &world,
            &json!([offer()[2], say2, tool, offer()[0], {"name": "say2", "inputSchema": schema}]),
        );
        let said = import(&world, &["--yes", "--force", "python3", "server.py"]).ok();
        assert!(said.json()["remarks"].to_string().contains(why), "{why}: {said:?}");
        assert!(!said.stdout.contains("rye-step"), "{said:?}");
        call(&world, "add", &json!({"a": 1, "b": 2})).ok();
    }
    // One that became odd since.
    put(&world, &json!([offer()[0], {"name": "say2"}]));
    call(&world, "say2", &json!({})).fails_with("mcp.bad_answer");
    put(&world, &json!([{"name": "say2"}]));
    import(&world, &["--yes", "--force", "python3", "server.py"]).fails(5, "import.value");
    // A schema is read by the draft that it names.
    put(&world, &json!([{"name": "go", "inputSchema": draft_07}]));
    import(&world, &["--yes", "--force", "python3", "server.py"]).ok();
    call(&world, "go", &json!({"point": ["x", 2]})).fails_with("plan.invalid_parameters");
    call(&world, "go", &json!({"point": [1, 2]})).ok();
}

#[test]
fn what_can_be_understood_in_one_way_only_is_understood() {
    let world = imported();
    let text = json!([{"type": "text", "text": "{}"}]);
    let said = json!({"content": text});
    let other = json!([{"type": "unheard", "x": [1]}, {"type": 7}, "x"]);
    let (hello, list, call_) = ("initialize", "tools/list", "tools/call");
    for (method, before, bends, want) in [
        (hello, json!([]), json!({"result/capabilities": {}}), &said),
        (hello, json!([]), json!({"result/capabilities": null}), &said),
        (hello, json!([]), json!({"result/capabilities": {"x": [], "tools": null}}), &said),
        (hello, json!([]), json!({"result/serverInfo": "shop", "result/_meta": "x"}), &said),
        (hello, json!([]), json!({"id": "{}", "error": null}), &said),
        (list, json!([]), json!({"id": "{}.0", "error": null, "result/_meta": null}), &said),
        (list, json!([]), json!({"result/x": [1], "y": {}, "jsonrpc": null}), &said),
        (
            call_,
            json!([{"method": "notifications/x", "params": [1]}, {"params": null}, {"id": "x7"}]),
            json!({"id": "{}", "error": null, "result/_meta": 7, "result/isError": null}),
            &said,
        ),
        (
            call_,
            json!([{"id": "a", "method": "x", "params": []}, {"id": [], "method": "ping"}]),
            json!({"result/structuredContent": null, "result/x": null}),
            &said,
        ),
        (call_, json!([]), json!({"result/content": other}), &json!({"content": other})),
        (call_, json!([]), json!({"result/content": null}), &json!({"content": []})),
        (call_, json!([]), json!({"result/content": "{}"}), &said),
        (call_, json!([]), json!({"result/content": text[0]}), &said),
        (call_, json!([]), json!({"result/structuredContent": [1]}), &json!([1])),
    ] {
        world.write("bend.json", json!({method: [before, bends]}).to_string());
        let told = call(&world, "say", &json!({}));
        let told = if told.status == 0 { told.json() } else { panic!("{bends}: {told:?}") };
        assert_eq!(&told["data"], want, "{bends}: {told}");
    }
    // Members of a schema that are none.
    fs::remove_file(world.project().join("bend.json")).unwrap();
    let schema = json!({"properties": null, "required": null, "$schema": null});
    put(&world, &json!([{"name": "say", "inputSchema": schema, "annotations": null}]));
    import(&world, &["--yes", "--force", "python3", "server.py"]).ok();
    call(&world, "say", &json!({})).ok();
}

#[test]
fn the_last_page_of_a_list_may_have_an_empty_cursor() {
    let world = world();
    world.write("mode", "empty-cursor");
    import(&world, &["--yes", "python3", "server.py"]).ok();
    world.write("mode", "same-cursor");
    let said = import(&world, &["--yes", "--force", "python3", "server.py"]);
    assert!(said.fails_with("mcp.bad_answer").stdout.contains("names itself"));
}

#[test]
fn a_server_that_begins_no_session_is_asked_without_one() {
    let world = world();
    let mut offer = offer();
    offer[2]["inputSchema"]["properties"] =
        json!({"zone": {"type": "string", "x-mcp-header": "Zone"}});
    put(&world, &offer);
    world.write("mode", "stateless");
    import(&world, &["--yes", "python3", "server.py"]).ok();
    assert_eq!(asked(&world)[..3], ["initialize", "server/discover", "tools/list"]);
    let said = call(&world, "add", &json!({"a": 1, "b": 2})).ok();
    assert_eq!(said.json()["data"], json!({"total": 3}), "{said:?}");
    if cfg!(feature = "http") {
        let server = Http::start(&world);
        import(&world, &["--yes", "--force", "--secret", "SHOP_TOKEN", &server.1]).ok();
        world.rye(&["run", "shop/say", "zone=M\u{fc}nchen"]).ok();
        offer[2]["title"] = json!("Another one");
        put(&world, &offer);
        call(&world, "say", &json!({})).fails_with("mcp.tool_changed");
    }
}

#[test]
fn a_folder_that_no_tool_may_write_is_refused_with_what_a_server_that_commits_needs() {
    let world = world();
    for path in [".git", "./.git/", "sub/.git/objects", ".ai/tools"] {
        let said = import(&world, &["--yes", "--write", path, "python3", "server.py"]);
        let error = said.fails_with("mcp.server_failed").json()["error"].to_string();
        assert!(error.contains("`git: write`"), "{path}: {error}");
    }
    assert!(!world.project().join(".ai/tools/shop").exists());
}

#[cfg(feature = "code")]
#[test]
fn a_snippet_is_given_the_json_that_a_server_put_into_one_text() {
    let world = imported();
    let code = "const said = await tools.shop.say({x: [1, {y: 2}]});\n__out = said.x[1].y;\n";
    let said = world.rye_in(&world.project(), &["code", "run", "-", "--json"], code.as_bytes());
    assert_eq!((said.status, &said.json()["value"]), (0, &json!(2)), "{said:?}");
}
