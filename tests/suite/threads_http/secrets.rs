//! The key is in nothing that anybody reads.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{ALL, CANARY, Checked, Words, as_sent_back, hands_over, reply, says, world};
use crate::threads::{events, fork};
use crate::world::World;
use crate::world::items::tool_sh;
use crate::world::server::{Reply, Server, answer};

/// The values of a variable that nobody names, and of a secret of a tool.
const STRAY: &str = "stray-canary-0b6d3e91";
const TOKEN: &str = "token-canary-7e4a2c58a1";

/// Whether a text holds this, whatever else it is.
fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
}

/// Every file below a folder that holds a secret.
fn holding(folder: &Path, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, secret));
        } else if path.is_file() && fs::read(&path).is_ok_and(|bytes| holds(&bytes, secret)) {
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
    let world = World::new().with_file("holds", CANARY);
    assert_eq!(holding(world.outside(), CANARY).len(), 1);
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
        assert_eq!(holding(world.outside(), CANARY), [""; 0], "{spoken:?}");
        assert_eq!(server.requests().len(), 6);
    }
}

#[test]
fn a_key_that_is_spelled_with_escapes_is_in_nothing_either() {
    let whole = format!("{{\"key\":\"{}\"}}", escaped());
    // What is not JSON is not read.
    let odd = [
        format!("{{\"key\":\"{0}\",\"key\":\"x\"}}", escaped()),
        format!("{{\"key\":\"{}\"", escaped()),
        format!("{whole} and more"),
    ];
    for (spoken, arguments) in ALL.into_iter().flat_map(|spoken| {
        let odd = odd.iter().filter(move |_| spoken.is_openai || spoken.streams);
        std::iter::once(&whole).chain(odd).map(move |arguments| (spoken, arguments))
    }) {
        let turns = vec![says("").and("acme_echo", arguments), hands_over()];
        let server = Checked::says(spoken, turns);
        let world = super::world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &[]);
        assert_eq!(status, 0, "{spoken:?} {told}");
        let id = told["thread_id"].as_str().unwrap();
        let gave = events(&world, id, "tool_call_result");
        assert!(gave[0].to_string().contains("***"), "the tool was called: {gave:?}");
        assert_eq!(holding(world.outside(), &CANARY[1..]), [""; 0], "{spoken:?} {arguments}");
        let asked = server.requests();
        assert!(!Value::from(asked).to_string().contains(&CANARY[1..]), "{spoken:?} {arguments}");
    }
}

/// The key as JSON may spell it.
fn escaped() -> String {
    format!("\\u{:04x}{}", CANARY.as_bytes()[0], &CANARY[1..])
}

#[test]
fn an_error_that_ends_the_thread_holds_no_key() {
    for (status, body) in [
        (401, format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {CANARY}\"}}}}")),
        (400, format!("<html>{CANARY}</html>")),
        (404, CANARY.to_owned()),
        (200, format!("\u{1}{CANARY}")),
        (200, format!("{{\"{CANARY}\": 1}}")),
        (400, format!("{{\"detail\":[{{\"msg\":\"bad key {}\"}}]}}", escaped())),
        (401, format!("{{\"errors\":[\"bad key {}", escaped())),
    ] {
        for spoken in [ALL[0], ALL[2]] {
            let body = body.clone();
            let server = Checked::new(spoken, move |_, _| answer(status, "", &body));
            let world = world(spoken, &server.server, &json!({}));
            let shown = shown(&world);
            assert!(shown.contains("provider."), "{shown}");
            assert!(!shown.contains(&CANARY[1..]), "{spoken:?} {status} {shown}");
            let holding = holding(world.outside(), &CANARY[1..]);
            assert_eq!(holding, [""; 0], "{spoken:?} {status}");
        }
    }
}

/// A tool that says all that it sees, and its secret.
fn tells() -> String {
    let env = "env; echo \"it is $ACME_TOKEN, of ${#ACME_TOKEN} letters\"";
    tool_sh("secrets = [\"ACME_TOKEN\"]", &format!("{env}\n{env} >&2\n"))
}

/// All that the verbs for threads tell of this one, with the log.
fn told_of(world: &World, id: &str) -> String {
    let of_one = ["show", "tail", "wait", "tree", "verify", "export"];
    let mut calls: Vec<Vec<&str>> = of_one.iter().map(|verb| vec!["thread", verb, id]).collect();
    calls.push(vec!["thread", "export", id, "--format", "markdown"]);
    calls.push(vec!["thread", "list"]);
    let mut told = String::new();
    for args in calls {
        for more in [&["-vvv"][..], &["--json", "-vvv"]] {
            let said = world.rye(&[&args[..], more].concat());
            assert!(!(said.stdout.is_empty() && said.stderr.is_empty()), "{args:?}");
            told += &format!("{args:?} {said:?}\n");
        }
    }
    told
}

