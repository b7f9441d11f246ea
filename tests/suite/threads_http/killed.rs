//! Threads that are killed while one below them is under way.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{ALL, Checked, Spoken, Words, calls, hands_over, reply, world};
use crate::faults::tracer::trace_killed;
use crate::threads::{directive, events, fork, rows, transcript};
use crate::world::World;
use crate::world::server::{Reply, Seen};

const GO: &[&str] = &["execute", "directive:acme/go", "--thread", "fork", "--json"];
const ALL_OF_IT: &str =
    "<execute><tool>acme.echo</tool><directive>acme.child</directive></execute>";

/// How many turns of the model a request tells of, and whether it is the child's.
fn place(seen: &Seen) -> (usize, bool) {
    let body = seen.json();
    let all = body["messages"].as_array().unwrap();
    let turns = all.iter().filter(|message| message["role"] == "assistant").count();
    (turns, body["messages"].to_string().contains("Do it below."))
}

/// What the model says there: a child is asked for, which calls a tool.
fn says(seen: &Seen) -> Words {
    let child = json!({"item_id": "directive:acme/child", "thread": "fork"}).to_string();
    match place(seen) {
        (0, false) => calls("rye_execute", &child),
        (0, true) => calls("acme_echo", "{}"),
        _ => hands_over(),
    }
}

/// A world whose thread has a child.
fn deep(spoken: Spoken, server: &Checked) -> World {
    let world = world(spoken, &server.server, &json!({}));
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", ALL_OF_IT));
    let text = directive("child", "turns=\"5\"", "<execute><tool>acme.echo</tool></execute>");
    world.signed(".ai/directives/acme/child.md", &text.replace("Do it.", "Do it below."));
    world
}

/// How often the tool of the child was carried out.
fn times_run(world: &World) -> usize {
    fs::read_to_string(world.project().join("ran")).unwrap_or_default().lines().count()
}

fn id(row: &Value) -> String {
    row["thread_id"].as_str().unwrap().to_owned()
}

/// Nothing is held for any thread.
#[track_caller]
fn nothing_is_held(world: &World) {
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let sql = "SELECT coalesce(sum(held_turns + held_tokens + held_spend), 0) FROM thread";
    assert_eq!(db.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap(), 0);
}

/// Goes on with the killed parent, before which there were so many threads: its record holds, and no
/// call is repeated.
fn goes_on(world: &World, first: usize, what: &str) {
    let before = rows(world).split_off(first);
    nothing_is_held(world);
    let done = times_run(world);
    for row in &before {
        assert!(["killed", "completed"].contains(&row["thread_status"].as_str().unwrap()), "{row}");
        let (status, told) = world.json(&["thread", "verify", &id(row)]);
        // Nothing of it was signed yet, so nothing of it was carried out.
        let kept = fs::read_to_string(transcript(world, &id(row))).unwrap_or_default();
        assert!(status == 0 || !kept.contains("tool_call_result"), "{what}: {told} {kept}");
    }
    let (status, told) = world.json(&["thread", "resume", &id(&before[0])]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{what}: {told}");
    let (status, told) = world.json(&["thread", "verify", &id(&before[0])]);
    assert_eq!((status, &told["final"]), (0, &json!(true)), "{what}: {told}");
    nothing_is_held(world);
    let after = rows(world).split_off(first);
    assert_eq!(after[0]["thread_status"], "completed", "{what}");
    // A parent that knows of its child asks for no second one; without it, nothing was done.
    let asked = after.len() > before.len();
    assert!(times_run(world) <= 1 && (done == 0 || !asked), "{what}: {done} {asked}");
    let most = |row: &Value, name: &str| row["used"][name].as_u64().unwrap();
    for child in &after[1..] {
        for name in ["turns", "tokens", "spend_micros"] {
            assert!(most(child, name) <= most(&after[0], name), "{what} {name}: {after:?}");
        }
    }
}

/// How many steps lie between two kills. An odd number, so that some come before a write and some
/// behind one.
const STRIDE: usize = 5;

#[test]
fn killed_at_a_write_of_its_record_or_its_childs_a_thread_over_http_goes_on_and_repeats_nothing() {
    let spoken = ALL[3];
    let server = Checked::new(spoken, move |seen, _| reply(spoken, &says(seen), place(seen).0));
    let world = deep(spoken, &server);
    let records = world.project().join(".ai/state/threads");
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    assert_eq!((rows(&world).len(), times_run(&world)), (2, 1));
    let mut with_child = 0;
    for step in (0..).step_by(STRIDE) {
        let _ = fs::remove_file(world.project().join("ran"));
        let first = rows(&world).len();
        let mut command = world.command(GO);
        let traced = trace_killed(&mut command, &records, step);
        let Some(hit) = traced.hit else {
            assert_eq!(traced.status, Some(0), "{}", traced.stdout);
            assert!(step > 5 * STRIDE, "{step}");
            break;
        };
        assert_eq!(traced.status, None, "{hit:?}");
        with_child += usize::from(rows(&world).len() > first + 1);
        goes_on(&world, first, &format!("{step} {hit:?}"));
    }
    assert!(with_child > 3, "{with_child}");
    server.requests();
}

#[test]
fn killed_while_its_child_waits_for_the_model_a_thread_goes_on_and_nothing_stays_held() {
    for spoken in [ALL[0], ALL[3]] {
        for turns in [0, 1] {
            let server = Checked::new(spoken, move |seen, _| match place(seen) == (turns, true) {
                true => Reply::Hold(super::head(spoken).into_bytes()),
                false => reply(spoken, &says(seen), place(seen).0),
            });
            let world = deep(spoken, &server);
            let mut child =
                world.command(GO).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
            // The parent's turn, and the child's up to the one that gets no answer.
            (0..turns + 2).for_each(|_| server.server.wait_until_asked());
            child.kill().unwrap();
            child.wait().unwrap();
            server.server.wait_until_left();
            assert_eq!((rows(&world).len(), times_run(&world)), (2, turns));
            goes_on(&world, 0, &format!("{spoken:?} {turns}"));
            assert_eq!(rows(&world)[1]["thread_status"], "killed");
            server.requests();
        }
    }
}

#[test]
fn eight_children_that_are_asked_for_in_one_turn_each_ask_the_server_and_all_is_released() {
    let child = json!({"item_id": "directive:acme/child", "thread": "fork"}).to_string();
    for spoken in [ALL[0], ALL[3]] {
        let child = child.clone();
        let server = Checked::new(spoken, move |seen, _| match place(seen) {
            (0, false) => {
                let eight = (0..8).fold(Words::default(), |all, _| all.and("rye_execute", &child));
                reply(spoken, &eight, 0)
            }
            (turns, _) => reply(spoken, &says(seen), turns),
        });
        let world = deep(spoken, &server);
        // The turns of children count as its own.
        let (status, told) = fork(&world, &["--limit", "turns=20"]);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
        let cost = &told["cost"];
        assert_eq!((&cost["spawns"], &cost["turns"]), (&json!(8), &json!(2 + 8 * 2)));
        assert_eq!((&cost["tokens"], times_run(&world)), (&json!(18 * 35), 8));
        let gave = events(&world, told["thread_id"].as_str().unwrap(), "tool_call_result");
        assert_eq!(gave.len(), 9);
        for gave in &gave[..8] {
            let content: Value = serde_json::from_str(gave["content"].as_str().unwrap()).unwrap();
            assert_eq!(content["outputs"], json!({"n": 7}), "{content}");
        }
        assert_eq!(rows(&world).len(), 9);
        nothing_is_held(&world);
        assert_eq!(server.requests().len(), 18);
    }
}
