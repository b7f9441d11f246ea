//! The expectations of a case, as its spec gives them.

use serde_json::Value;

use super::error::TestError;
use super::spec::At;
use crate::space::RelPath;

const EXPECT: &[&str] = &[
    "code",
    "error_includes",
    "exit_code",
    "files",
    "pending",
    "result",
    "result_includes",
    "text",
    "text_includes",
];
const FILE: &[&str] = &["absent", "content", "includes"];

/// Everything that is expected; without a code or an exit status that says otherwise, success.
#[derive(Debug, Default)]
pub(super) struct Expect {
    /// The whole result.
    pub(super) result: Option<Value>,
    /// The part that the result must have at least.
    pub(super) result_includes: Option<Value>,
    /// The whole text; one newline at its end does not count.
    pub(super) text: Option<String>,
    pub(super) text_includes: Vec<String>,
    pub(super) code: Option<String>,
    pub(super) exit_code: Option<i64>,
    pub(super) error_includes: Vec<String>,
    /// It asks for a person; in a test no person is asked.
    pub(super) pending: bool,
    pub(super) files: Vec<(RelPath, FileIs)>,
}

/// The expectation about one file.
#[derive(Debug)]
pub(super) enum FileIs {
    Absent,
    Content(String),
    Including(Vec<String>),
}

impl Expect {
    pub(super) fn read(value: &Value, at: &At<'_>) -> Result<Self, TestError> {
        let map = at.mapping(value, EXPECT)?;
        let text = |key: &str| map.get(key).map(|v| at.key(key).text(v)).transpose();
        let parts = |key: &str| map.get(key).map_or(Ok(vec![]), |v| texts(v, &at.key(key)));
        let exit_code = match map.get("exit_code") {
            Some(value) => {
                let code = value.as_i64().filter(|code| (0..=255).contains(code));
                Some(code.ok_or_else(|| at.key("exit_code").bad("is not an exit status"))?)
            }
            None => None,
        };
        let mut files = Vec::new();
        if let Some(value) = map.get("files") {
            let at = at.key("files");
            for (path, value) in value.as_object().ok_or_else(|| at.bad("is not a mapping"))? {
                let at = at.key(path);
                files.push((at.path(path)?, file(value, &at)?));
            }
        }
        Ok(Self {
            result: map.get("result").cloned(),
            result_includes: map.get("result_includes").cloned(),
            text: text("text")?,
            text_includes: parts("text_includes")?,
            code: text("code")?,
            exit_code,
            error_includes: parts("error_includes")?,
            pending: map.get("pending").map_or(Ok(false), |v| at.key("pending").boolean(v))?,
            files,
        })
    }
}

/// One text, or a list of them.
fn texts(value: &Value, at: &At<'_>) -> Result<Vec<String>, TestError> {
    match value {
        Value::Array(all) => all.iter().map(|one| at.text(one)).collect(),
        one => Ok(vec![at.text(one)?]),
    }
}

fn file(value: &Value, at: &At<'_>) -> Result<FileIs, TestError> {
    let map = at.mapping(value, FILE)?;
    let mut said = map.iter();
    let (Some((key, value)), None) = (said.next(), said.next()) else {
        return Err(at.bad("says not just one of `content`, `includes` and `absent`"));
    };
    let at = at.key(key);
    match key.as_str() {
        "content" => Ok(FileIs::Content(at.text(value)?)),
        "includes" => Ok(FileIs::Including(texts(value, &at)?)),
        _ if at.boolean(value)? => Ok(FileIs::Absent),
        _ => Err(at.bad("can only be `true`; for a file that is there, say what it holds")),
    }
}
