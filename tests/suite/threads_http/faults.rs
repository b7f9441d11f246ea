//! Servers that are busy, broken, silent or of another mind.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::published::Expected;
use super::{
    ALL, CANARY, Checked, STREAMED, Words, body, calls, hands_over, head, reply, says, world,
};
use crate::threads::{events, fork, rows, transcript};
use crate::world::server::{Authority, Reply, Server, answer, closed_port};
use crate::world::{End, World, whole};

fn failures(world: &World, id: &str) -> Vec<(Value, Value)> {
    let all = events(world, id, "provider_failed").into_iter();
    all.map(|event| (event["code"].clone(), event["wait_ms"].clone())).collect()
}

fn newest(world: &World) -> String {
    rows(world).last().unwrap()["thread_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_provider_that_is_busy_is_asked_again_and_each_failure_is_in_the_transcript() {
    for spoken in ALL {
        let server = Checked::new(spoken, move |_, n| match n {
            0 => answer(429, "Retry-After: 1\r\n", "{\"error\":{\"message\":\"slower\"}}"),
            1 => answer(500, "", "oops"),
            2 => answer(529, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ""),
            3 => Reply::Bytes(Vec::new()),
            _ => reply(spoken, &hands_over(), n),
        });
        let world = world(spoken, &server.server, &json!({}));
        let begin = Instant::now();
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, server.requests().len()), (0, 5), "{spoken:?} {told}");
        assert!(begin.elapsed() > Duration::from_secs(1), "it waited as long as it was asked to");
        let id = told["thread_id"].as_str().unwrap();
        let failed = failures(&world, id);
        let busy = json!("provider.overloaded");
        assert_eq!(failed[0], (busy.clone(), json!(1_000)));
        assert!(failed[1].0 == busy && failed[1].1.as_u64().unwrap() <= 4, "{failed:?}");
        assert_eq!(failed[2], (busy, json!(0)));
        assert_eq!(failed[3].0, "provider.unreachable", "{failed:?}");
        let said = events(&world, id, "provider_failed");
        assert!(said[0]["error"].as_str().unwrap().contains("`slower`"), "{}", said[0]);
        world.rye(&["thread", "verify", id]).ok();
        // What was refused cost nothing; the connection that broke may have.
        assert_eq!(told["cost"]["turns"], 2, "{told}");
        assert!(!said[3]["usage"].is_null());
        assert!(said[..3].iter().all(|said| said["usage"].is_null()), "{said:?}");
    }
}

#[test]
fn what_is_tried_again_and_what_is_not_table() {
    let rows = [
        (401, 1, "provider.refused"),
        (403, 1, "provider.refused"),
        (400, 1, "provider.bad_request"),
        (404, 1, "provider.bad_request"),
        (422, 1, "provider.bad_request"),
        (408, 3, "provider.overloaded"),
        (425, 3, "provider.overloaded"),
        (429, 3, "provider.overloaded"),
        (500, 3, "provider.overloaded"),
        (502, 3, "provider.overloaded"),
        (529, 3, "provider.overloaded"),
        (307, 1, "provider.bad_answer"),
        (204, 1, "provider.bad_answer"),
    ];
    let spoken = ALL[1];
    for (status, sent, code) in rows {
        let said = "{\"error\":{\"message\":\"because of that\",\"type\":\"x\"}}";
        let location = "Location: http://127.0.0.1:9/elsewhere\r\n";
        let server = Checked::new(spoken, move |_, _| answer(status, location, said));
        let retry = json!({"retry": {"tries": 3, "first_wait": "1ms"}});
        let world = world(spoken, &server.server, &retry);
        let (exit, told) = fork(&world, &[]);
        assert_eq!((exit, told["code"].as_str().unwrap()), (7, code), "{status}: {told}");
        assert_eq!(server.requests().len(), sent, "{status}");
        if status >= 400 {
            assert!(told["error"].as_str().unwrap().contains("because of that"), "{told}");
        }
        let id = newest(&world);
        assert_eq!(failures(&world, &id).len(), sent);
        // What it says can be pasted.
        let goes_on = told["help"].as_str().unwrap().contains(&format!("`rye thread resume {id}`"));
        assert_eq!(goes_on, code == "provider.overloaded", "{told}");
        world.rye(&["thread", "verify", &id]).ok();
        // What says that it is an answer may have cost what one costs.
        let used = crate::threads::rows(&world)[0]["used"]["tokens"].as_u64().unwrap();
        assert_eq!(used > 0, status == 204, "{status}");
    }
}

