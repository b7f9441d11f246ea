//! What is typed every day: it is understood where its meaning is plain, and else it says what to
//! type.

use std::fs;

use serde_json::json;

use crate::cli::world;
use crate::world::items::native;
use crate::world::{MARKER_SH, World};

const PAGE: &str = "---\ntitle: Walk\n---\n\nA walk.\n";

#[test]
fn a_page_is_found_by_its_last_segment_where_one_alone_ends_so() {
    let world = world();
    let said = world.rye(&["fetch", "tour"]).ok();
    assert_eq!(said.stdout, world.rye(&["fetch", "knowledge:rye/tour"]).stdout);
    assert!(said.stderr.contains("knowledge:rye/tour"), "{said:?}");
    let (_, got) = world.json(&["fetch", "tour"]);
    assert_eq!(got["item_id"], "knowledge:rye/tour");
    world.signed(".ai/knowledge/acme/tour.md", PAGE);
    world.rye(&["fetch", "tour"]).fails(3, "resolve.not_found");
    // The whole id of a page needs no kind, as the table of the README has it.
    world.rye(&["fetch", "rye/tour"]).ok();
    // Nor is a part of an id its end, nor a page a tool.
    for word in ["acme/tou", "our", "tool:glossary", "glossary@project"] {
        assert_eq!(world.rye(&["fetch", word]).status, 3, "{word}");
    }
}

