//! What an editor is shown of a text, saved or not.

use std::fs;

use serde_json::{Value, json};

use super::editor::{Editor, codes, marked, uri};
use crate::world::{GREET_MD, MARKER_PY, MARKER_SH, World};

/// Errors and hints as the protocol numbers them.
const ERROR: i64 = 1;
const WARNING: i64 = 2;
const HINT: i64 = 4;

fn has(diagnostics: &[Value], code: &str, severity: i64) -> bool {
    codes(diagnostics).contains(&(code.to_owned(), severity))
}

/// The first diagnostic with the code.
#[track_caller]
fn one<'d>(diagnostics: &'d [Value], code: &str) -> &'d Value {
    diagnostics.iter().find(|d| d["code"] == code).unwrap_or_else(|| panic!("{diagnostics:?}"))
}

/// What is said, without the verdict on the signature.
fn sayings(diagnostics: &[Value]) -> Vec<String> {
    let rest = diagnostics
        .iter()
        .filter(|d| !d["code"].as_str().is_some_and(|code| code.starts_with("verify.")));
    rest.map(|d| d["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_signed_item_has_no_remarks_and_an_unsigned_one_has_one_on_its_first_line() {
    let world = World::new();
    let good = world.signed(".ai/tools/acme/good.py", MARKER_PY);
    let new = world.write(".ai/tools/acme/new.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(editor.open(&good), Vec::<Value>::new());
    let said = editor.open(&new);
    assert_eq!(codes(&said), [("verify.unsigned".to_owned(), ERROR)], "{said:?}");
    assert_eq!(marked(MARKER_PY, &said[0]), "import json");
    assert!(said[0]["message"].as_str().unwrap().contains("help: read the file"), "{said:?}");
    assert_eq!(said[0]["source"], "rye");
    // What lies in no space is none of its business.
    let other = world.write("src/x.py", "x = 1\n");
    let item = json!({"uri": uri(&other), "languageId": "python", "version": 1, "text": "x"});
    editor.tell("textDocument/didOpen", &json!({"textDocument": item}));
    assert_eq!(editor.at("textDocument/hover", &other, 0, 0), Value::Null);
    assert_eq!(editor.bye().status, Some(0));
}

#[test]
fn a_change_is_a_hint_until_it_is_saved_and_an_error_from_then_on() {
    let world = World::new();
    let path = world.signed(".ai/tools/acme/x.py", MARKER_PY);
    let signed = fs::read_to_string(&path).unwrap();
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(editor.open(&path), Vec::<Value>::new(), "the fixture itself is good");
    let changed = format!("{signed}x = 1\n");
    let said = editor.change(&path, &changed);
    assert_eq!(codes(&said), [("verify.altered".to_owned(), HINT)]);
    assert!(marked(&changed, &said[0]).starts_with("# rye:signed:v2 "), "the line that is broken");
    let said = editor.save(&path, &changed);
    assert_eq!(codes(&said), [("verify.altered".to_owned(), ERROR)]);
    // Undone, it is what was signed.
    assert_eq!(editor.change(&path, &signed), Vec::<Value>::new());
    editor.tell("textDocument/didClose", &json!({"textDocument": {"uri": uri(&path)}}));
    assert_eq!(editor.said(&path), Vec::<Value>::new());
}

#[test]
fn only_the_changed_part_is_sent_and_columns_count_as_was_agreed() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/x.py", "# 😀\u{e4}:\n");
    for (wishes, name, column) in [
        (json!({}), "utf-16", 6),
        (json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}}), "utf-8", 9),
        (json!({"general": {"positionEncodings": ["utf-32"]}}), "utf-32", 5),
    ] {
        let mut editor = Editor::start(&world);
        let greeting = editor.hello(&wishes);
        assert_eq!(greeting["capabilities"]["positionEncoding"], name);
        editor.open(&path);
        let place = json!({"line": 0, "character": column});
        let change = json!({"range": {"start": place, "end": place}, "text": "\u{200b}"});
        let of = json!({"uri": uri(&path), "version": 2});
        editor.tell(
            "textDocument/didChange",
            &json!({"textDocument": of, "contentChanges": [change]}),
        );
        let said = editor.said(&path);
        // The zero-width space stands behind the colon, where it was put.
        let found = one(&said, "parse.invisible_text");
        assert_eq!(found["range"]["start"], place, "{name}");
        editor.bye();
    }
}

