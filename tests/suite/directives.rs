//! Directives and knowledge through the door (core 6).

use crate::world::{End, GREET_MD, World};
use serde_json::{Value, json};

/// A directive `acme/<name>` with what stands in its metadata, its inputs and its body.
fn text(name: &str, attributes: &str, metadata: &str, inputs: &str, body: &str) -> String {
    format!(
        "# Title of {name}\n\nWords before, {{input:k?}}.\n\n```xml\n\
         <directive name=\"{name}\" version=\"1.2.0\"{attributes}>\n  <metadata>\n    \
         <description>About {name}</description>\n    <category>acme</category>\n    \
         <author>acme</author>\n{metadata}\n  </metadata>\n  <inputs>{inputs}</inputs>\n\
         <execute item=\"tool:{{input:k|none}}\"><param name=\"p\">{{input:k}}</param></execute>\n\
         </directive>\n```\n\n{body}\n"
    )
}

fn world(inputs: &str, body: &str) -> World {
    World::new().with(".ai/directives/acme/go.md", &text("go", "", "", inputs, body))
}

/// Executes `directive:acme/go` with these parameters.
fn go(world: &World, params: &Value) -> (i32, Value) {
    world.json(&["execute", "directive:acme/go", "--params", &params.to_string()])
}

/// The JSON without the time it took.
fn timeless(mut value: Value) -> Value {
    assert!(value["metadata"]["duration_ms"].is_number(), "{value}");
    value["metadata"].as_object_mut().expect("metadata").remove("duration_ms");
    value
}

