//! Threads whose context window is almost full: another one goes on with a summary (threads 6).

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::async_runs::{id_of, start, state};
use crate::faults::kill_steps;
use crate::faults::tracer::trace_killed;
use crate::sandbox::levels;
use crate::thread_life::held;
use crate::threads::{
    ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, transcript, world,
};
use crate::threads_http::{self, ALL, Checked, Words, as_sent_back, calls, hands_over, says};
use crate::world::items::tool_sh;
use crate::world::wait::until;
use crate::world::{End, World, whole};

/// A provider whose model takes 1,000 tokens at once.
pub fn narrow(turns: &Value) -> String {
    provider(turns).replace("\"answer_tokens\"", "\"context_window\":1000,\"answer_tokens\"")
}

/// A turn with one call, after which the conversation has so many tokens.
fn used(tokens: u64, name: &str, arguments: &Value) -> Value {
    let mut turn = call(name, arguments);
    turn["usage"] = json!({"input": tokens - 5, "output": 5});
    turn
}

fn echo(n: u64, tokens: u64) -> Value {
    used(tokens, "acme_echo", &json!({"n": n}))
}

fn summary() -> Value {
    json!({"text": "Echoed 1 and 2.\nStill to do: 3.", "usage": {"input": 900, "output": 20}})
}

/// Two calls that fill the window, a summary, and the rest in the thread that goes on.
pub fn turns() -> Value {
    json!([echo(1, 300), echo(2, 950), summary(), echo(3, 120), hand_over()])
}

fn full(turns: &Value, limits: &str) -> World {
    let world = world(turns, limits, ONLY_ECHO);
    world.signed_home(".ai/tools/acme/script.yaml", &narrow(turns));
    world
}

fn verified(world: &World, id: &str) -> Value {
    world.json(&["thread", "verify", id]).ok()
}

fn times(world: &World) -> usize {
    fs::read_to_string(world.project().join("ran")).unwrap_or_default().lines().count()
}

/// The ids of the thread that began and of the one that goes on for it.
fn both(world: &World) -> (String, String) {
    let all = rows(world);
    let first = all.iter().find(|row| row["thread_status"] == "continued").expect("one of them");
    (id_of(first), first["continued_by"].as_str().unwrap().to_owned())
}

#[test]
fn a_thread_that_almost_fills_its_window_is_continued_by_one_that_is_told_its_task_and_a_summary() {
    let world = full(&turns(), "turns=\"9\"");
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
    assert_eq!(times(&world), 3);
    let (first, second) = both(&world);
    assert_eq!(id_of(&told), second);
    assert_eq!(rows(&world).len(), 2, "it took nothing of the threads below");
    // What each of them took counts, in one sum.
    assert_eq!((&told["cost"]["turns"], &told["cost"]["spawns"]), (&json!(5), &json!(0)));
    assert_eq!(told["cost"]["tokens"], json!(300 + 950 + 920 + 120 + 15));
    let row = rows(&world).into_iter().find(|row| id_of(row) == second).unwrap();
    assert_eq!((&row["used"]["turns"], &row["thread_status"]), (&json!(5), &json!("completed")));
    // The first asked for the summary by a call like any other, and says who goes on.
    let asked = events(&world, &first, "cognition_in");
    assert_eq!((asked.len(), &asked[1]["asks"]), (2, &json!("summary")));
    let said = events(&world, &first, "cognition_out");
    assert_eq!((said.len(), &said[2]["usage"]["input_tokens"]), (3, &json!(900)));
    let end = &events(&world, &first, "thread_ended")[0];
    assert_eq!((&end["status"], &end["continued_by"]), (&json!("continued"), &json!(second)));
    // The second is told the task as the first was, the summary, and last the outputs.
    let told = events(&world, &second, "cognition_in");
    let told = told[0]["user"].as_str().unwrap();
    let (task, rest) = told.split_once("<continues thread=").expect("what it goes on for");
    let (left, returns) = rest.split_once("</continues>").unwrap();
    assert!(task.contains("Do it.") && left.contains(&first), "{told}");
    assert!(left.contains("Echoed 1 and 2.\nStill to do: 3."), "{left}");
    assert!(returns.trim().starts_with("<returns>"), "{returns}");
    let began = &events(&world, &second, "thread_started")[0]["continues"];
    assert_eq!((&began["thread_id"], &began["turns"]), (&json!(first), &json!(3)));
    for id in [&first, &second] {
        assert_eq!(verified(&world, id)["final"], true);
    }
    assert_eq!(verified(&world, &first)["thread_status"], "continued");
}

