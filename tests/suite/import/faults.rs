//! What is wrong with a configuration or a pack, each with its place.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{PACK, SPEC, config, import, put, world, written};

/// A configuration of one tool, and where it is wrong.
type Row = (&'static str, &'static str, (u64, u64), &'static str);

const ROWS: &[Row] = &[
    // The document.
    ("spec: [\n", "import.syntax", (2, 1), "it is not YAML"),
    ("spec: {}\nspec: {}\n", "import.syntax", (2, 1), "`spec` occurs twice"),
    ("", "import.not_a_config", (1, 1), "is empty"),
    ("- a\n", "import.value", (1, 1), "must be a mapping, not a list"),
    ("metadata: {}\n", "import.not_a_config", (1, 1), "has no `spec`"),
    ("kind: RuntimeConfig\nspec: {hooks: {}}\n", "import.not_a_config", (1, 1), "no `apiVersion`"),
    (
        "apiVersion: promptkit.altairalabs.ai/v1alpha1\nspec: {hooks: {}}\n",
        "import.not_a_config",
        (1, 1),
        "no `kind`",
    ),
    (
        "apiVersion: promptkit.altairalabs.ai/v1\nkind: RuntimeConfig\nspec: {}\n",
        "import.not_a_config",
        (1, 13),
        "and not `promptkit.altairalabs.ai/v1alpha1`",
    ),
    (
        "apiVersion: promptkit.altairalabs.ai/v1alpha1\nkind: Provider\nspec: {}\n",
        "import.not_a_config",
        (2, 7),
        "is `Provider`",
    ),
    ("spec:\n", "import.value", (1, 1), "`spec` is null"),
    ("spec: {}\n", "import.missing", (1, 1), "binds no program"),
    ("spec:\n  tools: {}\n", "import.missing", (1, 1), "binds no program"),
    // Keys.
    ("sepc: {}\nspec: {}\n", "import.unknown_key", (1, 1), "did you mean `spec`?"),
    ("metadata: {nam: x}\nspec: {}\n", "import.unknown_key", (1, 12), "did you mean `name`?"),
    ("spec:\n  tool: {}\n", "import.unknown_key", (2, 3), "did you mean `tools`?"),
    (
        "spec:\n  tools:\n    a: {exce: {command: x}}\n",
        "import.unknown_key",
        (3, 9),
        "`spec.tools.a.exce` is not known here; did you mean `exec`?",
    ),
    (
        "spec:\n  tools:\n    a:\n      exec:\n        command: x\n        timout_ms: 1\n",
        "import.unknown_key",
        (6, 9),
        "did you mean `timeout_ms`?",
    ),
    (
        "spec: {evals: {a: {command: x, hook: tool}}}\n",
        "import.unknown_key",
        (1, 32),
        "`spec.evals.a.hook`",
    ),
    // Commands.
    ("spec:\n  tools:\n    a:\n      exec: {}\n", "import.missing", (4, 7), "has no `command`"),
    ("spec: {evals: {a: {args: [x]}}}\n", "import.missing", (1, 16), "has no `command`"),
    ("spec: {evals: {a: {command: ' '}}}\n", "import.missing", (1, 29), "is empty"),
    (
        "spec: {evals: {a: {command: [x]}}}\n",
        "import.value",
        (1, 29),
        "must be a string, not a list",
    ),
    ("spec: {evals: {a: {command: ./none}}}\n", "import.file", (1, 29), "there is no such file"),
    ("spec: {evals: {a: {command: ./tools}}}\n", "import.file", (1, 29), "which is a folder"),
    (
        "spec: {evals: {a: {command: ../config/tools/db-query}}}\n",
        "import.file",
        (1, 29),
        "an empty segment, `.` or `..`",
    ),
    ("spec: {evals: {a: {command: ./link}}}\n", "import.file", (1, 29), "which is a link"),
    (
        "spec: {evals: {a: {command: ./linked/db-query}}}\n",
        "import.file",
        (1, 29),
        "which lies behind a link",
    ),
    // Nothing where something should stand.
    ("spec:\n  tools:\n", "import.value", (2, 3), "`spec.tools` is null"),
    ("spec:\n  tools:\n    a:\n  evals: {}\n", "import.value", (3, 5), "`spec.tools.a` is null"),
    ("spec:\n  tools:\n    a: {exec: ~}\n", "import.value", (3, 9), "is null, and not a mapping"),
    ("spec:\n  hooks: {a: null}\n", "import.value", (2, 11), "`spec.hooks.a` is null"),
    ("spec: {evals: {a: {command: }}}\n", "import.value", (1, 20), "is null, and not a string"),
    ("spec: {evals: {a: {command: x, env: ~}}}\n", "import.value", (1, 32), "is null"),
    ("spec: {evals: {a: {command: x, env: [~]}}}\n", "import.value", (1, 38), "is null"),
    ("spec: {evals: {a: {command: x, timeout_ms: }}}\n", "import.value", (1, 32), "is null"),
    // Values.
    (
        "spec: {evals: {a: {command: x, runtime: sever}}}\n",
        "import.value",
        (1, 41),
        "is `sever`, and not one of `exec`, `server`; did you mean `server`?",
    ),
    ("spec: {evals: {a: {command: x, runtime: ''}}}\n", "import.value", (1, 41), "is ``"),
    ("spec: {evals: {a: {command: x, timeout_ms: 0}}}\n", "import.value", (1, 44), "from 1 to"),
    ("spec: {evals: {a: {command: x, timeout_ms: -5}}}\n", "import.value", (1, 44), "from 1 to"),
    ("spec: {evals: {a: {command: x, timeout_ms: 1.5}}}\n", "import.value", (1, 44), "from 1 to"),
    ("spec: {evals: {a: {command: x, timeout_ms: 5s}}}\n", "import.value", (1, 44), "from 1 to"),
    ("spec: {evals: {a: {command: x, args: y}}}\n", "import.value", (1, 38), "must be a list"),
    (
        "spec: {evals: {a: {command: x, args: [a, yes, true]}}}\n",
        "import.value",
        (1, 47),
        "must be a string, not a boolean: put it in quotes",
    ),
    // A number that was written otherwise than it would be passed on.
    (
        "spec: {evals: {a: {command: x, args: [1, 0x1f]}}}\n",
        "import.value",
        (1, 42),
        "not a number",
    ),
    (
        "spec: {evals: {a: {command: x, env: [A, B=c]}}}\n",
        "import.value",
        (1, 41),
        "`spec.evals.a.env[1]` gives `B` a value: list the name alone",
    ),
    ("spec: {evals: {a: {command: x, env: [1A]}}}\n", "import.value", (1, 38), "cannot name"),
    ("spec: {evals: {a: {command: x, env: {A: b}}}}\n", "import.value", (1, 37), "must be a list"),
    // Names.
    (
        "spec: {evals: {a b: {command: x}}}\n",
        "import.name",
        (1, 16),
        "`a b` is not a valid item name",
    ),
    ("spec: {evals: {a/b: {command: x}}}\n", "import.name", (1, 16), "is not a valid item name"),
    ("spec: {evals: {..: {command: x}}}\n", "import.name", (1, 16), "is not a valid item name"),
    ("spec: {evals: {a.test: {command: x}}}\n", "import.name", (1, 16), "is not a valid item name"),
    // Hooks.
    ("spec: {hooks: {a: {command: x, phases: [y]}}}\n", "import.missing", (1, 16), "has no `hook`"),
    (
        "spec: {hooks: {a: {command: x, hook: tol, phases: [y]}}}\n",
        "import.value",
        (1, 38),
        "did you mean `tool`?",
    ),
    ("spec: {hooks: {a: {command: x, hook: tool}}}\n", "import.missing", (1, 16), "no `phases`"),
    (
        "spec: {hooks: {a: {command: x, hook: tool, phases: []}}}\n",
        "import.missing",
        (1, 52),
        "is empty",
    ),
    (
        "spec: {hooks: {a: {command: x, hook: tool, phases: [before_execution, before_call]}}}\n",
        "import.value",
        (1, 71),
        "is `before_call`, and not one of `before_execution`, `after_execution`",
    ),
    (
        "spec: {hooks: {a: {command: x, hook: tool, phases: [after_execution], mode: deny}}}\n",
        "import.value",
        (1, 77),
        "is `deny`",
    ),
    (
        "spec: {hooks: {a: {command: x, hook: session, phases: [session_end], mode: filter}}}\n",
        "import.value",
        (1, 76),
        "a session hook only observes",
    ),
    (
        "spec: {hooks: {a: {command: x, hook: tool, phases: [after_execution], sandbox: box}}}\n",
        "import.value",
        (1, 80),
        "is `box`, which rye does not have",
    ),
    (
        "spec: {hooks: {a: {command: x, hook: session, phases: [session_end], runtime: server}}}\n",
        "import.value",
        (1, 79),
        "a hook that only observes is `exec`",
    ),
    // Below a mark of its own.
    ("# x\n---\n# y\nspec:\n  evls: {}\n", "import.unknown_key", (5, 3), "did you mean `evals`?"),
];

#[test]
fn each_fault_of_a_runtimeconfig_has_its_line_and_column() {
    let world = world();
    let (status, said) = import(&world, "bare.yaml", &["--dry-run"]);
    assert_eq!(status, 0, "the fixture itself is good: {said}");
    symlink("tools/db-query", config(&world, "link")).unwrap();
    symlink("tools", config(&world, "linked")).unwrap();
    for (text, code, (line, column), said) in ROWS {
        put(&world, "bad.yaml", text);
        let (status, got) = import(&world, "bad.yaml", &["--yes"]);
        let place = json!({"path": "../config/bad.yaml", "line": line, "column": column});
        assert_eq!((status, got["code"].as_str()), (5, Some(*code)), "{text}{got}");
        assert_eq!(got["place"], place, "{text}{got}");
        assert!(got["error"].as_str().unwrap().contains(said), "{text}{got}");
        assert_eq!(got["findings"].as_array().map(Vec::len), Some(1), "one fault: {text}{got}");
    }
    assert_eq!(written(&world), [""; 0]);
}

#[test]
fn a_tool_that_the_pack_does_not_name_is_a_fault_and_so_is_a_pack_that_is_none() {
    let world = world();
    put(&world, "other.yaml", &SPEC.replace("sentiment_check", "sentiment_chek"));
    let rows = [
        ("other.yaml", PACK, "import.not_in_pack", json!({"line": 4, "column": 5}), "did you mean"),
        (
            "bare.yaml",
            "{\"tools\": }",
            "import.syntax",
            json!({"line": 1, "column": 11}),
            "not JSON",
        ),
        ("bare.yaml", "{}", "import.missing", json!({"line": 1, "column": 1}), "not a pack"),
        (
            "bare.yaml",
            "{\"tools\":\n [1]}",
            "import.value",
            json!({"line": 2, "column": 2}),
            "a mapping",
        ),
        (
            "bare.yaml",
            "{\"tools\": {\"sentiment_check\": {}, \"db_query\": {\"description\": \"a\u{202e}b\"}}}",
            "import.value",
            json!({"line": 1, "column": 63}),
            "`tools.db_query.description` holds the character U+202E",
        ),
        (
            "bare.yaml",
            "{\"tools\": {\"db_query\": {}, \"sentiment_check\": {\"parameters\": 3}}}",
            "import.value",
            json!({"line": 1, "column": 62}),
            "must be a mapping, not a number",
        ),
    ];
    for (name, pack, code, at, said) in rows {
        put(&world, "try.json", pack);
        let (status, got) = import(&world, name, &["--pack", "../config/try.json", "--yes"]);
        assert_eq!((status, got["code"].as_str()), (5, Some(code)), "{pack}: {got}");
        assert_eq!(got["place"]["line"], at["line"], "{pack}: {got}");
        assert_eq!(got["place"]["column"], at["column"], "{pack}: {got}");
        assert!(got["error"].as_str().unwrap().contains(said), "{pack}: {got}");
    }
    assert_eq!(written(&world), [""; 0]);
}

#[test]
fn all_faults_are_told_in_the_order_of_the_text_and_nothing_is_written() {
    let world = world();
    let text = "spec:\n  hooks:\n    a: {command: x, hook: tool, phases: [x], mode: y}\n  \
                tools:\n    b: {exec: {command: ./none, timeout_ms: 0, env: [A=b]}}\n";
    put(&world, "bad.yaml", text);
    let said = world.rye(&["import", "runtimeconfig", "../config/bad.yaml", "--yes"]);
    assert_eq!((said.status, said.stdout.as_str()), (5, ""), "{said:?}");
    let places: Vec<&str> =
        said.stderr.lines().filter_map(|line| line.trim().strip_prefix("--> ")).collect();
    let want =
        ["3:42", "3:52", "5:25", "5:45", "5:54"].map(|at| format!("../config/bad.yaml:{at}"));
    assert_eq!(places, want, "{said:?}");
    assert!(said.stderr.ends_with("5 faults; nothing was written\n"), "{said:?}");
    // A file that is full of them is told of in bounded time.
    let many: String =
        (0..200).map(|n| format!("    x{n}: {{command: x, env: [A=b]}}\n")).collect();
    put(&world, "bad.yaml", &format!("spec:\n  evals:\n{many}"));
    let (status, got) = import(&world, "bad.yaml", &[]);
    assert_eq!((status, got["findings"].as_array().map(Vec::len)), (5, Some(64)));
    assert_eq!(written(&world), [""; 0]);
}