#[test]
fn a_wait_that_takes_too_long_is_not_begun_and_it_is_told_for_how_long_to_wait() {
    // More than a minute, and more than the thread has time.
    for (seconds, limits) in [(7_200, &[][..]), (50, &["--limit", "duration_seconds=40"])] {
        let header = format!("Retry-After: {seconds}\r\n");
        let server = Checked::new(ALL[3], move |_, n| match n {
            0 => answer(429, &header, "{\"error\":{\"message\":\"slower\"}}"),
            _ => reply(ALL[3], &hands_over(), n),
        });
        let world = world(ALL[3], &server.server, &json!({}));
        let told = fork(&world, limits).fails(7, "provider.overloaded");
        let said = format!("it asks to be left alone for {seconds} s");
        assert!(told["error"].as_str().unwrap().contains(&said), "{told}");
        let id = newest(&world);
        let help = format!("go on once {seconds} s are over with `rye thread resume {id}`");
        assert!(told["help"].as_str().unwrap().contains(&help), "{told}");
        assert_eq!(told["data"]["retry_after_seconds"], json!(seconds), "{told}");
        assert_eq!(server.requests().len(), 1);
        assert_eq!(world.json(&["thread", "resume", &id]).0, 0);
    }
}

#[test]
fn where_nobody_listens_it_is_tried_again_and_told() {
    let port = closed_port();
    let server = Server::new(|_, _| Reply::Bytes(Vec::new()));
    let world = world(ALL[0], &server, &json!({"base_url": format!("http://127.0.0.1:{port}/v1")}));
    let told = fork(&world, &[]).fails(7, "provider.unreachable");
    assert!(told["error"].as_str().unwrap().contains("nobody listens there"), "{told}");
    assert_eq!(told["data"]["thread_id"], rows(&world)[0]["thread_id"], "{told}");
    assert_eq!(failures(&world, &newest(&world)).len(), 5);
    assert_eq!(rows(&world)[0]["used"]["tokens"], 0, "nothing was sent");
}

#[test]
fn a_stream_over_tls_that_is_cut_is_asked_for_again_until_it_comes_whole() {
    for spoken in STREAMED {
        let authority = Authority::new("one");
        let whole = body(spoken, &hands_over(), 0);
        let ends = [0, 1, whole.len() / 2, whole.len() - 1, whole.len()];
        // The connection ends without a word that it does.
        let cut = move |n: usize| Reply::Bytes((head(spoken) + &whole[..ends[n]]).into_bytes());
        let identity = authority.identity("127.0.0.1", false);
        let server = Checked::tls(&identity, spoken, move |_, n| cut(n));
        let url = server.server.tls_url(if spoken.is_openai { "/v1" } else { "" });
        let more = json!({"base_url": url, "retry": {"first_wait": "1ms"}});
        let world = world(spoken, &server.server, &more);
        let trusted = world.write_home("issuer.pem", authority.pem());
        let world = world.env("SSL_CERT_FILE", trusted.to_str().unwrap());
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{spoken:?} {told}");
        assert_eq!((server.requests().len(), &told["cost"]["turns"]), (5, &json!(5)));
        let failed = failures(&world, told["thread_id"].as_str().unwrap());
        assert!(failed.iter().all(|(code, _)| code == "provider.unreachable"), "{failed:?}");
    }
}

