//! `rye_thread`: threads and detached runs of the project that the client names, and of the user
//! space.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::calls::{Answer, Call, Refusal, read};
use super::error::McpError;
use super::help::for_a_client;
use crate::base::limits::MCP_ROWS;
use crate::diagnostic::Failure;
use crate::id::Space;
use crate::parse::kept_json;
use crate::registry::RunState;
use crate::runs::{KnownRun, full_run_id, listed_runs, threads_from_outside, waiting_above};
use crate::rye::Rye;
use crate::thread::{THREAD_NOT_FOUND, ThreadError, duration_limit};

/// Bytes of the newest events of a thread that an agent is shown; it reads them all.
#[cfg(feature = "mcp")]
const MCP_EVENTS_BYTES: usize = 64 << 10;

/// The arguments of `rye_thread`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedThread {
    project_path: PathBuf,
    action: Action,
    thread_id: Option<String>,
    timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Show,
    Wait,
    Cancel,
}

/// The answer of `rye_thread`.
pub(super) fn run(call: &Call<'_>, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
    let asked: AskedThread = read("rye_thread", arguments)?;
    let rye = call.rye("rye_thread", &asked.project_path)?;
    let is_wait = asked.action == Action::Wait;
    if asked.timeout_ms.is_some() && !is_wait {
        return Err(wrong("`timeout_ms` is of `wait`"));
    }
    let id = match (asked.action, &asked.thread_id) {
        (Action::List, None) => return list(rye),
        (Action::List, Some(_)) => return Err(wrong("`list` takes no `thread_id`")),
        (_, Some(id)) => id,
        (_, None) => return Err(wrong("`thread_id` says which one")),
    };
    let threads = threads_from_outside(rye)?;
    let id = full_run_id(threads, id, |known| is_here(known, rye))?;
    // What is near it may be of another project.
    let not_found = || ThreadError::NotFound { id: id.clone(), near: Vec::new() };
    let known = match threads.run(&id) {
        Err(failure) if failure.reason() == THREAD_NOT_FOUND => return Err(not_found().into()),
        known => known?,
    };
    if !is_here(&known, rye) {
        return Err(not_found().into());
    }
    match asked.action {
        Action::Wait => wait(rye, &id, asked.timeout_ms.map(Duration::from_millis)),
        Action::Cancel => {
            let known = threads.cancel(&id)?;
            let mut told = row(&known);
            if let Some(above) = waiting_above(threads, &known)? {
                told.insert("waits_above".into(), above.into());
            }
            told.insert("status".into(), "success".into());
            Ok(Answer::shown(told.into()))
        }
        _ => show(rye, &known),
    }
}

/// One as JSON, without the conversation.
fn row(known: &KnownRun) -> Map<String, Value> {
    let mut row = known.to_json();
    if let Some(help) = row.get_mut("failure").and_then(|failure| failure.get_mut("help")) {
        for_a_client(help);
    }
    row
}

/// Returns true if it belongs to the project that was named, or to none.
fn is_here(known: &KnownRun, rye: &Rye) -> bool {
    let roots = [Space::Project, Space::User].into_iter();
    let mut roots = roots.filter_map(|space| rye.spaces().get(space));
    roots.any(|root| root.base().to_string_lossy() == known.row.base)
}

fn list(rye: &Rye) -> Result<Answer, Refusal> {
    let mut all = listed_runs(threads_from_outside(rye)?)?;
    all.retain(|known| is_here(known, rye));
    let left_out = all.len().saturating_sub(MCP_ROWS);
    let rows: Vec<Value> = all[left_out..].iter().map(|known| row(known).into()).collect();
    Ok(Answer::shown(json!({"status": "success", "threads": rows, "left_out": left_out})))
}

fn wait(rye: &Rye, id: &str, time: Option<Duration>) -> Result<Answer, Refusal> {
    match threads_from_outside(rye)?.wait(id, time)? {
        Ok(ended) => Ok(Answer::ended(ended.report, None)),
        Err(signal) => {
            let (id, state) = (id.to_owned(), RunState::Running);
            let still = Failure::from(ThreadError::StillRuns { id, state });
            let answer = Refusal::from(still).into_answer(Duration::ZERO);
            Ok(Answer { signal: Some(signal), ..answer })
        }
    }
}

/// The newest events of a thread, or what a run gave.
fn show(rye: &Rye, known: &KnownRun) -> Result<Answer, Refusal> {
    let mut told = row(known);
    told.insert("status".into(), "success".into());
    let data = match known.thread() {
        None => json!({"report": known.report()}),
        Some(_) => {
            let (_, transcript) = threads_from_outside(rye)?.show(known.id())?;
            told["limits"]["duration_seconds"] = duration_limit(&transcript).into();
            let lines = transcript.split(|byte| *byte == b'\n').rev();
            let mut bytes = 0;
            let (mut events, mut left_out) = (Vec::new(), 0_usize);
            for line in lines.filter(|line| !line.is_empty()) {
                // A line that is not JSON is told by `rye thread verify`; a half one may be last.
                let Some(event) = kept_json(line) else { continue };
                if event.get("event").is_none() {
                    continue;
                }
                bytes += line.len();
                match bytes <= MCP_EVENTS_BYTES {
                    true => events.push(event),
                    false => left_out += 1,
                }
            }
            events.reverse();
            json!({"events": events, "left_out": left_out})
        }
    };
    told.insert("data".into(), data);
    Ok(Answer::shown(told.into()))
}

fn wrong(why: &str) -> Refusal {
    McpError::Arguments { tool: "rye_thread".into(), why: why.into() }.into()
}