#[test]
fn an_unknown_executor_is_marked_where_it_stands_with_edits_that_mend_it() {
    let world = World::new();
    let path = world.signed(".ai/tools/acme/x.sh", MARKER_SH);
    let wrong = "rye/core/runtimes/shell/scirpt";
    let text = MARKER_SH.replace("rye/core/runtimes/shell/script", wrong);
    let mut editor = Editor::new(
        &world,
        &json!({"textDocument": {"codeAction": {"codeActionLiteralSupport": {}}}}),
    );
    assert_eq!(editor.open(&path), Vec::<Value>::new(), "the fixture itself is good");
    let said = editor.change(&path, &text);
    let found = one(&said, "chain.executor_not_found");
    assert_eq!(marked(&text, found), wrong);
    assert_eq!(found["severity"], ERROR);
    let line = found["range"]["start"]["line"].as_u64().unwrap();
    let column = found["range"]["start"]["character"].as_u64().unwrap();
    let (line, column) = (u32::try_from(line).unwrap(), u32::try_from(column).unwrap());
    let actions = editor.actions(&path, line, column + 3);
    let edit = actions.iter().find(|a| a["isPreferred"] == true).expect("an edit");
    assert_eq!(edit["title"], "Change to `rye/core/runtimes/shell/script`");
    let edits = &edit["edit"]["changes"][uri(&path)];
    assert_eq!(edits[0]["newText"], "rye/core/runtimes/shell/script");
    assert_eq!(edits[0]["range"], found["range"]);
    // Half of a word is completed to the executors that there are.
    let items = editor.at("textDocument/completion", &path, line, column + 8);
    let labels: Vec<_> =
        items.as_array().unwrap().iter().map(|i| i["label"].as_str().unwrap()).collect();
    assert!(labels.contains(&"rye/core/runtimes/python/script"), "{labels:?}");
    assert!(!labels.contains(&"acme/x") && !labels.contains(&"rye/bash"), "{labels:?}");
    assert_eq!(items[0]["textEdit"]["range"]["start"], found["range"]["start"]);
    editor.bye();
}

#[test]
fn a_directive_is_told_of_its_name_its_undeclared_inputs_and_its_unknown_fields() {
    let world = World::new();
    let path = world.signed(".ai/directives/acme/greet.md", GREET_MD);
    let mut editor = Editor::new(
        &world,
        &json!({"textDocument": {"codeAction": {"codeActionLiteralSupport": {}}}}),
    );
    assert_eq!(editor.open(&path), Vec::<Value>::new(), "the fixture itself is good");
    let text = GREET_MD
        .replace("name=\"greet\"", "name=\"great\"")
        .replace("name=\"who\"", "name=\"whom\"")
        .replace("<author>", "<autor>")
        .replace("</author>", "</autor>")
        .replace("{input:who}", "😀 {input:whon}");
    let said = editor.change(&path, &text);
    assert_eq!(
        sayings(&said),
        [
            "the name is `great`, the file's is `greet`: they must be equal",
            "the metadata has no `<author>`",
            "`<autor>` is not a field of a directive; did you mean `<author>`?",
            "the body names `whon`, which is not a declared input; did you mean `whom`?",
        ]
    );
    let name = &said[1];
    assert_eq!((&name["code"], &name["severity"]), (&json!("sign.invalid"), &json!(ERROR)));
    assert!(marked(&text, name).starts_with("<directive name=\"great\""), "{name}");
    let input = said.last().unwrap();
    assert_eq!(marked(&text, input), "whon", "behind the emoji, which is two units");
    assert_eq!(input["severity"], WARNING);
    let (line, column) = (&input["range"]["start"]["line"], &input["range"]["start"]["character"]);
    let at = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let actions = editor.actions(&path, at(line), at(column));
    assert_eq!(actions[0]["edit"]["changes"][uri(&path)][0]["newText"], "whom");
    let items = editor.at("textDocument/completion", &path, at(line), at(column) + 2);
    assert_eq!(items[0]["label"], "whom");
    // On an input's name stands its declaration.
    editor.change(&path, &text.replace("whon", "whom"));
    let hover = editor.at("textDocument/hover", &path, at(line), at(column) + 1);
    let shown = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(shown, "input `whom`: string, optional, default \"world\"\n\nwhom");
    editor.bye();
}

