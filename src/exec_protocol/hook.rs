//! The envelopes that hooks are sent, and the meaning of their answers (exec-protocol 6). Anything
//! that is not an answer denies.

use serde_json::{Map, Value, json};

use crate::parse::{Hook, Phase};

/// The envelope for a hook, with the parts of this phase.
pub(crate) fn envelope(
    hook: &Hook,
    phase: Phase,
    parts: &[(&str, &Map<String, Value>)],
) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("hook".into(), hook.kind.name().into());
    out.insert("phase".into(), phase.name().into());
    for (name, part) in parts {
        let mut part = (*part).clone();
        if hook.is_promptkit {
            let other: Vec<_> =
                part.iter().map(|(key, value)| (go_name(key), value.clone())).collect();
            part.extend(other);
        }
        out.insert((*name).to_owned(), part.into());
    }
    out
}

/// `call_id` as `CallID`.
fn go_name(key: &str) -> String {
    let word = |word: &str| match word {
        "id" => "ID".to_owned(),
        word => {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
    };
    key.split('_').map(word).collect()
}

/// The verdict of a hook that filters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookVerdict {
    Allow {
        metadata: Value,
        /// The replacement for what it was shown.
        replace: Option<Map<String, Value>>,
    },
    Deny {
        reason: String,
        /// The hook has dealt with it already.
        enforced: bool,
        metadata: Value,
    },
}

/// # Errors
/// One clause that says why the answer is none; it denies.
pub(crate) fn verdict(answer: &Value, hook: &Hook) -> Result<HookVerdict, String> {
    const KEYS: [&str; 5] = ["allow", "reason", "enforced", "metadata", "replace"];
    let answer = answer.as_object().ok_or("its answer is not a JSON object")?;
    if let Some(key) = answer.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("its answer holds `{}`, which has no meaning", key.escape_debug()));
    }
    let allow = match answer.get("allow") {
        Some(Value::Bool(allow)) => *allow,
        Some(_) => return Err("`allow` is neither true nor false".into()),
        None => return Err("its answer has no `allow`".into()),
    };
    let there = |key: &str| answer.get(key).filter(|value| !value.is_null());
    let reason = match there("reason") {
        None => String::new(),
        Some(Value::String(reason)) => reason.clone(),
        Some(_) => return Err("`reason` is not text".into()),
    };
    let enforced = match there("enforced") {
        None => false,
        Some(Value::Bool(enforced)) => *enforced,
        Some(_) => return Err("`enforced` is neither true nor false".into()),
    };
    let metadata = match there("metadata") {
        None => json!({}),
        Some(metadata @ Value::Object(_)) => metadata.clone(),
        Some(_) => return Err("`metadata` is not an object".into()),
    };
    let replace = match there("replace") {
        None => None,
        Some(Value::Object(_)) if !hook.replaces => {
            return Err("it replaces, and its item does not say `replaces: true`".into());
        }
        Some(Value::Object(replace)) => Some(replace.clone()),
        Some(_) => return Err("`replace` is not an object".into()),
    };
    match allow {
        true if enforced => Err("it allows what it says it has dealt with".into()),
        true => Ok(HookVerdict::Allow { metadata, replace }),
        false if replace.is_some() => Err("it denies and replaces".into()),
        false => Ok(HookVerdict::Deny { reason, enforced, metadata }),
    }
}

#[cfg(test)]
mod tests {
    use super::{HookVerdict, envelope, verdict};
    use crate::parse::{Hook, hook_of};
    use serde_json::{Value, json};

    fn hook(more: &str) -> Hook {
        let text = format!(
            "tool_type: hook\nhook: tool\nphases: [before_execution]\nexec: {{command: ./x, files: [x]}}\n{more}"
        );
        hook_of(&text)
    }

    #[test]
    fn the_answers_that_decide() {
        let allow = |replace: Option<Value>| {
            Ok(HookVerdict::Allow {
                metadata: json!({}),
                replace: replace.map(|it| it.as_object().unwrap().clone()),
            })
        };
        let deny = |reason: &str, enforced| {
            Ok(HookVerdict::Deny { reason: reason.into(), enforced, metadata: json!({}) })
        };
        let replaces = hook("replaces: true");
        for (answer, want) in [
            (json!({"allow": true}), allow(None)),
            (json!({"allow": true, "reason": "fine", "enforced": false}), allow(None)),
            (json!({"allow": true, "replace": null}), allow(None)),
            (json!({"allow": true, "replace": {"args": {}}}), allow(Some(json!({"args": {}})))),
            (json!({"allow": false}), deny("", false)),
            (json!({"allow": false, "reason": "no"}), deny("no", false)),
            (json!({"allow": false, "enforced": true}), deny("", true)),
        ] {
            assert_eq!(verdict(&answer, &replaces), want, "{answer}");
        }
        let with = verdict(&json!({"allow": true, "metadata": {"a": 1}}), &replaces);
        assert_eq!(with, Ok(HookVerdict::Allow { metadata: json!({"a": 1}), replace: None }));
    }

    #[test]
    fn f07_everything_else_denies() {
        let plain = hook("");
        for answer in [
            json!(null),
            json!(true),
            json!("allow"),
            json!(1),
            json!([]),
            json!([{"allow": true}]),
            json!({}),
            json!({"Allow": true}),
            json!({"ALLOW": true}),
            json!({"allowed": true}),
            json!({"allow": "true"}),
            json!({"allow": "yes"}),
            json!({"allow": "false"}),
            json!({"allow": 1}),
            json!({"allow": null}),
            json!({"allow": [true]}),
            json!({"allow": {"allow": true}}),
            json!({"decision": "approve"}),
            json!({"decision": "block"}),
            json!({"allow": true, "decision": "block"}),
            json!({"allow": true, "Allow": false}),
            json!({"allow": true, "error": "x"}),
            json!({"allow": true, "pending": {}}),
            json!({"result": {"allow": true}}),
            json!({"ack": true}),
            json!({"allow": true, "reason": 1}),
            json!({"allow": true, "enforced": true}),
            json!({"allow": true, "enforced": "no"}),
            json!({"allow": true, "metadata": []}),
            json!({"allow": true, "metadata": "x"}),
            json!({"allow": true, "replace": {"args": {}}}),
            json!({"allow": true, "replace": "x"}),
            json!({"allow": false, "replace": {"args": {}}}),
            json!({"deny": false}),
        ] {
            let got = verdict(&answer, &plain);
            assert!(!matches!(got, Ok(HookVerdict::Allow { .. })), "{answer}: {got:?}");
        }
    }

    #[test]
    fn promptkit_scripts_read_either_spelling() {
        let part = json!({"name": "x", "call_id": "c", "latency_ms": 1});
        let part = part.as_object().unwrap();
        let phase = crate::parse::Phase::BeforeExecution;
        let plain = envelope(&hook(""), phase, &[("request", part)]);
        assert_eq!(
            Value::from(plain),
            json!({"hook": "tool", "phase": "before_execution", "request": part})
        );
        let both = envelope(&hook("compat: promptkit"), phase, &[("request", part)]);
        assert_eq!(
            both["request"],
            json!({"name": "x", "call_id": "c", "latency_ms": 1, "Name": "x", "CallID": "c",
                "LatencyMs": 1})
        );
    }
}