#[test]
fn a_stream_that_ends_early_time_after_time_ends_the_thread_and_it_goes_on_later() {
    for spoken in STREAMED {
        let server = Checked::new(spoken, move |_, n| match n {
            0..3 => {
                let body = body(spoken, &hands_over(), n);
                Reply::Bytes((head(spoken) + &body[..body.len() / 2]).into_bytes())
            }
            n => reply(spoken, &hands_over(), n),
        });
        let retry = json!({"retry": {"tries": 3, "first_wait": "1ms"}});
        let world = world(spoken, &server.server, &retry);
        let told = fork(&world, &[]).fails(7, "provider.unreachable");
        let help = told["help"].as_str().unwrap();
        assert!(help.contains("`stream: false`") && !help.contains("base_url"), "{told}");
        let id = newest(&world);
        let (status, told) = world.json(&["thread", "resume", &id]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{told}");
        assert_eq!(told["cost"]["turns"], 4, "the three that may have cost something count");
    }
}

#[test]
fn errors_inside_of_a_stream_are_what_they_say() {
    for (spoken, kind, sent, code) in [
        (ALL[1], "server_error", 2, "provider.overloaded"),
        (ALL[1], "invalid_request_error", 1, "provider.bad_request"),
        (ALL[3], "overloaded_error", 2, "provider.overloaded"),
        (ALL[3], "timeout_error", 2, "provider.overloaded"),
        (ALL[3], "invalid_request_error", 1, "provider.bad_request"),
        // Some say a status alone, which is no text.
        (ALL[1], "429", 2, "provider.overloaded"),
        (ALL[1], "502", 2, "provider.overloaded"),
        (ALL[1], "529", 2, "provider.overloaded"),
        (ALL[1], "400", 1, "provider.bad_request"),
        (ALL[1], "5000", 1, "provider.bad_request"),
        (ALL[1], "tool_use_failed", 2, "provider.bad_request"),
    ] {
        let server = Checked::new(spoken, move |_, n| {
            let begun = body(spoken, &hands_over(), n);
            let begun: String = begun.split_inclusive("\n\n").take(2).collect();
            let said = match kind.parse::<u64>() {
                Ok(status) => json!({"code": status, "message": "no more"}),
                Err(_) if kind == "tool_use_failed" => json!({"type": "invalid_request_error",
                    "code": kind, "message": "no more"}),
                Err(_) => json!({"type": kind, "message": "no more"}),
            };
            let error = json!({"type": "error", "error": said});
            Reply::Bytes(format!("{}{begun}event: error\ndata: {error}\n\n", head(spoken)).into())
        });
        let retry = json!({"retry": {"tries": 2, "first_wait": "1ms"}});
        let world = world(spoken, &server.server, &retry);
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, told["code"].as_str().unwrap()), (7, code), "{kind} {told}");
        assert!(told["error"].as_str().unwrap().contains("no more"), "{told}");
        assert_eq!(server.requests().len(), sent);
    }
}

#[test]
fn a_call_that_its_server_cannot_read_is_asked_for_again() {
    let said = "{\"error\":{\"message\":\"the model's call, see failed_generation\",\
        \"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\"}}";
    let spoken = ALL[1];
    let other = "{\"error\":{\"message\":\"no call\",\"type\":\"invalid_request_error\",\
        \"code\":\"output_parse_failed\",\"failed_generation\":\"x\"}}";
    for (bad, said) in [(1, said), (2, said), (1, other)] {
        let server = Checked::new(spoken, move |_, n| match n < bad {
            true => answer(400, "", said),
            false => reply(spoken, &hands_over(), n),
        });
        let retry = json!({"retry": {"tries": 2, "first_wait": "1ms"}});
        let (status, told) = fork(&world(spoken, &server.server, &retry), &[]);
        assert_eq!((status, server.requests().len()), (if bad == 1 { 0 } else { 7 }, 2), "{told}");
        let help = told["help"].as_str().unwrap_or_default();
        assert_eq!(help.contains("another model"), bad == 2, "{told}");
    }
}

#[test]
fn a_stream_that_its_server_labels_as_something_else_is_one() {
    for (label, before) in [
        ("Content-Type: text/plain; charset=utf-8\r\n", ""),
        ("Content-Type: application/json\r\n", "\n: hello\n\n"),
        ("", "\u{feff}"),
    ] {
        for spoken in [ALL[1], ALL[3]] {
            let server = Checked::new(spoken, move |_, n| {
                let body = body(spoken, &hands_over(), n);
                let head = format!("HTTP/1.1 200 OK\r\n{label}Connection: close\r\n\r\n");
                Reply::Bytes(format!("{head}{before}{body}").into_bytes())
            });
            let (status, told) = fork(&world(spoken, &server.server, &json!({})), &[]);
            assert_eq!(status, 0, "{label:?} {told}");
        }
    }
}

