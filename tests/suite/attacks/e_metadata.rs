//! Rows e08 and e10: chains that do not end, and metadata that says two things.

use super::e_parsers::bad;
use crate::world::{End, MARKER_PY, MARKER_SH, Said, World, item_of, links};
use serde_json::{Value, json};

/// A runtime of the project that hands on to `next`.
fn runtime(world: &World, id: &str, next: &str) {
    let text =
        format!("version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: {next}\ncategory: acme\n");
    world.signed(&format!(".ai/tools/{id}.yaml"), &text);
}

#[test]
fn e08_a_chain_has_an_end_and_comes_to_it() {
    let world = World::new();
    let shell = "rye/core/runtimes/shell/script";
    let tool = |id: &str, next: &str| {
        world.signed(&format!(".ai/tools/{id}.sh"), &MARKER_SH.replace(shell, next));
        format!("tool:{id}")
    };
    runtime(&world, "acme/r", shell);
    let first = tool("acme/first", "acme/r");
    // Two ways to one runtime are no circle.
    let second = tool("acme/second", "acme/r");
    world.works(&first);
    world.works(&second);
    std::fs::remove_file(world.project().join("marker")).expect("it ran");
    let stops = |item: &str, code: &str, want: Value| {
        for more in [&[][..], &["--dry-run"]] {
            let got = world.json(&[&["execute", item], more].concat()).fails(5, code);
            assert_eq!((&got["status"], &got["chain"]), (&json!("error"), &want), "{item}: {got}");
        }
        world.refused(item, code, 5);
        world.json(&["execute", item]).1
    };
    runtime(&world, "acme/a", "acme/b");
    runtime(&world, "acme/b", "acme/c");
    runtime(&world, "acme/c", "acme/a");
    let item = tool("acme/circle", "acme/a");
    let got = stops(&item, "chain.cycle", links(&["acme/circle", "acme/a", "acme/b", "acme/c"]));
    assert_eq!(got["data"]["path"], json!(["acme/a", "acme/b", "acme/c", "acme/a"]));
    let item = tool("acme/self", "acme/self");
    let got = stops(&item, "chain.cycle", links(&["acme/self"]));
    assert_eq!(got["data"]["path"], json!(["acme/self", "acme/self"]));
    // Ten links with the shell's runtime and the primitive, then one more.
    for n in 0..8 {
        let next = if n == 0 { shell.to_owned() } else { format!("acme/deep{}", n - 1) };
        runtime(&world, &format!("acme/deep{n}"), &next);
    }
    world.works(&tool("acme/ten", "acme/deep6"));
    std::fs::remove_file(world.project().join("marker")).expect("it ran");
    let item = tool("acme/eleven", "acme/deep7");
    let mut all = vec!["acme/eleven".to_owned()];
    all.extend((0..8).rev().map(|n| format!("acme/deep{n}")));
    all.push(shell.into());
    stops(&item, "chain.too_deep", links(&all));
    let item = tool("acme/onto", "acme/first");
    stops(&item, "chain.not_an_executor", links(&["acme/onto"]));
    runtime(&world, "acme/names_a_tool", "acme/first");
    let item = tool("acme/through", "acme/names_a_tool");
    stops(&item, "chain.not_an_executor", links(&["acme/through", "acme/names_a_tool"]));
    runtime(&world, "acme/ends", "null");
    let item = tool("acme/early", "acme/ends");
    stops(&item, "chain.unknown_primitive", links(&["acme/early", "acme/ends"]));
    let null = "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: null\ncategory: acme\n";
    world.signed(".ai/tools/acme/null.yaml", null);
    stops("tool:acme/null", "chain.unknown_primitive", links(&["acme/null"]));
    let fake = null.replace("tool_type: tool", "tool_type: primitive");
    world.signed(".ai/tools/acme/fake.yaml", &fake);
    let item = tool("acme/fakes", "acme/fake");
    stops(&item, "chain.unknown_primitive", links(&["acme/fakes", "acme/fake"]));
    world.works(&first);
}

