//! Help texts for clients: calls of its tools instead of commands that a person types.

use serde_json::Value;

/// Replaces commands that a person types by calls, in the help of an answer or of a failure.
pub(super) fn for_a_client(told: &mut Value) {
    if let Value::String(help) = told {
        *help = with_calls(help);
    }
}

/// As [`for_a_client`], for one text, in which each command stands between two backticks.
fn with_calls(help: &str) -> String {
    let parts: Vec<&str> = help.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return help.to_owned();
    }
    let told = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => (*part).to_owned(),
        _ => called(part),
    });
    told.collect()
}

/// The call or argument for a command that a person types. No call resumes a thread, so for that
/// the answer names the terminal.
fn called(typed: &str) -> String {
    let words: Vec<&str> = typed.split(' ').collect();
    match *words {
        ["rye", "thread", action @ ("list" | "show" | "wait" | "cancel")] => {
            format!("`rye_thread` with `action: {action}`")
        }
        ["rye", "thread", action @ ("show" | "wait" | "cancel"), id] => {
            format!("`rye_thread` with `action: {action}` and `thread_id: {id}`")
        }
        ["rye", "thread", "resume" | "kill", ..] => format!("`{typed}` in a terminal"),
        ["rye", "execute"] => "`rye_execute`".into(),
        ["--async"] => "`async: true`".into(),
        ["--dry-run"] => "`dry_run: true`".into(),
        ["--thread", thread] => format!("`thread: {thread}`"),
        ["--model"] => "`model`".into(),
        ["--limit"] => "`limit_overrides`".into(),
        ["--limit", said] => {
            let (name, value) = said.split_once('=').unwrap_or((said, "…"));
            let value = match value.parse::<f64>() {
                Ok(_) => value.to_owned(),
                Err(_) => format!("\"{value}\""),
            };
            format!("`limit_overrides: {{\"{name}\": {value}}}`")
        }
        _ => format!("`{typed}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::with_calls;

    #[test]
    fn what_a_person_types_is_told_as_what_a_client_calls_table() {
        for (typed, called) in [
            ("`rye thread list` shows", "`rye_thread` with `action: list` shows"),
            (
                "end it with `rye thread cancel a/b-1`",
                "end it with `rye_thread` with `action: cancel` and `thread_id: a/b-1`",
            ),
            (
                "`rye thread resume a/b-1 --limit turns=…`, or",
                "`rye thread resume a/b-1 --limit turns=…` in a terminal, or",
            ),
            ("give it as `--limit spend=2.50`", "give it as `limit_overrides: {\"spend\": 2.50}`"),
            (
                "give it as `--limit duration=10m`",
                "give it as `limit_overrides: {\"duration\": \"10m\"}`",
            ),
            (
                "use `--thread fork` with `--async`, or drop `--async`",
                "use `thread: fork` with `async: true`, or drop `async: true`",
            ),
            ("with `--limit`, or `--model`", "with `limit_overrides`, or `model`"),
            ("again with `rye execute`", "again with `rye_execute`"),
            ("see `rye doctor`", "see `rye doctor`"),
            ("rye thread list", "rye thread list"),
            ("odd ` is `rye thread list`", "odd ` is `rye thread list`"),
        ] {
            assert_eq!(with_calls(typed), called);
        }
    }
}
