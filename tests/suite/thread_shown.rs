//! What a person sees of threads at the command line.

use serde_json::json;

use crate::threads::{ONLY_ECHO, call, fork, hand_over, rows, world};
use crate::world::{End, World};

fn ends_at_once() -> World {
    world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO)
}

const FORK: [&str; 4] = ["execute", "directive:acme/go", "--thread", "fork"];

#[test]
fn whoever_starts_a_thread_is_told_its_id_however_it_ends() {
    let world = ends_at_once();
    for (more, status) in [(vec![], 0), (vec!["--limit", "tokens=1"], 4)] {
        let said = world.rye(&[&FORK[..], &more].concat());
        assert_eq!(said.status, status, "{said:?}");
        let newest = rows(&world).pop().unwrap()["thread_id"].as_str().unwrap().to_owned();
        assert!(said.stderr.contains(&format!("runs as thread {newest}\n")), "{said:?}");
    }
    let (more, status) = (["--quiet", "--limit", "tokens=1"], 4);
    let said = world.rye(&[&FORK[..], &more].concat());
    assert!(said.status == status && !said.stderr.contains("runs as"), "{said:?}");
}

#[test]
fn the_end_of_an_id_stands_for_the_whole_where_no_other_ends_so() {
    let world = ends_at_once();
    let ids: Vec<String> =
        (0..2).map(|_| fork(&world, &[]).1["thread_id"].as_str().unwrap().to_owned()).collect();
    let end = |id: &str, length: usize| id[id.len() - length..].to_owned();
    for verb in ["show", "wait", "tree", "verify", "export"] {
        for length in [8, 12, 36] {
            let told = world.json(&["thread", verb, &end(&ids[0], length)]).ok();
            assert!(told.to_string().contains(&ids[0]), "{verb}: {told}");
            assert!(!told.to_string().contains(&ids[1]), "{verb}: {told}");
        }
    }
    // Too short, of nobody, and no end of an id.
    for odd in [&end(&ids[0], 3), "00000000", "%", "../../x", "a_b_"] {
        world.json(&["thread", "show", odd]).fails(3, "thread.not_found");
    }
}

#[test]
fn the_list_has_a_line_for_each_of_the_newest_which_fits_a_terminal() {
    let world = ends_at_once();
    for _ in 0..3 {
        assert_eq!(fork(&world, &[]).0, 0);
    }
    assert_eq!(world.rye(&[&FORK[..], &["--limit", "tokens=1"]].concat()).status, 4);
    let said = world.rye(&["thread", "list"]).stdout;
    let lines: Vec<_> = said.lines().collect();
    let ids: Vec<_> = rows(&world).iter().map(|row| row["thread_id"].to_string()).collect();
    assert_eq!(lines.len(), 4, "{said}");
    for (line, id) in lines.iter().zip(ids.iter().rev()) {
        let end = &line[..8];
        assert!(id.trim_matches('"').ends_with(end) && line.chars().count() <= 80, "{line}");
    }
    assert!(lines[0].contains("failed") && lines[1].contains("completed"), "{said}");
}

