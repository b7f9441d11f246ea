//! The requests of the protocol, and the reading of answers (exec-protocol 2).

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::base::limits::{MESSAGE_NODES, SHOWN_BYTES};
use crate::base::value_count::has_more_values;
use crate::execute::{Mask, Outcome, Pending, ProtocolFault, ToolFailure};
use crate::host::{Accesses, NewRepositories};
use crate::parse::json;

/// Longest text of a request to a person, in bytes: it is read on a screen.
const PENDING_TEXT_BYTES: usize = 16 << 10;

/// The request: the parameters, a JSON object as text, as they are or below `args`, beside what a
/// person said to them.
pub(super) fn request(params: &[u8], below_args: bool, approval: Option<&Value>) -> String {
    let params = String::from_utf8_lossy(params);
    match (below_args, approval) {
        (false, _) => params.into_owned(),
        (true, None) => format!("{{\"args\":{params}}}"),
        (true, Some(approval)) => format!("{{\"args\":{params},\"approval\":{approval}}}"),
    }
}

/// A request as a program that runs once reads it: one line.
pub(super) fn one_line(request: String) -> Vec<u8> {
    let mut line = request.into_bytes();
    line.push(b'\n');
    line
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Result(Value),
    /// The text of the error, and the whole answer.
    Error(String, Value),
    Pending(Pending),
}

/// Reads a message of a program, of a bounded number of values.
///
/// # Errors
/// One sentence.
pub(crate) fn message(text: &str) -> Result<Value, String> {
    if has_more_values(text.as_bytes(), MESSAGE_NODES) {
        return Err(format!("it holds more than {MESSAGE_NODES} values"));
    }
    json(text).map_err(|fault| fault.why)
}

/// The answer of a program that ran once: one JSON object and nothing else.
pub(super) fn one_object(bytes: &[u8], mask: &Mask) -> Result<Map<String, Value>, ProtocolFault> {
    let bad = |why: &str| ProtocolFault::BadResponse { why: why.into(), shown: shown(bytes, mask) };
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    match message(text).map_err(|why| bad(&why))? {
        Value::Object(map) => Ok(map),
        _ => Err(bad("it is not a JSON object")),
    }
}

/// `error` beats `pending` beats `result`; an object with none of them is the result itself.
pub(super) fn answer(mut map: Map<String, Value>) -> Result<Answer, &'static str> {
    let is_there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    match map.get("error").filter(is_there) {
        None => {}
        Some(error) => {
            let text = error.as_str().or_else(|| error.get("message")?.as_str());
            let text = text.ok_or("`error` is neither a text nor an object with a `message`")?;
            return Ok(Answer::Error(text.to_owned(), Value::Object(map)));
        }
    }
    if let Some(pending) = pending(&map)? {
        return Ok(Answer::Pending(pending));
    }
    Ok(Answer::Result(match map.remove("result") {
        Some(result) => result,
        None => Value::Object(map),
    }))
}

/// The request to a person that an object holds.
pub(super) fn pending(map: &Map<String, Value>) -> Result<Option<Pending>, &'static str> {
    let Some(pending) = map.get("pending").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let pending = pending.as_object().ok_or("`pending` is not an object")?;
    let text = |key: &str| match pending.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) if text.len() <= PENDING_TEXT_BYTES => Ok(text.clone()),
        Some(Value::String(_)) => Err("a text of `pending` is too long"),
        Some(_) => Err("`pending` holds something that is not text"),
    };
    Ok(Some(Pending { reason: text("reason")?, message: text("message")?, kept_as: None }))
}

/// The first bytes of something, without secrets, escaped.
pub(super) fn shown(bytes: &[u8], mask: &Mask) -> String {
    let begin = &bytes[..bytes.len().min(4 * SHOWN_BYTES)];
    let begin = mask.bytes(begin, begin.len() < bytes.len());
    begin[..begin.len().min(SHOWN_BYTES)].escape_ascii().to_string()
}

/// Stands for an error without a word.
const MUTE: &str = "it failed and did not say why";

