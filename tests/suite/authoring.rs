//! `rye new`: first versions of items (core 11).

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use crate::world::{End, GREET_MD, PYTHON, World, python_folder};

/// The folder of a Node.js that is not on the tests' own path, where one is given.
fn node_folder() -> Option<String> {
    std::env::var("RYE_TEST_NODE").ok()
}

/// What the tests' own path is.
fn world_path() -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", python_folder().display())
}

/// Whether Node.js runs TypeScript by itself.
fn node_runs_types() -> bool {
    let program = node_folder().map_or_else(|| "node".to_owned(), |folder| folder + "/node");
    let asked = Command::new(program).args(["-p", "process.features.typescript || ''"]).output();
    asked.is_ok_and(|output| !String::from_utf8_lossy(&output.stdout).trim().is_empty())
}

#[test]
fn every_template_of_a_tool_verifies_once_signed_and_runs_in_its_language() {
    crate::world::NODE.needed();
    let world = World::new();
    let world = match node_folder() {
        Some(folder) => world.env("PATH", &format!("{folder}:{}", world_path())),
        None => world,
    };
    let rows = [
        ("python", "py", r#"{"greeting":"hello, Ada"}"#),
        ("javascript", "mjs", r#"{"greeting":"hello, Ada"}"#),
        ("typescript", "ts", r#"{"greeting":"hello, Ada"}"#),
        ("shell", "sh", r#"{"greeting":"hello","params":{"name":"Ada"}}"#),
        ("yaml", "yaml", r#"{"name":"Ada"}"#),
        ("toml", "toml", r#"{"name":"Ada"}"#),
        #[cfg(feature = "code")]
        ("snippet", "js", r#"{"greeting":"hello, Ada"}"#),
    ];
    for (lang, ext, want) in rows {
        let id = format!("acme/say_{lang}");
        world.rye(&["new", "tool", &id, "--lang", lang]).ok();
        let item = format!("tool:{id}");
        assert!(world.project().join(format!(".ai/tools/{id}.{ext}")).is_file(), "{lang}");
        assert_eq!(world.run(&item), (4, "verify.unsigned".into()), "nothing is signed by itself");
        let said = world.rye(&["sign", &item]);
        let finds = said.stderr.lines().any(|line| !line.starts_with("note: to run TypeScript"));
        assert_eq!((said.status, finds), (0, false), "{said:?}");
        assert_eq!(world.rye(&["verify", &item, "--ci"]).status, 0, "{lang}");
        assert_eq!(world.rye(&["execute", &item, "--dry-run"]).status, 0, "{lang}");
        if lang == "typescript" && !node_runs_types() {
            eprintln!("this Node.js runs no TypeScript: its template is verified and not run");
            continue;
        }
        let (status, got) = world.json_of_process(&["execute", &item, "-i", "name=Ada"]);
        assert_eq!((status, got["data"].to_string().as_str()), (0, want), "{got}");
        let (status, got) = world.json_of_process(&["execute", &item]);
        assert!(status == 0 && got["data"].to_string().contains("world"), "the default: {got}");
    }
}

#[test]
fn every_other_template_verifies_once_signed_and_can_be_used() {
    let world = World::new();
    world.rye(&["new", "directive", "acme/say_hello", "--sign"]).ok();
    let got = world.rye(&["execute", "directive:acme/say_hello", "-i", "who=Ada"]);
    assert_eq!((got.status, got.stdout.contains("Say hello to Ada")), (0, true), "{got:?}");
    for (id, lang) in [("acme/words", "markdown"), ("acme/rows", "yaml")] {
        let said = world.rye(&["new", "knowledge", id, "--lang", lang, "--sign"]);
        assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{said:?}");
        world.json(&["execute", &format!("knowledge:{id}")]).ok();
    }
    // At the top there is no category, and each form says so in a way that can be read.
    for (kind, id, lang) in [
        ("tool", "top_py", "python"),
        ("tool", "top_yaml", "yaml"),
        ("tool", "top_toml", "toml"),
        #[cfg(feature = "code")]
        ("tool", "top_snippet", "snippet"),
        ("directive", "top_words", "markdown"),
        ("tool", "true/x", "yaml"),
    ] {
        let said = world.rye(&["new", kind, id, "--lang", lang, "--sign"]);
        assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{id}: {said:?}");
    }
    world.rye(&["verify", "--ci"]).ok();
}

#[test]
fn a_new_item_never_overwrites_another_in_whatever_language() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/mine.sh", "mine\n");
    for lang in ["python", "shell"] {
        world
            .rye(&["new", "tool", "acme/mine", "--lang", lang])
            .fails(4, "author.exists")
            .warns(".ai/tools/acme/mine.sh");
    }
    assert_eq!(fs::read(path).unwrap(), b"mine\n");
    assert_eq!(fs::read_dir(world.project().join(".ai/tools/acme")).unwrap().count(), 1);
    // The same id is free for another kind, and in another space.
    world.rye(&["new", "directive", "acme/mine"]).ok();
    world
        .rye(&["new", "tool", "acme/mine", "--space", "user"])
        .ok()
        .warns("is shadowed by the project space's")
        .shows("tool:acme/mine@user");
}

#[test]
fn a_new_item_has_an_id_that_an_item_may_have() {
    let world = World::new();
    for (kind, id, code, status) in [
        ("tool", "../x", "id.malformed", 3),
        ("tool", "a//b", "id.malformed", 3),
        ("directive", "acme/Say-Hello", "id.malformed", 3),
        ("tool", "rye/x", "sign.reserved", 4),
        ("directive", "rye/core/x", "sign.reserved", 4),
    ] {
        world.rye(&["new", kind, id]).fails(status, code);
    }
    let said = world.rye(&["new", "tool", "acme/x.test", "--lang", "yaml"]);
    assert_eq!((said.code().as_str(), said.status), ("id.malformed", 3), "a spec: {said:?}");
    world.rye(&["new", "directive", "acme/Say-Hello"]).warns("`say_hello`");
    world.rye(&["new", "tool", "acme/x", "--space", "system"]).fails(4, "sign.embedded");
    world
        .rye(&["new", "directive", "acme/x", "--lang", "shell"])
        .fails(2, "author.language")
        .warns("--lang markdown");
    assert!(!world.project().join(".ai/tools/rye").exists());
    let said = world.rye(&["new", "tool", "tool:acme/x"]);
    assert_eq!(said.status, 0, "a ref of that kind is an id as well: {said:?}");
}

#[test]
fn a_new_item_goes_through_no_link_and_into_no_folder_that_cannot_be_written() {
    let world = World::new();
    let elsewhere = world.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, world.project().join(".ai/tools/linked")).unwrap();
    world.rye(&["new", "tool", "linked/x"]).fails(4, "space.symlink");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    world.write(".ai/tools/file", "a file where a folder should be\n");
    world.rye(&["new", "tool", "file/x"]).fails(6, "author.io");
}

#[test]
fn a_name_that_is_nearly_taken_is_remarked_on() {
    let world = World::new().with_file(".ai/directives/acme/deploy.md", GREET_MD);
    assert_eq!(world.rye(&["new", "tool", "acme/release"]).stderr, "");
    world.rye(&["new", "tool", "acme/relaese"]).warns("nearly that of `tool:acme/release`");
    world.rye(&["new", "tool", "acme/deploy"]).warns("there is a `directive:acme/deploy` too");
}

#[test]
fn what_is_said_next_are_commands_that_work() {
    PYTHON.needed();
    let world = World::new();
    let (status, got) = world.json(&["new", "tool", "acme/hello"]);
    assert_eq!((status, got["path"].as_str()), (0, Some(".ai/tools/acme/hello.py")), "{got}");
    let next = got["next"].as_array().unwrap();
    assert_eq!(next.len(), 2);
    let shell = next.iter().map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join(" && ");
    assert!(world.shell(&shell).contains("\"greeting\": \"hello, Ada\""), "{shell}");
    let empty = World::empty();
    empty.rye(&["new", "tool", "acme/hello", "--sign", "--space", "user"]).fails(4, "key.missing");
    assert!(!empty.home().join(".ai/tools").exists(), "without a key nothing is written");
}

#[test]
fn what_typescript_takes_is_said_when_it_is_signed_and_by_the_doctor() {
    let world = World::new();
    world.rye(&["new", "tool", "acme/typed.ts"]).ok();
    let said = world.rye(&["sign", "acme/typed"]);
    assert!(said.status == 0 && said.stderr.contains("to run TypeScript it takes Node.js 22.18"));
    world.rye(&["new", "tool", "acme/plain.sh"]).ok();
    assert_eq!(world.rye(&["sign", "acme/plain"]).stderr, "");
    let doctor = world.rye(&["doctor"]).stdout;
    let node = doctor.lines().find(|line| line.contains("node  ")).unwrap_or_default();
    assert!(node.is_empty() || node.contains("TypeScript takes Node.js 22.18"), "{doctor}");
}

#[test]
fn a_new_provider_is_written_to_the_user_space_and_answers_once_it_is_named() {
    let world = World::new();
    assert_eq!(world.json(&["new", "provider", "my/local", "--sign"]).ok()["space"], "user");
    assert!(world.home().join(".ai/tools/my/local.yaml").exists());
    world.signed_home(".ai/config/agent/models.yaml", "provider: my/local\n");
    let text = crate::threads::directive("go", "turns=\"2\"", "");
    let text = text.replace("<model provider=\"acme/script\"/>", "");
    world.signed(".ai/directives/acme/go.md", &text);
    let (status, told) = crate::threads::fork(&world, &["--dry-run"]);
    assert_eq!((status, &told["thread"]["model"]), (0, &json!("qwen3:8b")), "{told}");
}

#[test]
fn a_field_of_a_directive_in_the_wrong_place_is_told_where_it_stands() {
    let world = World::new();
    let text = GREET_MD.replace("<author>", "<inputs/>\n    <author>");
    world.write(".ai/directives/acme/greet.md", text);
    let said = world.rye(&["sign", "directive:acme/greet"]).fails_with("sign.invalid");
    said.warns("`<inputs>` is not a field of a directive here: it stands in `<directive>` itself");
}
