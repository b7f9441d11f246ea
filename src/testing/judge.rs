//! Compares the outcome of a case with the expected one.

use serde_json::{Map, Number, Value};
use similar::TextDiff;

use super::expect::{Expect, FileIs};
use super::folder::Workplace;
use crate::diagnostic::{Diagnose, Diagnostic};
use crate::execute::{EXECUTE_TOOL_FAILED, Mask};
use crate::report::Report;

/// Lines shown of a text in which something is missing: enough to see which text it is.
const TAIL_LINES: usize = 20;

/// One expectation that was not met.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Mismatch {
    /// Which one: `result`, `code`, `files.out.txt`.
    pub(crate) what: String,
    /// A fragment that follows it.
    pub(crate) why: String,
    /// Both or neither: texts to be compared line by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) got: Option<String>,
    /// The code, where it could not be said whether the expectation was met.
    #[serde(rename = "code", skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'static str>,
}

impl Mismatch {
    /// Masks the values that the item named of the host: a case that fails is reported like any
    /// failure, even if the tool gave such a value as its result.
    pub(super) fn masked(self, mask: &Mask) -> Self {
        Self {
            why: mask.text(&self.why),
            expected: self.expected.map(|text| mask.text(&text)),
            got: self.got.map(|text| mask.text(&text)),
            ..self
        }
    }

    /// For people, with the two texts held against each other; lines that stand in both are shown
    /// with a space before them, expected ones with `-`, those that came with `+`.
    pub(crate) fn text(&self) -> String {
        let mut out = format!("{} {}", self.what, self.why);
        match (&self.expected, &self.got) {
            (Some(expected), Some(got)) => {
                let diff = TextDiff::from_lines(line_end(expected), line_end(got));
                for change in diff.iter_all_changes() {
                    let line = change.value().trim_end_matches('\n');
                    out.push_str(&format!("\n{} {line}", change.tag()));
                }
            }
            (None, Some(got)) => {
                out.push_str(
                    &got.lines().take(TAIL_LINES).map(|l| format!("\n+ {l}")).collect::<String>(),
                );
            }
            _ => {}
        }
        out
    }
}

/// How a run came out, as far as a spec can ask.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// It came to a report, whatever that says.
    pub(super) ran: bool,
    pub(super) result: Value,
    pub(super) text: String,
    pub(super) exit_code: Option<i64>,
    /// The code and the sentence of a failure, and what the tool said last with the next step.
    pub(super) failed: Option<(String, String, String)>,
    /// The question to a person.
    pub(super) pending: Option<String>,
}

impl Came {
    pub(super) fn from_report(report: &Report) -> Self {
        match report {
            Report::Tool(tool) => {
                let Some(outcome) = &tool.outcome else {
                    let result = tool.plan.to_json();
                    let text = result.to_string();
                    return Self { ran: true, result, text, ..Self::default() };
                };
                let failed = outcome.failure.as_ref().map(|failure| {
                    let code = EXECUTE_TOOL_FAILED.name().to_owned();
                    let hint =
                        tool.sandbox_help().map(|hint| format!("help: {hint}")).unwrap_or_default();
                    (code, failure.message.clone(), format!("{}\n{hint}", failure.tail.trim_end()))
                });
                let (result, text) = (outcome.data.clone(), text_of(&outcome.data));
                let exit_code = outcome.exit_code.map(i64::from);
                let pending = outcome.pending.as_ref().map(|pending| {
                    let told = [pending.reason.as_str(), &pending.message];
                    told.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
                });
                Self { ran: true, result, text, exit_code, failed, pending }
            }
            Report::Directive(directive) => Self {
                ran: true,
                result: Value::Object(directive.inputs.clone()),
                text: directive.body.clone(),
                ..Self::default()
            },
            Report::Thread(thread) => Self {
                ran: true,
                result: Value::Object(thread.outputs.clone()),
                text: thread.result.clone(),
                ..Self::default()
            },
            Report::Detached(_) | Report::Remote(_) => Self { ran: true, ..Self::default() },
            Report::Knowledge { content, .. } => {
                Self { ran: true, text: content.clone(), ..Self::default() }
            }
        }
    }

