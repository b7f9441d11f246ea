//! Chat completions, as `OpenAI` publishes them and others speak them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::{AnswerFault, Progress, bad, parsed, short, told_fault};
use super::calls::StreamedCalls;
use super::strict::fits_strict;
use super::{Asked, Kept, Message, ModelCall, Turn, arguments, without_secrets};
use crate::base::Mask;
use crate::base::event_stream::ServerEvent;
use crate::base::limits::PROVIDER_PARTS;
use crate::parse::{HttpProvider, TokenCounts};
use crate::thread::table::ModelTool;

/// The path behind the `base_url`.
pub(super) const PATH: &str = "/chat/completions";

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body of a request. What is the same in each turn comes first.
pub(super) fn request(
    asked: &Asked<'_>,
    http: &HttpProvider,
    most_tokens: &str,
    model: &str,
    from: &str,
) -> Value {
    let system =
        (!asked.system.is_empty()).then(|| json!({"role": "system", "content": asked.system}));
    let request = ChatRequest {
        model,
        messages: system
            .into_iter()
            .chain(asked.messages.iter().map(|it| told(it, from)))
            .collect(),
        tools: asked.tools.iter().map(|tool| told_tool(tool, http.is_strict)).collect(),
        stream: http.streams,
        stream_options: http.streams.then_some(StreamOptions { include_usage: true }),
    };
    let mut request = serde_json::to_value(request).unwrap_or_default();
    request[most_tokens] = asked.answer_tokens.into();
    for (name, value) in &http.options {
        request[name.as_str()] = value.clone();
    }
    request
}

/// A tool with its schema as it is; `strict` where it is asked for and the schema fits it.
fn told_tool(tool: &ModelTool, is_strict: bool) -> Value {
    let mut told = tool.to_json();
    if is_strict && fits_strict(&tool.parameters) {
        told["function"]["strict"] = true.into();
    }
    told
}

fn told(message: &Message, from: &str) -> Value {
    let turn = match message {
        Message::User(text) => return json!({"role": "user", "content": text}),
        Message::Result { call_id, content } => {
            return json!({"role": "tool", "tool_call_id": call_id, "content": content});
        }
        Message::Model(turn) => turn,
    };
    if let Some(kept) = turn.kept_from(from) {
        return kept;
    }
    let mut said = json!({"role": "assistant", "content": turn.text});
    if !turn.calls.is_empty() {
        let call = |call: &ModelCall| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        };
        said["tool_calls"] = turn.calls.iter().map(call).collect();
    }
    said
}

/// An answer as far as it came.
#[derive(Debug, Default)]
pub(super) struct ChatAnswer {
    /// The message of the only choice, without the calls of a stream.
    message: Map<String, Value>,
    calls: StreamedCalls,
    has_begun: bool,
    usage: Option<TokenCounts>,
    finish_reason: Option<String>,
}

