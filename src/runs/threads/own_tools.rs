//! The tools of rye itself in a thread: running, reading and signing items, by the grants of the
//! thread (threads 4.1).

use serde_json::{Map, Value, json};

use super::Threads;
use super::known_runs::earlier_of;
use super::tools::{JudgedHere, ThreadCalls, refused};
use crate::base::Digest;
use crate::base::bytes::{Bounded, read_plain};
use crate::base::limits::{THREAD_RECORD_BYTES, THREAD_TEXT_CHARS};
use crate::diagnostic::Failure;
use crate::id::{Query, Space};
use crate::plan::{MatrixError, Thread};
use crate::runs::requests::for_a_person;
use crate::rye::{Request, SearchRequest, grants};
use crate::thread::{ThreadSession, ThreadTool, ToolCallFault, ToolCallFaultKind, transcript};

/// One of them.
#[derive(Clone, Copy)]
pub(super) enum OwnTool<'a> {
    /// Runs an item.
    Execute(&'a ThreadCalls<'a>),
    /// Reads an item, finds some, or goes on with a long result.
    Fetch(&'a ThreadCalls<'a>),
    /// Asks a person to sign an item, who decides with `rye pending`; it signs nothing.
    Sign(&'a ThreadCalls<'a>),
}

impl OwnTool<'_> {
    pub(super) fn judged(&self) -> JudgedHere {
        match self {
            Self::Execute(_) => JudgedHere::Arguments,
            Self::Fetch(_) | Self::Sign(_) => JudgedHere::AllButGrant,
        }
    }
}

impl ThreadTool for OwnTool<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Execute(_) => "rye_execute",
            Self::Fetch(_) => "rye_fetch",
            Self::Sign(_) => "rye_sign",
        }
    }

    fn description(&self) -> &str {
        match self {
            Self::Execute(_) => "Runs a tool, or gives the directions of a directive.",
            Self::Fetch(_) => {
                "Gives the text of an item (`item_id`), finds items by a few words (`query`), or \
                 goes on with a long result of this thread (`blob`, `offset`)."
            }
            Self::Sign(_) => "Asks a person to sign an item of the project. It signs nothing.",
        }
    }

    fn parameters(&self) -> Value {
        match self {
            Self::Execute(_) => json!({
                "type": "object",
                "properties": {
                    "item_id": {"type": "string", "description": "such as `tool:acme/deploy`"},
                    "parameters": {"type": "object", "description": "what the item takes"},
                    "thread": {
                        "type": "string", "enum": ["inline", "fork"],
                        "description": "`fork` runs a directive as a thread of its own",
                    },
                },
                "required": ["item_id"],
                "additionalProperties": false,
            }),
            Self::Fetch(_) => json!({
                "type": "object",
                "properties": {
                    "item_id": {"type": "string", "description": "such as `knowledge:acme/style`"},
                    "query": {"type": "string", "description": "a few words"},
                    "blob": {"type": "string", "description": "of `truncated` in a result"},
                    "offset": {
                        "type": "integer", "minimum": 0,
                        "description": "how many characters of the blob are left out",
                    },
                },
                "additionalProperties": false,
            }),
            Self::Sign(_) => json!({
                "type": "object",
                "properties": {"item_id": {"type": "string"}},
                "required": ["item_id"],
                "additionalProperties": false,
            }),
        }
    }

    fn only_reads(&self) -> bool {
        matches!(self, Self::Fetch(_))
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        match self {
            Self::Execute(calls) => calls.execute(args, session),
            Self::Fetch(calls) => calls.fetch(&args),
            Self::Sign(calls) => calls.sign(&args),
        }
    }
}

