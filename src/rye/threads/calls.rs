//! What the model of a thread calls: each call is a run like any other.
//!
//! Invariant: the grants of the thread go with every call, and are judged where every call is
//! judged (`grants.rs`).

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::ThreadParent;
use crate::base::Mask;
use crate::diagnostic::Failure;
use crate::id::{Grants, Kind, Query, Ref, Space};
use crate::parse::{DirectiveOutput, Item};
use crate::plan::PLAN_INVALID_PARAMETERS;
use crate::report::Report;
use crate::rye::facade::Rye;
use crate::rye::grants;
use crate::rye::run::Request;
use crate::rye::search::is_link;
use crate::rye::{GRANT_DENIED, HOOK_DENIED};
use crate::thread::{CallTarget, Called, Calls, ModelTool, ThreadId, ToolTable};
use crate::trace::Sink;

/// The longest that one call may take: what a run takes as its time limit is not longer.
const LONGEST_CALL: Duration = Duration::from_hours(24);

/// What one thread may reach.
pub(super) struct ThreadCalls<'a> {
    pub(super) rye: &'a Rye,
    pub(super) sink: &'a dyn Sink,
    pub(super) id: ThreadId,
    pub(super) execute: Grants,
    pub(super) fetch: Grants,
    pub(super) locked: bool,
}

impl ThreadCalls<'_> {
    /// The tools that the model is told of.
    ///
    /// # Errors
    /// `thread.tool_name_conflict`, `space.*`
    pub(super) fn table(
        &self,
        outputs: &[DirectiveOutput],
        executes: bool,
        fetches: bool,
    ) -> Result<ToolTable, Failure> {
        let built_in = [executes.then(ModelTool::execute), fetches.then(ModelTool::fetch)];
        let mut items: Vec<Ref> = Vec::new();
        for space in Space::NEAREST_FIRST.into_iter().filter(|_| executes) {
            let here = self.rye.items().list(space, Kind::Tool)?.into_iter().map(|it| it.item);
            items.extend(here.filter(|item| !is_link(item) && self.execute.allow(item)));
        }
        items.sort();
        items.dedup();
        let queries = items.into_iter().map(Query::from).collect();
        let described =
            self.rye.items().describe_all(queries).into_iter().filter_map(|described| {
                // What is not admitted would not run either, and is told when it is called.
                let described = described.ok()?;
                let Item::Tool(tool) = &described.item else { return None };
                if tool.is_link()
                    || tool.hook.is_some()
                    || tool.eval.is_some()
                    || tool.provider.is_some()
                {
                    return None;
                }
                let about = described.item.description().unwrap_or_default().to_owned();
                let schema = described.item.input_schema();
                let schema = schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
                Some(ModelTool::of_item(described.detail.item, about, schema))
            });
        let items = described.collect();
        Ok(ToolTable::new(built_in.into_iter().flatten().collect(), items, outputs)?)
    }

    fn run(&self, request: Request, call_id: &str, time: Duration) -> Called {
        let request = Request {
            grants: Some(self.execute.clone()),
            parent: Some(ThreadParent { id: self.id.clone(), fetch: self.fetch.clone() }),
            locked: self.locked,
            timeout: Some(time.clamp(Duration::from_millis(1), LONGEST_CALL)),
            call_id: Some(format!("{}-{call_id}", self.id)),
            ..request
        };
        let begin = Instant::now();
        match self.rye.runs().run(&request, begin, self.sink) {
            Ok(report) => gave(&report, begin),
            Err(failed) => refused(failed.failure),
        }
    }

    fn execute(&self, mut args: Map<String, Value>, call_id: &str, time: Duration) -> Called {
        let mut take = |key: &str| args.shift_remove(key).filter(|value| !value.is_null());
        let (item, params, thread) = (take("item_id"), take("parameters"), take("thread"));
        let Some(Value::String(item)) = item else { return bad("`item_id` is a text") };
        let params = match params {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return bad("`parameters` is an object"),
        };
        let thread = match thread {
            None => "inline".to_owned(),
            Some(Value::String(thread)) => thread,
            Some(_) => return bad("`thread` is `inline` or `fork`"),
        };
        if let Some(unknown) = args.keys().next() {
            return bad(&format!("`{unknown}` is not known here"));
        }
        self.run(Request { params, thread, ..Request::new(item) }, call_id, time)
    }

    fn fetch(&self, args: &Map<String, Value>) -> Called {
        let (Some(Value::String(item)), 1) = (args.get("item_id"), args.len()) else {
            return bad("`item_id` is a text, and stands alone");
        };
        let fetched = item.parse::<Query>().map_err(Failure::from).and_then(|query| {
            let described = self.rye.items().describe(&query)?;
            grants::judge(Some(&self.fetch), &described.detail.item)?;
            Ok(json!({"item_id": described.detail.item, "content": described.content}))
        });
        fetched.map_or_else(refused, Called::Gave)
    }
}

impl Calls for ThreadCalls<'_> {
    fn call(
        &self,
        target: &CallTarget,
        args: Map<String, Value>,
        call_id: &str,
        time: Duration,
    ) -> Called {
        match target {
            CallTarget::Execute => self.execute(args, call_id, time),
            CallTarget::Fetch => self.fetch(&args),
            CallTarget::Item(item) => {
                let request = Request { params: args, ..Request::new(item.to_string()) };
                self.run(request, call_id, time)
            }
            CallTarget::Return => bad("outputs are not handed over here"),
        }
    }
}

fn bad(message: &str) -> Called {
    failed("invalid_tool_arguments", message.to_owned(), Value::Null)
}

fn failed(kind: &'static str, message: String, detail: Value) -> Called {
    Called::Failed { kind, message, detail }
}

/// What the model is told of a run that came to its end.
fn gave(report: &Report, begin: Instant) -> Called {
    if let Report::Thread(thread) = report {
        return Called::Gave(json!({
            "thread_id": thread.thread_id, "result": thread.result, "outputs": thread.outputs,
        }));
    }
    let mut told = report.to_json(begin.elapsed(), false, None);
    if let Report::Tool(tool) = report {
        // A model, and the record, are shown no value that the tool named of the host.
        told = Mask::new(tool.plan.private_values()).value(told);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (told["status"].as_str(), report) {
        (Some("success"), Report::Directive(directive)) => {
            Called::Gave(json!({"your_directions": directive.body}))
        }
        (Some("success"), _) => Called::Gave(told["data"].take()),
        (Some("pending"), _) => {
            let (message, id) = (text(&told["pending"]["message"]), told["pending"]["id"].take());
            failed("pending", message, json!({"pending_id": id}))
        }
        _ => failed("tool_execution_exception", text(&told["error"]), told["data"].take()),
    }
}

/// What the model is told of a run that did not start, or was stopped.
fn refused(failure: Failure) -> Called {
    if failure.interrupted().is_some() {
        return Called::Stopped(failure);
    }
    let kind = match failure.reason() {
        code if code == GRANT_DENIED => "permission_denied",
        code if code == HOOK_DENIED => "blocked_by_hook",
        code if code == PLAN_INVALID_PARAMETERS => "invalid_tool_arguments",
        _ => "tool_execution_exception",
    };
    let told = failure.diagnostic();
    let data = if told.data.is_empty() { Value::Null } else { told.data.into() };
    failed(kind, told.message, json!({"code": told.code, "data": data}))
}
