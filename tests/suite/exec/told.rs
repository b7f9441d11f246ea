//! What of a program's standard error is told: its end, and no secret in it.

use super::{server, signed, world};
use crate::world::World;

/// The tool again, with lines before the others of its item.
fn with_lines(world: &World, name: &str, lines: &str) {
    let path = format!(".ai/tools/acme/{name}.yaml");
    let text = String::from_utf8(world.read(&path)).unwrap();
    let text: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    world.signed(&path, &format!("{lines}\n{text}"));
}

/// The tools `acme/once` and `acme/serves`, which do this when they are called and then fail.
fn both(world: &World, exec: &str, does: &str, lines: &str) -> [&'static str; 2] {
    signed(world, "once", "oneshot", exec, &format!("#!/bin/sh\nread -r line\n{does}\nexit 1\n"));
    signed(world, "serves", "server", exec, &server(&format!("*) {does}\nexit 1;;")));
    if !lines.is_empty() {
        for name in ["once", "serves"] {
            with_lines(world, name, lines);
        }
    }
    ["acme/once", "acme/serves"]
}

/// How a call that fails ended: its last words, and everything that was told.
fn last_words(world: &World, item: &str) -> (String, String) {
    let said = world.rye(&["execute", item, "--json", "-v"]);
    let json = said.json();
    let tail = json["data"]["stderr_tail"].as_str();
    let tail = tail.unwrap_or_else(|| panic!("{said:?}"));
    (tail.to_owned(), format!("{}\n{}", said.stdout, said.stderr))
}

#[test]
fn f08_a_secret_that_comes_in_two_pieces_of_a_long_line_is_shown_in_neither() {
    let world = world();
    let does = "printf '%05000d%s' 0 canary- >&2; sleep 0.2; printf 'secret and more' >&2";
    for item in both(&world, "", does, "secrets: [ACME_SECRET]") {
        let (tail, all) = last_words(&world, item);
        assert!(tail.ends_with(" and more") && tail.contains("000"), "{item}: {tail}");
        assert!(!all.contains("canary") && !all.contains("secret and"), "{item}: {tail}");
    }
}

#[test]
fn f08_a_secret_of_several_short_lines_is_shown_neither_in_the_last_words_nor_in_the_log() {
    let world = world().env("ACME_LINES", "12345\n67890\nabc");
    let does = "printf 'it is %s.\\nbye\\n' \"$ACME_LINES\" >&2";
    for item in both(&world, "", does, "secrets: [ACME_LINES]") {
        let (tail, all) = last_words(&world, item);
        assert_eq!(tail, "it is ***.\nbye\n", "{item}");
        assert!(all.contains("stderr: bye"), "{item}: {all}");
        for part in ["12345", "67890", "abc"] {
            assert!(!all.contains(part), "{item}: {part} in {all}");
        }
    }
}

#[test]
fn the_last_words_of_a_program_are_its_last_whatever_it_may_answer() {
    let world = world();
    let does = "i=100; while [ $i -lt 200 ]; do echo \"line $i\" >&2; i=$((i + 1)); done";
    for item in both(&world, "max_output_bytes: 200", does, "") {
        let (tail, _) = last_words(&world, item);
        assert!(tail.starts_with("line 100\n") && tail.ends_with("line 199\n"), "{item}: {tail}");
    }
}

#[test]
fn f08_what_a_program_names_of_the_host_is_masked_in_errors_unless_it_is_as_short_as_a_word() {
    let world = world().env("ACME_WORD", "7 bytes");
    let named = "env: [ACME_NAMED, ACME_WORD, LANG]";
    let tells = "\"of $ACME_NAMED, $ACME_WORD, $LANG\"";
    for item in both(&world, named, &format!("echo {tells} >&2"), "") {
        let (tail, all) = last_words(&world, item);
        assert_eq!(tail, "of ***, 7 bytes, C.UTF-8\n", "{item}");
        assert!(!all.contains("canary-named"), "{item}: {all}");
    }
    for (key, want) in
        [("error", "of ***, 7 bytes, C.UTF-8"), ("result", "of canary-named, 7 bytes")]
    {
        let script = format!("#!/bin/sh\nprintf '{{\"{key}\":\"%s\"}}' {tells}\n");
        signed(&world, key, "oneshot", named, &script);
        let got = world.json(&["execute", &format!("acme/{key}")]).1;
        let told = got["error"].as_str().or(got["data"].as_str()).unwrap_or_default();
        assert!(told.contains(want), "what it gives as its result is its own: {got}");
    }
}

#[test]
fn of_a_program_that_failed_without_an_answer_nothing_stands_on_standard_output() {
    let world = world();
    for item in both(&world, "", "echo boom >&2", "") {
        let said = world.rye(&["execute", item]);
        assert_eq!(said.stdout, "", "{said:?}");
        assert!(said.status != 0 && said.stderr.contains("error["), "{said:?}");
    }
}

#[test]
fn the_last_words_of_a_program_and_the_log_name_the_file_that_the_author_has() {
    let world = world();
    for item in both(&world, "", "echo \"$0: line 3: no\" >&2", "") {
        let (tail, all) = last_words(&world, item);
        let file = format!(".ai/tools/{item}.files/run.sh: line 3: no");
        assert_eq!(tail, format!("{file}\n"), "{item}");
        assert!(all.contains(&format!("stderr: {file}")), "{item}: {all}");
    }
}
