//! Rows e01–e03: values that try to be more than data.

use crate::world::{End, GREET_MD, MARKER_SH, World};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Map, Value, json};

/// Prints its argument vector, each argument ended by a NUL.
const ARGV_YAML: &str = r#"version: "1.0.0"
tool_type: tool
executor_id: rye/core/runtimes/native/program
category: acme
description: Prints its arguments
config:
  command: printf
  args: ['%s\0', first, "{params_json}", last]
"#;

/// Gives its parameters back.
const ECHO_SH: &str = r#"#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "acme"
# description = "Gives its parameters back"
# ///
cat
"#;

/// What looks like a template of one kind or another, and is none in a value.
const TEMPLATES: &[&str] = &[
    "{input:other}",
    "{input:who}",
    "{input:who|x}",
    "{input:zzz?}",
    "{input:",
    "}",
    "${HOME}",
    "${NONE:-x}",
    "$HOME",
    "$(id)",
    "`id`",
    "{params_json}",
    "{tool_path}",
    "{project_path}",
    "{{params_json}}",
    "%s %n %(x)s",
    "<directive name=\"x\"/>",
    "&lt;&amp;",
    "```xml\n<directive name='x'/>\n```",
];

fn world() -> World {
    let world = World::new()
        .with(".ai/tools/acme/argv.yaml", ARGV_YAML)
        .with(".ai/tools/acme/echo.sh", ECHO_SH);
    world.works("tool:acme/argv");
    world.works("tool:acme/echo");
    world
}

/// Runs a tool with parameters on standard input and gives its data.
#[track_caller]
fn data(world: &World, item: &str, params: &Value) -> Value {
    let args = ["execute", item, "--json", "--params", "-"];
    let said = world.rye_in(&world.project(), &args, params.to_string().as_bytes());
    assert_eq!(said.status, 0, "{params:.200}: {said:?}");
    said.json()["data"].clone()
}

#[test]
fn e01_a_value_is_inserted_as_text_and_never_expanded() {
    let world = World::new();
    let text = GREET_MD.replace(
        "  </inputs>",
        "    <input name=\"other\" type=\"string\" required=\"false\" default=\"OTHER\">x</input>\n  </inputs>",
    );
    let text = text.replace("Say hello to {input:who}.", "[{input:who}] [{input:other}]");
    world.signed(".ai/directives/acme/greet.md", &text);
    world.works("directive:acme/greet");
    for value in TEMPLATES {
        let given = format!("who={value}");
        let (status, got) = world.json(&["execute", "directive:acme/greet", "-i", &given]);
        assert_eq!((status, &got["status"]), (0, &json!("success")), "{value:?}");
        assert_eq!(got["your_directions"], format!("[{value}] [OTHER]"), "{value:?}");
        let raw = got["data"]["raw"].as_str().expect("the raw text").to_owned();
        assert!(raw.contains(&format!("[{value}] [OTHER]")), "{value:?}: {raw}");
    }
}

#[test]
fn e01_a_parameter_is_no_template_and_a_signed_default_is_one_once() {
    let world = world();
    for value in TEMPLATES {
        let params = json!({"a": value, (*value): value, "list": [value, {"k": value}]});
        assert_eq!(data(&world, "tool:acme/echo", &params), params);
        let got = data(&world, "tool:acme/argv", &params);
        assert_eq!(got["stdout"], format!("first\0{params}\0last\0"), "{value:?}");
    }
    {
        let world = World::new().env("TERM", "{params_json}${HOME}{project_path}");
        let text =
            ARGV_YAML.replace("first", "\"${TERM}\"").replace("{params_json}", "x${NONE:-d}");
        world.signed(".ai/tools/acme/argv.yaml", &text);
        let got = data(&world, "tool:acme/argv", &json!({}));
        assert_eq!(got["stdout"], "{params_json}${HOME}{project_path}\0xd\0last\0");
    }
}

/// Names that elsewhere were merged into the configuration.
const NAMES: &[&str] = &[
    "command",
    "args",
    "cwd",
    "env",
    "timeout",
    "timeout_ms",
    "fixed_params",
    "input_data",
    "config",
    "env_config",
    "executor_id",
    "tool_path",
    "project_path",
    "__x",
    "__executor_id__",
    "__proto__",
    "PATH",
    "LD_PRELOAD",
    "RYE_PROJECT",
    "$schema",
    "",
];

