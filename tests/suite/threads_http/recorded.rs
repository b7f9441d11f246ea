//! Answers that providers really sent, as streams, cut at each of their bytes.

use std::fs;

use serde_json::{Value, json};

use super::{Checked, STREAMED, Spoken, hands_over, head, reply, world};
use crate::faults::day;
use crate::threads::fork;
use crate::world::server::Reply;
use crate::world::{World, whole};

/// A stream of `tests/vectors/providers/recorded` that calls one tool.
struct Recorded {
    spoken: Spoken,
    file: &'static str,
    /// The id of its call.
    id: &'static str,
    /// What it cost.
    tokens: u64,
}

const CHAT: Recorded = Recorded {
    spoken: STREAMED[0],
    file: "chat_tool",
    id: "call_ZR5UUuTt3pf61kjwAJIYdVMj",
    tokens: 53 + 15,
};
const THINKS: Recorded = Recorded {
    spoken: STREAMED[1],
    file: "message_thinking_tool",
    id: "toolu_01825dXWLSoJwCst1qTsiWdb",
    tokens: 598 + 92,
};
const PIECES: Recorded = Recorded {
    spoken: STREAMED[1],
    file: "message_pieces",
    id: "toolu_01EFn5wTNBYA8Reni8rbmnHT",
    tokens: 1591 + 175,
};

impl Recorded {
    /// The id of the call in this turn, as long as the recorded one.
    fn id(&self, turn: usize) -> String {
        format!("{}{turn:03}", &self.id[..self.id.len() - 3])
    }

    fn text(&self, turn: usize) -> String {
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/tests/vectors/providers/recorded/{}.sse", self.file);
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text.matches(self.id).count(), 1);
        text.replace(self.id, &self.id(turn))
    }

    /// Its first `end` bytes, behind which the connection ends.
    fn cut(&self, turn: usize, end: usize) -> Reply {
        let body = self.text(turn);
        Reply::Bytes([head(self.spoken).as_bytes(), &body.as_bytes()[..end]].concat())
    }
}

/// How often a turn is cut before it comes whole, and how many turns one thread has: what a thread
/// sends grows with each of its turns.
const CUTS_OF_A_TURN: usize = 4;
const TURNS_OF_A_THREAD: usize = 12;
const CUTS_OF_A_THREAD: usize = CUTS_OF_A_TURN * TURNS_OF_A_THREAD;

/// How often a turn is asked for, and what a thread of so many cuts asks for in all.
const TRIES: usize = CUTS_OF_A_TURN + 1;
const fn requests_of(cuts: usize) -> usize {
    cuts.div_ceil(CUTS_OF_A_TURN) * TRIES + 1
}

/// Each turn of a thread is cut four times and comes whole the fifth, thread after thread. Without
/// the empty line behind its end mark an answer is not whole, so each cut but the one behind the
/// last byte is one that is asked for again.
fn is_cut_at_each_byte(recorded: &'static Recorded) {
    let len = recorded.text(0).len();
    // So many bytes lie between two cuts.
    let stride = if whole() { 1 } else { 27 };
    let start = day() % stride;
    let all = (len - start).div_ceil(stride);
    let server = Checked::new(recorded.spoken, move |_, n| {
        let whole = requests_of(CUTS_OF_A_THREAD);
        let (first, n) = (n / whole * CUTS_OF_A_THREAD, n % whole);
        let (turn, at) = (n / TRIES, n % TRIES);
        let cut = first + turn * CUTS_OF_A_TURN + at;
        let is_over = turn == TURNS_OF_A_THREAD || (cut >= all && at == 0);
        match at {
            _ if is_over => reply(recorded.spoken, &hands_over(), turn),
            CUTS_OF_A_TURN => recorded.cut(turn, len),
            // In the last turn of all the last byte may be left out more than once.
            _ => recorded.cut(turn, (start + cut * stride).min(len - 1)),
        }
    });
    let world = world(recorded.spoken, &server.server, &json!({"retry": {"first_wait": "1ms"}}));
    let mut asked = 0;
    for first in (0..all).step_by(CUTS_OF_A_THREAD) {
        let cuts = CUTS_OF_A_THREAD.min(all - first);
        goes_on_behind_each_cut(recorded, &world, cuts);
        asked += requests_of(cuts);
        assert_eq!(server.server.seen().len(), asked, "{first} of each {stride}th from {start}");
    }
    server.requests();
}

