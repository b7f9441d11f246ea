//! What nobody means to sign is not signed: secrets, and the marks of a merge.

use std::fs;

use crate::world::{AT, GREET_MD, World, line};

/// A token of no account, in two pieces, so that who scans this repository finds none.
fn token() -> String {
    format!("{}_{}", "ghp", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7")
}

fn tool(line: &str) -> String {
    format!(
        "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# description = \"x\"\n\
         # executor_id = \"rye/core/runtimes/shell/script\"\n# ///\n{line}\necho done\n"
    )
}

#[test]
fn a_tool_that_holds_a_token_is_not_signed_and_the_token_is_not_shown() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/one.sh", tool(&format!("KEY={}", token())));
    let said = world.rye(&["sign", "acme/one"]).fails(4, "sign.invalid");
    assert!(said.stderr.contains("7:5: this looks like a GitHub token"), "{said:?}");
    assert!(!said.stderr.contains(&token()) && !said.stdout.contains(&token()), "{said:?}");
    assert!(!fs::read_to_string(&path).unwrap().contains("rye:signed"), "it was signed");
    let (status, got) = world.json(&["sign", "acme/one"]);
    assert_eq!(status, 4);
    assert!(!got.to_string().contains(&token()), "{got}");
}

#[test]
fn whoever_says_that_it_is_not_a_secret_signs_it() {
    let world = World::new();
    let beside = format!("KEY={} # rye:not-a-secret: of the documentation", token());
    world.signed(".ai/tools/acme/beside.sh", &tool(&beside));
    let above = format!("# rye:not-a-secret\nKEY={}", token());
    world.signed(".ai/tools/acme/above.sh", &tool(&above));
    // Said of another line, it is said of that line.
    let far = format!("# rye:not-a-secret\n\nKEY={}", token());
    world.write(".ai/tools/acme/far.sh", tool(&far));
    assert_eq!(world.rye(&["sign", "acme/far"]).code(), "sign.invalid");
}

#[test]
fn no_kind_of_item_and_no_listed_file_is_signed_with_a_secret() {
    let world = World::new();
    world.write(".ai/directives/acme/greet.md", format!("{GREET_MD}\n{}\n", token()));
    world.write(".ai/knowledge/acme/page.md", format!("---\ntitle: x\n---\n\n{}\n", token()));
    world.write(".ai/config/acme/limits.yaml", format!("a: {}\n", token()));
    world.write(".ai/tools/acme/lib.sh", format!("echo lib\nKEY={}\n", token()));
    let head = tool("echo 1").replace("# ///\necho", "# files = [\"lib.sh\"]\n# ///\necho");
    world.write(".ai/tools/acme/with.sh", head);
    for item in ["directive:acme/greet", "knowledge:acme/page", "config:acme/limits"] {
        let said = world.rye(&["sign", item]);
        assert!(said.stderr.contains("looks like a GitHub token"), "{item}: {said:?}");
        assert_eq!(said.code(), "sign.invalid", "{item}");
    }
    world.rye(&["sign", "acme/with"]).warns("`lib.sh:2`: this looks like a GitHub token");
    world.write(".ai/tools/acme/lib.sh", "echo lib\n");
    world.rye(&["sign", "acme/with"]).ok();
    world.works("acme/with");
}

/// What was signed before there was this rule, or by another program, is no other file than it was.
#[test]
fn an_item_that_was_signed_with_a_secret_is_still_admitted() {
    let world = World::new();
    let text = tool(&format!("KEY={}", token()));
    let line = line(&world.own_key(), "tool:acme/one", "sh", AT, text.as_bytes());
    world.write(".ai/tools/acme/one.sh", text.replacen('\n', &format!("\n# {line}\n"), 1));
    world.works("acme/one");
}

#[test]
fn what_a_merge_left_unfinished_is_not_signed() {
    let world = World::new();
    let marks = "<<<<<<< HEAD\necho ours\n=======\necho theirs\n>>>>>>> side";
    world.write(".ai/tools/acme/one.sh", tool(marks));
    world.write(".ai/directives/acme/greet.md", format!("{GREET_MD}\n{marks}\n"));
    for item in ["acme/one", "directive:acme/greet"] {
        world.rye(&["sign", item]).fails(4, "sign.invalid").warns("a merge left its marks here");
    }
    // So it is told also where the language itself stumbles over it.
    let python = format!("__version__ = \"1.0.0\"\n{marks}\n");
    world.write(".ai/tools/acme/two.py", python);
    world.rye(&["sign", "acme/two"]).warns("2:1: a merge left its marks here");
    // A line of signs alone, as a heading has it, is text.
    world.write(".ai/directives/acme/greet.md", format!("{GREET_MD}\nTitle\n=======\n"));
    world.rye(&["sign", "directive:acme/greet"]).ok();
}

/// Each line is judged once, however much stands on it, and the same slip is told so often alone.
#[test]
fn a_line_of_many_secrets_is_told_up_to_a_bound() {
    let world = World::new();
    let many = |marker: &str| {
        tool(&format!("KEYS=\"{}\" {marker}", format!("{} ", token()).repeat(20_000)))
    };
    world.write(".ai/tools/acme/many.sh", many(""));
    let said = world.rye(&["sign", "acme/many"]);
    assert_eq!(
        said.stderr.matches("looks like a GitHub token").count(),
        20,
        "{:.2000}",
        said.stderr
    );
    world.write(".ai/tools/acme/many.sh", many("# rye:not-a-secret"));
    world.rye(&["sign", "acme/many"]).ok();
}
