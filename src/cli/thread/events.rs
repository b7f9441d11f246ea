//! The rows of a thread's events that are shown to a person.

use serde_json::Value;

use crate::base::money;
use crate::base::text::{counted, escape_line};
use crate::parse::kept_json;
use crate::thread::{USAGE_IS_RESERVED, is_broken_off};

/// The label of what a model said.
pub(super) const SAID: &str = "said";
/// The label of what a turn took.
pub(super) const COST: &str = "cost";

/// How much of what was said is shown; a line of a terminal has 80 columns.
const SHOWN: usize = 68;

/// A text, as far as it fits one line.
pub(super) fn one_line(said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().take(SHOWN).collect();
    let line = escape_line(&words.join(" "));
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The rows that are shown of an event: a label, of at most eight characters, and a text, which is
/// foreign.
pub(super) fn brief(event: &Value) -> Vec<(&'static str, String)> {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let rows = match event["event"].as_str().unwrap_or_default() {
        "thread_started" => vec![("began", text("item_id"))],
        "provider_failed" => vec![("failed", text("error")), (COST, cost(event))],
        "cognition_in" => vec![("system", text("system")), ("told", text("user"))],
        "cognition_replaced" => {
            vec![("replaced", format!("hooks changed what is asked: {}", text("blob")))]
        }
        "cognition_withheld" => {
            vec![
                ("withheld", "a hook let nothing of the answer through".into()),
                (COST, cost(event)),
            ]
        }
        "cognition_out" => {
            vec![(SAID, text("content")), ("broken off", broken_off(event)), (COST, cost(event))]
        }
        "tool_call_start" => call(event),
        "tool_call_result" => vec![(result_label(event), text("content"))],
        "hook" => vec![("hook", hook(event))],
        "eval" => vec![("eval", eval(event))],
        "thread_waiting" => vec![("waits", format!("{}: {}", text("item_id"), text("message")))],
        "thread_resumed" => vec![("resumed", stood(&text("from")))],
        "thread_ended" => vec![("end", text("status")), ("instead", text("result"))],
        _ => Vec::new(),
    };
    rows.into_iter().filter(|(_, said)| !said.is_empty()).collect()
}

/// How a thread stood that went on.
fn stood(status: &str) -> String {
    match status {
        "" => String::new(),
        "failed" => "it had failed".into(),
        status => format!("it was {status}"),
    }
}

/// A failure as it is shown where it happens.
pub(super) fn failure_text(failure: &Value) -> String {
    let text = |key: &str| escape_line(failure[key].as_str().unwrap_or_default());
    let help = match failure["help"].as_str() {
        Some(help) => format!("\n  help: {}", escape_line(help)),
        None => String::new(),
    };
    format!("error[{}]: {}{help}", text("code"), text("error"))
}

/// A call; the code of a snippet stands by itself.
fn call(event: &Value) -> Vec<(&'static str, String)> {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let (name, arguments) = (text("name"), text("arguments"));
    let mut given = kept_json(arguments.as_bytes()).unwrap_or_default();
    match given.as_object_mut().and_then(|given| given.shift_remove("code")) {
        Some(Value::String(code)) if name == "rye_code" => {
            vec![("call", format!("{name} {given}")), ("code", code)]
        }
        _ => vec![("call", format!("{name} {arguments}"))],
    }
}

/// Why an answer was cut or withheld, in its provider's word.
fn broken_off(event: &Value) -> String {
    let reason = event["finish_reason"].as_str().filter(|reason| is_broken_off(reason));
    reason.map(escape_line).unwrap_or_default()
}

/// A call that was not carried out is told apart from one that gave something.
fn result_label(event: &Value) -> &'static str {
    let content = event["content"].as_str().and_then(|text| kept_json(text.as_bytes()));
    let content = content.unwrap_or_default();
    match (&content["ok"], content["error_kind"].as_str()) {
        (Value::Bool(false), Some("permission_denied" | "blocked_by_hook")) => "denied",
        _ => "gave",
    }
}

/// The verdict of a hook, or that it replaced something.
fn hook(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let (item, phase) = (text("item_id"), text("phase"));
    let said = match (event["verdict"].as_str(), text("reason")) {
        (Some(verdict), "") => verdict.to_owned(),
        (Some(verdict), reason) => format!("{verdict}: {reason}"),
        (None, _) if !event["is_sha256"].is_null() => "replaced what it was shown".to_owned(),
        (None, _) => event["metadata"].to_string(),
    };
    format!("{item} {phase} {said}")
}

/// The score of an eval, or why there is none.
fn eval(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let said = match (event["passed"].as_bool(), event["code"].as_str()) {
        (_, Some(code)) => format!("gave no score: {code}"),
        (Some(true), None) => format!("{}, passed", event["score"]),
        (Some(false), None) => format!("{}, did not pass", event["score"]),
        (None, None) => event["score"].to_string(),
    };
    format!("{} {} {said}", text("item_id"), text("mode"))
}

/// The cost of one answer.
fn cost(event: &Value) -> String {
    let Some(usage) = event["usage"].as_object() else { return String::new() };
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
    let cached = count("cache_read_tokens").saturating_add(count("cache_write_tokens"));
    let cached = if cached > 0 { format!(", {cached} cached") } else { String::new() };
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let spend = money::shown(event["spend_micros"].as_u64().unwrap_or_default());
    let reserved = event[USAGE_IS_RESERVED] == true;
    let reserved = if reserved { ", booked as reserved" } else { "" };
    let input = counted(input, "token");
    format!("{input} in, {output} out{cached}, {spend} USD{reserved}")
}
