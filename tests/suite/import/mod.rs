//! `rye import runtimeconfig`: unchanged configurations of `PromptKit` become signed items that run
//! (exec-protocol 1.2).

mod faults;
pub mod older;
mod signed_skills;
#[cfg(feature = "sigstore")]
mod sigstore_skills;
mod skills;
mod writing;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::{End, World, python_folder};

/// Says of a text whether it sounds glad; one process a call.
const SENTIMENT_PY: &str = r#"import json
import os
import sys

args = json.load(sys.stdin)["args"]
words = args["text"].lower().split()
glad = any(word in ("glad", "fine") for word in words)
print(json.dumps({"result": {"glad": glad, "from": os.environ.get("SENTIMENT_FROM")}}))
"#;

/// Answers queries of a database that it holds in memory, for as long as it is kept.
const DB_QUERY_JS: &str = r#"#!/usr/bin/env node
const orders = [{ id: 1, total: 12 }, { id: 2, total: 30 }];
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, params } = JSON.parse(line);
  const least = Number(params.args.least);
  const result = {
    orders: orders.filter((order) => order.total >= least).map((order) => order.id),
    argv: process.argv.slice(2),
  };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});
"#;

/// Gives each answer half of what there is to give.
const TONE_SH: &str =
    "#!/bin/sh\ncat > /dev/null\nprintf '{\"score\": 0.5, \"detail\": \"%s\"}' \"$1\"\n";

/// Lets pass what is no deletion.
const GUARD_SH: &str = r#"#!/bin/sh
case "$(cat)" in
  *delete*) echo '{"allow": false, "reason": "nothing is deleted here"}' ;;
  *) echo '{"allow": true}' ;;
esac
"#;

const HEAD: &str = "apiVersion: promptkit.altairalabs.ai/v1alpha1\nkind: RuntimeConfig\n\
                    metadata:\n  name: shop\n";

const SPEC: &str = r#"spec:
  tools:
    # started for each call
    sentiment_check:
      exec:
        command: python3
        args: [./tools/sentiment.py]
        timeout_ms: 5000
        env: [SENTIMENT_FROM]
    # kept
    db_query:
      exec:
        command: ./tools/db-query
        args: ["--depth", 2]
        runtime: server
        timeout_ms: 10000
  evals:
    tone:
      command: sh
      args: [./evals/tone.sh, kind]
  hooks:
    guard:
      command: ./hooks/guard
      hook: tool
      phases: [before_execution]
      mode: filter
      timeout_ms: 3000
"#;

const PACK: &str = r#"{
  "tools": {
    "sentiment_check": {
      "name": "sentiment_check",
      "description": "Says whether a text sounds glad",
      "parameters": {
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]
      }
    },
    "db_query": {
      "description": "Orders of at least so much",
      "parameters": {
        "type": "object", "properties": {"least": {"type": "integer"}}, "required": ["least"]
      }
    }
  },
  "evals": [{"id": "kind", "type": "tone", "params": {"tone": "kind"}}],
  "prompts": {"shop": {"tools": ["sentiment_check", "db_query"]}}
}
"#;

