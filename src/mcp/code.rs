//! `rye_code` and `rye_run_chain`: several calls of tools as one call of the client.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::calls::{Answer, Call, Listening, Refusal};
use super::error::McpError;
use crate::base::limits::MCP_RECORDS_BYTES;
use crate::code::{CodeRequest, CodeResult, Executor};
use crate::runs::RyeTools;
use crate::rye::{CallApproval, CodePolicy};

/// The answer of `rye_code`.
pub(super) fn run(call: &Call<'_>, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
    let mut request = arguments;
    let project = project("rye_code", &mut request)?;
    let request = CodeRequest::from_json(request.into());
    snippet(call, "rye_code", &project, |executor, tools| executor.run(&request, tools, &|_, _| ()))
}

/// The answer of `rye_run_chain`.
pub(super) fn run_chain(call: &Call<'_>, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
    let mut request = arguments;
    let project = project("rye_run_chain", &mut request)?;
    let steps = request.shift_remove("steps").unwrap_or_default();
    let known = ["timeout_ms", "allowed_tools"];
    if let Some(other) = request.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(wrong("rye_run_chain", format!("`{other}` is not one of them")));
    }
    let request = CodeRequest::from_json(request.into());
    snippet(call, "rye_run_chain", &project, |executor, tools| {
        executor.run_chain(&steps, request, tools)
    })
}

/// Runs a snippet; every outcome is an answer. An agent's snippet asks a person unless the
/// user's configuration says that it need not.
fn snippet(
    call: &Call<'_>,
    tool: &str,
    project: &Path,
    run: impl FnOnce(&Executor, &RyeTools<'_>) -> CodeResult,
) -> Result<Answer, Refusal> {
    let rye = call.rye(tool, project)?;
    let policy = CodePolicy::of(rye)?;
    let sink = Listening { log: call.log, recorder: None };
    let tools = RyeTools::new(rye, &sink).approval(policy.approval(CallApproval::First));
    // What the snippet was given is not given to the agent once more.
    let executor = Executor::with_languages(policy.config).records_bytes(MCP_RECORDS_BYTES);
    let result = run(&executor, &tools);
    let mut told = result.to_json();
    let warned = tools.warned();
    if !warned.is_empty() {
        told["dev_mode"] = serde_json::json!(warned);
    }
    Ok(Answer::ended(told, result.signal()))
}

/// Takes the project's folder out of the arguments.
fn project(tool: &str, arguments: &mut Map<String, Value>) -> Result<PathBuf, Refusal> {
    match arguments.shift_remove("project_path") {
        Some(Value::String(path)) => Ok(path.into()),
        _ => Err(wrong(tool, "`project_path` is the project's folder".into())),
    }
}

fn wrong(tool: &str, why: String) -> Refusal {
    McpError::Arguments { tool: tool.into(), why }.into()
}