#[test]
fn e10_metadata_is_bound_once_plainly_and_in_one_form() {
    let world = World::new().with(".ai/tools/acme/snake.py", MARKER_PY);
    world.works("tool:acme/snake");
    std::fs::remove_file(world.project().join("marker")).expect("it ran");
    let runtime = "rye/core/runtimes/python/script";
    let bound = format!("__executor_id__ = \"{runtime}\"\n");
    let other = "\"rye/core/runtimes/shell/script\"";
    let (twice, plain) = ("parse.duplicate_metadata", "parse.metadata");
    let python = [
        (format!("{bound}{bound}"), twice),
        (format!("{bound}__executor_id__ = {other}\n"), twice),
        (format!("{bound}if True:\n    __executor_id__ = {other}\n"), twice),
        (format!("{bound}__executor_id__ += \"x\"\n"), twice),
        (format!("{bound}for __executor_id__ in []: pass\n"), twice),
        (format!("{bound}import os as __executor_id__\n"), twice),
        (
            format!("{bound}def f():\n    global __executor_id__\n    __executor_id__ = {other}\n"),
            twice,
        ),
        (format!("{bound}(x, __executor_id__) = 1, {other}\n"), twice),
        (format!("{bound}(__executor_id__ := {other})\n"), twice),
        (format!("{bound}del __executor_id__\n"), twice),
        (format!("# /// rye\n# executor_id = {other}\n# ///\n{bound}"), twice),
        (format!("if True:\n    {bound}"), plain),
        (format!("try:\n    {bound}except Exception: pass\n"), plain),
        (format!("__executor_id__ = f\"{runtime}\"\n"), plain),
        ("__executor_id__ = \"rye/core/runtimes/\" + \"python/script\"\n".into(), plain),
        ("__executor_id__ = \"rye/core/runtimes/\" \"python/script\"\n".into(), plain),
        ("__executor_id__ = str(\"rye/core/runtimes/python/script\")\n".into(), plain),
        ("x = __executor_id__ = \"rye/core/runtimes/python/script\"\n".into(), plain),
        (format!("{bound}def (:\n"), "parse.syntax"),
    ];
    for (new, code) in python {
        let text = MARKER_PY.replace(&bound, &new);
        let said = bad_either(&world, ".ai/tools/acme/snake.py", &text, code);
        assert!(said.json()["place"]["line"].is_number(), "{new}: {said:?}");
    }
    let block = "// /// rye\n// version = '1.0.0'\n// tool_type = 'tool'\n\
                 // executor_id = 'rye/core/runtimes/node/node'\n// category = 'acme'\n// ///\n";
    let program = "require('fs').writeFileSync('marker', '');\nconsole.log('1');\n";
    let js = &format!("{block}{program}");
    world.signed(".ai/tools/acme/node.js", js);
    world.works("tool:acme/node");
    std::fs::remove_file(world.project().join("marker")).expect("it ran");
    let rows = [
        format!("{block}{js}"),
        format!("{program}{block}"),
        format!("/**\n * @executor_id rye/core/runtimes/shell/script\n */\n{program}"),
        format!("const __executor_id__ = 'rye/core/runtimes/node/node';\n{program}"),
        format!("export const __executor_id__ = 'rye/core/runtimes/node/node';\n{program}"),
    ];
    for text in rows {
        bad_either(&world, ".ai/tools/acme/node.js", &text, "");
    }
    let yaml = "tool_type: tool\nexecutor_id: rye/core/runtimes/native/program\n\
                config: {command: touch, args: [marker]}\n";
    for (text, code) in [
        (format!("{yaml}---\nexecutor_id: acme/x\n"), "parse.yaml"),
        (format!("{yaml}---\n"), "parse.yaml"),
        (format!("{yaml}...\nexecutor_id: acme/x\n"), "parse.yaml"),
        (format!("{yaml}executor_id: acme/x\n"), "parse.yaml"),
        (format!("{yaml}input_schema: {{}}\nparameters: []\n"), twice),
    ] {
        bad(&world, ".ai/tools/acme/two.yaml", text, code);
    }
    let block = "# /// rye\n# executor_id = \"acme/x\"\n# ///\n";
    bad(&world, ".ai/tools/acme/mark.sh", format!("{MARKER_SH}{block}"), twice);
    let inside = MARKER_SH.replace("# category", "# version = \"2.0.0\"\n# category");
    bad(&world, ".ai/tools/acme/mark.sh", inside, "parse.toml");
}

/// [`bad`] for what may be said with either of two codes.
#[track_caller]
fn bad_either(world: &World, path: &str, text: &str, code: &str) -> Said {
    world.write(path, text);
    let (_, got) = world.json(&["sign", &item_of(path)]);
    let said = got["items"][0]["code"].as_str().unwrap_or_default().to_owned();
    let (twice, plain) = ("parse.duplicate_metadata", "parse.metadata");
    let fits = if code.is_empty() || code == twice || code == plain {
        said == twice || said == plain
    } else {
        said == code
    };
    assert!(fits, "{text}\nwant {code}: {got}");
    bad(world, path, text, &said)
}

/// A description of a parameter is read by agents as much as that of the tool.
#[test]
fn e07_hidden_text_behind_an_escape_is_refused_however_parameters_are_declared() {
    let world = World::new();
    let tool = |declared: &str| {
        format!(
            "version: 1.0.0\nexecutor_id: rye/core/runtimes/native/program\ncategory: acme\n\
             description: x\nconfig: {{command: /bin/true}}\n{declared}\n"
        )
    };
    for declared in [
        r#"input_schema: {properties: {a: {description: "x§"}}}"#,
        r#"config_schema: {properties: {a: {description: "x§"}}}"#,
        r#"config_schema: {properties: {"a§": {}}}"#,
        r#"parameters: {properties: {a: {description: "x§"}}}"#,
        r#"parameters: [{name: a, description: "x§"}]"#,
        r#"parameters: {a: {default: "x§"}}"#,
        r#"tags: ["x§"]"#,
        r#"notes: "x§""#,
        r#"references: ["x§"]"#,
        r#"examples: [{a: "x§"}]"#,
    ] {
        world.signed(".ai/tools/acme/plain.yaml", &tool(&declared.replace('§', "")));
        world.works("tool:acme/plain");
        for (escape, code) in
            [(r"\u202E", "parse.invisible_text"), (r"\e[2J", "parse.control_text")]
        {
            world.write(".ai/tools/acme/hidden.yaml", tool(&declared.replace('§', escape)));
            let said = world.rye(&["sign", "tool:acme/hidden"]);
            assert_eq!(said.code(), code, "{declared}: {said:?}");
        }
    }
}