#[test]
fn a_tool_is_told_of_its_schema_its_examples_and_its_template() {
    let world = World::new();
    let good = "version: 1.0.0\ntool_type: tool\nexecutor_id: rye/core/primitives/http_client\n\
        category: acme\ndescription: d\nconfig_schema:\n  type: object\n  properties: {city: {type: string}}\n\
        examples: [{city: Rome}]\nconfig:\n  method: POST\n  url: https://api.example/x\n  body: {q: \"{city}\"}\n";
    let path = world.signed(".ai/tools/acme/ask.yaml", good);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(editor.open(&path), Vec::<Value>::new(), "the fixture itself is good");
    // A name in the body, below the signature's line and the twelve of the fixture.
    let hover = editor.at("textDocument/hover", &path, 13, 15);
    assert_eq!(hover["contents"]["value"], "parameter `city`: string\n\n", "{hover}");
    let said = editor.change(&path, &good.replace("{city}\"", "{cities} {params_json} ${HOME}\""));
    assert_eq!(
        sayings(&said),
        ["`/config/body` names `{cities}`, which is not a declared parameter"]
    );
    let said = editor.change(&path, &good.replace("\"{city}\"", "\"{ctiy}\""));
    assert_eq!(
        sayings(&said),
        ["`/config/body` names `{ctiy}`, which is not a declared parameter; did you mean `city`?"]
    );
    let said = editor.change(&path, &good.replace("city: Rome", "city: 7"));
    assert_eq!(sayings(&said), ["example 1: /city: 7 is not of type \"string\""]);
    let said = editor.change(&path, &good.replace("type: string", "type: strang"));
    assert!(
        sayings(&said)[0].starts_with("the schema cannot be used: it is not a JSON Schema: "),
        "{said:?}"
    );
    assert!(has(&said, "sign.invalid", ERROR));
    let broken = good.replace("version: 1.0.0", "version: [1");
    let said = editor.change(&path, &broken);
    assert!(has(&said, "parse.yaml", ERROR), "{said:?}");
    editor.bye();
}

#[test]
fn a_fault_of_the_text_is_marked_at_its_line_and_column() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/x.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(codes(&editor.open(&path)), [("verify.unsigned".to_owned(), ERROR)]);
    let twice = format!("{MARKER_PY}__version__ = \"2.0.0\"\n");
    let said = editor.change(&path, &twice);
    let found = one(&said, "parse.duplicate_metadata");
    assert_eq!(marked(&twice, found), "__version__", "no line is added to what is not signed");
    let signed = world.signed(".ai/tools/acme/y.py", MARKER_PY);
    let text = fs::read_to_string(&signed).unwrap() + "__version__ = \"2.0.0\"\n";
    let said = editor.open_as(&signed, &text);
    assert_eq!(marked(&text, one(&said, "parse.duplicate_metadata")), "__version__");
    editor.bye();
}

