//! Conversations that go well.

use std::fs;

use serde_json::{Value, json};

use super::published::Expected;
use super::{ALL, Checked, Words, as_sent_back, body, calls, hands_over, head, says, world};
use crate::threads::{events, fork, rows, transcript};
use crate::world::End;
use crate::world::server::Reply;

/// The messages behind the system message and the task.
fn later(request: &Value, is_openai: bool) -> Vec<Value> {
    let messages = request["messages"].as_array().unwrap();
    let first = messages.iter().position(|message| message["role"] == "assistant");
    let first = first.unwrap_or(messages.len());
    assert!(!is_openai || messages[first - 1]["role"] == "user", "{messages:?}");
    messages[first..].to_vec()
}

#[test]
fn what_a_model_said_goes_back_as_it_came_also_in_another_process() {
    for spoken in ALL {
        let thinks = |words: Words| Words { thinks: true, ..words };
        let turns = vec![
            thinks(
                says("Two at once.")
                    .and("acme_echo", "{\"z\":1.50,\"a\":[]}")
                    .and("acme_echo", "{}"),
            ),
            thinks(calls("acme_echo", "{\"b\":2}")),
            thinks(hands_over()),
            thinks(says("Again.").and("directive_return", "{\"n\":8}")),
        ];
        let server = Checked::says(spoken, turns.clone());
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &[]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{spoken:?} {told}");
        let id = told["thread_id"].as_str().unwrap();
        let (status, told) = world.json_of_process(&["thread", "resume", id, "once more"]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(8)), "{spoken:?} {told}");
        let requests = server.requests();
        assert_eq!(requests.len(), 4);
        for (at, request) in requests.iter().enumerate() {
            let later = later(request, spoken.is_openai);
            let said: Vec<&Value> =
                later.iter().filter(|message| message["role"] == "assistant").collect();
            assert_eq!(said.len(), at, "{spoken:?}");
            for (turn, said) in said.into_iter().enumerate() {
                let want = as_sent_back(spoken, &turns[turn], turn);
                let got = if spoken.is_openai { said } else { &said["content"] };
                // As text: in its order, to the digit.
                assert_eq!(got.to_string(), want.to_string(), "{spoken:?} {turn}");
            }
        }
        // Results come in the order of the calls, each with the id that the model gave.
        let after_first = later(&requests[1], spoken.is_openai);
        let ids: Vec<&Value> = match spoken.is_openai {
            true => after_first[1..].iter().map(|result| &result["tool_call_id"]).collect(),
            false => {
                let results = after_first[1]["content"].as_array().unwrap();
                results.iter().map(|result| &result["tool_use_id"]).collect()
            }
        };
        assert_eq!(ids, ["toolu_000_0", "toolu_000_1"]);
        let last = later(&requests[3], spoken.is_openai).pop().unwrap();
        assert!(last.to_string().contains("once more"), "{last}");
    }
}

#[test]
fn bad_calls_are_told_to_the_model_in_each_shape_and_the_loop_goes_on() {
    for spoken in ALL {
        let turns = vec![
            calls("acme_echo", "{\"a\": "),
            calls("acme_echo", ""),
            calls("acme_nobody", "{}"),
            Words { piece: 1, ..calls("acme_echo", "{\"text\": \"abc\", \"n\": [1, 2]}") },
            hands_over(),
        ];
        let server = Checked::says(spoken, turns);
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &[]);
        assert_eq!(status, 0, "{spoken:?} {told}");
        let id = told["thread_id"].as_str().unwrap();
        let gave: Vec<Value> = events(&world, id, "tool_call_result")
            .iter()
            .map(|gave| serde_json::from_str(gave["content"].as_str().unwrap()).unwrap())
            .collect();
        // In one piece Anthropic sends an object, which cannot be cut off.
        if spoken.is_openai || spoken.streams {
            assert_eq!(gave[0]["error_kind"], "invalid_tool_arguments", "{spoken:?}");
            assert_eq!(gave[0]["detail"], "{\"a\": ", "{spoken:?}");
        }
        assert_eq!(gave[1], json!({}), "{spoken:?}: without arguments they are an empty object");
        assert_eq!(gave[2]["error_kind"], "unknown_tool", "{spoken:?}");
        assert_eq!(gave[3], json!({"text": "abc", "n": [1, 2]}), "{spoken:?}");
        server.requests();
    }
}

