//! How a plan ended.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::authors_paths::AuthorsPaths;
use super::new_repositories::new_repositories_json;
use crate::base::Mask;
use crate::base::limits::STDERR_TAIL;
use crate::host::{Accesses, ChildResult, NewRepositories, Traffic};
use crate::parse::json as read_json;

/// The result of a run that came to its own end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    /// Standard output as JSON if it is one JSON value, else `{"stdout", "stderr"}`.
    pub(crate) data: Value,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) duration: Duration,
    pub(crate) max_rss_kib: i64,
    pub(crate) truncated: bool,
    /// How many bytes a child wrote to standard output and as errors, kept or not.
    pub(crate) wrote: Option<(u64, u64)>,
    /// The tool says that it failed, or its status does.
    pub(crate) failure: Option<ToolFailure>,
    /// The tool waits for a person.
    pub(crate) pending: Option<Pending>,
    /// Where the tool was an HTTP request.
    pub(crate) http: Option<HttpMetadata>,
    /// The output and the calls of a snippet, if the tool is one.
    pub(crate) snippet: Option<SnippetDid>,
    /// The accesses of the tool, if it was watched.
    pub(crate) accesses: Accesses,
    /// The traffic through rye's proxy, if the tool was held to hosts or services.
    pub(crate) traffic: Option<Traffic>,
    /// Each `.git` that came to be while it ran, in what it may write of the project.
    pub(crate) new_repositories: NewRepositories,
}

/// The output and the calls of a saved snippet, beside its value. Has no `Debug` of the private
/// values.
#[derive(Clone, PartialEq)]
pub(crate) struct SnippetDid {
    /// Its output and calls, and its limits.
    pub(crate) told: Map<String, Value>,
    /// The private values of the tools that it called, which are private to it as well.
    pub(crate) private: Vec<String>,
}

impl std::fmt::Debug for SnippetDid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnippetDid").field("told", &self.told).finish_non_exhaustive()
    }
}

/// How an HTTP request went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpMetadata {
    pub(crate) status: u16,
    /// Requests that were sent, tries and redirects included.
    pub(crate) attempts: u32,
    /// The data is `{"status", "headers", "body"}` and not the body itself.
    pub(crate) is_wrapped: bool,
}

/// The decision that a person must make before the tool goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The request that a saved snippet kept of it already.
    pub(crate) kept_as: Option<String>,
}

/// The failure of a tool, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolFailure {
    pub(crate) message: String,
    /// The last of what the tool said beside its data.
    pub(crate) tail: String,
    /// The origin of the tail: `stderr_tail` or `body_tail`.
    pub(crate) of: &'static str,
}

impl ToolFailure {
    /// The `data` of the failure: the tool's own answer with the tail in it. An answer that is not
    /// a mapping stands in `value`.
    pub(crate) fn data(&self, answer: &Value) -> Map<String, Value> {
        let mut data = match answer {
            Value::Object(answer) => answer.clone(),
            Value::Null => Map::new(),
            other => [("value".to_owned(), other.clone())].into_iter().collect(),
        };
        data.insert(self.of.to_owned(), self.tail.clone().into());
        data
    }
}

impl Outcome {
    /// Reads a child's end as core 7.12 says. A result is shown by `mask`, and a failure, all of
    /// it, by `of_errors`.
    pub(super) fn from_child(
        ended: &ChildResult,
        mask: &Mask,
        of_errors: &Mask,
        paths: &AuthorsPaths,
    ) -> Self {
        // Strictly: one JSON value in UTF-8, or it is text.
        let whole = std::str::from_utf8(&ended.stdout).ok().filter(|_| !ended.stdout_truncated);
        let value: Option<Value> = whole.and_then(|text| read_json(text).ok());
        let reported = value.as_ref().and_then(|value| reported_error(value, of_errors));
        let failed = reported.is_some() || ended.exit_code != Some(0);
        let stderr = shown_stderr(ended, if failed { of_errors } else { mask }, paths);
        let failure = failed.then(|| ToolFailure {
            message: reported.unwrap_or_else(|| status_text(ended)),
            tail: tail(&stderr),
            of: "stderr_tail",
        });
        let data = match (value, failed) {
            (Some(value), true) => of_errors.value(value),
            (Some(value), false) => value,
            (None, true) => {
                let stdout =
                    of_errors.bytes(&ended.stdout, ended.stdout_truncated || was_cut(ended));
                json!({"stdout": String::from_utf8_lossy(&stdout), "stderr": stderr})
            }
            (None, false) => {
                json!({"stdout": String::from_utf8_lossy(&ended.stdout), "stderr": stderr})
            }
        };
        Self {
            data,
            exit_code: ended.exit_code,
            signal: ended.signal,
            duration: ended.duration,
            max_rss_kib: ended.max_rss_kib,
            truncated: ended.stdout_truncated || ended.stderr_truncated,
            wrote: Some((ended.stdout_bytes, ended.stderr_bytes)),
            failure,
            pending: None,
            http: None,
            snippet: None,
            accesses: ended.accesses.clone(),
            traffic: ended.traffic.clone(),
            new_repositories: ended.new_repositories.clone(),
        }
    }

