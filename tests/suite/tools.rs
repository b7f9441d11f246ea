//! Tools through the door (core 7), and what the line must show of them.

use std::fs;

use crate::world::items::{tool_py, tool_sh};
use crate::world::{End, MARKER_SH, World, line, links};
use serde_json::{Value, json};

const EXECUTE: &str = "rye/core/primitives/execute";

/// A shell tool that runs this script.
pub fn shell(script: &str) -> String {
    MARKER_SH.replace(": > marker\necho '{\"ran\": true}'\n", script)
}

/// One tool in each language, which leaves a marker and greets: file, runtime, text.
fn languages() -> Vec<(&'static str, &'static str, String)> {
    let python = |runtime: &str, code: &str| {
        format!(
            "\"\"\"Greets.\"\"\"\n__version__ = \"1.0.0\"\n__tool_type__ = \"tool\"\n\
             __executor_id__ = \"{runtime}\"\n__category__ = \"acme\"\n\
             __tool_description__ = \"Greets\"\n\n{code}"
        )
    };
    let script = "import json, sys\nopen('marker', 'w').close()\n\
                  print(json.dumps({'greeting': 'hi ' + json.load(sys.stdin)['name']}))\n";
    let function = |head: &str| {
        format!(
            "{head}\n    print('noise')\n    open('marker', 'w').close()\n    return {{'greeting': 'hi ' + params['name']}}\n"
        )
    };
    let node = "fs.writeFileSync('marker', '');\nconst params = JSON.parse(fs.readFileSync(0, 'utf8'));\n\
                console.log(JSON.stringify({ greeting: 'hi ' + params.name }));\n";
    let header = "// /// rye\n// version = \"1.0.0\"\n// tool_type = \"tool\"\n\
                  // executor_id = \"rye/core/runtimes/node/node\"\n// category = \"acme\"\n\
                  // description = \"Greets\"\n// ///\n";
    // `data` is the text of the program: the parameters as they came on standard input.
    let bash = "touch marker; read -r p; p=${p#*: }; p=${p#*:}; echo \"{\\\"greeting\\\": \\\"hi ${p//[\\\"\\}]/}\\\"}\"";
    let yaml = format!(
        "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/native/program\n\
         category: acme\ndescription: Greets\nconfig:\n  command: bash\n  args:\n    - -c\n    - {}\n",
        Value::from(bash)
    );
    let toml = format!(
        "version = \"1.0.0\"\ntool_type = \"tool\"\nexecutor_id = \"rye/core/runtimes/native/program\"\n\
         category = \"acme\"\ndescription = \"Greets\"\n[config]\ncommand = \"bash\"\nargs = [\"-c\", {}]\n",
        Value::from(bash)
    );
    let (py, fun) = ("rye/core/runtimes/python/script", "rye/core/runtimes/python/function");
    let (js, native) = ("rye/core/runtimes/node/node", "rye/core/runtimes/native/program");
    vec![
        ("script.py", py, python(py, script)),
        ("function.py", fun, python(fun, &function("def execute(params, project_path):"))),
        ("function_one.py", fun, python(fun, &function("def execute(params):"))),
        (
            "function_async.py",
            fun,
            python(fun, &function("async def execute(params, project_path):")),
        ),
        ("node.js", js, format!("{header}const fs = require('fs');\n{node}")),
        ("common.cjs", js, format!("{header}const fs = require('fs');\n{node}")),
        ("module.mjs", js, format!("{header}import fs from 'node:fs';\n{node}")),
        (
            "shell.sh",
            "rye/core/runtimes/shell/script",
            shell(&format!("{bash}\n")).replace("Leaves a marker", "Greets"),
        ),
        ("yaml.yaml", native, yaml),
        ("toml.toml", native, toml),
    ]
}