#[test]
fn a_stream_that_ends_behind_the_reason_of_its_end_is_whole() {
    let spoken = ALL[1];
    let server = Checked::new(spoken, move |_, n| {
        let body = body(spoken, &hands_over(), n).replace("data: [DONE]\n\n", "");
        Reply::Bytes((head(spoken) + &body).into_bytes())
    });
    let (status, told) = fork(&world(spoken, &server.server, &json!({})), &[]);
    assert_eq!((status, server.requests().len()), (0, 1), "{told}");
}

#[test]
fn what_is_no_answer_is_told_and_not_asked_for_again() {
    for spoken in ALL {
        let bodies: &[&str] = match spoken.streams {
            true => {
                &["data: {bad\n\n", "data: []\n\ndata: [DONE]\n\nevent: message_stop\ndata: {}\n\n"]
            }
            false => &["<html>", "{}", "[]", "", "{\"choices\": [], \"content\": 7}", "\u{1}"],
        };
        for text in bodies {
            let server =
                Checked::new(spoken, move |_, _| Reply::Bytes((head(spoken) + text).into_bytes()));
            let world = world(spoken, &server.server, &json!({}));
            let (status, told) = fork(&world, &[]);
            let got = (status, told["code"].as_str().unwrap());
            assert_eq!(got, (7, "provider.bad_answer"), "{spoken:?} {text:?} {told}");
            assert_eq!(server.requests().len(), 1);
            assert!(rows(&world)[0]["used"]["tokens"].as_u64() > Some(0), "it may have cost");
        }
    }
}

/// The whole is each form of answer; the default the first.
///
/// Each line of a record can be read by all who watch, so an answer has an end too.
#[test]
fn an_answer_that_no_record_should_hold_ends_the_thread_and_what_it_wrote_is_shown() {
    for &spoken in &ALL[..if whole() { ALL.len() } else { 1 }] {
        let long = Words { piece: 1 << 20, ..says(&"word ".repeat(4 << 20)) };
        let server = Checked::new(spoken, move |_, at| reply(spoken, &long, at));
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &[]);
        let got = (status, told["code"].as_str().unwrap());
        assert_eq!(got, (7, "provider.bad_answer"), "{spoken:?} {told}");
        assert!(told["error"].as_str().unwrap().contains("16 MiB"), "{told}");
        let id = newest(&world);
        assert_eq!(world.json(&["thread", "verify", &id]).0, 0);
        let path = transcript(&world, &id);
        assert!(std::fs::metadata(path).unwrap().len() < 1 << 20, "nothing of it is kept");
    }
}

#[test]
fn a_server_that_falls_silent_is_left_when_time_is_over_or_somebody_asks() {
    for (spoken, half) in
        [(ALL[0], true), (ALL[1], true), (ALL[2], true), (ALL[3], true), (ALL[3], false)]
    {
        let held = move || {
            let body = body(spoken, &hands_over(), 0);
            let said = if half { head(spoken) + &body[..body.len() / 2] } else { String::new() };
            Reply::Hold(said.into_bytes())
        };
        let server = Checked::new(spoken, move |_, _| held());
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &["--limit", "duration_seconds=1"]);
        let got = (status, &told["data"]["limit"]);
        assert_eq!(got, (4, &json!("duration_seconds")), "{spoken:?} {told}");
        server.server.wait_until_asked();
        server.server.wait_until_left();
        world.rye(&["thread", "verify", &newest(&world)]).ok();

        let mut command =
            world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        server.server.wait_until_asked();
        let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let ended = child.wait_with_output().unwrap();
        server.server.wait_until_left();
        let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(told["code"], "provider.interrupted", "{told}");
        assert_eq!(rows(&world).last().unwrap()["thread_status"], "cancelled");
        let goes_on = format!("go on with `rye thread resume {}`", newest(&world));
        assert!(told["help"].as_str().unwrap().ends_with(&goes_on), "{told}");
        let (_, said) = world.json(&["thread", "show", &newest(&world)]);
        let said = said.to_string();
        assert!(said.contains("as its thread was cancelled") && !said.contains("signal"), "{said}");

        let mut command =
            world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        server.server.wait_until_asked();
        world.json(&["thread", "cancel", &newest(&world)]).ok();
        let ended = child.wait_with_output().unwrap();
        server.server.wait_until_left();
        let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(told["code"], "thread.cancelled", "{told}");
        server.requests();
    }
}

