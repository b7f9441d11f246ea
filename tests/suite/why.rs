//! `rye why` of what is refused names the rule and the mend, wherever on the way the refusal is.

use std::fs;

use crate::files::{COUNT, package};
use crate::world::items::native;
use crate::world::{MARKER_SH, World};
use serde_json::Value;

/// What stops the item, as `why` says it: code, status, and whether text and JSON say the same.
#[track_caller]
fn stops(world: &World, item: &str, code: &str, mend: &str) {
    let (status, got) = world.json(&["why", item]);
    assert_eq!(got["code"], code, "{item}: {got}");
    assert_eq!(got["status"], "error", "{item}: {got}");
    assert!(got["help"].as_str().is_some_and(|help| help.contains(mend)), "{item}: {got}");
    let ran = world.rye(&["execute", item, "--json"]);
    assert_eq!((ran.code().as_str(), ran.status), (code, status), "{item}: as when it is run");
    world.rye(&["why", item]).shows(&format!("error[{code}]")).shows(mend);
}

#[test]
fn why_names_the_rule_and_the_mend_of_each_refusal() {
    let world = World::new();
    let native = |more: &str| native(&format!("{more}\n"));
    let rows = [
        ("unsigned", "", "verify.unsigned", "rye sign tool:acme/unsigned"),
        ("altered", "config: {command: 'true'}", "verify.altered", "rye diff tool:acme/altered"),
        ("program", "config: {command: ./x}", "plan.unverified_program", "files"),
        ("missing", "config: {command: no-such-program}", "plan.program_not_found", "install"),
        ("secret", "secrets: [ACME_T]\nconfig: {command: 'true'}", "plan.missing_secret", "ACME_T"),
        (
            "argv",
            "env: [ACME_U]\nconfig: {command: echo, args: ['${ACME_U}']}",
            "plan.secret_in_argv",
            "env_config.env",
        ),
        (
            "loader",
            "env: [NODE_OPTIONS]\nconfig: {command: 'true'}",
            "plan.refused_variable",
            "your own",
        ),
        (
            "target",
            "allowed_targets: [remote]\nconfig: {command: 'true'}",
            "validate.target",
            "rye why",
        ),
    ];
    world.write("x", "#!/bin/sh\n");
    world.shell("chmod +x x");
    world.write(".env", "NODE_OPTIONS=--require=/tmp/x\n");
    for (name, more, code, mend) in rows {
        let item = format!("tool:acme/{name}");
        let file = format!(".ai/tools/acme/{name}.yaml");
        // The fixture itself is good.
        world.signed(&file, &native("config: {command: 'true'}"));
        world.works(&item);
        match name {
            "unsigned" => drop(world.write(&file, native("config: {command: 'true'}"))),
            "altered" => {
                let text = fs::read_to_string(world.project().join(&file)).unwrap();
                world.write(&file, text.replace("description: x", "description: y"));
            }
            _ => drop(world.signed(&file, &native(more))),
        }
        stops(&world, &item, code, mend);
    }
    package(&world);
    world.rye(&["sign", COUNT]);
    assert_eq!(world.json(&["why", COUNT]).1["status"], "success");
    world.write(".ai/tools/acme/words/lib/extra.py", "");
    stops(&world, COUNT, "verify.dependency", "look at these files");
}

#[test]
fn why_of_a_sound_tool_is_a_success_and_starts_nothing() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    world.works("tool:acme/mark");
    fs::remove_file(world.project().join("marker")).unwrap();
    let (status, got) = world.json(&["why", "tool:acme/mark"]);
    assert_eq!((status, &got["status"], &got["code"]), (0, &Value::from("success"), &Value::Null));
    assert!(!world.project().join("marker").exists(), "why ran the tool");
}