/// An answer as the outcome of a run; what is told of a failure holds no secret.
pub(crate) fn outcome(answer: Answer, mask: &Mask, tail: String, duration: Duration) -> Outcome {
    let (data, failure, pending) = match answer {
        Answer::Result(data) => (data, None, None),
        Answer::Error(message, data) => {
            let is_mute = message.trim().is_empty();
            let message = if is_mute { MUTE.to_owned() } else { mask.words(&message) };
            (mask.value(data), Some(ToolFailure { message, tail, of: "stderr_tail" }), None)
        }
        Answer::Pending(Pending { reason, message, kept_as }) => {
            let (reason, message) = (mask.words(&reason), mask.words(&message));
            let pending = Pending { reason, message, kept_as };
            (json!(null), None, Some(pending))
        }
    };
    Outcome {
        data,
        exit_code: None,
        signal: None,
        duration,
        max_rss_kib: 0,
        truncated: false,
        wrote: None,
        failure,
        pending,
        http: None,
        snippet: None,
        accesses: Accesses::default(),
        traffic: None,
        new_repositories: NewRepositories::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer, one_object, outcome, request};
    use crate::execute::{Mask, Pending, ProtocolFault};
    use serde_json::json;
    use std::time::Duration;

    fn none() -> Mask {
        Mask::new(std::iter::empty())
    }

    #[test]
    fn a_request_is_the_parameters_to_the_digit() {
        let params = "{\"n\":123456789012345678901234567890.10}";
        assert_eq!(request(params.as_bytes(), true, None), format!("{{\"args\":{params}}}"));
        assert_eq!(request(params.as_bytes(), false, None), params);
    }

    #[test]
    fn error_beats_pending_beats_result() {
        let error = |text: &str, value| Ok(Answer::Error(text.into(), value));
        let pending = |reason: &str, message: &str| {
            Ok(Answer::Pending(Pending {
                reason: reason.into(),
                message: message.into(),
                kept_as: None,
            }))
        };
        for (text, want) in [
            ("{\"result\":1}", Ok(Answer::Result(json!(1)))),
            ("{\"result\":null}", Ok(Answer::Result(json!(null)))),
            ("{\"result\":1,\"error\":null}", Ok(Answer::Result(json!(1)))),
            ("{\"result\":1,\"error\":\"\"}", Ok(Answer::Result(json!(1)))),
            ("{}", Ok(Answer::Result(json!({})))),
            ("{\"a\":1}", Ok(Answer::Result(json!({"a": 1})))),
            ("{\"error\":\"no\"}", error("no", json!({"error": "no"}))),
            (
                "{\"error\":{\"message\":\"no\"},\"result\":1,\"pending\":{}}",
                error("no", json!({"error": {"message": "no"}, "result": 1, "pending": {}})),
            ),
            ("{\"pending\":{}}", pending("", "")),
            ("{\"pending\":{\"reason\":\"r\",\"message\":\"m\"},\"result\":1}", pending("r", "m")),
            ("{\"pending\":null,\"result\":1}", Ok(Answer::Result(json!(1)))),
        ] {
            assert_eq!(answer(one_object(text.as_bytes(), &none()).unwrap()), want, "{text}");
        }
        for text in [
            "{\"error\":{}}",
            "{\"error\":1}",
            "{\"error\":false,\"result\":1}",
            "{\"error\":{\"message\":1}}",
            "{\"pending\":true}",
            "{\"pending\":\"\",\"result\":1}",
            "{\"pending\":{\"reason\":1}}",
        ] {
            assert!(answer(one_object(text.as_bytes(), &none()).unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_without_a_word_is_told_as_one() {
        let told = |text: &str| {
            let answer = answer(one_object(text.as_bytes(), &none()).unwrap()).unwrap();
            let outcome = outcome(answer, &none(), String::new(), Duration::ZERO);
            outcome.failure.unwrap().message
        };
        assert_eq!(told("{\"error\":\" no\"}"), " no");
        for text in ["{\"error\":\" \"}", "{\"error\":{\"message\":\"\"}}"] {
            assert_eq!(told(text), "it failed and did not say why", "{text}");
        }
    }

    #[test]
    fn what_is_not_one_object_is_no_answer() {
        let two: &[u8] = b"{}{}";
        for bytes in
            [two, b"[]", b"1", b"null", b"{", b"{} x", b"x{}", b"\xff", b"{\"a\":1,\"a\":2}"]
        {
            let fault = one_object(bytes, &none()).unwrap_err();
            let ProtocolFault::BadResponse { shown, .. } = fault else { panic!("{fault:?}") };
            assert_eq!(shown, bytes.escape_ascii().to_string());
        }
        assert!(one_object(b" {\"result\": 12345678901234567890.5}\n", &none()).is_ok());
    }
}