#[test]
fn the_stable_part_comes_first_and_is_marked_and_the_options_of_the_provider_go_out() {
    for spoken in ALL {
        let server = Checked::says(spoken, vec![calls("acme_echo", "{}"), hands_over()]);
        let world = world(spoken, &server.server, &json!({"options": {"temperature": 0.5}}));
        world.signed(".ai/knowledge/acme/rules.md", "---\ntitle: Rules\n---\n\nBe brief.\n");
        let may = "<execute><tool>acme.echo</tool></execute>";
        let text = crate::threads::directive("go", "turns=\"9\"", may).replace(
            "<author>a</author>",
            "<author>a</author><context><system>acme/rules</system></context>",
        );
        world.signed(".ai/directives/acme/go.md", &text);
        let (status, told) = fork(&world, &[]);
        assert_eq!(status, 0, "{spoken:?} {told}");
        let requests = server.requests();
        for request in &requests {
            assert_eq!((&request["model"], &request["temperature"]), (&json!("m"), &json!(0.5)));
            assert!(!request.to_string().contains("title: Rules"), "a page has no front matter");
            if spoken.is_openai {
                assert_eq!(request["messages"][0]["role"], "system");
                assert!(request["messages"][0].to_string().contains("Be brief."));
                assert_eq!(request["max_completion_tokens"], 100);
                let usage = spoken.streams.then(|| json!({"include_usage": true}));
                assert_eq!(request.get("stream_options"), usage.as_ref());
            } else {
                let marked = json!({"type": "ephemeral"});
                assert_eq!(request["system"][0]["cache_control"], marked);
                assert!(request["system"][0].to_string().contains("Be brief."));
                let tools = request["tools"].as_array().unwrap();
                let last = tools.last().unwrap();
                assert_eq!(last["cache_control"], marked);
                assert_eq!(request.to_string().matches("cache_control").count(), 2);
                assert_eq!(request["max_tokens"], 100);
            }
        }
        let stable = |request: &Value| (request["tools"].clone(), request["system"].clone());
        assert_eq!(stable(&requests[0]), stable(&requests[1]));
        let tools = requests[0]["tools"].as_array().unwrap();
        let name = |tool: &Value| {
            let tool = if spoken.is_openai { &tool["function"] } else { tool };
            tool["name"].as_str().unwrap().to_owned()
        };
        let names: Vec<String> = tools.iter().map(name).collect();
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(names, sorted);
        assert!(names.contains(&"directive_return".into()) && names.contains(&"acme_echo".into()));
    }
}

#[test]
fn a_model_server_of_ones_own_needs_no_key_and_says_its_limit_by_the_older_name() {
    let expected = Expected { has_key: false, ..Expected::of(ALL[0]) };
    let server = Checked::expects(expected, |_, n| super::reply(ALL[0], &hands_over(), n));
    let more = json!({"answer_tokens_as": "max_tokens", "credential_env": null,
        "prices": {"m": {"input": 0, "output": 0}}});
    let world = world(ALL[0], &server.server, &more);
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["cost"]["spend_micros"]), (0, &json!(0)), "{told}");
    let asked = &server.requests()[0];
    let limits = (asked.get("max_tokens"), asked.get("max_completion_tokens"));
    assert_eq!(limits, (Some(&json!(100)), None));
}

#[test]
fn usage_that_nobody_says_counts_as_what_was_held_and_more_than_held_ends_the_thread() {
    let spoken = ALL[0];
    let of = |usage: Value| {
        let mut answer: Value =
            serde_json::from_str(&super::body(spoken, &hands_over(), 0)).unwrap();
        answer["usage"] = usage;
        let server =
            Checked::new(spoken, move |_, _| crate::world::server::ok(&answer.to_string()));
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &["--limit", "tokens=20000"]);
        server.requests();
        let row = &rows(&world)[0];
        world.rye(&["thread", "verify", row["thread_id"].as_str().unwrap()]).ok();
        (status, told["code"].clone(), row["used"]["tokens"].as_u64().unwrap())
    };
    let (status, _, used) = of(Value::Null);
    assert!(status == 0 && used > 200, "{used}");
    let (status, code, used) = of(json!({"prompt_tokens": 1_000_000, "completion_tokens": 5}));
    assert_eq!((status, code, used), (4, json!("thread.limit_exceeded"), 1_000_005));
    // More than a checkpoint holds exactly, than a number of the registry, and what is no count.
    for most in [json!((1_u64 << 53) + 1), json!(u64::MAX)] {
        let (status, code, used) = of(json!({"prompt_tokens": most, "completion_tokens": most}));
        assert_eq!((status, code), (4, json!("thread.limit_exceeded")), "{most}");
        assert!(used > 1 << 53, "{most}: {used}");
    }
    let (status, _, used) = of(json!({"prompt_tokens": -5, "completion_tokens": 1.5}));
    assert!(status == 0 && used > 200, "{used}");
}

#[test]
fn a_transcript_says_which_provider_answered_and_holds_no_delta() {
    let spoken = ALL[3];
    let server = Checked::says(spoken, vec![Words { piece: 1, ..says("Hello.") }, hands_over()]);
    let world = world(spoken, &server.server, &json!({}));
    let told = fork(&world, &[]).ok();
    let id = told["thread_id"].as_str().unwrap();
    let text = fs::read_to_string(transcript(&world, id)).unwrap();
    assert!(!text.contains("text_delta"), "{text}");
    let said = events(&world, id, "cognition_out");
    assert_eq!(said[0]["content"], "Hello.");
    let url = server.server.url("/v1/messages");
    assert_eq!(said[0]["kept"]["from"], format!("tool:acme/script at {url}"));
}

