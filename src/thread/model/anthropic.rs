//! Messages, as Anthropic publishes them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::{AnswerFault, Progress, bad, parsed, short, told_fault};
use super::{Asked, Kept, Message, ModelCall, Turn, arguments, without_secrets};
use crate::base::Mask;
use crate::base::event_stream::ServerEvent;
use crate::base::limits::PROVIDER_PARTS;
use crate::parse::{HttpProvider, TokenCounts, json as read_json};
use crate::thread::table::ModelTool;

/// The path behind the `base_url`.
pub(super) const PATH: &str = "/v1/messages";
/// The version of the shape that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";

#[derive(Serialize)]
struct MessageRequest<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Value>,
    messages: Vec<Value>,
    stream: bool,
}

/// The body of a request. What is the same in each turn comes first, and ends with a mark up to
/// which it is kept.
pub(super) fn request(asked: &Asked<'_>, http: &HttpProvider, model: &str, from: &str) -> Value {
    let mark = json!({"type": "ephemeral"});
    let tool = |tool: &ModelTool| {
        let ModelTool { name, description, parameters, .. } = tool;
        json!({"name": name, "description": description, "input_schema": parameters})
    };
    let mut tools: Vec<Value> = asked.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = mark.clone();
    }
    let system = (!asked.system.is_empty())
        .then(|| json!({"type": "text", "text": asked.system, "cache_control": mark}));
    let request = MessageRequest {
        model,
        max_tokens: asked.answer_tokens,
        tools,
        system: system.into_iter().collect(),
        messages: messages(asked.messages, from),
        stream: http.streams,
    };
    let mut request = serde_json::to_value(request).unwrap_or_default();
    for (name, value) in &http.options {
        request[name.as_str()] = value.clone();
    }
    request
}