#[test]
fn h03_whoever_kills_and_resumes_a_thread_in_the_middle_of_a_turn_comes_to_its_limit_all_the_same()
{
    let (spoken, most) = (ALL[0], 3);
    let server = Checked::new(spoken, |_, _| Reply::Hold(Vec::new()));
    let world = world(spoken, &server.server, &json!({}));
    let limit = format!("turns={most}");
    let mut args = vec!["execute", "directive:acme/go", "--thread", "fork", "--limit", &limit];
    let mut id = String::new();
    for turn in 1..=most {
        let mut child = world.command(&args).stdin(Stdio::null()).spawn().unwrap();
        server.server.wait_until_asked();
        child.kill().unwrap();
        child.wait().unwrap();
        id = newest(&world);
        args = vec!["thread", "resume", &id];
        let row = &rows(&world)[0];
        assert_eq!(
            (&row["thread_status"], &row["used"]["turns"]),
            (&json!("killed"), &json!(turn))
        );
    }
    let (status, told) = world.json(&["thread", "resume", &id]);
    assert_eq!((status, &told["data"]["limit"]), (4, &json!("turns")), "{told}");
    assert_eq!(server.requests().len(), most);
}

#[test]
fn a_provider_without_its_key_starts_nothing() {
    let server = Checked::says(ALL[0], vec![hands_over(), hands_over()]);
    let world = world(ALL[0], &server.server, &json!({}));
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    // A file of the project is not asked for it.
    world.write(".env", format!("ACME_KEY={CANARY}\n"));
    for (value, why) in [("", "is not set"), ("a\nb", "cannot stand in a header")] {
        let args = ["execute", "directive:acme/go", "--thread", "fork", "--json"];
        let said = world.rye_env(&world.project(), &args, b"", &[("ACME_KEY", value)]);
        let got = (said.status, said.code());
        assert_eq!(got, (7, "provider.missing_credential".into()), "{said:?}");
        assert!(said.json()["error"].as_str().unwrap().contains(why), "{said:?}");
        assert_eq!((rows(&world).len(), server.requests().len()), (1, 1));
    }
}

#[test]
fn a_call_of_a_turn_is_carried_out_once_however_often_the_turn_was_asked_for() {
    for spoken in STREAMED {
        let server = Checked::new(spoken, move |_, n| match n {
            0 => {
                let body = body(spoken, &calls("acme_echo", "{\"a\":1}"), 0);
                Reply::Bytes((head(spoken) + &body[..body.len() - 20]).into_bytes())
            }
            1 => reply(spoken, &calls("acme_echo", "{\"a\":1}"), 0),
            n => reply(spoken, &hands_over(), n),
        });
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, server.requests().len()), (0, 3), "{told}");
        assert_eq!(world.read("ran"), b"x\n");
    }
}

