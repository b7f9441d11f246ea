//! `rye_code` in a thread: a snippet of its model, which reaches what the thread reaches.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::tools::{ThreadCalls, refused};
use super::wait_for_person::waits_with;
use crate::base::json::object;
use crate::base::limits::THREAD_SNIPPET_RECORDS_BYTES;
use crate::code::{Asks, CodeRequest, CodeResult, Executor};
use crate::diagnostic::Failure;
use crate::registry::{Decision, PendingRequest};
use crate::report::Warned;
use crate::runs::snippets::RyeTools;
use crate::rye::{CallApproval, CodePolicy};
use crate::thread::{ThreadSession, ThreadTool, ToolCallFault, ToolCallFaultKind};

/// The fields of a snippet's result that its model is told.
const TOLD: [&str; 6] =
    ["value", "stdout", "stderr", "tool_calls", "tool_calls_left_out", "warnings"];

/// See the module.
pub(super) struct SnippetTool<'a>(pub(super) &'a ThreadCalls<'a>);

impl ThreadTool for SnippetTool<'_> {
    fn name(&self) -> &'static str {
        "rye_code"
    }

    fn description(&self) -> &'static str {
        "Runs a snippet that finds, reads about and calls tools, in one call instead of one for \
         each. Several calls run at once with `Promise.all`. Each call is checked as `rye_execute` \
         checks it; before the first call of a tool that does not say that it only reads, a person \
         decides."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "code": {
                    "type": "string",
                    "description": "it calls `await runTool(id, args)`, `runChain(steps)`, \
                        `searchTools(words, limit)`, `describeTool(id, level)`, \
                        `listToolExamples(id, max)`, `listNamespaces()`, prints with `println`, \
                        and assigns its result to `__out`",
                },
                "language": {"type": "string", "description": "`javascript` or `typescript`"},
                "params": {"type": "object", "description": "what it finds as `params`"},
                "timeout_ms": {"type": "integer", "minimum": 0},
                "engine_ms": {"type": "integer", "minimum": 0},
                "max_tool_calls": {"type": "integer", "minimum": 0},
                "allowed_tools": {
                    "type": "array", "items": {"type": "string"},
                    "description": "only these, such as `tool:acme/**`",
                },
            },
            "required": ["code"],
            "additionalProperties": false,
        })
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let calls = self.0;
        if let Some(awaited) = session.awaited {
            return calls.go_on(awaited, session);
        }
        let policy = CodePolicy::of(calls.rye).map_err(refused)?;
        let most = policy.config.timeout().min(session.time_left());
        let asked = args.get("timeout_ms").and_then(Value::as_u64).filter(|ms| *ms > 0);
        let timeout = asked.map_or(most, |ms| most.min(Duration::from_millis(ms)));
        let request = CodeRequest::from_json(args.into()).timeout(timeout);
        let tools = RyeTools::new(calls.rye, calls.sink)
            .approval(policy.approval(CallApproval::First))
            .locked(calls.locked)
            .of_thread(
                calls.call_id(session),
                calls.execute.clone(),
                calls.as_parent(Some(session.until)),
            );
        let executor = Executor::with_languages(policy.config);
        let executor = executor.records_bytes(THREAD_SNIPPET_RECORDS_BYTES);
        let result = executor.run(&request, &tools, &|_, _| ());
        told(calls, &result, &tools.warned())
    }
}

/// Runs the snippet again that a person approved, as part of its thread.
///
/// # Errors
/// The reason for which it was not started: `pending.drifted`, `pending.decided`,
/// `code.configuration`, `registry.io`
pub(super) fn approved_snippet(
    calls: &ThreadCalls<'_>,
    request: &PendingRequest,
    decision: &Decision,
) -> Result<Result<Value, ToolCallFault>, Failure> {
    let parent = calls.as_parent(None);
    let approvals = calls.rye.approvals();
    let (result, warned) = approvals.approve_snippet_in(parent, request, decision, calls.sink)?;
    Ok(told(calls, &result, &warned))
}

/// The answer to the model for a snippet whose process was killed before the thread was told, read
/// from the result that it kept.
pub(super) fn told_as_kept(kept: Value) -> Result<Value, ToolCallFault> {
    let (told, mut error) = shown(kept);
    match error["message"].take() {
        Value::String(message) => Err(ToolCallFault::new(message).detail(told)),
        _ => Ok(told.into()),
    }
}

/// The part of a result that is told, and its error.
fn shown(result: Value) -> (Map<String, Value>, Value) {
    let mut told = object(result);
    let error = told.shift_remove("error").unwrap_or_default();
    told.retain(|key, value| TOLD.contains(&key.as_str()) && *value != json!(""));
    (told, error)
}

/// The answer to the model for a snippet. If it asked a person the thread waits with it, unless it
/// cannot.
fn told(
    calls: &ThreadCalls<'_>,
    result: &CodeResult,
    warned: &[Warned],
) -> Result<Value, ToolCallFault> {
    let (mut told, mut error) = shown(result.to_json());
    if !warned.is_empty() {
        told.insert("dev_mode".into(), json!(warned));
    }
    if let Some((id, asked)) = result.waiting().first() {
        let detail = json!({
            "pending_id": id, "item_id": asked.asks.item, "tool_calls": told.get("tool_calls"),
        });
        let message = result.with_others(&asked.asks.message);
        let fault = ToolCallFault::of(ToolCallFaultKind::Pending, message.clone(), detail);
        return Err(waits_with(calls, fault, id, Asks { message, ..asked.asks.clone() }));
    }
    let Some(failure) = result.failure() else { return Ok(told.into()) };
    let fault = refused(failure);
    if fault.stopped.is_some() {
        return Err(fault);
    }
    told.shift_remove("value");
    if let Some(error) = error.as_object_mut() {
        // It is the message of the whole.
        error.shift_remove("message");
        told.insert("error".into(), error.clone().into());
    }
    Err(fault.detail(told))
}