#[test]
fn a_thread_goes_on_by_itself_where_there_is_room_or_nobody_says_how_much_there_is() {
    let turns = json!([echo(1, 300), echo(2, 800), echo(3, 850), hand_over()]);
    let roomy = full(&turns, "turns=\"9\"");
    let turns = json!([echo(1, 300), echo(2, 950), echo(3, 1_200), hand_over()]);
    let unknown = world(&turns, "turns=\"9\"", ONLY_ECHO);
    for world in [roomy, unknown] {
        assert_eq!(fork(&world, &[]).ok()["outputs"], json!({"n": 7}));
        assert_eq!(rows(&world).len(), 1);
    }
}

#[test]
fn results_that_no_model_counted_yet_fill_the_window_too() {
    let long = used(100, "acme_echo", &json!({"n": "x".repeat(1_700)}));
    let world = full(&json!([long, summary(), hand_over()]), "turns=\"9\"");
    assert_eq!(fork(&world, &[]).0, 0);
    assert_eq!(rows(&world).len(), 2);
}

#[test]
fn each_limit_counts_on_over_the_threads_that_go_on() {
    for (limit, most, current) in [("turns", "4", 4), ("tokens", "2400", 0), ("spend", "0.0001", 0)]
    {
        let world = full(&turns(), "turns=\"9\"");
        assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
        let told = fork(&world, &["--limit", &format!("{limit}={most}")])
            .fails(4, "thread.limit_exceeded");
        assert_eq!(told["data"]["limit"], limit, "{told}");
        if current > 0 {
            assert_eq!(told["data"]["current"], current, "{told}");
        }
        if limit == "spend" {
            continue;
        }
        // It is the second that stopped, and that goes on with more.
        let all = rows(&world);
        let (first, second) = (&all[2], &all[3]);
        assert_eq!(first["thread_status"], "continued", "{first}");
        assert_eq!(second["thread_status"], "failed", "{second}");
        let more = format!("{limit}=90000");
        let (status, told) =
            world.json(&["thread", "resume", &id_of(second), "--limit", &more, "go on"]);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{limit}: {told}");
        assert_eq!(told["cost"]["turns"], 5, "{told}");
    }
}

#[test]
fn a_model_that_gives_no_summary_is_asked_again_and_then_the_thread_ends_at_its_window() {
    let turns = json!([echo(1, 950), echo(2, 960), summary(), hand_over()]);
    let world = full(&turns, "turns=\"9\"");
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, times(&world)), (0, 1), "{told}: a call in its place is not carried out");
    let (first, _) = both(&world);
    let gave = events(&world, &first, "tool_call_result");
    assert!(gave[1]["content"].as_str().unwrap().contains("a summary was asked for"), "{gave:?}");

    let turns = json!([echo(1, 950), echo(2, 960), echo(3, 970), hand_over()]);
    let world = full(&turns, "turns=\"9\"");
    let told = fork(&world, &[]).fails(4, "thread.limit_exceeded");
    assert_eq!(
        (&told["data"]["limit"], &told["data"]["max"]),
        (&json!("context_window"), &json!(1_000))
    );
    assert!(told["help"].as_str().unwrap().contains("larger context window"), "{told}");
    let id = id_of(&rows(&world)[0]);
    assert_eq!(verified(&world, &id)["final"], true);
    assert_eq!(times(&world), 1);
}