/// Roles take turns: what is told between two answers is one message, the results first.
fn messages(all: &[Message], from: &str) -> Vec<Value> {
    let mut told: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in all {
        let (role, blocks) = match message {
            Message::User(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Message::Result { call_id, content } => {
                let result = json!({
                    "type": "tool_result", "tool_use_id": call_id, "content": content,
                });
                ("user", vec![result])
            }
            Message::Model(turn) => ("assistant", said(turn, from)),
        };
        match told.last_mut().filter(|(last, _)| *last == role) {
            _ if blocks.is_empty() => {}
            Some((_, known)) => known.extend(blocks),
            None => told.push((role, blocks)),
        }
    }
    told.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn said(turn: &Turn, from: &str) -> Vec<Value> {
    if let Some(Value::Array(kept)) = turn.kept_from(from) {
        return kept;
    }
    let text = (!turn.text.trim().is_empty()).then(|| json!({"type": "text", "text": turn.text}));
    let call = |call: &ModelCall| {
        let input = read_json(&call.arguments).ok().filter(Value::is_object);
        let input = input.unwrap_or_else(|| json!({}));
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    };
    text.into_iter().chain(turn.calls.iter().map(call)).collect()
}

/// An answer as far as it came.
#[derive(Debug, Default)]
pub(super) struct MessageAnswer {
    /// By their numbers.
    blocks: BTreeMap<u64, Block>,
    usage: Usage,
    has_begun: bool,
    stop_reason: Option<String>,
}

#[derive(Debug, Default)]
struct Block {
    content: Map<String, Value>,
    /// The text of its input, where that came in pieces.
    input: String,
}

/// Counts that come in two places, of which the later one is right.
#[derive(Debug, Default)]
struct Usage {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: u64,
    cache_write: u64,
}

impl Usage {
    fn take(&mut self, said: Option<&Value>) {
        let count = |name: &str| said.and_then(|said| said.get(name)).and_then(Value::as_u64);
        self.input = count("input_tokens").or(self.input);
        self.output = count("output_tokens").or(self.output);
        self.cache_read = count("cache_read_input_tokens").unwrap_or(self.cache_read);
        self.cache_write = count("cache_creation_input_tokens").unwrap_or(self.cache_write);
    }

    /// Tokens of a cache are beside those of the input.
    fn counts(&self) -> Option<TokenCounts> {
        let Self { input, output, cache_read, cache_write } = *self;
        Some(TokenCounts { input: input?, output: output?, cache_read, cache_write })
    }
}

impl MessageAnswer {
    pub(super) fn event(
        &mut self,
        event: &ServerEvent,
        told: &mut dyn FnMut(&str),
    ) -> Result<Progress, AnswerFault> {
        if event.data.trim().is_empty() {
            return Ok(Progress::More);
        }
        let said = parsed(&event.data)?;
        match said.get("type").and_then(Value::as_str).unwrap_or(&event.kind) {
            "message_start" => {
                self.has_begun = true;
                self.usage.take(said.pointer("/message/usage"));
            }
            "content_block_start" => self.begin(said, told)?,
            "content_block_delta" => self.go_on(&said, told)?,
            "message_delta" => {
                self.usage.take(said.get("usage"));
                self.ended(said.get("delta"));
            }
            "message_stop" if self.has_begun => return Ok(Progress::Done),
            "message_stop" => return Err(bad("its stream ended without a message")),
            "error" => {
                let told = AnswerFault::Told { kind: "error".into(), message: String::new() };
                return Err(told_fault(&said).unwrap_or(told));
            }
            // `ping`, and what will be thought of later.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn ended(&mut self, said: Option<&Value>) {
        let reason = said.and_then(|said| said.get("stop_reason")).and_then(Value::as_str);
        self.stop_reason = reason.map(str::to_owned).or(self.stop_reason.take());
    }

    fn begin(&mut self, mut said: Value, told: &mut dyn FnMut(&str)) -> Result<(), AnswerFault> {
        let index = said.get("index").and_then(Value::as_u64);
        let content = said.get_mut("content_block").map(Value::take);
        let (Some(index), Some(Value::Object(content))) = (index, content) else {
            return Err(bad("a block begins without its number or its content"));
        };
        if self.blocks.len() >= PROVIDER_PARTS {
            return Err(bad(&format!("it has more than {PROVIDER_PARTS} blocks")));
        }
        if let Some(text) = text_of(&content).filter(|text| !text.is_empty()) {
            told(text);
        }
        let block = Block { content, input: String::new() };
        match self.blocks.insert(index, block) {
            None => Ok(()),
            Some(_) => Err(bad("a block begins twice")),
        }
    }

    fn go_on(&mut self, said: &Value, told: &mut dyn FnMut(&str)) -> Result<(), AnswerFault> {
        let index = said.get("index").and_then(Value::as_u64);
        let block = index.and_then(|index| self.blocks.get_mut(&index));
        let delta = said.get("delta").and_then(Value::as_object);
        let (Some(block), Some(delta)) = (block, delta) else {
            return Err(bad("a block goes on that did not begin"));
        };
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default();
        for (name, value) in delta.iter().filter(|(name, _)| *name != "type") {
            match (kind, name.as_str(), value) {
                ("input_json_delta", "partial_json", Value::String(piece)) => {
                    block.input.push_str(piece);
                }
                ("citations_delta", "citation", value) => {
                    let all = block.content.entry("citations").or_insert_with(|| json!([]));
                    if !all.is_array() {
                        *all = json!([]);
                    }
                    if let Some(all) = all.as_array_mut() {
                        all.push(value.clone());
                    }
                }
                // A text, a thought, a signature: more of the member of that name.
                (_, name, Value::String(piece)) => {
                    match block.content.get_mut(name) {
                        Some(Value::String(text)) => text.push_str(piece),
                        _ => drop(block.content.insert(name.to_owned(), piece.as_str().into())),
                    }
                    if kind == "text_delta" {
                        told(piece);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn whole(&mut self, mut answer: Value) -> Result<(), AnswerFault> {
        if let Some(fault) = told_fault(&answer) {
            return Err(fault);
        }
        self.usage.take(answer.get("usage"));
        self.ended(Some(&answer));
        let Some(Value::Array(content)) = answer.get_mut("content").map(Value::take) else {
            return Err(bad("it has no list at `/content`"));
        };
        for (index, content) in (0..).zip(content) {
            let Value::Object(content) = content else {
                return Err(bad(&format!("it has no block at `/content/{index}`")));
            };
            self.blocks.insert(index, Block { content, input: String::new() });
        }
        Ok(())
    }

    pub(super) fn turn(self, mask: &Mask, from: &str, so_far: usize) -> Turn {
        let usage = self.usage.counts();
        let finish_reason = self.stop_reason.map(|reason| short(&mask.text(&reason)));
        let (mut text, mut calls, mut kept) = (String::new(), Vec::new(), Vec::new());
        for Block { mut content, input } in self.blocks.into_values() {
            let input = mask.text(&input);
            // A text of white space alone says nothing, and is not taken back.
            if text_of(&content).is_some_and(|text| text.trim().is_empty()) {
                continue;
            }
            // Some servers begin a call without its input.
            let is_call = content.get("type").is_some_and(|kind| kind == "tool_use");
            if is_call || content.contains_key("input") {
                let known = content.entry("input").or_insert_with(|| json!({}));
                if !input.trim().is_empty() {
                    *known = read_json(&input).unwrap_or_default();
                }
                // What is not an object the model is told by the result, and would not be taken.
                if !known.is_object() {
                    *known = json!({});
                }
            }
            let block = mask.value(Value::Object(content));
            let of = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
            match of("type") {
                "text" => text.push_str(of("text")),
                "tool_use" => {
                    let written =
                        if input.trim().is_empty() { block["input"].to_string() } else { input };
                    let id = of("id");
                    let id = match id.is_empty() {
                        true => format!("call_{so_far}_{}", calls.len()),
                        false => id.to_owned(),
                    };
                    let (name, arguments) = (of("name").to_owned(), arguments(&written, mask));
                    calls.push(ModelCall { id, name, arguments });
                }
                _ => {}
            }
            kept.push(block);
        }
        let content = Value::Array(kept).to_string();
        let kept = Kept { from: from.to_owned(), content };
        let (text, kept) = without_secrets(&text, kept, mask);
        Turn { text, calls, usage, kept, finish_reason }
    }
}

fn text_of(block: &Map<String, Value>) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block.get("text").and_then(Value::as_str).filter(|_| is_text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MessageAnswer, messages};
    use crate::base::Mask;
    use crate::base::event_stream::ServerEvent;
    use crate::thread::model::answer::{AnswerFault, Progress};
    use crate::thread::model::{Message, ModelCall, Turn};

    fn event(answer: &mut MessageAnswer, said: &Value) -> Result<Progress, AnswerFault> {
        let event = ServerEvent { kind: String::new(), data: said.to_string() };
        answer.event(&event, &mut |_| ())
    }

    fn streamed(blocks: &[(Value, &[Value])]) -> Turn {
        let mut answer = MessageAnswer::default();
        let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 2, "output_tokens": 1});
        let mut all = vec![json!({"type": "message_start", "message": {"usage": usage}})];
        for (index, (block, deltas)) in blocks.iter().enumerate() {
            all.push(
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
            all.extend(deltas.iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
            all.push(json!({"type": "content_block_stop", "index": index}));
            all.push(json!({"type": "ping"}));
        }
        all.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 30}}));
        for said in &all {
            assert_eq!(event(&mut answer, said), Ok(Progress::More), "{said}");
        }
        assert_eq!(event(&mut answer, &json!({"type": "message_stop"})), Ok(Progress::Done));
        answer.turn(&Mask::default(), "p", 3)
    }

    #[test]
    fn blocks_are_joined_and_come_back_as_they_came() {
        let piece = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
        // A server of its own begins a call without its input.
        let (tool, empty) = (
            json!({"type": "tool_use", "id": "t1", "name": "a"}),
            json!({"type": "tool_use", "id": "t2", "name": "b"}),
        );
        let broken = json!({"type": "tool_use", "id": "t3", "name": "c", "input": {}});
        let redacted = json!({"type": "redacted_thinking", "data": "ZGF0YQ=="});
        let turn = streamed(&[
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                &[
                    json!({"type": "thinking_delta", "thinking": "I th"}),
                    json!({"type": "thinking_delta", "thinking": "ink."}),
                    json!({"type": "signature_delta", "signature": "c2ln"}),
                ],
            ),
            (redacted.clone(), &[]),
            (json!({"type": "text", "text": ""}), &[]),
            (
                json!({"type": "text", "text": ""}),
                &[
                    json!({"type": "text_delta", "text": " \n"}),
                    json!({"type": "text_delta", "text": "\n"}),
                ],
            ),
            (
                json!({"type": "text", "text": ""}),
                &[
                    json!({"type": "text_delta", "text": "Hel"}),
                    json!({"type": "text_delta", "text": "lo"}),
                    json!({"type": "citations_delta", "citation": {"cited_text": "x"}}),
                ],
            ),
            (tool, &[piece(""), piece("{\"z\": 1.0"), piece(", \"a\": 2}")]),
            (empty.clone(), &[piece("")]),
            (broken.clone(), &[piece("{\"x\": ")]),
        ]);
        assert_eq!(turn.text, "Hello");
        let calls: Vec<_> =
            turn.calls.iter().map(|it| (&*it.id, &*it.name, &*it.arguments)).collect();
        let want =
            [("t1", "a", "{\"z\": 1.0, \"a\": 2}"), ("t2", "b", "{}"), ("t3", "c", "{\"x\": ")];
        assert_eq!(calls, want);
        let usage = turn.usage.unwrap();
        assert_eq!((usage.input, usage.output), (5, 30));
        assert_eq!((usage.cache_read, usage.cache_write), (7, 2));
        let kept = "[{\"type\":\"thinking\",\"thinking\":\"I think.\",\"signature\":\"c2ln\"},\
            {\"type\":\"redacted_thinking\",\"data\":\"ZGF0YQ==\"},\
            {\"type\":\"text\",\"text\":\"Hello\",\"citations\":[{\"cited_text\":\"x\"}]},\
            {\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{\"z\":1.0,\"a\":2}},\
            {\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"b\",\"input\":{}},\
            {\"type\":\"tool_use\",\"id\":\"t3\",\"name\":\"c\",\"input\":{}}]";
        assert_eq!(turn.kept.unwrap().content, kept);
    }

    #[test]
    fn a_secret_in_two_blocks_or_spelled_with_escapes_is_masked() {
        let mask = Mask::new(["sk-canary"].into_iter());
        let mut answer = MessageAnswer::default();
        let text = |text: &str| json!({"type": "text", "text": text});
        answer.whole(json!({"content": [text("is sk-"), text("canary.")]})).unwrap();
        let in_two = answer.turn(&mask, "p", 0);
        assert_eq!((in_two.text.as_str(), &in_two.kept), ("is ***.", &None));
        let mut answer = MessageAnswer::default();
        let tool = json!({"type": "tool_use", "id": "t", "name": "a", "input": {}});
        let piece =
            json!({"type": "input_json_delta", "partial_json": "{\"x\":\"\\u0073k-canary\"}"});
        for said in [
            json!({"type": "content_block_start", "index": 0, "content_block": tool}),
            json!({"type": "content_block_delta", "index": 0, "delta": piece}),
        ] {
            assert_eq!(event(&mut answer, &said), Ok(Progress::More));
        }
        let escaped = answer.turn(&mask, "p", 0);
        assert_eq!(escaped.calls[0].arguments, "{\"x\":\"***\"}");
        assert!(!escaped.kept.unwrap().content.contains("canary"));
    }

    #[test]
    fn roles_take_turns_and_another_providers_blocks_do_not_go_out() {
        let call = |id: &str, arguments: &str| ModelCall {
            id: id.into(),
            name: "a".into(),
            arguments: arguments.into(),
        };
        let kept =
            Some(crate::thread::model::Kept { from: "p".into(), content: "[{\"k\":1}]".into() });
        let turn = Turn {
            finish_reason: None,
            text: "x".into(),
            calls: vec![call("1", "{\"b\":1}"), call("2", "{bad")],
            usage: None,
            kept,
        };
        let result = |id: &str| Message::Result { call_id: id.into(), content: "{}".into() };
        let all = [
            Message::User("u".into()),
            Message::Model(Turn::default()),
            Message::User("again".into()),
            Message::Model(turn),
            result("1"),
            result("2"),
            Message::User("more".into()),
        ];
        let own = messages(&all, "p");
        let roles: Vec<&str> = own.iter().map(|it| it["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(own[0]["content"][1], json!({"type": "text", "text": "again"}));
        assert_eq!(own[1]["content"], json!([{"k": 1}]));
        let kinds: Vec<&Value> =
            own[2]["content"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
        assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
        let others = messages(&all, "q");
        let want = json!([
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "1", "name": "a", "input": {"b": 1}},
            {"type": "tool_use", "id": "2", "name": "a", "input": {}},
        ]);
        assert_eq!(others[1]["content"], want);
    }

    #[test]
    fn what_is_no_answer_is_told_apart_from_what_the_server_says_went_wrong() {
        let mut answer = MessageAnswer::default();
        let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for bad in [
            json!({"type": "message_stop"}),
            json!({"type": "content_block_delta", "index": 0, "delta": {}}),
            json!({"type": "content_block_start", "index": -1, "content_block": {}}),
        ] {
            assert!(matches!(event(&mut answer, &bad), Err(AnswerFault::Bad(_))), "{bad}");
        }
        let start = json!({"type": "content_block_start", "index": 9, "content_block": {}});
        assert_eq!(event(&mut answer, &start), Ok(Progress::More));
        assert!(matches!(event(&mut answer, &start), Err(AnswerFault::Bad(_))), "twice");
        let said =
            of("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"b\"}}");
        let told = AnswerFault::Told { kind: "overloaded_error".into(), message: "b".into() };
        assert_eq!(event(&mut answer, &said), Err(told.clone()));
        assert_eq!(answer.whole(said), Err(told));
        assert!(matches!(answer.whole(json!({"content": "x"})), Err(AnswerFault::Bad(_))));
        assert!(matches!(answer.whole(json!({"content": ["x"]})), Err(AnswerFault::Bad(_))));
    }
}