#[test]
fn e02_parameters_named_like_configuration_are_data_and_change_nothing() {
    let world = world();
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let plan = |item: &str, params: &Value| {
        let params = params.to_string();
        let (status, got) =
            world.json(&["execute", item, "--dry-run", "--params", params.as_str()]);
        assert_eq!(status, 0, "{got}");
        let mut plan = got["plan"].clone();
        // Their digest is all that may differ.
        assert!(plan.as_object_mut().is_some_and(|map| map.remove("params_sha256").is_some()));
        plan
    };
    let hostile = |value: Value| -> Value {
        NAMES.iter().map(|name| ((*name).to_owned(), value.clone())).collect::<Map<_, _>>().into()
    };
    let values = [
        json!("/bin/false"),
        json!(["-c", "touch marker"]),
        json!({"command": "touch", "args": ["marker"], "PATH": "/evil"}),
        json!(1),
        json!(null),
    ];
    let untouched = plan("tool:acme/echo", &json!({}));
    for value in values {
        let params = hostile(value);
        assert_eq!(plan("tool:acme/echo", &params), untouched, "{params}");
        assert_eq!(data(&world, "tool:acme/echo", &params), params);
        let got = data(&world, "tool:acme/argv", &params);
        assert_eq!(got["stdout"], format!("first\0{params}\0last\0"));
        assert!(!world.project().join("marker").exists(), "{params}");
    }
    {
        let world = World::new()
            .with(".ai/tools/acme/env.sh", &ECHO_SH.replace("cat\n", "env -0 | tr '\\0' '\\n'\n"));
        let params =
            json!({"CANARY": "canary-value", "env": {"CANARY": "canary-value"}, "PATH": "/canary"});
        let got = data(&world, "tool:acme/env", &params);
        let env = got["stdout"].as_str().expect("text");
        assert!(env.contains("RYE_ITEM=tool:acme/env\n"), "{env}");
        assert!(!env.to_lowercase().contains("canary"), "{env}");
    }
}

#[test]
fn e03_an_argument_that_is_too_long_or_holds_a_nul_is_refused() {
    let world = world();
    let long = "é$(x)\n'\"-".repeat(1 << 17);
    assert!(long.len() > 1 << 20);
    let params = json!({"long": long});
    assert_eq!(data(&world, "tool:acme/echo", &params), params);
    let args = ["execute", "tool:acme/argv", "--json", "--params", "-"];
    for more in [&[][..], &["--dry-run"]] {
        let said = world.rye_in(
            &world.project(),
            &[&args[..], more].concat(),
            params.to_string().as_bytes(),
        );
        assert_eq!((said.status, said.code().as_str()), (6, "plan.argument_too_large"));
    }
    // The last length that is let through, and the first that is not.
    for (length, status) in [(96 * 1024, 0), (96 * 1024 + 1, 6)] {
        let params = json!({"a": "x".repeat(length - "{\"a\":\"\"}".len())}).to_string();
        assert_eq!(params.len(), length);
        let said = world.rye_in(&world.project(), &args, params.as_bytes());
        assert_eq!(said.status, status, "{length}");
    }
    // More than rye reads.
    let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(16 << 20));
    let said = world.rye_in(&world.project(), &args, huge.as_bytes());
    assert_eq!((said.status, said.code().as_str()), (2, "cli.input_file"));
    {
        let world = World::new().with(".ai/tools/acme/argv.yaml", ARGV_YAML);
        world.works("tool:acme/argv");
        world.signed(".ai/tools/acme/argv.yaml", &ARGV_YAML.replace("first", "\"a\\0b\""));
        world.refused("tool:acme/argv", "plan.argument_nul", 6);
        world.json(&["execute", "tool:acme/argv", "--dry-run"]).fails(6, "plan.argument_nul");
    }
}

#[test]
fn e03_values_on_the_command_line_stay_values() {
    let world = world();
    for value in [
        "-x",
        "--dry-run",
        "--json=false",
        "-",
        "--",
        "=",
        "a=b",
        "@@file",
        " lead",
        "trail ",
        "a\nb",
        "'",
        "\"",
        "\\",
        "$(touch marker)",
        "`touch marker`",
        "; touch marker",
        "*",
        "~",
        "\u{202e}bidi",
        "",
    ] {
        let given = format!("a={value}");
        let want = if value == "@@file" { "@file" } else { value };
        let (status, got) = world.json(&["execute", "tool:acme/argv", "-i", &given]);
        assert_eq!(status, 0, "{value:?}: {got}");
        let params = json!({"a": want});
        assert_eq!(got["data"]["stdout"], format!("first\0{params}\0last\0"), "{value:?}");
        assert!(!world.project().join("marker").exists(), "{value:?}");
    }
}

/// Pieces that shells, programs and templates give a meaning to.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-'\"\\\\$`;|&<>(){}*?~!# \\n\\t]{0,8}",
        Just("\0".to_owned()),
        Just("--".to_owned()),
        Just("$(touch marker)".to_owned()),
        Just("{params_json}${HOME}".to_owned()),
        "[a-z]{1000,3000}",
    ]
}

#[test]
fn e03_the_argument_vector_keeps_its_length_and_places() {
    let world = world();
    let marker = world.project().join("marker");
    let config =
        ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(values in proptest::collection::vec((piece(), piece()), 0..4))| {
        let params: Map<String, Value> =
            values.into_iter().map(|(name, value)| (name, value.into())).collect();
        let params = Value::Object(params);
        let got = data(&world, "tool:acme/argv", &params);
        let argv: Vec<&str> =
            got["stdout"].as_str().expect("text").strip_suffix('\0').expect("ended").split('\0').collect();
        let text = params.to_string();
        prop_assert_eq!(argv, ["first", text.as_str(), "last"]);
        prop_assert_eq!(data(&world, "tool:acme/echo", &params), params);
        prop_assert_eq!(marker.exists(), false);
    });
}