    /// Of a snippet that came to its end: its value, and what it did on the way.
    #[cfg(feature = "code")]
    pub(crate) fn of_snippet(data: Value, did: SnippetDid, duration: Duration) -> Self {
        Self { snippet: Some(did), duration, ..Self::of_answer(data, None) }
    }

    /// Of what ran elsewhere, of which the answer alone is known.
    pub(crate) fn of_answer(data: Value, failure: Option<ToolFailure>) -> Self {
        Self {
            data,
            exit_code: None,
            signal: None,
            duration: Duration::ZERO,
            max_rss_kib: 0,
            truncated: false,
            wrote: None,
            failure,
            pending: None,
            http: None,
            snippet: None,
            accesses: Accesses::default(),
            traffic: None,
            new_repositories: NewRepositories::default(),
        }
    }

    /// Of a program that judges what others do: it has no way to be told what a person decided, so
    /// to ask for one is to fail.
    pub(crate) fn without_waiting(self) -> Self {
        let Some(pending) = &self.pending else { return self };
        let message = match pending.message.is_empty() {
            true => "it asks for a person, and nobody can be asked here".to_owned(),
            false => {
                format!("it asks for a person, and nobody can be asked here: {}", pending.message)
            }
        };
        let failure = ToolFailure { message, tail: String::new(), of: "stderr_tail" };
        Self { failure: Some(failure), pending: None, ..self }
    }

    /// The `metadata` of a result.
    pub(crate) fn metadata(&self) -> Map<String, Value> {
        let mut out = Map::new();
        if let Some(http) = &self.http {
            out.insert("http_status".into(), http.status.into());
            out.insert("attempts".into(), http.attempts.into());
            if self.truncated {
                out.insert("truncated".into(), true.into());
            }
            return out;
        }
        if let Some(snippet) = &self.snippet {
            return snippet.told.clone();
        }
        out.insert("exit_code".into(), json!(self.exit_code));
        if let Some(signal) = self.signal {
            out.insert("signal".into(), signal.into());
        }
        out.insert("max_rss_kib".into(), self.max_rss_kib.into());
        if let Some(traffic) = &self.traffic {
            out.insert("traffic".into(), json!(traffic));
        }
        out.extend(new_repositories_json(&self.new_repositories));
        if self.truncated {
            out.insert("truncated".into(), true.into());
        }
        out
    }
}

/// The error of `{"success": false, "error": …}` without the secrets; of a value its JSON, masked
/// before it is written, since JSON spells a quote or a backslash in another way.
pub(super) fn reported_error(value: &Value, mask: &Mask) -> Option<String> {
    let map = value.as_object()?;
    (map.get("success")? == &Value::Bool(false)).then(|| match map.get("error") {
        Some(Value::String(text)) => mask.words(text),
        None | Some(Value::Null) => "the tool reported a failure without saying which".into(),
        // A secret that is itself JSON is known by its text.
        Some(other) => mask.text(&mask.value(other.clone()).to_string()),
    })
}

/// How a child ended, for people.
pub(crate) fn status_text(ended: &ChildResult) -> String {
    match (ended.exit_code, ended.signal) {
        (Some(code), None) => format!("the tool ended with status {code}"),
        (Some(code), Some(signal)) => {
            format!("the tool ended with status {code}, that of signal {signal}")
        }
        (None, Some(signal)) => format!("the tool was ended by signal {signal}"),
        (None, None) => "the tool ended without a status".into(),
    }
}

/// Returns true if the child did not end by itself, so that it may have been cut off within a
/// secret.
pub(super) fn was_cut(ended: &ChildResult) -> bool {
    ended.timed_out || ended.signal.is_some()
}

/// Standard error as it may be shown, all of it. Secrets are masked before paths are replaced.
pub(super) fn shown_stderr(ended: &ChildResult, mask: &Mask, paths: &AuthorsPaths) -> String {
    let bytes = mask.bytes(&ended.stderr, ended.stderr_truncated || was_cut(ended));
    String::from_utf8_lossy(&paths.bytes(&bytes)).into_owned()
}