/// A world with a configuration and its programs beside the project.
fn world() -> World {
    let world = match std::env::var("RYE_TEST_NODE") {
        Ok(node) => {
            let path = format!("{node}:{}:/usr/local/bin:/usr/bin:/bin", python_folder().display());
            World::new().env("PATH", &path)
        }
        Err(_) => World::new(),
    };
    let files = [
        ("runtimeconfig.yaml", &*format!("{HEAD}{SPEC}"), 0o644),
        ("bare.yaml", SPEC, 0o644),
        ("shop.pack.json", PACK, 0o644),
        ("tools/sentiment.py", SENTIMENT_PY, 0o644),
        ("tools/db-query", DB_QUERY_JS, 0o755),
        ("evals/tone.sh", TONE_SH, 0o644),
        ("hooks/guard", GUARD_SH, 0o755),
    ];
    for (path, text, mode) in files {
        put(&world, path, text);
        let path = config(&world, path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    world
}

fn config(world: &World, path: &str) -> PathBuf {
    world.outside().join("config").join(path)
}

fn put(world: &World, path: &str, text: &str) {
    let path = config(world, path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Imports the configuration `name` and gives what `--json` says.
fn import(world: &World, name: &str, more: &[&str]) -> (i32, Value) {
    let path = format!("../config/{name}");
    world.json(&[&["import", "runtimeconfig", &path], more].concat())
}

/// Everything below the project's folder but what `rye init` made.
fn written(world: &World) -> Vec<String> {
    let said = world.shell("find .ai -type f | LC_ALL=C sort");
    said.lines().map(str::to_owned).collect()
}

#[test]
fn a_hidden_file_that_a_runtimeconfig_names_is_not_copied_and_that_is_told() {
    let world = world();
    put(&world, ".env", "TOKEN=hush\n");
    put(&world, "tools/.aws/credentials", "hush\n");
    let words = "./tools/sentiment.py, ./.env, --key=tools/.aws/credentials";
    let text = format!("{HEAD}{SPEC}").replace("[./tools/sentiment.py]", &format!("[{words}]"));
    put(&world, "hidden.yaml", &text);
    let said = import(&world, "hidden.yaml", &["--category", "shop", "--yes"]).ok();
    let remarks = said["remarks"].to_string();
    for word in ["`./.env`", "`--key=tools/.aws/credentials`"] {
        assert!(remarks.contains(&format!("{word}, which is hidden: it is not copied")), "{said}");
    }
    assert_eq!(world.shell("grep -rl hush .ai || true"), "", "{said}");
    assert!(world.project().join(".ai/tools/shop/sentiment_check.files").exists(), "{said}");
    // A program that is hidden cannot be what a tool starts.
    put(&world, "hidden.yaml", &text.replace("./tools/db-query", "./.tools/db-query"));
    put(&world, ".tools/db-query", DB_QUERY_JS);
    let (status, said) = import(&world, "hidden.yaml", &["--category", "more", "--yes"]);
    assert!(status != 0 && said.to_string().contains("which is hidden"), "{said}");
}

#[test]
fn what_binds_no_tool_is_left_out_with_a_remark() {
    let world = world();
    let others =
        "  selectors: {best: {command: x}}\n  tool_selector: best\n  skills: [{path: x}]\n";
    let told =
        "    scores:\n      command: ./hooks/guard\n      hook: eval\n      phases: [after]\n";
    put(&world, "more.yaml", &format!("{HEAD}{SPEC}{told}{others}"));
    let (status, said) = import(&world, "more.yaml", &["--category", "shop", "--yes"]);
    assert_eq!((status, said["items"].as_array().map(Vec::len)), (0, Some(4)), "{said}");
    for key in ["selectors", "tool_selector", "skills", "hooks.scores"] {
        let part = format!("`spec.{key}` ");
        let remarks = said["remarks"].as_array().unwrap().iter().filter_map(Value::as_str);
        let told = remarks.filter(|it| it.starts_with(&part) && it.contains("left out")).count();
        assert_eq!(told, 1, "{key}: {said}");
    }
}

#[test]
fn an_unchanged_runtimeconfig_is_imported_signed_and_runs() {
    crate::world::NODE.needed();
    let world = world();
    for (name, category) in [("runtimeconfig.yaml", "imported"), ("bare.yaml", "shop/bare")] {
        let args = ["--pack", "../config/shop.pack.json", "--category", category, "--yes"];
        let (status, said) = import(&world, name, &args);
        // The hook judges more than was imported, which is told with what is left out.
        let remark = format!("add `match: [\"tool:{category}/**\"]` to the item");
        let remarks = said["remarks"].as_array().unwrap();
        assert_eq!((status, remarks.len()), (0, 2), "{name}: {said}");
        assert!(remarks[0].as_str().unwrap().starts_with("the prompt `shop` of"), "{name}: {said}");
        assert!(remarks[1].as_str().unwrap().ends_with(&remark), "{name}: {said}");
        let signed: Vec<_> =
            said["signed"].as_array().unwrap().iter().map(|row| row["status"].as_str()).collect();
        assert_eq!(signed, [Some("signed"); 4], "{name}: {said}");

        let rows = [
            ("sentiment_check", json!({"text": "so Glad"}), json!({"glad": true, "from": "here"})),
            ("db_query", json!({"least": 20}), json!({"orders": [2], "argv": ["--depth", "2"]})),
            ("evals/tone", json!({"content": "x"}), json!({"score": 0.5, "detail": "kind"})),
            ("guard", json!({"hook": "tool"}), json!({"allow": true})),
        ];
        let env = [("SENTIMENT_FROM", "here")];
        for (id, params, want) in rows {
            let item = match id {
                "guard" => format!("tool:hooks/{category}/{id}"),
                _ => format!("tool:{category}/{id}"),
            };
            let args = ["execute", &item, "--params", &params.to_string(), "--json"];
            let said = world.rye_env(&world.project(), &args, b"", &env);
            assert_eq!((said.status, &said.json()["data"]), (0, &want), "{item}: {said:?}");
            // The pack's schema decides what may be given.
            if params.get("text").or(params.get("least")).is_some() {
                world
                    .rye(&["execute", &item, "--params", "{}", "--json"])
                    .fails_with("plan.invalid_parameters");
            }
        }
        // The hook guards what was imported with it.
        let item = format!("tool:{category}/sentiment_check");
        world
            .rye(&["execute", &item, "-i", "text=delete it", "--json"])
            .fails(4, "hook.denied")
            .shows("nothing is deleted here");
        // Nothing beside the four is an item, and nothing is left to sign.
        let (_, said) = world.json(&["list"]);
        let ids = said["items"].as_array().unwrap().iter().map(|item| item["item_id"].to_string());
        let ours = ids.filter(|id| id.contains(&format!("{category}/")));
        assert_eq!(ours.count(), 4, "{said}");
        world.rye(&["sign", "--all", "--check"]).ok();
        world.rye(&["verify", &format!("tool:{category}/**"), "--ci"]).ok();
    }
}

#[test]
fn what_the_configuration_and_the_pack_say_stands_in_the_item() {
    let world = world();
    let (status, said) =
        import(&world, "runtimeconfig.yaml", &["--pack", "../config/shop.pack.json", "--dry-run"]);
    assert_eq!((status, &said["dry_run"]), (0, &json!(true)), "{said}");
    assert_eq!(written(&world), [""; 0], "it was only shown");
    let texts: Vec<&str> = said["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["text"].as_str().unwrap())
        .collect();
    let rows: [&[&str]; 4] = [
        &[
            "tool_type: exec",
            "executor_id: rye/core/runtimes/exec/oneshot",
            "category: imported",
            "description: \"Says whether a text sounds glad\"",
            "  required: [text]",
            "  command: python3",
            "  args: [sentiment_check.files/tools/sentiment.py]",
            "  timeout_ms: 5000",
            "  env: [SENTIMENT_FROM]",
            "  files: [sentiment_check.files/tools/sentiment.py]",
            "files_sha256:",
        ],
        &[
            "executor_id: rye/core/runtimes/exec/server",
            "  command: \"./db_query.files/tools/db-query\"",
            "  args: [\"--depth\", \"2\"]",
            "  runtime: server",
        ],
        &[
            "tool_type: eval",
            "category: imported/evals",
            "eval_type: tone",
            "params:",
            "  tone: kind",
        ],
        &[
            "tool_type: hook",
            "hook: tool",
            "phases: [before_execution]",
            "mode: filter",
            "compat: promptkit",
        ],
    ];
    for (text, lines) in texts.into_iter().zip(rows) {
        for line in lines {
            assert!(text.lines().any(|own| own == *line), "`{line}` is not in\n{text}");
        }
    }
    assert_eq!(said["items"][1]["files"][0]["from"], "tools/db-query");
    // The programs' modes come along.
    import(&world, "runtimeconfig.yaml", &["--yes"]);
    let mode = |path: &str| {
        let path = world.project().join(".ai/tools/imported").join(path);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("db_query.files/tools/db-query"), 0o755);
    assert_eq!(mode("sentiment_check.files/tools/sentiment.py"), 0o644);
}

#[test]
fn without_a_pack_the_configuration_describes_its_tools() {
    let world = world();
    let spec = "spec:\n  tools:\n    a:\n      description: Says so\n      input_schema: {type: object}\n      \
                timeout_ms: 7\n      exec: {command: cat}\n    b:\n      exec: {command: cat}\n    \
                c: {mode: live, http: {url: x}}\n  providers: []\n";
    put(&world, "own.yaml", spec);
    let said = import(&world, "own.yaml", &["--dry-run"]).ok();
    let text = said["items"][0]["text"].as_str().unwrap();
    for line in ["description: \"Says so\"", "input_schema:", "  type: object", "  timeout_ms: 7"] {
        assert!(text.lines().any(|own| own == line), "`{line}` is not in\n{text}");
    }
    let text = said["items"][1]["text"].as_str().unwrap();
    assert!(text.contains("description: \"`spec.tools.b` of own.yaml\"\nexec:"), "{text}");
    let remarks = json!([
        "`spec.providers` binds no program of the exec protocol and is left out",
        "`spec.tools.c` has no `exec` and is left out",
        "`spec.tools.b` takes any parameters: no schema of them was given",
    ]);
    assert_eq!(said["remarks"], remarks);
}

#[test]
fn a_hook_may_name_the_sandbox_that_is_none_and_a_tool_any() {
    let world = world();
    let text = "spec:\n  sandboxes: {plain: {mode: direct}, box: {mode: docker_run}}\n  hooks:\n    \
                a: {command: cat, hook: provider, phases: [before_call], sandbox: plain}\n  \
                evals: {b: {command: cat, sandbox: box}}\n";
    put(&world, "box.yaml", text);
    let (status, said) = import(&world, "box.yaml", &["--dry-run"]);
    let remarks = json!([
        "`spec.sandboxes` binds no program of the exec protocol and is left out",
        "`spec.evals.b.sandbox` means nothing here",
        "`spec.hooks.a.sandbox` means nothing here",
    ]);
    assert_eq!((status, &said["remarks"]), (0, &remarks), "{said}");
    put(&world, "box.yaml", &text.replace("sandbox: plain", "sandbox: box"));
    import(&world, "box.yaml", &["--dry-run"]).fails(5, "import.value");
}

#[test]
fn a_program_of_several_mib_is_copied_signed_and_run() {
    let world = world();
    let spec = "spec:\n  tools:\n    big:\n      description: Is large\n      \
        output_schema: {type: object, required: [ok]}\n      exec: {command: ./tools/big}\n";
    put(&world, "big.yaml", spec);
    let script = "#!/bin/sh\ncat > /dev/null\necho '{\"result\": {\"ok\": 1}}'\nexit\n";
    put(&world, "tools/big", &format!("{script}{}\n", "#".repeat(5 << 20)));
    let big = config(&world, "tools/big");
    fs::set_permissions(&big, fs::Permissions::from_mode(0o755)).unwrap();
    let (status, said) = import(&world, "big.yaml", &["--yes"]);
    assert_eq!(status, 0, "{said}");
    let (status, said) = world.json(&["execute", "imported/big"]);
    assert_eq!((status, &said["data"]), (0, &serde_json::json!({"ok": 1})), "{said}");
    fs::File::options().write(true).open(&big).unwrap().set_len((64 << 20) + 1).unwrap();
    let (_, said) = import(&world, "big.yaml", &["--yes", "--force"]);
    assert!(said["error"].as_str().unwrap().contains("larger than 64 MiB"), "{said}");
}