#[test]
fn a_kind_as_a_word_lists_that_kind_unless_an_id_begins_so() {
    let world = world();
    for (word, kind) in [("tool", "tool"), ("tools", "tool"), ("knowledge", "knowledge")] {
        let (status, got) = world.json(&["list", word]);
        assert_eq!((status, &got), (0, &world.json(&["list", "--kind", kind]).1), "{word}");
        assert!(!got["items"].as_array().unwrap().is_empty(), "{word}");
    }
    world.signed(".ai/tools/tools/mark.sh", MARKER_SH);
    let (_, got) = world.json(&["list", "tool"]);
    let items = got["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["item_id"]), (1, &json!("tool:tools/mark")), "{got}");
}

#[test]
fn explain_says_what_an_exit_status_means_and_which_codes_end_with_it() {
    let world = world();
    let (status, got) = world.json(&["explain", "4"]);
    let codes = got["codes"].as_array().unwrap();
    assert_eq!((status, &got["meaning"], &got["exit_status"]), (0, &json!("refused"), &json!(4)));
    assert!(codes.contains(&json!("verify.altered")) && !codes.contains(&json!("cli.usage")));
    world.rye(&["explain", "8"]).shows("it waits for a person");
    let said = world.rye(&["explain", "137"]);
    assert!(said.status == 2 && said.stderr.contains("signal"), "{said:?}");
}

#[test]
fn show_says_what_a_value_has_to_be() {
    let world = world();
    let tool = "tool_type: bash\nversion: \"1.0.0\"\nexecutor_id: rye/core/runtimes/bash/bash\n\
        category: acme\ndescription: Bounded\nconfig:\n  command: \"true\"\n\
        parameters:\n  - {name: level, type: string, enum: [low, high]}\n  \
        - {name: count, type: integer, minimum: 1, maximum: 9}\n  \
        - {name: stage, type: string, pattern: \"^[a-z]+$\"}\n";
    world.write(".ai/tools/acme/bounded.yaml", tool);
    world.rye(&["sign", "acme/bounded"]).ok();
    let said = world.rye(&["show", "acme/bounded"]);
    for part in ["one of \"low\" \"high\"", "at least 1, at most 9", "matches `^[a-z]+$`"] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn usage_says_the_word_that_was_typed() {
    let world = world();
    for word in ["run", "execute"] {
        world.rye(&[word, "--help"]).shows(&format!("Usage: rye {word} "));
        world.rye(&[word, "acme/echo", "--bogus"]).warns(&format!("Usage: rye {word} "));
    }
}

#[test]
fn the_file_to_write_may_be_called_out_or_output() {
    let world = world();
    for option in ["--out", "--output"] {
        let file = format!("plan{option}.json");
        world.rye(&["plan", "acme/echo", option, &file]).ok();
        let bundle = format!("b{option}.tar.zst");
        let said =
            world.rye(&["bundle", "pack", "b", "acme/echo", "--version", "1.0.0", option, &bundle]);
        assert!(said.status == 0 && world.project().join(&bundle).exists(), "{said:?}");
    }
    for help in [world.rye(&["plan", "--help"]), world.rye(&["bundle", "pack", "--help"])] {
        assert!(help.stdout.contains("--out ") && !help.stdout.contains("--output"), "{help:?}");
    }
}

#[test]
fn a_language_that_does_not_fit_names_those_that_do() {
    let world = world();
    let said = world.rye(&["new", "tool", "acme/call", "--lang", "http"]);
    assert!(said.status == 2 && said.stderr.contains("python, javascript"), "{said:?}");
    assert!(said.stderr.contains("'--lang yaml'") && !said.stderr.contains("markdown"), "{said:?}");
    let said = world.rye(&["new", "directive", "acme/call", "--lang", "ruby"]);
    assert!(said.stderr.contains("markdown") && !said.stderr.contains("python"), "{said:?}");
}

#[test]
fn the_workflow_says_why_it_is_for_that_service() {
    let world = world();
    world.rye(&["new", "ci"]).shows("for shell, because the project has no `.github`");
    world.write(".gitlab-ci.yml", "a: {}\n");
    world
        .rye(&["new", "ci"])
        .shows("because the project has `.gitlab-ci.yml`")
        .shows("`rye new ci github`");
}

#[test]
fn a_proposal_says_whence_its_name_is_and_no_clone_names_you() {
    let world = world().env("USER", "").env("LOGNAME", "");
    world.shell("git init -q . && git config user.name Mallory");
    let said = world.rye(&["trust", "propose"]);
    assert!(said.status == 2 && said.stderr.contains("--owner"), "{said:?}");
    world.write_home(".gitconfig", "[user]\n\tname = Ada Lovelace\n");
    world
        .rye(&["trust", "propose"])
        .shows("proposed `Ada Lovelace`")
        .shows("`git config --global user.name`");
    let (_, got) = world.json(&["trust", "propose", "--owner", "Ada"]);
    assert_eq!((&got["owner"], &got["owner_from"]), (&json!("Ada"), &json!("--owner")));
}

#[test]
fn signing_what_the_lock_lists_by_another_signer_names_the_update() {
    let world = world();
    world.shell("git init -q .");
    world.rye(&["lock", "acme/echo"]).ok();
    world.shell("echo '# more' >>.ai/tools/acme/echo.sh");
    let said = world.rye(&["sign", "acme/echo"]);
    assert!(said.status == 0 && !said.stderr.contains("rye.lock"), "{said:?}");
    let own = crate::world::fingerprint(&world.own_key());
    let lock = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    assert!(lock.contains(&own), "{lock}");
    world.write(".ai/rye.lock", lock.replace(&own, &"7".repeat(own.len())));
    world.shell("echo '# more' >>.ai/tools/acme/echo.sh");
    world.rye(&["sign", "acme/echo"]).ok().warns("`rye lock --update tool:acme/echo`");
}

#[test]
fn a_value_that_is_no_text_is_asked_for_in_its_form() {
    let world = world();
    let schema = "{\"type\": \"object\", \"properties\": {\"stop\": {\"type\": \"array\"}, \
                  \"loud\": {\"type\": \"boolean\"}, \"n\": {\"type\": \"integer\"}}}";
    let tool = native(&format!("config_schema: {schema}\nconfig: {{command: 'true'}}\n"));
    world.signed(".ai/tools/acme/typed.yaml", &tool);
    for (wrong, right, form) in [
        ("stop=a", "stop=[\"a\"]", "a list in JSON, such as `[\"a\", \"b\"]`"),
        ("loud=very", "loud=true", "`true` or `false`"),
        ("n=x", "n=3", "a whole number, such as `3`"),
    ] {
        let said = world.rye(&["run", "acme/typed", wrong]);
        assert!(said.status == 2 && said.stderr.contains(form), "{said:?}");
        world.rye(&["run", "acme/typed", right]).ok();
    }
}

#[test]
fn a_file_among_the_items_that_cannot_be_one_is_told_wherever_items_are_listed() {
    let world = world();
    world.write(".ai/tools/acme/gr\u{f6}\u{df}e.sh", "echo 1\n");
    world.write(".ai/tools/acme/a b.sh", "echo 1\n");
    for args in [&["list"][..], &[]] {
        world.rye(args).ok().warns("a b.sh").warns("gr\u{f6}\u{df}e.sh");
    }
    world.rye(&["sign", "."]).ok().warns("a b.sh");
    let said = world.rye(&["sign", ".ai/tools/acme/a b.sh"]);
    assert!(said.stderr.contains("holds ` `") || said.stderr.contains("a b"), "{said:?}");
    assert!(!said.stderr.contains("no kind of item"), "{said:?}");
    let (_, got) = world.json(&["list"]);
    assert_eq!(got["not_items"].as_array().map(Vec::len), Some(2), "{got}");
}

#[test]
fn a_file_is_no_project_and_no_key_is_written_over_a_file() {
    let world = world();
    world.write("ci.sh", "echo 1\n");
    world.rye(&["-p", "ci.sh", "list"]).warns("cannot use `").warns("as the project");
    world
        .rye(&["keys", "export", "--private", "ci.sh"])
        .fails(4, "key.exists")
        .warns("is there already");
    assert_eq!(world.read("ci.sh"), b"echo 1\n");
}

#[test]
fn whoever_stands_where_no_project_has_the_item_is_told_why() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let inner = world.project().join("part");
    fs::create_dir_all(inner.join(".ai/tools")).unwrap();
    let said = world.rye_in(&inner, &["run", "acme/mark"], b"").fails_with("resolve.not_found");
    said.warns(&format!("run rye in `{}`", world.project().display()));
    let said = world.shell("mkdir gone; cd gone; rmdir ../gone; exec rye run acme/mark");
    assert!(said.contains("the working folder was removed"), "{said}");
}
