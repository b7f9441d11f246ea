//! What the model says, shown while it says it; and threads in processes of their own.

use serde_json::json;

use super::{ALL, CANARY, Checked, Words, body, hands_over, head, reply, says, world};
use crate::http::server::Reply;

const GO: &[&str] = &["execute", "directive:acme/go", "--thread", "fork"];

#[test]
fn in_a_terminal_the_words_of_the_model_are_shown_as_they_come_escaped_and_without_the_key() {
    for spoken in [ALL[1], ALL[3]] {
        let text = format!("First \u{1b}[31mred\u{1b}[0m, then {CANARY}.");
        let words = Words { piece: 1, ..says(&text) };
        let server = Checked::says(spoken, vec![words, hands_over()]);
        let world = world(spoken, &server.server, &json!({}));
        let said = world.rye_at_a_terminal("", GO);
        assert_eq!(said.status, 0, "{said:?}");
        let shown = said.stdout + &said.stderr;
        assert!(shown.contains("First ") && shown.contains(", then ***."), "{shown}");
        assert!(!shown.contains("\u{1b}[31mred") && !shown.contains(CANARY), "{shown}");
        for quiet in ["--quiet", "--no-stream", "--json"] {
            let server = Checked::says(spoken, vec![says("Not shown."), hands_over()]);
            let world = super::world(spoken, &server.server, &json!({}));
            let said = world.rye_at_a_terminal("", &[GO, &[quiet]].concat());
            assert_eq!(said.status, 0, "{said:?}");
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
fn a_thread_in_a_process_of_its_own_has_the_key_of_whoever_asked() {
    for spoken in [ALL[0], ALL[3]] {
        let server = Checked::new(spoken, move |_, n| reply(spoken, &hands_over(), n));
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = world.json(&[GO, &["--async"]].concat());
        assert_eq!(status, 0, "{told}");
        let (status, told) = world.json(&["thread", "wait", told["thread_id"].as_str().unwrap()]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{told}");
        assert_eq!(server.requests().len(), 1);
    }
}
