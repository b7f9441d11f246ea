//! What the model says, shown while it says it; and threads in processes of their own.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{ALL, CANARY, Checked, Words, body, hands_over, head, reply, says, world};
use crate::thread_guardrails::{configured, judge, scored};
use crate::thread_tail::watch;
use crate::threads::{events, fork, transcript};
use crate::world::End;
use crate::world::server::{Reply, answer, closed_port};

const GO: &[&str] = &["execute", "directive:acme/go", "--thread", "fork"];

#[test]
fn in_a_terminal_the_words_of_the_model_are_shown_as_they_come_escaped_and_without_the_key() {
    for spoken in [ALL[1], ALL[3]] {
        let text = format!("First \u{1b}[31mred\u{1b}[0m, then {CANARY}.");
        let words = Words { piece: 1, ..says(&text) };
        let server = Checked::says(spoken, vec![words, hands_over()]);
        let world = world(spoken, &server.server, &json!({}));
        let said = world.rye_at_a_terminal("", GO).ok();
        let shown = said.stdout + &said.stderr;
        assert!(shown.contains("First ") && shown.contains(", then ***."), "{shown}");
        assert!(!shown.contains("\u{1b}[31mred") && !shown.contains(CANARY), "{shown}");
        for quiet in ["--quiet", "--no-stream", "--json"] {
            let server = Checked::says(spoken, vec![says("Not shown."), hands_over()]);
            let world = super::world(spoken, &server.server, &json!({}));
            let said = world.rye_at_a_terminal("", &[GO, &[quiet]].concat()).ok();
            assert!(!(said.stdout + &said.stderr).contains("Not shown."), "{quiet}");
        }
        // A pipe is told the outcome alone.
        let server = Checked::says(spoken, vec![says("Not shown."), hands_over()]);
        let world = super::world(spoken, &server.server, &json!({}));
        let said = world.rye(GO);
        assert!(said.status == 0 && !(said.stdout + &said.stderr).contains("Not shown."));
    }
}

#[test]
fn words_are_shown_before_the_answer_ends() {
    let spoken = ALL[3];
    // The server falls silent in the middle, and what came until then was shown.
    let server = Checked::new(spoken, move |_, n| {
        let body = body(spoken, &says("Shown early."), n);
        let end = body.find("content_block_stop").unwrap();
        Reply::Hold((head(spoken) + &body[..end]).into_bytes())
    });
    let world = world(spoken, &server.server, &json!({}));
    let said = world.rye_at_a_terminal("", &[GO, &["--limit", "duration_seconds=2"]].concat());
    assert_eq!(said.status, 4, "{said:?}");
    assert!((said.stdout + &said.stderr).contains("Shown early."));
    server.requests();
}

#[test]
fn what_an_eval_may_replace_is_not_shown_as_it_comes() {
    let spoken = ALL[1];
    for (mode, is_shown) in [("monitor", true), ("enforce", false)] {
        let words = Words { text: "Forbidden words.".into(), ..hands_over() };
        let server = Checked::says(spoken, vec![words]);
        let world = world(spoken, &server.server, &json!({}));
        judge(&world);
        configured(&world, &[scored(mode, 0.0, json!({}))]);
        let said = world.rye_at_a_terminal("", GO);
        assert_eq!(said.status, 0, "{mode}: {said:?}");
        let shown = said.stdout + &said.stderr;
        assert_eq!(shown.contains("Forbidden words."), is_shown, "{mode}: {shown}");
        server.requests();
    }
}

#[test]
fn what_a_provider_does_not_say_that_it_took_is_told_as_what_was_reserved() {
    let spoken = ALL[0];
    let server = Checked::new(spoken, move |_, n| {
        let mut said: Value = serde_json::from_str(&body(spoken, &hands_over(), n)).unwrap();
        said.as_object_mut().unwrap().remove("usage");
        Reply::Bytes((head(spoken) + &said.to_string()).into_bytes())
    });
    let world = world(spoken, &server.server, &json!({}));
    let told = fork(&world, &[]).ok();
    let id = told["thread_id"].as_str().unwrap();
    let said = &events(&world, id, "cognition_out")[0];
    let tokens = |kind: &str| said["usage"][kind].as_u64().unwrap();
    assert_eq!((tokens("output_tokens"), &said["usage_is_reserved"]), (100, &json!(true)));
    assert!(tokens("input_tokens") > 100, "{said}");
    let show = world.rye(&["thread", "show", id]).stdout;
    assert!(show.contains("100 out, ") && show.contains("booked as reserved"), "{show}");
    assert_eq!(told["cost"]["tokens"], tokens("input_tokens") + 100, "{told}");
    // Whoever waits is told the same cost.
    assert_eq!(world.json(&["thread", "wait", id]).1["cost"], told["cost"]);
    server.requests();
}

