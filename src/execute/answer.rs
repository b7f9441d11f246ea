//! The meaning of an HTTP answer for a tool (core 7.12): the body if it is JSON, else status,
//! headers and body.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::outcome::{HttpMetadata, Outcome, ToolFailure, reported_error, tail};
use crate::base::Mask;
use crate::host::{Accesses, HttpAnswer, NewRepositories};
use crate::parse::json;

/// A status from 400 on, and `{"success": false, …}`, are a failure of the tool. What is told of a
/// failure holds no value of a declared secret, also where the server gave it back.
pub(super) fn outcome(
    answer: &HttpAnswer,
    mask: &Mask,
    attempts: u32,
    duration: Duration,
) -> Outcome {
    let text = std::str::from_utf8(&answer.body).ok();
    let value: Option<Value> = text.filter(|_| !answer.truncated).and_then(|text| json(text).ok());
    let reported = value.as_ref().and_then(|value| reported_error(value, mask));
    let failed = answer.status >= 400 || reported.is_some();
    let failure = failed.then(|| ToolFailure {
        message: reported.unwrap_or_else(|| status_text(answer.status)),
        tail: tail(&String::from_utf8_lossy(&mask.bytes(&answer.body, answer.truncated))),
        of: "body_tail",
    });
    let is_whole_json = value.is_some();
    let data = value.unwrap_or_else(|| wrapped(answer));
    Outcome {
        data: if failed { mask.value(data) } else { data },
        exit_code: None,
        signal: None,
        duration,
        max_rss_kib: 0,
        truncated: answer.truncated,
        wrote: None,
        failure,
        pending: None,
        http: Some(HttpMetadata { status: answer.status, attempts, is_wrapped: !is_whole_json }),
        snippet: None,
        accesses: Accesses::default(),
        traffic: None,
        new_repositories: NewRepositories::default(),
    }
}

/// `{"status", "headers", "body"}`; bytes that are no UTF-8 in base64, which `encoding` says.
fn wrapped(answer: &HttpAnswer) -> Value {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in &answer.headers {
        let value = Value::from(String::from_utf8_lossy(value));
        match headers.get_mut(name) {
            None => drop(headers.insert(name.clone(), value)),
            Some(Value::Array(several)) => several.push(value),
            Some(one) => *one = json!([one.take(), value]),
        }
    }
    let mut out = json!({"status": answer.status, "headers": headers});
    let whole = match std::str::from_utf8(&answer.body) {
        Ok(text) => Some(text),
        // The cap may have cut a character in two.
        Err(error) if answer.truncated && error.error_len().is_none() => {
            std::str::from_utf8(&answer.body[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    match whole {
        Some(text) => out["body"] = text.into(),
        None => {
            out["body"] = STANDARD.encode(&answer.body).into();
            out["encoding"] = "base64".into();
        }
    }
    out
}

fn status_text(status: u16) -> String {
    let reason = match status {
        400 => " Bad Request",
        401 => " Unauthorized",
        403 => " Forbidden",
        404 => " Not Found",
        405 => " Method Not Allowed",
        409 => " Conflict",
        410 => " Gone",
        422 => " Unprocessable Content",
        429 => " Too Many Requests",
        500 => " Internal Server Error",
        502 => " Bad Gateway",
        503 => " Service Unavailable",
        504 => " Gateway Timeout",
        _ => "",
    };
    format!("the server answered {status}{reason}")
}