    pub(super) fn refused(diagnostic: &Diagnostic) -> Self {
        let (code, message) = (diagnostic.code.name().to_owned(), diagnostic.message.clone());
        let help = diagnostic.help.clone().unwrap_or_default();
        Self { failed: Some((code, message, help)), ..Self::default() }
    }
}

/// A text that the tool printed is its text; of other data, the JSON.
fn text_of(data: &Value) -> String {
    let printed = |map: &Map<String, Value>| {
        map.get("stderr").and_then(|_| map.get("stdout")?.as_str().map(str::to_owned))
    };
    match data {
        Value::String(text) => text.clone(),
        Value::Object(map) => printed(map).unwrap_or_else(|| data.to_string()),
        other => other.to_string(),
    }
}

pub(super) fn plain(what: &str, why: impl Into<String>) -> Mismatch {
    Mismatch { what: what.to_owned(), why: why.into(), ..Mismatch::default() }
}

fn differs(what: &str, expected: String, got: String) -> Mismatch {
    let why = "is another one".to_owned();
    let (what, error) = (what.to_owned(), None);
    Mismatch { what, why, expected: Some(expected), got: Some(got), error }
}

/// Everything that is not as expected.
pub(super) fn judge(expect: &Expect, came: &Came, at: &Workplace) -> Vec<Mismatch> {
    let mut findings = Vec::new();
    ended(expect, came, &mut findings);
    if !came.ran && !findings.is_empty() {
        // Nothing ran, so there is nothing else to tell.
        return findings;
    }
    if let Some(expected) = &expect.result
        && !same(expected, &came.result)
    {
        findings.push(differs("result", pretty(expected), pretty(&came.result)));
    }
    if let Some(expected) = &expect.result_includes
        && !includes(&came.result, expected)
    {
        let got = pretty(&shown(&came.result, expected));
        findings.push(differs("result_includes", pretty(expected), got));
    }
    if let Some(expected) = &expect.text
        && line_end(expected) != line_end(&came.text)
    {
        findings.push(differs("text", expected.clone(), came.text.clone()));
    }
    for part in expect.text_includes.iter().filter(|part| !came.text.contains(*part)) {
        let why = format!("is not in the text: {part}");
        findings.push(Mismatch { got: Some(came.text.clone()), ..plain("text_includes", why) });
    }
    for (path, is) in &expect.files {
        findings.extend(file(&format!("files.{path}"), is, at, path));
    }
    findings
}

/// How it ended: as the code and the exit status say, and well if nothing says otherwise.
fn ended(expect: &Expect, came: &Came, findings: &mut Vec<Mismatch>) {
    let code = came.failed.as_ref().map(|(code, ..)| code.as_str());
    let told = || match &came.failed {
        None => match &came.pending {
            None => "it succeeded".to_owned(),
            Some(asked) => format!("it asked for a person: {asked}"),
        },
        Some((code, message, more)) if more.trim().is_empty() => format!("{code}: {message}"),
        Some((code, message, more)) => format!("{code}: {message}\n{}", more.trim_end()),
    };
    let fails = !expect.error_includes.is_empty() || expect.exit_code.is_some_and(|exit| exit != 0);
    match &expect.code {
        Some(wanted) if code != Some(wanted) => {
            findings.push(plain("code", format!("was to be `{wanted}`, but {}", told())));
        }
        None if code.is_some() && !fails && !expect.pending => {
            findings.push(plain("it", format!("was to succeed, but {}", told())));
        }
        _ => {}
    }
    if let Some(wanted) = expect.exit_code
        && came.exit_code != Some(wanted)
    {
        let got = came.exit_code.map_or_else(told, |exit| format!("it is {exit}"));
        findings.push(plain("exit_code", format!("was to be {wanted}, but {got}")));
    }
    if came.pending.is_some() && !expect.pending {
        findings.push(plain("pending", format!("was not to be, but {}", told())));
    }
    if came.pending.is_none() && expect.pending {
        findings.push(plain("pending", format!("was to be, but {}", told())));
    }
    let message = came.failed.as_ref().map_or("", |(_, message, _)| message.as_str());
    for part in expect.error_includes.iter().filter(|part| !message.contains(*part)) {
        let why = format!("is not in the error: {part}\n{}", told());
        findings.push(plain("error_includes", why));
    }
}

