//! Headers in, tools or codes out.

use super::{Constraints, Port, RemoteFiles, Tool};
use crate::host::Net;
use crate::parse::data::{toml, yaml};
use crate::parse::error::ParseFault;
use crate::parse::tool::anchor::{Anchor, AnchorMode, DepsScope, VerifyDeps};
use crate::parse::tool::config_resolve::{ConfigResolve, MergeMode, WantedConfig};
use crate::parse::tool::sandbox::Sandbox;
use crate::parse::{Interpreter, Search};
use crate::space::{Glob, HeaderStyle};
use crate::verify::{FileList, PartsRoot};
use serde_json::{Value, json};

fn tool(text: &str) -> Result<Tool, ParseFault> {
    let value = yaml(text).expect("the fixture is YAML");
    Tool::new(value.as_object().expect("the fixture is a mapping"), &HeaderStyle::Yaml)
}

#[test]
fn a_whole_tool() {
    let text = r#"
version: "1.0.0"
tool_type: runtime
executor_id: rye/core/primitives/execute
category: acme
description: runs things
x-unknown: [kept, out]
config_schema: {type: object, examples: [{a: 1}]}
examples: [{a: 2}]
env_config:
  interpreter: {type: system_binary, binary: x}
  env: {A: text, B: 1.50, _c: true}
config: {command: x, args: ["{tool_path}", 1]}
config_resolve: {path: a.yaml, mode: first_match}
anchor: {enabled: true, root: tool_parent, lib: lib}
verify_deps: {extensions: [.py], exclude_dirs: [old]}
sandbox: {net: none}
env: [HOME_DIR]
secrets: [TOKEN]
files: [lib.py, data/**]
exec_files: [bin/*]
overridable: [timeout]
child_constraints: {min_version: 1.0.0, version: ">=1, <2"}
inputs: [a, {name: b, required: false, type: string}]
outputs: {c: {type: string}, d: {required: true}, e: string}
allowed_threads: [inline]
allowed_targets: [local]
effects: read
output_schema: {type: object}
"#;
    let port = |name: &str, required| Port { name: name.into(), required };
    let text_map = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    let want = Tool {
        exec: None,
        eval: None,
        hook: None,
        provider: None,
        version: Some("1.0.0".into()),
        tool_type: Some("runtime".into()),
        executor: Some("rye/core/primitives/execute".parse().unwrap()),
        category: Some("acme".into()),
        description: Some("runs things".into()),
        schema: Some(json!({"type": "object", "examples": [{"a": 1}]})),
        output_schema: Some(json!({"type": "object"})),
        env: text_map(&[("A", "text"), ("B", "1.50"), ("_c", "true")]),
        interpreter: Some(Interpreter {
            search: Search::SystemBinary { candidates: vec!["x".into()] },
            var: None,
            fallback: None,
        }),
        config: json!({"command": "x", "args": ["{tool_path}", 1]}).as_object().unwrap().clone(),
        config_resolve: Some(ConfigResolve {
            wanted: vec![WantedConfig {
                path: "a.yaml".into(),
                item: "config:a".parse().unwrap(),
                mode: MergeMode::FirstMatch,
            }],
            is_list: false,
        }),
        anchor: Some(Anchor {
            mode: AnchorMode::Auto,
            markers: Vec::new(),
            root: PartsRoot::ToolParent,
            lib: Some("lib".parse().unwrap()),
            env_paths: Vec::new(),
            cwd: None,
        }),
        verify_deps: Some(VerifyDeps {
            scope: DepsScope::ToolDir,
            recursive: true,
            extensions: vec!["py".into()],
            exclude_dirs: ["old", "__pycache__", "node_modules", ".git"].map(str::to_owned).into(),
        }),
        sandbox: Some(Sandbox { net: Some(Net::None.into()), ..Sandbox::default() }),
        env_names: vec!["HOME_DIR".into()],
        secrets: vec!["TOKEN".into()],
        files: Some(FileList {
            root: PartsRoot::ToolDir,
            patterns: vec![Glob::new("data/**").unwrap()],
            digests: [("lib.py".parse().unwrap(), None)].into(),
            programs: vec![Glob::new("bin/*").unwrap()],
        }),
        overridable: vec!["timeout".into()],
        child_constraints: Some(Constraints {
            min_version: Some("1.0.0".into()),
            max_version: None,
            version: Some(">=1, <2".into()),
        }),
        inputs: Some(vec![port("a", true), port("b", false)]),
        outputs: Some(vec![port("c", false), port("d", true), port("e", false)]),
        allowed_threads: Some(vec!["inline".into()]),
        allowed_targets: Some(vec!["local".into()]),
        remote: RemoteFiles::default(),
        effects: Some("read".into()),
        calls: Vec::new(),
        examples: vec![json!({"a": 2}), json!({"a": 1})],
        tags: vec![],
        notes: None,
        references: vec![],
    };
    assert_eq!(tool(text), Ok(want));
    assert_eq!(tool("executor_id: null\nconfig: ~\nenv_config:\n"), Ok(Tool::default()));
}

#[test]
fn a_tool_has_so_many_patterns_and_no_more() {
    for (key, before) in [("files", ""), ("exec_files", "files: [a]\n")] {
        let with = |count: usize| {
            let globs: Vec<_> = (0..count).map(|at| format!("'{at}/*'")).collect();
            tool(&format!("{before}{key}: [{}]", globs.join(", ")))
        };
        assert!(with(128).is_ok(), "{key}");
        let fault = with(129).unwrap_err();
        let why = format!("`/{key}` holds more than 128 patterns");
        assert_eq!((fault.code.name(), fault.why), ("parse.limit", why));
    }
}

#[test]
fn a_wrong_field_is_named_by_its_pointer() {
    let rows = [
        ("version: 1.0", "`/version` must be a string, not a number: put it in quotes"),
        ("executor_id: [a]", "`/executor_id` must be a string, not a list"),
        ("executor_id: ../x", "`/executor_id`: `../x` is not a valid item id"),
        ("executor_id: ''", "`/executor_id`: `` is not a valid item id"),
        ("config: []", "`/config` must be a mapping, not a list"),
        ("env_config: x", "`/env_config` must be a mapping, not a string"),
        ("env_config: {env: {a-b: x}}", "`/env_config/env/a-b`: `a-b` cannot name"),
        ("env_config: {env: {'': x}}", "cannot name an environment variable"),
        ("env_config: {env: {A: [x]}}", "`/env_config/env/A` must be a string, a number or"),
        ("env_config: {env: {A: \"a\\0b\"}}", "`/env_config/env/A` holds a NUL"),
        ("files: x", "`/files` must be a list or a mapping of paths"),
        ("files: [../x]", "`/files/0`: `../x` has an empty segment, `.` or `..`"),
        ("files: ['/x/*']", "`/files/0`: `/x/*` is absolute"),
        ("files: {a: b}", "neither a SHA-256 digest nor `pattern`"),
        ("exec_files: [a]", "`/exec_files` needs `files`"),
        (&format!("files: ['{}*']", "x".repeat(256)), "is longer than 256 bytes"),
        ("anchor: {rot: x}", "`/anchor/rot` is not known here; did you mean `root`?"),
        ("anchor: {root: /x}", "`/anchor/root` must be tool_dir, tool_parent or project_path"),
        ("anchor: {lib: ../x}", "`/anchor/lib`: `../x` has an empty segment"),
        ("anchor: {env_paths: {A-B: {}}}", "`A-B` cannot name an environment variable"),
        ("verify_deps: {scope: all}", "`/verify_deps/scope` must be anchor, tool_dir,"),
        ("verify_deps: {enable: true}", "did you mean `enabled`?"),
        ("config_resolve: {mode: deep_merge}", "`/config_resolve` has no `path`"),
        ("config_resolve: [{path: a, mode: x}]", "`/config_resolve/0/mode` must be deep_merge"),
        ("config_resolve: ../x", "`../x` is not a valid config id"),
        ("env: A", "`/env` must be a list, not a string"),
        ("env: [A, 1]", "`/env/1` must be a string, not a number"),
        ("secrets: [A=B]", "`/secrets/0`: `A=B` cannot name"),
        (
            "child_constraints: {min_version: 1}",
            "`/child_constraints/min_version` must be a string",
        ),
        ("inputs: [{required: true}]", "`/inputs/0` has no `name`"),
        ("inputs: [{name: a, required: 'yes'}]", "`/inputs/0/required` must be a boolean"),
        ("inputs: [1]", "`/inputs/0` must be a string, not a number"),
        ("inputs: a", "`/inputs` must be a list or a mapping of names"),
        ("outputs: {a: {required: 1}}", "`/outputs/a/required` must be a boolean"),
        ("allowed_threads: [[a]]", "`/allowed_threads/0` must be a string, not a list"),
        ("examples: {a: 1}", "`/examples` must be a list"),
        ("parameters: 1", "`/parameters` must be a JSON Schema or a list of parameters"),
        ("config_schema: x", "`/config_schema` must be a JSON Schema"),
        ("parameters: [{type: string}]", "`/parameters/0` has no `name`"),
        (
            "parameters: [{name: a, type: strng}]",
            "`strng` is not a known type; did you mean `string`?",
        ),
        (
            "parameters: [{name: a, requred: true}]",
            "`/parameters/0/requred` is not known here; did you mean `required`?",
        ),
        ("parameters: [{name: a, secrets: [TOKEN]}]", "`/parameters/0/secrets` is not known here"),
        ("parameters: {a: {sandbox: {net: any}}}", "`/parameters/a/sandbox` is not known here"),
        ("parameters: [{name: a, required: 1}]", "`/parameters/0/required` must be a boolean"),
        ("parameters: {a: string}", "`/parameters/a` must be a mapping, not a string"),
    ];
    for (text, want) in rows {
        let fault = tool(text).unwrap_err();
        let code = if text.starts_with("executor_id: '") || text == "executor_id: ../x" {
            "id.malformed"
        } else {
            "parse.metadata"
        };
        assert_eq!(fault.code.name(), code, "{text:?}");
        assert!(fault.why.contains(want), "{text:?}: {}", fault.why);
    }
    for text in [
        "parameters: []\nconfig_schema: {}",
        "input_schema: {}\nconfig_schema: {}",
        "parameters: [{name: a}, {name: a}]",
        "inputs: [a, a]",
        "inputs: [a, {name: a}]",
    ] {
        assert_eq!(tool(text).unwrap_err().code.name(), "parse.duplicate_metadata", "{text:?}");
    }
}

#[test]
fn parameters_become_one_schema() {
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let rows = [
        ("parameters: []", closed(json!({}), json!([]))),
        (
            "parameters:\n- {name: a, type: string, required: true, description: d}\n\
             - {name: b, type: int, default: 3, enum: [3, 4]}\n- {name: c, type: any, default: null}",
            closed(
                json!({
                    "a": {"type": "string", "description": "d"},
                    "b": {"type": "integer", "default": 3, "enum": [3, 4]},
                    "c": {},
                }),
                json!(["a"]),
            ),
        ),
        (
            "parameters: {a: {type: [string, null], required: true}, b: {}}",
            closed(json!({"a": {"type": ["string", "null"]}, "b": {}}), json!(["a"])),
        ),
        (
            "parameters: {type: {type: string}}",
            closed(json!({"type": {"type": "string"}}), json!([])),
        ),
        (
            "parameters: [{name: a, x-unit: m, pattern: b}]",
            closed(json!({"a": {"x-unit": "m", "pattern": "b"}}), json!([])),
        ),
        ("parameters: {type: object}", json!({"type": "object"})),
        ("parameters: {properties: {a: {}}}", json!({"properties": {"a": {}}})),
        ("input_schema: {x: {}}", json!({"x": {}})),
        ("config_schema: [{name: a}]", closed(json!({"a": {}}), json!([]))),
    ];
    for (text, want) in rows {
        let text = text.replace("[string, null]", "[string, 'null']");
        assert_eq!(tool(&text).map(|tool| tool.schema), Ok(Some(want)), "{text:?}");
    }
    assert_eq!(tool("parameters: null").map(|tool| tool.schema), Ok(None));
}

#[test]
fn many_ports_take_linear_time() {
    let names: String = (0..100_000).map(|at| format!("'p{at}',")).collect();
    let value = toml(&format!("inputs = [{names}]")).unwrap();
    let tool = Tool::new(value.as_object().unwrap(), &HeaderStyle::Toml).unwrap();
    assert_eq!(tool.inputs.map(|ports| ports.len()), Some(100_000));
}