#[test]
fn whoever_waits_for_ends_or_follows_a_thread_does_so_with_the_one_that_goes_on() {
    let slow = used(120, "acme_other", &json!({}));
    let turns = json!([echo(1, 950), summary(), slow, hand_over()]);
    for how in ["sync", "async"] {
        let may = "<execute><tool>acme.*</tool></execute>";
        let world = world(&turns, "turns=\"9\"", may);
        world.signed_home(".ai/tools/acme/script.yaml", &narrow(&turns));
        let tool = crate::async_runs::tool("touch begun; while [ ! -e go ]; do sleep 0.1; done\n");
        world.signed(".ai/tools/acme/other.sh", &tool);
        let go = ["directive:acme/go", "--thread", "fork"];
        let mut child = None;
        match how {
            "sync" => child = Some(world.start(&[&["execute"], &go[..]].concat())),
            _ => drop(start(&world, &go)),
        }
        until("the second one works", || world.project().join("begun").exists());
        let (first, second) = both(&world);
        world.json(&["thread", "wait", &first, "--timeout", "50ms"]).fails(6, "thread.still_runs");
        let (status, told) = world.json(&["thread", "resume", &first]);
        assert_eq!((status, &told["data"]["continued_by"]), (4, &json!(second)), "{told}");
        let (status, told) = world.json(&["thread", "tree", &first]);
        let tree: Vec<_> = told["threads"].as_array().unwrap().iter().map(id_of).collect();
        assert_eq!((status, tree), (0, vec![first.clone(), second.clone()]));
        let tail = world.command(&["thread", "tail", &first]).stdout(Stdio::piped()).spawn();
        if how == "sync" {
            fs::write(world.project().join("go"), "").unwrap();
            assert_eq!(world.json(&["thread", "wait", &first]).ok()["outputs"], json!({"n": 7}));
        } else {
            world.json(&["thread", "cancel", &first]).ok();
            assert_eq!(state(&world, &second), "cancelled");
        }
        let tail = tail.unwrap().wait_with_output().unwrap();
        let tail = String::from_utf8(tail.stdout).unwrap();
        assert!(tail.contains("Still to do: 3.") && tail.contains("acme_other"), "{tail}");
        if let Some(mut child) = child {
            child.wait().unwrap();
        }
        assert_eq!(state(&world, &first), "continued");
    }
}

#[test]
fn a_thread_above_gets_what_the_one_that_goes_on_hands_over_and_both_count_for_it() {
    let child = json!([echo(1, 950), summary(), hand_over()]);
    let above = json!([
        call("rye_execute", &json!({"item_id": "directive:acme/below", "thread": "fork"})),
        hand_over(),
    ]);
    let may = "<execute><tool>acme.*</tool><directive>acme.*</directive></execute>";
    let world = world(&above, "turns=\"9\"", may);
    world.signed_home(".ai/tools/acme/narrow.yaml", &narrow(&child));
    let below = directive("below", "turns=\"9\"", ONLY_ECHO).replace("acme/script", "acme/narrow");
    world.signed(".ai/directives/acme/below.md", &below);
    let told = fork(&world, &[]).ok();
    assert_eq!((&told["cost"]["turns"], &told["cost"]["spawns"]), (&json!(5), &json!(1)), "{told}");
    let gave = events(&world, &id_of(&told), "tool_call_result");
    assert!(gave[0]["content"].as_str().unwrap().contains("{\"n\":7}"), "{gave:?}");
    let (first, second) = both(&world);
    let parent = |id: &str| rows(&world).into_iter().find(|row| id_of(row) == id).unwrap();
    assert_eq!(parent(&first)["parent"], parent(&second)["parent"]);
}

#[test]
fn what_a_tool_of_the_first_left_running_is_below_the_one_that_goes_on() {
    let server = used(950, "acme_server", &json!({}));
    let again = used(120, "acme_server", &json!({}));
    let turns = json!([server, summary(), again, hand_over()]);
    let may = "<execute><tool>acme.server</tool><tool>acme.echo</tool></execute>";
    let world = world(&turns, "turns=\"9\"", may);
    world.signed_home(".ai/tools/acme/script.yaml", &narrow(&turns));
    let rye = format!("env HOME={} {}", world.home().display(), crate::world::program());
    let tries = ["echo", "other"]
        .map(|name| format!("{rye} execute tool:acme/{name} --json > {name}-said-$n 2>&1"));
    let script = format!(
        "#!/bin/sh\ncd '{}'\nwhile read -r line; do\nid=${{line#*'\"id\":'}}; id=${{id%%,*}}\n\
         n=$((n + 1)); ({}) </dev/null\n\
         echo \"{{\\\"id\\\":$id,\\\"result\\\":\\\"$n\\\"}}\"\ndone\n",
        world.project().display(),
        tries.join("; "),
    );
    world.signed_exec("server", "server", "", &script);
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, rows(&world).len()), (0, 2), "{told}");
    for (n, name, code) in [
        (1, "echo", Value::Null),
        (1, "other", json!("grant.denied")),
        (2, "echo", Value::Null),
        (2, "other", json!("grant.denied")),
    ] {
        let file = format!("{name}-said-{n}");
        if let Ok(said) = fs::read(world.project().join(&file)) {
            let said: Value = serde_json::from_slice(&said).unwrap();
            assert_eq!(said["code"], code, "{file}: {said}");
        }
    }
    assert!(world.project().join("other-said-1").exists());
}

