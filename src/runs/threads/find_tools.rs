//! `rye_search` and `rye_describe` in a thread: they show what the thread reaches, and nothing
//! else.

use serde_json::{Map, Value, json};

use super::tools::{ThreadCalls, refused};
use crate::diagnostic::Failure;
use crate::id::{Kind, Query, Ref};
use crate::rye::{DetailLevel, SearchRequest, grants};
use crate::thread::{ThreadSession, ThreadTool, ToolCallFault};

/// One of them.
pub(super) enum FindTool<'a> {
    Search(&'a ThreadCalls<'a>),
    Describe(&'a ThreadCalls<'a>),
}

impl ThreadTool for FindTool<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Search(_) => "rye_search",
            Self::Describe(_) => "rye_describe",
        }
    }

    fn description(&self) -> &str {
        match self {
            Self::Search(_) => {
                "Finds tools and directives that you may run by a few words of their names, \
                 descriptions and parameters; with the kind `knowledge`, pages that you may read."
            }
            Self::Describe(_) => "Says what an item is for and what it takes.",
        }
    }

    fn parameters(&self) -> Value {
        let (properties, required) = match self {
            Self::Search(_) => (
                json!({
                    "query": {"type": "string", "description": "words in any order"},
                    "kind": {"type": "string", "enum": ["tool", "directive", "knowledge"]},
                    "limit": {"type": "integer", "minimum": 1},
                    "cursor": {"type": "string", "description": "`next_cursor` of a page"},
                }),
                json!(["query"]),
            ),
            Self::Describe(_) => (
                json!({
                    "item_id": {"type": "string", "description": "such as `tool:acme/deploy`"},
                    "level": {"type": "string", "enum": DetailLevel::ALL.map(DetailLevel::as_str)},
                    "examples": {"type": "integer", "minimum": 0},
                }),
                json!(["item_id"]),
            ),
        };
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(
        &self,
        _: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let found = match self {
            Self::Search(calls) => search(calls, &args),
            Self::Describe(calls) => describe(calls, &args),
        };
        found.map(Value::from).map_err(refused)
    }
}

fn text<'a>(args: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    args.get(key).and_then(Value::as_str)
}

fn number(args: &Map<String, Value>, key: &str) -> Option<usize> {
    let number = args.get(key).and_then(Value::as_u64)?;
    Some(usize::try_from(number).unwrap_or(usize::MAX))
}

fn search(
    calls: &ThreadCalls<'_>,
    args: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let kind = text(args, "kind").map(str::parse::<Kind>).transpose()?;
    let reached = if kind == Some(Kind::Knowledge) { &calls.fetch } else { &calls.execute };
    let request = SearchRequest::new(text(args, "query").unwrap_or_default());
    let mut request = request.kind(kind).grants(Some(reached.clone()));
    if let Some(limit) = number(args, "limit") {
        request = request.limit(limit);
    }
    if let Some(cursor) = text(args, "cursor") {
        request = request.cursor(cursor);
    }
    Ok(calls.rye.search().find(&request)?.to_json())
}

fn describe(
    calls: &ThreadCalls<'_>,
    args: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let query: Query = text(args, "item_id").unwrap_or_default().parse()?;
    let level = text(args, "level").and_then(|level| level.parse().ok());
    let level = level.unwrap_or(DetailLevel::Schema);
    let told = calls.rye.items().describe_at(&query, level, number(args, "examples"));
    let (mut told, _) = told.map_err(|no| {
        grants::in_reach(no, |item| calls.fetch.allow(item) || calls.execute.allow(item))
    })?;
    let item = told.get("item_id").and_then(Value::as_str).unwrap_or_default().parse::<Ref>()?;
    if !calls.fetch.allow(&item) {
        grants::judge(Some(&calls.execute), &item)?;
    }
    // Where files lie on this machine is nothing for a model.
    told.retain(|key, _| !["path", "shadowed"].contains(&key.as_str()));
    Ok(told)
}
