//! Reading an answer as it comes, whatever its shape.

use serde_json::Value;

use super::Turn;
use super::anthropic::MessageAnswer;
use super::openai::ChatAnswer;
use crate::base::Mask;
use crate::base::event_stream::ServerEvent;
use crate::base::limits::MESSAGE_CHARS;
use crate::parse::{ChatShape, json as read_json};

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerFault {
    /// It is not of its shape, for this reason.
    Bad(String),
    /// It says itself what went wrong.
    Told { kind: String, message: String },
}

/// Groq's code, with status 400, for a call of its model that cannot be read. Others of its codes
/// say so by the member `failed_generation`.
pub(super) const TOOL_USE_FAILED: &str = "tool_use_failed";

/// The state of an answer that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Done,
}

/// An answer as far as it came.
#[derive(Debug)]
pub(super) enum Answer {
    OpenAi(ChatAnswer),
    Anthropic(MessageAnswer),
}

impl Answer {
    pub(super) fn new(shape: ChatShape) -> Self {
        match shape {
            ChatShape::OpenAi { .. } => Self::OpenAi(ChatAnswer::default()),
            ChatShape::Anthropic => Self::Anthropic(MessageAnswer::default()),
        }
    }

    /// Takes the next piece of a stream; `told` hears what of the text is in it.
    pub(super) fn event(
        &mut self,
        event: &ServerEvent,
        told: &mut dyn FnMut(&str),
    ) -> Result<Progress, AnswerFault> {
        match self {
            Self::OpenAi(answer) => answer.event(event, told),
            Self::Anthropic(answer) => answer.event(event, told),
        }
    }

    /// Takes an answer that came in one piece.
    pub(super) fn whole(&mut self, body: &[u8]) -> Result<(), AnswerFault> {
        let text = std::str::from_utf8(body).map_err(|_| bad("it is not UTF-8"))?;
        let answer = parsed(text)?;
        match self {
            Self::OpenAi(own) => own.whole(answer),
            Self::Anthropic(own) => own.whole(answer),
        }
    }

    /// Its model said that it is at the end. Some servers send nothing behind that.
    pub(super) fn has_end(&self) -> bool {
        match self {
            Self::OpenAi(answer) => answer.has_end(),
            Self::Anthropic(_) => false,
        }
    }

    /// The turn that it is, without secrets. `so_far` is how many messages came before it.
    pub(super) fn turn(self, mask: &Mask, from: &str, so_far: usize) -> Turn {
        match self {
            Self::OpenAi(answer) => answer.turn(mask, from, so_far),
            Self::Anthropic(answer) => answer.turn(mask, from, so_far),
        }
    }
}

pub(super) fn bad(why: &str) -> AnswerFault {
    AnswerFault::Bad(why.to_owned())
}

/// The JSON of an answer or of one of its events.
pub(super) fn parsed(text: &str) -> Result<Value, AnswerFault> {
    read_json(text).map_err(|fault| AnswerFault::Bad(fault.why))
}

/// The fault that a message reports, if it reports one.
pub(super) fn told_fault(message: &Value) -> Option<AnswerFault> {
    let error = message.get("error").filter(|error| !error.is_null())?;
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let code = match error.get("failed_generation") {
        Some(_) => TOOL_USE_FAILED.to_owned(),
        None => text("code"),
    };
    let kind = Some(text("type")).filter(|kind| !kind.is_empty() && code != TOOL_USE_FAILED);
    let kind = kind.unwrap_or(code);
    // Some say a status, as a number.
    let status = || error.get("code").and_then(Value::as_u64).map(|status| status.to_string());
    let kind = if kind.is_empty() { status().unwrap_or_default() } else { kind };
    let message = error.as_str().map_or_else(|| text("message"), str::to_owned);
    Some(AnswerFault::Told { kind, message })
}

/// A provider's own word for what went wrong, and its message, short and without secrets.
pub(super) fn words(body: &[u8], is_cut: bool, mask: &Mask) -> (String, String) {
    let body = String::from_utf8_lossy(&mask.bytes(body, is_cut)).into_owned();
    let read = read_json(&body).ok();
    let (kind, told) = match read.as_ref().and_then(told_fault) {
        Some(AnswerFault::Told { kind, message }) => {
            (kind, Some(message).filter(|message| !message.is_empty()))
        }
        _ => (String::new(), None),
    };
    let known = || {
        let read = read.as_ref()?;
        ["message", "detail"].into_iter().find_map(|key| read.get(key)?.as_str()).map(str::to_owned)
    };
    // An escape in JSON may have hidden a part of a secret from the first look.
    (kind, short(&mask.words(&told.or_else(known).unwrap_or(body))))
}

/// Words that fit into a message.
pub(super) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::words;
    use crate::base::Mask;

    #[test]
    fn the_words_of_a_provider_are_found_short_and_without_the_key() {
        let mask = Mask::new(["sk-secret"].into_iter());
        let rows = [
            ("{\"error\":{\"message\":\"bad key sk-secret\",\"type\":\"x\"}}", "bad key ***"),
            ("{\"type\":\"error\",\"error\":{\"type\":\"a\",\"message\":\"no\"}}", "no"),
            ("{\"error\":\"model 'x' not found\"}", "model 'x' not found"),
            ("{\"error\":{\"message\":\"is sk\\u002dsecret\"}}", "is ***"),
            ("{\"detail\":[\"is sk\\u002dsecret\"]}", "{\"detail\":[\"is ***\"]}"),
            ("{\"x\":\"is sk\\\\u002dsecret", "{\"x\":\"is ***"),
            ("{\"detail\":\"Not Found\"}", "Not Found"),
            ("<html>\n  <b>502</b></html>", "<html> <b>502</b></html>"),
            ("", ""),
        ];
        for (body, want) in rows {
            assert_eq!(words(body.as_bytes(), false, &mask).1, want, "{body}");
        }
        assert_eq!(words(b"is sk-sec", true, &mask).1, "is ***", "the end was cut off");
        assert_eq!(words("y".repeat(9_000).as_bytes(), false, &mask).1.chars().count(), 401);
    }
}