#[track_caller]
fn no_secret_is_in(world: &World, shown: &str) {
    for secret in [CANARY, STRAY, TOKEN] {
        let line = shown.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
        assert_eq!(holding(world.outside(), secret), [""; 0], "{secret}");
    }
}

#[test]
fn the_key_a_tools_secret_and_a_variable_that_nobody_names_are_in_no_record_page_export_or_log() {
    for spoken in [ALL[0], ALL[3]] {
        let server = Checked::new(spoken, move |seen, n| {
            for secret in [CANARY, STRAY, TOKEN] {
                assert!(!holds(&seen.body, secret), "the model is told {secret}");
            }
            let error = json!({"error": {"message": format!("bad {CANARY}"), "type": CANARY}});
            let words = Words { piece: 3, ..says(&format!("The key is {CANARY}.")) };
            match n {
                0 => answer(500, "", error.to_string()),
                1 => {
                    let words = words.and("acme_tells", "{}").and("acme_fails", "{}");
                    let shell = json!({"cmd": "env"}).to_string();
                    reply(spoken, &words.and("run_shell_command", &shell), n)
                }
                2 => reply(spoken, &hands_over(), n),
                3 => answer(401, &format!("X-Echo: {CANARY}\r\n"), error.to_string()),
                _ => {
                    let begun = super::body(spoken, &words, n);
                    let end = begun.len() - 40;
                    Reply::Hold((super::head(spoken) + &begun[..end]).into_bytes())
                }
            }
        });
        let world = world(spoken, &server.server, &json!({}));
        let world = world.env("ACME_STRAY", STRAY).env("ACME_TOKEN", TOKEN);
        world.signed(".ai/tools/acme/tells.sh", &tells());
        world.signed(".ai/tools/acme/fails.sh", &format!("{}exit 3\n", tells()));
        let may = "<execute><tool>acme.tells</tool><tool>acme.fails</tool>\
                   <tool>rye.workspace.*</tool></execute>";
        let text = crate::threads::directive("go", "turns=\"9\"", may);
        world.signed(".ai/directives/acme/go.md", &text);
        let go = ["execute", "directive:acme/go", "--thread", "fork", "--trace", "-vvv"];
        let newest = || {
            let row = crate::threads::rows(&world).pop().unwrap();
            row["thread_id"].as_str().unwrap().to_owned()
        };

        let said = world.rye(&go).ok();
        let id = newest();
        let shown = format!("{said:?}\n{}", told_of(&world, &id));
        let gave = crate::threads::events(&world, &id, "tool_call_result");
        let seen = |gave: &Value| gave["content"].to_string().contains("it is ***, of 23 letters");
        assert!(seen(&gave[0]) && seen(&gave[1]), "the tools had their secret: {gave:?}");
        assert!(gave[2]["content"].to_string().contains("PATH="), "{}", gave[2]);
        no_secret_is_in(&world, &shown);

        let said = world.rye(&go).fails(7, "provider.refused");
        no_secret_is_in(&world, &format!("{said:?}\n{}", told_of(&world, &newest())));

        // In a process of its own, while the model speaks and when it was cancelled.
        let told = crate::async_runs::start(&world, &["directive:acme/go", "--thread", "fork"]);
        (0..5).for_each(|_| server.server.wait_until_asked());
        no_secret_is_in(&world, &told.to_string());
        let id = crate::async_runs::id_of(&told);
        assert_eq!(world.json(&["thread", "cancel", &id]).0, 0);
        server.server.wait_until_left();
        no_secret_is_in(&world, &told_of(&world, &id));
        server.requests();
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

#[test]
fn what_came_in_one_shape_does_not_go_back_in_the_other() {
    for (was, is) in [(ALL[3], ALL[1]), (ALL[1], ALL[3])] {
        let thinks = Words { thinks: true, ..says("Hm.").and("acme_echo", "{}") };
        let server = Server::new({
            let thinks = thinks.clone();
            move |_, n| match n {
                0 => reply(was, &thinks, 0),
                n => reply(is, &hands_over(), n),
            }
        });
        // The address that is said is the same.
        let base = json!({"base_url": server.url("")});
        let provider = |spoken| super::provider(&super::block(spoken, "", &base));
        let world = world(was, &server, &base);
        assert_eq!(fork(&world, &["--limit", "turns=1"]).0, 4);
        let id = crate::threads::rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
        world.signed_home(".ai/tools/acme/script.yaml", &provider(is));
        let (status, told) = world.json(&["thread", "resume", &id, "--limit", "turns=5"]);
        assert_eq!(status, 0, "{was:?} {told}");
        let asked = server.seen()[1].json();
        let said = asked["messages"].as_array().unwrap();
        let said = said.iter().find(|message| message["role"] == "assistant").unwrap();
        let plain = as_sent_back(is, &Words { thinks: false, ..thinks }, 0);
        let got: &Value = if is.is_openai { said } else { &said["content"] };
        assert_eq!(got, &plain, "{was:?}: the words and the calls alone");
    }
}