#[test]
fn a_tool_of_every_language_runs_is_refused_when_tampered_with_or_moved_and_warned_of_in_dev_mode()
{
    let world = World::new();
    let marker = world.project().join("marker");
    let dev = |item: &str| {
        let args = ["execute", item, "-i", "name=you", "--json"];
        world.rye_env(&world.project(), &args, b"", &[("RYE_DEV_MODE", "1")])
    };
    for (name, runtime, text) in languages() {
        let (stem, ext) = name.split_once('.').expect("an extension");
        let item = format!("tool:acme/{stem}");
        let file = world.signed(&format!(".ai/tools/acme/{name}"), &text);
        let (status, got) = world.json(&["execute", &item, "-i", "name=you"]);
        assert_eq!((status, &got["data"]), (0, &json!({"greeting": "hi you"})), "{name}: {got}");
        assert_eq!(got["chain"], links(&[&format!("acme/{stem}"), runtime, EXECUTE]), "{name}");
        assert_eq!(got["item_id"], item, "{name}");
        assert!(marker.exists(), "{name}");
        let (_, shown) = world.json(&["show", &item]);
        assert_eq!(shown["description"], "Greets", "{name}: {shown}");
        assert_eq!(shown["executor_id"], runtime, "{name}: {shown}");
        assert_eq!(
            (&shown["category"], &shown["tool_type"]),
            (&json!("acme"), &json!("tool")),
            "{name}"
        );
        let signed = fs::read_to_string(&file).unwrap();
        let tampered = signed.replace("hi ", "ho ");
        assert_ne!(tampered, signed, "{name}");
        fs::write(&file, tampered).unwrap();
        world.refused(&item, "verify.altered", 4);
        let said = dev(&item);
        assert_eq!(said.json()["data"], json!({"greeting": "ho you"}), "{name}: {said:?}");
        assert_eq!(said.json()["warnings"][0]["code"], "verify.altered", "{name}: {said:?}");
        assert!(said.stderr.contains("[DEV MODE]"), "{name}: {said:?}");
        // Elsewhere the same bytes are another item.
        world.write(&format!(".ai/tools/acme/moved_{stem}.{ext}"), &signed);
        let moved = format!("tool:acme/moved_{stem}");
        world.refused(&moved, "verify.moved", 4);
        let said = dev(&moved);
        assert_eq!(said.json()["data"], json!({"greeting": "hi you"}), "{name}: {said:?}");
        assert_eq!(said.json()["warnings"][0]["code"], "verify.moved", "{name}: {said:?}");
        fs::write(&file, signed).unwrap();
        world.refused(&moved, "verify.moved", 4);
        let (status, _) = world.json(&["execute", &item, "-i", "name=you"]);
        assert_eq!(status, 0, "{name} runs again");
    }
}

