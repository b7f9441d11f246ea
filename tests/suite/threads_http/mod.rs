//! Threads whose model answers over HTTP, in both shapes, as a stream and in one piece, against a
//! real server on this machine that holds each request against the published shape.

mod ends;
mod faults;
mod killed;
mod project;
mod published;
mod recorded;
mod research;
mod secrets;
mod shown;
mod talk;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use published::Expected;

use crate::threads::{ECHO, directive};
use crate::world::World;
use crate::world::server::{Identity, Reply, Seen, Server, answer};

/// How a server is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    pub is_openai: bool,
    pub streams: bool,
}

pub const ALL: [Spoken; 4] = [
    Spoken { is_openai: true, streams: false },
    Spoken { is_openai: true, streams: true },
    Spoken { is_openai: false, streams: false },
    Spoken { is_openai: false, streams: true },
];

pub const STREAMED: [Spoken; 2] = [ALL[1], ALL[3]];

/// The key that no text may show.
pub const CANARY: &str = "sk-canary-5d1f7c2b9e";

/// What a model says in one turn.
#[derive(Debug, Clone, Default)]
pub struct Words {
    pub thinks: bool,
    pub text: String,
    /// Names and arguments as text.
    pub calls: Vec<(String, String)>,
    /// Bytes of arguments in one piece of a stream; 0 is all.
    pub piece: usize,
}

pub fn says(text: &str) -> Words {
    Words { text: text.into(), ..Words::default() }
}

pub fn calls(name: &str, arguments: &str) -> Words {
    says("").and(name, arguments)
}

pub fn hands_over() -> Words {
    calls("directive_return", "{\"n\": 7}")
}

impl Words {
    pub fn and(mut self, name: &str, arguments: &str) -> Self {
        self.calls.push((name.into(), arguments.into()));
        self
    }

    fn pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let size = if self.piece == 0 { text.len().max(1) } else { self.piece };
        let pieces = text.as_bytes().chunks(size);
        let pieces: Vec<_> = pieces.map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        if pieces.is_empty() { vec![""] } else { pieces }
    }
}

/// Ids as the providers make them; `turn` tells those of two turns apart.
fn id(turn: usize, at: usize) -> String {
    format!("toolu_{turn:03}_{at}")
}

/// The blocks of a message, as Anthropic sends them.
fn blocks(words: &Words, turn: usize) -> Vec<Value> {
    let mut blocks = Vec::new();
    if words.thinks {
        // In no order that a writer of JSON would choose, and with a number to be kept.
        blocks.push(json!({"type": "thinking", "thinking": "Hm.\n", "signature": "c2lnbmF0dXJl"}));
        blocks.push(json!({"type": "redacted_thinking", "data": "b3BhcXVl"}));
    }
    if !words.text.is_empty() {
        blocks.push(json!({"type": "text", "text": words.text}));
    }
    for (at, (name, arguments)) in words.calls.iter().enumerate() {
        let input = serde_json::from_str::<Value>(arguments).unwrap_or_else(|_| json!({}));
        blocks.push(json!({"type": "tool_use", "id": id(turn, at), "name": name, "input": input}));
    }
    blocks
}

/// What the message of a turn comes back as in the next request.
pub fn as_sent_back(spoken: Spoken, words: &Words, turn: usize) -> Value {
    if !spoken.is_openai {
        return blocks(words, turn).into();
    }
    let mut message = json!({"role": "assistant", "content": words.text});
    if words.thinks {
        message["reasoning_content"] = "Hm.\n".into();
        message["reasoning_details"] =
            json!([{"type": "reasoning.encrypted", "index": 0, "data": "b3BhcXVl"}]);
    }
    if !words.calls.is_empty() {
        let call = |(at, (name, arguments)): (usize, &(String, String))| {
            let function = json!({"name": name, "arguments": arguments});
            json!({"id": id(turn, at), "type": "function", "function": function})
        };
        message["tool_calls"] = words.calls.iter().enumerate().map(call).collect();
    }
    message
}

