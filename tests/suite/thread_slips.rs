//! What is typed wrongly about threads is answered with what was meant.

use serde_json::json;

use crate::async_runs::{id_of, start};
use crate::threads::{ONLY_ECHO, call, fork, hand_over, provider, rows, world};
use crate::world::{End, World};

const FORK: [&str; 4] = ["execute", "directive:acme/go", "--thread", "fork"];

fn ends_at_once() -> World {
    world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO)
}

fn newest(world: &World) -> String {
    id_of(rows(world).last().unwrap())
}

#[test]
fn whoever_gives_no_id_is_told_which_characters_stand_for_one_or_the_newest_id_of_what_ran() {
    let world = ends_at_once();
    for _ in 0..2 {
        assert_eq!(fork(&world, &[]).0, 0);
    }
    let thread = newest(&world);
    let run = id_of(&start(&world, &["tool:acme/echo"]));
    assert_eq!(world.json(&["thread", "wait", &run]).0, 0);
    let uuid = &thread[thread.len() - 36..];
    // As the folder of its record is called.
    world.json(&["thread", "show", thread.rsplit('/').next().unwrap()]).ok();
    let shortened = "an id may be shortened to its last characters, at least four";
    let of_thread = format!("did you mean `{thread}`?");
    let of_run = format!("did you mean `{run}`?");
    for (typed, want) in [
        (&uuid[33..], shortened),
        (&uuid[..8], shortened),
        ("acme/other", shortened),
        ("tool:acme/go", shortened),
        ("acme/go", &*of_thread),
        ("directive:acme/go", &*of_thread),
        ("acme/echo", &*of_run),
        ("tool:acme/echo", &*of_run),
    ] {
        let told = world.json(&["thread", "show", typed]).fails(3, "thread.not_found");
        assert!(told["help"].as_str().unwrap().contains(want), "{typed}: {told}");
    }
}

#[test]
fn the_ref_of_a_provider_takes_back_what_it_let_in() {
    let world = ends_at_once();
    world.signed(".ai/tools/acme/model.yaml", &provider(&json!([hand_over()])));
    let allowed = || world.json(&["trust", "list"]).1["allowed"].as_array().map(Vec::len);
    for named in ["acme/model", "tool:acme/model"] {
        let said = world.rye(&["trust", "allow-provider", named, "--yes"]);
        assert_eq!((said.status, allowed()), (0, Some(1)), "{said:?}");
        world.json(&["trust", "disallow", "acme/echo", "--yes"]).fails(3, "trust.not_found");
        let (status, told) = world.json(&["trust", "disallow", named, "--yes"]);
        assert_eq!((status, allowed()), (0, Some(0)), "{told}");
        assert!(told["path"].as_str().unwrap().ends_with(".ai/tools/acme/model.yaml"), "{told}");
    }
}

#[test]
fn a_tool_with_the_model_or_the_limits_of_a_thread_is_not_sent_to_a_thread() {
    let world = ends_at_once();
    for more in [["--model", "general"], ["--limit", "turns=1"]] {
        for item in ["acme/echo", "tool:acme/echo"] {
            let said = world.rye(&[&["run", item][..], &more].concat()).fails(2, "cli.usage");
            assert!(said.stderr.contains("bound its time with `--timeout`"), "{said:?}");
            assert!(!said.stderr.contains("fork"), "{said:?}");
        }
        for item in ["acme/go", "directive:acme/go", "acme/nothing"] {
            world.rye(&[&["run", item][..], &more].concat()).warns("add `--thread fork`");
        }
    }
}

#[test]
fn whoever_asks_for_more_than_the_configuration_allows_is_told_so_at_the_start() {
    let turns = json!([call("acme_echo", &json!({})), hand_over(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    world.signed_home(".ai/config/agent/limits.yaml", "most: {spend: 0.05}\n");
    let lowered = |asked: &str| {
        format!(
            "the limit `spend` is 0.05 and not {asked}: no more is allowed by `most` of \
             `config:agent/limits`, user\n"
        )
    };
    let start = |more: &[&str]| world.rye(&[&FORK[..], more].concat());
    let said = start(&["--limit", "spend=3", "--limit", "turns=1"]);
    assert_eq!(said.stderr.matches(&lowered("3.00")).count(), 1, "{said:?}");
    assert_eq!(said.stderr.matches("no more is allowed").count(), 1, "{said:?}");
    let id = newest(&world);
    let resume = ["thread", "resume", &*id, "--limit", "spend=9", "--limit", "turns=9"];
    let said = world.rye(&resume).ok();
    assert_eq!(said.stderr.matches(&lowered("9.00")).count(), 1, "{said:?}");
    for more in [&["--limit", "spend=0.05"][..], &[], &["--quiet", "--limit", "spend=3"]] {
        let said = start(more);
        assert!(!said.stderr.contains("no more is allowed"), "{more:?}: {said:?}");
    }
    let said = start(&["--limit", "duration=10m", "--timeout", "1m"]);
    let line = "the limit `duration_seconds` is 60 and not 600: no more is allowed by `--timeout`";
    assert!(said.stderr.contains(line), "{said:?}");
    start(&["--limit", "depth=1000000"]).warns("and not 1000000: no more is allowed by rye\n");
}

#[test]
fn an_export_is_a_page_where_its_file_is_one_and_no_file_is_written_over() {
    let world = ends_at_once();
    assert_eq!(fork(&world, &[]).0, 0);
    let id = newest(&world);
    for (file, more, begin) in [
        ("x.md", &[][..], "# Thread `"),
        ("x.json", &[], "{"),
        ("x", &[], "{"),
        ("y.md", &["--format", "json"], "{"),
        ("y.json", &["--format", "markdown"], "# Thread `"),
    ] {
        let export = [&["thread", "export", &*id, "--out", file][..], more].concat();
        let said = world.rye(&export);
        let text = String::from_utf8(world.read(file)).unwrap();
        assert!(said.status == 0 && text.starts_with(begin), "{file}: {said:?}");
        let again = world.rye(&export).fails(2, "cli.output");
        let why = format!("`{file}` is there already, and is not overwritten");
        assert!(again.stderr.contains(&why) && !again.stderr.contains("os error"), "{again:?}");
        assert_eq!(String::from_utf8(world.read(file)).unwrap(), text);
    }
}

#[test]
fn no_option_is_sent_to_a_model_as_a_message_and_a_verb_of_another_program_names_the_one_here() {
    let world = World::new();
    for (typed, tip) in [
        (&["resume", "0123", "--model", "fast"][..], "tip: a thread keeps its model\n"),
        (&["resume", "0123", "--model=fast"], "tip: a thread keeps its model\n"),
        (&["resume", "0123", "--limt", "turns=9"], "'--limit'"),
        (&["status"], "did you mean 'rye thread show'?"),
        (&["stop", "0123"], "did you mean 'rye thread cancel'?"),
        (&["log", "0123"], "did you mean 'rye thread tail'?"),
        (&["logs", "0123"], "did you mean 'rye thread tail'?"),
        (&["ls"], "did you mean 'rye thread list'?"),
        (&["tial", "0123"], "'tail'"),
    ] {
        let said = world.rye(&[&["thread"][..], typed].concat());
        assert!(said.status == 2 && said.stderr.contains(tip), "{typed:?}: {said:?}");
        assert!(!said.stderr.contains("as a value"), "{typed:?}: {said:?}");
    }
    let said = world.rye(&["thread", "resume", "0123", "--bogus"]);
    assert!(said.status == 2 && !said.stderr.contains("tip:"), "{said:?}");
}
