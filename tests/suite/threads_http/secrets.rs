//! The key is in nothing that anybody reads.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{ALL, CANARY, Checked, Words, as_sent_back, hands_over, reply, says, world};
use crate::http::server::answer;
use crate::threads::fork;
use crate::world::World;

/// Every file below a folder that holds the key.
fn holding(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path));
        } else if let Ok(bytes) = fs::read(&path)
            && bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Everything that a run showed, with the log and the trace.
fn shown(world: &World) -> String {
    let args = ["execute", "directive:acme/go", "--thread", "fork", "--trace", "-vvv"];
    let plain = world.rye(&args);
    let said = world.rye(&[&args[..], &["--json"]].concat());
    let id = crate::threads::rows(world).last().unwrap()["thread_id"].as_str().unwrap().to_owned();
    let show = world.rye(&["thread", "show", &id]);
    let list = world.rye(&["thread", "list", "--json"]);
    format!("{plain:?}{said:?}{show:?}{list:?}")
}

#[test]
fn the_key_is_in_no_output_record_log_or_error_also_where_the_server_echoes_it() {
    // The fixture can tell: what holds it is found.
    let world = World::new();
    world.write("holds", CANARY);
    assert_eq!(holding(world.outside()).len(), 1);
    for spoken in ALL {
        let echo = format!("The key is {CANARY}.");
        let arguments = json!({"key": CANARY}).to_string();
        let words = Words { thinks: true, piece: 2, ..says(&echo).and("acme_echo", &arguments) };
        let server = Checked::new(spoken, move |seen, n| match n % 3 {
            0 => {
                let said = json!({"error": {"message": format!("bad {CANARY}"), "type": CANARY}});
                answer(500, &format!("X-Echo: {CANARY}\r\n"), said.to_string())
            }
            1 => reply(spoken, &words, n),
            _ => {
                // What goes back to the provider holds no key either.
                assert!(!String::from_utf8_lossy(&seen.body).contains(CANARY));
                reply(spoken, &hands_over(), n)
            }
        });
        let world = super::world(spoken, &server.server, &json!({}));
        let shown = shown(&world);
        assert!(shown.contains("***"), "{shown}");
        assert!(!shown.contains(CANARY), "{spoken:?} {shown}");
        assert_eq!(holding(world.outside()), [""; 0], "{spoken:?}");
        assert_eq!(server.requests().len(), 6);
    }
}

#[test]
fn an_error_that_ends_the_thread_holds_no_key() {
    for (status, body) in [
        (401, format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {CANARY}\"}}}}")),
        (400, format!("<html>{CANARY}</html>")),
        (404, CANARY.to_owned()),
        (200, format!("\u{1}{CANARY}")),
        (200, format!("{{\"{CANARY}\": 1}}")),
    ] {
        for spoken in [ALL[0], ALL[2]] {
            let body = body.clone();
            let server = Checked::new(spoken, move |_, _| answer(status, "", &body));
            let world = world(spoken, &server.server, &json!({}));
            let shown = shown(&world);
            assert!(shown.contains("provider."), "{shown}");
            assert!(!shown.contains(CANARY), "{spoken:?} {status} {shown}");
            assert_eq!(holding(world.outside()), [""; 0], "{spoken:?} {status}");
        }
    }
}

#[test]
fn what_came_from_one_address_does_not_go_to_another() {
    for spoken in ALL {
        let thinks = Words { thinks: true, ..says("Hm.").and("acme_echo", "{}") };
        let first = Checked::new(spoken, {
            let thinks = thinks.clone();
            move |_, n| match n {
                0 => reply(spoken, &thinks, 0),
                _ => answer(400, "", ""),
            }
        });
        let world = world(spoken, &first.server, &json!({}));
        assert_eq!(fork(&world, &[]).0, 7);
        let id = crate::threads::rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
        let second = Checked::says(spoken, vec![hands_over()]);
        let text = super::provider(&super::block(spoken, &second.server.url(""), &json!({})));
        world.signed_home(".ai/tools/acme/script.yaml", &text);
        let (status, told) = world.json(&["thread", "resume", &id]);
        assert_eq!(status, 0, "{spoken:?} {told}");
        let asked = &second.requests()[0];
        let said = asked["messages"].as_array().unwrap();
        let said = said.iter().find(|message| message["role"] == "assistant").unwrap();
        let plain = as_sent_back(spoken, &Words { thinks: false, ..thinks.clone() }, 0);
        let got: &Value = if spoken.is_openai { said } else { &said["content"] };
        assert_eq!(got, &plain, "{spoken:?}: the words and the calls alone");
        assert_eq!(first.requests().len(), 2);
    }
}