impl ChatAnswer {
    pub(super) fn event(
        &mut self,
        event: &ServerEvent,
        told: &mut dyn FnMut(&str),
    ) -> Result<Progress, AnswerFault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return match self.has_begun {
                true => Ok(Progress::Done),
                false => Err(bad("its stream ended without a choice")),
            };
        }
        if data.is_empty() {
            return Ok(Progress::More);
        }
        let chunk = parsed(data)?;
        if let Some(fault) = told_fault(&chunk) {
            return Err(fault);
        }
        self.usage = chunk.get("usage").and_then(usage).or(self.usage);
        self.finish_reason = finish_reason(&chunk).or(self.finish_reason.take());
        let Some(Value::Object(mut delta)) = choice(chunk, "delta") else {
            return Ok(Progress::More);
        };
        self.has_begun = true;
        let text = delta.get("content").map(text_of).unwrap_or_default();
        if !text.is_empty() {
            told(&text);
        }
        if let Some(Value::Array(pieces)) = delta.shift_remove("tool_calls") {
            self.calls.take(pieces)?;
        }
        merge(&mut self.message, delta)?;
        Ok(Progress::More)
    }

    pub(super) fn has_end(&self) -> bool {
        self.has_begun && self.finish_reason.is_some()
    }

    pub(super) fn whole(&mut self, answer: Value) -> Result<(), AnswerFault> {
        if let Some(fault) = told_fault(&answer) {
            return Err(fault);
        }
        self.usage = answer.get("usage").and_then(usage);
        self.finish_reason = finish_reason(&answer);
        match choice(answer, "message") {
            Some(Value::Object(message)) => {
                self.message = message;
                Ok(())
            }
            _ => Err(bad("it has no message at `/choices/0/message`")),
        }
    }

    pub(super) fn turn(self, mask: &Mask, from: &str, so_far: usize) -> Turn {
        let Self { mut message, calls: streamed, usage, finish_reason, .. } = self;
        if !streamed.0.is_empty() {
            message.insert("tool_calls".into(), streamed.into());
        }
        let finish_reason = finish_reason.map(|reason| short(&mask.text(&reason)));
        // What is null says nothing, and some of it may not be sent back.
        message.retain(|name, value| !value.is_null() || name == "content");
        message.insert("role".into(), "assistant".into());
        let mut calls = Vec::new();
        match message.get_mut("tool_calls") {
            Some(Value::Array(all)) if !all.is_empty() => {
                for (at, call) in all.iter_mut().enumerate() {
                    made_whole(call, &format!("call_{so_far}_{at}"));
                }
            }
            Some(_) => drop(message.remove("tool_calls")),
            None => {}
        }
        // Null is taken back only of a message that says something else.
        let says_more = ["tool_calls", "refusal"].iter().any(|name| message.contains_key(*name));
        let nothing = if says_more { Value::Null } else { "".into() };
        match message.get_mut("content") {
            Some(content) if content.is_null() => *content = nothing,
            Some(_) => {}
            None => drop(message.insert("content".into(), nothing)),
        }
        let mut message = mask.value(Value::Object(message));
        let all = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in all.into_iter().flatten() {
            let text = |at: &str| call.pointer(at).and_then(Value::as_str).unwrap_or_default();
            let (id, name) = (text("/id").to_owned(), text("/function/name").to_owned());
            let said = text("/function/arguments");
            let arguments = arguments(said, mask);
            if !said.trim().is_empty() {
                call["function"]["arguments"] = arguments.as_str().into();
            }
            calls.push(ModelCall { id, name, arguments });
        }
        let mut text = text_of(&message["content"]);
        if text.is_empty() {
            text = message.get("refusal").map(text_of).unwrap_or_default();
        }
        let kept = Kept { from: from.to_owned(), content: message.to_string() };
        let (text, kept) = without_secrets(&text, kept, mask);
        Turn { text, calls, usage, kept, finish_reason }
    }
}

fn finish_reason(answer: &Value) -> Option<String> {
    answer.pointer("/choices/0/finish_reason").and_then(Value::as_str).map(str::to_owned)
}

/// A member of the first choice of an answer or a chunk; another one was not asked for.
fn choice(mut answer: Value, name: &str) -> Option<Value> {
    let choices = answer.get_mut("choices")?.as_array_mut()?;
    let is_first =
        |choice: &&mut Value| choice.get("index").is_none_or(|at| at.as_u64() == Some(0));
    let choice = choices.iter_mut().find(is_first)?;
    choice.get_mut(name).map(Value::take)
}

/// A call as it may be sent back: the number of its place in the stream is none of it.
fn made_whole(call: &mut Value, id: &str) {
    let Some(call) = call.as_object_mut() else {
        *call = json!({"id": id, "type": "function", "function": {"name": "", "arguments": ""}});
        return;
    };
    call.shift_remove("index");
    if call.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
        call.insert("id".into(), id.into());
    }
    call.entry("type").or_insert_with(|| "function".into());
    let function = call.entry("function").or_insert_with(|| json!({}));
    if !function.is_object() {
        *function = json!({});
    }
    for name in ["name", "arguments"] {
        match &function[name] {
            Value::String(_) => {}
            Value::Null => function[name] = "".into(),
            // Some servers give the arguments as they are meant.
            other => function[name] = other.to_string().into(),
        }
    }
}

/// A text, or the texts of its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

/// Tokens that were read from a cache are among those of the prompt.
fn usage(said: &Value) -> Option<TokenCounts> {
    let count = |at: &str| said.pointer(at).and_then(Value::as_u64);
    let cache_read = count("/prompt_tokens_details/cached_tokens").unwrap_or(0);
    Some(TokenCounts {
        input: count("/prompt_tokens")?.saturating_sub(cache_read),
        output: count("/completion_tokens")?,
        cache_read,
        cache_write: 0,
    })
}

/// Members that name something, and are said again rather than continued.
const NAMES: [&str; 5] = ["format", "id", "index", "role", "type"];