/// One thread whose turns are cut so often.
fn goes_on_behind_each_cut(recorded: &Recorded, world: &World, cuts: usize) {
    let turns = cuts.div_ceil(CUTS_OF_A_TURN);
    let most = ["turns=100000", "tokens=1000000000", "spend=1000000"];
    let most: Vec<&str> = most.iter().flat_map(|limit| ["--limit", limit]).collect();
    let (status, told) = fork(world, &most);
    assert_eq!(status, 0, "{} {told}", recorded.file);
    let id = told["thread_id"].as_str().unwrap();
    let (_, shown) = world.json(&["thread", "show", id]);
    let events = shown["data"]["events"].as_array().unwrap();
    let of = |name: &'static str| events.iter().filter(move |event| event["event"] == name);
    assert_eq!(of("provider_failed").count(), turns * CUTS_OF_A_TURN, "each cut was found");
    assert!(of("provider_failed").all(|failed| failed["code"] == "provider.unreachable"));
    assert_eq!(of("cognition_out").count(), turns + 1);
    let ids: Vec<&str> = of("tool_call_result").map(|gave| gave["id"].as_str().unwrap()).collect();
    let each: Vec<String> = (0..turns).map(|turn| recorded.id(turn)).collect();
    assert_eq!(ids[..turns], each, "each call once");
    // What was begun and not ended counts as what was held for it.
    assert_eq!(told["cost"]["turns"], requests_of(cuts));
    let held = of("provider_failed").map(|failed| {
        let tokens = |kind: &str| failed["usage"][kind].as_u64().unwrap();
        tokens("input_tokens") + tokens("output_tokens")
    });
    let whole = recorded.tokens * turns as u64 + 35;
    assert_eq!(told["cost"]["tokens"].as_u64(), Some(held.sum::<u64>() + whole));
    world.rye(&["thread", "verify", id]).ok();
}

/// One byte in nine here, others each day; the whole is each byte.
#[test]
fn a_recorded_stream_that_is_cut_at_any_byte_is_asked_for_again_and_counted_table() {
    is_cut_at_each_byte(&CHAT);
    is_cut_at_each_byte(&THINKS);
}

/// The messages of the model in the second request, behind a first turn that was recorded.
fn goes_back(recorded: &'static Recorded) -> Value {
    let server = Checked::new(recorded.spoken, move |_, n| match n {
        0 => recorded.cut(0, recorded.text(0).len()),
        n => reply(recorded.spoken, &hands_over(), n),
    });
    let world = world(recorded.spoken, &server.server, &json!({}));
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["cost"]["turns"]), (0, &json!(2)), "{told}");
    assert_eq!(told["cost"]["tokens"], recorded.tokens + 35);
    let asked = server.requests().pop().unwrap();
    let messages = asked["messages"].as_array().unwrap();
    messages.iter().find(|message| message["role"] == "assistant").unwrap().clone()
}

#[test]
fn what_was_recorded_goes_back_as_it_came() {
    let function = json!({"name": "get_capital", "arguments": "{\"country\":\"UK\"}"});
    let call = json!({"id": CHAT.id(0), "type": "function", "function": function});
    let said = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    assert_eq!(goes_back(&CHAT), said);

    let said = goes_back(&THINKS)["content"].clone();
    let blocks = said.as_array().unwrap();
    assert_eq!((blocks.len(), &blocks[0]["type"]), (2, &json!("thinking")), "{said}");
    let thought = blocks[0]["thinking"].as_str().unwrap();
    assert!(thought.starts_with("The user wants me to:\n1. Use the fixed_version tool\n2. "));
    assert!(thought.ends_with("to see what version it returns."), "{thought}");
    let signature = blocks[0]["signature"].as_str().unwrap();
    assert!(signature.len() > 500 && THINKS.text(0).contains(&format!("\"{signature}\"")));
    let call = json!({"type": "tool_use", "id": THINKS.id(0), "name": "fixed_version", "input": {},
        "caller": {"type": "direct"}});
    assert_eq!(blocks[1], call);

    // What the provider itself looked for and found stays where it stood.
    let said = goes_back(&PIECES)["content"].clone();
    let kinds: Vec<&Value> = said.as_array().unwrap().iter().map(|block| &block["type"]).collect();
    let want = ["text", "server_tool_use", "tool_search_tool_result", "text", "tool_use"];
    assert_eq!(kinds, want);
    assert_eq!(said[1]["input"]["query"], "USD EUR exchange rate currency conversion");
    assert_eq!(said[4]["input"], json!({"from_currency": "USD", "to_currency": "EUR"}));
}
