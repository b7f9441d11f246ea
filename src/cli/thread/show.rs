//! `rye thread show`.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::{brief, failure_text, one_line};
use super::used;
use super::wait::{show as show_end, show_written};
use crate::base::text::{brief_line, escape_line};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::parse::kept_json;
use crate::registry::{PendingState, RunState, ThreadRow};
use crate::runs::{KnownRun, ask_node, threads_from_outside};
use crate::rye::Rye;
use crate::thread::{Awaited, duration_limit, see_how_far};

pub(super) fn run(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let threads = threads_from_outside(&rye)?;
    // Where its node cannot be asked, what is known here is shown.
    let _ = ask_node(threads, id, Duration::ZERO);
    let known = threads.run(id)?;
    let Some(thread) = known.thread() else { return Ok(of_run(&known, out)) };
    let (_, transcript) = threads_from_outside(&rye)?.show(id)?;
    // A line that is not JSON is told by `rye thread verify`; a half one may be the last.
    let lines = transcript.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = lines.filter_map(kept_json);
    let events = events.filter(|event| event.get("event").is_some());
    if out.is_json() {
        let mut fields = known.to_json();
        fields["limits"]["duration_seconds"] = duration_limit(&transcript).into();
        fields.insert("data".into(), json!({"events": events.collect::<Vec<_>>()}));
        out.success(fields.into());
        return Ok(Exit::DONE);
    }
    let code = thread.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    let by = thread.continued_by.as_ref().map(|by| format!(" by {}", escape_line(by)));
    let by = by.unwrap_or_default();
    out.line(&format!("{}  {}{by}{code}", thread.id, thread.state));
    out.line(&format!("{} by {}  {}", thread.model, thread.provider, used(thread)));
    for event in events {
        for (label, said) in brief(&event) {
            let label = out.paint().style(Style::Dim, &format!("{label:>8}"));
            out.line(&format!("{label}  {}", one_line(&said)));
        }
    }
    if let Some(failure) = known.failure() {
        out.line(&format!("\n{}", failure_text(&without_look(failure, id))));
    }
    let awaited = Awaited::last_of(&transcript).filter(|_| thread.state == RunState::Waiting);
    let awaited = awaited.filter(|awaited| is_undecided(&rye, &awaited.pending_id));
    let failure = known.failure().unwrap_or(&Value::Null);
    out.line(&format!("\nnext: {}", next_step(thread, awaited.as_ref(), failure)));
    Ok(Exit::DONE)
}

/// The failure without the advice to look at the thread, which the person does already.
fn without_look(failure: &Value, id: &str) -> Value {
    let (mut failure, look) = (failure.clone(), format!("{}; ", see_how_far(id)));
    let rest = failure["help"].as_str().and_then(|help| help.strip_prefix(&look));
    if let Some(rest) = rest.map(str::to_owned) {
        failure["help"] = rest.into();
    }
    failure
}

/// Returns true if a request still waits: once a thread below was ended, it is not decided any
/// more.
fn is_undecided(rye: &Rye, pending: &str) -> bool {
    let registry = rye.approvals().registry().ok().flatten();
    let request = registry.and_then(|registry| registry.request(pending).ok());
    request.is_some_and(|request| request.row.state == PendingState::Waiting)
}

/// The next command for a person who looked at a thread.
fn next_step(thread: &ThreadRow, awaited: Option<&Awaited>, failure: &Value) -> String {
    let id = escape_line(&thread.id);
    match (thread.state, awaited, &thread.continued_by) {
        (RunState::Waiting, Some(awaited), _) => {
            format!("`rye pending show {}`, for which it waits", escape_line(&awaited.pending_id))
        }
        (RunState::Created | RunState::Running, ..) => format!("`rye thread tail {id}`"),
        (RunState::Waiting | RunState::Failed | RunState::Killed | RunState::Cancelled, ..) => {
            match &thread.parent {
                Some(above) => {
                    format!("`rye thread show {}`, of which it is a part", escape_line(above))
                }
                None => match failure["data"]["limit"].as_str() {
                    Some(limit) => {
                        format!("`rye thread resume {id} --limit {}=…`", escape_line(limit))
                    }
                    None => format!("`rye thread resume {id}`"),
                },
            }
        }
        (RunState::Continued, _, Some(by)) => format!("`rye thread show {}`", escape_line(by)),
        _ => format!("`rye thread verify {id}`"),
    }
}

/// A detached run of a tool, with what it gave once it ended.
fn of_run(known: &KnownRun, out: &mut Out) -> Exit {
    if out.is_json() {
        let mut fields = known.to_json();
        fields.insert("data".into(), json!({"report": known.report()}));
        out.success(fields.into());
        return Exit::DONE;
    }
    let code = known.row.code.as_deref().map(|code| format!(" ({code})")).unwrap_or_default();
    out.line(&format!("{}  {}{code}", escape_line(known.id()), known.state()));
    out.line(&format!("{}  {}", escape_line(&known.row.item), known.started_at()));
    if let Some(log) = known.log() {
        out.line(&format!("log: {}", escape_line(&log.display().to_string())));
    }
    let report = known.report().unwrap_or(&Value::Null);
    if let Some(failure) = known.failure() {
        show_written(&report["data"], out);
        out.line(&format!("\n{}", failure_text(&without_look(failure, known.id()))));
    } else if report["status"] == "success" {
        let _ = show_end(report, false, out);
    }
    if let Some(pending) = known.waits_for() {
        let message = report["pending"]["message"].as_str().unwrap_or_default();
        out.line(&format!("asks: {}", brief_line(message)));
        let pending = escape_line(pending);
        out.line(&format!("\nnext: `rye pending show {pending}`, for which it waits"));
    } else if known.is_open() {
        out.line(&format!("\nnext: `rye thread wait {}`", escape_line(known.id())));
    }
    Exit::DONE
}