#[test]
fn what_the_first_kept_and_wrote_in_its_workspace_is_there_for_the_one_that_goes_on() {
    if levels("what_the_first_kept_and_wrote_in_its_workspace").is_empty() {
        return;
    }
    let text = "é".repeat(30_000);
    let value = json!({"content": text});
    let digest = crate::world::sha256(value.to_string().as_bytes());
    let write = call("write_workspace_file", &json!({"path": "a.txt", "content": "kept"}));
    let page = call("rye_fetch", &json!({"blob": digest, "offset": 24_000}));
    let read = call("read_workspace_file", &json!({"path": "a.txt"}));
    let long = used(300, "acme_echo", &value);
    let turns = json!([write, long, summary(), read, page, summary(), hand_over()]);
    let may = "<execute><tool>acme.echo</tool><tool>rye.workspace.*</tool></execute>\
               <fetch><knowledge>rye.*</knowledge></fetch>";
    let world =
        World::new_on_disk().with(".ai/tools/acme/echo.sh", &crate::async_runs::tool("cat\n"));
    world.signed_home(".ai/tools/acme/script.yaml", &narrow(&turns));
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", may));
    fork(&world, &[]).ok();
    // The page fills the window of the second one again.
    let (_, second) = both(&world);
    let gave = events(&world, &second, "tool_call_result");
    let gave: Vec<&str> = gave.iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert!(gave[0].contains("kept") && gave[1].contains("\"total\":30014"), "{gave:?}");
}

/// One step in nine here, others each day; the whole is each step.
#[test]
fn killed_before_and_after_each_write_the_newest_goes_on_and_no_call_is_carried_out_twice() {
    let counts = tool_sh("", "tee -a calls\necho >> calls\n");
    // Where handing over was interrupted, it is done again.
    let mut turns = turns();
    turns.as_array_mut().unwrap().push(hand_over());
    let world = full(&turns, "turns=\"12\"");
    world.signed(".ai/tools/acme/echo.sh", &counts);
    let counted = || {
        let text = fs::read_to_string(world.project().join("calls")).unwrap_or_default();
        [1, 2, 3].map(|n| text.matches(&json!({"n": n}).to_string()).count())
    };
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    assert_eq!(counted(), [1; 3]);
    let records = world.project().join(".ai/state/threads");
    let (mut before, mut after) = (0, 0);
    let mut steps = kill_steps(9);
    let last = loop {
        let step = steps.next().unwrap();
        let _ = fs::remove_file(world.project().join("calls"));
        let known = rows(&world).len();
        let mut command =
            world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        let traced = trace_killed(&mut command, &records, step);
        let Some(hit) = traced.hit.clone() else {
            assert_eq!(traced.status, Some(0), "{traced:?}");
            break step;
        };
        let new = rows(&world).split_off(known);
        let newest = id_of(new.last().unwrap());
        // The first one is over as soon as the second is known, and is whole.
        match new.len() {
            1 => before += 1,
            _ => {
                after += 1;
                assert_eq!(new[0]["thread_status"], "continued", "{hit:?}");
                verified(&world, &id_of(&new[0]));
            }
        }
        assert_eq!(new.last().unwrap()["thread_status"], "killed", "{hit:?}");
        assert_eq!(held(&world), 0, "{hit:?}");
        let (status, told) = world.json(&["thread", "resume", &newest]);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{hit:?}: {told}");
        assert!(counted().iter().all(|times| *times <= 1), "{hit:?}: {:?}", counted());
        let all = rows(&world).split_off(known);
        assert!(all.len() <= 2, "{hit:?}: {all:?}");
        for row in &all {
            let wanted = ["continued", "completed"];
            assert!(wanted.contains(&row["thread_status"].as_str().unwrap()), "{hit:?}: {row}");
            verified(&world, &id_of(row));
        }
        // What was asked for before it was killed counts; nothing else is asked for twice.
        assert!(all.last().unwrap()["used"]["turns"].as_u64().unwrap() <= 6, "{hit:?}: {all:?}");
        assert_eq!(held(&world), 0, "{hit:?}");
    };
    let least = if whole() { 10 } else { 0 };
    assert!(last > 20 && before > least && after > least, "{last} {before} {after}");
}