/// The body of an answer: JSON, or the events of a stream.
pub fn body(spoken: Spoken, words: &Words, turn: usize) -> String {
    match (spoken.is_openai, spoken.streams) {
        (true, false) => {
            let message = as_sent_back(spoken, words, turn);
            let usage = json!({"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35,
                "prompt_tokens_details": {"cached_tokens": 20}});
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop",
                    "logprobs": null}],
                "usage": usage,
            })
            .to_string()
        }
        (false, false) => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": blocks(words, turn), "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 20,
                "cache_creation_input_tokens": 0},
        })
        .to_string(),
        (true, true) => chunks(words, turn),
        (false, true) => events(words, turn),
    }
}

fn chunks(words: &Words, turn: usize) -> String {
    let mut all = Vec::new();
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    };
    all.push(delta(json!({"role": "assistant", "content": "", "refusal": null})));
    if words.thinks {
        all.push(delta(json!({"reasoning_content": "Hm"})));
        all.push(delta(json!({"reasoning_content": ".\n"})));
        let detail = json!({"type": "reasoning.encrypted", "index": 0, "data": "b3BhcXVl"});
        all.push(delta(json!({"reasoning_details": [detail]})));
    }
    for piece in words.pieces(&words.text).into_iter().filter(|piece| !piece.is_empty()) {
        all.push(delta(json!({"content": piece})));
    }
    for (at, (name, arguments)) in words.calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": ""});
        let call =
            json!({"index": at, "id": id(turn, at), "type": "function", "function": function});
        all.push(delta(json!({"tool_calls": [call]})));
        for piece in words.pieces(arguments) {
            let call = json!({"index": at, "function": {"arguments": piece}});
            all.push(delta(json!({"tool_calls": [call]})));
        }
    }
    all.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]), Value::Null));
    let usage = json!({"prompt_tokens": 30, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 20}});
    all.push(chunk(json!([]), usage));
    all.push("data: [DONE]\n\n".into());
    all.concat()
}