/// The end of what may be shown of standard error.
pub(super) fn stderr_tail(ended: &ChildResult, mask: &Mask, paths: &AuthorsPaths) -> String {
    tail(&shown_stderr(ended, mask, paths))
}

/// The last bytes of a text, whole characters only.
pub(super) fn tail(text: &str) -> String {
    let mut from = text.len().saturating_sub(STDERR_TAIL);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{AuthorsPaths, Mask, Outcome};
    use crate::host::ChildResult;
    use serde_json::json;

    fn outcome(stdout: &str, code: i32) -> Outcome {
        let ended = ChildResult {
            stdout: stdout.into(),
            stderr: b"note\n".to_vec(),
            exit_code: Some(code),
            ..ChildResult::default()
        };
        let mask = Mask::new(["hush"].into_iter());
        Outcome::from_child(&ended, &mask, &mask, &AuthorsPaths::default())
    }

    #[test]
    fn data_table() {
        let rows = [
            ("{\"a\":1}\n", json!({"a": 1})),
            ("7", json!(7)),
            ("null", json!(null)),
            ("\"x\"", json!("x")),
            ("{\"a\":1,\"a\":2}", json!({"stdout": "{\"a\":1,\"a\":2}", "stderr": "note\n"})),
            ("[1] [2]", json!({"stdout": "[1] [2]", "stderr": "note\n"})),
            ("hello\n", json!({"stdout": "hello\n", "stderr": "note\n"})),
            ("", json!({"stdout": "", "stderr": "note\n"})),
        ];
        for (stdout, want) in rows {
            let got = outcome(stdout, 0);
            assert_eq!((got.data, got.failure), (want, None), "{stdout}");
        }
        // More values than are read: it is text, as what nests too deep is.
        let many = format!("[{}0]", "0,".repeat(crate::base::limits::JSON_NODES));
        let got = outcome(&many, 0);
        assert_eq!((got.data["stdout"].as_str(), got.failure), (Some(many.as_str()), None));
        let precise = outcome("{\"n\": 123456789012345678901234567890.10}", 0).data.to_string();
        assert_eq!(precise, "{\"n\":123456789012345678901234567890.10}");
    }

    #[test]
    fn failures_table() {
        let message = |stdout, code| outcome(stdout, code).failure.map(|f| f.message);
        assert_eq!(message("{\"success\": false, \"error\": \"no\"}", 0).as_deref(), Some("no"));
        assert_eq!(message("{\"success\": true}", 0), None);
        assert_eq!(message("{\"success\": \"false\"}", 0), None);
        assert_eq!(message("{}", 3).as_deref(), Some("the tool ended with status 3"));
        assert_eq!(outcome("x", 1).failure.unwrap().tail, "note\n");
        let without = "the tool reported a failure without saying which";
        assert_eq!(message("{\"success\": false, \"error\": null}", 0).as_deref(), Some(without));
        assert_eq!(message("{\"success\": false}", 0).as_deref(), Some(without));
        let says = outcome("{\"success\": false, \"error\": \"no hush\"}", 0);
        assert_eq!(says.failure.unwrap().message, "no ***");
        assert_eq!(says.data["error"], "no ***", "both halves of an error");
        assert_eq!(outcome("\"hush\"", 0).data, "hush", "data is the tool's own");
    }

    #[test]
    fn a_secret_that_json_spells_otherwise_is_masked_in_an_error_that_is_a_value() {
        for secret in ["pa\"ss", "pa\\ss", "tab\there", "12345678", "{\"a\":1}", "l\u{1}ow"] {
            let error = match secret.parse::<u64>() {
                Ok(number) => json!({"code": number}),
                Err(_) if secret.starts_with('{') => json!({"a": 1}),
                Err(_) => json!({"why": ["is", secret], secret: {"deep": format!("x{secret}y")}}),
            };
            let stdout = json!({"success": false, "error": error}).to_string().into_bytes();
            let ended = ChildResult { stdout, exit_code: Some(0), ..ChildResult::default() };
            let told = |known: &str| {
                let mask = Mask::new([known].into_iter());
                {
                    let paths = AuthorsPaths::default();
                    Outcome::from_child(&ended, &mask, &mask, &paths).failure.unwrap().message
                }
            };
            let spelt = json!(secret).to_string();
            let spelt = spelt.trim_matches('"');
            let shows = |said: &str| said.contains(spelt) || said.contains(secret);
            assert!(shows(&told("another")), "the fixture itself tells it: {secret:?}");
            assert!(!shows(&told(secret)), "{secret:?}: {}", told(secret));
        }
    }
}