#[test]
fn every_form_of_a_placeholder() {
    let forms =
        "{input:k} {input:k?} {input:k:d e} {input:k|d:e} {input:k:d|e} {input:k:} {input:k|}";
    let others = "{input:} {input: k} {input:k } {input:1k} {input:k??} {INPUT:k} {k} {{input:k}} \
                  {input:k:{input:k}} {input:_a-9|z} {input:k";
    let world = world("", &format!("{forms}\n{others}"));
    let missing = "{input:k}  d e d:e d|e  \n{input:} {input: k} {input:k } {input:1k} {input:k??} \
                   {INPUT:k} {k} {{input:k}} {input:k} z {input:k";
    let with = |value: &str| {
        let all = [value; 7].join(" ");
        let rest = "{input:} {input: k} {input:k } {input:1k} {input:k??} {INPUT:k} {k} ";
        format!("{all}\n{rest}{{{value}}} {value}}} z {{input:k")
    };
    let rows = [
        (json!({}), missing.to_owned()),
        (json!({"k": null}), missing.to_owned()),
        (json!({"k": ""}), with("")),
        (json!({"k": "v"}), with("v")),
        (json!({"k": true}), with("true")),
        (json!({"k": [1, "x", null]}), with("[1,\"x\",null]")),
        (json!({"k": {"b": 1, "a": {}}}), with("{\"b\":1,\"a\":{}}")),
    ];
    for (params, want) in rows {
        let (status, got) = go(&world, &params);
        assert_eq!((status, &got["your_directions"]), (0, &json!(want)), "{params}");
    }
    let (_, got) = world.json(&["execute", "acme/go", "--params", r#"{"k":1.50}"#]);
    assert_eq!(got["your_directions"], with("1.50"));
}

#[test]
fn a_declared_default_wins_over_one_in_the_body() {
    let inputs =
        r#"<input name="k" default="declared">x</input><input name="e" default="">x</input>"#;
    let world = world(inputs, "{input:k:inline} [{input:e|inline}]");
    let rows = [
        (json!({}), "declared []"),
        (json!({"k": null, "e": null}), "declared []"),
        (json!({"k": "", "e": "x"}), " [x]"),
    ];
    for (params, want) in rows {
        assert_eq!(go(&world, &params).1["your_directions"], want, "{params}");
    }
}

#[test]
fn a_value_goes_in_as_it_is_wherever_it_goes_in() {
    let world = world("", "<{input:k}>");
    for value in [
        "{}",
        "}{",
        "{input:k}",
        "{input:k|x}",
        "a\nb\r\n\tc",
        "ñ 漢字 👩‍🚀",
        "```xml\n<directive/>\n```",
        "\"'\\",
        "<b>&amp;</b>",
        "\u{0}\u{1b}[31m\u{202e}",
        "$HOME ${HOME} $(id)",
        " ",
    ] {
        let got = go(&world, &json!({"k": value})).ok();
        let body = format!("<{value}>");
        assert_eq!(got["your_directions"], body, "{value:?}");
        assert_eq!(got["data"]["body"], body, "{value:?}");
        assert_eq!(got["data"]["content"], format!("Words before, {value}.\n\n{body}"));
        let action = json!([{"name": "execute", "attributes": {"item": format!("tool:{value}")},
            "params": {"p": value}}]);
        assert_eq!(got["data"]["actions"], action, "{value:?}");
        let raw = text("go", "", "", "", "<{input:k}>");
        let raw = raw.replace("{input:k|none}", value).replace("{input:k?}", value);
        assert!(!raw.contains("rye:signed"));
        if !value.contains("{input:k}") {
            assert_eq!(got["data"]["raw"], raw.replace("{input:k}", value), "{value:?}");
        }
    }
}

const INPUTS: &str = r#"<input name="target" type="string" required="true">Where to</input>
<input name="count" type="integer" required="false" default="3">How many</input>
<input name="note" type="string" required="true" default=""/>
<input name="deep" type="object" required="true"/>
<input name="tags" type="array"/><input name="rate" type="number"/><input name="dry" type="boolean"/>"#;

fn declared() -> Value {
    json!([
        {"name": "target", "type": "string", "required": true, "description": "Where to"},
        {"name": "count", "type": "integer", "required": false, "default": 3, "description": "How many"},
        {"name": "note", "type": "string", "required": true, "default": ""},
        {"name": "deep", "type": "object", "required": true},
        {"name": "tags", "type": "array", "required": false},
        {"name": "rate", "type": "number", "required": false},
        {"name": "dry", "type": "boolean", "required": false},
    ])
}

#[test]
fn inputs_that_do_not_fit_are_all_named() {
    let world = world(INPUTS, "x");
    let (status, got) = go(&world, &json!({"count": "x"}));
    let want = json!({
        "status": "error", "code": "interpolate.missing_inputs",
        "error": "Missing required inputs: target, deep",
        "help": "give each a value: `-i target=… -i deep=…`",
        "data": {"missing": ["target", "deep"]},
        "item_id": "directive:acme/go", "declared_inputs": declared(), "chain": [], "metadata": {},
    });
    assert_eq!((status, timeless(got)), (2, want));
    let (status, got) = go(&world, &json!({"targt": "x", "zzz": 1}));
    assert_eq!((status, &got["code"]), (2, &json!("interpolate.unknown_input")));
    assert_eq!(got["error"], "no such input: `targt`, `zzz`");
    let help = "did you mean `target`? the inputs are `target`, `count`, `note`, `deep`, `tags`, `rate`, `dry`";
    assert_eq!(got["help"], help);
    assert_eq!(got["declared_inputs"], declared());
    let wrong = json!({
        "target": [], "deep": "[1]", "count": "1.5", "tags": {}, "rate": "fast", "dry": "yes",
    });
    let (status, got) = go(&world, &wrong);
    assert_eq!((status, &got["code"]), (2, &json!("interpolate.wrong_type")));
    assert_eq!(got["data"]["wrong"], json!(["target", "count", "deep", "tags", "rate", "dry"]));
    assert_eq!(got["declared_inputs"], declared());
    // The text says the same.
    let said = world.rye(&["execute", "directive:acme/go"]);
    assert_eq!((said.status, said.stdout.as_str()), (2, ""));
    let line = "error[interpolate.missing_inputs]: Missing required inputs: target, deep\n";
    assert!(said.stderr.starts_with(line), "{said:?}");
}

#[test]
fn values_become_those_of_the_declared_type() {
    let body = "{input:target} {input:count} {input:deep} {input:tags} {input:rate} {input:dry}";
    let world = world(INPUTS, body);
    let said = world.rye(&[
        "execute",
        "acme/go",
        "-i",
        "target=7",
        "-i",
        "count=-12",
        "-i",
        "deep={\"a\": 1}",
        "-i",
        "tags=[1, 2]",
        "-i",
        "rate=1.50",
        "-i",
        "dry=true",
    ]);
    assert_eq!((said.status, said.stdout.as_str()), (0, "7 -12 {\"a\":1} [1,2] 1.50 true\n"));
    let params = json!({"target": 7, "deep": {}, "dry": false, "tags": null});
    let (_, got) = go(&world, &params);
    assert_eq!(got["your_directions"], "7 3 {} {input:tags} {input:rate} false");
    let free = world.json(&["execute", "acme/go", "--dry-run", "--params", &params.to_string()]).1;
    assert_eq!(
        free["inputs"],
        json!({"target": "7", "count": 3, "note": "", "deep": {}, "dry": false})
    );
}

#[test]
fn a_result_is_the_body_for_people_and_an_object_for_programs() {
    let metadata = "<permissions><execute><tool>rye.file-system.*</tool></execute></permissions>\
                    <limits turns=\"3\"/><model tier=\"fast\"/>";
    let outputs =
        "</inputs><outputs><output name=\"log\" type=\"string\">What</output></outputs><inputs2>";
    let world = World::new();
    let file = text(
        "go",
        "",
        metadata,
        "<input name=\"k\" required=\"true\">K</input>",
        "Do {input:k}.\n\n1. x",
    );
    let file = file.replace("</inputs>", outputs).replace("<inputs2>", "");
    world.signed(".ai/directives/acme/go.md", &file);
    let said = world.rye(&["execute", "acme/go", "-i", "k=it"]);
    assert_eq!(
        (said.status, said.stdout.as_str(), said.stderr.as_str()),
        (0, "Do it.\n\n1. x\n", "")
    );
    let (status, got) = go(&world, &json!({"k": "it"}));
    let mut got = timeless(got);
    assert_eq!(status, 0);
    let signer = crate::world::fingerprint(&world.own_key());
    let raw = got["data"].as_object_mut().expect("data").remove("raw").expect("raw");
    assert!(raw.as_str().expect("text").starts_with("# Title of go\n"));
    let data = json!({
        "title": "Title of go", "name": "go", "version": "1.2.0", "description": "About go",
        "category": "acme", "author": "acme", "model": {"tier": "fast"}, "limits": {"turns": 3},
        "permissions": ["rye.execute.tool.rye.file-system.*"], "acknowledged": [],
        "inputs": [{"name": "k", "type": "string", "required": true, "description": "K"}],
        "outputs": [{"name": "log", "type": "string", "required": true, "description": "What"}],
        "actions": [{"name": "execute", "attributes": {"item": "tool:it"}, "params": {"p": "it"}}],
        "body": "Do it.\n\n1. x", "content": "Words before, it.\n\nDo it.\n\n1. x", "extends": [],
        "context": {"system": [], "before": [], "after": [], "suppress": []},
    });
    let want = json!({
        "status": "success", "type": "directive", "item_id": "directive:acme/go",
        "your_directions": "Do it.\n\n1. x",
        "instructions": "Follow the directions in `your_directions` now, step by step, to their end.",
        "data": data, "metadata": {"signer": signer},
    });
    assert_eq!(got, want);
    // A thread would start only where somebody answers.
    let provider = crate::threads::provider(&json!([crate::threads::hand_over()]));
    world.signed_home(".ai/tools/acme/script.yaml", &provider.replace("general", "fast"));
    world.signed_home(".ai/config/agent/models.yaml", "provider: acme/script\n");
    for thread in ["inline", "fork"] {
        let args = ["execute", "acme/go", "-i", "k=it", "--dry-run", "--thread", thread];
        let (status, got) = world.json(&args);
        let mut got = timeless(got);
        got["data"].as_object_mut().expect("data").remove("raw");
        // What would answer it is told of a thread alone.
        let would_run = got.as_object_mut().expect("an object").remove("thread");
        assert_eq!(would_run.is_some(), thread == "fork");
        let want = json!({
            "status": "validation_passed", "message": "Directive validation passed (dry run)",
            "type": "directive", "item_id": "directive:acme/go", "data": data,
            "inputs": {"k": "it"}, "metadata": {"signer": signer},
        });
        assert_eq!((status, got), (0, want), "{thread}");
    }
    world.json(&["execute", "acme/go", "--dry-run"]).fails(2, "interpolate.missing_inputs");
}

#[test]
fn directives_that_extend_others_compose_their_context() {
    let world = World::new();
    let of = |system: &str, suppress: &str| {
        let each = |name: &str, list: &str| -> String {
            list.split_whitespace().map(|id| format!("<{name}>{id}</{name}>")).collect()
        };
        format!("<context>{}{}</context>", each("system", system), each("suppress", suppress))
    };
    let root = text("root", "", &of("acme/a knowledge:acme/b", "acme/y"), "", "root");
    let middle = text(
        "middle",
        " extends=\"acme/root\"",
        &of("acme/b acme/c", "acme/x acme/y"),
        "",
        "middle",
    );
    let leaf =
        text("leaf", " extends=\"directive:acme/middle\"", &of("acme/d acme/a", ""), "", "leaf");
    world.signed_home(".ai/directives/acme/root.md", &root);
    world.signed(".ai/directives/acme/middle.md", &middle);
    world.signed(".ai/directives/acme/leaf.md", &leaf);
    let (status, got) = world.json(&["execute", "acme/leaf", "--dry-run"]);
    assert_eq!((status, &got["data"]["body"]), (0, &json!("leaf")));
    assert_eq!(got["data"]["extends"], json!(["acme/middle", "acme/root"]));
    let context = json!({
        "system": ["acme/a", "acme/b", "acme/c", "acme/d"], "before": [], "after": [],
        "suppress": ["acme/y", "acme/x"],
    });
    assert_eq!(got["data"]["context"], context);
    // Every parent is verified.
    let file = world.write_home(".ai/directives/acme/root.md", "");
    for (text, code, status) in [
        (root.clone(), "verify.unsigned", 4),
        (root.replace("root", "rooot"), "verify.unsigned", 4),
    ] {
        std::fs::write(&file, text).unwrap();
        assert_eq!(world.run("directive:acme/leaf"), (status, code.to_owned()));
    }
    world.signed_home(".ai/directives/acme/root.md", &root);
    world.works("directive:acme/leaf");
    let signed = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, signed.replace("About", "Bout")).unwrap();
    for more in [&[][..], &["--dry-run"]] {
        world.json(&[&["execute", "acme/leaf"], more].concat()).fails(4, "verify.altered");
    }
    std::fs::remove_file(file).unwrap();
    assert_eq!(world.run("directive:acme/leaf"), (5, "chain.parent_not_found".into()));
}

#[test]
fn a_user_directive_extends_nothing_of_the_project() {
    let world = World::new().with(".ai/directives/acme/root.md", &text("root", "", "", "", "root"));
    let leaf = text("leaf", " extends=\"acme/root\"", "", "", "leaf");
    world.signed_home(".ai/directives/acme/leaf.md", &leaf);
    let (status, got) = world.json(&["execute", "acme/leaf"]);
    assert_ne!(status, 0, "{got}");
    world.signed(".ai/directives/acme/leaf.md", &leaf);
    world.works("directive:acme/leaf");
}

#[test]
fn an_extends_circle_is_told_whole() {
    let world = World::new();
    let file = |name: &str, parent: &str| {
        let text = text(name, &format!(" extends=\"acme/{parent}\""), "", "", "x");
        world.signed(&format!(".ai/directives/acme/{name}.md"), &text);
    };
    file("a", "b");
    file("b", "c");
    file("c", "b");
    let got = world.json(&["execute", "acme/a"]).fails(5, "parse.extends_cycle");
    assert_eq!(got["data"]["path"], json!(["acme/a", "acme/b", "acme/c", "acme/b"]));
    assert_eq!(
        got["error"],
        "the directive extends itself: `acme/a` -> `acme/b` -> `acme/c` -> `acme/b`"
    );
}

#[test]
fn signing_tells_everything_at_once_with_its_place() {
    let world = World::new();
    let path = ".ai/directives/acme/sub/go_on.md";
    let bad = "# T\n\n```xml\n<directive name=\"Go-On\" version=\"1.0\">\n  <metadata>\n    \
               <category>other</category>\n  </metadata>\n  <inputs><input name=\"a\"/></inputs>\n\
               </directive>\n```\n\n{input:a} {input:b}\n";
    world.write(path, bad);
    let (status, got) = world.json(&["sign", "directive:acme/sub/go_on"]);
    assert_eq!((status, &got["status"], &got["failed"]), (4, &json!("error"), &json!(1)), "{got}");
    let row = &got["items"][0];
    assert_eq!((&row["status"], &row["code"]), (&json!("failed"), &json!("sign.invalid")), "{row}");
    let findings = row["data"]["findings"].as_array().expect("findings");
    let of = |severity: &str| -> Vec<&str> {
        let of = findings.iter().filter(|f| f["severity"] == severity);
        of.map(|f| f["message"].as_str().expect("text")).collect()
    };
    let errors = [
        "the name is `Go-On`, the file's is `go_on`: they must be equal",
        "the name `Go-On` is not snake_case",
        "`1.0` is not a valid version such as `1.0.0`",
        "the category is `other`, the folder is `acme/sub`: they must be equal",
        "the metadata has no `<description>`",
        "the metadata has no `<author>`",
    ];
    assert_eq!(of("error"), errors);
    assert_eq!(of("warning"), ["the body names `b`, which is not a declared input"]);
    // Places are those of the file as it lies there, without a signature line.
    let places: Vec<_> = findings.iter().map(|f| (&f["line"], &f["column"])).collect();
    let (root, body) = ([json!(4), json!(1)], [json!(12), json!(11)]);
    let mut want = vec![(&root[0], &root[1]); errors.len()];
    want.push((&body[0], &body[1]));
    assert_eq!(places, want, "{row}");
    let said = world.rye(&["sign", "directive:acme/sub/go_on"]);
    for error in errors {
        assert!(said.stderr.contains(error), "{error}: {said:?}");
    }
    assert_eq!(world.read(path), bad.as_bytes(), "nothing is written");
    // At the top the category is empty; a warning alone stops nothing.
    let top = GREET_MD.replace("<category>acme</category>", "<category></category>");
    world.signed(".ai/directives/greet.md", &top.replace("{input:who}", "{input:whom}"));
    world.works("directive:greet");
}

#[test]
fn knowledge_is_its_content() {
    let world = World::new();
    let page = "---\ntitle: T\ntags: [a]\n---\n# T\n\n{input:x} words\n";
    world.signed(".ai/knowledge/acme/page.md", page);
    let said = world.rye(&["execute", "knowledge:acme/page"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, page));
    let (status, got) = world.json(&["execute", "knowledge:acme/page"]);
    let want = json!({
        "status": "success", "type": "knowledge", "item_id": "knowledge:acme/page",
        "data": {"content": page}, "metadata": {},
    });
    assert_eq!((status, timeless(got)), (0, want));
    world.signed(".ai/knowledge/acme/data.yaml", "title: D\nrows: [1]\n");
    let (_, got) = world.json(&["execute", "knowledge:acme/data"]);
    assert_eq!(got["data"]["content"], "title: D\nrows: [1]\n");
    world.signed(".ai/config/acme/c.yaml", "a: 1\n");
    let never = ["--async", "--thread=fork", "--target=remote", "--target=remote:x"];
    for (item, flags) in [
        ("knowledge:acme/page", &never[..]),
        ("config:acme/c", &["--trace", "--dry-run", "--async", "--thread=fork", "--target=remote"]),
    ] {
        for flag in flags {
            let (status, got) = world.json(&["execute", item, flag]);
            assert_eq!((status, &got["status"]), (4, &json!("error")), "{item} {flag}: {got}");
            let code = got["code"].as_str().expect("a code");
            let fits = ["matrix.not_executable", "matrix.dry_run_remote"].contains(&code);
            assert!(fits, "{item} {flag}: {got}");
        }
    }
    let altered = String::from_utf8(world.read(".ai/knowledge/acme/page.md")).unwrap();
    world.write(".ai/knowledge/acme/page.md", altered.replace("title: T", "title: U"));
    assert_eq!(world.run("knowledge:acme/page"), (4, "verify.altered".into()));
}

#[test]
fn create_directive_hands_out_directions_without_a_gap() {
    let world = World::empty();
    let item = "directive:rye/core/create_directive";
    let got = world.json(&["execute", item, "-i", "name=x"]).fails(2, "interpolate.missing_inputs");
    assert_eq!(got["error"], "Missing required inputs: category");
    let declared = got["declared_inputs"].as_array().expect("a list");
    let names: Vec<_> = declared.iter().map(|d| (&d["name"], &d["type"], &d["required"])).collect();
    let want = [("name", true), ("category", true), ("description", false)];
    let want = want.map(|(name, needed)| (json!(name), json!("string"), json!(needed)));
    assert_eq!(names, want.each_ref().map(|(name, kind, needed)| (name, kind, needed)));
    let about = "{input:name} & ${HOME}";
    let about = format!("description={about}");
    let args = ["execute", item, "-i", "name=tidy_up", "-i", "category=acme/x", "-i", &about];
    let (status, got) = world.json(&args);
    let body = got["your_directions"].as_str().expect("directions");
    assert_eq!((status, &got["status"]), (0, &json!("success")));
    assert!(body.contains(".ai/directives/acme/x/tidy_up.md"), "{body}");
    assert!(body.contains("{input:name} & ${HOME}"), "{body}");
    assert_eq!(body.replace(&about["description=".len()..], "").matches("{input:name").count(), 0);
    for placeholder in ["{input:category", "{input:description"] {
        assert!(!body.contains(placeholder), "{placeholder}");
    }
}

#[test]
fn a_directive_names_its_parent_wherever_it_is_shown() {
    let world = World::new().with(".ai/directives/acme/greet.md", GREET_MD);
    let child = GREET_MD.replace("name=\"greet\"", "name=\"child\" extends=\"acme/greet\"");
    world.signed(".ai/directives/acme/child.md", &child);
    world.rye(&["show", "acme/child"]).shows("extends acme/greet\n");
    let (_, got) = world.json(&["show", "acme/child"]);
    assert_eq!(got["extends"], json!(["acme/greet"]), "{got}");
}