/// Puts a piece of a message behind what came before: texts are joined, objects and lists are
/// continued member by member. The name of a function is replaced where it is said again.
pub(super) fn merge(
    into: &mut Map<String, Value>,
    piece: Map<String, Value>,
) -> Result<(), AnswerFault> {
    for (name, value) in piece {
        match (into.get_mut(&name), value) {
            (_, Value::Null) => {}
            (None | Some(Value::Null), Value::Array(list)) => {
                let mut all = Vec::new();
                merge_lists(&mut all, list)?;
                into.insert(name, all.into());
            }
            (None | Some(Value::Null), value) => drop(into.insert(name, value)),
            (Some(Value::String(text)), Value::String(more)) => match name.as_str() {
                "name" if more.is_empty() => {}
                "name" => *text = more,
                name if NAMES.contains(&name) && !text.is_empty() => {}
                _ => text.push_str(&more),
            },
            (Some(Value::Object(map)), Value::Object(more)) => merge(map, more)?,
            (Some(Value::Array(all)), Value::Array(list)) => merge_lists(all, list)?,
            // Some servers go over from text to a list of parts, or back.
            (Some(Value::Array(all)), Value::String(text)) => {
                merge_lists(all, text_part(&text).collect())?;
            }
            (Some(known @ Value::String(_)), Value::Array(list)) => {
                let mut all = text_part(known.as_str().unwrap_or_default()).collect();
                merge_lists(&mut all, list)?;
                *known = all.into();
            }
            (Some(other), value) => *other = value,
        }
    }
    Ok(())
}

fn text_part(text: &str) -> impl Iterator<Item = Value> {
    (!text.is_empty()).then(|| json!({"type": "text", "text": text})).into_iter()
}

/// Continues the parts of a list: those with the same `index` and `type`, and without an `index`
/// the last part, where both are words of one type.
fn merge_lists(all: &mut Vec<Value>, list: Vec<Value>) -> Result<(), AnswerFault> {
    let before = all.len();
    for piece in list {
        let index = piece.get("index").and_then(Value::as_u64);
        let same = |known: &Value| {
            known.get("index").and_then(Value::as_u64) == index
                && ["type", "id"].iter().all(|name| fits(known.get(*name), piece.get(*name)))
        };
        let known = match index {
            Some(_) => all.iter().rposition(same),
            None => before.checked_sub(1).filter(|at| {
                let last = &all[*at];
                is_words(last) && is_words(&piece) && same(last)
            }),
        };
        match (known.and_then(|at| all[at].as_object_mut()), piece) {
            (Some(known), Value::Object(piece)) => merge(known, piece)?,
            (_, piece) => {
                if all.len() >= PROVIDER_PARTS {
                    let why = format!("a list in it has more than {PROVIDER_PARTS} parts");
                    return Err(bad(&why));
                }
                all.push(piece);
            }
        }
    }
    Ok(())
}

/// Says if two names can belong to one part; one of them may be missing.
fn fits(known: Option<&Value>, said: Option<&Value>) -> bool {
    let name = |value: Option<&'_ Value>| value.filter(|it| !it.is_null()).cloned();
    name(known).is_none_or(|known| name(said).is_none_or(|said| said == known))
}