#[test]
fn a_limit_is_never_told_as_overspent_where_nothing_was_used() {
    let turns = json!([call("acme_echo", &json!({})), call("acme_echo", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    for (limit, words) in [
        ("turns=2", "stopped at its limit `turns`: all 2 are used"),
        ("tokens=10", "stopped before its limit `tokens`: with its next call it may come to"),
        ("spend=0.000001", "US dollars, and 0.000001 are allowed"),
    ] {
        let said = world.rye(&[&FORK[..], &["--limit", limit]].concat());
        assert!(said.status == 4 && said.stderr.contains(words), "{said:?}");
    }
    world.rye(&[&FORK[..], &["--limit", "turn=2"]].concat()).warns("did you mean `turns`?");
}

#[test]
fn where_more_is_used_than_a_limit_allows_both_numbers_are_told_in_words_and_as_data() {
    let echo = || call("acme_echo", &json!({}));
    let turns = json!([echo(), echo(), echo(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &["--limit", "turns=3"]).0, 4);
    let id = rows(&world).pop().unwrap()["thread_id"].as_str().unwrap().to_owned();
    for (limits, words, used, most) in [
        (&["--limit", "turns=2"][..], "`turns`: 3 are used, and 2 are allowed", 3, 2),
        (&["--limit", "turns=1"], "`turns`: 3 are used, and 1 is allowed", 3, 1),
        (&["--limit", "turns=3"], "`turns`: all 3 are used", 3, 3),
        (&["--limit", "turns=9", "--limit", "tokens=40"], "`tokens`: it came to 45 of 40", 45, 40),
    ] {
        let told = world
            .json(&[&["thread", "resume", &*id], limits].concat())
            .fails(4, "thread.limit_exceeded");
        let want = format!("`{id}` stopped at its limit {words}");
        assert_eq!(told["error"], want, "{told}");
        let numbers = (&told["data"]["current"], &told["data"]["max"]);
        assert_eq!(numbers, (&json!(used), &json!(most)), "{told}");
    }
}

#[test]
fn a_limit_and_a_model_that_cannot_be_are_refused_with_what_can_be_table() {
    let world = ends_at_once();
    let large = "99999999999999999999";
    for (name, value, why, help) in [
        ("turns", large, "is too large; 9007199254740991 is the most", "turns=5"),
        ("turns", "+1", "is not a whole number from 0", "turns=5"),
        ("depth", large, "is too large; 32 is the most", "depth=2"),
        ("spend", "99999999999", "is too large; 9007199254.740991 is the most", "spend=2.50"),
        ("spend", "much", "is not an amount such as `0.25`, with at most six places", "spend=2.50"),
        ("duration", "soon", "is not a time", "duration=10m"),
        ("speed", "1", "is not one of", "turns=5"),
    ] {
        let said = world
            .rye(&[&FORK[..], &["--limit", &format!("{name}={value}")]].concat())
            .fails(4, "thread.bad_limit");
        assert!(said.stderr.contains(why), "{why}: {said:?}");
        let help = format!("\n  help: give it as `--limit {help}`, or in `<limits>`\n");
        assert!(said.stderr.contains(&help), "{help}: {said:?}");
    }
    let said = world.rye(&[&FORK[..], &["--model", ""]].concat());
    assert!(said.stderr.contains("has no model with an empty name\n"), "{said:?}");
    let help = "name one that is known, `general`, or leave `--model` out";
    assert!(said.stderr.contains(help) && !said.stderr.contains("MODEL"), "{said:?}");
}

#[test]
fn of_one_thing_it_is_told_as_of_one() {
    let turns = json!([call("acme_echo", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    world.rye(&[&FORK[..], &["--limit", "tokens=1"]].concat()).warns(", and 1 is allowed\n");
    world
        .rye(&[&FORK[..], &["--limit", "turns=1"]].concat())
        .warns("stopped at its limit `turns`: the only one is used");
    let id = rows(&world).pop().unwrap()["thread_id"].as_str().unwrap().to_owned();
    for verb in [&["show"][..], &["tree"], &["export", "--format", "markdown"]] {
        world.rye(&[&["thread"], verb, &[&*id]].concat()).shows("1 turn, 15 tokens, 0.00002 USD\n");
    }
}

#[test]
fn a_terminal_is_told_each_event_on_one_line_and_a_pipe_the_whole_of_it() {
    let text = "a word of many ".repeat(20);
    let turns = json!([call("acme_echo", &json!({"text": text})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &[]).0, 0);
    let id = rows(&world).pop().unwrap()["thread_id"].as_str().unwrap().to_owned();
    let tail = ["thread", "tail", &*id];
    let whole = format!("    call  acme_echo {{\"text\":\"{text}\"}}\n");
    assert!(world.rye(&tail).stdout.contains(&whole));
    let shown = world.rye_in_columns(80, &tail).stdout;
    assert!(shown.contains("    call  acme_echo {\"text\":\"a word of many a word"), "{shown}");
    // No line of it is folded: what goes on behind it is left out.
    assert!(shown.matches("of many").count() < 10, "{shown}");
    assert!(shown.lines().all(|line| line.trim_end().chars().count() <= 80), "{shown}");
}