fn file(what: &str, is: &FileIs, at: &Workplace, path: &crate::space::RelPath) -> Option<Mismatch> {
    if let FileIs::Absent = is {
        return at.holds(path).then(|| plain(what, "was to be absent, but is there"));
    }
    let bytes = match at.read(path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Some(plain(what, "is not there")),
        Err(error) => return Some(plain(what, format!("cannot be read: {}", error.code()))),
    };
    let text = String::from_utf8_lossy(&bytes);
    match is {
        FileIs::Content(wanted) if *wanted != text => {
            Some(differs(what, wanted.clone(), text.into_owned()))
        }
        FileIs::Including(parts) => {
            let missing = parts.iter().find(|part| !text.contains(*part))?;
            let why = format!("does not hold: {missing}");
            Some(Mismatch { got: Some(text.into_owned()), ..plain(what, why) })
        }
        _ => None,
    }
}

/// Texts are the same with and without one newline at the end.
fn line_end(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Equal, with numbers by their value and objects whatever their order.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(k, v)| other.get(k).is_some_and(|o| same(v, o)))
        }
        _ => one == other,
    }
}

/// `1`, `1.0` and `1e0` are one number; whole numbers of any size are compared digit by digit.
fn same_number(one: &Number, other: &Number) -> bool {
    let whole =
        |n: &Number| n.to_string().trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    if one == other || (whole(one) && whole(other)) {
        return one.to_string() == other.to_string();
    }
    one.as_f64().is_some() && one.as_f64() == other.as_f64()
}

/// Returns true if an object has all that another one has; lists element by element.
fn includes(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            expected.iter().all(|(k, v)| got.get(k).is_some_and(|g| includes(g, v)))
        }
        (Value::Array(got), Value::Array(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(g, e)| includes(g, e))
        }
        _ => same(got, expected),
    }
}

/// Of what came, what was asked about.
fn shown(got: &Value, expected: &Value) -> Value {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            let asked =
                expected.iter().filter_map(|(k, e)| Some((k.clone(), shown(got.get(k)?, e))));
            Value::Object(asked.collect())
        }
        (Value::Array(got), Value::Array(expected)) if got.len() == expected.len() => {
            got.iter().zip(expected).map(|(g, e)| shown(g, e)).collect()
        }
        _ => got.clone(),
    }
}

fn pretty(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    serde_json::to_string_pretty(&value).expect("a JSON value is JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{includes, same};

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_are_compared_by_value_and_large_ones_by_digit() {
        for (one, other, want) in [
            ("1", "1.0", true),
            ("1", "1e0", true),
            ("-0.5", "-5e-1", true),
            ("9007199254740993", "9007199254740992", false),
            ("1", "\"1\"", false),
        ] {
            assert_eq!(same(&value(one), &value(other)), want, "{one} {other}");
        }
    }

    #[test]
    fn inclusion_goes_into_objects_and_keeps_lists_whole() {
        let got = json!({"a": {"b": 1, "c": 2}, "d": [{"e": 1, "f": 2}]});
        for (expected, want) in [
            (json!({}), true),
            (json!({"a": {"b": 1}}), true),
            (json!({"d": [{"f": 2}]}), true),
            (json!({"a": {"b": 2}}), false),
            (json!({"d": []}), false),
            (json!({"x": null}), false),
        ] {
            assert_eq!(includes(&got, &expected), want, "{expected}");
        }
    }
}