#[test]
fn two_files_of_one_id_and_a_reserved_id_are_told_before_they_are_saved() {
    let world = World::new().with(".ai/tools/acme/x.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    let twin = world.project().join(".ai/tools/acme/x.sh");
    let said = editor.open_as(&twin, MARKER_SH);
    assert!(has(&said, "resolve.ambiguous_file", ERROR), "{said:?}");
    assert!(!twin.exists(), "nothing was written");
    let reserved = world.project().join(".ai/tools/rye/bash.py");
    let said = editor.open_as(&reserved, MARKER_PY);
    assert!(has(&said, "resolve.reserved", ERROR), "{said:?}");
    editor.bye();
}

#[test]
fn hover_shows_the_chain_with_spaces_signers_and_the_rule_that_refuses() {
    let world = World::new();
    let path = world.signed(".ai/tools/acme/x.py", MARKER_PY);
    let signed = fs::read_to_string(&path).unwrap();
    let mut editor = Editor::new(&world, &json!({}));
    editor.open(&path);
    let hover = editor.at("textDocument/hover", &path, 0, 5);
    let shown = hover["contents"]["value"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "**`tool:acme/x`** Leaves a marker");
    assert!(
        lines[2].starts_with("1. `tool:acme/x` · project · verified, signed by you `"),
        "{shown}"
    );
    assert!(
        lines[3].starts_with(
            "2. `tool:rye/core/runtimes/python/script` · system · verified, signed by "
        ),
        "{shown}"
    );
    assert!(lines[4].starts_with("3. `tool:rye/core/primitives/execute` · system · "), "{shown}");
    editor.change(&path, &signed.replace("Leaves", "Leaves*"));
    let hover = editor.at("textDocument/hover", &path, 0, 5);
    let shown = hover["contents"]["value"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("**`tool:acme/x`** Leaves\\* a marker\n"), "{shown}");
    assert!(shown.contains("**verify.altered**"), "{shown}");
    assert!(shown.contains("2. `tool:rye/core/runtimes/python/script`"), "{shown}");
    let page = world.rye(&["explain", "verify.altered"]).stdout;
    assert!(shown.contains(page.trim()), "the page of the code:\n{shown}");
    // Words of the program are not of the head.
    assert_eq!(editor.at("textDocument/hover", &path, 12, 0), Value::Null);
    editor.bye();
}

#[test]
fn a_runtime_that_names_an_executor_which_is_not_there_is_told_so() {
    let world = World::new();
    let runtime = world.signed(".ai/tools/acme/runtimes/sh.yaml", RUNTIME);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(editor.open(&runtime), Vec::<Value>::new(), "the fixture itself is good");
    let text = RUNTIME.replace("primitives/execute", "primitives/exceute");
    let said = editor.change(&runtime, &text);
    let found = said.last().unwrap();
    assert!(found["message"].as_str().unwrap().starts_with("it cannot run yet: "), "{said:?}");
    assert_eq!(marked(&text, found), "rye/core/primitives/exceute");
    assert_eq!(found["data"]["meant"][0], "rye/core/primitives/execute");
    editor.bye();
}

/// A runtime of the project, and a tool that runs through it.
const RUNTIME: &str = "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
    category: acme/runtimes\ndescription: d\nconfig: {command: sh, args: [\"{tool_path}\"]}\n";

#[test]
fn what_changes_elsewhere_is_told_of_the_open_files_that_it_concerns() {
    let world = World::new();
    let runtime = world.signed(".ai/tools/acme/runtimes/sh.yaml", RUNTIME);
    let good = fs::read_to_string(&runtime).unwrap();
    let text = MARKER_SH.replace("rye/core/runtimes/shell/script", "acme/runtimes/sh");
    let path = world.signed(".ai/tools/acme/x.sh", &text);
    let watches = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let mut editor = Editor::new(&world, &watches);
    let registered = editor.next("client/registerCapability");
    let registration = &registered["params"]["registrations"][0];
    assert_eq!(registration["method"], "workspace/didChangeWatchedFiles");
    assert_eq!(registration["registerOptions"]["watchers"][0]["globPattern"], "**/.ai/**");
    editor.reply(&registered, &Value::Null);
    assert_eq!(editor.open(&path), Vec::<Value>::new(), "the fixture itself is good");
    // The executor is altered by somebody else.
    fs::write(&runtime, format!("{good}# more\n")).unwrap();
    editor.tell("workspace/didChangeWatchedFiles", &json!({"changes": []}));
    let said = editor.said(&path);
    assert_eq!(codes(&said), [("verify.altered".to_owned(), ERROR)], "{said:?}");
    assert!(said[0]["message"].as_str().unwrap().contains("`tool:acme/runtimes/sh`"), "{said:?}");
    let open = fs::read_to_string(&path).unwrap();
    assert_eq!(marked(&open, &said[0]), "acme/runtimes/sh");
    fs::write(&runtime, &good).unwrap();
    editor.tell("workspace/didChangeWatchedFiles", &json!({"changes": []}));
    assert_eq!(editor.said(&path), Vec::<Value>::new());
    // Trust is taken away.
    let key = crate::world::fingerprint(&world.own_key());
    world.rye(&["trust", "revoke", &key, "--yes"]).ok();
    editor.tell("workspace/didChangeWatchedFiles", &json!({"changes": []}));
    let (_, told) = world.run("tool:acme/x");
    assert_eq!(codes(&editor.said(&path))[0], (told, ERROR), "what the other verb says");
    editor.bye();
}

#[test]
fn an_item_of_the_user_space_is_judged_as_one() {
    let Some(world) = World::new().at_home() else { return };
    let path = world.signed_home(".ai/tools/mine.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    let said = editor.open(&path);
    // Its category names a folder where it does not lie, which signing warned of.
    assert_eq!(codes(&said), [("-".to_owned(), WARNING)], "{said:?}");
    let hover = editor.at("textDocument/hover", &path, 0, 5);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("· user · verified"), "{hover}");
    editor.bye();
}

#[test]
fn without_a_key_and_a_project_that_is_accepted_a_text_is_judged_all_the_same() {
    let world = World::empty();
    let path = world.write(".ai/directives/acme/greet.md", GREET_MD);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(codes(&editor.open(&path)), [("verify.unsigned".to_owned(), ERROR)]);
    let said = editor.change(&path, &GREET_MD.replace("{input:who}", "{input:whon}"));
    assert_eq!(
        sayings(&said),
        ["the body names `whon`, which is not a declared input; did you mean `who`?"]
    );
    editor.bye();
    assert!(!world.home().join(".ai").exists(), "nothing was made");
}

#[test]
fn what_lies_beside_items_and_is_none_has_no_remarks() {
    let world = World::new();
    let mut editor = Editor::new(&world, &json!({}));
    for path in [
        ".ai/tools/acme/x.test.yaml",
        ".ai/rye.lock",
        ".ai/tools/acme/.hidden.py",
        ".ai/tools/a b.py",
    ] {
        let path = world.write(path, "a: 1\n");
        assert_eq!(editor.open(&path), Vec::<Value>::new(), "{}", path.display());
    }
    editor.bye();
}