impl ThreadCalls<'_> {
    fn execute(
        &self,
        mut args: Map<String, Value>,
        session: &ThreadSession<'_>,
    ) -> Result<Value, ToolCallFault> {
        let mut take = |key: &str| args.shift_remove(key).filter(|value| !value.is_null());
        let (item, params, thread) = (take("item_id"), take("parameters"), take("thread"));
        let Some(Value::String(item)) = item else {
            return Err(ToolCallFault::invalid_arguments("`item_id` is a text"));
        };
        let params = match params {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let thread = match thread {
            Some(Value::String(thread)) => {
                thread.parse().map_err(|error: MatrixError| refused(error.into()))?
            }
            _ => Thread::Inline,
        };
        self.run(Request { params, thread, ..Request::new(item) }, session)
    }

    fn fetch(&self, args: &Map<String, Value>) -> Result<Value, ToolCallFault> {
        let text = |key: &str| args.get(key).and_then(Value::as_str);
        match (text("item_id"), text("query"), text("blob")) {
            (Some(item), None, None) => self.item(item).map_err(refused),
            (None, Some(words), None) => {
                let request = SearchRequest::new(words).grants(Some(self.fetch.clone()));
                let page = self.rye.search().find(&request).map_err(refused)?;
                Ok(page.to_json().into())
            }
            (None, None, Some(blob)) => {
                let offset = args.get("offset").and_then(Value::as_u64).unwrap_or(0);
                self.blob(blob, offset)
            }
            _ => {
                let why = "one of `item_id`, `query` and `blob` is given";
                Err(ToolCallFault::invalid_arguments(why))
            }
        }
    }

    /// Keeps the request for a person.
    fn sign(&self, args: &Map<String, Value>) -> Result<Value, ToolCallFault> {
        let denied =
            |why: &str| ToolCallFault::of(ToolCallFaultKind::PermissionDenied, why, Value::Null);
        let item = args.get("item_id").and_then(Value::as_str).unwrap_or_default();
        let query: Query = item.parse().map_err(|error| refused(Failure::from(error)))?;
        if query.space.is_some_and(|space| space != Space::Project) || query.bundle.is_some() {
            return Err(denied("a thread asks for signatures over items of the project alone"));
        }
        let found = self.rye.signing().find(&query, Some(Space::Project));
        let found = found.map_err(|no| refused(grants::in_reach(no, |it| self.sign.allow(it))))?;
        grants::judge(Some(&self.sign), &found.item).map_err(|no| refused(no.into()))?;
        if let Some(why) = for_a_person(&found.item) {
            return Err(denied(why));
        }
        let item = found.item.clone();
        let (id, sha256) = self.rye.approvals().ask_signature(found, &self.id).map_err(refused)?;
        let message = "a model signs nothing: a person reads the item and signs it";
        let detail = json!({"pending_id": id, "item_id": item, "sha256": sha256});
        Err(ToolCallFault::of(ToolCallFaultKind::Pending, message, detail))
    }

    fn item(&self, item: &str) -> Result<Value, Failure> {
        let query: Query = item.parse()?;
        let described = self.rye.items().describe(&query);
        let described =
            described.map_err(|no| grants::in_reach(no, |item| self.fetch.allow(item)))?;
        grants::judge(Some(&self.fetch), &described.detail.item)?;
        Ok(json!({"item_id": described.detail.item, "content": described.content}))
    }

    /// A part of a result that was too long: of this very thread, or of one that it goes on for.
    fn blob(&self, digest: &str, offset: u64) -> Result<Value, ToolCallFault> {
        let missing = || ToolCallFault::new("this thread has kept nothing under that digest");
        let digest: Digest = digest.parse().map_err(|()| missing())?;
        let earlier = earlier_of(Threads::new(self.rye), &self.id).map_err(refused)?;
        let found = std::iter::once(&self.id).chain(&earlier).find_map(|id| {
            let folder = transcript(&self.base, id).with_file_name("blobs");
            match read_plain(&folder.join(digest.to_string()), THREAD_RECORD_BYTES) {
                Ok(Bounded::All(bytes)) => Some(bytes),
                _ => None,
            }
        });
        let Some(bytes) = found else { return Err(missing()) };
        let Ok(text) = String::from_utf8(bytes) else { return Err(missing()) };
        if Digest::of(text.as_bytes()) != digest {
            return Err(missing());
        }
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let total = text.chars().count();
        let content: String = text.chars().skip(skipped).take(THREAD_TEXT_CHARS).collect();
        let next = skipped.saturating_add(content.chars().count());
        let next = (next < total).then_some(next);
        Ok(json!({
            "blob": digest.to_string(), "offset": offset, "total": total, "next_offset": next,
            "content": content,
        }))
    }
}