#[test]
fn a_thread_in_a_process_of_its_own_has_the_key_of_whoever_asked() {
    for spoken in [ALL[0], ALL[3]] {
        let server = Checked::new(spoken, move |_, n| reply(spoken, &hands_over(), n));
        let world = world(spoken, &server.server, &json!({}));
        let told = world.json(&[GO, &["--async"]].concat()).ok();
        let (status, told) = world.json(&["thread", "wait", told["thread_id"].as_str().unwrap()]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{told}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn words_are_told_from_another_process_before_the_answer_ends_and_stay_nowhere() {
    let spoken = ALL[3];
    let words = Words { piece: 3, ..says(&format!("Said \u{1b}[31m{CANARY} early. And more.")) };
    let server = Checked::new(spoken, move |_, n| {
        let body = body(spoken, &words, n);
        let end = body.find("content_block_stop").unwrap();
        Reply::Hold((head(spoken) + &body[..end]).into_bytes())
    });
    let world = world(spoken, &server.server, &json!({}));
    let told = world.json(&[GO, &["--async"]].concat()).ok();
    let id = told["thread_id"].as_str().unwrap();
    let (mut child, mut lines) = watch(&world, id, &["--json"]);
    let mut said = String::new();
    while !said.contains("early.") {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if event["event"] == "token_delta" {
            said += event["text"].as_str().unwrap();
        }
    }
    assert!(said.contains("***") && !said.contains(CANARY), "{said}");
    let words = transcript(&world, id).with_file_name("words");
    assert_eq!(words.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Whoever comes later is told all of it too, and no terminal is written to by a model.
    let mut command = world.command(&["thread", "tail", id]);
    let mut plain = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut shown, mut piece) = (String::new(), [0; 4096]);
    while !shown.contains("early.") {
        let count = plain.stdout.as_mut().unwrap().read(&mut piece).unwrap();
        assert_ne!(count, 0, "{shown}");
        shown += &String::from_utf8_lossy(&piece[..count]);
    }
    assert!(shown.contains("    said  Said ") && !shown.contains('\u{1b}'), "{shown}");
    assert_eq!(world.json(&["thread", "cancel", id]).0, 0);
    assert!(!words.exists(), "they go with the answer");
    for child in [&mut child, &mut plain] {
        child.wait().unwrap();
    }
    let kept = std::fs::read_to_string(transcript(&world, id)).unwrap();
    assert!(!kept.contains("early."), "{kept}");
}

#[test]
fn each_failure_of_a_provider_that_is_asked_again_is_told_on_standard_error_at_once() {
    let spoken = ALL[1];
    let server = || {
        Checked::new(spoken, move |_, n| match n {
            0 => answer(503, "", format!("busy {CANARY}")),
            _ => reply(spoken, &hands_over(), n),
        })
    };
    for (more, is_told) in [(&[][..], true), (&["--quiet"], false), (&["--json"], false)] {
        let server = server();
        let world = world(spoken, &server.server, &json!({"retry": {"tries": 3}}));
        let said = world.rye(&[GO, more].concat()).ok();
        let line = said.stderr.lines().find(|line| line.contains("trying again in"));
        assert_eq!(line.is_some(), is_told, "{said:?}");
        let Some(line) = line else { continue };
        assert!(line.contains("tool:acme/script") && line.contains("status 503"), "{line}");
        assert!(line.ends_with(", try 2 of 3") && !line.contains(CANARY), "{line}");
    }
    // What the provider says of it stands at the end, once.
    let busy = Checked::new(spoken, |_, _| answer(503, "", "words of the provider"));
    let retry = json!({"retry": {"tries": 3, "first_wait": "1ms"}});
    let said = self::world(spoken, &busy.server, &retry).rye(GO);
    let told: Vec<_> = said.stderr.lines().filter(|line| line.contains("status 503")).collect();
    assert_eq!((said.status, told.len()), (7, 3), "two tries are told, and the end: {said:?}");
    let with_words = |line: &&str| line.contains("words of the provider");
    assert_eq!(told.iter().map(with_words).collect::<Vec<_>>(), [false, false, true]);
    let port = closed_port();
    let url = format!("http://127.0.0.1:{port}");
    let retry = json!({"base_url": url, "retry": {"tries": 3, "first_wait": "1ms"}});
    let world = world(spoken, &server().server, &retry);
    let said = world.rye(GO);
    let told: Vec<_> = said.stderr.lines().filter(|line| line.contains("nobody listens")).collect();
    assert_eq!((said.status, told.len()), (7, 3), "two tries are told, and the end: {said:?}");
    assert!(told[0].contains(&url) && told[0].contains("try 2 of 3"), "{told:?}");
    let events = world.json(&[GO, &["--trace"]].concat()).1;
    assert!(events.to_string().contains("\"provider_failed\""), "{events}");
}
