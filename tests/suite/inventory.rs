//! `rye list --cyclonedx`: the inventory of a project.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::world::{GREET_MD, MARKER_SH, World, sha256};

const FETCHES: &str = "#!/bin/bash\n# /// rye\n# version = \"1.2.0\"\n# description = \"Fetches\"\n\
    # executor_id = \"rye/core/runtimes/shell/script\"\n# secrets = [\"TOKEN\"]\n\
    # files = [\"lib.sh\"]\n# [sandbox]\n# net = \"any\"\n# ///\necho 1\n";

fn inventory(world: &World, args: &[&str]) -> Value {
    let said = world.rye(&[&["list", "--cyclonedx"], args].concat()).ok();
    said.json()
}

fn component<'v>(inventory: &'v Value, name: &str) -> &'v Value {
    let mut all = inventory["components"].as_array().unwrap().iter();
    all.find(|it| it["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {inventory:#}"))
}

fn property<'v>(component: &'v Value, name: &str) -> &'v str {
    let mut all = component["properties"].as_array().unwrap().iter();
    let found = all.find(|it| it["name"] == name).and_then(|it| it["value"].as_str());
    found.unwrap_or_else(|| panic!("no `{name}` in {component:#}"))
}

#[test]
fn an_inventory_has_every_item_of_the_project_with_its_signer_digest_version_and_reach() {
    let world = World::new().env("TOKEN", "token-0123456789");
    world.write(".ai/tools/acme/lib.sh", "echo lib\n");
    world.signed(".ai/tools/acme/fetches.sh", FETCHES);
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.signed(".ai/config/acme/limits.yaml", "a: 1\n");
    world.signed_home(".ai/tools/acme/other.sh", MARKER_SH);
    world.works("acme/fetches");
    let got = inventory(&world, &[]);
    assert_eq!((&got["bomFormat"], &got["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));

    let tool = component(&got, "tool:acme/fetches");
    assert_eq!((&tool["type"], &tool["version"]), (&"application".into(), &"1.2.0".into()));
    assert_eq!(tool["hashes"][0]["content"].as_str().map(str::len), Some(64));
    assert_eq!(property(tool, "rye:standing"), "signed by you");
    assert_eq!(property(tool, "rye:signer").len(), 32);
    assert_eq!(property(tool, "rye:reach:net"), "any");
    assert_eq!(property(tool, "rye:reach:secrets"), "TOKEN");
    assert_eq!(component(&got, "directive:acme/greet")["type"], "data");
    assert_eq!(component(&got, "config:acme/limits")["type"], "data");
    assert_eq!(component(&got, "lib.sh")["type"], "file");
    let runtime = component(&got, "tool:rye/core/runtimes/shell/script");
    assert_eq!(property(runtime, "rye:standing"), "signed by rye's publisher");
    // What is not the project's and not in reach of it is not told.
    let names = got["components"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
    assert!(!names.clone().any(|name| name == "tool:acme/other"), "{got:#}");
    // The user space has one of its own.
    component(&inventory(&world, &["--space", "user"]), "tool:acme/other");
}

#[test]
fn an_inventory_is_the_same_wherever_it_is_made() {
    let there = World::new().env("TOKEN", "token-0123456789");
    there.write(".ai/tools/acme/lib.sh", "echo lib\n");
    there.signed(".ai/tools/acme/fetches.sh", FETCHES);
    let told = inventory(&there, &[]);
    let there = there.env("TOKEN", "");
    let names = |inventory: &Value| {
        let all = inventory["components"].as_array().unwrap().iter();
        all.map(|it| it["name"].as_str().unwrap().to_owned())
            .filter(|it| !it.starts_with('/'))
            .collect()
    };
    let (with, without): (Vec<_>, Vec<_>) = (names(&told), names(&inventory(&there, &[])));
    assert_eq!(with, without, "a secret that is not set is not a part");
}

#[test]
fn an_interpreter_is_told_by_the_digest_of_its_file() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let got = inventory(&world, &[]);
    let all = got["components"].as_array().unwrap().iter();
    let program = all.into_iter().find(|it| property(it, "rye:kind") == "program").unwrap();
    let file = fs::read(program["name"].as_str().unwrap()).unwrap();
    assert_eq!(program["hashes"][0]["content"], sha256(&file));
}

#[test]
fn each_component_has_a_name_of_its_own_and_each_dependency_names_a_component() {
    let world = World::new();
    for name in ["one", "two"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
    }
    world.signed_home(".ai/tools/acme/one.sh", "#!/bin/sh\necho 1\n");
    let got = inventory(&world, &[]);
    let components = got["components"].as_array().unwrap();
    let names: BTreeSet<_> = components.iter().map(|it| it["bom-ref"].as_str().unwrap()).collect();
    assert_eq!(names.len(), components.len(), "{got:#}");
    let dependencies = got["dependencies"].as_array().unwrap();
    for row in dependencies {
        for on in row["dependsOn"].as_array().unwrap() {
            assert!(names.contains(on.as_str().unwrap()), "{on}");
        }
    }
    let roots = dependencies.iter().find(|row| row["ref"] == "rye:inventory").unwrap();
    assert_eq!(roots["dependsOn"].as_array().unwrap().len(), 2, "{got:#}");
}

#[test]
fn an_inventory_in_json_stands_in_the_one_shape_and_none_is_made_without_a_project() {
    let world = World::new().with(".ai/tools/acme/good.sh", MARKER_SH);
    let (status, got) = world.json(&["list", "--cyclonedx"]);
    assert_eq!((status, &got["status"]), (0, &"success".into()));
    component(&got["cyclonedx"], "tool:acme/good");
    let elsewhere = world.outside().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let said = world.rye_in(&elsewhere, &["list", "--cyclonedx"], b"");
    assert!(said.status != 0 && said.stderr.contains("space.no_project"), "{said:?}");
}
