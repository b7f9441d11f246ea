//! The differences between the plan that was approved and the plan of now.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::base::text::escape_line;

/// Longest value that the text form shows, in characters; the JSON form shows all of it.
const SHOWN: usize = 200;

/// One place of a plan that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PlanDifference {
    /// A JSON pointer into the plan.
    pub(crate) path: String,
    /// The item that the place is about, where it is one link's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<String>,
    /// `None` for what was not there.
    pub(crate) was: Option<Value>,
    pub(crate) is: Option<Value>,
}

/// Everything that differs, in the order of `was`.
pub(in crate::plan) fn differences(was: &Value, is: &Value) -> Vec<PlanDifference> {
    let mut found = Vec::new();
    compare("", Some(was), Some(is), &mut found);
    for difference in &mut found {
        let row = difference.path.strip_prefix("/digests/").and_then(|rest| rest.split('/').next());
        let link = row.and_then(|row| was.get("digests")?.get(row.parse::<usize>().ok()?));
        difference.item = link.and_then(|link| link.get("item")?.as_str().map(str::to_owned));
    }
    found
}

/// Returns true if only the given parameters differ.
pub(in crate::plan) fn of_params_alone(differences: &[PlanDifference]) -> bool {
    differences.iter().all(|difference| difference.path == "/params_sha256")
}

/// The differences for a person, a line each.
pub(in crate::plan) fn difference_lines(differences: &[PlanDifference]) -> String {
    let mut out = String::new();
    for PlanDifference { path, item, was, is } in differences {
        let about = item.as_ref().map(|item| format!(" ({item})")).unwrap_or_default();
        let at = escape_line(&format!("{path}{about}"));
        let _ = match (was, is) {
            (Some(was), Some(is)) => write!(out, "\n{at}: was {}, is {}", shown(was), shown(is)),
            (Some(was), None) => write!(out, "\n{at}: was {}, is not there", shown(was)),
            (None, Some(is)) => write!(out, "\n{at}: was not there, is {}", shown(is)),
            (None, None) => Ok(()),
        };
    }
    out
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(SHOWN).collect();
    let rest = if cut.len() < text.len() { "…" } else { "" };
    format!("`{}{rest}`", escape_line(&cut))
}

fn compare(path: &str, was: Option<&Value>, is: Option<&Value>, found: &mut Vec<PlanDifference>) {
    match (was, is) {
        (Some(was), Some(is)) if was == is => {}
        (Some(Value::Object(was)), Some(Value::Object(is))) => {
            for key in keys(was, is) {
                compare(&format!("{path}/{key}"), was.get(key), is.get(key), found);
            }
        }
        (Some(Value::Array(was)), Some(Value::Array(is))) if path == "/env" => {
            names(was, is, found);
        }
        (Some(Value::Array(was)), Some(Value::Array(is))) if was.len() == is.len() => {
            for (i, (was, is)) in was.iter().zip(is).enumerate() {
                compare(&format!("{path}/{i}"), Some(was), Some(is), found);
            }
        }
        (was, is) => found.push(PlanDifference {
            path: path.to_owned(),
            item: None,
            was: was.cloned(),
            is: is.cloned(),
        }),
    }
}

fn keys<'a>(was: &'a Map<String, Value>, is: &'a Map<String, Value>) -> Vec<&'a str> {
    let fresh = is.keys().filter(|key| !was.contains_key(*key));
    was.keys().chain(fresh).map(String::as_str).collect()
}

/// Names are a set: one that came or went does not move the others.
fn names(was: &[Value], is: &[Value], found: &mut Vec<PlanDifference>) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (was, is): (BTreeSet<_>, BTreeSet<_>) =
        (was.iter().map(text).collect(), is.iter().map(text).collect());
    for name in was.symmetric_difference(&is) {
        let here = |set: &BTreeSet<String>| set.contains(name).then(|| Value::from(name.clone()));
        let path = format!("/env/{name}");
        found.push(PlanDifference { path, item: None, was: here(&was), is: here(&is) });
    }
}

#[cfg(test)]
mod tests {
    use super::{difference_lines, differences};
    use serde_json::json;

    #[test]
    fn differences_name_the_place_and_both_sides() {
        let was = json!({"env": ["A", "B"], "args": ["x", "y"], "digests": [{"item": "tool:a", "sha256": "1"}],
            "gone": 1, "same": [1], "list": [1]});
        let is = json!({"env": ["B", "C"], "args": ["x", "z"], "digests": [{"item": "tool:a", "sha256": "2"}],
            "same": [1], "list": [1, 2], "fresh": "e\u{1b}"});
        assert_eq!(
            difference_lines(&differences(&was, &is)),
            "\n/env/A: was `A`, is not there\n/env/C: was not there, is `C`\n/args/1: was `y`, is `z`\
             \n/digests/0/sha256 (tool:a): was `1`, is `2`\n/gone: was `1`, is not there\
             \n/list: was `[1]`, is `[1,2]`\n/fresh: was not there, is `e\\u{1b}`"
        );
        assert_eq!(differences(&was, &was), []);
        let other_type = differences(&json!({"env": ["A"]}), &json!({"env": "A"}));
        assert_eq!(other_type.len(), 1);
    }
}