#[test]
fn a_server_holds_its_model_to_the_schemas_that_fit_where_its_provider_says_so_and_they_go_as_are()
{
    let may = "<execute><tool>acme.echo</tool><tool>rye.workspace.*</tool></execute>";
    // A property may have the name of a word of schemas.
    let text = crate::threads::directive("go", "turns=\"9\"", may).replace(
        "<outputs>",
        "<outputs><output name=\"additionalProperties\" type=\"string\">a text</output>",
    );
    let last = "{\"n\": 7, \"additionalProperties\": \"x\"}";
    for (spoken, more, is_strict) in [
        (ALL[0], json!({}), false),
        (ALL[0], json!({"strict": false}), false),
        (ALL[0], json!({"strict": true}), true),
        (ALL[1], json!({"strict": true}), true),
        (ALL[2], json!({}), false),
    ] {
        let server = Checked::says(spoken, vec![calls("directive_return", last)]);
        let world = world(spoken, &server.server, &more);
        world.signed(".ai/directives/acme/go.md", &text);
        let (status, told) = fork(&world, &[]);
        assert_eq!(status, 0, "{spoken:?} {more}: {told}");
        assert_eq!(told["outputs"]["additionalProperties"], "x", "{told}");
        let requests = server.requests();
        let mut strict = Vec::new();
        for tool in requests[0]["tools"].as_array().unwrap() {
            let function = if spoken.is_openai { &tool["function"] } else { tool };
            let name = function["name"].as_str().unwrap();
            if let Some(said) = function.get("strict") {
                strict.push((name, said.clone()));
            }
            let schema = &function[if spoken.is_openai { "parameters" } else { "input_schema" }];
            if name == "directive_return" {
                let want = json!({"type": "string", "description": "a text"});
                assert_eq!(schema["properties"]["additionalProperties"], want, "{schema}");
                assert_eq!(schema["additionalProperties"], false);
            }
            if name == "acme_echo" {
                assert_eq!(schema, &json!({"type": "object", "properties": {}}));
            }
        }
        // What may be left out, and what lets anything in, is not held to it.
        let fit = [
            "directive_return",
            "read_workspace_file",
            "run_shell_command",
            "write_workspace_file",
        ];
        let fit: Vec<_> = fit.into_iter().map(|name| (name, json!(true))).collect();
        assert_eq!(strict, if is_strict { fit } else { Vec::new() }, "{spoken:?} {more}");
    }
}

#[test]
fn an_answer_that_only_paused_goes_back_as_it_came_and_its_model_goes_on_also_in_another_process() {
    for spoken in [ALL[2], ALL[3]] {
        let thinks = |words: Words| Words { thinks: true, ..words };
        let turns = [thinks(says("I look.")), thinks(says("I look again.")), hands_over()];
        let said = turns.clone();
        let server = Checked::new(spoken, move |_, n| {
            let body = body(spoken, &said[n], n);
            let paused =
                body.replace("\"stop_reason\":\"end_turn\"", "\"stop_reason\":\"pause_turn\"");
            assert_ne!(body, paused);
            let body = if n < 2 { paused } else { body };
            Reply::Bytes((head(spoken) + &body).into_bytes())
        });
        let world = world(spoken, &server.server, &json!({}));
        let (status, told) = fork(&world, &["--limit", "turns=1"]);
        let got = (status, &told["code"], &told["data"]["limit"]);
        assert_eq!(got, (4, &json!("thread.limit_exceeded"), &json!("turns")), "{told}");
        let id = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
        let (status, told) = world.json(&["thread", "resume", &id, "--limit", "turns=5"]);
        assert_eq!((status, &told["outputs"]["n"]), (0, &json!(7)), "{spoken:?} {told}");
        assert_eq!(told["cost"]["turns"], 3, "{told}");
        assert_eq!(events(&world, &id, "cognition_in").len(), 1, "nobody said anything between");
        let requests = server.requests();
        assert_eq!(requests.len(), 3);
        for (at, request) in requests.iter().enumerate().skip(1) {
            let all = later(request, false);
            let blocks = |turn: usize| as_sent_back(spoken, &turns[turn], turn);
            let blocks = (0..at).flat_map(|turn| blocks(turn).as_array().unwrap().clone());
            let want = json!([{"role": "assistant", "content": blocks.collect::<Vec<_>>()}]);
            assert_eq!(Value::from(all).to_string(), want.to_string(), "{spoken:?} {at}");
        }
    }
}