#[test]
fn help_of_a_provider_names_what_is_to_be_mended_table() {
    let key = format!("bad key {CANARY}");
    let page = "<html><b>nothing of a model here</b></html>";
    let no_model = "{\"error\":{\"message\":\"model 'm' not found\"}}";
    // The status, what is answered, the `base_url` behind the server, and what the help says.
    let used_up = "{\"error\":{\"message\":\"no plan\",\"type\":\"insufficient_quota\"}}";
    let rows: [(u16, &str, &str, &[&str]); 15] = [
        (402, "no credits", "/v1", &["nothing left to pay with"]),
        (429, used_up, "/v1", &["nothing left to pay with"]),
        (404, page, "", &["`base_url` of `tool:acme/script`", "{URL}/chat/completions`", "`/v1`"]),
        (404, "404 page not found", "/v1", &["{URL}/v1/chat/completions`", "`base_url`"]),
        (405, "", "/v1", &["{URL}/v1/chat/completions`", "`base_url`"]),
        (
            404,
            no_model,
            "/v1",
            &["the model `m`", "tier `general` in `models`", "nobody names another"],
        ),
        (400, no_model, "/v1", &["the model `m`", "`models` of `tool:acme/script`"]),
        (400, "no", "/v1", &["`options`"]),
        (400, "'messages' must hold one more", "/v1", &["`options`"]),
        (400, "This model's maximum context length is 9 tokens", "/v1", &["`answer_tokens`"]),
        (400, "m does not support tools", "/v1", &["a model that calls tools"]),
        (
            400,
            "'max_tokens' is not supported with this model, use 'max_completion_tokens'",
            "/v1",
            &["`answer_tokens_as`"],
        ),
        (200, page, "", &["{URL}/chat/completions`", "`base_url`", "`/v1`"]),
        (401, &key, "/v1", &["`ACME_KEY`", "`credential_env`"]),
        (403, &key, "/v1", &["`ACME_KEY`", "`credential_env`"]),
    ];
    let spoken = ALL[0];
    for (status, said, base, wanted) in rows {
        let said = said.to_owned();
        let path = format!("{base}/chat/completions");
        let expected = Expected { path, ..Expected::of(spoken) };
        let server = Checked::expects(expected, move |_, _| answer(status, "", &said));
        let url = server.server.url("");
        let world = world(spoken, &server.server, &json!({"base_url": format!("{url}{base}")}));
        let (exit, told) = fork(&world, &[]);
        assert_eq!(exit, 7, "{told}");
        let help = told["help"].as_str().unwrap();
        for wanted in wanted {
            assert!(help.contains(&wanted.replace("{URL}", &url)), "{status} {wanted}: {told}");
        }
        assert_eq!(help.contains("has to end in `/v1`"), base.is_empty(), "{help}");
        assert!(!told.to_string().contains(CANARY), "{told}");
        assert_eq!(server.requests().len(), 1);
    }
    let no_model = "{\"error\":{\"message\":\"no such model\"}}";
    let server = Checked::new(spoken, move |_, _| answer(404, "", no_model));
    let world = world(spoken, &server.server, &json!({}));
    let help = |more: &[&str]| fork(&world, more).1["help"].as_str().unwrap().to_owned();
    assert!(help(&["--model", "m"]).contains("which `--model` names"));
    assert!(help(&[]).contains("which comes from the tier `general`"), "{}", help(&[]));
    server.requests();
}

#[test]
fn an_answer_that_its_provider_cut_or_withheld_is_told_by_its_word_table() {
    for spoken in ALL {
        let (usual, words) = match spoken.is_openai {
            true => ("stop", ["stop", "length", "content_filter"]),
            false => ("end_turn", ["end_turn", "max_tokens", "refusal"]),
        };
        for word in words {
            let server = Checked::new(spoken, move |_, n| {
                let body = body(spoken, &says("I am d"), n);
                let body = body.replace(&format!("\"{usual}\""), &format!("\"{word}\""));
                Reply::Bytes((head(spoken) + &body).into_bytes())
            });
            let world = world(spoken, &server.server, &json!({}));
            let told = fork(&world, &[]).fails(1, "thread.missing_outputs");
            let id = newest(&world);
            let out = events(&world, &id, "cognition_out");
            assert!(out.iter().all(|event| event["finish_reason"] == word), "{out:?}");
            let said = world.rye(&["thread", "show", &id]).stdout;
            let (error, help) = (told["error"].to_string(), told["help"].to_string());
            let is_usual = word == usual;
            assert_eq!(told["data"].get("finish_reason").is_none(), is_usual, "{told}");
            assert_eq!(!error.contains(&format!("`{word}`")), is_usual, "{told}");
            assert_eq!(!help.contains("answer_tokens"), is_usual, "{told}");
            assert_eq!(!said.contains("broken off"), is_usual, "{said}");
            server.requests();
        }
    }
}

#[test]
fn an_answer_that_is_too_long_is_a_bad_one_and_is_not_asked_for_again() {
    for spoken in [ALL[0], ALL[1]] {
        let server = Checked::new(spoken, move |_, _| {
            let line = format!(": {}\n", " ".repeat(1 << 20));
            Reply::Bytes((head(spoken) + &line.repeat(65)).into_bytes())
        });
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &[]);
        let got = (status, told["code"].as_str().unwrap());
        assert_eq!(got, (7, "provider.bad_answer"), "{spoken:?} {told}");
        assert!(told["error"].as_str().unwrap().contains("more than 64 MiB"), "{told}");
        assert_eq!(server.requests().len(), 1);
    }
}