fn events(words: &Words, turn: usize) -> String {
    let event =
        |said: Value| format!("event: {}\ndata: {said}\n\n", said["type"].as_str().unwrap());
    let usage = json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 0});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "usage": usage});
    let mut all = vec![event(json!({"type": "message_start", "message": message}))];
    all.push(event(json!({"type": "ping"})));
    for (index, block) in blocks(words, turn).into_iter().enumerate() {
        let delta = |delta: Value| {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        };
        let mut start = block.clone();
        let mut deltas = Vec::new();
        match block["type"].as_str().unwrap() {
            "thinking" => {
                start["thinking"] = "".into();
                start["signature"] = "".into();
                deltas.push(delta(json!({"type": "thinking_delta", "thinking": "Hm"})));
                deltas.push(delta(json!({"type": "thinking_delta", "thinking": ".\n"})));
                let signature = block["signature"].clone();
                deltas.push(delta(json!({"type": "signature_delta", "signature": signature})));
            }
            "text" => {
                start["text"] = "".into();
                for piece in words.pieces(&words.text) {
                    deltas.push(delta(json!({"type": "text_delta", "text": piece})));
                }
            }
            "tool_use" => {
                start["input"] = json!({});
                let number = block["id"].as_str().unwrap().rsplit('_').next().unwrap();
                let arguments = &words.calls[number.parse::<usize>().unwrap()].1;
                for piece in words.pieces(arguments) {
                    deltas.push(delta(json!({"type": "input_json_delta", "partial_json": piece})));
                }
            }
            _ => {}
        }
        let begun = json!({"type": "content_block_start", "index": index, "content_block": start});
        all.push(event(begun));
        all.extend(deltas);
        all.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    let stopped = json!({"stop_reason": "end_turn", "stop_sequence": null});
    all.push(event(
        json!({"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 5}}),
    ));
    all.push(event(json!({"type": "message_stop"})));
    all.concat()
}

/// The head of an answer that ends with its connection.
pub fn head(spoken: Spoken) -> String {
    let kind = if spoken.streams { "text/event-stream" } else { "application/json" };
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n")
}

pub fn reply(spoken: Spoken, words: &Words, turn: usize) -> Reply {
    Reply::Bytes((head(spoken) + &body(spoken, words, turn)).into_bytes())
}

/// A server that checks each request, and answers the nth as `answers` says. Whoever drops it is
/// told what was wrong with any of them.
pub struct Checked {
    pub server: Server,
    wrong: Arc<Mutex<Vec<String>>>,
}

impl Checked {
    pub fn new(
        spoken: Spoken,
        answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::expects(Expected::of(spoken), answers)
    }

    pub fn expects(
        expected: Expected,
        answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::started(expected, answers, Server::new)
    }

    /// The same over TLS with this certificate.
    pub fn tls(
        identity: &Identity,
        spoken: Spoken,
        answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::started(Expected::of(spoken), answers, |checked| Server::tls(identity, checked))
    }

    fn started(
        expected: Expected,
        answers: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
        start: impl FnOnce(Box<dyn Fn(&Seen, usize) -> Reply + Send + Sync>) -> Server,
    ) -> Self {
        let wrong = Arc::<Mutex<Vec<String>>>::default();
        let (found, last) = (Arc::clone(&wrong), Mutex::new(None));
        let checked = move |seen: &Seen, n: usize| {
            // What is asked for again is the same request, and takes its time to check.
            let before = last.lock().unwrap().replace(seen.clone());
            if before.as_ref() != Some(seen) {
                found.lock().unwrap().extend(expected.wrong(seen));
            }
            answers(seen, n)
        };
        Self { server: start(Box::new(checked)), wrong }
    }

    /// Says these turns one after the other; each further one is a bad request.
    pub fn says(spoken: Spoken, turns: Vec<Words>) -> Self {
        Self::new(spoken, move |_, n| match turns.get(n) {
            Some(words) => reply(spoken, words, n),
            None => answer(400, "", "{\"error\":{\"message\":\"nobody asked for that\"}}"),
        })
    }

    /// The bodies of the requests, all of which were of the published shape.
    #[track_caller]
    pub fn requests(&self) -> Vec<Value> {
        self.check();
        self.server.seen().iter().map(Seen::json).collect()
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(*self.wrong.lock().unwrap(), [""; 0]);
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
    }
}

/// The block of a provider; `more` replaces what stands there.
pub fn block(spoken: Spoken, url: &str, more: &Value) -> Value {
    let mut block = json!({
        "kind": if spoken.is_openai { "openai_chat" } else { "anthropic" },
        "base_url": if spoken.is_openai { format!("{url}/v1") } else { url.to_owned() },
        "credential_env": "ACME_KEY", "headers": {"X-Team": "red"},
        "models": {"general": "m", "high": "m-large"}, "stream": spoken.streams,
        "prices": {"m": {"input": 1, "output": 2, "cache_read": 0.5, "cache_write": 2}},
        "answer_tokens": 100, "retry": {"first_wait": "2ms"},
    });
    for (name, value) in more.as_object().unwrap() {
        block[name.as_str()] = value.clone();
    }
    block
}

pub fn provider(block: &Value) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: provider\ncategory: acme\ndescription: d\n\
         provider: {block}\n"
    )
}

/// A world whose provider is at this server.
pub fn world(spoken: Spoken, server: &Server, more: &Value) -> World {
    let world = World::new().env("ACME_KEY", CANARY);
    world.signed(".ai/tools/acme/echo.sh", ECHO);
    let text = provider(&block(spoken, &server.url(""), more));
    world.signed_home(".ai/tools/acme/script.yaml", &text);
    let may = "<execute><tool>acme.echo</tool></execute>";
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", may));
    world
}