#[test]
fn parameters_are_checked_as_a_whole_and_defaults_are_filled_in() {
    let world = World::new();
    let schema = r#"
# [input_schema]
# type = "object"
# required = ["name", "count"]
# additionalProperties = false
# [input_schema.properties]
# name = {type = "string", minLength = 2}
# count = {type = "integer", minimum = 1}
# mode = {type = "string", enum = ["fast", "slow"], default = "fast"}
# tags = {type = "array", items = {type = "string"}}
# deep = {type = "object", properties = {"a/b" = {type = "boolean", default = true}}, required = ["x"]}
# ///"#;
    let tool = shell("cat\n").replace("\n# ///\ncat", &format!("{schema}\ncat"));
    world.signed(".ai/tools/acme/t.sh", &tool);
    let run = |params: Value| world.json(&["execute", "acme/t", "--params", &params.to_string()]);
    let (status, got) = run(json!({"name": "ab", "count": 1, "deep": {"x": null}}));
    let want = json!({"name": "ab", "count": 1, "deep": {"x": null, "a/b": true}, "mode": "fast"});
    assert_eq!((status, &got["data"]), (0, &want));
    let bad =
        json!({"name": "a", "mode": "medium", "tags": ["x", 7], "deep": {"a/b": "yes"}, "nmae": 1});
    let (status, got) = run(bad);
    assert_eq!((status, &got["code"]), (2, &json!("plan.invalid_parameters")));
    let violations = got["data"]["violations"].as_array().expect("a list");
    let mut pointers: Vec<_> = violations.iter().map(|v| v["pointer"].as_str().unwrap()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["", "", "/deep", "/deep/a~1b", "/mode", "/name", "/tags/1"]);
    for violation in violations {
        let (error, message) =
            (got["error"].as_str().unwrap(), violation["message"].as_str().unwrap());
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(got["help"], "`nmae` is not known here; did you mean `name`?");
    assert_eq!(
        got["chain"],
        links(&["acme/t", "rye/core/runtimes/shell/script", EXECUTE]),
        "core 7.12"
    );
    // What is typed takes the declared type.
    let args = ["execute", "acme/t", "-i", "name=12", "-i", "count=12", "-i", "tags=[\"1\"]"];
    let (_, got) = world.json(&args);
    assert_eq!(got["data"], json!({"name": "12", "count": 12, "tags": ["1"], "mode": "fast"}));
    let (status, got) = world.json(&["execute", "acme/t", "-i", "name=ab", "-i", "count=many"]);
    assert_eq!((status, &got["data"]["violations"][0]["pointer"]), (2, &json!("/count")));
    // The short list of parameters means the same.
    let yaml = "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/native/program\n\
                category: acme\nconfig: {command: cat}\nparameters:\n  - {name: a, type: int, required: true}\n  \
                - {name: b, type: bool, default: false}\n";
    world.signed(".ai/tools/acme/list.yaml", yaml);
    let (_, got) = world.json(&["execute", "acme/list", "-i", "a=7"]);
    assert_eq!(got["data"], json!({"a": 7, "b": false}));
    let (status, got) = world.json(&["execute", "acme/list", "-i", "a=x", "-i", "c=1"]);
    assert_eq!((status, got["data"]["violations"].as_array().map(Vec::len)), (2, Some(2)), "{got}");
    world.json(&["execute", "acme/list", "--dry-run"]).fails(2, "plan.invalid_parameters");
}

#[test]
fn what_a_tool_prints_is_its_data() {
    let world = World::new()
        .with(".ai/tools/acme/t.sh", &shell("cat out; cat err >&2; exit \"$(cat status)\"\n"));
    let run = |out: &str, err: &str, status: &str| {
        world.write("out", out);
        world.write("err", err);
        world.write("status", status);
        world.json(&["execute", "acme/t"])
    };
    let streams = |out: &str| json!({"stdout": out, "stderr": "note\n"});
    let rows = [
        ("{\"a\": 1}\n", json!({"a": 1})),
        ("[]", json!([])),
        ("7", json!(7)),
        ("null", json!(null)),
        ("true\n\n", json!(true)),
        ("\"x\"", json!("x")),
        ("{\"success\": true, \"error\": \"none\"}", json!({"success": true, "error": "none"})),
        ("hello\n", streams("hello\n")),
        ("", streams("")),
        ("{} {}", streams("{} {}")),
        ("{\"open\":", streams("{\"open\":")),
    ];
    for (out, want) in rows {
        let (status, got) = run(out, "note\n", "0");
        assert_eq!((status, &got["status"], &got["data"]), (0, &json!("success"), &want), "{out}");
        assert_eq!(got["metadata"]["exit_code"], 0, "{out}");
        assert!(got.get("code").is_none() && got.get("error").is_none(), "{out}: {got}");
    }
    let chain = links(&["acme/t", "rye/core/runtimes/shell/script", EXECUTE]);
    let fail = json!({"success": false, "error": "no luck"});
    let rows = [
        (fail.to_string(), "0", "no luck", fail.clone()),
        (fail.to_string(), "3", "no luck", fail.clone()),
        (
            "{\"success\":false,\"error\":{\"k\":1}}".into(),
            "0",
            "{\"k\":1}",
            json!({"success": false, "error": {"k": 1}}),
        ),
        ("{\"a\":1}".into(), "3", "the tool ended with status 3", json!({"a": 1})),
        ("words".into(), "255", "the tool ended with status 255", streams("words")),
        ("[1]".into(), "4", "the tool ended with status 4", json!({"value": [1]})),
        ("null".into(), "4", "the tool ended with status 4", json!({})),
        ("{\"stderr_tail\":1}".into(), "4", "the tool ended with status 4", json!({})),
    ];
    for (out, exit, error, data) in rows {
        let (status, got) = run(&out, "note\n", exit);
        let code = json!("execute.tool_failed");
        assert_eq!((status, &got["status"], &got["code"]), (1, &json!("error"), &code), "{out}");
        // One place for what it said last, whatever the tool answers itself.
        let mut data = data;
        data["stderr_tail"] = json!("note\n");
        assert_eq!((&got["error"], &got["data"]), (&json!(error), &data), "{out}");
        assert_eq!((&got["chain"], &got["item_id"]), (&chain, &json!("tool:acme/t")), "{out}");
        assert_eq!(got["metadata"]["exit_code"], exit.parse::<i64>().unwrap(), "{out}");
        assert_eq!(got.get("stderr_tail"), None, "{out}");
    }
    let long = format!("{}end\n", "é".repeat(10_000));
    let (_, got) = run("", &long, "1");
    let tail = got["data"]["stderr_tail"].as_str().unwrap();
    assert!(
        tail.ends_with("éend\n") && tail.len() <= 4096 && long.ends_with(tail),
        "{}",
        tail.len()
    );
    world.signed(".ai/tools/acme/killed.sh", &shell("kill -9 $$\n"));
    let (status, got) = world.json(&["execute", "acme/killed"]);
    assert_eq!(
        (status, &got["error"]),
        (1, &json!("the tool ended with status 137, that of signal 9"))
    );
    assert_eq!(
        (&got["metadata"]["exit_code"], &got["metadata"]["signal"]),
        (&json!(137), &json!(9))
    );
    // More than is kept is cut, said, and never blocks the tool.
    world.signed(".ai/tools/acme/flood.sh", &shell("head -c 17000000 /dev/zero | tr '\\0' x\n"));
    let (status, got) = world.json(&["execute", "acme/flood"]);
    assert_eq!((status, &got["metadata"]["truncated"]), (0, &json!(true)));
    assert_eq!(got["data"]["stdout"].as_str().map(str::len), Some(16 << 20));
}

#[test]
fn the_text_form_is_what_the_tool_printed() {
    let world = World::new();
    for (script, status, stdout, stderr) in [
        ("echo hi; echo note >&2", 0, "hi\n", "note\n"),
        ("echo '\"text\"'", 0, "text\n", ""),
        ("echo '{\"a\":[1]}'", 0, "{\n  \"a\": [\n    1\n  ]\n}\n", ""),
    ] {
        world.signed(".ai/tools/acme/t.sh", &shell(&format!("{script}\n")));
        let said = world.rye(&["execute", "acme/t"]);
        let got = (said.status, said.stdout.as_str(), said.stderr.as_str());
        assert_eq!(got, (status, stdout, stderr), "{script}");
    }
    world.signed(".ai/tools/acme/t.sh", &shell("echo part; echo why >&2; exit 4\n"));
    let said = world.rye(&["execute", "acme/t"]);
    assert_eq!((said.status, said.stdout.as_str()), (1, "part\n"));
    assert!(said.stderr.starts_with("why\nerror[execute.tool_failed]: `tool:acme/t`"), "{said:?}");
}

#[test]
fn time_runs_out_by_the_signed_limit_and_a_caller_only_shortens_it() {
    let world = World::new();
    let config = |ms: &str| format!("# [config]\n# timeout_ms = {ms}\n# ///\nsleep 60 & sleep 60");
    let tool = |ms: &str| shell("sleep").replace("# ///\nsleep", &config(ms));
    world.signed(".ai/tools/acme/slow.sh", &format!("{}\n", tool("200")));
    let chain = links(&["acme/slow", "rye/core/runtimes/shell/script", EXECUTE]);
    for more in [&[][..], &["--timeout", "3600"], &["--timeout", "0.1"]] {
        let start = std::time::Instant::now();
        let got =
            world.json(&[&["execute", "acme/slow"], more].concat()).fails(6, "execute.timeout");
        assert!(start.elapsed().as_secs() < 5, "{more:?}: {:?}", start.elapsed());
        assert_eq!(got["chain"], chain, "core 7.12");
    }
    for (text, status) in [("0", 2), ("-1", 2), ("NaN", 2), ("inf", 2), ("x", 2), ("1e300", 2)] {
        let said = world.rye(&["execute", "acme/slow", &format!("--timeout={text}")]);
        assert_eq!(said.status, status, "{text}: {said:?}");
    }
    let plan = |more: &[&str]| {
        let (_, got) = world.json(&[&["execute", "acme/slow", "--dry-run"], more].concat());
        got["plan"]["timeout_ms"].clone()
    };
    assert_eq!(plan(&[]), 200);
    assert_eq!(plan(&["--timeout", "0.05"]), 50);
    assert_eq!(plan(&["--timeout", "9"]), 200);
    assert_eq!(plan(&["-i", "timeout=9", "-i", "timeout_ms=9"]), 200);
    for bad in ["0", "-5", "\"5\"", "1.5", "86400001"] {
        world.signed(".ai/tools/acme/slow.sh", &format!("{}\n", tool(bad)));
        assert_eq!(world.run("tool:acme/slow"), (6, "plan.bad_config".into()), "{bad}");
    }
}

#[test]
fn what_cannot_be_planned_is_told_before_anything_runs() {
    let world = World::new();
    let yaml = |config: &str| {
        format!(
            "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/native/program\ncategory: acme\n{config}\n"
        )
    };
    world.signed(".ai/tools/acme/t.yaml", &yaml("config: {command: touch, args: [marker]}"));
    world.works("tool:acme/t");
    for (config, code, status) in [
        ("", "plan.no_command", 6),
        ("config: {command: ''}", "plan.no_command", 6),
        ("config: {command: '${NONE}'}", "plan.no_command", 6),
        ("config: {command: [touch, marker]}", "plan.bad_config", 6),
        ("config: {command: touch, args: marker}", "plan.bad_config", 6),
        ("config: {command: touch, args: [[marker]]}", "plan.bad_config", 6),
        ("config: {command: touch, args: [marker], cwd: 7}", "plan.bad_config", 6),
        ("config: {command: no-such-program-here}", "plan.program_not_found", 6),
        (
            "config: {command: touch, args: [marker]}\nsecrets: [RYE_TEST_SECRET]",
            "plan.missing_secret",
            6,
        ),
        (
            "config: {command: touch, args: ['${RYE_TEST_NAME}', marker]}\nenv: [RYE_TEST_NAME]",
            "plan.secret_in_argv",
            6,
        ),
    ] {
        world.signed(".ai/tools/acme/t.yaml", &yaml(config));
        world.refused("tool:acme/t", code, status);
        let (got, said) = world.json(&["execute", "acme/t", "--dry-run"]);
        assert_eq!((got, &said["code"]), (status, &json!(code)), "{config}");
    }
    // A schema that is none is not signed, and signed by others it is refused.
    let bad = yaml("config: {command: touch, args: [marker]}\ninput_schema: {type: objekt}");
    world.write(".ai/tools/acme/t.yaml", &bad);
    let (status, got) = world.json(&["sign", "tool:acme/t"]);
    assert_eq!((status, &got["items"][0]["code"]), (4, &json!("sign.invalid")), "{got}");
    let signed =
        line(&world.own_key(), "tool:acme/t", "yaml", "2026-01-01T00:00:00Z", bad.as_bytes());
    world.write(".ai/tools/acme/t.yaml", format!("# {signed}\n{bad}"));
    world.refused("tool:acme/t", "plan.invalid_schema", 6);
}

#[test]
fn a_python_function_answers_with_what_it_returns_or_with_its_exception() {
    let world = World::new();
    let head = "__version__ = \"1.0.0\"\n__tool_type__ = \"tool\"\n__category__ = \"acme\"\n\
                __executor_id__ = \"rye/core/runtimes/python/function\"\n";
    for (code, status, data) in [
        (
            "def execute(params, project_path):\n    return project_path\n",
            0,
            json!(world.project().display().to_string()),
        ),
        (
            "def execute(params, *rest):\n    return [len(rest), __name__ == '__main__']\n",
            0,
            json!([1, false]),
        ),
        ("def execute(params):\n    return None\n", 0, json!(null)),
        (
            "def execute(params):\n    return {'success': False, 'error': 'no luck'}\n",
            1,
            json!({"success": false, "error": "no luck"}),
        ),
        (
            "def execute(params):\n    raise ValueError('bad é')\n",
            1,
            json!({"success": false, "error": "ValueError: bad é"}),
        ),
        (
            "def execute(params):\n    raise SystemExit(0)\n",
            1,
            json!({"success": false, "error": "SystemExit: 0"}),
        ),
        ("def execute(params):\n    return float('nan')\n", 1, json!(null)),
        ("def execute(params):\n    return {1, 2}\n", 1, json!(null)),
        ("execute = 7\n", 1, json!(null)),
        ("import no_such_module\n", 1, json!(null)),
    ] {
        world.signed(".ai/tools/acme/f.py", &format!("{head}\n{code}"));
        let (got_status, got) = world.json(&["execute", "acme/f", "--params", "{\"a\":1}"]);
        assert_eq!(got_status, status, "{code}: {got}");
        if status == 1 {
            assert_eq!(got["data"]["success"], false, "{code}: {got}");
            assert_eq!(got["error"], got["data"]["error"], "{code}: {got}");
            // What rye says of a tool without a function has no line of the tool's to show.
            let raised = !code.contains("return {'success'") && code != "execute = 7\n";
            let told =
                got["data"]["stderr_tail"].as_str().is_some_and(|tail| tail.contains("Traceback"));
            assert_eq!(told, raised, "{code}: {got}");
        }
        let mut given = got["data"].clone();
        given.as_object_mut().map(|given| given.remove("stderr_tail"));
        assert!(data.is_null() && status == 1 || given == data, "{code}: {got}");
    }
}

#[test]
fn signing_warns_of_an_executor_that_is_in_no_space_and_names_the_near_ones() {
    let world = World::new();
    let text = shell("echo hi");
    world.signed(".ai/tools/fine.sh", &text);
    let lost = text.replace("shell/script", "shell/scirpt");
    world.write(".ai/tools/lost.sh", lost);
    let said = world.rye(&["sign", "lost", "--json"]);
    let warnings = &said.json()["items"][0]["warnings"];
    let told = "it cannot run yet: its executor `rye/core/runtimes/shell/scirpt` is in no space; \
                did you mean `rye/core/runtimes/shell/script`";
    let mut messages = warnings.as_array().unwrap().iter().filter_map(|w| w["message"].as_str());
    assert!(messages.any(|message| message.starts_with(told)), "{said:?}");
    assert_eq!(world.run("lost"), (3, "chain.executor_not_found".into()));
}

#[test]
fn a_schema_that_lies_elsewhere_is_told_with_its_address_and_not_with_a_build_option() {
    let world = World::new();
    let tool = |at: &str| {
        format!(
            "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/runtimes/native/program\n\
             category: acme\ndescription: t\nconfig: {{command: cat}}\n\
             config_schema: {{type: object, properties: {{a: {{$ref: \"{at}\"}}}}, $defs: {{a: {{}}}}}}\n"
        )
    };
    world.signed(".ai/tools/acme/t.yaml", &tool("#/$defs/a"));
    world.write(".ai/tools/acme/t.yaml", tool("https://shop.example/a.json"));
    let said = world.rye(&["sign", "tool:acme/t"]);
    assert_eq!(said.status, 4, "{said:?}");
    let want = "its `$ref` names `https://shop.example/a.json`, which rye does not fetch";
    assert!(said.stderr.contains(want) && !said.stderr.contains("resolve-http"), "{said:?}");
}

#[test]
fn what_a_tool_gives_has_to_fit_the_output_schema_that_it_declares() {
    let world = World::new();
    let header = "[output_schema]\ntype = \"object\"\nrequired = [\"n\"]\n\
        [output_schema.properties]\nn = {type = \"integer\"}\n";
    let path = ".ai/tools/acme/counts.sh";
    world.signed(path, &tool_sh(header, "cat out\n"));
    for (out, misfit) in [
        ("{\"n\": 7}", ""),
        ("{\"n\": \"7\"}", "is not of type"),
        ("{}", "required"),
        ("words", "required"),
    ] {
        world.write("out", out);
        let (status, got) = world.json(&["execute", "acme/counts"]);
        assert_eq!(status, i32::from(!misfit.is_empty()), "{out}: {got}");
        if !misfit.is_empty() {
            assert_eq!(got["code"], "execute.tool_failed", "{got}");
            let error = got["error"].as_str().unwrap();
            assert!(error.contains("`output_schema`") && error.contains(misfit), "{error}");
        }
    }
    // A tool that says itself that it failed is told as it is.
    world.write("out", "{\"success\": false, \"error\": \"no luck\"}");
    assert_eq!(world.json(&["execute", "acme/counts"]).1["error"], "no luck");
    let (_, got) = world.json(&["describe", "acme/counts", "--level", "schema"]);
    assert_eq!(got["output_schema"]["required"], json!(["n"]), "{got}");
    if cfg!(feature = "code") {
        world.rye(&["code", "stubs", "--for", "tool:acme/**"]).shows("Promise<{ n: number");
    }
    world.write(path, tool_sh("output_schema = 7\n", "cat out\n"));
    assert_eq!(world.rye(&["sign", "acme/counts"]).code(), "parse.metadata");
    world.write(path, tool_sh("output_schema = {type = \"int\"}\n", "cat out\n"));
    world.rye(&["sign", "acme/counts"]).fails_with("sign.invalid").warns("`output_schema`");
}

#[test]
fn a_tool_is_no_module_for_the_python_that_it_starts() {
    let world = World::new();
    let program = "import subprocess, sys\n\
        code = 'import importlib.util as u; print(u.find_spec(\"black\"), u.find_spec(\"run\"))'\n\
        print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout)\n";
    world.signed(".ai/tools/dev/black.py", &tool_py("", program));
    world.rye(&["run", "dev/black"]).shows("None None");
}