#[test]
fn a_record_that_says_that_it_is_continued_is_proven_to_its_last_byte() {
    let world = full(&turns(), "turns=\"9\"");
    assert_eq!(fork(&world, &[]).0, 0);
    let (first, _) = both(&world);
    let path = transcript(&world, &first);
    let whole = fs::read_to_string(&path).unwrap();
    verified(&world, &first);
    let without_last = &whole[..=whole.trim_end().rfind('\n').unwrap()];
    // It never goes on itself, so whatever stands behind its last checkpoint is none of it.
    let behind = ["{\"event\":\"thread_resumed\"}\n", "{\"event\":\"thread_res", "x\n"];
    let behind = behind.map(|more| format!("{whole}{more}"));
    let changed = [without_last.to_owned(), whole.replace("Still to do: 3.", "Still to do: 4.")];
    for text in changed.into_iter().chain(behind) {
        fs::write(&path, text).unwrap();
        world.json(&["thread", "verify", &first]).fails(4, "thread.record_invalid");
    }
}

#[test]
fn over_http_the_request_for_a_summary_fits_into_the_window_whatever_the_last_calls_gave() {
    for spoken in ALL {
        let long = json!({"a": "é\"".repeat(9_000)}).to_string();
        let said = vec![
            calls("acme_echo", &long).and("acme_echo", &long).and("acme_echo", "{\"b\":2}"),
            says("I echoed."),
            hands_over(),
        ];
        let server = Checked::says(spoken, said);
        // The calls themselves are what the model said, and are counted as 35 tokens here.
        let narrow = json!({"context_window": 5_000, "answer_tokens": 100});
        let world = threads_http::world(spoken, &server.server, &narrow);
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{spoken:?}: {told}");
        let sent = server.requests();
        let asked = sent[1]["messages"].to_string();
        let results: Vec<&str> = asked.split("shortened").skip(1).collect();
        assert_eq!(results.len(), 2, "{spoken:?}: the short one is whole");
        let new: usize = results.iter().map(|result| result.find("bytes").unwrap()).sum();
        assert!(new < 2 * 4_900, "{spoken:?}: {new}");
        // They stand whole in the record.
        let (first, _) = both(&world);
        let gave = events(&world, &first, "tool_call_result");
        assert!(gave[0]["content"].as_str().unwrap().len() > 20_000);
        verified(&world, &first);
    }
}

#[test]
fn over_http_the_summary_is_asked_for_in_each_shape_and_nothing_else_of_the_first_is_sent_on() {
    for spoken in ALL {
        let thinks = Words { thinks: true, ..calls("acme_echo", "{\"a\":1}") };
        let sums = Words { thinks: true, ..says("I echoed.") };
        let said = vec![thinks.clone(), sums, hands_over()];
        let server = Checked::says(spoken, said);
        // Each answer says that there are 35 tokens; the result comes to that.
        let narrow = json!({"context_window": 60, "answer_tokens": 50});
        let world = threads_http::world(spoken, &server.server, &narrow);
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{spoken:?}: {told}");
        let sent = server.requests();
        assert_eq!(sent.len(), 3, "{spoken:?}");
        // The first gets its own words back as they came, with the result of its call.
        let asked = sent[1]["messages"].as_array().unwrap();
        let own = asked.iter().find(|said| said["role"] == "assistant").unwrap();
        let came = as_sent_back(spoken, &thinks, 0);
        let own = if spoken.is_openai { own } else { &own["content"] };
        assert_eq!(own, &came, "{spoken:?}");
        assert!(asked.last().unwrap().to_string().contains("context window"), "{spoken:?}");
        // The second is told the summary, and nothing that only its provider understands.
        let told = sent[2]["messages"].to_string();
        assert!(told.contains("I echoed.") && told.contains("Do it."), "{told}");
        for kept in ["Hm.", "c2lnbmF0dXJl", "b3BhcXVl", "toolu_", "context window is almost full."]
        {
            assert!(!told.contains(kept), "{spoken:?} {kept}: {told}");
        }
        let (first, second) = both(&world);
        for id in [first, second] {
            verified(&world, &id);
        }
    }
}
