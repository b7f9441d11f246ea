//! Findings in SARIF 2.1.0, as code scanning services read them.
//!
//! In:  diagnostics with a level.
//! Out: one log of one run. A rule is a code; a place in the project is relative to its folder
//!      (`%SRCROOT%`), one in another space to that space, and an embedded item has a name only.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::base::Digest;
use crate::base::text::uri_path;
use crate::diagnostic::{Code, Diagnostic, Place};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SarifLevel {
    Error,
    /// It does not fail the check.
    Warning,
}

/// The log. `version` is this program's, `exit` how it ends.
pub(crate) fn sarif(findings: &[(SarifLevel, Diagnostic)], version: &str, exit: u8) -> Value {
    // A rule has one index, and rules stand in the order of their codes.
    let codes: BTreeSet<Code> = findings.iter().map(|(_, found)| found.code).collect();
    let index = |code: Code| codes.iter().position(|known| *known == code);
    let results: Vec<Value> =
        findings.iter().map(|(level, found)| result(*level, found, index(found.code))).collect();
    let rules: Vec<Value> = codes.iter().copied().map(rule).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "rye", "version": version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {
                "%SRCROOT%": {"description": {"text": "the project's folder"}},
                "USER_SPACE": {"description": {"text": "the folder that holds the person's own `.ai`"}},
                "SYSTEM_SPACE": {"description": {"text": "rye's own items"}},
            },
            "invocations": [{"executionSuccessful": true, "exitCode": exit}],
            "results": results,
        }],
    })
}

fn rule(code: Code) -> Value {
    json!({
        "id": code,
        "shortDescription": {"text": code.summary()},
        "help": {"text": code.page(), "markdown": code.page()},
    })
}

fn result(level: SarifLevel, found: &Diagnostic, index: Option<usize>) -> Value {
    let message = match &found.help {
        Some(help) => format!("{}\n{help}", found.message),
        None => found.message.clone(),
    };
    let mut location = Map::new();
    if let Some(place) = &found.place {
        location.insert("physicalLocation".into(), physical(place));
    }
    // What answers nothing is named as it was typed.
    let item = found.item.as_deref().or_else(|| found.data.get("asked")?.as_str());
    if let Some(item) = item {
        location.insert("logicalLocations".into(), json!([{"fullyQualifiedName": item}]));
    }
    let path = found.place.as_ref().map_or("", |place| place.path.as_str());
    let item = item.unwrap_or_default();
    // Lines move; what a finding is about does not.
    let same = Digest::of(format!("{}\n{item}\n{path}", found.code).as_bytes());
    let mut out = json!({
        "ruleId": found.code,
        "level": level,
        "message": {"text": message},
        "partialFingerprints": {"ryeFinding/v1": same.to_string()},
    });
    if let (Value::Object(out), Some(index)) = (&mut out, index) {
        out.insert("ruleIndex".into(), index.into());
    }
    if let (Value::Object(out), false) = (&mut out, location.is_empty()) {
        out.insert("locations".into(), json!([location]));
    }
    if let (Value::Object(out), false) = (&mut out, found.data.is_empty()) {
        out.insert("properties".into(), found.data.clone().into());
    }
    out
}

fn physical(place: &Place) -> Value {
    let base = match place.space.as_deref() {
        Some("user") => "USER_SPACE",
        Some("system") => "SYSTEM_SPACE",
        _ => "%SRCROOT%",
    };
    let mut artifact = Map::new();
    artifact.insert("uri".into(), uri(&place.path).into());
    if !place.path.starts_with('/') {
        artifact.insert("uriBaseId".into(), base.into());
    }
    let mut physical = Map::new();
    physical.insert("artifactLocation".into(), artifact.into());
    if let Some(line) = place.line {
        let mut region = Map::new();
        region.insert("startLine".into(), line.into());
        region.extend(place.column.map(|column| ("startColumn".to_owned(), column.into())));
        physical.insert("region".into(), region.into());
    }
    physical.into()
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", uri_path(path.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn uris_table() {
        for (path, want) in [
            (".ai/tools/a-b_c.d~1.py", ".ai/tools/a-b_c.d~1.py"),
            (".ai/a b#c?d%e:f", ".ai/a%20b%23c%3Fd%25e%3Af"),
            ("ü", "%C3%BC"),
            ("/home/x", "file:///home/x"),
        ] {
            assert_eq!(uri(path), want);
        }
    }
}