/// Says if a part holds only text, which later pieces may continue.
fn is_words(part: &Value) -> bool {
    let words = ["text", "thinking", "summary"];
    let is_known = |name: &String| NAMES.contains(&name.as_str()) || words.contains(&name.as_str());
    part.as_object().is_some_and(|part| part.keys().all(is_known))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ChatAnswer;
    use crate::base::Mask;
    use crate::base::event_stream::ServerEvent;
    use crate::thread::model::Turn;
    use crate::thread::model::answer::{AnswerFault, Progress};

    fn event(answer: &mut ChatAnswer, data: &str) -> Result<Progress, AnswerFault> {
        let event = ServerEvent { kind: String::new(), data: data.into() };
        answer.event(&event, &mut |_| ())
    }

    fn streamed(deltas: &[Value]) -> Turn {
        let mut answer = ChatAnswer::default();
        for delta in deltas {
            let chunk = json!({"choices": [{"index": 0, "delta": delta}], "usage": null});
            assert_eq!(event(&mut answer, &chunk.to_string()), Ok(Progress::More));
        }
        let usage = json!({"prompt_tokens": 9, "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 7}});
        let last = json!({"choices": [], "usage": usage}).to_string();
        assert_eq!(event(&mut answer, &last), Ok(Progress::More));
        assert_eq!(event(&mut answer, "[DONE]"), Ok(Progress::Done));
        answer.turn(&Mask::default(), "p", 3)
    }

    #[test]
    fn pieces_are_joined_and_what_is_unknown_comes_back_as_it_came() {
        let call = |index: u64, more: Value| {
            let mut call = json!({"index": index});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"tool_calls": [call]})
        };
        let turn = streamed(&[
            json!({"role": "assistant", "content": ""}),
            json!({"reasoning_content": "I th"}),
            json!({"reasoning_content": "ink.", "content": null}),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "a"}]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "b",
                "signature": "s=="}]}),
            json!({"content": "Hel"}),
            json!({"content": "lo"}),
            call(
                0,
                json!({"id": "c1", "type": "function", "function": {"name": "a", "arguments": ""}}),
            ),
            call(1, json!({"id": "c2", "type": "function", "function": {"name": "b"}})),
            call(0, json!({"function": {"arguments": "{\"x\""}})),
            call(0, json!({"id": "c1", "function": {"arguments": ":1}"}, "extra": {"sig": "q"}})),
        ]);
        assert_eq!(turn.text, "Hello");
        let calls: Vec<_> =
            turn.calls.iter().map(|it| (&*it.id, &*it.name, &*it.arguments)).collect();
        assert_eq!(calls, [("c1", "a", "{\"x\":1}"), ("c2", "b", "{}")]);
        let usage = turn.usage.unwrap();
        assert_eq!((usage.input, usage.output, usage.cache_read), (2, 4, 7));
        let kept: Value = serde_json::from_str(&turn.kept.unwrap().content).unwrap();
        let want = json!({
            "role": "assistant", "content": "Hello", "reasoning_content": "I think.",
            "reasoning_details":
                [{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s=="}],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{\"x\":1}"},
                    "extra": {"sig": "q"}},
                {"id": "c2", "type": "function", "function": {"name": "b", "arguments": ""}},
            ],
        });
        assert_eq!(kept, want);
    }

    #[test]
    fn parts_of_one_type_are_joined_and_others_are_told_apart() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let thought =
            |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]});
        let cite = |at: &str| json!({"type": "url_citation", "url_citation": {"url": at}});
        let of = |kind: &str, more: Value| {
            let mut part = json!({"type": format!("reasoning.{kind}"), "index": 0});
            part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"reasoning_details": [part]})
        };
        let mut deltas: Vec<Value> =
            (0..3_000).map(|_| json!({"content": [thought("w")]})).collect();
        deltas.extend([
            json!({"content": [text("Hel")]}),
            json!({"content": "lo"}),
            json!({"content": [text("!")], "annotations": [cite("a"), cite("b")]}),
            json!({"annotations": [cite("c")]}),
            of("text", json!({"text": "a"})),
            of("encrypted", json!({"data": "x=="})),
            of("text", json!({"text": "b"})),
        ]);
        let turn = streamed(&deltas);
        assert_eq!(turn.text, "Hello!");
        let kept: Value = serde_json::from_str(&turn.kept.unwrap().content).unwrap();
        assert_eq!(kept["content"], json!([thought(&"w".repeat(3_000)), text("Hello!")]));
        assert_eq!(kept["annotations"], json!([cite("a"), cite("b"), cite("c")]));
        let details = json!([{"type": "reasoning.text", "index": 0, "text": "ab"},
            {"type": "reasoning.encrypted", "index": 0, "data": "x=="}]);
        assert_eq!(kept["reasoning_details"], details);
        let turn = streamed(&[json!({"content": "Hel"}), json!({"content": [text("lo")]})]);
        assert_eq!(turn.text, "Hello");
    }

    #[test]
    fn a_secret_in_two_parts_or_spelled_with_escapes_is_masked() {
        let mask = Mask::new(["sk-canary"].into_iter());
        let turn = |content: Value| {
            let call = json!({"id": "c", "type": "function",
                "function": {"name": "a", "arguments": "{\"x\":\"\\u0073k-canary\"}"}});
            let message = json!({"content": content, "tool_calls": [call]});
            let mut answer = ChatAnswer::default();
            answer.whole(json!({"choices": [{"message": message}]})).unwrap();
            answer.turn(&mask, "p", 0)
        };
        let parts =
            json!([{"type": "text", "text": "is sk-"}, {"type": "text", "text": "canary."}]);
        let in_two = turn(parts);
        assert_eq!((in_two.text.as_str(), &in_two.kept), ("is ***.", &None));
        let escaped = turn("x".into());
        assert_eq!(escaped.calls[0].arguments, "{\"x\":\"***\"}");
        let kept: Value = serde_json::from_str(&escaped.kept.unwrap().content).unwrap();
        assert_eq!(kept["tool_calls"][0]["function"]["arguments"], "{\"x\":\"***\"}");
    }

    #[test]
    fn what_servers_leave_out_is_made_up_for() {
        let calls = json!([
            {"function": {"name": "a", "arguments": {"x": 1}}}, {"id": "", "function": null}, 7,
        ]);
        let mut answer = ChatAnswer::default();
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls,
            "audio": null});
        answer.whole(json!({"choices": [{"message": message}]})).unwrap();
        let turn = answer.turn(&Mask::default(), "p", 3);
        let calls: Vec<_> =
            turn.calls.iter().map(|it| (&*it.id, &*it.name, &*it.arguments)).collect();
        let want = [("call_3_0", "a", "{\"x\":1}"), ("call_3_1", "", "{}"), ("call_3_2", "", "{}")];
        assert_eq!(calls, want);
        assert_eq!((turn.text.as_str(), turn.usage), ("", None));
        assert!(!turn.kept.unwrap().content.contains("audio"));
        // A null is taken back beside calls or a refusal alone.
        let calls = json!([{"id": "1", "function": {"name": "a", "arguments": "{}"}}]);
        for (message, want) in [
            (json!({"content": null, "tool_calls": calls}), json!(null)),
            (json!({"tool_calls": calls}), json!(null)),
            (json!({"content": null, "refusal": "no"}), json!(null)),
            (json!({"content": null, "refusal": null, "tool_calls": []}), json!("")),
            (json!({"content": null, "reasoning": "hm"}), json!("")),
            (json!({}), json!("")),
            (json!({"content": "", "tool_calls": calls}), json!("")),
        ] {
            let mut answer = ChatAnswer::default();
            answer.whole(json!({"choices": [{"message": message}]})).unwrap();
            let kept = answer.turn(&Mask::default(), "p", 0).kept.unwrap().content;
            let kept: Value = serde_json::from_str(&kept).unwrap();
            assert_eq!(kept["content"], want, "{message}");
        }
        let mut parts = ChatAnswer::default();
        let content = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        parts.whole(json!({"choices": [{"message": {"content": content}}]})).unwrap();
        assert_eq!(parts.turn(&Mask::default(), "p", 0).text, "ab");
    }

    #[test]
    fn what_is_no_answer_is_told_apart_from_what_the_server_says_went_wrong() {
        let mut answer = ChatAnswer::default();
        assert!(matches!(event(&mut answer, "{"), Err(AnswerFault::Bad(_))));
        assert!(matches!(event(&mut answer, "[DONE]"), Err(AnswerFault::Bad(_))));
        let said = "{\"error\":{\"message\":\"busy\",\"type\":\"server_error\"}}";
        let told = AnswerFault::Told { kind: "server_error".into(), message: "busy".into() };
        assert_eq!(event(&mut answer, said), Err(told.clone()));
        assert_eq!(answer.whole(serde_json::from_str(said).unwrap()), Err(told));
        assert!(matches!(answer.whole(json!({"choices": []})), Err(AnswerFault::Bad(_))));
        let call = |index: u64| json!({"index": index, "function": {"name": "a"}});
        let many: Vec<Value> = (0..2_000).map(call).collect();
        let chunk = json!({"choices": [{"delta": {"tool_calls": many}}]}).to_string();
        assert!(matches!(event(&mut answer, &chunk), Err(AnswerFault::Bad(_))));
    }

    #[test]
    fn a_key_is_in_no_part_of_a_turn() {
        let turn = {
            let mut answer = ChatAnswer::default();
            let function = json!({"name": "a", "arguments": "{\"k\":\"sk-secret\"}"});
            let message = json!({"content": "is sk-secret", "reasoning": "sk-secret",
                "tool_calls": [{"id": "1", "type": "function", "function": function}]});
            answer.whole(json!({"choices": [{"message": message}]})).unwrap();
            answer.turn(&Mask::new(["sk-secret"].into_iter()), "p", 0)
        };
        assert!(!format!("{turn:?}").contains("secret"), "{turn:?}");
        assert_eq!(
            (turn.text.as_str(), turn.calls[0].arguments.as_str()),
            ("is ***", "{\"k\":\"***\"}")
        );
    }
}
